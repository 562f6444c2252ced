//! The allocation maps of the data files: GAM, SGAM and DIFF bits, PFS bytes.
//!
//! Every map page has a fixed page number, so no pointer is followed. Each is audited (8946); what
//! a page that fails would have said is unknown from then on, and 8998 names the pages that cannot
//! be checked for it.
//!
//! What healthy files contain
//! - The ML map (1:7) carries neither checksum nor torn-page bits: only pages that say they are
//!   protected are verified.
//! - GAM bits past the end of the file are 1, DIFF bits of extents that will hold a PFS page are
//!   set: bits past the end are ignored.
//! - A file that was made longer than its database (not by growth: growth writes the maps) has no
//!   maps beyond the catalog's size. Zeros there are no damage; they are noted (59008).

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::MapFault;
use extentdb_format::allocation::bitmap::{AllocationBitmap, BITMAP_BYTES, MapKind, MapView};
use extentdb_format::allocation::pfs::{PFS_ENTRIES, PfsByte, PfsView};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_messages::RepairLevel;
use extentdb_reader::source::is_zero;

use super::Prelude;
use super::pages::{PageState, load};
use crate::finding::{Finding, Location, page_arg};

/// The bits of one map page.
type Bits = Box<[u8; BITMAP_BYTES]>;

/// The maps of one GAM interval; `None` where the page cannot be used.
#[derive(Clone, Debug, Default)]
struct Interval {
    gam: Option<Bits>,
    sgam: Option<Bits>,
    diff: Option<Bits>,
}

/// The bytes of one PFS page.
#[derive(Clone, Debug)]
enum PfsRange {
    /// No page of the range is allocated.
    Nothing,
    Known(Box<[u8; PFS_ENTRIES]>),
    /// The page cannot be used.
    Unknown,
}

/// The maps of a data file.
#[derive(Clone, Debug)]
pub(crate) struct FileMaps {
    pub file: FileId,
    /// Pages of the file.
    pub pages: u32,
    intervals: Vec<Interval>,
    pfs: Vec<PfsRange>,
}

fn bit(bits: Option<&Bits>, index: u32) -> Option<bool> {
    bits.map(|bits| AllocationBitmap::new(bits).get(index % EXTENTS_PER_GAM))
}

impl FileMaps {
    fn interval(&self, extent: u32) -> Option<&Interval> {
        self.intervals.get((extent / EXTENTS_PER_GAM) as usize)
    }

    /// Is the extent free by GAM? `None` when its GAM page cannot be used.
    pub(crate) fn is_free(&self, extent: u32) -> Option<bool> {
        bit(self.interval(extent)?.gam.as_ref(), extent)
    }

    /// Is the extent mixed with a free page by SGAM?
    pub(crate) fn is_mixed(&self, extent: u32) -> Option<bool> {
        bit(self.interval(extent)?.sgam.as_ref(), extent)
    }

    /// Has the extent changed since the last full backup, by DIFF?
    #[inline]
    pub(crate) fn is_changed(&self, extent: u32) -> Option<bool> {
        bit(self.interval(extent)?.diff.as_ref(), extent)
    }

    /// The state of a page by PFS; `None` when its PFS page cannot be used.
    #[inline]
    pub(crate) fn state(&self, page: u32) -> Option<PfsByte> {
        match self.pfs.get((page / PAGES_PER_PFS) as usize) {
            Some(PfsRange::Known(bytes)) => {
                bytes.get((page % PAGES_PER_PFS) as usize).copied().map(PfsByte)
            }
            Some(PfsRange::Unknown) => None,
            Some(PfsRange::Nothing) | None => Some(PfsByte(0)),
        }
    }

    /// The states of the eight pages of an extent, `None` where unknown, at once when PFS says that
    /// none is allocated.
    #[inline]
    pub(crate) fn states(&self, extent: u32) -> Option<[u8; 8]> {
        let first = extent.checked_mul(8)?;
        match self.pfs.get((first / PAGES_PER_PFS) as usize) {
            // 8088 is a multiple of 8: an extent never lies in two ranges.
            Some(PfsRange::Known(bytes)) => {
                bytes.get((first % PAGES_PER_PFS) as usize..)?.first_chunk().copied()
            }
            Some(PfsRange::Unknown) => None,
            Some(PfsRange::Nothing) | None => Some([0; 8]),
        }
    }

