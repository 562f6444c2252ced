//! Mixed extents: which of their pages may be allocated, and the SGAM bits by which a restart finds
//! them.
//!
//! ```text
//! page free    may be allocated by the next caller
//!      held    claimed and not logged yet, or freed by a transaction that may still be rolled
//!              back: not to be claimed
//!      taken   everything else
//! SGAM 1 when memory knows a free or held page of the extent, else 0
//! ```
//!
//! SGAM is a hint derived from memory. One function writes it ([`Space::update_hint`]): it takes
//! the EX latch of the map page, reads memory under the latch, and logs the bit outside of any
//! transaction, so that no undo restores an old value. Every change of the last known page of an
//! extent, or the first, calls it afterwards; the last call sees the last state.
//!
//! Invariants
//! - The record that sets the bit is in the log before any record that frees a page of the extent,
//!   and the bit stays 1 while the page is held. A crash therefore leaves no free page under a bit
//!   that is 0.
//! - A crash may leave 1 where no page is free: no page is allocated twice, and the next checkpoint
//!   clears the bit.
//!
//! Crash example: DROP holds page 7, sets the bit (LSN 10) and frees the page in PFS (LSN 11).
//! Another session claims page 6, the last free one; page 7 is held, the bit stays. Power failure
//! after the commit of the drop (LSN 12): redo has the page free and the bit set. Between 11 and
//! 12: undo allocates page 7 again, finds no other page, and clears the bit.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM};
use extentdb_base::sync::{Mutex, lock};
use extentdb_base::{Extent, PageId};
use extentdb_change::in_system;
use extentdb_format::allocation::bitmap::{MapKind, MapView, is_fixed_extent};
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::log::Context;
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::file::DataFile;
use crate::space::Space;

/// Log bytes of one change of a hint, with its header.
const HINT_BYTES: u64 = 160;
/// Changes of a hint that a claimed or freed page may cause until its transaction has ended: there
/// and back.
const HINTS_PER_PAGE: u64 = 2;

/// State of the pages of one mixed extent; a bit for each page.
#[derive(Clone, Copy, Debug, Default)]
struct MixedPages {
    free: u8,
    held: u8,
}

impl MixedPages {
    fn is_drained(self) -> bool {
        self.free | self.held == 0
    }
}

#[derive(Debug, Default)]
struct MixedState {
    extents: BTreeMap<u32, MixedPages>,
    /// Those of `extents` with a free page: what a claim looks at.
    with_free: BTreeSet<u32>,
}

impl MixedState {
    fn change(&mut self, extent: u32, change: impl FnOnce(&mut MixedPages)) -> MixedPages {
        let pages = self.extents.entry(extent).or_default();
        change(pages);
        match pages.free {
            0 => self.with_free.remove(&extent),
            _ => self.with_free.insert(extent),
        };
        *pages
    }
}

/// The mixed extents of a data file that have, or had, free pages.
#[derive(Debug, Default)]
pub(crate) struct MixedExtents(Mutex<MixedState>);

impl MixedExtents {
    /// Holds a free page for the caller: the extent, and which of its pages.
    pub(crate) fn claim(&self) -> Option<(u32, u32)> {
        let mut state = lock(&self.0);
        let extent = state.with_free.first().copied()?;
        let mut claimed = 0;
        state.change(extent, |pages| {
            claimed = pages.free.trailing_zeros();
            pages.free &= !(1 << claimed);
            pages.held |= 1 << claimed;
        });
        Some((extent, claimed))
    }

    /// These pages are not to be claimed until they are released or taken.
    pub(crate) fn hold(&self, extent: u32, mask: u8) {
        lock(&self.0).change(extent, |pages| {
            pages.free &= !mask;
            pages.held |= mask;
        });
    }

    /// Holds all pages of an extent; false, and nothing has changed, when one is in use.
    pub(crate) fn hold_whole(&self, extent: u32) -> bool {
        let mut state = lock(&self.0);
        let is_unused = state.extents.get(&extent).is_some_and(|pages| pages.free == u8::MAX);
        if is_unused {
            state.change(extent, |pages| *pages = MixedPages { free: 0, held: u8::MAX });
        }
        is_unused
    }

