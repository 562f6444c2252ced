//! Tables that are read whole: rows, columnar batches, threads, and the memory beside them.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{Reading, ScanLab, read_memory};
use bench::target::{Limit, Target};

use super::{Setting, head};

/// Rows of each table at scale 1.
const ROWS: f64 = 800_000.0;
const THREADS: [usize; 2] = [1, 2];

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let lab = ScanLab::create(&setting.folder, (ROWS * setting.scale) as i32)?;
    let shortest = |read: &dyn Fn() -> Result<Duration>| -> Result<f64> {
        let times: Result<Vec<Duration>> = (0..setting.runs.max(1)).map(|_| read()).collect();
        Ok(times?.into_iter().min().unwrap_or_default().as_secs_f64())
    };
    let mut targets = Vec::new();
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
                if reading == Reading::Few && threads == THREADS[THREADS.len() - 1] {
                    let what = format!("{}: parallel scan with a comparison", table.name());
                    targets.push(Target::new(what, "GB/s", Ok(gigabytes / time)));
                }
            }
        }
    }
    Ok(targets)
}
