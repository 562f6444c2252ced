//! What a server says of its row versions.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::DatabaseId;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
pub use extentdb_txn::versions::{ActiveSnapshot, CommitNumber, SnapshotKind};

/// Size of the version store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreSize {
    /// Units that exist.
    pub units: u64,
    /// Pages of tempdb that they have.
    pub reserved_pages: u64,
    /// Bytes of records by the database that they belong to:
    /// `sys.dm_tran_version_store_space_usage`.
    pub bytes_by_database: BTreeMap<DatabaseId, u64>,
    /// Records that were kept since the start.
    pub records_kept: u64,
    /// Units that were dropped since the start.
    pub units_dropped: u64,
}

/// Row versions of a server now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionsInfo {
    /// The version store; empty without a tempdb.
    pub store: StoreSize,
    /// Snapshots in use, the oldest first: `sys.dm_tran_active_snapshot_database_transactions`.
    pub snapshots: Vec<ActiveSnapshot>,
    /// How long the oldest snapshot has been in use: "Longest Transaction Running Time".
    pub oldest_snapshot_age: Duration,
    /// The newest commit.
    pub last_commit: CommitNumber,
    /// What all snapshots, now and later, see: commits up to this number.
    pub horizon: CommitNumber,
    /// Transactions that write versions: "Snapshot Transactions" without their readers.
    pub open_writers: usize,
    /// Changes under SNAPSHOT that found a row changed by another since: update conflicts.
    pub update_conflicts: u64,
    /// Transactions under SNAPSHOT that have changed something and ended. With the conflicts: the
    /// update conflict ratio.
    pub snapshot_updates: u64,
}

/// Sums since the start.
#[derive(Debug, Default)]
pub(crate) struct VersionCounters {
    pub(super) update_conflicts: AtomicU64,
    pub(super) snapshot_updates: AtomicU64,
}

impl VersionCounters {
    pub(crate) fn count_conflict(&self) {
        self.update_conflicts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_snapshot_update(&self) {
        self.snapshot_updates.fetch_add(1, Ordering::Relaxed);
    }
}
