//! Extents and page states of the candidates, from the allocation maps.

use std::collections::HashSet;

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, PageId};
use extentdb_catalog::PageGetter;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, ObjectType};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_format::page::{PageHeader, PageType};

use super::{CandidatePage, Candidates, PAGES_MAX, Partition};

impl Candidates<'_> {
    /// A page in an extent of its unit.
    pub(crate) fn page_in_extent(&self) -> Option<CandidatePage> {
        (0..64).find_map(|_| self.row_page().filter(|found| self.lists_extent(found)))
    }

    fn lists_extent(&self, found: &CandidatePage) -> bool {
        let iam = self.iam_of(&found.partition.unit, found.id).and_then(|id| self.page(id));
        iam.is_some_and(|iam| {
            IamView::new(&iam).extents().any(|extent| extent == found.id.extent())
        })
    }

    /// The IAM pages of a unit, in the order of their chain.
    pub(crate) fn iam_chain(&self, unit: &AllocUnit) -> Vec<(PageId, PageBuf)> {
        let mut chain = Vec::new();
        let mut id = unit.first_iam;
        let mut seen = HashSet::new();
        while !id.is_none() && seen.insert(id) {
            let Some(page) =
                self.page(id).filter(|page| PageHeader::of(page).kind() == PageType::Iam)
            else {
                break;
            };
            let next = PageHeader::of(&page).next();
            chain.push((id, page));
            id = next;
        }
        chain
    }

    /// The IAM page of a unit for the interval that `page` lies in.
    pub(crate) fn iam_of(&self, unit: &AllocUnit, page: PageId) -> Option<PageId> {
        let chain = self.iam_chain(unit);
        chain
            .into_iter()
            .find(|(_, iam)| IamView::new(iam).interval() == page.gam_interval())
            .map(|(id, _)| id)
    }

    /// A partition with an IAM page that lists an extent.
    pub(crate) fn partition_with_extents(&self) -> Option<(Partition, PageId, PageBuf)> {
        self.pick_partition(|partition| {
            let (id, page) = self.iam_chain(&partition.unit).into_iter().next()?;
            IamView::new(&page).extents().next()?;
            Some((partition.clone(), id, page))
        })
    }

    /// The first partition, from a random one on, for which `choose` returns something.
    pub(crate) fn pick_partition<T>(
        &self,
        choose: impl FnMut(&Partition) -> Option<T>,
    ) -> Option<T> {
        let from = self.below(self.partitions.len() as u64) as usize;
        let (before, after) = self.partitions.split_at_checked(from)?;
        after.iter().chain(before).find_map(choose)
    }

    /// The PFS byte of a page.
    pub(crate) fn state(&self, page: PageId) -> Option<PfsByte> {
        Some(PfsView::new(&*self.page(page.pfs_page())?).entry(page.page))
    }

    /// An extent within a file that is free by GAM, in the first interval of a file.
    pub(crate) fn free_extent(&self) -> Option<Extent> {
        let mut free = Vec::new();
        for file in self.image.files() {
            let first = PageId { file, page: 0 };
            let Some(gam) = self.page(MapKind::Gam.page_of(first)) else { continue };
            let pages = self.image.page_count(file).min(PAGES_PER_GAM);
            let is_inside = |index: &u32| (index + 1) * PAGES_PER_EXTENT <= pages;
            let extents = AllocationBitmap::of(&gam).ones().take_while(is_inside);
            free.extend(extents.take(PAGES_MAX).map(|index| Extent { file, index }));
        }
        free.get(self.below(free.len() as u64) as usize).copied()
    }

    /// The extent that holds the last allocated page of a file; its owner must be a user table.
    pub(crate) fn last_extent(&self) -> Option<(Extent, CandidatePage)> {
        let files: Vec<_> = self.image.files().collect();
        let from = self.below(files.len() as u64) as usize;
        files.iter().cycle().skip(from).take(files.len()).find_map(|file| {
            let last = self.last_allocated(PageId { file: *file, page: 0 })?;
            let page = self.page(last)?;
            let (unit, rowset) = self.catalog.owner_of(PageHeader::of(&page).alloc_unit())?;
            let table = self.catalog.tables.get(&rowset.object)?;
            let is_user = table.kind == ObjectType::USER_TABLE && unit.kind == AllocUnitKind::InRow;
            let is_uniform = !self.state(last)?.is_mixed();
            let partition = Partition {
                object: table.id,
                index: rowset.index,
                rowset: rowset.id,
                unit: unit.clone(),
                is_user: true,
                compression: rowset.compression,
            };
            let found = self.found(last, &partition)?;
            (is_user && is_uniform).then_some((last.extent(), found))
        })
    }

    fn last_allocated(&self, file: PageId) -> Option<PageId> {
        let pages = self.image.page_count(file.file);
        let mut end = pages;
        while end > 0 {
            let last = PageId { file: file.file, page: end - 1 };
            let pfs = self.page(last.pfs_page())?;
            let first = last.page - last.page % PAGES_PER_PFS;
            let is_taken = |page: &u32| PfsView::new(&pfs).entry(*page).is_allocated();
            if let Some(page) = (first..end).rev().find(is_taken) {
                return Some(PageId { file: file.file, page });
            }
            end = first;
        }
        None
    }
}
