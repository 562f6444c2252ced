//! Snapshots against a simple model: the list of all that was committed, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use extentdb_base::{SessionId, XactId};
use extentdb_txn::versions::{
    Commits, DatabaseCommits, DatabaseSnapshot, SnapshotKind, TakenSnapshot, VersionWriter,
};
use proptest::prelude::*;

fn id(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn snapshot(commits: &Arc<Commits>, session: u16) -> Arc<TakenSnapshot> {
    let began = Duration::ZERO;
    Arc::new(commits.snapshot(SessionId(session), SnapshotKind::Transaction, began))
}

#[test]
fn a_snapshot_sees_what_was_committed_before_it_and_its_own_changes() {
    let commits = Commits::new();
    let db = commits.enter_database();
    let first = db.begin(id(10));
    let before = snapshot(&commits, 51).within(&db, id(12));
    assert!(!before.sees(id(10)), "active");
    assert!(before.sees(id(12)), "its own");
    assert!(before.sees(id(9)), "from before the opening");
    commits.commit([first]);
    let after = snapshot(&commits, 52).within(&db, id(13));
    assert!(!before.sees(id(10)), "the answer does not change");
    assert!(after.sees(id(10)));
}

#[test]
fn rolled_back_changes_are_seen_by_no_snapshot_that_was_there_before_their_undo() {
    let commits = Commits::new();
    let db = commits.enter_database();
    let writer = db.begin(id(10));
    let before = snapshot(&commits, 51).within(&db, id(11));
    drop(writer);
    commits.clean();
    assert!(!before.sees(id(10)));
    assert!(!db.is_seen_by_all(id(10)));
    drop(before);
    commits.clean();
    assert!(db.is_seen_by_all(id(10)), "no record of it is left");
}

#[test]
fn a_transaction_over_two_databases_is_seen_in_both_or_in_none() {
    let commits = Commits::new();
    let first = commits.enter_database();
    let second = commits.enter_database();
    let writers = [first.begin(id(10)), second.begin(id(500))];
    let before = snapshot(&commits, 51);
    commits.commit(writers);
    let after = snapshot(&commits, 52);
    for (snapshot, is_seen) in [(&before, false), (&after, true)] {
        assert_eq!(snapshot.within(&first, id(1)).sees(id(10)), is_seen);
        assert_eq!(snapshot.within(&second, id(1)).sees(id(500)), is_seen);
    }
}

#[test]
fn entries_are_kept_for_the_oldest_snapshot_and_no_longer() {
    let commits = Commits::new();
    let db = commits.enter_database();
    let oldest = snapshot(&commits, 51);
    for number in 10..20 {
        commits.commit([db.begin(id(number))]);
    }
    commits.clean();
    assert_eq!(commits.kept(), 10);
    drop(oldest);
    commits.clean();
    assert_eq!(commits.kept(), 0);
}

#[test]
fn many_commits_clean_up_after_themselves() {
    let commits = Commits::new();
    let db = commits.enter_database();
    for number in 0..100_000 {
        commits.commit([db.begin(id(number))]);
    }
    assert!(commits.kept() <= 1024, "{}", commits.kept());
}

#[test]
fn a_transaction_in_doubt_is_seen_by_nobody() {
    let commits = Commits::new();
    let db = commits.enter_database();
    db.begin(id(10)).leave_open();
    commits.commit([db.begin(id(11))]);
    commits.clean();
    let later = snapshot(&commits, 51).within(&db, id(12));
    assert!(!later.sees(id(10)));
    assert!(later.sees(id(11)));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Commit(usize),
    CommitTwo(usize),
    Abort(usize),
    Snapshot,
    Release(usize),
    Clean,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Begin),
        3 => any::<usize>().prop_map(Step::Commit),
        1 => any::<usize>().prop_map(Step::CommitTwo),
        1 => any::<usize>().prop_map(Step::Abort),
        2 => Just(Step::Snapshot),
        1 => any::<usize>().prop_map(Step::Release),
        1 => Just(Step::Clean),
        3 => Just(Step::Look),
    ]
}

