//! B-trees: clustered and nonclustered indexes of the base tables.
//!
//! ```text
//! level 2              [ –∞→A │ m→B ]                 one root page: unit.root()
//! level 1   A [ –∞→1 │ d→2 │ g→3 ]  ⇄ B [ m→4 │ s→5 ] separators: key columns and child page
//! level 0   1 ⇄ 2 ⇄ 3 ⇄ 4 ⇄ 5                         rows in key order; ghosts stay in their slot
//! ```
//!
//! A separator is the first key of its child at the time of the split: a lower bound of its keys.
//! The first record of the leftmost page of a level above the leaves has no key and is less than
//! every key.
//!
//! # Known algorithm, where we differ
//!
//! The B-link trees of Lehman and Yao, in the form of Lanin and Shasha: a descent
//! holds one latch at a time, and pages are linked to their neighbours. Where we differ:
//!
//! - The pages are those of SQL Server and have no high key, so a descent cannot see by itself that
//!   it has to move right. A counter per tree, `version`, tells it that the structure has changed,
//!   and it restarts: optimistic latch coupling, with one version for the tree instead of one for
//!   each page.
//! - Changes of the structure are serialized by a mutex per tree and are system transactions, the
//!   nested top actions of ARIES. Their latch order is in [`split`]: parent, page, right neighbour,
//!   new page.
//! - Deletes leave ghost records. Pages are never merged; a leaf is removed when it is empty.
//! - Undo is logical, by key ([`undo`]), and never splits ([`undo_room`]).
//!
//! ```text
//! seek, scan     from the root down, then along the leaves                     seek.rs, scan.rs
//! visit_next     many leaves by one descent, visited and not copied            leaf_run.rs
//! seek_next      many ranges in one pass over the leaves                       seek_many.rs
//! partition      a range in pieces, for parallel scans                         partition.rs
//! leaf_chain     along the links, when keys are not in order                   chain.rs
//! insert         INSERT_ROWS; MODIFY_ROW turns a ghost of the same key into it insert.rs
//! replace        MODIFY_ROW of the bytes that differ                           replace.rs
//! delete         DELETE_ROWS that marks the row as a ghost                     delete.rs
//! expunge_ghosts EXPUNGE_ROWS, later, without a transaction                    ghost.rs
//!                a system transaction that removes a leaf without rows         unlink.rs
//! (page full)    a system transaction that splits one page or adds a root      split.rs, system.rs
//!                split point, by the insert pattern of the leaf       cut.rs, insert_pattern.rs
//!                or moves rows to a leaf beside it that has room      shift.rs
//! undo           finds the row by its key and compensates                      undo.rs
//! (shorter row)  the bytes freed are reserved until the transaction ends       undo_room.rs
//! build          leaf after leaf from rows in key order, for an empty tree     build.rs, sorted.rs
//!                which an external merge sort may have made                    runs.rs
//! ```
//!
//! Invariants
//! - Between two changes of its structure the pages are a sound tree: order, links in both
//!   directions, separators, levels.
//! - A page is changed only by [`extentdb_change::change`]: what is not in the log did not happen.
//! - No page of the tree is latched while a page is allocated or a pointer of the unit is set.
//! - Nothing is logged before it is certain that it fits on the page.
//!
//! # Concurrency
//!
//! ```text
//! find, scan           SH: one page after the other                       │ all of these run concurrently
//! insert, delete, undo SH down to the leaf, EX on the leaf                │
//! ghost cleanup        EX on the leaf                                     │
//! split, new root,     `structure`, a page from space; then EX on parent, page, right neighbour
//! moved rows, removal
//!                      and new page, held until the commit of the system transaction is in the
//!                      log; then `version` + 1
//! ```
//!
//! 1. *Pages above the leaves, the links, and the key range of a leaf change under `structure`
//!    only*, and only while EX is held on each page concerned. So the holder of `structure` reads
//!    all of that without conflicts; the rows of leaves change until the leaf is latched, and the
//!    split is planned again then.
//! 2. *A descent arrives at the right leaf.* It reads `version` before it reads the root, and again
//!    when it has the latch of the leaf. A page that was split in between was released after
//!    `version` had been incremented, so a descent that latches it later sees that and restarts.
//!    When `version` is unchanged, each page of the path still has the key range that it had when
//!    its parent was read. The fifth attempt locks `structure`.
//! 3. *A new root is published after its commit.* `unit.root()` changes after the end of the system
//!    transaction is in the log: no change depends on one that a restart would undo. The old root
//!    reaches all keys as long as it is not split, and a split is noticed by 2.
//! 4. *No descent sees half a change.* Readers need a latch that the split holds; a split that
//!    fails is rolled back before its latches are released. When the rollback fails, too,
//!    `unusable` is set before they are released, and read after each leaf is latched.
//! 5. *Latches do not deadlock.* A descent, a change of a leaf, and a scan hold one page of the
//!    tree and wait for no other; from a leaf they wait for its byte in PFS, the log, and the table
//!    of transactions. Only a split holds several pages, and there is one split at a time.
//!    `structure` is locked while no page is latched. Space looks for the row of a unit in the tree
//!    of `sysallocunits` while `structure` of the changing tree is locked, and no page; in that
//!    same tree the descent meets no change (2).
//! 6. *A scan holds no latch between two leaves.* It continues by key, from the fence keys of the
//!    last leaf: it never latches sideways.

