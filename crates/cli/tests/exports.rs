//! `export`: which rows and columns are written, how, and what is said about those that are not.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

mod program;

use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::SqlType;
use program::{Run, extentdb, on};
use serde_json::{Value, json};

/// A database with `types`: a column of every type, with the values at the edges of each.
fn every_type(folder: &Path) -> PathBuf {
    let path = folder.join("wide.mdf");
    let options = ["--shape", "wide", "--rows", "400", "--quiet"];
    let made = on("make", &path, &options);
    made.expect(0);
    path
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("_manifest.json")).unwrap()).unwrap()
}

fn is_stored(name: &str) -> bool {
    // Unpaired surrogates are another test's.
    !matches!(name, "nvarchar" | "nvarchar_max" | "ntext" | "sql_variant")
}

/// The names of the columns that hold no unpaired surrogate.
fn plain_columns(path: &Path) -> String {
    // serde_json refuses the escapes of unpaired surrogates.
    let options = ["--table", "types", "--limit", "1", "--surrogates", "replace"];
    let first = rows(&on("export", path, &options).stdout).remove(0);
    let names = first.as_object().unwrap().keys().filter(|name| is_stored(name));
    names.map(|name| format!("[{name}]")).collect::<Vec<_>>().join(",")
}

#[test]
fn csv_reads_back_with_the_values_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let columns = plain_columns(&path);
    let options = ["--table", "types", "--columns", &columns];
    let expected = rows(&on("export", &path, &options).expect(0));
    let csv = [&options[..], &["--format", "csv", "--delimiter", "\\t", "--null", "\\N"]].concat();
    let text = on("export", &path, &csv).expect(0);
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), expected.len());
    for (record, row) in records.iter().zip(&expected) {
        for (name, field) in names.iter().zip(record) {
            let value = match &row[name] {
                Value::Null => "\\N".to_owned(),
                Value::Bool(bit) => u8::from(*bit).to_string(),
                Value::String(text) => text.clone(),
                Value::Number(number) if number.is_f64() => {
                    assert_eq!(field.parse().ok(), number.as_f64(), "{name}");
                    continue;
                }
                other => other.to_string(),
            };
            assert_eq!(field, value, "{name}");
        }
    }
}

#[test]
fn an_unpaired_surrogate_is_kept_replaced_or_refused_but_never_silent() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let options = ["--table", "types", "--columns", "id,nvarchar"];
    let all = on("export", &path, &options).expect(0);
    let count = all.lines().count();
    let halves = all.lines().filter(|line| line.contains("\\uD83D")).count();
    assert!(halves > 0);
    let run = |rest: &[&str]| on("export", &path, &[&options[..], rest].concat());
    // SQL keeps it, too.
    let sql = run(&["--format", "sql"]).expect(0);
    assert!(sql.contains("N'' + CONVERT(nvarchar(max), 0x3DD8) + N'x'"), "{sql}");
    let refused = run(&["--format", "csv"]);
    let text = refused.stdout.clone();
    let said = refused.complaint(3);
    assert!(
        said.contains(&format!("{halves} rows are left out")) && said.contains("--surrogates"),
        "{said}"
    );
    assert_eq!(text.lines().count(), 1 + count - halves);
    let replaced = run(&["--format", "csv", "--surrogates", "replace"]);
    assert_eq!(replaced.stdout.matches('\u{fffd}').count(), halves);
    assert!(
        replaced.complaint(3).contains(&format!("column nvarchar: {halves} characters replaced"))
    );
    let escaped = run(&["--format", "csv", "--surrogates", "escape"]);
    assert_eq!(escaped.stdout.matches("\\uD83D").count(), halves);
    let replaced = run(&["--surrogates", "replace"]);
    assert_eq!(replaced.stdout.matches('\u{fffd}').count(), halves);
    assert_eq!(replaced.code, 3);
}

#[test]
fn the_manifest_names_types_and_counts_changes_by_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let out = folder.path().join("out");
    let options = ["--table", "types", "--out", out.to_str().unwrap(), "--columns", "id,nvarchar"];
    let replace = ["--format", "csv", "--surrogates", "replace"];
    on("export", &path, &[&options[..], &replace].concat()).complaint(3);
    let found = manifest(&out);
    let table = &found["tables"][0];
    let column = &table["columns"][1];
    assert_eq!((&column["name"], &column["type"]), (&json!("nvarchar"), &json!("nvarchar(30)")));
    assert_eq!(column["nullable"], true);
    assert!(column["replaced_characters"].as_u64().unwrap() > 0);
    assert_eq!(table["columns"][0]["replaced_characters"], 0);
    assert_eq!((&found["complete"], &table["complete"]), (&json!(false), &json!(false)));
    assert_eq!(table["incomplete_because"][0]["reason"], "changed");
    assert_eq!(
        found["selection"],
        json!({"columns": ["id,nvarchar"], "where": null, "limit": null})
    );
    // The files are there: a second time needs --force.
    let said = on("export", &path, &options).complaint(1);
    assert!(said.contains("--force"), "{said}");
}

