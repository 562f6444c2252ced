//! TPC-H: all 22 queries over rows of our own, against the answers of another engine.
//!
//! `tests/tpch/queries.sql` holds the queries, parted by blank lines; `tests/tpch/answers.txt` and
//! `tests/tpch/answers-0.1.txt` what DuckDB answers to the same queries over the same rows at scale
//! 0.01 and 0.1. Numbers are equal when they differ by no more than the scales of quotients and
//! averages do. The rows come as a client loads them in bulk.
//!
//! `TPCH_SCALE` sets another scale: the queries then run without a comparison, and their times
//! are printed. `TPCH_QUERY=n` runs one query, `TPCH_PLANS=1` prints
//! plans. `TPCH_DUMP=FOLDER` writes the rows to files, fields
//! parted by tabs; the answers were made of them by `tests/tpch/answers.py FOLDER`, with the
//! package `duckdb` of Python.

#[path = "tpch/data.rs"]
mod data;
mod support;
#[path = "tpch/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use extentdb_session::{BulkRows, Connection, MemoryLimits, Request, Server};
use extentdb_types::Datum;
use support::{ask, batch, connect, server_of};
use table::{Table, fields};

const TABLES: [&str; 8] =
    ["region", "nation", "supplier", "part", "partsupp", "customer", "lineitem", "orders"];
/// Rows of one load.
const LOAD_ROWS: usize = 20_000;
/// Pages in memory: all of scale 0.1.
const FRAMES: usize = 32_768;

/// Memory of statements, in bytes.
const ROOM: usize = 256 << 20;

fn folder(name: &str) -> String {
    format!("{}/tests/tpch/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Loads rows as they are made, a message for each [`LOAD_ROWS`] of a table.
struct Loader {
    connection: Connection,
    tables: BTreeMap<String, (Table, Vec<Vec<Datum<'static>>>)>,
    dump: BTreeMap<String, String>,
    is_dumped: bool,
}

impl Loader {
    fn add(&mut self, name: &str, literals: &str) {
        let line = fields(literals);
        let (table, rows) = self.tables.get_mut(name).unwrap();
        let values = table.values(&line).unwrap_or_else(|| panic!("{name}: {literals}"));
        rows.push(values.into_iter().map(Datum::into_owned).collect());
        if self.is_dumped {
            let text = self.dump.entry(name.to_owned()).or_default();
            text.push_str(&line);
            text.push('\n');
        }
        if self.tables[name].1.len() == LOAD_ROWS {
            // Rows reference those of tables before theirs.
            let at = TABLES.iter().position(|table| *table == name).unwrap();
            TABLES[..=at].iter().for_each(|table| self.load(table));
        }
    }

    fn load(&mut self, name: &str) {
        let (table, rows) = self.tables.get_mut(name).unwrap();
        if rows.is_empty() {
            return;
        }
        let columns = table.columns.iter().map(|(name, ty)| (name.clone(), ty.to_sql_type()));
        let bulk = BulkRows::in_memory(columns.collect(), std::mem::take(rows));
        let statement = table.insert_bulk();
        assert_eq!(batch(&mut self.connection, &statement), "", "{name}");
        assert_eq!(ask(&mut self.connection, &Request::BulkLoad(bulk)), "", "{name}");
    }
}

fn loaded(scale: f64) -> (Arc<Server>, Connection) {
    let server = server_of(FRAMES);
    let mut connection = connect(&server);
    batch(&mut connection, "CREATE DATABASE tpch");
    batch(&mut connection, "USE tpch");
    batch(&mut connection, "SET NOCOUNT ON");
    let text = std::fs::read_to_string(folder("tables.sql")).unwrap();
    assert_eq!(batch(&mut connection, &text), "");
    let tables = text.lines().map(|line| Table::parse(line).expect(line));
    let tables = tables.map(|table| (table.name.clone(), (table, Vec::new()))).collect();
    let dump = std::env::var_os("TPCH_DUMP");
    let mut loader = Loader {
        connection,
        tables,
        dump: BTreeMap::new(),
        is_dumped: dump.is_some(),
    };
    data::rows(&data::Scale::of(scale), &mut |name, literals| loader.add(name, &literals));
    TABLES.iter().for_each(|name| loader.load(name));
    for (name, text) in loader.dump {
        let path = std::path::Path::new(dump.as_ref().unwrap()).join(format!("{name}.tsv"));
        std::fs::write(path, text).unwrap();
    }
    (server, loader.connection)
}

/// The rows of an answer, fields parted by `|`, without the head.
fn rows(answer: &str) -> Vec<Vec<String>> {
    let rows = answer.lines().filter(|line| !line.starts_with('['));
    rows.map(|row| row.split('|').map(|field| field.trim().to_owned()).collect()).collect()
}

fn is_same(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 2e-6 + 1e-8 * other.abs(),
        _ => one == other,
    }
}

fn is_same_row(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
}

/// Queries that are to run, by number.
fn queries() -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(folder("queries.sql")).unwrap();
    let only: Option<usize> = std::env::var("TPCH_QUERY").ok().and_then(|it| it.parse().ok());
    let all = text.split("\n\n").enumerate().map(|(at, text)| (at + 1, text.to_owned()));
    all.filter(|(number, _)| only.is_none_or(|only| only == *number)).collect()
}

/// Runs the queries and compares them with the answers of a file, if there is one.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn check(scale: f64, answers: Option<&str>, limits: &[usize]) {
    let answers = answers.map(|file| std::fs::read_to_string(folder(file)).unwrap());
    let answers: Option<Vec<&str>> = answers.as_deref().map(|text| text.split("\n\n").collect());
    let begun = Instant::now();
    let (server, mut connection) = loaded(scale);
    println!("loaded in {:.1} s", begun.elapsed().as_secs_f64());
    for limit in limits {
        println!("{} MB", limit >> 20);
        server.set_memory_limits(MemoryLimits { server: *limit, statement: *limit, login: None });
        let wrong = wrong_answers(&mut connection, answers.as_deref());
        assert_eq!(wrong, Vec::<usize>::new(), "within {limit} bytes");
    }
}

