//! The lock manager. Known algorithms: strict two-phase locking with intent locks
//! (multi-granularity locking), key-range locking for serializable transactions, lock escalation,
//! and deadlock detection by cycles in the wait-for graph. Where we differ: the modes and their
//! compatibility are those of SQL Server ([`mode`]); a wait is searched for a cycle when it begins,
//! not by a background thread ([`deadlock`]); the lock manager knows no hierarchy, and callers set
//! the intent locks themselves.
//!
//! All databases of an instance share one lock manager, because a cycle may pass through several of
//! them: a resource is locked in its database, an owner is one in all of them.
//!
//! ```text
//! acquire ──▶ shard of the table ── granted ──────────────────────────────▶ owner's list ──▶ many? escalate
//!                  │ queued                                                     ▲
//!                  ▼                                                            │
//!             deadlock? (all shards locked) ──▶ sleep ── granted ───────────────┘
//!                  │ victim            │           ├── time is over ──▶ out of the queue, Timeout
//!                  ▼                   ▼           └── cancelled ─────▶ out of the queue, Cancelled
//!             Deadlock             report ──▶ observer (nothing locked)
//! ```
//!
//! Invariants
//! - Two owners never hold modes that conflict on one resource.
//! - A new request never overtakes a waiting request that it conflicts with; conversions may. See
//!   [`table`].
//! - A wait ends in exactly one way, decided under the lock of its shard: granted, victim, or
//!   withdrawn by its own thread, when its time is over or it was cancelled.
//! - An owner waits for one lock at a time. Shards are locked in ascending order, owners' lists
//!   never together with them.

mod database;
mod deadlock;
mod escalate;
mod key;
mod mode;
pub mod report;
mod table;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::env::Clock;
use extentdb_base::monitor::WaitEnd;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, MutexGuard, OnceLock, lock};
use extentdb_base::{DatabaseId, ObjectId, OwnerId, XactId};
use extentdb_telemetry::{WaitResource, Waits};

pub use database::DatabaseLocks;
pub use extentdb_base::Resource;
pub use mode::LockMode;
pub use wait::Timeout;

use deadlock::Frozen;
use escalate::{Held, OwnerLocks};
use key::{FastHash, LockKey};
use report::{Blocker, DeadlockObserver};
use table::{Answer, Grant, Release, Shard, Waiting};
use wait::{WaitSlot, WaitState};

/// Shards of the table and of the owners' lists.
const SHARDS: usize = 32;

/// The lists of what owners hold, of some of the owners.
type OwnerTable = HashMap<OwnerId, OwnerLocks, FastHash>;

/// All locks of an instance, in all of its databases. A database uses it through
/// [`DatabaseLocks`].
pub struct LockManager {
    shards: Vec<Mutex<Shard>>,
    owners: Vec<Mutex<OwnerTable>>,
    waits: Arc<Waits>,
    clock: Arc<dyn Clock>,
    observer: OnceLock<Arc<dyn DeadlockObserver>>,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
    cancelled: AtomicU64,
    escalations: AtomicU64,
}

/// Deadlock priorities: `SET DEADLOCK_PRIORITY LOW` is -5, `NORMAL` 0, `HIGH` 5.
pub const DEADLOCK_PRIORITIES: RangeInclusive<i8> = -10..=10;

/// Who holds and requests locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct LockOwner {
    /// The owner; what locks of all databases are told apart by.
    pub id: OwnerId,
    /// Its transaction in the database of the resource, for reports.
    pub xact: XactId,
}

/// A request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockRequest {
    /// Owner that requests the lock.
    pub owner: LockOwner,
    /// What is to be locked.
    pub resource: Resource,
    /// Mode requested, before conversion.
    pub mode: LockMode,
    /// How long it may wait.
    pub timeout: Timeout,
    /// In a deadlock the owner with the lowest priority is the victim; one of
    /// [`DEADLOCK_PRIORITIES`].
    pub priority: i8,
    /// Cost of rolling the owner back, in bytes of log: of equal priorities the owner with the
    /// lowest cost is the victim.
    pub cost: u64,
    /// The table that a row, key or page belongs to, when its locks may escalate.
    pub table: Option<ObjectId>,
}

