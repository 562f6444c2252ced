//! What statements work with: the database, the session's transaction, its locks, and what waits
//! for the end of the transaction.
//!
//! A statement gets it from [`Session::statement`](crate::Session) and passes it down; it neither
//! begins nor ends transactions.

use std::collections::BTreeMap;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::{Arc, MutexGuard, lock};
use extentdb_base::{AllocUnitId, Lsn, ObjectId, PageId, Rid};
use extentdb_catalog::layout::Cell;
use extentdb_rowset::LobUnit;
use extentdb_rowset::heap::{Heap, ReservedRoom, RowLocks};
use extentdb_rowset::lob::{LobChange, PendingSpace};
use extentdb_space::Freed;
use extentdb_txn::Transaction;
use extentdb_txn::lock::{
    DatabaseLocks, LockError, LockMode, LockOwner, LockRequest, Resource, Timeout,
};

use crate::catalog::{DeferredChange, ForeignKey, Table};
use crate::database::Database;
use crate::error::{Cause, Error};
use crate::session::transaction::StatementStart;
use crate::session::{Isolation, SessionNames};

/// A key that no row may reference any more at the end of the statement: NO ACTION.
pub(crate) struct DeferredCheck {
    pub(crate) key: Arc<ForeignKey>,
    pub(crate) parent: Arc<Table>,
    /// The values of the referenced columns in the row that was deleted or changed.
    pub(crate) values: Vec<Cell<'static>>,
}

/// What a transaction has changed in a unit of values off rows.
pub(super) struct ChangedLob {
    unit: Arc<LobUnit>,
    /// Reserved for its undo until it ends.
    reserved: Vec<ReservedRoom>,
}

/// A page that the transaction has freed while its class in PFS was out of date.
pub(super) struct StalePage {
    unit: Arc<LobUnit>,
    page: PageId,
}

/// State of a session between statements: its settings, its open transaction, and what waits for
/// the end of that. An idle session holds nothing else.
pub(super) struct SessionState {
    /// Number of the session: sessions insert into different pages of a heap.
    id: usize,
    pub(super) names: SessionNames,
    pub(super) timeout: Timeout,
    pub(super) deadlock_priority: i8,
    pub(super) tx: Option<Transaction>,
    /// Space of heap pages that is reserved until the transaction ends, for its undo.
    pub(super) reserved: Vec<(Arc<Heap>, ReservedRoom)>,
    /// Units of values off rows that the transaction has changed.
    pub(super) lobs: BTreeMap<AllocUnitId, ChangedLob>,
    /// What a rollback must look at again.
    pub(super) stale: Vec<StalePage>,
    /// The table that the transaction locked last, and its mode: table locks are held to its end.
    last_table: Option<(ObjectId, LockMode)>,
    pub(super) isolation: Isolation,
    /// Has the transaction read a range under SERIALIZABLE?
    is_serializable: bool,
    /// Pages and extents that the transaction freed: reused only after its commit.
    pub(super) freed: Freed,
    /// Pages and extents that an undo freed. The transaction may hold locks on their rows: they are
    /// reused after these are released.
    pub(super) undone: Freed,
    pub(super) changes: Vec<DeferredChange>,
    /// Tables whose identity column the transaction has added.
    pub(super) own_identities: Vec<ObjectId>,
    /// Checks that wait for the end of the statement; `None` outside of one that deletes or
    /// changes referenced rows.
    pub(super) checks: Option<Vec<DeferredCheck>>,
    pub(super) savepoints: BTreeMap<Lsn, StatementStart>,
    /// Was the transaction begun by the caller, or for one statement?
    pub(super) is_explicit: bool,
    /// Was the transaction a deadlock victim?
    pub(super) is_doomed: bool,
    /// Shared with those who may cancel the statement of the session.
    pub(super) cancellation: Arc<Cancellation>,
}

