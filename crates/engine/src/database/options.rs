//! How a database is run.

use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_io::{Disk, DurabilityMode, RealDisk};
use extentdb_rowset::heap::Placement;
use extentdb_telemetry::{EventSink, NoEvents, Waits};

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
    /// The first eight pages of a table are taken from mixed extents.
    pub mixed_pages: bool,
    /// Consecutive extents per file and turn: 1 to 64, as with `-E`.
    pub extents_per_turn: u32,
    /// New files count as full as SQL Server's are, in memory only, so that skip targets are the
    /// same; off by default.
    pub compatible_space: bool,
    /// How rows are index_with_rowset in heaps.
    pub placement: Placement,
    /// Which log is kept.
    pub recovery_model: RecoveryModel,
    /// Log that may be written before a checkpoint is due; `None` = only when asked for, or when
    /// the log is nearly full (T3505).
    pub checkpoint_log_bytes: Option<u64>,
    /// How long a restart may take to redo what is not in the files: checkpoints come often enough
    /// for that. `None` = however long.
    pub target_recovery: Option<Duration>,
    /// Bytes of rows that an index build sorts in memory; what is more is kept in tempdb. A
    /// database that is opened without a server has no tempdb, and sorts in memory alone.
    pub sort_memory: usize,
    /// Take ghosts away while the database runs with threads of its own; off with trace flag 661.
    pub ghost_cleanup: bool,
    /// What becomes of pages whose write a crash cuts short.
    pub torn_pages: TornPages,
    /// Who has made the files, and what is done with them.
    pub purpose: Purpose,
    /// When statistics are created and updated.
    pub statistics: StatisticsOptions,
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
            sort_memory: 64 << 20,
            ghost_cleanup: true,
            torn_pages: TornPages::default(),
            purpose: Purpose::default(),
            statistics: StatisticsOptions::default(),
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

/// What a database is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// To be changed: its version is one that is written, and its catalog is whole.
    #[default]
    Change,
    /// To be read, over a disk that keeps what is written to itself
    /// ([`OverlayDisk`](extentdb_io::OverlayDisk)). The pages have all changes of their log. Any
    /// version, and what of the catalog can be read.
    Read,
}

/// What becomes of pages whose write a crash cuts short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TornPages {
    /// They are repaired at the next opening: pages are written twice, but for new ones.
    #[default]
    Repaired,
    /// They are lost and reported (824): pages are written once. For databases that may be lost
    /// with their machine.
    Lost,
}

/// When statistics are created and updated without a statement that says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatisticsOptions {
    /// AUTO_CREATE_STATISTICS.
    pub auto_create: bool,
    /// AUTO_UPDATE_STATISTICS.
    pub auto_update: bool,
    /// After how many changes they are updated.
    pub threshold: UpdateThreshold,
}

impl Default for StatisticsOptions {
    fn default() -> StatisticsOptions {
        StatisticsOptions {
            auto_create: true,
            auto_update: true,
            threshold: UpdateThreshold::default(),
        }
    }
}

/// After how many changes of `n` rows statistics are stale, by public documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UpdateThreshold {
    /// Up to compatibility level 120: 500 + 20 % of `n`.
    #[default]
    Fixed,
    /// From level 130 on, or trace flag 2371: the less of that and √(1000 `n`).
    Dynamic,
}

impl UpdateThreshold {
    /// Changes that make statistics of so many rows stale. Those of an empty table are with the
    /// first row, those of up to 500 rows after 500 changes.
    pub fn of_rows(self, rows: f64) -> u64 {
        if rows < 1.0 {
            return 1;
        }
        let fixed = if rows <= 500.0 { 500.0 } else { 500.0 + 0.2 * rows };
        let changes = match self {
            UpdateThreshold::Fixed => fixed,
            UpdateThreshold::Dynamic if rows <= 500.0 => fixed,
            UpdateThreshold::Dynamic => fixed.min((1000.0 * rows).sqrt()),
        };
        changes.ceil() as u64
    }
}