/// Why a lock was not granted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It was not granted within the timeout. Message 1222 at the API boundary.
    #[error("no {mode} lock on {resource} within the timeout")]
    Timeout {
        /// What was asked for.
        resource: Resource,
        /// Mode of the request, before conversion.
        mode: LockMode,
    },
    /// It was cancelled while it waited, or before it would have waited. The owner keeps what it
    /// holds and may go on.
    #[error("the wait for a {mode} lock on {resource} was cancelled")]
    Cancelled {
        /// What was asked for.
        resource: Resource,
        /// Mode of the request, before conversion.
        mode: LockMode,
    },
    /// The owner is the victim of a deadlock: it has to roll back. Message 1205 at the API
    /// boundary.
    #[error("deadlock of {} owners over {resource}", cycle.len())]
    Deadlock {
        /// What was asked for.
        resource: Resource,
        /// Mode of the request, before conversion.
        mode: LockMode,
        /// The members of the cycle, each waiting for the next.
        cycle: Vec<OwnerId>,
    },
}

/// A row of `sys.dm_tran_locks`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockRow {
    /// The database of the resource.
    pub database: DatabaseId,
    /// What is locked.
    pub resource: Resource,
    /// By or for whom.
    pub owner: LockOwner,
    /// The mode held, or waited for.
    pub mode: LockMode,
    /// Held, or waited for.
    pub status: LockStatus,
    /// Requests granted and not released; 0 for one that waits.
    pub count: u32,
}

/// A lock wait, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockWait {
    /// The database of the resource.
    pub database: DatabaseId,
    /// Owner, resource and mode that the wait is for.
    pub request: LockRequest,
    /// [`LockStatus::Convert`] or [`LockStatus::Wait`].
    pub status: LockStatus,
    /// When the wait began.
    pub since: Duration,
    /// The locks and requests that keep it waiting; never empty.
    pub blockers: Vec<Blocker>,
}

/// The locks of a database were not removed: requests wait for some of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{waiting} requests wait for locks of database {database}")]
pub struct DatabaseHasWaiters {
    /// The database that was to be removed.
    pub database: DatabaseId,
    /// Requests that wait.
    pub waiting: usize,
}

/// Held, or waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockStatus {
    /// The mode is held.
    Grant,
    /// Held in another mode; this one is waited for.
    Convert,
    /// Nothing is held; the mode is waited for.
    Wait,
}

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LockStats {
    /// Owners chosen as victims.
    pub deadlocks: u64,
    /// Requests that timed out.
    pub timeouts: u64,
    /// Requests that were cancelled.
    pub cancelled: u64,
    /// Tables locked instead of their parts.
    pub escalations: u64,
}

/// A wait that has begun.
struct Ticket {
    key: LockKey,
    request: LockRequest,
    slot: WaitSlot,
    blocker: Option<OwnerId>,
}

/// Outcome of the first step of a request.
enum Started {
    Granted { mode: LockMode, is_new: bool },
    Waiting(Ticket),
}

impl LockRequest {
    /// A request without a timeout, of normal priority and cost 0, that does not count towards
    /// escalation.
    pub const fn new(owner: LockOwner, resource: Resource, mode: LockMode) -> Self {
        LockRequest {
            owner,
            resource,
            mode,
            timeout: Timeout::Infinite,
            priority: 0,
            cost: 0,
            table: None,
        }
    }

    /// With a timeout.
    pub const fn within(self, timeout: Timeout) -> Self {
        LockRequest { timeout, ..self }
    }

    /// Of an owner with this deadlock priority.
    pub const fn of_priority(self, priority: i8) -> Self {
        LockRequest { priority, ..self }
    }

    /// Of an owner that costs this much to roll back.
    pub const fn costing(self, cost: u64) -> Self {
        LockRequest { cost, ..self }
    }

    /// On a part of this table, counted for escalation.
    pub const fn of_table(self, table: ObjectId) -> Self {
        LockRequest { table: Some(table), ..self }
    }
}

impl LockManager {
    /// An empty lock manager.
    pub fn new(waits: Arc<Waits>, clock: Arc<dyn Clock>) -> Self {
        LockManager {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            owners: (0..SHARDS).map(|_| Mutex::default()).collect(),
            waits,
            clock,
            observer: OnceLock::new(),
            deadlocks: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            escalations: AtomicU64::new(0),
        }
    }

