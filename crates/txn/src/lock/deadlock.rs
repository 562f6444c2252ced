//! Deadlocks: circles in the wait-for graph, found when a wait begins.
//!
//! ```text
//! A waits for B ── B waits for C ── C waits for A        victim: the one that is cheapest to roll back,
//!   ▲                                  │                 the one that closed the circle when several are
//!   └──────────────────────────────────┘
//! ```
//!
//! - **Every circle is found**: a circle consists of owners that all wait; the last of them to begin waiting looks for it, and sees
//!   the waits of the others. A grant adds no edge to somebody who waits: the granted owner runs.
//! - **No false one**: all shards are locked while it looks, so all edges exist at the same moment.
//! - It looks only when the owner holds something: else nobody can be waiting for it.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use extentdb_base::XactId;
use extentdb_base::sync::MutexGuard;

use super::Resource;
use super::table::{LockHead, Request, Shard};
use super::wait::Fate;

/// The whole table, locked.
pub(crate) struct Frozen<'a> {
    shards: Vec<MutexGuard<'a, Shard>>,
}

/// An owner in a circle and what rolling it back costs.
type Member = (XactId, u64);

impl<'a> Frozen<'a> {
    pub(crate) fn new(shards: Vec<MutexGuard<'a, Shard>>) -> Self {
        Frozen { shards }
    }

    /// Breaks every circle that `owner`'s wait is part of. Returns the number of victims.
    pub(crate) fn resolve(&mut self, owner: XactId, now: Duration) -> u64 {
        let mut victims = 0;
        // Each turn ends one wait, so there are no more turns than waits.
        while let Some(circle) = self.circle(owner) {
            // Ties go to the first, and the circle begins with `owner`.
            let Some((victim, _)) = circle.iter().copied().min_by_key(|(_, cost)| *cost) else { break };
            let members = circle.iter().map(|(member, _)| *member).collect();
            self.sacrifice(victim, members, now);
            victims += 1;
        }
        victims
    }

    /// The shortest circle through `owner`, which comes first in it: the shorter it is, the surer that its victim was needed.
    fn circle(&self, owner: XactId) -> Option<Vec<Member>> {
        let mut seen: HashSet<XactId> = HashSet::from([owner]);
        // Breadth first: each entry knows the one it was reached from.
        let mut reached: Vec<(Member, usize)> = Vec::new();
        let (first, blockers) = self.step(owner)?;
        reached.push((first, 0));
        let mut frontier: VecDeque<(usize, Vec<XactId>)> = VecDeque::from([(0, blockers)]);
        while let Some((at, blockers)) = frontier.pop_front() {
            for next in blockers {
                if next == owner {
                    return Some(way_to(&reached, at));
                }
                if seen.insert(next)
                    && let Some((member, blockers)) = self.step(next)
                {
                    reached.push((member, at));
                    frontier.push_back((reached.len() - 1, blockers));
                }
            }
        }
        None
    }

    /// What `owner` waits for; `None` when it runs.
    fn step(&self, owner: XactId) -> Option<(Member, Vec<XactId>)> {
        let (shard, resource) = self.wait_of(owner)?;
        let head = self.shards[shard].heads.get(&resource)?;
        let request = request_of(head, owner)?;
        Some(((owner, request.cost), head.blockers(owner)))
    }

    /// Shard and resource that `owner` waits for.
    fn wait_of(&self, owner: XactId) -> Option<(usize, Resource)> {
        let mut shards = self.shards.iter().enumerate();
        shards.find_map(|(at, shard)| Some((at, *shard.waiting.get(&owner)?)))
    }

    fn sacrifice(&mut self, victim: XactId, circle: Vec<XactId>, now: Duration) {
        let Some((shard, resource)) = self.wait_of(victim) else { return };
        let shard = &mut self.shards[shard];
        let slot =
            shard.heads.get(&resource).and_then(|head| request_of(head, victim)).map(|it| it.slot.clone());
        shard.withdraw(victim, resource, now);
        if let Some(slot) = slot {
            slot.decide(Fate::Victim(circle));
        }
    }
}

/// The members from the first one to the one at `at`.
fn way_to(reached: &[(Member, usize)], mut at: usize) -> Vec<Member> {
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

fn request_of(head: &LockHead, owner: XactId) -> Option<&Request> {
    head.queue.iter().find(|request| request.owner == owner)
}
