//! Databases that others wrote, with values off their rows: every table is changed, and every byte
//! accepted afterwards.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_engine::{Address, Database, Error, LobPart, Options, Paths, Row, Session, Table};
use extentdb_template::{MakeOptions, Size};
use extentdb_types::SqlType;
use support::*;

/// What became of a database: changes by table, and why tables were not changed.
#[derive(Default, Debug)]
struct Outcome {
    changed: BTreeMap<String, usize>,
    refused: BTreeMap<String, String>,
}

/// May a part of a value of this type be replaced?
fn has_parts(ty: &SqlType) -> bool {
    (ty.is_max() || ty.is_lob()) && !matches!(ty, SqlType::Xml | SqlType::Udt { .. })
}

fn change_row(
    session: &mut Session,
    table: &Arc<Table>,
    number: usize,
    at: &Address,
    row: &Row,
) -> Result<(), Error> {
    let columns = table.columns();
    let generated = |ty: &SqlType| *ty == SqlType::RowVersion;
    match number % 4 {
        0 => session.delete(table, at),
        1 => {
            let mut same = row.clone();
            for (value, (_, ty)) in same.iter_mut().zip(&columns) {
                if generated(ty) {
                    *value = extentdb_types::Datum::Null;
                }
            }
            session.update(table, at, &same).map(drop)
        }
        2 => {
            let mut at = at.clone();
            for ((name, ty), value) in columns.iter().zip(row) {
                if has_parts(ty) && !value.is_null() {
                    let append = LobPart::default();
                    let data = "zz".repeat(if number % 8 == 2 { 3 } else { 9000 });
                    at = session.write_lob(table, &at, name, append, &mut data.as_bytes())?;
                }
            }
            Ok(())
        }
        _ => {
            let mut at = at.clone();
            for ((name, ty), value) in columns.iter().zip(row) {
                if has_parts(ty) && !value.is_null() {
                    let part = LobPart { offset: Some(0), ..LobPart::default() };
                    at = session.write_lob(table, &at, name, part, &mut &[][..])?;
                }
            }
            Ok(())
        }
    }
}

fn change_table(session: &mut Session, table: &Arc<Table>) -> Result<usize, Error> {
    let mut all = Vec::new();
    session.scan(table, &mut |at, row| {
        all.push((at, row));
        ControlFlow::Continue(())
    })?;
    let mut changed = 0;
    for (number, (at, row)) in all.iter().enumerate() {
        match change_row(session, table, number, at, row) {
            Ok(()) => changed += 1,
            Err(Error::Constraint { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(changed)
}

/// Rows of all tables, sorted as texts: heaps have no order.
fn rows_of_all(db: &Arc<Database>) -> BTreeMap<String, Vec<String>> {
    let mut session = db.session();
    let texts = |table: &Arc<Table>| {
        let mut texts: Vec<String> =
            rows(&mut session, table).iter().map(|(_, row)| format!("{row:?}")).collect();
        texts.sort();
        (table.name().to_owned(), texts)
    };
    db.tables().iter().map(texts).collect()
}

fn change_all(paths: &Paths) -> Outcome {
    let mut outcome = Outcome::default();
    let db = Database::open(paths, Options { frames: 2048, ..Options::default() }).unwrap();
    for table in db.tables() {
        let name = table.name().to_owned();
        match change_table(&mut db.session(), &table) {
            Ok(changed) => drop(outcome.changed.insert(name, changed)),
            Err(error @ Error::NotSupported(_)) => {
                outcome.refused.insert(name, error.to_string());
            }
            Err(error) => panic!("{name}: {error:?}"),
        }
    }
    let expected = rows_of_all(&db);
    db.close().unwrap();
    assert_sound(&paths.data);
    for (name, expected) in expected {
        let read = rows_by_reader(&paths.data, &name);
        let mut read: Vec<String> = read.iter().map(|row| format!("{row:?}")).collect();
        read.sort();
        assert!(read == expected, "{name}: the reader sees other rows");
    }
    outcome
}

#[test]
fn made_databases_are_changed() {
    for shape in ["lob", "demo", "wide", "sales", "history"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("made.mdf");
        let size = Size::Bytes(8 << 20);
        let options = MakeOptions { shape: shape.to_owned(), seed: 1, size };
        extentdb_template::make(&options, &[&data], &mut |_| ()).unwrap();
        let paths = Paths { data: vec![data], log: folder.path().join("made_log.ldf") };
        let outcome = change_all(&paths);
        eprintln!("{shape}: {outcome:?}");
        assert!(outcome.changed.values().sum::<usize>() > 10, "{shape}: {outcome:?}");
    }
}

fn sample(name: &str, folder: &Path) -> Option<Paths> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let from = samples.join(name).with_extension("mdf");
    if !from.exists() {
        eprintln!("SKIPPED: no samples in {}", samples.display());
        return None;
    }
    let data = folder.join("sample.mdf");
    std::fs::copy(&from, &data).unwrap();
    Some(Paths { data: vec![data], log: folder.join("sample_log.ldf") })
}

#[test]
fn real_databases_are_changed() {
    for name in ["bookshop-2008r2", "northwind-2008", "pubs-2008", "northwind-from-2000"] {
        let folder = tempfile::tempdir().unwrap();
        let Some(paths) = sample(name, folder.path()) else { return };
        let outcome = change_all(&paths);
        eprintln!("{name}: {outcome:?}");
        assert!(outcome.changed.values().sum::<usize>() > 5, "{name}: {outcome:?}");
    }
}
