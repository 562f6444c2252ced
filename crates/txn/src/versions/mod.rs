//! Commit sequence numbers: what a snapshot sees.
//!
//! ```text
//! writer     begin ─ entry Active ─ tags records ─ commit durable ─ number n ─ locks released
//! snapshot   number of the newest commit when it was taken
//!            sees(id):  no entry → yes;  Active, Aborted → no;  Committed(n) → n ≤ own number
//! clean      entries with a number ≤ the horizon are removed: all snapshots agree on them
//! ```
//!
//! Known algorithm: snapshots by commit sequence number (CSN), as in Oracle and Hekaton. Where we
//! differ: records carry the id of their writer, not the number, so that a commit changes no
//! record; the number is looked up here, and only while snapshots disagree about it.
//!
//! [`Commits`] is one for all databases of an instance: a transaction over several of them gets one
//! number. Each opening of a database has ids of its own, [`DatabaseCommits`].
//!
//! Invariants
//! - A writer has an entry before its first tag is on a page, and until no snapshot can be asked
//!   about it: an id without an entry is seen by all. So are those from before the opening.
//! - A number is published after all entries that it commits: under the mutex `publishing`.
//! - A rolled back writer takes a number, too, when its undo is complete. A reader that has copied
//!   one of its records before that has an older snapshot, and finds the entry.
//! - A snapshot reads the newest number under the lock of the shard that it is entered in, and the
//!   horizon is read before the shards: no snapshot is older than a horizon that has missed it.
//! - `floor` is at most the least id with an entry: lowered before the entry counts, raised with
//!   all shards locked.

mod snapshots;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, MutexGuard, Weak, lock, try_lock};
use extentdb_base::{SessionId, XactId};

use crate::manager::number;
use snapshots::Snapshots;
pub use snapshots::{ActiveSnapshot, DatabaseSnapshot, SnapshotKind, TakenSnapshot};

/// Parts of the table of a database, so that threads rarely meet.
const SHARDS: usize = 16;
/// Ended writers that are kept before a commit removes those that all snapshots agree on.
const CLEANED_AT: usize = 1024;
/// The floor of a table without entries.
const NO_ENTRY: u64 = u64::MAX;

/// Position of a commit among the commits and rollbacks of an instance. 0 = before the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct CommitNumber(pub u64);

/// The commits of an instance that snapshots tell apart.
#[derive(Debug, Default)]
pub struct Commits {
    /// The newest number that is published.
    last: AtomicU64,
    /// Ended writers by number: what [`clean`](Self::clean) removes, the oldest first. Its mutex is
    /// `publishing`.
    publishing: Mutex<Ended>,
    snapshots: Snapshots,
    writers: AtomicUsize,
    /// Openings of databases so far.
    openings: AtomicU32,
}

/// Writers that have ended and still have an entry.
#[derive(Debug, Default)]
struct Ended {
    queue: VecDeque<EndedWriter>,
    /// Length at which the next commit cleans: twice what the last cleaning has left.
    clean_at: usize,
}

#[derive(Debug)]
struct EndedWriter {
    number: CommitNumber,
    id: u64,
    database: Weak<DatabaseCommits>,
}

/// The writers of a database since its opening that snapshots may not agree on.
#[derive(Debug)]
pub struct DatabaseCommits {
    commits: Arc<Commits>,
    number: u32,
    shards: [Mutex<BTreeMap<u64, State>>; SHARDS],
    /// Ids below it have no entry.
    floor: AtomicU64,
}

/// What is known of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Active,
    Committed(CommitNumber),
    Aborted(CommitNumber),
}

/// A transaction that tags records. Dropped without [`Commits::commit`], it counts as rolled back:
/// its undo is complete by then.
#[derive(Debug)]
pub struct VersionWriter {
    /// `None` once it has ended.
    database: Option<Arc<DatabaseCommits>>,
    id: u64,
}

impl Commits {
    /// Nothing has been committed.
    pub fn new() -> Arc<Commits> {
        Arc::default()
    }

    /// A database is opened: its ids so far are seen by all.
    pub fn enter_database(self: &Arc<Self>) -> Arc<DatabaseCommits> {
        Arc::new(DatabaseCommits {
            commits: self.clone(),
            number: self.openings.fetch_add(1, Ordering::Relaxed),
            shards: Default::default(),
            floor: AtomicU64::new(NO_ENTRY),
        })
    }

    /// The newest number.
    pub fn last(&self) -> CommitNumber {
        CommitNumber(self.last.load(Ordering::SeqCst))
    }

    /// Commits the writers of one transaction, in all its databases at once. Their commits are
    /// durable, and their locks still held. Returns its number.
    pub fn commit(&self, writers: impl IntoIterator<Item = VersionWriter>) -> CommitNumber {
        let mut writers = writers.into_iter().peekable();
        if writers.peek().is_some() { self.end(writers, State::Committed) } else { self.last() }
    }