    /// These pages may be handed out.
    pub(crate) fn release(&self, extent: u32, mask: u8) {
        lock(&self.0).change(extent, |pages| {
            pages.held &= !mask;
            pages.free |= mask;
        });
    }

    /// These pages are allocated; true when the extent has no other free or held page.
    pub(crate) fn take(&self, extent: u32, mask: u8) -> bool {
        let mut state = lock(&self.0);
        let left = state.change(extent, |pages| {
            pages.free &= !mask;
            pages.held &= !mask;
        });
        left.is_drained()
    }

    /// The extent is not mixed any more.
    pub(crate) fn forget(&self, extent: u32) {
        let mut state = lock(&self.0);
        state.extents.remove(&extent);
        state.with_free.remove(&extent);
    }

    /// Has the extent pages that are free or may become so?
    fn has_pages(&self, extent: u32) -> bool {
        lock(&self.0).extents.get(&extent).is_some_and(|pages| !pages.is_drained())
    }

    /// Forgets an extent that has no page to offer.
    fn forget_drained(&self, extent: u32) {
        let mut state = lock(&self.0);
        if state.extents.get(&extent).is_some_and(|pages| pages.is_drained()) {
            state.extents.remove(&extent);
        }
    }

    /// Extents without a free or held page whose SGAM bit may still be set.
    pub(crate) fn drained(&self) -> Vec<u32> {
        let state = lock(&self.0);
        state
            .extents
            .iter()
            .filter(|(_, pages)| pages.is_drained())
            .map(|(extent, _)| *extent)
            .collect()
    }

    /// Numbers of the pages that may be handed out.
    pub(crate) fn free_pages(&self) -> Vec<u32> {
        let state = lock(&self.0);
        let free = state.extents.iter().flat_map(|(extent, pages)| {
            let of_extent = (0..PAGES_PER_EXTENT).filter(|page| pages.free & 1 << page != 0);
            of_extent.map(move |page| extent * PAGES_PER_EXTENT + page)
        });
        free.collect()
    }
}

/// The page's bit among those of its extent.
fn mask_of(page: PageId) -> u8 {
    1 << (page.page % PAGES_PER_EXTENT)
}

impl Space {
    /// A page of a mixed extent, with this byte in PFS.
    pub(crate) fn single_page(
        &self,
        tx: &mut Transaction,
        group: i16,
        state: PfsByte,
    ) -> Result<PageId, Error> {
        let page = self.claim_single(tx, group)?;
        let logged = reserve_hints(tx).and_then(|()| {
            self.set_pfs(RecordOwner::Change(tx), page, 1, |_, _| state.with_mixed(true))
        });
        if let Err(error) = logged {
            self.release_single(page)?;
            return Err(error);
        }
        // Should this fail, the transaction is undone, and the page is free again.
        self.take_single(page)?;
        self.note_changed([page.extent()]);
        Ok(page)
    }

    /// A free page, held for the caller; a new mixed extent when there is none.
    fn claim_single(&self, tx: &mut Transaction, group: i16) -> Result<PageId, Error> {
        loop {
            let files = self.group(group)?;
            if let Some(page) = files.files().iter().find_map(|file| file.claim_mixed()) {
                return Ok(page);
            }
            self.mixed_extent(tx, group)?;
        }
    }

    /// A mixed extent for a filegroup, its pages free.
    fn mixed_extent(&self, tx: &mut Transaction, group: i16) -> Result<(), Error> {
        let extent = self.claim_extent(group)?;
        let file = self.file(extent.file)?;
        in_system(self, tx, "AllocMixedExtent", |system| {
            self.log_taken(system, extent)?;
            // A change of the transaction: an undo clears it with the extent, which no other
            // session knows before the commit.
            self.set_sgam(RecordOwner::Change(system), extent, true)
        })?;
        file.mixed().release(extent.index, u8::MAX);
        Ok(())
    }

    /// Frees a page in PFS. It is held until the transaction's end decides what becomes of it.
    pub(crate) fn free_single(&self, tx: &mut Transaction, page: PageId) -> Result<(), Error> {
        reserve_hints(tx)?;
        self.hold_single(page)?;
        let logged =
            self.set_pfs(RecordOwner::Change(tx), page, 1, |_, old| old.with_allocated(false));
        if let Err(error) = logged {
            self.take_single(page)?;
            return Err(error);
        }
        Ok(())
    }

