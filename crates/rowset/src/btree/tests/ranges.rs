//! Ranges of keys, read leaf by leaf in both directions, against a map.

use std::collections::BTreeMap;
use std::ops::Bound;

use extentdb_base::Lsn;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::page::PageHeader;

use super::bench::{Bench, bytes, key, key_and_value};
use super::walk::walk;
use crate::btree::{KeyRange, LeafRows, Row, RowRef};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Number of different keys.
const KEYS: u64 = 700;

fn sort_key(bench: &Bench, key: &[u8]) -> Vec<u8> {
    bench.tree.shape().prefix(&[bytes(key)]).unwrap()
}

/// A range by its bounds, the way statements make them.
fn range_of(bench: &Bench, (low, high): &Bounds) -> KeyRange {
    let sought = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|key| sort_key(bench, key));
    let low = sought(low);
    let high = sought(high);
    let range = KeyRange::all().with_lower(low.as_ref().map(Vec::as_slice));
    range.with_upper(high.as_ref().map(Vec::as_slice))
}

fn random_bounds(rng: &mut SplitMix64, is_wide: bool) -> Bounds {
    let mut numbers = [rng.below(KEYS), rng.below(KEYS)];
    numbers.sort_unstable();
    // A map panics where both bounds leave out the same key.
    numbers[1] += u64::from(numbers[0] == numbers[1]);
    let [low, high] = numbers.map(|number| match rng.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key(number, is_wide)),
        _ => Bound::Excluded(key(number, is_wide)),
    });
    (low, high)
}

/// All leaves of a range, in the order they come in.
fn read(bench: &Bench, range: KeyRange, is_backward: bool, oldest: Option<Lsn>) -> Vec<LeafRows> {
    let leaves = bench.tree.leaves(range);
    let mut leaves = if is_backward { leaves.backward() } else { leaves };
    let mut out = Vec::new();
    while let Some(leaf) = leaves.next(&|| oldest).unwrap() {
        assert!(!leaf.is_empty(), "a leaf with nothing to say");
        out.push(leaf);
    }
    assert!(leaves.next(&|| oldest).unwrap().is_none(), "the end stays the end");
    out
}

/// The rows of leaves that are no ghosts.
fn live(bench: &Bench, leaves: &[LeafRows]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = leaves.iter().flat_map(LeafRows::iter).filter(|row| !row.is_ghost());
    rows.map(|row| key_and_value(&bench.tree, row.bytes)).collect()
}

/// Fills a tree, deletes some of it, and leaves a transaction open that has deleted and inserted,
/// too.
fn filled(
    is_base: bool,
    is_wide: bool,
    rng: &mut SplitMix64,
) -> (Bench, Model, extentdb_txn::Transaction) {
    let bench = Bench::new(is_base);
    let mut model = Model::new();
    let mut tx = bench.begin();
    for _ in 0..2 * KEYS {
        let key = key(rng.below(KEYS), is_wide);
        let value = vec![1; rng.below(200) as usize];
        if model.insert(key.clone(), value.clone()).is_some() {
            bench.delete(&mut tx, &key);
        }
        bench.insert(&mut tx, &key, &value).unwrap();
    }
    let from = rng.below(KEYS / 2);
    for number in (0..KEYS).filter(|number| number % 3 == 0 || (from..from + 100).contains(number))
    {
        let key = key(number, is_wide);
        assert_eq!(bench.delete(&mut tx, &key), model.remove(&key).is_some());
    }
    tx.commit().unwrap();
    let mut open = bench.begin();
    for number in [from + 90, from + 120, KEYS - 1] {
        let key = key(number, is_wide);
        if bench.delete(&mut open, &key) {
            drop(model.remove(&key))
        } else {
            bench.insert(&mut open, &key, &[2]).unwrap();
            model.insert(key, vec![2]);
        }
    }
    (bench, model, open)
}

