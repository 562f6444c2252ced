//! The locks of one database, as its engine uses them.

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, ObjectId, OwnerId};

use super::{LockError, LockManager, LockMode, LockOwner, LockRequest, LockRow, Resource};

/// The lock manager of an instance, as one of its databases sees it: resources are those of this
/// database.
#[derive(Clone, Debug)]
pub struct DatabaseLocks {
    manager: Arc<LockManager>,
    database: DatabaseId,
}

impl DatabaseLocks {
    /// The locks of `database`, which no other database of the instance has as its number.
    pub fn new(manager: Arc<LockManager>, database: DatabaseId) -> Self {
        DatabaseLocks { manager, database }
    }

    /// The lock manager of the instance.
    pub fn manager(&self) -> &Arc<LockManager> {
        &self.manager
    }

    /// The database whose locks are acquired here.
    pub fn database(&self) -> DatabaseId {
        self.database
    }

    /// Acquires a lock, or converts the one held to a stronger mode. Returns the mode that is held
    /// afterwards.
    ///
    /// # Errors
    /// It was not granted within the timeout, or the owner is a deadlock victim.
    pub fn acquire(&self, request: LockRequest) -> Result<LockMode, LockError> {
        self.manager.acquire(self.database, &request, None)
    }

    /// The same with a wait that can be cancelled. A lock that needs no wait is granted although
    /// it is cancelled.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), and [`LockError::Cancelled`].
    pub fn acquire_cancellable(
        &self,
        request: LockRequest,
        cancellation: &Cancellation,
    ) -> Result<LockMode, LockError> {
        self.manager.acquire(self.database, &request, Some(cancellation))
    }

    /// Releases one request of a lock; the lock is released with the last of them. No effect on a
    /// lock that is not held, for example because it was escalated.
    pub fn release(&self, owner: OwnerId, resource: Resource) {
        self.manager.release(self.database, owner, resource);
    }

    /// Releases all locks of an owner in this database, at the end of its transaction here.
    pub fn release_all(&self, owner: OwnerId) {
        self.manager.release_in(self.database, owner);
    }

    /// Tries to lock the table instead of its rows, keys and pages. Does not wait; false when the
    /// lock conflicts with those of other owners.
    pub fn escalate(&self, owner: LockOwner, table: ObjectId) -> bool {
        self.manager.escalate(self.database, owner, table)
    }

    /// The mode in which an owner holds something.
    pub fn held(&self, owner: OwnerId, resource: Resource) -> Option<LockMode> {
        self.manager.held(self.database, owner, resource)
    }

    /// Row, key and page locks that an owner holds on a table.
    pub fn fine_locks(&self, owner: OwnerId, table: ObjectId) -> u64 {
        self.manager.fine_locks(self.database, owner, table)
    }

    /// The locks held and waited for in this database.
    pub fn locks(&self) -> Vec<LockRow> {
        let mut rows = self.manager.locks();
        rows.retain(|row| row.database == self.database);
        rows
    }
}