    /// A page is about to be freed by a transaction that may be rolled back. From here on a restart
    /// finds it, should it be free.
    fn hold_single(&self, page: PageId) -> Result<(), Error> {
        self.file(page.file)?.mixed().hold(page.extent().index, mask_of(page));
        self.update_hint(page.extent())
    }

    /// The same of a page that a restart found freed by an open transaction: its hint is the undo's
    /// to settle.
    pub(crate) fn hold_freed(&self, page: PageId) -> Result<(), Error> {
        self.file(page.file)?.mixed().hold(page.extent().index, mask_of(page));
        Ok(())
    }

    /// A page that was held may be handed out.
    pub(crate) fn release_single(&self, page: PageId) -> Result<(), Error> {
        self.file(page.file)?.mixed().release(page.extent().index, mask_of(page));
        Ok(())
    }

    /// A page that was held is allocated.
    pub(crate) fn take_single(&self, page: PageId) -> Result<(), Error> {
        if self.file(page.file)?.mixed().take(page.extent().index, mask_of(page)) {
            self.update_hint(page.extent())?;
        }
        Ok(())
    }

    /// Sets the SGAM bit of an extent by the state in memory, under the latch of the map page.
    fn update_hint(&self, extent: Extent) -> Result<(), Error> {
        let file = self.file(extent.file)?;
        let mut map = match self.pool().write(MapKind::Sgam.page_of(extent.first_page())) {
            // A map that cannot be read gives no hints; its free pages in memory stay usable.
            Err(extentdb_buffer::Error::BadPage { .. }) => return Ok(()),
            map => map?,
        };
        let bit = hint_of(extent);
        let has_pages = file.mixed().has_pages(extent.index);
        if MapView::new(&map, MapKind::Sgam).bitmap().get(bit) != has_pages {
            let link = RecordOwner::Alone(self.transactions());
            self.set_map_bits(link, &mut map, Context::SGAM, bit, 1, has_pages)?;
        }
        file.mixed().forget_drained(extent.index);
        Ok(())
    }

    fn set_sgam(&self, link: RecordOwner<'_>, extent: Extent, value: bool) -> Result<(), Error> {
        let mut map = self.pool().write(MapKind::Sgam.page_of(extent.first_page()))?;
        if MapView::new(&map, MapKind::Sgam).bitmap().get(hint_of(extent)) != value {
            self.set_map_bits(link, &mut map, Context::SGAM, hint_of(extent), 1, value)?;
        }
        Ok(())
    }

    /// Clears the hints that a crash, or another version of the engine, has left for extents
    /// without a free page. Called by a checkpoint.
    pub fn update_hints(&self) -> Result<(), Error> {
        for file in self.files() {
            for index in file.mixed().drained() {
                self.update_hint(Extent { file: file.id(), index })?;
            }
        }
        Ok(())
    }

    /// Number of hints that [`update_hints`](Self::update_hints) has to check.
    pub fn stale_hints(&self) -> usize {
        self.files().iter().map(|file| file.mixed().drained().len()).sum()
    }

    /// Pages of mixed extents that may be handed out, in the order of their numbers.
    pub fn free_mixed_pages(&self) -> Vec<PageId> {
        let of_file = |file: &DataFile| {
            let id = file.id();
            let pages = file.mixed().free_pages().into_iter();
            pages.map(move |page| PageId { file: id, page })
        };
        self.files().iter().flat_map(|file| of_file(file)).collect()
    }

    /// Those of these extents that neither GAM calls free nor SGAM mixed, and that have a free page
    /// by PFS: uniform ones, and mixed ones that no allocation finds.
    pub fn without_hint(
        &self,
        extents: impl Iterator<Item = Extent>,
    ) -> Result<Vec<Extent>, Error> {
        let mut found = Vec::new();
        for extent in extents {
            let is_inside = self.file(extent.file).is_ok_and(|file| extent.index < file.extents());
            if !is_inside || is_fixed_extent(extent.index) {
                continue;
            }
            let is_set = |kind: MapKind| -> Result<bool, Error> {
                let map = self.pool().read(kind.page_of(extent.first_page()))?;
                Ok(MapView::new(&map, kind).bitmap().get(hint_of(extent)))
            };
            if !is_set(MapKind::Gam)? && !is_set(MapKind::Sgam)? && self.free_by_pfs(extent)? != 0 {
                found.push(extent);
            }
        }
        Ok(found)
    }

