//! Changes of bytes at a place: maps, headers, counters, pointers; and pages that begin their life.

use extentdb_base::size::{PAGE_HEADER_BYTES, PAGES_PER_GAM};
use extentdb_base::{AllocUnitId, PageId};

use super::ApplyError;
use crate::PageBytes;
use crate::allocation::PageStamp;
use crate::allocation::iam::{IamHead, write_iam};
use crate::log::op::Op;
use crate::log::payload::page::{FormatPage, RootChange, SetBits, SetFreeSpace};
use crate::log::payload::row::{FileHeaderModify, ModifyHeader};
use crate::log::payload::space::CountCell;
use crate::page::{EditError, PageHeader, PageMut, PageRef, PageType};

/// A counter whose record names no length has this one.
const COUNTER_BYTES: usize = 8;

/// The bytes of a slot's record from `offset` on, `len` of them.
pub(super) fn part_of(
    page: &mut PageBytes,
    slot: u16,
    offset: usize,
    len: usize,
) -> Result<&mut [u8], ApplyError> {
    let view = PageRef::new(page);
    let count = view.slot_count();
    let end = view.slot_array_start();
    let missing = ApplyError::Edit(EditError::Slot { slot, count });
    let start = view.slot_offset(slot).map(usize::from).filter(|start| *start >= PAGE_HEADER_BYTES);
    let start = start.ok_or(missing)? + offset;
    let record = page.get_mut(..end).unwrap_or_default();
    record
        .get_mut(start..start.saturating_add(len))
        .ok_or(ApplyError::Edit(EditError::Record { slot }))
}

/// Replaces bytes by others, as many, when they are what they should be.
pub(super) fn exchange(
    page: &mut PageBytes,
    slot: u16,
    offset: u16,
    before: &[u8],
    after: &[u8],
) -> Result<(), ApplyError> {
    let target = part_of(page, slot, offset.into(), after.len())?;
    if target != before {
        return Err(ApplyError::Before { slot, offset });
    }
    target.copy_from_slice(after);
    Ok(())
}

pub(super) fn format_page(format: &FormatPage, page: &mut PageBytes) -> Result<(), ApplyError> {
    let kind = PageType::from_byte(format.page_type);
    let unit = format.page.alloc_unit();
    match kind {
        PageType::Data | PageType::Index | PageType::TextMix | PageType::TextTree => {
            PageMut::format(page, format.page.page, kind, unit);
        }
        PageType::Iam => format_iam(format, unit, page)?,
        other => return Err(ApplyError::PageType(other)),
    }
    let header = PageHeader::of_mut(page);
    header.type_flag_bits = format.type_flag_bits;
    header.level = format.level;
    header.flag_bits.set(format.flag_bits);
    header.fixed_len.set(format.pminlen);
    header.prev_bytes = format.previous_page.to_bytes();
    header.next_bytes = format.next_page.to_bytes();
    Ok(())
}

/// An IAM page has its two records from the beginning. Its place in the chain is not known to be
/// logged: only the first page of a chain was seen.
fn format_iam(
    format: &FormatPage,
    unit: AllocUnitId,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let is_sound =
        |interval: &PageId| interval.page.is_multiple_of(PAGES_PER_GAM) && interval.file.0 != 0;
    let interval = format.iam_interval.filter(is_sound).filter(|_| format.residue.nonzero() == 0);
    let interval = interval.ok_or(ApplyError::Shape(Op::FORMAT_PAGE))?;
    page.fill(0);
    write_iam(page, &IamHead::new(format.page.page, unit, interval), &PageStamp::default());
    Ok(())
}

pub(super) fn modify_header(
    modify: &ModifyHeader<'_>,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let slot = modify.fixed.page.slot;
    let offset = modify.fixed.offset_in_row;
    let at = usize::from(offset);
    let header = page.get_mut(..PAGE_HEADER_BYTES).unwrap_or_default();
    let target =
        header.get_mut(at..at + modify.after.len()).ok_or(ApplyError::Shape(Op::MODIFY_HEADER))?;
    if target != modify.before {
        return Err(ApplyError::Before { slot, offset });
    }
    target.copy_from_slice(modify.after);
    Ok(())
}

/// SET_BITS. Bits count from the record's start, its header included.
pub(super) fn set_bits(set: &SetBits<'_>, page: &mut PageBytes) -> Result<(), ApplyError> {
    let bits = &set.fixed;
    let first = usize::from(bits.first_bit);
    let end = first + usize::from(bits.bit_count);
    let target = part_of(page, bits.page.slot, 0, end.div_ceil(8))?;
    for bit in first..end {
        if let Some(byte) = target.get_mut(bit / 8) {
            let mask = 1 << (bit % 8);
            *byte = if bits.value == 0 { *byte & !mask } else { *byte | mask };
        }
    }
    Ok(())
}

/// SET_FREE_SPACE. In format 3 it does not say where.
pub(super) fn set_free_space(set: &SetFreeSpace, page: &mut PageBytes) -> Result<(), ApplyError> {
    let (Some(offset), Some(new), Some(old)) = (set.byte_offset, set.new_value, set.old_value)
    else {
        return Err(ApplyError::Shape(Op::SET_FREE_SPACE));
    };
    // The record of a PFS page is its only one, whatever the slot says.
    exchange(page, 0, offset, &[old], &[new])
}

/// FILE_HDR_MODIFY: one whole record becomes another of the same length.
pub(super) fn modify_file_header(
    modify: &FileHeaderModify<'_>,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    if PageHeader::of(page).kind() != PageType::FileHeader {
        return Err(ApplyError::Structure(Op::FILE_HDR_MODIFY, PageHeader::of(page).kind()));
    }
    exchange(page, modify.fixed.page.slot, 0, modify.before, modify.after)
}

/// COUNT_DELTA: counters get new values. The record does not tell the old ones.
pub(super) fn set_counts(
    slot: u16,
    cells: &[CountCell],
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let row_len = PageRef::new(page).row(slot)?.len();
    for cell in cells.iter().filter(|cell| cell.row_offset != 0) {
        let bytes = match cell.bytes {
            0 => COUNTER_BYTES,
            1..=8 => cell.bytes as usize,
            _ => return Err(ApplyError::Shape(Op::COUNT_DELTA)),
        };
        let offset = cell.row_offset as usize;
        if offset.saturating_add(bytes) > row_len {
            return Err(ApplyError::Shape(Op::COUNT_DELTA));
        }
        let value = cell.value.to_le_bytes();
        part_of(page, slot, offset, bytes)?.copy_from_slice(value.get(..bytes).unwrap_or_default());
    }
    Ok(())
}

pub(super) fn change_root(root: &RootChange, page: &mut PageBytes) -> Result<(), ApplyError> {
    PageRef::new(page).row(root.page.slot)?;
    exchange(
        page,
        root.page.slot,
        root.row_offset,
        &root.old_page.to_bytes(),
        &root.new_page.to_bytes(),
    )
}
