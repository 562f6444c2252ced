//! From a definition to `sysrscols`: which columns a rowset has, in which order, and where they
//! lie.
//!
//! ```text
//! heap, clustered uniquifier, when the key is not unique; key columns in key order (user tables);
//!       the rest by id,
//!                 without computed columns that are not stored
//!                 fixed columns from byte 4, null bit = ordinal
//! nonclustered    key columns, included columns, then what is missing of the row locator (RID or
//!                 clustered key)
//!                 fixed columns from byte 1, null bits only when some column may be NULL
//! non-leaf        the key columns in key order from byte 1, then the child page; null bits only
//!                 when some key
//!                 column may be NULL. A unique index leaves the locator out of its key
//! ```
//!
//! Observed in files of versions 655 and 661, whose `sysrscols` these rules reproduce.

use extentdb_types::SqlType;

use super::definition::{
    ColumnHistory, IndexDefinition, TableDefinition, max_in_row, rowset_status,
};
use crate::layout::{ColumnOffset, PhysicalColumn, RowLayout, column_status};
use crate::model::IndexKind;

/// Where the value of a column of a rowset comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Column of the table.
    Column(i32),
    /// The number that tells rows with the same clustered key apart.
    Uniquifier,
    /// The place of the row in its heap.
    Rid,
}

/// The columns of a rowset, and the lengths that `sysrowsets` keeps.
#[derive(Clone, Debug)]
pub struct RowsetLayout {
    /// The columns in record order.
    pub row: RowLayout,
    /// What each of them holds, in the same order.
    pub sources: Vec<Source>,
    /// End of the fixed part of leaf records.
    pub min_leaf: u16,
    /// End of the fixed part of non-leaf records, child page included; 0 of a heap.
    pub min_interior: u16,
    /// The longest leaf record there can be.
    pub max_leaf: u32,
    /// The longest non-leaf record.
    pub max_interior: u16,
    /// The highest null bit of leaf records; 0 = they have no null bitmap.
    pub max_null_bit: u16,
    /// Some key column may be NULL: non-leaf records have a null bitmap.
    pub has_nullable_key: bool,
}

impl RowsetLayout {
    /// Columns of non-leaf records.
    pub fn key_columns(&self) -> u16 {
        self.row.columns.iter().filter(|column| column.key_ordinal > 0).count() as u16
    }
}

/// A column that has not got its place yet.
pub(super) struct Draft {
    pub(super) source: Source,
    pub(super) ty: SqlType,
    pub(super) nullable: bool,
    pub(super) descending: bool,
    pub(super) key_ordinal: i16,
    pub(super) history: ColumnHistory,
}

/// `sysrowsets.maxint` is never less.
const INTERIOR_BYTES_MIN: u16 = 15;
const RID: SqlType = SqlType::Binary { len: 8 };

impl TableDefinition {
    /// Where the columns of an index lie in its records.
    pub fn layout(&self, index: &IndexDefinition) -> RowsetLayout {
        let drafts =
            if index.is_base() { self.base_drafts(index) } else { self.nonclustered_drafts(index) };
        lay_out(&drafts, index)
    }

    fn draft(&self, id: i32) -> Option<Draft> {
        let column = self.column(id)?;
        Some(Draft {
            source: Source::Column(id),
            ty: column.ty,
            nullable: column.stored_nullable,
            descending: false,
            key_ordinal: 0,
            history: column.history,
        })
    }

