//! Page allocation: which extents and pages of the files are in use.
//!
//! ```text
//! file 1   extent 0       1 … 24                         25 …
//!          fixed pages    mixed: catalog, IAM pages,   uniform extents, in the order of allocation
//!                         first eight pages of a unit
//! others   extent 0       1 …
//!          fixed pages    uniform extents; mixed ones, when a filegroup needs its first
//! ```
//!
//! An extent comes from the file of its filegroup that is filled least: files of equal size fill
//! proportionally that way. A file can be filled from several positions at once, one per GAM
//! interval, so that every unit spans all of them. Extents that hold a PFS page or the maps of an
//! interval are allocated in GAM, are neither mixed nor owned, and their other pages stay unused.
//!
//! Invariants
//! - An extent is allocated once; a page of a mixed extent is allocated once.
//! - Nothing is ever deallocated.

use std::collections::{BTreeMap, VecDeque};

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::allocation::bitmap::{MapKind, fixed_page_type};
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::page::PageHeader;

use crate::Error;

/// Mixed extents at the start of file 1: room for the catalog of a small database.
const FIRST_MIXED_EXTENTS: u32 = 24;
/// Pages of file 1 at the same address in every database of this version: boot page, IAM and
/// page of sysfiles1, first page of sysallocunits.
pub(crate) mod fixed_address {
    use extentdb_base::PageId;

    pub(crate) const SYSFILES_IAM: PageId = PageId::new(1, 12);
    pub(crate) const SYSALLOCUNITS_FIRST: PageId = PageId::new(1, 16);
    pub(crate) const SYSFILES_PAGE: PageId = PageId::new(1, 32);
}
const RESERVED: [PageId; 4] = [
    PageId::BOOT,
    fixed_address::SYSFILES_IAM,
    fixed_address::SYSALLOCUNITS_FIRST,
    fixed_address::SYSFILES_PAGE,
];

/// The filegroup of the catalog.
pub(crate) const PRIMARY: i16 = 1;

/// The allocation of one file.
#[derive(Clone)]
pub(crate) struct FileSpace {
    pub(crate) id: FileId,
    pub(crate) group: i16,
    /// PFS bytes by page; pages past the end are free.
    pfs: Vec<PfsByte>,
    /// The use of each extent.
    extents: Vec<ExtentUse>,
    /// The next extent of each lane: a part of the file that is filled independently.
    lanes: Vec<u32>,
    /// Extents passed in all lanes.
    taken: u32,
    /// Counts extents, to take the lanes in turns.
    turn: usize,
}

/// What an extent is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ExtentUse {
    #[default]
    Free,
    Fixed,
    /// Pages of several units.
    Mixed,
    Uniform,
}

/// The space of a database.
#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) files: Vec<FileSpace>,
    /// Pages of mixed extents, to be handed out, by filegroup.
    singles: BTreeMap<i16, VecDeque<PageId>>,
    /// Every `stride`-th extent is used; the others stay free. 1 = all.
    stride: u32,
}

/// Which extents of a file are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Every `stride`-th extent is used; 1 = all.
    pub(crate) stride: u32,
    /// GAM intervals that are filled at the same time; 1 = one after the other.
    pub(crate) intervals: u32,
}

impl Spread {
    /// Extent after extent.
    #[cfg(test)]
    pub(crate) const DENSE: Spread = Spread { stride: 1, intervals: 1 };
}

impl Space {
    /// Empty files with their filegroups.
    pub(crate) fn new(files: &[(FileId, i16)], spread: Spread) -> Space {
        let lanes = spread.intervals.max(1);
        let files = files.iter().map(|(id, group)| FileSpace::new(*id, *group, lanes)).collect();
        let mut space = Space {
            files,
            singles: BTreeMap::new(),
            stride: spread.stride.max(1),
        };
        let mut singles = VecDeque::new();
        if let Some(first) = space.files.first_mut() {
            for index in 1..=FIRST_MIXED_EXTENTS {
                first.set_extent(index, ExtentUse::Mixed);
                singles.extend(Extent { file: first.id, index }.pages());
            }
            first.begin_behind(FIRST_MIXED_EXTENTS);
            let boot = PfsByte::ALLOCATED.with_mixed(true).with_fullness(Fullness::UpTo100);
            first.set_page(PageId::BOOT.page, boot);
        }
        singles.retain(|page| !RESERVED.contains(page));
        space.singles.insert(PRIMARY, singles);
        space
    }

