//! System tables against each other: what DBCC CHECKCATALOG finds, as 8992 around 3851 to 3858 (`checkdb.md` B.10).
//!
//! ```text
//! rows      each system table once, as keys           sets of ids: memory by the size of the catalogue, not of the database
//! relations "a row of A names a row of B"              what B does not have is a finding
//! ```
//!
//! Only relations that hold in the files of every version are listed. Dependencies between objects are none of them: upgraded
//! databases keep references to what is gone.
//!
//! A system table that cannot be read in full proves nothing about what its rows are missed for: its relations are left out.

use std::collections::BTreeSet;

use extentdb_base::ObjectId;
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::system::SystemTables;
use extentdb_messages::{Arg, lookup};
use extentdb_reader::{CheckedPages, PageSource};

use crate::finding::{Finding, Findings, Place};
use crate::report::NotChecked;

mod relations;
mod rows;

use relations::RELATIONS;
use rows::{Key, Rows, Table};

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Rows of system tables that were compared: what 7920 calls entries.
    pub(crate) entries: u64,
    pub(crate) left_out: Vec<NotChecked>,
}

/// Compares the system tables; findings belong to no object.
pub(crate) fn verify_catalogue(
    source: &dyn PageSource,
    first_sys_indexes: extentdb_base::PageId,
    findings: &mut Findings,
) -> Outcome {
    let pages = CheckedPages::new(source);
    let bootstrap = Bootstrap::load(&pages, first_sys_indexes);
    let tables = SystemTables::new(&pages, &bootstrap);
    let mut outcome = Outcome::default();
    let mut unreadable: BTreeSet<ObjectId> = BTreeSet::new();
    let rows = Rows::read(&tables, &bootstrap, &mut unreadable);
    outcome.entries = rows.count();
    for relation in RELATIONS {
        let needed = [relation.from.object(), relation.to.object()];
        if let Some(object) = needed.iter().find(|object| unreadable.contains(object)) {
            let what = format!("{} against {} (8992)", relation.from.view(), relation.to.view());
            let why = format!("system table {object} could not be read in full");
            outcome.left_out.push(NotChecked { what, why, was_asked_for: false });
            continue;
        }
        relation.verify(&rows, findings);
    }
    outcome
}

/// 8992 around one of the messages of CHECKCATALOG.
fn report(inner: u32, args: &[Arg<'_>], findings: &mut Findings) {
    let text = lookup(inner).and_then(|message| message.format(args).ok()).unwrap_or_default();
    let args = [i64::from(inner).try_into().unwrap_or(0i32).into(), 1.into(), text.into()];
    findings.push(Finding::new(8992, Place::default(), &args));
}

/// `object_id=5,column_id=2`.
fn describe(table: Table, key: Key) -> String {
    let names = table.key_names();
    let parts = names.iter().zip(key.0).map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join(",")
}
