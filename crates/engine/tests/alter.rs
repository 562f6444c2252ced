//! ALTER TABLE of a column, interrupted by a crash after any call of the disk: what was not committed
//! has never been. The statements themselves: `scripts/ddl`.

mod support;

use extentdb_base::sync::Arc;
use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_engine::{
    ColumnSpec, Database, DefaultSpec, Error, IndexSpec, Nullability, Row, Session, Table,
    TableSpec,
};
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

fn made(disk: &MemDisk, table: &TableSpec) -> (Arc<Database>, extentdb_engine::Paths) {
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
fn tails(session: &mut Session, table: &Table) -> Vec<Row> {
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
    let default = Some(DefaultSpec::new("df", "((7))"));
    ColumnSpec {
        default,
        ..ColumnSpec::new("wide", SqlType::BigInt).not_null()
    }
}

type Change<'c> = &'c dyn Fn(&mut Session, &std::sync::Arc<Table>) -> Result<(), Error>;

/// The power fails after some calls of the disk, the last time after all of them: what was not
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
            // A device that tears no page: torn pages are another story.
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
            close_and_check(db, &crashed, &paths);
        }
    }
}

#[test]
fn restart_undoes_an_uncommitted_add_column() {
    for column in [bit(), wide(), long()] {
        let column = ColumnSpec { name: "added".to_owned(), ..column };
        assert_undone(&|session, table| session.add_column(table, &column));
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
fn restart_undoes_an_uncommitted_alter_column() {
    assert_undone(&|session, table| {
        session.alter_column(table, "note", varchar(200), Nullability::Nullable)?;
        session.alter_column(table, "note", nvarchar(10), Nullability::Nullable)?;
        session.alter_column(table, "flag", SqlType::SmallInt, Nullability::Nullable)
    });
}
