//! TPC-H, and the same queries by DuckDB where Python has it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bench::peers::{Outcome, duckdb};
use bench::serving::tpch::{self, Timed};
use bench::target::{Limit, Target};

use super::{Servers, Setting, ratio};
use crate::engine::head;

const SHARE: f64 = 0.5;
/// Reads tables and queries, parted by blank lines, and says the seconds of each.
const SCRIPT: &str = r#"
for line in open(folder + '/tables.sql'):
    db.execute(line)
tables = ['region', 'nation', 'supplier', 'part', 'partsupp', 'customer', 'orders', 'lineitem']
for name in tables:
    db.execute(f"COPY {name} FROM '{folder}/{name}.tsv' (DELIMITER '\t', HEADER false, QUOTE '')")
for query in open(folder + '/queries.sql').read().split('\n\n'):
    start = time.time()
    db.execute(query).fetchall()
    said(time.time() - start)
"#;

pub(super) fn run(setting: &Setting<'_>, servers: &Servers<'_>) -> Result<Vec<Target>> {
    let folder = tempfile::Builder::new().prefix("extentdb-tpch-").tempdir_in(&setting.folder)?;
    let rows = tpch::write_rows(folder.path(), setting.scale)?;
    println!("\nTPC-H, scale {}: {rows} rows", setting.scale);
    let mut all: Vec<(String, Vec<Timed>)> = Vec::new();
    for server in servers {
        let time = tpch::load(*server, folder.path())?;
        println!("{}: loaded with indexes in {:.1} s", server.name(), time.as_secs_f64());
        if server.name() != "ExtentDB" {
            server.connect()?.run("VACUUM ANALYZE")?;
        }
        // The first run brings pages into memory.
        tpch::run(*server, setting.queries)?;
        all.push((server.name().to_owned(), tpch::run(*server, setting.queries)?));
    }
    if setting.queries.is_empty() {
        match duckdb(folder.path()) {
            Ok(times) => all.push(("DuckDB".to_owned(), times)),
            Err(error) => println!("SKIPPED: DuckDB: {error:#}"),
        }
    }
    print(&all);
    let sums: Vec<f64> = all.iter().take(servers.len()).map(|(_, times)| sum(times)).collect();
    let failed =
        all.first().map_or(0, |(_, times)| times.iter().filter(|it| it.1.is_err()).count());
    let value = if failed > 0 { Err(format!("{failed} queries failed")) } else { ratio(&sums) };
    let what = format!("TPC-H, scale {}: time : PostgreSQL", setting.scale);
    Ok(vec![Target::new(what, "x", value).must(Limit::AtMost(SHARE))])
}

fn sum(times: &[Timed]) -> f64 {
    times.iter().filter_map(|(_, time)| time.as_ref().ok()).map(Duration::as_secs_f64).sum()
}

fn print(all: &[(String, Vec<Timed>)]) {
    let mut columns = vec!["query, seconds"];
    columns.extend(all.iter().map(|(name, _)| name.as_str()));
    head("TPC-H", &columns);
    let count = all.first().map_or(0, |(_, times)| times.len());
    for at in 0..count {
        let number = all.first().and_then(|(_, times)| times.get(at)).map_or(0, |it| it.0);
        let cells = all.iter().map(|(_, times)| match times.get(at) {
            Some((_, Ok(time))) => format!("{:.3}", time.as_secs_f64()),
            Some((_, Err(error))) => error.lines().next().unwrap_or_default().to_owned(),
            None => String::new(),
        });
        println!("| {number} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let sums: Vec<String> = all.iter().map(|(_, times)| format!("{:.2}", sum(times))).collect();
    println!("| all | {} |", sums.join(" | "));
}

fn duckdb(folder: &Path) -> Result<Vec<Timed>> {
    std::fs::write(folder.join("tables.sql"), tpch::tables())?;
    let queries = tpch::standard_queries();
    std::fs::write(folder.join("queries.sql"), queries.join("\n\n"))?;
    let times = match duckdb::times(SCRIPT, folder)? {
        Outcome::Measured(times) => times,
        Outcome::Missing(program) => bail!("{program} not found"),
    };
    ensure!(times.len() == queries.len(), "{} times of {} queries", times.len(), queries.len());
    Ok(times.into_iter().enumerate().map(|(at, time)| (at + 1, Ok(time))).collect())
}
