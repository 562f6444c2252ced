//! Backups: header and file list, with the column names of RESTORE HEADERONLY, FILELISTONLY and LABELONLY.

use anyhow::bail;
use clap::Args;
use extentdb_reader::bak::BackupInfo;
use extentdb_reader::{Opened, Origin};
use serde_json::{Value, json};

/// Which list of a backup is wanted alone.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct List {
    /// Backups: only the sets, as RESTORE HEADERONLY lists them
    #[arg(long, group = "list")]
    headeronly: bool,
    /// Backups: only the files, as RESTORE FILELISTONLY lists them
    #[arg(long, group = "list")]
    filelistonly: bool,
    /// Backups: only the media, as RESTORE LABELONLY lists it
    #[arg(long, group = "list")]
    labelonly: bool,
}

impl List {
    /// The lists exist only for backups.
    pub(super) fn refuse_without_backup(self, opened: &Opened) -> anyhow::Result<()> {
        let is_wanted = self.headeronly || self.filelistonly || self.labelonly;
        if is_wanted && !matches!(opened.origin(), Origin::Backup(_)) {
            bail!("--headeronly, --filelistonly and --labelonly are for backups; these are database files");
        }
        Ok(())
    }
}

/// What the headers of a backup say.
pub(super) fn facts(_info: &BackupInfo) -> Value {
    json!({})
}
