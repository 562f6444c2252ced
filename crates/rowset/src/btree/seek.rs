//! From the root down to the leaf of a key.
//!
//! ```text
//! version ──▶ root: SH, slot, release ──▶ … ──▶ leaf: SH or EX ──▶ is the version the same? the leaf is the right one
//!                                                                 changed? restart from the root
//! ```
//!
//! A descent holds one latch at a time, and none while it waits for the next. Why that is correct
//! is in the [module above](super).

use std::ops::Deref;

use extentdb_base::sync::{lock, thread};
use extentdb_base::{Lsn, PageId, Rid};
use extentdb_buffer::{PageReadGuard, PageWriteGuard, Pool};
use extentdb_catalog::layout::Cell;
use extentdb_format::PageBytes;

use super::page::{Node, Position, is_ghost};
use super::{Row, Tree};
use crate::error::Error;
use crate::version::Versions;

/// Deeper than any tree: a fan-out of two would reach 2^32 pages.
pub(super) const LEVELS_MAX: usize = 40;
/// A descent that has met a change of the structure so often keeps it still.
const RESTARTS_MAX: usize = 4;

/// Spinning on a latched page: attempts in all, attempts before the thread yields, and spins
/// between two attempts.
const TURNS: u32 = if cfg!(shuttle) { 0 } else { 64 };
const TURNS_BUSY: u32 = 16;
const PAUSES: u32 = 32;

/// The target of a descent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Towards<'k> {
    /// To the leaf where a key is or would be.
    Key(&'k [u8]),
    /// To the leaf with the last key before this one, or with the last of all.
    Before(Option<&'k [u8]>),
}

/// How the leaf at the end is latched.
pub(super) trait LeafGuard: Deref<Target = PageBytes> + Sized {
    fn latch(pool: &Pool, page: PageId) -> Result<Self, extentdb_buffer::Error>;
}

/// What is kept of the pages above the leaf.
pub(super) trait Trail: Default {
    fn step(&mut self, node: Node<'_>, slot: u16) -> Result<(), Error>;
}

/// A page above the leaves on the path of a descent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PathStep {
    pub(super) page: PageId,
    /// The slot that points to the next page of the path.
    pub(super) slot: u16,
}

/// The fence keys of a leaf: the separators around the path to it. Its keys lie between them.
#[derive(Default, Debug)]
pub(super) struct Fence {
    /// No key of the leaf is below; `None` for the first leaf.
    pub(super) low: Option<Vec<u8>>,
    /// All keys of the leaf are below; `None` for the last leaf.
    pub(super) high: Option<Vec<u8>>,
}

/// How a descent ended.
enum Reached<G, T> {
    Leaf(G, T),
    /// The tree has no pages.
    Nothing,
    /// The structure has changed during the descent.
    Moved,
}

impl Tree {
    /// The row whose key columns have these values, all of them, in the order of the key. Space
    /// looks for the row of the tree's own unit from inside of its operations, too: they hold no
    /// latch then, and while they hold `structure` no descent restarts.
    ///
    /// # Errors
    /// The values are not those of a key, or a page of the tree cannot be read.
    pub fn find(&self, key: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        self.find_key(&self.whole_key(key)?)
    }

    /// The row with a sort key ([`RowShape::prefix`](crate::RowShape::prefix)).
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn find_key(&self, key: &[u8]) -> Result<Option<Row>, Error> {
        let Some(page) = self.leaf::<PageReadGuard>(key)? else { return Ok(None) };
        let node = self.node(page.id(), &page)?;
        match node.position(key)? {
            Position::Live(slot) => Ok(Some(Row {
                bytes: node.row(slot)?.to_vec(),
                at: Rid::new(page.id(), slot),
            })),
            Position::Ghost(_) | Position::Free(_) => Ok(None),
        }
    }

    /// The same, unless an open transaction may have changed its leaf: `None` then, or without such
    /// a row. `oldest_open` returns the begin of the oldest open transaction; it is called while
    /// the leaf is latched.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn find_settled(
        &self,
        key: &[u8],
        oldest_open: impl Fn() -> Option<Lsn>,
    ) -> Result<Option<Row>, Error> {
        let Some(page) = self.leaf::<PageReadGuard>(key)? else { return Ok(None) };
        let node = self.node(page.id(), &page)?;
        if oldest_open().is_some_and(|open| node.view.header().lsn() >= open) {
            return Ok(None);
        }
        match node.position(key)? {
            Position::Live(slot) => Ok(Some(Row {
                bytes: node.row(slot)?.to_vec(),
                at: Rid::new(page.id(), slot),
            })),
            Position::Ghost(_) | Position::Free(_) => Ok(None),
        }
    }

    /// The newest record with a sort key, be it a ghost.
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn newest(&self, key: &[u8]) -> Result<Option<Row>, Error> {
        let Some(page) = self.leaf::<PageReadGuard>(key)? else { return Ok(None) };
        let node = self.node(page.id(), &page)?;
        match node.position(key)? {
            Position::Live(slot) | Position::Ghost(slot) => Ok(Some(Row {
                bytes: node.row(slot)?.to_vec(),
                at: Rid::new(page.id(), slot),
            })),
            Position::Free(_) => Ok(None),
        }
    }

    /// The row with a sort key as a snapshot sees it.
    ///
    /// # Errors
    /// A page of the tree cannot be read, or the version store fails.
    pub fn find_seen(&self, key: &[u8], versions: Versions<'_>) -> Result<Option<Row>, Error> {
        let Some(page) = self.leaf::<PageReadGuard>(key)? else { return Ok(None) };
        let node = self.node(page.id(), &page)?;
        let (Position::Live(slot) | Position::Ghost(slot)) = node.position(key)? else {
            return Ok(None);
        };
        let row = node.row(slot)?;
        let seen = if node.view.header().has_version_info() {
            versions.resolve(row)?
        } else {
            Some(row.into()).filter(|_| !is_ghost(row))
        };
        Ok(seen.map(|row| Row { bytes: row.into_owned(), at: Rid::new(page.id(), slot) }))
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

    /// The leaf where a key is or would be; `None` in a tree without pages.
    pub(super) fn leaf<G: LeafGuard>(&self, key: &[u8]) -> Result<Option<G>, Error> {
        Ok(self.descend::<G, ()>(Towards::Key(key))?.map(|(leaf, ())| leaf))
    }

    /// The same, latched to be changed, in a tree that has pages.
    pub(super) fn leaf_to_change(&self, key: &[u8]) -> Result<PageWriteGuard, Error> {
        self.leaf(key)?.ok_or(Error::NotFound { unit: self.unit.id() })
    }

    /// Latches a leaf; `None` in a tree without pages. Never called while a page of the tree is
    /// latched.
    pub(super) fn descend<G: LeafGuard, T: Trail>(
        &self,
        towards: Towards<'_>,
    ) -> Result<Option<(G, T)>, Error> {
        self.restarting(|version| match self.try_descend(towards, version)? {
            Reached::Leaf(guard, trail) => Ok(Some(Some((guard, trail)))),
            Reached::Nothing => Ok(Some(None)),
            Reached::Moved => Ok(None),
        })
    }

    /// Repeats a descent until the structure does not change meanwhile. `attempt` gets the version
    /// to compare with, and returns `None` when it has changed.
    pub(super) fn restarting<R>(
        &self,
        attempt: impl Fn(u64) -> Result<Option<R>, Error>,
    ) -> Result<R, Error> {
        for _ in 0..RESTARTS_MAX {
            if let Some(found) = attempt(self.version())? {
                return Ok(found);
            }
        }
        // A holder of `structure` never restarts: no other thread moves rows meanwhile.
        let _still = lock(&self.structure);
        loop {
            if let Some(found) = attempt(self.version())? {
                return Ok(found);
            }
        }
    }

    /// `version` was read before the root is.
    fn try_descend<G: LeafGuard, T: Trail>(
        &self,
        towards: Towards<'_>,
        version: u64,
    ) -> Result<Reached<G, T>, Error> {
        self.verify_whole()?;
        let mut page = self.unit.root();
        let mut is_leaf = false;
        let mut trail = T::default();
        if page.is_none() {
            return Ok(Reached::Nothing);
        }
        for _ in 0..LEVELS_MAX {
            if is_leaf {
                let guard = G::latch(self.space.pool(), page);
                if self.version() != version {
                    return Ok(Reached::Moved);
                }
                let guard = guard?;
                if self.node(page, &guard)?.is_leaf() {
                    // A failed rollback sets `unusable` before it releases its pages.
                    self.verify_whole()?;
                    return Ok(Reached::Leaf(guard, trail));
                }
            }
            let guard = self.read(page);
            if self.version() != version {
                return Ok(Reached::Moved);
            }
            let guard = guard?;
            let node = self.node(page, &guard)?;
            is_leaf = node.is_leaf();
            if !is_leaf {
                let slot = towards.slot_on(node)?;
                trail.step(node, slot)?;
                (page, is_leaf) = (node.child(slot)?, node.is_right_above_leaves());
            }
        }
        Err(Error::Corrupt { page, what: "is deeper than a tree can be" })
    }
}

impl Towards<'_> {
    /// The slot of a page above the leaves that points to the target.
    fn slot_on(self, node: Node<'_>) -> Result<u16, Error> {
        match self {
            Towards::Key(key) => node.child_slot(key),
            Towards::Before(key) => node.slot_before(key),
        }
    }
}

