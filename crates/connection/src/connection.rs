//! A connection: its login, options, transaction, and the requests that it runs.
//!
//! Invariants
//! - One request at a time. A connection may move to another thread between requests, and blocks
//!   its thread while it runs one.
//! - [`Interrupt`] may be used from any thread: it ends the request at hand and nothing else.
//! - A dropped connection rolls its transaction back.

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_bind::surroundings::MadeRows;
use extentdb_engine::SessionNames;
use extentdb_types::Collation;

use crate::app_lock::AppLockOwner;
use crate::cause::Cause;
use crate::compiled_texts::CompiledTexts;
use crate::cursor::Cursors;
use crate::engine_error;
use crate::engine_session::EngineSession;
use crate::identities::Identities;
use crate::login::{ClientInfo, DEFAULT_DATABASE};
use crate::message::Message;
use crate::notes::Notes;
use crate::objects::TemporaryTables;
use crate::options::SetOptions;
use crate::output::{Environment, Gone, Output};
use crate::pending_load::PendingLoad;
use crate::prepared::Prepared;
use crate::security::state::Security;
use crate::server::Server;
use crate::session_context::SessionContext;
use crate::transaction::TransactionState;
use crate::trigger::Firing;
use extentdb_exec::{MemoryPool, Notices};

/// A connection of a client.
pub struct Connection {
    /// The server that it is of.
    pub server: Arc<Server>,
    /// Its session in the engine.
    pub session: EngineSession,
    /// Who it is, as the client said at the login.
    pub client: ClientInfo,
    /// Who it acts as.
    pub security: Security,
    /// Options of SET.
    pub options: SetOptions,
    /// Name of the current database.
    pub database: String,
    login_database: String,
    /// The transaction, as T-SQL counts it.
    pub transaction: TransactionState,
    /// Statements that the client has prepared.
    pub prepared: Prepared,
    /// Texts that it has compiled.
    pub texts: Arc<CompiledTexts>,
    /// What the statements of its login may use together; `None` without a limit.
    pub(crate) memory: Option<Arc<MemoryPool>>,
    /// Temporary tables and table variables.
    pub temporary: TemporaryTables,
    /// INSERT BULK whose rows have not arrived.
    pub pending_load: Option<PendingLoad>,
    /// The rows of the load that runs.
    pub bulk_rows: Option<MadeRows>,
    /// The rows that INSERT … EXECUTE inserts.
    pub given_rows: Option<MadeRows>,
    /// Global cursors, and what FETCH has found.
    pub cursors: Cursors,
    /// What IDENTITY functions tell.
    pub identities: Identities,
    /// What the statement that runs will tell of, and its line.
    pub notices: Arc<Notices>,
    /// Line of the statement that runs.
    pub line: u32,
    /// Keys and values of `sp_set_session_context`.
    pub context: SessionContext,
    /// Triggers that run, outermost first.
    pub firing: Firing,
    /// Does INSERT … EXEC wait for rows?
    pub is_capturing: bool,
    /// `@@ROWCOUNT`
    pub rowcount: i64,
    /// `@@ERROR`
    pub error: i32,
    /// Batches, texts and procedures that run within each other.
    pub nesting: u32,
    /// What views show of it.
    pub notes: Arc<Mutex<Notes>>,
    is_interrupted: Arc<AtomicBool>,
    is_message_ended: AtomicBool,
}

/// Ends the request at hand of a connection.
#[derive(Debug, Clone)]
pub struct Interrupt {
    is_interrupted: Arc<AtomicBool>,
    cancellation: Arc<extentdb_base::cancel::Cancellation>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The connection takes the next request.
    Ready,
    /// It was interrupted: the client asked for it.
    Interrupted,
    /// The connection is to be closed.
    Close,
}

impl Interrupt {
    /// Interrupts: waits end, and so does work at its next step.
    pub fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::SeqCst);
        self.cancellation.cancel();
    }
}