impl SessionState {
    pub(super) fn new(id: usize) -> SessionState {
        SessionState {
            id,
            names: SessionNames::default(),
            timeout: Timeout::Infinite,
            deadlock_priority: 0,
            tx: None,
            reserved: Vec::new(),
            lobs: BTreeMap::new(),
            stale: Vec::new(),
            last_table: None,
            isolation: Isolation::default(),
            is_serializable: false,
            freed: Freed::default(),
            undone: Freed::default(),
            changes: Vec::new(),
            own_identities: Vec::new(),
            checks: None,
            savepoints: BTreeMap::new(),
            is_explicit: false,
            is_doomed: false,
            cancellation: Arc::default(),
        }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub(super) fn table(&self, db: &Database, name: &str) -> Result<Arc<Table>, Error> {
        // A table that this transaction has dropped still exists for all others, and its name is
        // free again. A table that another transaction creates is found, and waited for, only when
        // nothing else has the name.
        let has = |table_of: fn(&DeferredChange) -> Option<&Arc<Table>>, table: &Table| {
            self.changes.iter().filter_map(table_of).any(|other| other.id() == table.id())
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

    pub(super) fn leave_serializable(&mut self, db: &Database) {
        if std::mem::take(&mut self.is_serializable) {
            db.serializers.leave();
        }
    }

    /// The transaction may still be open in the log: its space stays reserved until the next
    /// restart.
    pub(super) fn forget_reserved(&mut self) {
        self.reserved.clear();
        self.lobs.clear();
    }

    pub(super) fn forget_transaction(&mut self) {
        self.is_explicit = false;
        self.stale.clear();
        self.is_doomed = false;
        self.last_table = None;
        self.savepoints.clear();
        self.own_identities.clear();
        self.checks = None;
    }
}

/// What statements work with.
pub(crate) struct StatementContext<'s> {
    pub(super) db: &'s Database,
    pub(super) state: &'s mut SessionState,
}

impl<'s> StatementContext<'s> {
    pub(super) fn new(db: &'s Database, state: &'s mut SessionState) -> StatementContext<'s> {
        StatementContext { db, state }
    }

    pub(crate) fn db(&self) -> &'s Database {
        self.db
    }

    /// Number of the session: sessions insert into different pages of a heap.
    pub(crate) fn session_id(&self) -> usize {
        self.state.id
    }

    /// The open transaction; every statement has one.
    pub(crate) fn tx(&mut self) -> Result<&mut Transaction, Error> {
        self.state.tx.as_mut().ok_or(Error::NoTransaction)
    }

    pub(crate) fn names(&self) -> &SessionNames {
        &self.state.names
    }

    /// As whom the transaction requests locks.
    fn lock_owner(&self) -> LockOwner {
        self.state.tx.as_ref().map_or_else(LockOwner::default, Transaction::lock_owner)
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
        self.state.is_serializable
    }

    /// From here to the end of the transaction, inserters test key ranges.
    pub(crate) fn begin_serializable(&mut self) {
        if !self.state.is_serializable {
            self.db.serializers.enter();
            self.state.is_serializable = true;
        }
    }

    /// Frees pages and extents when the transaction commits.
    pub(crate) fn free_at_commit(&mut self, freed: Freed) {
        self.state.freed.extend(freed);
    }

    /// The cached catalog follows this change when the transaction ends.
    pub(crate) fn defer_change(&mut self, change: DeferredChange) {
        self.state.changes.push(change);
    }

    /// The transaction has added an identity column to this table.
    pub(crate) fn add_own_identity(&mut self, table: ObjectId) {
        self.state.own_identities.push(table);
    }

    pub(crate) fn has_own_identity(&self, table: ObjectId) -> bool {
        self.state.own_identities.contains(&table)
    }

    /// Checks of the statement; the first caller of a statement opens the list, and gets `true`.
    pub(crate) fn open_checks(&mut self) -> bool {
        let is_first = self.state.checks.is_none();
        self.state.checks.get_or_insert_default();
        is_first
    }

    pub(crate) fn defer_check(&mut self, check: DeferredCheck) {
        self.state.checks.get_or_insert_default().push(check);
    }

    pub(crate) fn take_checks(&mut self) -> Vec<DeferredCheck> {
        self.state.checks.take().unwrap_or_default()
    }

    /// What may cancel the statement.
    pub(crate) fn cancellation(&self) -> Arc<Cancellation> {
        self.state.cancellation.clone()
    }

