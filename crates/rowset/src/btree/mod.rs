//! B-trees: clustered and nonclustered indexes of the base tables.
//!
//! ```text
//! level 2                 [ –∞→A │ m→B ]                    one root page: unit.root()
//! level 1      A [ –∞→1 │ d→2 │ g→3 ]  ⇄  B [ m→4 │ s→5 ]   separators: key columns and child page
//! level 0      1 ⇄ 2 ⇄ 3 ⇄ 4 ⇄ 5                            rows in key order; ghosts keep their place
//! ```
//!
//! A separator is the first key of its child at the time of the split: not more than any key there. The first record of the
//! leftmost page of a level above the leaves has no key and stands below everything.
//!
//! Who does what:
//!
//! ```text
//! seek, scan       from the root down, then along the leaves                          seek.rs, scan.rs
//! insert           INSERT_ROWS; a ghost of the same key comes back by MODIFY_ROW      insert.rs
//! replace          MODIFY_ROW of the bytes that differ                                replace.rs
//! delete           DELETE_ROWS that marks the row as a ghost                          delete.rs
//! expunge_ghosts   EXPUNGE_ROWS, later, without a transaction                         ghost.rs
//! (no room)        a system transaction that splits one page or sets a root on top    split.rs
//! undo             finds the row by its key and compensates                           undo.rs
//! ```
//!
//! Invariants
//! - Between two operations the pages are a sound tree: order, links in both directions, separators, levels.
//! - A page is changed only by [`extentdb_space::change`]: what is not in the log did not happen.
//! - No latch of a page of the tree is held while space is asked for a page or a pointer of the unit is set.
//! - Nothing is logged before it is certain that the page takes it.

mod delete;
mod ghost;
mod insert;
mod page;
mod replace;
mod scan;
mod seek;
mod split;
#[cfg(test)]
mod tests;
mod undo;

use std::collections::BTreeSet;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard, lock, read, write};
use extentdb_base::{PageId, Rid};
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::{Space, Unit};

use crate::error::Error;
use crate::layout::RowShape;

pub use scan::{KeyRange, LeafRows, Leaves, Scan};

/// A B-tree. There is one of these per allocation unit: its lock is what keeps operations apart.
#[derive(Debug)]
pub struct Tree {
    space: Arc<Space>,
    unit: Arc<Unit>,
    shape: RowShape,
    lock: RwLock<()>,
    /// Leaves that have got ghosts since they were looked at last.
    haunted: Mutex<BTreeSet<PageId>>,
    /// A change of several pages was cut off by an error.
    is_cut_off: AtomicBool,
}

/// A row as it lies in its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its record; [`RowShape::decode`] reads it.
    pub bytes: Vec<u8>,
    /// Where it lay when it was read.
    pub at: Rid,
}

impl Row {
    /// Is it deleted, and only still there?
    pub fn is_ghost(&self) -> bool {
        page::is_ghost(&self.bytes)
    }
}

impl Tree {
    /// The tree of a unit. All its keys are unique: those of indexes that are not have what leads to the row at their end.
    pub fn new(space: Arc<Space>, unit: Arc<Unit>, shape: RowShape) -> Tree {
        let (haunted, is_cut_off) = (Mutex::default(), AtomicBool::new(false));
        Tree { space, unit, shape, lock: RwLock::new(()), haunted, is_cut_off }
    }

    /// How its rows are laid out.
    pub fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.unit
    }

    /// A leaf has ghosts.
    fn haunt(&self, page: PageId) {
        lock(&self.haunted).insert(page);
    }

    fn shared(&self) -> Result<RwLockReadGuard<'_, ()>, Error> {
        let guard = read(&self.lock);
        self.verify_whole()?;
        Ok(guard)
    }

    fn exclusive(&self) -> Result<RwLockWriteGuard<'_, ()>, Error> {
        let guard = write(&self.lock);
        self.verify_whole()?;
        Ok(guard)
    }

    fn verify_whole(&self) -> Result<(), Error> {
        let is_cut_off = self.is_cut_off.load(Ordering::Acquire);
        if is_cut_off { Err(Error::CutOff { unit: self.unit.id() }) } else { Ok(()) }
    }

    /// From now on every operation fails.
    fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Release);
    }

    /// Counts rows that come or go, and does what makes them. Counted before it is logged: a checkpoint in between counts what the
    /// log behind it explains.
    fn counted<T>(&self, delta: i64, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.unit.count_rows(delta);
        work().inspect_err(|_| self.unit.count_rows(-delta))
    }

    /// The context of log records about its leaf rows.
    fn leaf_context(&self) -> Context {
        if self.shape.is_base() { Context::CLUSTERED } else { Context::INDEX_LEAF }
    }

    fn leaf_kind(&self) -> PageType {
        if self.shape.is_base() { PageType::Data } else { PageType::Index }
    }
}