impl Connection {
    /// A connection of a client that was let in.
    ///
    /// # Errors
    /// Its database cannot be used, and it asked for this one only.
    pub fn open(server: &Arc<Server>, client: ClientInfo) -> Result<Connection, Message> {
        let own = server
            .with_logins(|logins| logins.named(&client.login).map(|login| login.database.clone()));
        let own = own.unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
        let wanted = if client.database.is_empty() { own.clone() } else { client.database.clone() };
        let session = match server.instance.session(&wanted) {
            Ok(session) => Ok(session),
            Err(_) if !client.requires_database => server.instance.session(&own),
            Err(error) => Err(error),
        };
        let session = session.map_err(|_| cannot_open(&wanted))?;
        server.count_connection();
        let memory = server.login_memory(&client.login);
        let database = session.database().name().to_owned();
        let options = SetOptions::at_login(client.is_odbc);
        let now = server.instance.options().database.clock.since_epoch();
        let notes = server.sessions.enter(session.handle().id(), &client, &options, now);
        let security = Security::new(server, &client.login);
        let connection = Connection {
            server: server.clone(),
            session: EngineSession::new(session),
            options,
            client,
            security,
            login_database: database.clone(),
            database,
            transaction: TransactionState::default(),
            prepared: Prepared::default(),
            texts: server.new_texts(),
            memory,
            temporary: TemporaryTables::default(),
            pending_load: None,
            bulk_rows: None,
            given_rows: None,
            cursors: Cursors::default(),
            identities: Identities::default(),
            notices: Arc::default(),
            line: 0,
            context: SessionContext::default(),
            firing: Firing::new(),
            is_capturing: false,
            rowcount: 0,
            error: 0,
            nesting: 0,
            notes,
            is_interrupted: Arc::default(),
            is_message_ended: AtomicBool::default(),
        };
        connection.entered(&wanted, &own)
    }

    /// The connection, where its login has a user in its database; else, where it may, in the
    /// database of the login.
    fn entered(mut self, wanted: &str, own: &str) -> Result<Connection, Message> {
        let database = self.session.database().clone();
        if self.verify_access(&database).is_ok() {
            let user = self.user_name();
            self.set_names(user);
            return Ok(self);
        }
        let is_own = wanted.eq_ignore_ascii_case(own);
        if is_own && !self.client.database.is_empty() || self.client.requires_database && !is_own {
            return Err(cannot_open(wanted));
        }
        let used = self.server.instance.use_database(&mut self.session, own);
        let database = self.session.database().clone();
        if is_own || used.is_err() || self.verify_access(&database).is_err() {
            return Err(cannot_open_own());
        }
        self.database = database.name().to_owned();
        self.login_database.clone_from(&self.database);
        let user = self.user_name();
        self.set_names(user);
        Ok(self)
    }

    /// What the engine shows of the session.
    pub fn set_names(&mut self, user: String) {
        let client = &self.client;
        let names = SessionNames {
            login: client.login.clone(),
            user,
            host: client.host.clone(),
            application: client.application.clone(),
        };
        self.session.set_names(names);
    }

    /// Session id, `@@SPID`.
    #[must_use]
    pub fn spid(&self) -> u16 {
        self.session.handle().id().0
    }

    /// Name of the current database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Options as they are now.
    #[must_use]
    pub fn options(&self) -> &SetOptions {
        &self.options
    }

