//! What statements work with: the database, the session's transaction, its locks, and what waits
//! for the end of the transaction.
//!
//! A statement gets it from [`Session::statement`](crate::Session) and passes it down; it neither
//! begins nor ends transactions.

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_base::{ObjectId, OwnerId, Rid};
use extentdb_rowset::LobUnit;
use extentdb_rowset::heap::{Heap, ReservedRoom, RowLocks};
use extentdb_rowset::lob::{LobChange, PendingSpace};
use extentdb_space::Freed;
use extentdb_txn::Transaction;
use extentdb_txn::lock::{
    DatabaseLocks, LockError, LockMode, LockOwner, LockRequest, Resource, Timeout,
};

use crate::catalog::{DeferredChange, Storage, Table};
use crate::database::Database;
use crate::database::sessions::SessionEntry;
use crate::error::Error;
use crate::session::branch::{Branch, ChangedLob, DatabaseInUse, StalePage};
use crate::session::reference_checks::ReferenceChecks;
use crate::session::seen::SessionSnapshots;
use crate::session::{Isolation, SessionNames};

/// State of a session between statements: its settings, its open transaction, and what waits for
/// the end of that. An idle session holds nothing else.
pub(super) struct SessionState {
    /// The session among those of its server.
    pub(super) entry: SessionEntry,
    pub(super) names: SessionNames,
    pub(super) timeout: Timeout,
    pub(super) deadlock_priority: i8,
    pub(super) isolation: Isolation,
    /// The owner of the locks of the open transaction, in all its databases.
    pub(super) owner: Option<OwnerId>,
    /// Was the transaction begun by the caller, or for one statement?
    pub(super) is_explicit: bool,
    /// Was the transaction a deadlock victim?
    pub(super) is_doomed: bool,
    /// The table whose triggers the caller runs itself.
    pub(super) triggers_run_of: Option<ObjectId>,
    /// Statement scopes of the caller that are open.
    pub(super) scopes: usize,
    /// The transaction in the current database.
    pub(super) branch: Branch,
    /// The transaction in databases that were current before.
    pub(super) others: Vec<(DatabaseInUse, Branch)>,
    /// What the transaction sees under SNAPSHOT, and its statement under READ COMMITTED.
    pub(super) snapshots: SessionSnapshots,
}

impl SessionState {
    pub(super) fn new(entry: SessionEntry) -> SessionState {
        SessionState {
            entry,
            names: SessionNames::default(),
            timeout: Timeout::Infinite,
            deadlock_priority: 0,
            isolation: Isolation::default(),
            owner: None,
            is_explicit: false,
            is_doomed: false,
            triggers_run_of: None,
            scopes: 0,
            branch: Branch::default(),
            others: Vec::new(),
            snapshots: SessionSnapshots::default(),
        }
    }

    /// Cost of rolling the transaction back, in all its databases.
    fn rollback_cost(&self) -> u64 {
        let others = self.others.iter().map(|(_, branch)| branch);
        let branches = others.chain([&self.branch]).filter_map(|branch| branch.tx.as_ref());
        branches.map(Transaction::rollback_cost).sum()
    }

    /// A table by `schema.name`, or by its name in schema dbo, of the current database.
    pub(super) fn table(&self, db: &Database, name: &str) -> Result<Arc<Table>, Error> {
        table_seen_by(Some(&self.branch), db, name)
    }

    /// The same of any database, `current` being that of the session.
    pub(super) fn table_in(
        &self,
        current: &Arc<Database>,
        db: &Arc<Database>,
        name: &str,
    ) -> Result<Arc<Table>, Error> {
        if Arc::ptr_eq(current, db) {
            return self.table(db, name);
        }
        let branch = self.others.iter().find(|(own, _)| Arc::ptr_eq(own, db));
        table_seen_by(branch.map(|(_, branch)| branch), db, name)
    }
}

/// A table by its name as the branch of a transaction in its database sees it.
fn table_seen_by(branch: Option<&Branch>, db: &Database, name: &str) -> Result<Arc<Table>, Error> {
    // A table that this transaction has dropped still exists for all others, and its name is free
    // again. A table that another transaction creates is found, and waited for, only when nothing
    // else has the name.
    let has = |table_of: fn(&DeferredChange) -> Option<&Arc<Table>>, table: &Table| {
        let changes = branch.iter().flat_map(|branch| &branch.changes);
        changes.filter_map(table_of).any(|other| other.id() == table.id())
    };
    let rank = |table: &Table| {
        if has(DeferredChange::dropped, table) {
            return None;
        }
        let is_foreign = db.catalog.is_new(table.id()) && !has(DeferredChange::created, table);
        Some(u8::from(is_foreign))
    };
    let table = db.catalog.table(name, rank);
    table.ok_or_else(|| Error::NoTable { name: name.to_owned() })
}

