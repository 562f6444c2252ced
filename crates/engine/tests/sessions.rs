//! Two sessions side by side: what one of them rolls back must still fit.

mod support;

use std::sync::Arc;

use extentdb_engine::{Cause, ColumnSpec, Database, Session, Table, TableSpec, Timeout};
use extentdb_io::MemDisk;
use extentdb_types::SqlType;
use support::*;

/// A row that has moved away from its home, and its home.
fn moved_row(session: &mut Session<'_>, table: &Table) -> extentdb_engine::Address {
    // Its page is full, so that it must move when it grows.
    let at = session.insert(table, &person(0, "short")).unwrap();
    for id in 1..40 {
        session.insert(table, &person(id, &"x".repeat(400))).unwrap();
    }
    session.update(table, &at, &person(0, &"grown ".repeat(100))).unwrap();
    at
}

/// A moved row whose deletion has not committed, and a hundred rows that came meanwhile.
fn delete_while_others_insert(
    deleting: &mut Session<'_>,
    inserting: &mut Session<'_>,
) -> (Arc<Table>, extentdb_engine::Address) {
    let table = deleting.create_table(&people("people")).unwrap();
    let at = moved_row(deleting, &table);
    deleting.begin();
    deleting.delete(&table, &at).unwrap();
    for id in 100..200 {
        inserting.insert(&table, &person(id, "in between")).unwrap();
    }
    (table, at)
}

#[test]
fn space_of_a_deleted_forwarded_row_is_reserved_until_commit() {
    let disk = MemDisk::new();
    let spec = spec("moved");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut deleting = db.session();
    let mut inserting = db.session();
    let (table, at) = delete_while_others_insert(&mut deleting, &mut inserting);
    deleting.rollback().unwrap();
    assert_eq!(deleting.get(&table, &at).unwrap(), Some(person(0, &"grown ".repeat(100))));
    let expected: Vec<i32> = (0..40).chain(100..200).collect();
    assert_eq!(ids(&mut inserting, &table), expected);
    // Once it has committed, its slots are used again.
    deleting.delete(&table, &at).unwrap();
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
    let mut deleting = db.session();
    let mut inserting = db.session();
    let _moved = delete_while_others_insert(&mut deleting, &mut inserting);
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

#[test]
fn a_name_that_a_transaction_gives_to_another_table_is_the_old_ones_for_all_others() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("names"), on(&disk)).unwrap();
    let mut one = db.session();
    let mut other = db.session();
    let old = one.create_table(&people("t")).unwrap();
    one.begin();
    one.drop_table(&old).unwrap();
    let new =
        one.create_table(&TableSpec::heap("t", vec![ColumnSpec::new("n", SqlType::Int)])).unwrap();
    assert_eq!(one.table("t").unwrap().id(), new.id());
    assert_eq!(other.table("t").unwrap().id(), old.id());
    other.set_lock_timeout(Timeout::NoWait);
    let found = other.table("t").unwrap();
    assert_eq!(other.insert(&found, &person(1, "waits")).unwrap_err().cause(), Cause::Lock);
    one.commit().unwrap();
    assert_eq!(other.table("t").unwrap().id(), new.id());
    assert_eq!(other.insert(&found, &person(1, "too late")).unwrap_err().cause(), Cause::Other);
}

#[test]
fn a_scan_sees_what_is_committed_and_waits_for_what_is_not() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("scans"), on(&disk)).unwrap();
    let mut writing = db.session();
    let mut reading = db.session();
    let table = writing.create_table(&people("people")).unwrap();
    for id in 0..200 {
        writing.insert(&table, &person(id, &"c".repeat(300))).unwrap();
    }
    reading.set_lock_timeout(Timeout::NoWait);
    assert_eq!(ids(&mut reading, &table).len(), 200);
    writing.begin();
    let at = writing.insert(&table, &person(1000, "not yet")).unwrap();
    let refused = reading.scan(&table, &mut |_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(refused.unwrap_err().cause(), Cause::Lock);
    // Who changed the row sees it, and the pages before the changed one are open to all.
    assert_eq!(ids(&mut writing, &table).len(), 201);
    let mut seen = 0;
    let before = |found: extentdb_engine::Address| found < at;
    let stopped = reading.scan(&table, &mut |found, _| {
        seen += 1;
        if before(found) {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    });
    assert!(stopped.is_ok() || stopped.unwrap_err().cause() == Cause::Lock);
    assert!(seen > 0, "a transaction on the last page shuts no other");
    writing.rollback().unwrap();
    assert_eq!(ids(&mut reading, &table).len(), 200);
}