    /// Long work calls this between pages: a cancelled statement ends there.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn verify_not_cancelled(&self) -> Result<(), Error> {
        self.state.cancellation.verify().map_err(|_| Error::Cancelled)
    }

    /// Acquires a lock for the transaction.
    pub(crate) fn lock(
        &self,
        resource: Resource,
        mode: LockMode,
        table: Option<&Table>,
    ) -> Result<(), Error> {
        let request = self.request(resource, mode, table);
        self.db.locks.acquire_cancellable(request, &self.state.cancellation)?;
        Ok(())
    }

    fn request(&self, resource: Resource, mode: LockMode, table: Option<&Table>) -> LockRequest {
        LockRequest {
            timeout: self.state.timeout,
            priority: self.state.deadlock_priority,
            cost: self.state.tx.as_ref().map_or(0, Transaction::rollback_cost),
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
        self.db.verify_not_deferred(table)?;
        let wanted = Some((table.id(), mode));
        if self.state.last_table != wanted {
            self.lock(Resource::Object(table.id()), mode, None)?;
            self.state.last_table = wanted;
        }
        self.db.catalog.verify_exists(table)
    }

    /// Locks that a heap acquires for the transaction in the middle of a change.
    pub(crate) fn row_locks(&self, table: &Table) -> SessionLocks {
        let request = self.request(Resource::Object(table.id()), LockMode::X, Some(table));
        SessionLocks {
            locks: self.db.locks.clone(),
            request,
            cancellation: self.state.cancellation.clone(),
        }
    }

    /// Keeps space of heap pages reserved until the transaction ends.
    pub(crate) fn reserve(&mut self, heap: &Arc<Heap>, reserved: Vec<ReservedRoom>) {
        self.state.reserved.extend(reserved.into_iter().map(|reserved| (heap.clone(), reserved)));
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
        self.state.freed.extend(pending.freed);
        let stale = pending.stale.into_iter().map(|page| StalePage { unit: unit.clone(), page });
        self.state.stale.extend(stale);
        let changed = || ChangedLob { unit: unit.clone(), reserved: Vec::new() };
        let changed = self.state.lobs.entry(unit.unit().id()).or_insert_with(changed);
        changed.reserved.extend(pending.reserved);
        done
    }

    /// An undo has allocated again what was freed since `from`.
    pub(super) fn restore_stale(&mut self, from: usize) {
        for StalePage { unit, page } in self.state.stale.split_off(from) {
            unit.restored([page]);
        }
    }

    /// The transaction has ended in the log: text pages that have lost their last record are
    /// freed. Its locks are still held, so that no unit is dropped meanwhile.
    pub(super) fn end_lobs(&mut self) {
        for ChangedLob { unit, reserved } in std::mem::take(&mut self.state.lobs).into_values() {
            if self.db.catalog.units.get(unit.unit().id()).is_none() {
                continue;
            }
            match unit.end(reserved).map_err(Error::from) {
                Ok(()) => {}
                // Such pages stay allocated, and are filled again.
                Err(error)
                    if matches!(
                        error.cause(),
                        Cause::LogFull | Cause::BadPage | Cause::Offline
                    ) => {}
                Err(error) => self.db.go_offline(&error),
            }
        }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub(crate) fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.state.table(self.db, name)
    }

    /// Locks the cached catalog while changes of it since `from` are undone; nothing when there are
    /// none. The holder of the mutex never waits for a lock of a transaction, so a rollback may
    /// wait for it.
    pub(super) fn lock_catalog_from(&self, from: usize) -> Option<MutexGuard<'s, ()>> {
        let db = self.db;
        (self.state.changes.len() > from).then(|| lock(&db.ddl))
    }

    /// The cached catalog follows an undo of all changes since `from`.
    pub(super) fn roll_back_changes(&mut self, from: usize) {
        for change in self.state.changes.split_off(from).into_iter().rev() {
            self.db.catalog.roll_back(change);
        }
    }

    /// Undoes all records of the transaction after `until`.
    pub(super) fn undo_to(&mut self, until: Lsn) -> Result<(), Error> {
        self.state.checks = None;
        for table in
            self.state.own_identities.iter().filter_map(|id| self.db.catalog.table_by_id(*id))
        {
            table.storage().identity.iter().for_each(|identity| identity.invalidate_stored());
        }
        let Some(tx) = &mut self.state.tx else { return Ok(()) };
        // A transaction whose first statement failed keeps its begin record.
        let until = until.max(tx.begin_lsn());
        self.db
            .undo_to(tx, until, &mut self.state.undone)
            .inspect_err(|error| self.db.go_offline(error))
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
