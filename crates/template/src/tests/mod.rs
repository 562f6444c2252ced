//! Every built database is read back in full by code that shares only `format` with the builder.

mod audit;
mod image;
mod layout;
mod stored;
mod template;

use std::path::{Path, PathBuf};

use extentdb_base::PageId;
use extentdb_catalog::layout::Compression;
use extentdb_types::{Collation, SqlType};

use crate::*;
use image::Image;

use audit::{Packing, audit, audit_packing};

/// Builds into a scratch folder, which is deleted with the guard.
fn build(builder: &DatabaseBuilder, files: usize) -> (tempfile::TempDir, Vec<PathBuf>, Built) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        (0..files).map(|at| folder.path().join(format!("{at}.mdf"))).collect();
    let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let built = builder.build(&refs, &mut |_| {}).unwrap();
    (folder, paths, built)
}

fn open(paths: &[PathBuf]) -> Image {
    Image::open(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())
}

fn int_table(name: &str, count: u64, value: fn(u64) -> i32) -> TableSpec {
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::nullable("value", SqlType::Int)];
    let rows = FnRows::new(count, move |number, row| {
        row.int(number as i32).int(value(number));
    });
    TableSpec::heap(name, columns, rows)
}

#[test]
fn a_database_without_tables_is_sound() {
    let (_folder, paths, _) = build(&DatabaseBuilder::new("empty"), 1);
    audit(&open(&paths));
}

fn packing_of(shape: &crate::Shape) -> Packing {
    if shape.name == "fragmented" { Packing::Loose } else { Packing::Tight }
}

#[test]
fn every_shape_is_sound() {
    for shape in crate::SHAPES {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..shape.files.max(2)).map(|at| folder.path().join(at.to_string())).collect();
        let options = MakeOptions {
            shape: shape.name.to_owned(),
            size: Size::Bytes(10 << 20),
            seed: 3,
        };
        let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let report = make(&options, &refs, &mut |_| {}).unwrap();
        let total: u64 = report.files.iter().map(|(_, bytes)| bytes).sum();
        if shape.name != "sparse" {
            assert_eq!(total, 10 << 20, "{} keeps the size asked for", shape.name);
        }
        let found = audit_packing(&open(&paths), packing_of(shape));
        let used: u64 = report.tables.iter().map(|table| table.pages * 8192).sum();
        assert!(used > 7 << 20 || shape.name == "demo", "{} is filled: {used}", shape.name);
        for table in &report.tables {
            let audited = &found.tables[&table.object];
            assert_eq!((audited.rows, audited.pages), (table.rows, table.pages), "{}", table.name);
        }
    }
}

#[test]
fn shapes_of_no_and_of_one_row_are_sound() {
    for shape in crate::SHAPES {
        for rows in [0, 1] {
            let folder = tempfile::tempdir().unwrap();
            let paths: Vec<PathBuf> =
                (0..shape.files).map(|at| folder.path().join(at.to_string())).collect();
            let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
            let options = MakeOptions {
                shape: shape.name.to_owned(),
                size: Size::Rows(rows),
                seed: 9,
            };
            make(&options, &refs, &mut |_| {}).unwrap();
            audit_packing(&open(&paths), packing_of(shape));
        }
    }
}

#[test]
fn equal_seeds_give_equal_files_and_others_do_not() {
    let make = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mdf");
        let options = MakeOptions { shape: "demo".to_owned(), size: Size::Rows(500), seed };
        make(&options, &[&path], &mut |_| {}).unwrap();
        std::fs::read(path).unwrap()
    };
    assert!(make(1) == make(1));
    assert!(make(1) != make(2));
}

/// 40 extents of data, one in every 4000: the file spans three GAM intervals and is nearly all
/// holes.
#[test]
fn a_sparse_file_of_several_intervals_is_sound() {
    let table = int_table("t", 100_000, |n| (n * 7919 % 100_000) as i32)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]))
        .index(IndexSpec::new("IX_t", &["value"]));
    let builder = DatabaseBuilder::new("sparse").stride(4000).table(table);
    let (_folder, paths, built) = build(&builder, 1);
    assert!(built.file_bytes[0] > 8 << 30, "more than two intervals of 4 GB");
    let found = audit(&open(&paths));
    assert!(found.longest_iam_chain >= 3);
}

