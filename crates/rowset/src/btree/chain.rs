//! The leaves of a tree along their links, whatever their keys are: how a tree is read whose keys
//! are not in the order of their sort keys.
//!
//! ```text
//! root ─▶ leftmost leaf ⇄ leaf ⇄ leaf      no key is read
//! ```
//!
//! Invariants
//! - Each leaf is read once: a chain that returns to one of its leaves is an error.
//! - The caller ensures that the structure of the tree does not change meanwhile. Rows of a tree
//!   out of order are not changed at all.

use std::collections::BTreeSet;

use extentdb_base::PageId;
use extentdb_buffer::PageReadGuard;

use super::Tree;
use super::leaf_rows::LeafRows;
use super::page::{Node, is_ghost};
use crate::error::Error;

/// Which ghosts are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ghosts {
    /// Ghosts are no rows.
    Skipped,
    /// All, like rows.
    Included,
}

/// Iterator over the leaves of a tree that have rows. It ends after an error.
#[derive(Debug)]
pub struct LeafChain<'t> {
    tree: &'t Tree,
    ghosts: Ghosts,
    seen: BTreeSet<PageId>,
    /// `None` before the first leaf; no page past the last one.
    next: Option<PageId>,
}

impl Tree {
    /// The leaves along their links, from the leftmost one on.
    pub fn leaf_chain(&self, ghosts: Ghosts) -> LeafChain<'_> {
        LeafChain { tree: self, ghosts, seen: BTreeSet::new(), next: None }
    }
}

impl LeafChain<'_> {
    /// The leaf at the end of the next link; `None` past the last one.
    fn latch(&mut self) -> Result<Option<PageReadGuard>, Error> {
        let guard = match self.next {
            Some(page) if page.is_none() => return Ok(None),
            Some(page) => Some(self.tree.read(page)?),
            // No key is below the empty one.
            None => self.tree.leaf::<PageReadGuard>(&[])?,
        };
        if let Some(guard) = &guard
            && !self.seen.insert(guard.id())
        {
            return Err(Error::Corrupt { page: guard.id(), what: "occurs twice in its chain" });
        }
        Ok(guard)
    }

    fn read_leaf(&mut self) -> Result<Option<LeafRows>, Error> {
        while let Some(guard) = self.latch()? {
            let node = self.tree.node(guard.id(), &guard)?;
            if !node.is_leaf() {
                return Err(Error::Corrupt {
                    page: guard.id(),
                    what: "is no leaf, and linked as one",
                });
            }
            self.next = Some(node.next());
            let rows = rows_of(node, self.ghosts)?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

fn rows_of(node: Node<'_>, ghosts: Ghosts) -> Result<LeafRows, Error> {
    let mut rows = LeafRows::of(node.id(), usize::from(node.slot_count()), true);
    for slot in 0..node.slot_count() {
        let row = node.row(slot)?;
        if ghosts == Ghosts::Included || !is_ghost(row) {
            rows.push(slot, row);
        }
    }
    Ok(rows)
}

impl Iterator for LeafChain<'_> {
    type Item = Result<LeafRows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.read_leaf().transpose();
        if !matches!(found, Some(Ok(_))) {
            self.next = Some(PageId::NONE);
        }
        found
    }
}
