//! Inserting, deleting, growing and moving rows on a page, with the accounting of the header and
//! the slot array.
//!
//! ```text
//! insert  after the last record; when that does not fit, the page is made dense first
//! remove  the slot goes (B-trees) or stays empty (heaps and text pages); free_offset stays
//! replace not longer: in place.  Longer: the only row grows in place, any other moves after the
//!                                last record
//! ```
//!
//! This is how SQL Server lays rows out: replaying its log from the first record of a page gives
//! its bytes, offset by offset, so that a page made here and one made there can be compared
//! (`docs/format/replay.md`).
//!
//! Invariants
//! - A call that fails may have moved records, but has lost none but the one it was to change;
//!   a caller that needs the page as it was works on a copy.
//! - Rows of compressed pages are refused: their length is known from public descriptions only.

use extentdb_base::AllocUnitId;
use extentdb_base::size::PAGE_HEADER_BYTES;

use super::PageBytes;
use super::edit::PageMut;
use super::header::{FLAG_VERSION_INFO, PageType};
use super::view::PageRef;
use crate::record::lob::LobRecord;
use crate::record::status::HAS_VERSION_TAG;
use crate::record::{Record, RecordKind};

/// Rows of the table sysfiles1 are rounded up to four bytes; nothing else is.
const SYSFILES1: AllocUnitId = AllocUnitId::SYSFILES1;
/// Status bit of records of a compressed page.
const COMPRESSED_FORM: u8 = 0x01;

/// What becomes of the slot of a row that goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotRule {
    /// B-trees: slots are in key order and none is empty.
    Dense,
    /// Heaps and text pages: the slot is the row's address. It stays, empty, and may be filled
    /// again.
    Fixed,
}

/// Where a row that outgrows its place goes when the page must be made dense for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// After the other rows.
    Close,
    /// After the other rows and the room of its old self, if the page has that much.
    KeepsRoom,
}

/// Why a row cannot be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The slot is not there, is empty, or is in use when it must not be.
    #[error("slot {slot} of {count} cannot be used so")]
    Slot {
        /// Slot that does not exist or has no row.
        slot: u16,
        /// Slots of the page.
        count: u16,
    },
    /// The record in a slot does not add up.
    #[error("the record in slot {slot} does not add up")]
    Record {
        /// Slot that does not exist or has no row.
        slot: u16,
    },
    /// The rows of the page are compressed.
    #[error("the rows of the page are compressed")]
    Compressed,
    /// The page does not hold what is to be put there.
    #[error("{needed} bytes do not fit on the page")]
    Full {
        /// Bytes, slot included.
        needed: usize,
    },
    /// The header contradicts itself, or the page does not hold rows.
    #[error("the accounting of the page contradicts itself")]
    Accounting,
}

impl<'a> PageRef<'a> {
    /// The bytes of the row in a slot.
    ///
    /// # Errors
    /// There is none, it does not add up, or it is compressed.
    pub fn row(self, slot: u16) -> Result<&'a [u8], EditError> {
        let missing = EditError::Slot { slot, count: self.slot_count() };
        self.row_in(slot, self.record_bytes(slot).ok_or(missing)?)
    }

    /// The row at the start of `bytes`, read as this kind of page reads it. `slot` is where it lies
    /// or is to lie.
    ///
    /// # Errors
    /// It does not add up, or it is compressed.
    pub fn row_in(self, slot: u16, bytes: &[u8]) -> Result<&[u8], EditError> {
        let header = self.header();
        let is_compressed = bytes.first().is_some_and(|status| status & COMPRESSED_FORM != 0);
        let (len, is_sound) = match header.kind() {
            PageType::Data | PageType::Index if is_compressed => return Err(EditError::Compressed),
            PageType::Data => {
                let record = Record::parse_data(bytes);
                (record.len(), record.fault().is_none())
            }
            PageType::Index => {
                let record = Record::parse_index(bytes, header.fixed_len.get());
                (record.len(), record.fault().is_none())
            }
            PageType::TextMix | PageType::TextTree => {
                let len = LobRecord::parse(bytes).len();
                (len, len > 0)
            }
            _ => return Err(EditError::Accounting),
        };
        bytes.get(..len).filter(|_| is_sound).ok_or(EditError::Record { slot })
    }
}

