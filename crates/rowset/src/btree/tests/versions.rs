//! Row versions in trees: transactions side by side, snapshots taken anywhere, each compared with
//! the rows that were committed when it was taken, by every way of reading.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use extentdb_base::XactId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_format::page::PageHeader;
use extentdb_txn::Transaction;

use super::bench::{Bench, Setup, key, key_and_value};
use super::walk::walk;
use crate::Error;
use crate::btree::{
    KeyRange, LeafRun, LeafVisit, RangePosition, SeekPosition, SeekRows, SeekVisit,
};
use crate::columnar::{PageRun, Visibility};
use crate::version::tests::{Commits, MemorySnapshot, MemoryStore};
use crate::version::{VersionStore, Versioning, Versions};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Plan {
    is_base: bool,
    keys: u64,
    value: u64,
    seed: u64,
}

/// A transaction that is open.
struct Open {
    tx: Transaction,
    /// Of a SNAPSHOT transaction.
    snapshot: Option<(MemorySnapshot, Model)>,
    /// What it has changed: values now.
    own: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

struct Run {
    bench: Bench,
    store: MemoryStore,
    commits: Arc<Commits>,
    plan: Plan,
    rng: SplitMix64,
    committed: Model,
    /// The commit that last changed each key.
    changed: BTreeMap<Vec<u8>, u64>,
    open: Vec<Open>,
    snapshots: Vec<(MemorySnapshot, Model)>,
    conflicts: usize,
    reads: usize,
}

impl Open {
    fn value<'o>(&'o self, committed: &'o Model, key: &[u8]) -> Option<&'o Vec<u8>> {
        match self.own.get(key) {
            Some(value) => value.as_ref(),
            None => committed.get(key),
        }
    }
}

impl Run {
    fn new(plan: Plan) -> Run {
        Run {
            bench: Bench::with(&Setup::of(plan.is_base)),
            store: MemoryStore::default(),
            commits: Arc::default(),
            rng: SplitMix64::new(plan.seed),
            plan,
            committed: Model::new(),
            changed: BTreeMap::new(),
            open: Vec::new(),
            snapshots: Vec::new(),
            conflicts: 0,
            reads: 0,
        }
    }

    fn value(&mut self) -> Vec<u8> {
        let most = if self.rng.below(6) == 0 { self.plan.value } else { 40 };
        vec![self.rng.next_u64() as u8; self.rng.below(most + 1) as usize]
    }

