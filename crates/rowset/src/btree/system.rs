//! Changes of several pages: system transactions that are seen as a whole or not at all.
//!
//! ```text
//! BEGIN ─ a page from space ─ latches ─ records ─ COMMIT ─ version + 1 ─ latches released ─ (root)
//!                                          │ error
//!                                          └─▶ rolled back page by page ─ ABORT ─ latches released
//!                                                 │ error
//!                                                 └─▶ the tree is unusable ─ latches released
//! ```
//!
//! The end of the transaction is logged before the latches are released: a later change of one of
//! the pages has a greater LSN, and a restart that undoes an interrupted change, page by page,
//! finds no change that depends on it.

use extentdb_base::PageId;
use extentdb_base::sync::atomic::Ordering;
use extentdb_buffer::PageWriteGuard;
use extentdb_txn::Transaction;

use super::Tree;
use crate::error::Error;

/// Outcome of a change of several pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChangeOutcome {
    Done,
    /// Another session was faster; nothing was changed, and a new page is freed.
    NotNeeded,
}

/// Pages that stay latched until the end of the change is in the log.
pub(super) type LatchedPages = Vec<PageWriteGuard>;

impl Tree {
    /// Runs a change of several pages, one of them new, in a system transaction, and returns the
    /// new page. A failure rolls it back. The caller holds `structure`.
    pub(super) fn in_system<W>(
        &self,
        tx: &Transaction,
        name: &str,
        work: W,
    ) -> Result<Option<PageId>, Error>
    where
        W: FnOnce(&mut Transaction, PageId, &mut LatchedPages) -> Result<ChangeOutcome, Error>,
    {
        let mut new = PageId::NONE;
        let is_done = self.in_system_on(tx, name, |sys, held| {
            new = self.space.allocate_page(sys, &self.unit)?;
            work(sys, new, held)
        })?;
        Ok(is_done.then_some(new))
    }

    /// The same for a change of pages that the tree has already; false when it was not needed.
    pub(super) fn in_system_on<W>(
        &self,
        tx: &Transaction,
        name: &str,
        work: W,
    ) -> Result<bool, Error>
    where
        W: FnOnce(&mut Transaction, &mut LatchedPages) -> Result<ChangeOutcome, Error>,
    {
        self.run_system(tx.begin_system(name), work)
    }

    /// Runs a change of several pages in this system transaction.
    pub(super) fn run_system<W>(&self, mut sys: Transaction, work: W) -> Result<bool, Error>
    where
        W: FnOnce(&mut Transaction, &mut LatchedPages) -> Result<ChangeOutcome, Error>,
    {
        let pointers = self.unit.pointers();
        let mut held = LatchedPages::new();
        let outcome = work(&mut sys, &mut held);
        if let Ok(ChangeOutcome::Done) = outcome {
            let ended = sys.commit().map_err(Error::from);
            let ended = ended.inspect_err(|error| self.mark_unusable(error));
            self.version.fetch_add(1, Ordering::Release);
            drop(held);
            return ended.map(|_| true);
        }
        let ended = self.space.roll_back_system_latched(sys, &self.unit, pointers, &mut held);
        if let Err(error) = ended {
            self.mark_unusable(&Error::from(error));
        }
        drop(held);
        // The undo has changed the maps without the cached chain.
        self.unit.forget_chain();
        outcome.map(|_| false)
    }

    /// A new root is the root from here on.
    pub(super) fn publish_root(&self, root: Option<PageId>) {
        if let Some(root) = root {
            self.unit.set_root(root);
        }
    }
}
