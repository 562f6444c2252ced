//! System tables against each other: what DBCC CHECKCATALOG finds, as 8992 around 3851 to 3858
//! (`docs/check.md` 10).
//!
//! ```text
//! rows      each system table once, as keys           sets of ids: memory by the size of the
//!                                                     catalog, not of the database
//! relations "a row of A names a row of B"              what B does not have is a finding
//! storage   indexes, their rowsets, partitions, roots   tables of the user: what two places say of
//!                                                       one thing
//! keys      columns of indexes
//! columns   columns of tables, their positions in the rows
//! types     types of columns
//! forms     compression, against one page of each rowset
//! ```
//!
//! Only relations that hold in the files of every version are listed. Dependencies between objects
//! are none of them: upgraded databases keep references to dropped objects.
//!
//! A system table that cannot be read in full proves nothing about what its rows are missed for:
//! its relations are left out, the run is incomplete, and damage that nothing else reports is a
//! finding (3851).

use extentdb_catalog::Catalog;
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::system::SystemTables;
use extentdb_messages::{Arg, lookup};
use extentdb_reader::{CheckedPages, PageSource};

use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings, Location};

mod columns;
mod forms;
mod keys;
mod relations;
mod rows;
mod storage;
mod types;

use relations::RELATIONS;
use rows::{Gap, GapKind, Key, Rows, Table};
use storage::Storage;

/// An invalid row.
const INVALID_ROW: u32 = 3851;
/// A row without another that must be there.
const NO_ROW: u32 = 3852;
/// A row names another that is not there.
const NO_NAMED_ROW: u32 = 3853;
/// A row lacks a required attribute.
const NO_ATTRIBUTE: u32 = 3857;
/// A row has an attribute that is not legal.
const INVALID_VALUE: u32 = 3858;

#[derive(Default)]
pub(crate) struct Outcome {
    /// Rows of system tables that were compared: what 7920 calls entries.
    pub(crate) entries: u64,
    pub(crate) left_out: Vec<NotChecked>,
}

/// Compares the system tables; findings belong to no object. `scanned` has what the scan found: a
/// table that could not be read is reported here only when nothing there says why.
pub(crate) fn verify_catalog(
    source: &dyn PageSource,
    catalog: &Catalog,
    scanned: &mut Findings,
    findings: &mut Findings,
) -> Outcome {
    let pages = CheckedPages::new(source);
    let bootstrap = Bootstrap::load(&pages, catalog.boot.first_sys_indexes);
    let mut gaps: Vec<Gap> = Vec::new();
    let rows = Rows::read(&SystemTables::new(&pages, &bootstrap), &bootstrap, &mut gaps);
    let mut outcome = Outcome { entries: rows.count(), ..Outcome::default() };
    for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Damage) {
        let is_known = is_reported(gap, scanned) || is_reported(gap, findings);
        if !is_known {
            report_gap(gap, findings);
        }
    }
    for relation in RELATIONS {
        match gap_of(&[relation.from, relation.to], &gaps) {
            Some(gap) => {
                let what =
                    format!("{} against {} (8992)", relation.from.view(), relation.to.view());
                outcome.left_out.push(left_out(what, gap));
            }
            None => relation.verify(&rows, findings),
        }
    }
    match gap_of(&DESCRIBING, &gaps) {
        Some(gap) => {
            let what = "columns and rowsets of indexes (8992)".to_owned();
            outcome.left_out.push(left_out(what, gap));
        }
        None => {
            let storage = Storage::new(catalog);
            storage.verify(findings);
            keys::verify_keys(&storage, findings);
            columns::verify_columns(&storage, findings);
            types::verify_types(catalog, &rows, findings);
            forms::verify_forms(&storage, &pages, findings);
        }
    }
    outcome
}

/// The tables that describe a table and its indexes.
const DESCRIBING: [Table; 8] = [
    Table::Objects,
    Table::Columns,
    Table::Indexes,
    Table::IndexColumns,
    Table::Partitions,
    Table::RowsetColumns,
    Table::AllocationUnits,
    Table::Types,
];

