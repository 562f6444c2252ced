//! From the root down to the leaf of a key.

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::Cell;

use super::page::{Node, Position};
use super::{Row, Tree};
use crate::error::Error;

/// Deeper than any tree: a fan-out of two would reach 2^32 pages.
const LEVELS_MAX: usize = 40;

/// A page above the leaves on the way down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) page: PageId,
    /// The slot that leads to the next page of the way.
    pub(super) slot: u16,
}

/// The way from the root to a leaf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Path {
    /// The root first.
    pub(super) steps: Vec<Step>,
    pub(super) leaf: PageId,
}

impl Tree {
    /// The row whose key columns have these values, all of them, in the order of the key.
    ///
    /// # Errors
    /// The values are not those of a key, or a page of the tree cannot be read.
    pub fn find(&self, key: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        let _shared = self.shared()?;
        self.find_within(key)
    }

    /// The same from inside an operation of this tree, which holds its lock: space asks for the row of the tree's own unit when
    /// its root changes.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn find_within(&self, key: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        self.find_by(&self.whole_key(key)?)
    }

    /// The row with a sort key ([`RowShape::prefix`](crate::RowShape::prefix)).
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn find_key(&self, key: &[u8]) -> Result<Option<Row>, Error> {
        let _shared = self.shared()?;
        self.find_by(key)
    }

    fn find_by(&self, key: &[u8]) -> Result<Option<Row>, Error> {
        let Some(path) = self.descend(key)? else { return Ok(None) };
        let page = self.read(path.leaf)?;
        let node = self.node(path.leaf, &page)?;
        match node.position(key)? {
            Position::Live(slot) => {
                Ok(Some(Row { bytes: node.row(slot)?.to_vec(), at: Rid::new(path.leaf, slot) }))
            }
            Position::Ghost(_) | Position::Free(_) => Ok(None),
        }
    }

    /// The first row whose first key columns have these values.
    ///
    /// # Errors
    /// The key has fewer columns, or a page of the tree cannot be read.
    pub fn seek(&self, prefix: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        self.scan(prefix)?.next().transpose()
    }

    /// The bytes of a key of which no column is left open.
    pub(super) fn whole_key(&self, key: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        let expected = self.shape.key_columns().len();
        if key.len() != expected {
            return Err(Error::Columns { expected, found: key.len() });
        }
        self.shape.prefix(key)
    }

    /// The way to the leaf where a key is or would be; `None` in a tree without pages.
    pub(super) fn descend(&self, key: &[u8]) -> Result<Option<Path>, Error> {
        self.descend_by(|node| node.child_slot(key))
    }

    /// The way to the leaf with the last key before this one, or with the last of all; `None` in a tree without pages.
    pub(super) fn descend_before(&self, key: Option<&[u8]>) -> Result<Option<Path>, Error> {
        self.descend_by(|node| node.slot_before(key))
    }

    fn descend_by(&self, slot_of: impl Fn(Node<'_>) -> Result<u16, Error>) -> Result<Option<Path>, Error> {
        let mut page = self.unit.root();
        if page.is_none() {
            return Ok(None);
        }
        let mut steps = Vec::new();
        while steps.len() < LEVELS_MAX {
            let guard = self.read(page)?;
            let node = self.node(page, &guard)?;
            if node.is_leaf() {
                return Ok(Some(Path { steps, leaf: page }));
            }
            let slot = slot_of(node)?;
            steps.push(Step { page, slot });
            page = node.child(slot)?;
        }
        Err(Error::Corrupt { page, what: "lies deeper than a tree can be" })
    }
}
