//! Where the columns of a rowset lie in its records.
//!
//! The places come from `sysrscols` and are never recomputed: tables that were altered, system
//! tables and upgraded databases differ from what their column list suggests.
//!
//! ```text
//! offset   low 16 bits leaf, high 16 bits non-leaf, both signed:
//!          > 0 byte offset of a fixed column; < 0 variable column, -1 is the first; 0 not present
//! nullbit  low 16 bits leaf, high 16 bits non-leaf; from 1, 0 = none
//! bitpos   low byte leaf, high byte non-leaf: the bit of a bit column
//! ```

mod defined;
mod sparse;

use std::borrow::Cow;

use extentdb_format::record::Record;
use extentdb_types::SqlType;

pub use sparse::sparse_cell;

/// Bits of `sysrscols.status`.
pub mod column_status {
    /// The column was dropped; its bytes stay.
    pub const DROPPED: u32 = 0x2;
    /// Descending key column.
    pub const DESCENDING: u32 = 0x8;
    /// The hidden column that makes keys of a non-unique clustered index unique.
    pub const UNIQUIFIER: u32 = 0x10;
    /// Anti-matter column of an online index build (public documentation).
    pub const ANTI_MATTER: u32 = 0x40;
    /// The column does not take NULL.
    pub const NOT_NULL: u32 = 0x80;
    /// Sparse column (public documentation).
    pub const SPARSE: u32 = 0x100;
    /// Rows from before the column was added have the value that `sysseobjvalues` keeps.
    pub const STORED_DEFAULT: u32 = 0x200;
    /// `rscolid` of a dropped column is this and a number that counts them.
    pub const DROPPED_ID: i32 = 0x0400_0000;
}

/// Where a column is in leaf or non-leaf records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColumnOffset {
    /// > 0 byte offset of a fixed column, < 0 variable column (-1 is the first), 0 not present.
    pub offset: i16,
    /// From 1; 0 = the column has no null bit.
    pub null_bit: u16,
    /// The bit of a bit column.
    pub bit: u8,
}

/// A column of a rowset as `sysrscols` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalColumn {
    /// `rscolid`: the table's column id, or the ordinal in an index.
    pub column_id: i32,
    /// `hbcolid`: order of the columns in a record.
    pub ordinal: i32,
    /// `ti`: packed type.
    pub ti: u32,
    /// `cid`: collation of character types.
    pub collation_id: u32,
    /// The type, `None` when `ti` is not understood.
    pub ty: Option<SqlType>,
    /// Position in the physical key, from 1; 0 = not part of it.
    pub key_ordinal: i16,
    /// Bits of `sysrscols.status`: [`column_status`].
    pub status: u32,
    /// `sysrscols.maxinrowlen`: bytes of a value above which it is stored off the row.
    pub max_in_row: i16,
    /// Where it is in leaf records.
    pub leaf: ColumnOffset,
    /// Where it is in non-leaf records.
    pub interior: ColumnOffset,
}

impl PhysicalColumn {
    /// Splits the packed numbers of a `sysrscols` row.
    pub fn unpack_offsets(offset: i32, null_bit: i32, bit: i16) -> (ColumnOffset, ColumnOffset) {
        let [ol0, ol1, oh0, oh1] = offset.to_le_bytes();
        let [nl0, nl1, nh0, nh1] = null_bit.to_le_bytes();
        let [bl, bh] = bit.to_le_bytes();
        let column_offset = |o: [u8; 2], n: [u8; 2], bit| ColumnOffset {
            offset: i16::from_le_bytes(o),
            null_bit: u16::from_le_bytes(n),
            bit,
        };
        (column_offset([ol0, ol1], [nl0, nl1], bl), column_offset([oh0, oh1], [nh0, nh1], bh))
    }

    /// True for a column that is no longer part of the table.
    pub fn is_dropped(&self) -> bool {
        self.status & column_status::DROPPED != 0
    }

