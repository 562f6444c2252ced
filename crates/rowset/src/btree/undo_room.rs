//! Undo room: the bytes that an open transaction has made free on a leaf stay reserved there until
//! it ends.
//!
//! ```text
//! entry as T found it │██████████████│
//! T makes it shorter  │██████│▒▒▒▒▒▒▒▒│ ▒ reserved for T: free bytes to T, none to everybody else
//! T undoes that       │██████████████│  fits without a split, without a page, without a file that grows
//! ```
//!
//! SQL Server does the same with three fields of the page header: `m_reservedCnt` bytes, of which
//! `m_xactReserved` belong to the transaction `m_xdesId`. These fields cannot say which entry the
//! bytes belong to, so they cannot follow an entry that a split moves. Here the exact account is in
//! memory, one number for each shortened entry of an open transaction, and the header repeats its
//! sums.
//!
//! Invariants
//! - *An account is at least what undo needs*: the longest that the entry has been since its
//!   transaction began, less what it is now. It changes with the entry, under the EX latch of the
//!   leaf.
//! - *Room that others see is free bytes less the accounts of the other open transactions.* Only
//!   entries that are inserted or grow ask; a transaction may use its own account for other
//!   entries, because its undo gives that back first.
//! - *A page with an account has `m_xdesId` set.* That field is all that an operation reads on a
//!   page without accounts. A value that SQL Server or an earlier run left there leads to no
//!   account; the next change of the page clears it.
//! - The account of a transaction is void when the transaction is not active. Its end is in the log
//!   by then, so that a transaction that uses the room does so after it in the log.
//!
//! # Why undo always fits
//!
//! Let a *state* of a leaf be its entries when any of the open transactions have been rolled back
//! by any number of their newest changes. All states fit on the page:
//!
//! 1. Each entry belongs to one open transaction at most, by its lock, so that the accounts of a
//!    transaction bound what its undo adds to a page. An entry of `n` bytes is accepted when `n`
//!    plus the accounts of all others are free: then it fits in each state that has it. The states
//!    that do not have it are those from before.
//! 2. An undo step goes from one state to another.
//! 3. A split moves some entries of each state to another page, where they fit because all of them
//!    fitted on one. Their accounts go with them, before the latches are released.
//! 4. A ghost keeps its bytes. It is expunged when its page is older than every open transaction,
//!    and then none of them has an account on the page or a change of the ghost to undo.
//!
//! # Restart
//!
//! Accounts are not logged and are empty after a restart. Redo makes the pages of some moment
//! before the crash; interrupted system transactions are undone before any other change of their
//! pages; then the pages are in a state of that moment. From there until the last loser is undone
//! there are only undo steps, which ask for no accounts. A crash in the middle of a rollback
//! changes nothing: its compensation records are redone, and the result is a state, too.
//!
//! An account takes 24 bytes of memory. Those of transactions that have ended are dropped when
//! their page is changed, and all at once when there are twice as many accounts as after the last
//! time.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use extentdb_base::sync::{Mutex, lock};
use extentdb_base::{PageId, XactId};
use extentdb_buffer::PageWriteGuard;
use extentdb_format::PageBytes;
use extentdb_format::page::PageHeader;
use extentdb_txn::Manager;

use super::Tree;
use super::page::Node;
use crate::error::Error;

/// So few accounts are never swept.
const SWEEP_MIN: usize = 1024;

/// The undo room of a tree.
#[derive(Debug, Default)]
pub(super) struct UndoRoom {
    /// Keys are chosen by users: the hash must not be one for which they can choose equal ones.
    hasher: RandomState,
    accounts: Mutex<Accounts>,
}

/// Bytes that are reserved for an entry of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Account {
    /// Hash of the entry's sort key.
    key: u64,
    owner: XactId,
    /// Greater than 0.
    bytes: u16,
}

#[derive(Debug, Default)]
struct Accounts {
    pages: HashMap<PageId, Vec<Account>>,
    count: usize,
    /// Accounts that were left when those of ended transactions were dropped last.
    count_swept: usize,
}

/// How the room of an entry changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoomChange {
    /// Bytes that the record took of its page.
    pub(super) before: usize,
    /// Bytes that it takes now; 0 when it has been removed.
    pub(super) after: usize,
}

