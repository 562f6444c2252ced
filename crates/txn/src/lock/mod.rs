//! The lock manager. Known algorithms: strict two-phase locking with intent locks
//! (multi-granularity locking), key-range locking for serializable transactions, lock escalation,
//! and deadlock detection by cycles in the wait-for graph. Where we differ: the modes and their
//! compatibility are those of SQL Server ([`mode`]); a wait is searched for a cycle when it begins,
//! not by a background thread ([`deadlock`]); the lock manager knows no hierarchy, and callers set
//! the intent locks themselves.
//!
//! ```text
//! acquire ──▶ shard of the table ── granted ──────────────────────────────▶ owner's list ──▶ many? escalate
//!                  │ queued                                                     ▲
//!                  ▼                                                            │
//!             deadlock? (all shards locked) ──▶ sleep ── granted ───────────────┘
//!                  │ victim            │           └── time is over ──▶ out of the queue, Timeout
//!                  ▼                   ▼
//!             Deadlock             report ──▶ observer (nothing locked)
//! ```
//!
//! Invariants
//! - Two owners never hold modes that conflict on one resource.
//! - A new request never overtakes a waiting request that it conflicts with; conversions may. See
//!   [`table`].
//! - A wait ends in exactly one way, decided under the lock of its shard: granted, victim, or
//!   withdrawn by its own thread.
//! - An owner waits for one lock at a time. Shards are locked in ascending order, owners' lists
//!   never together with them.

mod deadlock;
mod escalate;
mod mode;
pub mod report;
mod resource;
mod table;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::RangeInclusive;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, MutexGuard, OnceLock, lock};
use extentdb_base::{ObjectId, XactId};
use extentdb_telemetry::Waits;

pub use mode::LockMode;
pub use resource::Resource;
pub use wait::Timeout;

use deadlock::Frozen;
use escalate::OwnerLocks;
use report::DeadlockObserver;
use resource::FastHash;
use table::{Answer, Release, Shard};
use wait::{WaitSlot, WaitState};

/// Shards of the table and of the owners' lists.
const SHARDS: usize = 32;

/// All locks of a database.
pub struct LockManager {
    shards: Vec<Mutex<Shard>>,
    owners: Vec<Mutex<HashMap<XactId, OwnerLocks, FastHash>>>,
    waits: Arc<Waits>,
    clock: Arc<dyn Clock>,
    observer: OnceLock<Arc<dyn DeadlockObserver>>,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
    escalations: AtomicU64,
}

/// Deadlock priorities: `SET DEADLOCK_PRIORITY LOW` is -5, `NORMAL` 0, `HIGH` 5.
pub const DEADLOCK_PRIORITIES: RangeInclusive<i8> = -10..=10;

/// A request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockRequest {
    /// Transaction that requests the lock.
    pub owner: XactId,
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
        /// Mode requested.
        mode: LockMode,
    },
    /// The owner is the victim of a deadlock: it has to roll back. Message 1205 at the API
    /// boundary.
    #[error("deadlock of {} owners over {resource}", cycle.len())]
    Deadlock {
        /// What was asked for.
        resource: Resource,
        /// Mode requested.
        mode: LockMode,
        /// The members of the cycle, each waiting for the next.
        cycle: Vec<XactId>,
    },
}

/// A row of `sys.dm_tran_locks`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockRow {
    /// What is locked.
    pub resource: Resource,
    /// By or for whom.
    pub owner: XactId,
    /// The mode held, or waited for.
    pub mode: LockMode,
    /// Held, or waited for.
    pub status: LockStatus,
    /// Requests granted and not released; 0 for one that waits.
    pub count: u32,
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
    /// Tables locked instead of their parts.
    pub escalations: u64,
}

/// A wait that has begun.
struct Ticket {
    request: LockRequest,
    slot: Arc<WaitSlot>,
}

/// Outcome of the first step of a request.
enum Started {
    Granted { mode: LockMode, is_new: bool },
    Waiting(Ticket),
}