#[test]
fn columns_conditions_and_limits_choose_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let select = |rest: &[&str]| -> Vec<Value> {
        rows(&on("export", &path, &[&["--table", "types"], rest].concat()).expect(0))
    };
    let all = select(&["--columns", "id,varchar,int"]);
    let is_case = |row: &&Value| {
        row["varchar"].as_str().is_some_and(|text| text.trim_end().eq_ignore_ascii_case("case"))
    };
    let wanted: Vec<Value> = all.iter().filter(is_case).cloned().collect();
    assert!(!wanted.is_empty() && wanted.len() < all.len());
    // Trailing blanks and, under this collation, case make no difference.
    assert_eq!(select(&["--columns", "ID, VarChar,int", "--where", "varchar = 'cAsE'"]), wanted);
    // Unknown is not true, and NOT unknown is not true either.
    let known = all.iter().filter(|row| !row["int"].is_null()).count();
    let count = |rest: &[&str]| select(&[&["--columns", "id"], rest].concat()).len();
    let either = count(&["--where", "int > 5"]) + count(&["--where", "NOT int > 5"]);
    assert_eq!(either, known);
    assert!(known < all.len());
    assert_eq!(count(&["--limit", "3"]), 3);
    assert_eq!(count(&["--where", "id % 2 = 0 AND datetime2_7 IS NOT NULL", "--limit", "2"]), 2);
    assert_eq!(count(&["--limit", "0"]), 0);
    let names: Vec<&String> = all[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "varchar", "int"]);
}

#[test]
fn errors_in_names_and_conditions_say_where_and_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let complaint = |rest: &[&str]| {
        let run: Run = on("export", &path, &[&["--table", "types"], rest].concat());
        run.complaint(1)
    };
    let said = complaint(&["--columns", "id,nvarcha"]);
    assert!(said.contains("no column nvarcha (did you mean"), "{said}");
    let said = complaint(&["--where", "id > 5 AND [small int] = 1"]);
    assert!(
        said.contains("no column small int at character 12") && said.contains("smallint?"),
        "{said}"
    );
    let said = complaint(&["--where", "id > "]);
    assert!(said.contains("syntax error"), "{said}");
    complaint(&["--where", "id + 1"]);
}

#[test]
fn a_row_whose_condition_fails_is_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = every_type(folder.path());
    let run = on(
        "export",
        &path,
        &["--table", "types", "--columns", "id", "--where", "1 / (id - 2) >= 0"],
    );
    assert!(!run.stdout.contains("{\"id\":2}"));
    let said = run.complaint(3);
    assert!(said.contains("divide by zero") && said.contains("1 rows are left out"), "{said}");
}

/// A database whose table `t` has a computed column that rows do not store.
fn computed(path: &Path) {
    let columns = vec![
        ColumnSpec::new("a", SqlType::Int),
        ColumnSpec::computed("twice", SqlType::Int, "([a]*(2))"),
        ColumnSpec::nullable("b", SqlType::Int),
    ];
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        row.int(2 * number as i32);
        row.null();
    };
    let table = TableSpec::heap("t", columns, FnRows::new(10, row).ordered(&[0]))
        .clustered(IndexSpec::primary_key("PK_t", &["a"]));
    DatabaseBuilder::new("computed").table(table).build(&[path], &mut |_| {}).unwrap();
}

#[test]
fn computed_columns_can_be_asked_for_and_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("computed.mdf");
    computed(&path);
    let text =
        on("export", &path, &["--table", "t", "--columns", "twice,a", "--where", "twice > 15"]);
    assert_eq!(text.expect(0), "{\"twice\":16,\"a\":8}\n{\"twice\":18,\"a\":9}\n");
    let sql = on(
        "export",
        &path,
        &["--table", "t", "--columns", "a,b", "--format", "sql", "--limit", "1"],
    );
    assert_eq!(sql.expect(0), "INSERT INTO [dbo].[t] ([a], [b]) VALUES (0, NULL);\nGO\n");
    // NULL in the only column is told apart from a missing line.
    let csv =
        ["--table", "t", "--columns", "b", "--format", "csv", "--null", "NULL", "--limit", "1"];
    assert_eq!(on("export", &path, &csv).expect(0), "b\r\nNULL\r\n");
}

