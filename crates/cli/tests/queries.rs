//! `query`: SELECT over files, in every format, and what is said about rows that cannot be read.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

mod program;

use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::SqlType;
use program::{command, extentdb, more_sample, on, sample};
use serde_json::{Value, json};

/// A database with the table `t`: a number, a number or NULL, and their sum, computed.
fn built(path: &Path) {
    let columns = vec![
        ColumnSpec::new("a", SqlType::Int),
        ColumnSpec::nullable("b", SqlType::Int),
        ColumnSpec::computed("sum", SqlType::Int, "([a]+[b])"),
    ];
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        if number.is_multiple_of(2) {
            row.null();
            row.null();
        } else {
            row.int(100);
            row.int(100 + number as i32);
        }
    };
    let table = TableSpec::heap("t", columns, FnRows::new(4, row).ordered(&[0]))
        .clustered(IndexSpec::primary_key("PK_t", &["a"]));
    DatabaseBuilder::new("small").table(table).build(&[path], &mut |_| {}).unwrap();
}

fn with_small(work: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.mdf");
    built(&path);
    work(&path);
}

#[test]
fn a_query_is_written_in_each_format() {
    let text = "SELECT a, b, [sum], 'x' + CONVERT(varchar(9), a) FROM t WHERE a < 2";
    let table =
        "a     b   sum\n-  ----  ----  --\n0  NULL  NULL  x0\n1   100   101  x1\n\n(2 rows)\n";
    let cases: &[(&[&str], &str)] = &[
        (&[], table),
        (&["--quiet"], "a     b   sum\n-  ----  ----  --\n0  NULL  NULL  x0\n1   100   101  x1\n"),
        (&["--format", "csv"], "a,b,sum,column4\r\n0,,,x0\r\n1,100,101,x1\r\n"),
        (&["--format", "csv", "--null", "-"], "a,b,sum,column4\r\n0,-,-,x0\r\n1,100,101,x1\r\n"),
        (
            &["--format", "jsonl"],
            "{\"a\":0,\"b\":null,\"sum\":null,\"column4\":\"x0\"}\n\
             {\"a\":1,\"b\":100,\"sum\":101,\"column4\":\"x1\"}\n",
        ),
        (
            &["--format", "json"],
            "[\n{\"a\":0,\"b\":null,\"sum\":null,\"column4\":\"x0\"},\n\
             {\"a\":1,\"b\":100,\"sum\":101,\"column4\":\"x1\"}\n]\n",
        ),
    ];
    with_small(|path| {
        for (options, expected) in cases {
            let rest = [options, &[text][..]].concat();
            assert_eq!(on("query", path, &rest).expect(0), *expected, "{options:?}");
        }
    });
}

