//! Values to records, by the layout of a rowset.

use extentdb_base::{PageId, Rid};
use extentdb_catalog::table::{RowsetLayout, Source};
use extentdb_format::record::{RecordBuilder, RecordKind};

use super::order::sort_key;
use super::values::{Cell, RowValues};

/// The values of one entry of a heap or index: a row, and what only the index knows of it.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// The row.
    pub(super) row: &'a RowValues,
    /// The number among rows with the same clustered key.
    pub(super) uniquifier: [u8; 4],
    /// Where the row lies in its heap.
    pub(super) rid: [u8; 8],
}

impl<'a> Entry<'a> {
    /// An entry of a heap or of an index with a unique clustered key behind it.
    pub(super) fn new(row: &'a RowValues) -> Self {
        Entry { row, uniquifier: [0; 4], rid: [0; 8] }
    }

    fn cell(&self, source: Source) -> Cell<'_> {
        match source {
            Source::Column(id) => self.row.cell(id as usize - 1),
            // The first row of its key has an empty uniquifier.
            Source::Uniquifier if self.uniquifier == [0; 4] => Cell::Bytes(&[]),
            Source::Uniquifier => Cell::Bytes(&self.uniquifier),
            Source::Rid => Cell::Bytes(&self.rid),
        }
    }
}

/// Where a record is going.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Leaf,
    Interior,
}

/// Writes the records of one rowset.
pub(super) struct RecordWriter {
    pub(super) layout: RowsetLayout,
    leaf: RecordBuilder,
    interior: RecordBuilder,
    /// Columns of the variable part, in its order.
    leaf_variable: Vec<usize>,
    interior_variable: Vec<usize>,
    /// Columns of the key, in its order.
    key: Vec<usize>,
    is_base: bool,
}

impl RecordWriter {
    pub(super) fn new(layout: RowsetLayout, is_base: bool) -> Self {
        let columns = &layout.row.columns;
        let variable = |level: Level| {
            let offset = |at: usize| match level {
                Level::Leaf => columns[at].leaf.offset,
                Level::Interior => columns[at].interior.offset,
            };
            let mut order: Vec<usize> = (0..columns.len()).filter(|at| offset(*at) < 0).collect();
            order.sort_by_key(|at| -offset(*at));
            order
        };
        let (leaf_variable, interior_variable) = (variable(Level::Leaf), variable(Level::Interior));
        let mut key: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].key_ordinal > 0).collect();
        key.sort_by_key(|at| columns[*at].key_ordinal);
        let leaf = match is_base {
            true => RecordBuilder::data(RecordKind::Primary, usize::from(layout.min_leaf)),
            false => RecordBuilder::index(RecordKind::Index, usize::from(layout.min_leaf)),
        };
        let interior = RecordBuilder::index(RecordKind::Index, usize::from(layout.min_interior));
        RecordWriter { layout, leaf, interior, leaf_variable, interior_variable, key, is_base }
    }

    /// Writes a leaf record.
    pub(super) fn leaf(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        fill(&mut self.leaf, &self.layout, entry, &self.leaf_variable, Level::Leaf);
        out.clear();
        self.leaf.write(out);
    }

    /// Writes a row that was moved from `home`.
    pub(super) fn forwarded(&mut self, entry: &Entry<'_>, home: Rid, out: &mut Vec<u8>) {
        let mut record = RecordBuilder::data(RecordKind::Forwarded, usize::from(self.layout.min_leaf));
        fill(&mut record, &self.layout, entry, &self.leaf_variable, Level::Leaf);
        record.back_pointer(home);
        out.clear();
        record.write(out);
    }

    /// Writes a separator that leads to `child`.
    pub(super) fn interior(&mut self, entry: &Entry<'_>, child: PageId, out: &mut Vec<u8>) {
        fill(&mut self.interior, &self.layout, entry, &self.interior_variable, Level::Interior);
        self.interior.child(child);
        out.clear();
        self.interior.write(out);
    }

    /// The key, so that it compares byte by byte.
    pub(super) fn sort_key(&self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        out.clear();
        for &at in &self.key {
            let (column, source) = (&self.layout.row.columns[at], self.layout.sources[at]);
            match (source, &column.ty) {
                (Source::Uniquifier, _) => out.extend(u32::from_le_bytes(entry.uniquifier).to_be_bytes()),
                (_, Some(ty)) => sort_key(ty, entry.cell(source), column.is_descending(), out),
                (_, None) => {}
            }
        }
    }

    /// True for the records of a heap or clustered index.
    pub(super) fn is_base(&self) -> bool {
        self.is_base
    }
}

fn fill(
    record: &mut RecordBuilder,
    layout: &RowsetLayout,
    entry: &Entry<'_>,
    variable: &[usize],
    level: Level,
) {
    record.clear();
    let has_bits = match level {
        Level::Leaf => layout.max_null_bit > 0,
        Level::Interior => layout.has_nullable_key,
    };
    if has_bits {
        record.columns(match level {
            Level::Leaf => layout.max_null_bit,
            Level::Interior => layout.key_columns(),
        });
    }
    for (column, source) in layout.row.columns.iter().zip(&layout.sources) {
        let place = match level {
            Level::Leaf => column.leaf,
            Level::Interior => column.interior,
        };
        match entry.cell(*source) {
            Cell::Null => {
                record.null(place.null_bit);
            }
            Cell::Bit(value) if place.offset > 0 => {
                record.fixed_bit(place.offset as usize, place.bit, value);
            }
            Cell::Bytes(bytes) if place.offset > 0 => {
                record.fixed(place.offset as usize, bytes);
            }
            _ => {}
        }
    }
    for &at in variable {
        match entry.cell(layout.sources[at]) {
            Cell::Bytes(bytes) => record.var(bytes, false),
            Cell::Pointer(bytes) => record.var(bytes, true),
            _ => record.var(&[], false),
        };
    }
}
