//! Trees that are built from sorted rows.

use std::collections::BTreeMap;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::layout::Cell;
use extentdb_format::log::Op;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_txn::Transaction;

use super::bench::{Bench, Setup, key};
use super::crash::after_every_record;
use super::walk::walk;
use crate::Error;
use crate::btree::{Fill, SORT_PAGE_BYTES, SortStore, Sorter};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const PAGE_BODY: usize = 8096;

/// Rows with values of all lengths up to one.
fn rows(count: u64, is_wide: bool, most: u64, rng: &mut SplitMix64) -> Model {
    let value = |rng: &mut SplitMix64| vec![rng.next_u64() as u8; rng.below(most + 1) as usize];
    (0..count).map(|number| (key(number * 10, is_wide), value(rng))).collect()
}

fn build(bench: &Bench, tx: &mut Transaction, fill: Fill, rows: &Model) -> Result<u64, Error> {
    bench.tree.build(tx, fill, rows.iter().map(|(key, value)| Ok(bench.cells(key, value))))
}

/// Bytes of the records of a page, with their slots, and of its first one.
fn taken(bench: &Bench, id: PageId) -> (usize, usize) {
    let page = bench.page(id);
    let view = PageRef::new(&page);
    let least = if view.header().kind() == PageType::Data { 9 } else { 0 };
    let size = |slot| view.row(slot).unwrap().len().max(least) + 2;
    let sizes: Vec<usize> = (0..view.slot_count()).map(size).collect();
    (sizes.iter().sum(), sizes[0])
}

/// Every leaf has as many rows as its share of the page takes, and not one more.
fn verify_fill(bench: &Bench, leaves: &[PageId], fill: Fill) {
    let percent = if fill.percent == 0 { 100 } else { usize::from(fill.percent) };
    let limit = PAGE_BODY - PAGE_BODY * (100 - percent) / 100;
    for (number, leaf) in leaves.iter().enumerate() {
        let (bytes, _) = taken(bench, *leaf);
        let count = PageHeader::of(&bench.page(*leaf)).slot_count.get();
        assert!(bytes <= limit || count == 1, "{bytes} of {limit} in {count} rows");
        if let Some(next) = leaves.get(number + 1) {
            assert!(bytes + taken(bench, *next).1 > limit, "{bytes} of {limit}: one more has room");
        }
    }
}

/// Pages above the leaves, but the last ones of their levels.
fn inner_pages(bench: &Bench) -> Vec<PageId> {
    let is_inner = |id: &PageId| {
        let page = bench.page(*id);
        PageHeader::of(&page).level > 0 && !PageHeader::of(&page).next().is_none()
    };
    walk(&bench.tree).pages.into_iter().filter(is_inner).collect()
}

#[test]
fn a_tree_has_the_rows_it_was_built_from() {
    let mut rng = SplitMix64::new(41);
    for (is_base, is_wide, most) in
        [(true, false, 60), (false, false, 60), (true, true, 900), (false, true, 7000)]
    {
        for count in [0, 1, 2, 30, 700] {
            for (percent, pads) in [(0, false), (100, true), (70, false), (50, true), (1, false)] {
                let bench = Bench::new(is_base);
                let model = rows(count, is_wide, most, &mut rng);
                let mut tx = bench.begin();
                let fill = Fill { percent, pads };
                assert_eq!(build(&bench, &mut tx, fill, &model).unwrap(), count);
                tx.commit().unwrap();
                let seen = walk(&bench.tree);
                seen.matches(&bench, &model);
                verify_fill(&bench, &seen.leaves, fill);
            }
        }
    }
}

#[test]
fn pages_above_the_leaves_are_padded_when_that_is_wanted() {
    let mut rng = SplitMix64::new(42);
    let model = rows(3000, true, 0, &mut rng);
    for (pads, expected) in [(false, 75..=100), (true, 25..=50)] {
        let bench = Bench::with(&Setup { frames: 4000, ..Setup::of(true) });
        let mut tx = bench.begin();
        build(&bench, &mut tx, Fill { percent: 50, pads }, &model).unwrap();
        tx.commit().unwrap();
        assert!(walk(&bench.tree).levels > 3);
        let inner = inner_pages(&bench);
        assert!(inner.len() > 50);
        for id in inner {
            let percent = taken(&bench, id).0 * 100 / PAGE_BODY;
            assert!(expected.contains(&percent), "{percent} % with padding: {pads}");
        }
    }
    // Two records a page at least, however little room they are to take.
    let bench = Bench::with(&Setup { frames: 4000, ..Setup::of(true) });
    let mut tx = bench.begin();
    build(&bench, &mut tx, Fill { percent: 1, pads: true }, &rows(300, true, 0, &mut rng)).unwrap();
    tx.commit().unwrap();
    let counts =
        inner_pages(&bench).into_iter().map(|id| PageHeader::of(&bench.page(id)).slot_count.get());
    assert_eq!(counts.min(), Some(2));
    assert_eq!(walk(&bench.tree).rows.len(), 300);
}

