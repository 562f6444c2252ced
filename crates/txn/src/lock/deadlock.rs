//! Deadlock detection: cycles in the wait-for graph, searched when a wait begins. The victim is
//! chosen in `Frozen::resolve`.
//!
//! ```text
//! A waits for B ── B waits for C ── C waits for A
//!   ▲                                  │
//!   └──────────────────────────────────┘
//!
//! victim: the lowest deadlock priority; of several the one that is cheapest to roll back; of
//!         several the first along the cycle, from the owner whose wait closed it
//! ```
//!
//! - **Every cycle is found**: all owners of a cycle wait; the last of them to begin waiting
//!   searches, and sees the waits of the others. A grant adds no edge from a waiting owner: the
//!   granted owner runs.
//! - Cycles may pass through several databases of an instance: all share one table.
//! - **No false deadlock**: all shards are locked during the search, so all edges exist at the same
//!   moment.
//! - An owner that holds no lock is not searched for: no other owner can wait for it.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use extentdb_base::OwnerId;
use extentdb_base::sync::MutexGuard;

use super::LockMode;
use super::key::LockKey;
use super::report::{DeadlockNode, DeadlockReport};
use super::table::{LockHead, Shard};
use super::wait::WaitState;

/// The whole table, locked.
pub(crate) struct Frozen<'a> {
    shards: Vec<MutexGuard<'a, Shard>>,
}

/// The wait of an owner.
struct OwnerWait<'a> {
    /// Number of the shard.
    shard: usize,
    key: LockKey,
    head: &'a LockHead,
}

impl<'a> Frozen<'a> {
    pub(crate) fn new(shards: Vec<MutexGuard<'a, Shard>>) -> Self {
        Frozen { shards }
    }

    /// Chooses a victim for every cycle that `owner`'s wait is part of, and reports each. The
    /// victim is the member with the lowest deadlock priority, then the lowest cost of a rollback,
    /// then the first one: `owner`, if it is one of the equals, else the next along the cycle.
    pub(crate) fn resolve(&mut self, owner: OwnerId, now: Duration) -> Vec<DeadlockReport> {
        let mut reports = Vec::new();
        // Each turn ends one wait, so there are at most as many turns as waits.
        while let Some(cycle) = self.cycle(owner) {
            let nodes = self.nodes(&cycle, now);
            // `min_by_key` returns the first of equals, and the cycle begins with `owner`.
            let first = nodes.iter().min_by_key(|node| (node.request.priority, node.request.cost));
            let Some(victim) = first.map(|node| node.request.owner) else { break };
            self.end_wait_of(victim.id, cycle, now);
            reports.push(DeadlockReport { nodes, victim });
        }
        reports
    }

    /// The shortest cycle through `owner`, which is its first member. Of several cycles the
    /// shortest is broken first, because its victim most probably breaks the others, too.
    fn cycle(&self, owner: OwnerId) -> Option<Vec<OwnerId>> {
        let mut seen: HashSet<OwnerId> = HashSet::from([owner]);
        // Breadth-first search: each entry has the index of its predecessor.
        let mut reached: Vec<(OwnerId, usize)> = vec![(owner, 0)];
        let mut frontier: VecDeque<(usize, Vec<OwnerId>)> =
            VecDeque::from([(0, self.step(owner)?)]);
        while let Some((at, blockers)) = frontier.pop_front() {
            for next in blockers {
                if next == owner {
                    return Some(path_to(&reached, at));
                }
                if seen.insert(next)
                    && let Some(blockers) = self.step(next)
                {
                    reached.push((next, at));
                    frontier.push_back((reached.len() - 1, blockers));
                }
            }
        }
        None
    }

    /// The owners that `owner` waits for; `None` when it runs.
    fn step(&self, owner: OwnerId) -> Option<Vec<OwnerId>> {
        let head = self.wait_of(owner)?.head;
        Some(head.blockers(owner).iter().map(|blocker| blocker.owner.id).collect())
    }

    /// What each member of a cycle waits for, and the lock or request of the next member that
    /// blocks it.
    fn nodes(&self, cycle: &[OwnerId], now: Duration) -> Vec<DeadlockNode> {
        let next = cycle.iter().cycle().skip(1);
        cycle.iter().zip(next).filter_map(|(owner, next)| self.node(*owner, *next, now)).collect()
    }

    fn node(&self, owner: OwnerId, next: OwnerId, now: Duration) -> Option<DeadlockNode> {
        let OwnerWait { key, head, .. } = self.wait_of(owner)?;
        let request = head.request_of(owner)?;
        Some(DeadlockNode {
            database: key.database(),
            request: request.asked,
            status: request.status(),
            wait_time: now.saturating_sub(request.since),
            granted: head.granted.iter().fold(LockMode::Nl, |all, grant| all.converted(grant.mode)),
            blocker: head.blockers(owner).into_iter().find(|blocker| blocker.owner.id == next)?,
        })
    }

    /// What `owner` waits for.
    fn wait_of(&self, owner: OwnerId) -> Option<OwnerWait<'_>> {
        let mut shards = self.shards.iter().enumerate();
        shards.find_map(|(shard, table)| {
            let key = *table.waiting.get(&owner)?;
            Some(OwnerWait { shard, key, head: table.heads.get(&key)? })
        })
    }

    fn end_wait_of(&mut self, victim: OwnerId, cycle: Vec<OwnerId>, now: Duration) {
        let Some(OwnerWait { shard, key, head }) = self.wait_of(victim) else { return };
        let slot = head.request_of(victim).map(|request| request.slot.clone());
        self.shards[shard].withdraw(victim, key, now);
        if let Some(slot) = slot {
            slot.decide(WaitState::Victim(cycle));
        }
    }
}

/// The path from the first entry to the one at `at`.
fn path_to(reached: &[(OwnerId, usize)], mut at: usize) -> Vec<OwnerId> {
    let mut path = Vec::new();
    while at != 0 {
        let (member, from) = reached[at];
        path.push(member);
        at = from;
    }
    path.push(reached[0].0);
    path.reverse();
    path
}
