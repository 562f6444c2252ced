//! Row versions of the databases of a server: what snapshots see, and where older records are kept.
//!
//! ```text
//! writer of a row ─▶ DatabaseVersions ─ keep ─▶ VersionPages ─▶ lane ─▶ unit: extents of tempdb
//! reader          ◀─ sees ─ Commits     read ◀─                               dropped whole
//! ```
//!
//! The rows, their tags and the chains of versions are rowset's ([`extentdb_rowset::version`]); the
//! numbers of commits are txn's ([`extentdb_txn::versions`]). Here is the store between them, and
//! what a server says of it.

pub(crate) mod info;
mod lane;
mod store;
mod unit;
mod values;

use std::time::Duration;

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, OnceLock};
use extentdb_base::{DatabaseId, XactId};
use extentdb_rowset::version::{KeptValue, Snapshot, ValueKey, VersionPointer, VersionStore};
use extentdb_txn::versions::{Commits, DatabaseCommits};

use crate::error::Error;
use values::{KeptValues, ValueChunks};

pub(crate) use store::{Tempdb, VersionPages};
pub(crate) use unit::RecordOwner;

/// What all databases of a server share of row versions.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    pub(crate) commits: Arc<Commits>,
    /// Set when tempdb is made; never in a database that is opened by itself.
    store: OnceLock<Arc<VersionPages>>,
    pub(crate) counters: info::VersionCounters,
}

impl Versions {
    /// Records may be kept from now on. One call for a server.
    pub(crate) fn set_store(&self, store: VersionPages) {
        // A second tempdb is never made.
        let _ = self.store.set(Arc::new(store));
    }

    /// Where records are kept; none without a tempdb.
    pub(crate) fn store(&self) -> Option<&Arc<VersionPages>> {
        self.store.get()
    }

    /// At this moment of the monotonic clock.
    pub(crate) fn info(&self, now: Duration) -> info::VersionsInfo {
        let snapshots = self.commits.active_snapshots();
        let oldest = snapshots.iter().map(|snapshot| snapshot.began).min();
        info::VersionsInfo {
            store: self.store().map(|store| store.size()).unwrap_or_default(),
            oldest_snapshot_age: oldest.map_or(Duration::ZERO, |began| now.saturating_sub(began)),
            snapshots,
            last_commit: self.commits.last(),
            horizon: self.commits.horizon(),
            open_writers: self.commits.open_writers(),
            update_conflicts: self.counters.update_conflicts.load(Ordering::Relaxed),
            snapshot_updates: self.counters.snapshot_updates.load(Ordering::Relaxed),
        }
    }

    /// Removes what no snapshot can need any more: one turn of the cleanup.
    ///
    /// # Errors
    /// tempdb is closed.
    pub(crate) fn clean(&self) -> Result<(), Error> {
        self.commits.clean();
        self.store.get().map_or(Ok(()), |store| store.clean())
    }
}

/// The version store as one database uses it.
#[derive(Debug)]
pub(crate) struct DatabaseVersions {
    pub(crate) commits: Arc<DatabaseCommits>,
    store: Arc<VersionPages>,
    database: DatabaseId,
    values: KeptValues,
}

impl DatabaseVersions {
    /// # Errors
    /// The server has no tempdb.
    pub(crate) fn new(versions: &Versions, database: DatabaseId) -> Option<DatabaseVersions> {
        let store = versions.store()?.clone();
        let commits = versions.commits.enter_database();
        Some(DatabaseVersions { commits, store, database, values: KeptValues::default() })
    }
}

impl DatabaseVersions {
    /// Forgets values whose writers all snapshots see.
    pub(crate) fn clean(&self) {
        self.values.clean(|writer| self.commits.is_seen_by_all(writer));
    }
}

impl VersionStore for DatabaseVersions {
    fn keep(
        &self,
        writer: XactId,
        record: &[u8],
    ) -> Result<VersionPointer, extentdb_rowset::Error> {
        let owner = RecordOwner { database: self.database, commits: &self.commits, writer };
        self.store
            .keep(owner, record)
            .map_err(|error| extentdb_rowset::Error::VersionStore(Box::new(error)))
    }

    fn read(&self, at: VersionPointer) -> Result<Vec<u8>, extentdb_rowset::Error> {
        match self.store.read(at) {
            Ok(Some(record)) => Ok(record),
            Ok(None) => Err(extentdb_rowset::Error::VersionGone { at }),
            Err(error) => Err(extentdb_rowset::Error::VersionStore(Box::new(error))),
        }
    }

    fn keep_value(
        &self,
        writer: XactId,
        value: ValueKey,
        read: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool, extentdb_rowset::Error>,
    ) -> Result<(), extentdb_rowset::Error> {
        if self.values.has(value, writer) {
            return Ok(());
        }
        let mut chunks = ValueChunks::new(&self.store);
        let mut bytes = Vec::new();
        while read(&mut bytes)? {
            while bytes.len() >= ValueChunks::BYTES {
                let rest = bytes.split_off(ValueChunks::BYTES);
                chunks.push(self.keep(writer, &bytes)?, bytes.len());
                bytes = rest;
            }
        }
        if !bytes.is_empty() {
            chunks.push(self.keep(writer, &bytes)?, bytes.len());
        }
        // From here on readers find it; the value changes afterwards.
        self.values.add(value, writer, chunks);
        Ok(())
    }

    fn kept_value(&self, value: ValueKey, snapshot: &dyn Snapshot) -> Option<Arc<dyn KeptValue>> {
        Some(self.values.find(value, snapshot)?)
    }
}
