//! A load like TPC-C under `kill -9`: the server as a process, nine tables, the five transactions
//! in the benchmark's mix over several connections, at SERIALIZABLE and at SNAPSHOT.
//!
//! In each round the process is killed in the middle of the work; the files are checked as they
//! lie, the server is started again, and the consistency conditions of the benchmark must hold.
//! What was acknowledged is there, once; what was rolled back is not; the last transaction of each
//! client may be there or not. Deadlock victims (1205) and update conflicts (3960) are run again;
//! any other error fails the test.
//!
//! Short as it is here; `TPCC_SECONDS` (of a round), `TPCC_ROUNDS`, `TPCC_CLIENTS`,
//! `TPCC_WAREHOUSES` make it longer.

#![cfg(feature = "server")]

#[path = "tpcc/clients.rs"]
mod clients;
#[path = "tpcc/conditions.rs"]
mod conditions;
mod program;
#[path = "tpcc/transactions.rs"]
mod transactions;

use std::path::Path;
use std::time::Duration;

use clients::{Outcome, Tally, run_and_kill};
use extentdb_client::Connection;
use program::answer::rows;
use program::extentdb;
use program::process::Process;

/// How much there is of everything.
pub(crate) struct Scale {
    pub(crate) warehouses: u64,
    pub(crate) districts: u64,
    /// Of a district.
    pub(crate) customers: u64,
    pub(crate) items: u64,
    pub(crate) clients: u64,
    pub(crate) rounds: u64,
    pub(crate) round: Duration,
}

impl Scale {
    fn of_environment() -> Scale {
        let number = |name: &str, default: u64| {
            std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
        };
        Scale {
            warehouses: number("TPCC_WAREHOUSES", 2),
            districts: 10,
            customers: 30,
            items: 200,
            clients: number("TPCC_CLIENTS", 8),
            rounds: number("TPCC_ROUNDS", 2),
            round: Duration::from_secs(number("TPCC_SECONDS", 3)),
        }
    }
}

/// Isolation level of the clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Serializable,
    Snapshot,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Serializable => "SERIALIZABLE",
            Level::Snapshot => "SNAPSHOT",
        }
    }
}

fn create(connection: &mut Connection, scale: &Scale) {
    rows(connection, "CREATE DATABASE tpcc");
    rows(connection, "ALTER DATABASE tpcc SET ALLOW_SNAPSHOT_ISOLATION ON");
    rows(connection, "USE tpcc");
    rows(connection, include_str!("tpcc/schema.sql"));
    let Scale { warehouses, districts, customers, items, .. } = scale;
    let series = |to: &u64| format!("GENERATE_SERIES(1, {to})");
    let of_warehouse = series(warehouses);
    let of_district = format!("{} AS w CROSS JOIN {} AS d", of_warehouse, series(districts));
    let fill = [
        format!(
            "INSERT INTO warehouse SELECT value, CONCAT('W', value), 0.1, 0 FROM {of_warehouse}"
        ),
        format!(
            "INSERT INTO district SELECT w.value, d.value, CONCAT('D', d.value), 0.05, 0, 1 FROM {of_district}"
        ),
        format!(
            "INSERT INTO customer SELECT w.value, d.value, c.value, CONCAT('NAME', c.value % 10), CASE c.value % 10 WHEN 0 THEN 'BC' ELSE 'GC' END, 0.1, 0, 0, 0, 0, REPLICATE('c', 300) FROM {of_district} CROSS JOIN {} AS c",
            series(customers)
        ),
        format!(
            "INSERT INTO item SELECT value, CONCAT('item', value), value % 99 + 1 FROM {}",
            series(items)
        ),
        format!(
            "INSERT INTO stock SELECT w.value, i.value, 50, 0, 0, 'stock' FROM {of_warehouse} AS w CROSS JOIN {} AS i",
            series(items)
        ),
    ];
    for text in fill {
        rows(connection, &text);
    }
}

/// How the files were left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    Killed,
    Closed,
}

/// The files of the database are without damage. Free space in the PFS pages of a heap is corrected
/// by checkpoints and recovery: of killed files the check may leave rule 8914 open.
fn check(folder: &Path, left: Left) {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let run = extentdb(["check", "--json", &file("tpcc.mdf"), &file("tpcc_log.ldf")]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let texts: Vec<String> =
        findings.iter().map(|it| format!("{}: {}", it["error"], it["message"])).collect();
    assert_eq!(texts, Vec::<String>::new(), "{left:?}: {}", run.stderr);
    if left == Left::Closed {
        assert_eq!(report["verdict"], "clean", "{}", run.stderr);
    }
}

fn describe(level: Level, round: u64, tallies: &[Tally]) {
    let sum = |of: fn(&Tally) -> u32| tallies.iter().map(of).sum::<u32>();
    let done = tallies.iter().flat_map(|tally| &tally.done);
    let acknowledged = done.filter(|it| it.outcome == Outcome::Acknowledged).count();
    println!(
        "{level:?}, round {round}: {acknowledged} transactions, {} deadlock victims, {} update \
         conflicts",
        sum(|tally| tally.deadlocks),
        sum(|tally| tally.conflicts)
    );
}

#[track_caller]
fn consistent_after_kills(level: Level) {
    let scale = Scale::of_environment();
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start(folder.path());
    create(&mut process.connect(""), &scale);
    let mut verified = Vec::new();
    for round in 1..=scale.rounds {
        let tallies = run_and_kill(process, level, &scale, round, scale.round);
        describe(level, round, &tallies);
        let failures: Vec<&String> = tallies.iter().flat_map(|tally| &tally.failures).collect();
        let done = tallies.iter().map(|tally| tally.done.len()).sum::<usize>();
        assert!(failures.is_empty(), "{failures:#?}");
        assert!(done > scale.clients as usize, "nothing was done");
        check(folder.path(), Left::Killed);
        process = Process::start(folder.path());
        verified.extend(tallies);
        conditions::verify(&mut process.connect("tpcc"), &verified);
    }
    process.stop();
    check(folder.path(), Left::Closed);
}

#[test]
fn a_load_at_serializable_is_consistent_after_kills() {
    consistent_after_kills(Level::Serializable);
}

#[test]
fn a_load_at_snapshot_is_consistent_after_kills() {
    consistent_after_kills(Level::Snapshot);
}
