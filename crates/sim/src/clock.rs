//! Simulated time: every reading of the clock takes a millisecond.

use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};

/// The start of every run: 2010-01-01 00:00 UTC.
const START: Duration = Duration::from_secs(1_262_304_000);

/// A clock that advances with each reading.
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
