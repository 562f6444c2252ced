//! Removing an empty leaf: a leaf with nothing but a ghost that nobody needs leaves the tree, and
//! its page is freed.
//!
//! Known algorithm: page deletion of B-trees. Where we differ: because a tree changes its structure
//! under one mutex, and descents restart when `version` has changed, the page is unlinked and freed
//! at once; there are no half-dead pages as in Lanin and Shasha's algorithm, and none that a
//! descent may still be on its way to.
//!
//! ```text
//! parent [ … │ f→L │ m→P │ s→R │ … ]            parent [ … │ f→L │ s→R │ … ]
//! L ⇄ P ⇄ R                              ──▶    L ⇄ R          keys from m on belong to L
//!
//! parent [ f→P │ m→R │ … ]                      parent [ f→R │ … ]
//! P ⇄ R                                  ──▶    R              keys from f on belong to R
//! ```
//!
//! A page above that has no other child is removed with it. One system transaction does all of
//! that: maps (PFS, and IAM and GAM of an extent that has no other page), the pointer to the first
//! leaf, links, separators. A restart undoes it page by page when it was interrupted; the pages are
//! reused after its commit only.
//!
//! ```text
//! MODIFY_ROW PFS, SET_BITS IAM, GAM   the pages; nobody gets them before the commit
//! ROOT_CHANGE                         the leftmost leaf, when that is removed
//! MODIFY_HEADER                       the links of the neighbours, on each level
//! DELETE_ROWS                         the separator; INSERT_ROWS of another child for the first
//! ```
//!
//! Not removed are: the last leaf of a tree, pages of mixed extents, leaves of system tables.
//!
//! **Latch order**: `structure` → maps, no page of the tree latched → EX on the parent, then on
//! each level from the top down the left neighbour, the page, the right neighbour.

use extentdb_base::sync::lock;
use extentdb_base::{Lsn, PageId};
use extentdb_buffer::PageReadGuard;
use extentdb_catalog::layout::Level;
use extentdb_format::log::Context;
use extentdb_format::page::PageHeader;
use extentdb_format::page::header::{NEXT_AT, PREV_AT};
use extentdb_space::Freed;
use extentdb_txn::{RecordOwner, Transaction, TransactionKind};

use super::Tree;
use super::page::is_ghost;
use super::seek::{PathStep, Towards, write_spinning};
use super::split::with_child;
use super::system::{ChangeOutcome, LatchedPages};
use crate::error::Error;

/// A page that is removed, and its neighbours on its level.
#[derive(Clone, Copy, Debug)]
struct RemovedPage {
    page: PageId,
    previous: PageId,
    next: PageId,
}

/// What is removed.
#[derive(Debug)]
struct Removal {
    /// The page above that keeps other children, and the slot of the child that is removed.
    parent: PathStep,
    /// The child and what is below it, a page of each level; the leaf is the last.
    pages: Vec<RemovedPage>,
    /// The leaf's LSN: since then it holds one ghost and nothing else.
    leaf_lsn: Lsn,
}

impl Tree {
    /// Removes a leaf that held one ghost and nothing else when its LSN was `lsn`, and says whether
    /// it did. The caller ensures that nobody needs the ghost, and has no page latched.
    ///
    /// # Errors
    /// A page cannot be read, or the log is full. The tree is sound, unless its rollback failed.
    pub(super) fn remove_leaf(&self, page: PageId, lsn: Lsn) -> Result<bool, Error> {
        if self.unit.id().is_system() {
            return Ok(false);
        }
        let _structure = lock(&self.structure);
        self.verify_whole()?;
        let Some(removal) = self.plan_removal(page, lsn)? else { return Ok(false) };
        let sys = self.space.transactions().begin(TransactionKind::System, "RemoveLeaf");
        let mut freed = Freed::default();
        let is_done = self.run_system(sys, |sys, held| {
            let pages: Vec<PageId> = removal.pages.iter().map(|removed| removed.page).collect();
            freed.extend(self.space.free_pages(sys, &self.unit, &pages)?);
            if let Some(leaf) = removal.pages.last().filter(|leaf| leaf.previous.is_none()) {
                self.space.set_first(sys, &self.unit, leaf.next)?;
            }
            if !self.latch_to_remove(held, &removal)? {
                return Ok(ChangeOutcome::NotNeeded);
            }
            self.unlink(sys, held, &removal)?;
            self.remove_child(sys, held, removal.parent.slot)?;
            Ok(ChangeOutcome::Done)
        })?;
        if !is_done {
            self.note_ghosts_in_pfs(page)?;
            return Ok(false);
        }
        self.unit.count_data_pages(-1);
        lock(&self.ghost_leaves).remove(&page);
        self.space.release(freed)?;
        Ok(true)
    }

    /// A row of the leaf may have been deleted while its page was free in PFS, where this could not
    /// be said.
    fn note_ghosts_in_pfs(&self, page: PageId) -> Result<(), Error> {
        let guard = self.read(page)?;
        if PageHeader::of(&guard).ghost_count.get() > 0 {
            self.space.set_free_space(page, |state| state.with_ghosts(true))?;
        }
        Ok(())
    }