    fn base_drafts(&self, index: &IndexDefinition) -> Vec<Draft> {
        let is_key = |id: i32| index.keys.iter().any(|key| key.column_id == id);
        let mut drafts = Vec::with_capacity(self.columns.len() + 1);
        if index.kind == IndexKind::Clustered && !index.is_unique() {
            drafts.push(uniquifier());
        }
        let ids =
            (1..).zip(&self.columns).filter(|(_, column)| column.is_stored()).map(|(id, _)| id);
        if self.has_key_first() {
            drafts.extend(index.keys.iter().filter_map(|key| self.draft(key.column_id)));
            drafts.extend(ids.filter(|id| !is_key(*id)).filter_map(|id| self.draft(id)));
        } else {
            drafts.extend(ids.filter_map(|id| self.draft(id)));
        }
        self.number_keys(index, &mut drafts);
        if let Some(first) = drafts.first_mut().filter(|draft| draft.source == Source::Uniquifier) {
            first.key_ordinal = index.keys.len() as i16 + 1;
        }
        drafts
    }

    fn nonclustered_drafts(&self, index: &IndexDefinition) -> Vec<Draft> {
        let own = index.keys.iter().map(|key| key.column_id).chain(index.included.iter().copied());
        let own = own.chain(index.added_partition_column());
        let mut drafts: Vec<Draft> = own.filter_map(|id| self.draft(id)).collect();
        self.number_keys(index, &mut drafts);
        let mut next = index.keys.len() as i16;
        for locator in self.locator() {
            let at = drafts.iter().position(|draft| draft.source == locator.source).unwrap_or_else(
                || {
                    drafts.push(locator);
                    drafts.len() - 1
                },
            );
            if let Some(draft) =
                drafts.get_mut(at).filter(|draft| draft.key_ordinal == 0 && !index.is_unique())
            {
                next += 1;
                draft.key_ordinal = next;
            }
        }
        drafts
    }

    /// What leads from a nonclustered index to the row.
    fn locator(&self) -> Vec<Draft> {
        let Some(clustered) = self.clustered() else {
            return vec![Draft {
                source: Source::Rid,
                ty: RID,
                nullable: false,
                descending: false,
                key_ordinal: 0,
                history: ColumnHistory::default(),
            }];
        };
        let mut drafts: Vec<Draft> =
            clustered.keys.iter().filter_map(|key| self.draft(key.column_id)).collect();
        for (draft, key) in drafts.iter_mut().zip(&clustered.keys) {
            draft.descending = key.descending;
        }
        if !clustered.is_unique() {
            drafts.push(uniquifier());
        }
        drafts
    }

    fn number_keys(&self, index: &IndexDefinition, drafts: &mut [Draft]) {
        for (ordinal, key) in (1..).zip(&index.keys) {
            if let Some(draft) =
                drafts.iter_mut().find(|draft| draft.source == Source::Column(key.column_id))
            {
                draft.key_ordinal = ordinal;
                draft.descending = key.descending;
            }
        }
    }
}

fn uniquifier() -> Draft {
    Draft {
        source: Source::Uniquifier,
        ty: SqlType::Int,
        nullable: false,
        descending: false,
        key_ordinal: 0,
        history: ColumnHistory::default(),
    }
}

impl Draft {
    fn is_variable(&self) -> bool {
        self.source == Source::Uniquifier || (self.ty.fixed_bytes().is_none() && !self.ty.is_bit())
    }

    /// The most bytes in a record.
    fn max_bytes(&self) -> u32 {
        if self.source == Source::Uniquifier {
            4
        } else {
            u32::from(max_in_row(&self.ty).unsigned_abs())
        }
    }
}

/// Hands out offsets in a record.
pub(super) struct LayoutCursor {
    fixed_end: i16,
    variable: i16,
    /// Byte and next free bit of the current byte of bit columns.
    bits: Option<(i16, u8)>,
    max_variable: u32,
}

impl LayoutCursor {
    fn from(fixed_start: i16) -> LayoutCursor {
        LayoutCursor {
            fixed_end: fixed_start,
            variable: 0,
            bits: None,
            max_variable: 0,
        }
    }

