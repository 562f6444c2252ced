//! Columns of records by their bytes on the page, and records that replace others.

use std::ops::Range;

use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_format::page::edit::footprint;
use extentdb_format::page::{PageHeader, PageMut, PageRef, PageType};
use extentdb_format::record::row::COMPLEX_COLUMN;
use extentdb_format::record::{Record, VarColumn};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_types::{Datum, json};

use crate::candidates::{CandidatePage, Candidates, offset_of, record_at};

/// Where `inner`, which is a part of `outer`, lies in it.
fn span_in(outer: &[u8], inner: &[u8]) -> Range<usize> {
    let start = inner.as_ptr().addr().wrapping_sub(outer.as_ptr().addr());
    start..start + inner.len()
}

/// Leaf or upper level, by the page.
pub(crate) fn level_of(page: &PageBytes) -> Level {
    let header = PageHeader::of(page);
    if header.kind() == PageType::Index && header.level > 0 { Level::Interior } else { Level::Leaf }
}

/// The stored bytes of a column, as a range of the page; `None` for NULL, absent, empty, bit and
/// off-row values.
pub(crate) fn span(page: &PageBuf, slot: u16, column: &PhysicalColumn) -> Option<Range<usize>> {
    let record = record_at(page, slot)?;
    match cell(&record, column, level_of(page)).ok()? {
        Cell::Bytes(bytes) if !bytes.is_empty() => match bytes {
            std::borrow::Cow::Borrowed(bytes) => Some(span_in(&page[..], bytes)),
            std::borrow::Cow::Owned(_) => None,
        },
        _ => None,
    }
}

/// The pointer structure of a complex column, as a range of the page.
pub(crate) fn pointer_span(
    page: &PageBuf,
    slot: u16,
    column: &PhysicalColumn,
) -> Option<Range<usize>> {
    let record = record_at(page, slot)?;
    match cell(&record, column, Level::Leaf).ok()? {
        Cell::Complex(std::borrow::Cow::Borrowed(bytes)) => Some(span_in(&page[..], bytes)),
        _ => None,
    }
}

/// A column's value in a record; `None` for NULL and off-row values. Bits are one byte.
pub(crate) fn value(page: &PageBuf, slot: u16, column: &PhysicalColumn) -> Option<Vec<u8>> {
    let record = record_at(page, slot)?;
    match cell(&record, column, level_of(page)).ok()? {
        Cell::Bytes(bytes) => Some(bytes.into_owned()),
        Cell::Bit(bit) => Some(vec![bit.into()]),
        _ => None,
    }
}

/// Byte and mask of a null bit, on the page.
pub(crate) fn null_bit(page: &PageBuf, slot: u16, column: &PhysicalColumn) -> Option<(usize, u8)> {
    let record = record_at(page, slot)?;
    let bit = usize::from(column.leaf.null_bit.checked_sub(1)?);
    let at = span_in(&page[..], record.null_bitmap()).start + bit / 8;
    (bit < usize::from(record.column_count())).then_some((at, 1 << (bit % 8)))
}

/// The first bytes of the parts of a record, on the page.
pub(crate) struct Anatomy {
    pub(crate) column_count: usize,
    /// Count of variable columns; 0 without any.
    pub(crate) var_count: usize,
    /// First end offset.
    pub(crate) ends: usize,
}

/// Where the parts of a record with a null bitmap and variable columns lie.
pub(crate) fn anatomy(page: &PageBuf, slot: u16) -> Option<Anatomy> {
    let record = record_at(page, slot)?;
    if !record.has_null_bitmap() || record.var_count() == 0 {
        return None;
    }
    let column_count = offset_of(page, slot)? + record.fixed_end();
    let var_count = span_in(&page[..], record.null_bitmap()).end;
    Some(Anatomy { column_count, var_count, ends: var_count + 2 })
}

/// A record whose variable column `index` has another value.
pub(crate) fn with_var(
    record: &Record<'_>,
    index: u16,
    value: &[u8],
    complex: bool,
) -> Option<Vec<u8>> {
    let bytes = record.bytes();
    let old: Vec<VarColumn<'_>> = record.vars().collect();
    if usize::from(index) >= old.len() || old.len() != usize::from(record.var_count()) {
        return None;
    }
    let values_at = span_in(bytes, old.first()?.bytes).start;
    let values_end = span_in(bytes, old.last()?.bytes).end;
    let mut out = bytes.get(..values_at - 2 * old.len())?.to_vec();
    let mut end = values_at;
    let mut values = Vec::new();
    for (at, var) in (0u16..).zip(&old) {
        let (partition, is_complex) =
            if at == index { (value, complex) } else { (var.bytes, var.complex) };
        end += partition.len();
        values.extend_from_slice(partition);
        let flag = if is_complex { COMPLEX_COLUMN } else { 0 };
        out.extend_from_slice(&(u16::try_from(end).ok()? | flag).to_le_bytes());
    }
    out.extend(values);
    // A versioning tag stays after the columns.
    out.extend_from_slice(bytes.get(values_end..)?);
    Some(out)
}

