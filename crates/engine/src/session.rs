//! Sessions: transactions one after the other, and statements in them.
//!
//! A statement outside of a transaction is a transaction by itself. The effects of a failed
//! statement are undone, and the transaction continues. A deadlock victim is doomed (3930): it can
//! only roll back.

pub(crate) mod context;
pub(crate) mod isolation;

use extentdb_base::Lsn;
use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock};
use extentdb_space::Freed;
use extentdb_txn::TransactionKind;
use extentdb_txn::lock::{DEADLOCK_PRIORITIES, Timeout};
use extentdb_types::Datum;

use crate::catalog::table::Table;
use crate::database::Database;
use crate::error::{Cause, Error};
use crate::session::context::StatementContext;
use crate::session::isolation::Isolation;

/// Values of a row, in column order.
pub type Row = Vec<Datum<'static>>;

/// A session.
pub struct Session<'d> {
    context: StatementContext<'d>,
    /// Was the transaction begun by the caller, or for one statement?
    is_explicit: bool,
    /// Was the transaction a deadlock victim?
    is_doomed: bool,
}

impl Database {
    /// A session. Its transactions run one after the other.
    pub fn session(&self) -> Session<'_> {
        let id = self.sessions.fetch_add(1, Ordering::Relaxed);
        Session {
            context: StatementContext::new(self, id),
            is_explicit: false,
            is_doomed: false,
        }
    }
}

