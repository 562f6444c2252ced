//! Random transactions, compared with a map after each of them.

use std::collections::BTreeMap;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::PageGetter;
use extentdb_format::PageBytes;
use extentdb_format::log::replay::{Applied, page_of, redo};
use extentdb_txn::Transaction;

use super::bench::{Bench, Setup, bytes, fresh, key, key_and_value};
use super::walk::walk;
use crate::Error;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a run does.
#[derive(Clone, Copy)]
struct Plan {
    is_base: bool,
    is_wide: bool,
    /// Number of different keys.
    keys: u64,
    /// The longest value.
    value: u64,
    transactions: usize,
    /// Pages in memory.
    frames: usize,
    seed: u64,
}

fn value(rng: &mut SplitMix64, most: u64) -> Vec<u8> {
    // Mostly short ones.
    let most = if rng.below(4) == 0 { most } else { most.min(60) };
    let len = rng.below(most + 1) as usize;
    vec![rng.next_u64() as u8; len]
}

/// One change; the same in the model.
fn step(bench: &Bench, tx: &mut Transaction, model: &mut Model, plan: &Plan, rng: &mut SplitMix64) {
    let key = key(rng.below(plan.keys), plan.is_wide);
    let new = value(rng, plan.value);
    match rng.below(4) {
        0 => assert_eq!(bench.delete(tx, &key), model.remove(&key).is_some()),
        1 => match (bench.replace(tx, &key, &new), model.contains_key(&key)) {
            (Ok(()), true) => drop(model.insert(key, new)),
            (Err(Error::NotFound { .. }), false) => {}
            (outcome, is_there) => panic!("{outcome:?} {is_there}"),
        },
        _ => match (bench.insert(tx, &key, &new), model.contains_key(&key)) {
            (Ok(()), false) => drop(model.insert(key, new)),
            (Err(Error::Duplicate { .. }), true) => {}
            (outcome, is_there) => panic!("{outcome:?} {is_there}"),
        },
    }
}

fn run(plan: Plan) {
    let bench = Bench::with(&Setup { frames: plan.frames, ..Setup::of(plan.is_base) });
    let mut rng = SplitMix64::new(plan.seed);
    let mut model = Model::new();
    let mut deepest = 0;
    for number in 0..plan.transactions {
        let mut tx = bench.begin();
        let before = model.clone();
        for _ in 0..rng.below(60) {
            step(&bench, &mut tx, &mut model, &plan, &mut rng);
        }
        if rng.below(3) == 0 {
            let savepoint = tx.savepoint("here").unwrap();
            let there = model.clone();
            for _ in 0..rng.below(30) {
                step(&bench, &mut tx, &mut model, &plan, &mut rng);
            }
            bench.roll_back_to(&mut tx, savepoint);
            model = there;
        }
        if rng.below(3) == 0 {
            bench.roll_back(tx);
            model = before;
        } else {
            tx.commit().unwrap();
        }
        let seen = walk(&bench.tree);
        seen.matches(&bench, &model);
        deepest = deepest.max(seen.levels);
        if number % 5 == 4 {
            expunge(&bench, &seen.leaves, seen.ghosts);
            walk(&bench.tree).matches(&bench, &model);
        }
        verify_reads(&bench, &model, &mut rng, &plan);
    }
    assert!(deepest > 1 && !model.is_empty(), "{deepest} levels");
    verify_redo(&bench);
}

/// Takes the ghosts away; one per page may stay.
fn expunge(bench: &Bench, leaves: &[PageId], ghosts: usize) {
    let expunged: usize = leaves
        .iter()
        .map(|page| bench.tree.expunge_ghosts(&bench.manager, *page, &|_| true).unwrap())
        .sum();
    let left = walk(&bench.tree).ghosts;
    assert_eq!(expunged + left, ghosts);
    assert!(left <= leaves.len());
}

fn verify_reads(bench: &Bench, model: &Model, rng: &mut SplitMix64, plan: &Plan) {
    for _ in 0..10 {
        let key = key(rng.below(plan.keys), plan.is_wide);
        let found = bench.tree.find(&[bytes(&key)]).unwrap();
        let found = found.map(|row| key_and_value(&bench.tree, &row.bytes).1);
        assert_eq!(found.as_ref(), model.get(&key));
        let first = bench.tree.seek(&[bytes(&key)]).unwrap();
        assert_eq!(first.is_some(), model.contains_key(&key));
    }
    let scanned: Vec<_> = bench.tree.scan(&[]).unwrap().map(|row| row.unwrap()).collect();
    let scanned = scanned.iter().map(|row| key_and_value(&bench.tree, &row.bytes));
    assert!(scanned.eq(model.iter().map(|(key, value)| (key.clone(), value.clone()))));
}

/// The log makes the same pages from nothing.
fn verify_redo(bench: &Bench) {
    let mut pages: BTreeMap<PageId, Box<PageBytes>> = BTreeMap::new();
    let on_disk = |id| {
        let mut page = Box::new([0; 8192]);
        // Pages after the old end of the file are zeroed.
        let _ = fresh().page(id, &mut page);
        page
    };
    let mut changes = 0;
    for logged in bench.records() {
        let record = logged.record();
        let Some(part) = page_of(&record) else { continue };
        let page = pages.entry(part.page).or_insert_with(|| on_disk(part.page));
        assert_eq!(redo(logged.lsn, &record, page), Ok(Applied::Changed), "{}", logged.lsn);
        changes += 1;
    }
    assert!(changes > 500, "{changes}");
    for (id, page) in &mut pages {
        let mut live = bench.page(*id);
        for page in [&mut **page, &mut live] {
            // What the pool adds when it writes a page.
            page[4..6].fill(0);
            page[60..64].fill(0);
            // Reserved room is not logged.
            page[38..40].fill(0);
            page[50..58].fill(0);
        }
        assert!(**page == live, "{id} comes out differently");
    }
}

#[test]
fn random_changes_of_short_rows_keep_the_tree_sound() {
    let frames = 600;
    for (seed, is_base) in [(1, true), (2, false)] {
        run(Plan {
            is_base,
            is_wide: false,
            keys: 4000,
            value: 60,
            transactions: 200,
            frames,
            seed,
        });
    }
}

#[test]
fn random_changes_of_rows_of_all_lengths_keep_the_tree_sound() {
    let frames = 600;
    for (seed, is_base) in [(3, true), (4, false), (5, true), (6, false)] {
        run(Plan {
            is_base,
            is_wide: false,
            keys: 300,
            value: 7900,
            transactions: 100,
            frames,
            seed,
        });
    }
}

#[test]
fn random_changes_of_long_keys_keep_a_deep_tree_sound() {
    let frames = 2000;
    for (seed, is_base) in [(7, true), (8, false)] {
        run(Plan {
            is_base,
            is_wide: true,
            keys: 1500,
            value: 7000,
            transactions: 150,
            frames,
            seed,
        });
    }
}

/// Pages are evicted and read again all the time, after their log.
#[test]
fn random_changes_with_few_pages_in_memory_keep_the_tree_sound() {
    for (seed, is_base) in [(12, true), (13, false)] {
        let frames = 40;
        let value = 5000;
        run(Plan {
            is_base,
            is_wide: false,
            keys: 600,
            value,
            transactions: 60,
            frames,
            seed,
        });
    }
}

#[test]
fn few_keys_that_come_and_go_all_the_time() {
    let frames = 600;
    for (seed, is_base) in [(9, true), (10, false), (11, true)] {
        run(Plan {
            is_base,
            is_wide: seed == 11,
            keys: 12,
            value: 7000,
            transactions: 300,
            frames,
            seed,
        });
    }
}
