//! Columns that were added NOT NULL with a default, whose older rows were not rewritten (2012 and
//! later): the value is in the catalog, and every way to a row has it.

mod support;

use std::path::Path;

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Options, Paths, Row, ScanSpec, Session, Table};
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_template::{MakeOptions, Size};
use support::*;

fn made(folder: &Path) -> Paths {
    let data = folder.join("history.mdf");
    let size = Size::Bytes(4 << 20);
    let options = MakeOptions { shape: "history".to_owned(), seed: 3, size };
    extentdb_template::make(&options, &[&data], &mut |_| ()).unwrap();
    Paths { data: vec![data], log: folder.join("history_log.ldf") }
}

fn open(paths: &Paths) -> Arc<Database> {
    Database::open(paths, Options { frames: 1024, ..Options::default() }).unwrap()
}

fn values(session: &mut Session, table: &Table) -> Vec<Row> {
    rows(session, table).into_iter().map(|(_, row)| row).collect()
}

/// NULLs of each column in a columnar scan.
fn nulls_in_batches(session: &mut Session, table: &Arc<Table>) -> Vec<usize> {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut nulls = vec![0; columns.len()];
    let mut scan = session.open_scan(table, &ScanSpec::new(&columns)).unwrap();
    while let Some(batch) = scan.next_batch(session, 4096).unwrap() {
        for (nulls, vector) in nulls.iter_mut().zip(&batch.columns) {
            *nulls += (0..batch.rows).filter(|row| vector.is_null(*row)).count();
        }
    }
    nulls
}

fn sorted(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}

#[test]
fn older_rows_have_the_value_that_a_column_was_added_with() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(folder.path());
    let reader = Reader::open(&paths.data, &OpenOptions::default()).unwrap();
    assert!(reader.catalog().added_defaults.len() > 1);
    drop(reader);
    let db = open(&paths);
    let mut session = db.session();
    let mut found = Vec::new();
    for table in db.tables() {
        assert_eq!(table.unreadable_columns(), []);
        let rows = values(&mut session, &table);
        let nulls: Vec<usize> = (0..table.columns().len())
            .map(|at| rows.iter().filter(|row| row[at].is_null()).count())
            .collect();
        assert_eq!(nulls_in_batches(&mut session, &table), nulls, "{}", table.name());
        found.push((table.name().to_owned(), rows));
    }
    assert!(!found.is_empty());
    drop(session);
    db.close().unwrap();
    for (name, rows) in found {
        assert_eq!(sorted(&rows), sorted(&rows_by_reader(&paths.data, &name)), "{name}");
    }
}

#[test]
fn rows_that_are_written_again_keep_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(folder.path());
    let db = open(&paths);
    let mut session = db.session();
    let mut expected = Vec::new();
    for table in db.tables() {
        let before = values(&mut session, &table);
        for index in table.indexes() {
            session.rebuild_index(&table, &index).unwrap();
        }
        assert_eq!(sorted(&values(&mut session, &table)), sorted(&before), "{}", table.name());
        expected.push((table.name().to_owned(), before));
    }
    drop(session);
    db.close().unwrap();
    assert_sound(&paths.data);
    for (name, rows) in &expected {
        assert_eq!(sorted(rows), sorted(&rows_by_reader(&paths.data, name)), "{name}");
    }
    // They can be dropped.
    let db = open(&paths);
    let mut session = db.session();
    for table in db.tables() {
        session.drop_table(&table).unwrap();
    }
    drop(session);
    db.close().unwrap();
    assert_sound(&paths.data);
}
