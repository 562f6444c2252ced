//! Locks on RIDs that a heap needs in the middle of a change, and what else versioned changes need.

use extentdb_base::Rid;
use extentdb_txn::lock::LockError;

use super::free_space::ReservedRoom;
use crate::version::Versioning;

/// Locks RIDs for the transaction that changes rows.
pub trait RowLocks {
    /// Locks the RID of a new row without waiting, because its page is latched. False when another
    /// transaction has it: one that deleted the row before.
    ///
    /// # Errors
    /// Every refusal but that.
    fn try_new(&mut self, rid: Rid) -> Result<bool, LockError>;

    /// Locks the RID of a forwarded record that is deleted, which is not the address of its row.
    /// Readers that have it locked are waited for. No page is latched.
    ///
    /// # Errors
    /// The lock was not granted within the lock timeout of the session, or the wait for it closed a
    /// cycle.
    fn vacate(&mut self, rid: Rid) -> Result<(), LockError>;
}

/// What changes of rows work with in a database with row versions, beside their transaction.
pub struct HeapWriter<'w> {
    /// Session that fills a page.
    pub session: usize,
    /// Locks the RIDs of new and moved records.
    pub locks: &'w mut dyn RowLocks,
    /// Gets the room that is reserved until the transaction ends, also when a change fails.
    pub reserved: &'w mut Vec<ReservedRoom>,
    /// Keeps the old records.
    pub versions: Versioning<'w>,
}

/// No locks: one session only.
impl RowLocks for () {
    fn try_new(&mut self, _rid: Rid) -> Result<bool, LockError> {
        Ok(true)
    }

    fn vacate(&mut self, _rid: Rid) -> Result<(), LockError> {
        Ok(())
    }
}