impl<'d> Session<'d> {
    /// How long statements wait for locks.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.context.timeout = timeout;
    }

    /// Priority of the session, from -10 to 10; values beyond count as these. The session with the
    /// lowest priority in a deadlock becomes its victim.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.context.deadlock_priority =
            priority.clamp(*DEADLOCK_PRIORITIES.start(), *DEADLOCK_PRIORITIES.end());
    }

    /// Isolation level of the next statements.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.context.isolation = isolation;
    }

    /// Begins a transaction. An open transaction continues.
    pub fn begin(&mut self) {
        self.begin_named("user_transaction");
        self.is_explicit = true;
    }

    fn begin_named(&mut self, name: &str) {
        if self.context.tx.is_none() {
            self.context.tx =
                Some(self.context.db().transactions.begin(TransactionKind::User, name));
        }
    }

    /// Is a transaction open?
    pub fn is_in_transaction(&self) -> bool {
        self.context.tx.is_some()
    }

    /// Commits the transaction: its changes are durable when this returns.
    ///
    /// 1. COMMIT_XACT is appended; the transaction leaves the table of active ones.
    /// 2. The log is flushed up to it, together with those of other committers.
    /// 3. The cached catalog follows its DDL.
    /// 4. Its locks are released.
    /// 5. The pages and extents that it freed can be allocated.
    /// 6. A checkpoint is made when one is due.
    ///
    /// # Errors
    /// [`Error::Doomed`]: it was a deadlock victim, and stays open for its rollback. After any
    /// other error the database is offline, and the next opening shows whether it was committed.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.verify_not_doomed()?;
        let db = self.context.db();
        let Some(tx) = self.context.tx.take() else { return Ok(()) };
        let id = tx.id();
        if let Err(error) = tx.commit().map_err(Error::from) {
            db.go_offline(&error);
            // It may still be open in the log: its space stays reserved until the next restart.
            self.context.reserved.clear();
            self.end(id);
            return Err(error);
        }
        if !self.context.changes.is_empty() {
            let _ddl = lock(&db.ddl);
            for change in std::mem::take(&mut self.context.changes) {
                db.catalog.commit(change);
            }
        }
        self.end(id);
        db.space.release(std::mem::take(&mut self.context.freed))?;
        db.space.release(std::mem::take(&mut self.context.undone))?;
        db.checkpoint_if_due()
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// The database is offline; the next opening undoes the transaction.
    pub fn rollback(&mut self) -> Result<(), Error> {
        let context = &mut self.context;
        let db = context.db();
        let Some(mut tx) = context.tx.take() else { return Ok(()) };
        let id = tx.id();
        let begin = tx.begin_lsn();
        // Checkpoints, which read the catalog under the same mutex, see it before the undo or
        // after it, and its rows with it.
        let ddl = context.lock_catalog_from(0);
        let undone = db.undo_to(&mut tx, begin, &mut context.undone);
        if let Err(error) = &undone {
            if error.cause() == Cause::BadPage && context.changes.is_empty() {
                db.defer_rollback(&tx, error)?;
                self.forget_deferred();
                return undone;
            }
            db.go_offline(error);
            context.reserved.clear();
        }
        let undone = undone.and_then(|()| {
            tx.abort().map_err(Error::from).inspect_err(|error| {
                db.go_offline(error);
                context.reserved.clear();
            })
        });
        context.roll_back_changes(0);
        drop(ddl);
        // The undo has reallocated what the transaction had freed.
        context.freed = Freed::default();
        self.end(id);
        db.space.release(std::mem::take(&mut self.context.undone))?;
        undone.map(|_| ())
    }

    /// The rollback needs a page that cannot be read. The transaction stays open, its locks are
    /// held, the log keeps its records: the next opening continues the rollback. The session begins
    /// another transaction.
    fn forget_deferred(&mut self) {
        self.context.freed = Freed::default();
        self.context.undone = Freed::default();
        self.context.reserved.clear();
        self.context.forget_transaction();
        self.is_explicit = false;
        self.is_doomed = false;
    }

    fn end(&mut self, id: extentdb_base::XactId) {
        self.context.end(id);
        self.is_explicit = false;
        self.is_doomed = false;
    }

    /// Was the open transaction a deadlock victim? It takes no more statements, and cannot commit.
    pub fn is_doomed(&self) -> bool {
        self.is_doomed
    }

    fn verify_not_doomed(&self) -> Result<(), Error> {
        if self.is_doomed { Err(Error::Doomed) } else { Ok(()) }
    }

    /// Sets a savepoint in the transaction.
    pub fn save(&mut self, name: &str) -> Result<(), Error> {
        self.verify_not_doomed()?;
        self.begin();
        let context = &mut self.context;
        let lsn = context.tx()?.savepoint(name)?;
        context.savepoints.insert(lsn, (context.freed.mark(), context.changes.len()));
        Ok(())
    }

    /// Rolls back to a savepoint. Locks acquired since then stay.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.context.db().verify_online()?;
        self.verify_not_doomed()?;
        let missing = || Error::NoSavepoint { name: name.to_owned() };
        let context = &mut self.context;
        let tx = context.tx.as_mut().ok_or_else(missing)?;
        let until = tx.return_to(name).map_err(|_| missing())?;
        let (freed, changes) = context.savepoints.get(&until).copied().ok_or_else(missing)?;
        let _ddl = context.lock_catalog_from(changes);
        context.undo_to(until)?;
        context.savepoints.retain(|lsn, _| *lsn <= until);
        context.freed.return_to(freed);
        context.roll_back_changes(changes);
        Ok(())
    }

    /// Runs a statement. When it fails, its effects are undone; outside of a transaction it is a
    /// transaction by itself.
    pub(crate) fn statement<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut StatementContext<'d>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.context.db().verify_online()?;
        self.verify_not_doomed()?;
        self.begin_named(name);
        let context = &mut self.context;
        let before = context.tx.as_ref().map_or(Lsn::ZERO, |tx| tx.undo_next().max(tx.begin_lsn()));
        let changes = context.changes.len();
        let freed = context.freed.mark();
        match work(context) {
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
                let _ddl = context.lock_catalog_from(changes);
                context.undo_to(before)?;
                // The undo has reallocated what the statement had freed.
                context.freed.return_to(freed);
                context.roll_back_changes(changes);
                Err(error)
            }
        }
    }

    /// Runs `work` in the open transaction without undo when it fails; as a statement when none is
    /// open.
    pub(crate) fn in_transaction<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut StatementContext<'d>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.context.db().verify_online()?;
        if self.is_in_transaction() { work(&mut self.context) } else { self.statement(name, work) }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.context.table(name)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // A dropped session rolls its open transaction back; when that fails, the next opening
        // does.
        let _ = self.rollback();
    }
}