mod build;
mod chain;
mod cut;
mod delete;
mod ghost;
mod insert;
mod insert_pattern;
mod leaf_rows;
mod leaf_run;
mod page;
mod partition;
mod replace;
mod runs;
mod scan;
mod seek;
mod seek_many;
mod shift;
mod sorted;
mod split;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod undo;
mod undo_room;
mod unlink;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, OnceLock, lock};
use extentdb_base::{PageId, Rid};
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::{Space, Unit};

use crate::error::Error;
use crate::ghost_pages::GhostPages;
use crate::layout::RowShape;

use insert_pattern::InsertPatterns;
use undo_room::UndoRoom;

pub use build::Fill;
pub use chain::{Ghosts, LeafChain};
pub use leaf_rows::{LeafRows, RowRef};
pub use leaf_run::{LeafRun, LeafVisit, PageFilter};
pub use runs::{SORT_PAGE_BYTES, SortStore, VisitSorted};
pub use scan::{KeyRange, Leaves, RangePosition, Scan};
pub use seek_many::{SeekPosition, SeekRows, SeekVisit, VisitSeek};
pub use sorted::{SortedRows, Sorter};

/// A B-tree. There must be one `Tree` per allocation unit: it has the mutex that serializes changes
/// of the structure.
#[derive(Debug)]
pub struct Tree {
    space: Arc<Space>,
    unit: Arc<Unit>,
    shape: RowShape,
    /// Serializes changes of the structure.
    structure: Mutex<()>,
    /// Counts changes of the structure, while their pages are still latched.
    version: AtomicU64,
    /// Leaves with ghosts since their last cleanup.
    ghost_leaves: Mutex<GhostPages>,
    /// Where rows were inserted lately, by leaf.
    insert_patterns: InsertPatterns,
    /// Bytes reserved for the undo of open transactions.
    undo_room: UndoRoom,
    /// Why the rollback of a change of several pages failed, or its commit.
    unusable: OnceLock<String>,
}

/// A row as it lies in its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its record; [`RowShape::decode`] reads it.
    pub bytes: Vec<u8>,
    /// Its RID when it was read.
    pub at: Rid,
}

impl Row {
    /// Is it a ghost, the record of a deleted row?
    pub fn is_ghost(&self) -> bool {
        page::is_ghost(&self.bytes)
    }
}

impl Tree {
    /// The tree of a unit. All its keys are unique: keys of indexes that are not unique end with
    /// the row locator.
    pub fn new(space: Arc<Space>, unit: Arc<Unit>, shape: RowShape) -> Tree {
        let structure = Mutex::default();
        let ghost_leaves = Mutex::default();
        let version = AtomicU64::new(0);
        let unusable = OnceLock::new();
        let insert_patterns = InsertPatterns::default();
        let undo_room = UndoRoom::default();
        Tree {
            space,
            unit,
            shape,
            structure,
            version,
            ghost_leaves,
            insert_patterns,
            undo_room,
            unusable,
        }
    }

    /// The layout of its records.
    pub fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.unit
    }

    /// Enters a leaf among those with ghosts.
    fn note_ghosts(&self, page: PageId) {
        lock(&self.ghost_leaves).insert(page);
    }

    /// How often the structure has changed.
    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn verify_whole(&self) -> Result<(), Error> {
        let Some(reason) = self.unusable.get() else { return Ok(()) };
        Err(Error::Unusable { unit: self.unit.id(), reason: reason.clone() })
    }

    /// Every operation fails from here on, until restart.
    fn mark_unusable(&self, why: &Error) {
        // The first reason stays.
        let _ = self.unusable.set(why.to_string());
    }

    /// Changes the number of rows, and runs `work`, which inserts or deletes them. Counted before
    /// it is logged: what a checkpoint in between counts too much is in the log after it.
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