    /// Reserves the page of the server configuration.
    pub(crate) fn reserve_configuration(&mut self) {
        let page = PageId::CONFIGURATION;
        self.singles.values_mut().for_each(|singles| singles.retain(|single| *single != page));
        self.allocate(page, PfsByte::ALLOCATED.with_fullness(Fullness::UpTo100));
    }

    /// Allocates a uniform extent of a filegroup.
    pub(crate) fn extent(&mut self, group: i16) -> Result<Extent, Error> {
        self.take(group, ExtentUse::Uniform)
    }

    fn take(&mut self, group: i16, use_as: ExtentUse) -> Result<Extent, Error> {
        let stride = self.stride;
        let own = self.files.iter_mut().filter(|file| file.group == group);
        let file = own.min_by_key(|file| file.taken).ok_or(Error::FileCount { files: 0 })?;
        file.take(stride, use_as)
    }

    /// Takes a page of a mixed extent of a filegroup, to be marked as allocated.
    pub(crate) fn single(&mut self, group: i16) -> Result<PageId, Error> {
        if self.singles.get(&group).is_none_or(VecDeque::is_empty) {
            let extent = self.take(group, ExtentUse::Mixed)?;
            self.singles.entry(group).or_default().extend(extent.pages());
        }
        let page = self.singles.get_mut(&group).and_then(VecDeque::pop_front);
        page.ok_or(Error::FileFull { file: FileId(1) })
    }

    fn file_mut(&mut self, id: FileId) -> Option<&mut FileSpace> {
        self.files.iter_mut().find(|file| file.id == id)
    }

    /// Marks a page as allocated.
    pub(crate) fn allocate(&mut self, page: PageId, state: PfsByte) {
        if let Some(file) = self.file_mut(page.file) {
            let is_mixed = file.extent_use(page.extent().index) == ExtentUse::Mixed;
            file.set_page(page.page, state.with_mixed(is_mixed));
        }
    }

    /// Sets the fullness of an allocated page.
    pub(crate) fn set_fullness(&mut self, page: PageId, fullness: Fullness) {
        if let Some(file) = self.file_mut(page.file) {
            let state = file.page_state(page.page).with_fullness(fullness);
            file.set_page(page.page, state);
        }
    }

    /// Marks a page that has ghosts.
    pub(crate) fn note_ghosts(&mut self, page: &PageBytes) {
        let header = PageHeader::of(page);
        let id = header.page_id();
        if header.ghost_count.get() > 0
            && let Some(file) = self.file_mut(id.file)
        {
            let state = file.page_state(id.page).with_ghosts(true);
            file.set_page(id.page, state);
        }
    }

    /// Extends the files to at least `pages` pages together, the shortest ones first, in whole
    /// extents, and marks the fixed pages not yet passed.
    pub(crate) fn grow_to(&mut self, pages: u64) -> Result<(), Error> {
        let mut lens: Vec<u64> = self.files.iter().map(|file| file.extents.len() as u64).collect();
        level(&mut lens, pages.div_ceil(PAGES_PER_EXTENT.into()));
        for (file, extents) in self.files.iter_mut().zip(lens) {
            let end = u32::try_from(extents).ok().filter(|end| *end <= EXTENTS_MAX);
            file.finish(end.ok_or(Error::FileFull { file: file.id })?);
        }
        Ok(())
    }
}

/// The most extents of a file.
const EXTENTS_MAX: u32 = u32::MAX / PAGES_PER_EXTENT;

/// Raises the lowest numbers, evenly, until all together are `total`; what is higher stays.
fn level(numbers: &mut [u64], total: u64) {
    let mut low = 0;
    let mut high = total;
    let sum = |floor: u64, numbers: &[u64]| {
        numbers.iter().map(|n| u128::from(*(n.max(&floor)))).sum::<u128>()
    };
    while low < high {
        let middle = low.midpoint(high);
        if sum(middle, numbers) >= u128::from(total) { high = middle } else { low = middle + 1 }
    }
    let mut excess = sum(low, numbers).saturating_sub(total.into());
    for number in numbers.iter_mut().filter(|number| **number < low) {
        *number = if excess > 0 { low - 1 } else { low };
        excess = excess.saturating_sub(1);
    }
}

/// True for extents with a PFS page or the maps of an interval.
fn is_fixed(extent: Extent) -> bool {
    let first = extent.first_page().page;
    first.is_multiple_of(PAGES_PER_PFS) || first.is_multiple_of(PAGES_PER_GAM)
}

// PFS pages and map intervals begin with an extent.
const _: () = assert!(PAGES_PER_PFS.is_multiple_of(PAGES_PER_EXTENT));
const _: () = assert!(PAGES_PER_GAM.is_multiple_of(PAGES_PER_EXTENT));

