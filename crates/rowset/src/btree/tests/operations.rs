//! A million random operations of all kinds, one after the other, each compared with a map; a walk
//! over all pages after each thousand.
//!
//! `EXTENTDB_OPERATIONS=10000000 cargo test -p extentdb-rowset operations` makes it ten.

use std::collections::BTreeMap;
use std::ops::Bound;

use extentdb_base::Lsn;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_txn::Transaction;

use super::bench::{Bench, Setup, bytes, key, key_and_value};
use super::walk::walk;
use crate::Error;
use crate::btree::{KeyRange, RowRef};

/// Operations of one tree: its log is in memory, all of it.
const OPERATIONS_OF_TREE: usize = 25_000;
const BETWEEN_WALKS: usize = 1000;

/// How one tree differs from the next.
#[derive(Clone, Copy)]
struct Plan {
    is_base: bool,
    is_wide: bool,
    /// Number of different keys.
    keys: u64,
    /// The longest value.
    value: u64,
    /// Pages in memory.
    frames: usize,
}

const PLANS: [Plan; 4] = [
    Plan {
        is_base: true,
        is_wide: false,
        keys: 3000,
        value: 200,
        frames: 600,
    },
    Plan {
        is_base: false,
        is_wide: true,
        keys: 500,
        value: 500,
        frames: 600,
    },
    Plan {
        is_base: false,
        is_wide: false,
        keys: 400,
        value: 7000,
        frames: 64,
    },
    Plan {
        is_base: true,
        is_wide: true,
        keys: 300,
        value: 3000,
        frames: 64,
    },
];

/// What a row was before a change.
type Before = (Vec<u8>, Option<Vec<u8>>);

struct Run {
    bench: Bench,
    plan: Plan,
    rng: SplitMix64,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The changes of the transaction that is open, in their order.
    changes: Vec<Before>,
}

impl Run {
    fn key(&mut self) -> Vec<u8> {
        key(self.rng.below(self.plan.keys), self.plan.is_wide)
    }

    fn value(&mut self) -> Vec<u8> {
        let most = if self.rng.below(8) == 0 { self.plan.value } else { 60 };
        vec![self.rng.next_u64() as u8; self.rng.below(most + 1) as usize]
    }

    fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        let before = match value {
            Some(value) => self.model.insert(key.clone(), value),
            None => self.model.remove(&key),
        };
        self.changes.push((key, before));
    }

    /// One operation inside of a transaction.
    fn step(&mut self, tx: &mut Transaction) {
        match self.rng.below(20) {
            0..7 => self.insert(tx),
            7..11 => self.delete(tx),
            11..14 => self.replace(tx),
            14..17 => self.find(),
            17..19 => self.scan(),
            _ => {
                self.bench.tree.clean(&self.bench.manager, 4, &|_| true).unwrap();
            }
        }
    }

    fn insert(&mut self, tx: &mut Transaction) {
        let key = self.key();
        let value = self.value();
        match (self.bench.insert(tx, &key, &value), self.model.contains_key(&key)) {
            (Ok(()), false) => self.set(key, Some(value)),
            (Err(Error::Duplicate { .. }), true) => {}
            (outcome, is_there) => panic!("{outcome:?} {is_there}"),
        }
    }

    fn delete(&mut self, tx: &mut Transaction) {
        let key = self.key();
        assert_eq!(self.bench.delete(tx, &key), self.model.contains_key(&key));
        if self.model.contains_key(&key) {
            self.set(key, None);
        }
    }

    fn replace(&mut self, tx: &mut Transaction) {
        let key = self.key();
        let value = self.value();
        match (self.bench.replace(tx, &key, &value), self.model.contains_key(&key)) {
            (Ok(()), true) => self.set(key, Some(value)),
            (Err(Error::NotFound { .. }), false) => {}
            (outcome, is_there) => panic!("{outcome:?} {is_there}"),
        }
    }

    fn find(&mut self) {
        let key = self.key();
        let found = self.bench.tree.find(&[bytes(&key)]).unwrap();
        let found = found.map(|row| key_and_value(&self.bench.tree, &row.bytes).1);
        assert_eq!(found.as_ref(), self.model.get(&key));
    }

    /// A short range in one of the directions; ghosts may be among the rows of leaves that are not
    /// settled.
    fn scan(&mut self) {
        let low = self.rng.below(self.plan.keys);
        let is_open = self.rng.below(2) == 0;
        let [low, high] =
            [low, low + 1 + self.rng.below(40)].map(|number| key(number, self.plan.is_wide));
        let sort_key = |key: &[u8]| self.bench.tree.shape().prefix(&[bytes(key)]).unwrap();
        let low_key = sort_key(&low);
        let high_key = sort_key(&high);
        let range = if is_open {
            KeyRange::all()
                .with_lower(Bound::Excluded(&low_key))
                .with_upper(Bound::Included(&high_key))
        } else {
            KeyRange::all()
                .with_lower(Bound::Included(&low_key))
                .with_upper(Bound::Excluded(&high_key))
        };
        let leaves = self.bench.tree.leaves(range);
        let is_backward = self.rng.below(2) == 0;
        let oldest = [None, Some(Lsn::new(1, 1, 1))][self.rng.below(2) as usize];
        let mut leaves = if is_backward { leaves.backward() } else { leaves };
        let mut rows = Vec::new();
        while let Some(leaf) = leaves.next(&|| oldest).unwrap() {
            rows.extend(leaf.iter().filter(|row| !row.is_ghost()).map(RowRef::to_row));
        }
        if is_backward {
            rows.reverse();
        }
        let bounds = if is_open {
            (Bound::Excluded(low), Bound::Included(high))
        } else {
            (Bound::Included(low), Bound::Excluded(high))
        };
        let rows = rows.iter().map(|row| key_and_value(&self.bench.tree, &row.bytes));
        assert!(rows.eq(self.model.range(bounds).map(|(key, value)| (key.clone(), value.clone()))));
    }

    /// A transaction of some operations, perhaps with a part that is rolled back to a savepoint,
    /// perhaps rolled back as a whole; returns the number of operations.
    fn transaction(&mut self) -> usize {
        let mut tx = self.bench.begin();
        let mut count = 1 + self.rng.below(40) as usize;
        (0..count).for_each(|_| self.step(&mut tx));
        if self.rng.below(4) == 0 {
            let savepoint = tx.savepoint("here").unwrap();
            let from = self.changes.len();
            let more = self.rng.below(20) as usize;
            (0..more).for_each(|_| self.step(&mut tx));
            self.bench.roll_back_to(&mut tx, savepoint);
            self.roll_back_from(from);
            count += more;
        }
        if self.rng.below(4) == 0 {
            self.bench.roll_back(tx);
            self.roll_back_from(0);
        } else {
            tx.commit_delayed().unwrap();
        }
        self.changes.clear();
        count
    }

    fn roll_back_from(&mut self, from: usize) {
        for (key, before) in self.changes.drain(from..).rev() {
            match before {
                Some(value) => drop(self.model.insert(key, value)),
                None => drop(self.model.remove(&key)),
            }
        }
    }

    fn run(&mut self, operations: usize) {
        let mut done = 0;
        let mut walked = 0;
        while done < operations {
            done += self.transaction();
            if done >= walked + BETWEEN_WALKS {
                walk(&self.bench.tree).matches(&self.bench, &self.model);
                walked = done;
            }
        }
        let seen = walk(&self.bench.tree);
        seen.matches(&self.bench, &self.model);
        assert!(seen.levels > 1 && !self.model.is_empty());
    }
}

/// How many operations: others with EXTENTDB_OPERATIONS.
fn operations() -> usize {
    std::env::var("EXTENTDB_OPERATIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1_000_000)
}

#[test]
fn the_tree_does_what_a_map_does_operation_after_operation() {
    for (number, from) in (0..operations()).step_by(OPERATIONS_OF_TREE).enumerate() {
        let plan = PLANS[number % PLANS.len()];
        let bench = Bench::with(&Setup { frames: plan.frames, ..Setup::of(plan.is_base) });
        let rng = SplitMix64::new(100 + number as u64);
        let mut run = Run {
            bench,
            plan,
            rng,
            model: BTreeMap::new(),
            changes: Vec::new(),
        };
        run.run(OPERATIONS_OF_TREE.min(operations() - from));
    }
}