impl PageMut<'_> {
    /// What a row of `len` bytes takes.
    fn room(&self, len: usize) -> usize {
        let room = self.footprint(len);
        if self.view().header().alloc_unit() == SYSFILES1 { room.next_multiple_of(4) } else { room }
    }

    /// Refuses pages whose header cannot be reckoned with.
    fn verify_accounting(&self) -> Result<(), EditError> {
        let view = self.view();
        let header = view.header();
        let free_offset = usize::from(header.free_offset.get());
        let is_sound = header.kind().holds_records()
            && header.slot_count.get() == view.slot_count()
            && (PAGE_HEADER_BYTES..=view.slot_array_start()).contains(&free_offset);
        if is_sound { Ok(()) } else { Err(EditError::Accounting) }
    }

    fn free_offset(&self) -> usize {
        usize::from(self.view().header().free_offset.get())
    }

    /// Changes the free bytes by `given` less `taken`.
    fn account(&mut self, given: usize, taken: usize) {
        let header = self.header_mut();
        let free = usize::from(header.free_bytes.get()) + given;
        header.free_bytes.set(free.saturating_sub(taken) as u16);
    }

    fn count_ghosts(&mut self, inserted: bool, removed: bool) {
        let header = self.header_mut();
        let ghosts = header.ghost_count.get();
        header.ghost_count.set((ghosts + u16::from(inserted)).saturating_sub(u16::from(removed)));
    }

    /// Puts a row after the last one and gives its place; the slot is the caller's.
    fn append(&mut self, row: &[u8]) -> u16 {
        let start = self.free_offset();
        self.put(start, row);
        let end = start + self.room(row.len());
        self.header_mut().free_offset.set(end as u16);
        start as u16
    }

    fn fits_after_rows(&self, needed: usize) -> bool {
        self.free_offset() + needed <= self.view().slot_array_start()
    }

    /// Puts a row in a slot: a new one, which moves the slots from there on up by one, or with
    /// [`SlotRule::Fixed`] an empty one.
    ///
    /// # Errors
    /// The slot would leave a gap or is in use, or the row does not fit.
    pub fn insert_row(&mut self, slot: u16, row: &[u8], rule: SlotRule) -> Result<(), EditError> {
        self.verify_accounting()?;
        let count = self.view().slot_count();
        let refills = rule == SlotRule::Fixed && slot < count;
        if slot > count || (refills && self.view().slot_offset(slot) != Some(0)) {
            return Err(EditError::Slot { slot, count });
        }
        let needed = self.room(row.len()) + if refills { 0 } else { 2 };
        if !self.fits_after_rows(needed) {
            self.compact()?;
        }
        if !self.fits_after_rows(needed) {
            return Err(EditError::Full { needed });
        }
        let offset = self.append(row);
        if refills {
            self.set_slot_offset(slot, offset);
        } else {
            self.open_slot(slot, count, offset);
            self.header_mut().slot_count.set(count + 1);
        }
        self.account(0, needed);
        self.count_ghosts(is_ghost(row), false);
        self.note_version_tag(row);
        Ok(())
    }

    /// Takes the row of a slot away and gives the bytes that became free, slot included.
    ///
    /// # Errors
    /// There is no row, or it does not add up.
    pub fn remove_row(&mut self, slot: u16, rule: SlotRule) -> Result<usize, EditError> {
        self.verify_accounting()?;
        let row = self.view().row(slot)?;
        let room = self.room(row.len());
        let was_ghost = is_ghost(row);
        let freed = match rule {
            SlotRule::Fixed => {
                self.set_slot_offset(slot, 0);
                room
            }
            SlotRule::Dense => {
                self.close_slot(slot);
                room + 2
            }
        };
        self.account(freed, 0);
        self.count_ghosts(false, was_ghost);
        Ok(freed)
    }

    /// Puts another image in the place of a row.
    ///
    /// # Errors
    /// There is no row, it does not add up, or the new one does not fit.
    pub fn replace_row(&mut self, slot: u16, row: &[u8], growth: Growth) -> Result<(), EditError> {
        self.verify_accounting()?;
        let view = self.view();
        let old = view.row(slot)?;
        let was_ghost = is_ghost(old);
        let offset = usize::from(view.slot_offset(slot).unwrap_or(0));
        let before = self.room(old.len());
        let after = self.room(row.len());
        if after <= before {
            self.put(offset, row);
        } else if self.is_only_row()
            && offset + before == self.free_offset()
            && self.fits_after_rows(after - before)
        {
            self.put(offset, row);
            self.header_mut().free_offset.set((offset + after) as u16);
        } else {
            if !self.fits_after_rows(after) {
                self.make_room(slot, before, after, growth)?;
            }
            let offset = self.append(row);
            self.set_slot_offset(slot, offset);
        }
        self.account(before, after);
        self.count_ghosts(is_ghost(row), was_ghost);
        self.note_version_tag(row);
        Ok(())
    }

    /// A page that has once had a record with a versioning tag says so from then on.
    fn note_version_tag(&mut self, row: &[u8]) {
        let kind = self.view().header().kind();
        let is_tagged = row.first().is_some_and(|status| status & HAS_VERSION_TAG != 0);
        if is_tagged && matches!(kind, PageType::Data | PageType::Index) {
            let header = self.header_mut();
            header.flag_bits.set(header.flag_bits.get() | FLAG_VERSION_INFO);
        }
    }

    fn is_only_row(&self) -> bool {
        self.view().slot_offsets().filter(|offset| *offset != 0).count() == 1
    }

    /// Makes the page dense without the row of `slot`, which is about to be rewritten.
    fn make_room(
        &mut self,
        slot: u16,
        before: usize,
        after: usize,
        growth: Growth,
    ) -> Result<(), EditError> {
        self.set_slot_offset(slot, 0);
        self.compact()?;
        if growth == Growth::KeepsRoom && self.fits_after_rows(before + after) {
            let end = self.free_offset() + before;
            self.header_mut().free_offset.set(end as u16);
        }
        if self.fits_after_rows(after) { Ok(()) } else { Err(EditError::Full { needed: after }) }
    }

    /// Moves the records together, in the order in which they lie.
    ///
    /// # Errors
    /// A record does not add up or is compressed. Then nothing has moved.
    pub fn compact(&mut self) -> Result<(), EditError> {
        self.verify_accounting()?;
        let view = self.view();
        let mut rows = Vec::with_capacity(usize::from(view.slot_count()));
        for (slot, offset) in (0u16..).zip(view.slot_offsets()).filter(|(_, offset)| *offset != 0) {
            rows.push((offset, slot, view.row(slot)?.len()));
        }
        rows.sort_unstable();
        let copy: PageBytes = *view.bytes();
        let rooms: usize = rows.iter().map(|(_, _, len)| self.room(*len)).sum();
        if PAGE_HEADER_BYTES + rooms > self.view().slot_array_start() {
            return Err(EditError::Accounting);
        }
        let mut at = PAGE_HEADER_BYTES;
        for (offset, slot, len) in rows {
            let from = usize::from(offset);
            self.put(at, copy.get(from..from + len).unwrap_or_default());
            self.set_slot_offset(slot, at as u16);
            at += self.room(len);
        }
        self.header_mut().free_offset.set(at as u16);
        Ok(())
    }

    /// Marks the row of a slot as deleted.
    ///
    /// # Errors
    /// There is no row, or it is none that can be marked so.
    pub fn mark_ghost(&mut self, slot: u16) -> Result<(), EditError> {
        let row = self.view().row(slot)?;
        let status = row.first().copied().unwrap_or(0);
        let ghost = match RecordKind::of(status) {
            RecordKind::Primary => RecordKind::GhostData,
            RecordKind::Index => RecordKind::GhostIndex,
            _ => return Err(EditError::Record { slot }),
        };
        let offset = usize::from(self.view().slot_offset(slot).unwrap_or(0));
        self.put(offset, &[status & !RecordKind::GhostVersion.bits() | ghost.bits()]);
        self.count_ghosts(true, false);
        Ok(())
    }
}

