//! Sessions in real threads whose DDL is rolled back, beside one that makes checkpoints all the
//! time.
//!
//! Which thread runs when is up to the system: this test finds in milliseconds what the schedules
//! of `shuttle_ddl.rs` show by seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Cause, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Session, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_sim::assert_sound;
use extentdb_types::{Datum, SqlType};

/// Rows of each session's own table, which is there from the beginning.
const ROWS: i32 = 30;

/// How the sessions run.
#[derive(Clone, Copy)]
struct Plan {
    sessions: u64,
    time: Duration,
    /// What the transactions do.
    statement: Statement,
}

/// What is rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statement {
    CreateTable,
    CreateIndex,
    Truncate,
    Rebuild,
    DropTable,
    Savepoint,
    Any,
}

const STATEMENTS: [Statement; 6] = [
    Statement::CreateTable,
    Statement::CreateIndex,
    Statement::Truncate,
    Statement::Rebuild,
    Statement::DropTable,
    Statement::Savepoint,
];

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("ddl", "", 4 << 20)
}

fn options(disk: &MemDisk) -> Options {
    Options {
        frames: 256,
        checkpoint_log_bytes: Some(64 << 10),
        ..Options::on(Arc::new(disk.clone()))
    }
}

fn columns() -> Vec<ColumnSpec> {
    vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("number", SqlType::BigInt)]
}

fn row(id: i32) -> [Datum<'static>; 2] {
    [Datum::Int(id), Datum::BigInt(i64::from(id) * 7)]
}

fn own_name(session: u64) -> String {
    format!("own{session}")
}

fn beginning(sessions: u64) -> MemDisk {
    let disk = MemDisk::new();
    let db = Database::create(&spec(), options(&disk)).unwrap();
    let mut session = db.session();
    for number in 0..sessions {
        let table = session.create_table(&TableSpec::heap(&own_name(number), columns())).unwrap();
        (0..ROWS).for_each(|id| drop(session.insert(&table, &row(id)).unwrap()));
        session.create_index(&table, &IndexSpec::new("i", &["id"])).unwrap();
    }
    drop(session);
    db.close().unwrap();
    disk
}

/// A transaction that leaves nothing.
fn transaction(session: &mut Session, number: u64, statement: Statement) -> Result<(), Error> {
    session.begin();
    let own = session.table(&own_name(number))?;
    match statement {
        Statement::CreateTable | Statement::Any => {
            let table =
                session.create_table(&TableSpec::heap(&format!("new{number}"), columns()))?;
            (0..ROWS).try_for_each(|id| session.insert(&table, &row(id)).map(drop))?;
        }
        Statement::CreateIndex => session.create_index(&own, &IndexSpec::new("j", &["number"]))?,
        Statement::Truncate => session.truncate_table(&own)?,
        Statement::Rebuild => session.rebuild_index(&own, "i")?,
        Statement::DropTable => session.drop_table(&own)?,
        Statement::Savepoint => {
            session.save("s")?;
            session.create_index(&own, &IndexSpec::new("j", &["number"]))?;
            session.insert(&own, &row(ROWS))?;
            session.rollback_to("s")?;
        }
    }
    session.rollback()
}

fn run(db: &Arc<Database>, number: u64, plan: Plan) -> Result<u64, Error> {
    let mut rng = SplitMix64::new(number);
    let mut session = db.session();
    let clock = SystemClock::new();
    let mut done = 0;
    while clock.monotonic() < plan.time {
        let statement = match plan.statement {
            Statement::Any => STATEMENTS[rng.below(STATEMENTS.len() as u64) as usize],
            statement => statement,
        };
        match transaction(&mut session, number, statement) {
            Ok(()) => done += 1,
            Err(error) if error.cause() == Cause::Lock => session.rollback()?,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn checkpoints(db: &Arc<Database>, is_over: &AtomicBool) -> Result<(), Error> {
    while !is_over.load(Ordering::Acquire) {
        db.checkpoint()?;
        thread::yield_now();
    }
    Ok(())
}

/// All sessions at work, checkpoints meanwhile; afterwards the database is as it was.
fn run_seed(plan: Plan) {
    let disk = beginning(plan.sessions);
    let db = Database::open(&spec().paths(), options(&disk)).unwrap();
    let clock = SystemClock::new();
    let is_over = AtomicBool::new(false);
    let results: Vec<Result<u64, Error>> = thread::scope(|scope| {
        let db = &db;
        let checkpointer = scope.spawn(|| checkpoints(db, &is_over));
        let sessions: Vec<_> =
            (0..plan.sessions).map(|number| scope.spawn(move || run(db, number, plan))).collect();
        let results: Vec<_> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
        is_over.store(true, Ordering::Release);
        let checkpointed = checkpointer.join().unwrap().map(|()| 0);
        std::iter::once(checkpointed).chain(results).collect()
    });
    let errors: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(errors.is_empty(), "{:?} after {:?}: {errors:?}", plan.statement, clock.monotonic());
    assert!(results.iter().any(|result| *result.as_ref().unwrap() > 0), "no transaction ended");
    drop(db);
    let db = Database::open(&spec().paths(), options(&disk)).unwrap();
    let counts: BTreeMap<String, i64> =
        db.tables().iter().map(|table| (table.name().to_owned(), table.row_count())).collect();
    let expected: BTreeMap<String, i64> =
        (0..plan.sessions).map(|number| (own_name(number), i64::from(ROWS))).collect();
    assert_eq!(counts, expected);
    db.close().unwrap();
    assert_sound(&disk, &spec().paths());
}

fn run_for_a_while(statement: Statement) {
    run_seed(Plan { sessions: 4, time: Duration::from_secs(1), statement });
}

#[test]
fn create_table_is_rolled_back_during_checkpoints() {
    run_for_a_while(Statement::CreateTable);
}

#[test]
fn create_index_is_rolled_back_during_checkpoints() {
    run_for_a_while(Statement::CreateIndex);
}

#[test]
fn truncate_is_rolled_back_during_checkpoints() {
    run_for_a_while(Statement::Truncate);
}

#[test]
fn index_rebuilds_are_rolled_back_during_checkpoints() {
    run_for_a_while(Statement::Rebuild);
}

#[test]
fn drop_table_is_rolled_back_during_checkpoints() {
    run_for_a_while(Statement::DropTable);
}

#[test]
fn ddl_is_rolled_back_to_savepoints_during_checkpoints() {
    run_for_a_while(Statement::Savepoint);
}

#[test]
fn eight_sessions_roll_back_any_ddl_during_checkpoints() {
    run_seed(Plan {
        sessions: 8,
        time: Duration::from_secs(2),
        statement: Statement::Any,
    });
}
