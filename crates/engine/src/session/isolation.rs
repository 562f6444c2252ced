//! Isolation levels: two-phase locking, with key-range locks for SERIALIZABLE.
//!
//! ```text
//! READ UNCOMMITTED   Sch-S on the table only: rows of open transactions are visible
//! READ COMMITTED     S on each row while it is read; no locks on a page that no open transaction
//!                    has changed
//! REPEATABLE READ    S on each row to the end of the transaction; others may insert (phantoms)
//! SNAPSHOT           Sch-S on the table only: versions of rows as of one moment of the
//!                    transaction; READ COMMITTED with READ_COMMITTED_SNAPSHOT: of the statement
//! SERIALIZABLE       RangeS-S on each key of the range and on the next key, or the end of the
//!                    index, to the end of the transaction; a heap has no keys: S on the table
//! ```
//!
//! Next-key locking: an inserter tests the key after the new one with RangeI-N while a serializable
//! transaction is open, before the insert and, when the next key has changed meanwhile, again after
//! it. A reader locks the keys of a leaf, then reads it again, and locks what was inserted in
//! between. So neither misses the other, and no latch is held during a lock wait.
//!
//! Where we differ from the textbook: range locks are tested only while a serializable reader
//! exists, which a counter says; inserters read it after their insert.

use extentdb_base::sync::atomic::{AtomicUsize, Ordering};

/// How a session is kept apart from others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    /// Rows of open transactions are visible (dirty reads).
    ReadUncommitted,
    /// What is committed.
    #[default]
    ReadCommitted,
    /// What was read stays.
    RepeatableRead,
    /// What was read stays, and no row is added to it.
    Serializable,
    /// What was committed when the transaction first read or changed something, and its own
    /// changes. A change of a row that another has changed since is refused.
    Snapshot,
}

/// Sessions that read SERIALIZABLE.
#[derive(Debug, Default)]
pub(crate) struct Serializers(AtomicUsize);

impl Serializers {
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Inserters ask after their insert: a reader that begins later finds the key.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}
