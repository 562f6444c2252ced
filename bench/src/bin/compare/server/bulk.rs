//! Rows loaded by INSERT BULK and COPY.

use anyhow::{Result, ensure};
use bench::report::{median, timed};
use bench::serving::Server;
use bench::serving::table::{Table, Type};
use bench::target::{Limit, Target};

use super::{Servers, Setting, ratio};
use crate::engine::head;

const ROWS: u64 = 400_000;
const CREATE: &str = "CREATE TABLE loaded (id int NOT NULL, customer int NOT NULL, amount decimal(15, 2) NOT NULL, day date NOT NULL, note varchar(60) NOT NULL)";

pub(super) fn run(setting: &Setting<'_>, servers: &Servers<'_>) -> Result<Vec<Target>> {
    let table = Table::of(
        "loaded",
        &[
            ("id", Type::Int),
            ("customer", Type::Int),
            ("amount", Type::Decimal),
            ("day", Type::Date),
            ("note", Type::VarChar(60)),
        ],
    );
    let line = |id: u64| {
        let day = id % 28 + 1;
        format!(
            "{id}\t{}\t{}.50\t2024-03-{day:02}\tan order of customer {}, sent by post\n",
            id % 997,
            id % 5_000,
            id % 997
        )
    };
    let rows: String = (1..=ROWS).map(line).collect();
    let mut rates = vec![Vec::new(); servers.len()];
    for _ in 0..setting.turns {
        for (server, rates) in servers.iter().zip(&mut rates) {
            rates.push(rows_per_second(*server, &table, &rows)?);
        }
    }
    let rates: Vec<f64> = rates.into_iter().filter_map(median).collect();
    let names: Vec<&str> = servers.iter().map(|server| server.name()).collect();
    head("Bulk load into a heap, thousand rows/s", &names);
    let cells: Vec<String> = rates.iter().map(|rate| format!("{:.0}", rate / 1e3)).collect();
    println!("| {} |", cells.join(" | "));
    let target = Target::new("bulk load : COPY", "x", ratio(&rates));
    Ok(vec![target.must(Limit::AtLeast(1.0))])
}

fn rows_per_second(server: &dyn Server, table: &Table, rows: &str) -> Result<f64> {
    let mut session = server.connect()?;
    session.run(CREATE)?;
    let (time, count) = timed(|| session.load(table, &mut rows.as_bytes()));
    let count = count?;
    ensure!(count == ROWS, "{} loaded {count} rows", server.name());
    session.run("DROP TABLE loaded")?;
    Ok(ROWS as f64 / time.as_secs_f64())
}
