//! Two sessions side by side: what one of them takes back must still fit.

mod support;

use extentdb_engine::{Database, Session, Table};
use extentdb_io::MemDisk;
use support::*;

/// A row that has moved away from its home, and its home.
fn moved_row(session: &mut Session<'_>, table: &Table) -> extentdb_base::Rid {
    // Its page is full, so that it must move when it grows.
    let at = session.insert(table, &person(0, "short")).unwrap();
    for id in 1..40 {
        session.insert(table, &person(id, &"x".repeat(400))).unwrap();
    }
    session.update(table, at, &person(0, &"grown ".repeat(100))).unwrap();
    at
}

#[test]
fn the_place_of_a_moved_row_is_kept_until_its_deletion_has_committed() {
    let disk = MemDisk::new();
    let spec = spec("moved");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let (mut deleting, mut inserting) = (db.session(), db.session());
    let table = deleting.create_table(&people("people")).unwrap();
    let at = moved_row(&mut deleting, &table);
    deleting.begin();
    deleting.delete(&table, at).unwrap();
    for id in 100..200 {
        inserting.insert(&table, &person(id, "in between")).unwrap();
    }
    deleting.rollback().unwrap();
    assert_eq!(deleting.get(&table, at).unwrap(), Some(person(0, &"grown ".repeat(100))));
    let expected: Vec<i32> = (0..40).chain(100..200).collect();
    assert_eq!(ids(&mut inserting, &table), expected);
    // Once it has committed, its slots are used again.
    deleting.delete(&table, at).unwrap();
    assert_eq!(ids(&mut inserting, &table), expected[1..]);
    drop((deleting, inserting, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
}

#[test]
fn a_restart_puts_a_moved_row_back_among_rows_that_came_in_between() {
    let disk = MemDisk::new();
    let spec = spec("restart");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let (mut deleting, mut inserting) = (db.session(), db.session());
    let table = deleting.create_table(&people("people")).unwrap();
    let at = moved_row(&mut deleting, &table);
    deleting.begin();
    deleting.delete(&table, at).unwrap();
    for id in 100..200 {
        inserting.insert(&table, &person(id, "in between")).unwrap();
    }
    // A process that is killed: its files are as they were written.
    let killed = MemDisk::new();
    for path in spec.paths().data.iter().chain([&spec.paths().log]) {
        killed.put(path, disk.contents(path).unwrap());
    }
    let db = reopen(&killed, &spec.paths());
    assert_eq!(db.recovered().undone, 1);
    let mut session = db.session();
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), (0..40).chain(100..200).collect::<Vec<_>>());
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&killed, &spec.paths());
}
