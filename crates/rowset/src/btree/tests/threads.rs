//! Several threads in one tree: each has rows of its own, between those of the others on the same
//! pages.

use std::collections::BTreeMap;
use std::ops::Bound;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::thread;
use extentdb_txn::Transaction;

use super::bench::{Bench, Setup, key, key_and_value};
use super::walk::walk;
use crate::Error;
use crate::btree::KeyRange;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the threads do.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) is_base: bool,
    pub(super) is_wide: bool,
    pub(super) threads: u64,
    /// Keys of each thread.
    pub(super) keys: u64,
    /// The longest value.
    pub(super) value: u64,
    pub(super) transactions: usize,
    /// Pages in memory.
    pub(super) frames: usize,
    pub(super) seed: u64,
}

/// A thread's rows: those whose number leaves a certain rest.
struct Owner<'b> {
    bench: &'b Bench,
    plan: Plan,
    number: u64,
    rng: SplitMix64,
    model: Model,
}

impl Owner<'_> {
    fn key(&mut self) -> Vec<u8> {
        let number = self.rng.below(self.plan.keys) * self.plan.threads + self.number;
        key(number, self.plan.is_wide)
    }

    /// The value says whose row it is.
    fn value(&mut self) -> Vec<u8> {
        let most = if self.rng.below(4) == 0 { self.plan.value } else { 60 };
        vec![self.number as u8; 1 + self.rng.below(most) as usize]
    }

    fn run(mut self) -> Model {
        for _ in 0..self.plan.transactions {
            let before = self.model.clone();
            let mut tx = self.bench.begin();
            for _ in 0..1 + self.rng.below(20) {
                self.change(&mut tx);
            }
            self.look();
            if self.rng.below(4) == 0 {
                self.bench.roll_back(tx);
                self.model = before;
            } else {
                tx.commit_delayed().unwrap();
            }
        }
        self.model
    }

    fn change(&mut self, tx: &mut Transaction) {
        let key = self.key();
        let value = self.value();
        let is_there = self.model.contains_key(&key);
        match self.rng.below(5) {
            0 | 1 => {
                assert_eq!(self.bench.delete(tx, &key), is_there);
                self.model.remove(&key);
            }
            2 if is_there => {
                self.bench.replace(tx, &key, &value).unwrap();
                self.model.insert(key, value);
            }
            _ => match self.bench.insert(tx, &key, &value) {
                Ok(()) => assert_eq!(self.model.insert(key, value), None),
                Err(Error::Duplicate { .. }) => assert!(is_there),
                Err(error) => panic!("{error:?}"),
            },
        }
    }

    /// A piece of the tree in one direction: every row in order and once, the own ones all there.
    fn look(&mut self) {
        let low = self.key();
        let high = self.key();
        let (low, high) = (low.clone().min(high.clone()), low.max(high));
        let sort_key =
            |key: &[u8]| self.bench.tree.shape().prefix(&[super::bench::bytes(key)]).unwrap();
        let range = KeyRange::all()
            .with_lower(Bound::Included(&sort_key(&low)))
            .with_upper(Bound::Included(&sort_key(&high)));
        let leaves = self.bench.tree.leaves(range);
        let is_backward = self.rng.below(2) == 0;
        let mut leaves = if is_backward { leaves.backward() } else { leaves };
        let mut rows = Vec::new();
        while let Some(leaf) = leaves.next(&|| None).unwrap() {
            rows.extend(leaf.iter().map(|row| key_and_value(&self.bench.tree, row.bytes)));
        }
        if is_backward {
            rows.reverse();
        }
        assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "a row came twice or out of order");
        rows.retain(|(_, value)| value[0] == self.number as u8);
        let own = self.model.range(low..=high).map(|(key, value)| (key.clone(), value.clone()));
        assert!(own.eq(rows), "thread {} misses rows", self.number);
    }
}

