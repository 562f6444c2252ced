//! A database that is open.

pub(crate) mod background;
pub(crate) mod boot;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod deadlock_events;
pub(crate) mod emergency;
mod file_settings;
pub(crate) mod file_stamp;
pub(crate) mod files;
pub(crate) mod ghost_cleanup;
pub(crate) mod new_ids;
pub(crate) mod open;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod rename;
pub(crate) mod row_versions;
pub(crate) mod services;
pub(crate) mod sessions;
pub(crate) mod spec;
pub(crate) mod suspect;
pub(crate) mod timestamp;
pub(crate) mod verify;
pub(crate) mod wake_up;

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, OnceLock, Weak};
use extentdb_base::{Lsn, OfflineCause, Outage};
use extentdb_buffer::{DoubleWrite, Durability, Pool, WriteAhead, WriteAheadError};
use extentdb_space::{FillEvents, Space};
use extentdb_telemetry::EventSink;
use extentdb_txn::Manager;
use extentdb_txn::lock::DatabaseLocks;
use extentdb_types::Guid;
use extentdb_wal::Log;

use crate::catalog::CatalogCache;
use crate::database::checkpoint::Checkpoints;
use crate::database::new_ids::NewIds;
use crate::database::options::Options;
use crate::database::row_versions::RowVersions;
use crate::database::services::Services;
use crate::database::suspect::Deferred;
use crate::database::timestamp::Timestamps;
use crate::database::wake_up::WakeUps;
use crate::error::Error;
use crate::recovery::redo::Recovered;
use crate::session::isolation::Serializers;
use crate::statistics::service::StatisticsService;

/// A database that is open. All methods may be called from all threads.
pub struct Database {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) transactions: Arc<Manager>,
    pub(crate) space: Arc<Space>,
    pub(crate) locks: DatabaseLocks,
    pub(crate) catalog: CatalogCache,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) recovered: Recovered,
    /// Receives copies of pages before the pages are overwritten.
    pub(crate) double_write: Option<Arc<DoubleWrite>>,
    /// Transactions whose rollback waits for a suspect page.
    pub(crate) deferred: Mutex<Deferred>,
    /// Are there any? Asked by every statement.
    pub(crate) has_deferred: AtomicBool,
    /// The largest id of a file that was removed: no other gets it until the next opening.
    pub(crate) last_file: AtomicU16,
    /// One statement changes the catalog at a time.
    pub(crate) ddl: Mutex<()>,
    /// By its boot page: 655 or 661.
    pub(crate) version: u16,
    /// The id that all its files share.
    pub(crate) binding: Guid,
    pub(crate) durability: Durability,
    pub(crate) open_sessions: AtomicUsize,
    /// No statement begins any more.
    pub(crate) is_closing: AtomicBool,
    /// No transaction of a user may change anything.
    pub(crate) is_read_only: AtomicBool,
    pub(crate) serializers: Serializers,
    pub(crate) row_versions: Arc<RowVersions>,
    pub(crate) timestamps: Timestamps,
    pub(crate) new_ids: NewIds,
    pub(crate) statistics: StatisticsService,
    /// The database itself, for sessions of its background tasks: from its first session on.
    pub(crate) own: OnceLock<Weak<Database>>,
    /// Shared by log, pool and database.
    pub(crate) outage: Outage,
    /// Those of its threads, when it has some: see [`run`](Self::run).
    pub(crate) wake_ups: Arc<WakeUps>,
    /// What it shares with the other databases of its server.
    pub(crate) services: Arc<Services>,
}

impl Database {
    /// The name in its boot page.
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

    /// The write-ahead log, for figures and backups.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Its user tables, by id. Those of transactions that are still open are among them.
    pub fn tables(&self) -> Vec<Arc<crate::Table>> {
        self.catalog.user_tables()
    }

    /// The lock manager, for lists of locks and waits.
    pub fn locks(&self) -> &DatabaseLocks {
        &self.locks
    }

    /// The transactions that have log records and have not ended, those of the system among them.
    pub fn active_transactions(&self) -> Vec<crate::ActiveTransaction> {
        self.transactions.with_active(<[_]>::to_vec)
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

    /// Does it not outlive a restart, as tempdb?
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.durability == Durability::Ephemeral
    }

    /// Nothing more is done after an error that leaves memory and files apart.
    pub(crate) fn verify_online(&self) -> Result<(), Error> {
        self.outage.verify().map_err(Error::Offline)
    }

    /// Uses of the database by sessions: as their current database, or by an open transaction.
    pub(crate) fn open_sessions(&self) -> usize {
        self.open_sessions.load(Ordering::SeqCst)
    }

    /// Are changes refused?
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::SeqCst)
    }

    /// From now on changes are refused, or accepted again. No transaction is open.
    pub(crate) fn set_read_only(&self, is_read_only: bool) -> Result<(), Error> {
        if is_read_only {
            self.checkpoint()?;
        }
        self.is_read_only.store(is_read_only, Ordering::SeqCst);
        self.transactions.set_read_only(is_read_only);
        Ok(())
    }

    /// A statement may begin.
    pub(crate) fn verify_in_service(&self) -> Result<(), Error> {
        self.verify_online()?;
        if self.is_closing.load(Ordering::SeqCst) {
            return Err(Error::Closing { database: self.name.clone() });
        }
        Ok(())
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
        // Those of deferred transactions; nobody waits for a database that is dropped.
        let _ = self.services.locks.release_database(self.locks.database());
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.name)
    }
}

/// The log as the pool sees it.
pub(crate) struct WriteAheadLog(pub(crate) Arc<Log>);

impl WriteAhead for WriteAheadLog {
    fn flush_to(&self, lsn: extentdb_base::Lsn) -> Result<(), WriteAheadError> {
        // A page may carry the LSN of a log that this one replaced.
        if lsn <= self.0.durable() {
            return Ok(());
        }
        self.0.flush(lsn).map_err(WriteAheadError::new)
    }
}

/// Events of space management as events of the engine.
pub(crate) struct SpaceEvents {
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) wake_ups: Arc<WakeUps>,
}

impl FillEvents for SpaceEvents {
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
        self.wake_ups.growth.notify();
    }
}
