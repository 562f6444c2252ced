//! Time as the simulation has it: every look at the clock takes a millisecond.

use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};

/// The morning that every life begins on: 2010-01-01 00:00 UTC.
const START: Duration = Duration::from_secs(1_262_304_000);

/// A clock that goes on when it is looked at.
#[derive(Debug, Default)]
pub(crate) struct SimClock(AtomicU64);

impl Clock for SimClock {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn since_epoch(&self) -> Duration {
        START + self.monotonic()
    }
}
