//! Single operations, and what they leave in the log.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::thread;
use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::{Context, Op};

use super::bench::{Bench, KEY_BYTES, Setup, bytes, fresh, key, key_and_value};
use super::walk::walk;
use crate::Error;

#[test]
fn the_first_row_makes_the_first_page() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    assert!(bench.tree.find(&[bytes(&[1])]).unwrap().is_none());
    assert!(bench.tree.scan(&[]).unwrap().next().is_none());
    assert!(!bench.delete(&mut tx, &[1]));
    assert!(matches!(bench.replace(&mut tx, &[1], &[]), Err(Error::NotFound { .. })));
    assert_eq!(bench.records().len(), 0, "nothing has changed");
    bench.insert(&mut tx, &[1], &[2, 3]).unwrap();
    tx.commit().unwrap();
    let expected = [(Op::FORMAT_PAGE, Context::CLUSTERED), (Op::INSERT_ROWS, Context::CLUSTERED)];
    assert_eq!(bench.changes_from(0), expected);
    let unit = bench.tree.unit();
    assert!(!unit.root().is_none() && unit.first() == unit.root());
    walk(&bench.tree).matches(&bench, &BTreeMap::from([(vec![1], vec![2, 3])]));
}

#[test]
fn a_split_logs_what_real_ones_log() {
    for (is_base, is_system) in [(true, false), (true, true), (false, false), (false, true)] {
        let unit = is_system.then_some(AllocUnitId::from_header(77, if is_base { 1 } else { 2 }));
        let bench = Bench::with(&Setup { unit, ..Setup::of(is_base) });
        let leaf = if is_base { Context::CLUSTERED } else { Context::INDEX_LEAF };
        let moving = if is_system { leaf } else { Context::NONSYS_SPLIT };
        let linked = if is_base { Context::HEAP } else { leaf };
        let mut tx = bench.begin();
        for number in [10, 20, 30, 40, 50, 60, 70, 80] {
            bench.insert(&mut tx, &key(number, false), &[0; 950]).unwrap();
        }
        let from = bench.records().len();
        bench.insert(&mut tx, &key(45, false), &[0; 950]).unwrap();
        let grown = [
            (Op::FORMAT_PAGE, Context::INDEX_INTERIOR),
            (Op::INSERT_ROWS, Context::INDEX_INTERIOR),
        ];
        let split = [
            (Op::FORMAT_PAGE, leaf),
            (Op::INSERT_ROWS, moving),
            (Op::DELETE_SPLIT, leaf),
            (Op::MODIFY_HEADER, linked),
            (Op::INSERT_ROWS, Context::INDEX_INTERIOR),
        ];
        let inserted = [(Op::INSERT_ROWS, leaf)];
        assert_eq!(bench.changes_from(from), [&grown[..], &split, &inserted].concat());
        let seen = walk(&bench.tree);
        assert_eq!((seen.levels, seen.leaves.len(), seen.rows.len()), (2, 2, 9));
        // Both halves fill up; the left one has a neighbour now, which has no room for its rows.
        for number in [46, 47, 48, 51, 52, 53, 54] {
            bench.insert(&mut tx, &key(number, false), &[0; 950]).unwrap();
        }
        let from = bench.records().len();
        for number in [11, 12, 13, 14] {
            bench.insert(&mut tx, &key(number, false), &[0; 950]).unwrap();
        }
        let log = bench.changes_from(from);
        assert_eq!(log.iter().filter(|(op, _)| *op == Op::MODIFY_HEADER).count(), 2);
        tx.commit().unwrap();
        walk(&bench.tree);
    }
}

#[test]
fn inserts_in_key_order_leave_full_pages() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..800 {
        bench.insert(&mut tx, &key(number, false), &[7; 80]).unwrap();
    }
    tx.commit().unwrap();
    let seen = walk(&bench.tree);
    // A row takes 9 bytes around its two values, and a slot.
    let per_page = 8096 / (4 + 80 + 13 + 2);
    assert_eq!(seen.leaves.len(), 800usize.div_ceil(per_page));
    let moved = bench
        .records()
        .iter()
        .filter(|logged| logged.record().header().op == Op::DELETE_SPLIT)
        .count();
    assert_eq!(moved, 0, "no row has moved");
}

