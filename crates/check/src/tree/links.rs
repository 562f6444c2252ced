//! The links of B-trees whose multiset hashes do not balance, exactly (`docs/check.md` 22).
//!
//! A fact for each page and one for each child pointer are compared. The facts come from a second
//! read of the unit, or are put together from what its sketches name: see [`tree`](crate::tree).

use extentdb_base::PageId;

use crate::unit::UnitIndex;

mod compare;
mod index;

pub(crate) use compare::verify_links;

/// A page of a B-tree as its header describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageFact {
    pub(crate) page: u32,
    pub(crate) prev: u32,
    pub(crate) next: u32,
    pub(crate) unit: UnitIndex,
    pub(crate) file: u16,
    pub(crate) prev_file: u16,
    pub(crate) next_file: u16,
    pub(crate) level: u8,
    /// A data page, or a leaf page of a nonclustered index.
    pub(crate) is_leaf: bool,
}

impl PageFact {
    pub(crate) fn id(&self) -> PageId {
        PageId::new(self.file, self.page)
    }

    pub(crate) fn prev(&self) -> PageId {
        PageId::new(self.prev_file, self.prev)
    }

    pub(crate) fn next(&self) -> PageId {
        PageId::new(self.next_file, self.next)
    }
}

/// A child pointer on a non-leaf page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChildFact {
    pub(crate) parent: u32,
    pub(crate) child: u32,
    pub(crate) parent_file: u16,
    pub(crate) child_file: u16,
    pub(crate) slot: u16,
}

impl ChildFact {
    pub(crate) fn parent(&self) -> PageId {
        PageId::new(self.parent_file, self.parent)
    }

    pub(crate) fn child(&self) -> PageId {
        PageId::new(self.child_file, self.child)
    }
}

#[cfg(test)]
mod tests;