/// What statements work with.
pub(crate) struct StatementContext<'s> {
    pub(super) db: &'s Arc<Database>,
    pub(super) state: &'s mut SessionState,
}

impl<'s> StatementContext<'s> {
    /// Refuses a table whose rows are only read here, and one with triggers that nobody runs.
    pub(crate) fn verify_writable(&self, table: &Table, storage: &Storage) -> Result<(), Error> {
        table.verify_alterable(storage)?;
        self.verify_rows_writable(table, storage)?;
        if self.state.triggers_run_of == Some(table.id()) {
            return Ok(());
        }
        table.verify_untriggered(storage)
    }

    pub(super) fn new(db: &'s Arc<Database>, state: &'s mut SessionState) -> StatementContext<'s> {
        StatementContext { db, state }
    }

    pub(crate) fn db(&self) -> &'s Database {
        self.db
    }

    /// Number of the session: sessions insert into different pages of a heap.
    pub(crate) fn session_id(&self) -> usize {
        self.state.entry.number
    }

    /// The open transaction, to change something; every statement has one.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub(crate) fn tx(&mut self) -> Result<&mut Transaction, Error> {
        if self.db.is_read_only() {
            return Err(Error::ReadOnly { database: self.db.name.clone() });
        }
        let branch = &mut self.state.branch;
        let tx = branch.tx.as_mut().ok_or(Error::NoTransaction)?;
        if branch.writing.is_none() {
            branch.writing = Some(self.db.row_versions.begin_writing(tx.id()));
        }
        Ok(tx)
    }

    pub(crate) fn names(&self) -> &SessionNames {
        &self.state.names
    }

    /// As whom the transaction requests locks.
    fn lock_owner(&self) -> LockOwner {
        self.state.branch.tx.as_ref().map_or_else(LockOwner::default, Transaction::lock_owner)
    }

    pub(crate) fn isolation(&self) -> Isolation {
        self.state.isolation
    }

    /// Runs `read` under another isolation level.
    pub(crate) fn with_isolation<T>(
        &mut self,
        isolation: Isolation,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let own = std::mem::replace(&mut self.state.isolation, isolation);
        let done = read(self);
        self.state.isolation = own;
        done
    }

    /// Does the transaction hold key-range locks?
    pub(crate) fn is_serializable(&self) -> bool {
        self.state.branch.is_serializable
    }

    /// From here to the end of the transaction, inserters test key ranges.
    pub(crate) fn begin_serializable(&mut self) {
        if !self.state.branch.is_serializable {
            self.db.serializers.enter();
            self.state.branch.is_serializable = true;
        }
    }

    /// Frees pages and extents when the transaction commits.
    pub(crate) fn free_at_commit(&mut self, freed: Freed) {
        self.state.branch.freed.extend(freed);
    }

    /// The cached catalog follows this change when the transaction ends.
    pub(crate) fn defer_change(&mut self, change: DeferredChange) {
        self.state.branch.changes.push(change);
    }

    /// Changes of the catalog by the transaction.
    pub(crate) fn changes(&self) -> &[DeferredChange] {
        &self.state.branch.changes
    }

    /// The transaction has added an identity column to this table.
    pub(crate) fn add_own_identity(&mut self, table: ObjectId) {
        self.state.branch.own_identities.push(table);
    }

    pub(crate) fn has_own_identity(&self, table: ObjectId) -> bool {
        self.state.branch.own_identities.contains(&table)
    }

    /// Checks that wait for the end of the statement, when it is one of several rows.
    pub(crate) fn open_checks(&mut self) -> Option<&mut ReferenceChecks> {
        self.state.branch.checks.as_mut()
    }

    /// Runs a part of a statement whose foreign keys are checked at its end; within a larger one,
    /// at the end of that.
    pub(crate) fn with_checks_at_end<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.state.branch.checks.is_some() {
            return work(self);
        }
        self.state.branch.checks = Some(ReferenceChecks::default());
        let done = work(self);
        let checks = self.state.branch.checks.take().unwrap_or_default();
        let done = done?;
        self.verify_waiting(checks)?;
        Ok(done)
    }

    /// The same, also within a larger one: who defines a foreign key waits for no end.
    pub(crate) fn with_checks_at_own_end<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let waiting = self.state.branch.checks.take();
        let done = self.with_checks_at_end(work);
        self.state.branch.checks = waiting;
        done
    }

    /// What may cancel the statement.
    pub(crate) fn cancellation(&self) -> &Arc<Cancellation> {
        self.state.entry.handle.cancellation()
    }

    /// Long work calls this between pages: a cancelled statement ends there.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn verify_not_cancelled(&self) -> Result<(), Error> {
        self.cancellation().verify().map_err(|_| Error::Cancelled)
    }

    /// Acquires a lock for the transaction.
    pub(crate) fn lock(
        &self,
        resource: Resource,
        mode: LockMode,
        table: Option<&Table>,
    ) -> Result<(), Error> {
        self.lock_within(resource, mode, table, self.state.timeout)
    }

    /// The same with a timeout of its own instead of the session's.
    pub(crate) fn lock_within(
        &self,
        resource: Resource,
        mode: LockMode,
        table: Option<&Table>,
        timeout: Timeout,
    ) -> Result<(), Error> {
        let request = LockRequest { timeout, ..self.request(resource, mode, table) };
        self.db.locks.acquire_cancellable(request, self.cancellation())?;
        Ok(())
    }

    fn request(&self, resource: Resource, mode: LockMode, table: Option<&Table>) -> LockRequest {
        LockRequest {
            timeout: self.state.timeout,
            priority: self.state.deadlock_priority,
            cost: self.state.rollback_cost(),
            table: table.map(Table::id),
            ..LockRequest::new(self.lock_owner(), resource, mode)
        }
    }

    /// Releases a lock that was held for one read only.
    pub(crate) fn unlock(&self, resource: Resource) {
        self.db.locks.release(self.lock_owner().id, resource);
    }

    /// Locks a table, and verifies under the lock that it was not dropped.
    pub(crate) fn lock_table(&mut self, table: &Table, mode: LockMode) -> Result<(), Error> {
        self.lock_table_within(table, mode, self.state.timeout)
    }

    /// The same with a timeout of its own instead of the session's.
    pub(crate) fn lock_table_within(
        &mut self,
        table: &Table,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(), Error> {
        self.db.verify_not_deferred(table)?;
        let wanted = Some((table.id(), mode));
        if self.state.branch.last_table != wanted {
            self.lock_within(Resource::Object(table.id()), mode, None, timeout)?;
            self.state.branch.last_table = wanted;
        }
        self.db.catalog.verify_exists(table)
    }

    /// Locks that a heap acquires for the transaction in the middle of a change.
    pub(crate) fn row_locks(&self, table: &Table) -> SessionLocks {
        let request = self.request(Resource::Object(table.id()), LockMode::X, Some(table));
        SessionLocks {
            locks: self.db.locks.clone(),
            request,
            cancellation: self.cancellation().clone(),
        }
    }

    /// Keeps space of heap pages reserved until the transaction ends.
    pub(crate) fn reserve(&mut self, heap: &Arc<Heap>, reserved: Vec<ReservedRoom>) {
        self.state
            .branch
            .reserved
            .extend(reserved.into_iter().map(|reserved| (heap.clone(), reserved)));
    }

    /// Changes values off rows; what the change leaves for the end of the transaction is kept,
    /// also when it fails.
    pub(crate) fn change_lob<T>(
        &mut self,
        unit: &Arc<LobUnit>,
        work: impl FnOnce(LobChange<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut pending = PendingSpace::default();
        let tx = self.tx()?;
        let done = work(LobChange { tx, pending: &mut pending });
        self.state.branch.freed.extend(pending.freed);
        let stale = pending.stale.into_iter().map(|page| StalePage { unit: unit.clone(), page });
        self.state.branch.stale.extend(stale);
        let changed = || ChangedLob { unit: unit.clone(), reserved: Vec::new() };
        let changed = self.state.branch.lobs.entry(unit.unit().id()).or_insert_with(changed);
        changed.reserved.extend(pending.reserved);
        done
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub(crate) fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.state.table(self.db, name)
    }
}

/// Locks new rows for a session.
pub(crate) struct SessionLocks {
    locks: DatabaseLocks,
    request: LockRequest,
    cancellation: Arc<Cancellation>,
}

impl RowLocks for SessionLocks {
    fn try_new(&mut self, rid: Rid) -> Result<bool, LockError> {
        let resource = Resource::Rid(rid);
        let request = LockRequest { resource, timeout: Timeout::NoWait, ..self.request };
        match self.locks.acquire(request) {
            Ok(_) => Ok(true),
            Err(LockError::Timeout { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn vacate(&mut self, rid: Rid) -> Result<(), LockError> {
        let resource = Resource::Rid(rid);
        let request = LockRequest { resource, ..self.request };
        self.locks.acquire_cancellable(request, &self.cancellation)?;
        Ok(())
    }
}