impl LockRequest {
    /// A request without a timeout, of normal priority and cost 0, that does not count towards
    /// escalation.
    pub const fn new(owner: XactId, resource: Resource, mode: LockMode) -> Self {
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
    pub fn acquire(&self, request: LockRequest) -> Result<LockMode, LockError> {
        let LockRequest { owner, resource, mode, table, .. } = request;
        let is_covered = |held: &OwnerLocks| held.is_covered(table, &resource, mode);
        if resource.is_fine() && self.held_by(owner).get(&owner).is_some_and(is_covered) {
            return Ok(mode);
        }
        let (mode, is_new) = match self.start(request)? {
            Started::Granted { mode, is_new } => (mode, is_new),
            Started::Waiting(ticket) => self.sleep(ticket)?,
        };
        let due = self.held_by(owner).entry(owner).or_default().add(resource, table, mode, is_new);
        if let Some(table) = due {
            self.escalate(owner, table);
        }
        Ok(mode)
    }

    /// Releases one request of a lock; the lock is released with the last of them. No effect on a
    /// lock that is not held, for example because it was escalated.
    pub fn release(&self, owner: XactId, resource: Resource) {
        let now = self.clock.monotonic();
        // The list first: between the two steps the lock is held and not listed, which only its
        // owner could observe.
        let is_listed = self
            .held_by(owner)
            .get(&owner)
            .is_some_and(|held| held.resources.contains_key(&resource));
        if is_listed && self.shard(&resource).release(owner, resource, Release::One, now) {
            self.forget(owner, resource);
        }
    }

    /// Releases all locks of an owner, at the end of its transaction.
    pub fn release_all(&self, owner: XactId) {
        let held = self.held_by(owner).remove(&owner).unwrap_or_default();
        let now = self.clock.monotonic();
        for resource in held.resources.keys() {
            self.shard(resource).release(owner, *resource, Release::All, now);
        }
    }

    /// Tries to lock the table instead of its rows, keys and pages. Does not wait; false when the
    /// lock conflicts with those of other owners.
    pub fn escalate(&self, owner: XactId, table: ObjectId) -> bool {
        let mode = match self.held_by(owner).get(&owner) {
            Some(held) => held.escalated_mode(table),
            None => return false,
        };
        let resource = Resource::Object(table);
        let request = LockRequest::new(owner, resource, mode).within(Timeout::NoWait);
        let answer = self.shard(&resource).request(&request, &*self.clock);
        let Answer::Granted { mode, is_new } = answer else { return false };
        let fine = {
            let mut owners = self.held_by(owner);
            let held = owners.entry(owner).or_default();
            held.add(resource, None, mode, is_new);
            held.escalate(table, mode)
        };
        for resource in fine {
            let now = self.clock.monotonic();
            self.shard(&resource).release(owner, resource, Release::All, now);
        }
        self.escalations.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The mode in which an owner holds something.
    pub fn held(&self, owner: XactId, resource: Resource) -> Option<LockMode> {
        let shard = self.shard(&resource);
        let head = shard.heads.get(&resource)?;
        head.granted.iter().find(|grant| grant.owner == owner).map(|grant| grant.mode)
    }

    /// Row, key and page locks that an owner holds on a table.
    pub fn fine_locks(&self, owner: XactId, table: ObjectId) -> u64 {
        self.held_by(owner).get(&owner).map_or(0, |held| held.fine_locks(table))
    }

    /// All locks held and waited for, by resource; the rows of one resource are consistent with
    /// each other.
    pub fn locks(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            for (resource, head) in &lock(shard).heads {
                let resource = *resource;
                rows.extend(head.granted.iter().map(|grant| LockRow {
                    resource,
                    owner: grant.owner,
                    mode: grant.mode,
                    status: LockStatus::Grant,
                    count: grant.count,
                }));
                rows.extend(head.queue.iter().map(|request| LockRow {
                    resource,
                    owner: request.owner(),
                    mode: request.mode,
                    status: request.status(),
                    count: 0,
                }));
            }
        }
        rows.sort_by_key(|row| row.resource);
        rows
    }

    /// What happened so far.
    pub fn stats(&self) -> LockStats {
        LockStats {
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
            escalations: self.escalations.load(Ordering::Relaxed),
        }
    }

    /// Requests a lock; when the request has to wait, searches the wait-for graph for a cycle.
    fn start(&self, request: LockRequest) -> Result<Started, LockError> {
        let LockRequest { owner, resource, .. } = request;
        let answer = self.shard(&resource).request(&request, &*self.clock);
        match answer {
            Answer::Granted { mode, is_new } => Ok(Started::Granted { mode, is_new }),
            Answer::Busy => Err(self.timed_out(&request)),
            Answer::Queued(slot) => {
                // No other owner waits for one that holds no lock.
                if self.held_by(owner).get(&owner).is_some_and(|held| !held.resources.is_empty()) {
                    self.resolve_cycles(owner);
                }
                Ok(Started::Waiting(Ticket { request, slot }))
            }
        }
    }

    /// Resolves the cycles that `owner`'s wait has closed. The observer is called when no shard is
    /// locked any more.
    fn resolve_cycles(&self, owner: XactId) {
        let shards = self.shards.iter().map(lock).collect();
        let reports = Frozen::new(shards).resolve(owner, self.clock.monotonic());
        self.deadlocks.fetch_add(reports.len() as u64, Ordering::Relaxed);
        if let Some(observer) = self.observer.get() {
            reports.iter().for_each(|report| observer.deadlock(report));
        }
    }

    /// Sleeps until the wait is decided. Returns the mode held and whether nothing was held before.
    fn sleep(&self, ticket: Ticket) -> Result<(LockMode, bool), LockError> {
        let LockRequest { owner, resource, mode, timeout, .. } = ticket.request;
        let account = self.waits.begin(mode.wait_type(), self.clock.monotonic());
        let mut state = ticket.slot.sleep(timeout);
        if state == WaitState::Waiting {
            // It was decided meanwhile; once the request has left the queue, it cannot be decided
            // any more.
            let mut shard = self.shard(&resource);
            state = ticket.slot.state();
            if state == WaitState::Waiting {
                shard.withdraw(owner, resource, self.clock.monotonic());
            }
        }
        let signalled = if let WaitState::Granted(at) = state { Some(at) } else { None };
        account.end(self.clock.monotonic(), signalled);
        match state {
            WaitState::Granted(_) => {
                let is_listed = self
                    .held_by(owner)
                    .get(&owner)
                    .is_some_and(|held| held.resources.contains_key(&resource));
                Ok((self.held(owner, resource).unwrap_or(mode), !is_listed))
            }
            WaitState::Victim(cycle) => Err(LockError::Deadlock { resource, mode, cycle }),
            WaitState::Waiting => Err(self.timed_out(&ticket.request)),
        }
    }

    fn timed_out(&self, request: &LockRequest) -> LockError {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        LockError::Timeout { resource: request.resource, mode: request.mode }
    }

    fn forget(&self, owner: XactId, resource: Resource) {
        let mut owners = self.held_by(owner);
        let Some(held) = owners.get_mut(&owner) else { return };
        held.remove(&resource);
        if let Resource::Object(table) = resource {
            held.forget_escalation(table);
        }
        if held.resources.is_empty() {
            owners.remove(&owner);
        }
    }

    fn shard(&self, resource: &Resource) -> MutexGuard<'_, Shard> {
        lock(&self.shards[shard_of(resource)])
    }

    /// The lists of some owners, `owner`'s among them.
    fn held_by(&self, owner: XactId) -> MutexGuard<'_, HashMap<XactId, OwnerLocks, FastHash>> {
        lock(&self.owners[shard_of(owner)])
    }
}

fn shard_of(key: impl std::hash::Hash) -> usize {
    (FastHash::default().hash_one(key) >> (u64::BITS - SHARDS.trailing_zeros())) as usize
}

impl fmt::Debug for LockManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockManager({:?})", self.stats())
    }
}
