//! TPC-H: all 22 queries over rows of our own, against the answers of another engine.
//!
//! `tests/tpch/queries.sql` holds the queries, parted by blank lines; `tests/tpch/answers.txt` and
//! `tests/tpch/answers-0.1.txt` what DuckDB answers to the same queries over the same rows at scale
//! 0.01 and 0.1. Numbers are equal when they differ by no more than the scales of quotients and
//! averages do. The rows come as a client loads them in bulk.
//!
//! `TPCH_SCALE` sets another scale: the queries then run without a comparison, with the indexes
//! that `bench` creates, `TPCH_RUNS` times in a thread named `queries`, and their times are
//! printed, of the clock and of processors. `TPCH_QUERY=n` runs one query, `TPCH_PLANS=1` prints
//! plans, `TPCH_QUERIES=FILE` has other queries. `TPCH_DUMP=FOLDER` writes the rows to files, fields
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

/// Those of [`measure`], of scale 1.
const MEASURED_FRAMES: f64 = 230_000.0;
/// As `bench` creates them for all servers.
const INDEXES: &str = "CREATE INDEX lineitem_part ON lineitem (l_partkey, l_suppkey)
CREATE INDEX orders_customer ON orders (o_custkey)
CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey)
CREATE INDEX customer_nation ON customer (c_nationkey)";

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

fn loaded(scale: f64, frames: usize) -> (Arc<Server>, Connection) {
    let server = server_of(frames);
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
    // A warning that an aggregate passes NULLs over is no row.
    let is_row = |line: &&str| !line.starts_with('[') && !line.starts_with("8153.");
    let rows = answer.lines().filter(is_row);
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
    let file = std::env::var("TPCH_QUERIES").unwrap_or_else(|_| folder("queries.sql"));
    let text = std::fs::read_to_string(file).unwrap();
    let only: Option<usize> = std::env::var("TPCH_QUERY").ok().and_then(|it| it.parse().ok());
    let all = text.split("\n\n").enumerate().map(|(at, text)| (at + 1, text.to_owned()));
    all.filter(|(number, _)| only.is_none_or(|only| only == *number)).collect()
}

/// Runs the queries and compares them with the answers of a file, if there is one.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn check(scale: f64, answers: &str, limits: &[usize]) {
    let answers = std::fs::read_to_string(folder(answers)).unwrap();
    let answers: Vec<&str> = answers.split("\n\n").collect();
    let begun = Instant::now();
    let (server, mut connection) = loaded(scale, FRAMES);
    println!("loaded in {:.1} s", begun.elapsed().as_secs_f64());
    for limit in limits {
        println!("{} MB", limit >> 20);
        server.set_memory_limits(MemoryLimits { server: *limit, statement: *limit, login: None });
        let wrong = wrong_answers(&mut connection, &answers);
        assert_eq!(wrong, Vec::<usize>::new(), "within {limit} bytes");
    }
}

/// The queries whose answers differ from what is expected.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn wrong_answers(connection: &mut Connection, answers: &[&str]) -> Vec<usize> {
    let mut wrong = Vec::new();
    for (number, text) in queries() {
        let begun = Instant::now();
        let answer = batch(connection, &text);
        println!("Q{number}: {:.3} s", begun.elapsed().as_secs_f64());
        if std::env::var_os("TPCH_PLANS").is_some() {
            println!("{}", connection.plan_text(&text).unwrap());
        }
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

/// Runs the queries some times over a larger scale, and prints the least time of each, and what
/// they took of processors on average.
fn measure(scale: f64) {
    let frames = (MEASURED_FRAMES * scale) as usize;
    let (server, mut connection) = loaded(scale, frames.max(FRAMES));
    for index in INDEXES.lines() {
        assert_eq!(batch(&mut connection, index), "");
    }
    let limits = MemoryLimits { server: 4 * ROOM, statement: 4 * ROOM, login: None };
    server.set_memory_limits(limits);
    let runs = std::env::var("TPCH_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(3);
    // A profiler tells the queries from the load by the name of the thread.
    let thread = std::thread::Builder::new().name("queries".to_owned());
    let all = thread.spawn(move || timed_queries(&mut connection, runs)).unwrap().join().unwrap();
    println!("all: {:.3} s, {:.3} s of processors", all.0, all.1);
}

/// The sums of the least times, and of those of all threads.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn timed_queries(connection: &mut Connection, runs: u32) -> (f64, f64) {
    let mut all = (0.0, 0.0);
    for (number, text) in queries() {
        // The first run brings pages into memory.
        batch(connection, &text);
        let mut least = (f64::MAX, 0.0);
        let before = processor_seconds();
        for _ in 0..runs {
            let begun = Instant::now();
            let answer = batch(connection, &text);
            least.0 = begun.elapsed().as_secs_f64().min(least.0);
            assert!(answer.starts_with('['), "{answer}");
        }
        least.1 = (processor_seconds() - before) / f64::from(runs);
        println!("Q{number}: {:.4} s, {:.4} s of processors", least.0, least.1);
        if std::env::var_os("TPCH_PLANS").is_some() {
            println!("{}", connection.plan_text(&text).unwrap());
        }
        all = (all.0 + least.0, all.1 + least.1);
    }
    all
}

/// Time that all threads of the process have run, where the system tells it, in hundredths.
fn processor_seconds() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    // The name of the program may have blanks.
    let fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Another scale, whose answers are not known.
fn other_scale() -> Option<f64> {
    std::env::var("TPCH_SCALE").ok().and_then(|it| it.parse().ok())
}

#[test]
fn queries_answer_as_another_engine_does() {
    match other_scale() {
        Some(scale) => measure(scale),
        // Once with room for everything, once with nearly none: sorts, groups and joins spill.
        None => check(0.01, "answers.txt", &[ROOM, 1 << 20]),
    }
}

#[test]
fn queries_over_more_rows_answer_as_another_engine_does() {
    if other_scale().is_none() {
        check(0.1, "answers-0.1.txt", &[ROOM]);
    }
}
