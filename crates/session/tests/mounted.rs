//! Files that are only read, as databases of a server: the same rows as the reader gives, the same
//! statements as for any other database, and no byte of the files changed.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_reader::OpenOptions;
use extentdb_session::offline::Database;
use extentdb_session::{Connection, Server};
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::{Datum, SqlType};

use support::{batch, connect, server};

const ROWS: u64 = 3_000;

fn build(path: &Path) {
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::nullable("customer", SqlType::Int)];
    let order = |number: u64, row: &mut RowValues| {
        row.int(number as i32).int((number % 7) as i32);
    };
    let rows = FnRows::new(ROWS, order).ordered(&[0]);
    DatabaseBuilder::new("shop")
        .table(
            TableSpec::heap("orders", columns, rows)
                .clustered(IndexSpec::primary_key("PK_o", &["id"])),
        )
        .build(&[path], &mut |_| {})
        .unwrap();
}

fn open(paths: &[PathBuf]) -> Database {
    let opened = extentdb_reader::OpenedFiles::open(paths, &OpenOptions::default()).unwrap();
    let restarted = opened.restarted(&Default::default()).unwrap();
    Database::new(extentdb_reader::Database::from_opened(restarted).unwrap())
}

fn with_shop(work: impl FnOnce(&Arc<Server>, &mut Connection)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.mdf");
    build(&path);
    let before = std::fs::read(&path).unwrap();
    let server = server();
    open(std::slice::from_ref(&path)).mount(&server, None).unwrap();
    let mut connection = connect(&server);
    work(&server, &mut connection);
    drop(connection);
    assert!(before == std::fs::read(&path).unwrap(), "the file has changed");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file beside it");
}

#[test]
fn files_are_queried_like_any_database() {
    with_shop(|_, connection| {
        let ask = |connection: &mut Connection, text: &str| batch(connection, text);
        assert!(ask(connection, "USE shop").contains("<master -> shop>"));
        let found = ask(connection, "SELECT COUNT(*), SUM(customer) FROM dbo.orders");
        assert!(found.ends_with("3000 | 8994"), "{found}");
        let found = ask(connection, "SELECT customer FROM orders WHERE id = 8");
        assert!(found.ends_with("\n1"), "{found}");
        let found =
            ask(connection, "SELECT name, is_read_only FROM sys.databases WHERE name = DB_NAME()");
        assert!(found.ends_with("shop | 1"), "{found}");
        let found =
            ask(connection, "SELECT name FROM sys.tables; SELECT OBJECT_NAME(OBJECT_ID('orders'))");
        assert_eq!(found.matches("\norders").count(), 2, "{found}");
        let text =
            "SELECT id INTO #few FROM shop.dbo.orders WHERE id < 5; SELECT COUNT(*) FROM #few";
        assert!(ask(connection, text).ends_with("\n5"));
    });
}

#[test]
fn changes_are_refused_and_the_files_stay() {
    with_shop(|server, connection| {
        for text in [
            "DELETE shop.dbo.orders WHERE id = 1",
            "UPDATE shop.dbo.orders SET customer = 1",
            "INSERT shop.dbo.orders VALUES (99999, 1)",
            "USE shop; CREATE TABLE t (a int)",
            "ALTER DATABASE shop SET READ_WRITE",
            "ALTER DATABASE shop ADD FILEGROUP g",
            "ALTER DATABASE shop MODIFY FILE (NAME = shop, FILENAME = '/elsewhere.mdf')",
        ] {
            let told = batch(connection, text);
            assert!(told.contains("3906."), "{text}: {told}");
        }
        batch(connection, "USE master");
        let told = batch(connection, "DROP DATABASE shop; SELECT DB_ID('shop')");
        assert!(told.ends_with("NULL"), "{told}");
        server.forget_plans();
    });
}

#[test]
fn a_name_can_be_given_and_is_taken_once() {
    with_shop(|server, connection| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.mdf");
        build(&path);
        let files = open(&[path]);
        assert!(files.mount(server, None).is_err());
        files.mount(server, Some("copy")).unwrap();
        let text = "SELECT COUNT(*) FROM shop.dbo.orders a JOIN copy.dbo.orders b ON a.id = b.id";
        assert!(batch(connection, text).ends_with("\n3000"));
    });
}

fn sample_sets(folder: &Path) -> Vec<Vec<PathBuf>> {
    let sets: [&[&str]; 8] = [
        &["bookshop-2008r2.mdf"],
        &["crud-2012.mdf", "crud-2012_log.ldf"],
        &["northwind-from-2000.mdf", "northwind-from-2000_log.ldf"],
        &["pubs-2012.bak"],
        &["northwind-2014.bak"],
        &["tsql2012-compressed.bak"],
        &["../more-samples/northwind-2005.bak"],
        &["../more-samples/northwind-2019.bak"],
    ];
    let path = |name: &&str| folder.join(name);
    let paths = sets.iter().map(|set| set.iter().map(path).collect::<Vec<_>>());
    paths.filter(|set| set.iter().all(|path| path.exists())).collect()
}

/// The rows of a query over files, a line each as the connection of these tests shows them.
fn rows_of(files: &Database, text: &str) -> String {
    let mut lines = Vec::new();
    let query = files.query(text, Duration::ZERO).unwrap();
    query
        .run::<()>(&Cancellation::new(), &mut |row: &[Datum<'static>]| {
            lines.push(row.iter().map(support::shown).collect::<Vec<_>>().join(" | "));
            Ok(())
        })
        .unwrap();
    sorted(&lines.join("\n"))
}

/// The order of rows is nobody's.
fn sorted(rows: &str) -> String {
    let mut lines: Vec<&str> = rows.trim_end().lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn real_files_have_the_rows_that_the_reader_gives_and_views_of_the_catalog() {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples"),
        PathBuf::from,
    );
    let sets = sample_sets(&folder);
    if sets.is_empty() {
        println!("SKIPPED: mounted: no samples in {}", folder.display());
    }
    for paths in sets {
        let files = open(&paths);
        let server = server();
        files.mount(&server, Some("real")).unwrap_or_else(|error| panic!("{paths:?}: {error}"));
        let mut connection = connect(&server);
        batch(&mut connection, "USE real");
        let names = batch(
            &mut connection,
            "SELECT QUOTENAME(SCHEMA_NAME(schema_id)) + '.' + QUOTENAME(name) FROM sys.tables",
        );
        for table in names.lines().skip(1) {
            let text = format!("SELECT * FROM {table}");
            let told = batch(&mut connection, &text);
            let rows = told.split_once('\n').map_or("", |(_, rows)| rows);
            assert!(sorted(rows) == rows_of(&files, &text), "{paths:?}: {table}: {rows}");
        }
        assert!(names.lines().count() > 1, "{paths:?}: {names}");
        verify_views(&mut connection, &paths);
    }
}

/// Each view of the catalog gives rows, or is refused by its name.
fn verify_views(connection: &mut Connection, paths: &[PathBuf]) {
    for view in extentdb_sysview::views().filter(|it| it.kind == extentdb_sysview::ViewKind::View) {
        let text = format!("SELECT COUNT(*) FROM {}.[{}]", view.schema, view.name);
        let told = batch(connection, &text);
        let is_number = told.lines().last().is_some_and(|line| line.parse::<u64>().is_ok());
        assert!(is_number || told.contains("not supported: the view"), "{paths:?}: {text}: {told}");
    }
}
