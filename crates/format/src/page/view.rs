//! A page seen through its slot array. Never fails: what does not fit on the page is absent.
//!
//! ```text
//! 0          96                        free_offset        slot array start            8192
//! | header   | records, in any order   | free             | slot n-1 … slot 1  slot 0 |
//! ```
//!
//! Slot *i* is the u16 at 8190 - 2*i*: the offset of a record, or 0 for a slot whose row is gone
//! but whose number is still taken (heap and text pages only).

use extentdb_base::size::{PAGE_BYTES, PAGE_HEADER_BYTES};

use super::PageBytes;
use super::header::PageHeader;

/// A page that is read. Restore a torn-page signature first.
#[derive(Clone, Copy)]
pub struct PageRef<'a> {
    bytes: &'a PageBytes,
}

impl<'a> PageRef<'a> {
    /// Looks at a page.
    #[inline]
    pub fn new(bytes: &'a PageBytes) -> Self {
        PageRef { bytes }
    }

    /// All 8,192 bytes.
    pub fn bytes(self) -> &'a PageBytes {
        self.bytes
    }

    /// The page header, bytes 0 to 95.
    #[inline]
    pub fn header(self) -> &'a PageHeader {
        PageHeader::of(self.bytes)
    }

    /// Number of slots that fit on the page; the header may claim more.
    #[inline]
    pub fn slot_count(self) -> u16 {
        const MOST: u16 = ((PAGE_BYTES - PAGE_HEADER_BYTES) / 2) as u16;
        self.header().slot_count.get().min(MOST)
    }

    /// First byte of the slot array.
    #[inline]
    pub fn slot_array_start(self) -> usize {
        PAGE_BYTES - 2 * usize::from(self.slot_count())
    }

    /// The offset in a slot, 0 for an empty one; `None` for a slot that is not there.
    #[inline]
    pub fn slot_offset(self, slot: u16) -> Option<u16> {
        if slot >= self.slot_count() {
            return None;
        }
        let at = PAGE_BYTES - 2 - 2 * usize::from(slot);
        self.bytes.get(at..at + 2)?.first_chunk().map(|b| u16::from_le_bytes(*b))
    }

    /// Offset of the record of a page that has one: boot page, file header. Slot 0, or right after
    /// the header when the slot points nowhere.
    pub(crate) fn only_record_offset(self) -> usize {
        let offset = self.slot_offset(0).map(usize::from);
        let is_inside = |offset: &usize| (PAGE_HEADER_BYTES..PAGE_BYTES).contains(offset);
        offset.filter(is_inside).unwrap_or(PAGE_HEADER_BYTES)
    }

    /// That record, with everything up to the slot array.
    pub(crate) fn only_record_bytes(self) -> &'a [u8] {
        self.bytes.get(self.only_record_offset()..self.slot_array_start()).unwrap_or_default()
    }

    /// The offsets of all slots, in slot order.
    #[inline]
    pub fn slot_offsets(self) -> impl DoubleEndedIterator<Item = u16> + ExactSizeIterator + 'a {
        let array = self.bytes.get(self.slot_array_start()..).unwrap_or_default();
        array.as_chunks::<2>().0.iter().rev().map(|b| u16::from_le_bytes(*b))
    }

    /// Is the slot of some record that is gone still there? Looks at all slots at once, for nearly
    /// always none is.
    #[inline]
    pub fn has_empty_slot(self) -> bool {
        let array = self.bytes.get(self.slot_array_start()..).unwrap_or_default();
        array
            .as_chunks::<2>()
            .0
            .iter()
            .fold(false, |found, slot| found | (u16::from_le_bytes(*slot) == 0))
    }

    /// The bytes from a slot's record up to the slot array: the record and what follows it. `None`
    /// for an empty slot and for an offset outside the body of the page.
    #[inline]
    pub fn record_bytes(self, slot: u16) -> Option<&'a [u8]> {
        let offset = usize::from(self.slot_offset(slot)?);
        if offset < PAGE_HEADER_BYTES {
            return None;
        }
        self.bytes.get(offset..self.slot_array_start())
    }

    /// Every used slot with the bytes from its record up to the slot array.
    pub fn records(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        (0..self.slot_count()).filter_map(move |slot| Some((slot, self.record_bytes(slot)?)))
    }
}
