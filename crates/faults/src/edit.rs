//! Changes of several pages that belong together.

use std::collections::BTreeMap;

use extentdb_base::PageId;
use extentdb_format::PageBuf;
use extentdb_format::allocation::pfs::{Fullness, PfsMut, PfsView};
use extentdb_format::page::{PageHeader, PageType};

use crate::candidates::{CandidatePage, Candidates, reseal};
use crate::fault::{Fault, Owner};

/// Pages that are being changed, over a database that is only read.
pub(crate) struct Edit<'t> {
    db: &'t Candidates<'t>,
    pages: BTreeMap<PageId, PageBuf>,
}

impl<'t> Edit<'t> {
    pub(crate) fn new(db: &'t Candidates<'t>) -> Self {
        Edit { db, pages: BTreeMap::new() }
    }

    /// A page as it is now.
    pub(crate) fn page(&mut self, id: PageId) -> Option<&mut PageBuf> {
        use std::collections::btree_map::Entry;
        match self.pages.entry(id) {
            Entry::Occupied(page) => Some(page.into_mut()),
            Entry::Vacant(place) => Some(place.insert(self.db.page(id)?)),
        }
    }

    /// Changes a page header.
    pub(crate) fn header(
        &mut self,
        id: PageId,
        change: impl FnOnce(&mut PageHeader),
    ) -> Option<()> {
        change(PageHeader::of_mut(self.page(id)?));
        Some(())
    }

    /// Updates the PFS entry of a heap or text page whose free space changed.
    pub(crate) fn sync_fullness(&mut self, id: PageId) -> Option<()> {
        let header = PageHeader::of(self.page(id)?);
        let is_kept = match header.kind() {
            PageType::TextMix => true,
            PageType::Data => header.index_id.get() == 0 || self.is_heap(id),
            _ => false,
        };
        if !is_kept {
            return Some(());
        }
        let expected = Fullness::of_free_bytes(PageHeader::of(self.page(id)?).free_bytes.get());
        let pfs = self.page(id.pfs_page())?;
        let state = PfsView::new(pfs).entry(id.page);
        PfsMut::of(pfs).set(id.page, state.with_fullness(expected));
        Some(())
    }

    fn is_heap(&self, id: PageId) -> bool {
        let unit = self.pages.get(&id).map(|page| PageHeader::of(page).alloc_unit());
        let owner = unit.and_then(|unit| self.db.catalog.owner_of(unit));
        owner.is_some_and(|(_, rowset)| rowset.index.0 == 0)
    }

    /// True for a page of this edit: slots on it may have moved.
    pub(crate) fn has(&self, id: PageId) -> bool {
        self.pages.contains_key(&id)
    }

    /// A fault of all these changes, about a page of a table.
    pub(crate) fn fault(self, found: &CandidatePage, expected: &[u32]) -> Option<Fault> {
        Some(Fault::new(found.id, Owner::of(&found.partition), self.images()?, expected))
    }

    /// The pages as they will be stored.
    pub(crate) fn images(self) -> Option<Vec<(PageId, PageBuf)>> {
        let db = self.db;
        let seal = |(id, mut page): (PageId, PageBuf)| {
            reseal(db.image, id, &mut page)?;
            Some((id, page))
        };
        self.pages.into_iter().map(seal).collect()
    }
}