#[test]
fn a_built_tree_is_one_like_the_others() {
    let mut rng = SplitMix64::new(43);
    for is_base in [true, false] {
        let bench = Bench::new(is_base);
        let mut model = rows(900, false, 300, &mut rng);
        let mut tx = bench.begin();
        build(&bench, &mut tx, Fill { percent: 90, pads: true }, &model).unwrap();
        tx.commit().unwrap();
        let mut tx = bench.begin();
        for _ in 0..2000 {
            let key = key(rng.below(10_000), false);
            let value = vec![1; rng.below(400) as usize];
            match model.remove(&key) {
                Some(_) => assert!(bench.delete(&mut tx, &key)),
                None => {
                    bench.insert(&mut tx, &key, &value).unwrap();
                    model.insert(key, value);
                }
            }
        }
        tx.commit().unwrap();
        walk(&bench.tree).matches(&bench, &model);
    }
}

#[test]
fn a_leaf_is_one_record_of_the_log() {
    let bench = Bench::new(true);
    let model = rows(1000, false, 60, &mut SplitMix64::new(44));
    let mut tx = bench.begin();
    build(&bench, &mut tx, Fill::default(), &model).unwrap();
    assert!(tx.begin_lsn().is_zero(), "the caller's transaction has nothing to roll back");
    let leaves = walk(&bench.tree).leaves.len();
    assert!(leaves > 5);
    let changes = bench.changes_from(0);
    let count = |op| changes.iter().filter(|(own, _)| *own == op).count();
    // The root: one page more, with a record of its own.
    assert_eq!((count(Op::FORMAT_PAGE), count(Op::DELETE_SPLIT)), (leaves + 1, 0));
    assert_eq!(
        count(Op::INSERT_ROWS),
        leaves + 1 + (leaves - 1),
        "rows, the root's first record, separators"
    );
}

#[test]
fn rows_out_of_order_are_refused_and_those_before_them_stay() {
    let order = |numbers: &[u64]| {
        let bench = Bench::new(true);
        let mut tx = bench.begin();
        let keys: Vec<Vec<u8>> = numbers.iter().map(|number| key(*number, false)).collect();
        let rows = keys.iter().map(|key| Ok(bench.cells(key, &[7; 3000])));
        let refused =
            bench.tree.build(&mut tx, Fill::default(), rows).map_err(|error: Error| error);
        tx.commit().unwrap();
        let seen = walk(&bench.tree);
        assert_eq!((seen.rows.len() as i64, seen.pages), (bench.counts().rows, bench.pages()));
        (refused, seen.rows.len())
    };
    let (refused, left) = order(&[1, 2, 3, 4, 5, 5, 6]);
    assert!(matches!(refused, Err(Error::Duplicate { .. })), "{refused:?}");
    assert_eq!(left, 4, "two leaves of two rows");
    let (refused, _) = order(&[1, 2, 3, 4, 3]);
    assert!(matches!(refused, Err(Error::OutOfOrder { row: 4, .. })), "{refused:?}");
    assert!(matches!(order(&[1, 2]), (Ok(2), 2)));
}

#[test]
fn only_an_empty_tree_is_built() {
    let bench = Bench::new(false);
    let mut tx = bench.begin();
    bench.insert(&mut tx, &[1], &[2]).unwrap();
    let refused = build(&bench, &mut tx, Fill::default(), &Model::new());
    assert!(matches!(refused, Err(Error::NotEmpty { .. })), "{refused:?}");
    tx.commit().unwrap();
}

/// What the source of the rows has to say.
#[derive(Debug)]
enum Stopped {
    Tree,
    Source,
}

impl From<Error> for Stopped {
    fn from(_: Error) -> Stopped {
        Stopped::Tree
    }
}

