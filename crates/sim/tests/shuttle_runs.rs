//! Whole simulation runs whose sessions are threads: `RUSTFLAGS="--cfg shuttle"`, and a target
//! folder of its own.
//!
//! Files, statements, faults and the schedule of the threads follow from one seed. Every second
//! step is a round: one statement of each session, all at the same time.
#![cfg(shuttle)]

use extentdb_sim::{RunConfig, RunKind, run};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

/// Openings of each database: one to work in and one after whatever ended it.
const OPENINGS: u64 = 2;

fn explore(scheduler: impl Scheduler + 'static, kinds: &'static [RunKind]) {
    let mut config = Config::new();
    config.stack_size = 8 << 20;
    // A schedule that makes no progress fails, and says its seed.
    config.max_steps = MaxSteps::FailAfter(20_000_000);
    Runner::new(scheduler, config).run(|| {
        let mut rng = shuttle::rand::thread_rng();
        let seed = rng.r#gen::<u32>().into();
        let kind = kinds[rng.gen_range(0..kinds.len())];
        let parameters = RunConfig { openings: OPENINGS, ..RunConfig::of_kind(kind, seed) };
        run(&parameters).unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// How many schedules: more with EXTENTDB_SCHEDULES.
fn schedules() -> usize {
    std::env::var("EXTENTDB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(40)
}

#[test]
fn acknowledged_rows_survive_power_cuts_and_failed_calls_under_random_schedules() {
    explore(RandomScheduler::new(schedules()), &[RunKind::Plain, RunKind::Torn, RunKind::Killed]);
}

#[test]
fn acknowledged_rows_survive_power_cuts_and_ddl_under_schedules_with_few_switches() {
    explore(PctScheduler::new(3, schedules()), &[RunKind::Plain, RunKind::Ddl]);
}
