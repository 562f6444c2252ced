//! The pages of an allocation unit by its IAM chain, and those of a heap among them.
//!
//! A page is in use when an IAM page of the unit lists it, singly or by its extent, and PFS says it
//! is allocated. Only then may it be read: other pages hold anything.

use std::collections::HashSet;
use std::vec;

use extentdb_base::{AllocUnitId, FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::{PageHeader, PageType};

use crate::error::Fault;
use crate::pages::PageGetter;

/// Iterator over the ids of a unit's allocated pages, IAM pages excluded, in the order of its IAM
/// pages.
pub struct AllocatedPages<'g> {
    pages: &'g dyn PageGetter,
    unit: AllocUnitId,
    next_iam: PageId,
    from: PageId,
    seen: HashSet<PageId>,
    /// An IAM page could not be read: what it and its successors list is not known.
    is_cut: bool,
    absent_files: AbsentFiles,
    /// Pages listed by the current IAM page that are still to come.
    listed: IamPages,
    pfs: PageBuf,
    pfs_id: PageId,
}

/// What becomes of pages in files that are not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AbsentFiles {
    /// They are passed over, except for single pages, whose PFS page is then a fault.
    PassedOver,
    /// They are listed, whether they are allocated or not: the PFS page that knows is not there
    /// either.
    Listed,
}

/// What one IAM page lists: eight single pages, then extents.
#[derive(Default)]
struct IamPages {
    singles: vec::IntoIter<PageId>,
    extents: vec::IntoIter<(PageId, u32)>,
    /// Next page of the current extent run and how many pages are left of it.
    run: Option<(PageId, u32)>,
}

impl IamPages {
    /// Extents end with their file; the pages of a file of unknown size are all listed.
    fn of(iam: IamView<'_>, pages_in_file: Option<u32>) -> IamPages {
        let mut runs: Vec<(PageId, u32)> = Vec::new();
        for extent in iam.extents() {
            let first = extent.first_page();
            let len = pages_in_file.map_or(8, |pages| pages.saturating_sub(first.page).min(8));
            match runs.last_mut() {
                _ if len == 0 => break,
                Some((start, n)) if start.page + *n == first.page => *n += len,
                _ => runs.push((first, len)),
            }
        }
        let singles: Vec<PageId> = iam.single_pages().collect();
        IamPages {
            singles: singles.into_iter(),
            extents: runs.into_iter(),
            run: None,
        }
    }
}

impl Iterator for IamPages {
    type Item = PageId;

    fn next(&mut self) -> Option<PageId> {
        if let Some(page) = self.singles.next() {
            return Some(page);
        }
        if self.run.is_none_or(|(_, left)| left == 0) {
            self.run = self.extents.next();
        }
        let (page, left) = self.run.as_mut()?;
        let current = *page;
        page.page = page.page.wrapping_add(1);
        *left -= 1;
        Some(current)
    }
}

impl<'g> AllocatedPages<'g> {
    /// Starts at the unit's first IAM page; (0:0) for a unit without pages.
    pub fn new(pages: &'g dyn PageGetter, unit: AllocUnitId, first_iam: PageId) -> Self {
        AllocatedPages {
            pages,
            unit,
            next_iam: first_iam,
            from: PageId::NONE,
            seen: HashSet::new(),
            is_cut: false,
            absent_files: AbsentFiles::PassedOver,
            listed: IamPages::default(),
            pfs: PageBuf::zeroed(),
            pfs_id: PageId::NONE,
        }
    }

    /// Lists the pages of files that are not there, too, so that the caller learns of each.
    #[must_use]
    pub fn with_absent_files(self) -> Self {
        AllocatedPages { absent_files: AbsentFiles::Listed, ..self }
    }

    /// True once an IAM page could not be read, so that the list may lack pages.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn lists_absent(&self, file: FileId) -> bool {
        self.absent_files == AbsentFiles::Listed && self.pages.page_count(file) == 0
    }

    fn open_iam(&mut self) -> Result<(), Fault> {
        let id = self.next_iam;
        let from = self.from;
        // Whatever happens, the chain does not come here again.
        self.next_iam = PageId::NONE;
        if !self.seen.insert(id) {
            return Err(Fault::Loop { page: id, from });
        }
        let mut page = PageBuf::zeroed();
        self.pages.page(id, &mut page)?;
        let iam = IamView::new(&page);
        if iam.header().kind() != PageType::Iam {
            return Err(Fault::Misplaced { page: id, what: "not an IAM page", from });
        }
        if iam.header().alloc_unit() != self.unit {
            let found = iam.header().alloc_unit();
            return Err(Fault::Foreign { page: id, expected: self.unit, found });
        }
        let file = iam.interval().file;
        let pages_in_file = (!self.lists_absent(file)).then(|| self.pages.page_count(file));
        self.listed = IamPages::of(iam, pages_in_file);
        (self.from, self.next_iam) = (id, iam.header().next());
        Ok(())
    }

    fn is_allocated(&mut self, page: PageId) -> Result<bool, Fault> {
        let pfs = page.pfs_page();
        if self.pfs_id != pfs {
            self.pfs_id = PageId::NONE;
            self.pages.page(pfs, &mut self.pfs)?;
            if PageHeader::of(&self.pfs).kind() != PageType::Pfs {
                return Err(Fault::Misplaced { page: pfs, what: "not a PFS page", from: page });
            }
            self.pfs_id = pfs;
        }
        Ok(PfsView::new(&self.pfs).entry(page.page).is_allocated())
    }
}

impl Iterator for AllocatedPages<'_> {
    type Item = Result<PageId, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(page) = self.listed.next() else {
                if self.next_iam.is_none() {
                    return None;
                }
                match self.open_iam() {
                    Ok(()) => continue,
                    Err(fault) => {
                        self.is_cut = true;
                        return Some(Err(fault));
                    }
                }
            };
            if self.lists_absent(page.file) {
                return Some(Ok(page));
            }
            match self.is_allocated(page) {
                Ok(true) => return Some(Ok(page)),
                Ok(false) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }
}

/// Iterator over the data pages of a heap.
pub struct HeapPages<'g> {
    allocated: AllocatedPages<'g>,
}

impl<'g> HeapPages<'g> {
    /// Starts at the heap's first IAM page.
    pub fn new(pages: &'g dyn PageGetter, unit: AllocUnitId, first_iam: PageId) -> Self {
        HeapPages { allocated: AllocatedPages::new(pages, unit, first_iam) }
    }
}

impl Iterator for HeapPages<'_> {
    type Item = Result<(PageId, PageBuf), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = match self.allocated.next()? {
                Ok(id) => id,
                Err(fault) => return Some(Err(fault)),
            };
            let mut page = PageBuf::zeroed();
            if let Err(error) = self.allocated.pages.page(id, &mut page) {
                return Some(Err(error.into()));
            }
            let header = PageHeader::of(&page);
            let unit = self.allocated.unit;
            match header.kind() {
                PageType::Data if header.belongs_to(unit) => return Some(Ok((id, page))),
                // Allocated but never formatted: no rows yet.
                PageType::Unformatted => {}
                PageType::Data => {
                    return Some(Err(Fault::Foreign {
                        page: id,
                        expected: unit,
                        found: header.alloc_unit(),
                    }));
                }
                _ => {
                    return Some(Err(Fault::Misplaced {
                        page: id,
                        what: "not a data page",
                        from: self.allocated.from,
                    }));
                }
            }
        }
    }
}