#[test]
fn rows_that_come_backwards_or_inside_out_are_all_there() {
    for order in
        [|n: u64| 999 - n, |n: u64| if n.is_multiple_of(2) { 500 + n / 2 } else { 499 - n / 2 }]
    {
        let bench = Bench::new(false);
        let mut tx = bench.begin();
        let mut model = BTreeMap::new();
        for number in (0..1000).map(order) {
            bench.insert(&mut tx, &key(number, number % 3 == 0), &[number as u8; 100]).unwrap();
            model.insert(key(number, number % 3 == 0), vec![number as u8; 100]);
        }
        tx.commit().unwrap();
        walk(&bench.tree).matches(&bench, &model);
    }
}

#[test]
fn the_longest_rows_have_a_page_each() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    let value = vec![1; 8000 - 4];
    // 8060 less status, lengths, null bitmap, offsets and key.
    let longest = vec![1; 8060 - KEY_BYTES - 13];
    for number in [5, 3, 9, 4, 1, 7, 8, 2, 6] {
        bench.insert(&mut tx, &key(number, false), &value).unwrap();
    }
    bench.insert(&mut tx, &key(10, true), &longest).unwrap();
    let refused = bench.insert(&mut tx, &key(11, true), &[&longest[..], &[1]].concat());
    assert!(matches!(refused, Err(Error::RowTooLong { bytes: 8061, most: 8060 })), "{refused:?}");
    tx.commit().unwrap();
    let seen = walk(&bench.tree);
    assert_eq!((seen.rows.len(), seen.leaves.len()), (10, 10));
}

#[test]
fn a_deleted_row_is_a_ghost_until_it_is_expunged_or_comes_again() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..4 {
        bench.insert(&mut tx, &key(number, false), &[1; 20]).unwrap();
    }
    let from = bench.records().len();
    assert!(bench.delete(&mut tx, &key(1, false)));
    assert!(!bench.delete(&mut tx, &key(1, false)), "it is gone");
    bench.insert(&mut tx, &key(1, false), &[2; 30]).unwrap();
    bench.delete(&mut tx, &key(2, false));
    tx.commit().unwrap();
    let expected = [
        (Op::DELETE_ROWS, Context::MARK_AS_GHOST),
        (Op::MODIFY_ROW, Context::CLUSTERED),
        (Op::DELETE_ROWS, Context::MARK_AS_GHOST),
    ];
    assert_eq!(bench.changes_from(from), expected);
    let seen = walk(&bench.tree);
    assert_eq!((seen.ghosts, seen.rows.len(), bench.counts().rows), (1, 3, 3));
    let leaf = seen.leaves[0];
    let has_hint =
        || bench.space.pfs_bytes(leaf.file, leaf.page..leaf.page + 1).unwrap()[0].has_ghosts();
    assert!(has_hint());
    assert_eq!(bench.tree.expunge_ghosts(&bench.manager, leaf, &|_| true).unwrap(), 1);
    assert!(!has_hint());
    let records = bench.records();
    let header = *records[records.len() - 2].record().header();
    assert_eq!((header.op, header.context), (Op::EXPUNGE_ROWS, Context::CLUSTERED));
    assert_eq!(
        (header.xact, header.flags.0),
        (Default::default(), 0),
        "it belongs to no transaction"
    );
    assert_eq!(walk(&bench.tree).ghosts, 0);
    let mut tx = bench.begin();
    for number in [0, 1, 3] {
        bench.delete(&mut tx, &key(number, false));
    }
    tx.commit().unwrap();
    assert_eq!(
        bench.tree.expunge_ghosts(&bench.manager, leaf, &|_| true).unwrap(),
        2,
        "one keeps the page"
    );
    walk(&bench.tree).matches(&bench, &BTreeMap::new());
}

#[test]
fn a_replaced_row_logs_the_bytes_that_differ_and_its_key() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    bench.insert(&mut tx, &key(1, false), b"abcdef").unwrap();
    let from = bench.records().len();
    bench.replace(&mut tx, &key(1, false), b"abcdef").unwrap();
    assert_eq!(bench.records().len(), from, "nothing differs");
    bench.replace(&mut tx, &key(1, false), b"abXYef").unwrap();
    let record = bench.records().pop().unwrap();
    let record = record.record();
    let Payload::ModifyRow(modify) = record.payload() else { panic!("{:?}", record.header()) };
    assert_eq!((modify.before, modify.after), (&b"cd"[..], &b"XY"[..]));
    let key = bench.tree.shape().key_of_image(modify.key.unwrap()).unwrap();
    assert_eq!(key, bench.tree.shape().prefix(&[bytes(&super::bench::key(1, false))]).unwrap());
    tx.commit().unwrap();
}

