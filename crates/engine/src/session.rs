//! Sessions: one after the other their transactions, and in them statements.
//!
//! A statement outside of a transaction is one by itself. A statement that fails leaves nothing
//! behind; the transaction goes on, unless it gave way in a deadlock: then only a rollback is left,
//! and all else is refused.

use std::collections::BTreeMap;

use extentdb_base::sync::{Arc, MutexGuard, lock};
use extentdb_base::{Lsn, ObjectId, Rid, XactId};
use extentdb_catalog::layout::Cell;
use extentdb_rowset::heap::{Heap, ReservedRoom, RowLocks};
use extentdb_space::{Freed, FreedMark};
use extentdb_txn::lock::{
    DEADLOCK_PRIORITIES, LockError, LockManager, LockMode, LockRequest, Resource, Timeout,
};
use extentdb_txn::{Kind, Transaction};
use extentdb_types::Datum;

use crate::address::Address;
use crate::database::Database;
use crate::error::{Cause, Error};
use crate::foreign_key::Deferred;
use crate::isolation::Isolation;
use crate::storage::Storage;
use crate::table::Table;

/// Values of a row, in column order.
pub type Row = Vec<Datum<'static>>;

/// What must be done when the transaction ends.
pub(crate) enum Ending {
    /// A table was made.
    Created(Arc<Table>),
    /// A schema was made.
    Schema(i32),
    /// A table was dropped.
    Dropped(Arc<Table>),
    /// The rows of a table lie elsewhere, or other indexes lead to them.
    Stored { table: Arc<Table>, old: Arc<Storage>, new: Arc<Storage> },
}

impl Ending {
    fn created(&self) -> Option<&Arc<Table>> {
        if let Ending::Created(table) = self { Some(table) } else { None }
    }

    fn dropped(&self) -> Option<&Arc<Table>> {
        if let Ending::Dropped(table) = self { Some(table) } else { None }
    }
}

/// A session.
pub struct Session<'d> {
    pub(crate) db: &'d Database,
    pub(crate) id: usize,
    timeout: Timeout,
    deadlock_priority: i8,
    tx: Option<Transaction>,
    /// Was the transaction asked for, or is it that of one statement?
    is_explicit: bool,
    /// Has the transaction given way in a deadlock, so that only a rollback is left?
    is_doomed: bool,
    kept: Vec<(Arc<Heap>, ReservedRoom)>,
    /// The table that the open transaction locked last, and how: locks of tables stay until it
    /// ends.
    last_table: Option<(ObjectId, LockMode)>,
    pub(crate) isolation: Isolation,
    /// Has the transaction read a range SERIALIZABLE?
    pub(crate) is_serializable: bool,
    /// What the transaction gave back, free when it has committed.
    pub(crate) freed: Freed,
    /// What an undo gave back. The transaction may have locks of rows there: it is free when they
    /// have gone.
    undone: Freed,
    pub(crate) endings: Vec<Ending>,
    /// Tables whose identity column the transaction has made.
    pub(crate) own_identities: Vec<ObjectId>,
    /// Rows that are no more, and must be named by none when the statement is done; `None` outside
    /// of one that looks.
    pub(crate) deferred: Option<Vec<Deferred>>,
    /// What there was of the two at each savepoint.
    marks: BTreeMap<Lsn, (FreedMark, usize)>,
}

impl<'d> Session<'d> {
    pub(crate) fn new(db: &'d Database, id: usize) -> Session<'d> {
        Session {
            db,
            id,
            timeout: Timeout::Infinite,
            deadlock_priority: 0,
            tx: None,
            is_explicit: false,
            is_doomed: false,
            kept: Vec::new(),
            last_table: None,
            isolation: Isolation::default(),
            is_serializable: false,
            freed: Freed::default(),
            undone: Freed::default(),
            endings: Vec::new(),
            own_identities: Vec::new(),
            deferred: None,
            marks: BTreeMap::new(),
        }
    }

    /// How long statements wait for locks.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.timeout = timeout;
    }

