//! Extents and pages: who gets which, and what a rollback leaves.

mod support;

use std::collections::BTreeMap;

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_PFS};
use extentdb_base::sync::Arc;
use extentdb_base::{FileId, PageId};
use extentdb_change::{in_system, roll_back_system};
use extentdb_format::allocation::bitmap::MapKind;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::{Error, FileDescription, PageForm, Unit};
use support::*;

#[test]
fn the_first_eight_pages_of_a_unit_are_single_pages_of_mixed_extents() {
    let bench = bench(&[file(1, 800, 64)], true);
    let unit = unit(300);
    let pages = bench.allocate(&unit, 10);
    let (singles, rest) = pages.split_at(8);
    assert!(singles.iter().all(|page| bench.pfs(*page).is_mixed()), "{singles:?}");
    assert!(rest.iter().all(|page| !bench.pfs(*page).is_mixed()), "{rest:?}");
    assert!(pages.iter().all(|page| bench.pfs(*page).is_allocated()));
    let owned = bench.space.owned_by(&unit).unwrap();
    assert_eq!((owned.iams, owned.singles.as_slice(), owned.extents.len()), (1, singles, 1));
    let counts = unit.counts().0;
    assert_eq!((counts.used, counts.reserved), (10 + 1, 8 + 1 + i64::from(PAGES_PER_EXTENT)));
}

#[test]
fn without_mixed_pages_a_unit_begins_with_an_extent_of_its_own() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = unit(300);
    let pages = bench.allocate(&unit, 9);
    let owned = bench.space.owned_by(&unit).unwrap();
    assert_eq!((owned.singles.len(), owned.extents.len()), (0, 2));
    assert!(pages[..8].iter().all(|page| page.extent() == owned.extents[0]));
    assert!(!bench.bit(MapKind::Gam, pages[0]), "the extent is not free");
    assert!(bench.bit(MapKind::Diff, pages[0]) || bench.space.unmarked_extents() > 0);
}

