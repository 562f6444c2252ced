//! Tables that are read whole: rows, columnar batches, threads, the memory and DuckDB beside them.

use std::time::Duration;

use anyhow::{Result, ensure};
use bench::engine::{Reading, ScanLab, read_memory};
use bench::peers::{Outcome, duckdb};
use bench::target::{Limit, Target};

use super::{Setting, head};

/// Rows of each table at scale 1.
const ROWS: f64 = 800_000.0;
const THREADS: [usize; 2] = [1, 2];

/// The rows of the tables, made by DuckDB, and the sums of the columns that [`Reading::Numbers`]
/// reads; the shortest time of each number of threads.
const SCRIPT: &str = "
rows, runs, threads = ROWS, RUNS, THREADS
db.execute(f'''create table t as select i::int as id, (i % 100)::int as part,
    case when i % 16 = 5 then null else i::bigint * 256 end as amount,
    (i % 1000000 / 100)::decimal(9, 2) as price,
    timestamp '1900-01-01' + to_days((i % 40000)::int) + to_milliseconds(i % 25000000 * 10 // 3)
        as sold,
    'name of ' || i as name, rpad('name of ' || i, 60, ' ') as remark
    from range({rows}) r(i)''')
for count in threads:
    db.execute(f'SET threads = {count}')
    times = []
    for run in range(runs):
        start = time.perf_counter()
        db.execute('select sum(id), sum(amount), sum(price), max(sold) from t').fetchall()
        times.append(time.perf_counter() - start)
    said(min(times))
";

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let lab = ScanLab::create(&setting.folder, (ROWS * setting.scale) as i32)?;
    let shortest = |read: &dyn Fn() -> Result<Duration>| -> Result<f64> {
        let times: Result<Vec<Duration>> = (0..setting.runs.max(1)).map(|_| read()).collect();
        Ok(times?.into_iter().min().unwrap_or_default().as_secs_f64())
    };
    let mut targets = Vec::new();
    let mut fastest = Vec::new();
    let rows = f64::from(lab.rows()) / 1e6;
    head(
        "A table that is read whole, in memory",
        &["table", "reading", "threads", "million rows/s", "GB/s", "GB/s of a read of memory"],
    );
    for table in lab.tables() {
        let gigabytes = lab.bytes(table) as f64 / 1e9;
        let mut memory = Vec::new();
        for threads in THREADS {
            memory.push(gigabytes / shortest(&|| read_memory(lab.bytes(table), threads))?);
        }
        let line = |reading: String, threads: usize, time: f64| {
            let memory = memory.get(threads - 1).copied().unwrap_or(f64::NAN);
            println!(
                "| {} | {reading} | {threads} | {:.2} | {:.2} | {memory:.2} |",
                table.name(),
                rows / time,
                gigabytes / time,
            );
        };
        let by_rows = shortest(&|| lab.read(table, Reading::Rows))?;
        line("rows".to_owned(), 1, by_rows);
        // The row API reads all columns of a heap, and what is asked for of a clustered table.
        let is_heap = table.heap().is_some();
        let compared = if is_heap { Reading::All } else { Reading::Numbers };
        for reading in [Reading::Numbers, Reading::All, Reading::Few, Reading::Count] {
            let time = shortest(&|| lab.read(table, reading))?;
            line(format!("columns: {reading:?}"), 1, time);
            if reading == compared {
                let what = format!("{}: the same columns in batches beside rows", table.name());
                let target = Target::new(what, "times", Ok(by_rows / time));
                targets.push(target.must(Limit::AtLeast(2.0)));
            }
        }
        for reading in [Reading::Numbers, Reading::Few, Reading::Count] {
            for threads in THREADS {
                let time = shortest(&|| lab.read_parallel(table, reading, threads))?;
                line(format!("parallel: {reading:?}"), threads, time);
                if reading == Reading::Numbers && threads == THREADS[THREADS.len() - 1] {
                    fastest.push((table.name().to_owned(), time));
                }
                if reading == Reading::Few && threads == THREADS[THREADS.len() - 1] {
                    let what = format!("{}: parallel scan with a comparison", table.name());
                    targets.push(Target::new(what, "GB/s", Ok(gigabytes / time)));
                }
            }
        }
    }
    if !setting.is_alone {
        targets.extend(beside_duckdb(setting, lab.rows(), &fastest)?);
    }
    Ok(targets)
}

/// DuckDB with the same rows in memory, in columns: it sums them while it reads.
fn beside_duckdb(setting: &Setting, rows: i32, fastest: &[(String, f64)]) -> Result<Vec<Target>> {
    let script = SCRIPT
        .replace("ROWS", &rows.to_string())
        .replace("RUNS", &setting.runs.max(1).to_string())
        .replace("THREADS", &format!("{THREADS:?}"));
    let times = match duckdb::times(&script, &setting.folder) {
        Ok(Outcome::Measured(times)) => times,
        Ok(Outcome::Missing(program)) => {
            println!("SKIPPED: DuckDB is not installed: {program} not found");
            return Ok(Vec::new());
        }
        Err(error) => {
            println!("FAILED: DuckDB: {error:#}");
            return Ok(Vec::new());
        }
    };
    ensure!(times.len() == THREADS.len(), "DuckDB said {times:?}");
    for (threads, time) in THREADS.iter().zip(&times) {
        let rate = f64::from(rows) / 1e6 / time.as_secs_f64();
        println!("| DuckDB | sums of the same columns | {threads} | {rate:.2} | – | – |");
    }
    let duckdb = times[THREADS.len() - 1].as_secs_f64();
    let line = |(table, time): &(String, f64)| {
        let what = format!("{table}: parallel scan of four columns, rows/s: DuckDB");
        Target::new(what, "x", Ok(duckdb / time))
    };
    Ok(fastest.iter().map(line).collect())
}
