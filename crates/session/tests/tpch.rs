//! TPC-H: all 22 queries over rows of our own, against the answers of another engine.
//!
//! `tests/tpch/queries.sql` holds the queries, parted by blank lines; `tests/tpch/answers.txt`
//! what DuckDB answers to the same queries over the same rows at scale 0.01. Numbers are equal
//! when they differ by no more than the scales of quotients and averages do.
//!
//! `TPCH_SCALE` sets another scale: the queries then run without a comparison, and their times
//! are printed. `TPCH_DUMP=FOLDER` writes the rows as INSERT statements, `TPCH_QUERY=n` runs one
//! query, `TPCH_PLANS=1` prints plans.

#[path = "tpch/data.rs"]
mod data;
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use extentdb_session::{Connection, MemoryLimits, Server};
use support::{batch, connect, server};

const TABLES: [&str; 8] =
    ["region", "nation", "supplier", "part", "partsupp", "customer", "lineitem", "orders"];

fn folder(name: &str) -> String {
    format!("{}/tests/tpch/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The rows as INSERT statements, by table.
fn statements(scale: f64) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    data::rows(&data::Scale::of(scale), &mut |table, row| {
        let lists = all.entry(table.to_owned()).or_default();
        match lists.last_mut() {
            Some(list) if list.len() < 1_000 => list.push(row),
            _ => lists.push(vec![row]),
        }
    });
    let insert = |table: &str, rows: Vec<String>| {
        format!("INSERT INTO {table} VALUES ({})", rows.join("),("))
    };
    let lists = all.into_iter();
    lists
        .map(|(table, lists)| {
            let texts = lists.into_iter().map(|rows| insert(&table, rows)).collect();
            (table, texts)
        })
        .collect()
}

fn loaded(scale: f64) -> (Arc<Server>, Connection) {
    let server = server();
    let mut connection = connect(&server);
    batch(&mut connection, "CREATE DATABASE tpch");
    batch(&mut connection, "USE tpch");
    batch(&mut connection, "SET NOCOUNT ON");
    let tables = std::fs::read_to_string(folder("tables.sql")).unwrap();
    assert_eq!(batch(&mut connection, &tables), "");
    let statements = statements(scale);
    if let Some(folder) = std::env::var_os("TPCH_DUMP") {
        for (table, texts) in &statements {
            let path = std::path::Path::new(&folder).join(format!("{table}.sql"));
            std::fs::write(path, texts.join(";\n")).unwrap();
        }
    }
    for table in TABLES {
        println!("{table}");
        for text in &statements[table] {
            assert_eq!(batch(&mut connection, text), "", "{table}");
        }
    }
    (server, connection)
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

#[test]
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn queries_answer_as_another_engine_does() {
    let scale: Option<f64> = std::env::var("TPCH_SCALE").ok().and_then(|it| it.parse().ok());
    let answers = std::fs::read_to_string(folder("answers.txt")).unwrap_or_default();
    let answers: Vec<&str> = answers.split("\n\n").collect();
    let begun = Instant::now();
    let (server, mut connection) = loaded(scale.unwrap_or(0.01));
    println!("loaded in {:.1} s", begun.elapsed().as_secs_f64());
    // Once with room for everything, once with nearly none: sorts, groups and joins spill.
    for limit in [256 << 20, 1 << 20] {
        println!("{} MB", limit >> 20);
        server.set_memory_limits(MemoryLimits { server: limit, statement: limit });
        let wrong = wrong_answers(&mut connection, &answers, scale.is_none());
        assert_eq!(wrong, Vec::<usize>::new(), "within {limit} bytes");
    }
}

/// The queries whose answers differ from what is expected; none when nothing is compared.
#[allow(clippy::disallowed_methods, reason = "times are printed, nothing depends on them")]
fn wrong_answers(connection: &mut Connection, answers: &[&str], is_compared: bool) -> Vec<usize> {
    let mut wrong = Vec::new();
    let begun = Instant::now();
    for (number, text) in queries() {
        let begun = Instant::now();
        let answer = batch(connection, &text);
        println!("Q{number}: {:.3} s", begun.elapsed().as_secs_f64());
        if std::env::var_os("TPCH_PLANS").is_some() {
            println!("{}", connection.plan_text(&text).unwrap());
        }
        if !is_compared {
            continue;
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
    println!("all: {:.3} s", begun.elapsed().as_secs_f64());
    wrong
}
