//! Sessions: transactions one after the other, and statements in them.
//!
//! A statement outside of a transaction is a transaction by itself. The effects of a failed
//! statement are undone, and the transaction continues. A deadlock victim is doomed (3930): it can
//! only roll back.
//!
//! ```text
//! Session            database, settings, open transaction; Send + 'static
//!   └ statement ──▶ StatementContext<'_>   what the statement works with ([`context`])
//!                     └ begin, commit, rollback, savepoints ([`transaction`])
//! ```

pub(crate) mod context;
pub(crate) mod isolation;
mod transaction;
pub(crate) mod values;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::Ordering;
use extentdb_txn::lock::{DEADLOCK_PRIORITIES, Timeout};
use extentdb_types::Datum;

use crate::catalog::Table;
use crate::database::Database;
use crate::error::Error;

pub(crate) use context::StatementContext;
pub use isolation::Isolation;
pub use values::SessionNames;

use context::SessionState;

/// Values of a row, in column order.
pub type Row = Vec<Datum<'static>>;

/// A session of a database. It keeps the database in memory, may be sent to another thread between
/// statements, and holds nothing but its settings while no transaction is open.
pub struct Session {
    db: Arc<Database>,
    state: SessionState,
}

impl Database {
    /// A session. Its transactions run one after the other.
    pub fn session(self: &Arc<Self>) -> Session {
        let id = self.sessions.fetch_add(1, Ordering::Relaxed);
        self.open_sessions.fetch_add(1, Ordering::Relaxed);
        Session { db: self.clone(), state: SessionState::new(id) }
    }
}

impl Session {
    /// The session as statements use it.
    fn context(&mut self) -> StatementContext<'_> {
        StatementContext::new(&self.db, &mut self.state)
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Cancels the statement that the session runs, from any thread: its waits for locks end, and
    /// its work ends at the next page. Its effects are undone; the transaction stays open. A commit
    /// or rollback completes. A cancel between two statements has no effect.
    pub fn cancellation(&self) -> Arc<Cancellation> {
        self.state.cancellation.clone()
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

    /// Isolation level of the next statements.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.state.isolation = isolation;
    }

    /// Begins a transaction. An open transaction continues.
    pub fn begin(&mut self) {
        self.context().begin();
    }

    /// Is a transaction open?
    pub fn is_in_transaction(&self) -> bool {
        self.state.tx.is_some()
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
    /// 4. Its locks are released.
    /// 5. The pages and extents that it freed can be allocated.
    /// 6. A checkpoint is made when one is due.
    ///
    /// # Errors
    /// [`Error::Doomed`]: it was a deadlock victim, and stays open for its rollback. After any
    /// other error the database is offline, and the next opening shows whether it was committed.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.context().commit()
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// The database is offline; the next opening undoes the transaction.
    pub fn rollback(&mut self) -> Result<(), Error> {
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

    /// Runs a statement. When it fails, its effects are undone; outside of a transaction it is a
    /// transaction by itself.
    pub(crate) fn statement<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut StatementContext<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
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
        if self.is_in_transaction() {
            work(&mut self.context())
        } else {
            self.statement(name, work)
        }
    }

    /// A table by `schema.name`, or by its name in schema dbo.
    pub fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.state.table(&self.db, name)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A dropped session rolls its open transaction back; when that fails, the next opening
        // does.
        let _ = self.rollback();
        self.db.open_sessions.fetch_sub(1, Ordering::Release);
    }
}
