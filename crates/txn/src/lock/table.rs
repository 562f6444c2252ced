//! The lock table: per resource, the granted requests and the queue of waiting ones.
//!
//! ```text
//! resource ──▶ head:  granted  (owner, mode, count) …     those of different owners are compatible
//!                     queue    conversions │ new requests each part: first come, first served
//! ```
//!
//! **The rule of granting**, the same for a new request and one that waits:
//! - A conversion (its owner holds the resource in another mode) is granted when the new mode is
//!   compatible with all that *others* hold. It does not wait for the queue, whose members may wait
//!   for its owner.
//! - A new request is granted when it is compatible with all that others hold *and* with all
//!   requests ahead of it. So no request overtakes another that it conflicts with; compatible ones
//!   pass together.
//!
//! What keeps a request waiting is exactly what breaks its rule: those are the edges of the
//! wait-for graph.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::time::Duration;

use extentdb_base::OwnerId;
use extentdb_base::env::Clock;
use smallvec::SmallVec;

use super::key::{FastHash, LockKey};
use super::report::Blocker;
use super::wait::{WaitSlot, WaitState};
use super::{LockMode, LockOwner, LockRequest, LockStatus};

/// A part of the table.
#[derive(Default, Debug)]
pub(crate) struct Shard {
    pub(crate) heads: HashMap<LockKey, LockHead, FastHash>,
    /// Who waits for what, of the resources in this shard.
    pub(crate) waiting: HashMap<OwnerId, LockKey, FastHash>,
}

/// May a request join the queue?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    Allowed,
    Refused,
}

/// One resource that is held or waited for.
#[derive(Default, Debug)]
pub(crate) struct LockHead {
    /// Nearly always one.
    pub(crate) granted: SmallVec<[Grant; 1]>,
    pub(crate) queue: Queue,
}

/// The requests that wait for a resource. A pointer while there are none, as nearly always: the
/// table then has less to move (`lock_speed`).
#[derive(Default, Debug)]
#[expect(clippy::box_collection, reason = "a third of the bytes while there are none")]
pub(crate) struct Queue(Option<Box<Vec<Request>>>);

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) owner: LockOwner,
    pub(crate) mode: LockMode,
    /// Requests of its owner that were granted and not released.
    pub(crate) count: u32,
}

/// A lock that is waited for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) asked: LockRequest,
    /// The mode after the grant: for a conversion, the result of mode held and mode asked for.
    pub(crate) mode: LockMode,
    pub(crate) converts: bool,
    /// When the wait began.
    pub(crate) since: Duration,
    pub(crate) slot: WaitSlot,
}

/// How many grants of a lock are released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    One,
    All,
}

impl Request {
    pub(crate) fn owner(&self) -> OwnerId {
        self.asked.owner.id
    }

    pub(crate) fn status(&self) -> LockStatus {
        if self.converts { LockStatus::Convert } else { LockStatus::Wait }
    }
}

/// What a request met.
pub(crate) enum Answer {
    /// Held, in this mode; `is_new` when the owner held nothing there before.
    Granted { mode: LockMode, is_new: bool },
    /// In the queue; `blocker` is one of those that keep it waiting.
    Queued { slot: WaitSlot, blocker: Option<OwnerId> },
    /// It would have to wait, and must not.
    Busy,
}

impl Deref for Queue {
    type Target = [Request];

    fn deref(&self) -> &[Request] {
        self.0.as_ref().map_or(&[], |requests| requests)
    }
}

impl Queue {
    fn insert(&mut self, at: usize, request: Request) {
        self.0.get_or_insert_default().insert(at, request);
    }

    fn remove(&mut self, at: usize) -> Option<Request> {
        self.0.as_mut().map(|requests| requests.remove(at))
    }

    fn remove_of(&mut self, owner: OwnerId) {
        if let Some(requests) = &mut self.0 {
            requests.retain(|request| request.owner() != owner);
        }
    }
}

impl Shard {
    /// Asks for a lock. A request that cannot be granted and may wait joins the queue.
    pub(crate) fn request(
        &mut self,
        key: LockKey,
        asked: &LockRequest,
        waiting: Waiting,
        clock: &dyn Clock,
    ) -> Answer {
        let owner = asked.owner;
        let head = self.heads.entry(key).or_default();
        let held = head.granted.iter().position(|grant| grant.owner.id == owner.id);
        let mode = held.map_or(asked.mode, |at| head.granted[at].mode.converted(asked.mode));
        if head.admits(owner.id, mode, held.is_some(), head.queue.len()) {
            head.grant(owner, mode);
            return Answer::Granted { mode, is_new: held.is_none() };
        }
        if waiting == Waiting::Refused {
            return Answer::Busy;
        }
        let slot = WaitSlot::new();
        let converts = held.is_some();
        let since = clock.monotonic();
        head.enqueue(Request { asked: *asked, mode, converts, since, slot: slot.clone() });
        let blocker = head.blockers(owner.id).first().map(|blocker| blocker.owner.id);
        self.waiting.insert(owner.id, key);
        Answer::Queued { slot, blocker }
    }

