//! Deadlocks: circles in the wait-for graph, found when a wait begins.
//!
//! ```text
//! A waits for B ── B waits for C ── C waits for A        victim: the lowest deadlock priority; of several the one
//!   ▲                                  │                 that is cheapest to roll back; of several the one that
//!   └──────────────────────────────────┘                 closed the circle
//! ```
//!
//! - **Every circle is found**: a circle consists of owners that all wait; the last of them to
//!   begin waiting looks for it, and sees the waits of the others. A grant adds no edge to somebody
//!   who waits: the granted owner runs.
//! - **No false one**: all shards are locked while it looks, so all edges exist at the same moment.
//! - It looks only when the owner holds something: else nobody can be waiting for it.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use extentdb_base::XactId;
use extentdb_base::sync::MutexGuard;

use super::report::{DeadlockNode, DeadlockReport};
use super::table::{LockHead, Shard};
use super::wait::Fate;
use super::{LockMode, Resource};

/// The whole table, locked.
pub(crate) struct Frozen<'a> {
    shards: Vec<MutexGuard<'a, Shard>>,
}

impl<'a> Frozen<'a> {
    pub(crate) fn new(shards: Vec<MutexGuard<'a, Shard>>) -> Self {
        Frozen { shards }
    }

    /// Breaks every circle that `owner`'s wait is part of, and reports each.
    pub(crate) fn resolve(&mut self, owner: XactId, now: Duration) -> Vec<DeadlockReport> {
        let mut reports = Vec::new();
        // Each turn ends one wait, so there are no more turns than waits.
        while let Some(circle) = self.circle(owner) {
            let nodes = self.nodes(&circle, now);
            // Ties go to the first, and the circle begins with `owner`.
            let first = nodes.iter().min_by_key(|node| (node.request.priority, node.request.cost));
            let Some(victim) = first.map(|node| node.request.owner) else { break };
            self.sacrifice(victim, circle, now);
            reports.push(DeadlockReport { nodes, victim });
        }
        reports
    }

    /// The shortest circle through `owner`, which comes first in it: the shorter it is, the surer
    /// that its victim was needed.
    fn circle(&self, owner: XactId) -> Option<Vec<XactId>> {
        let mut seen: HashSet<XactId> = HashSet::from([owner]);
        // Breadth first: each entry knows the one it was reached from.
        let mut reached: Vec<(XactId, usize)> = vec![(owner, 0)];
        let mut frontier: VecDeque<(usize, Vec<XactId>)> = VecDeque::from([(0, self.step(owner)?)]);
        while let Some((at, blockers)) = frontier.pop_front() {
            for next in blockers {
                if next == owner {
                    return Some(way_to(&reached, at));
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

    /// Whom `owner` waits for; `None` when it runs.
    fn step(&self, owner: XactId) -> Option<Vec<XactId>> {
        let (_, _, head) = self.wait_of(owner)?;
        Some(head.blockers(owner).iter().map(|blocker| blocker.owner).collect())
    }

    /// What each of a circle waits for, and what the next one has to do with it.
    fn nodes(&self, circle: &[XactId], now: Duration) -> Vec<DeadlockNode> {
        let next = circle.iter().cycle().skip(1);
        circle.iter().zip(next).filter_map(|(owner, next)| self.node(*owner, *next, now)).collect()
    }

    fn node(&self, owner: XactId, next: XactId, now: Duration) -> Option<DeadlockNode> {
        let (_, _, head) = self.wait_of(owner)?;
        let request = head.request_of(owner)?;
        Some(DeadlockNode {
            request: request.asked,
            status: request.status(),
            wait_time: now.saturating_sub(request.since),
            granted: head.granted.iter().fold(LockMode::Nl, |all, grant| all.converted(grant.mode)),
            blocker: head.blockers(owner).into_iter().find(|blocker| blocker.owner == next)?,
        })
    }

    /// The shard and the resource that `owner` waits for.
    fn wait_of(&self, owner: XactId) -> Option<(usize, Resource, &LockHead)> {
        let mut shards = self.shards.iter().enumerate();
        shards.find_map(|(at, shard)| {
            let resource = *shard.waiting.get(&owner)?;
            Some((at, resource, shard.heads.get(&resource)?))
        })
    }

    fn sacrifice(&mut self, victim: XactId, circle: Vec<XactId>, now: Duration) {
        let Some((shard, resource, head)) = self.wait_of(victim) else { return };
        let slot = head.request_of(victim).map(|request| request.slot.clone());
        self.shards[shard].withdraw(victim, resource, now);
        if let Some(slot) = slot {
            slot.decide(Fate::Victim(circle));
        }
    }
}

/// The members from the first one to the one at `at`.
fn way_to(reached: &[(XactId, usize)], mut at: usize) -> Vec<XactId> {
    let mut way = Vec::new();
    while at != 0 {
        let (member, from) = reached[at];
        way.push(member);
        at = from;
    }
    way.push(reached[0].0);
    way.reverse();
    way
}