#[test]
fn a_range_has_the_same_rows_in_both_directions() {
    let mut rng = SplitMix64::new(31);
    for (is_base, is_wide) in [(true, false), (false, false), (true, true), (false, true)] {
        let (bench, model, open) = filled(is_base, is_wide, &mut rng);
        assert!(walk(&bench.tree).leaves.len() > 5 && !model.is_empty());
        for round in 0..300 {
            let bounds = random_bounds(&mut rng, is_wide);
            let oldest = [None, Some(open.begin_lsn()), Some(Lsn::new(1, 1, 1))][round % 3];
            let expected: Vec<_> =
                model.range(bounds.clone()).map(|(k, v)| (k.clone(), v.clone())).collect();
            let forward = read(&bench, range_of(&bench, &bounds), false, oldest);
            assert_eq!(live(&bench, &forward), expected, "{bounds:?}");
            let mut backward = live(&bench, &read(&bench, range_of(&bench, &bounds), true, oldest));
            backward.reverse();
            assert_eq!(backward, expected, "{bounds:?} backwards");
        }
    }
}

#[test]
fn a_prefix_of_a_key_stands_for_all_keys_that_begin_with_it() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..300 {
        bench.insert(&mut tx, &key(number, true), &[]).unwrap();
    }
    let whole = sort_key(&bench, &key(7, true));
    let keys = |range| live(&bench, &read(&bench, range, false, None)).len();
    assert_eq!(keys(KeyRange::all()), 300);
    assert_eq!(keys(KeyRange::of(whole.as_slice())), 1);
    assert_eq!(
        keys(KeyRange::all().with_lower(Bound::Excluded(&whole))),
        292,
        "7 and those before it are left out"
    );
    // A byte says that there is a value, then come its own.
    let first = &sort_key(&bench, &[0, 0, 1])[..4];
    assert_eq!(keys(KeyRange::of(first)), 44, "256 to 299");
    assert_eq!(keys(KeyRange::all().with_upper(Bound::Excluded(first))), 256);
    assert_eq!(keys(KeyRange::all().with_upper(Bound::Included(first))), 300);
    assert_eq!(keys(KeyRange::all().with_lower(Bound::Excluded(first))), 0);
    tx.commit().unwrap();
}

/// Ghosts come from leaves that an open transaction may have changed, and from no others.
#[test]
fn only_leaves_that_are_not_settled_give_their_ghosts() {
    let mut rng = SplitMix64::new(32);
    let (bench, _, open) = filled(true, false, &mut rng);
    let all: Vec<Row> = bench.tree.scan_all(&[]).unwrap().collect::<Result<_, _>>().unwrap();
    let oldest = open.begin_lsn();
    for is_backward in [false, true] {
        let leaves = read(&bench, KeyRange::all(), is_backward, Some(oldest));
        let mut kinds = [0; 2];
        for leaf in &leaves {
            let page = leaf.iter().next().unwrap().at.page;
            assert_eq!(leaf.is_settled(), PageHeader::of(&bench.page(page)).lsn() < oldest);
            let is_there =
                |row: &&Row| row.at.page == page && !(leaf.is_settled() && row.is_ghost());
            let mut expected: Vec<Row> = all.iter().filter(is_there).cloned().collect();
            if is_backward {
                expected.reverse();
            }
            assert!(leaf.iter().map(RowRef::to_row).eq(expected));
            kinds[usize::from(leaf.is_settled())] += 1;
        }
        assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
    }
    open.commit().unwrap();
    let leaves = read(&bench, KeyRange::all(), true, None);
    assert!(leaves.iter().all(|leaf| leaf.is_settled() && !leaf.iter().any(|row| row.is_ghost())));
}

#[test]
fn a_row_is_found_and_deleted_by_its_sort_key() {
    let bench = Bench::new(false);
    let mut tx = bench.begin();
    for number in 0..400 {
        bench.insert(&mut tx, &key(number, false), &[3; 90]).unwrap();
    }
    let sort_key = sort_key(&bench, &key(123, false));
    let found = bench.tree.find_key(&sort_key).unwrap().unwrap();
    assert_eq!(Some(&found), bench.tree.find(&[bytes(&key(123, false))]).unwrap().as_ref());
    assert_eq!(bench.tree.delete_key(&mut tx, &sort_key).unwrap(), Some(found));
    assert_eq!(bench.tree.find_key(&sort_key).unwrap(), None);
    assert_eq!(bench.tree.delete_key(&mut tx, &sort_key).unwrap(), None);
    tx.commit().unwrap();
    assert_eq!(walk(&bench.tree).rows.len(), 399);
}