    /// Releases a lock. Returns true when the owner holds nothing there any more.
    pub(crate) fn release(
        &mut self,
        owner: OwnerId,
        key: LockKey,
        release: Release,
        now: Duration,
    ) -> bool {
        let Entry::Occupied(mut entry) = self.heads.entry(key) else { return true };
        let head = entry.get_mut();
        let Some(at) = head.granted.iter().position(|grant| grant.owner.id == owner) else {
            return true;
        };
        if release == Release::One && head.granted[at].count > 1 {
            head.granted[at].count -= 1;
            return false;
        }
        head.granted.swap_remove(at);
        if head.granted.is_empty() && head.queue.is_empty() {
            entry.remove();
        } else {
            self.settle(key, now);
        }
        true
    }

    /// Ends a wait without a grant: a timeout, a cancel, or a deadlock victim.
    pub(crate) fn withdraw(&mut self, owner: OwnerId, key: LockKey, now: Duration) {
        self.waiting.remove(&owner);
        if let Some(head) = self.heads.get_mut(&key) {
            head.queue.remove_of(owner);
        }
        self.settle(key, now);
    }

    /// Grants what can be granted after a release, and removes a resource without requests.
    fn settle(&mut self, key: LockKey, now: Duration) {
        let Some(head) = self.heads.get_mut(&key) else { return };
        for request in head.grant_ready() {
            self.waiting.remove(&request.owner());
            request.slot.decide(WaitState::Granted(now));
        }
        if head.granted.is_empty() && head.queue.is_empty() {
            self.heads.remove(&key);
        }
    }
}

impl LockHead {
    /// The rule of granting, for a request with `ahead` requests before it in the queue.
    fn admits(&self, owner: OwnerId, mode: LockMode, converts: bool, ahead: usize) -> bool {
        let others = self.granted.iter().filter(|grant| grant.owner.id != owner);
        others.map(|grant| grant.mode).all(|held| mode.is_compatible(held))
            && (converts
                || self.queue.iter().take(ahead).all(|request| mode.is_compatible(request.mode)))
    }

    /// Those that keep the request of `owner` waiting: the same rule, turned round.
    pub(crate) fn blockers(&self, owner: OwnerId) -> Vec<Blocker> {
        let Some(at) = self.queue.iter().position(|request| request.owner() == owner) else {
            return Vec::new();
        };
        let request = &self.queue[at];
        let holders = self.granted.iter().map(|grant| Blocker {
            owner: grant.owner,
            mode: grant.mode,
            status: LockStatus::Grant,
        });
        let ahead = self.queue.iter().take(if request.converts { 0 } else { at });
        holders
            .chain(ahead.map(|other| Blocker {
                owner: other.asked.owner,
                mode: other.mode,
                status: other.status(),
            }))
            .filter(|other| other.owner.id != owner && !request.mode.is_compatible(other.mode))
            .collect()
    }

    /// The request with which an owner waits here.
    pub(crate) fn request_of(&self, owner: OwnerId) -> Option<&Request> {
        self.queue.iter().find(|request| request.owner() == owner)
    }

    fn grant(&mut self, owner: LockOwner, mode: LockMode) {
        match self.granted.iter_mut().find(|grant| grant.owner.id == owner.id) {
            Some(grant) => {
                grant.mode = mode;
                grant.count += 1;
            }
            None => self.granted.push(Grant { owner, mode, count: 1 }),
        }
    }

    /// Conversions stand before new requests.
    fn enqueue(&mut self, request: Request) {
        let at = if request.converts {
            self.queue.iter().take_while(|other| other.converts).count()
        } else {
            self.queue.len()
        };
        self.queue.insert(at, request);
    }

    /// Grants from front to back what can be granted. One pass is enough: a grant only narrows what
    /// those before it may have.
    fn grant_ready(&mut self) -> Vec<Request> {
        let mut ready = Vec::new();
        let mut at = 0;
        while let Some(request) = self.queue.get(at) {
            let owner = request.asked.owner;
            let mode = request.mode;
            let converts = request.converts;
            if self.admits(owner.id, mode, converts, at) {
                ready.extend(self.queue.remove(at));
                self.grant(owner, mode);
            } else {
                at += 1;
            }
        }
        ready
    }
}
