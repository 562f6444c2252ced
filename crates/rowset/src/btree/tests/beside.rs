//! What lies beside a place, against all keys of the tree and its separators.

use std::collections::BTreeSet;

use extentdb_base::env::{Rng, SplitMix64};

use super::bench::{Bench, bytes, key};
use super::walk::walk;
use crate::btree::{Beside, Edge};

const KEYS: u64 = 900;

fn sort_key(bench: &Bench, key: &[u8]) -> Vec<u8> {
    bench.tree.shape().prefix(&[bytes(key)]).unwrap()
}

/// A tree of many leaves, whose rows have gone in places, ghosts and all.
fn thinned(rng: &mut SplitMix64) -> Bench {
    let bench = Bench::new(rng.below(2) == 0);
    let mut tx = bench.begin();
    for number in 0..KEYS {
        bench.insert(&mut tx, &key(number, false), &[1; 150]).unwrap();
    }
    for number in (0..KEYS).filter(|_| rng.below(3) > 0) {
        bench.delete(&mut tx, &key(number, false));
    }
    tx.commit().unwrap();
    for leaf in walk(&bench.tree).leaves {
        bench.tree.expunge_ghosts(&bench.manager, leaf).unwrap();
    }
    bench
}

#[test]
fn nothing_lies_between_a_place_and_what_is_beside_it() {
    let mut rng = SplitMix64::new(8);
    let bench = thinned(&mut rng);
    let keys = bench.tree.scan_all(&[]).unwrap().map(|row| {
        let shape = bench.tree.shape();
        shape.key(&shape.leaf(&row.unwrap().bytes), extentdb_catalog::layout::Level::Leaf).unwrap()
    });
    let keys: BTreeSet<Vec<u8>> = keys.collect();
    let mut separators = 0;
    for number in 0..KEYS {
        let prefix = sort_key(&bench, &key(number, false));
        for edge in [Edge::Before(&prefix), Edge::Behind(&prefix)] {
            let is_left = |key: &[u8]| match edge {
                Edge::Before(_) => key < prefix.as_slice(),
                Edge::Behind(_) => key <= prefix.as_slice(),
            };
            let Beside { before, behind } = bench.tree.beside(edge).unwrap();
            for key in &keys {
                match is_left(key) {
                    true => assert!(before.as_ref().is_some_and(|before| *key <= before.bytes)),
                    false => assert!(behind.as_ref().is_some_and(|behind| *key >= behind.bytes)),
                }
            }
            assert!(before.as_ref().is_none_or(|before| before.bytes <= prefix));
            assert!(behind.as_ref().is_none_or(|behind| !is_left(&behind.bytes)));
            for key in before.iter().chain(&behind) {
                assert_eq!(bench.tree.shape().prefix(&key.cells).unwrap(), key.bytes);
                separators += u32::from(!keys.contains(&key.bytes));
            }
        }
    }
    assert!(separators > 10, "{separators} separators whose rows have gone");
}

#[test]
fn separators_come_one_behind_the_other() {
    let bench = thinned(&mut SplitMix64::new(9));
    let (mut at, mut count) = (Vec::new(), 0);
    while let Some(separator) = bench.tree.separator_behind(&at).unwrap() {
        assert!(separator.bytes > at);
        (at, count) = (separator.bytes, count + 1);
    }
    assert_eq!(count + 1, walk(&bench.tree).leaves.len());
    let empty = Bench::new(true).tree.beside(Edge::Before(&[1])).unwrap();
    assert!(empty.before.is_none() && empty.behind.is_none());
}
