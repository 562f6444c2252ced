//! Readers beside writers: with row versions nobody waits.

use anyhow::Result;
use bench::report::median;
use bench::serving::readers::{Beside, Crowd, HOLD, beside};
use bench::serving::server::{RANGE_ROWS, create_points};
use bench::target::{Limit, Target};

use super::{Servers, Setting, ratio};
use crate::engine::head;

const READERS: usize = 2;
const WRITERS: usize = 4;
/// A reader that waits for writers waits half of their time on average.
const SLOW_MS: f64 = HOLD.as_millis() as f64 / 2.0;

/// The medians of a server.
struct Measured {
    alone: f64,
    reads: f64,
    slow_read_ms: f64,
    writes: f64,
    slow_write_ms: f64,
}

pub(super) fn run(setting: &Setting<'_>, servers: &Servers<'_>) -> Result<Vec<Target>> {
    for server in servers {
        server.connect()?.run("DROP TABLE IF EXISTS points")?;
        server.connect()?.run("DROP TABLE IF EXISTS added")?;
        create_points(*server)?;
        server.use_row_versions()?;
    }
    head(
        &format!(
            "{READERS} readers of sums of {RANGE_ROWS} rows beside {WRITERS} writers whose \
             transactions stay open for {} ms, with row versions",
            HOLD.as_millis()
        ),
        &[
            "server",
            "reads/s alone",
            "reads/s beside writers",
            "99 % of reads, ms",
            "transactions/s",
            "99 % of updates, ms",
        ],
    );
    let mut all = Vec::new();
    for (server, measured) in servers.iter().zip(in_turns(setting, servers)?) {
        println!(
            "| {} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} |",
            server.name(),
            measured.alone,
            measured.reads,
            measured.slow_read_ms,
            measured.writes,
            measured.slow_write_ms
        );
        all.push(measured);
    }
    let reads: Vec<f64> = all.iter().map(|measured| measured.reads).collect();
    let of_ours = |value: fn(&Measured) -> f64| {
        all.first().map(value).ok_or_else(|| "not measured".to_owned())
    };
    Ok(vec![
        Target::new("reads beside writers: ours : PostgreSQL", "x", ratio(&reads))
            .must(Limit::AtLeast(1.0)),
        Target::new(
            "reads beside writers : alone",
            "x",
            of_ours(|measured| measured.reads / measured.alone),
        )
        .goal(Limit::AtLeast(0.8)),
        Target::new("99 % of reads beside writers", "ms", of_ours(|own| own.slow_read_ms))
            .must(Limit::AtMost(SLOW_MS)),
        Target::new("99 % of updates beside readers", "ms", of_ours(|own| own.slow_write_ms))
            .must(Limit::AtMost(SLOW_MS)),
    ])
}

fn in_turns(setting: &Setting<'_>, servers: &Servers<'_>) -> Result<Vec<Measured>> {
    let mut alone = vec![Vec::new(); servers.len()];
    let mut together: Vec<Vec<Beside>> = vec![Vec::new(); servers.len()];
    for _ in 0..setting.turns {
        for (at, server) in servers.iter().enumerate() {
            let crowd = Crowd { readers: READERS, writers: 0 };
            alone[at].push(beside(*server, crowd, setting.time)?.reads);
            let crowd = Crowd { writers: WRITERS, ..crowd };
            together[at].push(beside(*server, crowd, setting.time)?);
        }
    }
    let middle = |values: Vec<f64>| median(values).unwrap_or(f64::NAN);
    let of = |all: &[Beside], value: fn(&Beside) -> f64| middle(all.iter().map(value).collect());
    Ok(alone
        .into_iter()
        .zip(&together)
        .map(|(alone, all)| Measured {
            alone: middle(alone),
            reads: of(all, |one| one.reads),
            slow_read_ms: of(all, |one| one.slow_read.as_secs_f64() * 1e3),
            writes: of(all, |one| one.writes),
            slow_write_ms: of(all, |one| one.slow_write.as_secs_f64() * 1e3),
        })
        .collect())
}
