//! Create, insert and drop: the cost of a table by the number of tables.

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab, TempTableLab, add_tables, table_cycle};
use bench::target::{Limit, Target};
use extentdb_io::DurabilityMode;

use super::{Setting, head, ms};

const CYCLES: u32 = 200;
const TEMP_CYCLES: u32 = 4000;
const TABLES: [u32; 3] = [0, 100, 900];
const FILE_BYTES: u64 = 256 << 20;

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    head("Create a table, insert a row, drop it; nobody waits for the device", &["tables", "ms"]);
    let form = DatabaseForm {
        durability: DurabilityMode::DirectOnly,
        ..DatabaseForm::of([FILE_BYTES])
    };
    let lab = Lab::create(&setting.folder, &form)?;
    let mut made = 0;
    let mut times = Vec::new();
    for tables in TABLES {
        add_tables(&lab, made..tables)?;
        made = tables;
        let time = ms(table_cycle(&lab, CYCLES)?);
        println!("| {tables} | {time:.3} |");
        times.push(time);
    }
    let ratio = times[TABLES.len() - 1] / times[0];
    let what = "create + insert + drop: 900 tables beside none";
    let ratio = Target::new(what, "times", Ok(ratio)).goal(Limit::AtMost(1.5));
    Ok(vec![ratio, temp_tables(setting)?])
}

/// Temporary tables in tempdb.
fn temp_tables(setting: &Setting) -> Result<Target> {
    let lab = TempTableLab::start(&setting.folder)?;
    head("Temporary tables: create, insert a row, drop; cycles/s", &["sessions", "cycles/s"]);
    let mut best: f64 = 0.0;
    for sessions in [1, 2, 8] {
        let mut rate: f64 = 0.0;
        for _ in 0..setting.runs.max(1) {
            let time = lab.cycles(sessions, TEMP_CYCLES / sessions)?;
            rate = rate.max(f64::from(TEMP_CYCLES) / time.as_secs_f64());
        }
        println!("| {sessions} | {rate:.0} |");
        best = best.max(rate);
    }
    let what = "temporary tables: create + insert + drop, the best number of sessions";
    Ok(Target::new(what, "cycles/s", Ok(best)).goal(Limit::AtLeast(10_000.0)))
}
