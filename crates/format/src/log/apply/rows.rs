//! Row operations: insert, delete, modify.

use super::bytes::{exchange, part_of};
use super::{ApplyError, EditError};
use crate::PageBytes;
use crate::log::context::Context;
use crate::log::op::Op;
use crate::log::payload::page::DeleteSplit;
use crate::log::payload::row::{DeleteRows, InsertRows, ModifyColumns, ModifyRow};
use crate::page::{Growth, PageHeader, PageMut, PageRef, PageType, SlotRule};
use crate::record::RecordKind;

/// Offset of the length in a record of a text page.
const TEXT_LEN_AT: usize = 2;

/// What becomes of slots on this page. The leaf of a clustered index and a heap have the same type
/// of page, so that the record's context decides.
fn slot_rule(op: Op, context: Context, page: &PageBytes) -> Result<SlotRule, ApplyError> {
    let kind = PageHeader::of(page).kind();
    match (kind, context) {
        (PageType::TextMix | PageType::TextTree, _) => Ok(SlotRule::Fixed),
        (PageType::Index, _) => Ok(SlotRule::Dense),
        (PageType::Data, Context::HEAP) => Ok(SlotRule::Fixed),
        (PageType::Data, Context::CLUSTERED | Context::NONSYS_SPLIT) => Ok(SlotRule::Dense),
        _ => Err(ApplyError::Structure(op, kind)),
    }
}

pub(super) fn insert(
    insert: &InsertRows<'_>,
    context: Context,
    is_compensation: bool,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let rule = slot_rule(Op::INSERT_ROWS, context, page)?;
    let first = insert.fixed.page.slot;
    if insert.rows.is_empty() {
        return Err(ApplyError::Shape(Op::INSERT_ROWS));
    }
    // Rows that a split has moved are inserted again where they were, whatever is there now: the
    // next row may be a ghost.
    let may_revive = is_compensation && context != Context::NONSYS_SPLIT;
    if may_revive && rule == SlotRule::Dense && revive(first, &insert.rows, page)? {
        return Ok(());
    }
    for (slot, row) in (first..=u16::MAX).zip(&insert.rows) {
        whole_row(slot, row, page)?;
        PageMut::new(page).insert_row(slot, row, rule)?;
    }
    Ok(())
}

/// A row as it is to lie on the page: it must add up there, and be all that the element holds.
fn whole_row(slot: u16, row: &[u8], page: &PageBytes) -> Result<(), ApplyError> {
    let read = PageRef::new(page).row_in(slot, row)?;
    if read.len() == row.len() { Ok(()) } else { Err(ApplyError::Edit(EditError::Record { slot })) }
}

/// Undoing the deletion of an index row takes its mark away when it is still there.
fn revive(slot: u16, rows: &[&[u8]], page: &mut PageBytes) -> Result<bool, ApplyError> {
    let Ok(found) = PageRef::new(page).row(slot) else { return Ok(false) };
    let is_ghost =
        |row: &[u8]| row.first().is_some_and(|status| RecordKind::of(*status).is_ghost());
    if !is_ghost(found) {
        return Ok(false);
    }
    match rows {
        [row] if row.get(1..) == found.get(1..) && !is_ghost(row) => {
            PageMut::new(page).replace_row(slot, row, Growth::Close)?;
            Ok(true)
        }
        _ => Err(ApplyError::Compensation(Op::INSERT_ROWS)),
    }
}

pub(super) fn delete(
    delete: &DeleteRows<'_>,
    context: Context,
    is_compensation: bool,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let slot = delete.fixed.page.slot;
    let [row] = delete.rows.as_slice() else {
        let is_undo = is_compensation && context == Context::HEAP;
        return if is_undo {
            delete_all(delete, page)
        } else {
            Err(ApplyError::Shape(Op::DELETE_ROWS))
        };
    };
    // A compensation record does not repeat the row.
    if !(row.is_empty() && is_compensation) && PageRef::new(page).row(slot)? != *row {
        return Err(ApplyError::Before { slot, offset: 0 });
    }
    if context == Context::MARK_AS_GHOST {
        if is_compensation {
            return Err(ApplyError::Compensation(Op::DELETE_ROWS));
        }
        PageMut::new(page).mark_ghost(slot)?;
        return Ok(());
    }
    let rule = slot_rule(Op::DELETE_ROWS, context, page)?;
    PageMut::new(page).remove_row(slot, rule)?;
    Ok(())
}

/// The rows of an insert into a heap go together, the last one first; their slots stay empty.
fn delete_all(delete: &DeleteRows<'_>, page: &mut PageBytes) -> Result<(), ApplyError> {
    let rule = slot_rule(Op::DELETE_ROWS, Context::HEAP, page)?;
    for at in (0..delete.rows.len()).rev() {
        let slot = u16::try_from(usize::from(delete.fixed.page.slot) + at);
        let slot = slot.map_err(|_| ApplyError::Shape(Op::DELETE_ROWS))?;
        PageMut::new(page).remove_row(slot, rule)?;
    }
    Ok(())
}

