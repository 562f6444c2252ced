//! The leaf pages of a B-tree, left to right.
//!
//! The walk starts at the root and follows child pointers; `pgfirst` and sibling links are stale in
//! some real files and play no part. The level of a page decides nothing in a clustered tree: files
//! from SQL Server 2000 have index pages of level 0 directly above data pages, so only the page
//! type tells a leaf.

use std::collections::HashSet;

use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::record::Record;
use extentdb_format::{PageBuf, page::PageRef, page::PageType};

use crate::error::Fault;
use crate::pages::PageGetter;

/// Deeper than any tree: a fan-out of two would reach 2^32 pages.
const LEVELS_MAX: usize = 40;

/// What a leaf of the tree looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// Leaves are data pages.
    Clustered,
    /// Index pages of level 0.
    Nonclustered,
}

/// Iterator over the leaf pages. After a fault it goes on with the next subtree.
pub struct LeafPages<'g> {
    pages: &'g dyn PageGetter,
    unit: AllocUnitId,
    kind: LeafKind,
    /// Pages still to visit of each open level, in reverse order, and the page that names them.
    open: Vec<(PageId, Vec<PageId>)>,
    seen: HashSet<PageId>,
}

impl<'g> LeafPages<'g> {
    /// Starts at `root`; an empty tree has root (0:0).
    pub fn new(pages: &'g dyn PageGetter, unit: AllocUnitId, root: PageId, kind: LeafKind) -> Self {
        let start = if root.is_none() { Vec::new() } else { vec![(PageId::NONE, vec![root])] };
        LeafPages { pages, unit, kind, open: start, seen: HashSet::new() }
    }

    fn next_page(&mut self) -> Option<(PageId, PageId)> {
        loop {
            let (parent, children) = self.open.last_mut()?;
            match children.pop() {
                Some(page) => return Some((*parent, page)),
                None => self.open.pop(),
            };
        }
    }

    fn visit(&mut self, parent: PageId, id: PageId) -> Result<Option<PageBuf>, Fault> {
        let mut page = PageBuf::zeroed();
        self.pages.page(id, &mut page)?;
        let view = PageRef::new(&page);
        let header = view.header();
        if !header.belongs_to(self.unit) {
            return Err(Fault::Foreign {
                page: id,
                expected: self.unit,
                found: header.alloc_unit(),
            });
        }
        let leaf = match (self.kind, header.kind()) {
            (LeafKind::Clustered, PageType::Data) => true,
            (LeafKind::Nonclustered, PageType::Index) => header.level == 0,
            (LeafKind::Clustered, PageType::Index) => false,
            _ => {
                return Err(Fault::Misplaced {
                    page: id,
                    what: "not a page of a B-tree",
                    from: parent,
                });
            }
        };
        if leaf {
            return Ok(Some(page));
        }
        if !self.seen.insert(id) {
            return Err(Fault::Loop { page: id, from: parent });
        }
        if self.open.len() >= LEVELS_MAX {
            return Err(Fault::Misplaced {
                page: id,
                what: "deeper than a B-tree can be",
                from: parent,
            });
        }
        let mut children = child_pages(view);
        children.reverse();
        self.open.push((id, children));
        Ok(None)
    }
}

fn child_pages(view: PageRef<'_>) -> Vec<PageId> {
    let pminlen = view.header().fixed_len.get();
    view.records().filter_map(|(_, bytes)| Record::parse_index(bytes, pminlen).child()).collect()
}

impl Iterator for LeafPages<'_> {
    type Item = Result<(PageId, PageBuf), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (parent, id) = self.next_page()?;
            match self.visit(parent, id) {
                Ok(Some(page)) => return Some(Ok((id, page))),
                Ok(None) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }
}
