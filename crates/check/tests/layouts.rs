//! Layouts that real files at hand do not have: filegroups, partitions, sparse files, disordered
//! trees, computed columns. A sound database has no findings, however it is laid out.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, Verdict, run};
use extentdb_reader::rows::{TableScan, Value};
use extentdb_reader::{Database, OpenOptions, OpenedFiles};
use extentdb_report::to_text;
use extentdb_template::{
    Cell, ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, PartitionFunctionSpec, RowValues,
    TableSpec,
};
use extentdb_template::{MakeOptions, SHAPES, Shape, Size, make};
use extentdb_types::{Collation, Datum, SqlType};

/// Bytes of each database.
const BYTES: u64 = 8 << 20;

fn made(shape: &Shape) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let name = |at: usize| if at == 0 { "a.mdf".to_owned() } else { format!("a_{at}.ndf") };
    let paths: Vec<PathBuf> = (0..shape.files).map(|at| folder.path().join(name(at))).collect();
    let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let options = MakeOptions {
        shape: shape.name.to_owned(),
        size: Size::Bytes(BYTES),
        seed: 12,
    };
    make(&options, &refs, &mut |_| {}).unwrap();
    (folder, paths)
}

fn check(paths: &[PathBuf], jobs: usize) -> Report {
    let opened = OpenedFiles::open(paths, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let options = Options { jobs: NonZeroUsize::new(jobs), ..Options::default() };
    run(opened.source(), &options, &Control::new(&clock, &cancel))
}

#[test]
fn every_shape_is_clean_and_covered() {
    for shape in SHAPES {
        let (_folder, paths) = made(shape);
        for jobs in [1, 3] {
            let report = check(&paths, jobs);
            assert_eq!(report.findings, [], "{}\n{}", shape.name, to_text(&report));
            assert_eq!(report.verdict, Verdict::Clean, "{}\n{}", shape.name, to_text(&report));
            let coverage = &report.coverage;
            assert!(coverage.pages_checked == coverage.pages_planned, "{}", shape.name);
            assert!(coverage.pages_planned > 300, "{}: {}", shape.name, coverage.pages_planned);
        }
    }
}

/// A row by the disk forms of its stored values.
type Values = Vec<Option<Vec<u8>>>;

/// All rows of a table as the reader gives them, sorted.
fn read_back(paths: &[PathBuf], name: &str) -> Vec<Values> {
    let database = Database::open(paths, &OpenOptions::default()).unwrap();
    let catalog = database.catalog();
    let pages = database.pages();
    assert!(catalog.faults.is_empty(), "{:?}", catalog.faults);
    let table = catalog.user_tables().into_iter().find(|table| table.name == name).unwrap();
    let mut scan = TableScan::new(&pages, catalog, table).unwrap();
    let types: Vec<SqlType> = scan.columns().iter().map(|column| column.ty.unwrap()).collect();
    let mut out = Vec::new();
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        let value = |(at, ty): (usize, &SqlType)| match row.value(at).unwrap() {
            Value::Datum(Datum::Null) => None,
            Value::Datum(datum) => {
                let mut bytes = Vec::new();
                datum.encode(ty, &mut bytes).unwrap();
                Some(bytes)
            }
            Value::Lob(_) => panic!("these tables have no values off their rows"),
        };
        out.push(types.iter().enumerate().map(value).collect());
    }
    assert_eq!(out.len() as i64, catalog.row_count(table));
    out.sort_unstable();
    out
}

/// Every row in a partition of its own filegroup, in a scattered tree over three intervals, with
/// computed columns, comes back as it was generated.
#[test]
fn rows_read_back_are_the_rows_that_were_generated() {
    let generate = |number: u64, row: &mut RowValues| {
        let id = (number * 7919 % 20_000) as i32;
        row.int(id).datetime(40_000 + id / 5, 17).int(id * 2).int(id * 3);
        match id % 4 {
            0 => row.null(),
            _ => row.text(&"remark ".repeat((id % 9 + 1) as usize)),
        };
    };
    let collation = Collation(DatabaseBuilder::new("x").collation());
    let columns = || {
        vec![
            ColumnSpec::new("id", SqlType::Int),
            ColumnSpec::new("day", SqlType::DateTime),
            ColumnSpec::computed("twice", SqlType::Int, "([id]*(2))"),
            ColumnSpec::computed("thrice", SqlType::Int, "([id]*(3))").persisted(),
            ColumnSpec::nullable("remark", SqlType::VarChar { len: Some(80), collation }),
        ]
    };
    let table = |name: &str| TableSpec::heap(name, columns(), FnRows::new(20_000, generate));
    let days = PartitionFunctionSpec::right("days", SqlType::DateTime, |row| {
        row.datetime(40_700, 17).datetime(41_500, 0).datetime(43_000, 17);
    });
    let builder = DatabaseBuilder::new("all")
        .intervals(3)
        .filegroup("A", 2)
        .partition_function(days)
        .partition_scheme("days", "days", &["A", "PRIMARY", "A", "A"])
        .table(
            table("scattered")
                .clustered(IndexSpec::primary_key("PK_scattered", &["id", "day"]).fragmented())
                .index(IndexSpec::new("IX_scattered", &["twice"]).fragmented())
                .index(
                    IndexSpec::new("IX_some", &["day"])
                        .on("PRIMARY")
                        .filter("([remark] IS NULL)", |_, row| row.cell(4) == Cell::Null),
                )
                .partitioned("days", "day"),
        )
        .table(
            table("heap")
                .index(IndexSpec::new("IX_heap", &["thrice"]).include(&["twice"]))
                .partitioned("days", "day"),
        );
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.mdf", "b.ndf", "c.ndf"].map(|name| folder.path().join(name)).to_vec();
    let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    builder.build(&refs, &mut |_| {}).unwrap();
    let report = check(&paths, 2);
    assert_eq!(report.findings, [], "{}", to_text(&report));
    let mut expected: Vec<Values> = (0..20_000)
        .map(|number| {
            let mut row = RowValues::new();
            generate(number, &mut row);
            let stored = [0, 1, 3, 4].map(|at| match row.cell(at) {
                Cell::Bytes(bytes) => Some(bytes.to_vec()),
                _ => None,
            });
            stored.to_vec()
        })
        .collect();
    expected.sort_unstable();
    for name in ["scattered", "heap"] {
        assert!(read_back(&paths, name) == expected, "{name}");
    }
}
