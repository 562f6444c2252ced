//! Which transactions are active, and where each of them began.
//!
//! ```text
//! begin      nothing is logged: a transaction that changes nothing leaves no trace
//! 1st record BEGIN_XACT, then the record; the transaction is active
//! commit     COMMIT_XACT; no longer active
//! flushed    its commit is durable: no longer counted by `oldest_begin`
//! ```
//!
//! Invariants
//! - A transaction is in the table exactly while the log holds its BEGIN_XACT and not its end: both
//!   records are appended under the table's lock. What a checkpoint reads under that lock and logs
//!   before it releases it is therefore the state at the LSN of its record.
//! - [`Manager::oldest_begin`] also counts transactions whose commit is appended and not durable: a
//!   crash may still lose them, and readers that skip row locks must not show their rows.
//! - Ids grow and are never used twice in a database.

use std::collections::{BTreeMap, VecDeque};

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, OnceLock, lock};
use extentdb_base::{Lsn, OwnerId, PageId, XactId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::xact::EndXact;
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::{Context, Op, RecordHeader};
use extentdb_telemetry::{WaitType, Waits};
use extentdb_wal::Log;

use crate::error::Error;
use crate::owner::Owners;
use crate::time::log_time;
use crate::transaction::{Transaction, TransactionKind};

/// Begins transactions and keeps the table of the active ones.
pub struct Manager {
    pub(crate) log: Arc<Log>,
    clock: Arc<dyn Clock>,
    owners: Arc<Owners>,
    /// The next id.
    next: AtomicU64,
    state: Mutex<State>,
    /// Transactions that [`oldest_begin`](Self::oldest_begin) looks through: changes under the
    /// mutex of `state`.
    listed: AtomicUsize,
    changes: OnceLock<Arc<dyn PageChanges>>,
    waits: OnceLock<Arc<Waits>>,
    /// Transactions of users may not change anything.
    is_read_only: AtomicBool,
}

/// Observer of the pages that change.
pub trait PageChanges: Send + Sync {
    /// A page is about to change. It is latched: the call must not wait.
    fn changes(&self, page: PageId);
}

/// Commits that may wait for their flush at least before the list is pruned by a commit.
const COMMITTING_PRUNED_AT: usize = 64;

struct State {
    active: BTreeMap<XactId, Arc<Progress>>,
    committing: Committing,
}

/// Transactions whose commit was appended and, when the list was pruned last, not durable; by the
/// LSN of their commit.
struct Committing {
    queue: VecDeque<Commit>,
    /// Length at which the next commit prunes the list: twice what the last pruning has left, so
    /// that commits ask the log for its durable LSN rarely.
    prune_at: usize,
}

#[derive(Clone, Copy)]
struct Commit {
    begin: Lsn,
    commit: Lsn,
}

/// How a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// COMMIT_XACT; the caller flushes it next. Its changes are committed when it is durable.
    CommitDurable,
    /// COMMIT_XACT without a flush, of a system transaction or with delayed durability. Its changes
    /// are committed at once.
    CommitDelayed,
    /// ABORT_XACT: the changes are undone.
    Abort,
}

impl End {
    fn op(self) -> Op {
        match self {
            End::CommitDurable | End::CommitDelayed => Op::COMMIT_XACT,
            End::Abort => Op::ABORT_XACT,
        }
    }
}

impl Committing {
    fn new() -> Committing {
        Committing { queue: VecDeque::new(), prune_at: COMMITTING_PRUNED_AT }
    }

    fn push(&mut self, commit: Commit, log: &Log) {
        if self.queue.len() >= self.prune_at {
            self.prune(log);
            self.prune_at = COMMITTING_PRUNED_AT.max(2 * self.queue.len());
        }
        self.queue.push_back(commit);
    }

    /// Removes what is durable.
    fn prune(&mut self, log: &Log) {
        if self.queue.is_empty() {
            return;
        }
        let durable = log.durable();
        while self.queue.front().is_some_and(|first| first.commit <= durable) {
            self.queue.pop_front();
        }
    }

    fn oldest_begin(&self) -> Option<Lsn> {
        self.queue.iter().map(|commit| commit.begin).min()
    }
}

