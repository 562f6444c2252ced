//! Sessions: transactions one after the other, and statements in them.
//!
//! A statement outside of a transaction is a transaction by itself. The effects of a failed
//! statement are undone, and the transaction continues. A deadlock victim is doomed (3930): it can
//! only roll back.
//!
//! ```text
//! Session            current database, settings, open transaction; Send + 'static
//!   └ statement ──▶ StatementContext<'_>   what the statement works with ([`context`])
//!                     └ begin, commit, rollback, savepoints ([`transaction`])
//!                         └ in several databases ([`branch`], [`two_phase`])
//! ```

mod branch;
pub(crate) mod context;
pub(crate) mod isolation;
mod read_only_groups;
pub(crate) mod reference_checks;
mod seen;
mod snapshot;
mod transaction;
mod two_phase;
pub(crate) mod values;

use extentdb_base::ObjectId;
use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_txn::lock::{DEADLOCK_PRIORITIES, Timeout};
use extentdb_types::Datum;

use crate::catalog::Table;
use crate::database::Database;
use crate::database::sessions::SessionHandle;
use crate::error::Error;

pub(crate) use context::StatementContext;
pub use isolation::Isolation;
pub(crate) use seen::{RowWriter, SeenVersions};
pub use transaction::{StatementEnd, StatementScope};
pub use values::SessionNames;

use branch::DatabaseInUse;
use context::SessionState;

/// Values of a row, in column order.
pub type Row = Vec<Datum<'static>>;

/// A session of a database. It keeps the database in memory, may be sent to another thread between
/// statements, and holds nothing but its settings while no transaction is open.
pub struct Session {
    db: DatabaseInUse,
    state: SessionState,
}

impl Database {
    /// A session. Its transactions run one after the other.
    ///
    /// # Panics
    /// When 32,767 are open.
    pub fn session(self: &Arc<Self>) -> Session {
        self.try_session().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same.
    ///
    /// # Errors
    /// [`Error::TooManySessions`].
    pub fn try_session(self: &Arc<Self>) -> Result<Session, Error> {
        let entry = self.services.sessions.enter(self.locks.database())?;
        self.own.get_or_init(|| Arc::downgrade(self));
        Ok(Session {
            db: DatabaseInUse::new(self),
            state: SessionState::new(entry),
        })
    }
}

impl Session {
    /// The session as statements use it.
    fn context(&mut self) -> StatementContext<'_> {
        StatementContext::new(&self.db, &mut self.state)
    }

    /// The database that statements work in.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// From now on statements work in another database of the server. An open transaction
    /// continues there, and ends in all its databases at once.
    ///
    /// # Errors
    /// [`Error::OtherServer`]: the database is open in another server, or by itself.
    pub fn use_database(&mut self, db: &Arc<Database>) -> Result<(), Error> {
        if Arc::ptr_eq(&self.db, db) {
            return Ok(());
        }
        if !Arc::ptr_eq(&self.db.services, &db.services) {
            return Err(Error::OtherServer { database: db.name().to_owned() });
        }
        let left = std::mem::replace(&mut self.db, DatabaseInUse::new(db));
        self.state.change_database(left, db);
        self.state.entry.handle.set_database(db.locks.database());
        Ok(())
    }

    /// The session's token: its `cancel`, called on any thread, ends the statement that the session
    /// runs. A wait for a lock ends at once, a scan at its next page, the reading of a stream at
    /// its next chunk: the statement fails, with [`Cause::Cancelled`](crate::Cause::Cancelled), and
    /// its effects are undone; an open transaction stays open. A commit or rollback completes.
    ///
    /// A cancel between two statements has no effect: the next one clears the token when it begins.
    /// Within a [scope](Self::begin_scope) it stays, for the next call.
    pub fn cancellation(&self) -> Arc<Cancellation> {
        self.state.entry.handle.cancellation().clone()
    }

    /// How often the session is counted among those that use a database.
    pub(crate) fn uses_of(&self, db: &Database) -> usize {
        let is_it = |own: &Arc<Database>| std::ptr::eq(&**own, db);
        let others = self.state.others.iter().filter(|(own, _)| is_it(own)).count();
        others + usize::from(is_it(&self.db))
    }

    /// The session as other threads may see it.
    pub fn handle(&self) -> &Arc<SessionHandle> {
        &self.state.entry.handle
    }

    /// Names that defaults and checks ask for.
    pub fn set_names(&mut self, names: SessionNames) {
        self.state.names = names;
    }