/// Puts another record into a slot, with all accounting; `None` when there is no room for it.
pub(crate) fn replace(page: &mut PageBuf, slot: u16, new: &[u8]) -> Option<()> {
    let old_len = record_at(page, slot)?.len();
    let old = footprint(PageHeader::of(page).kind(), old_len);
    let wanted = footprint(PageHeader::of(page).kind(), new.len());
    let mut at = offset_of(page, slot)?;
    let header = PageHeader::of(page);
    if wanted > old {
        at = usize::from(header.free_offset.get());
        if at + wanted > PageRef::new(page).slot_array_start() {
            return None;
        }
        PageMut::new(page).set_slot_offset(slot, at as u16);
        PageHeader::of_mut(page).free_offset.set((at + wanted) as u16);
    }
    page.get_mut(at..at + new.len())?.copy_from_slice(new);
    let free = &mut PageHeader::of_mut(page).free_bytes;
    free.set((usize::from(free.get()) + old).checked_sub(wanted)? as u16);
    Some(())
}

/// Removes a record and its slot from a page and updates the header; later slots move up.
pub(crate) fn remove(page: &mut PageBuf, slot: u16) -> Option<()> {
    let len = record_at(page, slot)?.len();
    let freed = footprint(PageHeader::of(page).kind(), len) + 2;
    let slots = PageRef::new(page).slot_count();
    for at in slot..slots.checked_sub(1)? {
        let next = PageRef::new(page).slot_offset(at + 1)?;
        PageMut::new(page).set_slot_offset(at, next);
    }
    PageMut::new(page).set_slot_offset(slots - 1, 0);
    let header = PageHeader::of_mut(page);
    header.slot_count.set(slots - 1);
    header.free_bytes.set(header.free_bytes.get() + freed as u16);
    (slots > 1).then_some(())
}

/// Exchanges the offsets of two slots.
pub(crate) fn exchange_slots(page: &mut PageBuf, one: u16, other: u16) -> Option<()> {
    let first = PageRef::new(page).slot_offset(one)?;
    let second = PageRef::new(page).slot_offset(other)?;
    let mut edit = PageMut::new(page);
    edit.set_slot_offset(one, second);
    edit.set_slot_offset(other, first);
    Some(())
}

/// Writes the child page of a record of an upper page.
pub(crate) fn set_child(page: &mut PageBuf, slot: u16, child: extentdb_base::PageId) -> Option<()> {
    let end = offset_of(page, slot)? + usize::from(PageHeader::of(page).fixed_len.get());
    let at = end.checked_sub(extentdb_base::PageId::BYTES)?;
    page.get_mut(at..end.min(PAGE_BYTES))?.copy_from_slice(&child.to_bytes());
    Some(())
}

/// Turns a record into its ghost; the count in the header is the caller's.
pub(crate) fn make_ghost(page: &mut PageBuf, slot: u16) -> Option<()> {
    use extentdb_format::record::RecordKind;
    let kind = match PageHeader::of(page).kind() {
        PageType::Index => RecordKind::GhostIndex,
        _ => RecordKind::GhostData,
    };
    let at = offset_of(page, slot)?;
    let status = page.get_mut(at)?;
    *status = *status & !0x0e | kind.bits();
    Some(())
}

/// True for a row with a value off the row.
pub(crate) fn has_pointers(record: &Record<'_>) -> bool {
    record.vars().any(|var| var.complex)
}

/// The clustered key of a row as `name = value and …`.
pub(crate) fn key_text(db: &Candidates<'_>, found: &CandidatePage, slot: u16) -> Option<String> {
    let rowset = db.rowset(&found.partition)?;
    let table = db.table(&found.partition)?;
    if found.partition.index.0 != 1 {
        return None;
    }
    let mut partitions = Vec::new();
    for column in rowset.layout.key().into_iter().filter(|column| !column.is_uniquifier()) {
        let name = &table.column(column.column_id)?.name;
        let mut text = String::new();
        match value(&found.page, slot, column) {
            Some(bytes) => {
                let datum = Datum::decode(column.ty.as_ref()?, &bytes).ok()?;
                json::write_json(&datum, &mut text).ok()?;
            }
            None => text.push_str("null"),
        }
        partitions.push(format!("{name} = {text}"));
    }
    Some(partitions.join(" and "))
}
