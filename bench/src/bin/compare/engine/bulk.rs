//! One transaction of 10,001 rows, and the checkpoint after it.

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab, ideal_pages};
use bench::report::timed;
use bench::target::{Limit, Target};
use bench::workload::InsertWork;

use super::{Setting, head, ms};

const ROWS: u32 = 10_001;
const ROW_BYTES: u16 = 2000;
const FILE_BYTES: u64 = 64 << 20;

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let lab = Lab::create(&setting.folder, &DatabaseForm::of([FILE_BYTES]))?;
    head(
        "One transaction of 10,001 rows of 2,000 bytes, then a checkpoint",
        &[
            "run",
            "insert and commit, ms",
            "log blocks",
            "MB of log",
            "log writes",
            "flushes",
            "checkpoint, ms",
            "pages written",
            "write calls",
            "flushes of data files",
        ],
    );
    let mut worst = (0, 0);
    for run in 0..setting.runs {
        let table = lab.table(&format!("t{run}"), ROW_BYTES)?;
        lab.db.checkpoint()?;
        let before = (lab.db.log().stats(), lab.db.pool().stats(), lab.data_counters());
        let work = InsertWork {
            clients: 1,
            rows: ROWS,
            per_commit: ROWS,
            row_bytes: ROW_BYTES,
        };
        let load = lab.insert(&table, work)?;
        let log = lab.db.log().stats();
        let (time, done) = timed(|| lab.db.checkpoint());
        done?;
        let pool = lab.db.pool().stats();
        let data = lab.data_counters();
        let pages = pool.page_writes - before.1.page_writes;
        let writes = pool.write_calls - before.1.write_calls;
        println!(
            "| {} | {:.1} | {} | {:.1} | {} | {} | {:.1} | {pages} | {writes} | {} |",
            run + 1,
            ms(load.time),
            log.blocks - before.0.blocks,
            (log.block_bytes - before.0.block_bytes) as f64 / 1e6,
            load.log.writes,
            load.log.syncs,
            ms(time),
            data.syncs - before.2.syncs
        );
        worst = (worst.0.max(pages), worst.1.max(writes));
    }
    let ideal = ideal_pages(ROWS.into(), ROW_BYTES.into());
    Ok(vec![
        Target::new("checkpoint of 10,001 rows: pages written (G5.3)", "", Ok(worst.0 as f64))
            .must(Limit::AtMost((ideal + ideal / 100) as f64)),
        Target::new(
            "checkpoint of 10,001 rows: write calls (G5.3: 26 of 1 MiB and the rest)",
            "",
            Ok(worst.1 as f64),
        )
        .goal(Limit::AtMost(40.0)),
    ])
}