    /// After the columns that leaf records have. `None`: the place of one of them is not
    /// understood.
    pub(super) fn after(layout: &RowLayout) -> Option<LayoutCursor> {
        let mut cursor = LayoutCursor::from(4);
        for column in &layout.columns {
            let ty = column.ty?;
            let offset = column.leaf.offset;
            match offset {
                ..=-1 => {
                    cursor.variable = cursor.variable.max(-offset);
                    let bytes = if column.is_uniquifier() { 4 } else { max_in_row(&ty) };
                    cursor.max_variable += u32::from(bytes.unsigned_abs());
                }
                0 => {}
                _ => {
                    let bytes = if ty.is_bit() { 1 } else { ty.fixed_bytes()? as i16 };
                    cursor.fixed_end = cursor.fixed_end.max(offset + bytes);
                }
            }
            let is_last = |(byte, bit): (i16, u8)| (byte, bit) <= (offset, column.leaf.bit + 1);
            if ty.is_bit() && cursor.bits.is_none_or(is_last) {
                cursor.bits = Some((offset, column.leaf.bit + 1));
            }
        }
        Some(cursor)
    }

    pub(super) fn fixed_end(&self) -> u16 {
        self.fixed_end as u16
    }

    /// Room for the back pointer of a forwarded row.
    pub(super) fn leave_room_to_move(&mut self) {
        self.variable += 1;
        self.max_variable += 10;
    }

    pub(super) fn take(&mut self, draft: &Draft) -> ColumnOffset {
        if draft.is_variable() {
            self.variable += 1;
            self.max_variable += draft.max_bytes();
            return ColumnOffset { offset: -self.variable, ..ColumnOffset::default() };
        }
        if draft.ty.is_bit() {
            let (offset, bit) = match self.bits {
                Some((offset, bit)) if bit < 8 => (offset, bit),
                _ => (self.advance(1), 0),
            };
            self.bits = Some((offset, bit + 1));
            return ColumnOffset { offset, null_bit: 0, bit };
        }
        let bytes = draft.ty.fixed_bytes().unwrap_or(0) as i16;
        ColumnOffset { offset: self.advance(bytes), ..ColumnOffset::default() }
    }

    fn advance(&mut self, bytes: i16) -> i16 {
        self.fixed_end += bytes;
        self.fixed_end - bytes
    }

    /// The longest record: fixed part, null bitmap for `null_bits` columns, variable columns.
    pub(super) fn max_len(&self, null_bits: u16) -> u32 {
        let bitmap = if null_bits == 0 { 0 } else { 2 + u32::from(null_bits).div_ceil(8) };
        let offsets = if self.variable == 0 { 0 } else { 2 + 2 * self.variable as u32 };
        self.fixed_end as u32 + bitmap + offsets + self.max_variable
    }
}

fn lay_out(drafts: &[Draft], index: &IndexDefinition) -> RowsetLayout {
    let has_nullable_key = drafts.iter().any(|draft| draft.nullable && draft.key_ordinal > 0);
    let has_leaf_bits = index.is_base() || drafts.iter().any(|draft| draft.nullable);
    let mut leaf = LayoutCursor::from(if index.is_base() { 4 } else { 1 });
    let mut columns: Vec<PhysicalColumn> = Vec::with_capacity(drafts.len());
    for (ordinal, draft) in (1..).zip(drafts) {
        let lay_out = reused_offset(draft, drafts, &columns).unwrap_or_else(|| leaf.take(draft));
        columns.push(draft_column(ordinal, draft, index.is_base(), lay_out));
    }
    if index.is_base() {
        mark_altered(drafts, &mut columns);
    }
    for (bit, column) in (1..).zip(&mut columns).filter(|_| has_leaf_bits) {
        column.leaf.null_bit = bit;
    }
    let mut interior = LayoutCursor::from(1);
    let key_bits = locate_interior(drafts, &mut columns, &mut interior, has_nullable_key);
    let is_heap = index.kind == IndexKind::Heap;
    let max_null_bit = if has_leaf_bits { columns.len() as u16 } else { 0 };
    // The lengths of old system indexes were computed as if every record had a null bitmap.
    let is_old = index.rowset_status & rowset_status::USUAL == 0 || index.hides_min_interior;
    let counted = |count: u16, bits: u16| if is_old { count } else { bits };
    let columns_count = columns.len() as u16;
    let key_count = columns.iter().filter(|column| column.key_ordinal > 0).count() as u16;
    if is_heap {
        leaf.leave_room_to_move();
    }
    RowsetLayout {
        sources: drafts.iter().map(|draft| draft.source).collect(),
        row: RowLayout { columns, compression: index.compression },
        min_leaf: leaf.fixed_end as u16,
        min_interior: if is_heap { 0 } else { interior.fixed_end as u16 + 6 },
        max_leaf: leaf.max_len(counted(columns_count, max_null_bit)),
        max_interior: if is_heap {
            0
        } else {
            ((interior.max_len(counted(key_count, key_bits)) + 6) as u16).max(INTERIOR_BYTES_MIN)
        },
        max_null_bit,
        has_nullable_key,
    }
}