/// The sums of a page, as its header has them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sums {
    all: usize,
    newest: XactId,
    of_newest: usize,
}

impl Accounts {
    /// The entry of `owner` takes more or less of the page than before.
    fn change(&mut self, page: PageId, key: u64, owner: XactId, change: RoomChange) {
        let of_page = self.pages.entry(page).or_default();
        let at = of_page.iter().position(|own| own.key == key && own.owner == owner);
        let bytes = at.map_or(0, |at| usize::from(of_page[at].bytes));
        let bytes = match change.after {
            0 => 0,
            after => (bytes + change.before).saturating_sub(after),
        };
        match (at, u16::try_from(bytes).unwrap_or(u16::MAX)) {
            (None, 0) => {}
            (Some(at), 0) => {
                of_page.swap_remove(at);
                self.count -= 1;
            }
            (Some(at), bytes) => of_page[at].bytes = bytes,
            (None, bytes) => {
                of_page.push(Account { key, owner, bytes });
                self.count += 1;
            }
        }
        self.forget_if_empty(page);
    }

    /// Drops the accounts of transactions that have ended, on one page.
    fn settle(&mut self, page: PageId, manager: &Manager) -> Sums {
        let Some(of_page) = self.pages.get_mut(&page) else { return Sums::default() };
        let before = of_page.len();
        let mut activity = Activity::new(manager);
        of_page.retain(|account| activity.is_active(account.owner));
        self.count -= before - of_page.len();
        let sums = Sums::of(of_page);
        self.forget_if_empty(page);
        sums
    }

    fn forget_if_empty(&mut self, page: PageId) {
        if self.pages.get(&page).is_some_and(Vec::is_empty) {
            self.pages.remove(&page);
        }
    }

    /// Drops the accounts of transactions that have ended, when there are many.
    fn sweep_if_due(&mut self, manager: &Manager) {
        if self.count < SWEEP_MIN.max(2 * self.count_swept) {
            return;
        }
        let mut activity = Activity::new(manager);
        self.pages.retain(|_, of_page| {
            of_page.retain(|account| activity.is_active(account.owner));
            !of_page.is_empty()
        });
        self.count = self.pages.values().map(Vec::len).sum();
        self.count_swept = self.count;
    }

    /// Moves the accounts of these keys from one page to another.
    fn move_to(&mut self, from: PageId, to: PageId, keys: &HashSet<u64>) {
        let Some(of_page) = self.pages.remove(&from) else { return };
        let (moved, stay): (Vec<_>, Vec<_>) =
            of_page.into_iter().partition(|account| keys.contains(&account.key));
        for (page, accounts) in [(from, stay), (to, moved)] {
            if !accounts.is_empty() {
                self.pages.entry(page).or_default().extend(accounts);
            }
        }
    }
}

impl Sums {
    fn of(accounts: &[Account]) -> Sums {
        let newest = accounts.iter().map(|account| account.owner).max().unwrap_or_default();
        let bytes = |account: &Account| usize::from(account.bytes);
        let of_newest = accounts.iter().filter(|account| account.owner == newest).map(bytes).sum();
        Sums { all: accounts.iter().map(bytes).sum(), newest, of_newest }
    }

    /// Enters the sums in the header of their page. The header never reserves more than is free,
    /// though a transaction may have used its own account.
    fn write_to(self, header: &mut PageHeader) {
        let free = usize::from(header.free_bytes.get());
        header.reserved_bytes.set(self.all.min(free) as u16);
        header.xact_reserved.set(self.of_newest.min(free) as u16);
        header.set_xdes_id(self.newest);
    }
}

/// Which transactions are active: each of them is looked up once. They are few.
struct Activity<'m> {
    manager: &'m Manager,
    known: Vec<(XactId, bool)>,
}