#[test]
fn rollback_finds_rows_that_splits_have_moved() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..6 {
        bench.insert(&mut tx, &key(number * 100, false), &[1; 1000]).unwrap();
    }
    tx.commit().unwrap();
    let before = walk(&bench.tree).rows;
    let mut mine = bench.begin();
    bench.insert(&mut mine, &key(150, false), &[2; 50]).unwrap();
    bench.delete(&mut mine, &key(300, false));
    bench.replace(&mut mine, &key(400, false), &[3; 10]).unwrap();
    bench.replace(&mut mine, &key(500, false), &[4; 1500]).unwrap();
    // Another one splits the pages and fills them up.
    let mut other = bench.begin();
    for number in 0..60 {
        bench.insert(&mut other, &key(103 + 7 * number, false), &[5; 700]).unwrap();
    }
    other.commit().unwrap();
    bench.roll_back(mine);
    let seen = walk(&bench.tree);
    let rows: BTreeMap<_, _> =
        seen.rows.clone().into_iter().filter(|(_, value)| value[0] != 5).collect();
    assert!(rows == before);
    assert_eq!(bench.counts().rows, 66);
}

#[test]
fn an_undo_whose_ghost_was_expunged_too_early_is_refused() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..8 {
        bench.insert(&mut tx, &key(number, false), &[number as u8; 900]).unwrap();
    }
    tx.commit().unwrap();
    let leaf = walk(&bench.tree).leaves[0];
    let mut tx = bench.begin();
    bench.delete(&mut tx, &key(2, false));
    assert_eq!(
        bench.tree.clean(&bench.manager, 1, &|_| true).unwrap(),
        0,
        "its transaction is open"
    );
    assert_eq!(
        bench.tree.expunge_ghosts(&bench.manager, leaf, &|_| true).unwrap(),
        1,
        "it does as it is told"
    );
    let from = bench.records().len();
    let logged = bench.record(tx.undo_next());
    let record = logged.record();
    let header = record.header();
    let refused = bench.tree.undo(&mut tx, header.previous, header, &record.payload());
    assert!(matches!(refused, Err(Error::NotUndone { op: Op::DELETE_ROWS, .. })), "{refused:?}");
    assert_eq!(bench.records().len(), from, "nothing is logged");
}

#[test]
fn undo_of_the_only_row_of_a_page_leaves_a_ghost() {
    let bench = Bench::new(false);
    let mut tx = bench.begin();
    bench.insert(&mut tx, &key(1, false), &[1]).unwrap();
    bench.roll_back(tx);
    let seen = walk(&bench.tree);
    assert_eq!((seen.ghosts, seen.rows.len(), bench.counts().rows), (1, 0, 0));
    let mut tx = bench.begin();
    bench.insert(&mut tx, &key(1, false), &[1]).unwrap();
    bench.insert(&mut tx, &key(2, false), &[2]).unwrap();
    bench.roll_back(tx);
    assert_eq!(walk(&bench.tree).ghosts, 1);
}

#[test]
fn a_scan_survives_changes_of_its_own_making() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..200 {
        bench.insert(&mut tx, &key(number, false), &[1; 100]).unwrap();
    }
    let mut seen = 0;
    for row in bench.tree.scan(&[]).unwrap() {
        let (key_of_row, _) = key_and_value(&bench.tree, &row.unwrap().bytes);
        assert!(bench.delete(&mut tx, &key_of_row));
        // Longer ones come before the place of the scan and split its pages.
        let before = [&key(0, false)[..], &key(seen, false)].concat();
        bench.insert(&mut tx, &before, &[2; 500]).unwrap();
        seen += 1;
    }
    tx.commit().unwrap();
    assert_eq!(seen, 200, "each row once, and none of those that came before its place");
    let after = walk(&bench.tree);
    assert!(after.rows.len() == 200 && after.rows.values().all(|value| value[0] == 2));
}

