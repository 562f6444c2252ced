//! Rows to records of compressed heaps and indexes, in CD format.
//!
//! ```text
//! leaf        the columns in record order, each in its compressed form; a column that came later is not there
//! non-leaf    nonclustered: the key columns in key order, then the child page as one more column of six bytes
//!             clustered: an ordinary record
//! ```
//!
//! How real databases hold child pages in compressed indexes is not certain; these are the forms
//! that [`CdRecord::child`](extentdb_format::record::compressed::CdRecord::child) and the
//! description of the format name. Compression of whole pages is the work of
//! [`packer`](crate::unit::packer).

use std::ops::Range;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_format::record::compressed::value::compress_value;
use extentdb_format::record::compressed::{CdColumn, CdKind, CdParts, CdRecord};
use extentdb_format::record::row::VersionTag;

use extentdb_catalog::table::values::Cell;

/// A column whose bytes lie in a buffer.
enum Kept {
    Null,
    BitTrue,
    Value(Range<usize>),
    Pointer(Range<usize>),
}

/// Collects the columns of a record. One serves many records.
#[derive(Default)]
pub(crate) struct CompressedRow {
    bytes: Vec<u8>,
    columns: Vec<Kept>,
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
            (Cell::Null | Cell::Lob(_) | Cell::Stream(_), _) | (Cell::Bytes(_), None) => Kept::Null,
            (Cell::Bit(true), _) => Kept::BitTrue,
            (Cell::Bit(false), _) => Kept::Value(start..start),
            (Cell::Bytes(bytes), Some(ty)) => {
                compress_value(ty, bytes, &mut self.bytes);
                Kept::Value(start..self.bytes.len())
            }
            (Cell::Pointer(bytes), _) => {
                self.bytes.extend_from_slice(bytes);
                Kept::Pointer(start..self.bytes.len())
            }
        };
        self.columns.push(kept);
    }

    /// Appends the child page of a separator.
    pub(crate) fn push_child(&mut self, child: PageId) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&child.to_bytes());
        self.columns.push(Kept::Value(start..self.bytes.len()));
    }

    /// Writes the record behind what `out` already holds.
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

    fn column(&self, kept: &Kept) -> CdColumn<'_> {
        match kept {
            Kept::Null => CdColumn::Null,
            Kept::BitTrue => CdColumn::BitTrue,
            Kept::Value(range) => CdColumn::of_bytes(&self.bytes[range.clone()]),
            Kept::Pointer(range) => {
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
