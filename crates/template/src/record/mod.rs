//! Values to records, by the layout of a rowset.

pub(crate) mod compress;
pub(crate) mod order;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::table::{RowsetLayout, Source};
use extentdb_format::record::builder::forwarding_stub;
use extentdb_format::record::compressed::{CdKind, CdParts};
use extentdb_format::record::row::STUB_BYTES;
use extentdb_format::record::status::KIND_BITS;
use extentdb_format::record::{RecordBuilder, RecordKind};

use crate::record::compress::{CompressedRow, with_child};
use crate::record::order::sort_key;
use crate::spec::alteration::{History, RowState};
use extentdb_catalog::table::values::{Cell, RowValues};

/// The values of one entry of a heap or index: a row, and its locator.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) row: &'a RowValues,
    /// The number among rows with the same clustered key.
    pub(crate) uniquifier: [u8; 4],
    /// RID of the row in its heap.
    pub(crate) rid: [u8; 8],
    /// The state of the row.
    pub(crate) state: RowState,
}

impl<'a> Entry<'a> {
    /// An entry of a heap, or of an index of a table with a unique clustered key.
    pub(crate) fn new(row: &'a RowValues) -> Self {
        Entry {
            row,
            uniquifier: [0; 4],
            rid: [0; 8],
            state: RowState::default(),
        }
    }

    /// The same of a row with a history.
    pub(crate) fn with_state(row: &'a RowValues, state: RowState) -> Self {
        Entry { state, ..Entry::new(row) }
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

/// The kind of page that a record is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Leaf,
    Interior,
}

/// Writes the records of one rowset.
pub(crate) struct RecordWriter {
    pub(crate) layout: RowsetLayout,
    /// Leaf records by age, the oldest first.
    generations: Vec<Generation>,
    interior: RecordBuilder,
    compressed: CompressedRow,
    /// Columns of the variable part, in its order.
    leaf_variable: Vec<usize>,
    interior_variable: Vec<usize>,
    /// Columns of the key, in its order.
    key: Vec<usize>,
    is_base: bool,
}

/// The layout of the records from before a column change.
struct Generation {
    /// The first row of this form.
    from_row: u64,
    /// Columns in record order.
    columns: u16,
    fixed_end: u16,
    record: RecordBuilder,
}

impl Generation {
    fn new(from_row: u64, columns: usize, layout: &RowsetLayout, is_base: bool) -> Generation {
        let end = |column: &extentdb_catalog::PhysicalColumn| {
            let bytes = column.ty.and_then(|ty| ty.fixed_bytes()).unwrap_or(1) as u16;
            u16::try_from(column.leaf.offset)
                .ok()
                .filter(|offset| *offset > 0)
                .map(|offset| offset + bytes)
        };
        let all = columns == layout.row.columns.len();
        let own = layout.row.columns.iter().take(columns).filter_map(end).max().unwrap_or(0);
        let fixed_end = if all { layout.min_leaf } else { own.max(4) };
        let record = if is_base {
            RecordBuilder::data(RecordKind::Primary, usize::from(fixed_end))
        } else {
            RecordBuilder::index(RecordKind::Index, usize::from(fixed_end))
        };
        Generation { from_row, columns: columns as u16, fixed_end, record }
    }

    /// The oldest first; a table that was never altered has one.
    fn all(layout: &RowsetLayout, is_base: bool, history: &History<'_>) -> Vec<Generation> {
        let whole = layout.row.columns.len();
        let mut generations: Vec<Generation> = Vec::new();
        let mut from_row = 0;
        for (next, column) in history.additions().filter(|_| is_base) {
            let at = layout.sources.iter().position(|source| *source == Source::Column(column));
            if next > from_row {
                generations.push(Generation::new(from_row, at.unwrap_or(whole), layout, is_base));
                from_row = next;
            }
        }
        generations.push(Generation::new(from_row, whole, layout, is_base));
        generations
    }
}

impl RecordWriter {
    pub(crate) fn new(layout: RowsetLayout, is_base: bool, history: &History<'_>) -> Self {
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
        let leaf_variable = variable(Level::Leaf);
        let interior_variable = variable(Level::Interior);
        let mut key: Vec<usize> =
            (0..columns.len()).filter(|at| columns[*at].key_ordinal > 0).collect();
        key.sort_by_key(|at| columns[*at].key_ordinal);
        let generations = Generation::all(&layout, is_base, history);
        let interior = RecordBuilder::index(RecordKind::Index, usize::from(layout.min_interior));
        RecordWriter {
            layout,
            generations,
            interior,
            compressed: CompressedRow::default(),
            leaf_variable,
            interior_variable,
            key,
            is_base,
        }
    }

    fn is_compressed(&self) -> bool {
        self.layout.row.compression != Compression::None
    }

    /// Separators of a compressed clustered index are ordinary records, those of a nonclustered one
    /// are not.
    fn has_compressed_separators(&self) -> bool {
        self.is_compressed() && !self.is_base
    }

    fn generation(&self, number: u64) -> usize {
        self.generations.iter().rposition(|generation| generation.from_row <= number).unwrap_or(0)
    }

    /// End of the fixed part of the records that are written with this row: the `pminlen` of a page
    /// that begins with it.
    pub(crate) fn fixed_end(&self, state: &RowState) -> u16 {
        self.generations[self.generation(state.number)].fixed_end
    }

    /// Writes a leaf record.
    pub(crate) fn leaf(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        self.write_leaf(entry, None, out);
    }

    /// Writes a row forwarded from `home`.
    pub(crate) fn forwarded(&mut self, entry: &Entry<'_>, home: Rid, out: &mut Vec<u8>) {
        self.write_leaf(entry, Some(home), out);
    }