    fn end(
        &self,
        writers: impl IntoIterator<Item = VersionWriter>,
        state: fn(CommitNumber) -> State,
    ) -> CommitNumber {
        let mut ended = lock(&self.publishing);
        let number = CommitNumber(self.last.load(Ordering::SeqCst) + 1);
        for mut writer in writers {
            let Some(database) = writer.database.take() else { continue };
            database.set(writer.id, state(number));
            self.writers.fetch_sub(1, Ordering::Relaxed);
            let database = Arc::downgrade(&database);
            ended.queue.push_back(EndedWriter { number, id: writer.id, database });
        }
        self.last.store(number.0, Ordering::SeqCst);
        if ended.queue.len() >= ended.clean_at.max(CLEANED_AT) {
            self.clean_some(&mut ended);
            ended.clean_at = 2 * ended.queue.len();
        }
        number
    }

    /// A snapshot of what is committed now, until it is dropped.
    pub fn snapshot(
        self: &Arc<Self>,
        session: SessionId,
        kind: SnapshotKind,
        began: Duration,
    ) -> TakenSnapshot {
        TakenSnapshot::take(self, session, kind, began)
    }

    /// Removes what all snapshots agree on, now and later; returns the horizon: the number of the
    /// oldest snapshot, or the newest number.
    pub fn clean(&self) -> CommitNumber {
        match try_lock(&self.publishing) {
            Some(mut ended) => self.clean_some(&mut ended),
            // A commit is published this moment: the next turn cleans.
            None => self.horizon(),
        }
    }

    fn clean_some(&self, ended: &mut Ended) -> CommitNumber {
        let horizon = self.horizon();
        let mut changed: Vec<Arc<DatabaseCommits>> = Vec::new();
        while let Some(first) = ended.queue.front().filter(|first| first.number <= horizon) {
            if let Some(database) = first.database.upgrade() {
                database.forget(first.id);
                if !changed.iter().any(|own| Arc::ptr_eq(own, &database)) {
                    changed.push(database);
                }
            }
            ended.queue.pop_front();
        }
        changed.iter().for_each(|database| database.raise_floor());
        horizon
    }

    /// Every snapshot, now and later, has this number or a higher one.
    pub fn horizon(&self) -> CommitNumber {
        // First: a snapshot that is not found has read `last` later.
        let last = self.last();
        self.snapshots.oldest().map_or(last, |oldest| oldest.min(last))
    }

    /// The snapshots in use, the oldest first.
    pub fn active_snapshots(&self) -> Vec<ActiveSnapshot> {
        self.snapshots.list()
    }

    /// Writers that are open.
    pub fn open_writers(&self) -> usize {
        self.writers.load(Ordering::Relaxed)
    }

    /// Ended writers that snapshots may still disagree about.
    pub fn kept(&self) -> usize {
        lock(&self.publishing).queue.len()
    }
}

impl DatabaseCommits {
    /// The commits of the instance.
    pub fn commits(&self) -> &Arc<Commits> {
        &self.commits
    }

    /// Number of the opening, which no other of the instance has.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// A transaction is about to tag records with its id, which no other has had since the opening.
    pub fn begin(self: &Arc<Self>, id: XactId) -> VersionWriter {
        let id = number(id);
        let mut shard = lock(self.shard(id));
        shard.insert(id, State::Active);
        self.floor.fetch_min(id, Ordering::SeqCst);
        drop(shard);
        self.commits.writers.fetch_add(1, Ordering::Relaxed);
        VersionWriter { database: Some(self.clone()), id }
    }

    /// Does a snapshot with this number see a transaction other than its own?
    fn is_seen(&self, id: u64, by: CommitNumber) -> bool {
        if id < self.floor.load(Ordering::SeqCst) {
            return true;
        }
        match lock(self.shard(id)).get(&id) {
            None => true,
            Some(State::Committed(number)) => *number <= by,
            Some(State::Active | State::Aborted(_)) => false,
        }
    }

    /// Does every snapshot, now and later, see this transaction? For a rolled back one: does no
    /// snapshot meet its records any more?
    pub fn is_seen_by_all(&self, id: XactId) -> bool {
        let id = number(id);
        id < self.floor.load(Ordering::SeqCst) || !lock(self.shard(id)).contains_key(&id)
    }

    /// Consecutive ids are in different shards.
    fn shard(&self, id: u64) -> &Mutex<BTreeMap<u64, State>> {
        &self.shards[id as usize % SHARDS]
    }

    fn set(&self, id: u64, state: State) {
        lock(self.shard(id)).insert(id, state);
    }

    fn forget(&self, id: u64) {
        lock(self.shard(id)).remove(&id);
    }

    fn raise_floor(&self) {
        let shards: Vec<MutexGuard<'_, BTreeMap<u64, State>>> =
            self.shards.iter().map(lock).collect();
        let least = shards.iter().filter_map(|shard| shard.keys().next().copied()).min();
        self.floor.store(least.unwrap_or(NO_ENTRY), Ordering::SeqCst);
    }
}

impl VersionWriter {
    /// Id of the transaction.
    pub fn id(&self) -> XactId {
        crate::manager::id_of(self.id)
    }

    /// Nobody knows how it ends before the next opening of its database: no snapshot sees it until
    /// then.
    pub fn leave_open(mut self) {
        self.database = None;
    }
}

impl Drop for VersionWriter {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else { return };
        let commits = database.commits.clone();
        let own = VersionWriter { database: Some(database), id: self.id };
        commits.end([own], State::Aborted);
    }
}
