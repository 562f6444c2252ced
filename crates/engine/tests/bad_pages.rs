//! One bad page: it is named, its object fails, everything else works, closes and opens again.

mod support;

use extentdb_base::sync::Arc;
use std::collections::BTreeMap;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, PageId};
use extentdb_engine::{
    Address, Database, Error, IndexSpec, Paths, Row, Session, StatementEnd, Table, TableSpec,
};
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_io::{Durability, MemDisk};
use extentdb_types::Datum;
use support::*;

/// Two tables with an index each, closed cleanly.
fn two_tables() -> (MemDisk, Paths) {
    let disk = MemDisk::new();
    let db = Database::create(&spec("bad"), on(&disk)).unwrap();
    let mut session = db.session();
    for name in ["left", "right"] {
        let table = session.create_table(&people(name)).unwrap();
        session.create_index(&table, &IndexSpec::new("by_id", &["id"]).unique()).unwrap();
        session.begin();
        for id in 0..60 {
            session.insert(&table, &person(id, &"y".repeat(700))).unwrap();
        }
        session.commit().unwrap();
    }
    let columns = people("c").columns;
    let clustered =
        TableSpec::heap("clustered", columns).clustered(IndexSpec::new("c", &["id"]).unique());
    let table = session.create_table(&clustered).unwrap();
    for id in 0..60 {
        session.insert(&table, &person(id, &"z".repeat(400))).unwrap();
    }
    drop((session, table));
    db.close().unwrap();
    (disk, spec("bad").paths())
}

fn copy_of(disk: &MemDisk, paths: &Paths) -> MemDisk {
    let copy = MemDisk::new();
    for path in paths.data.iter().chain([&paths.log]) {
        copy.put(path, disk.contents(path).unwrap());
    }
    copy
}

/// The same files with one byte of a page changed.
fn with_bad_page(disk: &MemDisk, paths: &Paths, page: usize) -> MemDisk {
    let copy = copy_of(disk, paths);
    let mut bytes = copy.contents(&paths.data[0]).unwrap();
    bytes[page * PAGE_BYTES + 1000] ^= 0x55;
    copy.put(&paths.data[0], bytes);
    copy
}

/// The page is what it was at the crash.
fn put_page_back(crashed: &MemDisk, damaged: &MemDisk, paths: &Paths, page: PageId) {
    let mut bytes = damaged.contents(&paths.data[0]).unwrap();
    let sound = crashed.contents(&paths.data[0]).unwrap();
    let range = page.page as usize * PAGE_BYTES..(page.page as usize + 1) * PAGE_BYTES;
    bytes[range.clone()].copy_from_slice(&sound[range]);
    damaged.put(&paths.data[0], bytes);
}

/// Pages of the file that were ever written.
fn pages(disk: &MemDisk, paths: &Paths) -> Vec<usize> {
    let bytes = disk.contents(&paths.data[0]).unwrap();
    let (pages, _) = bytes.as_chunks::<PAGE_BYTES>();
    let is_written = |page: &[u8; PAGE_BYTES]| page.iter().any(|byte| *byte != 0);
    pages
        .iter()
        .enumerate()
        .filter(|(_, page)| is_written(page))
        .map(|(number, _)| number)
        .collect()
}

/// Adds a row to each table; those that cannot take one say which page it is.
fn work(db: &Arc<Database>, page: usize) -> usize {
    let mut session = db.session();
    let mut worked = 0;
    for name in ["left", "right", "clustered"] {
        let done =
            session.table(name).and_then(|table| session.insert(&table, &person(1000, "new")));
        match done {
            Ok(_) => worked += 1,
            Err(error) => assert_names(&error, page),
        }
    }
    worked
}

fn assert_names(error: &Error, page: usize) {
    let id = PageId::new(1, page as u32);
    let mut chain = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        chain = format!("{chain}: {error}");
        source = error.source();
    }
    // Before the files have their numbers, errors name the path.
    let is_named = chain.contains(&id.to_string()) || chain.contains(&format!("page {page} of"));
    assert!(is_named, "page {id} is damaged, and the error says: {chain}");
}

