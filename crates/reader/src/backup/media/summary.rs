//! A backup set in one line.

use std::fmt;

use extentdb_format::mtf::{BackupKind, MtfDate};
use extentdb_types::Guid;

/// A backup set in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in SetHeader")]
pub struct SetSummary {
    pub position: u32,
    pub kind: BackupKind,
    pub database_name: String,
    pub backup_name: String,
    pub backup_start_date: MtfDate,
    pub backup_set_guid: Guid,
}

impl fmt::Display for SetSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SetSummary {
            position,
            kind,
            database_name,
            backup_name,
            backup_start_date,
            ..
        } = self;
        write!(
            f,
            "{position}: {} of {database_name}, {backup_start_date}",
            kind.description().to_lowercase()
        )?;
        if backup_name.is_empty() { Ok(()) } else { write!(f, " ({backup_name})") }
    }
}