    fn write_leaf(&mut self, entry: &Entry<'_>, home: Option<Rid>, out: &mut Vec<u8>) {
        out.clear();
        let at = self.generation(entry.state.number);
        if self.is_compressed() {
            return self.write_compressed(at, entry, home, out);
        }
        let Generation { columns, record, .. } = &mut self.generations[at];
        fill(record, &self.layout, entry, &self.leaf_variable, *columns, Level::Leaf);
        if let Some(home) = home {
            record.back_pointer(home);
        }
        if let Some(tag) = entry.state.version {
            record.version_tag(tag);
        }
        record.write(out);
        let kind = match (!self.is_deleted(&entry.state), self.is_base) {
            (true, _) if home.is_some() => RecordKind::Forwarded,
            (true, true) => RecordKind::Primary,
            (true, false) => RecordKind::Index,
            (false, true) => RecordKind::GhostData,
            (false, false) => RecordKind::GhostIndex,
        };
        out[0] = out[0] & !KIND_BITS | kind.bits();
    }

    /// An empty slot replaces a deleted row; its index entries are ghosts.
    fn is_deleted(&self, state: &RowState) -> bool {
        state.is_ghost || (state.is_vacated && !self.is_base)
    }

    fn write_compressed(
        &mut self,
        generation: usize,
        entry: &Entry<'_>,
        home: Option<Rid>,
        out: &mut Vec<u8>,
    ) {
        let columns = usize::from(self.generations[generation].columns);
        self.compressed.clear();
        for (column, source) in
            self.layout.row.columns.iter().zip(&self.layout.sources).take(columns)
        {
            self.compressed.push(column, entry.cell(*source));
        }
        let kind = match (!self.is_deleted(&entry.state), self.is_base) {
            (true, _) if home.is_some() => CdKind::Forwarded,
            (true, true) => CdKind::Primary,
            (true, false) => CdKind::Index,
            (false, true) => CdKind::GhostData,
            (false, false) => CdKind::GhostIndex,
        };
        self.compressed.write(kind, home, entry.state.version, out);
    }

    /// The forwarding stub of a row at `target`.
    pub(crate) fn stub(&self, target: Rid) -> [u8; STUB_BYTES] {
        if self.is_compressed() { CdParts::stub(target) } else { forwarding_stub(target) }
    }

    /// Writes a separator that refers to `child`.
    pub(crate) fn interior(&mut self, entry: &Entry<'_>, child: PageId, out: &mut Vec<u8>) {
        out.clear();
        if self.has_compressed_separators() {
            self.compressed.clear();
            for &at in &self.key {
                self.compressed
                    .push(&self.layout.row.columns[at], entry.cell(self.layout.sources[at]));
            }
            self.compressed.push_child(child);
            return self.compressed.write(CdKind::Index, None, None, out);
        }
        let columns = u16::MAX;
        fill(
            &mut self.interior,
            &self.layout,
            entry,
            &self.interior_variable,
            columns,
            Level::Interior,
        );
        self.interior.child(child);
        self.interior.write(out);
    }

    /// The same separator with another child page.
    pub(crate) fn with_child(&self, separator: &[u8], child: PageId) -> Vec<u8> {
        if self.has_compressed_separators() {
            return with_child(separator, child);
        }
        let mut out = separator.to_vec();
        let end = usize::from(self.layout.min_interior);
        out[end - PageId::BYTES..end].copy_from_slice(&child.to_bytes());
        out
    }

    /// The key, so that it compares byte by byte.
    pub(crate) fn sort_key(&self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        out.clear();
        for &at in &self.key {
            let column = &self.layout.row.columns[at];
            let source = self.layout.sources[at];
            match (source, &column.ty) {
                (Source::Uniquifier, _) => {
                    out.extend(u32::from_le_bytes(entry.uniquifier).to_be_bytes())
                }
                (_, Some(ty)) => sort_key(ty, entry.cell(source), column.is_descending(), out),
                (_, None) => {}
            }
        }
    }

    /// True for the records of a heap or clustered index.
    pub(crate) fn is_base(&self) -> bool {
        self.is_base
    }
}

/// Puts the values into a record: those of the first columns, and of the variable ones in their
/// order.
fn fill(
    record: &mut RecordBuilder,
    layout: &RowsetLayout,
    entry: &Entry<'_>,
    variable: &[usize],
    columns: u16,
    level: Level,
) {
    record.clear();
    let columns_there = usize::from(columns);
    let has_bits = match level {
        Level::Leaf => layout.max_null_bit > 0,
        Level::Interior => layout.has_nullable_key,
    };
    if has_bits {
        record.columns(match level {
            Level::Leaf => layout.max_null_bit.min(columns),
            Level::Interior => layout.key_columns(),
        });
    }
    for (column, source) in layout.row.columns.iter().zip(&layout.sources).take(columns_there) {
        let position = match level {
            Level::Leaf => column.leaf,
            Level::Interior => column.interior,
        };
        match entry.cell(*source) {
            Cell::Null => {
                record.null(position.null_bit);
            }
            Cell::Bit(value) if position.offset > 0 => {
                record.fixed_bit(position.offset as usize, position.bit, value);
            }
            Cell::Bytes(bytes) if position.offset > 0 => {
                record.fixed(position.offset as usize, bytes);
            }
            _ => {}
        }
    }
    for &at in variable.iter().filter(|at| **at < columns_there) {
        match entry.cell(layout.sources[at]) {
            Cell::Bytes(bytes) => record.var(bytes, false),
            Cell::Pointer(bytes) => record.var(bytes, true),
            _ => record.var(&[], false),
        };
    }
}
