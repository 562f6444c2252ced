//! Ghost cleanup: ghost records are removed when no undo can need them any more.
//!
//! ```text
//! EXPUNGE_ROWS     one for each ghost, in no transaction
//! SET_FREE_SPACE   when the page has none left
//! ```
//!
//! The transaction of a ghost has ended when the page LSN is less than the begin of every open
//! transaction: marking or moving a record changes the page. The undo of a delete relies on that:
//! it does not insert a removed ghost again. Cleanup needs the latch of the leaf only, and holds it
//! until PFS is updated. A leaf never loses its last record; when that is a ghost, the leaf is
//! [removed](super::unlink) with it, where that is possible.
//!
//! A ghost with a versioning tag leads readers to the row that it was, so that it stays until every
//! snapshot sees the transaction that deleted it.

use extentdb_base::sync::lock;
use extentdb_base::{Lsn, PageId};
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::log::Op;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::RowTouch;
use extentdb_format::page::PageHeader;
use extentdb_txn::{Manager, RecordOwner};

use super::Tree;
use super::page::is_ghost;
use crate::error::Error;
use crate::version::{SeenByAll, VersionTag};

impl Tree {
    /// Removes the ghosts of a leaf that all snapshots see as such, and returns their number. The
    /// last record of a leaf is removed with the leaf, or stays where the leaf does. The caller
    /// ensures that no transaction is open that deleted one of them.
    ///
    /// # Errors
    /// The page is no leaf of this tree, or cannot be read.
    pub fn expunge_ghosts(
        &self,
        manager: &Manager,
        page: PageId,
        seen: SeenByAll<'_>,
    ) -> Result<usize, Error> {
        let mut guard = self.space.pool().write(page)?;
        self.verify_whole()?;
        let count = self.expunge(manager, &mut guard, seen)?;
        let empty_since = self.empty_since(&guard, seen)?;
        drop(guard);
        Ok(count + self.remove_if_empty(page, empty_since)?)
    }

    /// The LSN of a leaf whose only record is a ghost that all snapshots see as such.
    fn empty_since(
        &self,
        guard: &PageWriteGuard,
        seen: SeenByAll<'_>,
    ) -> Result<Option<Lsn>, Error> {
        let node = self.node(guard.id(), guard)?;
        if node.slot_count() != 1 || !is_ghost(node.row(0)?) {
            return Ok(None);
        }
        let is_seen = VersionTag::of(node.row(0)?).is_none_or(|tag| seen(tag.writer));
        Ok(is_seen.then(|| node.view.header().lsn()))
    }

    /// Removes a leaf that has been empty since this LSN, and returns the number of ghosts removed.
    fn remove_if_empty(&self, page: PageId, since: Option<Lsn>) -> Result<usize, Error> {
        let is_removed = since.map_or(Ok(false), |lsn| self.remove_leaf(page, lsn))?;
        Ok(usize::from(is_removed))
    }

    /// Removes ghosts of ended transactions that all snapshots see from at most `leaves` leaves,
    /// and returns the number removed. Leaves that an open transaction has changed are skipped.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn clean(
        &self,
        manager: &Manager,
        leaves: usize,
        seen: SeenByAll<'_>,
    ) -> Result<usize, Error> {
        let pages = lock(&self.ghost_leaves).next(leaves);
        let mut count = 0;
        for id in pages {
            let mut page = self.space.pool().write(id)?;
            self.verify_whole()?;
            let header = PageHeader::of(&page);
            let is_leaf = header.belongs_to(self.unit.id())
                && header.level == 0
                && header.kind() == self.leaf_kind();
            if is_leaf && manager.oldest_begin().is_some_and(|open| header.lsn() >= open) {
                continue;
            }
            lock(&self.ghost_leaves).remove(&id);
            // The page may have been freed, and allocated for another unit.
            if is_leaf && header.page_id() == id {
                count += self.expunge(manager, &mut page, seen)?;
                let empty_since = self.empty_since(&page, seen)?;
                drop(page);
                count += self.remove_if_empty(id, empty_since)?;
            }
        }
        Ok(count)
    }

    /// Number of leaves with ghosts that were not removed yet.
    pub fn ghost_leaf_count(&self) -> usize {
        lock(&self.ghost_leaves).len()
    }

    fn expunge(
        &self,
        manager: &Manager,
        guard: &mut PageWriteGuard,
        seen: SeenByAll<'_>,
    ) -> Result<usize, Error> {
        let page = guard.id();
        let node = self.node(page, guard)?;
        if !node.is_leaf() {
            return Err(Error::Corrupt { page, what: "is no leaf" });
        }
        let mut ghosts = Vec::new();
        for slot in (0..node.slot_count()).rev() {
            let row = node.row(slot)?;
            if !is_ghost(row) {
                continue;
            }
            if VersionTag::of(row).is_none_or(|tag| seen(tag.writer)) {
                ghosts.push(slot);
            } else {
                self.note_ghosts(page);
            }
        }
        let most = usize::from(node.slot_count()).saturating_sub(1);
        ghosts.truncate(most);
        for slot in &ghosts {
            let touch = RowTouch { fixed: self.row_part(*slot), more: Vec::new() };
            let payload = Payload::RowTouch(touch);
            change(
                RecordOwner::Alone(manager),
                guard,
                Op::EXPUNGE_ROWS,
                self.leaf_context(),
                payload,
            )?;
        }
        if PageHeader::of(guard).ghost_count.get() == 0 {
            self.space.set_free_space(page, |state| state.with_ghosts(false))?;
        }
        Ok(ghosts.len())
    }
}
