//! Starts, idle memory, connections.

use std::time::Duration;

use anyhow::Result;
use bench::report::timed;
use bench::serving::Server;
use bench::serving::load::connections_per_second;
use bench::serving::ours::Ours;
use bench::serving::postgres::Postgres;
use bench::target::{Limit, Target};

use super::{Setting, ratio};
use crate::engine::head;

const MEGABYTE: f64 = 1e6;
const START_SECONDS: f64 = 1.0;
const IDLE_MB: f64 = 64.0;

pub(super) fn run(
    setting: &Setting<'_>,
    peer: Option<(&Postgres, Duration)>,
) -> Result<Vec<Target>> {
    let folder = tempfile::Builder::new().prefix("extentdb-start-").tempdir_in(&setting.folder)?;
    let start = || -> Result<(Duration, Ours)> {
        let (time, server) = timed(|| -> Result<Ours> {
            let server = Ours::start(&setting.program, folder.path(), None)?;
            server.connect()?;
            Ok(server)
        });
        Ok((time, server?))
    };
    let (first, server) = start()?;
    server.stop()?;
    let (again, server) = start()?;
    let memory = server.memory()? as f64 / MEGABYTE;
    head("Start", &["", "to the first login, ms", "idle, MB", "connections/s"]);
    let mut rates = vec![connections_per_second(&server, setting.time)?];
    println!(
        "| ExtentDB, a new folder | {:.0} | | |\n| ExtentDB | {:.0} | {memory:.1} | {:.0} |",
        first.as_secs_f64() * 1e3,
        again.as_secs_f64() * 1e3,
        rates[0]
    );
    server.stop()?;
    if let Some((postgres, started)) = peer {
        let memory = postgres.memory()? as f64 / MEGABYTE;
        let rate = connections_per_second(postgres, setting.time)?;
        let name = postgres.name();
        let started = started.as_secs_f64() * 1e3;
        println!("| {name} | {started:.0} | {memory:.1} | {rate:.0} |");
        rates.push(rate);
    }
    let slower = first.max(again).as_secs_f64();
    Ok(vec![
        Target::new("start to the first login, the longer of new and again", "s", Ok(slower))
            .must(Limit::AtMost(START_SECONDS)),
        Target::new("idle memory", "MB", Ok(memory)).must(Limit::AtMost(IDLE_MB)),
        Target::new("connections/s : PostgreSQL", "x", ratio(&rates)),
    ])
}
