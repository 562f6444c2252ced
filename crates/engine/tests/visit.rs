//! Rows that are visited as they lie: the same rows as those that are copied, and none that an open
//! transaction may undo.

mod support;

use std::ops::ControlFlow;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, Database, Error, IndexSpec, Isolation, Range, Row, Session, Table, Timeout,
};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

/// Rows of the tables: those of a heap lie on some pages, and no batch is as long.
const ROWS: i32 = 1500;

/// A heap whose rows came in random order, some of which moved, and a clustered table, both with a
/// unique index `by_id`.
fn tables(db: &Arc<Database>) -> Vec<Arc<Table>> {
    let mut session = db.session();
    let by_id = || IndexSpec::new("by_id", &["id"]).unique();
    let heap = session.create_table(&people("heap")).unwrap();
    session.create_index(&heap, &by_id()).unwrap();
    let clustered = session.create_table(&people("clustered").clustered(by_id())).unwrap();
    let mut rng = SplitMix64::new(5);
    let mut ids: Vec<i32> = (0..ROWS).collect();
    (1..ids.len()).for_each(|at| ids.swap(at, rng.below(at as u64 + 1) as usize));
    for table in [&heap, &clustered] {
        session.begin();
        let at: Vec<Address> =
            ids.iter().map(|id| session.insert(table, &person(*id, "short")).unwrap()).collect();
        for (id, at) in ids.iter().zip(&at) {
            match id % 50 {
                7 => drop(session.update(table, at, &person(*id, &"long".repeat(40))).unwrap()),
                9 => session.delete(table, at).unwrap(),
                _ => {}
            }
        }
        session.commit().unwrap();
    }
    vec![heap, clustered]
}

/// Ids as they are visited, until the end or an error.
fn visited(session: &mut Session, table: &Table) -> (Vec<i32>, Result<(), Error>) {
    let mut ids = Vec::new();
    let end = session.visit(table, &Range::all("by_id"), &mut |row| {
        ids.push(if let Datum::Int(id) = row.value(0)? { id } else { -1 });
        Ok(ControlFlow::Continue(()))
    });
    (ids, end)
}

fn person_at(session: &mut Session, table: &Table, id: i32) -> Address {
    let mut found = None;
    let each = &mut |at: Address, _: Row| {
        found = Some(at);
        ControlFlow::Break(())
    };
    session.seek(table, "by_id", &[Datum::Int(id)], each).unwrap();
    found.unwrap()
}

#[test]
fn visited_rows_equal_copied_rows() {
    let disk = MemDisk::new();
    let spec = spec("visit");
    let db = Database::create(&spec, on(&disk)).unwrap();
    for table in tables(&db) {
        let mut session = db.session();
        for backward in [false, true] {
            let range = Range { backward, ..Range::all("by_id") };
            let mut copied: Vec<(Address, Row)> = Vec::new();
            let each = &mut |at: Address, row: Row| {
                copied.push((at, row));
                ControlFlow::Continue(())
            };
            session.range(&table, &range, each).unwrap();
            let mut expected: Vec<i32> = (0..ROWS).filter(|id| id % 50 != 9).collect();
            if backward {
                expected.reverse();
            }
            assert!(
                copied
                    .iter()
                    .map(|(_, row)| row[0].clone())
                    .eq(expected.into_iter().map(Datum::Int))
            );
            let mut seen = copied.iter();
            let each = &mut |row: &extentdb_engine::RowRef<'_>| {
                let (at, values) = seen.next().unwrap();
                assert_eq!((&row.address()?, &row.values()?), (at, values));
                assert_eq!(row.value(1)?, values[1]);
                assert!(matches!(row.value(99), Err(Error::Columns { found: 99, .. })));
                Ok(ControlFlow::Continue(()))
            };
            session.visit(&table, &range, each).unwrap();
            assert!(seen.next().is_none());
        }
        for (at, row) in copied_some(&mut session, &table) {
            assert_eq!(
                session.get(&table, &at).unwrap(),
                Some(row),
                "its address leads back to it"
            );
        }
    }
    close_and_check(db, &disk, &spec.paths());
}

/// A few rows by themselves, with their addresses.
fn copied_some(session: &mut Session, table: &Table) -> Vec<(Address, Row)> {
    let mut rows = Vec::new();
    let each = &mut |row: &extentdb_engine::RowRef<'_>| {
        rows.push((row.address()?, row.values()?));
        Ok(if rows.len() == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    session.visit(table, &Range::all("by_id"), each).unwrap();
    rows
}

/// Whatever else its batch or its leaf holds, a row that somebody is changing is waited for, and
/// those before it come out first.
#[test]
fn visit_waits_for_an_uncommitted_row() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("visit"), on(&disk)).unwrap();
    for table in tables(&db) {
        let all: Vec<i32> = (0..ROWS).filter(|id| id % 50 != 9).collect();
        for (id, other) in [(0, 0), (3, 3), (11, 11), (700, 700), (1203, 5000), (1499, 1499)] {
            let mut reader = db.session();
            let mut writer = db.session();
            reader.set_lock_timeout(Timeout::NoWait);
            let at = person_at(&mut writer, &table, id);
            writer.begin();
            writer.update(&table, &at, &person(other, "open")).unwrap();
            let (seen, end) = visited(&mut reader, &table);
            assert!(end.is_err(), "row {id} is not committed");
            assert!(
                seen.iter().eq(all.iter().take_while(|own| **own < id)),
                "{seen:?} before {id}"
            );
            let mut own = all.clone();
            own.retain(|own| *own != id);
            own.push(other);
            own.sort_unstable();
            assert_eq!(visited(&mut writer, &table).0, own);
            reader.set_isolation(Isolation::ReadUncommitted);
            assert_eq!(visited(&mut reader, &table).0, own, "dirty reads wait for nobody");
            reader.set_isolation(Isolation::ReadCommitted);
            writer.rollback().unwrap();
            let (seen, end) = visited(&mut reader, &table);
            assert!(end.is_ok() && seen == all);
        }
    }
}
