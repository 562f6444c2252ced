//! Mixed extents: a page that PFS calls free is found through SGAM, whichever session claimed, freed,
//! committed and rolled back around it, and none is handed out twice.

mod support;

use std::collections::BTreeSet;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM};
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_engine::{Database, Session, Table};
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_io::MemDisk;
use extentdb_space::Unit;
use extentdb_txn::{Transaction, TransactionKind};
use support::*;

const FILE: FileId = FileId(1);

fn states(db: &Database, extent: Extent) -> Vec<PfsByte> {
    let first = extent.first_page().page;
    db.space().pfs_bytes(extent.file, first..first + PAGES_PER_EXTENT).unwrap()
}

fn free_pages(db: &Database, extent: Extent) -> usize {
    states(db, extent).iter().filter(|state| !state.is_allocated()).count()
}

fn is_hinted(db: &Database, extent: Extent) -> bool {
    let first = extent.first_page();
    let map = db.pool().read(MapKind::Sgam.page_of(first)).unwrap();
    MapView::new(&map, MapKind::Sgam).bitmap().get(first.page % PAGES_PER_GAM / PAGES_PER_EXTENT)
}

/// Extents of the primary file, by what SGAM says about them.
fn hinted(db: &Database) -> Vec<Extent> {
    let extents = db.space().file(FILE).unwrap().extents();
    (0..extents)
        .map(|index| Extent { file: FILE, index })
        .filter(|extent| is_hinted(db, *extent))
        .collect()
}

/// Mixed extents with free pages and without their bit in SGAM. An extent is known to be mixed by a
/// page that is allocated.
fn unreachable(db: &Database) -> Vec<Extent> {
    let extents = db.space().file(FILE).unwrap().extents();
    let is_mixed = |extent: &Extent| {
        states(db, *extent)
            .iter()
            .any(|state| state.is_allocated() && state.is_mixed() && !state.is_iam())
    };
    let all = (0..extents).map(|index| Extent { file: FILE, index });
    all.filter(|extent| is_mixed(extent) && free_pages(db, *extent) > 0 && !is_hinted(db, *extent))
        .collect()
}

fn wide(id: i32) -> extentdb_engine::Row {
    person(id, &"w".repeat(3990))
}

/// A heap with a page and its IAM page.
fn small_table(session: &mut Session<'_>, name: &str) -> Arc<Table> {
    let table = session.create_table(&people(name)).unwrap();
    session.insert(&table, &wide(0)).unwrap();
    session.insert(&table, &wide(1)).unwrap();
    table
}

/// Fills mixed extents, a page at a time, until the only one with free pages has this many.
fn fill_until(db: &Database, session: &mut Session<'_>, left: usize) -> Extent {
    for number in 0.. {
        let filler = small_table(session, &format!("filler_{number}"));
        for id in 2..14 {
            if let [extent] = hinted(db)[..]
                && free_pages(db, extent) == left
            {
                return extent;
            }
            session.insert(&filler, &wide(id)).unwrap();
        }
    }
    unreachable!("there is a next number")
}

/// A page for a unit, claimed by a system transaction that stays open.
fn claim(db: &Database, unit: &Unit) -> (Transaction, PageId) {
    let mut tx = db.space().transactions().begin(TransactionKind::System, "claim");
    let page = db.space().allocate_page(&mut tx, unit).unwrap();
    (tx, page)
}

fn create(name: &str) -> (MemDisk, Database) {
    let disk = MemDisk::new();
    let db = Database::create(&spec(name), on(&disk)).unwrap();
    (disk, db)
}

#[test]
fn undo_of_a_claim_makes_its_page_reachable_again() {
    let (disk, db) = create("undo");
    let mut session = db.session();
    let tables = ["a", "b"].map(|name| small_table(&mut session, name));
    let extent = fill_until(&db, &mut session, 2);
    let [first, last] = tables.map(|table| table.unit());
    let pointers = first.pointers();
    let (claimed_first, page) = claim(&db, &first);
    let (claimed_last, _) = claim(&db, &last);
    let pointers_of_last = last.pointers();
    db.space().roll_back_system_of(claimed_first, &first, pointers).unwrap();
    first.forget_chain();
    assert_eq!((page.extent(), free_pages(&db, extent)), (extent, 1));
    assert!(is_hinted(&db, extent), "{page} is free");
    let (again, same) = claim(&db, &first);
    assert_eq!(same, page, "it is handed out again at once");
    db.space().roll_back_system_of(again, &first, pointers).unwrap();
    first.forget_chain();
    db.space().roll_back_system_of(claimed_last, &last, pointers_of_last).unwrap();
    last.forget_chain();
    drop(session);
    close_and_check(db, &disk, &spec("undo").paths());
}