#[test]
fn an_error_of_the_source_comes_through() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    let rows: [Result<Vec<Cell<'_>>, Stopped>; 2] =
        [Ok(bench.cells(&[1], &[2])), Err(Stopped::Source)];
    let refused = bench.tree.build(&mut tx, Fill::default(), rows);
    assert!(matches!(refused, Err(Stopped::Source)), "{refused:?}");
    tx.commit().unwrap();
    assert!(walk(&bench.tree).pages.is_empty());
}

/// Wherever the log ends, the tree has a prefix of the rows, by whole leaves; and the unit can be
/// freed with all its pages.
#[test]
fn a_crash_leaves_the_leaves_that_were_written() {
    for (is_base, is_wide) in [(true, true), (false, false)] {
        let bench = Bench::new(is_base);
        let model = rows(90, is_wide, 1500, &mut SplitMix64::new(45));
        let mut tx = bench.begin();
        build(&bench, &mut tx, Fill { percent: 80, pads: true }, &model).unwrap();
        drop(tx);
        let mut most = 0;
        let cut_off = after_every_record(&bench.records(), is_base, &mut |_, restarted, _| {
            let seen = walk(&restarted.tree);
            assert!(seen.rows.len() >= most, "rows have gone");
            most = seen.rows.len();
            assert!(seen.rows.iter().eq(model.iter().take(most)), "not the first {most} rows");
            assert_eq!(seen.pages, restarted.pages());
            give_back(restarted);
        });
        assert_eq!(most, model.len());
        assert!(cut_off > 50, "{cut_off} leaves were cut off");
    }
}

/// As the engine does when it takes the row of a unit back that the transaction has made.
fn give_back(bench: &Bench) {
    let unit = bench.tree.unit();
    let freed = extentdb_change::in_own_system(&*bench.space, "DeallocUnit", |sys| {
        let freed = bench.space.free_unit(sys, unit)?;
        bench.space.clear_pointers(sys, unit)?;
        Ok::<_, extentdb_space::Error>(freed)
    });
    bench.space.release(freed.unwrap()).unwrap();
    assert!(bench.pages().is_empty() && unit.root().is_none());
}

#[test]
fn a_build_without_room_in_the_log_leaves_a_sound_tree() {
    for most in 2000..2030 {
        let bench = Bench::with(&Setup { has_small_log: true, ..Setup::of(true) });
        let model = rows(4000, true, most, &mut SplitMix64::new(most));
        let mut tx = bench.begin();
        let refused = build(&bench, &mut tx, Fill::default(), &model);
        assert!(matches!(refused, Err(Error::Space(_) | Error::Change(_))), "{refused:?}");
        tx.commit().unwrap();
        let seen = walk(&bench.tree);
        assert!(!seen.rows.is_empty() && seen.rows.iter().eq(model.iter().take(seen.rows.len())));
        assert_eq!((seen.rows.len() as i64, seen.pages), (bench.counts().rows, bench.pages()));
    }
}

/// In whatever order they come, sorted rows make the tree that rows in order make.
#[test]
fn rows_may_come_in_any_order_to_be_sorted() {
    let mut rng = SplitMix64::new(12);
    for (is_base, is_wide) in [(true, false), (false, true)] {
        let model = rows(900, is_wide, 90, &mut rng);
        let bench = Bench::new(is_base);
        let other = Bench::new(is_base);
        let mut order: Vec<_> = model.iter().collect();
        (1..order.len()).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
        let mut sorter = Sorter::new(bench.tree.shape());
        for (key, value) in order {
            sorter.add(&bench.cells(key, value)).unwrap();
        }
        let sorted = sorter.sort().unwrap();
        assert_eq!(sorted.duplicate().unwrap(), None);
        let mut tx = bench.begin();
        let mut other_tx = other.begin();
        assert_eq!(bench.tree.build_sorted(&mut tx, Fill::default(), &sorted).unwrap(), 900);
        build(&other, &mut other_tx, Fill::default(), &model).unwrap();
        let seen = walk(&bench.tree);
        let expected = walk(&other.tree);
        seen.matches(&bench, &model);
        assert_eq!(seen.leaves, expected.leaves);
        for leaf in &seen.leaves {
            assert!(
                PageRef::new(&bench.page(*leaf))
                    .slot_offsets()
                    .eq(PageRef::new(&other.page(*leaf)).slot_offsets())
            );
        }
    }
}

