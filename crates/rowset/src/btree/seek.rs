//! From the root down to the leaf of a key.
//!
//! ```text
//! version ──▶ root: SH, slot, let go ──▶ … ──▶ leaf: SH or EX ──▶ is the version the same? the leaf is the right one
//!                                                                 another? once more from the top
//! ```
//!
//! A descent holds one latch at a time and waits with none in its hands. What makes that right
//! stands in the [module above](super).

use std::ops::Deref;

use extentdb_base::sync::{lock, thread};
use extentdb_base::{Lsn, PageId, Rid};
use extentdb_buffer::{PageReadGuard, PageWriteGuard, Pool};
use extentdb_catalog::layout::Cell;
use extentdb_format::PageBytes;

use super::page::{Node, Position};
use super::{Row, Tree};
use crate::error::Error;

/// Deeper than any tree: a fan-out of two would reach 2^32 pages.
const LEVELS_MAX: usize = 40;
/// A descent that has met a change of the structure so often keeps it still.
const RESTARTS_MAX: usize = 4;

/// Turns of asking for a page that somebody has latched, those without giving the processor away,
/// and what lies between two of them.
const TURNS: u32 = if cfg!(shuttle) { 0 } else { 64 };
const TURNS_BUSY: u32 = 16;
const PAUSES: u32 = 32;

/// Where a descent goes.
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

/// A page above the leaves on the way down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) page: PageId,
    /// The slot that leads to the next page of the way.
    pub(super) slot: u16,
}

/// The separators beside the way to a leaf: its keys lie between them.
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
    /// The structure has changed on the way.
    Moved,
}

impl Tree {
    /// The row whose key columns have these values, all of them, in the order of the key. Space
    /// asks for the row of a tree's own unit from inside of its operations, too: they hold no latch
    /// then, and as long as one keeps the structure every descent arrives at once.
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

    /// The same, unless an open transaction may have changed its leaf: `None` where that is so, or
    /// where there is no such row. `oldest_open` says where the oldest of them began; it is asked
    /// while the leaf is latched.
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

    /// Latches a leaf; `None` in a tree without pages. Whoever holds the latch of a page of the
    /// tree never calls this.
    pub(super) fn descend<G: LeafGuard, T: Trail>(
        &self,
        towards: Towards<'_>,
    ) -> Result<Option<(G, T)>, Error> {
        let mut still = None;
        for restarts in 0.. {
            // Whoever changes the structure himself never comes here: nobody else moves anything
            // meanwhile.
            if restarts == RESTARTS_MAX {
                still = Some(lock(&self.structure));
            }
            match self.try_descend(towards)? {
                Reached::Leaf(guard, trail) => return Ok(Some((guard, trail))),
                Reached::Nothing => break,
                Reached::Moved => {}
            }
        }
        drop(still);
        Ok(None)
    }

    fn try_descend<G: LeafGuard, T: Trail>(
        &self,
        towards: Towards<'_>,
    ) -> Result<Reached<G, T>, Error> {
        self.verify_whole()?;
        let version = self.version();
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
                    // Whoever leaves half a change behind says so before letting go of its pages.
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
        Err(Error::Corrupt { page, what: "lies deeper than a tree can be" })
    }
}

impl Towards<'_> {
    /// The slot of a page above the leaves that leads there.
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
        write_patiently(pool, page)
    }
}

/// A page, latched EX. Whoever has it keeps it for a few microseconds, and going to sleep and being
/// woken takes many times that: it is asked for again for a while before the caller joins those who
/// wait.
pub(super) fn write_patiently(
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
impl Trail for Vec<Step> {
    fn step(&mut self, node: Node<'_>, slot: u16) -> Result<(), Error> {
        self.push(Step { page: node.id(), slot });
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
