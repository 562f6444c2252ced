//! Columns of tables against the columns of their rowsets, their types and their positions in the
//! rows.
//!
//! ```text
//! syscolpars (id, colid, xtype) <-> sysrscols (rsid, rscolid, ti, offset, nullbit) heap and
//!            clustered index
//! ```
//!
//! What may differ in sound databases and is not judged:
//! - computed and sparse columns, column sets and the pseudo columns of graph tables need no place
//!   in the rows;
//! - text and (max) types, decimal and numeric, binary and rowversion are interchangeable;
//!   encrypted columns are varbinary;
//! - char and binary columns made without ANSI padding, decimals of vardecimal tables and
//!   uniquifiers are of variable length;
//! - dropped columns keep their position, whatever column was added later; compressed rows have
//!   no positions. Where none was dropped, there is no gap between columns.

use std::collections::BTreeSet;

use extentdb_catalog::layout::{Compression, PhysicalColumn};
use extentdb_catalog::model::{Column, Index, Rowset, Table as Described};
use extentdb_types::SqlType;

use super::keys::{is_live, physical_key, physical_row};
use super::rows::{Key, Table};
use super::storage::{Storage, has_pages, is_row_store};
use super::types::is_same_storage;
use super::{report_missing_row, report_value};
use crate::finding::Findings;
use crate::rows::SYSFILES1;
use crate::unit::{FIRST_OWN_ID, fixed_column_end};

/// Records begin with four bytes, entries of nonclustered indexes with one.
const FIRST_BYTE: i32 = 4;
const FIRST_BYTE_OF_ENTRY: i32 = 1;
/// No record is longer than a page.
const RECORD_BYTES_MAX: i32 = 8096;

/// Columns of all tables and of all their rowsets.
pub(super) fn verify_columns(storage: &Storage<'_>, findings: &mut Findings) {
    if !storage.describes_rows() {
        return;
    }
    for table in storage.tables() {
        for index in table.indexes.iter().filter(|index| is_row_store(index)) {
            for rowset in storage.rowsets(table, index).iter().filter(|rowset| has_pages(rowset)) {
                if index.id.0 <= 1 {
                    verify_presence(table, rowset, findings);
                }
                if rowset.compression == Compression::None {
                    verify_types(table, index, rowset, findings);
                    verify_places(index, rowset, findings);
                }
            }
        }
    }
    verify_places_of_system(storage, findings);
}

/// The same for the tables of the system. An upgrade may leave gaps in their rows, in more of them
/// than one.
fn verify_places_of_system(storage: &Storage<'_>, findings: &mut Findings) {
    let rowsets = storage.base_tables().flat_map(|table| {
        let indexes = table.indexes.iter().filter(|index| is_row_store(index));
        indexes.flat_map(move |index| {
            storage.rowsets(table, index).iter().map(move |rowset| (index, *rowset))
        })
    });
    let is_plain = |(_, rowset): &(&Index, &Rowset)| {
        rowset.compression == Compression::None && rowset.object != SYSFILES1
    };
    let mut broken =
        rowsets.filter(is_plain).filter(|(index, rowset)| first_gap(index, rowset).is_some());
    if let (Some((index, rowset)), None) = (broken.next(), broken.next()) {
        report_gap(index, rowset, findings);
    }
}

/// Every column has its place in the rows, and every place its column.
fn verify_presence(table: &Described, rowset: &Rowset, findings: &mut Findings) {
    let places: BTreeSet<i32> =
        rowset.layout.columns.iter().map(|column| column.column_id).collect();
    let listed: BTreeSet<i32> = table.columns.iter().map(|column| column.id).collect();
    let key = |column: i32| Key::two(table.id.0.into(), column.into());
    for column in
        table.columns.iter().filter(|column| is_stored(column) && !places.contains(&column.id))
    {
        let target = Table::RowsetColumns.row(physical_key(rowset, column.id)).describe();
        report_missing_row(
            Table::Columns.row(key(column.id)),
            Table::RowsetColumns,
            target,
            findings,
        );
    }
    let live =
        rowset.layout.columns.iter().filter(|column| is_live(column) && !column.is_uniquifier());
    for column in live.filter(|column| column.column_id > 0 && !listed.contains(&column.column_id))
    {
        let target = Table::Columns.row(key(column.column_id)).describe();
        report_missing_row(physical_row(rowset, column), Table::Columns, target, findings);
    }
}

/// Certainly stored in the rows.
fn is_stored(column: &Column) -> bool {
    column.computed.is_none()
        && !column.column_set
        && !column.sparse
        && !column.name.starts_with('$')
}

