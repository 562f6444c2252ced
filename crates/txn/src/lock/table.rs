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

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use extentdb_base::XactId;
use extentdb_base::env::Clock;
use extentdb_base::sync::Arc;
use smallvec::SmallVec;

use super::report::Blocker;
use super::wait::{Timeout, WaitSlot, WaitState};
use super::{LockMode, LockRequest, LockStatus, Resource};
use crate::lock::resource::FastHash;

/// A part of the table.
#[derive(Default, Debug)]
pub(crate) struct Shard {
    pub(crate) heads: HashMap<Resource, LockHead, FastHash>,
    /// Who waits for what, of the resources in this shard.
    pub(crate) waiting: HashMap<XactId, Resource, FastHash>,
}

/// One resource that is held or waited for.
#[derive(Default, Debug)]
pub(crate) struct LockHead {
    /// Nearly always one.
    pub(crate) granted: SmallVec<[Grant; 1]>,
    pub(crate) queue: VecDeque<Request>,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) owner: XactId,
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
    pub(crate) slot: Arc<WaitSlot>,
}

/// How many grants of a lock are released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    One,
    All,
}

impl Request {
    pub(crate) fn owner(&self) -> XactId {
        self.asked.owner
    }

    pub(crate) fn status(&self) -> LockStatus {
        if self.converts { LockStatus::Convert } else { LockStatus::Wait }
    }
}

/// What a request met.
pub(crate) enum Answer {
    /// Held, in this mode; `is_new` when the owner held nothing there before.
    Granted { mode: LockMode, is_new: bool },
    /// In the queue.
    Queued(Arc<WaitSlot>),
    /// It would have to wait, and must not.
    Busy,
}

impl Shard {
    /// Asks for a lock. A request that cannot be granted and may wait joins the queue.
    pub(crate) fn request(&mut self, asked: &LockRequest, clock: &dyn Clock) -> Answer {
        let LockRequest { owner, resource, .. } = *asked;
        let head = self.heads.entry(resource).or_default();
        let held = head.granted.iter().position(|grant| grant.owner == owner);
        let mode = held.map_or(asked.mode, |at| head.granted[at].mode.converted(asked.mode));
        if head.admits(owner, mode, held.is_some(), head.queue.len()) {
            head.grant(owner, mode);
            return Answer::Granted { mode, is_new: held.is_none() };
        }
        if asked.timeout == Timeout::NoWait {
            return Answer::Busy;
        }
        let slot = Arc::new(WaitSlot::new());
        let converts = held.is_some();
        let since = clock.monotonic();
        head.enqueue(Request {
            asked: *asked,
            mode,
            converts,
            since,
            slot: Arc::clone(&slot),
        });
        self.waiting.insert(owner, resource);
        Answer::Queued(slot)
    }

    /// Releases a lock. Returns true when the owner holds nothing there any more.
    pub(crate) fn release(
        &mut self,
        owner: XactId,
        resource: Resource,
        release: Release,
        now: Duration,
    ) -> bool {
        let Entry::Occupied(mut entry) = self.heads.entry(resource) else { return true };
        let head = entry.get_mut();
        let Some(at) = head.granted.iter().position(|grant| grant.owner == owner) else {
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
            self.settle(resource, now);
        }
        true
    }

    /// Ends a wait without a grant: a timeout, or a deadlock victim.
    pub(crate) fn withdraw(&mut self, owner: XactId, resource: Resource, now: Duration) {
        self.waiting.remove(&owner);
        if let Some(head) = self.heads.get_mut(&resource) {
            head.queue.retain(|request| request.owner() != owner);
        }
        self.settle(resource, now);
    }

    /// Grants what can be granted after a release, and removes a resource without requests.
    fn settle(&mut self, resource: Resource, now: Duration) {
        let Some(head) = self.heads.get_mut(&resource) else { return };
        for request in head.grant_ready() {
            self.waiting.remove(&request.owner());
            request.slot.decide(WaitState::Granted(now));
        }
        if head.granted.is_empty() && head.queue.is_empty() {
            self.heads.remove(&resource);
        }
    }
}

impl LockHead {
    /// The rule of granting, for a request with `ahead` requests before it in the queue.
    fn admits(&self, owner: XactId, mode: LockMode, converts: bool, ahead: usize) -> bool {
        let others = self.granted.iter().filter(|grant| grant.owner != owner);
        others.map(|grant| grant.mode).all(|held| mode.is_compatible(held))
            && (converts
                || self.queue.iter().take(ahead).all(|request| mode.is_compatible(request.mode)))
    }

    /// Those that keep the request of `owner` waiting: the same rule, turned round.
    pub(crate) fn blockers(&self, owner: XactId) -> Vec<Blocker> {
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
                owner: other.owner(),
                mode: other.mode,
                status: other.status(),
            }))
            .filter(|other| other.owner != owner && !request.mode.is_compatible(other.mode))
            .collect()
    }

    /// The request with which an owner waits here.
    pub(crate) fn request_of(&self, owner: XactId) -> Option<&Request> {
        self.queue.iter().find(|request| request.owner() == owner)
    }

    fn grant(&mut self, owner: XactId, mode: LockMode) {
        match self.granted.iter_mut().find(|grant| grant.owner == owner) {
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
            let owner = request.owner();
            let mode = request.mode;
            let converts = request.converts;
            if self.admits(owner, mode, converts, at) {
                ready.extend(self.queue.remove(at));
                self.grant(owner, mode);
            } else {
                at += 1;
            }
        }
        ready
    }
}