impl FileSpace {
    fn new(id: FileId, group: i16, lanes: u32) -> FileSpace {
        let lanes = (0..lanes).map(|lane| (lane * EXTENTS_PER_GAM).max(1)).collect();
        let mut file = FileSpace {
            id,
            group,
            pfs: Vec::new(),
            extents: Vec::new(),
            lanes,
            taken: 1,
            turn: 0,
        };
        file.mark_fixed(0);
        file
    }

    /// The extents up to `last` are in use.
    fn begin_behind(&mut self, last: u32) {
        if let Some(first) = self.lanes.first_mut() {
            (*first, self.taken) = (last + 1, last + 1);
        }
    }

    /// The next extent of the lane whose turn it is.
    fn take(&mut self, stride: u32, use_as: ExtentUse) -> Result<Extent, Error> {
        let lane = self.next_lane();
        let mut next = self.lanes[lane];
        while is_fixed(Extent { file: self.id, index: next }) {
            self.mark_fixed(next);
            next += 1;
        }
        let end = next.checked_add(stride).filter(|end| *end <= EXTENTS_MAX);
        let end = end.ok_or(Error::FileFull { file: self.id })?;
        self.set_extent(next, use_as);
        for index in next..end {
            if is_fixed(Extent { file: self.id, index }) {
                self.mark_fixed(index);
            }
        }
        self.taken += end - self.lanes[lane];
        self.lanes[lane] = end;
        Ok(Extent { file: self.id, index: next })
    }

    /// Lanes take turns; the last one continues when the others have reached the start of their
    /// neighbour.
    fn next_lane(&mut self) -> usize {
        let count = self.lanes.len();
        self.turn += 1;
        let has_room = |lane: &usize| {
            let limit = (*lane as u32 + 1).saturating_mul(EXTENTS_PER_GAM);
            lane + 1 == count || self.lanes[*lane] < limit
        };
        (0..count).map(|step| (self.turn + step) % count).find(has_room).unwrap_or(count - 1)
    }

    /// Ends the file at this extent or later, and marks the fixed pages that were skipped.
    fn finish(&mut self, end: u32) {
        let end = end.max(self.extents.len() as u32);
        let fixed = |step: u32| (0..end).step_by((step / PAGES_PER_EXTENT) as usize);
        for index in fixed(PAGES_PER_PFS).chain(fixed(PAGES_PER_GAM)) {
            self.mark_fixed(index);
        }
        self.extents.resize(end as usize, ExtentUse::Free);
    }

    fn mark_fixed(&mut self, index: u32) {
        self.set_extent(index, ExtentUse::Fixed);
        let state = PfsByte::ALLOCATED.with_fullness(Fullness::UpTo100);
        for page in (Extent { file: self.id, index }).pages() {
            if fixed_page_type(page).is_some() {
                self.set_page(page.page, state);
            }
        }
    }

    fn set_extent(&mut self, index: u32, use_as: ExtentUse) {
        let at = index as usize;
        if self.extents.len() <= at {
            self.extents.resize(at + 1, ExtentUse::Free);
        }
        self.extents[at] = use_as;
    }

    fn set_page(&mut self, page: u32, state: PfsByte) {
        let at = page as usize;
        if self.pfs.len() <= at {
            self.pfs.resize(at + 1, PfsByte::default());
        }
        self.pfs[at] = state;
    }

    /// The use of an extent.
    pub(crate) fn extent_use(&self, index: u32) -> ExtentUse {
        self.extents.get(index as usize).copied().unwrap_or_default()
    }

    /// The state of a page.
    pub(crate) fn page_state(&self, page: u32) -> PfsByte {
        self.pfs.get(page as usize).copied().unwrap_or_default()
    }

    /// Pages of the file.
    pub(crate) fn pages(&self) -> u32 {
        self.extents.len() as u32 * PAGES_PER_EXTENT
    }

    /// True when a mixed extent has a free page.
    pub(crate) fn has_free_page(&self, index: u32) -> bool {
        Extent { file: self.id, index }
            .pages()
            .any(|page| !self.page_state(page.page).is_allocated())
    }

    /// The map pages of the file.
    pub(crate) fn maps(&self, kind: MapKind) -> impl Iterator<Item = PageId> {
        let file = self.id;
        let pages = self.pages();
        (0..pages)
            .step_by(PAGES_PER_GAM as usize)
            .map(move |first| kind.page_of(PageId { file, page: first }))
    }

