//! The files of a database, and what could not be read of them.

use std::collections::BTreeMap;

use extentdb_base::sync::{Mutex, lock};
use extentdb_base::{ObjectId, Rid};
use extentdb_catalog::{Catalog, Fault};
use extentdb_reader::Database;

/// Places of a table that are told in full; the others are counted.
const NAMED_MAX: usize = 10;

/// The files of a database, shared with the threads that read them.
pub(super) struct Files {
    pub(super) database: Database,
    losses: Mutex<BTreeMap<ObjectId, TableLosses>>,
}

/// What a scan of a table could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLosses {
    /// `schema.table`
    pub table: String,
    /// Damaged rows, and pages with the rows on them.
    pub unreadable: u64,
    /// Rows of which a part is not in the files.
    pub absent_rows: u64,
    /// Pages that are not in the files.
    pub absent_pages: u64,
    /// The first of them.
    pub parts: Vec<LostPart>,
}

/// A part of a table that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPart {
    /// The row, when it is one.
    pub row: Option<Rid>,
    /// Why.
    pub why: String,
}

impl Files {
    pub(super) fn new(database: Database) -> Files {
        Files { database, losses: Mutex::default() }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        self.database.catalog()
    }

    pub(super) fn losses(&self) -> Vec<TableLosses> {
        lock(&self.losses).values().cloned().collect()
    }

    /// Notes what a scan lost. A table that a query scans several times loses the same each time.
    pub(super) fn note(&self, table: ObjectId, found: TableLosses) {
        if found.is_none() {
            return;
        }
        let mut all = lock(&self.losses);
        let known = all.entry(table).or_default();
        if found.total() > known.total() {
            *known = found;
        }
    }
}

impl TableLosses {
    pub(super) fn of(table: String) -> TableLosses {
        TableLosses { table, ..TableLosses::default() }
    }

    /// Was all read?
    pub fn is_none(&self) -> bool {
        self.total() == 0
    }

    /// Counts a row or page. Absent pages are counted by the scan itself.
    pub(super) fn add(&mut self, fault: &Fault, row: Option<Rid>) {
        match (fault.is_damage() || matches!(fault, Fault::Catalog(_)), row) {
            (true, _) => self.unreadable += 1,
            (false, Some(_)) => self.absent_rows += 1,
            (false, None) => {}
        }
        if self.parts.len() < NAMED_MAX {
            self.parts.push(LostPart { row, why: explain(fault) });
        }
    }

    fn total(&self) -> u64 {
        self.unreadable + self.absent_rows + self.absent_pages
    }
}

/// A fault with its causes, in one line.
fn explain(fault: &Fault) -> String {
    let mut line = fault.to_string();
    let mut next = std::error::Error::source(fault);
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        next = cause.source();
    }
    line
}
