//! Threads in one tree whose schedule follows from a seed: `RUSTFLAGS="--cfg shuttle"`, and a
//! target folder of its own.
//!
//! Every lock and atomic access, those of latches among them, is a point where another thread may
//! go on. Few rows with long keys: almost every insert splits something.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use extentdb_base::env::{Rng, SplitMix64};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

use super::threads::{Plan, run};

/// Trees of more than two levels, in all schedules together.
static DEEP: AtomicUsize = AtomicUsize::new(0);

/// One schedule: three threads change the tree, a fourth one takes ghosts away; the tree is sound
/// and has their rows.
fn schedule() {
    let mut rng = SplitMix64::new(shuttle::rand::thread_rng().r#gen());
    let levels = run(Plan {
        is_base: rng.below(2) == 0,
        is_wide: rng.below(4) > 0,
        threads: 3,
        keys: 14,
        value: 6000,
        transactions: 6,
        frames: 48,
        seed: rng.below(1 << 40),
    });
    DEEP.fetch_add(usize::from(levels > 2), Relaxed);
}

fn explore(scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    (config.stack_size, config.max_steps) = (4 << 20, MaxSteps::None);
    Runner::new(scheduler, config).run(schedule);
}

/// How many schedules: more with EXTENTDB_SCHEDULES.
fn schedules() -> usize {
    std::env::var("EXTENTDB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn threads_that_switch_anywhere_leave_a_sound_tree() {
    explore(RandomScheduler::new(schedules()));
    assert!(DEEP.load(Relaxed) > 0, "only flat trees");
}

#[test]
fn threads_that_switch_rarely_leave_a_sound_tree() {
    explore(PctScheduler::new(3, schedules()));
}
