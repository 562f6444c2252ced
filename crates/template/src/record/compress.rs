//! Rows to records of compressed heaps and indexes, in CD format.
//!
//! ```text
//! leaf      the columns in record order, each in its compressed form; a column added later is not
//!           there
//! non-leaf  nonclustered: the key columns in key order, then the child page as one more column of
//!           six bytes
//!           clustered: an ordinary record
//! ```
//!
//! The form of child pages in compressed indexes of real databases is not certain; these are the
//! forms of [`CdRecord::child`](extentdb_format::record::compressed::CdRecord::child) and the
//! description of the format. Compression of whole pages is the work of
//! [`packer`](crate::unit::packer).

use std::ops::Range;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_format::record::compressed::value::compress_value;
use extentdb_format::record::compressed::{CdColumn, CdKind, CdParts, CdRecord};
use extentdb_format::record::row::VersionTag;

use extentdb_catalog::table::values::Cell;

/// A column whose bytes lie in a buffer.
enum StoredColumn {
    Null,
    BitTrue,
    Value(Range<usize>),
    Pointer(Range<usize>),
}

/// Collects the columns of a record. One serves many records.
#[derive(Default)]
pub(crate) struct CompressedRow {
    bytes: Vec<u8>,
    columns: Vec<StoredColumn>,
}

impl CompressedRow {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.columns.clear();
    }

    /// Appends a column.
    pub(crate) fn push(&mut self, column: &PhysicalColumn, cell: Cell<'_>) {
        let start = self.bytes.len();
        let kept = match (cell, &column.ty) {
            (Cell::Null | Cell::Lob(_) | Cell::Stream(_), _) | (Cell::Bytes(_), None) => {
                StoredColumn::Null
            }
            (Cell::Bit(true), _) => StoredColumn::BitTrue,
            (Cell::Bit(false), _) => StoredColumn::Value(start..start),
            (Cell::Bytes(bytes), Some(ty)) => {
                compress_value(ty, bytes, &mut self.bytes);
                StoredColumn::Value(start..self.bytes.len())
            }
            (Cell::Pointer(bytes), _) => {
                self.bytes.extend_from_slice(bytes);
                StoredColumn::Pointer(start..self.bytes.len())
            }
        };
        self.columns.push(kept);
    }

    /// Appends the child page of a separator.
    pub(crate) fn push_child(&mut self, child: PageId) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&child.to_bytes());
        self.columns.push(StoredColumn::Value(start..self.bytes.len()));
    }

    /// Appends the record to `out`.
    pub(crate) fn write(
        &self,
        kind: CdKind,
        home: Option<Rid>,
        tag: Option<VersionTag>,
        out: &mut Vec<u8>,
    ) {
        let columns: Vec<CdColumn<'_>> =
            self.columns.iter().map(|kept| self.column(kept)).collect();
        CdParts {
            kind,
            columns: &columns,
            back_pointer: home,
            version_tag: tag,
        }
        .write(out);
    }

    fn column(&self, kept: &StoredColumn) -> CdColumn<'_> {
        match kept {
            StoredColumn::Null => CdColumn::Null,
            StoredColumn::BitTrue => CdColumn::BitTrue,
            StoredColumn::Value(range) => CdColumn::of_bytes(&self.bytes[range.clone()]),
            StoredColumn::Pointer(range) => {
                CdColumn::Long { bytes: &self.bytes[range.clone()], complex: true }
            }
        }
    }
}

/// The same separator with another child page.
pub(crate) fn with_child(separator: &[u8], child: PageId) -> Vec<u8> {
    let record = CdRecord::parse(separator);
    let mut columns: Vec<CdColumn<'_>> = record.columns().collect();
    let bytes = child.to_bytes();
    if let Some(last) = columns.last_mut() {
        *last = CdColumn::Short(&bytes);
    }
    let mut out = Vec::with_capacity(separator.len());
    CdParts::new(record.kind(), &columns).write(&mut out);
    out
}
