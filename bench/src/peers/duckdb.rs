//! DuckDB in Python: a script of ours runs queries and prints how long each took.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::child;
use crate::peers::outcome::Outcome;

/// Before every script: a database in memory as `db`, the folder of the rows, and `said`, which
/// prints seconds. DuckDB and Python may print lines of their own.
const HEAD: &str = "\
import sys, time, duckdb
folder = sys.argv[1]
db = duckdb.connect()
db.execute('SET enable_progress_bar = false')
def said(seconds):
    print('seconds', repr(float(seconds)), flush=True)
";
/// The first word of the lines that are read.
const WORD: &str = "seconds ";

/// Runs a script over a folder; the times that it says.
///
/// # Errors
/// The script failed: the error has its output.
pub fn times(script: &str, folder: &Path) -> Result<Outcome<Vec<Duration>>> {
    let is_there = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        return Ok(Outcome::Missing("python3 with its package duckdb"));
    }
    let script = format!("{HEAD}{script}");
    let said = child::run(Command::new("python3").args(["-c", &script]).arg(folder))?;
    Ok(Outcome::Measured(times_in(&said)?))
}

fn times_in(said: &str) -> Result<Vec<Duration>> {
    let time = |text: &str| -> Result<Duration> {
        let seconds = text.trim().parse().with_context(|| format!("a time: {text}"))?;
        Duration::try_from_secs_f64(seconds).with_context(|| format!("a time: {text}"))
    };
    said.lines().filter_map(|line| line.strip_prefix(WORD)).map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_between_other_lines() {
        let said = "a warning of the package\nseconds 0.25\n\nseconds 9.5e-05\n100% done\n";
        let times = times_in(said).unwrap();
        assert_eq!(times, [Duration::from_millis(250), Duration::from_micros(95)]);
    }

    #[test]
    fn a_time_that_is_no_number_is_named() {
        let error = times_in("seconds soon\n").unwrap_err();
        assert_eq!(error.to_string(), "a time: soon");
    }
}
