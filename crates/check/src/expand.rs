//! Compressed rows in the form of uncompressed ones, so that all logical checks know one form only.
//!
//! ```text
//! CD record (+ anchor, dictionary of its page) -> data or index record in a layout of our own:
//!                                      fixed columns in sequence, variable ones in record order
//! ```
//!
//! The compressed forms are known from public descriptions. A page with a value that cannot be
//! undone is left out of the logical checks of its unit, and the report says so; a single such row
//! among many that can be undone is damage.

use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::layout::{ColumnOffset, Compression, PhysicalColumn, RowLayout};
use extentdb_format::page::PageRef;
use extentdb_format::record::RecordKind;
use extentdb_format::record::compressed::row::IS_CD;
use extentdb_format::record::compressed::{
    CdColumn, CdKind, CdRecord, CiView, CompressedError, CompressedValue,
};
use extentdb_format::record::row::{COMPLEX_COLUMN, DATA_HEADER_BYTES, INDEX_HEADER_BYTES};
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE};
use extentdb_types::SqlType;

use crate::spans::Span;

/// Rows of a page that cannot be undone and still count as damage of single rows: one in this
/// number.
const DAMAGED_ROWS_SHARE: usize = 4;

/// True for types whose compressed form several independent descriptions agree on. Values of the
/// others are shown, and nothing is concluded from them: neither their order nor their equality
/// with values that are not compressed.
pub(crate) fn has_certain_compression(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bit
            | SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::UniqueIdentifier
    )
}

/// The layout that rows of a compressed rowset have once they are expanded. `None` when a column's
/// type is not understood.
pub(crate) fn expanded_layout(layout: &RowLayout, is_data: bool) -> Option<RowLayout> {
    let mut at = if is_data { DATA_HEADER_BYTES } else { INDEX_HEADER_BYTES };
    let mut variable = 0i16;
    let mut columns = Vec::with_capacity(layout.columns.len());
    let present = layout.columns.iter().filter(|column| !column.is_dropped());
    for (null_bit, column) in (1..).zip(present) {
        let ty = column.ty?;
        let fixed = if ty.is_bit() { Some(1) } else { ty.fixed_bytes() };
        let offset = match fixed {
            Some(bytes) => {
                at += bytes;
                i16::try_from(at - bytes).ok()?
            }
            None => {
                variable -= 1;
                variable
            }
        };
        let leaf = ColumnOffset { offset, null_bit, bit: 0 };
        columns.push(PhysicalColumn { leaf, interior: ColumnOffset::default(), ..column.clone() });
    }
    Some(RowLayout { columns, compression: Compression::None })
}

/// Where the fixed part of expanded rows ends.
fn fixed_end(layout: &RowLayout, is_data: bool) -> usize {
    let bytes = |column: &PhysicalColumn| match column.ty {
        Some(ty) if ty.is_bit() => 1,
        Some(ty) => ty.fixed_bytes().unwrap_or(0),
        None => 0,
    };
    let header = if is_data { DATA_HEADER_BYTES } else { INDEX_HEADER_BYTES };
    header + layout.columns.iter().map(bytes).sum::<usize>()
}

/// Expanded rows of one page take no more than this: every one of the most rows there can be, as
/// long as a page.
const ARENA_BYTES_MAX: usize = 8 << 20;

/// Where an expanded record lies in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideSpan {
    pub(crate) slot: u16,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Rows of a page, expanded back to back. The memory is used again for the next page.
#[derive(Default)]
pub(crate) struct Expander {
    arena: Vec<u8>,
    spans: Vec<WideSpan>,
    nulls: Vec<u8>,
    variable: Vec<u8>,
    ends: Vec<u16>,
    /// Slots whose rows could not be undone.
    damaged: Vec<u16>,
    /// The row at hand has a form that is not known: no damage.
    is_unknown: bool,
}

/// An expanded page.
pub(crate) struct Expanded<'e> {
    pub(crate) bytes: &'e [u8],
    pub(crate) spans: &'e [WideSpan],
    /// `pminlen` of the expanded records.
    pub(crate) fixed_end: u16,
    /// Slots that could not be undone, when they are few.
    pub(crate) damaged: &'e [u16],
}

