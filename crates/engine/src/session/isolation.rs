//! Isolation: what a reader locks, how long, and what it may see of others.
//!
//! ```text
//! READ UNCOMMITTED   nothing is locked but the definition: rows of open transactions are seen, and may go again
//! READ COMMITTED     each row S while it is read; a page that no open transaction can have changed, not at all
//! REPEATABLE READ    each row S until the transaction ends: it reads the same again, rows may come between
//! SERIALIZABLE       each key of the range RangeS-S, and the next one behind it, until the transaction ends: nothing comes between
//!                    a heap has no keys: the whole table S
//! ```
//!
//! Whoever inserts a key while somebody reads SERIALIZABLE tests the next key with RangeI-N, before
//! and, when another has come to be the next one meanwhile, again behind it ([`Tested`]). A reader
//! locks the keys it has seen, then looks again: what came between is locked, too, before anything
//! is handed out. So none of the two can miss the other, and no latch is held while locks are
//! waited for.

use extentdb_base::Lsn;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_rowset::btree::KeyRange;
use extentdb_txn::lock::{LockMode, Resource};

use crate::catalog::address::key_resource;
use crate::catalog::index::Index;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::session::Session;

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
    pub(crate) fn come(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn go(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Asked by inserters behind their insert: who comes later finds the key.
    pub(crate) fn are_some(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

/// The end of the range that a key is inserted into, locked while that happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tested(Option<Resource>);

impl Session<'_> {
    /// How the next statements are kept apart from others.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// How rows are locked that are read, and whether until the end of the transaction. `None`: not
    /// at all.
    pub(crate) fn row_lock(&self, for_update: bool) -> Option<(LockMode, bool)> {
        match (for_update, self.isolation) {
            (true, _) => Some((LockMode::U, true)),
            (false, Isolation::ReadUncommitted) => None,
            (false, Isolation::ReadCommitted) => Some((LockMode::S, false)),
            (false, Isolation::RepeatableRead | Isolation::Serializable) => {
                Some((LockMode::S, true))
            }
        }
    }

    /// The lock of a table that is read.
    pub(crate) fn table_lock(&self, is_heap: bool, for_update: bool) -> LockMode {
        match (self.isolation, for_update) {
            (Isolation::Serializable, false) if is_heap => LockMode::S,
            (Isolation::Serializable, true) if is_heap => LockMode::Uix,
            (_, true) => LockMode::Iu,
            (Isolation::ReadUncommitted, false) => LockMode::SchS,
            _ => LockMode::Is,
        }
    }

    /// From here on until the transaction ends, those who insert look out for this session.
    pub(crate) fn begin_serializable(&mut self) {
        if !self.is_serializable {
            self.db.serializers.come();
            self.is_serializable = true;
        }
    }

    pub(crate) fn end_serializable(&mut self) {
        if std::mem::take(&mut self.is_serializable) {
            self.db.serializers.go();
        }
    }

    /// A key that this transaction puts into a range which it has read ends a part of that range
    /// from then on.
    pub(crate) fn keep_own_range(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
    ) -> Result<(), Error> {
        if self.is_serializable {
            self.lock(key_resource(index.hobt(), key), LockMode::RsS, Some(table))
        } else {
            Ok(())
        }
    }

    /// Waits until nobody else keeps the range that a key is about to be inserted into.
    pub(crate) fn test_range(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
    ) -> Result<Tested, Error> {
        if self.db.serializers.are_some() {
            self.test_next(table, index, key)
        } else {
            Ok(Tested(None))
        }
    }

    /// The key is there: is the end of its range still what was tested?
    pub(crate) fn test_again(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
        tested: Tested,
    ) -> Result<(), Error> {
        if self.db.serializers.are_some() && tested.0 != Some(next_key(index, key)?) {
            let again = self.test_next(table, index, key)?;
            self.let_go(again);
        }
        self.let_go(tested);
        Ok(())
    }

    fn test_next(&self, table: &Table, index: &Index, key: &[u8]) -> Result<Tested, Error> {
        let next = next_key(index, key)?;
        self.lock(next, LockMode::RiN, Some(table))?;
        Ok(Tested(Some(next)))
    }

    pub(crate) fn let_go(&self, tested: Tested) {
        if let Some(resource) = tested.0 {
            self.unlock(resource);
        }
    }
}

/// What stands for the range that ends with the first key behind this one, ghosts among them.
fn next_key(index: &Index, key: &[u8]) -> Result<Resource, Error> {
    let range = KeyRange::all().not_before(key, true);
    // As if a transaction had been open for ever: ghosts count.
    let leaf = index.tree().leaves(range).next(&|| Some(Lsn::ZERO))?;
    let next = leaf.as_ref().and_then(|leaf| leaf.iter().next());
    let key = next.map(|row| index.key_of_record(row.bytes)).transpose()?;
    Ok(end_of_range(index, key.as_deref()))
}

/// What stands for the range that ends with a key, or with the index.
pub(crate) fn end_of_range(index: &Index, key: Option<&[u8]>) -> Resource {
    key.map_or(Resource::end_of(index.hobt()), |key| key_resource(index.hobt(), key))
}