#[test]
fn several_files_fill_evenly() {
    let table = int_table("t", 600_000, |n| n as i32).clustered(IndexSpec::new("CX_t", &["id"]));
    let (_folder, paths, built) = build(&DatabaseBuilder::new("files").table(table), 4);
    audit(&open(&paths));
    let least = built.file_bytes.iter().min();
    let most = built.file_bytes.iter().max();
    assert!(most.unwrap() - least.unwrap() <= 65_536, "{:?}", built.file_bytes);
}

#[test]
fn a_clustered_index_with_duplicates_numbers_them() {
    let table = int_table("t", 5_000, |n| (n % 70) as i32)
        .clustered(IndexSpec::new("CX_t", &["value"]).descending("value"))
        .index(IndexSpec::new("IX_t", &["id"]).descending("id"))
        .index(IndexSpec::new("UX_t", &["id"]).unique().include(&["value"]));
    let (_folder, paths, _) = build(&DatabaseBuilder::new("dup").table(table), 1);
    audit(&open(&paths));
}

/// Keys of 400 characters make a tree of many levels from few rows; NULL is a key, too.
#[test]
fn a_deep_tree_over_a_nullable_text_key_is_sound() {
    let collation = Collation(DatabaseBuilder::new("x").collation());
    let columns = vec![
        ColumnSpec::new("id", SqlType::BigInt),
        ColumnSpec::nullable("name", SqlType::NVarChar { len: Some(880), collation }),
        ColumnSpec::nullable("flag", SqlType::Bit),
    ];
    let rows = FnRows::new(9_000, |number, row| {
        row.bigint(number as i64);
        match number % 10 {
            0 => row.null(),
            _ => row.ntext(&format!("{:0>400}", number * 7919 % 9_000)),
        };
        row.bit(number % 3 == 0);
    });
    let table = TableSpec::heap("deep", columns, rows).index(IndexSpec::new("IX_name", &["name"]));
    let (_folder, paths, _) = build(&DatabaseBuilder::new("deep").table(table), 1);
    let found = audit(&open(&paths));
    assert!(found.deepest_tree >= 4, "{} levels", found.deepest_tree);
}

/// Values read from the file are those of the generator; off-row values are assembled.
#[test]
fn rows_read_back_are_the_rows_that_were_generated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mdf");
    let rows = |number: u64, row: &mut RowValues| {
        row.int(number as i32).bit(number % 3 == 1);
        let long: Vec<u8> = (0..number * 4_000).map(|at| (at % 251) as u8).collect();
        match number {
            0 => row.null(),
            1 => row.raw(&long),
            _ => row.lob(&long),
        };
    };
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("flag", SqlType::Bit),
        ColumnSpec::nullable("value", SqlType::VarBinary { len: None }),
    ];
    let table = TableSpec::heap("t", columns, FnRows::new(10, rows))
        .clustered(IndexSpec::primary_key("PK_t", &["id"]));
    DatabaseBuilder::new("lob").table(table).build(&[&path], &mut |_| {}).unwrap();
    let image = Image::open(&[&path]);
    audit(&image);
    let found = audit::table_values(&image, "t");
    assert_eq!(found.len(), 10);
    for (number, values) in (0u64..).zip(found) {
        let mut row = RowValues::new();
        rows(number, &mut row);
        for (at, value) in values.iter().enumerate() {
            let expected = match row.cell(at) {
                Cell::Null => None,
                Cell::Bit(bit) => Some(vec![u8::from(bit)]),
                Cell::Bytes(bytes) | Cell::Lob(bytes) | Cell::Pointer(bytes) => {
                    Some(bytes.to_vec())
                }
                Cell::Stream(_) => panic!("no such value here"),
            };
            assert!(*value == expected, "row {number} column {}", at + 1);
        }
    }
}