#[test]
fn a_table_partly_in_a_missing_file_gives_the_rows_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    let files = [name("two.mdf"), name("two_2.ndf"), name("two_3.ndf")];
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("pad", SqlType::Binary { len: 900 }),
    ];
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        row.raw(&[7; 900]);
    };
    let rows = || FnRows::new(2_000, row).ordered(&[0]);
    let builder = DatabaseBuilder::new("two")
        .filegroup("MORE", 2)
        .table(TableSpec::heap("heap", columns.clone(), rows()).on("MORE"))
        .table(
            TableSpec::heap("tree", columns, rows())
                .clustered(IndexSpec::primary_key("PK_tree", &["id"]).on("MORE"))
                .on("MORE"),
        );
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    builder.build(&paths, &mut |_| {}).unwrap();
    let export = |given: &[&PathBuf], table: &str| {
        let mut arguments = vec![OsStr::new("export")];
        arguments.extend(given.iter().map(|path| path.as_os_str()));
        arguments.extend(["--table", table, "--columns", "id"].map(OsStr::new));
        extentdb(arguments)
    };
    for table in ["heap", "tree"] {
        let whole = export(&[&files[0], &files[1], &files[2]], table).expect(0);
        assert_eq!(whole.lines().count(), 2_000);
        let mut found = 0;
        for given in [[&files[0], &files[1]], [&files[0], &files[2]]] {
            // The files that are not given are not beside those that are.
            let away = tempfile::tempdir().unwrap();
            let moved: Vec<PathBuf> =
                given.iter().map(|path| away.path().join(path.file_name().unwrap())).collect();
            for (from, to) in given.iter().zip(&moved) {
                fs::copy(from, to).unwrap();
            }
            let run = export(&[&moved[0], &moved[1]], table);
            let mut lines: Vec<&str> = run.stdout.lines().collect();
            found += lines.len();
            assert!(!lines.is_empty() && lines.iter().all(|line| whole.contains(line)), "{table}");
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), run.stdout.lines().count(), "a row came twice");
            let said = run.complaint(3);
            assert!(said.contains("pages are not in the files given"), "{said}");
        }
        // Each row is in one of the files.
        assert_eq!(found, 2_000, "{table}");
    }
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
    use arrow_array::{Array, RecordBatch};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    fn read(path: &Path) -> RecordBatch {
        let file = fs::File::open(path).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        reader.next().unwrap().unwrap()
    }

    fn export(path: &Path, out: &Path, rest: &[&str]) -> Run {
        let format =
            ["--table", "types", "--format", "parquet", "--force", "-o", out.to_str().unwrap()];
        on("export", path, &[&format[..], rest].concat())
    }

    #[test]
    fn parquet_reads_back_with_the_values_of_json() {
        let folder = tempfile::tempdir().unwrap();
        let path = every_type(folder.path());
        let out = folder.path().join("types.parquet");
        let columns = plain_columns(&path);
        export(&path, &out, &["--columns", &columns, "--limit", "500"]).expect(0);
        let options = ["--table", "types", "--columns", &columns, "--limit", "500"];
        let expected = rows(&on("export", &path, &options).expect(0));
        let batch = read(&out);
        assert_eq!(batch.num_rows(), expected.len());
        let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("{name}"));
        for (at, row) in expected.iter().enumerate() {
            for (name, value) in row.as_object().unwrap() {
                assert_eq!(column(name).is_null(at), value.is_null(), "{name}");
            }
            assert_eq!(Value::from(column("id").as_primitive::<Int32Type>().value(at)), row["id"]);
            let text = column("datetime2_7").as_string::<i32>();
            if let Some(value) = row["datetime2_7"].as_str() {
                assert_eq!(text.value(at), value);
            }
            if !row["bigint"].is_null() {
                assert_eq!(
                    Value::from(column("bigint").as_primitive::<Int64Type>().value(at)),
                    row["bigint"]
                );
            }
            if let Some(value) = row["decimal_38_38"].as_str() {
                let digits =
                    column("decimal_38_38").as_primitive::<Decimal128Type>().value_as_string(at);
                assert_eq!(digits, value);
            }
            // Every year is there, as far as microseconds go.
            if let Some(value) = row["datetime2_6"].as_str() {
                let times = column("datetime2_6").as_primitive::<TimestampMicrosecondType>();
                let microseconds = times.value(at).rem_euclid(1_000_000);
                assert_eq!(format!("{microseconds:06}"), value.rsplit('.').next().unwrap());
            }
        }
    }

    #[test]
    fn the_last_day_of_the_calendar_is_written_and_truncated_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = every_type(folder.path());
        let out = folder.path().join("types.parquet");
        let columns = ["--columns", "datetime2_7", "--where", "datetime2_7 >= '99991231'"];
        export(&path, &out, &columns).expect(0);
        assert_eq!(read(&out).column(0).as_string::<i32>().value(0), "9999-12-31T23:59:59.9999999");
        let truncated = [&columns[..], &["--timestamps", "us"]].concat();
        let said = export(&path, &out, &truncated).complaint(3);
        let batch = read(&out);
        let times = batch.column(0).as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.value(0), 253_402_300_799_999_999);
        assert!(said.contains(&format!("{} times truncated", times.len())), "{said}");
    }
}
