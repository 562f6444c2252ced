//! Sessions: one after the other their transactions, and in them statements.
//!
//! A statement outside of a transaction is one by itself. A statement that fails leaves nothing behind; the transaction goes
//! on, unless it gave way in a deadlock: then only a rollback is left.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, ObjectId, PageId, Rid, XactId};
use extentdb_rowset::heap::{Heap, KeptBack, PageRows, RowLocks};
use extentdb_space::{Freed, FreedMark};
use extentdb_txn::lock::{LockManager, LockMode, LockRequest, Resource, Timeout};
use extentdb_txn::{Kind, Transaction};
use extentdb_types::Datum;

use crate::database::Database;
use crate::error::Error;
use crate::table::{Storage, Table};

/// Pages that a scan asks for at once.
const READ_AHEAD_PAGES: usize = 64;

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
    id: usize,
    timeout: Timeout,
    tx: Option<Transaction>,
    /// Was the transaction asked for, or is it that of one statement?
    is_explicit: bool,
    kept: Vec<(Arc<Heap>, KeptBack)>,
    /// The table that the open transaction locked last, and how: locks of tables stay until it ends.
    last_table: Option<(ObjectId, LockMode)>,
    /// What the transaction gave back, free when it has committed.
    pub(crate) freed: Freed,
    /// What an undo gave back. The transaction may have locks of rows there: it is free when they have gone.
    undone: Freed,
    pub(crate) endings: Vec<Ending>,
    /// What there was of the two at each savepoint.
    marks: BTreeMap<Lsn, (FreedMark, usize)>,
}