#[test]
fn claim_during_an_open_drop_keeps_the_hint() {
    let (disk, db) = create("drop");
    let mut session = db.session();
    let extent = fill_until(&db, &mut session, 4);
    let victim = small_table(&mut session, "victim");
    let other = small_table(&mut session, "other");
    assert_eq!((free_pages(&db, extent), is_hinted(&db, extent)), (0, false));
    let own = db.space().owned_by(&victim.unit()).unwrap().singles;
    drop(session);
    let mut dropper = db.session();
    dropper.begin();
    dropper.drop_table(&victim).unwrap();
    assert!(
        is_hinted(&db, extent),
        "before the commit, so that a crash behind it leaves no page behind"
    );
    // Claims and drops of others, in the same extent.
    let mut session = db.session();
    for number in 0..3 {
        let table = small_table(&mut session, &format!("t{number}"));
        let pages = db.space().owned_by(&table.unit()).unwrap().singles;
        assert!(pages.iter().all(|page| !own.contains(page)), "what is dropped is not free yet");
    }
    session.drop_table(&other).unwrap();
    dropper.commit().unwrap();
    assert_eq!(free_pages(&db, extent), 4);
    assert!(is_hinted(&db, extent));
    drop((session, dropper, victim, other));
    close_and_check(db, &disk, &spec("drop").paths());
}

#[test]
fn the_last_known_page_may_be_claimed_while_a_drop_is_open() {
    let (disk, db) = create("last");
    let mut session = db.session();
    let taker = small_table(&mut session, "taker").unit();
    let (extent, victim) = extent_with_victim(&db, &mut session);
    let mut dropper = db.session();
    dropper.begin();
    dropper.drop_table(&victim).unwrap();
    // The only page of the extent that nobody has dropped.
    let pointers = taker.pointers();
    let (claimed, page) = claim(&db, &taker);
    assert_eq!(page.extent(), extent);
    dropper.commit().unwrap();
    assert_eq!(unreachable(&db), []);
    assert!(is_hinted(&db, extent));
    db.space().roll_back_system_of(claimed, &taker, pointers).unwrap();
    taker.forget_chain();
    drop((session, dropper, victim));
    close_and_check(db, &disk, &spec("last").paths());
}

/// A mixed extent with two pages of a table that is to be dropped and one free page.
fn extent_with_victim(db: &Database, session: &mut Session<'_>) -> (Extent, Arc<Table>) {
    for number in 0..100 {
        let filler = small_table(session, &format!("before_{number}"));
        let victim = small_table(session, &format!("victim_{number}"));
        let singles = db.space().owned_by(&victim.unit()).unwrap().singles;
        for id in 2..6 {
            if let [extent] = hinted(db)[..]
                && free_pages(db, extent) == 1
                && singles.iter().any(|page| page.extent() == extent)
            {
                return (extent, victim);
            }
            session.insert(&filler, &wide(id)).unwrap();
        }
    }
    panic!("no extent becomes that full")
}

#[test]
fn rollback_of_a_drop_removes_the_hint() {
    let (disk, db) = create("kept");
    let mut session = db.session();
    let extent = fill_until(&db, &mut session, 2);
    let victim = small_table(&mut session, "victim");
    assert!(!is_hinted(&db, extent));
    session.begin();
    session.save("before").unwrap();
    session.drop_table(&victim).unwrap();
    assert!(is_hinted(&db, extent));
    session.rollback_to("before").unwrap();
    assert!(!is_hinted(&db, extent), "after a rollback to a savepoint");
    session.drop_table(&victim).unwrap();
    session.rollback().unwrap();
    assert!(!is_hinted(&db, extent), "after a rollback");
    drop((session, victim));
    close_and_check(db, &disk, &spec("kept").paths());
}

