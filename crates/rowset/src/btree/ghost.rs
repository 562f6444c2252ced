//! Ghosts are taken away once nobody can want them back.
//!
//! ```text
//! EXPUNGE_ROWS     one for each ghost, in no transaction
//! SET_FREE_SPACE   when the page has none left
//! ```
//!
//! A ghost belongs to a transaction that has ended when the page is older than all that are open:
//! whoever marked it, or moved it there, changed the page. The undo of a delete counts on that: it
//! does not put a ghost back. A leaf never loses its last record: a page with one ghost keeps its
//! place in the tree. Nothing but the latch of the leaf is needed for that, and it is kept until
//! PFS knows.

use extentdb_base::PageId;
use extentdb_base::sync::lock;
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::log::Op;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::RowTouch;
use extentdb_format::page::PageHeader;
use extentdb_txn::{Link, Manager};

use super::Tree;
use crate::error::Error;

impl Tree {
    /// Takes the ghosts of a leaf away, all but the last record of the page, and says how many. It
    /// is the caller's business that no transaction is open that deleted one of them.
    ///
    /// # Errors
    /// The page is no leaf of this tree, or cannot be read.
    pub fn expunge_ghosts(&self, manager: &Manager, page: PageId) -> Result<usize, Error> {
        let mut guard = self.space.pool().write(page)?;
        self.verify_whole()?;
        self.expunge(manager, &mut guard)
    }

    /// Takes ghosts away that transactions have left which have ended, from at most so many leaves;
    /// says how many ghosts. Leaves that an open transaction has changed are left for another time.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn clean(&self, manager: &Manager, leaves: usize) -> Result<usize, Error> {
        let pages: Vec<PageId> = lock(&self.haunted).iter().take(leaves).copied().collect();
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
            lock(&self.haunted).remove(&id);
            // The page may have gone with its tree, or come back as one of another.
            if is_leaf && header.page_id() == id {
                count += self.expunge(manager, &mut page)?;
            }
        }
        Ok(count)
    }

    /// How many leaves have got ghosts that were not taken away since.
    pub fn haunted_leaves(&self) -> usize {
        lock(&self.haunted).len()
    }

    fn expunge(&self, manager: &Manager, guard: &mut PageWriteGuard) -> Result<usize, Error> {
        let page = guard.id();
        let node = self.node(page, guard)?;
        if !node.is_leaf() {
            return Err(Error::Corrupt { page, what: "is no leaf" });
        }
        let mut ghosts = Vec::new();
        for slot in (0..node.slot_count()).rev() {
            if node.is_ghost(slot)? {
                ghosts.push(slot);
            }
        }
        let most = usize::from(node.slot_count()).saturating_sub(1);
        ghosts.truncate(most);
        for slot in &ghosts {
            let touch = RowTouch { fixed: self.row_part(*slot), more: Vec::new() };
            let payload = Payload::RowTouch(touch);
            change(Link::Alone(manager), guard, Op::EXPUNGE_ROWS, self.leaf_context(), payload)?;
        }
        if PageHeader::of(guard).ghost_count.get() == 0 {
            self.space.set_free_space(page, |state| state.with_ghosts(false))?;
        }
        Ok(ghosts.len())
    }
}