#[test]
fn a_prefix_finds_its_rows_across_pages() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..500 {
        bench.insert(&mut tx, &key(number, true), &[]).unwrap();
    }
    tx.commit().unwrap();
    assert!(walk(&bench.tree).levels > 2);
    let rows: Vec<_> = bench.tree.scan(&[]).unwrap().map(|row| row.unwrap().at.page).collect();
    let pages: std::collections::BTreeSet<PageId> = rows.iter().copied().collect();
    assert_eq!((rows.len(), pages.len()), (500, walk(&bench.tree).leaves.len()));
    let one: Vec<_> = bench.tree.scan(&[bytes(&key(77, true))]).unwrap().collect();
    assert_eq!(one.len(), 1);
    assert!(matches!(
        bench.tree.scan(&[bytes(&[1]), bytes(&[2])]),
        Err(Error::Columns { expected: 1, found: 2 })
    ));
}

#[test]
fn without_another_page_a_row_is_refused_and_the_tree_goes_on() {
    let pages = fresh().0.len() as u32 / 8192;
    let bench = Bench::with(&Setup { pages_max: Some(pages + 64), ..Setup::of(true) });
    let mut tx = bench.begin();
    let mut number = 0;
    let refused = loop {
        match bench.insert(&mut tx, &key(number, false), &[1; 3000]) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(refused, Error::Space(extentdb_space::Error::FilegroupFull { .. })),
        "{refused:?}"
    );
    let seen = walk(&bench.tree);
    assert_eq!((seen.rows.len(), seen.pages), (number as usize, bench.pages()));
    assert!(number > 50);
    bench.delete(&mut tx, &key(0, false));
    tx.commit().unwrap();
    assert_eq!(walk(&bench.tree).ghosts, 1);
}

#[test]
fn a_split_that_finds_the_log_full_is_rolled_back_at_every_step() {
    let mut refusals = BTreeSet::new();
    // Rows of other lengths reach the end of the log with other records.
    for len in 2600..2660 {
        let bench = Bench::with(&Setup { has_small_log: true, ..Setup::of(true) });
        let mut tx = bench.begin();
        let mut number = 0;
        let refused = loop {
            match bench.insert(&mut tx, &key(number * 7 % 1000, true), &vec![1; len]) {
                Ok(()) => number += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, Error::Space(_) | Error::Change(_)), "{refused:?}");
        let last = bench.records().pop().unwrap();
        refusals.insert(last.record().header().op);
        let seen = walk(&bench.tree);
        assert_eq!(seen.rows.len() as u64, number);
        bench.roll_back(tx);
        assert!(walk(&bench.tree).rows.is_empty());
    }
    assert!(refusals.contains(&Op::ABORT_XACT), "no split was rolled back: {refusals:?}");
}

#[test]
fn a_tree_is_unusable_after_a_split_that_cannot_be_rolled_back() {
    let mut cut_off = 0;
    for calls in 0..24 {
        let bench = Bench::with(&Setup { frames: 2000, ..Setup::of(true) });
        bench.disk.fail_after(calls);
        let mut tx = bench.begin();
        let refused = (0..4000).find_map(|number| {
            bench.insert(&mut tx, &key(number * 7919 % 4000, true), &[1; 900]).err()
        });
        assert!(refused.is_some(), "the disk still works");
        let is_unusable = |error: &Error| matches!(error, Error::Unusable { .. });
        let found = bench.tree.find(&[bytes(&key(0, true))]);
        let scanned: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
        let deleted = bench.tree.delete(&mut tx, &[bytes(&key(0, true))]);
        match (found, scanned) {
            (Ok(_), Ok(_)) => drop(walk(&bench.tree)),
            (Err(found), Err(scanned)) => {
                assert!(
                    is_unusable(&found)
                        && is_unusable(&scanned)
                        && is_unusable(&deleted.unwrap_err())
                );
                cut_off += 1;
            }
            outcome => panic!("{outcome:?}"),
        }
    }
    assert!(cut_off > 0, "every split could be rolled back");
}

#[test]
fn threads_that_change_one_tree_do_not_lose_each_others_rows() {
    let bench = Bench::new(true);
    thread::scope(|scope| {
        for own in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                for round in 0..40 {
                    let mut tx = bench.begin();
                    for number in 0..10 {
                        bench
                            .insert(
                                &mut tx,
                                &key((round * 10 + number) * 4 + own, false),
                                &[own as u8; 200],
                            )
                            .unwrap();
                    }
                    let rows: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
                    assert!(rows.unwrap().len() >= 10);
                    if round % 4 == 3 {
                        bench.roll_back(tx);
                    } else {
                        tx.commit().unwrap();
                    }
                }
            });
        }
    });
    let seen = walk(&bench.tree);
    assert_eq!((seen.rows.len(), seen.pages), (4 * 300, bench.pages()));
}

