//! SQLite's tables with indexes: one client, one statement for all of a transaction. Rows are
//! stored by their primary key, or, where there is none, by a number of their own.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Dialect, NOW, Rows, child, new_folder};
use crate::peers::inserts::seconds;
use crate::peers::outcome::Outcome;
use crate::peers::schema::{create_table, nonclustered};
use crate::peers::setting::Workplace;
use crate::peers::trees::{Builds, Trees, index_statements, key_clause};
use crate::workload::{Action, GROUP, KeyOrder, TableKind, TreeWork};

/// Before and after what is measured.
const SETTINGS: &str = "pragma journal_mode=wal; pragma synchronous=off; pragma wal_autocheckpoint=0; pragma cache_size=-500000;";

/// Does the work of one client.
pub(in crate::peers) fn trees(
    workplace: Workplace<'_>,
    works: &[TreeWork],
) -> Result<Outcome<Trees>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(program) = folders.find("sqlite3") else { return Ok(Outcome::Missing("sqlite3")) };
    let works = works.iter().copied().filter(|work| work.clients == 1);
    let run = |work: TreeWork| {
        let folder = new_folder(folder, "sqlite")?;
        time_of(&program, &folder.path().join("t.db"), |out| write_work(out, work))
    };
    // Each run makes its own file.
    Ok(Outcome::Measured(Trees::collect(name(&program)?, works, runs, |_| Ok(()), run)?))
}

/// Builds the nonclustered indexes of the tables.
pub(in crate::peers) fn builds(
    workplace: Workplace<'_>,
    rows: &Rows<'_>,
) -> Result<Outcome<Builds>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(program) = folders.find("sqlite3") else { return Ok(Outcome::Missing("sqlite3")) };
    let mut time = Duration::MAX;
    for _ in 0..runs.max(1) {
        let folder = new_folder(folder, "sqlite")?;
        let taken = time_of(&program, &folder.path().join("t.db"), |out| {
            for table in &rows.tables {
                write!(out, "begin; {}", create_table(Dialect::Sqlite, table)?)?;
                rows.write_inserts(Dialect::Sqlite, table, out)?;
                writeln!(out, "commit;")?;
            }
            writeln!(out, "{NOW}")?;
            for table in &rows.tables {
                for (create, _) in nonclustered(Dialect::Sqlite, table)? {
                    writeln!(out, "{create}")?;
                }
            }
            Ok(writeln!(out, "{NOW}")?)
        });
        time = time.min(taken?);
    }
    Ok(Outcome::Measured(Builds { name: name(&program)?, time }))
}

pub(super) fn name(program: &Path) -> Result<String> {
    let version = child::run(Command::new(program).arg("--version"))?;
    Ok(format!("SQLite {}", version.split(' ').next().unwrap_or_default()))
}

/// Runs a script over a new file that asks for the time twice.
fn time_of(
    program: &Path,
    file: &Path,
    script: impl Fn(&mut dyn Write) -> Result<()>,
) -> Result<Duration> {
    let mut command = Command::new(program);
    command.args(["-batch", "-bail"]).arg(file);
    let said = child::feed(&mut command, |out| {
        writeln!(out, "{SETTINGS}")?;
        script(out)
    })?;
    // The settings answer, too, and so do searches; moments stand in lines of their own with a
    // point.
    let moments: Vec<&str> = said.lines().filter(|line| line.contains('.')).collect();
    let [begin, end] = moments[..] else { bail!("SQLite said {said}") };
    Ok(seconds(end)?.saturating_sub(seconds(begin)?))
}

/// The table and its rows, and between two looks at the clock the work, a transaction after the
/// other.
fn write_work(out: &mut dyn Write, work: TreeWork) -> Result<()> {
    // The only primary key that SQLite stores rows by without more ado is its own number of the
    // row.
    let without = if work.kind == TableKind::Clustered { " without rowid" } else { "" };
    let columns = "id integer not null, g integer not null, k integer not null, v text not null";
    writeln!(out, "create table t ({columns}{}){without};", key_clause(work))?;
    for index in index_statements(work) {
        writeln!(out, "{index};")?;
    }
    let text = format!("printf('%.*c', {}, 'x')", crate::workload::TEXT_CHARS);
    if work.rows > 0 {
        let all = numbers(0, work.rows);
        writeln!(
            out,
            "{all} insert into t select {}, m / {GROUP}, m, {text} from n;",
            work.key_sql("m")
        )?;
    }
    writeln!(out, "{NOW}")?;
    for first in (0..work.count).step_by(work.per_commit as usize) {
        let turns = numbers(first, work.count.min(first + work.per_commit));
        let number = match work.action {
            Action::Insert(KeyOrder::Ascending) => "m".to_owned(),
            _ => work.number_sql("0", "m"),
        };
        let key = work.key_sql("m");
        let statement = match work.action {
            Action::Insert(_) => {
                format!("insert into t select {key}, m / {GROUP}, m, {text} from r;")
            }
            Action::Select => {
                format!("select sum(length((select v from t where id = {key}))) from r;")
            }
            Action::Range => {
                format!("select sum((select sum(k) from t where g = r.m / {GROUP})) from r;")
            }
            Action::Update => {
                format!("update t set k = k + 1000000 where id in (select {key} from r);")
            }
        };
        writeln!(out, "{turns}, r(m) as (select {number} from n) {statement}")?;
    }
    Ok(writeln!(out, "{NOW}")?)
}

/// Numbers from one to just before another, as table `n` with a column `m`.
fn numbers(first: u32, end: u32) -> String {
    format!(
        "with recursive n(m) as (select {first} union all select m + 1 from n where m + 1 < {end})"
    )
}
