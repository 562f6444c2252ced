//! Link facts in order, and the way from a page to its fact.
//!
//! ```text
//! pages     facts by page id                         (1:8) (1:9) (1:10) … (3:8) …
//! blocks    for each 64 pages of a file, where its facts begin
//! children  pointers by parent, then slot            (1:90,0) (1:90,1) … (1:91,0) …
//! ```
//!
//! Tables are exact: 24 bytes for a page and 16 for a pointer. A look-up is one step into `blocks`
//! and a short search.

use std::collections::BTreeMap;
use std::ops::Range;

use extentdb_base::{FileId, PageId};

use super::{ChildFact, PageFact};
use crate::unit::UnitIndex;

/// Pages of a block.
const BLOCK_PAGES: u32 = 64;

/// Facts of all pages and pointers.
pub(super) struct LinkIndex {
    pages: Vec<PageFact>,
    children: Vec<ChildFact>,
    /// By file: where the facts of each block begin, and where those of the last end.
    blocks: BTreeMap<FileId, Vec<u32>>,
}

impl LinkIndex {
    /// Puts the facts in order. Several for one page cannot be: each page is scanned once.
    pub(super) fn new(mut pages: Vec<PageFact>, mut children: Vec<ChildFact>) -> LinkIndex {
        // Facts come in runs that are in order already; a stable sort uses that.
        pages.sort_by_key(|fact| (fact.file, fact.page));
        children.sort_by_key(|fact| (fact.parent_file, fact.parent, fact.slot));
        let mut blocks: BTreeMap<FileId, Vec<u32>> = BTreeMap::new();
        for (at, fact) in (0u32..).zip(&pages) {
            let starts = blocks.entry(FileId(fact.file)).or_default();
            let block = (fact.page / BLOCK_PAGES) as usize;
            if starts.len() <= block {
                starts.resize(block + 1, at);
            }
        }
        for (file, starts) in &mut blocks {
            starts.push(pages.partition_point(|fact| fact.file <= file.0) as u32);
        }
        LinkIndex { pages, children, blocks }
    }

    /// All pages in order.
    pub(super) fn pages(&self) -> &[PageFact] {
        &self.pages
    }

    /// All pointers in order.
    pub(super) fn children(&self) -> &[ChildFact] {
        &self.children
    }

    /// The fact at an index.
    #[inline]
    pub(super) fn at(&self, place: u32) -> Option<&PageFact> {
        self.pages.get(place as usize)
    }

    /// The index of a page's fact. `near` is where it probably is.
    #[inline]
    pub(super) fn find(&self, page: PageId, near: u32) -> Option<u32> {
        if self.at(near).is_some_and(|fact| fact.id() == page) {
            return Some(near);
        }
        let starts = self.blocks.get(&page.file)?;
        let block = (page.page / BLOCK_PAGES) as usize;
        let start = *starts.get(block)?;
        let end = *starts.get(block + 1)?;
        let facts = self.pages.get(start as usize..end as usize)?;
        let at = facts.binary_search_by_key(&page.page, |fact| fact.page).ok()?;
        Some(start + at as u32)
    }

    /// The fact of a page of a unit.
    pub(super) fn of_unit(&self, page: PageId, unit: UnitIndex) -> Option<&PageFact> {
        let fact = self.at(self.find(page, u32::MAX)?)?;
        (fact.unit == unit).then_some(fact)
    }

    /// The pointers of a page.
    pub(super) fn children_of(&self, parent: PageId) -> Range<usize> {
        let key = |fact: &ChildFact| (fact.parent_file, fact.parent);
        let wanted = (parent.file.0, parent.page);
        let start = self.children.partition_point(|fact| key(fact) < wanted);
        let end = self.children.partition_point(|fact| key(fact) <= wanted);
        start..end
    }
}
