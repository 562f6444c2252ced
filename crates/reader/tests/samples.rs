//! Real files: every table of every sample is read to its last value, and counts equal the
//! catalog's.

use std::path::{Path, PathBuf};

use extentdb_catalog::model::{Catalog, ObjectType, Table};
use extentdb_reader::{CheckedPages, Database, OpenOptions, TableScan, Value};

/// The samples, or `None` (said aloud) where there are none.
fn samples() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let dir =
        std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("SKIPPED: no samples in {}", dir.display());
    None
}

fn open(path: &Path) -> Database {
    let database = Database::open(&[path.to_path_buf()], &OpenOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let faults = &database.catalog().faults;
    assert!(faults.is_empty(), "{}: {faults:?}", path.display());
    database
}

fn with_extension(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .filter(|path| !path.to_string_lossy().contains("stripe"))
        .collect();
    files.sort();
    files
}

/// Reads all rows and all values; returns rows and bytes of off-row values.
fn read_all(pages: &CheckedPages<'_>, catalog: &Catalog, table: &Table) -> (i64, u64) {
    let name = table.full_name();
    let mut scan = TableScan::new(pages, catalog, table).unwrap();
    let columns = scan.columns().len();
    let mut rows = 0;
    let mut lob_bytes = 0;
    while let Some(row) = scan.next_row() {
        let row = row.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        rows += 1;
        for i in 0..columns {
            match row.value(i).unwrap_or_else(|fault| panic!("{name}, row {}: {fault:?}", row.rid))
            {
                Value::Datum(_) => {}
                Value::Lob(mut lob) => {
                    let mut chunk = Vec::new();
                    while lob
                        .reader
                        .read_chunk(&mut chunk)
                        .unwrap_or_else(|fault| panic!("{name}: {fault}"))
                    {
                        lob_bytes += chunk.len() as u64;
                        chunk.clear();
                    }
                }
            }
        }
    }
    (rows, lob_bytes)
}

#[test]
fn every_row_and_value_of_every_sample_can_be_read() {
    let Some(dir) = samples() else { return };
    for path in ["mdf", "bak"].iter().flat_map(|e| with_extension(&dir, e)) {
        let database = open(&path);
        let catalog = database.catalog();
        let pages = database.pages();
        let mut tables = 0;
        let mut rows = 0;
        let mut lobs = 0;
        for table in catalog.tables.values().filter(|table| table.kind != ObjectType::VIEW) {
            if table.base().is_none_or(|base| base.rowsets.is_empty()) {
                continue;
            }
            let (n, bytes) = read_all(&pages, catalog, table);
            assert_eq!(n, catalog.row_count(table), "{}: {}", path.display(), table.full_name());
            (tables, rows, lobs) = (tables + 1, rows + n, lobs + bytes);
        }
        assert!(tables > 40, "{}: {tables} tables", path.display());
        eprintln!("{}: {tables} tables, {rows} rows, {lobs} bytes off row", path.display());
    }
}

#[test]
fn known_tables_have_their_known_rows() {
    let Some(dir) = samples() else { return };
    let northwind = [
        ("Customers", 91),
        ("Orders", 830),
        ("Order Details", 2155),
        ("Products", 77),
        ("Employees", 9),
    ];
    let pubs = [("authors", 23), ("titles", 18), ("sales", 21)];
    let cases: [(&str, &[(&str, i64)]); 3] = [
        ("northwind-2008.mdf", &northwind),
        ("northwind-from-2000.mdf", &northwind),
        ("pubs-2008.mdf", &pubs),
    ];
    for (file, tables) in cases {
        let database = open(&dir.join(file));
        for (name, rows) in tables {
            let table = database.catalog().user_tables().into_iter().find(|t| t.name == *name);
            let table = table.unwrap_or_else(|| panic!("{file}: no table {name}"));
            assert_eq!(
                read_all(&database.pages(), database.catalog(), table).0,
                *rows,
                "{file}: {name}"
            );
        }
    }
}
