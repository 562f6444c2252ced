//! The data pages of an allocation unit by their headers: the last resort, when its maps cannot be
//! read. Reads all files.

use std::ops::Range;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{AllocUnitId, Extent, FileId, PageId};
use extentdb_catalog::{Fault, PageGetter};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::{PageHeader, PageType};

use crate::checked::CheckedPages;

/// Iterator over the allocated data pages of all files whose header has the id of a unit. They are
/// not verified yet.
pub(super) struct UnitPages<'d> {
    pages: &'d CheckedPages<'d>,
    unit: AllocUnitId,
    /// Extents still to be read, the last file first.
    files: Vec<(FileId, Range<u32>)>,
    /// Pages of the extent read last, last page first.
    found: Vec<PageId>,
    gam: Map,
    pfs: Map,
    extent: Vec<u8>,
}

/// The map page used last.
struct Map {
    id: PageId,
    page: PageBuf,
}

impl Map {
    fn none() -> Map {
        Map { id: PageId::NONE, page: PageBuf::zeroed() }
    }

    /// Reads map page `id` unless it is the one at hand.
    fn load(&mut self, pages: &CheckedPages<'_>, id: PageId, kind: PageType) -> Result<(), Fault> {
        if self.id == id {
            return Ok(());
        }
        self.id = PageId::NONE;
        pages.page(id, &mut self.page)?;
        if PageHeader::of(&self.page).kind() != kind {
            return Err(Fault::Misplaced {
                page: id,
                what: "not the map page of this address",
                from: id,
            });
        }
        self.id = id;
        Ok(())
    }
}

impl<'d> UnitPages<'d> {
    pub(super) fn new(pages: &'d CheckedPages<'d>, unit: AllocUnitId) -> UnitPages<'d> {
        let extents = |pages: u32| 0..pages.div_ceil(PAGES_PER_EXTENT);
        let files = pages.source().files().iter().rev();
        UnitPages {
            pages,
            unit,
            files: files.map(|file| (file.id, extents(file.pages))).collect(),
            found: Vec::new(),
            gam: Map::none(),
            pfs: Map::none(),
            extent: vec![0; PAGES_PER_EXTENT as usize * PAGE_BYTES],
        }
    }

    fn next_extent(&mut self) -> Option<Extent> {
        loop {
            let (file, extents) = self.files.last_mut()?;
            if let Some(index) = extents.next() {
                return Some(Extent { file: *file, index });
            }
            self.files.pop();
        }
    }

    /// Puts the pages of the unit in an extent into `found`.
    fn look(&mut self, extent: Extent) -> Result<(), Fault> {
        let source = self.pages.source();
        let first = extent.first_page();
        if !source.is_stored(extent) {
            return Ok(());
        }
        let there = source.page_count(extent.file).saturating_sub(first.page).min(PAGES_PER_EXTENT);
        let Some(bytes) = self.extent.get_mut(..there as usize * PAGE_BYTES) else { return Ok(()) };
        // The owner of a page that cannot be read is unknown.
        if source.read_run(first, bytes).is_err() {
            return Ok(());
        }
        let unit = self.unit;
        let of_unit = |bytes: &[u8]| {
            bytes.first_chunk().is_some_and(|page| {
                let header = PageHeader::of(page);
                header.kind() == PageType::Data && header.belongs_to(unit)
            })
        };
        let pages = extent.pages().zip(bytes.chunks_exact(PAGE_BYTES));
        self.found = pages.filter(|(_, bytes)| of_unit(bytes)).map(|(id, _)| id).collect();
        self.found.reverse();
        if self.found.is_empty() { Ok(()) } else { self.keep_allocated(extent) }
    }

    /// Retains the pages of `found` that are allocated in GAM and PFS.
    fn keep_allocated(&mut self, extent: Extent) -> Result<(), Fault> {
        let first = extent.first_page();
        self.gam.load(self.pages, MapKind::Gam.page_of(first), PageType::Gam)?;
        // In a GAM a bit that is set means a free extent.
        if AllocationBitmap::of(&self.gam.page).get(extent.index % EXTENTS_PER_GAM) {
            self.found.clear();
            return Ok(());
        }
        self.pfs.load(self.pages, first.pfs_page(), PageType::Pfs)?;
        let pfs = PfsView::new(&self.pfs.page);
        self.found.retain(|page| pfs.entry(page.page).is_allocated());
        Ok(())
    }
}

impl Iterator for UnitPages<'_> {
    type Item = Result<PageId, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(id) = self.found.pop() {
                return Some(Ok(id));
            }
            let extent = self.next_extent()?;
            if let Err(fault) = self.look(extent) {
                self.found.clear();
                return Some(Err(fault));
            }
        }
    }
}
