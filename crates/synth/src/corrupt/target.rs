//! What there is in a database to do faults to.
//!
//! Only user tables are touched: damage to the catalogue is another family of faults. Of large tables the first
//! [`PAGES_MAX`] pages are considered, so that a database of any size is damaged in no time.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{Extent, ObjectId, PageId};
use extentdb_catalog::PageGetter;
use extentdb_catalog::access::{HeapPages, LeafKind, LeafPages};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, Catalog, ObjectType};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::{Record, RecordKind};

use crate::Error;
use crate::image::Image;

const PAGES_MAX: usize = 4_096;
/// More IAM pages of a chain are not looked at: it could be a circle.
const IAM_PAGES_MAX: usize = 65_536;

/// Rows of a user table on one page.
pub(super) struct RowPage {
    pub(super) id: PageId,
    pub(super) page: PageBuf,
    pub(super) unit: AllocUnit,
    pub(super) object: ObjectId,
    /// Of a clustered index: the neighbours, both of which there are.
    pub(super) neighbours: Option<(PageId, PageId)>,
}

impl RowPage {
    /// A page of a clustered index, where a lost page shows in the links, too.
    pub(super) fn is_leaf(&self) -> bool {
        self.neighbours.is_some()
    }
}

/// A database to choose from.
pub(super) struct Target<'a> {
    pub(super) image: &'a Image,
    pub(super) catalog: Catalog,
    /// Leaf pages of clustered indexes, but for the first and the last of each.
    leaves: Vec<(PageId, AllocUnit, ObjectId)>,
    /// Pages of heaps.
    heaps: Vec<(PageId, AllocUnit, ObjectId)>,
}

impl<'a> Target<'a> {
    pub(super) fn new(image: &'a Image) -> Result<Self, Error> {
        let catalog = Catalog::load(image)?;
        let mut target = Target { image, catalog, leaves: Vec::new(), heaps: Vec::new() };
        target.find();
        Ok(target)
    }

    fn find(&mut self) {
        let (mut leaves, mut heaps) = (Vec::new(), Vec::new());
        for table in self.catalog.tables.values().filter(|table| table.kind == ObjectType::USER_TABLE) {
            let Some(base) = table.base() else { continue };
            for rowset in self.catalog.rowsets_of(base) {
                let is_plain = rowset.compression == Compression::None;
                let Some(unit) = rowset.unit(AllocUnitKind::InRow).filter(|_| is_plain) else { continue };
                let of = |page: PageId| (page, unit.clone(), table.id);
                if base.id.0 == 0 {
                    let pages = HeapPages::new(self.image, unit.id, unit.first_iam);
                    heaps.extend(pages.flatten().take(PAGES_MAX).map(|(page, _)| of(page)));
                } else {
                    let pages = LeafPages::new(self.image, unit.id, unit.root, LeafKind::Clustered);
                    let linked = pages.flatten().take(PAGES_MAX).filter(|(_, page)| {
                        let header = PageHeader::of(page);
                        !header.prev().is_none() && !header.next().is_none()
                    });
                    leaves.extend(linked.map(|(page, _)| of(page)));
                }
            }
        }
        (self.leaves, self.heaps) = (leaves, heaps);
    }

    /// A page that can be read.
    pub(super) fn page(&self, id: PageId) -> Option<PageBuf> {
        let mut page = PageBuf::zeroed();
        self.image.page(id, &mut page).ok().map(|()| page)
    }

    /// A leaf page between two others.
    pub(super) fn leaf(&self, rng: &mut SplitMix64) -> Option<RowPage> {
        let from = rng.below(self.leaves.len() as u64) as usize;
        let (before, after) = self.leaves.split_at_checked(from)?;
        after.iter().chain(before).find_map(|(id, unit, object)| {
            let page = self.page(*id)?;
            let neighbours = (PageHeader::of(&page).prev(), PageHeader::of(&page).next());
            (rows_of(&page) >= 2).then(|| RowPage {
                id: *id,
                page,
                unit: unit.clone(),
                object: *object,
                neighbours: Some(neighbours),
            })
        })
    }

    /// A page of a heap with rows, and without moved ones: damage to those has consequences elsewhere.
    pub(super) fn heap(&self, rng: &mut SplitMix64) -> Option<RowPage> {
        let from = rng.below(self.heaps.len() as u64) as usize;
        let (before, after) = self.heaps.split_at_checked(from)?;
        after.iter().chain(before).find_map(|(id, unit, object)| {
            let page = self.page(*id)?;
            let is_plain = kinds_of(&page).all(|kind| kind == RecordKind::Primary);
            (is_plain && rows_of(&page) >= 2).then(|| RowPage {
                id: *id,
                page,
                unit: unit.clone(),
                object: *object,
                neighbours: None,
            })
        })
    }

