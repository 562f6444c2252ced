//! Which pages of a heap have room, in memory, in classes of 32 bytes. What is said of a page is a
//! hint: its header decides, under its latch.
//!
//! ```text
//! classes room of 32…63 bytes → pages, 64…95 → pages, …      a page is filed under the largest
//!                                                            class it fills
//! kept    page → bytes reserved by open transactions for their undo
//! touched pages whose class in PFS may be out of date
//! ```
//!
//! Every insert searches, and most of them find nothing: the largest class is kept outside of the
//! lock, so that they need not take it.
//!
//! After an open pages are filed under the least room of their class in PFS. A filed page may have
//! less room by now, or more: an insert verifies it and files it again. A page that is not filed is
//! not found by inserts; only its room is lost by that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};

use extentdb_base::PageId;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use extentdb_base::sync::{Mutex, MutexGuard, lock};

use crate::ghost_pages::GhostPages;

/// Room that a transaction made on a page; others may use it when the transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReservedRoom {
    /// Page whose room is reserved.
    pub page: PageId,
    /// Reserved bytes; an undo may need all of them.
    pub bytes: u16,
}

/// Bytes between two classes. Less room than this is not worth a visit.
const CLASS_BYTES: u16 = 32;
/// Entries of a class beyond twice the number of pages before the stale ones are dropped.
const STALE_MAX: usize = 64;

/// The free space of a heap, shared by its sessions.
#[derive(Debug, Default)]
pub(crate) struct SharedFreeSpace {
    state: Mutex<FreeSpace>,
    /// The largest class with a page.
    largest: AtomicU16,
    has_reserved: AtomicBool,
    is_loaded: AtomicBool,
}

/// The free space, locked. What is read without the lock is updated when the guard is dropped.
pub(crate) struct Locked<'a> {
    shared: &'a SharedFreeSpace,
    state: MutexGuard<'a, FreeSpace>,
}

impl SharedFreeSpace {
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { shared: self, state: lock(&self.state) }
    }

    /// May there be a page with `room` bytes? A false no makes the insert append.
    pub(crate) fn may_have(&self, room: u16) -> bool {
        room.div_ceil(CLASS_BYTES) <= self.largest.load(Ordering::Relaxed)
    }

    /// Bytes reserved on a page whose latch the caller holds: reservations are made under the
    /// latch.
    pub(crate) fn reserved(&self, page: PageId) -> u16 {
        if self.has_reserved.load(Ordering::Acquire) { self.lock().reserved(page) } else { 0 }
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Acquire)
    }
}

impl Deref for Locked<'_> {
    type Target = FreeSpace;

    fn deref(&self) -> &FreeSpace {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut FreeSpace {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let largest = self.state.classes.last_key_value().map_or(0, |(class, _)| *class);
        self.shared.largest.store(largest, Ordering::Relaxed);
        self.shared.has_reserved.store(!self.state.reserved.is_empty(), Ordering::Release);
        self.shared.is_loaded.store(self.state.is_loaded, Ordering::Release);
    }
}

/// The free space of a heap.
#[derive(Debug, Default)]
pub(crate) struct FreeSpace {
    /// With entries of pages that have another class by now, or none: they are dropped when they
    /// are taken.
    classes: BTreeMap<u16, Vec<PageId>>,
    /// The class of each page.
    filed: HashMap<PageId, u16>,
    /// More than a page has when statements that made rows shorter were undone: their reservations
    /// stay until the transaction ends.
    reserved: HashMap<PageId, u32>,
    touched: BTreeSet<PageId>,
    pub(crate) ghosts: GhostPages,
    /// What PFS knows of the pages that were there when the heap was opened has been read.
    pub(crate) is_loaded: bool,
}

impl FreeSpace {
    /// Files a page with `room` bytes, without those that transactions have reserved.
    pub(crate) fn file(&mut self, page: PageId, room: u16) {
        let class = room / CLASS_BYTES;
        if self.filed.get(&page) == Some(&class) {
            return;
        }
        self.filed.remove(&page);
        if class > 0 {
            let pages = self.classes.entry(class).or_default();
            pages.push(page);
            self.filed.insert(page, class);
            if pages.len() > 2 * self.filed.len() + STALE_MAX {
                pages.sort_unstable();
                pages.dedup();
                pages.retain(|page| self.filed.get(page) == Some(&class));
            }
        }
    }

    /// Forgets a page that is the unit's no more. True when its class in PFS may not be true.
    pub(crate) fn remove(&mut self, page: PageId) -> bool {
        self.filed.remove(&page);
        self.ghosts.remove(&page);
        self.touched.remove(&page)
    }