/// The place of the dropped column that a column took over.
fn reused_offset(
    draft: &Draft,
    drafts: &[Draft],
    placed: &[PhysicalColumn],
) -> Option<ColumnOffset> {
    let dropped = Source::Column(draft.history.replaces?);
    let at = drafts.iter().position(|other| other.source == dropped)?;
    placed
        .get(at)
        .map(|column| ColumnOffset { offset: column.leaf.offset, ..ColumnOffset::default() })
}

/// Marks dropped columns, which get numbers of their own, and columns with a stored default.
fn mark_altered(drafts: &[Draft], columns: &mut [PhysicalColumn]) {
    let mut dropped = 0;
    for (draft, column) in drafts.iter().zip(columns) {
        if draft.history.dropped {
            dropped += 1;
            column.column_id = column_status::DROPPED_ID + dropped;
            column.status |= column_status::DROPPED;
        } else if draft.history.has_stored_default {
            column.status |= column_status::STORED_DEFAULT;
        }
    }
}

/// Gives the key columns their offsets in non-leaf records; returns the number of columns counted
/// there, 0 without null bits.
fn locate_interior(
    drafts: &[Draft],
    columns: &mut [PhysicalColumn],
    cursor: &mut LayoutCursor,
    has_nullable_key: bool,
) -> u16 {
    let mut key: Vec<(&Draft, &mut PhysicalColumn)> =
        drafts.iter().zip(columns).filter(|(draft, _)| draft.key_ordinal > 0).collect();
    key.sort_by_key(|(draft, _)| draft.key_ordinal);
    let count = key.len() as u16;
    let mut null_bit = 0;
    for (draft, column) in key {
        column.interior = cursor.take(draft);
        if has_nullable_key && draft.source != Source::Uniquifier {
            null_bit += 1;
            column.interior.null_bit = null_bit;
        }
    }
    if has_nullable_key { count } else { 0 }
}

/// A column that has got its place.
pub(super) fn draft_column(
    ordinal: i32,
    draft: &Draft,
    is_base: bool,
    leaf: ColumnOffset,
) -> PhysicalColumn {
    let (ti, collation_id) = draft.ty.to_physical();
    let mut status = if draft.nullable { 0 } else { column_status::NOT_NULL };
    if draft.descending && draft.key_ordinal > 0 {
        status |= column_status::DESCENDING;
    }
    if draft.source == Source::Uniquifier && is_base {
        status |= column_status::UNIQUIFIER;
    }
    let column_id = match draft.source {
        Source::Column(id) if is_base => id,
        Source::Uniquifier if is_base => 0,
        _ => ordinal,
    };
    PhysicalColumn {
        column_id,
        ordinal,
        ti,
        collation_id,
        ty: Some(draft.ty),
        key_ordinal: draft.key_ordinal,
        status,
        max_in_row: if draft.ty.is_max() { 8000 } else { 0 },
        leaf,
        interior: ColumnOffset::default(),
    }
}
