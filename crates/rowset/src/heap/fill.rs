//! Many rows of one transaction at the end of a heap, page after page.
//!
//! ```text
//! records ──▶ as many of them as the page has room for ──full──▶ one INSERT_ROWS on the page that
//!                                                                the session fills (append.rs)
//! ```
//!
//! One log record has all rows that come to a page together, which is what makes it faster than
//! inserts one by one. They belong to the transaction: its rollback deletes them by one DELETE_ROWS
//! for each of these records. They are never put where deleted rows have left room.
//!
//! Invariant: between two pages nothing is locked or latched, so that the rows may come from
//! anywhere, and as slowly as they like. What another session has done to the page in between is
//! seen when the rows are written: those that have no room there go to the next page, together.

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Cell;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::page::PageRef;
use extentdb_format::record::RecordBuilder;
use extentdb_txn::Transaction;

use super::append::free_bytes;
use super::insert::{SLOT_BYTES, footprint};
use super::row_locks::RowLocks;
use super::{Heap, Placement, rid, too_long};
use crate::Error;
use crate::layout::RowShape;

/// Rows on their way to the end of a heap.
pub struct HeapFiller<'h> {
    heap: &'h Heap,
    session: usize,
    shape: &'h RowShape,
    form: RecordBuilder,
    /// The records of the next page, one after another, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// What they take of a page, with their slots.
    taken: usize,
    /// What the page has room for, as far as is known.
    room: usize,
}

impl Heap {
    /// Takes rows of this shape, which this session adds.
    ///
    /// # Errors
    /// The session's own page cannot be read.
    pub fn filler<'h>(
        &'h self,
        session: usize,
        shape: &'h RowShape,
    ) -> Result<HeapFiller<'h>, Error> {
        let own = self.appender(session).page;
        let room = match own {
            Some(id) => self.room_at_end(&self.space.pool().write(id)?),
            None => PAGE_BODY_BYTES,
        };
        Ok(HeapFiller {
            heap: self,
            session,
            shape,
            form: shape.leaf_builder(),
            bytes: Vec::with_capacity(PAGE_BODY_BYTES),
            ends: Vec::new(),
            taken: 0,
            room,
        })
    }

    /// Bytes of a page for rows in new slots.
    fn room_at_end(&self, page: &PageWriteGuard) -> usize {
        // In compatible placement the class of a page with rows promises less than it has.
        if self.placement == Placement::ByPfs && PageRef::new(page).slot_count() > 0 {
            return 0;
        }
        usize::from(free_bytes(page).saturating_sub(self.room.free.reserved(page.id())))
    }
}

impl HeapFiller<'_> {
    /// Adds a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The values are not those of the columns, or too long together; the rows before it could not
    /// be written.
    pub fn add(
        &mut self,
        tx: &mut Transaction,
        cells: &[Cell<'_>],
        locks: &mut dyn RowLocks,
    ) -> Result<(), Error> {
        let start = self.bytes.len();
        self.shape.push_leaf_record(&mut self.form, cells, &mut self.bytes)?;
        let len = self.bytes.len() - start;
        too_long(len)?;
        let bytes = footprint(len) + SLOT_BYTES;
        if self.taken + bytes > self.room {
            let record = self.bytes.split_off(start);
            self.write(tx, locks)?;
            self.room = PAGE_BODY_BYTES;
            self.bytes.extend_from_slice(&record);
        }
        self.ends.push(self.bytes.len());
        self.taken += bytes;
        Ok(())
    }

    /// Writes the rows that are left.
    ///
    /// # Errors
    /// The page could not be written.
    pub fn end(mut self, tx: &mut Transaction, locks: &mut dyn RowLocks) -> Result<(), Error> {
        self.write(tx, locks)
    }

    /// Writes the rows of a page.
    fn write(&mut self, tx: &mut Transaction, locks: &mut dyn RowLocks) -> Result<(), Error> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let written = self.write_somewhere(tx, locks);
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
        written
    }

    /// Writes the rows on the session's page, or on the next one, which is empty.
    fn write_somewhere(&self, tx: &mut Transaction, locks: &mut dyn RowLocks) -> Result<(), Error> {
        let heap = self.heap;
        let mut appender = heap.appender(self.session);
        loop {
            let page = match appender.page {
                Some(id) => heap.space.pool().write(id)?,
                None => heap.next_page(tx, &mut appender)?,
            };
            let Some(page) = self.write_on(tx, page, appender.noted, locks)? else {
                return Ok(());
            };
            let left = free_bytes(&page);
            drop(page);
            heap.retire(&mut appender, left);
        }
    }

    /// Writes the rows on this page; gives it back when they have no room there.
    fn write_on(
        &self,
        tx: &mut Transaction,
        mut page: PageWriteGuard,
        noted: Option<Fullness>,
        locks: &mut dyn RowLocks,
    ) -> Result<Option<PageWriteGuard>, Error> {
        let heap = self.heap;
        let id = page.id();
        let first = PageRef::new(&page).slot_count();
        if heap.room_at_end(&page) < self.taken || !self.locked(locks, id, first)? {
            return Ok(Some(page));
        }
        let mut fixed = RowPart { partition_id: heap.unit.hobt(), ..RowPart::default() };
        fixed.page.slot = first;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let rows = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]).collect();
        let insert = InsertRows { fixed, rows, ..InsertRows::default() };
        heap.log_insert(tx, &mut page, insert)?;
        drop(page);
        heap.note_first_row(rid(id, first), noted)?;
        Ok(None)
    }

    /// Locks the RIDs that the rows get on a page.
    fn locked(&self, locks: &mut dyn RowLocks, page: PageId, first: u16) -> Result<bool, Error> {
        for slot in (first..).take(self.ends.len()) {
            if !locks.try_new(rid(page, slot))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