#[test]
fn a_query_comes_from_a_file_or_stdin_and_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.mdf");
    built(&path);
    let script = folder.path().join("q.sql");
    std::fs::write(&script, "SELECT MAX(a) AS m\nFROM t;\n").unwrap();
    let expected = "{\"m\":3}\n";
    let script = ["--format", "jsonl", "-f", script.to_str().unwrap()];
    assert_eq!(on("query", &path, &script).expect(0), expected);
    let mut child = command(["query".as_ref(), path.as_os_str(), OsStr::new("-")])
        .args(["--format", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT MAX(a) AS m FROM t").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let out = folder.path().join("out.json");
    let to_file = ["--format", "jsonl", "-o", out.to_str().unwrap(), "SELECT MAX(a) AS m FROM t"];
    assert_eq!(on("query", &path, &to_file).expect(0), "");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
    assert!(on("query", &path, &to_file).complaint(1).contains("--force"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let cases = [
        ("SELECT x FROM t", "Msg 207, Level 16, Line 1: Invalid column name 'x'."),
        ("SELECT * FROM u", "Msg 208, Level 16, Line 1: Invalid object name 'u'."),
        ("DROP TABLE t", "not supported: a statement other than SELECT"),
        ("SELECT * FROM sys.dm_tran_locks", "not supported: the view sys.dm_tran_locks"),
    ];
    with_small(|path| {
        for (text, expected) in cases {
            let said = on("query", path, &[text]).complaint(1);
            assert!(said.contains(expected), "{text}: {said}");
        }
        let twice = ["--format", "json", "SELECT a, a FROM t"];
        assert!(on("query", path, &twice).complaint(1).contains("two columns are called a"));
        let forgotten = extentdb(["query".as_ref(), path.as_os_str()]).complaint(1);
        assert!(forgotten.contains("which files, and which query?"), "{forgotten}");
    });
}

#[test]
fn values_are_those_of_an_export() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.mdf");
    on("make", &path, &["--shape", "wide", "--rows", "400", "--quiet"]).expect(0);
    let exported = on("export", &path, &["--table", "types"]).expect(0);
    let queried = on("query", &path, &["--format", "jsonl", "SELECT * FROM types"]).expect(0);
    assert_eq!(exported.lines().count(), 400);
    for (queried, exported) in queried.lines().zip(exported.lines()) {
        assert_eq!(queried, exported);
    }
    assert_eq!(queried.lines().count(), 400);
}

#[test]
fn rows_that_are_not_there_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["two.mdf", "two_2.ndf", "two_3.ndf"].map(|name| folder.path().join(name));
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("pad", SqlType::Binary { len: 900 }),
    ];
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        row.raw(&[7; 900]);
    };
    let rows = FnRows::new(2_000, row).ordered(&[0]);
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    DatabaseBuilder::new("two")
        .filegroup("MORE", 2)
        .table(TableSpec::heap("heap", columns, rows).on("MORE"))
        .build(&paths, &mut |_| {})
        .unwrap();
    let text = "SELECT COUNT(*) AS n FROM heap";
    let ask = |options: &[&str]| on("query", &files[0], &[options, &[text]].concat());
    let all = ask(&["--format", "jsonl"]).expect(0);
    assert_eq!(all, "{\"n\":2000}\n");
    std::fs::remove_file(&files[2]).unwrap();
    let run = ask(&["--format", "jsonl"]);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let said = run.complaint(3);
    assert!(found["n"].as_i64().is_some_and(|n| n > 0 && n < 2_000), "{found}");
    assert!(said.contains("pages are not in the files given"), "{said}");
}

#[test]
fn views_and_joins_of_sample_databases_are_queried() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let count = |text: &str| -> Value {
        let run = on("query", &path, &["--format", "jsonl", text]);
        serde_json::from_str(run.expect(0).lines().next().unwrap()).unwrap()
    };
    let same = "SELECT COUNT(*) AS n FROM [Order Details Extended] e JOIN [Order Details] d \
                ON d.OrderID = e.OrderID AND d.ProductID = e.ProductID \
                WHERE e.ExtendedPrice = CONVERT(money, d.UnitPrice * d.Quantity * \
                (1 - d.Discount) / 100) * 100";
    let all = count("SELECT COUNT(*) AS n FROM [dbo].[Order Details]");
    assert_eq!(all, json!({ "n": 2155 }));
    assert_eq!(count(same), all);
}

#[test]
fn a_chain_of_backups_is_queried() {
    let names = ["", "_1", "_2", "_3"].map(|number| {
        let ending = if number.is_empty() { "bak" } else { "trn" };
        more_sample(&format!("chain-2016/RestoreTimeClean{number}.{ending}"))
    });
    let Some(chain) = names.into_iter().collect::<Option<Vec<PathBuf>>>() else { return };
    let count = |files: &[PathBuf]| {
        let mut arguments = vec![OsStr::new("query")];
        arguments.extend(files.iter().map(|path| path.as_os_str()));
        let text = "SELECT COUNT(*) AS n FROM steps";
        arguments.extend(["--format", "jsonl", text].map(OsStr::new));
        let found: Value = serde_json::from_str(&extentdb(arguments).expect(0)).unwrap();
        found["n"].as_i64().unwrap()
    };
    let counts = [1, 2, 3, 4].map(|files| count(&chain[..files]));
    assert_eq!(counts, [0, 10, 20, 30]);
}
