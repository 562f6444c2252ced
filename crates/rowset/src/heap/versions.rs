//! Rows of heaps in databases with row versions.
//!
//! ```text
//! insert  the record has a tag without a version
//! update  the old record is kept, the new one leads to it; a row that moves takes its chain along,
//!         so that the chain hangs at the forwarded record
//! delete  the row gets a tag that leads to it, then it becomes a ghost: it may have to move for
//!         that, as by an update. A forwarded row stays where it is; its stub leads to its ghost
//! ```
//!
//! A row that this transaction has inserted is removed at once: nobody else has ever seen it.
//!
//! # Readers
//!
//! A reader of a forwarded row latches one page at a time. Every change leaves a stub that leads to
//! the row: a reader that does not find it there, because it has moved meanwhile, begins again.

use extentdb_base::{PageId, Rid};
use extentdb_change::change;
use extentdb_format::log::payload::row::{DeleteRows, RowPart, RowTouch};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::builder::forwarding_stub;
use extentdb_format::record::status::{GHOST_FORWARDED, KIND_BITS};
use extentdb_format::record::{Record, RecordKind};
use extentdb_txn::{Manager, RecordOwner, Transaction};

use super::append::free_bytes;
use super::fetch::Fetched;
use super::row_locks::HeapWriter;
use super::scan::{StoredRow, is_ghost_forwarded, stored};
use super::{Heap, as_forwarded, rid, too_long};
use crate::Error;
use crate::version::{SeenByAll, VersionTag, Versions, untagged};

/// A row is looked for so often while it moves: it takes a transaction to move it.
const MOVES_MAX: usize = 1000;

/// A row that exists.
struct FoundRow {
    home: Rid,
    /// Where its record is.
    lies: Rid,
    record: Vec<u8>,
}

