//! The time form of log records, from a clock.

use extentdb_base::env::Clock;
use extentdb_format::log::LogTime;

/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 25_567;
const SECONDS_PER_DAY: u64 = 86_400;

/// Now, in ticks of 1/300 s, in universal time.
pub fn log_time(clock: &dyn Clock) -> LogTime {
    let now = clock.since_epoch();
    let seconds = now.as_secs();
    let millis = u64::from(now.subsec_millis());
    let ticks = seconds % SECONDS_PER_DAY * 300 + millis * 300 / 1000;
    LogTime {
        days: (EPOCH_DAYS + seconds / SECONDS_PER_DAY) as u32,
        ticks: ticks as u32,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct At(Duration);

    impl Clock for At {
        fn monotonic(&self) -> Duration {
            self.0
        }

        fn since_epoch(&self) -> Duration {
            self.0
        }
    }

    #[test]
    fn a_moment_is_days_since_1900_and_ticks() {
        let noon = At(Duration::from_millis(14_610 * 86_400_000 + 43_200_010));
        assert_eq!(log_time(&noon).to_string(), "2010/01/01 12:00:00:010");
    }
}