/// What other threads may read of an active transaction.
#[derive(Debug)]
pub(crate) struct Progress {
    begin: Lsn,
    last: Mutex<Lsn>,
}

impl Progress {
    pub(crate) fn begin(&self) -> Lsn {
        self.begin
    }

    pub(crate) fn last(&self) -> Lsn {
        *lock(&self.last)
    }

    pub(crate) fn set_last(&self, lsn: Lsn) {
        *lock(&self.last) = lsn;
    }
}

/// An active transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Active {
    /// Id of the transaction.
    pub xact: XactId,
    /// LSN of its BEGIN_XACT record.
    pub begin: Lsn,
    /// Its newest record.
    pub last: Lsn,
}

impl Manager {
    /// No transaction is active; the next one gets the id after `last_id`. The owners of its
    /// transactions come from `owners`, which the databases of an instance share.
    pub fn new(
        log: Arc<Log>,
        clock: Arc<dyn Clock>,
        owners: Arc<Owners>,
        last_id: XactId,
    ) -> Manager {
        let state = State { active: BTreeMap::new(), committing: Committing::new() };
        Manager {
            log,
            clock,
            owners,
            next: AtomicU64::new(number(last_id) + 1),
            state: Mutex::new(state),
            listed: AtomicUsize::new(0),
            changes: OnceLock::new(),
            waits: OnceLock::new(),
            is_read_only: AtomicBool::new(false),
        }
    }

    /// Log that transactions write to.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The clock that log records are stamped from.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Sets the observer of page changes; only the first call has an effect.
    pub fn set_page_changes(&self, changes: Arc<dyn PageChanges>) {
        // A database has one `Space`; a second observer would get no calls.
        let _ = self.changes.set(changes);
    }

    /// Accounts commits that wait for the log in these statistics; only the first call has an
    /// effect.
    pub fn set_waits(&self, waits: Arc<Waits>) {
        // An instance has one set of statistics.
        let _ = self.waits.set(waits);
    }

    /// Returns when the log is durable up to a commit: a WRITELOG wait. (The log itself, a floor
    /// below, knows no wait types.)
    pub(crate) fn flush(&self, commit: Lsn) -> Result<(), Error> {
        let account =
            self.waits.get().map(|waits| waits.begin(WaitType::WriteLog, self.clock.monotonic()));
        let flushed = self.log.flush(commit);
        if let Some(account) = account {
            account.end(self.clock.monotonic(), None);
        }
        Ok(flushed?)
    }

