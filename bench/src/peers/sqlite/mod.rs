//! SQLite: `PRAGMA integrity_check` compares each index with its table, as our full check does.

mod lobs;
mod trees;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::child;
use crate::peers::inserts::{Inserted, Inserts, seconds};
use crate::peers::outcome::Outcome;
use crate::peers::rows::Rows;
use crate::peers::schema::{Dialect, create_indexes, create_table};
use crate::peers::setting::{Depth, PeerCheck, Setting, Workplace, new_folder};
use crate::report::{Measured, best_of};
use crate::workload::InsertWork;

pub(super) use lobs::lobs;
use trees::name;
pub(super) use trees::{builds, trees};

/// Now, in seconds, as a statement.
const NOW: &str = "select (julianday('now') - 2440587.5) * 86400.0;";

/// Loads the rows and measures the check.
pub(super) fn measure(setting: &Setting<'_>, rows: &Rows<'_>) -> Result<Outcome<Vec<PeerCheck>>> {
    let Some(program) = setting.folders.find("sqlite3") else {
        return Ok(Outcome::Missing("sqlite3"));
    };
    let version = child::run(Command::new(&program).arg("--version"))?;
    let version = version.split(' ').next().unwrap_or_default();
    let folder = new_folder(setting.folder, "sqlite")?;
    let file = folder.path().join("sales.db");
    load(&program, &file, rows)?;
    let (time, result) = best_of(setting.runs, || check(&program, &file, rows.buffer_bytes()));
    result?;
    let measured = Measured {
        what: format!("SQLite {version} integrity_check"),
        bytes: std::fs::metadata(&file)?.len(),
        rows: Some(rows.count()),
        time,
        peak: None,
    };
    Ok(Outcome::Measured(vec![PeerCheck { depth: Depth::Full, measured, ratio: None }]))
}

/// Inserts rows: one statement for all rows of a transaction. SQLite has one writer, so only work
/// of one client is done.
pub(super) fn inserts(workplace: Workplace<'_>, works: &[InsertWork]) -> Result<Outcome<Inserts>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(program) = folders.find("sqlite3") else {
        return Ok(Outcome::Missing("sqlite3"));
    };
    let version = child::run(Command::new(&program).arg("--version"))?;
    let name = format!("SQLite {}", version.split(' ').next().unwrap_or_default());
    let works = works.iter().copied().filter(|work| work.clients == 1);
    let done = Inserts::collect(name, works, runs, |work| insert(&program, folder, work))?;
    Ok(Outcome::Measured(done))
}

fn insert(program: &Path, folder: &Path, work: InsertWork) -> Result<Inserted> {
    let folder = new_folder(folder, "sqlite")?;
    let file = folder.path().join("rows.db");
    let mut command = Command::new(program);
    command.args(["-batch", "-bail"]).arg(&file);
    let said = child::feed(&mut command, |out| {
        writeln!(
            out,
            "pragma journal_mode=wal; pragma synchronous=full; pragma wal_autocheckpoint=0;"
        )?;
        writeln!(out, "create table t (c1 int not null, c2 text not null);\n{NOW}")?;
        for first in (0..work.rows).step_by(work.per_commit as usize) {
            let last = work.rows.min(first + work.per_commit) - 1;
            let text = work.text_bytes();
            writeln!(
                out,
                "with recursive g(i) as (select {first} union all select i + 1 from g where i < {last}) \
                 insert into t select i, printf('%.*c', {text}, 'x') from g;"
            )?;
        }
        Ok(writeln!(out, "{NOW}\nselect count(*) from t;\npragma wal_checkpoint(truncate);")?)
    })?;
    let lines: Vec<&str> = said.lines().collect();
    let ([begin, end, count], true) =
        ([2, 3, 4].map(|at| lines.get(at).copied().unwrap_or_default()), lines.len() > 4)
    else {
        anyhow::bail!("SQLite said {said}");
    };
    ensure!(count == work.all_rows().to_string(), "SQLite took {count} rows");
    let time = seconds(end)?.saturating_sub(seconds(begin)?);
    Ok(Inserted { time, bytes: std::fs::metadata(&file)?.len() })
}

/// Rows first, then indexes; without a journal, for the file is not needed after a crash.
fn load(program: &Path, file: &Path, rows: &Rows<'_>) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["-batch", "-bail"]).arg(file);
    child::feed(&mut command, |out| {
        writeln!(
            out,
            "pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-500000; begin;"
        )?;
        for table in &rows.tables {
            out.write_all(create_table(Dialect::Sqlite, table)?.as_bytes())?;
            rows.write_inserts(Dialect::Sqlite, table, out)?;
            out.write_all(create_indexes(Dialect::Sqlite, table)?.as_bytes())?;
        }
        Ok(writeln!(out, "commit;")?)
    })?;
    Ok(())
}

fn check(program: &Path, file: &Path, memory: u64) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["-batch", "-bail", "-readonly"]).arg(file);
    let said =
        child::run(command.arg(format!("pragma mmap_size={memory}; pragma integrity_check;")))?;
    ensure!(is_sound(&said), "SQLite found its own database damaged: {said}");
    Ok(())
}

/// The first pragma answers with its value, the check with `ok` or with what is wrong.
fn is_sound(said: &str) -> bool {
    said.lines().last() == Some("ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ok_is_sound() {
        assert!(is_sound("1073741824\nok\n"));
        assert!(!is_sound("1073741824\n*** in database main ***\nrow 7 missing from index ix\n"));
        assert!(!is_sound("1073741824\n"));
        assert!(!is_sound(""));
    }
}