fn gap_of<'g>(needed: &[Table], gaps: &'g [Gap]) -> Option<&'g Gap> {
    gaps.iter().find(|gap| needed.contains(&gap.table))
}

fn left_out(what: String, gap: &Gap) -> NotChecked {
    let name = gap.table.names().base;
    let is_absent = gap.kind == GapKind::Absent;
    let why = if is_absent {
        format!("databases of this version do not have the system table {name}")
    } else {
        format!("system table {name} could not be read in full: {}", gap.what)
    };
    NotChecked { what, why, was_asked_for: !is_absent }
}

/// Something was found in the table, or on the page.
fn is_reported(gap: &Gap, findings: &mut Findings) -> bool {
    findings.iter_mut().any(|finding| {
        let owner = finding.location.owner.map(|owner| owner.object);
        owner == Some(gap.table.names().object)
            || (gap.page.is_some() && finding.location.page == gap.page)
    })
}

fn report_gap(gap: &Gap, findings: &mut Findings) {
    let args = [gap.what.as_str().into(), gap.table.names().base.into(), "".into()];
    let place = gap.page.map_or_else(Location::default, Location::page);
    findings.push(finding(INVALID_ROW, place, &args));
}

/// 3852: a row does not have another.
fn report_missing_row(row: RowRef, target: Table, missing: String, findings: &mut Findings) {
    let args = row.args().into_iter().chain([missing.into(), target.view().into(), "".into()]);
    report(NO_ROW, args, findings);
}

/// 3853: a row names another that is not there. `called` is the name of the attribute, where it is
/// not that of the other's key.
fn report_unmatched(called: Option<&str>, row: RowRef, target: RowRef, findings: &mut Findings) {
    let attribute = match called {
        Some(called) => format!("{called}={}", target.key.0[0]),
        None => target.describe(),
    };
    let args = [attribute.into()].into_iter().chain(row.args()).chain(target.args());
    report(NO_NAMED_ROW, args, findings);
}

/// 3857: a row lacks a required attribute.
fn report_missing_attribute(attribute: &str, row: RowRef, findings: &mut Findings) {
    report(NO_ATTRIBUTE, [attribute.into()].into_iter().chain(row.args()), findings);
}

/// 3858: a row has an attribute that is not legal.
fn report_value(attribute: &str, row: RowRef, findings: &mut Findings) {
    report(INVALID_VALUE, [attribute.into()].into_iter().chain(row.args()), findings);
}

fn report<'a>(inner: u32, args: impl Iterator<Item = Arg<'a>>, findings: &mut Findings) {
    findings.push(finding(inner, Location::default(), &args.collect::<Vec<_>>()));
}

/// A filegroup that exists, holds pages and has no file any more: 3852.
pub(crate) fn filegroup_without_file(filegroup: i16) -> Finding {
    let key = Table::Filegroups.row(Key::one(filegroup.into())).describe();
    let table = Table::Filegroups.view();
    let target = Table::Files.view();
    let args = [key.clone().into(), table.into(), "".into(), key.into(), target.into(), "".into()];
    finding(NO_ROW, Location::default(), &args)
}

/// 8992 around one of the messages of CHECKCATALOG.
fn finding(inner: u32, place: Location, args: &[Arg<'_>]) -> Finding {
    let text = lookup(inner).and_then(|message| message.format(args).ok()).unwrap_or_default();
    let args = [i64::from(inner).try_into().unwrap_or(0i32).into(), 1.into(), text.into()];
    Finding::new(8992, place, args)
}

/// A row of a system table, by its key.
#[derive(Clone, Copy)]
struct RowRef {
    table: Table,
    key: Key,
}

impl Table {
    fn row(self, key: Key) -> RowRef {
        RowRef { table: self, key }
    }
}

impl RowRef {
    /// Key, view and database, as messages name a row.
    fn args(self) -> [Arg<'static>; 3] {
        [self.describe().into(), self.table.view().into(), "".into()]
    }

    /// The key by the names of its columns, `object_id=5,column_id=2`.
    fn describe(self) -> String {
        let names = self.table.names().key;
        let parts = names.iter().zip(self.key.0).map(|(name, value)| format!("{name}={value}"));
        parts.collect::<Vec<_>>().join(",")
    }
}