    /// How long statements wait for locks.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.state.timeout = timeout;
    }

    /// Priority of the session, from -10 to 10; values beyond count as these. The session with the
    /// lowest priority in a deadlock becomes its victim.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.state.deadlock_priority =
            priority.clamp(*DEADLOCK_PRIORITIES.start(), *DEADLOCK_PRIORITIES.end());
    }

    /// The table whose triggers the caller runs after each statement that changes its rows; `None`
    /// for none. Rows of any other table with enabled triggers are not changed.
    pub fn set_triggers_run_of(&mut self, table: Option<ObjectId>) {
        self.state.triggers_run_of = table;
    }

    /// Makes the checks of foreign keys that wait for the end of a scope.
    ///
    /// # Errors
    /// A row references one that is not there.
    pub fn verify_references(&mut self) -> Result<(), Error> {
        self.context().verify_references_now()
    }

    /// Isolation level of the next statements.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.state.isolation = isolation;
    }

    /// Isolation level of the next statements.
    pub fn isolation(&self) -> Isolation {
        self.state.isolation
    }

    /// Begins a transaction. An open transaction continues.
    pub fn begin(&mut self) {
        self.context().begin();
    }

    /// Is a transaction open?
    pub fn is_in_transaction(&self) -> bool {
        self.state.owner.is_some()
    }

    /// Was the open transaction a deadlock victim? It takes no more statements, and cannot commit.
    pub fn is_doomed(&self) -> bool {
        self.state.is_doomed
    }

    /// Commits the transaction: its changes are durable when this returns.
    ///
    /// 1. COMMIT_XACT is appended; the transaction leaves the table of active ones.
    /// 2. The log is flushed up to it, together with those of other committers.
    /// 3. The cached catalog follows its DDL.
    /// 4. Room on pages that was reserved for its undo is released, and text pages that its deletes
    ///    have emptied are freed.
    /// 5. Its locks are released.
    /// 6. The pages and extents that it freed can be allocated.
    /// 7. A checkpoint is made when one is due.
    ///
    /// In several databases steps 1 and 2 are those of two-phase commit, the others follow in each.
    ///
    /// # Errors
    /// [`Error::Doomed`]: it was a deadlock victim, and stays open for its rollback. After any
    /// other error the database is offline, and the next opening shows whether it was committed.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.context().commit()
    }

    /// Rolls the transaction back. Scopes that are open have nothing to undo from then on: what
    /// comes before their ends are statements of their own.
    ///
    /// # Errors
    /// The database is offline; the next opening undoes the transaction.
    pub fn rollback(&mut self) -> Result<(), Error> {
        self.state.scopes = 0;
        self.context().rollback()
    }

    /// Sets a savepoint in the transaction.
    pub fn save(&mut self, name: &str) -> Result<(), Error> {
        self.context().save(name)
    }

    /// Rolls back to a savepoint. Locks acquired since then stay.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.context().rollback_to(name)
    }

    /// Begins a statement of several calls: each of them is a statement within it, and
    /// [`end_scope`](Self::end_scope) commits or undoes them together. Scopes may be nested.
    ///
    /// # Errors
    /// As for any statement.
    pub fn begin_scope(&mut self) -> Result<StatementScope, Error> {
        self.context().begin_scope()
    }

    /// Ends a statement of several calls. Outside of a transaction it is committed or rolled back;
    /// in one, its effects stay or are undone.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit) and [`rollback`](Self::rollback).
    pub fn end_scope(&mut self, scope: StatementScope, end: StatementEnd) -> Result<(), Error> {
        self.context().end_scope(scope, end)
    }

    /// Runs a statement. When it fails, its effects are undone; outside of a transaction it is a
    /// transaction by itself.
    pub(crate) fn statement<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut StatementContext<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _work = self.state.entry.task.work();
        let mut context = self.context();
        let start = context.begin_statement(name)?;
        let done = work(&mut context);
        context.end_statement(start, done)
    }

    /// Runs `work` in the open transaction without undo when it fails; as a statement when none is
    /// open.
    pub(crate) fn in_transaction<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut StatementContext<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.db.verify_online()?;
        // A transaction has no part in a database before its first statement there: what it locks
        // would stay locked.
        if self.is_in_transaction() && self.state.branch.tx.is_some() {
            work(&mut self.context())
        } else {
            self.statement(name, work)
        }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.state.table(&self.db, name)
    }

    /// The same in another database of the server, which need not be the current one: the open
    /// transaction sees what it has done there.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn table_in(&self, db: &Arc<Database>, name: &str) -> Result<Arc<Table>, Error> {
        self.state.table_in(&self.db, db, name)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A dropped session rolls its open transaction back; when that fails, the next opening
        // does.
        let _ = self.rollback();
    }
}
