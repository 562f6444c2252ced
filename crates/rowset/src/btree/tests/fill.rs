//! How full leaves get, by the order in which rows come; and that the tree is the same whatever
//! that is.

use std::collections::BTreeMap;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_format::page::PageHeader;

use super::bench::{Bench, Setup, key};
use super::walk::walk;

const ROWS: u64 = 6000;
const VALUE: [u8; 40] = [7; 40];

/// Inserts rows in this order; percent of their room that all leaves but the last one use.
fn fill_after(is_base: bool, numbers: &[u64]) -> f64 {
    let bench = Bench::new(is_base);
    let mut model = BTreeMap::new();
    for numbers in numbers.chunks(500) {
        let mut tx = bench.begin();
        for number in numbers {
            let key = key(*number, false);
            bench.insert(&mut tx, &key, &VALUE).unwrap();
            model.insert(key, VALUE.to_vec());
        }
        tx.commit().unwrap();
    }
    walk(&bench.tree).matches(&bench, &model);
    fill_of(&bench)
}

/// Percent of their room that all leaves but the last one use.
fn fill_of(bench: &Bench) -> f64 {
    let seen = walk(&bench.tree);
    let (_, leaves) = seen.leaves.split_last().unwrap();
    let free: usize = leaves
        .iter()
        .map(|leaf| usize::from(PageHeader::of(&bench.page(*leaf)).free_bytes.get()))
        .sum();
    100.0 - 100.0 * free as f64 / (leaves.len() * PAGE_BODY_BYTES) as f64
}

/// Rows in order, but each up to `late` positions late.
fn late_by(most: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(3);
    let mut numbers: Vec<(u64, u64)> =
        (0..ROWS).map(|number| (number + rng.below(most), number)).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|(_, number)| number).collect()
}

#[test]
fn leaves_are_full_after_inserts_in_key_order() {
    for is_base in [true, false] {
        let ascending: Vec<u64> = (0..ROWS).collect();
        let fill = fill_after(is_base, &ascending);
        assert!(fill > 99.0, "ascending: {fill} %");
        let descending: Vec<u64> = (0..ROWS).rev().collect();
        let fill = fill_after(is_base, &descending);
        assert!(fill > 98.0, "descending: {fill} %");
    }
}

#[test]
fn a_late_insert_finds_room() {
    for (most, least) in [(2, 93.0), (8, 93.0), (30, 93.0), (200, 78.0)] {
        for is_base in [true, false] {
            let fill = fill_after(is_base, &late_by(most));
            assert!(fill > least, "{most} late: {fill} %");
        }
    }
}

/// Tenants whose keys grow, each in its own part of the tree, in turns of some rows.
#[test]
fn leaves_are_full_after_runs_within_the_tree() {
    let mut numbers = Vec::new();
    for turn in 0..ROWS / 120 {
        for tenant in 0..12 {
            numbers.extend((0..10).map(|row| tenant * 100_000 + turn * 10 + row));
        }
    }
    // The last leaf of each tenant is on its way. With halves it would be 55.
    let fill = fill_after(false, &numbers);
    assert!(fill > 77.0, "{fill} %");
    // Downwards a run shares its leaf with those before it.
    let down: Vec<u64> = numbers.iter().map(|number| 2_000_000 - number).collect();
    let fill = fill_after(false, &down);
    assert!(fill > 55.0, "downwards: {fill} %");
}

/// Leaves that were split at the same time get full at the same time: the fill is measured at many
/// moments, over more than one such wave.
#[test]
fn leaves_stay_seven_tenths_full_under_random_inserts() {
    for is_base in [true, false] {
        let bench = Bench::with(&Setup { frames: 3000, ..Setup::of(is_base) });
        let mut rng = SplitMix64::new(9);
        let mut numbers: Vec<u64> = (0..4 * ROWS).collect();
        (1..numbers.len()).for_each(|at| numbers.swap(at, rng.below(at as u64 + 1) as usize));
        for (turn, numbers) in numbers.chunks(1000).enumerate() {
            let mut tx = bench.begin();
            for number in numbers {
                bench.insert(&mut tx, &key(*number, false), &VALUE).unwrap();
            }
            tx.commit().unwrap();
            let fill = fill_of(&bench);
            assert!(turn < 5 || fill >= 69.0, "turn {turn}: {fill} %");
        }
    }
}
