//! Which extents and pages of the files are taken.
//!
//! ```text
//! file 1   extent 0        1 … 24                         25 …
//!          fixed pages     mixed: catalogue, IAM pages,   uniform extents, in the order they are asked for
//!                          first eight pages of a unit
//! others   extent 0        1 …
//!          fixed pages     uniform extents
//! ```
//!
//! A uniform extent comes from the file that is filled least: files of equal size fill proportionally that way. Extents
//! that hold a PFS page or the maps of an interval are allocated in GAM, are neither mixed nor owned, and their other
//! pages stay unused.
//!
//! Invariants
//! - An extent is handed out once; pages of mixed extents are handed out once.
//! - Nothing is ever given back.

use std::collections::VecDeque;

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::allocation::bitmap::{MapKind, fixed_page_type};
use extentdb_format::allocation::pfs::{Fullness, PfsByte};

use crate::Error;

/// Mixed extents at the start of file 1: room for the catalogue of a small database.
const FIRST_MIXED_EXTENTS: u32 = 24;
/// Pages of file 1 with a place of their own in every database of this version: boot page, IAM and page of sysfiles1,
/// first page of sysallocunits.
pub(super) mod place {
    use extentdb_base::PageId;

    pub(in crate::build) const SYSFILES_IAM: PageId = PageId::new(1, 12);
    pub(in crate::build) const SYSALLOCUNITS_FIRST: PageId = PageId::new(1, 16);
    pub(in crate::build) const SYSFILES_PAGE: PageId = PageId::new(1, 32);
}
const RESERVED: [PageId; 4] =
    [PageId::BOOT, place::SYSFILES_IAM, place::SYSALLOCUNITS_FIRST, place::SYSFILES_PAGE];

/// What is known of one file.
#[derive(Clone)]
pub(super) struct FileSpace {
    pub(super) id: FileId,
    /// PFS bytes by page; pages behind the end are free.
    pfs: Vec<PfsByte>,
    /// What extents are, by extent.
    extents: Vec<ExtentUse>,
    /// The first extent that was not considered yet.
    next: u32,
}

/// What an extent is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ExtentUse {
    /// Nothing.
    #[default]
    Free,
    /// Fixed pages.
    Fixed,
    /// Pages of several units.
    Mixed,
    /// One unit.
    Uniform,
}

/// The space of a database.
#[derive(Clone)]
pub(super) struct Space {
    pub(super) files: Vec<FileSpace>,
    /// Pages of mixed extents, to be handed out.
    singles: VecDeque<PageId>,
    /// Every how many-th extent is taken; the others stay free. 1 = all.
    stride: u32,
}

impl Space {
    /// Empty files; every `stride`-th extent will be used.
    pub(super) fn new(files: &[FileId], stride: u32) -> Space {
        let files = files.iter().map(|id| FileSpace::new(*id)).collect();
        let mut space = Space { files, singles: VecDeque::new(), stride: stride.max(1) };
        if let Some(first) = space.files.first_mut() {
            for index in 1..=FIRST_MIXED_EXTENTS {
                first.set_extent(index, ExtentUse::Mixed);
                space.singles.extend(Extent { file: first.id, index }.pages());
            }
            first.next = FIRST_MIXED_EXTENTS + 1;
            let boot = PfsByte::ALLOCATED.with_mixed(true).with_fullness(Fullness::UpTo100);
            first.set_page(PageId::BOOT.page, boot);
        }
        space.singles.retain(|page| !RESERVED.contains(page));
        space
    }

    /// A uniform extent.
    pub(super) fn extent(&mut self) -> Result<Extent, Error> {
        self.take(ExtentUse::Uniform)
    }

    fn take(&mut self, use_as: ExtentUse) -> Result<Extent, Error> {
        let stride = self.stride;
        let emptiest = self.files.iter_mut().min_by_key(|file| file.next);
        let file = emptiest.ok_or(Error::FileCount { files: 0 })?;
        while is_fixed(Extent { file: file.id, index: file.next }) {
            file.skip_fixed()?;
        }
        let extent = Extent { file: file.id, index: file.next };
        file.set_extent(extent.index, use_as);
        let end = file.next.checked_add(stride).filter(|next| *next <= u32::MAX / PAGES_PER_EXTENT);
        let end = end.ok_or(Error::FileFull { file: file.id })?;
        while file.next < end {
            if is_fixed(Extent { file: file.id, index: file.next }) {
                file.mark_fixed(file.next);
            }
            file.next += 1;
        }
        Ok(extent)
    }

    /// A page of a mixed extent, not allocated yet.
    pub(super) fn single(&mut self) -> Result<PageId, Error> {
        if self.singles.is_empty() {
            let extent = self.take(ExtentUse::Mixed)?;
            self.singles.extend(extent.pages());
        }
        self.singles.pop_front().ok_or(Error::FileFull { file: FileId(1) })
    }

    fn file_mut(&mut self, id: FileId) -> Option<&mut FileSpace> {
        self.files.iter_mut().find(|file| file.id == id)
    }