    /// Collation of the current database.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.server.collation
    }

    /// Is a transaction open?
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.count > 0
    }

    /// Descriptor of the open transaction; 0 when there is none.
    #[must_use]
    pub fn descriptor(&self) -> u64 {
        self.transaction.descriptor
    }

    /// What ends a request of this connection from another thread.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        Interrupt {
            is_interrupted: self.is_interrupted.clone(),
            cancellation: self.session.cancellation(),
        }
    }

    /// A new request: what interrupted the one before does not count for it. Called before the
    /// request can be interrupted.
    pub fn begin_request(&self) {
        self.is_interrupted.store(false, Ordering::SeqCst);
        self.is_message_ended.store(false, Ordering::SeqCst);
        if !self.is_killed() {
            self.session.handle().cancellation().clear();
        }
    }

    /// No more calls of this message are run.
    pub fn end_message(&self) {
        self.is_message_ended.store(true, Ordering::SeqCst);
    }

    /// Has an error ended the message?
    pub fn is_message_ended(&self) -> bool {
        self.is_message_ended.load(Ordering::SeqCst)
    }

    /// Puts the session back to what it was at the login.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn reset(&mut self, keeps_transaction: bool, output: &mut dyn Output) -> Result<(), Gone> {
        if !keeps_transaction && self.transaction.count > 0 {
            // What cannot be rolled back is when the database is opened again.
            let _ = self.session.rollback();
            self.transaction = TransactionState::default();
            self.end_session_locks();
        }
        self.drop_temporary_from(0);
        let isolation = self.options.isolation;
        self.options = SetOptions::at_login(self.client.is_odbc);
        if keeps_transaction {
            self.options.isolation = isolation;
        }
        self.reset_security();
        self.prepared = Prepared::default();
        self.cursors = Cursors::default();
        self.identities = Identities::default();
        self.context = SessionContext::default();
        self.rowcount = 0;
        self.error = 0;
        self.nesting = 0;
        let database = self.login_database.clone();
        if self.server.instance.use_database(&mut self.session, &database).is_ok() {
            self.database = database;
        }
        self.apply_options();
        output.environment(&Environment::Reset)
    }

    /// Hands the options that the engine knows down to it.
    pub fn apply_options(&mut self) {
        use extentdb_engine::{Isolation as Level, Timeout};

        use crate::request::Isolation;
        self.session.set_lock_timeout(match self.options.lock_timeout {
            0 => Timeout::NoWait,
            time if time > 0 => {
                Timeout::After(std::time::Duration::from_millis(time.unsigned_abs().into()))
            }
            _ => Timeout::Infinite,
        });
        self.session.set_deadlock_priority(self.options.deadlock_priority);
        self.session.set_isolation(match self.options.isolation {
            Isolation::ReadUncommitted => Level::ReadUncommitted,
            Isolation::RepeatableRead => Level::RepeatableRead,
            Isolation::Serializable => Level::Serializable,
            Isolation::Snapshot => Level::Snapshot,
            _ => Level::ReadCommitted,
        });
    }

    /// The application locks that end with the transaction end.
    pub(crate) fn end_transaction_locks(&self) {
        self.server.app_locks.end(self.spid(), Some(AppLockOwner::Transaction));
    }

    /// All of its application locks end.
    fn end_session_locks(&self) {
        self.server.app_locks.end(self.spid(), None);
    }

    /// Was the session killed? The connection is to be closed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.session.handle().is_killed()
    }

    /// Was the request at hand interrupted?
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::SeqCst)
    }

    /// Rows that an INSERT takes from memory.
    pub fn loaded_rows(&self) -> Option<&MadeRows> {
        self.bulk_rows.as_ref().or(self.given_rows.as_ref())
    }

    /// The message of an error of the engine.
    pub fn engine_cause(&self, error: &extentdb_engine::Error) -> Cause {
        engine_error::cause_of(error, self.session.handle().id())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.sessions.leave(self.session.handle().id());
        // What cannot be rolled back is when the database is opened again; tempdb is made at
        // every start.
        let _ = self.session.rollback();
        self.end_session_locks();
        self.drop_temporary_from(0);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.spid())
    }
}

/// The database of the login itself.
fn cannot_open_own() -> Message {
    let text = "Cannot open user default database. Login failed.".to_owned();
    Message { number: 4064, text, ..cannot_open("") }
}

fn cannot_open(database: &str) -> Message {
    Message {
        number: 4060,
        severity: 11,
        state: 1,
        procedure: String::new(),
        line: 1,
        text: format!(
            "Cannot open database \"{database}\" requested by the login. The login failed."
        ),
    }
}
