//! Row versions of one database: are they written, who may read them, and how that changes.
//!
//! ```text
//! ALLOW_SNAPSHOT_ISOLATION
//!   OFF ─▶ IN_TRANSITION_TO_ON ─▶ ON     writers tag at once; snapshots from when the last
//!                                        transaction has ended that did not
//!   ON ─▶ IN_TRANSITION_TO_OFF ─▶ OFF    no new snapshots at once; writers tag until the last
//!                                        one is given up, and those that do to their end
//! READ_COMMITTED_SNAPSHOT
//!   OFF ◀─▶ ON                           while nobody else uses the database
//! ```
//!
//! Invariants
//! - A transaction decides at its first change whether it tags, and keeps to it.
//! - While a snapshot is in use, every open transaction that changes something tags; what the
//!   others have changed was committed before the snapshot was taken.
//! - A writer counts itself, then looks again whether versions are written; who changes that
//!   changes it, then waits for the counters. Neither misses the other.

use std::collections::HashMap;

use extentdb_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, OnceLock, lock};
use extentdb_base::{DatabaseId, ObjectId, XactId};
use extentdb_txn::versions::{CommitNumber, VersionWriter};

use crate::database::Database;
use crate::error::{Error, Unsupported};
use crate::versions::{DatabaseVersions, Versions};

/// Ids of transactions that write tags: greater than the numbers in tags that another program has
/// written into an attached file. Those count its transactions, from the start of a server on.
const FIRST_WRITER: XactId = XactId { high: 0x4000, low: 0 };

/// Is SNAPSHOT allowed? The values of `sys.databases.snapshot_isolation_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum SnapshotIsolationState {
    /// No.
    #[default]
    Off = 0,
    /// Yes.
    On = 1,
    /// Not for further transactions; some that it was allowed for are open.
    InTransitionToOff = 2,
    /// Not yet: transactions are open that write no versions.
    InTransitionToOn = 3,
}

/// What a transition waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transition {
    /// The last transaction that writes no versions.
    Unversioned,
    /// The last transaction with a snapshot.
    Readers,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RowVersions {
    /// Made when versions are first written; never in a database that is opened by itself.
    versions: OnceLock<Arc<DatabaseVersions>>,
    snapshot_isolation: AtomicU8,
    is_read_committed_snapshot: AtomicBool,
    /// Transactions that begin to change something tag what they change.
    is_writing: AtomicBool,
    /// Snapshots of an older number are refused here.
    readable_since: AtomicU64,
    /// Open transactions that have changed something without tags.
    unversioned: AtomicUsize,
    /// Open transactions with a snapshot.
    readers: AtomicUsize,
    /// When DDL has changed a table last, while a snapshot may be older.
    redefined: Mutex<HashMap<ObjectId, CommitNumber>>,
}

/// How an open transaction changes rows of a database, until this is dropped.
#[derive(Debug)]
pub(crate) enum Writing {
    /// Without tags.
    Unversioned(#[expect(dead_code, reason = "counts until it is dropped")] Counted),
    /// With tags.
    Versioned(VersionWriter),
}

/// One of the counters of a database is higher until this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    of: Arc<RowVersions>,
    what: Transition,
}

impl SnapshotIsolationState {
    fn of(byte: u8) -> SnapshotIsolationState {
        match byte {
            1 => SnapshotIsolationState::On,
            2 => SnapshotIsolationState::InTransitionToOff,
            3 => SnapshotIsolationState::InTransitionToOn,
            _ => SnapshotIsolationState::Off,
        }
    }
}

impl RowVersions {
    fn counter(&self, what: Transition) -> &AtomicUsize {
        match what {
            Transition::Unversioned => &self.unversioned,
            Transition::Readers => &self.readers,
        }
    }

    fn count(self: &Arc<Self>, what: Transition) -> Counted {
        self.counter(what).fetch_add(1, Ordering::SeqCst);
        Counted { of: self.clone(), what }
    }

    /// Has what a transition waits for ended?
    pub(crate) fn has_ended(&self, what: Transition) -> bool {
        self.counter(what).load(Ordering::SeqCst) == 0
    }

    /// A transaction is about to change something for the first time.
    pub(crate) fn begin_writing(self: &Arc<Self>, id: XactId) -> Writing {
        loop {
            if let Some(versions) = self.versions.get().filter(|_| self.is_writing()) {
                return Writing::Versioned(versions.commits.begin(id));
            }
            let counted = self.count(Transition::Unversioned);
            if !self.is_writing() {
                return Writing::Unversioned(counted);
            }
        }
    }

    /// A transaction has a snapshot here.
    pub(crate) fn begin_reading(self: &Arc<Self>) -> Counted {
        self.count(Transition::Readers)
    }

    /// The store and the commits; `None` as long as versions have never been written.
    pub(crate) fn versions(&self) -> Option<&Arc<DatabaseVersions>> {
        self.versions.get()
    }

    /// Do transactions that begin now write versions?
    pub(crate) fn is_writing(&self) -> bool {
        self.is_writing.load(Ordering::SeqCst)
    }

    pub(crate) fn snapshot_isolation(&self) -> SnapshotIsolationState {
        SnapshotIsolationState::of(self.snapshot_isolation.load(Ordering::SeqCst))
    }