    /// What is to be removed for a leaf; `None` when it must stay, or the pages around it
    /// contradict each other.
    fn plan_removal(&self, page: PageId, lsn: Lsn) -> Result<Option<Removal>, Error> {
        let Some(key) = self.key_of_only_ghost(page, lsn)? else { return Ok(None) };
        let found = self.descend::<PageReadGuard, Vec<PathStep>>(Towards::Key(&key))?;
        let Some((leaf, mut steps)) = found else { return Ok(None) };
        if leaf.id() != page {
            return Ok(None);
        }
        drop(leaf);
        let mut pages = vec![page];
        while let Some(step) = steps.pop() {
            let guard = self.read(step.page)?;
            let count = self.node(step.page, &guard)?.slot_count();
            drop(guard);
            if count < 2 {
                pages.push(step.page);
                continue;
            }
            pages.reverse();
            return self.removal_of(step, &pages, lsn);
        }
        Ok(None)
    }

    fn removal_of(
        &self,
        parent: PathStep,
        ids: &[PageId],
        leaf_lsn: Lsn,
    ) -> Result<Option<Removal>, Error> {
        let mut pages = Vec::with_capacity(ids.len());
        for page in ids {
            if self.space.is_mixed(*page)? {
                return Ok(None);
            }
            let guard = self.read(*page)?;
            let node = self.node(*page, &guard)?;
            pages.push(RemovedPage { page: *page, previous: node.previous(), next: node.next() });
        }
        // No page occurs twice, and the neighbours are in memory when they are latched.
        let mut all = vec![parent.page];
        for RemovedPage { page, previous, next } in &pages {
            all.extend([*previous, *page, *next].into_iter().filter(|page| !page.is_none()));
        }
        for (at, page) in all.iter().enumerate() {
            if all[..at].contains(page) {
                return Ok(None);
            }
            self.read(*page)?;
        }
        Ok(Some(Removal { parent, pages, leaf_lsn }))
    }

    /// The key of the only record of a leaf, a ghost, when it has not changed since `lsn`.
    fn key_of_only_ghost(&self, page: PageId, lsn: Lsn) -> Result<Option<Vec<u8>>, Error> {
        let guard = self.read(page)?;
        let header = PageHeader::of(&guard);
        if header.page_id() != page || !header.belongs_to(self.unit.id()) || header.lsn() != lsn {
            return Ok(None);
        }
        let node = self.node(page, &guard)?;
        if !node.is_leaf() || node.slot_count() != 1 || !is_ghost(node.row(0)?) {
            return Ok(None);
        }
        let mut key = Vec::new();
        node.key_into(0, &mut key)?;
        Ok(Some(key))
    }

    /// Latches what a removal changes. False when the leaf has changed, or a link is not what the
    /// neighbour says.
    fn latch_to_remove(&self, held: &mut LatchedPages, removal: &Removal) -> Result<bool, Error> {
        let pool = self.space.pool();
        held.push(write_spinning(pool, removal.parent.page)?);
        for RemovedPage { page, previous, next } in &removal.pages {
            for id in [*previous, *page, *next].into_iter().filter(|id| !id.is_none()) {
                let guard = write_spinning(pool, id)?;
                let node = self.node(id, &guard)?;
                let links = (node.previous(), node.next());
                let is_sound = match id {
                    id if id == *previous => links.1 == *page,
                    id if id == *next => links.0 == *page,
                    _ => links == (*previous, *next),
                };
                let is_changed =
                    id == *page && node.is_leaf() && node.view.header().lsn() != removal.leaf_lsn;
                held.push(guard);
                if !is_sound || is_changed {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Links the neighbours of each removed page to each other.
    fn unlink(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        removal: &Removal,
    ) -> Result<(), Error> {
        for RemovedPage { page, previous, next } in &removal.pages {
            for guard in held.iter_mut() {
                let (at, new) = match guard.id() {
                    id if id == *previous => (NEXT_AT, next),
                    id if id == *next => (PREV_AT, previous),
                    _ => continue,
                };
                self.log_header(sys, guard, at, &page.to_bytes(), &new.to_bytes())?;
            }
        }
        Ok(())
    }

    /// Removes a child of the first latched page. The keys of the first child belong to the second
    /// one then, with the separator of the first; those of another to the child before it.
    fn remove_child(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        slot: u16,
    ) -> Result<(), Error> {
        let Some(parent) = held.first_mut() else { return Ok(()) };
        let node = self.node(parent.id(), parent)?;
        let removed = node.row(slot)?.to_vec();
        let second = match slot {
            0 => Some((node.row(1)?.to_vec(), node.child(1)?)),
            _ => None,
        };
        let context = Context::INDEX_INTERIOR;
        if let Some((row, _)) = &second {
            self.log_delete(RecordOwner::Change(sys), parent, 1, row, context)?;
        }
        self.log_delete(RecordOwner::Change(sys), parent, slot, &removed, context)?;
        if let Some((_, child)) = second {
            let first = with_child(&removed, child, self.shape.pminlen(Level::Interior));
            self.log_insert(RecordOwner::Change(sys), parent, 0, vec![&first], context)?;
        }
        Ok(())
    }
}