    /// The ranges of pages that some PFS page describes and of which at least one may be allocated.
    pub(crate) fn described_ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let ranges = (0u32..).zip(&self.pfs);
        ranges.filter(|(_, range)| !matches!(range, PfsRange::Nothing)).map(|(i, _)| {
            let first = i * PAGES_PER_PFS;
            (first, self.pages.min(first.saturating_add(PAGES_PER_PFS)))
        })
    }

    /// Pages past the end of the file that PFS calls allocated: they were cut off.
    pub(crate) fn cut_off_pages(&self) -> impl Iterator<Item = PageId> {
        let end = match self.pfs.len() as u32 {
            0 => self.pages,
            ranges => ranges.saturating_mul(PAGES_PER_PFS),
        };
        let cut =
            (self.pages..end).filter(|page| self.state(*page).is_some_and(PfsByte::is_allocated));
        cut.map(|page| PageId { file: self.file, page })
    }

    /// Bytes of memory that the bitmaps take, and those that the PFS bytes take.
    pub(crate) fn memory_bytes(&self) -> (u64, u64) {
        let bitmaps =
            self.intervals.iter().flat_map(|it| [&it.gam, &it.sgam, &it.diff]).flatten().count();
        let pfs = self.pfs.iter().filter(|range| matches!(range, PfsRange::Known(_))).count();
        ((bitmaps * BITMAP_BYTES) as u64, (pfs * PFS_ENTRIES) as u64)
    }

    /// Number of extents, a cut last one included.
    pub(crate) fn extents(&self) -> u32 {
        self.pages.div_ceil(8)
    }
}

/// Reads and audits the maps of a file. `declared` is its size by the catalog.
pub(super) fn read_maps(
    prelude: &mut Prelude<'_>,
    file: FileId,
    pages: u32,
    declared: Option<u32>,
) -> FileMaps {
    let mut maps = FileMaps { file, pages, intervals: Vec::new(), pfs: Vec::new() };
    let mut reader = MapReader { page: PageBuf::zeroed(), declared, pages, unused_from: None };
    let first_pages = (0..pages).step_by(PAGES_PER_GAM as usize);
    maps.intervals = first_pages
        .map(|first| reader.read_interval(prelude, PageId { file, page: first }))
        .collect();
    let first_pages = (0..pages).step_by(PAGES_PER_PFS as usize);
    maps.pfs = first_pages
        .map(|first| {
            let gam_is_known = maps.is_free(first / 8).is_some();
            reader.read_pfs(prelude, PageId { file, page: first }, gam_is_known)
        })
        .collect();
    if let Some(from) = reader.unused_from {
        prelude.note_longer_file(file, pages, declared.unwrap_or(from));
    }
    maps
}

struct MapReader {
    page: PageBuf,
    declared: Option<u32>,
    pages: u32,
    /// First page after the database, in a file that is longer.
    unused_from: Option<u32>,
}

impl MapReader {
    /// True when the page lies past the end of the database and is not written.
    fn is_behind_database(&mut self, id: PageId) -> bool {
        let is_behind =
            self.declared.is_some_and(|declared| id.page >= declared) && is_zero(&self.page);
        if is_behind {
            self.unused_from.get_or_insert(id.page);
        }
        is_behind
    }

    fn read_interval(&mut self, prelude: &mut Prelude<'_>, first: PageId) -> Interval {
        let mut interval = Interval::default();
        let mut can_be_checked = true;
        for kind in MapKind::ALL {
            let id = kind.page_of(first);
            if id.page >= self.pages {
                // A last interval that ends before its maps do.
                can_be_checked &= !matches!(kind, MapKind::Gam | MapKind::Sgam);
                continue;
            }
            if prelude.is_missing(id) {
                continue;
            }
            let state = load(prelude.source, id, &mut self.page);
            if self.is_behind_database(id) {
                return Interval::default();
            }
            let is_sound = state.is_sound() && is_map(&self.page, kind);
            if is_sound {
                let bits = Box::new(*AllocationBitmap::of(&self.page).bytes());
                match kind {
                    MapKind::Gam => interval.gam = Some(bits),
                    MapKind::Sgam => interval.sgam = Some(bits),
                    MapKind::Diff => interval.diff = Some(bits),
                    MapKind::Ml => {}
                }
                continue;
            }
            can_be_checked &= !matches!(kind, MapKind::Gam | MapKind::Sgam);
            prelude.report_map(id, map_name(kind.page_type()), &self.page, state);
            if kind == MapKind::Gam && is_zero(&self.page) && first.page > 0 {
                // Never formatted: what the other maps of the interval lack is the same fact again.
                break;
            }
        }
        if !can_be_checked {
            let last = self.pages.min(first.page.saturating_add(PAGES_PER_GAM)).saturating_sub(1);
            prelude.report_interval(first, PageId { page: last, ..first });
        }
        interval
    }

