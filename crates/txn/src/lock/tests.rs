//! The lock table against a naive model: the same rules, written without any cleverness.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::env::SystemClock;
use proptest::prelude::*;

use super::*;

fn owner(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn manager() -> LockManager {
    LockManager::new(Arc::new(Waits::new()), Arc::new(SystemClock::new()))
}

const TABLE: ObjectId = ObjectId(7);

fn row(number: u64) -> Resource {
    Resource::Key(extentdb_base::HobtId(1), number)
}

/// Deadlock priority, and cost of rolling back.
type Rank = (i8, u64);

#[derive(Clone, Debug)]
enum Step {
    Ask { owner: u32, resource: u64, mode: LockMode, rank: Rank },
    Release { owner: u32, resource: u64 },
    ReleaseAll { owner: u32 },
    TimeIsOver { owner: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop::sample::select(&LockMode::ALL[1..]);
    prop_oneof![
        8 => (0u32..6, 0u64..4, mode, (-1i8..2, 0u64..5))
            .prop_map(|(owner, resource, mode, rank)| Step::Ask { owner, resource, mode, rank }),
        2 => (0u32..6, 0u64..4).prop_map(|(owner, resource)| Step::Release { owner, resource }),
        1 => (0u32..6).prop_map(|owner| Step::ReleaseAll { owner }),
        1 => (0u32..6).prop_map(|owner| Step::TimeIsOver { owner }),
    ]
}

/// One resource of the model.
#[derive(Clone, Default, Debug)]
struct Line {
    granted: BTreeMap<u32, (LockMode, u32)>,
    /// Owner, mode, is it a conversion?
    queue: Vec<(u32, LockMode, bool)>,
}

#[derive(Default)]
struct Model {
    lines: BTreeMap<u64, Line>,
    ranks: BTreeMap<u32, Rank>,
}

impl Line {
    fn blockers(&self, owner: u32) -> BTreeSet<u32> {
        let at = self.queue.iter().position(|(other, ..)| *other == owner).unwrap();
        let (_, mode, converts) = self.queue[at];
        let mut blockers = BTreeSet::new();
        for (other, (held, _)) in &self.granted {
            if *other != owner && !mode.is_compatible(*held) {
                blockers.insert(*other);
            }
        }
        for (other, wanted, _) in self.queue[..at].iter().filter(|_| !converts) {
            if !mode.is_compatible(*wanted) {
                blockers.insert(*other);
            }
        }
        blockers
    }

    /// Grants one after the other until nothing changes.
    fn settle(&mut self) {
        while let Some(at) =
            (0..self.queue.len()).find(|at| self.blockers(self.queue[*at].0).is_empty())
        {
            let (owner, mode, _) = self.queue.remove(at);
            let grant = self.granted.entry(owner).or_insert((mode, 0));
            *grant = (mode, grant.1 + 1);
        }
    }

    fn ask(&mut self, owner: u32, asked: LockMode) {
        let held = self.granted.get(&owner).map(|(mode, _)| *mode);
        let request = (owner, held.map_or(asked, |held| held.converted(asked)), held.is_some());
        // Conversions queue before all new requests, after earlier conversions.
        let conversions = self.queue.iter().filter(|(.., converts)| *converts).count();
        self.queue.insert(if held.is_some() { conversions } else { self.queue.len() }, request);
        self.settle();
    }

    fn withdraw(&mut self, owner: u32) {
        self.queue.retain(|(other, ..)| *other != owner);
        self.settle();
    }
}

impl Model {
    fn waits_for(&self, owner: u32) -> Option<u64> {
        let waits = |line: &Line| line.queue.iter().any(|(other, ..)| *other == owner);
        self.lines.iter().find(|(_, line)| waits(line)).map(|(resource, _)| *resource)
    }

    fn edges(&self) -> BTreeSet<(u32, u32)> {
        let lines = self.lines.values();
        let waits = lines.flat_map(|line| {
            line.queue.iter().map(move |(owner, ..)| (*owner, line.blockers(*owner)))
        });
        waits
            .flat_map(|(owner, blockers)| blockers.into_iter().map(move |other| (owner, other)))
            .collect()
    }

    /// Owners that can reach themselves.
    fn deadlocked(&self) -> BTreeSet<u32> {
        let mut reach = self.edges();
        loop {
            let longer: BTreeSet<(u32, u32)> = reach
                .iter()
                .flat_map(|(a, b)| {
                    reach.iter().filter(move |(c, _)| c == b).map(move |(_, d)| (*a, *d))
                })
                .collect();
            let before = reach.len();
            reach.extend(longer);
            if reach.len() == before {
                return reach.iter().filter(|(a, b)| a == b).map(|(a, _)| *a).collect();
            }
        }
    }

    fn rows(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for (resource, line) in &self.lines {
            let resource = row(*resource);
            let row = |owner: &u32, mode, status, count| LockRow {
                resource,
                owner: super::tests::owner(*owner),
                mode,
                status,
                count,
            };
            rows.extend(
                line.granted
                    .iter()
                    .map(|(owner, (mode, count))| row(owner, *mode, LockStatus::Grant, *count)),
            );
            rows.extend(line.queue.iter().map(|(owner, mode, converts)| {
                row(owner, *mode, if *converts { LockStatus::Convert } else { LockStatus::Wait }, 0)
            }));
        }
        rows
    }
}

/// Holders have no order; those who wait have.
fn in_order(mut rows: Vec<LockRow>) -> Vec<LockRow> {
    rows.sort_by_key(|row| {
        let holder = (row.status == LockStatus::Grant).then_some(row.owner);
        (row.resource, holder.is_none(), holder)
    });
    rows
}

struct Pair {
    manager: LockManager,
    model: Model,
    tickets: BTreeMap<u32, Ticket>,
    deadlocks: u64,
}

impl Pair {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Ask { owner, resource, mode, rank } if self.model.waits_for(owner).is_none() => {
                self.ask(owner, resource, mode, rank);
            }
            Step::Release { owner, resource } if self.model.waits_for(owner).is_none() => {
                self.manager.release(super::tests::owner(owner), row(resource));
                let line = self.model.lines.entry(resource).or_default();
                if let Some((_, count)) = line.granted.get_mut(&owner) {
                    *count -= 1;
                    if *count == 0 {
                        line.granted.remove(&owner);
                    }
                }
                line.settle();
            }
            Step::ReleaseAll { owner } if self.model.waits_for(owner).is_none() => {
                self.release_all(owner)
            }
            Step::TimeIsOver { owner } => {
                if let Some(resource) = self.model.waits_for(owner) {
                    let now = self.manager.clock.monotonic();
                    self.manager.shard(&row(resource)).withdraw(
                        super::tests::owner(owner),
                        row(resource),
                        now,
                    );
                    self.model.lines.get_mut(&resource).unwrap().withdraw(owner);
                    self.tickets.remove(&owner);
                }
            }
            _ => {}
        }
        self.collect();
        assert_eq!(in_order(self.manager.locks()), in_order(self.model.rows()));
        assert_eq!(self.model.deadlocked(), BTreeSet::new(), "a cycle was left");
        for shard in &self.manager.shards {
            let shard = lock(shard);
            let queued: usize = shard.heads.values().map(|head| head.queue.len()).sum();
            assert_eq!(shard.waiting.len(), queued);
            assert!(
                shard.heads.values().all(|head| head.queue.len() + head.granted.len() > 0),
                "an empty head"
            );
        }
    }

    fn release_all(&mut self, owner: u32) {
        self.manager.release_all(super::tests::owner(owner));
        for line in self.model.lines.values_mut() {
            line.granted.remove(&owner);
            line.settle();
        }
    }

    fn ask(&mut self, owner: u32, resource: u64, mode: LockMode, rank: Rank) {
        self.model.ranks.insert(owner, rank);
        self.model.lines.entry(resource).or_default().ask(owner, mode);
        let deadlocked = self.model.deadlocked();
        let edges = self.model.edges();
        let request = LockRequest::new(super::tests::owner(owner), row(resource), mode);
        let request = request.of_priority(rank.0).costing(rank.1);
        match self.manager.start(request).unwrap() {
            Started::Granted { mode, is_new } => self.note(owner, resource, mode, is_new),
            Started::Waiting(ticket) => drop(self.tickets.insert(owner, ticket)),
        }
        let mut found = false;
        let victims: Vec<(u32, Vec<XactId>)> = self
            .tickets
            .iter()
            .filter_map(|(owner, ticket)| match ticket.slot.state() {
                WaitState::Victim(cycle) => Some((*owner, cycle)),
                _ => None,
            })
            .collect();
        for (victim, cycle) in victims {
            found = true;
            self.deadlocks += 1;
            let cycle: Vec<u32> = cycle.iter().map(|member| member.low).collect();
            for (at, member) in cycle.iter().enumerate() {
                let next = cycle[(at + 1) % cycle.len()];
                assert!(edges.contains(&(*member, next)), "{cycle:?} is no cycle: {edges:?}");
            }
            let lowest = cycle.iter().map(|member| self.model.ranks[member]).min().unwrap();
            assert_eq!(self.model.ranks[&victim], lowest, "{cycle:?}");
            assert!(cycle.contains(&owner) && cycle.contains(&victim));
            let waited = self.model.waits_for(victim).unwrap();
            // All victims leave the queues before anything is granted: the order of their going
            // makes no difference.
            self.model.lines.get_mut(&waited).unwrap().queue.retain(|(other, ..)| *other != victim);
            self.tickets.remove(&victim);
        }
        self.model.lines.values_mut().for_each(Line::settle);
        assert_eq!(found, !deadlocked.is_empty(), "deadlocked: {deadlocked:?}");
    }

    /// What `acquire` does after a grant.
    fn note(&self, owner: u32, resource: u64, mode: LockMode, is_new: bool) {
        let owner = super::tests::owner(owner);
        self.manager.held_by(owner).entry(owner).or_default().add(
            row(resource),
            None,
            mode,
            is_new,
        );
    }

    /// Those whose wait was granted go on.
    fn collect(&mut self) {
        let done: Vec<u32> = self
            .tickets
            .iter()
            .filter(|(_, ticket)| matches!(ticket.slot.state(), WaitState::Granted(_)))
            .map(|(owner, _)| *owner)
            .collect();
        for number in done {
            let ticket = self.tickets.remove(&number).unwrap();
            let Resource::Key(_, resource) = ticket.request.resource else { unreachable!() };
            let (mode, is_new) = self.manager.sleep(ticket).unwrap();
            self.note(number, resource, mode, is_new);
        }
        for (number, ticket) in &self.tickets {
            assert_eq!(ticket.slot.state(), WaitState::Waiting, "owner {number}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn the_table_does_what_the_naive_model_does(steps in prop::collection::vec(step(), 1..120)) {
        let mut pair =
            Pair { manager: manager(), model: Model::default(), tickets: BTreeMap::new(), deadlocks: 0 };
        for step in &steps {
            pair.take(step);
        }
        prop_assert_eq!(pair.manager.stats().deadlocks, pair.deadlocks);
        // The end of all transactions leaves no lock.
        for number in 0..6 {
            pair.take(&Step::TimeIsOver { owner: number });
        }
        for number in 0..6 {
            pair.take(&Step::ReleaseAll { owner: number });
        }
        prop_assert!(pair.manager.locks().is_empty());
        prop_assert!(pair.manager.owners.iter().all(|owners| lock(owners).is_empty()));
    }
}

#[test]
fn many_locks_on_a_table_become_one() {
    let manager = manager();
    let a = owner(1);
    let b = owner(2);
    let take = |owner, number, mode| {
        manager.acquire(LockRequest::new(owner, row(number), mode).of_table(TABLE)).unwrap()
    };
    manager.acquire(LockRequest::new(a, Resource::Object(TABLE), LockMode::Ix)).unwrap();
    for number in 0..4999 {
        take(a, number, LockMode::X);
    }
    assert_eq!((manager.fine_locks(a, TABLE), manager.stats().escalations), (4999, 0));
    take(a, 4999, LockMode::X);
    assert_eq!((manager.fine_locks(a, TABLE), manager.stats().escalations), (0, 1));
    assert_eq!(manager.held(a, Resource::Object(TABLE)), Some(LockMode::X));
    assert_eq!(manager.locks().len(), 1, "the fine locks are gone");
    take(a, 9999, LockMode::U);
    assert_eq!(manager.locks().len(), 1, "what the table lock covers takes nothing");
    manager.release(a, row(9999));
    let request =
        LockRequest::new(b, Resource::Object(TABLE), LockMode::Is).within(Timeout::NoWait);
    assert!(matches!(manager.acquire(request), Err(LockError::Timeout { .. })));
    manager.release_all(a);
    assert!(manager.acquire(request).is_ok());
}

#[test]
fn readers_escalate_to_a_shared_lock_and_only_when_nobody_is_in_the_way() {
    let manager = manager();
    let a = owner(1);
    let b = owner(2);
    let table = Resource::Object(TABLE);
    manager.acquire(LockRequest::new(b, table, LockMode::Ix)).unwrap();
    manager.acquire(LockRequest::new(a, table, LockMode::Is)).unwrap();
    let read = |number| {
        manager.acquire(LockRequest::new(a, row(number), LockMode::S).of_table(TABLE)).unwrap()
    };
    (0..6000).for_each(|number| assert_eq!(read(number), LockMode::S));
    assert_eq!(
        (manager.stats().escalations, manager.fine_locks(a, TABLE)),
        (0, 6000),
        "b is changing rows"
    );
    manager.release_all(b);
    (6000..6250).for_each(|number| assert_eq!(read(number), LockMode::S));
    assert_eq!(
        (manager.stats().escalations, manager.fine_locks(a, TABLE)),
        (1, 0),
        "tried again 1250 later"
    );
    assert_eq!(manager.held(a, table), Some(LockMode::S));
    // A change is not covered by S: it is locked on its own.
    manager.acquire(LockRequest::new(a, row(1), LockMode::X).of_table(TABLE)).unwrap();
    assert_eq!(manager.held(a, row(1)), Some(LockMode::X));
}

#[test]
fn locks_are_counted_and_a_stronger_mode_stays() {
    let manager = manager();
    let a = owner(1);
    let take = |mode| manager.acquire(LockRequest::new(a, row(1), mode)).unwrap();
    assert_eq!(
        (take(LockMode::S), take(LockMode::X), take(LockMode::S)),
        (LockMode::S, LockMode::X, LockMode::X)
    );
    for left in [2, 1] {
        manager.release(a, row(1));
        assert_eq!((manager.held(a, row(1)), manager.locks()[0].count), (Some(LockMode::X), left));
    }
    manager.release(a, row(1));
    manager.release(a, row(1));
    assert_eq!((manager.held(a, row(1)), manager.locks()), (None, vec![]));
}

#[test]
fn serializable_readers_escalate_to_a_shared_lock_that_blocks_inserts() {
    let manager = manager();
    let a = owner(1);
    let b = owner(2);
    let table = Resource::Object(TABLE);
    let take = |owner, number, mode| {
        manager.acquire(LockRequest::new(owner, row(number), mode).of_table(TABLE)).unwrap()
    };
    manager.acquire(LockRequest::new(a, table, LockMode::Is)).unwrap();
    (0..5000).for_each(|number| assert_eq!(take(a, number, LockMode::RsS), LockMode::RsS));
    assert_eq!((manager.stats().escalations, manager.held(a, table)), (1, Some(LockMode::S)));
    assert_eq!(take(a, 9000, LockMode::RsS), LockMode::RsS);
    assert_eq!(manager.locks().len(), 1, "the table covers further ranges");
    let insert = LockRequest::new(b, table, LockMode::Ix).within(Timeout::NoWait);
    assert!(manager.acquire(insert).is_err());
    // To look for what to change, S is not enough; X is enough for everything.
    take(a, 9000, LockMode::RsU);
    assert_eq!(manager.held(a, row(9000)), Some(LockMode::RsU));
    assert!(manager.escalate(a, TABLE));
    assert_eq!(manager.held(a, table), Some(LockMode::X));
    for mode in [LockMode::RsU, LockMode::RiN, LockMode::RxX] {
        take(a, 9001, mode);
    }
    assert_eq!(manager.locks().len(), 1);
}

#[test]
fn a_lock_besides_that_on_the_table_is_not_given_back_by_a_reader_of_the_same_row() {
    let manager = manager();
    let a = owner(1);
    let read = |number| LockRequest::new(a, row(number), LockMode::S).of_table(TABLE);
    (0..5000).for_each(|number| assert_eq!(manager.acquire(read(number)), Ok(LockMode::S)));
    assert_eq!(manager.stats().escalations, 1);
    manager.acquire(LockRequest { mode: LockMode::X, ..read(7) }).unwrap();
    // As READ COMMITTED does it: locked for the time of reading.
    manager.acquire(read(7)).unwrap();
    manager.release(a, row(7));
    assert_eq!(manager.held(a, row(7)), Some(LockMode::X));
}

#[test]
fn a_weaker_request_that_is_given_back_leaves_the_stronger_lock() {
    let manager = manager();
    let a = owner(1);
    let take = |mode| manager.acquire(LockRequest::new(a, row(1), mode)).unwrap();
    assert_eq!([take(LockMode::X), take(LockMode::S)], [LockMode::X; 2]);
    manager.release(a, row(1));
    assert_eq!((manager.held(a, row(1)), manager.locks()[0].count), (Some(LockMode::X), 1));
}
