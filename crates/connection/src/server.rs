//! What all connections of a server share.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, Weak, lock, thread};
use extentdb_base::{DatabaseId, ObjectId};
use extentdb_bind::surroundings::MadeRows;
use extentdb_engine::{Database, Instance};
use extentdb_exec::{Memory, MemoryPool, WorkerPool, Workers};
use extentdb_types::Collation;

use crate::app_lock::AppLocks;
use crate::compiled_texts::CompiledTexts;
use crate::hooks::Hooks;
use crate::login::Logins;
use crate::notes::Sessions;
use crate::other_rows::OtherRows;
use crate::product::Product;
use crate::work_memory::{MemoryLimits, WorkMemory};

/// Threads of all queries at once, for each processor.
const THREADS_EACH: usize = 2;

/// A server as its sessions know it.
pub struct Server {
    /// The databases.
    pub instance: Arc<Instance>,
    /// What it calls itself.
    pub product: Product,
    /// Its collation.
    pub collation: Collation,
    /// Who may log in.
    pub logins: Mutex<Logins>,
    /// Grows with every change of logins and of permissions on the server.
    pub logins_version: AtomicU64,
    /// The process around it.
    pub hooks: Arc<dyn Hooks>,
    /// Of the last transaction; those of the server's sessions never meet.
    last_descriptor: AtomicU64,
    connections: AtomicU64,
    temporary_tables: AtomicU64,
    /// Locks that applications take by name.
    pub app_locks: AppLocks,
    /// Its connections.
    pub sessions: Sessions,
    work_memory: Mutex<WorkMemory>,
    threads: Arc<WorkerPool>,
    processors: usize,
    /// Those of all connections.
    texts: Mutex<Vec<Weak<CompiledTexts>>>,
    /// Those of tables that the engine does not read, by database.
    other_rows: Mutex<BTreeMap<DatabaseId, Arc<dyn OtherRows>>>,
    /// Since 1970, UTC.
    pub started: Duration,
}

impl Server {
    /// A server over the databases of `instance`.
    #[must_use]
    pub fn new(
        instance: Arc<Instance>,
        product: Product,
        logins: Logins,
        hooks: Arc<dyn Hooks>,
    ) -> Arc<Server> {
        let started = instance.options().database.clock.since_epoch();
        let work_memory = Mutex::new(WorkMemory::new(&instance));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Server {
            instance,
            product,
            collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            logins: Mutex::new(logins),
            logins_version: AtomicU64::new(0),
            hooks,
            last_descriptor: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            temporary_tables: AtomicU64::new(0),
            app_locks: AppLocks::default(),
            sessions: Sessions::default(),
            work_memory,
            threads: WorkerPool::new(THREADS_EACH * processors),
            processors,
            texts: Mutex::default(),
            other_rows: Mutex::default(),
            started,
        })
    }

    /// Its databases.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Tables of a database that the engine does not read are read by `rows`.
    pub fn set_other_rows(&self, database: &Database, rows: Arc<dyn OtherRows>) {
        lock(&self.other_rows).insert(database.locks().database(), rows);
    }

    /// The rows of a table that the engine does not read.
    pub(crate) fn other_rows(&self, database: &Database, table: ObjectId) -> Option<MadeRows> {
        let rows = lock(&self.other_rows).get(&database.locks().database()).cloned()?;
        rows.rows_of(table)
    }

    /// Limits the memory that statements keep rows in.
    pub fn set_memory_limits(&self, limits: MemoryLimits) {
        lock(&self.work_memory).limit(limits);
    }

    /// The texts of a new connection.
    pub(crate) fn new_texts(&self) -> Arc<CompiledTexts> {
        let texts = Arc::new(CompiledTexts::default());
        let mut all = lock(&self.texts);
        all.retain(|own| own.strong_count() > 0);
        all.push(Arc::downgrade(&texts));
        texts
    }

    /// Forgets all plans: they hold the files of their databases open.
    pub fn forget_plans(&self) {
        let all: Vec<Weak<CompiledTexts>> = lock(&self.texts).clone();
        all.iter().filter_map(Weak::upgrade).for_each(|texts| texts.clear());
    }

    /// The memory of one statement.
    pub(crate) fn statement_memory(&self, login: Option<&Arc<MemoryPool>>) -> Memory {
        lock(&self.work_memory).of_statement(login)
    }

    /// The threads of one statement, `most` of them or as many as there are processors.
    pub(crate) fn workers(&self, most: Option<usize>) -> Workers {
        let all = self.processors;
        Workers::new(&self.threads, most.map_or(all, |most| most.min(all)))
    }

    /// What the statements of a login may use together; `None` without a limit.
    pub(crate) fn login_memory(&self, login: &str) -> Option<Arc<MemoryPool>> {
        lock(&self.work_memory).of_login(login)
    }

    /// What it says it is.
    #[must_use]
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// Collation of its system databases.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Looks something up among the logins.
    pub fn with_logins<T>(&self, look: impl FnOnce(&Logins) -> T) -> T {
        look(&lock(&self.logins))
    }

    /// Changes the logins, and writes them down.
    ///
    /// # Errors
    /// They could not be written, and are as before.
    pub fn change_logins(&self, change: impl FnOnce(&mut Logins)) -> Result<(), String> {
        let mut logins = lock(&self.logins);
        let mut changed = logins.clone();
        change(&mut changed);
        match self.keeps_logins()? {
            true => {
                let stored = self.instance.store_logins(&changed.to_rows());
                stored.map_err(|error| error.to_string())?;
            }
            false => self.hooks.store_logins(&changed.to_text())?,
        }
        *logins = changed;
        self.note_logins();
        Ok(())
    }

    /// Does master keep the logins? One that was made before it did does not.
    ///
    /// # Errors
    /// master cannot be read.
    pub fn keeps_logins(&self) -> Result<bool, String> {
        let kept = self.instance.logins().map_err(|error| error.to_string())?;
        Ok(kept.is_some())
    }

    /// Logins, or permissions on the server, have changed.
    pub fn note_logins(&self) {
        self.logins_version.fetch_add(1, Ordering::AcqRel);
    }

    /// A descriptor for a new transaction; never 0.
    pub fn next_descriptor(&self) -> u64 {
        self.last_descriptor.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A number for a new temporary table; no two are equal.
    pub fn next_temporary_table(&self) -> u64 {
        self.temporary_tables.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a connection.
    pub fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections so far: `@@CONNECTIONS`.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({})", self.product.server_name)
    }
}
