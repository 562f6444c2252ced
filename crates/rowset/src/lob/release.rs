//! Pages without a record are freed when the transaction that emptied them has ended.
//!
//! A system transaction of its own frees them. After a crash before it they stay allocated, empty,
//! and are filled again: nothing is lost but their room until then.

use extentdb_base::PageId;
use extentdb_base::sync::lock;
use extentdb_change::in_own_system;
use extentdb_format::page::{PageHeader, PageRef, PageType};

use super::{LobUnit, is_empty};
use crate::Error;

impl LobUnit {
    /// Frees the pages that have lost their last record, and that no open transaction needs for its
    /// undo.
    pub(super) fn release_empty_pages(&self) -> Result<(), Error> {
        if lock(&self.state).emptied.is_empty() {
            return Ok(());
        }
        self.load_free_space()?;
        let candidates: Vec<PageId> = {
            let state = lock(&self.state);
            let free = self.free.lock();
            state.emptied.iter().copied().filter(|page| free.reserved(*page) == 0).collect()
        };
        let mut pages = Vec::new();
        for id in candidates {
            if self.is_released(id)? {
                pages.push(id);
            }
        }
        if pages.is_empty() {
            return Ok(());
        }
        let freed = in_own_system(&*self.space, "DeallocPages", |system| {
            self.space.free_pages(system, &self.unit, &pages)
        });
        if freed.is_err() {
            // They stay, perhaps because the log is full, and PFS is to call them empty.
            lock(&self.state).emptied.extend(&pages);
            self.restored(pages);
        }
        Ok(self.space.release(freed?)?)
    }

    /// Takes a page out of all lists when it has no record. One thread does: that which takes it
    /// from the list of candidates.
    fn is_released(&self, id: PageId) -> Result<bool, Error> {
        let page = self.space.pool().write(id)?;
        if !lock(&self.state).emptied.remove(&id) {
            return Ok(false);
        }
        let header = PageHeader::of(&page);
        if header.alloc_unit() != self.unit.id() || !is_empty(PageRef::new(&page)) {
            return Ok(false);
        }
        if self.take_for_release(&page)?.is_some() {
            return Ok(true);
        }
        let mut state = lock(&self.state);
        if state.in_hand.contains_key(&id) || self.free.reserved(id) > 0 {
            state.emptied.insert(id);
        } else if header.kind() == PageType::TextTree {
            // The first page of the unit, and single ones, wait for other records.
            state.empty_trees.insert(id);
        }
        Ok(false)
    }
}