    /// From now on the first change of a user's transaction is refused, or accepted again.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::SeqCst);
    }

    /// # Errors
    /// [`Error::ReadOnly`].
    pub(crate) fn verify_writable(&self) -> Result<(), Error> {
        if self.is_read_only.load(Ordering::Relaxed) { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// A page is about to change.
    pub fn note_change(&self, page: PageId) {
        if let Some(changes) = self.changes.get() {
            changes.changes(page);
        }
    }

    /// A new transaction with an owner of its own. Nothing is logged before its first change.
    pub fn begin(self: &Arc<Self>, kind: TransactionKind, name: &str) -> Transaction {
        self.begin_as(self.owners.draw(), kind, name)
    }

    /// A new transaction whose locks belong to `owner`: a branch of one over several databases, or
    /// a part of another transaction.
    pub fn begin_as(
        self: &Arc<Self>,
        owner: OwnerId,
        kind: TransactionKind,
        name: &str,
    ) -> Transaction {
        let id = id_of(self.next.fetch_add(1, Ordering::Relaxed));
        Transaction::new(self.clone(), id, owner, kind, name)
    }

    /// A transaction that a restart found open: to be undone from `last` on.
    pub fn resume(self: &Arc<Self>, id: XactId, begin: Lsn, last: Lsn) -> Transaction {
        let progress = Arc::new(Progress { begin, last: Mutex::new(last) });
        self.next.fetch_max(number(id) + 1, Ordering::Relaxed);
        let mut state = lock(&self.state);
        state.active.insert(id, progress.clone());
        self.count_listed(&state);
        Transaction::resumed(self.clone(), id, self.owners.draw(), progress)
    }

    /// Transactions that begin from now on have ids of at least this one.
    pub fn skip_ids_below(&self, id: XactId) {
        self.next.fetch_max(number(id), Ordering::Relaxed);
    }

    /// The highest id given to a transaction so far.
    pub fn last_id(&self) -> XactId {
        id_of(self.next.load(Ordering::Relaxed) - 1)
    }

    /// Runs `f` with the active transactions; none begins or ends in the log meanwhile.
    pub fn with_active<T>(&self, f: impl FnOnce(&[Active]) -> T) -> T {
        let state = lock(&self.state);
        let active = state.active.iter();
        let active: Vec<Active> = active
            .map(|(xact, progress)| Active {
                xact: *xact,
                begin: progress.begin,
                last: progress.last(),
            })
            .collect();
        f(&active)
    }

    /// Is this transaction active? When it is not, its end is in the log.
    pub fn is_active(&self, xact: XactId) -> bool {
        lock(&self.state).active.contains_key(&xact)
    }

    /// Where the oldest transaction began that is active, or whose commit is to be flushed and not
    /// durable yet; `None` when there is none. What is older than this LSN is committed, and no
    /// crash loses it, but for commits with delayed durability.
    ///
    /// No mutex is taken while none is listed. A reader asks this under the latch of a page or
    /// later, and a transaction is listed before it releases the latch of its first change: it
    /// finds each transaction whose change it saw listed, or the commit durable.
    pub fn oldest_begin(&self) -> Option<Lsn> {
        if self.listed.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut state = lock(&self.state);
        state.committing.prune(&self.log);
        self.count_listed(&state);
        let active = state.active.values().map(|progress| progress.begin).min();
        active.into_iter().chain(state.committing.oldest_begin()).min()
    }

    /// Commits that are kept in memory because they may not be durable yet: at most twice those
    /// that are not, and a few more.
    pub fn undurable_commits(&self) -> usize {
        lock(&self.state).committing.queue.len()
    }

    /// Logs a change that belongs to no transaction and is never undone.
    pub fn log_alone(&self, op: Op, context: Context, payload: &Payload<'_>) -> Result<Lsn, Error> {
        let header = RecordHeader { op, context, ..RecordHeader::default() };
        Ok(self.log.append_reserved(&header, payload)?)
    }

    /// Appends BEGIN_XACT and enters the transaction in the table.
    pub(crate) fn enter(
        &self,
        id: XactId,
        append: impl FnOnce() -> Result<Lsn, Error>,
    ) -> Result<Arc<Progress>, Error> {
        let mut state = lock(&self.state);
        let begin = append()?;
        let progress = Arc::new(Progress { begin, last: Mutex::new(begin) });
        state.active.insert(id, progress.clone());
        self.count_listed(&state);
        Ok(progress)
    }

    /// Appends the end of a transaction and takes it out of the table.
    pub(crate) fn leave(&self, id: XactId, end: End, begin: Lsn) -> Result<Lsn, Error> {
        let fixed = EndXact {
            end_time: log_time(self.clock()),
            begin,
            ..EndXact::default()
        };
        let header = RecordHeader {
            op: end.op(),
            xact: id,
            // The previous LSN of the end of a transaction is that of its begin.
            previous: begin,
            flags: RecordFlags::TRANSACTION,
            ..RecordHeader::default()
        };
        let mut state = lock(&self.state);
        let lsn = self.log.append_reserved(&header, &Payload::EndXact(fixed))?;
        state.active.remove(&id);
        if end == End::CommitDurable {
            state.committing.push(Commit { begin, commit: lsn }, &self.log);
        }
        self.count_listed(&state);
        Ok(lsn)
    }

    /// After each change of `state`, whose mutex the caller holds.
    fn count_listed(&self, state: &State) {
        let listed = state.active.len() + state.committing.queue.len();
        self.listed.store(listed, Ordering::Release);
    }
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Manager({} active)", lock(&self.state).active.len())
    }
}

pub(crate) fn number(id: XactId) -> u64 {
    u64::from(id.high) << 32 | u64::from(id.low)
}

pub(crate) fn id_of(number: u64) -> XactId {
    XactId { high: (number >> 32) as u16, low: number as u32 }
}