    /// True for the hidden uniquifier.
    pub fn is_uniquifier(&self) -> bool {
        self.status & column_status::UNIQUIFIER != 0
    }

    /// True for a sparse column: its values lie in the row's sparse vector.
    pub fn is_sparse(&self) -> bool {
        self.status & column_status::SPARSE != 0
    }

    /// True when the key is descending on this column.
    pub fn is_descending(&self) -> bool {
        self.status & column_status::DESCENDING != 0
    }

    /// True when the column cannot be NULL.
    pub fn is_not_null(&self) -> bool {
        self.status & column_status::NOT_NULL != 0
    }
}

/// How the rows of a rowset are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Rows are stored uncompressed.
    #[default]
    None,
    /// Each row by itself.
    Row,
    /// Rows against the common values of their page.
    Page,
    /// A level this program does not know.
    Other(u8),
}

impl Compression {
    /// The compression by its number in `sysrowsets.cmprlevel`.
    pub fn from_level(level: u8) -> Self {
        match level {
            0 => Compression::None,
            1 => Compression::Row,
            2 => Compression::Page,
            other => Compression::Other(other),
        }
    }

    /// As in `sys.partitions.data_compression_desc`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "NONE",
            Compression::Row => "ROW",
            Compression::Page => "PAGE",
            Compression::Other(3) => "COLUMNSTORE",
            Compression::Other(4) => "COLUMNSTORE_ARCHIVE",
            Compression::Other(_) => "UNKNOWN",
        }
    }
}

/// A column of one record, as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// The value is NULL.
    Null,
    /// The row was written before the column was added.
    Missing,
    /// A bit column.
    Bit(bool),
    /// The disk form of a value.
    Bytes(Cow<'a, [u8]>),
    /// A pointer structure: the value, or part of it, lies elsewhere.
    Complex(Cow<'a, [u8]>),
}

/// A column whose bytes are not in the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the fixed part of the row ends at byte {fixed_end}, within column {column_id} at byte {offset}"
)]
pub struct CellFault {
    /// Column id within the table, `sysrscols.rscolid`.
    pub column_id: i32,
    /// Its first byte.
    pub offset: usize,
    /// Where the fixed part ends.
    pub fixed_end: usize,
}

/// Leaf or upper level of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Rows of the table or entries of the index.
    Leaf,
    /// Separators and child pages.
    Interior,
}

/// The columns of a rowset, in `hbcolid` order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowLayout {
    /// The columns, dropped ones included.
    pub columns: Vec<PhysicalColumn>,
    /// How rows are stored.
    pub compression: Compression,
}

impl RowLayout {
    /// A layout; columns are put in record order.
    pub fn new(mut columns: Vec<PhysicalColumn>, compression: Compression) -> Self {
        columns.sort_by_key(|column| column.ordinal);
        RowLayout { columns, compression }
    }

    /// The column with this `rscolid`.
    pub fn column(&self, column_id: i32) -> Option<&PhysicalColumn> {
        self.columns.iter().find(|column| column.column_id == column_id)
    }

    /// The columns of the physical key in key order.
    pub fn key(&self) -> Vec<&PhysicalColumn> {
        let mut key: Vec<_> = self.columns.iter().filter(|column| column.key_ordinal > 0).collect();
        key.sort_by_key(|column| column.key_ordinal);
        key
    }

    /// Positions, among all columns, of those of the physical key, in key order.
    pub fn key_positions(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let mut key: Vec<_> = columns.filter(|(_, column)| column.key_ordinal > 0).collect();
        key.sort_by_key(|(_, column)| column.key_ordinal);
        key.into_iter().map(|(at, _)| at).collect()
    }
}

