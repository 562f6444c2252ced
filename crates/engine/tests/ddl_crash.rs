//! The power goes while a transaction changes tables.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_engine::{Database, Error, Paths, Session};
use extentdb_io::MemDisk;
use support::*;

/// Does something in a transaction that is in the log, durable, when the power goes.
fn cut_inside(
    disk: &MemDisk,
    paths: &Paths,
    work: impl FnOnce(&mut Session<'_>) -> Result<(), Error>,
) -> MemDisk {
    let db = reopen(disk, paths);
    let mut session = db.session();
    session.begin();
    work(&mut session).unwrap();
    // The log is durable up to here, and the pages are on disk with what the transaction did.
    db.checkpoint().unwrap();
    let crashed = disk.crash(&mut SplitMix64::new(7));
    session.rollback().unwrap();
    crashed
}

/// Two tables; `old` has 400 rows on whole extents.
fn two_tables() -> (MemDisk, Paths) {
    let disk = MemDisk::new();
    let spec = spec("ddl");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let old = session.create_table(&people("old")).unwrap();
    session.create_table(&people("new")).unwrap();
    session.begin();
    for id in 0..400 {
        session.insert(&old, &person(id, &"o".repeat(3000))).unwrap();
    }
    session.commit().unwrap();
    drop((session, old));
    db.close().unwrap();
    (disk, spec.paths())
}

/// The rows of `old` are there, and stay when others take all the space they can get.
fn assert_whole(disk: &MemDisk, paths: &Paths) {
    let db = reopen(disk, paths);
    let mut session = db.session();
    let old = session.table("old").unwrap();
    let new = session.table("new").unwrap();
    session.begin();
    for id in 0..600 {
        session.insert(&new, &person(id, &"n".repeat(3000))).unwrap();
    }
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &old), (0..400).collect::<Vec<_>>());
    assert_eq!((old.row_count(), new.row_count()), (400, 600));
    drop((session, old, new));
    db.close().unwrap();
    assert_sound_on(disk, paths);
}

#[test]
fn pages_of_a_dropped_table_are_not_reused_before_its_commit() {
    let (disk, paths) = two_tables();
    let drop_it = |session: &mut Session<'_>| {
        let old = session.table("old")?;
        session.drop_table(&old)
    };
    assert_whole(&cut_inside(&disk, &paths, drop_it), &paths);
    assert_whole(&disk, &paths);
}

#[test]
fn rollback_of_truncate_restores_rows_and_counter() {
    let (disk, paths) = two_tables();
    let truncate = |session: &mut Session<'_>| {
        let old = session.table("old")?;
        session.insert(&old, &person(1000, "gone before"))?;
        session.truncate_table(&old)?;
        session.insert(&old, &person(1001, "gone behind")).map(|_| ())
    };
    assert_whole(&cut_inside(&disk, &paths, truncate), &paths);
    assert_whole(&disk, &paths);
}

#[test]
fn restart_undoes_an_interrupted_create_table() {
    let (disk, paths) = two_tables();
    let make = |session: &mut Session<'_>| {
        let table = session.create_table(&people("third"))?;
        for id in 0..100 {
            session.insert(&table, &person(id, &"t".repeat(2000)))?;
        }
        Ok(())
    };
    let crashed = cut_inside(&disk, &paths, make);
    assert!(reopen(&crashed, &paths).session().table("third").is_err());
    assert_whole(&crashed, &paths);
}

#[test]
fn the_longest_row_moves_and_comes_back() {
    let disk = MemDisk::new();
    let spec = spec("longest");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let mut wide = people("wide");
    wide.columns[1].ty = varchar(8000);
    wide.columns.push(extentdb_engine::ColumnSpec::new(
        "fixed",
        extentdb_types::SqlType::Binary { len: 45 },
    ));
    let table = session.create_table(&wide).unwrap();
    let row = |id, len| {
        let mut row = person(id, &"w".repeat(len));
        row.push(extentdb_types::Datum::Binary(vec![7; 45].into()));
        row
    };
    let at = session.insert(&table, &row(1, 10)).unwrap();
    session.insert(&table, &row(2, 3000)).unwrap();
    // 8,060 bytes with everything around.
    session.update(&table, &at, &row(1, 8000)).unwrap();
    assert_eq!(session.get(&table, &at).unwrap(), Some(row(1, 8000)));
    session.update(&table, &at, &row(1, 20)).unwrap();
    assert_eq!(session.get(&table, &at).unwrap(), Some(row(1, 20)));
    session.update(&table, &at, &row(1, 8000)).unwrap();
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}

/// Changes all tables after a savepoint, and goes back to it.
fn change_tables_and_return(session: &mut Session<'_>) -> Result<(), Error> {
    let old = session.table("old")?;
    let new = session.table("new")?;
    session.insert(&new, &person(2000, "before"))?;
    session.save("tables")?;
    session.truncate_table(&old)?;
    session.insert(&old, &person(2001, &"t".repeat(3000)))?;
    session.drop_table(&new)?;
    let third = session.create_table(&people("third"))?;
    for id in 0..40 {
        session.insert(&third, &person(id, &"t".repeat(3000)))?;
    }
    session.drop_table(&third)?;
    session.create_table(&people("third"))?;
    session.rollback_to("tables")?;
    assert!(session.table("third").is_err(), "it was made behind the savepoint");
    session.insert(&old, &person(2002, "behind"))?;
    session.insert(&new, &person(2003, "behind")).map(|_| ())
}

#[test]
fn rollback_to_a_savepoint_and_a_crash_after_it_restore_tables() {
    let (disk, paths) = two_tables();
    assert_whole(&cut_inside(&disk, &paths, change_tables_and_return), &paths);
    assert_whole(&disk, &paths);
}

#[test]
fn statements_after_rollback_to_a_savepoint_are_committed() {
    let (disk, paths) = two_tables();
    let db = reopen(&disk, &paths);
    let mut session = db.session();
    session.begin();
    change_tables_and_return(&mut session).unwrap();
    session.create_table(&people("third")).unwrap();
    session.commit().unwrap();
    drop(session);
    close_and_check(db, &disk, &paths);
    let db = reopen(&disk, &paths);
    let mut session = db.session();
    let mut ids_of = |name: &str| {
        let table = session.table(name).unwrap();
        ids(&mut session, &table)
    };
    assert_eq!(ids_of("old"), (0..400).chain([2002]).collect::<Vec<_>>());
    assert_eq!(ids_of("new"), [2000, 2003]);
    assert_eq!(ids_of("third"), Vec::<i32>::new());
}
