//! Leaves without rows are given back.

use std::collections::BTreeMap;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::{Context, Op};

use super::bench::{Bench, Setup, key};
use super::walk::walk;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn insert(bench: &Bench, model: &mut Model, numbers: impl IntoIterator<Item = u64>, bytes: usize) {
    let mut tx = bench.begin();
    for number in numbers {
        let value = vec![number as u8; bytes];
        bench.insert(&mut tx, &key(number, false), &value).unwrap();
        model.insert(key(number, false), value);
    }
    tx.commit().unwrap();
}

fn delete(bench: &Bench, model: &mut Model, numbers: impl IntoIterator<Item = u64>) {
    let mut tx = bench.begin();
    for number in numbers {
        assert!(bench.delete(&mut tx, &key(number, false)));
        model.remove(&key(number, false));
    }
    tx.commit().unwrap();
}

fn clean(bench: &Bench) {
    while bench.tree.ghost_leaf_count() > 0 {
        bench.tree.clean(&bench.manager, 64, &|_| true).unwrap();
    }
}

#[test]
fn leaves_of_deleted_rows_are_freed_and_reused() {
    for is_base in [true, false] {
        let bench = Bench::new(is_base);
        let mut model = Model::new();
        insert(&bench, &mut model, 0..3000, 100);
        let full = walk(&bench.tree).leaves.len();
        delete(&bench, &mut model, 1000..2900);
        clean(&bench);
        let seen = walk(&bench.tree);
        seen.matches(&bench, &model);
        assert!(seen.leaves.len() < full / 2, "{} of {full} leaves", seen.leaves.len());
        assert_eq!(seen.ghosts, 0, "the ghosts of a leaf go with it");
        let used = bench.counts().used;
        insert(&bench, &mut model, 1000..2900, 100);
        let seen = walk(&bench.tree);
        seen.matches(&bench, &model);
        assert!(bench.counts().used > used && seen.leaves.len() <= full + 1);
    }
}

#[test]
fn a_tree_without_rows_keeps_its_last_leaf_and_pages_of_mixed_extents() {
    let bench = Bench::new(true);
    let mut model = Model::new();
    insert(&bench, &mut model, 0..3000, 100);
    delete(&bench, &mut model, 0..3000);
    clean(&bench);
    let seen = walk(&bench.tree);
    seen.matches(&bench, &model);
    assert!(seen.pages.len() <= 9, "{} pages", seen.pages.len());
    insert(&bench, &mut model, (0..3000).rev(), 100);
    walk(&bench.tree).matches(&bench, &model);
}

/// Rows are appended, and the oldest are deleted: the first leaf becomes another one again and
/// again, and pages above the leaves lose all of their children.
#[test]
fn a_queue_does_not_grow() {
    let bench = Bench::with(&Setup { frames: 2000, ..Setup::of(true) });
    let mut model = Model::new();
    let mut pages = 0;
    for turn in 0..40u64 {
        insert(&bench, &mut model, turn * 200..(turn + 1) * 200, 900);
        if turn >= 2 {
            delete(&bench, &mut model, (turn - 2) * 200..(turn - 1) * 200);
        }
        clean(&bench);
        let seen = walk(&bench.tree);
        seen.matches(&bench, &model);
        pages = seen.pages.len();
    }
    // 400 to 600 rows, eight of them to a leaf; and the pages of mixed extents.
    assert!(pages < 95, "{pages} pages");
}

/// Long keys: a page above the leaves has eight children.
#[test]
fn pages_above_that_lose_their_last_child_go_with_it() {
    let bench = Bench::with(&Setup { frames: 2000, ..Setup::of(true) });
    let numbers = 0..800u64;
    let mut tx = bench.begin();
    for number in numbers.clone() {
        bench.insert(&mut tx, &key(number, true), &[1; 900]).unwrap();
    }
    tx.commit().unwrap();
    let before = walk(&bench.tree);
    assert!(before.levels > 3, "{} levels", before.levels);
    let mut model = before.rows;
    let mut tx = bench.begin();
    for number in numbers.filter(|number| number % 400 >= 20) {
        assert!(bench.delete(&mut tx, &key(number, true)));
        model.remove(&key(number, true));
    }
    tx.commit().unwrap();
    clean(&bench);
    let seen = walk(&bench.tree);
    seen.matches(&bench, &model);
    assert!(seen.pages.len() < 40, "{} of {} pages", seen.pages.len(), before.pages.len());
}

#[test]
fn a_leaf_stays_while_an_open_transaction_may_want_it_back() {
    let bench = Bench::new(true);
    let mut model = Model::new();
    insert(&bench, &mut model, 0..1000, 500);
    let leaves = walk(&bench.tree).leaves.len();
    let mut tx = bench.begin();
    for number in 200..800 {
        assert!(bench.delete(&mut tx, &key(number, false)));
    }
    bench.tree.clean(&bench.manager, 1000, &|_| true).unwrap();
    assert_eq!(walk(&bench.tree).leaves.len(), leaves);
    bench.roll_back(tx);
    walk(&bench.tree).matches(&bench, &model);
    delete(&bench, &mut model, 200..800);
    let blind = |_| false;
    bench.tree.clean(&bench.manager, 1000, &blind).unwrap();
    clean(&bench);
    walk(&bench.tree).matches(&bench, &model);
}

#[test]
fn a_removed_leaf_is_freed_in_the_maps_before_it_is_unlinked() {
    let bench = Bench::new(true);
    let mut model = Model::new();
    insert(&bench, &mut model, 0..200, 900);
    delete(&bench, &mut model, 150..180);
    let from = bench.records().len();
    clean(&bench);
    let records = bench.records();
    let freed = records[from..].iter().position(|logged| {
        let record = logged.record();
        record.header().context == Context::PFS && matches!(record.payload(), Payload::ModifyRow(_))
    });
    let unlinked = records[from..]
        .iter()
        .position(|logged| logged.record().header().op == Op::MODIFY_HEADER)
        .expect("a leaf was removed");
    assert!(freed.is_some_and(|freed| freed < unlinked));
}

#[test]
fn random_ranges_that_are_deleted_and_inserted_again_keep_the_tree_sound() {
    for (seed, is_base) in [(1, true), (2, false)] {
        let bench = Bench::with(&Setup { frames: 2000, ..Setup::of(is_base) });
        let mut rng = SplitMix64::new(seed);
        let mut model = Model::new();
        for _ in 0..60 {
            let from = rng.below(2000);
            let range = from..from + 1 + rng.below(400);
            let there = |number: &u64| model.contains_key(&key(*number, false));
            let (old, new): (Vec<u64>, Vec<u64>) = range.partition(there);
            if rng.below(2) == 0 {
                delete(&bench, &mut model, old);
            } else {
                insert(&bench, &mut model, new, 300);
            }
            if rng.below(3) > 0 {
                clean(&bench);
            }
            walk(&bench.tree).matches(&bench, &model);
        }
    }
}
