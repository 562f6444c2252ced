//! A database that is open.

pub(crate) mod add_file;
pub(crate) mod background;
pub(crate) mod boot;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod deadlock_events;
pub(crate) mod emergency;
pub(crate) mod file_stamp;
pub(crate) mod ghost_cleanup;
pub(crate) mod open;
pub(crate) mod suspect;

use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{Lsn, OfflineCause, Outage};
use extentdb_buffer::{DoubleWrite, Pool, WriteAhead, WriteAheadError};
use extentdb_io::{Disk, DurabilityMode, RealDisk};
use extentdb_rowset::heap::Placement;
use extentdb_space::{FillEvents, Space};
use extentdb_telemetry::{EventSink, NoEvents, Waits};
use extentdb_txn::Manager;
use extentdb_txn::lock::LockManager;
use extentdb_wal::Log;

use crate::catalog::cache::CatalogCache;
use crate::database::background::Bells;
use crate::database::checkpoint::Checkpoints;
use crate::database::suspect::Deferred;
use crate::error::Error;
use crate::recovery::redo::Recovered;
use crate::recovery::torn_pages::TornPages;
use crate::session::Session;
use crate::session::isolation::Serializers;

/// Which log is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecoveryModel {
    /// What a restart needs.
    #[default]
    Simple,
    /// Also what has not been backed up yet: see [`Database::log_backed_up`].
    Full,
}

/// How a database is run.
#[derive(Clone)]
pub struct Options {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Pages in memory: 16 at least, and no more than the machine has memory for, or 2^31.
    pub frames: usize,
    /// The first eight pages of a table come from mixed extents.
    pub mixed_pages: bool,
    /// Consecutive extents per file and turn: 1 to 64, as with `-E`.
    pub extents_per_turn: u32,
    /// New files count as full as SQL Server's are, in memory only, so that skip targets are the
    /// same; off by default.
    pub compatible_space: bool,
    /// How rows are placed in heaps.
    pub placement: Placement,
    /// Which log is kept.
    pub recovery_model: RecoveryModel,
    /// Log that may be written before a checkpoint is due; `None` = only when asked for, or when
    /// the log is nearly full (T3505).
    pub checkpoint_log_bytes: Option<u64>,
    /// How long a restart may take to redo what is not in the files: checkpoints come often enough
    /// for that. `None` = however long.
    pub target_recovery: Option<Duration>,
    /// Take ghosts away while the database runs with threads of its own; off with trace flag 661.
    pub ghost_cleanup: bool,
    /// What becomes of pages whose write a crash cuts short.
    pub torn_pages: TornPages,
    /// Where waits are counted.
    pub waits: Arc<Waits>,
    /// Who hears of events.
    pub events: Arc<dyn EventSink>,
}

impl Options {
    /// On this disk, with 64 MB of pages in memory.
    pub fn on(disk: Arc<dyn Disk>) -> Options {
        Options {
            disk,
            clock: Arc::new(SystemClock::new()),
            frames: 8192,
            mixed_pages: true,
            extents_per_turn: 1,
            compatible_space: false,
            placement: Placement::Packed,
            recovery_model: RecoveryModel::Simple,
            checkpoint_log_bytes: Some(64 << 20),
            target_recovery: Some(Duration::from_secs(60)),
            ghost_cleanup: true,
            torn_pages: TornPages::default(),
            waits: Arc::new(Waits::new()),
            events: Arc::new(NoEvents),
        }
    }
}

impl Default for Options {
    /// In the file system, durable as the machine does it best.
    fn default() -> Options {
        Options::on(Arc::new(RealDisk::new(DurabilityMode::Auto)))
    }
}

/// A database that is open. All methods may be called from all threads.
pub struct Database {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) transactions: Arc<Manager>,
    pub(crate) space: Arc<Space>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) catalog: CatalogCache,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) recovered: Recovered,
    /// Where copies of pages go before the pages are overwritten.
    pub(crate) double_write: Option<Arc<DoubleWrite>>,
    /// Transactions whose rollback waits for a suspect page.
    pub(crate) deferred: Mutex<Deferred>,
    /// Are there any? Asked by every statement.
    pub(crate) has_deferred: AtomicBool,
    /// One statement changes the catalog at a time.
    pub(crate) ddl: Mutex<()>,
    /// By its boot page: 655 or 661.
    pub(crate) version: u16,
    pub(crate) sessions: AtomicUsize,
    pub(crate) serializers: Serializers,
    /// Shared by log, pool and database.
    pub(crate) outage: Outage,
    /// Those of its threads, when it has some: see [`run`](Self::run).
    pub(crate) bells: Arc<Bells>,
}

impl Database {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its files and filegroups.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Its pages in memory.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Its log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Its user tables, by id. Those of transactions that are still open are among them.
    pub fn tables(&self) -> Vec<Arc<crate::Table>> {
        self.catalog.user_tables()
    }

    /// Its locks.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// In the full recovery model: the log up to this record has been copied elsewhere, and need
    /// not be kept for that.
    pub fn log_backed_up(&self, lsn: Lsn) {
        self.checkpoints.set_backed_up(lsn);
    }

    /// What opening it had to do.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// A session: one after the other, its transactions.
    pub fn session(&self) -> Session<'_> {
        Session::new(self, self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Nothing more is done after an error that leaves memory and files apart.
    pub(crate) fn verify_online(&self) -> Result<(), Error> {
        self.outage.verify().map_err(Error::Offline)
    }

    /// Why the database is offline: the first failure; `None` while it is online.
    pub fn offline_cause(&self) -> Option<OfflineCause> {
        self.outage.cause().cloned()
    }

    /// From now on every statement fails, with this error as the reason unless there was one
    /// before.
    pub(crate) fn go_offline(&self, error: &Error) {
        self.outage.begin(OfflineCause::new(None, error));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.catalog.detach();
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.name)
    }
}

/// The log as the pool sees it.
pub(crate) struct Ahead(pub(crate) Arc<Log>);

impl WriteAhead for Ahead {
    fn flush_to(&self, lsn: extentdb_base::Lsn) -> Result<(), WriteAheadError> {
        // A page may carry the LSN of a log that this one replaced.
        if lsn <= self.0.durable() {
            return Ok(());
        }
        self.0.flush(lsn).map_err(WriteAheadError::new)
    }
}

/// Events of space management as events of the engine.
pub(crate) struct Fills {
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) bells: Arc<Bells>,
}

impl FillEvents for Fills {
    fn recalculated(&self, recalculation: &extentdb_space::fill::Recalculation) {
        self.events
            .event(&extentdb_telemetry::Event::ProportionalFill { lines: recalculation.lines() });
    }

    fn grown(&self, file: &extentdb_space::DataFile, pages: u32, duration: Duration) {
        self.events.event(&extentdb_telemetry::Event::FileGrowth {
            file: file.id(),
            pages,
            duration,
        });
    }

    fn running_low(&self) {
        self.bells.growth.ring();
    }
}
