//! Serializable ranges while other threads insert and delete. What each isolation level allows, and
//! which locks it takes, statement by statement: `scripts/isolation`.

mod support;

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, Cause, Database, Error, IndexSpec, Isolation, Range, Row, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

const INDEX: &str = "by_id";
const KEYS: u64 = 2000;
/// Ranges that a reader must have read twice without a lock conflict, and tries for that.
const RANGES: usize = 20;
const TRIES_MAX: usize = 2000;

/// Rows that fill a leaf with a few: there are many leaves.
fn long_row(id: i32) -> Row {
    person(id, &"long".repeat(100))
}

fn is_lock(error: &Error) -> bool {
    error.cause() == Cause::Lock
}

/// Inserts and deletes rows until it is told to stop.
fn change_rows(session: &mut Session<'_>, table: &Table, seed: u64, is_over: &AtomicBool) {
    let mut rng = SplitMix64::new(seed);
    let mut own: Vec<Address> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let done = if own.len() > 100 {
            let at = own.swap_remove(rng.below(own.len() as u64) as usize);
            session.delete(table, &at)
        } else {
            session.insert(table, &long_row(rng.below(KEYS) as i32)).map(|at| own.push(at))
        };
        if let Err(error) = done {
            assert!(is_lock(&error) || matches!(error, Error::DuplicateKey { .. }), "{error:?}");
        }
    }
}

/// Reads a range forward, then backward in the same transaction: the rows are the same.
fn read_ranges_twice(session: &mut Session<'_>, table: &Table) {
    session.set_isolation(Isolation::Serializable);
    let from = [Datum::Int(500)];
    let to = [Datum::Int(1500)];
    let range = Range {
        from: Bound::Included(&from),
        to: Bound::Excluded(&to),
        ..Range::all(INDEX)
    };
    let mut agreed = 0;
    let mut tries = 0;
    while agreed < RANGES && tries < TRIES_MAX {
        tries += 1;
        session.begin();
        let first = ids_in(session, table, &range);
        std::thread::yield_now();
        let again = ids_in(session, table, &range.clone().backward());
        if let (Ok(first), Ok(mut again)) = (first, again) {
            again.reverse();
            assert_eq!(first, again);
            agreed += 1;
        }
        session.rollback().unwrap();
    }
    assert_eq!(agreed, RANGES, "in {tries} tries");
}

fn filled(db: &Database, spec: &TableSpec) -> Arc<Table> {
    let mut session = db.session();
    let table = session.create_table(spec).unwrap();
    if table.indexes().is_empty() {
        session.create_index(&table, &IndexSpec::new(INDEX, &["id"])).unwrap();
    }
    for id in (100..KEYS as i32).step_by(7) {
        session.insert(&table, &long_row(id)).unwrap();
    }
    table
}

/// Over many leaves, while they are split and emptied.
#[test]
fn concurrent_inserts_make_no_phantoms_in_serializable_ranges() {
    let clustered = people("t").clustered(IndexSpec::new(INDEX, &["id"]).unique());
    for table in [people("t"), clustered] {
        let disk = MemDisk::new();
        let spec = spec("isolation");
        let db = Database::create(&spec, on(&disk)).unwrap();
        let table = filled(&db, &table);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let table = &table;
                let is_over = &is_over;
                let mut session = db.session();
                scope.spawn(move || change_rows(&mut session, table, seed, is_over));
            }
            // The writers must hear of the end also when the reader failed, or its failure is never
            // reported.
            let ended = scope.spawn(|| read_ranges_twice(&mut db.session(), &table)).join();
            is_over.store(true, Ordering::Relaxed);
            ended.unwrap();
        });
        drop(table);
        close_and_check(db, &disk, &spec.paths());
    }
}
