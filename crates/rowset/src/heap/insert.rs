//! Inserting a row: onto a page known to have room, or after the last row.

use extentdb_base::size::{PAGE_BODY_BYTES, ROW_BYTES_MAX};
use extentdb_base::{PageId, Rid};
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::{PageRef, PageType, edit};
use extentdb_format::record::RecordKind;
use extentdb_txn::{RecordOwner, Transaction};

use super::append::free_bytes;
use super::row_locks::RowLocks;
use super::{Heap, Placement, rid, too_long};
use crate::Error;
use crate::version::VersionTag;

/// Pages tried before a row is appended.
const PROBES_MAX: usize = 8;
pub(super) const SLOT_BYTES: usize = 2;
/// What a forwarded record has beyond its row: the back pointer, page and slot of its home, and its
/// entry among the columns.
const BACK_POINTER_BYTES: usize = 12;

impl Heap {
    /// Inserts a record, which must be a whole one of this heap's table.
    pub fn insert(
        &self,
        tx: &mut Transaction,
        session: usize,
        record: &[u8],
        locks: &mut dyn RowLocks,
    ) -> Result<Rid, Error> {
        // The longest row can be forwarded, too: a page has room for its back pointer and a tag
        // beyond the longest row.
        let row = record.len().saturating_sub(if is_home(record) { 0 } else { BACK_POINTER_BYTES });
        let tag = VersionTag::of(record).map_or(0, |_| VersionTag::BYTES);
        too_long(row - tag)?;
        match self.insert_where_room_is(tx, record, locks)? {
            Some(rid) => Ok(rid),
            None => self.append(tx, session, record, locks),
        }
    }

    /// Tries pages that should have room.
    fn insert_where_room_is(
        &self,
        tx: &mut Transaction,
        record: &[u8],
        locks: &mut dyn RowLocks,
    ) -> Result<Option<Rid>, Error> {
        if self.placement == Placement::ByPfs {
            return Ok(None);
        }
        self.load_free_space()?;
        let room = footprint(record.len()) + SLOT_BYTES;
        for _ in 0..PROBES_MAX {
            if !self.room.free.may_have(room as u16) {
                return Ok(None);
            }
            let Some(id) = self.room.free.lock().take(room as u16) else { return Ok(None) };
            let Some(mut page) = self.space.pool().try_write(id)? else { continue };
            let placed = self.insert_on(tx, &mut page, record, locks)?;
            let mut free = self.room.free.lock();
            let left = free_bytes(&page).saturating_sub(free.reserved(id));
            free.file(id, left);
            if placed.is_some() {
                free.touch(id);
                return Ok(placed);
            }
        }
        Ok(None)
    }

    /// Appends to the session's own page.
    fn append(
        &self,
        tx: &mut Transaction,
        session: usize,
        record: &[u8],
        locks: &mut dyn RowLocks,
    ) -> Result<Rid, Error> {
        let mut appender = self.appender(session);
        if let Some(id) = appender.page {
            let mut page = self.space.pool().write(id)?;
            if let Some(placed) = self.insert_on(tx, &mut page, record, locks)? {
                drop(page);
                self.note_first_row(placed, appender.noted)?;
                return Ok(placed);
            }
            let left = free_bytes(&page);
            drop(page);
            self.retire(&mut appender, left);
        }
        let mut page = self.next_page(tx, &mut appender)?;
        let placed = self.insert_on(tx, &mut page, record, locks)?;
        drop(page);
        let placed =
            placed.ok_or(Error::RowTooLong { bytes: record.len(), most: ROW_BYTES_MAX })?;
        self.note_first_row(placed, appender.noted)?;
        Ok(placed)
    }

    /// The first row of a page that PFS calls empty updates PFS at once; in compatible placement,
    /// every change of class does.
    pub(super) fn note_first_row(&self, placed: Rid, noted: Option<Fullness>) -> Result<(), Error> {
        let is_due = self.placement == Placement::ByPfs
            || noted == Some(Fullness::Empty) && placed.slot.0 == 0;
        if is_due {
            let page = self.space.pool().read(placed.page)?;
            let fullness = Fullness::of_free_bytes(PageRef::new(&page).header().free_bytes.get());
            drop(page);
            self.space.set_free_space(placed.page, |old| old.with_fullness(fullness))?;
        }
        Ok(())
    }

