//! Statements on single rows by 1, 8 and 64 clients.

use anyhow::Result;
use bench::report::median;
use bench::serving::Work;
use bench::serving::load::statements_per_second;
use bench::serving::server::create_points;
use bench::target::{Limit, Target};

use super::{Servers, Setting, ratio};
use crate::engine::head;

const CLIENTS: [usize; 3] = [1, 8, 64];

pub(super) fn run(setting: &Setting<'_>, servers: &Servers<'_>) -> Result<Vec<Target>> {
    for server in servers {
        create_points(*server)?;
    }
    let mut columns = vec!["statements/s", "clients"];
    columns.extend(servers.iter().map(|server| server.name()));
    head("Single rows; each statement waits for its answer, changes are durable", &columns);
    let mut targets = Vec::new();
    for work in Work::ALL {
        for clients in CLIENTS {
            let rates = in_turns(setting, servers, work, clients)?;
            let cells: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
            println!("| {} | {clients} | {} |", work.name(), cells.join(" | "));
            let what = format!("{}, {clients} clients : PostgreSQL", work.name());
            targets.push(Target::new(what, "x", ratio(&rates)).must(Limit::AtLeast(1.0)));
        }
    }
    Ok(targets)
}

/// The median rate of each.
fn in_turns(
    setting: &Setting<'_>,
    servers: &Servers<'_>,
    work: Work,
    clients: usize,
) -> Result<Vec<f64>> {
    let mut rates = vec![Vec::new(); servers.len()];
    for _ in 0..setting.turns {
        for (server, rates) in servers.iter().zip(&mut rates) {
            rates.push(statements_per_second(*server, work, clients, setting.time)?);
        }
    }
    Ok(rates.into_iter().filter_map(median).collect())
}
