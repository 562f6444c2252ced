//! Rows loaded into an empty table: one by one, and by one statement.

use anyhow::Result;
use bench::engine::{LoadBy, LoadLab, LoadTarget};
use bench::target::{Limit, Target};

use super::{Setting, head};

/// Rows of a load at scale 1.
const ROWS: f64 = 300_000.0;
const TARGETS: [LoadTarget; 3] = [LoadTarget::Heap, LoadTarget::Clustered, LoadTarget::Indexed];
const WAYS: [LoadBy; 3] = [LoadBy::Rows, LoadBy::Set, LoadBy::TableSet];

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let runs = setting.runs.max(1);
    let mut lab = LoadLab::create(&setting.folder, (ROWS * setting.scale) as i32, runs * 9)?;
    head(
        "Rows of 150 bytes loaded into an empty table, million rows/s; nobody waits for the device",
        &["table", "one by one", "one statement", "one statement, TABLOCK"],
    );
    let mut targets = Vec::new();
    for target in TARGETS {
        let mut rates = Vec::new();
        for by in WAYS {
            let times: Result<Vec<_>> = (0..runs).map(|_| lab.load(target, by)).collect();
            let best = times?.into_iter().min().unwrap_or_default().as_secs_f64();
            rates.push(lab.rows() as f64 / best / 1e6);
        }
        println!("| {target:?} | {:.2} | {:.2} | {:.2} |", rates[0], rates[1], rates[2]);
        let what = format!("{target:?}: one statement with TABLOCK beside single inserts");
        targets.push(Target::new(what, "times", Ok(rates[2] / rates[0])).goal(Limit::AtLeast(2.0)));
    }
    Ok(targets)
}
