//! What the databases of a server share. A database that is opened by itself has its own.
//!
//! ```text
//! Services ─┬─ BufferMemory   frames of all databases
//!           ├─ LockManager    one wait-for graph through all databases
//!           ├─ Owners         of locks: transactions
//!           ├─ Sessions       by id, with what each of them waits for
//!           ├─ Versions       commits and snapshots; the version store, in tempdb
//!           ├─ Deadlocks      names of what is locked, for reports
//!           └─ WakeUps        of the background threads, which serve all databases
//! ```

use extentdb_base::DatabaseId;
use extentdb_base::sync::Arc;
use extentdb_buffer::{BufferMemory, Durability};
use extentdb_txn::Owners;
use extentdb_txn::lock::LockManager;

use crate::database::deadlock_events::Deadlocks;
use crate::database::options::Options;
use crate::database::sessions::Sessions;
use crate::database::wake_up::WakeUps;
use crate::error::invalid::InvalidOption;
use crate::versions::Versions;

/// See the module.
pub(crate) struct Services {
    pub(crate) memory: Arc<BufferMemory>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) owners: Arc<Owners>,
    pub(crate) deadlocks: Arc<Deadlocks>,
    pub(crate) wake_ups: Arc<WakeUps>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) versions: Versions,
}

/// A database among those that share services.
#[derive(Clone)]
pub(crate) struct Membership {
    pub(crate) services: Arc<Services>,
    /// Its id in the server; 0 when it is opened by itself.
    pub(crate) id: DatabaseId,
    /// What the server calls it; `None` = by its boot page.
    pub(crate) name: Option<String>,
    /// tempdb does not outlive a restart: nothing of it is made durable.
    pub(crate) durability: Durability,
}

impl Services {
    /// With the frames, clock, statistics and observer of these options.
    pub(crate) fn new(options: &Options) -> Arc<Services> {
        let clock = options.clock.clone();
        let locks = Arc::new(LockManager::new(options.waits.clone(), clock.clone()));
        let deadlocks = Arc::new(Deadlocks::new(options.events.clone()));
        locks.observe(deadlocks.clone());
        Arc::new(Services {
            memory: BufferMemory::new(options.frames, options.waits.clone(), clock),
            locks,
            owners: Arc::default(),
            deadlocks,
            wake_ups: Arc::default(),
            sessions: Arc::default(),
            versions: Versions::default(),
        })
    }
}

impl Membership {
    /// A database that is opened by itself.
    ///
    /// # Errors
    /// The options are refused, before any frame is allocated.
    pub(crate) fn alone(options: &Options) -> Result<Membership, InvalidOption> {
        options.verify()?;
        Ok(Membership {
            services: Services::new(options),
            id: DatabaseId(0),
            name: None,
            durability: Durability::Logged,
        })
    }
}