/// The type of the place is that of the column.
fn verify_types(table: &Described, index: &Index, rowset: &Rowset, findings: &mut Findings) {
    for place in
        rowset.layout.columns.iter().filter(|column| is_live(column) && !column.is_uniquifier())
    {
        let id = match index.id.0 {
            0 | 1 => Some(place.column_id),
            _ => {
                index.columns.iter().find(|it| it.ordinal == place.column_id).map(|it| it.column_id)
            }
        };
        let Some(column) = id.and_then(|id| table.column(id)).filter(|column| is_stored(column))
        else {
            continue;
        };
        let [code, ..] = place.ti.to_le_bytes();
        // The description of 2005 is not kept as stored.
        if place.ti != 0 && !is_same_storage(code, column.xtype) {
            report_value(&format!("system_type_id={code}"), physical_row(rowset, place), findings);
        }
    }
}

/// Columns lie side by side in the rows.
fn verify_places(index: &Index, rowset: &Rowset, findings: &mut Findings) {
    let live = rowset.layout.columns.iter().filter(|column| is_live(column) && !column.is_sparse());
    let mut taken = TakenBytes::default();
    let first = if index.id.0 <= 1 { FIRST_BYTE } else { FIRST_BYTE_OF_ENTRY };
    let mut by_place: Vec<&PhysicalColumn> = live.collect();
    by_place.sort_by_key(|column| (column.leaf.offset, column.leaf.bit));
    let mut is_possible_everywhere = true;
    for column in by_place {
        let is_possible = has_possible_length(index, column) && taken.take(column, first);
        is_possible_everywhere &= is_possible;
        if !is_possible {
            let attribute = format!("leaf_offset={}", column.leaf.offset);
            report_value(&attribute, physical_row(rowset, column), findings);
        } else if !taken.take_null_bit(column) {
            let attribute = format!("leaf_null_bit={}", column.leaf.null_bit);
            report_value(&attribute, physical_row(rowset, column), findings);
        }
    }
    // SQL Server 2000 dropped columns, and left no trace but their gaps.
    if is_possible_everywhere && rowset.id.0 >= FIRST_OWN_ID {
        report_gap(index, rowset, findings);
    }
}

/// A column after a gap that no column was dropped from.
fn report_gap(index: &Index, rowset: &Rowset, findings: &mut Findings) {
    if let Some(column) = first_gap(index, rowset) {
        let attribute = format!("leaf_offset={}", column.leaf.offset);
        report_value(&attribute, physical_row(rowset, column), findings);
    }
}

/// The first column with a gap before it, where none was ever dropped and all types are understood.
fn first_gap<'r>(index: &Index, rowset: &'r Rowset) -> Option<&'r PhysicalColumn> {
    let columns = &rowset.layout.columns;
    let is_plain = |column: &PhysicalColumn| {
        column.ty.is_some() && is_live(column) && !column.is_dropped() && !column.is_sparse()
    };
    let first = if index.id.0 <= 1 { FIRST_BYTE } else { FIRST_BYTE_OF_ENTRY };
    columns.iter().all(is_plain).then(|| gap_among(columns, first))?
}

/// The first column that does not lie after the one before: fixed columns by their bytes, variable
/// ones by their numbers.
fn gap_among(columns: &[PhysicalColumn], first: i32) -> Option<&PhysicalColumn> {
    let mut fixed: Vec<&PhysicalColumn> =
        columns.iter().filter(|column| column.leaf.offset > 0).collect();
    fixed.sort_by_key(|column| column.leaf.offset);
    let mut end = first;
    for column in fixed {
        let start = i32::from(column.leaf.offset);
        if start > end {
            return Some(column);
        }
        end = end.max(i32::from(fixed_column_end(column)?));
    }
    let mut variable: Vec<&PhysicalColumn> =
        columns.iter().filter(|column| column.leaf.offset < 0).collect();
    variable.sort_by_key(|column| std::cmp::Reverse(column.leaf.offset));
    (1..)
        .zip(variable)
        .find(|(number, column)| i32::from(column.leaf.offset) < -number)
        .map(|(_, column)| column)
}

/// Columns of fixed length lie in the fixed part, the others after it.
fn has_possible_length(index: &Index, column: &PhysicalColumn) -> bool {
    let Some(ty) = &column.ty else { return true };
    match ty {
        // In an index nothing distinguishes the uniquifier of its table from other columns.
        SqlType::Int if column.is_uniquifier() || index.id.0 >= 2 => true,
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            column.leaf.offset > 0
        }
        SqlType::Money | SqlType::SmallMoney | SqlType::Float | SqlType::Real => {
            column.leaf.offset > 0
        }
        SqlType::DateTime | SqlType::SmallDateTime | SqlType::UniqueIdentifier => {
            column.leaf.offset > 0
        }
        SqlType::VarChar { .. } | SqlType::NVarChar { .. } | SqlType::VarBinary { .. } => {
            column.leaf.offset < 0
        }
        SqlType::Text { .. } | SqlType::NText { .. } | SqlType::Image => column.leaf.offset < 0,
        _ => true,
    }
}

/// Bytes, bits and numbers that columns have taken.
#[derive(Default)]
struct TakenBytes {
    /// End of the fixed columns so far, in order of their places, and whether the last byte is
    /// shared by bits.
    end: i32,
    bits: BTreeSet<(i16, u8)>,
    variable: BTreeSet<i16>,
    null_bits: BTreeSet<u16>,
}

