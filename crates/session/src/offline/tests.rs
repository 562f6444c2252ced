//! Queries over a database that was built for them.

use std::path::Path;
use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_reader::OpenOptions;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::{Collation, Datum, SqlType, plain};

use super::{Database, Stop};

const ROWS: u64 = 5_000;

fn build(path: &Path) {
    let orders = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::nullable("customer", SqlType::Int),
        ColumnSpec::computed("twice", SqlType::Int, "([id]*(2))"),
    ];
    let order = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        match number % 10 {
            0 => row.null(),
            rest => row.int(rest as i32),
        };
        row.int(2 * number as i32);
    };
    let customers = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new(
            "code",
            SqlType::Char { len: 4, collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS },
        ),
    ];
    let customer = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        row.raw(format!("c{number:03}").as_bytes());
    };
    let key = |name: &str| IndexSpec::primary_key(name, &["id"]);
    let rows = FnRows::new(ROWS, order).ordered(&[0]);
    let few = FnRows::new(10, customer).ordered(&[0]);
    DatabaseBuilder::new("shop")
        .table(TableSpec::heap("orders", orders, rows).clustered(key("PK_o")))
        .table(TableSpec::heap("order customers", customers, few).clustered(key("PK_c")))
        .build(&[path], &mut |_| {})
        .unwrap();
}

/// The rows of a query, a line each, or why there are none.
fn ask(database: &Database, text: &str) -> String {
    let query = match database.query(text, Duration::from_secs(86_400)) {
        Ok(query) => query,
        Err(error) => return error.to_string(),
    };
    let mut lines = Vec::new();
    let done = query.run::<()>(&Cancellation::new(), &mut |row| {
        lines.push(row.iter().map(shown).collect::<Vec<_>>().join(" "));
        Ok(())
    });
    match done {
        Ok(count) => {
            assert_eq!(count, lines.len() as u64);
            lines.join("\n")
        }
        Err(Stop::Query(error)) => error.to_string(),
        Err(stop) => format!("{stop:?}"),
    }
}

fn shown(value: &Datum<'static>) -> String {
    let mut text = String::new();
    if value.is_null() {
        return "NULL".to_owned();
    }
    plain::write_plain(value, &mut text).unwrap();
    text
}

fn with_database(work: impl FnOnce(&Database)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.mdf");
    build(&path);
    let opened = extentdb_reader::Database::open(&[path], &OpenOptions::default()).unwrap();
    work(&Database::new(opened));
}

#[test]
fn queries_give_the_rows_of_the_files() {
    let cases = [
        ("SELECT COUNT(*) FROM orders", "5000"),
        ("SELECT COUNT(*), SUM(customer) FROM Shop.dbo.Orders", "5000 22500"),
        ("SELECT TOP 2 * FROM orders ORDER BY id DESC", "4999 9 9998\n4998 8 9996"),
        ("SELECT orders.twice FROM dbo.orders WHERE dbo.orders.id = 7;", "14"),
        ("SELECT code FROM [order customers] WHERE id < 2", "c000\nc001"),
        (
            "SELECT t.name, c.name FROM sys.tables t JOIN shop.sys.columns c \
             ON c.object_id = t.object_id WHERE t.name = 'orders' AND c.is_computed = 1",
            "orders twice",
        ),
        ("SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES", "2"),
        (
            "SELECT c.code, COUNT(*) FROM orders o JOIN [order customers] c ON c.id = o.customer \
             WHERE c.id > 7 GROUP BY c.code ORDER BY 1",
            "c008 500\nc009 500",
        ),
        (
            "WITH big AS (SELECT id FROM orders WHERE id % 1000 = 999) SELECT MAX(id) FROM big",
            "4999",
        ),
        (
            "SELECT (SELECT COUNT(*) FROM orders WHERE customer = c.id) FROM [order customers] c \
             WHERE c.id < 2",
            "0\n500",
        ),
        ("SELECT id FROM orders ORDER BY id OFFSET 4998 ROWS", "4998\n4999"),
        ("SELECT 1 + 1, N'x'", "2 x"),
        ("SELECT CONVERT(date, GETDATE())", "1970-01-02"),
        ("SELECT COUNT(*) FROM sys.sysschobjs WHERE name = 'orders'", "1"),
    ];
    with_database(|database| {
        for (text, expected) in cases {
            assert_eq!(ask(database, text), expected, "{text}");
        }
        assert_eq!(database.losses(), []);
    });
}

#[test]
fn what_a_query_over_files_cannot_do_is_refused_by_its_name() {
    let cases = [
        ("", "not supported: a text without a query"),
        ("SELECT 1 SELECT 2", "not supported: more than one statement"),
        ("DELETE orders", "not supported: a statement other than SELECT: the files are only read"),
        ("SELECT id INTO x FROM orders", "not supported: SELECT INTO: the files are only read"),
        ("SELECT 1 FOR JSON PATH", "not supported: FOR BROWSE, FOR XML and FOR JSON"),
        ("SELECT id FROM", "Msg 102, Level 15, Line 1: Incorrect syntax near 'FROM'."),
        ("SELECT\n 1 FROM nothing", "Msg 208, Level 16, Line 2: Invalid object name 'nothing'."),
        ("SELECT x FROM orders", "Msg 207, Level 16, Line 1: Invalid column name 'x'."),
        (
            "SELECT * FROM other.dbo.orders",
            "not supported: the database other: the files are of another one",
        ),
        (
            "SELECT * FROM sys.dm_tran_locks",
            "not supported: the view sys.dm_tran_locks in a query over files: it needs a server",
        ),
        ("SELECT @@SPID", "not supported: @@SPID in a query over files: it needs a server"),
        ("SELECT 1 / 0", "Msg 8134, Level 16: Divide by zero error encountered."),
    ];
    with_database(|database| {
        for (text, expected) in cases {
            assert_eq!(ask(database, text), expected, "{text}");
        }
    });
}

#[test]
fn a_cancelled_query_ends() {
    with_database(|database| {
        let text = "SELECT COUNT(*) FROM orders a CROSS JOIN orders b CROSS JOIN orders c";
        let query = database.query(text, Duration::ZERO).unwrap();
        let cancellation = Cancellation::new();
        cancellation.cancel();
        assert!(matches!(query.run::<()>(&cancellation, &mut |_| Ok(())), Err(Stop::Cancelled)));
    });
}

#[test]
fn rows_are_read_only_as_far_as_they_are_taken() {
    with_database(|database| {
        let query = database.query("SELECT id FROM orders", Duration::ZERO).unwrap();
        let mut taken = 0;
        let done = query.run(&Cancellation::new(), &mut |_| {
            taken += 1;
            if taken < 3 { Ok(()) } else { Err("enough") }
        });
        assert!(matches!(done, Err(Stop::Taker("enough"))));
    });
}
