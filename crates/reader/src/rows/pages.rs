//! The pages of one rowset that hold its rows, and what is left of them when others cannot be read.
//!
//! ```text
//! heap             IAM chain ───────────────────┐ an IAM page cannot be read
//! clustered index  root, levels, leaves ─┐      ├──▶ all pages of all files with the unit id
//!                a page cannot be read   └──▶ IAM chain
//! ```
//!
//! Each step returns only pages that the previous steps did not. Invariants
//! - A page is read once, even if several structures refer to it.
//! - A page found by a later step counts only when it is allocated in GAM and PFS: stale
//!   pages hold deleted rows.
//! - Only a fault starts the next step: the pages of a sound table come from one structure
//!   alone.

use extentdb_base::PageId;
use extentdb_catalog::access::{AllocatedPages, LeafKind, LeafPages};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind};
use extentdb_catalog::{Fault, PageGetter, Rowset};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageType};

use super::page_set::PageSet;
use super::unit_pages::UnitPages;
use crate::checked::CheckedPages;

/// The pages with the rows of a rowset.
pub(super) struct BasePages<'d> {
    pages: &'d CheckedPages<'d>,
    unit: Option<&'d AllocUnit>,
    walk: PageWalk<'d>,
    /// Pages that were returned or could not be read.
    seen: PageSet,
    shape: Shape,
    /// The structure walked lost a page, and with it the way to others.
    is_cut: bool,
    given: u64,
    absent: u64,
}

/// The kinds of pages that the unit may have besides leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Heap,
    Tree,
}

enum PageWalk<'d> {
    Tree(LeafPages<'d>),
    Allocation(AllocatedPages<'d>),
    Files(Box<UnitPages<'d>>),
    End,
}

impl<'d> BasePages<'d> {
    pub(super) fn of(pages: &'d CheckedPages<'d>, rowset: &'d Rowset) -> BasePages<'d> {
        let unit = rowset.unit(AllocUnitKind::InRow);
        let shape = if rowset.index.0 == 0 { Shape::Heap } else { Shape::Tree };
        let walk = match unit {
            None => PageWalk::End,
            Some(unit) if shape == Shape::Tree && rowset.compression == Compression::None => {
                PageWalk::Tree(LeafPages::new(pages, unit.id, unit.root, LeafKind::Clustered))
            }
            // How the upper levels of a compressed index hold their child pages is not certain; the
            // leaves are found without them.
            Some(unit) => allocation(pages, unit),
        };
        let seen = PageSet::default();
        BasePages {
            pages,
            unit,
            walk,
            seen,
            shape,
            is_cut: false,
            given: 0,
            absent: 0,
        }
    }

    /// Pages that are not in the files or the backup, as far as is known.
    pub(super) fn absent_pages(&self) -> u64 {
        let Some(unit) = self.unit.filter(|_| self.absent > 0) else { return 0 };
        match self.walk {
            // Maps among them: the number of pages they listed follows only from the catalog's
            // count.
            PageWalk::Files(_) | PageWalk::End if self.is_cut => {
                let counted = u64::try_from(unit.pages_data).unwrap_or(0);
                self.absent.max(counted.saturating_sub(self.given))
            }
            _ => self.absent,
        }
    }

    /// Counts a missing page that another structure refers to.
    pub(super) fn note_absent(&mut self, page: PageId, fault: &Fault) {
        if !fault.is_damage() && self.seen.insert(page) {
            self.absent += 1;
        }
    }

    /// Records a fault of a walk; `None` when it was returned before.
    fn fault(&mut self, fault: Fault) -> Option<Fault> {
        match fault.page() {
            Some(page) if !self.seen.insert(page) => None,
            Some(_) if !fault.is_damage() => {
                self.absent += 1;
                Some(fault)
            }
            _ => Some(fault),
        }
    }

    /// Goes on to the next structure; false at the end.
    fn next_walk(&mut self) -> bool {
        let Some(unit) = self.unit else { return false };
        self.walk = match &self.walk {
            PageWalk::Tree(_) if self.is_cut => {
                self.is_cut = false;
                allocation(self.pages, unit)
            }
            PageWalk::Allocation(listed) if listed.is_cut() => {
                self.is_cut = true;
                PageWalk::Files(Box::new(UnitPages::new(self.pages, unit.id)))
            }
            _ => PageWalk::End,
        };
        !matches!(self.walk, PageWalk::End)
    }

    /// A page that maps list or whose header has the unit id; `None` when it holds no rows or was
    /// returned before.
    fn load(&mut self, id: PageId) -> Option<Result<(PageId, PageBuf), Fault>> {
        let unit = self.unit?;
        if !self.seen.insert(id) {
            return None;
        }
        let mut page = PageBuf::zeroed();
        if let Err(error) = self.pages.page(id, &mut page) {
            let fault = Fault::from(error);
            self.absent += u64::from(!fault.is_damage());
            return Some(Err(fault));
        }
        let header = PageHeader::of(&page);
        match header.kind() {
            PageType::Data if header.belongs_to(unit.id) => Some(Ok((id, page))),
            // Allocated but never formatted: no rows yet.
            PageType::Unformatted => None,
            PageType::Index if self.shape == Shape::Tree => None,
            PageType::Data => Some(Err(Fault::Foreign {
                page: id,
                expected: unit.id,
                found: header.alloc_unit(),
            })),
            _ => Some(Err(Fault::Misplaced {
                page: id,
                what: "not a data page",
                from: unit.first_iam,
            })),
        }
    }

    /// The next page, or its id where it must still be read.
    fn next_found(&mut self) -> Option<Result<BasePage, Fault>> {
        match &mut self.walk {
            PageWalk::Tree(leaves) => {
                let leaf = leaves.next()?;
                self.is_cut |= leaf.is_err();
                Some(leaf.map(|(id, page)| BasePage::Read(id, page)))
            }
            PageWalk::Allocation(listed) => Some(listed.next()?.map(BasePage::Listed)),
            PageWalk::Files(files) => Some(files.next()?.map(BasePage::Listed)),
            PageWalk::End => None,
        }
    }
}

enum BasePage {
    Read(PageId, PageBuf),
    Listed(PageId),
}

fn allocation<'d>(pages: &'d CheckedPages<'d>, unit: &AllocUnit) -> PageWalk<'d> {
    PageWalk::Allocation(AllocatedPages::new(pages, unit.id, unit.first_iam).with_absent_files())
}

impl Iterator for BasePages<'_> {
    type Item = Result<(PageId, PageBuf), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match self.next_found() {
                Some(Ok(BasePage::Read(id, page))) => {
                    self.seen.insert(id);
                    Some(Ok((id, page)))
                }
                Some(Ok(BasePage::Listed(id))) => self.load(id),
                Some(Err(fault)) => self.fault(fault).map(Err),
                None if self.next_walk() => None,
                None => return None,
            };
            if let Some(item) = item {
                self.given += u64::from(item.is_ok());
                return Some(item);
            }
        }
    }
}
