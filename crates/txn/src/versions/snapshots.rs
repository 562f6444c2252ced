//! The snapshots in use, and what each of them sees.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{SessionId, XactId};

use super::{CommitNumber, Commits, DatabaseCommits};
use crate::manager::number;

/// Parts of the list of snapshots: sessions rarely meet.
const SHARDS: usize = 16;

/// How long a snapshot is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotKind {
    /// For a statement under READ COMMITTED.
    Statement,
    /// For a transaction under SNAPSHOT.
    Transaction,
}

/// A snapshot in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveSnapshot {
    /// What it sees: commits up to this number.
    pub number: CommitNumber,
    /// Whose it is.
    pub session: SessionId,
    /// For a statement or a transaction.
    pub kind: SnapshotKind,
    /// When it was taken, by the monotonic clock.
    pub began: Duration,
}

/// Those in use, by session.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    shards: [Mutex<Shard>; SHARDS],
}

/// By number, and the order in which they were taken.
#[derive(Debug, Default)]
struct Shard {
    taken: BTreeMap<(CommitNumber, u64), ActiveSnapshot>,
    next: u64,
}

/// A snapshot; others are told that it is not used any more when it is dropped.
#[derive(Debug)]
pub struct TakenSnapshot {
    commits: Arc<Commits>,
    session: SessionId,
    key: (CommitNumber, u64),
}

/// A snapshot as one database answers for it.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    snapshot: Arc<TakenSnapshot>,
    database: Arc<DatabaseCommits>,
    own: u64,
    /// The last id that was looked up, and the answer in the lowest bit: of a row after the other
    /// most have the same writer.
    ///
    /// Bench: `cargo test -p extentdb-txn --release --test snapshot_speed -- --ignored`.
    last_answer: AtomicU64,
}

impl Snapshots {
    fn shard(&self, session: SessionId) -> &Mutex<Shard> {
        &self.shards[usize::from(session.0) % SHARDS]
    }

    pub(super) fn oldest(&self) -> Option<CommitNumber> {
        let first = |shard: &Mutex<Shard>| {
            lock(shard).taken.first_key_value().map(|((number, _), _)| *number)
        };
        self.shards.iter().filter_map(first).min()
    }

    pub(super) fn list(&self) -> Vec<ActiveSnapshot> {
        let of = |shard: &Mutex<Shard>| lock(shard).taken.values().copied().collect::<Vec<_>>();
        let mut all: Vec<ActiveSnapshot> = self.shards.iter().flat_map(of).collect();
        all.sort_by_key(|snapshot| (snapshot.number, snapshot.session));
        all
    }
}

impl TakenSnapshot {
    pub(super) fn take(
        commits: &Arc<Commits>,
        session: SessionId,
        kind: SnapshotKind,
        began: Duration,
    ) -> TakenSnapshot {
        let mut shard = lock(commits.snapshots.shard(session));
        // Under the shard's lock: see the invariants of the module.
        let number = commits.last();
        let key = (number, shard.next);
        shard.next += 1;
        shard.taken.insert(key, ActiveSnapshot { number, session, kind, began });
        drop(shard);
        TakenSnapshot { commits: commits.clone(), session, key }
    }

    /// What it sees: commits up to this number.
    pub fn number(&self) -> CommitNumber {
        self.key.0
    }

    /// The snapshot in a database where `own` is the reader's transaction.
    pub fn within(
        self: &Arc<Self>,
        database: &Arc<DatabaseCommits>,
        own: XactId,
    ) -> DatabaseSnapshot {
        DatabaseSnapshot {
            snapshot: self.clone(),
            database: database.clone(),
            own: number(own),
            last_answer: AtomicU64::new(number(own) << 1 | 1),
        }
    }
}

impl Drop for TakenSnapshot {
    fn drop(&mut self) {
        lock(self.commits.snapshots.shard(self.session)).taken.remove(&self.key);
    }
}

impl DatabaseSnapshot {
    /// Had this transaction committed when the snapshot was taken, or is it the reader's own? The
    /// answer never changes.
    pub fn sees(&self, writer: XactId) -> bool {
        let id = number(writer);
        let last = self.last_answer.load(Ordering::Relaxed);
        if last >> 1 == id {
            return last & 1 == 1;
        }
        let is_seen = id == self.own || self.database.is_seen(id, self.snapshot.number());
        self.last_answer.store(id << 1 | u64::from(is_seen), Ordering::Relaxed);
        is_seen
    }

    /// Commits up to this number are seen.
    pub fn number(&self) -> CommitNumber {
        self.snapshot.number()
    }
}