#[test]
fn two_rows_with_one_key_are_found_when_they_are_sorted() {
    let bench = Bench::new(true);
    let mut sorter = Sorter::new(bench.tree.shape());
    for number in [5, 3, 9, 3, 1] {
        sorter.add(&bench.cells(&key(number, false), &[number as u8])).unwrap();
    }
    assert!(
        sorter.add(&[]).is_err() && sorter.add(&bench.cells(&key(4, false), &[0; 8100])).is_err()
    );
    sorter.add(&bench.cells(&key(2, false), &[2])).unwrap();
    let sorted = sorter.sort().unwrap();
    let row = |record: &[u8]| super::bench::key_and_value(&bench.tree, record);
    assert_eq!(row(&sorted.duplicate().unwrap().unwrap()), (key(3, false), vec![3]));
    let keys: Vec<_> = sorted.in_memory().unwrap().map(|record| row(record).0).collect();
    let expected = [1, 2, 3, 3, 5, 9].map(|number| key(number, false));
    assert_eq!(keys, expected, "what was refused is none of them");
    let mut tx = bench.begin();
    let refused = bench.tree.build_sorted(&mut tx, Fill::default(), &sorted);
    assert!(matches!(refused, Err(Error::Duplicate { .. })), "{refused:?}");
    assert!(bench.tree.unit().root().is_none(), "nothing was written");
}

/// Sorted runs in memory, and how many pages they may have.
#[derive(Debug)]
struct PagesInMemory {
    pages: Vec<Vec<u8>>,
    most: usize,
}

impl SortStore for PagesInMemory {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        assert!(!bytes.is_empty() && bytes.len() <= SORT_PAGE_BYTES);
        if self.pages.len() == self.most {
            return Err(Error::SortStore("full".into()));
        }
        self.pages.push(bytes.to_vec());
        Ok(())
    }

    fn read(&self, page: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(&self.pages[page as usize]);
        Ok(())
    }
}

#[test]
fn rows_that_memory_does_not_hold_are_sorted_in_runs() {
    let mut rng = SplitMix64::new(31);
    for memory in [1000, 20_000, 100_000, 10_000_000] {
        let model = rows(2000, false, 700, &mut rng);
        let bench = Bench::with(&Setup { frames: 2000, ..Setup::of(true) });
        let mut order: Vec<_> = model.iter().collect();
        (1..order.len()).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
        let store = Box::new(PagesInMemory { pages: Vec::new(), most: usize::MAX });
        let mut sorter = Sorter::new(bench.tree.shape()).with_memory_limit(memory, store);
        for (key, value) in order {
            sorter.add(&bench.cells(key, value)).unwrap();
        }
        let sorted = sorter.sort().unwrap();
        assert_eq!(sorted.in_memory().is_some(), memory > 1_000_000, "{memory} bytes");
        assert_eq!(sorted.duplicate().unwrap(), None);
        let mut tx = bench.begin();
        assert_eq!(bench.tree.build_sorted(&mut tx, Fill::default(), &sorted).unwrap(), 2000);
        tx.commit().unwrap();
        walk(&bench.tree).matches(&bench, &model);
    }
}

#[test]
fn a_duplicate_in_two_runs_is_found_and_a_full_store_reported() {
    let bench = Bench::new(true);
    let store = Box::new(PagesInMemory { pages: Vec::new(), most: usize::MAX });
    let mut sorter = Sorter::new(bench.tree.shape()).with_memory_limit(1000, store);
    for number in (0..100).chain([40]) {
        sorter.add(&bench.cells(&key(number, false), &[number as u8; 100])).unwrap();
    }
    let sorted = sorter.sort().unwrap();
    let twice = sorted.duplicate().unwrap().unwrap();
    assert_eq!(super::bench::key_and_value(&bench.tree, &twice).0, key(40, false));
    let mut tx = bench.begin();
    let refused = bench.tree.build_sorted(&mut tx, Fill::default(), &sorted);
    assert!(matches!(refused, Err(Error::Duplicate { .. })), "{refused:?}");
    assert!(bench.tree.unit().root().is_none(), "nothing was written");

    let store = Box::new(PagesInMemory { pages: Vec::new(), most: 3 });
    let mut sorter = Sorter::new(bench.tree.shape()).with_memory_limit(1000, store);
    let mut add = |number| sorter.add(&bench.cells(&key(number, false), &[7; 100]));
    let refused = (0..500).map(&mut add).find_map(Result::err);
    assert!(matches!(refused, Some(Error::SortStore(_))), "{refused:?}");
}
