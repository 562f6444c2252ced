//! SQLite's long values: blobs on overflow pages.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{NOW, child, name, new_folder};
use crate::peers::inserts::seconds;
use crate::peers::lobs::{Lobs, buffer_bytes};
use crate::peers::outcome::Outcome;
use crate::peers::setting::Workplace;
use crate::workload::LobWork;

/// Inserts and reads the values.
pub(in crate::peers) fn lobs(workplace: Workplace<'_>, work: LobWork) -> Result<Outcome<Lobs>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(program) = folders.find("sqlite3") else { return Ok(Outcome::Missing("sqlite3")) };
    let name = name(&program)?;
    let run = || -> Result<Lobs> {
        let folder = new_folder(folder, "sqlite")?;
        let mut command = Command::new(&program);
        command.args(["-batch", "-bail"]).arg(folder.path().join("t.db"));
        let said = child::feed(&mut command, |out| {
            writeln!(
                out,
                "pragma journal_mode=wal; pragma synchronous=full; pragma wal_autocheckpoint=0; \
                 pragma temp_store=memory; pragma cache_size=-{};",
                buffer_bytes(work) >> 10
            )?;
            writeln!(out, "create temp table source (v blob not null);")?;
            writeln!(out, "insert into source values (randomblob({}));", work.bytes)?;
            writeln!(out, "create table t (id integer primary key, v blob not null);\n{NOW}")?;
            for id in 0..work.values {
                writeln!(out, "insert into t select {id}, v from source;")?;
            }
            // A column that is only measured is not fetched: it has to be copied.
            Ok(writeln!(out, "{NOW}\nselect sum(length(v || x'')) >= 0 from t;\n{NOW}")?)
        })?;
        // Moments stand in lines of their own with a point.
        let lines = said.lines().filter(|line| line.contains('.'));
        let moments: Vec<Duration> = lines.map(seconds).collect::<Result<_>>()?;
        let [begin, written, read] = moments[..] else { bail!("SQLite said {said}") };
        Ok(Lobs {
            name: name.clone(),
            write: written.saturating_sub(begin),
            read: read.saturating_sub(written),
        })
    };
    let mut best = run()?;
    for _ in 1..runs {
        best = best.best(&run()?);
    }
    Ok(Outcome::Measured(best))
}
