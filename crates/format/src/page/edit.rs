//! Building and changing a page: the counterpart of [`view`](super::view).
//!
//! The accounting of the header (`slot_count`, `free_bytes`, `free_offset`, `ghost_count`) is kept
//! true by every call. Records are placed after the last one.

use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_BYTES, PAGE_HEADER_BYTES};
use extentdb_base::{AllocUnitId, PageId};

use super::PageBytes;
use super::header::{HEADER_VERSION, PageHeader, PageType};
use super::view::PageRef;

/// A record on a data page never counts less than a forwarding stub, so that it can always become
/// one.
pub const DATA_FOOTPRINT_MIN: usize = 9;

/// What a record of `len` bytes takes of a page of this type, without its slot.
pub fn footprint(kind: PageType, len: usize) -> usize {
    if kind == PageType::Data { len.max(DATA_FOOTPRINT_MIN) } else { len }
}

/// A page that is being built or changed.
pub struct PageMut<'a> {
    bytes: &'a mut PageBytes,
}

impl<'a> PageMut<'a> {
    /// Continues a page that is already formatted.
    pub fn new(bytes: &'a mut PageBytes) -> Self {
        PageMut { bytes }
    }

    /// Formats an empty page: the whole page is zeroed, then the header written.
    pub fn format(bytes: &'a mut PageBytes, id: PageId, kind: PageType, unit: AllocUnitId) -> Self {
        bytes.fill(0);
        let header = PageHeader::of_mut(bytes);
        header.header_version = HEADER_VERSION;
        header.page_type = kind.to_byte();
        header.page_id_bytes = id.to_bytes();
        header.object_id.set(unit.header_object_id());
        header.index_id.set(unit.header_index_id());
        header.free_bytes.set(PAGE_BODY_BYTES as u16);
        header.free_offset.set(PAGE_HEADER_BYTES as u16);
        PageMut { bytes }
    }

    /// The header, for the fields that are not accounting.
    pub fn header_mut(&mut self) -> &mut PageHeader {
        PageHeader::of_mut(self.bytes)
    }

    /// The page as it is now.
    pub fn view(&self) -> PageRef<'_> {
        PageRef::new(self.bytes)
    }

    /// What a record of `len` bytes costs on this page, without its slot.
    pub fn footprint(&self, len: usize) -> usize {
        footprint(self.view().header().kind(), len)
    }

    /// True when a record of `len` bytes and a new slot fit after the last record.
    pub fn fits(&self, len: usize) -> bool {
        let view = self.view();
        let start = usize::from(view.header().free_offset.get());
        start + self.footprint(len) + 2 <= view.slot_array_start()
    }

    /// Places a record in a new last slot; `None` when it does not fit.
    pub fn push(&mut self, record: &[u8]) -> Option<u16> {
        let slot = self.view().slot_count();
        self.insert(slot, record).then_some(slot)
    }

    /// Places a record in slot `slot`, moving the slots from there on up by one. False when it does
    /// not fit or the slot would leave a gap.
    pub fn insert(&mut self, slot: u16, record: &[u8]) -> bool {
        let count = self.view().slot_count();
        if slot > count || !self.fits(record.len()) {
            return false;
        }
        let footprint = self.footprint(record.len());
        let start = usize::from(self.view().header().free_offset.get());
        if let Some(target) = self.bytes.get_mut(start..start + record.len()) {
            target.copy_from_slice(record);
        }
        self.open_slot(slot, count, start as u16);
        let header = self.header_mut();
        header.slot_count.set(count + 1);
        header.free_offset.set((start + footprint) as u16);
        let free = header.free_bytes.get();
        header.free_bytes.set(free.saturating_sub((footprint + 2) as u16));
        true
    }

    /// Shifts slots `slot..count` one place down in memory (up in number) and writes the new
    /// offset.
    pub(super) fn open_slot(&mut self, slot: u16, count: u16, offset: u16) {
        let array_start = PAGE_BYTES - 2 * usize::from(count);
        let slot_end = PAGE_BYTES - 2 * usize::from(slot);
        self.bytes.copy_within(array_start..slot_end, array_start - 2);
        if let Some(entry) = self.bytes.get_mut(slot_end - 2..slot_end) {
            entry.copy_from_slice(&offset.to_le_bytes());
        }
    }

    /// Takes a slot away, moving those above it one place up in memory (down in number).
    pub(super) fn close_slot(&mut self, slot: u16) {
        let count = self.view().slot_count();
        if slot < count {
            let array_start = PAGE_BYTES - 2 * usize::from(count);
            let slot_start = PAGE_BYTES - 2 - 2 * usize::from(slot);
            self.bytes.copy_within(array_start..slot_start, array_start + 2);
            self.header_mut().slot_count.set(count - 1);
        }
    }

    /// Copies bytes to a place of the page; what would reach beyond the page is not written.
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(target) = self.bytes.get_mut(at..at.saturating_add(bytes.len())) {
            target.copy_from_slice(bytes);
        }
    }

    /// Writes the offset of a slot that exists. For repair tools and fault injection: accounting is
    /// the caller's.
    pub fn set_slot_offset(&mut self, slot: u16, offset: u16) {
        let end = PAGE_BYTES - 2 * usize::from(slot);
        if let Some(entry) = self.bytes.get_mut(end.wrapping_sub(2)..end) {
            entry.copy_from_slice(&offset.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> PageBytes {
        [0xee; PAGE_BYTES]
    }

    #[test]
    fn accounting_follows_every_insert() {
        let mut bytes = page();
        let mut page = PageMut::format(
            &mut bytes,
            PageId::new(1, 77),
            PageType::Data,
            AllocUnitId::from_header(5, 256),
        );
        assert_eq!(page.push(&[0x10; 20]), Some(0));
        assert_eq!(page.push(&[0x30; 7]), Some(1));
        let view = page.view();
        assert_eq!(
            view.header().free_bytes.get(),
            8096 - 20 - 9 - 4,
            "a short record counts nine bytes"
        );
        assert_eq!(view.header().free_offset.get(), 96 + 20 + 9);
        assert_eq!(view.slot_offsets().collect::<Vec<_>>(), [96, 116]);
    }

    #[test]
    fn an_insert_in_the_middle_moves_the_slots_not_the_records() {
        let mut bytes = page();
        let mut page =
            PageMut::format(&mut bytes, PageId::new(1, 77), PageType::Index, AllocUnitId(0));
        for record in [[1u8; 12], [3; 12]] {
            page.push(&record);
        }
        assert!(page.insert(1, &[2; 12]));
        assert!(!page.insert(7, &[2; 12]), "no gap in the slot array");
        let firsts: Vec<u8> = page.view().records().map(|(_, r)| r[0]).collect();
        assert_eq!(firsts, [1, 2, 3]);
    }

    #[test]
    fn a_full_page_refuses() {
        let mut bytes = page();
        let mut page =
            PageMut::format(&mut bytes, PageId::new(1, 77), PageType::Data, AllocUnitId(0));
        let mut pushed = 0;
        while page.push(&[0x10; 100]).is_some() {
            pushed += 1;
        }
        assert_eq!(pushed, 8096 / 102);
        assert_eq!(usize::from(page.view().header().free_bytes.get()), 8096 % 102);
    }
}