impl TakenBytes {
    /// False when another column is there, or nothing can be.
    fn take(&mut self, column: &PhysicalColumn, first: i32) -> bool {
        let offset = column.leaf.offset;
        if offset < 0 {
            return self.variable.insert(offset);
        }
        let Some(ty) = column.ty.filter(|_| offset > 0) else { return true };
        let start = i32::from(offset);
        if ty.is_bit() {
            let is_shared = self.bits.iter().any(|(byte, _)| *byte == offset);
            let is_free = self.bits.insert((offset, column.leaf.bit))
                && (is_shared || start >= self.end.max(first));
            self.end = self.end.max(start + 1);
            return is_free && start < RECORD_BYTES_MAX;
        }
        let Some(bytes) = ty.fixed_bytes().and_then(|bytes| i32::try_from(bytes).ok()) else {
            return true;
        };
        let is_free = start >= self.end.max(first);
        self.end = self.end.max(start.saturating_add(bytes));
        is_free && self.end <= RECORD_BYTES_MAX
    }

    fn take_null_bit(&mut self, column: &PhysicalColumn) -> bool {
        column.leaf.null_bit == 0 || self.null_bits.insert(column.leaf.null_bit)
    }
}

#[cfg(test)]
mod tests {
    use extentdb_catalog::layout::ColumnOffset;

    use super::*;

    fn column(ty: SqlType, offset: i16, bit: u8) -> PhysicalColumn {
        PhysicalColumn {
            column_id: 1,
            ordinal: 1,
            ti: ty.to_physical().0,
            collation_id: 0,
            ty: Some(ty),
            key_ordinal: 0,
            status: 0,
            max_in_row: 0,
            leaf: ColumnOffset { offset, null_bit: 0, bit },
            interior: ColumnOffset::default(),
        }
    }

    fn takes(places: &[(SqlType, i16, u8)]) -> Vec<bool> {
        let mut taken = TakenBytes::default();
        places
            .iter()
            .map(|(ty, offset, bit)| taken.take(&column(*ty, *offset, *bit), FIRST_BYTE))
            .collect()
    }

    #[test]
    fn fixed_columns_lie_side_by_side_with_gaps_where_others_were_dropped() {
        assert_eq!(
            takes(&[(SqlType::Int, 4, 0), (SqlType::BigInt, 8, 0), (SqlType::Int, 30, 0)]),
            [true; 3]
        );
        assert_eq!(takes(&[(SqlType::Int, 4, 0), (SqlType::Int, 7, 0)]), [true, false]);
        assert_eq!(takes(&[(SqlType::Int, 3, 0), (SqlType::Int, 9000, 0)]), [false, false]);
    }

    #[test]
    fn without_dropped_columns_there_are_no_gaps() {
        let text = SqlType::VarBinary { len: Some(9) };
        let gap = |places: &[(SqlType, i16, u8)]| {
            let columns: Vec<_> =
                places.iter().map(|(ty, at, bit)| column(*ty, *at, *bit)).collect();
            gap_among(&columns, FIRST_BYTE).map(|column| column.leaf.offset)
        };
        let int = SqlType::Int;
        let bit = SqlType::Bit;
        assert_eq!(gap(&[(int, 8, 0), (text, -2, 0), (int, 4, 0), (text, -1, 0)]), None);
        assert_eq!(gap(&[(int, 4, 0), (bit, 8, 0), (bit, 8, 1), (int, 9, 0)]), None);
        assert_eq!(gap(&[(int, 4, 0), (int, 9, 0)]), Some(9));
        assert_eq!(gap(&[(int, 5, 0)]), Some(5));
        assert_eq!(gap(&[(text, -1, 0), (text, -3, 0)]), Some(-3));
        assert_eq!(gap(&[(text, -2, 0)]), Some(-2));
        assert_eq!(
            gap(&[(text, -1, 0), (text, -1, 0)]),
            None,
            "what two columns share is told by itself"
        );
    }

    #[test]
    fn bits_share_a_byte_and_nothing_else() {
        let bits = [(SqlType::Bit, 4, 0), (SqlType::Bit, 4, 1), (SqlType::Int, 5, 0)];
        assert_eq!(takes(&bits), [true; 3]);
        assert_eq!(takes(&[(SqlType::Bit, 4, 1), (SqlType::Bit, 4, 1)]), [true, false]);
        assert_eq!(takes(&[(SqlType::Bit, 4, 0), (SqlType::Int, 4, 0)]), [true, false]);
        assert_eq!(takes(&[(SqlType::Int, 4, 0), (SqlType::Bit, 6, 0)]), [true, false]);
    }

    #[test]
    fn variable_columns_have_numbers_of_their_own() {
        let text = SqlType::VarBinary { len: Some(9) };
        assert_eq!(takes(&[(text, -3, 0), (text, -1, 0), (text, -1, 0)]), [true, true, false]);
    }
}