/// What a transaction is in the model.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    Active,
    Committed,
    Aborted,
}

/// A snapshot and what the model says that it sees: the fates when it was taken.
struct Taken {
    real: [DatabaseSnapshot; 2],
    then: BTreeMap<(usize, u32), Fate>,
    number: u64,
}

struct Model {
    commits: Arc<Commits>,
    databases: [Arc<DatabaseCommits>; 2],
    open: Vec<(usize, u32, VersionWriter)>,
    fates: BTreeMap<(usize, u32), Fate>,
    /// Ended transactions, and how many had ended before.
    ended: BTreeMap<(usize, u32), u64>,
    ends: u64,
    snapshots: Vec<Taken>,
    next: u32,
}

impl Model {
    fn new() -> Model {
        let commits = Commits::new();
        let databases = [commits.enter_database(), commits.enter_database()];
        Model {
            commits,
            databases,
            open: Vec::new(),
            fates: BTreeMap::new(),
            ended: BTreeMap::new(),
            ends: 0,
            snapshots: Vec::new(),
            next: 1,
        }
    }

    fn take(&mut self, at: usize) -> Option<VersionWriter> {
        let at = at.checked_rem(self.open.len())?;
        let (database, number, writer) = self.open.swap_remove(at);
        self.ended.insert((database, number), self.ends + 1);
        self.fates.insert((database, number), Fate::Committed);
        Some(writer)
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Begin => {
                let number = self.next;
                self.next += 1;
                let database = number as usize % 2;
                self.fates.insert((database, number), Fate::Active);
                let writer = self.databases[database].begin(id(number));
                self.open.push((database, number, writer));
            }
            Step::Commit(at) => {
                let writer = self.take(at);
                self.ends += u64::from(writer.is_some());
                self.commits.commit(writer);
            }
            Step::CommitTwo(at) => {
                let writers = [self.take(at), self.take(at)];
                self.ends += u64::from(writers[0].is_some());
                self.commits.commit(writers.into_iter().flatten());
            }
            Step::Abort(at) => {
                let Some(writer) = self.take(at) else { return };
                let aborted = (writer.id().low as usize % 2, writer.id().low);
                self.fates.insert(aborted, Fate::Aborted);
                self.ends += 1;
                drop(writer);
            }
            Step::Snapshot => {
                let taken = snapshot(&self.commits, 51 + self.snapshots.len() as u16);
                assert_eq!(taken.number().0, self.ends);
                let real = [0, 1].map(|of| taken.within(&self.databases[of], id(0)));
                let then = self.fates.clone();
                self.snapshots.push(Taken { real, then, number: self.ends });
            }
            Step::Release(at) => {
                if let Some(at) = at.checked_rem(self.snapshots.len()) {
                    self.snapshots.swap_remove(at);
                }
            }
            Step::Clean => {
                self.commits.clean();
            }
            Step::Look => self.look(),
        }
    }

    fn look(&self) {
        for taken in &self.snapshots {
            for (database, number) in self.fates.keys() {
                let was = taken.then.get(&(*database, *number));
                // One that was rolled back before has left no record to ask about.
                if was != Some(&Fate::Aborted) {
                    let is_seen = taken.real[*database].sees(id(*number));
                    assert_eq!(is_seen, was == Some(&Fate::Committed));
                }
            }
        }
        let oldest = self.snapshots.iter().map(|taken| taken.number).min().unwrap_or(self.ends);
        assert_eq!(self.commits.horizon().0, oldest);
        for ((database, number), fate) in &self.fates {
            if self.databases[*database].is_seen_by_all(id(*number)) {
                assert_ne!(*fate, Fate::Active);
                assert!(self.ended[&(*database, *number)] <= oldest);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn snapshots_see_what_the_model_says(steps in prop::collection::vec(step(), 1..120)) {
        let mut model = Model::new();
        for step in steps {
            model.run(step);
        }
        model.look();
        model.snapshots.clear();
        model.open.clear();
        model.commits.clean();
        prop_assert_eq!(model.commits.kept(), 0);
    }
}
