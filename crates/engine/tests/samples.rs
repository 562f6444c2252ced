//! A real database of version 661, changed by the engine: old and new tables, and every byte
//! accepted afterwards.

mod support;

use std::path::{Path, PathBuf};

use extentdb_engine::{Database, Options, Paths};
use extentdb_reader::{Database as Reader, OpenOptions};
use support::*;

/// A copy of the sample of this version; the log is left after.
fn sample(folder: &Path) -> Option<Paths> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let from = samples.join("bookshop-2008r2.mdf");
    if !from.exists() {
        eprintln!("SKIPPED: no samples in {}", samples.display());
        return None;
    }
    let data = folder.join("bookshop.mdf");
    std::fs::copy(from, &data).unwrap();
    Some(Paths { data: vec![data], log: folder.join("bookshop_log.ldf") })
}

/// Rows by table, as the catalog counts them.
fn counts(files: &[PathBuf]) -> Vec<(String, i64)> {
    let reader = Reader::open(files, &OpenOptions::default()).unwrap();
    let catalog = reader.catalog();
    catalog
        .user_tables()
        .into_iter()
        .map(|table| (table.full_name(), catalog.row_count(table)))
        .collect()
}

#[test]
fn a_real_database_takes_new_tables_and_keeps_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(paths) = sample(folder.path()) else { return };
    let before = counts(&paths.data);
    let db = Database::open(&paths, Options { frames: 512, ..Options::default() }).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("newcomers")).unwrap();
    session.begin();
    for id in 0..3000 {
        session.insert(&table, &person(id, &"n".repeat(id as usize % 500))).unwrap();
    }
    session.commit().unwrap();
    session.begin();
    session.drop_table(&table).unwrap();
    session.rollback().unwrap();
    drop((session, table));
    db.close().unwrap();
    assert_sound(&paths.data);
    let mut after = counts(&paths.data);
    let at = after.iter().position(|(name, _)| name.ends_with("newcomers")).unwrap();
    assert_eq!(after.remove(at).1, 3000);
    assert_eq!(after, before);
}
