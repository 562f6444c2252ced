//! Rows in key order.
//!
//! A scan holds nothing between two rows: it takes the rows of one leaf under the tree's lock, and comes back with the last key
//! it has seen. Whoever changes rows during their own scan meets no lock of their own, and no row twice; rows that come or go
//! behind the scan's place are seen or not.

use std::collections::HashSet;
use std::collections::VecDeque;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::Cell;

use super::page::Node;
use super::{Row, Tree};
use crate::error::Error;

/// Iterator over rows in key order. It ends after an error.
#[derive(Debug)]
pub struct Scan<'t> {
    tree: &'t Tree,
    /// What all keys begin with.
    prefix: Vec<u8>,
    /// The last key seen.
    after: Option<Vec<u8>>,
    rows: VecDeque<Row>,
    has_ghosts: bool,
    is_done: bool,
}

impl Tree {
    /// The rows whose first key columns have these values; all rows when there are none.
    ///
    /// # Errors
    /// The key has fewer columns.
    pub fn scan(&self, prefix: &[Cell<'_>]) -> Result<Scan<'_>, Error> {
        let prefix = self.shape.prefix(prefix)?;
        Ok(Scan { tree: self, prefix, after: None, rows: VecDeque::new(), has_ghosts: false, is_done: false })
    }

    /// The same with ghosts among the rows: whoever deleted one may take that back.
    ///
    /// # Errors
    /// As for [`scan`](Self::scan).
    pub fn scan_all(&self, prefix: &[Cell<'_>]) -> Result<Scan<'_>, Error> {
        Ok(Scan { has_ghosts: true, ..self.scan(prefix)? })
    }
}

impl Scan<'_> {
    /// Takes rows from the next leaf that has some.
    fn fill(&mut self) -> Result<(), Error> {
        let _shared = self.tree.shared()?;
        let from = self.after.as_deref().unwrap_or(&self.prefix);
        let Some(path) = self.tree.descend(from)? else {
            self.is_done = true;
            return Ok(());
        };
        let (mut page, mut seen) = (path.leaf, HashSet::new());
        while self.rows.is_empty() && !self.is_done {
            if !seen.insert(page) {
                return Err(Error::Corrupt { page, what: "comes twice in its chain" });
            }
            page = self.take(page)?;
            self.is_done |= page.is_none();
        }
        Ok(())
    }

    /// Takes the rows of a leaf; returns the next one.
    fn take(&mut self, page: PageId) -> Result<PageId, Error> {
        let guard = self.tree.read(page)?;
        let node = self.tree.node(page, &guard)?;
        if !node.is_leaf() {
            return Err(Error::Corrupt { page, what: "stands among the leaves" });
        }
        let first = match &self.after {
            Some(after) => node.upper_bound(0, after)?,
            None => node.lower_bound(0, &self.prefix)?,
        };
        let mut key = Vec::new();
        for slot in first..node.slot_count() {
            node.key_into(slot, &mut key)?;
            if !key.starts_with(&self.prefix) {
                self.is_done = true;
                break;
            }
            self.take_row(node, slot, &key)?;
        }
        Ok(node.next())
    }

    fn take_row(&mut self, node: Node<'_>, slot: u16, key: &[u8]) -> Result<(), Error> {
        if self.after.as_deref().is_some_and(|after| after > key) {
            return Err(Error::Corrupt { page: node.id(), what: "has keys that are out of order" });
        }
        match &mut self.after {
            Some(after) => key.clone_into(after),
            none => *none = Some(key.to_vec()),
        }
        if self.has_ghosts || !node.is_ghost(slot)? {
            self.rows.push_back(Row { bytes: node.row(slot)?.to_vec(), at: Rid::new(node.id(), slot) });
        }
        Ok(())
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows.is_empty()
            && !self.is_done
            && let Err(error) = self.fill()
        {
            self.is_done = true;
            return Some(Err(error));
        }
        self.rows.pop_front().map(Ok)
    }
}