impl Heap {
    /// Inserts a record as [`insert`](Self::insert) does.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_versioned(
        &self,
        tx: &mut Transaction,
        record: &[u8],
        writer: &mut HeapWriter<'_>,
    ) -> Result<Rid, Error> {
        too_long(record.len())?;
        let record = writer.versions.tag_of_new().replaced_in(record);
        self.insert(tx, writer.session, &record, writer.locks)
    }

    /// Replaces a record as [`update`](Self::update) does, and keeps the old one. An equal record
    /// is a change, too: what it points to may have changed.
    ///
    /// # Errors
    /// As for [`update`](Self::update); the snapshot of the transaction does not see the row as it
    /// is; the version store fails.
    pub fn update_versioned(
        &self,
        tx: &mut Transaction,
        at: Rid,
        record: &[u8],
        writer: &mut HeapWriter<'_>,
    ) -> Result<(), Error> {
        too_long(record.len())?;
        let found = self.row_to_change(at)?;
        self.supersede(tx, &found, record, writer)?;
        Ok(())
    }

    /// Deletes the row at an address, and keeps it.
    ///
    /// # Errors
    /// As for [`delete`](Self::delete); the snapshot of the transaction does not see the row as it
    /// is; the version store fails.
    pub fn delete_versioned(
        &self,
        tx: &mut Transaction,
        at: Rid,
        writer: &mut HeapWriter<'_>,
    ) -> Result<(), Error> {
        let found = self.row_to_change(at)?;
        if writer.versions.is_own_insert(&found.record) {
            return self.delete(tx, at, writer.locks, writer.reserved);
        }
        let lies = self.supersede(tx, &found, &untagged(&found.record), writer)?;
        self.unit.count_rows(-1);
        let done = self.mark_ghost(tx, lies);
        if done.is_err() {
            self.unit.count_rows(1);
        }
        done
    }

    fn row_to_change(&self, home: Rid) -> Result<FoundRow, Error> {
        match self.stored_at(home)? {
            Some(StoredRow::Row(record)) => Ok(FoundRow { home, lies: home, record }),
            Some(StoredRow::Stub(lies)) => {
                let record = self.forwarded(home, lies)?.ok_or(Error::NoRow(home))?;
                Ok(FoundRow { home, lies, record })
            }
            Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => Err(Error::NoRow(home)),
        }
    }

    /// Puts a record in place of that of a row, which is kept; returns where it is. The record has
    /// no tag; it may be a forwarded one.
    fn supersede(
        &self,
        tx: &mut Transaction,
        row: &FoundRow,
        record: &[u8],
        writer: &mut HeapWriter<'_>,
    ) -> Result<Rid, Error> {
        let tag = writer.versions.tag_over(self.unit.id(), &row.record)?;
        let FoundRow { home, lies, .. } = *row;
        if lies == home {
            if self.replace(tx, home, &tag.replaced_in(record), writer.reserved)? {
                return Ok(home);
            }
            let moved = tag.replaced_in(&as_forwarded(record, self.shape, home));
            let target = self.insert(tx, writer.session, &moved, writer.locks)?;
            self.replace_or_fail(tx, home, &forwarding_stub(target), writer.reserved)?;
            return Ok(target);
        }
        let moved = tag.replaced_in(&as_forwarded(record, self.shape, home));
        if self.replace(tx, lies, &moved, writer.reserved)? {
            return Ok(lies);
        }
        // An undo needs the slot that the record leaves: it stays locked until then.
        writer.locks.vacate(lies)?;
        let next = self.insert(tx, writer.session, &moved, writer.locks)?;
        self.replace_or_fail(tx, home, &forwarding_stub(next), writer.reserved)?;
        self.remove(tx, lies, writer.reserved)?;
        Ok(next)
    }

    /// Marks a record as that of a deleted row.
    fn mark_ghost(&self, tx: &mut Transaction, at: Rid) -> Result<(), Error> {
        let mut page = self.space.pool().write(at.page)?;
        let old = PageRef::new(&page).row(at.slot.0).map_err(|_| Error::NoRow(at))?.to_vec();
        let mut ghost = old.clone();
        if let [status, status_b, ..] = ghost.as_mut_slice() {
            if RecordKind::of(*status) == RecordKind::Forwarded {
                *status_b |= GHOST_FORWARDED;
            }
            *status = *status & !KIND_BITS | RecordKind::GhostData.bits();
        }
        let is_first = PageHeader::of(&page).ghost_count.get() == 0;
        self.modify(tx, &mut page, at, &old, &ghost)?;
        self.room.free.lock().ghosts.insert(at.page);
        if is_first {
            // Under the latch, so that the hint is set and cleared in the same order as the ghosts.
            self.space.set_free_space(at.page, |state| state.with_ghosts(true))?;
        }
        Ok(())
    }

    /// The newest record of a row, be it a ghost; `None` when there is none at this address.
    ///
    /// # Errors
    /// A page cannot be read, or a record does not add up.
    pub fn newest(&self, at: Rid) -> Result<Option<Vec<u8>>, Error> {
        let target = match self.stored_at(at)? {
            Some(StoredRow::Row(row)) => return Ok(Some(row)),
            Some(StoredRow::Ghost(row)) if !is_ghost_forwarded(&row) => return Ok(Some(row)),
            Some(StoredRow::Stub(target)) => target,
            Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => return Ok(None),
        };
        match self.stored_at(target)? {
            Some(StoredRow::Forwarded(row) | StoredRow::Ghost(row))
                if Record::parse_data(&row).back_pointer() == Some(at) =>
            {
                Ok(Some(row))
            }
            _ => Err(Error::BadRow(at)),
        }
    }

    /// The row at an address as a snapshot sees it.
    ///
    /// # Errors
    /// A page cannot be read, a record does not add up, or the version store fails.
    pub fn row_seen(&self, at: Rid, versions: Versions<'_>) -> Result<Option<Vec<u8>>, Error> {
        for _ in 0..MOVES_MAX {
            let target = match self.stored_at(at)? {
                Some(StoredRow::Row(row)) => return resolved(&row, versions),
                Some(StoredRow::Ghost(row)) if !is_ghost_forwarded(&row) => {
                    return resolved(&row, versions);
                }
                Some(StoredRow::Stub(target)) => target,
                Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => return Ok(None),
            };
            if let Some(StoredRow::Forwarded(row) | StoredRow::Ghost(row)) =
                self.stored_at(target)?
                && Record::parse_data(&row).back_pointer() == Some(at)
            {
                return resolved(&row, versions);
            }
        }
        Err(Error::BadRow(at))
    }

    /// The rows whose home is on this page, as a snapshot sees them.
    ///
    /// # Errors
    /// As for [`row_seen`](Self::row_seen).
    pub fn page_rows_seen(
        &self,
        id: PageId,
        versions: Versions<'_>,
    ) -> Result<Vec<(Rid, Vec<u8>)>, Error> {
        let mut rows = Vec::new();
        let mut has_stubs = false;
        {
            let page = self.space.pool().read(id)?;
            let view = PageRef::new(&page);
            // A reader that was paused may come when the page has been freed and used again.
            if !view.header().belongs_to(self.unit.id()) {
                return Ok(rows);
            }
            let slots = (0..view.slot_count()).zip(view.slot_offsets());
            for (slot, _) in slots.filter(|(_, offset)| *offset != 0) {
                let at = rid(id, slot);
                match stored(view, at)? {
                    StoredRow::Row(row) => {
                        rows.extend(resolved(row, versions)?.map(|row| (at, row)));
                    }
                    StoredRow::Ghost(row) if !is_ghost_forwarded(row) => {
                        rows.extend(resolved(row, versions)?.map(|row| (at, row)));
                    }
                    // Read when the page is not latched any more; no record is empty.
                    StoredRow::Stub(_) => {
                        rows.push((at, Vec::new()));
                        has_stubs = true;
                    }
                    StoredRow::Forwarded(_) | StoredRow::Ghost(_) => {}
                }
            }
        }
        if has_stubs {
            for (at, row) in rows.iter_mut().filter(|(_, row)| row.is_empty()) {
                *row = self.row_seen(*at, versions)?.unwrap_or_default();
            }
            rows.retain(|(_, row)| !row.is_empty());
        }
        Ok(rows)
    }

    /// The rows at these addresses as a snapshot sees them; those of one page are read under one
    /// latch.
    ///
    /// # Errors
    /// As for [`row_seen`](Self::row_seen).
    pub fn rows_seen(&self, rids: &[Rid], versions: Versions<'_>) -> Result<Fetched, Error> {
        let mut fetched = Fetched::with_room_for(rids.len());
        let mut order: Vec<(Rid, usize)> = rids.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut stubs = Vec::new();
        for run in order.chunk_by(|(a, _), (b, _)| a.page == b.page) {
            let Some((first, _)) = run.first() else { continue };
            let page = self.space.pool().read(first.page)?;
            let view = PageRef::new(&page);
            if view.header().alloc_unit() != self.unit.id() {
                continue;
            }
            for (at, number) in run {
                if view.slot_offset(at.slot.0).is_none_or(|offset| offset == 0) {
                    continue;
                }
                match stored(view, *at)? {
                    StoredRow::Row(row) => {
                        fetched.set(*number, versions.resolve(row)?.as_deref());
                    }
                    StoredRow::Ghost(row) if !is_ghost_forwarded(row) => {
                        fetched.set(*number, versions.resolve(row)?.as_deref());
                    }
                    StoredRow::Stub(_) => stubs.push((*at, *number)),
                    StoredRow::Forwarded(_) | StoredRow::Ghost(_) => {}
                }
            }
        }
        for (at, number) in stubs {
            fetched.set(number, self.row_seen(at, versions)?.as_deref());
        }
        Ok(fetched)
    }
}

