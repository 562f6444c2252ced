//! SQLite: `PRAGMA integrity_check` compares each index with its table, as our full check does.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::rows::Rows;
use super::schema::{Dialect, create_indexes, create_table};
use super::{Depth, Outcome, PeerCheck, Setting, new_folder};
use crate::child;
use crate::report::{Measured, best_of};

/// Loads the rows and measures the check.
pub(super) fn measure(setting: &Setting<'_>, rows: &Rows<'_>) -> Result<Outcome> {
    let Some(program) = setting.places.find("sqlite3") else { return Ok(Outcome::Missing("sqlite3")) };
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
    Ok(Outcome::Measured(vec![PeerCheck { depth: Depth::Full, measured }]))
}

/// Rows first, then indexes; without a journal, for nobody needs the file after a crash.
fn load(program: &Path, file: &Path, rows: &Rows<'_>) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["-batch", "-bail"]).arg(file);
    child::feed(&mut command, |out| {
        writeln!(out, "pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-500000; begin;")?;
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
    let said = child::run(command.arg(format!("pragma mmap_size={memory}; pragma integrity_check;")))?;
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