    /// Puts a record on this page, when it has room.
    fn insert_on(
        &self,
        tx: &mut Transaction,
        page: &mut PageWriteGuard,
        record: &[u8],
        locks: &mut dyn RowLocks,
    ) -> Result<Option<Rid>, Error> {
        let Some(slot) = self.slot_for(page, record.len(), locks)? else { return Ok(None) };
        let id = page.id();
        let mut fixed = RowPart { partition_id: self.unit.hobt(), ..RowPart::default() };
        fixed.page.slot = slot;
        let insert = InsertRows { fixed, rows: vec![record], ..InsertRows::default() };
        self.log_insert(tx, page, insert)?;
        Ok(Some(rid(id, slot)))
    }

    /// INSERT_ROWS of rows, which are counted.
    ///
    /// Counted just before they are logged: a checkpoint in between counts them too early, and has
    /// their record behind it, so that a restart counts again. It never counts them too late. No
    /// I/O lies in between: if the power failed there, no record would come.
    pub(super) fn log_insert(
        &self,
        tx: &mut Transaction,
        page: &mut PageWriteGuard,
        insert: InsertRows<'_>,
    ) -> Result<(), Error> {
        let count = insert.rows.iter().filter(|record| is_home(record)).count() as i64;
        self.unit.count_rows(count);
        let payload = Payload::InsertRows(insert);
        let logged = change(RecordOwner::Change(tx), page, Op::INSERT_ROWS, Context::HEAP, payload);
        logged.inspect_err(|_| self.unit.count_rows(-count))?;
        Ok(())
    }

    /// A slot for a record of `len` bytes: an empty one that no other transaction has locked, or a
    /// new one.
    fn slot_for(
        &self,
        page: &PageWriteGuard,
        len: usize,
        locks: &mut dyn RowLocks,
    ) -> Result<Option<u16>, Error> {
        let view = PageRef::new(page);
        let reserved = usize::from(self.room.free.reserved(page.id()));
        let free = usize::from(view.header().free_bytes.get()).saturating_sub(reserved);
        if footprint(len) > free || !self.promises(page, len) {
            return Ok(None);
        }
        let used_slots = usize::from(view.header().slot_count.get());
        // Slots of deleted rows are reused, unless the delete may still be undone. The slot of a
        // forwarded record has no lock of its own: while bytes of the page are reserved, none of
        // its empty slots is used.
        let slots = if reserved == 0 && view.has_empty_slot() { used_slots as u16 } else { 0 };
        let empty = (0..slots).zip(view.slot_offsets()).filter(|(_, offset)| *offset == 0);
        for (slot, _) in empty {
            if locks.try_new(rid(page.id(), slot))? {
                return Ok(Some(slot));
            }
        }
        let slot = used_slots as u16;
        let is_new = footprint(len) + SLOT_BYTES <= free && locks.try_new(rid(page.id(), slot))?;
        Ok(is_new.then_some(slot))
    }

    /// In compatible placement: does the PFS class of the page guarantee room for the record? Pages
    /// without rows always do.
    fn promises(&self, page: &PageWriteGuard, len: usize) -> bool {
        let view = PageRef::new(page);
        if self.placement == Placement::Packed || view.slot_count() == 0 {
            return true;
        }
        let fullness = Fullness::of_free_bytes(view.header().free_bytes.get());
        len <= ROW_BYTES_MAX * usize::from(100 - fullness.percent()) / 100
    }

    /// Loads the free space of existing pages from PFS, once: the least room of each class.
    fn load_free_space(&self) -> Result<(), Error> {
        if self.room.free.is_loaded() {
            return Ok(());
        }
        // A heap without pages has nothing to be read, and its first insert shall not latch a map
        // for that.
        let pages =
            if self.unit.first_iam().is_none() { Vec::new() } else { self.formatted_pages()? };
        let mut known: Vec<(PageId, u16)> = Vec::new();
        for id in pages {
            let state = self.space.pfs_bytes(id.file, id.page..id.page + 1)?;
            let full =
                state.first().and_then(|state| state.fullness()).unwrap_or(Fullness::UpTo100);
            known.push((
                id,
                (PAGE_BODY_BYTES as u32 * u32::from(100 - full.percent()) / 100) as u16,
            ));
        }
        let mut free = self.room.free.lock();
        if !free.is_loaded {
            known.into_iter().for_each(|(id, room)| free.file(id, room));
            free.is_loaded = true;
        }
        Ok(())
    }
}

/// Is a record a row at its own address, and not one that was moved?
fn is_home(record: &[u8]) -> bool {
    record.first().is_some_and(|status| RecordKind::of(*status) != RecordKind::Forwarded)
}

/// What a record of `len` bytes takes of a page of the heap, without its slot.
pub(super) fn footprint(len: usize) -> usize {
    edit::footprint(PageType::Data, len)
}
