//! Indexes against their columns: `sysidxstats`, `sysiscols` and the rowsets' own columns in
//! `sysrscols`.
//!
//! ```text
//! sysiscols  subid, intprop = column of the table, tinyprop1 = position in the key
//! sysrscols  nonclustered: rscolid = subid, then what is missing of the row's place: RID,
//!            clustered key, uniquifier
//!            clustered: rscolid = column of the table, ordkey = position in the key
//! ```
//!
//! A nonclustered index of a partitioned table may carry more; its columns are only looked for, not
//! counted.

use std::collections::BTreeSet;

use extentdb_catalog::layout::{Compression, PhysicalColumn, column_status};
use extentdb_catalog::model::{Index, IndexKind, Rowset, Table as Described};

use super::rows::{Key, Table};
use super::storage::{Space, Storage, has_pages, index_key, is_row_store};
use super::types::is_same_storage;
use super::{RowRef, report_missing_row, report_value};
use crate::finding::Findings;

/// Key columns of all indexes, and the columns of their rowsets.
pub(super) fn verify_keys(storage: &Storage<'_>, findings: &mut Findings) {
    let is_described = |rowset: &&&Rowset| storage.describes_rows() && has_pages(rowset);
    for table in storage.base_tables() {
        let keyed = table.indexes.iter().filter(|index| is_row_store(index) && index.id.0 > 0);
        keyed.for_each(|index| verify_key(table, index, findings));
    }
    for table in storage.tables() {
        for index in table.indexes.iter().filter(|index| is_row_store(index) && index.id.0 > 0) {
            verify_key(table, index, findings);
            for rowset in storage.rowsets(table, index).iter().filter(is_described) {
                match index.kind {
                    IndexKind::Clustered => {
                        verify_clustered(storage, table, index, rowset, findings)
                    }
                    _ => verify_nonclustered(storage, table, index, rowset, findings),
                }
            }
        }
    }
}

/// Key columns are numbered from 1 without a gap.
fn verify_key(table: &Described, index: &Index, findings: &mut Findings) {
    let ordinals: BTreeSet<u8> = index.columns.iter().map(|column| column.key_ordinal).collect();
    let last = ordinals.last().copied().unwrap_or(0).max(1);
    if let Some(missing) = (1..=last).find(|ordinal| !ordinals.contains(ordinal)) {
        let row = index_key(table, index);
        let target = format!("{},key_ordinal={missing}", Table::Indexes.row(row).describe());
        report_missing_row(Table::Indexes.row(row), Table::IndexColumns, target, findings);
    }
}

/// The key of the rows is that of the index.
fn verify_clustered(
    storage: &Storage<'_>,
    table: &Described,
    index: &Index,
    rowset: &Rowset,
    findings: &mut Findings,
) {
    if storage.space(index) != Space::Filegroup {
        return;
    }
    let is_listed = |id: i32| index.columns.iter().any(|column| column.column_id == id);
    let key = rowset
        .layout
        .columns
        .iter()
        .filter(|column| column.key_ordinal > 0 && !column.is_uniquifier());
    for column in key.filter(|column| is_live(column) && !is_listed(column.column_id)) {
        let target = format!(
            "{},column_id={}",
            Table::Indexes.row(index_key(table, index)).describe(),
            column.column_id
        );
        report_missing_row(physical_row(rowset, column), Table::IndexColumns, target, findings);
    }
}

/// Each column of the index has its place in the rows, and each place its column.
fn verify_nonclustered(
    storage: &Storage<'_>,
    table: &Described,
    index: &Index,
    rowset: &Rowset,
    findings: &mut Findings,
) {
    let live: Vec<&PhysicalColumn> =
        rowset.layout.columns.iter().filter(|column| is_live(column)).collect();
    let physical: BTreeSet<i32> = live.iter().map(|column| column.column_id).collect();
    let row = index_key(table, index);
    let key = |ordinal: i32| Key([row.0[0], row.0[1], ordinal.into()]);
    let asked = index
        .columns
        .iter()
        .filter(|column| column.partition_ordinal == 0 || column.key_ordinal > 0);
    for column in asked.filter(|column| !physical.contains(&column.ordinal)) {
        let target = physical_key(rowset, column.ordinal);
        let target = Table::RowsetColumns.row(target).describe();
        report_missing_row(
            Table::IndexColumns.row(key(column.ordinal)),
            Table::RowsetColumns,
            target,
            findings,
        );
    }
    if let Some(locator) = locator(storage, table, index) {
        verify_locator(&locator, index, rowset, row, findings);
    }
}

