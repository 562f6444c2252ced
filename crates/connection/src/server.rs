//! What all connections of a server share.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_engine::Instance;
use extentdb_types::Collation;

use crate::hooks::Hooks;
use crate::login::Logins;
use crate::notes::Sessions;
use crate::product::Product;

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
    /// The process around it.
    pub hooks: Arc<dyn Hooks>,
    /// Of the last transaction; those of the server's sessions never meet.
    last_descriptor: AtomicU64,
    connections: AtomicU64,
    temporary_tables: AtomicU64,
    /// Its connections.
    pub sessions: Sessions,
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
        Arc::new(Server {
            instance,
            product,
            collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            logins: Mutex::new(logins),
            hooks,
            last_descriptor: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            temporary_tables: AtomicU64::new(0),
            sessions: Sessions::default(),
            started,
        })
    }

    /// Its databases.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
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
        self.hooks.store_logins(&changed.to_text())?;
        *logins = changed;
        Ok(())
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