#[test]
fn mistakes_of_a_generator_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let try_build = |name: &str, table: TableSpec| {
        let path = folder.path().join(name);
        DatabaseBuilder::new("bad").table(table).build(&[&path], &mut |_| {}).unwrap_err()
    };
    let unique =
        int_table("t", 10, |n| (n / 2) as i32).index(IndexSpec::new("UX", &["value"]).unique());
    assert!(matches!(try_build("1", unique), crate::Error::Order { row: 1, .. }));
    let missing = int_table("t", 10, |_| 0).index(IndexSpec::new("UX", &["nothing"]));
    assert!(matches!(try_build("2", missing), crate::Error::NoColumn { .. }));
    let short = FnRows::new(1, |_, row: &mut RowValues| {
        row.int(1);
    });
    let columns = vec![ColumnSpec::new("a", SqlType::Int), ColumnSpec::new("b", SqlType::Int)];
    let error = try_build("3", TableSpec::heap("t", columns, short));
    assert!(matches!(error, crate::Error::BadValue { row: 0, column: 2, .. }));
    let path = folder.path().join("1");
    let again = DatabaseBuilder::new("bad").build(&[&path], &mut |_| {});
    assert!(matches!(again, Err(crate::Error::Io(_))), "a file that exists is left alone");
}

/// Every index of every pair of compressions agrees with its table, row by row, whatever became of
/// the rows.
#[test]
fn indexes_agree_with_tables_of_every_kind_and_history() {
    let collation = Collation(extentdb_catalog::table::DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::nullable("name", SqlType::NVarChar { len: Some(40), collation }),
        ColumnSpec::nullable("code", SqlType::Char { len: 6, collation }),
        ColumnSpec::nullable("moment", SqlType::DateTime2 { scale: 7 }),
        ColumnSpec::nullable("ratio", SqlType::Float),
        ColumnSpec::nullable("gone", SqlType::BigInt).dropped(900),
        ColumnSpec::new("long", SqlType::VarChar { len: Some(8000), collation }),
        ColumnSpec::new("wide", SqlType::VarChar { len: Some(8000), collation }),
        ColumnSpec::new("state", SqlType::VarChar { len: Some(20), collation })
            .added_with(1_000, b"old"),
        ColumnSpec::nullable("flag", SqlType::Bit).added(1_500),
    ];
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        match number % 7 {
            0 => row.null(),
            other => row
                .ntext(["Abel", "abel ", "\u{c4}bel", "ABEL", "co-op", "coop", ""][other as usize]),
        };
        row.text(&format!("{:<6}", ["x", "X", "y"][(number % 3) as usize]));
        row.datetime2(730_000 + (number % 4) as u32, number % 90 * 1_000)
            .float((number % 5) as f64 - 2.0);
        row.bigint(number as i64);
        let is_long = number % 40 == 8;
        row.raw(&vec![b'l'; if is_long { 6_000 } else { 20 }]).raw(&vec![
            b'w';
            if is_long {
                5_000
            } else {
                30
            }
        ]);
        row.text(if number < 1_000 { "old" } else { ["old", "OLD", "new"][(number % 3) as usize] });
        if number < 1_500 {
            row.null()
        } else {
            row.bit(number.is_multiple_of(2))
        };
    };
    let levels = [Compression::None, Compression::Row, Compression::Page];
    for base in levels {
        let mut builder = DatabaseBuilder::new("pairs");
        for clustered in [None, Some(vec!["id"]), Some(vec!["name", "ratio"])] {
            let name = format!("t_{}", clustered.as_ref().map_or(0, Vec::len));
            let mut table =
                TableSpec::heap(&name, columns.clone(), FnRows::new(2_000, row)).compressed(base);
            // A deleted row has nothing off the row.
            table = table
                .ghosts(|number| number % 9 == 4 && number % 40 != 8)
                .versioned(|number| number % 8 == 1);
            table = match clustered {
                None => table
                    .forwarded(|number| number % 31 == 5)
                    .vacated(|number| number % 29 == 6 && number % 40 != 8),
                Some(keys) => table.clustered(IndexSpec::new("CX", &keys).descending("ratio")),
            };
            for level in levels {
                let name = level.name();
                table = table
                    .index(
                        IndexSpec::new(&format!("IX_name_{name}"), &["name"])
                            .include(&["long"])
                            .compressed(level),
                    )
                    .index(
                        IndexSpec::new(&format!("IX_state_{name}"), &["state", "moment"])
                            .descending("moment")
                            .compressed(level),
                    )
                    .index(
                        IndexSpec::new(&format!("UX_{name}"), &["id"])
                            .unique()
                            .include(&["flag", "code"])
                            .compressed(level),
                    );
            }
            builder = builder.table(table);
        }
        let (_folder, paths, _) = build(&builder, 1);
        audit(&open(&paths));
    }
}