#[test]
fn two_units_never_get_the_same_page() {
    let bench = bench(&[file(1, 800, 64)], true);
    let one = unit(300);
    let other = unit(301);
    let mut all: Vec<PageId> = Vec::new();
    for _ in 0..6 {
        all.extend(bench.allocate(&one, 5));
        all.extend(bench.allocate(&other, 3));
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn files_of_a_group_fill_in_proportion_to_their_free_extents() {
    let bench = bench(&[file(1, 1600, 64), file(3, 6400, 64)], false);
    let unit = unit(300);
    let mut taken: BTreeMap<FileId, u32> = BTreeMap::new();
    for page in bench.allocate(&unit, 8 * 200) {
        *taken.entry(page.file).or_default() += 1;
    }
    let small = taken[&FileId(1)] / PAGES_PER_EXTENT;
    let large = taken[&FileId(3)] / PAGES_PER_EXTENT;
    assert_eq!(small + large, 200);
    assert!((35..=45).contains(&small), "one in five of the free extents, {small} of 200");
}

#[test]
fn a_full_file_grows_by_its_increment() {
    let bench = bench(&[file(1, 64, 128)], false);
    let unit = unit(300);
    bench.allocate(&unit, 8 * 8);
    let file = bench.space.file(FileId(1)).unwrap();
    assert_eq!(file.pages(), 64 + 128);
    let header = bench.space.pool().read(PageId::new(1, 0)).unwrap();
    assert_eq!(FileHeaderView::new(&header).header().size, Some(64 + 128));
}

#[test]
fn growth_past_a_pfs_interval_formats_the_next_pfs_page() {
    let bench = bench(&[file(1, 8000, 128)], false);
    bench.space.grow_to(FileId(1), PAGES_PER_PFS + 80).unwrap();
    let map = PageId::new(1, PAGES_PER_PFS);
    assert!(bench.pfs(map).is_allocated());
    assert!(!bench.bit(MapKind::Gam, map), "the extent of a map page is never handed out");
    let unit = unit(300);
    let free = bench.free_extents() as usize;
    let pages = bench.allocate(&unit, 8 * (free - 1));
    assert!(pages.iter().any(|page| page.page > PAGES_PER_PFS));
    assert!(pages.iter().all(|page| page.extent() != map.extent()));
}

#[test]
fn a_group_that_may_not_grow_is_full_and_nothing_has_changed() {
    let limited = FileDescription { pages_max: Some(80), ..file(1, 80, 64) };
    let bench = bench(&[limited], false);
    let filler = unit(300);
    bench.allocate(&filler, 8 * (bench.free_extents() as usize - 1));
    let late = unit(301);
    let mut tx = bench.begin();
    let refused = bench.space.allocate_page(&mut tx, &late).unwrap_err();
    assert!(matches!(refused, Error::FilegroupFull { group: 1, growth: None }), "{refused}");
    assert_eq!(late.counts().0, Default::default());
    assert!(late.first_iam().is_none());
}

/// What a unit and the maps say, to compare.
fn state(bench: &Bench, unit: &Unit) -> (u32, Vec<PageId>, extentdb_space::UnitCounts) {
    let pages = bench.space.pages_of(unit).unwrap();
    (bench.free_extents(), pages, unit.counts().0)
}

#[test]
fn a_system_transaction_that_is_rolled_back_gives_back_pages_and_counts() {
    let bench = bench(&[file(1, 800, 64)], true);
    let unit = unit(300);
    bench.allocate(&unit, 9);
    let before = state(&bench, &unit);
    let pointers = unit.pointers();
    let mut system = bench.begin_system();
    let page = bench.space.allocate_page(&mut system, &unit).unwrap();
    bench.space.roll_back_system_of(system, &unit, pointers).unwrap();
    unit.forget_chain();
    assert!(!bench.pfs(page).is_allocated());
    assert_eq!(state(&bench, &unit), before);
    assert_eq!(bench.allocate(&unit, 1), [page], "it is handed out again");
}

#[test]
fn a_single_page_whose_claim_is_rolled_back_is_handed_out_again() {
    let bench = bench(&[file(1, 800, 64)], true);
    let [first, second] = [300, 301].map(unit);
    bench.allocate(&first, 2);
    bench.allocate(&second, 2);
    let free = bench.space.free_mixed_pages();
    let pointers = first.pointers();
    let mut system = bench.begin_system();
    let page = bench.space.allocate_page(&mut system, &first).unwrap();
    bench.space.roll_back_system_of(system, &first, pointers).unwrap();
    first.forget_chain();
    assert_eq!(bench.space.free_mixed_pages(), free);
    assert!(bench.bit(MapKind::Sgam, page), "a restart finds it");
    assert_eq!(bench.allocate(&second, 1), [page]);
}

#[test]
fn work_that_fails_inside_a_transaction_is_rolled_back_at_once() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = unit(300);
    bench.allocate(&unit, 8);
    let free = bench.free_extents();
    let mut tx = bench.begin();
    let refused = in_system(&bench.space, &mut tx, "test", |system| {
        bench.space.allocate_page(system, &unit)?;
        Err::<(), Error>(Error::NoFilegroup { group: 7 })
    });
    assert!(matches!(refused, Err(Error::NoFilegroup { group: 7 })));
    unit.forget_chain();
    // The extent itself was allocated by a system transaction of its own, and stays.
    assert_eq!(bench.free_extents(), free - 1);
    assert_eq!(bench.space.pages_of(&unit).unwrap().len(), 8);
}

#[test]
fn a_freed_unit_is_free_after_the_release_only() {
    let bench = bench(&[file(1, 800, 64)], true);
    let dropped = unit(300);
    let pages = bench.allocate(&dropped, 20);
    let free = bench.free_extents();
    let mut tx = bench.begin();
    let freed = bench.space.free_unit(&mut tx, &dropped).unwrap();
    assert!(pages.iter().all(|page| !bench.pfs(*page).is_allocated()));
    assert_eq!(bench.free_extents(), free, "the drop may still be rolled back");
    let other = bench.allocate(&unit(301), 20);
    assert!(other.iter().all(|page| !pages.contains(page)));
    tx.commit().unwrap();
    let free = bench.free_extents();
    bench.space.release(freed).unwrap();
    assert_eq!(bench.free_extents(), free + 2);
}

#[test]
fn a_drop_that_is_rolled_back_leaves_the_unit_as_it_was() {
    let bench = bench(&[file(1, 800, 64)], true);
    let unit = unit(300);
    bench.allocate(&unit, 20);
    let before = bench.space.pages_of(&unit).unwrap();
    let mut tx = bench.begin();
    let freed = bench.space.free_unit(&mut tx, &unit).unwrap();
    roll_back_system(&bench.space, tx).unwrap();
    drop(freed);
    assert_eq!(bench.space.pages_of(&unit).unwrap(), before);
    assert!(before.iter().all(|page| bench.pfs(*page).is_allocated()));
}

#[test]
fn a_fullness_that_does_not_change_is_not_logged() {
    let bench = bench(&[file(1, 800, 64)], false);
    let [page] = bench.allocate(&unit(300), 1)[..] else { unreachable!("one page") };
    let full = |old: extentdb_format::allocation::pfs::PfsByte| old.with_fullness(Fullness::UpTo95);
    assert!(bench.space.set_free_space(page, full).unwrap());
    assert_eq!(bench.pfs(page).fullness(), Some(Fullness::UpTo95));
    let last = bench.log.last();
    assert!(!bench.space.set_free_space(page, full).unwrap());
    assert_eq!(bench.log.last(), last);
}

fn form() -> PageForm {
    PageForm {
        kind: PageType::Data,
        level: 0,
        pminlen: 8,
        context: Context::HEAP,
        prev: PageId::NONE,
        next: PageId::NONE,
        type_flag_bits: 0,
        flag_bits: 0,
    }
}

#[test]
fn pages_allocated_in_advance_and_not_used_are_given_back() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = unit(300);
    let mut tx = bench.begin();
    let run =
        bench.space.append_formatted_pages(&mut tx, &unit, Fullness::UpTo100, &form()).unwrap();
    tx.commit().unwrap();
    assert_eq!(run.len(), PAGES_PER_EXTENT as usize);
    assert!(run.iter().all(|page| bench.pfs(*page).fullness() == Some(Fullness::UpTo100)));
    let unused = run[5..].to_vec();
    bench
        .space
        .update_pfs(&unit, run[0], run.len() as u32, |page, old| {
            old.with_allocated(!unused.contains(&page))
        })
        .unwrap();
    assert_eq!(unit.counts().0.used, 5 + 1);
    assert_eq!(bench.allocate(&unit, 3), unused);
}

