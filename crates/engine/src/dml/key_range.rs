//! Key-range locking, the inserter's side: the range that a key is inserted into is tested. The
//! reader's side, which locks ranges, is in [`key_lock`](crate::scan::key_lock).

use std::ops::Bound;

use extentdb_base::Lsn;
use extentdb_rowset::btree::KeyRange;
use extentdb_txn::lock::{LockMode, Resource};

use crate::catalog::address::key_resource;
use crate::catalog::{Index, Table};
use crate::error::Error;
use crate::session::StatementContext;

/// The end of the range that a key is inserted into, locked while that happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TestedRange(Option<Resource>);

impl StatementContext<'_> {
    /// A key that this transaction puts into a range which it has read ends a part of that range
    /// from then on.
    pub(crate) fn keep_own_range(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
    ) -> Result<(), Error> {
        if self.is_serializable() {
            self.lock(key_resource(index.hobt(), key), LockMode::RsS, Some(table))
        } else {
            Ok(())
        }
    }

    /// Waits until no other transaction holds the range that a key is about to be inserted into.
    pub(crate) fn test_range(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
    ) -> Result<TestedRange, Error> {
        if self.db().serializers.any() {
            self.test_next(table, index, key)
        } else {
            Ok(TestedRange(None))
        }
    }

    /// The key is there: is the end of its range still what was tested?
    pub(crate) fn test_again(
        &self,
        table: &Table,
        index: &Index,
        key: &[u8],
        tested: TestedRange,
    ) -> Result<(), Error> {
        if self.db().serializers.any() && tested.0 != Some(next_key(index, key)?) {
            let again = self.test_next(table, index, key)?;
            self.release_test(again);
        }
        self.release_test(tested);
        Ok(())
    }

    fn test_next(&self, table: &Table, index: &Index, key: &[u8]) -> Result<TestedRange, Error> {
        let next = next_key(index, key)?;
        self.lock(next, LockMode::RiN, Some(table))?;
        Ok(TestedRange(Some(next)))
    }

    pub(crate) fn release_test(&self, tested: TestedRange) {
        if let Some(resource) = tested.0 {
            self.unlock(resource);
        }
    }
}

/// What stands for the range that ends with the first key after this one, ghosts among them.
fn next_key(index: &Index, key: &[u8]) -> Result<Resource, Error> {
    let range = KeyRange::all().with_lower(Bound::Excluded(key));
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
