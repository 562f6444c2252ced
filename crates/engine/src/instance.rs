//! A server's databases: master, tempdb, model, msdb, and those of users.
//!
//! ```text
//! Instance ── Services ──▶ memory, locks, sessions      shared by all databases
//!     │
//!     ├─ 1 master   sysdbreg, sysbrickfiles: which databases there are  ([`registry`])
//!     ├─ 2 tempdb   made at every start, never made durable             ([`start`])
//!     ├─ 3 model    for clients; new databases come from the template   ([`create`])
//!     ├─ 4 msdb
//!     └─ 5 …        online, offline, read-only, …                       ([`state`])
//!                   or of files that are only read                      ([`mount`])
//! ```
//!
//! Databases are opened in two rounds: first redo and the undo of system transactions in all of
//! them, which collects the decisions on transactions over several databases ([`decisions`]); then
//! the undo of user transactions, which asks for them.
//!
//! Invariants
//! - What master's catalog says is what there is: a database exists from the commit of its row to
//!   the commit of the row's deletion. Files outside of that belong to nobody.
//! - One thread at a time changes the set of databases or the state of one (`admin`); looking one
//!   up waits for nobody.
//! - A database that cannot be opened keeps its row and its cause; the others work.

pub(crate) mod background;
mod create;
mod decisions;
pub(crate) mod files;
mod from_model;
pub(crate) mod info;
pub(crate) mod logins;
mod mount;
pub(crate) mod registry;
mod start;
pub(crate) mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{DatabaseId, OfflineCause, SessionId};

use crate::database::Database;
use crate::database::options::Options;
use crate::database::services::Services;
use crate::database::sessions::SessionHandle;
use crate::error::Error;
use crate::session::Session;

use background::Workers;
use decisions::DecisionTable;

/// How a server is run.
#[derive(Clone)]
pub struct InstanceOptions {
    /// Folder of the system databases, and of databases without a path of their own.
    pub data: PathBuf,
    /// How each database is run; `frames` are those of all databases together.
    pub database: Options,
    /// Data files of tempdb, of equal size: at least 1. SQL Server makes one for each core, 8 at
    /// most.
    pub tempdb_files: usize,
    /// Bytes of each of them.
    pub tempdb_file_bytes: u64,
    /// Seed of the random parts of ids.
    pub seed: u64,
    /// Who does what is done beside the statements.
    pub background: BackgroundWork,
}

/// Who makes checkpoints, removes versions that nobody needs, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BackgroundWork {
    /// Threads of the server.
    #[default]
    Threads,
    /// Sessions, and the caller by [`Instance::clean`]: every run is the same, for simulations.
    Sessions,
}

/// A server's databases, open. All methods may be called from all threads.
pub struct Instance {
    options: InstanceOptions,
    services: Arc<Services>,
    entries: Mutex<BTreeMap<DatabaseId, Entry>>,
    /// Held while the set of databases or the state of one changes.
    admin: Mutex<()>,
    decisions: DecisionTable,
    workers: Workers,
}

/// A database of the server.
struct Entry {
    registered: registry::Registered,
    service: Service,
}

/// Is a database in service?
#[derive(Clone)]
enum Service {
    Online(Arc<Database>),
    /// By its owner's wish.
    Offline,
    /// On its way in or out of service.
    Transition,
    /// Files are missing or cannot be read.
    RecoveryPending(OfflineCause),
    /// Its recovery has failed.
    Suspect(OfflineCause),
}

impl InstanceOptions {
    /// A server in this folder; tempdb has a file for each core, eight at most.
    pub fn new(data: impl Into<PathBuf>, database: Options) -> InstanceOptions {
        let cores = extentdb_base::sync::thread::available_parallelism();
        InstanceOptions {
            data: data.into(),
            database,
            tempdb_files: cores.map_or(1, usize::from).clamp(1, 8),
            tempdb_file_bytes: 8 << 20,
            seed: 0,
            background: BackgroundWork::default(),
        }
    }
}

impl Instance {
    /// How it is run.
    pub fn options(&self) -> &InstanceOptions {
        &self.options
    }

    /// A database that is online, by its name, without regard to the case of ASCII letters.
    ///
    /// # Errors
    /// [`Error::NoDatabase`]; [`Error::NotInService`] with the cause.
    pub fn database(&self, name: &str) -> Result<Arc<Database>, Error> {
        let entries = lock(&self.entries);
        let entry = entries.values().find(|entry| entry.registered.has_name(name));
        entry.ok_or_else(|| Error::NoDatabase { name: name.to_owned() })?.online()
    }

    /// The same by its id.
    ///
    /// # Errors
    /// As [`database`](Self::database).
    pub fn database_by_id(&self, id: DatabaseId) -> Result<Arc<Database>, Error> {
        let entries = lock(&self.entries);
        let entry = entries.get(&id);
        entry.ok_or_else(|| Error::NoDatabase { name: id.to_string() })?.online()
    }

    /// A session in a database.
    ///
    /// # Errors
    /// As [`database`](Self::database); [`Error::Access`] when the database takes no further
    /// session; [`Error::TooManySessions`].
    pub fn session(&self, database: &str) -> Result<Session, Error> {
        let db = self.database(database)?;
        self.verify_access(&db, None)?;
        db.try_session()
    }

    /// Lets a session work in another database: USE.
    ///
    /// # Errors
    /// As [`session`](Self::session).
    pub fn use_database(&self, session: &mut Session, database: &str) -> Result<(), Error> {
        let db = self.database(database)?;
        self.verify_access(&db, Some(session.handle().id()))?;
        session.use_database(&db)
    }

    /// The open sessions, by id.
    pub fn sessions(&self) -> Vec<Arc<SessionHandle>> {
        self.services.sessions.list()
    }

    /// Tasks of the sessions, with what they wait for.
    pub fn tasks(&self) -> &Arc<extentdb_telemetry::Tasks> {
        &self.services.sessions.tasks
    }

    /// Ends a session: KILL.
    ///
    /// # Errors
    /// [`Error::NoSession`].
    pub fn kill(&self, id: SessionId) -> Result<(), Error> {
        let sessions = self.sessions();
        let session = sessions.iter().find(|session| session.id() == id);
        session.ok_or(Error::NoSession { id })?.kill();
        Ok(())
    }

    /// What its databases share.
    #[cfg(test)]
    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Removes versions and ghosts that nobody needs, in all databases: one turn of the cleanup.
    ///
    /// # Errors
    /// A database is offline, or a page cannot be read.
    pub fn clean(&self) -> Result<(), Error> {
        let entries = lock(&self.entries);
        let online: Vec<Arc<Database>> =
            entries.values().filter_map(|entry| entry.online().ok()).collect();
        drop(entries);
        online.iter().try_for_each(|db| db.clean_some_ghosts())
    }

    /// The system's own database of all others.
    fn master(&self) -> Result<Arc<Database>, Error> {
        self.database_by_id(DatabaseId::MASTER)
    }

    fn set_service(&self, id: DatabaseId, service: Service) {
        if let Service::Online(db) = &service {
            self.restore_row_versions(id, db);
            self.workers.add(id, db);
        }
        if let Some(entry) = lock(&self.entries).get_mut(&id) {
            entry.service = service;
        }
    }
}

impl Entry {
    fn online(&self) -> Result<Arc<Database>, Error> {
        let state = match &self.service {
            Service::Online(db) => return Ok(db.clone()),
            service => service.state(),
        };
        let database = self.registered.name.clone();
        Err(Error::NotInService { database, state })
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance({} databases)", lock(&self.entries).len())
    }
}