/// So many extents for these units in turn, each in a transaction of its own: their pages.
fn take_extents(bench: &Bench, units: &[Unit], extents: usize) -> Vec<PageId> {
    let mut taken = Vec::new();
    for turn in 0..extents {
        let unit = &units[turn % units.len()];
        let mut tx = bench.begin();
        let run = bench.space.append_formatted_pages(&mut tx, unit, Fullness::UpTo100, &form());
        taken.extend(run.unwrap());
        tx.commit().unwrap();
    }
    taken
}

#[test]
fn maps_are_exact_after_two_threads_have_allocated_extents() {
    const EXTENTS: usize = 150;
    // Files that grow meanwhile, of unequal size.
    let bench = bench(&[file(1, 800, 64), file(3, 400, 128)], false);
    let units = [[300, 301], [302, 303]].map(|pair| pair.map(unit));
    let shared = [unit(304)];
    let take = |own: &[Unit]| {
        let mut pages = take_extents(&bench, own, EXTENTS);
        pages.extend(take_extents(&bench, &shared, EXTENTS / 3));
        pages
    };
    let runs: Vec<Vec<PageId>> = std::thread::scope(|scope| {
        let threads: Vec<_> = units.iter().map(|own| scope.spawn(|| take(own))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut taken: Vec<PageId> = runs.concat();
    taken.sort_unstable();
    let count = taken.len();
    taken.dedup();
    assert_eq!((taken.len(), count), (count, 8 * 2 * (EXTENTS + EXTENTS / 3)));
    // IAM has exactly the pages that were handed out, and the counters of units know them.
    let mut owned: Vec<PageId> = Vec::new();
    let mut reserved: BTreeMap<FileId, u32> = BTreeMap::new();
    for unit in units.iter().flatten().chain(&shared) {
        let own = bench.space.owned_by(unit).unwrap();
        let counts = unit.counts().0;
        let data = 8 * own.extents.len() as i64;
        assert_eq!(
            (counts.used, counts.reserved),
            (data + own.iams as i64, data + own.iams as i64)
        );
        assert!(own.singles.is_empty());
        for extent in &own.extents {
            *reserved.entry(extent.file).or_default() += 1;
            owned.extend(extent.pages());
        }
    }
    owned.sort_unstable();
    assert_eq!(owned, taken);
    // GAM, SGAM and PFS say the same, and memory agrees with GAM.
    for page in &taken {
        assert!(!bench.bit(MapKind::Gam, *page) && !bench.bit(MapKind::Sgam, *page), "{page}");
        let state = bench.pfs(*page);
        assert!(state.is_allocated() && !state.is_mixed(), "{page}: {state:?}");
        assert_eq!(state.fullness(), Some(Fullness::UpTo100), "{page}");
    }
    for file in bench.space.files() {
        let first = |extent: u32| PageId { file: file.id(), page: extent * PAGES_PER_EXTENT };
        let in_map = |extent: &u32| bench.bit(MapKind::Gam, first(*extent));
        let free: Vec<u32> = (0..file.extents()).filter(in_map).collect();
        let known: Vec<u32> = (0..file.extents()).filter(|extent| file.is_free(*extent)).collect();
        assert_eq!(free, known, "{file:?}");
        assert_eq!(file.free_extents() as usize, free.len());
        // What is neither free nor owned holds the file's own maps and the mixed extents of IAMs.
        let others = file.extents() - free.len() as u32 - reserved[&file.id()];
        assert!(others <= 1 + bench.mixed_extents(file.id()), "{others} extents are nobody's");
    }
}

#[test]
fn pages_that_are_freed_are_nobodys_until_they_are_released() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = Arc::new(unit(300));
    let pages = bench.allocate(&unit, 24);
    let free = bench.free_extents();

    let mut tx = bench.begin();
    // A whole extent, and a part of the next one.
    let freed = bench.space.free_pages(&mut tx, &unit, &pages[8..19]).unwrap();
    assert!(bench.bit(MapKind::Gam, pages[8]) && !bench.bit(MapKind::Gam, pages[16]));
    assert!(pages[8..19].iter().all(|page| !bench.pfs(*page).is_allocated()));
    unit.forget_chain();
    let next = bench.allocate(&unit, 8);
    assert!(next.iter().all(|page| !pages.contains(page)), "{next:?}");
    assert_eq!(bench.free_extents(), free - 1);
    tx.commit().unwrap();
    bench.space.release(freed).unwrap();
    assert_eq!(bench.free_extents(), free);
    assert_eq!(bench.allocate(&unit, 3), pages[16..19], "the unit gets its own pages again");
    let counts = unit.counts().0;
    let owned = bench.space.owned_by(&unit).unwrap();
    assert_eq!(counts.reserved, 1 + 8 * owned.extents.len() as i64);
    assert_eq!(counts.used, 1 + bench.space.pages_of(&unit).unwrap().len() as i64);
}

#[test]
fn pages_that_were_freed_are_the_units_again_after_a_rollback() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = Arc::new(unit(300));
    let pages = bench.allocate(&unit, 24);
    let free = bench.free_extents();
    let tx = &mut bench.begin_system();
    let _ = bench.space.free_pages(tx, &unit, &pages[3..10]).unwrap();
    let freed = bench.space.free_pages(tx, &unit, &pages[10..16]).unwrap();
    assert!(bench.bit(MapKind::Gam, pages[8]), "both statements have freed the extent");
    drop(freed);
    let tx = std::mem::replace(tx, bench.begin_system());
    roll_back_system(&bench.space, tx).unwrap();
    assert!(pages.iter().all(|page| bench.pfs(*page).is_allocated()));
    assert_eq!((bench.free_extents(), bench.space.pages_of(&unit).unwrap()), (free, pages));
    assert!(!bench.allocate(&unit, 8).is_empty());
}

/// The rollback of a freed page finds the byte of PFS as it left it, whatever others say of a page
/// that they have still latched.
#[test]
fn the_pfs_byte_of_a_freed_page_is_kept_until_the_transaction_ends() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = Arc::new(unit(300));
    let pages = bench.allocate(&unit, 12);
    let mut tx = bench.begin_system();
    let _ = bench.space.free_pages(&mut tx, &unit, &pages[9..10]).unwrap();
    let with_ghosts = |page| bench.space.set_free_space(page, |state| state.with_ghosts(true));
    assert!(!with_ghosts(pages[9]).unwrap());
    roll_back_system(&bench.space, tx).unwrap();
    assert!(with_ghosts(pages[9]).unwrap() && bench.pfs(pages[9]).has_ghosts());
}

#[test]
fn a_page_of_a_mixed_extent_is_not_freed_by_itself() {
    let bench = bench(&[file(1, 800, 64)], true);
    let unit = Arc::new(unit(300));
    let pages = bench.allocate(&unit, 2);
    let mut tx = bench.begin();
    assert!(bench.space.is_mixed(pages[0]).unwrap());
    let refused = bench.space.free_pages(&mut tx, &unit, &pages);
    assert!(matches!(refused, Err(Error::Maps { .. })), "{refused:?}");
}

#[test]
fn pages_that_a_loser_has_freed_are_not_handed_out_before_its_undo() {
    let bench = bench(&[file(1, 800, 64)], false);
    let unit = Arc::new(unit(300));
    let pages = bench.allocate(&unit, 9);
    unit.forget_chain();
    bench.space.retake_pages(bench.begin().id(), [PageId { page: pages[8].page + 1, ..pages[8] }]);
    assert_eq!(bench.allocate(&unit, 1)[0].page, pages[8].page + 2);
}
