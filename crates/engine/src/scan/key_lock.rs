//! Key-range locking, the reader's side: the keys of a range are locked leaf by leaf, and the key
//! after them. The inserter's side: [`key_range`](crate::dml::key_range).

use std::ops::Bound;

use extentdb_base::Lsn;
use extentdb_rowset::btree::{self, KeyRange, LeafRows, Leaves};
use extentdb_txn::lock::LockMode;

use crate::catalog::Index;
use crate::catalog::address::key_resource;
use crate::dml::key_range::end_of_range;
use crate::error::Error;
use crate::scan::reading::Reading;
use crate::session::StatementContext;

impl StatementContext<'_> {
    /// The next leaf of a range with locks of all its keys and of the one after it: they are
    /// locked, then it is read again. Keys inserted meanwhile are locked, too.
    pub(crate) fn locked_leaf(
        &self,
        of: Reading<'_>,
        index: &Index,
        leaves: &mut Leaves<'_>,
        mode: LockMode,
    ) -> Result<Option<LeafRows>, Error> {
        let mut found = Batch::of(leaves, index)?;
        loop {
            for key in &found.keys {
                self.lock_part(of, key_resource(index.hobt(), key), mode)?;
            }
            if !leaves.is_backward() {
                // What comes to the end of the leaf later lies before the first key after it.
                self.lock_next_key(of, index, Some(found.rest.onward()), mode)?;
            }
            let now = Batch::of(leaves, index)?;
            if found.keys == now.keys {
                *leaves = now.rest;
                return Ok(now.leaf);
            }
            found = now;
        }
    }

    /// Locks the first key of what lies after a range, one that is not about to vanish, or the end
    /// of the index.
    pub(crate) fn lock_next_key(
        &self,
        of: Reading<'_>,
        index: &Index,
        after: Option<KeyRange>,
        mode: LockMode,
    ) -> Result<(), Error> {
        let mut after = after;
        let mut first = first_of(index, after.as_ref())?;
        loop {
            let key = first.as_ref().map(|row| index.key_of_record(&row.bytes)).transpose()?;
            self.lock_part(of, end_of_range(index, key.as_deref()), mode)?;
            if let Some(row) = &first {
                self.await_row(of, index, &row.bytes)?;
            }
            let now = first_of(index, after.as_ref())?;
            let now_key = now.as_ref().map(|row| index.key_of_record(&row.bytes)).transpose()?;
            match key {
                // Another key was inserted before it, or this one was removed.
                key if key != now_key => first = now,
                // A ghost may be removed: the next key must hold the range.
                Some(key) if now.is_some_and(|row| row.is_ghost()) => {
                    after = Some(KeyRange::all().with_lower(Bound::Excluded(&key)));
                    first = first_of(index, after.as_ref())?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Waits for the transaction that has inserted an entry and may roll it back: entries of
    /// indexes that are not unique are not locked themselves, but the rows that they lead to are.
    fn await_row(&self, of: Reading<'_>, index: &Index, entry: &[u8]) -> Result<(), Error> {
        let is_locked = index.is_unique() || of.storage.is_base(index);
        if !is_locked {
            let row = index.address(entry, &of.storage.shape)?.resource(of.storage.base.hobt());
            self.lock_part(of, row, LockMode::S)?;
            self.unlock(row);
        }
        Ok(())
    }
}

/// A leaf of a range that is about to be locked.
struct Batch<'t> {
    leaf: Option<LeafRows>,
    /// Those of its rows.
    keys: Vec<Vec<u8>>,
    /// What is left of the range.
    rest: Leaves<'t>,
}

impl<'t> Batch<'t> {
    fn of(leaves: &Leaves<'t>, index: &Index) -> Result<Batch<'t>, Error> {
        // As if a transaction had been open for ever: ghosts count.
        let all = || Some(Lsn::ZERO);
        let mut rest = leaves.clone();
        let leaf = rest.next(&all)?;
        let rows = leaf.iter().flat_map(LeafRows::iter);
        let keys = rows.map(|row| index.key_of_record(row.bytes));
        Ok(Batch { keys: keys.collect::<Result<_, _>>()?, leaf, rest })
    }
}

/// The first entry of a range, be it a ghost.
fn first_of(index: &Index, range: Option<&KeyRange>) -> Result<Option<btree::Row>, Error> {
    let Some(range) = range else { return Ok(None) };
    let leaf = index.tree().leaves(range.clone()).next(&|| Some(Lsn::ZERO))?;
    Ok(leaf.and_then(|leaf| leaf.iter().next().map(btree::RowRef::to_row)))
}