/// Runs the threads, and one for ghost cleanup; returns the expected rows.
fn work(bench: &Bench, plan: Plan) -> Model {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let cleaner = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                bench.tree.clean(&bench.manager, 8, &|_| true).unwrap();
                thread::yield_now();
            }
        });
        let owners: Vec<_> = (0..plan.threads)
            .map(|number| {
                let rng = SplitMix64::new(plan.seed * 100 + number);
                let owner = Owner { bench, plan, number, rng, model: Model::new() };
                scope.spawn(move || owner.run())
            })
            .collect();
        // The cleanup thread must end also when another thread failed, or the failure is never
        // reported.
        let ended: Vec<_> = owners.into_iter().map(|owner| owner.join()).collect();
        is_over.store(true, Ordering::Release);
        cleaner.join().unwrap();
        ended.into_iter().flat_map(|model| model.unwrap()).collect()
    })
}

/// Says how many levels the tree has got.
pub(super) fn run(plan: Plan) -> u8 {
    let bench = Bench::with(&Setup { frames: plan.frames, ..Setup::of(plan.is_base) });
    let model = work(&bench, plan);
    let seen = walk(&bench.tree);
    seen.matches(&bench, &model);
    while bench.tree.ghost_leaf_count() > 0 {
        bench.tree.clean(&bench.manager, 8, &|_| true).unwrap();
    }
    let seen = walk(&bench.tree);
    seen.matches(&bench, &model);
    assert!(seen.ghosts <= seen.leaves.len(), "a leaf keeps one ghost at most");
    seen.levels
}

#[test]
fn threads_with_rows_side_by_side_leave_a_sound_tree() {
    let plan = Plan {
        is_base: true,
        is_wide: false,
        threads: 4,
        keys: 300,
        value: 3000,
        transactions: 150,
        frames: 400,
        seed: 1,
    };
    assert!(run(plan) > 1);
    assert!(
        run(Plan {
            is_base: false,
            threads: 8,
            transactions: 80,
            seed: 2,
            ..plan
        }) > 1
    );
}

/// Long keys: splits go up several levels all the time.
#[test]
fn threads_that_split_a_deep_tree_leave_it_sound() {
    let plan = Plan {
        is_base: true,
        is_wide: true,
        threads: 4,
        keys: 400,
        value: 500,
        transactions: 100,
        frames: 2000,
        seed: 3,
    };
    assert!(run(plan) > 1);
    assert!(run(Plan { is_base: false, seed: 4, ..plan }) > 1);
}

/// Pages leave memory and come back while others wait for them.
#[test]
fn threads_with_few_pages_in_memory_leave_a_sound_tree() {
    let plan = Plan {
        is_base: true,
        is_wide: true,
        threads: 4,
        keys: 100,
        value: 2000,
        transactions: 60,
        frames: 64,
        seed: 5,
    };
    assert!(run(plan) > 1);
    assert!(run(Plan { is_base: false, is_wide: false, value: 7000, seed: 6, ..plan }) > 1);
}

/// All of them insert into the same page, after its last row.
#[test]
fn threads_that_append_get_their_rows_in_once_each() {
    let bench = Bench::with(&Setup { has_numbers: true, ..Setup::of(true) });
    let next = extentdb_base::sync::atomic::AtomicU64::new(0);
    let count = 8000;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(10, Ordering::Relaxed);
                    if from >= count {
                        break;
                    }
                    let mut tx = bench.begin();
                    for number in from..from + 10 {
                        bench.insert(&mut tx, &(number as i32).to_le_bytes(), &[1; 100]).unwrap();
                    }
                    tx.commit_delayed().unwrap();
                }
            });
        }
    });
    let seen = walk(&bench.tree);
    assert_eq!((seen.rows.len() as u64, seen.pages), (count, bench.pages()));
    assert_eq!(bench.counts().rows as u64, count);
}