    /// In a deadlock the session of the lowest priority gives way: from -10 to 10, and what is
    /// beyond counts as these.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.deadlock_priority =
            priority.clamp(*DEADLOCK_PRIORITIES.start(), *DEADLOCK_PRIORITIES.end());
    }

    /// Begins a transaction. One that is open goes on.
    pub fn begin(&mut self) {
        self.begin_as("user_transaction", true);
    }

    fn begin_as(&mut self, name: &str, is_explicit: bool) {
        if self.tx.is_none() {
            self.tx = Some(self.db.transactions.begin(Kind::User, name));
        }
        self.is_explicit |= is_explicit;
    }

    /// Is a transaction open?
    pub fn is_in_transaction(&self) -> bool {
        self.tx.is_some()
    }

    /// Makes what the transaction did permanent: it is durable when this returns.
    ///
    /// # Errors
    /// It gave way in a deadlock, and stays open for its rollback. Or it could not become durable;
    /// whether it did is found out when the database is opened again.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.verify_not_doomed()?;
        let Some(tx) = self.tx.take() else { return Ok(()) };
        let id = tx.id();
        if let Err(error) = tx.commit().map_err(Error::from) {
            self.db.go_offline(&error);
            // It may still be open in the log: nobody has its room before the next restart.
            self.kept.clear();
            self.end(id);
            return Err(error);
        }
        if !self.endings.is_empty() {
            let _ddl = lock(&self.db.ddl);
            for ending in std::mem::take(&mut self.endings) {
                self.db.catalog.commit(ending);
            }
        }
        self.end(id);
        self.db.space.release(std::mem::take(&mut self.freed))?;
        self.db.space.release(std::mem::take(&mut self.undone))?;
        self.db.checkpoint_if_due()
    }

    /// Takes everything back that the transaction did.
    ///
    /// # Errors
    /// The database is offline; the next opening takes it back.
    pub fn rollback(&mut self) -> Result<(), Error> {
        let Some(mut tx) = self.tx.take() else { return Ok(()) };
        let id = tx.id();
        let begin = tx.begin_lsn();
        // Checkpoints, which look at the catalog under the same mutex, see it before the undo or
        // after it, and its rows with it.
        let ddl = self.lock_catalog_from(0);
        let undone = self.db.undo_to(&mut tx, begin, &mut self.undone);
        if let Err(error) = &undone {
            if error.cause() == Cause::BadPage && self.endings.is_empty() {
                self.db.defer_rollback(&tx, error)?;
                return self.defer(undone.map(drop));
            }
            self.db.go_offline(error);
            self.kept.clear();
        }
        let undone = undone.and_then(|()| {
            tx.abort().map_err(Error::from).inspect_err(|error| {
                self.db.go_offline(error);
                self.kept.clear();
            })
        });
        self.roll_back_endings(0);
        drop(ddl);
        // What it had given back, the undo took again.
        self.freed = Freed::default();
        self.end(id);
        self.db.space.release(std::mem::take(&mut self.undone))?;
        undone.map(|_| ())
    }

    /// Keeps others from the catalog while changes of it since `from` are undone; nothing when
    /// there are none. Whoever holds the mutex never waits for a lock of a transaction, so a
    /// rollback may wait for it.
    fn lock_catalog_from(&self, from: usize) -> Option<MutexGuard<'d, ()>> {
        let db = self.db;
        (self.endings.len() > from).then(|| lock(&db.ddl))
    }

    /// The cached catalog follows an undo of all changes since `from`.
    fn roll_back_endings(&mut self, from: usize) {
        for ending in self.endings.split_off(from).into_iter().rev() {
            self.db.catalog.roll_back(ending);
        }
    }

    /// A rollback needs a page that cannot be read. The transaction stays open, its locks are held,
    /// the log keeps its records: the next opening goes on with the rollback. The session begins
    /// another transaction.
    fn defer(&mut self, undone: Result<(), Error>) -> Result<(), Error> {
        self.freed = Freed::default();
        self.undone = Freed::default();
        self.kept.clear();
        self.forget_transaction();
        undone
    }

    fn end(&mut self, id: XactId) {
        for (heap, kept) in self.kept.drain(..) {
            heap.give_back(kept);
        }
        self.db.locks.release_all(id);
        self.end_serializable();
        self.forget_transaction();
    }

    fn forget_transaction(&mut self) {
        self.is_explicit = false;
        self.is_doomed = false;
        self.last_table = None;
        self.marks.clear();
        self.own_identities.clear();
        self.deferred = None;
    }

    /// Has the open transaction given way in a deadlock? It takes no more statements, and cannot
    /// commit.
    pub fn is_doomed(&self) -> bool {
        self.is_doomed
    }

    fn verify_not_doomed(&self) -> Result<(), Error> {
        if self.is_doomed { Err(Error::Doomed) } else { Ok(()) }
    }

    /// Marks a place in the transaction to roll back to.
    pub fn save(&mut self, name: &str) -> Result<(), Error> {
        self.verify_not_doomed()?;
        self.begin();
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let lsn = tx.savepoint(name)?;
        self.marks.insert(lsn, (self.freed.mark(), self.endings.len()));
        Ok(())
    }

    /// Takes everything back that was done since the savepoint. Its locks stay.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.db.verify_online()?;
        self.verify_not_doomed()?;
        let missing = || Error::NoSavepoint { name: name.to_owned() };
        let tx = self.tx.as_mut().ok_or_else(missing)?;
        let until = tx.return_to(name).map_err(|_| missing())?;
        let (freed, endings) = self.marks.get(&until).copied().ok_or_else(missing)?;
        let _ddl = self.lock_catalog_from(endings);
        self.undo_statement(until)?;
        self.marks.retain(|lsn, _| *lsn <= until);
        self.freed.return_to(freed);
        self.roll_back_endings(endings);
        Ok(())
    }

    /// Runs a statement. When it fails, what it did is taken back; outside of a transaction it is
    /// one by itself.
    pub(crate) fn statement<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.db.verify_online()?;
        self.verify_not_doomed()?;
        self.begin_as(name, false);
        let before = self.tx.as_ref().map_or(Lsn::ZERO, |tx| tx.undo_next().max(tx.begin_lsn()));
        let endings = self.endings.len();
        let freed = self.freed.mark();
        match work(self) {
            Ok(done) if self.is_explicit => Ok(done),
            Ok(done) => {
                self.commit()?;
                Ok(done)
            }
            Err(error) if !self.is_explicit => {
                self.rollback()?;
                Err(error)
            }
            Err(error) => {
                self.is_doomed = error.is_deadlock();
                let _ddl = self.lock_catalog_from(endings);
                self.undo_statement(before)?;
                // What it had given back, the undo took again.
                self.freed.return_to(freed);
                self.roll_back_endings(endings);
                Err(error)
            }
        }
    }

    fn undo_statement(&mut self, until: Lsn) -> Result<(), Error> {
        self.deferred = None;
        for table in self.own_identities.iter().filter_map(|id| self.db.catalog.table_by_id(*id)) {
            table.storage().identity.iter().for_each(|identity| identity.doubt());
        }
        let Some(tx) = &mut self.tx else { return Ok(()) };
        // A transaction whose first statement failed keeps its begin.
        let until = until.max(tx.begin_lsn());
        self.db.undo_to(tx, until, &mut self.undone).inspect_err(|error| self.db.go_offline(error))
    }

    /// The transaction that is open; statements always have one.
    pub(crate) fn tx(&mut self) -> Result<&mut Transaction, Error> {
        self.tx.as_mut().ok_or(Error::NoTransaction)
    }

    fn xact(&self) -> XactId {
        self.tx.as_ref().map_or_else(XactId::default, Transaction::id)
    }

    /// Locks something for the transaction.
    pub(crate) fn lock(
        &self,
        resource: Resource,
        mode: LockMode,
        table: Option<&Table>,
    ) -> Result<(), Error> {
        self.db.locks.acquire(self.request(resource, mode, table))?;
        Ok(())
    }

    fn request(&self, resource: Resource, mode: LockMode, table: Option<&Table>) -> LockRequest {
        let cost = self.tx.as_ref().map_or(0, Transaction::rollback_cost);
        let table = table.map(Table::id);
        let priority = self.deadlock_priority;
        let request = LockRequest::new(self.xact(), resource, mode);
        LockRequest { timeout: self.timeout, priority, cost, table, ..request }
    }

    /// Locks a table for what is to be done with it; afterwards it is certain that it is still
    /// there.
    pub(crate) fn lock_table(&mut self, table: &Table, mode: LockMode) -> Result<(), Error> {
        self.db.verify_not_deferred(table)?;
        let wanted = Some((table.id(), mode));
        if self.last_table != wanted {
            self.lock(Resource::Object(table.id()), mode, None)?;
            self.last_table = wanted;
        }
        if self.db.catalog.has(table.id()) { Ok(()) } else { Err(Error::Gone { id: table.id() }) }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        // A table that this transaction has dropped is still there for all others, and its name may
        // be had again. What others make is waited for, but only when there is nothing else of that
        // name.
        let has = |is_it: fn(&Ending) -> Option<&Arc<Table>>, table: &Table| {
            self.endings.iter().filter_map(is_it).any(|other| other.id() == table.id())
        };
        let rank = |table: &Table| match () {
            () if has(Ending::dropped, table) => None,
            () if self.db.catalog.is_made(table.id()) && !has(Ending::created, table) => Some(1),
            () => Some(0),
        };
        let table = self.db.catalog.table(name, rank);
        table.ok_or_else(|| Error::NoTable { name: name.to_owned() })
    }

    /// Inserts a row; returns its address.
    pub fn insert(&mut self, table: &Table, values: &[Datum<'_>]) -> Result<Address, Error> {
        self.statement("INSERT", |session| session.insert_values(table, values))
    }

    /// The same inside of a statement.
    pub(crate) fn insert_values(
        &mut self,
        table: &Table,
        values: &[Datum<'_>],
    ) -> Result<Address, Error> {
        self.lock_table(table, LockMode::Ix)?;
        let storage = table.storage();
        table.verify_writable(&storage)?;
        let mut row = storage.cells_of(values)?;
        storage.constraints.verify_checks(table, &storage, &row)?;
        let at = self.place_row((table, &storage), &mut row)?;
        self.verify_named((table, &storage), None, &row)?;
        Ok(at)
    }

    /// Gives a row other values; returns its address from then on, which is another one when its
    /// clustered key has changed.
    pub fn update(
        &mut self,
        table: &Table,
        at: &Address,
        values: &[Datum<'_>],
    ) -> Result<Address, Error> {
        self.statement("UPDATE", |session| {
            let storage = session.lock_row(table, at)?;
            let mut row = storage.cells_of(values)?;
            session.change_at((table, &storage), at, &mut row)
        })
    }

    /// Gives a row that is locked other values, under all constraints.
    pub(crate) fn change_at(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: &Address,
        row: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        storage.constraints.verify_checks(table, storage, row)?;
        let (at, before) = self.change_row((table, storage), at, row)?;
        if storage.constraints.look_back() {
            let before = storage.cells(&before)?;
            self.verify_named((table, storage), Some(&before), row)?;
            self.verify_not_named((table, storage), &before, Some(row))?;
        }
        Ok(at)
    }

    /// Deletes a row.
    pub fn delete(&mut self, table: &Table, at: &Address) -> Result<(), Error> {
        self.statement("DELETE", |session| {
            let storage = session.lock_row(table, at)?;
            session.delete_at((table, &storage), at)
        })
    }

    /// Takes a row that is locked away, under all constraints.
    pub(crate) fn delete_at(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: &Address,
    ) -> Result<(), Error> {
        let before = self.remove_row((table, storage), at)?;
        if storage.constraints.look_back() {
            self.verify_not_named((table, storage), &storage.cells(&before)?, None)?;
        }
        Ok(())
    }

    /// Locks a row that is to change; says what its table is.
    pub(crate) fn lock_row(&mut self, table: &Table, at: &Address) -> Result<Arc<Storage>, Error> {
        self.lock_table(table, LockMode::Ix)?;
        let storage = table.storage();
        table.verify_writable(&storage)?;
        self.lock(at.resource(storage.base.hobt()), LockMode::X, Some(table))?;
        Ok(storage)
    }

    /// Pages that a change of a heap keeps back until the transaction ends.
    pub(crate) fn keep(&mut self, heap: &Arc<Heap>, kept: Vec<ReservedRoom>) {
        self.kept.extend(kept.into_iter().map(|kept| (heap.clone(), kept)));
    }

    /// Lets go of a lock that was only for reading.
    pub(crate) fn unlock(&self, resource: Resource) {
        self.db.locks.release(self.xact(), resource);
    }

    pub(crate) fn row_locks(&self, table: &Table) -> SessionLocks {
        let request = self.request(Resource::Object(table.id()), LockMode::X, Some(table));
        SessionLocks { locks: self.db.locks.clone(), request }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // A session that goes away takes its open transaction back; when that fails, the next
        // opening does.
        let _ = self.rollback();
    }
}

/// Locks new rows for a session.
pub(crate) struct SessionLocks {
    locks: Arc<LockManager>,
    request: LockRequest,
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
        self.locks.acquire(LockRequest { resource, ..self.request })?;
        Ok(())
    }
}