#[test]
fn bad_page_is_named_and_all_other_pages_are_usable() {
    let (disk, paths) = two_tables();
    let mut refused = BTreeMap::new();
    for page in pages(&disk, &paths) {
        let damaged = with_bad_page(&disk, &paths, page);
        let db = match Database::open(&paths, on(&damaged)) {
            Ok(db) => db,
            Err(error) => {
                assert_names(&error, page);
                let bytes = disk.contents(&paths.data[0]).unwrap();
                let mut image = PageBuf::zeroed();
                image.copy_from_slice(&bytes[page * PAGE_BYTES..][..PAGE_BYTES]);
                refused.insert(page, PageHeader::of(&image).alloc_unit().to_string());
                continue;
            }
        };
        assert!(
            work(&db, page) >= 2 || page < 10,
            "page {page} keeps more than its own table from working"
        );
        let cause = db.offline_cause();
        db.close().unwrap_or_else(|error| panic!("page {page}: {error:?} {cause:?}"));
        let db = Database::open(&paths, on(&damaged))
            .unwrap_or_else(|error| panic!("page {page}: {error:?}"));
        db.close().unwrap();
    }
    // The boot page, page 0, and leaves of the tables that describe all others.
    println!("refused: {refused:?}");
    assert!(
        refused.len() <= 40,
        "{} pages keep the database from opening: {refused:?}",
        refused.len()
    );
}