/// EXPUNGE_ROWS: a ghost goes for good.
pub(super) fn expunge(slot: u16, context: Context, page: &mut PageBytes) -> Result<(), ApplyError> {
    let rule = slot_rule(Op::EXPUNGE_ROWS, context, page)?;
    let status = PageRef::new(page).row(slot)?.first().copied().unwrap_or(0);
    if !RecordKind::of(status).is_ghost() {
        return Err(ApplyError::Before { slot, offset: 0 });
    }
    PageMut::new(page).remove_row(slot, rule)?;
    Ok(())
}

/// DELETE_SPLIT: rows have gone to another page.
pub(super) fn delete_split(split: &DeleteSplit, page: &mut PageBytes) -> Result<(), ApplyError> {
    let slot = split.page.slot;
    let mut freed = 0;
    for _ in 0..split.rows_deleted {
        freed += PageMut::new(page).remove_row(slot, SlotRule::Dense)?;
    }
    if freed == usize::from(split.bytes_freed) {
        Ok(())
    } else {
        Err(ApplyError::Before { slot, offset: 0 })
    }
}

/// MODIFY_ROW: a run of bytes becomes another one, in a row or in the record of a map or header
/// page.
pub(super) fn modify(
    modify: &ModifyRow<'_>,
    is_compensation: bool,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let slot = modify.fixed.page.slot;
    let offset = modify.fixed.offset_in_row;
    let before = modify.before;
    let after = modify.after;
    if usize::from(modify.fixed.modify_size) != before.len() {
        return Err(ApplyError::Shape(Op::MODIFY_ROW));
    }
    if is_compensation && before.is_empty() {
        return Err(ApplyError::Compensation(Op::MODIFY_ROW));
    }
    match PageHeader::of(page).kind() {
        PageType::Boot => return overwrite(page, slot, offset, before, after),
        kind if !kind.holds_records() => return exchange(page, slot, offset, before, after),
        _ => {}
    }
    let chunk = Change { old_offset: offset, before, after };
    let row = changed_row(Op::MODIFY_ROW, slot, &[chunk], page)?;
    PageMut::new(page).replace_row(slot, &row, Growth::KeepsRoom)?;
    Ok(())
}

/// The mark of a clean shutdown and the highest transaction id of the boot page change without a
/// record, so that what was there before says nothing.
fn overwrite(
    page: &mut PageBytes,
    slot: u16,
    offset: u16,
    before: &[u8],
    after: &[u8],
) -> Result<(), ApplyError> {
    let target = part_of(page, slot, offset.into(), after.len())?;
    if before.len() != after.len() {
        return Err(ApplyError::Before { slot, offset });
    }
    target.copy_from_slice(after);
    Ok(())
}

/// MODIFY_COLUMNS: several runs of bytes of a row.
pub(super) fn modify_columns(
    modify: &ModifyColumns<'_>,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let slot = modify.fixed.page.slot;
    let changes = modify.chunks.iter().map(|chunk| Change {
        old_offset: chunk.old_offset,
        before: chunk.before,
        after: chunk.after,
    });
    let changes: Vec<Change<'_>> = changes.collect();
    if modify.chunks.iter().any(|chunk| usize::from(chunk.old_len) != chunk.before.len()) {
        return Err(ApplyError::Shape(Op::MODIFY_COLUMNS));
    }
    let row = changed_row(Op::MODIFY_COLUMNS, slot, &changes, page)?;
    PageMut::new(page).replace_row(slot, &row, Growth::Close)?;
    Ok(())
}

/// A run of bytes of a row, before and after.
struct Change<'a> {
    old_offset: u16,
    before: &'a [u8],
    after: &'a [u8],
}

/// The row of a slot with its changes made, in row order. It must add up again.
fn changed_row(
    op: Op,
    slot: u16,
    changes: &[Change<'_>],
    page: &PageBytes,
) -> Result<Vec<u8>, ApplyError> {
    let shape = ApplyError::Shape(op);
    let old = PageRef::new(page).row(slot)?;
    let mut row = Vec::with_capacity(old.len());
    let mut from = 0;
    for change in changes {
        let at = usize::from(change.old_offset);
        row.extend_from_slice(old.get(from..at).ok_or(shape)?);
        let end = at + change.before.len();
        if old.get(at..end) != Some(change.before) {
            return Err(ApplyError::Before { slot, offset: change.old_offset });
        }
        row.extend_from_slice(change.after);
        from = end;
    }
    row.extend_from_slice(old.get(from..).ok_or(shape)?);
    if row.len() > page.len() {
        return Err(ApplyError::Edit(EditError::Full { needed: row.len() }));
    }
    let is_text = matches!(PageHeader::of(page).kind(), PageType::TextMix | PageType::TextTree);
    if is_text && row.len() != old.len() {
        // The length of a fragment follows from the change and is not logged.
        let len = (row.len() as u16).to_le_bytes();
        row.get_mut(TEXT_LEN_AT..TEXT_LEN_AT + 2).ok_or(shape)?.copy_from_slice(&len);
    }
    whole_row(slot, &row, page)?;
    Ok(row)
}
