//! Statements in the manner of sqllogictest, a file for each feature of T-SQL.
//!
//! `tests/slt/NAME.slt` runs in order on a new server in memory, in a database `slt`. What the
//! records mean, and where their expected results come from: `tests/slt/README.md`. Results are
//! never written by the program: a wrong one is repaired in the program or by hand.

#[path = "slt/record.rs"]
mod record;
#[allow(dead_code, reason = "this test reads typed values, not lines of text")]
mod support;

use std::collections::HashMap;
use std::sync::Arc;

use extentdb_session::{
    ColumnInfo, Connection, Done, Environment, Gone, Message, Output, OutputValue, Request, Server,
    StatementCode,
};
use extentdb_types::{Datum, SqlType, plain};
use record::{Expected, Record, records};
use support::{batch, connect, server};

/// A test for each file, and the list of them.
macro_rules! features {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_file(stringify!($name));
        })*

        const FEATURES: &[&str] = &[$(stringify!($name)),*];
    };
}

features! {
    alter_table
    apply
    arithmetic
    case_expressions
    casts
    catalog
    changes
    collations
    common_tables
    constraints
    cursors
    dates
    group_by
    identity
    indexes
    instead_of_triggers
    joins
    json
    like_patterns
    null_logic
    pivot
    predicates
    procedures
    random_aggregates
    random_expressions
    random_selects
    script_statements
    sequences
    set_operations
    string_lists
    strings
    subqueries
    temporary_tables
    top_offset
    transactions
    triggers
    try_catch
    user_functions
    values_rows
    views
    window_functions
}

/// What the files promise together.
const STATEMENTS_MIN: usize = 5_000;

#[test]
fn every_file_is_run_and_all_have_enough_statements() {
    let folder = format!("{}/tests/slt", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|it| it == "slt"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut tested = FEATURES.to_vec();
    tested.sort_unstable();
    assert_eq!(files, tested);
    let statements: usize = files.iter().map(|name| records(&read(name)).len()).sum();
    assert!(statements >= STATEMENTS_MIN, "{statements} statements");
}

fn read(name: &str) -> String {
    let path = format!("{}/tests/slt/{name}.slt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Runs the records of a file; panics with all that differ.
fn run_file(name: &str) {
    let mut sessions = Sessions::new();
    let mut wrong = String::new();
    for record in records(&read(name)) {
        if let Err(found) = sessions.run(&record) {
            let Record { line, sql, .. } = &record;
            wrong.push_str(&format!("\n{name}.slt:{line}\n{sql}\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The connections of a file by their names.
struct Sessions {
    server: Arc<Server>,
    by_name: HashMap<String, Connection>,
}

impl Sessions {
    fn new() -> Self {
        let server = server();
        batch(&mut connect(&server), "CREATE DATABASE slt");
        Self { server, by_name: HashMap::new() }
    }

    /// Runs a record; what differs as text.
    fn run(&mut self, record: &Record) -> Result<(), String> {
        let connection = self.by_name.entry(record.connection.clone()).or_insert_with(|| {
            let mut connection = connect(&self.server);
            batch(&mut connection, "USE slt");
            connection
        });
        let mut answer = Answer::default();
        connection.begin_request();
        let request = Request::Batch(record.sql.clone());
        extentdb_session::run(connection, &request, None, &mut answer);
        answer.compare(&record.expected)
    }
}

/// What a batch gave.
#[derive(Default)]
struct Answer {
    columns: Vec<ColumnInfo>,
    result_sets: usize,
    rows: Vec<Vec<String>>,
    /// Rows that the last INSERT, UPDATE, DELETE or MERGE changed.
    changed: Option<u64>,
    errors: Vec<Message>,
}

impl Answer {
    fn compare(mut self, expected: &Expected) -> Result<(), String> {
        if let Expected::Error(wanted) = expected {
            let is_wanted = |it: &Message| match wanted.parse() {
                Ok(number) => it.number == number,
                Err(_) => it.text.contains(wanted),
            };
            return if self.errors.first().is_some_and(is_wanted) {
                Ok(())
            } else {
                Err(format!("expected error {wanted}, found {}", self.found()))
            };
        }
        if !self.errors.is_empty() {
            return Err(format!("found {}", self.found()));
        }
        match expected {
            Expected::Count(count) if self.changed != Some(*count) => {
                Err(format!("expected {count} changed rows, found {:?}", self.changed))
            }
            Expected::Rows { types, is_sorted, rows } => {
                if *is_sorted {
                    self.rows.sort();
                }
                let letters: String = self.columns.iter().map(|it| letter(&it.ty)).collect();
                let lines: Vec<String> = self.rows.iter().map(|row| row.join("\t")).collect();
                if letters == *types && self.result_sets == 1 && lines == *rows {
                    return Ok(());
                }
                let rows = rows.join("\n");
                Err(format!("expected {types}\n{rows}\nfound {letters} {}", self.found()))
            }
            _ => Ok(()),
        }
    }

    fn found(&self) -> String {
        let rows = self.rows.iter().map(|row| row.join("\t"));
        let errors = self.errors.iter().map(|it| format!("error {}: {}", it.number, it.text));
        let lines: Vec<String> = rows.chain(errors).collect();
        format!("{} result sets\n{}", self.result_sets, lines.join("\n"))
    }
}

/// I for integers, R for other numbers, T for all else.
fn letter(ty: &SqlType) -> char {
    match ty {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => 'I',
        SqlType::Decimal { .. }
        | SqlType::Numeric { .. }
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::Float
        | SqlType::Real => 'R',
        _ => 'T',
    }
}

/// As a client of T-SQL shows it: a float without fraction as an integer, a blank between date and
/// time.
fn shown(value: &Datum<'_>) -> String {
    let mut text = String::new();
    match value {
        Datum::Null => return "NULL".to_owned(),
        Datum::Variant(inner) => return shown(&inner.value),
        value => plain::write_plain(value, &mut text).unwrap(),
    };
    match value {
        Datum::Float(_) | Datum::Real(_) => text.trim_end_matches(".0").to_owned(),
        Datum::DateTime(_) | Datum::SmallDateTime(_) | Datum::DateTime2(_) => {
            text.replacen('T', " ", 1)
        }
        Datum::DateTimeOffset(_) => {
            // `+hh:mm` at its end.
            let offset = text.split_off(text.len().saturating_sub(6));
            format!("{} {offset}", text.replacen('T', " ", 1))
        }
        _ if text.is_empty() => "(empty)".to_owned(),
        _ => text,
    }
}

impl Output for Answer {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), Gone> {
        self.result_sets += 1;
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Gone> {
        self.rows.push(values.iter().map(shown).collect());
        Ok(())
    }

    fn done(&mut self, done: Done) -> Result<(), Gone> {
        if done.code != StatementCode::Select && done.count.is_some() {
            self.changed = done.count;
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, _: bool) -> Result<(), Gone> {
        if message.severity > 10 {
            self.errors.push(message.clone());
        }
        Ok(())
    }

    fn environment(&mut self, _: &Environment) -> Result<(), Gone> {
        Ok(())
    }

    fn return_status(&mut self, _: i32) -> Result<(), Gone> {
        Ok(())
    }

    fn output_value(&mut self, _: &OutputValue) -> Result<(), Gone> {
        Ok(())
    }
}
