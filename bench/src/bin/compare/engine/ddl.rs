//! Create, insert and drop: the cost of a table by the number of tables.

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab, add_tables, table_cycle};
use bench::target::{Limit, Target};
use extentdb_io::DurabilityMode;

use super::{Setting, head, ms};

const CYCLES: u32 = 200;
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
    Ok(vec![Target::new(what, "times", Ok(ratio)).goal(Limit::AtMost(1.5))])
}
