//! Builds a database, checks it, and compares every value of every row with what its generator
//! says.

use std::collections::BTreeMap;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_catalog::{Catalog, Column};
use extentdb_check::{Control, Options, Report, run};
use extentdb_reader::{CheckedPages, Database, OpenOptions, Row, TableScan, Value};
use extentdb_template::{Cell, DatabaseBuilder, RowValues, TableSpec};
use extentdb_types::{Datum, SqlType};

/// A database that was built, and what was found in it.
pub(crate) struct Proved {
    pub(crate) database: Database,
    _folder: tempfile::TempDir,
}

/// Builds, checks, reads back. The first column of every table must be an int or bigint that no two
/// rows share.
pub(crate) fn prove(builder: &DatabaseBuilder) -> Proved {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built.mdf");
    builder.build(&[&path], &mut |_| {}).unwrap();
    let database = Database::open(&[path], &OpenOptions::default()).unwrap();
    let report = check(&database);
    assert_eq!(report.findings, []);
    let pages = database.pages();
    let catalog = database.catalog();
    assert_eq!(catalog.faults.len(), 0, "{:?}", catalog.faults);
    for spec in builder.tables() {
        compare_table(&pages, catalog, spec);
    }
    Proved { database, _folder: folder }
}

fn check(database: &Database) -> Report {
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    run(database.source(), &Options::default(), &Control::new(&clock, &cancel))
}

fn compare_table(pages: &CheckedPages<'_>, catalog: &Catalog, spec: &TableSpec) {
    let table = catalog.user_tables().into_iter().find(|table| table.name == spec.name).unwrap();
    let mut scan = TableScan::new(pages, catalog, table).unwrap();
    let columns: Vec<&Column> = scan.columns().to_vec();
    let position =
        |column: &&Column| spec.columns.iter().position(|it| it.name == column.name).unwrap();
    let places: Vec<usize> = columns.iter().map(position).collect();
    let kept = spec.columns.iter().filter(|column| column.dropped_at.is_none()).count();
    assert_eq!(columns.len(), kept, "{}", spec.name);
    let mut expected = RowValues::new();
    let mut left: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for number in (0..spec.rows.count()).filter(|number| spec.row_states.is_live(*number)) {
        expected.clear();
        spec.rows.row(number, &mut expected);
        let Cell::Bytes(id) = expected.cell(0) else {
            panic!("the first column of {} is no id", spec.name)
        };
        assert_eq!(
            left.insert(id.to_vec(), number),
            None,
            "{} row {number} repeats an id",
            spec.name
        );
    }
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        let id = row_id(&row);
        let Some(number) = left.remove(&id) else {
            panic!("{}: row {id:?} is not there, or twice", spec.name)
        };
        expected.clear();
        spec.rows.row(number, &mut expected);
        for (at, (column, place)) in columns.iter().zip(&places).enumerate() {
            let name = || format!("{} row {number} {}", spec.name, column.name);
            let ty = spec.columns[*place].ty;
            assert_eq!(column.ty.map(|ty| ty.to_string()), Some(ty.to_string()), "{}", name());
            compare_value(row.value(at).unwrap(), expected.cell(*place), &ty, &name);
        }
    }
    assert_eq!(
        left.len(),
        0,
        "{}: rows are missing, the first is {:?}",
        spec.name,
        left.first_key_value()
    );
}

fn row_id(row: &Row<'_>) -> Vec<u8> {
    match row.value(0).unwrap() {
        Value::Datum(Datum::Int(id)) => id.to_le_bytes().to_vec(),
        Value::Datum(Datum::BigInt(id)) => id.to_le_bytes().to_vec(),
        _ => panic!("the first column is the id"),
    }
}

fn compare_value(found: Value<'_>, expected: Cell<'_>, ty: &SqlType, name: &dyn Fn() -> String) {
    match (found, expected) {
        (Value::Datum(Datum::Null), Cell::Null) => {}
        (Value::Datum(Datum::Bit(found)), Cell::Bit(expected)) => {
            assert_eq!(found, expected, "{}", name())
        }
        (Value::Datum(found), Cell::Bytes(expected) | Cell::Lob(expected)) => {
            let mut bytes = Vec::new();
            found.encode(ty, &mut bytes).unwrap();
            assert!(bytes == expected, "{}: {found:?}", name());
        }
        (Value::Lob(mut lob), expected) => {
            let mut chunk = Vec::new();
            let mut at = 0u64;
            loop {
                chunk.clear();
                if !lob.reader.read_chunk(&mut chunk).unwrap() {
                    break;
                }
                let same = match expected {
                    Cell::Bytes(bytes) | Cell::Lob(bytes) => {
                        bytes[at as usize..].starts_with(&chunk)
                    }
                    Cell::Stream(stream) => {
                        let mut part = vec![0; chunk.len()];
                        stream.read(at, &mut part);
                        part == chunk
                    }
                    _ => false,
                };
                assert!(same, "{}: differs in the part at {at}", name());
                at += chunk.len() as u64;
            }
            let len = match expected {
                Cell::Bytes(bytes) | Cell::Lob(bytes) => bytes.len() as u64,
                Cell::Stream(stream) => stream.byte_len(),
                _ => 0,
            };
            assert_eq!(at, len, "{}", name());
        }
        (Value::Datum(found), expected) => panic!("{}: {found:?}, not {expected:?}", name()),
    }
}