    /// A mixed extent owns these pages; those that PFS calls free may be allocated from here on.
    ///
    /// # Errors
    /// The hint cannot be logged.
    pub fn restore_hint(&self, extent: Extent, owned: &BTreeSet<PageId>) -> Result<(), Error> {
        let owned = extent
            .pages()
            .filter(|page| owned.contains(page))
            .fold(0, |mask, page| mask | mask_of(page));
        let free = self.free_by_pfs(extent)? & !owned;
        self.file(extent.file)?.mixed().release(extent.index, free);
        self.update_hint(extent)
    }

    /// An undo is about to free these pages, which their transaction has claimed.
    pub(crate) fn hold_all(&self, pages: &[PageId]) -> Result<(), Error> {
        pages.iter().try_for_each(|page| self.hold_single(*page))
    }

    /// Reads the pages of a mixed extent that PFS calls free, of a file that is being opened.
    pub(crate) fn read_mixed(&self, file: &DataFile, index: u32) -> Result<(), Error> {
        let free = match self.free_by_pfs(Extent { file: file.id(), index }) {
            // A PFS page that cannot be read has no free pages.
            Err(Error::Buffer(extentdb_buffer::Error::BadPage { .. })) => 0,
            free => free?,
        };
        file.mixed().release(index, free);
        Ok(())
    }

    fn free_by_pfs(&self, extent: Extent) -> Result<u8, Error> {
        let first = extent.first_page().page;
        let states = self.pfs_bytes(extent.file, first..first + PAGES_PER_EXTENT)?;
        let free = (0u8..).zip(states).filter(|(_, state)| !state.is_allocated());
        Ok(free.fold(0, |mask, (page, _)| mask | 1 << page))
    }
}

/// The bit of an extent on its map pages.
fn hint_of(extent: Extent) -> u32 {
    extent.first_page().page % PAGES_PER_GAM / PAGES_PER_EXTENT
}

/// Keeps log for the changes of hints that one page causes. They belong to no transaction, and an
/// undo must not lack room for them; an undo itself uses what is reserved.
fn reserve_hints(tx: &mut Transaction) -> Result<(), Error> {
    if !tx.is_undoing() {
        tx.reserve(HINTS_PER_PAGE * HINT_BYTES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_claimed_singly_and_held_until_they_are_taken() {
        let mixed = MixedExtents::default();
        mixed.release(2, 0b1010_0000);
        assert_eq!(mixed.claim(), Some((2, 5)));
        assert_eq!(mixed.claim(), Some((2, 7)));
        assert_eq!(mixed.claim(), None);
        assert!(!mixed.take(2, 1 << 7), "page 5 is held, not taken");
        assert!(mixed.take(2, 1 << 5));
        assert_eq!(mixed.drained(), [2]);
    }

    #[test]
    fn held_pages_are_not_handed_out_and_keep_the_extent_known() {
        let mixed = MixedExtents::default();
        mixed.hold(4, 0b1);
        assert_eq!((mixed.claim(), mixed.has_pages(4)), (None, true));
        mixed.release(4, 0b1);
        assert_eq!((mixed.free_pages(), mixed.claim()), (vec![32], Some((4, 0))));
        mixed.forget(4);
        assert_eq!((mixed.claim(), mixed.has_pages(4)), (None, false));
    }

    #[test]
    fn a_drained_extent_is_forgotten_unless_pages_were_freed() {
        let mixed = MixedExtents::default();
        mixed.release(1, 0);
        mixed.release(3, 0b10);
        assert_eq!(mixed.drained(), [1]);
        mixed.release(1, 0b1);
        mixed.forget_drained(1);
        assert_eq!(mixed.free_pages(), [8, 25]);
    }
}