/// Takes a column out of an uncompressed record.
///
/// # Errors
/// The fixed part ends inside the column.
pub fn cell<'a>(
    record: &Record<'a>,
    column: &PhysicalColumn,
    level: Level,
) -> Result<Cell<'a>, CellFault> {
    let column_offset = match level {
        Level::Leaf => column.leaf,
        Level::Interior => column.interior,
    };
    if column_offset.null_bit > 0 && record.has_null_bitmap() {
        match record.is_null(column_offset.null_bit) {
            Some(true) => return Ok(Cell::Null),
            None => return Ok(Cell::Missing),
            Some(false) => {}
        }
    }
    if column_offset.offset < 0 {
        return Ok(variable_cell(record, column_offset.offset.unsigned_abs() - 1));
    }
    fixed_cell(record, column, column_offset)
}

fn variable_cell<'a>(record: &Record<'a>, index: u16) -> Cell<'a> {
    match record.var(index) {
        Some(var) if var.complex => Cell::Complex(Cow::Borrowed(var.bytes)),
        Some(var) => Cell::Bytes(Cow::Borrowed(var.bytes)),
        // Trailing empty columns are not stored.
        None => Cell::Bytes(Cow::Borrowed(&[])),
    }
}

fn fixed_cell<'a>(
    record: &Record<'a>,
    column: &PhysicalColumn,
    column_offset: ColumnOffset,
) -> Result<Cell<'a>, CellFault> {
    let offset = usize::from(column_offset.offset.unsigned_abs());
    if offset == 0 || offset >= record.fixed_end() {
        return Ok(Cell::Missing);
    }
    let fault = CellFault {
        column_id: column.column_id,
        offset,
        fixed_end: record.fixed_end(),
    };
    let Some(ty) = &column.ty else { return Ok(Cell::Missing) };
    if ty.is_bit() {
        let byte = record.fixed(offset, 1).and_then(|b| b.first()).ok_or(fault)?;
        return Ok(Cell::Bit(byte & (1 << (column_offset.bit & 7)) != 0));
    }
    let len = ty.fixed_bytes().ok_or(fault)?;
    record.fixed(offset, len).map(|b| Cell::Bytes(Cow::Borrowed(b))).ok_or(fault)
}

#[cfg(test)]
mod tests {
    use extentdb_format::record::{RecordBuilder, RecordKind};

    use super::*;

    fn column(id: i32, ty: SqlType, offset: i32, null_bit: i32) -> PhysicalColumn {
        let (leaf, interior) = PhysicalColumn::unpack_offsets(offset, null_bit, 0);
        let (ti, cid) = ty.to_physical();
        PhysicalColumn {
            column_id: id,
            ordinal: id,
            ti,
            collation_id: cid,
            ty: Some(ty),
            key_ordinal: 0,
            status: 0,
            max_in_row: 0,
            leaf,
            interior,
        }
    }

    #[test]
    fn packed_offsets_hold_leaf_and_interior() {
        let (leaf, interior) = PhysicalColumn::unpack_offsets(0x0001_fffe, 0x0003_0002, 0x0105);
        assert_eq!(leaf, ColumnOffset { offset: -2, null_bit: 2, bit: 5 });
        assert_eq!(interior, ColumnOffset { offset: 1, null_bit: 3, bit: 1 });
    }

    #[test]
    fn columns_are_found_missing_null_and_empty() {
        let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
        builder.columns(3).fixed(4, &7u32.to_le_bytes()).null(2);
        let bytes = builder.to_vec();
        let record = Record::parse_data(&bytes);
        let get = |c: &PhysicalColumn| cell(&record, c, Level::Leaf).unwrap();
        assert_eq!(get(&column(1, SqlType::Int, 4, 1)), Cell::Bytes(Cow::Borrowed(&[7, 0, 0, 0])));
        assert_eq!(get(&column(2, SqlType::VarBinary { len: Some(9) }, -1, 2)), Cell::Null);
        assert_eq!(
            get(&column(3, SqlType::VarBinary { len: Some(9) }, -2, 3)),
            Cell::Bytes(Cow::Borrowed(&[]))
        );
        assert_eq!(get(&column(4, SqlType::Int, 8, 4)), Cell::Missing);
        assert!(cell(&record, &column(1, SqlType::BigInt, 4, 1), Level::Leaf).is_err());
    }
}