/// The queries whose answers differ from what is expected; none when nothing is compared.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn wrong_answers(connection: &mut Connection, answers: Option<&[&str]>) -> Vec<usize> {
    let mut wrong = Vec::new();
    for (number, text) in queries() {
        let begun = Instant::now();
        let answer = batch(connection, &text);
        println!("Q{number}: {:.3} s", begun.elapsed().as_secs_f64());
        if std::env::var_os("TPCH_PLANS").is_some() {
            println!("{}", connection.plan_text(&text).unwrap());
        }
        let Some(answers) = answers else { continue };
        let found = rows(&answer);
        let expected = rows(answers.get(number - 1).copied().unwrap_or_default());
        let is_right = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(one, other)| is_same_row(one, other));
        if !is_right {
            println!("Q{number} gives\n{answer}\nexpected\n{expected:?}");
            wrong.push(number);
        }
    }
    wrong
}

/// Another scale, whose answers are not known.
fn other_scale() -> Option<f64> {
    std::env::var("TPCH_SCALE").ok().and_then(|it| it.parse().ok())
}

#[test]
fn queries_answer_as_another_engine_does() {
    match other_scale() {
        Some(scale) => check(scale, None, &[ROOM]),
        // Once with room for everything, once with nearly none: sorts, groups and joins spill.
        None => check(0.01, Some("answers.txt"), &[ROOM, 1 << 20]),
    }
}

#[test]
fn queries_over_more_rows_answer_as_another_engine_does() {
    if other_scale().is_none() {
        check(0.1, Some("answers-0.1.txt"), &[ROOM]);
    }
}