    /// A page of either.
    pub(super) fn row_page(&self, rng: &mut SplitMix64) -> Option<RowPage> {
        match rng.below(2) {
            0 => self.leaf(rng).or_else(|| self.heap(rng)),
            _ => self.heap(rng).or_else(|| self.leaf(rng)),
        }
    }

    /// A page of a heap, or of a clustered index when there is no heap.
    pub(super) fn heap_or_leaf(&self, rng: &mut SplitMix64) -> Option<RowPage> {
        self.heap(rng).or_else(|| self.leaf(rng))
    }

    /// A page in an extent of its unit.
    pub(super) fn page_in_extent(&self, rng: &mut SplitMix64) -> Option<RowPage> {
        (0..64).find_map(|_| self.row_page(rng).filter(|found| self.lists_extent(found)))
    }

    fn lists_extent(&self, found: &RowPage) -> bool {
        let iam = self.iam_of(&found.unit, found.id).and_then(|id| self.page(id));
        iam.is_some_and(|iam| IamView::new(&iam).extents().any(|extent| extent == found.id.extent()))
    }

    /// The IAM page of a unit for the interval that `page` lies in.
    pub(super) fn iam_of(&self, unit: &AllocUnit, page: PageId) -> Option<PageId> {
        let mut id = unit.first_iam;
        for _ in 0..IAM_PAGES_MAX {
            let iam = self.page(id)?;
            if IamView::new(&iam).interval() == page.gam_interval() {
                return Some(id);
            }
            id = PageHeader::of(&iam).next();
        }
        None
    }

    /// The PFS byte of a page.
    pub(super) fn state(&self, page: PageId) -> Option<PfsByte> {
        Some(PfsView::new(&*self.page(page.pfs_page())?).entry(page.page))
    }

    /// An extent within a file that is free by GAM and SGAM, in the first interval of a file.
    pub(super) fn free_extent(&self, rng: &mut SplitMix64) -> Option<Extent> {
        let mut free = Vec::new();
        for file in self.image.files() {
            let first = PageId { file, page: 0 };
            let gam = self.page(MapKind::Gam.page_of(first))?;
            let pages = self.image.page_count(file).min(extentdb_base::size::PAGES_PER_GAM);
            let extents = AllocationBitmap::of(&gam).ones().take_while(|index| (index + 1) * 8 <= pages);
            free.extend(extents.take(PAGES_MAX).map(|index| Extent { file, index }));
        }
        free.get(rng.below(free.len() as u64) as usize).copied()
    }

    /// The extent that holds the last allocated page of a file; its owner must be a user table.
    pub(super) fn last_extent(&self, rng: &mut SplitMix64) -> Option<(Extent, RowPage)> {
        let files: Vec<_> = self.image.files().collect();
        let from = rng.below(files.len() as u64) as usize;
        files.iter().cycle().skip(from).take(files.len()).find_map(|file| {
            let last = self.last_allocated(PageId { file: *file, page: 0 })?;
            let page = self.page(last)?;
            let unit = PageHeader::of(&page).alloc_unit();
            let (unit, rowset) = self.catalog.owner_of(unit)?;
            let table = self.catalog.tables.get(&rowset.object)?;
            let is_user = table.kind == ObjectType::USER_TABLE && unit.kind == AllocUnitKind::InRow;
            let is_uniform = !self.state(last)?.is_mixed();
            (is_user && is_uniform).then(|| {
                let found =
                    RowPage { id: last, unit: unit.clone(), object: table.id, neighbours: None, page };
                (last.extent(), found)
            })
        })
    }

    fn last_allocated(&self, file: PageId) -> Option<PageId> {
        let pages = self.image.page_count(file.file);
        let mut end = pages;
        while end > 0 {
            let last = PageId { file: file.file, page: end - 1 };
            let pfs = self.page(last.pfs_page())?;
            let first = last.page - last.page % extentdb_base::size::PAGES_PER_PFS;
            let is_taken = |page: &u32| PfsView::new(&pfs).entry(*page).is_allocated();
            if let Some(page) = (first..end).rev().find(is_taken) {
                return Some(PageId { file: file.file, page });
            }
            end = first;
        }
        None
    }
}

/// Slots in use.
pub(super) fn rows_of(page: &PageBuf) -> usize {
    PageRef::new(page).records().count()
}

fn kinds_of(page: &PageBuf) -> impl Iterator<Item = RecordKind> {
    PageRef::new(page).records().map(|(_, bytes)| Record::parse_data(bytes).kind())
}

/// Protects a changed page again, the way it was protected. `before` is the page as it was stored.
pub(super) fn reseal(image: &Image, id: PageId, page: &mut PageBuf) -> Option<()> {
    let mut before = PageBuf::zeroed();
    image.raw(id, &mut before).ok()?;
    match checksum::verify(&before) {
        Protection::None => {}
        Protection::Checksum { .. } => checksum::seal(page),
        Protection::Torn { signature, .. } => checksum::seal_torn(page, signature),
    }
    Some(())
}