#[test]
fn redo_of_a_bad_page_is_deferred_to_the_next_opening() {
    let (disk, paths) = two_tables();
    let db = Database::open(&paths, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.table("left").unwrap();
    let at = rows(&mut session, &table)[30].0.clone();
    db.checkpoint().unwrap();
    session.update(&table, &at, &person(30, "changed")).unwrap();
    let other = session.table("right").unwrap();
    session.insert(&other, &person(2000, "other")).unwrap();
    let extentdb_engine::Address::Rid(rid) = at.clone() else { panic!("a heap") };
    drop(session);
    std::mem::forget(db);
    let crashed = copy_of(&disk, &paths);
    let damaged = with_bad_page(&crashed, &paths, rid.page.page as usize);
    for _ in 0..2 {
        let db = Database::open(&paths, on(&damaged)).unwrap();
        assert_eq!(db.suspect_pages().first().map(|suspect| suspect.page), Some(rid.page));
        let mut session = db.session();
        let other = session.table("right").unwrap();
        assert!(ids(&mut session, &other).contains(&2000));
        drop((session, other));
        db.checkpoint().unwrap();
        db.close().unwrap();
    }
    // The page comes back, as it was before the crash: what it lacks is still in the log.
    put_page_back(&crashed, &damaged, &paths, rid.page);
    let db = Database::open(&paths, on(&damaged)).unwrap();
    let mut session = db.session();
    let table = session.table("left").unwrap();
    assert_eq!(session.get(&table, &at).unwrap().map(|row| row[1].clone()), Some(text("changed")));
    drop((session, table));
    close_and_check(db, &damaged, &paths);
}

#[test]
fn deferred_transaction_keeps_its_table_locked() {
    let (disk, paths) = two_tables();
    let db = Database::open(&paths, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.table("left").unwrap();
    let at = rows(&mut session, &table)[30].0.clone();
    session.begin();
    session.update(&table, &at, &person(30, "never committed")).unwrap();
    db.checkpoint().unwrap();
    let extentdb_engine::Address::Rid(rid) = at.clone() else { panic!("a heap") };
    let crashed = copy_of(&disk, &paths);
    std::mem::forget(session);
    std::mem::forget(db);
    let damaged = with_bad_page(&crashed, &paths, rid.page.page as usize);
    for _ in 0..2 {
        let db = Database::open(&paths, on(&damaged)).unwrap();
        assert_eq!(db.deferred_transactions(), 1);
        let mut session = db.session();
        session.set_lock_timeout(extentdb_engine::Timeout::NoWait);
        let table = session.table("left").unwrap();
        assert!(session.insert(&table, &person(5000, "x")).is_err(), "the table is locked");
        let other = session.table("right").unwrap();
        session
            .insert(&other, &person(rid.page.page as i32 + 10_000, "y"))
            .unwrap_or_else(|e| panic!("{e:?}"));
        let key = Datum::Int(rid.page.page as i32 + 10_000);
        let added =
            rows(&mut session, &other).into_iter().find(|(_, row)| row[0] == key).unwrap().0;
        session.delete(&other, &added).unwrap();
        drop((session, table, other));
        db.close().unwrap();
    }
    put_page_back(&crashed, &damaged, &paths, rid.page);
    let db = Database::open(&paths, on(&damaged)).unwrap();
    assert_eq!(db.deferred_transactions(), 0);
    let mut session = db.session();
    let table = session.table("left").unwrap();
    assert_ne!(
        session.get(&table, &at).unwrap().map(|row| row[1].clone()),
        Some(text("never committed"))
    );
    drop((session, table));
    close_and_check(db, &damaged, &paths);
}

/// An open transaction that has changed a row of table `left`, which is on no page in memory any
/// more, and the row's page, which can no longer be read.
struct Undone {
    disk: MemDisk,
    paths: Paths,
    db: Arc<Database>,
    session: Session,
    page: PageId,
}

/// `change` works in an open transaction whose savepoint is `before`.
fn with_lost_page(change: impl FnOnce(&mut Session, &Table, &Address)) -> Undone {
    let (disk, paths) = two_tables();
    let db = Database::open(&paths, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.table("left").unwrap();
    let at = rows(&mut session, &table)[30].0.clone();
    session.begin();
    let other = session.table("right").unwrap();
    session.insert(&other, &person(3000, "of the same transaction")).unwrap();
    session.save("before").unwrap();
    change(&mut session, &table, &at);
    let Address::Rid(rid) = at else { panic!("a heap") };
    db.checkpoint().unwrap();
    db.pool().discard_all();
    // The disk does not open a file twice.
    let file = db.pool().file(FileId(1)).unwrap();
    let offset = rid.page.page as usize * PAGE_BYTES;
    let bytes = turned(&disk, &paths, rid.page);
    file.write_at(offset as u64, &[&bytes], Durability::Through).unwrap();
    drop(file);
    Undone { disk, paths, db, session, page: rid.page }
}

/// The page with one byte changed; of a changed one, the page as it was.
fn turned(disk: &MemDisk, paths: &Paths, page: PageId) -> Vec<u8> {
    let bytes = disk.contents(&paths.data[0]).unwrap();
    let mut bytes = bytes[page.page as usize * PAGE_BYTES..][..PAGE_BYTES].to_vec();
    bytes[1000] ^= 0x55;
    bytes
}

/// The transaction's tables are locked, everything else works, closes and opens again; with the
/// page back, nothing of the transaction is left.
fn assert_deferred(undone: Undone) {
    let Undone { disk, paths, db, mut session, page } = undone;
    assert_eq!(db.offline_cause(), None, "one page does not take the database offline");
    assert_eq!(db.deferred_transactions(), 1);
    assert!(!session.is_in_transaction());
    session.set_lock_timeout(extentdb_engine::Timeout::NoWait);
    for name in ["left", "right"] {
        let refused =
            session.table(name).and_then(|table| session.insert(&table, &person(5000, "x")));
        assert!(matches!(refused, Err(Error::Deferred { .. })), "{name}: {refused:?}");
    }
    let clustered = session.table("clustered").unwrap();
    session.insert(&clustered, &person(5000, "y")).unwrap();
    drop((session, clustered));
    db.close().unwrap();
    let db = Database::open(&paths, on(&disk)).unwrap();
    assert_eq!(db.deferred_transactions(), 1);
    db.close().unwrap();
    let mut bytes = disk.contents(&paths.data[0]).unwrap();
    let offset = page.page as usize * PAGE_BYTES;
    bytes[offset..offset + PAGE_BYTES].copy_from_slice(&turned(&disk, &paths, page));
    disk.put(&paths.data[0], bytes);
    let db = Database::open(&paths, on(&disk)).unwrap();
    assert_eq!(db.deferred_transactions(), 0);
    let mut session = db.session();
    let names = |session: &mut Session, name: &str| -> Vec<Row> {
        let table = session.table(name).unwrap();
        rows(session, &table).into_iter().map(|(_, row)| row).collect()
    };
    let left = names(&mut session, "left");
    assert_eq!((left.len(), &left[30]), (60, &person(30, &"y".repeat(700))));
    assert_eq!(names(&mut session, "right").len(), 60);
    assert_eq!(names(&mut session, "clustered").len(), 61);
    drop(session);
    close_and_check(db, &disk, &paths);
}

fn update(session: &mut Session, table: &Table, at: &Address) {
    session.update(table, at, &person(30, "never committed")).unwrap();
}

#[test]
fn rollback_that_needs_a_bad_page_is_deferred_while_others_work() {
    let mut undone = with_lost_page(update);
    let error = undone.session.rollback().unwrap_err();
    assert_names(&error, undone.page.page as usize);
    assert_deferred(undone);
}

#[test]
fn rollback_to_a_savepoint_that_needs_a_bad_page_dooms_the_transaction() {
    let mut undone = with_lost_page(update);
    let error = undone.session.rollback_to("before").unwrap_err();
    assert_names(&error, undone.page.page as usize);
    assert!(undone.session.is_doomed());
    let refused = undone.session.commit();
    assert!(matches!(refused, Err(Error::Doomed)), "{refused:?}");
    undone.session.rollback().unwrap_err();
    assert_deferred(undone);
}

#[test]
fn statement_whose_undo_needs_a_bad_page_dooms_the_transaction() {
    let mut scope = None;
    let mut undone = with_lost_page(|session, table, at| {
        scope = Some(session.begin_scope().unwrap());
        update(session, table, at);
    });
    let scope = scope.unwrap();
    let error = undone.session.end_scope(scope, StatementEnd::Failed).unwrap_err();
    assert_names(&error, undone.page.page as usize);
    assert!(undone.session.is_doomed());
    undone.session.rollback().unwrap_err();
    assert_deferred(undone);
}