    /// A change of a key that no other transaction has changed: the engine's locks see to that.
    fn change(&mut self, number: usize) {
        let key = key(self.rng.below(self.plan.keys), false);
        let others = self.open.iter().enumerate().filter(|(other, _)| *other != number);
        if others.into_iter().any(|(_, open)| open.own.contains_key(&key)) {
            return;
        }
        let new = self.value();
        let roll = self.rng.below(3);
        let open = &mut self.open[number];
        let exists = open.value(&self.committed, &key).is_some();
        let snapshot = open.snapshot.as_ref().map(|(snapshot, _)| snapshot);
        let at = snapshot.map(|snapshot| snapshot.at);
        let is_newer = at.is_some_and(|at| self.changed.get(&key).is_some_and(|seq| *seq > at))
            && !open.own.contains_key(&key);
        let versions = Some(Versioning {
            store: &self.store,
            writer: open.tx.id(),
            snapshot: snapshot.map(|snapshot| snapshot as _),
        });
        let tree = &self.bench.tree;
        let cells = self.bench.cells(&key, &new);
        let done = match (exists, roll) {
            (false, _) => {
                let sort_key = tree.shape().key_of_cells(&cells).unwrap();
                let done = tree.insert_versioned(&mut open.tx, &sort_key, &cells, versions);
                done.map(|()| Some(new.clone()))
            }
            (true, 0) => {
                let sort_key = tree.shape().key_of_cells(&cells).unwrap();
                let done = tree.delete_versioned(&mut open.tx, &sort_key, versions);
                done.map(|deleted| assert!(deleted.is_some())).map(|()| None)
            }
            (true, _) => {
                let done = tree.replace_versioned(&mut open.tx, &cells, versions);
                done.map(|()| Some(new.clone()))
            }
        };
        match done {
            Ok(value) => {
                assert!(!is_newer, "a conflict was not noticed");
                open.own.insert(key, value);
            }
            Err(Error::UpdateConflict { .. }) => {
                assert!(is_newer, "no conflict");
                self.conflicts += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn end(&mut self, number: usize) {
        let open = self.open.swap_remove(number);
        let xact = open.tx.id();
        if self.rng.below(3) == 0 {
            self.bench.roll_back(open.tx);
            self.commits.rolled_back(xact);
            return;
        }
        open.tx.commit().unwrap();
        let at = self.commits.commit(xact);
        for (key, value) in open.own {
            self.changed.insert(key.clone(), at);
            match value {
                Some(value) => self.committed.insert(key, value),
                None => self.committed.remove(&key),
            };
        }
    }

    fn begin(&mut self) {
        let tx = self.bench.begin();
        let snapshot = (self.rng.below(2) == 0)
            .then(|| (self.commits.snapshot(Some(tx.id())), self.committed.clone()));
        self.open.push(Open { tx, snapshot, own: BTreeMap::new() });
    }

    fn clean(&mut self) {
        let commits = self.commits.clone();
        let seen = move |xact: XactId| commits.is_seen_by_all(xact);
        self.bench.tree.clean(&self.bench.manager, 8, &seen).unwrap();
        self.store.remove(&seen);
    }

    fn verify(&mut self) {
        for at in 0..self.snapshots.len() {
            let (snapshot, model) = &self.snapshots[at];
            verify(&self.bench, &self.store, snapshot, model, &mut self.rng, self.plan.keys);
        }
        for open in &self.open {
            let Some((snapshot, model)) = &open.snapshot else { continue };
            let mut model = model.clone();
            for (key, value) in &open.own {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            verify(&self.bench, &self.store, snapshot, &model, &mut self.rng, self.plan.keys);
        }
        self.reads += self.snapshots.len() + self.open.len();
    }

    fn step(&mut self) {
        match self.rng.below(40) {
            0 | 1 if self.open.len() < 4 => self.begin(),
            2 | 3 if !self.open.is_empty() => {
                let number = self.rng.below(self.open.len() as u64) as usize;
                self.end(number);
            }
            4 if self.snapshots.len() < 5 => {
                self.snapshots.push((self.commits.snapshot(None), self.committed.clone()));
            }
            5 if !self.snapshots.is_empty() => {
                let number = self.rng.below(self.snapshots.len() as u64) as usize;
                drop(self.snapshots.swap_remove(number));
            }
            6 => self.clean(),
            7 => self.verify(),
            _ if !self.open.is_empty() => {
                let number = self.rng.below(self.open.len() as u64) as usize;
                self.change(number);
            }
            _ => {}
        }
    }
}

fn verify(
    bench: &Bench,
    store: &dyn VersionStore,
    snapshot: &MemorySnapshot,
    model: &Model,
    rng: &mut SplitMix64,
    keys: u64,
) {
    let tree = &bench.tree;
    let versions = Versions { store, snapshot };
    let sort_key = |key: &[u8]| tree.shape().key_of_cells(&bench.cells(key, &[])).unwrap();
    for _ in 0..8 {
        let key = key(rng.below(keys), false);
        let found = tree.find_seen(&sort_key(&key), versions).unwrap();
        let found = found.map(|row| key_and_value(tree, &row.bytes).1);
        assert_eq!(found.as_ref(), model.get(&key));
    }
    let [low, high] = [rng.below(keys), rng.below(keys)].map(|number| key(number, false));
    let whole = KeyRange::all();
    let part = whole.clone().with_lower(Bound::Included(&sort_key(&low)));
    let part = part.with_upper(Bound::Included(&sort_key(&high)));
    for (range, low, high) in [(whole, vec![], vec![0xff]), (part, low, high)] {
        let rows = model.iter().filter(|(key, _)| low <= **key && **key <= high);
        let expected: Vec<_> = rows.map(|(key, value)| (key.clone(), value.clone())).collect();
        for is_backward in [false, true] {
            let at = RangePosition::new(range.clone());
            let at = if is_backward { at.backward() } else { at };
            let mut leaves = tree.leaves_from(at.clone());
            let mut read = Vec::new();
            while let Some(leaf) = leaves.next_of(Visibility::Snapshot(versions)).unwrap() {
                assert!(leaf.is_settled());
                read.extend(leaf.iter().map(|row| key_and_value(tree, row.bytes)));
            }
            let mut visited = Vec::new();
            let mut leaves = tree.leaves_from(at);
            let mut run = LeafRun::default();
            let mut scratch = Vec::new();
            loop {
                let visit = &mut |run: PageRun<'_>| collect(bench, &run, &mut visited);
                let visibility = Visibility::Snapshot(versions);
                match leaves.visit_next(&mut run, visibility, None, &mut scratch, visit).unwrap() {
                    LeafVisit::Visited => {}
                    LeafVisit::Unsettled(_) => panic!("a snapshot waits for nobody"),
                    LeafVisit::End => break,
                }
            }
            if is_backward {
                read.reverse();
                visited.reverse();
            }
            assert_eq!(read, expected);
            assert_eq!(visited, expected);
        }
    }
    verify_seeks(bench, versions, model, rng, keys);
}

fn collect(bench: &Bench, run: &PageRun<'_>, to: &mut Vec<(Vec<u8>, Vec<u8>)>) {
    for row in run.rows.iter() {
        to.push(key_and_value(&bench.tree, &run.bytes[usize::from(row.start)..]));
    }
}

fn verify_seeks(
    bench: &Bench,
    versions: Versions<'_>,
    model: &Model,
    rng: &mut SplitMix64,
    keys: u64,
) {
    let tree = &bench.tree;
    let sought: BTreeSet<Vec<u8>> = (0..6).map(|_| key(rng.below(keys), false)).collect();
    let sought: Vec<Vec<u8>> = sought.into_iter().collect();
    let range =
        |key: &Vec<u8>| KeyRange::of(tree.shape().key_of_cells(&bench.cells(key, &[])).unwrap());
    let ranges: Vec<KeyRange> = sought.iter().map(range).collect();
    let mut at = SeekPosition::default();
    let mut scratch = SeekRows::default();
    let mut found = Vec::new();
    loop {
        let visit = &mut |run: PageRun<'_>, ranges: &mut Vec<u32>| {
            assert_eq!(run.rows.len(), ranges.len());
            let mut rows = Vec::new();
            collect(bench, &run, &mut rows);
            found.extend(rows.into_iter().zip(ranges.iter().copied()));
        };
        let visibility = Visibility::Snapshot(versions);
        match tree.seek_next(&ranges, &mut at, visibility, &mut scratch, visit).unwrap() {
            SeekVisit::Visited => {}
            SeekVisit::Unsettled(_) => panic!("a snapshot waits for nobody"),
            SeekVisit::End => break,
        }
    }
    let expected: Vec<_> = (0..)
        .zip(&sought)
        .filter_map(|(number, key)| Some(((key.clone(), model.get(key)?.clone()), number)))
        .collect();
    assert_eq!(found, expected);
}

fn run(plan: Plan, steps: usize) {
    let mut run = Run::new(plan);
    for _ in 0..steps {
        run.step();
    }
    assert!(run.conflicts > 0 && run.reads > 20, "{} {}", run.conflicts, run.reads);
    while !run.open.is_empty() {
        run.end(0);
    }
    run.verify();
    run.snapshots.clear();
    while run.bench.tree.ghost_leaf_count() > 0 {
        run.clean();
    }
    let seen = walk(&run.bench.tree);
    seen.matches(&run.bench, &run.committed);
    assert!(seen.ghosts <= seen.leaves.len(), "one may stay on each leaf");
    for leaf in seen.leaves {
        // A tag says what the page says.
        assert!(PageHeader::of(&run.bench.page(leaf)).has_version_info());
    }
}

#[test]
fn snapshots_read_what_was_committed_from_a_clustered_index() {
    for seed in 0..4 {
        run(Plan { is_base: true, keys: 150, value: 300, seed }, 6000);
    }
}

#[test]
fn snapshots_read_what_was_committed_from_index_entries() {
    for seed in 10..14 {
        run(Plan { is_base: false, keys: 100, value: 300, seed }, 6000);
    }
}

#[test]
fn snapshots_read_long_versions_in_pieces() {
    // Older versions of the rows of a leaf take more than 64 KiB.
    run(Plan { is_base: true, keys: 60, value: 7500, seed: 20 }, 6000);
}
