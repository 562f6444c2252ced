//! What the tests of the engine share: databases in a folder or in memory, and the full check over
//! their files.
#![allow(dead_code, unreachable_pub, reason = "every test uses its part")]

pub mod lobs;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use extentdb_base::env::SystemClock;
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options as CheckOptions, Report, Verdict};
use extentdb_engine::{
    Address, ColumnSpec, Database, DatabaseSpec, Error, Options, Paths, Range, Row, Session, Table,
    TableSpec,
};
use extentdb_io::{Disk, MemDisk};
use extentdb_reader::rows::{TableScan, Value};
use extentdb_reader::{Database as Reader, OpenOptions, OpenedFiles};
use extentdb_types::{Collation, Datum, SqlType};

/// Runs the full check over data files.
pub fn check(files: &[PathBuf]) -> Report {
    let opened = OpenedFiles::open(files, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    extentdb_check::run(opened.source(), &CheckOptions::default(), &Control::new(&clock, &cancel))
}

/// Every byte of the files is accepted.
pub fn assert_sound(files: &[PathBuf]) {
    let report = check(files);
    let findings: Vec<String> = report.findings.iter().take(20).map(|f| format!("{f:?}")).collect();
    assert!(
        report.findings.is_empty() && report.verdict == Verdict::Clean,
        "{:?} {findings:#?}",
        report.verdict
    );
    let unreachable: Vec<&str> = report
        .notes
        .iter()
        .filter(|note| note.error == 59031)
        .map(|note| note.message.as_str())
        .collect();
    assert!(unreachable.is_empty(), "{unreachable:#?}");
}

/// The rows of a table as the offline reader sees them, which shares nothing with the engine's own
/// way to them but the bytes.
pub fn rows_by_reader(files: &[PathBuf], name: &str) -> Vec<Row> {
    let reader = Reader::open(files, &OpenOptions::default()).unwrap();
    rows_of_reader(&reader, name)
}

/// The same by a reader that is open.
pub fn rows_of_reader(reader: &Reader, name: &str) -> Vec<Row> {
    let tables = reader.catalog().user_tables();
    let table = tables.into_iter().find(|table| table.name == name).unwrap();
    let pages = reader.pages();
    let mut scan = TableScan::new(&pages, reader.catalog(), table).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        let value = |at| match row.value(at).unwrap() {
            Value::Datum(datum) => datum.into_owned(),
            Value::Lob(lob) => {
                let bytes = lob.reader.read_to_vec(1 << 30).unwrap();
                Datum::decode(&lob.ty, &bytes).unwrap().into_owned()
            }
        };
        rows.push((0..row.len()).map(value).collect());
    }
    rows
}

/// The data files of a disk in memory, in a folder.
pub fn files_of(disk: &MemDisk, paths: &Paths, folder: &Path) -> Vec<PathBuf> {
    let copy = |path: &PathBuf| {
        let to = folder.join(path.file_name().unwrap());
        std::fs::write(&to, disk.contents(path).unwrap()).unwrap();
        to
    };
    paths.data.iter().map(copy).collect()
}

/// The same for files on a disk in memory: they are put into a folder first.
pub fn assert_sound_on(disk: &MemDisk, paths: &Paths) {
    let folder = tempfile::tempdir().unwrap();
    let files = files_of(disk, paths, folder.path());
    assert_sound(&files);
}

pub fn on(disk: &MemDisk) -> Options {
    Options { frames: 256, ..Options::on(Arc::new(disk.clone())) }
}

pub fn spec(name: &str) -> DatabaseSpec {
    DatabaseSpec::new(name, "", 4 << 20)
}

pub fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: Collation(0x3400_d008) }
}

/// `id int not null, name varchar(4000)`.
pub fn people(name: &str) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("name", varchar(4000)),
    ];
    TableSpec::heap(name, columns)
}

pub fn text(text: &str) -> Datum<'static> {
    Datum::decode(&varchar(8000), text.as_bytes()).unwrap().into_owned()
}

pub fn person(id: i32, name: &str) -> Row {
    vec![Datum::Int(id), text(name)]
}

/// All rows with their addresses.
pub fn rows(session: &mut Session, table: &Table) -> Vec<(Address, Row)> {
    let mut rows = Vec::new();
    session
        .scan(table, &mut |at, row| {
            rows.push((at, row));
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// The id in the first column.
pub fn id_of(row: &Row) -> i32 {
    match row[0] {
        Datum::Int(id) => id,
        _ => panic!("no id"),
    }
}

pub fn ids(session: &mut Session, table: &Table) -> Vec<i32> {
    let mut ids: Vec<i32> = rows(session, table).iter().map(|(_, row)| id_of(row)).collect();
    ids.sort_unstable();
    ids
}

/// The ids in the first column, in the order of a range.
pub fn ids_in(session: &mut Session, table: &Table, range: &Range<'_>) -> Result<Vec<i32>, Error> {
    let mut found = Vec::new();
    let each = &mut |_: Address, row: Row| {
        found.push(id_of(&row));
        ControlFlow::Continue(())
    };
    session.range(table, range, each)?;
    Ok(found)
}

/// Ids of the rows whose keys begin with these values, in the order of the index.
pub fn seek(session: &mut Session, table: &Table, index: &str, values: &[Datum<'_>]) -> Vec<i32> {
    ids_in(session, table, &Range::of(index, values)).unwrap()
}

/// Closes a database in memory; its files check clean.
pub fn close_and_check(db: Arc<Database>, disk: &MemDisk, paths: &Paths) {
    db.close().unwrap();
    assert_sound_on(disk, paths);
}

pub fn exists(disk: &dyn Disk, path: &Path) -> bool {
    disk.exists(path)
}

pub fn reopen(disk: &MemDisk, paths: &Paths) -> Arc<Database> {
    Database::open(paths, on(disk)).unwrap()
}