impl<'m> Activity<'m> {
    fn new(manager: &'m Manager) -> Activity<'m> {
        Activity { manager, known: Vec::new() }
    }

    fn is_active(&mut self, xact: XactId) -> bool {
        if let Some((_, is_active)) = self.known.iter().find(|(known, _)| *known == xact) {
            return *is_active;
        }
        let is_active = self.manager.is_active(xact);
        self.known.push((xact, is_active));
        is_active
    }
}

/// Does a change of an entry's size concern accounts? On most pages there are none.
pub(super) fn is_concerned(page: &PageBytes, change: RoomChange) -> bool {
    change.after < change.before || is_marked(PageHeader::of(page))
}

/// May the page have accounts?
fn is_marked(header: &PageHeader) -> bool {
    header.xdes_id() != XactId::default()
}

impl Tree {
    /// Bytes of a leaf that are reserved for other open transactions than `by`. The caller has the
    /// page latched.
    pub(super) fn reserved_for_others(&self, node: Node<'_>, by: XactId) -> usize {
        if !is_marked(node.view.header()) {
            return 0;
        }
        let mut activity = Activity::new(self.space.transactions());
        let accounts = lock(&self.undo_room.accounts);
        let of_page = accounts.pages.get(&node.id()).into_iter().flatten();
        let of_others = of_page.filter(|account| account.owner != by);
        let bytes = |account: &Account| usize::from(account.bytes);
        of_others.filter(|account| activity.is_active(account.owner)).map(bytes).sum()
    }

    /// Bytes that are reserved for each slot of a leaf; nothing at all when none are.
    pub(super) fn reserved_of_slots(&self, node: Node<'_>) -> Result<Vec<usize>, Error> {
        if !node.is_leaf() || !is_marked(node.view.header()) {
            return Ok(Vec::new());
        }
        let of_page =
            lock(&self.undo_room.accounts).pages.get(&node.id()).cloned().unwrap_or_default();
        let mut activity = Activity::new(self.space.transactions());
        let mut of_keys: HashMap<u64, usize> = HashMap::new();
        for account in of_page.iter().filter(|account| activity.is_active(account.owner)) {
            *of_keys.entry(account.key).or_default() += usize::from(account.bytes);
        }
        let keys = self.hashes_of(node)?;
        Ok(keys.iter().map(|key| of_keys.get(key).copied().unwrap_or(0)).collect())
    }

    /// The hashed keys of a leaf, by slot.
    fn hashes_of(&self, node: Node<'_>) -> Result<Vec<u64>, Error> {
        let mut key = Vec::new();
        let hash_of = |slot| {
            node.key_into(slot, &mut key)?;
            Ok(self.undo_room.hasher.hash_one(&key[..]))
        };
        (0..node.slot_count()).map(hash_of).collect()
    }

    /// A transaction has changed an entry of a leaf.
    pub(super) fn note_room(
        &self,
        page: &mut PageWriteGuard,
        key: &[u8],
        by: XactId,
        change: RoomChange,
    ) {
        if !is_concerned(page, change) {
            return;
        }
        let key = self.undo_room.hasher.hash_one(key);
        let manager = self.space.transactions();
        let mut accounts = lock(&self.undo_room.accounts);
        accounts.change(page.id(), key, by, change);
        accounts.sweep_if_due(manager);
        let sums = accounts.settle(page.id(), manager);
        drop(accounts);
        sums.write_to(PageHeader::of_mut(page.bytes_mut()));
    }

    /// A split has moved the rows of `to` there: their accounts follow. The caller has both pages
    /// latched.
    pub(super) fn move_room(
        &self,
        from: &mut PageWriteGuard,
        to: &mut PageWriteGuard,
    ) -> Result<(), Error> {
        if !is_marked(PageHeader::of(from)) {
            return Ok(());
        }
        let node = self.node(to.id(), to)?;
        if !node.is_leaf() {
            return Ok(());
        }
        let keys: HashSet<u64> = self.hashes_of(node)?.into_iter().collect();
        let manager = self.space.transactions();
        let mut accounts = lock(&self.undo_room.accounts);
        accounts.move_to(from.id(), to.id(), &keys);
        let stay = accounts.settle(from.id(), manager);
        let moved = accounts.settle(to.id(), manager);
        drop(accounts);
        stay.write_to(PageHeader::of_mut(from.bytes_mut()));
        moved.write_to(PageHeader::of_mut(to.bytes_mut()));
        Ok(())
    }

    /// Number of entries with room reserved.
    #[cfg(test)]
    pub(super) fn reserved_entries(&self) -> usize {
        lock(&self.undo_room.accounts).count
    }
}
