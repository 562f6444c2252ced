//! B-trees: clustered and nonclustered indexes of the base tables.
//!
//! ```text
//! level 2                 [ –∞→A │ m→B ]                    one root page: unit.root()
//! level 1      A [ –∞→1 │ d→2 │ g→3 ]  ⇄  B [ m→4 │ s→5 ]   separators: key columns and child page
//! level 0      1 ⇄ 2 ⇄ 3 ⇄ 4 ⇄ 5                            rows in key order; ghosts keep their place
//! ```
//!
//! A separator is the first key of its child at the time of the split: not more than any key there.
//! The first record of the leftmost page of a level above the leaves has no key and stands below
//! everything.
//!
//! Who does what:
//!
//! ```text
//! seek, scan       from the root down, then along the leaves                          seek.rs, scan.rs
//! leaf_chain       along the links, when keys are not in order                         chain.rs
//! insert           INSERT_ROWS; a ghost of the same key comes back by MODIFY_ROW      insert.rs
//! replace          MODIFY_ROW of the bytes that differ                                replace.rs
//! delete           DELETE_ROWS that marks the row as a ghost                          delete.rs
//! expunge_ghosts   EXPUNGE_ROWS, later, without a transaction                         ghost.rs
//! (no room)        a system transaction that splits one page or sets a root on top    split.rs, system.rs
//!                  where it is cut, by where rows came lately                         cut.rs, habit.rs
//! undo             finds the row by its key and compensates                           undo.rs
//! (shorter row)    what it frees is reserved until its transaction has ended          undo_room.rs
//! build            leaf after leaf from rows in key order, for an empty tree          build.rs, sorted.rs
//! ```
//!
//! Invariants
//! - Between two changes of its structure the pages are a sound tree: order, links in both
//!   directions, separators, levels.
//! - A page is changed only by [`extentdb_change::change`]: what is not in the log did not happen.
//! - No latch of a page of the tree is held while space is asked for a page or a pointer of the
//!   unit is set.
//! - Nothing is logged before it is certain that the page takes it.
//!
//! # Several at a time
//!
//! ```text
//! find, scan             SH: one page after the other                       │ all of these at the same time
//! insert, delete, undo   SH down to the leaf, EX on the leaf                │
//! ghost cleanup          EX on the leaf                                     │
//! split, new root        `structure`, the page from space; then EX on parent, page, right neighbour and new page, all
//!                        of them kept until the end of the system transaction is in the log; `version` counts it
//! ```
//!
//! 1. *What lies above the leaves, the chains, and which keys a leaf is for change under
//!    `structure` only*, and only while EX is held on each page concerned. So whoever holds
//!    `structure` knows all of that without a latch; the rows of leaves go on changing until the
//!    leaf is latched, and what was planned for them is planned again then.
//! 2. *A descent arrives at the right leaf.* It reads `version` before it reads the root, and again
//!    when it has the latch of the leaf. A page that was split in between was let go of after
//!    `version` had been counted up, so whoever latches it later sees that and begins again. When
//!    nothing was counted, each page on the way still has the keys that it had when its parent was
//!    read. The fifth time a descent takes `structure` itself.
//! 3. *A root is true when it is told.* `unit.root()` changes after the end of the system
//!    transaction is in the log: nobody builds on what a restart would take back. The old root
//!    leads to everything as long as it is not split, and a split is seen by 2.
//! 4. *Nobody sees half a change.* Readers need a latch that the split holds; one that fails is
//!    taken back before its latches go. When that fails, too, `is_cut_off` is set before they go,
//!    and looked at by everybody who has latched a leaf.
//! 5. *Nobody waits in a circle.* A descent, a change of a leaf, and a scan hold one page of the
//!    tree and wait for none; from a leaf they wait for its byte in PFS, the log, and the table of
//!    transactions. Only a split holds several pages, and there is one of them. `structure` is
//!    taken while no page is held. Space asks for the row of a unit, and that means to find it in
//!    the tree of `sysallocunits`, while `structure` of the asking tree is held, and no page; in
//!    its own tree the descent meets no change (2).
//! 6. *A scan holds nothing between two leaves.* It goes on by key, from the separators that it
//!    came between: no latch is asked for to the left or to the right.

mod build;
mod chain;
mod cut;
mod delete;
mod ghost;
mod habit;
mod insert;
mod leaf_rows;
mod page;
mod replace;
mod scan;
mod seek;
mod sorted;
mod split;
mod system;
#[cfg(test)]
mod tests;
mod undo;
mod undo_room;

use std::collections::BTreeSet;

use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{PageId, Rid};
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::{Space, Unit};

use crate::error::Error;
use crate::layout::RowShape;

use habit::Habits;
use undo_room::UndoRoom;

pub use build::Fill;
pub use chain::{Ghosts, LeafChain};
pub use leaf_rows::{LeafRows, RowRef};
pub use scan::{KeyRange, Leaves, Scan};
pub use sorted::{SortedRows, Sorter};

/// A B-tree. There is one of these per allocation unit: what keeps changes of its structure apart
/// is in it.
#[derive(Debug)]
pub struct Tree {
    space: Arc<Space>,
    unit: Arc<Unit>,
    shape: RowShape,
    /// Held by the one who changes the structure.
    structure: Mutex<()>,
    /// Counts changes of the structure, while their pages are still latched.
    version: AtomicU64,
    /// Leaves that have got ghosts since they were looked at last.
    haunted: Mutex<BTreeSet<PageId>>,
    /// Where rows came lately.
    habits: Habits,
    /// What entries need that open transactions have made shorter.
    undo_room: UndoRoom,
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
    /// The tree of a unit. All its keys are unique: those of indexes that are not have what leads
    /// to the row at their end.
    pub fn new(space: Arc<Space>, unit: Arc<Unit>, shape: RowShape) -> Tree {
        let structure = Mutex::default();
        let haunted = Mutex::default();
        let version = AtomicU64::new(0);
        let is_cut_off = AtomicBool::new(false);
        let habits = Habits::default();
        let undo_room = UndoRoom::default();
        Tree {
            space,
            unit,
            shape,
            structure,
            version,
            haunted,
            habits,
            undo_room,
            is_cut_off,
        }
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

    /// How often the structure has changed.
    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn verify_whole(&self) -> Result<(), Error> {
        let is_cut_off = self.is_cut_off.load(Ordering::Acquire);
        if is_cut_off { Err(Error::CutOff { unit: self.unit.id() }) } else { Ok(()) }
    }

    /// From now on every operation fails.
    fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Release);
    }

    /// Counts rows that come or go, and does what makes them. Counted before it is logged: a
    /// checkpoint in between counts what the log behind it explains.
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