    fn read_pfs(
        &mut self,
        prelude: &mut Prelude<'_>,
        first: PageId,
        gam_is_known: bool,
    ) -> PfsRange {
        let id = first.pfs_page();
        if id.page >= self.pages {
            return PfsRange::Unknown;
        }
        if prelude.is_missing(id) {
            let last = self.pages.min(first.page.saturating_add(PAGES_PER_PFS)).saturating_sub(1);
            let what = format!("pages {first} to {}", PageId { page: last, ..first });
            prelude.leave_out(
                &what,
                &format!("their PFS page {id} is missing, which tells what is allocated"),
            );
            return PfsRange::Unknown;
        }
        let state = load(prelude.source, id, &mut self.page);
        if self.is_behind_database(id) || (!gam_is_known && first.page > 0 && is_zero(&self.page)) {
            return PfsRange::Nothing;
        }
        let view = PfsView::new(&self.page);
        if state.is_sound() && !is_damaged(&view.faults()) && view.header().kind() == PageType::Pfs
        {
            let is_used = view.bytes().iter().any(|byte| PfsByte(*byte).is_allocated());
            return if is_used {
                PfsRange::Known(Box::new(*view.bytes()))
            } else {
                PfsRange::Nothing
            };
        }
        prelude.report_map(id, map_name(PageType::Pfs), &self.page, state);
        let last = self.pages.min(first.page.saturating_add(PAGES_PER_PFS)).saturating_sub(1);
        prelude.report_interval(first, PageId { page: last, ..first });
        PfsRange::Unknown
    }
}

fn is_map(page: &PageBuf, kind: MapKind) -> bool {
    let view = MapView::new(page, kind);
    view.header().kind() == kind.page_type() && !is_damaged(&view.faults())
}

/// True for faults that keep a map page from being used. Fields that are zero wherever they were
/// seen may have a meaning in other versions: in IAM pages of SQL Server 7 and 2000 they name the
/// object and index.
pub(crate) fn is_damaged(faults: &[MapFault]) -> bool {
    faults.iter().any(|fault| !matches!(fault, MapFault::NotZero { .. }))
}

/// The name of a kind of allocation page in 8946.
pub(super) fn map_name(kind: PageType) -> &'static str {
    match kind {
        PageType::Gam => "GAM_PAGE",
        PageType::Sgam => "SGAM_PAGE",
        PageType::Diff => "DIFF_MAP_PAGE",
        PageType::Ml => "ML_MAP_PAGE",
        PageType::Iam => "IAM_PAGE",
        _ => "PFS_PAGE",
    }
}

impl Prelude<'_> {
    /// 8946: an allocation page that cannot be used.
    pub(super) fn report_map(
        &mut self,
        id: PageId,
        name: &'static str,
        page: &PageBuf,
        state: PageState,
    ) {
        let kind = PageHeader::of(page).page_type;
        let args = [page_arg(id), name.into(), kind.into()];
        let state_number = if state == PageState::SoundPage { 1 } else { 2 };
        let mut finding = Finding::new(8946, Location::page(id), args).state(state_number);
        if name == map_name(PageType::Pfs) {
            // Nothing else says what a PFS page said.
            finding.repair = RepairLevel::None;
        }
        self.findings.push(finding);
        self.mark_bad(id, 8946);
    }

    /// 8998: pages whose allocation cannot be checked.
    fn report_interval(&mut self, first: PageId, last: PageId) {
        let args = [self.database_id.into(), page_arg(first), page_arg(last)];
        self.findings.push(Finding::new(8998, Location::page(first), args).related([first, last]));
    }

    fn note_longer_file(&mut self, file: FileId, pages: u32, declared: u32) {
        let name = self.file_name(file);
        let args = [name.into(), pages.into(), declared.into()];
        let place = Location::page(PageId { file, page: declared });
        self.note(59008, place, args);
    }
}
