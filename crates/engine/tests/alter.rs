//! Columns that come to tables with rows: rows of before and after beside each other, defaults, rollbacks and crashes.

mod support;

use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, Row, Session, Table, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

fn tables() -> Vec<TableSpec> {
    vec![
        people("t"),
        people("t").clustered(IndexSpec::primary_key("pk", &["id"])),
        people("t").clustered(IndexSpec::new("c", &["name"])),
    ]
}

fn made(disk: &MemDisk, table: &TableSpec) -> (Database, extentdb_engine::Paths) {
    let spec = spec("alter");
    let db = Database::create(&spec, on(disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(table).unwrap();
    session.create_index(&table, &IndexSpec::new("by_both", &["name", "id"])).unwrap();
    for id in 0..200 {
        session.insert(&table, &person(id, &format!("name{}", id % 9))).unwrap();
    }
    drop(session);
    (db, spec.paths())
}

/// Rows by id, without the first two columns.
fn tails(session: &mut Session<'_>, table: &Table) -> Vec<Row> {
    let mut rows: Vec<Row> = rows(session, table).into_iter().map(|(_, row)| row).collect();
    rows.sort_by_key(|row| if let Datum::Int(id) = row[0] { id } else { -1 });
    rows.iter_mut().for_each(|row| drop(row.drain(..2)));
    rows
}

fn bit() -> ColumnSpec {
    ColumnSpec::new("flag", SqlType::Bit)
}

fn long() -> ColumnSpec {
    ColumnSpec::new("note", varchar(100))
}

fn wide() -> ColumnSpec {
    let default = Some(("df".to_owned(), "((7))".to_owned()));
    ColumnSpec { default, ..ColumnSpec::new("wide", SqlType::BigInt).not_null() }
}

#[test]
fn rows_of_before_and_after_lie_beside_each_other() {
    for spec in tables() {
        let disk = MemDisk::new();
        let (db, paths) = made(&disk, &spec);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        let before = tails(&mut session, &table);
        session.begin();
        session.add_column(&table, &bit()).unwrap();
        session.add_column(&table, &wide()).unwrap();
        session.rollback().unwrap();
        assert_eq!(table.columns().len(), 2);
        assert_eq!(tails(&mut session, &table), before);
        session.add_column(&table, &bit()).unwrap();
        session.add_column(&table, &wide()).unwrap();
        session.add_column(&table, &long()).unwrap();
        let old = vec![Datum::Null, Datum::BigInt(7), Datum::Null];
        assert!(tails(&mut session, &table).iter().all(|row| *row == old));
        let new = vec![Datum::Bit(true), Datum::BigInt(-1), text("new")];
        let row = |id: i32| [person(id, "name1"), new.clone()].concat();
        for id in 200..260 {
            session.insert(&table, &row(id)).unwrap();
        }
        let (at, _) = rows(&mut session, &table).swap_remove(10);
        session.update(&table, &at, &row(1000)).unwrap();
        session.insert_columns(&table, &[("id", Datum::Int(300)), ("name", text("x"))]).unwrap();
        let found = tails(&mut session, &table);
        assert_eq!(found.iter().filter(|row| **row == new).count(), 61);
        assert_eq!(found.iter().filter(|row| **row == old).count(), 200);
        session.create_index(&table, &IndexSpec::new("by_wide", &["wide", "flag"])).unwrap();
        session.add_check(&table, "ck", "([wide]<(100) OR [note] IS NULL)").unwrap();
        assert!(matches!(session.add_column(&table, &long()), Err(Error::Exists { .. })));
        let refused = ColumnSpec::new("none", SqlType::Int).not_null();
        assert!(matches!(session.add_column(&table, &refused), Err(Error::NotSupported { .. })));
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(tails(&mut session, &table), found);
        session.insert(&table, &row(5000)).unwrap();
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
    }
}

#[test]
fn a_restart_takes_back_a_column_that_was_not_committed() {
    for spec in tables() {
        for column in [bit(), wide(), long()] {
            // Cut off behind so many calls of the disk, the last time behind all of them.
            for cut in [0, 1, 2, 3, 5, 8, 1000] {
                let disk = MemDisk::new();
                let (db, paths) = made(&disk, &spec);
                let mut session = db.session();
                let table = session.table("t").unwrap();
                let before = tails(&mut session, &table);
                db.checkpoint().unwrap();
                disk.fail_after(cut);
                session.begin();
                let done = session.add_column(&table, &column).and_then(|()| db.checkpoint());
                assert_eq!(done.is_ok(), !disk.is_dark());
                // A device that tears no page: torn ones are told, not mended.
                let unit =
                    |path: &Path| if path.extension().is_some_and(|it| it == "ldf") { 512 } else { 8192 };
                let crashed = disk.crash_by(&mut SplitMix64::new(cut), &unit);
                std::mem::forget((session, table));
                let db = reopen(&crashed, &paths);
                let mut session = db.session();
                let table = session.table("t").unwrap();
                assert_eq!(table.columns().len(), 2, "{cut}");
                assert_eq!(tails(&mut session, &table), before);
                session.add_column(&table, &column).unwrap();
                drop((session, table));
                db.close().unwrap();
                assert_sound_on(&crashed, &paths);
            }
        }
    }
}
