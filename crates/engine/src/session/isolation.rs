//! Isolation: what a reader locks, how long, and what it may see of others.
//!
//! ```text
//! READ UNCOMMITTED nothing is locked but the definition: rows of open transactions are seen, and
//!      may go again
//! READ COMMITTED   each row S while it is read; a page that no open transaction can have changed,
//!                  not at all
//! REPEATABLE READ  each row S until the transaction ends: it reads the same again, rows may come
//!                  between
//! SERIALIZABLE     each key of the range RangeS-S, and the next one behind it, until the
//!                  transaction ends: nothing comes between
//!                  a heap has no keys: the whole table S
//! ```
//!
//! Whoever inserts a key while somebody reads SERIALIZABLE tests the next key with RangeI-N, before
//! and, when another has come to be the next one meanwhile, again behind it ([`Tested`]). A reader
//! locks the keys it has seen, then looks again: what came between is locked, too, before anything
//! is handed out. So none of the two can miss the other, and no latch is held while locks are
//! waited for.

use extentdb_base::sync::atomic::{AtomicUsize, Ordering};

/// How a session is kept apart from others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    /// Dirty reads.
    ReadUncommitted,
    /// What is committed.
    #[default]
    ReadCommitted,
    /// What was read stays.
    RepeatableRead,
    /// What was read stays, and nothing comes to it.
    Serializable,
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

    /// Asked by inserters behind their insert: who comes later finds the key.
    pub(crate) fn are_some(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}