impl LeafGuard for PageReadGuard {
    fn latch(pool: &Pool, page: PageId) -> Result<Self, extentdb_buffer::Error> {
        pool.read(page)
    }
}

impl LeafGuard for PageWriteGuard {
    fn latch(pool: &Pool, page: PageId) -> Result<Self, extentdb_buffer::Error> {
        write_spinning(pool, page)
    }
}

/// A page, latched EX. Another holder keeps it for a few microseconds, and sleeping and waking
/// takes many times that: the caller spins for a while before it queues.
pub(super) fn write_spinning(
    pool: &Pool,
    page: PageId,
) -> Result<PageWriteGuard, extentdb_buffer::Error> {
    for turn in 0..TURNS {
        if let Some(guard) = pool.try_write(page)? {
            return Ok(guard);
        }
        if turn < TURNS_BUSY {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
        } else {
            // Its holder may need the processor.
            thread::yield_now();
        }
    }
    pool.write(page)
}

impl Trail for () {
    fn step(&mut self, _: Node<'_>, _: u16) -> Result<(), Error> {
        Ok(())
    }
}

/// The root first.
impl Trail for Vec<PathStep> {
    fn step(&mut self, node: Node<'_>, slot: u16) -> Result<(), Error> {
        self.push(PathStep { page: node.id(), slot });
        Ok(())
    }
}

impl Trail for Fence {
    fn step(&mut self, node: Node<'_>, slot: u16) -> Result<(), Error> {
        // The first record has the key of the one that led here, or none at all.
        if slot > 0 {
            node.key_into(slot, self.low.get_or_insert_default())?;
        }
        if slot + 1 < node.slot_count() {
            node.key_into(slot + 1, self.high.get_or_insert_default())?;
        }
        Ok(())
    }
}