#[test]
fn an_extent_whose_pages_are_all_free_is_found_after_a_crash() {
    let (disk, db) = create("all_free");
    let mut session = db.session();
    fill_until(&db, &mut session, 2);
    let victims: Vec<Arc<Table>> =
        (0..5).map(|n| small_table(&mut session, &format!("v{n}"))).collect();
    db.checkpoint().unwrap();
    session.begin();
    victims.iter().for_each(|victim| session.drop_table(victim).unwrap());
    session.commit().unwrap();
    let expected = db.space().free_mixed_pages();
    drop((session, victims));
    drop(db);
    let disk = disk.crash(&mut SplitMix64::new(7));
    let db = reopen(&disk, &spec("all_free").paths());
    assert_eq!(unreachable(&db), []);
    assert_eq!(db.space().free_mixed_pages(), expected);
    close_and_check(db, &disk, &spec("all_free").paths());
}

#[test]
fn interrupted_claim_leaks_no_page() {
    let (disk, db) = create("cut");
    let mut session = db.session();
    let tables = ["a", "b"].map(|name| small_table(&mut session, name));
    let extent = fill_until(&db, &mut session, 1);
    let units = tables.map(|table| table.unit());
    let (claimed, page) = claim(&db, &units[0]);
    assert_eq!((page.extent(), free_pages(&db, extent)), (extent, 0));
    // Makes the claim durable, and it stays open.
    session.create_table(&people("later")).unwrap();
    drop(claimed);
    drop((session, units));
    drop(db);
    let disk = disk.crash(&mut SplitMix64::new(3));
    let db = reopen(&disk, &spec("cut").paths());
    assert_eq!((free_pages(&db, extent), is_hinted(&db, extent)), (1, true));
    close_and_check(db, &disk, &spec("cut").paths());
}

/// A new mixed extent is logged and its transaction is not: the undo gives the extent back, and its
/// pages with it.
#[test]
fn a_mixed_extent_that_a_crash_interrupts_is_free_once() {
    for calls in 0..60 {
        let (disk, db) = create("begun");
        let mut session = db.session();
        fill_until(&db, &mut session, 1);
        let table = session.create_table(&people("t")).unwrap();
        disk.fail_after(calls);
        let _ = session.insert(&table, &wide(1));
        drop((session, table));
        drop(db);
        let disk = disk.crash(&mut SplitMix64::new(calls));
        let db = reopen(&disk, &spec("begun").paths());
        let file = db.space().file(FILE).unwrap();
        let twice: Vec<PageId> = db.space().free_mixed_pages();
        assert!(twice.iter().all(|page| !file.is_free(page.extent().index)), "{calls}: {twice:?}");
        close_and_check(db, &disk, &spec("begun").paths());
    }
}

fn insert_and_delete(db: &Database, worker: u64) {
    let mut rng = SplitMix64::new(worker);
    let mut session = db.session();
    for number in 0..40 {
        session.begin();
        let table = small_table(&mut session, &format!("w{worker}_{number}"));
        if rng.below(3) == 0 {
            session.rollback().unwrap();
            continue;
        }
        session.commit().unwrap();
        if rng.below(3) > 0 {
            session.begin();
            session.drop_table(&table).unwrap();
            let ended = if rng.below(3) == 0 { session.rollback() } else { session.commit() };
            ended.unwrap();
        }
    }
}

#[test]
fn threads_that_create_and_drop_leave_every_free_page_reachable() {
    let (disk, db) = create("threads");
    thread::scope(|scope| {
        for worker in 0..4 {
            let db = &db;
            scope.spawn(move || insert_and_delete(db, worker));
        }
    });
    assert_eq!(unreachable(&db), []);
    let before = db.space().free_mixed_pages();
    close_and_check(db, &disk, &spec("threads").paths());
    let db = reopen(&disk, &spec("threads").paths());
    assert_eq!(db.space().free_mixed_pages(), before, "memory is what the maps say");
    let different: BTreeSet<PageId> = before.iter().copied().collect();
    assert_eq!(different.len(), before.len());
}
