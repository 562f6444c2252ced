//! Columns that come to tables with rows: rows of before and after beside each other, defaults,
//! rollbacks and crashes.

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
    ColumnSpec {
        default,
        ..ColumnSpec::new("wide", SqlType::BigInt).not_null()
    }
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
fn restart_undoes_an_uncommitted_add_column() {
    for spec in tables() {
        for column in [bit(), wide(), long()] {
            // Cut off after so many calls of the disk, the last time after all of them.
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
                let unit = |path: &Path| {
                    if path.extension().is_some_and(|it| it == "ldf") { 512 } else { 8192 }
                };
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

#[test]
fn dropped_column_keeps_its_position_in_rows() {
    for spec in tables() {
        let disk = MemDisk::new();
        let (db, paths) = made(&disk, &spec);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        for column in [bit(), long(), wide()] {
            session.add_column(&table, &column).unwrap();
        }
        assert!(matches!(session.drop_column(&table, "name"), Err(Error::Dependent { .. })));
        // Its default is a constraint of its own.
        assert!(matches!(session.drop_column(&table, "wide"), Err(Error::Dependent { .. })));
        session.drop_constraint(&table, "df").unwrap();
        let before = tails(&mut session, &table);
        let row = |id: i32| [person(id, "n"), vec![Datum::BigInt(id.into())]].concat();
        session.begin();
        session.drop_column(&table, "note").unwrap();
        session.drop_column(&table, "flag").unwrap();
        session.insert(&table, &row(700)).unwrap();
        session.rollback().unwrap();
        assert_eq!(tails(&mut session, &table), before);
        session.drop_column(&table, "flag").unwrap();
        session.drop_column(&table, "note").unwrap();
        for id in 300..360 {
            session.insert(&table, &row(id)).unwrap();
        }
        let all = rows(&mut session, &table);
        let (at, _) = all.into_iter().find(|(_, row)| row[0] == Datum::Int(10)).unwrap();
        session.update(&table, &at, &row(1000)).unwrap();
        session.add_column(&table, &long()).unwrap();
        let found = tails(&mut session, &table);
        assert_eq!(
            found.iter().filter(|row| **row == [Datum::BigInt(7), Datum::Null]).count(),
            199
        );
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(tails(&mut session, &table), found);
        // All rows are rewritten, with another base and back: without the offsets of dropped columns.
        if let Some(clustered) = &spec.clustered {
            let name = clustered.name.clone();
            session.rebuild_index(&table, &name).unwrap();
        } else {
            session.create_index(&table, &IndexSpec::new("c", &["id"]).clustered()).unwrap()
        }
        assert_eq!(tails(&mut session, &table), found);
        session.insert(&table, &[row(5000), vec![text("long")]].concat()).unwrap();
        session.drop_column(&table, "wide").unwrap();
        session.add_column(&table, &bit()).unwrap();
        session
            .insert(&table, &[person(5001, "x"), vec![text("y"), Datum::Bit(true)]].concat())
            .unwrap();
        let found = tails(&mut session, &table);
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
        let folder = tempfile::tempdir().unwrap();
        let mut read = rows_by_reader(&files_of(&disk, &paths, folder.path()), "t");
        read.sort_by_key(|row| if let Datum::Int(id) = row[0] { id } else { -1 });
        read.iter_mut().for_each(|row| drop(row.drain(..2)));
        assert_eq!(read, found);
    }
}

type Change<'c> = &'c dyn Fn(&mut Session<'_>, &std::sync::Arc<Table>) -> Result<(), Error>;

/// Cut off after so many calls of the disk, the last time after all of them: what was not
/// committed has never been.
fn assert_undone(change: Change<'_>) {
    for spec in tables() {
        for cut in [0, 1, 2, 3, 5, 8, 13, 1000] {
            let disk = MemDisk::new();
            let (db, paths) = made(&disk, &spec);
            let mut session = db.session();
            let table = session.table("t").unwrap();
            session.add_column(&table, &long()).unwrap();
            session.add_column(&table, &bit()).unwrap();
            let before = tails(&mut session, &table);
            db.checkpoint().unwrap();
            disk.fail_after(cut);
            session.begin();
            let done = change(&mut session, &table).and_then(|()| db.checkpoint());
            assert_eq!(done.is_ok(), !disk.is_dark(), "{done:?}");
            let unit = |path: &Path| {
                if path.extension().is_some_and(|it| it == "ldf") { 512 } else { 8192 }
            };
            let crashed = disk.crash_by(&mut SplitMix64::new(cut), &unit);
            std::mem::forget((session, table));
            let db = reopen(&crashed, &paths);
            let mut session = db.session();
            let table = session.table("t").unwrap();
            assert_eq!(tails(&mut session, &table), before);
            change(&mut session, &table).unwrap();
            drop((session, table));
            db.close().unwrap();
            assert_sound_on(&crashed, &paths);
        }
    }
}

#[test]
fn restart_undoes_an_uncommitted_drop_column() {
    assert_undone(&|session, table| {
        session.drop_column(table, "note")?;
        session.insert(table, &[person(9999, "x"), vec![Datum::Bit(true)]].concat())?;
        session.drop_column(table, "flag")
    });
}

fn nvarchar(len: u16) -> SqlType {
    SqlType::NVarChar {
        len: Some(2 * len),
        collation: extentdb_types::Collation(0x3400_d008),
    }
}

#[test]
fn a_column_gets_another_type() {
    for spec in tables() {
        let disk = MemDisk::new();
        let (db, paths) = made(&disk, &spec);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.add_column(&table, &long()).unwrap();
        let count = ColumnSpec {
            default: Some(("d".into(), "((300))".into())),
            ..ColumnSpec::new("count", SqlType::Int)
        };
        session.add_column(&table, &count.not_null()).unwrap();
        session
            .insert(&table, &[person(200, "x"), vec![text("7"), Datum::Int(-70_000)]].concat())
            .unwrap();
        let before = tails(&mut session, &table);
        // Not over what needs it, and not where a value does not fit.
        let alter = |session: &mut Session<'_>, name: &str, ty, nullable| {
            session.alter_column(&table, name, ty, nullable)
        };
        assert!(matches!(
            alter(&mut session, "id", SqlType::BigInt, false),
            Err(Error::Dependent { .. })
        ));
        assert!(matches!(
            alter(&mut session, "name", varchar(3999), true),
            Err(Error::Dependent { .. })
        ));
        assert!(matches!(
            alter(&mut session, "count", SqlType::BigInt, false),
            Err(Error::Dependent { .. })
        ));
        session.drop_constraint(&table, "d").unwrap();
        assert!(matches!(
            alter(&mut session, "count", SqlType::SmallInt, false),
            Err(Error::Value { .. })
        ));
        assert!(matches!(
            alter(&mut session, "note", varchar(100), false),
            Err(Error::Value { .. })
        ));
        assert!(matches!(alter(&mut session, "note", varchar(0), true), Err(Error::Value { .. })));
        assert_eq!(tails(&mut session, &table), before);
        session.begin();
        alter(&mut session, "count", SqlType::BigInt, true).unwrap();
        alter(&mut session, "note", nvarchar(50), true).unwrap();
        session.rollback().unwrap();
        assert_eq!(tails(&mut session, &table), before);
        session.drop_index(&table, "by_both").unwrap();
        let included = vec!["name".to_owned()];
        session
            .create_index(&table, &IndexSpec { included, ..IndexSpec::new("by_id", &["id"]) })
            .unwrap();
        // In place: an index on it, longer and shorter, NULL and not.
        alter(&mut session, "name", varchar(5000), true).unwrap();
        alter(&mut session, "note", varchar(1), true).unwrap();
        alter(&mut session, "count", SqlType::Int, true).unwrap();
        alter(&mut session, "count", SqlType::Int, false).unwrap();
        // With every row.
        alter(&mut session, "count", SqlType::BigInt, false).unwrap();
        alter(&mut session, "note", SqlType::Int, true).unwrap();
        alter(&mut session, "note", nvarchar(3), true).unwrap();
        let found = tails(&mut session, &table);
        assert_eq!(found[0], vec![Datum::Null, Datum::BigInt(300)]);
        let seven = Datum::decode(&nvarchar(3), b"7\0").unwrap().into_owned();
        assert_eq!(found[200], vec![seven.clone(), Datum::BigInt(-70_000)]);
        // In the table whose names are keys they stay shorter.
        let is_key = spec.clustered.as_ref().is_some_and(|index| index.name == "c");
        let long_name = text(&"n".repeat(if is_key { 800 } else { 4500 }));
        session
            .insert(&table, &[Datum::Int(201), long_name.clone(), seven, Datum::BigInt(1 << 40)])
            .unwrap();
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(tails(&mut session, &table)[..201], found);
        session.add_default(&table, "count", ("d2", "((5))")).unwrap();
        assert!(session.add_default(&table, "count", ("d3", "((5))")).is_err());
        session.insert_columns(&table, &[("id", Datum::Int(300))]).unwrap();
        assert_eq!(tails(&mut session, &table)[202], vec![Datum::Null, Datum::BigInt(5)]);
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &paths);
    }
}

#[test]
fn restart_undoes_an_uncommitted_alter_column() {
    assert_undone(&|session, table| {
        session.alter_column(table, "note", varchar(200), true)?;
        session.alter_column(table, "note", nvarchar(10), true)?;
        session.alter_column(table, "flag", SqlType::SmallInt, true)
    });
}