#[test]
fn a_root_of_level_0_above_data_pages_gets_its_level_when_another_is_set_on_top() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    let mut number = 0;
    while walk(&bench.tree).levels < 2 {
        number += 1;
        bench.insert(&mut tx, &key(number, true), &[1; 3000]).unwrap();
    }
    let root = bench.tree.unit().root();
    let mut page = bench.page(root);
    page[3] = 0;
    bench.put(root, &page);
    while bench.tree.unit().root() == root {
        number += 1;
        bench.insert(&mut tx, &key(number, true), &[1; 3000]).unwrap();
    }
    assert_eq!(walk(&bench.tree).levels, 3);
    tx.commit().unwrap();
}

#[test]
fn random_damage_makes_errors_but_no_panic_and_no_endless_work() {
    let mut rng = SplitMix64::new(12);
    let mut outcomes = [0; 2];
    for _ in 0..300 {
        let bench = Bench::new(rng.below(2) == 0);
        let mut tx = bench.begin();
        for number in 0..60 {
            bench.insert(&mut tx, &key(number * 10, number % 2 == 0), &[1; 200]).unwrap();
        }
        let pages: Vec<PageId> = walk(&bench.tree).pages.into_iter().collect();
        for _ in 0..1 + rng.below(6) {
            let id = pages[rng.below(pages.len() as u64) as usize];
            let mut page = bench.page(id);
            // Mostly where it hurts: the header and the slots.
            let at = match rng.below(3) {
                0 => rng.below(96),
                1 => 8192 - 1 - rng.below(40),
                _ => rng.below(8192),
            };
            page[at as usize] ^= 1 << rng.below(8);
            bench.put(id, &page);
        }
        for _ in 0..40 {
            let key = key(rng.below(600), rng.below(2) == 0);
            let outcome = match rng.below(4) {
                0 => bench.tree.delete(&mut tx, &[bytes(&key)]).map(drop),
                1 => bench.insert(&mut tx, &key, &[3; 900]),
                2 => bench.replace(&mut tx, &key, &[4; 2500]),
                _ => bench.tree.scan(&[]).unwrap().collect::<Result<Vec<_>, _>>().map(drop),
            };
            outcomes[usize::from(outcome.is_ok())] += 1;
        }
    }
    assert!(outcomes.iter().all(|count| *count > 500), "{outcomes:?}");
}

#[test]
fn a_page_that_is_not_of_the_tree_is_an_error() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    for number in 0..40 {
        bench.insert(&mut tx, &key(number, false), &[1; 1000]).unwrap();
    }
    let leaf = walk(&bench.tree).leaves[2];
    let whole = bench.page(leaf);
    let damages: [(usize, &[u8], &str); 4] = [
        (32, &[9, 9], "another page"),
        (24, &[9, 9], "another unit"),
        (1, &[3], "another type"),
        (22, &[0xff, 0xff], "impossible slots"),
    ];
    for (at, damage, what) in damages {
        let mut page = whole;
        page[at..at + damage.len()].copy_from_slice(damage);
        bench.put(leaf, &page);
        let read: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
        assert!(
            matches!(read, Err(Error::Corrupt { page, .. }) if page == leaf),
            "{what}: {read:?}"
        );
    }
    let mut page = whole;
    let start = usize::from(u16::from_le_bytes([page[8190], page[8191]]));
    page[start + 2..start + 4].copy_from_slice(&9000u16.to_le_bytes());
    bench.put(leaf, &page);
    assert!(bench.tree.scan(&[]).unwrap().collect::<Result<Vec<_>, _>>().is_err());
    // A chain that comes back to itself.
    let mut page = whole;
    page[16..22].copy_from_slice(&leaf.to_bytes());
    bench.put(leaf, &page);
    let read: Result<Vec<_>, _> = bench.tree.scan(&[]).unwrap().collect();
    assert!(matches!(read, Err(Error::Corrupt { page, .. }) if page == leaf), "{read:?}");
}
