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
    columns.extend(servers.iter().map(|_| "µs of processors each"));
    head("Single rows; each statement waits for its answer, changes are durable", &columns);
    let mut targets = Vec::new();
    for work in Work::ALL {
        for clients in CLIENTS {
            let (rates, costs) = in_turns(setting, servers, work, clients)?;
            let rate = |rate: &f64| format!("{rate:.0}");
            let cost = |cost: &f64| format!("{cost:.1}");
            let cells: Vec<String> = rates.iter().map(rate).chain(costs.iter().map(cost)).collect();
            println!("| {} | {clients} | {} |", work.name(), cells.join(" | "));
            let what = format!("{}, {clients} clients : PostgreSQL", work.name());
            targets.push(Target::new(what, "x", ratio(&rates)).must(Limit::AtLeast(1.0)));
        }
    }
    Ok(targets)
}

/// The median rate of each, and the median cost of a statement, in microseconds of processors.
fn in_turns(
    setting: &Setting<'_>,
    servers: &Servers<'_>,
    work: Work,
    clients: usize,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut rates = vec![Vec::new(); servers.len()];
    let mut costs = vec![Vec::new(); servers.len()];
    for _ in 0..setting.turns {
        for (at, server) in servers.iter().enumerate() {
            let before = server.processor_time()?;
            let rate = statements_per_second(*server, work, clients, setting.time)?;
            let used = server.processor_time()?.saturating_sub(before);
            let done = rate * setting.time.as_secs_f64();
            rates[at].push(rate);
            costs[at].push(used.as_secs_f64() * 1e6 / done);
        }
    }
    let medians = |all: Vec<Vec<f64>>| all.into_iter().filter_map(median).collect();
    Ok((medians(rates), medians(costs)))
}