    /// Sets the observer of deadlocks. Only the first call has an effect; the others return false.
    /// The observer is dropped with the lock manager and must not own it.
    pub fn observe(&self, observer: Arc<dyn DeadlockObserver>) -> bool {
        self.observer.set(observer).is_ok()
    }

    /// Acquires a lock, or converts the one held to a stronger mode. Returns the mode that is held
    /// afterwards.
    fn acquire(
        &self,
        database: DatabaseId,
        request: &LockRequest,
        cancellation: Option<&Cancellation>,
    ) -> Result<LockMode, LockError> {
        let LockRequest { owner, resource, mode, table, .. } = *request;
        let key = LockKey::new(database, resource);
        let is_covered = |owners: &OwnerTable| {
            let held = owners.get(&owner.id).and_then(|locks| locks.of_database(database));
            held.is_some_and(|held| held.is_covered(table, &key, mode))
        };
        if resource.is_fine() && is_covered(&self.held_by(owner.id)) {
            return Ok(mode);
        }
        let (mode, is_new) = match self.start(key, request, cancellation)? {
            Started::Granted { mode, is_new } => (mode, is_new),
            Started::Waiting(ticket) => self.sleep(ticket, cancellation)?,
        };
        let due = {
            let mut owners = self.held_by(owner.id);
            let held = owners.entry(owner.id).or_default().entry(database);
            held.add(key, table, mode, is_new)
        };
        if let Some(table) = due {
            self.escalate(database, owner, table);
        }
        Ok(mode)
    }

    fn release(&self, database: DatabaseId, owner: OwnerId, resource: Resource) {
        let now = self.clock.monotonic();
        let key = LockKey::new(database, resource);
        // The list first: between the two steps the lock is held and not listed, which only its
        // owner could observe.
        if self.is_listed(owner, key) && self.shard(&key).release(owner, key, Release::One, now) {
            self.forget(owner, key);
        }
    }

    /// Releases all locks of an owner in all databases, at the end of its transaction.
    pub fn release_all(&self, owner: OwnerId) {
        let locks = self.held_by(owner).remove(&owner).unwrap_or_default();
        for held in locks.into_databases() {
            self.release_held(owner, &held);
        }
    }

    /// Releases all locks of an owner in one database.
    fn release_in(&self, database: DatabaseId, owner: OwnerId) {
        let held = {
            let mut owners = self.held_by(owner);
            let Some(locks) = owners.get_mut(&owner) else { return };
            let held = locks.take(database).unwrap_or_default();
            if locks.is_empty() {
                owners.remove(&owner);
            }
            held
        };
        self.release_held(owner, &held);
    }

    fn release_held(&self, owner: OwnerId, held: &Held) {
        let now = self.clock.monotonic();
        for key in held.resources.keys() {
            self.shard(key).release(owner, *key, Release::All, now);
        }
    }

    /// Removes all locks of a database that was dropped or detached, those of deferred transactions
    /// among them. Returns how many there were. Nobody may request locks of it meanwhile, or later
    /// before another database has its number.
    ///
    /// # Errors
    /// Requests wait for some of them. Then all locks stay.
    pub fn release_database(&self, database: DatabaseId) -> Result<usize, DatabaseHasWaiters> {
        let mut shards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(lock).collect();
        let waits = shards.iter().flat_map(|shard| shard.waiting.values());
        let waiting = waits.filter(|key| key.database() == database).count();
        if waiting > 0 {
            return Err(DatabaseHasWaiters { database, waiting });
        }
        let mut released = 0;
        for shard in &mut shards {
            let removed = shard.heads.extract_if(|key, _| key.database() == database);
            released += removed.map(|(_, head)| head.granted.len()).sum::<usize>();
        }
        drop(shards);
        for owners in &self.owners {
            lock(owners).retain(|_, locks| {
                locks.take(database);
                !locks.is_empty()
            });
        }
        Ok(released)
    }

