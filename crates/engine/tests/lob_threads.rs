//! Sessions on threads of their own: writers replace values off their rows, readers never see a part
//! of one.

mod support;

use std::ops::ControlFlow;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_engine::{
    ColumnSpec, Database, IndexSpec, Isolation, LobPart, Range, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

const ROWS: i32 = 12;
const WRITERS: u64 = 3;
const ROUNDS: u64 = 60;

fn create(session: &mut Session, is_clustered: bool) -> Arc<Table> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("n", SqlType::Int),
        ColumnSpec::new("file", SqlType::VarBinary { len: None }),
    ];
    let spec = TableSpec::heap("t", columns);
    let spec =
        if is_clustered { spec.clustered(IndexSpec::new("pk", &["id"]).unique()) } else { spec };
    let table = session.create_table(&spec).unwrap();
    session.create_index(&table, &IndexSpec::new("ix", &["n"])).unwrap();
    for id in 0..ROWS {
        session.insert(&table, &row(id, 0, 20_000)).unwrap();
    }
    table
}

/// All bytes of the value are the same, so that a part of another one is seen.
fn row(id: i32, byte: u8, len: usize) -> Vec<Datum<'static>> {
    vec![Datum::Int(id), Datum::Int(id), Datum::Binary(vec![byte; len].into())]
}

fn write(db: &Arc<Database>, seed: u64) {
    let mut rng = SplitMix64::new(seed);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for round in 0..ROUNDS {
        // Each writer has rows of its own.
        let id = (rng.below(ROWS as u64 / WRITERS) * WRITERS + seed) as i32;
        let mut at = None;
        let values = [Datum::Int(id)];
        let range = Range::of("ix", &values).for_update();
        session.begin();
        session
            .range(&table, &range, &mut |found, _| {
                at = Some(found);
                ControlFlow::Break(())
            })
            .unwrap();
        let at = at.unwrap();
        let byte = round as u8;
        let len = rng.below(60_000) as usize;
        if rng.below(2) == 0 {
            session.update(&table, &at, &row(id, byte, len)).unwrap();
        } else {
            let part = LobPart { offset: Some(0), ..LobPart::default() };
            let data = vec![byte; len];
            session.write_lob(&table, &at, "file", part, &mut data.as_slice()).unwrap();
        }
        match rng.below(4) {
            0 => session.rollback().unwrap(),
            _ => session.commit().unwrap(),
        }
        if rng.below(20) == 0 {
            db.checkpoint().unwrap();
        }
    }
}

fn assert_whole(values: &[Datum<'_>]) {
    let Datum::Binary(bytes) = &values[2] else { panic!("no value") };
    assert!(bytes.iter().all(|byte| Some(byte) == bytes.first()), "a part of another value");
}

fn read(db: &Arc<Database>, isolation: Isolation, is_done: &AtomicBool) -> u64 {
    let mut session = db.session();
    session.set_isolation(isolation);
    let table = session.table("t").unwrap();
    let mut read = 0;
    while !is_done.load(Ordering::Acquire) {
        let each = &mut |_, values: Vec<Datum<'static>>| {
            assert_whole(&values);
            read += 1;
            ControlFlow::Continue(())
        };
        session.scan(&table, each).unwrap();
        session.range(&table, &Range::all("ix"), each).unwrap();
    }
    read
}

#[test]
fn readers_see_whole_values_while_writers_replace_them() {
    for is_clustered in [false, true] {
        let disk = MemDisk::new();
        let db = Database::create(&spec("lobs"), on(&disk)).unwrap();
        drop(create(&mut db.session(), is_clustered));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (db, is_done) = (&db, &is_done);
            let writers: Vec<_> =
                (0..WRITERS).map(|seed| scope.spawn(move || write(db, seed))).collect();
            let reader = scope.spawn(move || read(db, Isolation::ReadCommitted, is_done));
            let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            is_done.store(true, Ordering::Release);
            assert!(reader.join().unwrap() > 0);
            outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        });
        close_and_check(db, &disk, &spec("lobs").paths());
    }
}
