//! A database that is offline says why: every later caller gets the first cause, too.

use std::error::Error as _;
use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_engine::{
    ColumnSpec, Database, DatabaseSpec, Error, Options, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_sim::FaultDisk;
use extentdb_types::{Datum, SqlType};

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("cause", "", 3 << 20)
}

fn options(disk: &FaultDisk) -> Options {
    Options {
        frames: 32,
        checkpoint_log_bytes: Some(32 << 10),
        ..Options::on(Arc::new(disk.clone()))
    }
}

/// A database with a table of some rows.
fn made(disk: &FaultDisk) -> Arc<Database> {
    let db = Database::create(&spec(), options(disk)).unwrap();
    let mut session = db.session();
    let columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
    session.create_table(&TableSpec::heap("t", columns)).unwrap();
    drop(session);
    db
}

fn insert(session: &mut Session, table: &Table, id: i32) -> Result<(), Error> {
    session.insert(table, &[Datum::Int(id)]).map(drop)
}

/// An error and what is behind it.
fn chain(error: &Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        said = format!("{said}: {source}");
        next = source.source();
    }
    said
}

/// Every way to ask afterwards leads to the cause: an error of this file.
fn assert_cause_is_reported(db: Arc<Database>, file: &str) {
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let mut said = vec![
        ("insert", chain(&insert(&mut session, &table, -1).unwrap_err())),
        ("scan", scan(&mut session, &table)),
        ("checkpoint", chain(&db.checkpoint().unwrap_err())),
        ("lazy writer", chain(&db.write_lazily().unwrap_err())),
        ("ghosts", chain(&db.clean_some_ghosts().unwrap_err())),
    ];
    drop((session, table));
    said.push(("close", chain(&db.close().unwrap_err())));
    let unnamed: Vec<_> =
        said.iter().filter(|(_, said)| !said.is_empty() && !said.contains(file)).collect();
    assert!(unnamed.is_empty(), "{file} is not named: {unnamed:?}");
}

/// Reading may go on or not.
fn scan(session: &mut Session, table: &Table) -> String {
    session
        .scan(table, &mut |_, _| ControlFlow::Continue(()))
        .err()
        .map(|error| chain(&error))
        .unwrap_or_default()
}

#[test]
fn later_statements_report_the_cause_of_a_failed_background_checkpoint() {
    let disk = FaultDisk::over(MemDisk::new());
    let db = made(&disk);
    db.run(|| {
        let mut session = db.session();
        let table = session.table("t").unwrap();
        let mut id = 0;
        // Syncs of the data file are those of checkpoints; durable writes of the log count, too.
        disk.fail_data_sync_after(0);
        while insert(&mut session, &table, id).is_ok() {
            id += 1;
            assert!(id < 1_000_000, "no checkpoint failed");
        }
    });
    assert_cause_is_reported(db, "cause.mdf");
}

#[test]
fn later_statements_report_the_cause_of_a_failed_due_checkpoint() {
    let disk = FaultDisk::over(MemDisk::new());
    let db = made(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    disk.fail_data_sync_after(0);
    let failed = (0..1_000_000).find_map(|id| insert(&mut session, &table, id).err()).unwrap();
    assert!(chain(&failed).contains("cause.mdf"), "{failed:?}");
    drop((session, table));
    assert_cause_is_reported(db, "cause.mdf");
}

#[test]
fn other_sessions_report_the_cause_of_a_failed_log_write() {
    let disk = FaultDisk::over(MemDisk::new());
    let db = made(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    disk.fail_sync_after(0);
    let failed = insert(&mut session, &table, 1).unwrap_err();
    assert!(chain(&failed).contains("cause_log.ldf"), "{failed:?}");
    drop((session, table));
    assert_cause_is_reported(db, "cause_log.ldf");
}

#[test]
fn other_sessions_report_the_cause_of_a_failed_explicit_checkpoint() {
    let disk = FaultDisk::over(MemDisk::new());
    let db = made(&disk);
    disk.fail_data_sync_after(0);
    let failed = db.checkpoint().unwrap_err();
    assert!(chain(&failed).contains("cause.mdf"), "{failed:?}");
    assert_cause_is_reported(db, "cause.mdf");
}