fn resolved(row: &[u8], versions: Versions<'_>) -> Result<Option<Vec<u8>>, Error> {
    Ok(versions.resolve(row)?.map(std::borrow::Cow::into_owned))
}

/// Ghost cleanup, as that of trees.
///
/// ```text
/// EXPUNGE_ROWS     one for each ghost, in no transaction: its slot is empty from then on
/// DELETE_ROWS      before it, of the stub that leads to the ghost of a forwarded row. A crash
///                  between the two leaves a ghost without a stub, which the next cleanup removes
/// SET_FREE_SPACE   when the page has none left
/// ```
impl Heap {
    /// Removes ghosts of ended transactions that all snapshots see from at most `pages` pages, and
    /// returns the number removed. Pages that an open transaction has changed are skipped.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn clean(
        &self,
        manager: &Manager,
        pages: usize,
        seen: SeenByAll<'_>,
    ) -> Result<usize, Error> {
        let pages = self.room.free.lock().ghosts.next(pages);
        pages
            .into_iter()
            .try_fold(0, |count, page| Ok(count + self.expunge_ghosts(manager, page, seen)?))
    }

    /// Number of pages with ghosts that were not removed yet.
    pub fn ghost_page_count(&self) -> usize {
        self.room.free.lock().ghosts.len()
    }

    /// The same for one page.
    ///
    /// # Errors
    /// The page cannot be read.
    pub fn expunge_ghosts(
        &self,
        manager: &Manager,
        id: PageId,
        seen: SeenByAll<'_>,
    ) -> Result<usize, Error> {
        let Some(ghosts) = self.removable_ghosts(manager, id, seen)? else { return Ok(0) };
        for ghost in &ghosts {
            if let Some(home) = ghost.home {
                self.remove_stub(manager, home, ghost.at)?;
            }
        }
        let mut page = self.space.pool().write(id)?;
        for ghost in &ghosts {
            // Nobody but the cleanup changes a ghost, and there is one cleanup at a time.
            let mut fixed = RowPart { partition_id: self.unit.hobt(), ..RowPart::default() };
            fixed.page.slot = ghost.at.slot.0;
            let payload = Payload::RowTouch(RowTouch { fixed, more: Vec::new() });
            let owner = RecordOwner::Alone(manager);
            change(owner, &mut page, Op::EXPUNGE_ROWS, Context::HEAP, payload)?;
        }
        if PageHeader::of(&page).ghost_count.get() == 0 {
            self.space.set_free_space(id, |state| state.with_ghosts(false))?;
        }
        if !ghosts.is_empty() {
            let free_now = free_bytes(&page);
            let mut free = self.room.free.lock();
            let room = free_now.saturating_sub(free.reserved(id));
            free.file(id, room);
            free.touch(id);
        }
        Ok(ghosts.len())
    }

    /// The ghosts of a page that nobody needs; `None` of one that is to be cleaned later.
    fn removable_ghosts(
        &self,
        manager: &Manager,
        id: PageId,
        seen: SeenByAll<'_>,
    ) -> Result<Option<Vec<Ghost>>, Error> {
        let page = self.space.pool().read(id)?;
        let view = PageRef::new(&page);
        let header = view.header();
        if !header.belongs_to(self.unit.id()) || header.page_id() != id {
            self.room.free.lock().ghosts.remove(&id);
            return Ok(None);
        }
        if manager.oldest_begin().is_some_and(|open| header.lsn() >= open) {
            return Ok(None);
        }
        let mut ghosts = Vec::new();
        let mut stays = false;
        let slots = (0..view.slot_count()).zip(view.slot_offsets());
        for (slot, _) in slots.filter(|(_, offset)| *offset != 0) {
            let at = rid(id, slot);
            let StoredRow::Ghost(row) = stored(view, at)? else { continue };
            if VersionTag::of(row).is_none_or(|tag| seen(tag.writer)) {
                ghosts.push(Ghost { at, home: Record::parse_data(row).back_pointer() });
            } else {
                stays = true;
            }
        }
        if !stays {
            // One that is made from here on enters the page again.
            self.room.free.lock().ghosts.remove(&id);
        }
        Ok(Some(ghosts))
    }

    /// Removes the stub at an address, if it leads to a record.
    fn remove_stub(&self, manager: &Manager, home: Rid, target: Rid) -> Result<(), Error> {
        let mut page = self.space.pool().write(home.page)?;
        let view = PageRef::new(&page);
        let is_used = view.slot_offset(home.slot.0).is_some_and(|offset| offset != 0);
        if !is_used || !view.header().belongs_to(self.unit.id()) {
            return Ok(());
        }
        let StoredRow::Stub(leads_to) = stored(view, home)? else { return Ok(()) };
        if leads_to != target {
            return Ok(());
        }
        let stub = forwarding_stub(target);
        let mut fixed = RowPart {
            partition_id: self.unit.hobt(),
            offset_in_row: DeleteRows::OFFSET_IN_ROW,
            ..RowPart::default()
        };
        fixed.page.slot = home.slot.0;
        let payload = Payload::DeleteRows(DeleteRows { fixed, rows: vec![&stub], lock_info: &[] });
        let owner = RecordOwner::Alone(manager);
        change(owner, &mut page, Op::DELETE_ROWS, Context::HEAP, payload)?;
        let free_now = free_bytes(&page);
        let mut free = self.room.free.lock();
        let room = free_now.saturating_sub(free.reserved(home.page));
        free.file(home.page, room);
        free.touch(home.page);
        Ok(())
    }
}

/// A ghost that nobody needs.
struct Ghost {
    at: Rid,
    /// Of a forwarded row.
    home: Option<Rid>,
}
