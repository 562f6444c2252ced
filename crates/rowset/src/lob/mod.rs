//! Values off their rows: LOB trees in a running database, logged and undone page by page.
//!
//! ```text
//! row      16-byte text pointer ──▶ root record, 84 bytes: empty, up to 64 bytes, or up to 5 links
//!          12 + 12 n bytes: the root itself, up to 5 links ((max) types, row overflow)
//! levels   internal records, up to 501 links, one on a text tree page (type 4)
//! data     fragments of up to 8,040 bytes on text mix pages (type 3), which values share
//! ```
//!
//! A tree is read and changed by position: a counted B-tree (a rope), whose links say where each
//! part of the value ends. [`LobWriter`] builds trees from the left to the right and holds one
//! open record per level, so that memory does not grow with the value; a change in the middle cuts
//! the tree at both ends of the part that is replaced, keeps what is left of it open, appends the
//! new bytes, and then the rest ([`LobUnit::edit`]). A replacement of the same length changes the
//! fragments in place.
//!
//! A tree belongs to one row, whose lock protects it; pages are protected by their latches. No
//! page is latched while another one is, and none while pages are allocated or freed.
//!
//! Lock order: run of pages → growing → chain of the unit → map pages; run of pages → page latch;
//! what is known of pages and of free space last.

mod build;
mod cut;
mod error;
mod pages;
mod path;
mod pfs;
mod read;
mod release;
mod root;
mod run;
mod write;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use extentdb_base::PageId;
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_change::undo_record;
use extentdb_format::log::{Payload, RecordRef};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_space::{Freed, Space, Unit};
use extentdb_txn::Transaction;

use crate::Error;
use crate::heap::ReservedRoom;
use crate::heap::free_space::{FreeSpace, SharedFreeSpace};
use run::PageRuns;

pub use read::LobCursor;
pub use root::{InRowRoot, LobForm, LobRoot, TextRoot};
pub use write::{LobSplice, LobWriter};

/// The allocation unit that has the values of a table off their rows: LOB_DATA or
/// ROW_OVERFLOW_DATA. There is one for each unit, shared by its sessions.
pub struct LobUnit {
    space: Arc<Space>,
    unit: Arc<Unit>,
    free: SharedFreeSpace,
    state: Mutex<PageState>,
    runs: PageRuns,
}

/// What is known of single pages.
#[derive(Debug, Default)]
struct PageState {
    /// Pages that inserts have taken out of the free space and are about to latch, or that an undo
    /// is about to change, and how many do: they are not freed meanwhile.
    in_hand: HashMap<PageId, u32>,
    /// Pages that may have lost their last record.
    emptied: BTreeSet<PageId>,
    /// Text tree pages without a record that cannot be freed.
    empty_trees: BTreeSet<PageId>,
}

impl PageState {
    fn hold(&mut self, id: PageId) {
        *self.in_hand.entry(id).or_default() += 1;
    }

    fn lay_down(&mut self, id: PageId) {
        if let Some(count) = self.in_hand.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.in_hand.remove(&id);
            }
        }
    }
}

/// A transaction that changes values, and what waits for its end.
#[derive(Debug)]
pub struct LobChange<'t> {
    /// The transaction whose rollback undoes the change.
    pub tx: &'t mut Transaction,
    /// What its changes leave for its end.
    pub pending: &'t mut PendingSpace,
}

impl LobChange<'_> {
    /// The same transaction for a call in between.
    pub fn reborrow(&mut self) -> LobChange<'_> {
        LobChange { tx: &mut *self.tx, pending: &mut *self.pending }
    }
}

/// Space of a unit that changes hands at the end of a transaction.
#[derive(Debug, Default)]
pub struct PendingSpace {
    /// Bytes reserved for the undo, given back by [`LobUnit::end`] after a commit or a rollback.
    pub reserved: Vec<ReservedRoom>,
    /// Pages that are free after the commit: [`Space::release`]. A rollback to a savepoint forgets
    /// those that were freed after it ([`Freed::return_to`]).
    pub freed: Freed,
    /// Freed pages whose class in PFS was out of date: [`LobUnit::restored`] after a rollback has
    /// allocated them again.
    pub stale: Vec<PageId>,
}

impl LobUnit {
    /// The values of this allocation unit.
    pub fn new(space: Arc<Space>, unit: Arc<Unit>) -> LobUnit {
        LobUnit {
            space,
            unit,
            free: SharedFreeSpace::default(),
            state: Mutex::default(),
            runs: PageRuns::default(),
        }
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.unit
    }

    /// A transaction has ended: what it reserved may be used, and pages that have lost their last
    /// record are freed by a system transaction.
    ///
    /// # Errors
    /// A page cannot be read, or the log is full. Pages that were not freed stay allocated, and are
    /// filled again.
    pub fn end(&self, reserved: Vec<ReservedRoom>) -> Result<(), Error> {
        {
            let mut free = self.free.lock();
            reserved.into_iter().for_each(|room| free.give_back(room));
        }
        self.release_empty_pages()
    }

    /// Undoes the next record of a transaction, which is about a page of this unit: page-oriented,
    /// with a compensation record.
    ///
    /// # Errors
    /// The page cannot be read, or does not hold what the record says: the database must go offline
    /// and be recovered.
    pub fn undo(&self, tx: &mut Transaction, record: &RecordRef<'_>) -> Result<(), Error> {
        // Formatting a page is not undone: by then the page may be free, or another's.
        let is_row = matches!(
            record.payload(),
            Payload::InsertRows(_) | Payload::DeleteRows(_) | Payload::ModifyRow(_)
        );
        let page = record.payload().page_part().map(|part| part.page).filter(|_| is_row);
        // Nobody frees the page before its room is known again.
        page.iter().for_each(|id| lock(&self.state).hold(*id));
        let undone = undo_record(&*self.space, tx, record).map_err(Error::from);
        let noted = undone.and_then(|()| page.map_or(Ok(()), |id| self.touched(id)));
        page.iter().for_each(|id| lock(&self.state).lay_down(*id));
        noted
    }

    /// An undo has changed this page: its free space is no longer known.
    fn touched(&self, id: PageId) -> Result<(), Error> {
        let page = self.space.pool().read(id)?;
        let header = PageHeader::of(&page);
        let is_text = matches!(header.kind(), PageType::TextMix | PageType::TextTree);
        if !is_text || header.alloc_unit() != self.unit.id() {
            return Ok(());
        }
        let free_bytes = header.free_bytes.get();
        let is_empty = is_empty(PageRef::new(&page));
        self.note_room(PageRef::new(&page), free_bytes);
        if is_empty {
            lock(&self.state).emptied.insert(id);
        }
        Ok(())
    }

    /// A rollback has allocated these pages again: their class in PFS is that of the last update.
    pub fn restored(&self, stale: impl IntoIterator<Item = PageId>) {
        let mut free = self.free.lock();
        stale.into_iter().for_each(|page| free.touch(page));
    }

    /// Forgets all free space: recovery or DDL has changed the pages. No transaction that has
    /// changed values is open.
    pub fn forget(&self) {
        *self.free.lock() = FreeSpace::default();
        *lock(&self.state) = PageState::default();
        self.runs.forget();
    }
}

impl std::fmt::Debug for LobUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LobUnit({})", self.unit.id())
    }
}

/// Has a page no record?
fn is_empty(page: PageRef<'_>) -> bool {
    page.slot_offsets().all(|offset| offset == 0)
}