impl Expander {
    /// Expands all records of a leaf page. `None` when that cannot be done.
    pub(crate) fn page(
        &mut self,
        view: PageRef<'_>,
        spans: &[Span],
        layout: &RowLayout,
        is_data: bool,
    ) -> Option<Expanded<'_>> {
        self.arena.clear();
        self.spans.clear();
        self.damaged.clear();
        let ci = CiView::of(view.bytes());
        if ci.is_some_and(|ci| ci.fault().is_some()) {
            return None;
        }
        let anchors = ci.map(|ci| ci.anchors()).unwrap_or_default();
        let fixed_end = fixed_end(layout, is_data);
        for span in spans {
            let bytes = view.bytes().get(usize::from(span.start)..usize::from(span.end))?;
            let start = self.arena.len();
            if start > ARENA_BYTES_MAX {
                return None;
            }
            self.is_unknown = false;
            match self.record(bytes, ci.as_ref(), &anchors, layout, is_data, fixed_end) {
                None if self.is_unknown => return None,
                Some(()) => {
                    let start = start as u32;
                    let end = self.arena.len() as u32;
                    self.spans.push(WideSpan { slot: span.slot, start, end });
                }
                None => {
                    self.arena.truncate(start);
                    self.damaged.push(span.slot);
                }
            }
        }
        let is_single_damage = self.damaged.len() * DAMAGED_ROWS_SHARE <= spans.len();
        is_single_damage.then_some(Expanded {
            bytes: &self.arena,
            spans: &self.spans,
            fixed_end: fixed_end as u16,
            damaged: &self.damaged,
        })
    }

    /// Expands one record of a page; its bytes, and the `pminlen` they have.
    pub(crate) fn single(
        &mut self,
        view: &PageRef<'_>,
        bytes: &[u8],
        layout: &RowLayout,
        is_data: bool,
    ) -> Option<(&[u8], u16)> {
        self.arena.clear();
        let ci = CiView::of(view.bytes());
        let anchors = ci.map(|ci| ci.anchors()).unwrap_or_default();
        let fixed_end = fixed_end(layout, is_data);
        self.record(bytes, ci.as_ref(), &anchors, layout, is_data, fixed_end)?;
        Some((&self.arena, fixed_end as u16))
    }

    fn record(
        &mut self,
        bytes: &[u8],
        ci: Option<&CiView<'_>>,
        anchors: &[CdColumn<'_>],
        layout: &RowLayout,
        is_data: bool,
        fixed_end: usize,
    ) -> Option<()> {
        bytes.first().filter(|status| *status & IS_CD != 0)?;
        let record = CdRecord::parse(bytes);
        if let Some(target) = record.stub_target() {
            self.arena.push(RecordKind::ForwardingStub.bits());
            self.arena.extend_from_slice(&target.to_bytes());
            return Some(());
        }
        let start = self.arena.len();
        self.arena.push(row_kind(record.kind()).bits() | HAS_NULL_BITMAP | HAS_VARIABLE);
        if is_data {
            self.arena.push(0);
            self.arena.extend_from_slice(&(fixed_end as u16).to_le_bytes());
        }
        self.arena.resize(start + fixed_end, 0);
        self.variable.clear();
        self.ends.clear();
        self.nulls.clear();
        self.nulls.resize(layout.columns.len().div_ceil(8), 0);
        let stored: Vec<CdColumn<'_>> = record.columns().collect();
        // A column that the row does not have yet lies after all it has: the null bitmap ends
        // before it.
        let mut present = 0;
        for (number, column) in layout.columns.iter().enumerate() {
            let at = usize::try_from(column.ordinal).ok()?.checked_sub(1)?;
            let Some(value) = stored.get(at) else { continue };
            present = number + 1;
            let anchor = anchors.get(at).copied().unwrap_or(CdColumn::Null);
            let value = match ci {
                Some(ci) => ci.resolve_with(anchor, *value),
                None => value.plain(),
            };
            let value = value.map_err(|error| self.is_unknown = !is_damage(error)).ok()?;
            if !self.column(value, column, start)? {
                *self.nulls.get_mut(number / 8)? |= 1 << (number % 8);
            }
        }
        self.tail(present, &record, start)
    }

    /// Writes a value into its place; false for NULL.
    fn column(
        &mut self,
        value: CompressedValue<'_>,
        column: &PhysicalColumn,
        start: usize,
    ) -> Option<bool> {
        let ty = column.ty?;
        let is_variable = column.leaf.offset < 0;
        if let CompressedValue::Pointer(pointer) = value {
            self.variable.extend_from_slice(pointer);
            self.ends.push(self.variable.len() as u16 | COMPLEX_COLUMN);
            return is_variable.then_some(true);
        }
        // That a value is none of its type may be a form that is not known.
        let value = value.decompress(&ty).map_err(|_| self.is_unknown = true).ok()?;
        if let Some(bytes) = &value {
            if is_variable {
                self.variable.extend_from_slice(bytes);
            } else {
                let at = start + usize::try_from(column.leaf.offset).ok()?;
                self.arena.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
            }
        }
        if is_variable {
            self.ends.push(self.variable.len() as u16);
        }
        Some(value.is_some())
    }

    /// Null bitmap and variable part.
    fn tail(&mut self, present: usize, record: &CdRecord<'_>, start: usize) -> Option<()> {
        self.arena.extend_from_slice(&(present as u16).to_le_bytes());
        self.arena.extend_from_slice(self.nulls.get(..present.div_ceil(8))?);
        for (bytes, complex) in record.extra_long() {
            self.variable.extend_from_slice(bytes);
            self.ends.push(self.variable.len() as u16 | if complex { COMPLEX_COLUMN } else { 0 });
        }
        self.arena.extend_from_slice(&(self.ends.len() as u16).to_le_bytes());
        let base = self.arena.len() - start + 2 * self.ends.len();
        if base + self.variable.len() > PAGE_BYTES * 2 {
            return None;
        }
        for end in &self.ends {
            let at = base + usize::from(end & !COMPLEX_COLUMN);
            self.arena.extend_from_slice(&(at as u16 | end & COMPLEX_COLUMN).to_le_bytes());
        }
        self.arena.extend_from_slice(&self.variable);
        Some(())
    }
}

/// True for what no description allows, in contrast to what none describes.
fn is_damage(error: CompressedError) -> bool {
    use CompressedError::{NoDictionary, NoPrefix, Prefix, Symbol};
    matches!(error, NoDictionary { .. } | NoPrefix | Prefix { .. } | Symbol { .. })
}

pub(crate) fn row_kind(kind: CdKind) -> RecordKind {
    match kind {
        CdKind::Primary => RecordKind::Primary,
        CdKind::Forwarded => RecordKind::Forwarded,
        CdKind::ForwardingStub => RecordKind::ForwardingStub,
        CdKind::Index => RecordKind::Index,
        CdKind::GhostIndex => RecordKind::GhostIndex,
        CdKind::GhostEmpty | CdKind::GhostData | CdKind::GhostForwarded => RecordKind::GhostData,
    }
}