/// What an index has besides its own columns, for the address of the row.
struct Locator {
    columns: usize,
    /// Type codes that its columns may have.
    codes: BTreeSet<u8>,
}

/// An RID has a type like any other column: binary.
const RID_CODE: u8 = 173;

/// The columns are numbered without a gap, the index's own first; after them comes the locator and
/// nothing else.
fn verify_locator(
    locator: &Locator,
    index: &Index,
    rowset: &Rowset,
    row: Key,
    findings: &mut Findings,
) {
    let live: Vec<&PhysicalColumn> =
        rowset.layout.columns.iter().filter(|column| is_live(column)).collect();
    let physical: BTreeSet<i32> = live.iter().map(|column| column.column_id).collect();
    let own: BTreeSet<i32> = index.columns.iter().map(|column| column.ordinal).collect();
    let key = |ordinal: i32| Key([row.0[0], row.0[1], ordinal.into()]);
    let expected = i32::try_from(own.len() + locator.columns).unwrap_or(i32::MAX);
    if let Some(missing) = (1..=expected).find(|id| !physical.contains(id) && !own.contains(id)) {
        let target = Table::RowsetColumns.row(physical_key(rowset, missing)).describe();
        report_missing_row(Table::Indexes.row(row), Table::RowsetColumns, target, findings);
    }
    let last = own.last().copied().unwrap_or(0);
    let is_unknown = |id: i32| (id < last && !own.contains(&id)) || id > expected;
    if let Some(column) = live.iter().find(|column| is_unknown(column.column_id)) {
        let target = Table::IndexColumns.row(key(column.column_id)).describe();
        report_missing_row(physical_row(rowset, column), Table::IndexColumns, target, findings);
    }
    let beside = live
        .iter()
        .filter(|column| column.column_id > last && rowset.compression == Compression::None);
    for column in beside.filter(|column| column.ti != 0) {
        let [code, ..] = column.ti.to_le_bytes();
        if !locator.codes.iter().any(|known| is_same_storage(*known, code)) {
            report_value(&format!("system_type_id={code}"), physical_row(rowset, column), findings);
        }
    }
}

/// `None` when the locator of its entries is not certain.
fn locator(storage: &Storage<'_>, table: &Described, index: &Index) -> Option<Locator> {
    let base = table.indexes.iter().find(|base| base.id.0 <= 1 && is_row_store(base))?;
    if storage.space(index) != Space::Filegroup || storage.space(base) != Space::Filegroup {
        return None;
    }
    let [rowset] = storage.rowsets(table, base) else { return None };
    if base.kind == IndexKind::Heap {
        return Some(Locator { columns: 1, codes: BTreeSet::from([RID_CODE]) });
    }
    let is_own = |id: i32| index.columns.iter().any(|column| column.column_id == id);
    let keys =
        base.columns.iter().filter(|column| column.key_ordinal > 0 && !is_own(column.column_id));
    let physical = rowset.layout.columns.iter();
    let uniquifiers = physical.clone().filter(|column| column.is_uniquifier());
    let codes = physical.filter(|column| column.key_ordinal > 0).map(|column| {
        let [code, ..] = column.ti.to_le_bytes();
        code
    });
    Some(Locator {
        columns: keys.count() + uniquifiers.count(),
        codes: codes.collect(),
    })
}

/// Neither dropped nor of an index that is being built.
pub(super) fn is_live(column: &PhysicalColumn) -> bool {
    let is_dropped = column.is_dropped() || column.column_id >= column_status::DROPPED_ID;
    !is_dropped && column.status & column_status::ANTI_MATTER == 0
}

pub(super) fn physical_key(rowset: &Rowset, column: i32) -> Key {
    Key::two(rowset.id.0, column.into())
}

pub(super) fn physical_row(rowset: &Rowset, column: &PhysicalColumn) -> RowRef {
    Table::RowsetColumns.row(physical_key(rowset, column.column_id))
}