    /// Takes a page that should have `room` bytes out of the file: the fullest one that does.
    pub(crate) fn take(&mut self, room: u16) -> Option<PageId> {
        let class = room.div_ceil(CLASS_BYTES);
        loop {
            let (&class, pages) = self.classes.range_mut(class..).next()?;
            let page = pages.pop();
            if pages.is_empty() {
                self.classes.remove(&class);
            }
            let page = page?;
            if self.filed.get(&page) == Some(&class) {
                self.filed.remove(&page);
                return Some(page);
            }
        }
    }

    /// Bytes of a page that are reserved.
    pub(crate) fn reserved(&self, page: PageId) -> u16 {
        self.reserved.get(&page).map_or(0, |bytes| u16::try_from(*bytes).unwrap_or(u16::MAX))
    }

    /// Keeps bytes of a page back for the transaction that made them free.
    pub(crate) fn keep(&mut self, reserved: ReservedRoom) {
        *self.reserved.entry(reserved.page).or_default() += u32::from(reserved.bytes);
        self.touched.insert(reserved.page);
    }

    /// The transaction has ended. The page is filed with the bytes released; an insert checks the
    /// real room.
    pub(crate) fn give_back(&mut self, reserved: ReservedRoom) {
        if let Some(bytes) = self.reserved.get_mut(&reserved.page) {
            *bytes = bytes.saturating_sub(reserved.bytes.into());
            if *bytes == 0 {
                self.reserved.remove(&reserved.page);
            }
        }
        let known = self.filed.get(&reserved.page).map_or(0, |class| class * CLASS_BYTES);
        self.file(reserved.page, known.saturating_add(reserved.bytes));
    }

    /// The class of the page in PFS may not be true any more.
    pub(crate) fn touch(&mut self, page: PageId) {
        self.touched.insert(page);
    }

    /// How many pages were touched since they were taken.
    pub(crate) fn touched_count(&self) -> usize {
        self.touched.len()
    }

    /// The pages touched since the last call.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<PageId> {
        std::mem::take(&mut self.touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_page_with_room_is_taken() {
        let mut free = FreeSpace::default();
        let [a, b, c] = [1, 2, 3].map(|page| PageId::new(1, page));
        free.file(a, 4000);
        free.file(b, 500);
        free.file(c, 20);
        free.file(b, 700);
        assert_eq!(free.take(600), Some(b));
        assert_eq!(free.take(600), Some(a));
        assert_eq!(free.take(1), None, "too little room is not filed");
    }

    #[test]
    fn what_is_known_without_the_lock_is_what_was_true_when_it_went() {
        let shared = SharedFreeSpace::default();
        let page = PageId::new(1, 7);
        assert!(!shared.may_have(1) && !shared.is_loaded());
        shared.lock().file(page, 500);
        assert!(shared.may_have(480) && !shared.may_have(500));
        shared.lock().keep(ReservedRoom { page, bytes: 200 });
        assert_eq!(shared.reserved(page), 200);
        shared.lock().give_back(ReservedRoom { page, bytes: 200 });
        assert_eq!(shared.reserved(page), 0);
        while shared.lock().take(1).is_some() {}
        shared.lock().is_loaded = true;
        assert!(!shared.may_have(1) && shared.is_loaded());
    }

    #[test]
    fn a_page_that_changes_its_class_is_taken_once() {
        let mut free = FreeSpace::default();
        let page = PageId::new(1, 7);
        for _ in 0..1000 {
            free.file(page, 100);
            free.file(page, 200);
        }
        assert!(free.classes.values().all(|pages| pages.len() < 100));
        assert_eq!((free.take(50), free.take(50)), (Some(page), None));
        free.file(page, 100);
        free.remove(page);
        assert_eq!(free.take(50), None);
    }

    /// A row that is shortened and rolled back to a savepoint, again and again, in one transaction.
    #[test]
    fn more_can_be_reserved_than_a_page_has() {
        let mut free = FreeSpace::default();
        let page = PageId::new(1, 7);
        let reserved = ReservedRoom { page, bytes: 7000 };
        (0..20).for_each(|_| free.keep(reserved));
        assert_eq!(free.reserved(page), u16::MAX);
        (0..19).for_each(|_| free.give_back(reserved));
        assert_eq!(free.reserved(page), 7000);
        free.give_back(reserved);
        assert_eq!(free.reserved(page), 0);
    }

    #[test]
    fn reserved_room_is_filed_when_it_is_released() {
        let mut free = FreeSpace::default();
        let page = PageId::new(1, 7);
        let reserved = ReservedRoom { page, bytes: 200 };
        free.keep(reserved);
        free.keep(reserved);
        assert_eq!((free.reserved(page), free.take(100)), (400, None));
        free.give_back(reserved);
        assert_eq!((free.reserved(page), free.take(100)), (200, Some(page)));
        assert_eq!(free.take_touched().len(), 1);
    }
}
