//! A statement is cancelled from another thread: its waits and its work end, its effects are undone,
//! its transaction goes on.

mod support;

use std::ops::ControlFlow;
use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::{Arc, thread};
use extentdb_engine::{Cause, Database, DatabaseSpec, IndexSpec, Options, Session, TableSpec};
use extentdb_engine::{ColumnSpec, Row, Table};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

const ROWS: i32 = 2_000;

fn database(name: &str) -> Arc<Database> {
    let options = Options { frames: 512, ..Options::on(Arc::new(MemDisk::new())) };
    Database::create(&DatabaseSpec::new(name, "", 8 << 20), options).unwrap()
}

/// A table with a clustered key and [`ROWS`] rows.
fn filled(session: &mut Session) -> Arc<Table> {
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("n", SqlType::Int)];
    let spec = TableSpec::heap("t", columns).clustered(IndexSpec::primary_key("pk", &["id"]));
    let table = session.create_table(&spec).unwrap();
    session.begin();
    (0..ROWS).for_each(|id| drop(session.insert(&table, &row(id, 0)).unwrap()));
    session.commit().unwrap();
    table
}

fn row(id: i32, n: i32) -> Row {
    vec![Datum::Int(id), Datum::Int(n)]
}

fn rows(session: &mut Session, table: &Table) -> usize {
    let mut count = 0;
    let each = &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    };
    session.scan(table, each).unwrap();
    count
}

/// Cancels again and again until the session has noticed.
fn cancel_until(done: impl Fn() -> bool, cancellation: &Cancellation) {
    while !done() {
        cancellation.cancel();
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn lock_wait_ends_when_it_is_cancelled() {
    let db = database("lock");
    let mut holder = db.session();
    let table = filled(&mut holder);
    holder.begin();
    let at = holder.insert(&table, &row(ROWS, 0)).unwrap();
    let mut waiter = db.session();
    waiter.begin();
    let own = waiter.insert(&table, &row(ROWS + 1, 0)).unwrap();
    let cancellation = waiter.cancellation();
    let cause = thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.get(&table, &at).unwrap_err().cause());
        cancel_until(|| waiting.is_finished(), &cancellation);
        waiting.join().unwrap()
    });
    assert_eq!(cause, Cause::Cancelled);
    // The transaction goes on with what it had.
    assert!(waiter.is_in_transaction());
    assert!(waiter.get(&table, &own).unwrap().is_some());
    waiter.commit().unwrap();
    holder.rollback().unwrap();
    assert_eq!(rows(&mut holder, &table), ROWS as usize + 1);
}

#[test]
fn scan_ends_at_the_next_page() {
    let db = database("scan");
    let mut session = db.session();
    let table = filled(&mut session);
    let cancellation = session.cancellation();
    let mut seen = 0;
    let each = &mut |_, _| {
        seen += 1;
        cancellation.cancel();
        ControlFlow::Continue(())
    };
    let refused = session.scan(&table, each).unwrap_err();
    assert_eq!(refused.cause(), Cause::Cancelled);
    assert!((1..ROWS as usize / 2).contains(&seen), "{seen}");
    assert_eq!(rows(&mut session, &table), ROWS as usize, "the next statement is not cancelled");
}

#[test]
fn cancelled_index_build_leaves_no_index() {
    let db = database("build");
    let mut session = db.session();
    let table = filled(&mut session);
    let cancellation = session.cancellation();
    let refused = thread::scope(|scope| {
        let building = scope.spawn(|| {
            // Every build is undone until one ends before it is cancelled.
            let index = IndexSpec::new("i", &["n"]);
            let built = (0..1_000).map(|_| session.create_index(&table, &index));
            let refused = built.take_while(Result::is_err).map(|it| it.unwrap_err().cause());
            refused.collect::<Vec<Cause>>()
        });
        (0..50).for_each(|_| {
            cancellation.cancel();
            thread::sleep(Duration::from_micros(200));
        });
        building.join().unwrap()
    });
    assert!(refused.iter().all(|cause| *cause == Cause::Cancelled), "{refused:?}");
    session.drop_index(&table, "i").unwrap();
    assert_eq!(rows(&mut session, &table), ROWS as usize);
}