impl<'d> Session<'d> {
    pub(crate) fn new(db: &'d Database, id: usize) -> Session<'d> {
        Session {
            db,
            id,
            timeout: Timeout::Infinite,
            tx: None,
            is_explicit: false,
            kept: Vec::new(),
            last_table: None,
            freed: Freed::default(),
            undone: Freed::default(),
            endings: Vec::new(),
            marks: BTreeMap::new(),
        }
    }

    /// How long statements wait for locks.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.timeout = timeout;
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
    /// It could not become durable. Whether it did is found out when the database is opened again.
    pub fn commit(&mut self) -> Result<(), Error> {
        let Some(tx) = self.tx.take() else { return Ok(()) };
        let id = tx.id();
        let committed = tx.commit();
        if committed.is_err() {
            self.db.go_offline();
            self.end(id);
            return committed.map(|_| ()).map_err(Error::from);
        }
        for ending in std::mem::take(&mut self.endings) {
            self.db.catalogue.commit(ending);
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
        let undone = self.db.undo_to(&mut tx, begin, &mut self.undone).and_then(|()| Ok(tx.abort()?));
        if undone.is_err() {
            self.db.go_offline();
        }
        for ending in std::mem::take(&mut self.endings).into_iter().rev() {
            self.db.catalogue.roll_back(ending);
        }
        // What it had given back, the undo took again.
        self.freed = Freed::default();
        self.end(id);
        self.db.space.release(std::mem::take(&mut self.undone))?;
        undone.map(|_| ())
    }

    fn end(&mut self, id: XactId) {
        for (heap, kept) in self.kept.drain(..) {
            heap.give_back(kept);
        }
        self.db.locks.release_all(id);
        self.is_explicit = false;
        self.last_table = None;
        self.marks.clear();
    }

    /// Marks a place in the transaction to roll back to.
    pub fn save(&mut self, name: &str) -> Result<(), Error> {
        self.begin();
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let lsn = tx.savepoint(name)?;
        self.marks.insert(lsn, (self.freed.mark(), self.endings.len()));
        Ok(())
    }

    /// Takes everything back that was done since the savepoint. Its locks stay.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.db.verify_online()?;
        let missing = || Error::NoSavepoint { name: name.to_owned() };
        let tx = self.tx.as_mut().ok_or_else(missing)?;
        let until = tx.return_to(name).map_err(|_| missing())?;
        self.undo_statement(until)?;
        self.marks.retain(|lsn, _| *lsn <= until);
        if let Some((freed, endings)) = self.marks.get(&until) {
            self.freed.return_to(*freed);
            for ending in self.endings.split_off(*endings).into_iter().rev() {
                self.db.catalogue.roll_back(ending);
            }
        }
        Ok(())
    }

    /// Runs a statement. When it fails, what it did is taken back; outside of a transaction it is one by itself.
    pub(crate) fn statement<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.db.verify_online()?;
        self.begin_as(name, false);
        let before = self.tx.as_ref().map_or(Lsn::ZERO, |tx| tx.undo_next().max(tx.begin_lsn()));
        let endings = self.endings.len();
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
                self.undo_statement(before)?;
                for ending in self.endings.split_off(endings).into_iter().rev() {
                    self.db.catalogue.roll_back(ending);
                }
                Err(error)
            }
        }
    }

    fn undo_statement(&mut self, until: Lsn) -> Result<(), Error> {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        // A transaction whose first statement failed keeps its begin.
        let until = until.max(tx.begin_lsn());
        let undone = self.db.undo_to(tx, until, &mut self.undone);
        if undone.is_err() {
            self.db.go_offline();
        }
        undone
    }

    /// The transaction that is open; statements always have one.
    pub(crate) fn tx(&mut self) -> Result<&mut Transaction, Error> {
        self.tx.as_mut().ok_or(Error::Offline)
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
        let cost = self.tx.as_ref().map_or(0, |tx| u64::from(!tx.begin_lsn().is_zero()));
        let table = table.map(Table::id);
        LockRequest { owner: self.xact(), resource, mode, timeout: self.timeout, cost, table }
    }

    /// Locks a table for what is to be done with it; afterwards it is certain that it is still there.
    pub(crate) fn lock_table(&mut self, table: &Table, mode: LockMode) -> Result<(), Error> {
        let wanted = Some((table.id(), mode));
        if self.last_table != wanted {
            self.lock(Resource::Object(table.id()), mode, None)?;
            self.last_table = wanted;
        }
        if self.db.catalogue.has(table.id()) { Ok(()) } else { Err(Error::Gone { id: table.id() }) }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        // A table that this transaction has dropped is still there for all others, and its name may be had again. What others make
        // is waited for, but only when there is nothing else of that name.
        let has = |is_it: fn(&Ending) -> Option<&Arc<Table>>, table: &Table| {
            self.endings.iter().filter_map(is_it).any(|other| other.id() == table.id())
        };
        let rank = |table: &Table| match () {
            () if has(Ending::dropped, table) => None,
            () if self.db.catalogue.is_made(table.id()) && !has(Ending::created, table) => Some(1),
            () => Some(0),
        };
        let table = self.db.catalogue.table(name, rank);
        table.ok_or_else(|| Error::NoTable { name: name.to_owned() })
    }

    /// Inserts a row; returns its address.
    pub fn insert(&mut self, table: &Table, values: &[Datum<'_>]) -> Result<Rid, Error> {
        let record = table.record(values)?;
        self.insert_record(table, &record)
    }

    /// Inserts a row that is a record already.
    fn insert_record(&mut self, table: &Table, record: &[u8]) -> Result<Rid, Error> {
        self.statement("INSERT", |session| session.place_record(table, record))
    }

    /// Inserts a record as part of a statement.
    pub(crate) fn place_record(&mut self, table: &Table, record: &[u8]) -> Result<Rid, Error> {
        table.verify_writable()?;
        self.lock_table(table, LockMode::Ix)?;
        let mut locks = self.row_locks(table);
        // Asked for once: all who insert share its counter.
        let (id, storage) = (self.id, table.storage());
        let at = storage.heap.insert(self.tx()?, id, record, &mut locks)?;
        self.add_entries((table, &storage), at, record)?;
        Ok(at)
    }

    /// Gives a row other values.
    pub fn update(&mut self, table: &Table, at: Rid, values: &[Datum<'_>]) -> Result<(), Error> {
        let record = table.record(values)?;
        self.statement("UPDATE", |session| {
            let (storage, before) = session.lock_row(table, at)?;
            let mut locks = session.row_locks(table);
            let (id, heap) = (session.id, &storage.heap);
            let mut kept = Vec::new();
            let done = heap.update(session.tx()?, id, at, &record, &mut locks, &mut kept);
            session.kept.extend(kept.into_iter().map(|kept| (heap.clone(), kept)));
            done.map_err(no_row)?;
            session.change_entries((table, &storage), at, (&before, &record))
        })
    }

    /// Locks a row that is to change; says where it lies, and gives its record as it is now. Without indexes nobody needs that.
    fn lock_row(&mut self, table: &Table, at: Rid) -> Result<(Arc<Storage>, Vec<u8>), Error> {
        table.verify_writable()?;
        self.lock_table(table, LockMode::Ix)?;
        self.lock(Resource::Rid(at), LockMode::X, Some(table))?;
        let storage = table.storage();
        let before = match storage.indexes.is_empty() {
            true => Vec::new(),
            false => storage.heap.get(at)?.ok_or(Error::NoRow(at))?,
        };
        Ok((storage, before))
    }

    /// Deletes a row.
    pub fn delete(&mut self, table: &Table, at: Rid) -> Result<(), Error> {
        self.statement("DELETE", |session| {
            let (storage, before) = session.lock_row(table, at)?;
            let heap = &storage.heap;
            let mut kept = Vec::new();
            let mut locks = session.row_locks(table);
            let done = heap.delete(session.tx()?, at, &mut locks, &mut kept);
            session.kept.extend(kept.into_iter().map(|kept| (heap.clone(), kept)));
            done.map_err(no_row)?;
            session.take_entries((table, &storage), at, &before)
        })
    }

    /// The row at an address, as it was committed last; waits for whoever is changing it.
    pub fn get(&mut self, table: &Table, at: Rid) -> Result<Option<Row>, Error> {
        self.statement("SELECT", |session| {
            session.lock_table(table, LockMode::Is)?;
            let found = session.read_committed(table, at, || Ok(table.heap().get(at)?))?;
            found.map(|record| table.values(&record)).transpose()
        })
    }

    /// Calls `each` with every row that is committed. Rows that others are changing are waited for.
    pub fn scan(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Rid, Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.statement("SELECT", |session| {
            session.lock_table(table, LockMode::Is)?;
            let pages = table.heap().formatted_pages()?;
            for (number, page) in pages.iter().enumerate() {
                if number % READ_AHEAD_PAGES == 0 {
                    session.read_ahead(&pages[number..]);
                }
                if session.scan_page(table, *page, each)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Brings the next pages of a scan into memory, neighbours with one read.
    fn read_ahead(&self, pages: &[PageId]) {
        let next = &pages[..pages.len().min(READ_AHEAD_PAGES)];
        let are_neighbours =
            |page: &PageId, next: &PageId| page.file == next.file && page.page + 1 == next.page;
        next.chunk_by(are_neighbours).for_each(|run| self.db.pool.read_ahead(run[0], run.len() as u32));
    }

    fn scan_page(
        &self,
        table: &Table,
        page: PageId,
        each: &mut dyn FnMut(Rid, Row) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let heap = table.heap();
        let (rows, places) = match heap.page_rows(page, || self.db.transactions.oldest_begin())? {
            PageRows::Committed(rows) => (rows, Vec::new()),
            PageRows::Unsure(places) => (Vec::new(), places),
        };
        for (at, record) in rows {
            if each(at, table.values(&record)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        for at in places {
            let found = self.read_committed(table, at, || Ok(heap.get(at)?))?;
            if let Some(record) = found
                && each(at, table.values(&record)?).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads a row under a shared lock, which is let go of again.
    pub(crate) fn read_committed<T>(
        &self,
        table: &Table,
        at: Rid,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let resource = Resource::Rid(at);
        self.lock(resource, LockMode::S, Some(table))?;
        let found = read();
        self.db.locks.release(self.xact(), resource);
        found
    }

    fn row_locks(&self, table: &Table) -> SessionLocks {
        let request = self.request(Resource::Object(table.id()), LockMode::X, Some(table));
        SessionLocks { locks: self.db.locks.clone(), request }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // A session that goes away takes its open transaction back; when that fails, the next opening does.
        let _ = self.rollback();
    }
}

/// An address without a row is the caller's mistake, not the heap's.
fn no_row(error: extentdb_rowset::Error) -> Error {
    match error {
        extentdb_rowset::Error::NoRow(at) => Error::NoRow(at),
        other => other.into(),
    }
}

/// Locks new rows for a session.
struct SessionLocks {
    locks: Arc<LockManager>,
    request: LockRequest,
}

impl RowLocks for SessionLocks {
    fn try_new(&mut self, rid: Rid) -> bool {
        let resource = Resource::Rid(rid);
        self.locks.acquire(LockRequest { resource, timeout: Timeout::NoWait, ..self.request }).is_ok()
    }

    fn vacate(&mut self, rid: Rid) -> bool {
        let resource = Resource::Rid(rid);
        self.locks.acquire(LockRequest { resource, timeout: Timeout::Infinite, ..self.request }).is_ok()
    }
}