    pub(crate) fn is_read_committed_snapshot(&self) -> bool {
        self.is_read_committed_snapshot.load(Ordering::SeqCst)
    }

    fn set_state(&self, state: SnapshotIsolationState) {
        self.snapshot_isolation.store(state as u8, Ordering::SeqCst);
    }

    fn update_writing(&self) {
        let is_needed = self.is_read_committed_snapshot()
            || self.snapshot_isolation() != SnapshotIsolationState::Off;
        self.is_writing.store(is_needed, Ordering::SeqCst);
    }

    /// Writers tag from now on.
    ///
    /// # Errors
    /// The server has no tempdb.
    fn ensure_store(&self, versions: &Versions, database: DatabaseId) -> Result<(), Error> {
        if self.versions.get().is_none() {
            let Some(own) = DatabaseVersions::new(versions, database) else {
                return Err(Error::NotSupported(Unsupported::RowVersionsAlone));
            };
            // One thread at a time changes the state of a database.
            let _ = self.versions.set(Arc::new(own));
        }
        Ok(())
    }

    /// Was the database ready for snapshots when one with this number was taken?
    pub(crate) fn is_readable_at(&self, number: CommitNumber) -> bool {
        number.0 >= self.readable_since.load(Ordering::SeqCst)
    }

    /// DDL has changed these tables; its transaction is published, its locks are held.
    pub(crate) fn note_redefined(
        &self,
        tables: impl IntoIterator<Item = ObjectId>,
        at: CommitNumber,
    ) {
        if self.versions.get().is_some() {
            lock(&self.redefined).extend(tables.into_iter().map(|table| (table, at)));
        }
    }

    /// Has DDL changed the table after this number? Its lock is held.
    pub(crate) fn is_redefined_since(&self, table: ObjectId, number: CommitNumber) -> bool {
        lock(&self.redefined).get(&table).is_some_and(|at| *at > number)
    }

    /// Forgets DDL that no snapshot is older than.
    pub(crate) fn clean(&self, horizon: CommitNumber) {
        lock(&self.redefined).retain(|_, at| *at > horizon);
        self.versions.get().iter().for_each(|versions| versions.clean());
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.of.counter(self.what).fetch_sub(1, Ordering::SeqCst);
    }
}

impl Database {
    /// Does every snapshot, now and later, see this transaction? True of all while no versions are
    /// written.
    pub(crate) fn is_seen_by_all(&self, writer: XactId) -> bool {
        self.row_versions.versions().is_none_or(|own| own.commits.is_seen_by_all(writer))
    }

    /// Is the SNAPSHOT isolation level allowed?
    pub fn snapshot_isolation(&self) -> SnapshotIsolationState {
        self.row_versions.snapshot_isolation()
    }

    /// Does READ COMMITTED read the last committed version instead of waiting for locks?
    pub fn is_read_committed_snapshot(&self) -> bool {
        self.row_versions.is_read_committed_snapshot()
    }

    /// Writers are about to tag.
    fn ensure_store(&self) -> Result<(), Error> {
        self.transactions.skip_ids_below(FIRST_WRITER);
        self.row_versions.ensure_store(&self.services.versions, self.locks.database())
    }

    /// SNAPSHOT is about to be allowed: writers tag. `wait` returns when what it is asked for has
    /// ended; when it fails, the state is as it was.
    pub(crate) fn allow_snapshots(
        &self,
        wait: impl FnOnce(Transition) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let own = &self.row_versions;
        if own.snapshot_isolation() == SnapshotIsolationState::On {
            return Ok(());
        }
        self.ensure_store()?;
        own.set_state(SnapshotIsolationState::InTransitionToOn);
        own.update_writing();
        let waited = wait(Transition::Unversioned);
        if waited.is_err() {
            own.set_state(SnapshotIsolationState::Off);
            own.update_writing();
            return waited;
        }
        self.note_readable();
        own.set_state(SnapshotIsolationState::On);
        Ok(())
    }

    /// SNAPSHOT is not allowed any more.
    pub(crate) fn forbid_snapshots(
        &self,
        wait: impl Fn(Transition) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let own = &self.row_versions;
        if own.snapshot_isolation() == SnapshotIsolationState::Off {
            return Ok(());
        }
        own.set_state(SnapshotIsolationState::InTransitionToOff);
        if let Err(error) = wait(Transition::Readers) {
            own.set_state(SnapshotIsolationState::On);
            return Err(error);
        }
        own.set_state(SnapshotIsolationState::Off);
        own.update_writing();
        Ok(())
    }

    /// READ COMMITTED reads versions from now on, or locks. Nobody else uses the database, and no
    /// transaction is open.
    pub(crate) fn set_read_committed_snapshot(&self, is_on: bool) -> Result<(), Error> {
        let own = &self.row_versions;
        if is_on {
            self.ensure_store()?;
            self.note_readable();
        }
        own.is_read_committed_snapshot.store(is_on, Ordering::SeqCst);
        own.update_writing();
        Ok(())
    }

    /// Older snapshots would miss changes of transactions that have left no tags.
    fn note_readable(&self) {
        if !self.row_versions.is_read_committed_snapshot() {
            let now = self.services.versions.commits.last();
            self.row_versions.readable_since.store(now.0, Ordering::SeqCst);
        }
    }
}
