//! Files of other databases, and of other states of this one: they are told apart, refused where
//! they would do harm, and never replayed.

mod support;

use extentdb_base::sync::Arc;
use std::path::{Path, PathBuf};

use extentdb_engine::{DataFileSpec, Database, DatabaseSpec, Error, Paths};
use extentdb_io::{Disk, MemDisk};
use support::*;

fn insert(db: &Arc<Database>, from: i32, count: i32) {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    for id in from..from + count {
        session.insert(&table, &person(id, &"w".repeat(900))).unwrap();
    }
}

fn ids_of(db: &Arc<Database>) -> Vec<i32> {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    ids(&mut session, &table)
}

fn create(disk: &MemDisk, spec: &DatabaseSpec) -> Arc<Database> {
    let db = Database::create(spec, on(disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    db
}

/// Two files, the second of which gets every other extent.
fn two_files() -> DatabaseSpec {
    let mut spec = DatabaseSpec::new("two", "", 4 << 20);
    spec.files.push(DataFileSpec::new("two_2.ndf", 4 << 20));
    spec
}

fn put_all(from: &MemDisk, to: &MemDisk, paths: &Paths) {
    for path in paths.data.iter().chain([&paths.log]) {
        to.put(path, from.contents(path).unwrap());
    }
}

/// What is on the disk while a database is open, as a crash without losses would leave it.
fn crash(disk: &MemDisk, paths: &Paths) -> MemDisk {
    let copy = MemDisk::new();
    put_all(disk, &copy, paths);
    copy
}

#[test]
fn a_crashed_database_refuses_the_log_of_another_one() {
    let disk = MemDisk::new();
    let left = spec("left");
    let right = spec("right");
    let left_db = create(&disk, &left);
    let right_db = create(&disk, &right);
    insert(&left_db, 0, 50);
    insert(&right_db, 1000, 50);
    let left_crashed = crash(&disk, &left.paths());
    let log_of_right = disk.contents(&right.log.path).unwrap();
    left_crashed.put(&left.log.path, log_of_right);
    let refused = Database::open(&left.paths(), on(&left_crashed));
    assert!(matches!(refused, Err(Error::ForeignLog { .. })), "{refused:?}");
    // With its own log nothing is lost.
    left_crashed.put(&left.log.path, disk.contents(&left.log.path).unwrap());
    assert_eq!(ids_of(&reopen(&left_crashed, &left.paths())), (0..50).collect::<Vec<_>>());
}

#[test]
fn databases_of_one_name_and_seed_have_different_ids() {
    let path: &Path = "same.mdf".as_ref();
    let ids = ["a", "b"].map(|folder| {
        let disk = MemDisk::new();
        let spec = DatabaseSpec::new("same", folder, 4 << 20);
        create(&disk, &spec).close().unwrap();
        disk.contents(&PathBuf::from(folder).join(path)).unwrap()[..8192].to_vec()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_database_that_was_closed_never_replays_a_foreign_log_and_keeps_the_file() {
    let disk = MemDisk::new();
    let left = spec("left");
    let right = spec("right");
    let left_db = create(&disk, &left);
    insert(&left_db, 0, 50);
    left_db.close().unwrap();
    let right_db = create(&disk, &right);
    insert(&right_db, 1000, 50);
    let foreign = disk.contents(&right.log.path).unwrap();
    let swapped = MemDisk::new();
    put_all(&disk, &swapped, &left.paths());
    swapped.put(&left.log.path, foreign.clone());
    let db = reopen(&swapped, &left.paths());
    assert_eq!(ids_of(&db), (0..50).collect::<Vec<_>>());
    insert(&db, 50, 10);
    db.close().unwrap();
    assert_eq!(swapped.contents(Path::new("left_log.ldf.old1")).as_ref(), Some(&foreign));
    assert_eq!(ids_of(&reopen(&swapped, &left.paths())), (0..60).collect::<Vec<_>>());
    assert_sound_on(&swapped, &left.paths());
}

#[test]
fn a_crashed_database_refuses_its_own_log_of_an_earlier_time() {
    let disk = MemDisk::new();
    let spec = spec("left");
    let db = create(&disk, &spec);
    insert(&db, 0, 20);
    let old_log = disk.contents(&spec.log.path).unwrap();
    insert(&db, 20, 400);
    db.checkpoint().unwrap();
    insert(&db, 420, 20);
    let crashed = crash(&disk, &spec.paths());
    crashed.put(&spec.log.path, old_log);
    let refused = Database::open(&spec.paths(), on(&crashed));
    assert!(refused.is_err(), "rows 20 to 440 would be lost");
}

/// A database of two files, closed twice with work between; the disks after each close.
fn two_states() -> (MemDisk, MemDisk, Paths) {
    let disk = MemDisk::new();
    let spec = two_files();
    let db = create(&disk, &spec);
    insert(&db, 0, 100);
    db.close().unwrap();
    let older = crash(&disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    insert(&db, 100, 100);
    db.close().unwrap();
    (older, disk, spec.paths())
}

#[test]
fn an_older_copy_of_a_secondary_file_is_refused() {
    let (older, newer, paths) = two_states();
    let mixed = crash(&newer, &paths);
    mixed.put(&paths.data[1], older.contents(&paths.data[1]).unwrap());
    let refused = Database::open(&paths, on(&mixed));
    assert!(matches!(refused, Err(Error::StaleFile { .. })), "{refused:?}");
    // Nothing was changed: with the right file it opens.
    mixed.put(&paths.data[1], newer.contents(&paths.data[1]).unwrap());
    assert_eq!(ids_of(&reopen(&mixed, &paths)), (0..200).collect::<Vec<_>>());
}

#[test]
fn an_older_copy_of_the_primary_file_is_refused() {
    let (older, newer, paths) = two_states();
    let mixed = crash(&newer, &paths);
    mixed.put(&paths.data[0], older.contents(&paths.data[0]).unwrap());
    mixed.remove(&paths.log).unwrap();
    let refused = Database::open(&paths, on(&mixed));
    assert!(matches!(refused, Err(Error::StaleFile { .. })), "{refused:?}");
}

#[test]
fn a_crashed_database_refuses_an_older_secondary_file() {
    let (older, newer, paths) = two_states();
    let db = reopen(&newer, &paths);
    insert(&db, 200, 30);
    db.checkpoint().unwrap();
    insert(&db, 230, 30);
    let crashed = crash(&newer, &paths);
    crashed.put(&paths.data[1], older.contents(&paths.data[1]).unwrap());
    let refused = Database::open(&paths, on(&crashed));
    assert!(refused.is_err(), "a file of another state was taken");
}

#[test]
fn all_files_of_an_older_state_are_that_state() {
    let (older, _, paths) = two_states();
    assert_eq!(ids_of(&reopen(&older, &paths)), (0..100).collect::<Vec<_>>());
}
