//! What lies beside a place between two keys: rows of its leaf, ghosts among them, or, where the leaf begins or ends there, the
//! separator that leads past it.
//!
//! ```text
//! leaf [ c e ]      between c and e:  c, e         before c:  the separator of the leaf, e
//! ```
//!
//! A separator stands for the rows on its other side: they are all below it, or none of them is. It counts by itself, too: the way
//! to a row goes by separators, and the row that one was made of may be gone.

use extentdb_base::PageId;
use extentdb_buffer::PageReadGuard;
use extentdb_catalog::layout::{Cell, Level};
use extentdb_format::record::Record;

use super::Tree;
use super::page::Node;
use super::scan::behind;
use super::seek::{Towards, Trail};
use crate::error::Error;

/// A place between two keys that may be there.
#[derive(Clone, Copy, Debug)]
pub enum Edge<'k> {
    /// Before all keys that begin with these bytes ([`RowShape::prefix`](crate::RowShape::prefix)).
    Before(&'k [u8]),
    /// Behind them.
    Behind(&'k [u8]),
}

/// The key of a row, a ghost, or a separator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The values of its columns, in key order.
    pub cells: Vec<Cell<'static>>,
}

/// The keys beside a place.
#[derive(Clone, Default, Debug)]
pub struct Beside {
    /// The last one before it; `None` at the beginning of the tree. A separator may lie at the place itself.
    pub before: Option<Key>,
    /// The first one behind it; `None` at the end of the tree.
    pub behind: Option<Key>,
}

/// The separators beside the way to a leaf, as records.
#[derive(Default)]
struct Separators {
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
}

impl Tree {
    /// The keys beside a place.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn beside(&self, edge: Edge<'_>) -> Result<Beside, Error> {
        let place = match edge {
            Edge::Before(prefix) => Some(prefix.to_vec()),
            Edge::Behind(prefix) => behind(prefix),
        };
        let towards = place.as_deref().map_or(Towards::Before(None), Towards::Key);
        let Some((leaf, separators)) = self.descend::<PageReadGuard, Separators>(towards)? else {
            return Ok(Beside::default());
        };
        let node = self.node(leaf.id(), &leaf)?;
        let slot = match &place {
            Some(place) => node.lower_bound(0, place)?,
            None => node.slot_count(),
        };
        let before = match slot.checked_sub(1) {
            Some(slot) => Some(self.key_at(node, slot)?),
            None => self.separator(leaf.id(), separators.low.as_deref())?,
        };
        let behind = match slot < node.slot_count() {
            true => Some(self.key_at(node, slot)?),
            false => self.separator(leaf.id(), separators.high.as_deref())?,
        };
        Ok(Beside { before, behind })
    }

    /// The separator at the end of the leaf where a key is or would be; `None` for the last leaf.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn separator_behind(&self, key: &[u8]) -> Result<Option<Key>, Error> {
        let found = self.descend::<PageReadGuard, Separators>(Towards::Key(key))?;
        let Some((leaf, separators)) = found else { return Ok(None) };
        self.separator(leaf.id(), separators.high.as_deref())
    }

    fn key_at(&self, node: Node<'_>, slot: u16) -> Result<Key, Error> {
        self.key_of(&node.record(slot)?, Level::Leaf)
    }

    fn separator(&self, beside: PageId, record: Option<&[u8]>) -> Result<Option<Key>, Error> {
        let of_record = |bytes| {
            let record = Record::parse_index(bytes, self.shape.pminlen(Level::Interior));
            self.key_of(&record, Level::Interior)
        };
        let corrupt =
            |_| Error::Corrupt { page: beside, what: "lies beside a separator that does not add up" };
        record.map(of_record).transpose().map_err(corrupt)
    }

    fn key_of(&self, record: &Record<'_>, level: Level) -> Result<Key, Error> {
        Ok(Key { bytes: self.shape.key(record, level)?, cells: self.shape.key_cells(record, level)? })
    }
}

impl Trail for Separators {
    fn step(&mut self, node: Node<'_>, slot: u16) -> Result<(), Error> {
        // The first record has the key of the one that led here, or none at all.
        if slot > 0 {
            self.low = Some(node.row(slot)?.to_vec());
        }
        if slot + 1 < node.slot_count() {
            self.high = Some(node.row(slot + 1)?.to_vec());
        }
        Ok(())
    }
}