#[test]
fn an_impossible_history_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    let mut try_build = |columns: Vec<ColumnSpec>, change: &dyn Fn(TableSpec) -> TableSpec| {
        tried += 1;
        let path = folder.path().join(tried.to_string());
        let rows = FnRows::new(20, |number, row: &mut RowValues| {
            row.int(number as i32).int(7).lob(&[1; 100]);
        });
        let table = change(TableSpec::heap("t", columns, rows));
        DatabaseBuilder::new("bad").table(table).build(&[&path], &mut |_| {})
    };
    let columns = |second: ColumnSpec| {
        vec![
            ColumnSpec::new("id", SqlType::Int),
            second,
            ColumnSpec::nullable("max", SqlType::VarBinary { len: None }).added(0),
        ]
    };
    let int = ColumnSpec::new("n", SqlType::Int);
    let same = |table: TableSpec| table;
    let alteration = |result: Result<Built, crate::Error>| match result {
        Err(crate::Error::Alteration { column, .. }) => column,
        other => panic!("{other:?}"),
    };
    let bad_value = |result: Result<Built, crate::Error>| match result {
        Err(crate::Error::BadValue { row, column, .. }) => (row, column),
        other => panic!("{other:?}"),
    };
    assert!(try_build(columns(int.clone().added_with(0, &[7, 0, 0, 0])), &same).is_ok());
    assert_eq!(
        alteration(try_build(columns(int.clone().added(0)), &same)),
        "n",
        "NOT NULL without a value"
    );
    assert_eq!(
        alteration(try_build(columns(int.clone().added_with(5, &[7, 0, 0, 0])), &same)),
        "max",
        "order"
    );
    let with_key = |table: TableSpec| table.clustered(IndexSpec::new("CX", &["n"]));
    assert_eq!(
        alteration(try_build(columns(int.clone().added_with(0, &[7, 0, 0, 0])), &with_key)),
        "n"
    );
    let key = |table: TableSpec| table.clustered(IndexSpec::new("CX", &["id"])).vacated(|_| true);
    assert_eq!(
        alteration(try_build(columns(int.clone()), &key)),
        "",
        "no empty slots in a clustered index"
    );
    let index = |table: TableSpec| table.index(IndexSpec::new("IX", &["n"]));
    let dropped = try_build(columns(int.clone().dropped(4)), &index);
    assert!(matches!(dropped, Err(crate::Error::NoColumn { .. })), "an index on a dropped column");
    let mut late = columns(int.clone().added_with(3, &[8, 0, 0, 0]));
    late[2] = ColumnSpec::nullable("max", SqlType::VarBinary { len: None }).added(3);
    assert_eq!(
        bad_value(try_build(late, &same)),
        (0, 2),
        "rows from before have the value of the column"
    );
    let ghosts = |table: TableSpec| table.ghosts(|number| number == 9);
    assert_eq!(
        bad_value(try_build(columns(int), &ghosts)),
        (9, 3),
        "a deleted row has nothing off the row"
    );
}

#[test]
fn fixed_pages_have_the_addresses_of_real_databases() {
    let (_folder, paths, _) = build(&DatabaseBuilder::new("fixed"), 1);
    let image = open(&paths);
    let mut page = extentdb_format::PageBuf::zeroed();
    let cases =
        [(0, 15), (1, 11), (2, 8), (3, 9), (6, 16), (7, 17), (9, 13), (12, 10), (16, 1), (32, 1)];
    for (number, kind) in cases {
        image.raw(PageId::new(1, number), &mut page);
        assert_eq!(page[1], kind, "page {number}");
    }
    image.raw(PageId::new(1, 1), &mut page);
    assert_eq!(page[100..108], [0x44, 0x44, 0x44, 0x44, 0, 0, 0x44, 0x44]);
}