    /// Tries to lock the table instead of its rows, keys and pages. Does not wait; false when the
    /// lock conflicts with those of other owners.
    fn escalate(&self, database: DatabaseId, owner: LockOwner, table: ObjectId) -> bool {
        let locks = self.held_by(owner.id);
        let mode = match locks.get(&owner.id).and_then(|locks| locks.of_database(database)) {
            Some(held) => held.escalated_mode(table),
            None => return false,
        };
        drop(locks);
        let resource = Resource::Object(table);
        let key = LockKey::new(database, resource);
        let request = LockRequest::new(owner, resource, mode);
        let answer = self.shard(&key).request(key, &request, Waiting::Refused, &*self.clock);
        let Answer::Granted { mode, is_new } = answer else { return false };
        let fine = {
            let mut owners = self.held_by(owner.id);
            let held = owners.entry(owner.id).or_default().entry(database);
            held.add(key, None, mode, is_new);
            held.escalate(table, mode)
        };
        for key in fine {
            let now = self.clock.monotonic();
            self.shard(&key).release(owner.id, key, Release::All, now);
        }
        self.escalations.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn held(&self, database: DatabaseId, owner: OwnerId, resource: Resource) -> Option<LockMode> {
        self.grant_of(owner, LockKey::new(database, resource), |grant| grant.mode)
    }

    fn grant_of<T>(
        &self,
        owner: OwnerId,
        key: LockKey,
        what: impl FnOnce(&Grant) -> T,
    ) -> Option<T> {
        let shard = self.shard(&key);
        let head = shard.heads.get(&key)?;
        head.granted.iter().find(|grant| grant.owner.id == owner).map(what)
    }

    fn fine_locks(&self, database: DatabaseId, owner: OwnerId, table: ObjectId) -> u64 {
        let owners = self.held_by(owner);
        let held = owners.get(&owner).and_then(|locks| locks.of_database(database));
        held.map_or(0, |held| held.fine_locks(table))
    }

    /// All locks held and waited for, by resource; the rows of one resource are consistent with
    /// each other.
    pub fn locks(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            for (key, head) in &lock(shard).heads {
                let database = key.database();
                let resource = key.resource();
                rows.extend(head.granted.iter().map(|grant| LockRow {
                    database,
                    resource,
                    owner: grant.owner,
                    mode: grant.mode,
                    status: LockStatus::Grant,
                    count: grant.count,
                }));
                rows.extend(head.queue.iter().map(|request| LockRow {
                    database,
                    resource,
                    owner: request.asked.owner,
                    mode: request.mode,
                    status: request.status(),
                    count: 0,
                }));
            }
        }
        rows.sort_by_key(|row| (row.database, row.resource));
        rows
    }

    /// All lock waits with what blocks them now: `sys.dm_os_waiting_tasks` names the blocking
    /// session by it. The waits of one resource are consistent with each other.
    pub fn waits(&self) -> Vec<LockWait> {
        let mut waits = Vec::new();
        for shard in &self.shards {
            for (key, head) in &lock(shard).heads {
                waits.extend(head.queue.iter().map(|request| LockWait {
                    database: key.database(),
                    request: request.asked,
                    status: request.status(),
                    since: request.since,
                    blockers: head.blockers(request.owner()),
                }));
            }
        }
        waits.sort_by_key(|wait| wait.since);
        waits
    }

    /// What happened so far.
    pub fn stats(&self) -> LockStats {
        LockStats {
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
            cancelled: self.cancelled.load(Ordering::Relaxed),
            escalations: self.escalations.load(Ordering::Relaxed),
        }
    }

    /// Requests a lock; when the request has to wait, searches the wait-for graph for a cycle.
    fn start(
        &self,
        key: LockKey,
        request: &LockRequest,
        cancellation: Option<&Cancellation>,
    ) -> Result<Started, LockError> {
        let owner = request.owner.id;
        let is_cancelled = cancellation.is_some_and(Cancellation::is_cancelled);
        // A wait that would end at once must not make another owner a deadlock victim.
        let waiting = if request.timeout == Timeout::NoWait || is_cancelled {
            Waiting::Refused
        } else {
            Waiting::Allowed
        };
        let answer = self.shard(&key).request(key, request, waiting, &*self.clock);
        match answer {
            Answer::Granted { mode, is_new } => Ok(Started::Granted { mode, is_new }),
            Answer::Busy if request.timeout == Timeout::NoWait => Err(self.timed_out(request)),
            Answer::Busy => Err(self.cancelled(request)),
            Answer::Queued { slot, blocker } => {
                // No other owner waits for one that holds no lock.
                if self.held_by(owner).get(&owner).is_some_and(|locks| !locks.is_empty()) {
                    self.resolve_cycles(owner);
                }
                Ok(Started::Waiting(Ticket { key, request: *request, slot, blocker }))
            }
        }
    }