fn is_ghost(row: &[u8]) -> bool {
    // On text pages, where the status is always that of a fragment, this is false.
    row.first().is_some_and(|status| RecordKind::of(*status).is_ghost())
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;

    use super::*;
    use crate::page::PageHeader;
    use crate::record::RecordBuilder;

    fn row(filler: u8, len: usize) -> Vec<u8> {
        let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
        builder.fixed(4, &[filler; 4]).columns(2).var(&vec![filler; len - 15], false);
        let row = builder.to_vec();
        assert_eq!(row.len(), len);
        row
    }

    fn page_of(lens: &[usize]) -> PageBytes {
        let mut bytes = [0; 8192];
        let unit = AllocUnitId::from_header(77, 256);
        let mut page = PageMut::format(&mut bytes, PageId::new(1, 300), PageType::Data, unit);
        for (slot, len) in (0u16..).zip(lens) {
            page.insert_row(slot, &row(slot as u8, *len), SlotRule::Dense).unwrap();
        }
        bytes
    }

    fn assert_adds_up(page: &PageBytes) {
        let view = PageRef::new(page);
        let rows: usize =
            view.records().map(|(slot, _)| view.row(slot).unwrap().len().max(9)).sum();
        let free = 8096 - rows - 2 * usize::from(view.slot_count());
        assert_eq!(usize::from(view.header().free_bytes.get()), free);
    }

    fn rows_of(page: &PageBytes) -> Vec<(u8, usize)> {
        let view = PageRef::new(page);
        view.records()
            .map(|(slot, _)| view.row(slot).map(|row| (row[4], row.len())).unwrap())
            .collect()
    }

    #[test]
    fn a_row_that_goes_leaves_its_slot_only_on_heaps() {
        let mut tree = page_of(&[20, 30, 40]);
        let mut heap = tree;
        assert_eq!(PageMut::new(&mut tree).remove_row(1, SlotRule::Dense), Ok(32));
        assert_eq!(PageMut::new(&mut heap).remove_row(1, SlotRule::Fixed), Ok(30));
        assert_eq!(rows_of(&tree), [(0, 20), (2, 40)]);
        assert_eq!(rows_of(&heap), [(0, 20), (2, 40)]);
        assert_eq!((PageRef::new(&tree).slot_count(), PageRef::new(&heap).slot_count()), (2, 3));
        assert_eq!(PageRef::new(&heap).slot_offset(1), Some(0));
        let free_offsets = [&tree, &heap].map(|page| PageHeader::of(page).free_offset.get());
        assert_eq!(free_offsets, [96 + 90; 2], "removing does not move the end of the records");
        assert_adds_up(&tree);
        assert_adds_up(&heap);
        PageMut::new(&mut heap).insert_row(1, &row(9, 25), SlotRule::Fixed).unwrap();
        assert_eq!(rows_of(&heap), [(0, 20), (9, 25), (2, 40)]);
        assert_adds_up(&heap);
        let in_use = PageMut::new(&mut heap).insert_row(1, &row(9, 25), SlotRule::Fixed);
        assert_eq!(in_use, Err(EditError::Slot { slot: 1, count: 3 }));
    }

    #[test]
    fn holes_are_closed_only_when_there_is_no_other_room() {
        let mut page = page_of(&[4000, 2000, 1900]);
        PageMut::new(&mut page).remove_row(0, SlotRule::Dense).unwrap();
        PageMut::new(&mut page).insert_row(2, &row(5, 100), SlotRule::Dense).unwrap();
        assert_eq!(
            PageRef::new(&page).slot_offset(0),
            Some(4096),
            "there was room behind the last row"
        );
        PageMut::new(&mut page).insert_row(0, &row(6, 3000), SlotRule::Dense).unwrap();
        assert_eq!(rows_of(&page), [(6, 3000), (1, 2000), (2, 1900), (5, 100)]);
        let offsets: Vec<u16> = PageRef::new(&page).slot_offsets().collect();
        assert_eq!(offsets, [4096, 96, 2096, 3996]);
        assert_adds_up(&page);
        let refused = PageMut::new(&mut page).insert_row(0, &row(7, 1200), SlotRule::Dense);
        assert_eq!(refused, Err(EditError::Full { needed: 1202 }));
        assert_eq!(rows_of(&page).len(), 4);
    }

    #[test]
    fn a_row_that_grows_moves_after_the_others() {
        let mut page = page_of(&[100, 100, 100]);
        let mut change = PageMut::new(&mut page);
        change.replace_row(1, &row(8, 150), Growth::Close).unwrap();
        change.replace_row(1, &row(8, 120), Growth::Close).unwrap();
        assert_eq!(PageRef::new(&page).slot_offsets().collect::<Vec<_>>(), [96, 396, 296]);
        assert_eq!(rows_of(&page), [(0, 100), (8, 120), (2, 100)]);
        assert_adds_up(&page);
        let mut lone = page_of(&[100]);
        PageMut::new(&mut lone).replace_row(0, &row(8, 8000), Growth::Close).unwrap();
        assert_eq!(
            (PageRef::new(&lone).slot_offset(0), rows_of(&lone)),
            (Some(96), vec![(8, 8000)])
        );
        assert_adds_up(&lone);
    }

    #[test]
    fn a_row_that_grows_on_a_full_page_may_keep_its_old_room() {
        for (growth, expected) in [(Growth::Close, 2096), (Growth::KeepsRoom, 2196)] {
            let mut page = page_of(&[100, 2000, 5800]);
            let mut change = PageMut::new(&mut page);
            change.remove_row(2, SlotRule::Dense).unwrap();
            change.replace_row(0, &row(8, 3000), growth).unwrap();
            assert_eq!(PageRef::new(&page).slot_offsets().collect::<Vec<_>>(), [expected, 96]);
            assert_eq!(rows_of(&page), [(8, 3000), (1, 2000)]);
            assert_adds_up(&page);
        }
    }

    #[test]
    fn ghosts_are_counted() {
        let mut page = page_of(&[50, 60]);
        let mut change = PageMut::new(&mut page);
        change.mark_ghost(1).unwrap();
        assert_eq!(change.mark_ghost(1), Err(EditError::Record { slot: 1 }));
        assert_eq!(PageHeader::of(&page).ghost_count.get(), 1);
        PageMut::new(&mut page).remove_row(1, SlotRule::Dense).unwrap();
        assert_eq!(PageHeader::of(&page).ghost_count.get(), 0);
    }

    #[test]
    fn a_header_that_contradicts_itself_is_refused() {
        for (at, value) in [(22usize, 9000u16), (30, 8190), (30, 20)] {
            let mut page = page_of(&[50, 60]);
            page[at..at + 2].copy_from_slice(&value.to_le_bytes());
            let before = page;
            let mut change = PageMut::new(&mut page);
            assert_eq!(
                change.insert_row(0, &row(1, 30), SlotRule::Dense),
                Err(EditError::Accounting)
            );
            assert_eq!(change.remove_row(0, SlotRule::Dense), Err(EditError::Accounting));
            assert_eq!(change.compact(), Err(EditError::Accounting));
            assert!(page == before);
        }
    }
}