    /// Marks a page as allocated.
    pub(super) fn allocate(&mut self, page: PageId, state: PfsByte) {
        if let Some(file) = self.file_mut(page.file) {
            let is_mixed = file.extent_use(page.extent().index) == ExtentUse::Mixed;
            file.set_page(page.page, state.with_mixed(is_mixed));
        }
    }

    /// Keeps the fullness of an allocated page.
    pub(super) fn set_fullness(&mut self, page: PageId, fullness: Fullness) {
        if let Some(file) = self.file_mut(page.file) {
            let state = file.page_state(page.page).with_fullness(fullness);
            file.set_page(page.page, state);
        }
    }

    /// Makes every file at least `pages` long, in whole extents, and marks the fixed pages in the new part.
    pub(super) fn grow_to(&mut self, pages: u32) {
        let extents = pages.div_ceil(PAGES_PER_EXTENT);
        for file in &mut self.files {
            for index in file.extents.len() as u32..extents {
                let is_fixed = is_fixed(Extent { file: file.id, index });
                if is_fixed {
                    file.mark_fixed(index);
                }
            }
            let len = file.extents.len().max(extents as usize);
            file.extents.resize(len, ExtentUse::Free);
        }
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
    fn new(id: FileId) -> FileSpace {
        let mut file = FileSpace { id, pfs: Vec::new(), extents: Vec::new(), next: 0 };
        file.mark_fixed(0);
        file.next = 1;
        file
    }

    fn skip_fixed(&mut self) -> Result<(), Error> {
        self.mark_fixed(self.next);
        let next = self.next.checked_add(1).filter(|next| *next <= u32::MAX / PAGES_PER_EXTENT);
        self.next = next.ok_or(Error::FileFull { file: self.id })?;
        Ok(())
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

    /// What an extent is used for.
    pub(super) fn extent_use(&self, index: u32) -> ExtentUse {
        self.extents.get(index as usize).copied().unwrap_or_default()
    }

    /// The state of a page.
    pub(super) fn page_state(&self, page: u32) -> PfsByte {
        self.pfs.get(page as usize).copied().unwrap_or_default()
    }

    /// Pages of the file.
    pub(super) fn pages(&self) -> u32 {
        self.extents.len() as u32 * PAGES_PER_EXTENT
    }

    /// Does a mixed extent have a free page?
    pub(super) fn has_free_page(&self, index: u32) -> bool {
        Extent { file: self.id, index }.pages().any(|page| !self.page_state(page.page).is_allocated())
    }

    /// The map pages of the file.
    pub(super) fn maps(&self, kind: MapKind) -> impl Iterator<Item = PageId> {
        let (file, pages) = (self.id, self.pages());
        (0..pages)
            .step_by(PAGES_PER_GAM as usize)
            .map(move |first| kind.page_of(PageId { file, page: first }))
    }

    /// The PFS pages of the file.
    pub(super) fn pfs_pages(&self) -> impl Iterator<Item = PageId> {
        let (file, pages) = (self.id, self.pages());
        (0..pages).step_by(PAGES_PER_PFS as usize).map(move |first| PageId { file, page: first }.pfs_page())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_extent_with_fixed_pages_is_handed_out() {
        let mut space = Space::new(&[FileId(1), FileId(3)], 1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..130_000 {
            let extent = space.extent().unwrap();
            assert!(seen.insert(extent));
            assert!(extent.pages().all(|page| fixed_page_type(page).is_none()), "{extent:?}");
        }
        let files: Vec<usize> = [1, 3].map(|id| seen.iter().filter(|e| e.file == FileId(id)).count()).into();
        // The mixed extents at the start of the first file count as filled.
        assert_eq!(files, [64_988, 65_012], "files fill evenly");
        assert_eq!(space.files[0].extent_use(511_232 / 8), ExtentUse::Fixed);
        assert_eq!(space.files[0].page_state(8088), PfsByte(0x44));
        assert_eq!(space.files[0].page_state(511_238), PfsByte(0x44));
        assert_eq!(space.files[0].page_state(511_234), PfsByte(0));
    }

    #[test]
    fn single_pages_come_from_mixed_extents_and_leave_the_reserved_ones_out() {
        let mut space = Space::new(&[FileId(1)], 1);
        let pages: Vec<PageId> = (0..300).map(|_| space.single().unwrap()).collect();
        assert!(RESERVED.iter().all(|page| !pages.contains(page)));
        assert!(pages.iter().all(|page| space.files[0].extent_use(page.extent().index) == ExtentUse::Mixed));
        assert_eq!(pages[0], PageId::new(1, 8));
    }

    #[test]
    fn a_grown_file_has_its_fixed_pages() {
        let mut space = Space::new(&[FileId(1)], 1);
        space.grow_to(1_100_000);
        let file = &space.files[0];
        assert_eq!(file.pages(), 1_100_000);
        assert_eq!(
            file.maps(MapKind::Gam).map(|page| page.page).collect::<Vec<_>>(),
            [2, 511_232, 1_022_464]
        );
        assert_eq!(file.pfs_pages().count(), 1_100_000usize.div_ceil(8088));
        assert!(file.pfs_pages().all(|page| file.page_state(page.page) == PfsByte(0x44)));
    }
}