    /// Resolves the cycles that `owner`'s wait has closed. The observer is called when no shard is
    /// locked any more.
    fn resolve_cycles(&self, owner: OwnerId) {
        let shards = self.shards.iter().map(lock).collect();
        let reports = Frozen::new(shards).resolve(owner, self.clock.monotonic());
        self.deadlocks.fetch_add(reports.len() as u64, Ordering::Relaxed);
        if let Some(observer) = self.observer.get() {
            reports.iter().for_each(|report| observer.deadlock(report));
        }
    }

    /// Sleeps until the wait is decided. Returns the mode held and whether nothing was held before.
    fn sleep(
        &self,
        ticket: Ticket,
        cancellation: Option<&Cancellation>,
    ) -> Result<(LockMode, bool), LockError> {
        let Ticket { key, request, slot, blocker } = ticket;
        let LockRequest { owner: LockOwner { id: owner, .. }, mode, timeout, .. } = request;
        let database = key.database();
        let resource = key.resource();
        let shown = WaitResource::Lock { database, resource };
        let account = self.waits.begin_on(mode.wait_type(), self.clock.monotonic(), shown, blocker);
        let (mut state, end) = slot.sleep(timeout, cancellation);
        if state == WaitState::Waiting {
            // It was decided meanwhile; once the request has left the queue, it cannot be decided
            // any more.
            let mut shard = self.shard(&key);
            state = slot.state();
            if state == WaitState::Waiting {
                shard.withdraw(owner, key, self.clock.monotonic());
            }
        }
        let signalled = if let WaitState::Granted(at) = state { Some(at) } else { None };
        account.end(self.clock.monotonic(), signalled);
        match state {
            WaitState::Granted(_) => {
                let is_new = !self.is_listed(owner, key);
                Ok((self.held(database, owner, resource).unwrap_or(mode), is_new))
            }
            WaitState::Victim(cycle) => Err(LockError::Deadlock { resource, mode, cycle }),
            WaitState::Waiting if end == WaitEnd::Cancelled => Err(self.cancelled(&request)),
            WaitState::Waiting => Err(self.timed_out(&request)),
        }
    }

    fn cancelled(&self, request: &LockRequest) -> LockError {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
        LockError::Cancelled { resource: request.resource, mode: request.mode }
    }

    fn timed_out(&self, request: &LockRequest) -> LockError {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        LockError::Timeout { resource: request.resource, mode: request.mode }
    }

    /// Is the lock in the list of its owner?
    fn is_listed(&self, owner: OwnerId, key: LockKey) -> bool {
        let owners = self.held_by(owner);
        let held = owners.get(&owner).and_then(|locks| locks.of_database(key.database()));
        held.is_some_and(|held| held.resources.contains_key(&key))
    }

    fn forget(&self, owner: OwnerId, key: LockKey) {
        let mut owners = self.held_by(owner);
        let Some(locks) = owners.get_mut(&owner) else { return };
        let Some(held) = locks.of_database_mut(key.database()) else { return };
        held.remove(&key);
        if let Resource::Object(table) = key.resource() {
            held.forget_escalation(table);
        }
        if locks.is_empty() {
            owners.remove(&owner);
        }
    }

    fn shard(&self, key: &LockKey) -> MutexGuard<'_, Shard> {
        lock(&self.shards[key.shard(SHARDS)])
    }

    /// The lists of some owners, `owner`'s among them.
    fn held_by(&self, owner: OwnerId) -> MutexGuard<'_, OwnerTable> {
        lock(&self.owners[owner.0 as usize % SHARDS])
    }
}

impl fmt::Debug for LockManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockManager({:?})", self.stats())
    }
}