    /// The PFS pages of the file.
    pub(crate) fn pfs_pages(&self) -> impl Iterator<Item = PageId> {
        let file = self.id;
        let pages = self.pages();
        (0..pages)
            .step_by(PAGES_PER_PFS as usize)
            .map(move |first| PageId { file, page: first }.pfs_page())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_extent_with_fixed_pages_is_handed_out() {
        let mut space = Space::new(&[(FileId(1), PRIMARY), (FileId(3), PRIMARY)], Spread::DENSE);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..130_000 {
            let extent = space.extent(PRIMARY).unwrap();
            assert!(seen.insert(extent));
            assert!(extent.pages().all(|page| fixed_page_type(page).is_none()), "{extent:?}");
        }
        let files: Vec<usize> =
            [1, 3].map(|id| seen.iter().filter(|e| e.file == FileId(id)).count()).into();
        // The mixed extents at the start of the first file count as filled.
        assert_eq!(files, [64_988, 65_012], "files fill evenly");
        assert_eq!(space.files[0].extent_use(511_232 / 8), ExtentUse::Fixed);
        assert_eq!(space.files[0].page_state(8088), PfsByte(0x44));
        assert_eq!(space.files[0].page_state(511_238), PfsByte(0x44));
        assert_eq!(space.files[0].page_state(511_234), PfsByte(0));
    }

    #[test]
    fn single_pages_come_from_mixed_extents_and_leave_the_reserved_ones_out() {
        let mut space = Space::new(&[(FileId(1), PRIMARY)], Spread::DENSE);
        let pages: Vec<PageId> = (0..300).map(|_| space.single(PRIMARY).unwrap()).collect();
        assert!(RESERVED.iter().all(|page| !pages.contains(page)));
        assert!(
            pages
                .iter()
                .all(|page| space.files[0].extent_use(page.extent().index) == ExtentUse::Mixed)
        );
        assert_eq!(pages[0], PageId::new(1, 8));
    }

    #[test]
    fn a_grown_file_has_its_fixed_pages() {
        let mut space = Space::new(&[(FileId(1), PRIMARY)], Spread::DENSE);
        space.grow_to(1_100_000).unwrap();
        let file = &space.files[0];
        assert_eq!(file.pages(), 1_100_000);
        assert_eq!(
            file.maps(MapKind::Gam).map(|page| page.page).collect::<Vec<_>>(),
            [2, 511_232, 1_022_464]
        );
        assert_eq!(file.pfs_pages().count(), 1_100_000usize.div_ceil(8088));
        assert!(file.pfs_pages().all(|page| file.page_state(page.page) == PfsByte(0x44)));
    }

    #[test]
    fn a_filegroup_takes_extents_and_single_pages_from_its_own_files() {
        let mut space =
            Space::new(&[(FileId(1), PRIMARY), (FileId(3), 2), (FileId(4), 2)], Spread::DENSE);
        let files: Vec<u16> = (0..6).map(|_| space.extent(2).unwrap().file.0).collect();
        assert_eq!(files, [3, 4, 3, 4, 3, 4]);
        let single = space.single(2).unwrap();
        assert_eq!(single.file, FileId(3));
        assert_eq!(space.files[1].extent_use(single.extent().index), ExtentUse::Mixed);
        assert_eq!(space.extent(PRIMARY).unwrap().file, FileId(1));
        assert!(space.extent(9).is_err(), "a filegroup without files");
    }

    #[test]
    fn lanes_fill_every_interval_at_once_and_meet_in_the_last() {
        let mut space = Space::new(&[(FileId(1), PRIMARY)], Spread { stride: 1, intervals: 3 });
        let mut seen = std::collections::HashSet::new();
        let first: Vec<u32> =
            (0..6).map(|_| space.extent(PRIMARY).unwrap().index / 63_904).collect();
        assert_eq!(first, [1, 2, 0, 1, 2, 0]);
        for _ in 0..200_000 {
            assert!(seen.insert(space.extent(PRIMARY).unwrap()));
        }
        space.grow_to(0).unwrap();
        let file = &space.files[0];
        assert!(file.pages() > 3 * PAGES_PER_GAM);
        assert!(file.pfs_pages().all(|page| file.page_state(page.page) == PfsByte(0x44)));
    }

    #[test]
    fn the_shortest_files_grow_first() {
        let mut numbers = [10, 3, 4];
        level(&mut numbers, 21);
        assert_eq!(numbers, [10, 5, 6]);
        level(&mut numbers, 12);
        assert_eq!(numbers, [10, 5, 6], "nothing shrinks");
    }
}
