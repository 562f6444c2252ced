//! The cost of torn-page protection: the same work with pages written twice and once, in turns.
//!
//! ```text
//! small     a few rows on as many pages change, checkpoint      flushes decide
//! large     a row on every page changes, checkpoint             bandwidth decides
//! new       rows fill new pages, checkpoint                     no copies are made
//! evicting  updates here and there in a pool that is too small  copies are made while sessions
//!                                                               wait
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab};
use bench::report::timed;
use bench::target::{Limit, Target};
use bench::workload::InsertWork;
use extentdb_engine::{Address, Row, Table, TornPages};
use extentdb_types::Datum;

use super::{Setting, head, ms};

const ROW_BYTES: u16 = 2000;
const FILE_BYTES: u64 = 256 << 20;
/// Rows of the table that changes: 26 MB times three.
const ROWS: u32 = 40_000;
const PAGES_OF_SMALL: usize = 24;
const NEW_ROWS: u32 = 10_001;
const UPDATES: usize = 3_000;
const SMALL_POOL: usize = 2_048;
const MODES: [TornPages; 2] = [TornPages::Repaired, TornPages::Lost];

/// A database with one table.
struct Bench {
    lab: Lab,
    table: Arc<Table>,
    rows: Vec<(Address, Row)>,
}

/// Times of each mode, in milliseconds, one for each run.
type Times = [Vec<f64>; 2];

impl Bench {
    fn new(setting: &Setting, torn_pages: TornPages, frames: usize) -> Result<Bench> {
        let form = DatabaseForm { torn_pages, frames, ..DatabaseForm::of([FILE_BYTES]) };
        let lab = Lab::create(&setting.folder, &form)?;
        let table = lab.table("t", ROW_BYTES)?;
        lab.insert(
            &table,
            InsertWork {
                clients: 1,
                rows: ROWS,
                per_commit: ROWS,
                row_bytes: ROW_BYTES,
            },
        )?;
        lab.db.checkpoint()?;
        let mut rows = Vec::new();
        lab.db.session().scan(&table, &mut |at, row| {
            rows.push((at, row));
            ControlFlow::Continue(())
        })?;
        Ok(Bench { lab, table, rows })
    }

    /// Updates every `step`-th row, in one transaction.
    fn change(&mut self, step: usize, turn: i32) -> Result<()> {
        let mut session = self.lab.db.session();
        session.begin();
        for (at, row) in self.rows.iter_mut().step_by(step) {
            row[0] = Datum::Int(turn);
            *at = session.update(&self.table, at, row)?;
        }
        Ok(session.commit()?)
    }

    /// The time of a checkpoint after a change.
    fn checkpoint_after(&mut self, step: usize, turn: i32) -> Result<f64> {
        self.change(step, turn)?;
        let (time, done) = timed(|| self.lab.db.checkpoint());
        done?;
        Ok(ms(time))
    }

    fn checkpoint_of_new_pages(&mut self, turn: i32) -> Result<f64> {
        let table = self.lab.table(&format!("new{turn}"), ROW_BYTES)?;
        self.lab.db.checkpoint()?;
        let work = InsertWork {
            clients: 1,
            rows: NEW_ROWS,
            per_commit: NEW_ROWS,
            row_bytes: ROW_BYTES,
        };
        self.lab.insert(&table, work)?;
        let (time, done) = timed(|| self.lab.db.checkpoint());
        done?;
        Ok(ms(time))
    }

    /// Updates here and there, each far from the one before, and the checkpoint that makes all of
    /// it durable.
    fn evicting(&mut self, turn: i32) -> Result<f64> {
        let count = self.rows.len();
        let (time, done) = timed(|| -> Result<()> {
            let mut session = self.lab.db.session();
            session.begin();
            for number in 0..UPDATES {
                let (at, row) = &mut self.rows[number * 7_919 % count];
                row[0] = Datum::Int(turn);
                *at = session.update(&self.table, at, row)?;
            }
            session.commit()?;
            Ok(self.lab.db.checkpoint()?)
        });
        done?;
        Ok(ms(time))
    }
}

/// Runs `once` for both modes in turns.
fn in_turns(
    setting: &Setting,
    frames: usize,
    mut once: impl FnMut(&mut Bench, i32) -> Result<f64>,
) -> Result<Times> {
    let mut benches =
        [Bench::new(setting, MODES[0], frames)?, Bench::new(setting, MODES[1], frames)?];
    let mut times: Times = [Vec::new(), Vec::new()];
    for turn in 0..setting.runs as i32 * 3 {
        for (bench, times) in benches.iter_mut().zip(&mut times) {
            times.push(once(bench, turn)?);
        }
    }
    Ok(times)
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    const LARGE_POOL: usize = 24_576;
    let every = |pages: usize| ROWS as usize / pages;
    let parts: [(&'static str, Times, f64); 4] = [
        (
            "checkpoint of 24 changed pages",
            in_turns(setting, LARGE_POOL, |bench, turn| {
                bench.checkpoint_after(every(PAGES_OF_SMALL), turn)
            })?,
            0.7,
        ),
        (
            "checkpoint of all pages, a row of each changed",
            in_turns(setting, LARGE_POOL, |bench, turn| bench.checkpoint_after(3, turn))?,
            0.45,
        ),
        (
            "checkpoint of new pages",
            in_turns(setting, LARGE_POOL, Bench::checkpoint_of_new_pages)?,
            0.7,
        ),
        (
            "3,000 updates in a pool of 16 MB, and a checkpoint",
            in_turns(setting, SMALL_POOL, Bench::evicting)?,
            0.45,
        ),
    ];
    head(
        "Pages written twice, and once: medians",
        &["work", "twice, ms", "once, ms", "rate twice / once"],
    );
    let mut targets = Vec::new();
    for (what, [twice, once], must) in parts {
        let twice = median(&twice);
        let once = median(&once);
        println!("| {what} | {twice:.1} | {once:.1} | {:.2} |", once / twice);
        targets.push(Target::new(what, "x", Ok(once / twice)).must(Limit::AtLeast(must)));
    }
    Ok(targets)
}
