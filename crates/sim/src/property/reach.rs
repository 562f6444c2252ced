//! Free pages of mixed extents can be allocated: SGAM marks their extent.
//!
//! An extent that is taken (GAM), belongs to no unit (IAM) and holds no map is a mixed one. A page
//! of it that PFS calls free can be handed out only when SGAM says that the extent has one.
//! Otherwise it is lost for good.

use std::collections::BTreeSet;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGE_BYTES, PAGES_PER_EXTENT, PAGES_PER_GAM};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_engine::Paths;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{MapKind, MapView, fixed_page_type};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_io::MemDisk;

/// The data files of a closed database.
struct Files(Vec<(FileId, Vec<u8>)>);

impl Files {
    fn of(memory: &MemDisk, paths: &Paths) -> Files {
        let id = |number: usize| FileId(if number == 0 { 1 } else { number as u16 + 2 });
        let contents = |path| memory.contents(path).unwrap_or_default();
        Files(paths.data.iter().enumerate().map(|(at, path)| (id(at), contents(path))).collect())
    }

    fn page(&self, id: PageId) -> PageBuf {
        let mut page = PageBuf::zeroed();
        let file = self.0.iter().find(|(file, _)| *file == id.file);
        let start = id.page as usize * PAGE_BYTES;
        if let Some(bytes) = file.and_then(|(_, bytes)| bytes.get(start..start + PAGE_BYTES)) {
            page.copy_from_slice(bytes);
        }
        page
    }

    fn pfs(&self, id: PageId) -> PfsByte {
        PfsView::new(&self.page(id.pfs_page())).entry(id.page)
    }

    /// All pages, file by file.
    fn pages(&self) -> impl Iterator<Item = PageId> {
        self.0.iter().flat_map(|(file, bytes)| {
            (0..(bytes.len() / PAGE_BYTES) as u32).map(|page| PageId { file: *file, page })
        })
    }

    /// Extents that some IAM page gives to its unit.
    fn owned(&self) -> BTreeSet<Extent> {
        let is_iam = |id: &PageId| {
            let state = self.pfs(*id);
            state.is_iam() && state.is_allocated()
        };
        let iams = self.pages().filter(is_iam);
        iams.flat_map(|id| IamView::new(&self.page(id)).extents().collect::<Vec<_>>()).collect()
    }
}

/// The first free page that cannot be allocated; `None` when there is none.
pub(crate) fn complaint(memory: &MemDisk, paths: &Paths) -> Option<String> {
    let files = Files::of(memory, paths);
    let owned = files.owned();
    for (file, bytes) in &files.0 {
        let extents = (bytes.len() / PAGE_BYTES) as u32 / PAGES_PER_EXTENT;
        for first in (0..extents).step_by(EXTENTS_PER_GAM as usize) {
            let interval = PageId { file: *file, page: first / EXTENTS_PER_GAM * PAGES_PER_GAM };
            let last = extents.min(first + EXTENTS_PER_GAM);
            let lost = lost_page(&files, &owned, interval, first..last);
            if lost.is_some() {
                return lost;
            }
        }
    }
    None
}

fn lost_page(
    files: &Files,
    owned: &BTreeSet<Extent>,
    interval: PageId,
    extents: std::ops::Range<u32>,
) -> Option<String> {
    let map = |kind: MapKind| files.page(kind.page_of(interval));
    let gam = map(MapKind::Gam);
    let sgam = map(MapKind::Sgam);
    for (bit, index) in (0..).zip(extents) {
        let extent = Extent { file: interval.file, index };
        let is_free = MapView::new(&gam, MapKind::Gam).bitmap().get(bit);
        let leads_there = MapView::new(&sgam, MapKind::Sgam).bitmap().get(bit);
        let first = extent.first_page();
        let mut pages =
            (first.page..first.page + PAGES_PER_EXTENT).map(|page| PageId { page, ..first });
        let is_fixed =
            pages.clone().any(|page| fixed_page_type(page).is_some_and(|_| page != PageId::BOOT));
        if is_free || leads_there || is_fixed || owned.contains(&extent) {
            continue;
        }
        if let Some(page) = pages.find(|page| !files.pfs(*page).is_allocated()) {
            return Some(format!(
                "page {page} of a mixed extent is free, and SGAM does not lead to it"
            ));
        }
    }
    None
}