/// The file gets full while several threads split: those that fail roll back what they have begun.
#[test]
fn threads_that_find_the_file_full_leave_a_sound_tree() {
    let pages = super::bench::fresh().0.len() as u32 / 8192;
    let bench = Bench::with(&Setup { pages_max: Some(pages + 64), ..Setup::of(true) });
    thread::scope(|scope| {
        for own in 0..4u64 {
            let bench = &bench;
            scope.spawn(move || {
                let mut number = own;
                loop {
                    let mut tx = bench.begin();
                    match bench.insert(
                        &mut tx,
                        &key(number * 7919 % 4000, false),
                        &[own as u8; 900],
                    ) {
                        Ok(()) => drop(tx.commit_delayed().unwrap()),
                        Err(Error::Space(extentdb_space::Error::FilegroupFull { .. })) => break,
                        Err(error) => panic!("{error:?}"),
                    }
                    number += 4;
                }
            });
        }
    });
    let seen = walk(&bench.tree);
    assert_eq!((seen.rows.len() as i64, seen.pages), (bench.counts().rows, bench.pages()));
    assert!(seen.rows.len() > 200);
}

/// The log gets full in the middle of splits: they are rolled back while other threads wait for
/// their pages.
#[test]
fn threads_that_find_the_log_full_leave_a_sound_tree() {
    for seed in 0..8 {
        let bench = Bench::with(&Setup { has_small_log: true, ..Setup::of(true) });
        thread::scope(|scope| {
            for own in 0..4u64 {
                let bench = &bench;
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(seed * 10 + own);
                    loop {
                        let mut tx = bench.begin();
                        let key = key(rng.below(1 << 20) * 4 + own, true);
                        match bench.insert(&mut tx, &key, &[own as u8; 1500]) {
                            Ok(()) => drop(tx.commit_delayed().unwrap()),
                            Err(Error::Duplicate { .. }) => {}
                            Err(Error::Space(_) | Error::Change(_) | Error::Transaction(_)) => {
                                break bench.roll_back(tx);
                            }
                            Err(error) => panic!("{error:?}"),
                        }
                        let rows: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
                        assert!(!rows.unwrap().is_empty());
                    }
                });
            }
        });
        let seen = walk(&bench.tree);
        assert_eq!((seen.rows.len() as i64, seen.pages), (bench.counts().rows, bench.pages()));
    }
}

/// Power failure: what fails then cannot be rolled back, because no page can be changed and no
/// record appended any more. Readers see a whole tree, or get an error.
#[test]
fn threads_whose_log_fails_never_see_half_a_split() {
    for seed in 0..40 {
        let bench = Bench::with(&Setup { has_small_log: true, frames: 2000, ..Setup::of(true) });
        bench.disk.fail_after(20 + seed);
        thread::scope(|scope| {
            for own in 0..4u64 {
                let bench = &bench;
                scope.spawn(move || insert_until_it_fails(bench, own, seed));
            }
        });
    }
}

/// Inserts rows, each in a transaction that waits for the disk, and counts the own ones afterwards.
fn insert_until_it_fails(bench: &Bench, own: u64, seed: u64) {
    let mut rng = SplitMix64::new(seed * 10 + own);
    let mut inserted = 0;
    let mut has_failed = false;
    while !has_failed {
        let mut tx = bench.begin();
        for _ in 0..6 {
            match bench.insert(
                &mut tx,
                &key(rng.below(1 << 20) * 4 + own, true),
                &[own as u8; 1500],
            ) {
                Ok(()) => inserted += 1,
                Err(Error::Duplicate { .. }) => {}
                Err(_) => {
                    has_failed = true;
                    break;
                }
            }
        }
        let rows: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
        match rows {
            Ok(rows) => {
                let values = rows.iter().map(|row| key_and_value(&bench.tree, &row.bytes).1);
                let seen = values.filter(|value| value[0] == own as u8).count();
                assert_eq!(seen, inserted, "a row of thread {own}");
            }
            Err(error) => return assert!(matches!(error, Error::Unusable { .. }), "{error:?}"),
        }
        has_failed |= tx.commit().is_err();
    }
}
