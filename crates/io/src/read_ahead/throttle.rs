//! The rate limit: bytes per second, over all threads together.
//!
//! A token bucket kept as one number, the time at which the next byte is due. Each request advances
//! it by its own length and waits for the old value; so requests pass one after the other, in order
//! of arrival, and the average never exceeds the rate. Time that was not used is kept for a tenth
//! of a second, no longer.

use std::num::NonZeroU64;
use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Mutex, lock, thread};

/// How far a quiet spell may be caught up.
const BURST: Duration = Duration::from_millis(100);
/// Longest sleep before cancellation is looked at again.
const NAP: Duration = Duration::from_millis(50);

/// A limit on bytes per second, shared by any number of threads.
pub struct Throttle<'a> {
    bytes_per_second: NonZeroU64,
    clock: &'a dyn Clock,
    /// When the next byte is due, on the monotonic clock.
    due: Mutex<Duration>,
}

impl<'a> Throttle<'a> {
    /// A limit that begins now.
    pub fn new(bytes_per_second: NonZeroU64, clock: &'a dyn Clock) -> Self {
        Throttle { bytes_per_second, clock, due: Mutex::new(clock.monotonic()) }
    }

    /// Waits until `bytes` may be read; false when the run was cancelled in the meantime.
    pub fn wait(&self, bytes: u64, cancel: &AtomicBool) -> bool {
        let due = self.reserve(bytes);
        loop {
            if cancel.load(Ordering::Relaxed) {
                return false;
            }
            let pause = due.saturating_sub(self.clock.monotonic());
            if pause.is_zero() {
                return true;
            }
            thread::sleep(pause.min(NAP));
        }
    }

    /// The time at which `bytes` may be read; the next ones follow when they would be through at
    /// this rate.
    fn reserve(&self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.get());
        let takes = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let earliest = self.clock.monotonic().saturating_sub(BURST);
        let mut due = lock(&self.due);
        let start = (*due).max(earliest);
        *due = start.saturating_add(takes);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_base::sync::atomic::AtomicU64;

    /// A clock that stands still until it is set.
    #[derive(Default)]
    struct Stopped(AtomicU64);

    impl Stopped {
        fn advance(&self, millis: u64) {
            self.0.fetch_add(millis, Ordering::Relaxed);
        }
    }

    impl Clock for Stopped {
        fn monotonic(&self) -> Duration {
            Duration::from_millis(self.0.load(Ordering::Relaxed))
        }

        fn since_epoch(&self) -> Duration {
            self.monotonic()
        }
    }

    fn rate(bytes_per_second: u64) -> NonZeroU64 {
        NonZeroU64::new(bytes_per_second).unwrap()
    }

    #[test]
    fn requests_are_spaced_by_their_length() {
        let clock = Stopped::default();
        let throttle = Throttle::new(rate(1000), &clock);
        let due: Vec<u128> = [500, 250, 1].map(|bytes| throttle.reserve(bytes).as_millis()).into();
        assert_eq!(due, [0, 500, 750]);
    }

    #[test]
    fn a_long_quiet_spell_is_not_saved_up() {
        let clock = Stopped::default();
        let throttle = Throttle::new(rate(1000), &clock);
        clock.advance(60_000);
        let due: Vec<u128> = [100, 1000, 1].map(|bytes| throttle.reserve(bytes).as_millis()).into();
        assert_eq!(
            due,
            [59_900, 60_000, 61_000],
            "a tenth of a second is caught up, then the rate holds"
        );
    }

    #[test]
    fn absurd_rates_neither_overflow_nor_divide_by_zero() {
        let clock = Stopped::default();
        let throttle = Throttle::new(rate(1), &clock);
        throttle.reserve(u64::MAX);
        assert!(throttle.reserve(1) > Duration::from_secs(1 << 30));
        assert_eq!(Throttle::new(rate(u64::MAX), &clock).reserve(1 << 30), Duration::ZERO);
    }

    #[test]
    fn cancellation_ends_a_wait_that_would_never_end() {
        let clock = Stopped::default();
        let throttle = Throttle::new(rate(1), &clock);
        let cancel = AtomicBool::new(false);
        assert!(throttle.wait(u64::MAX, &cancel), "the first request waits for nothing");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| throttle.wait(1, &cancel));
            thread::sleep(Duration::from_millis(20));
            cancel.store(true, Ordering::Relaxed);
            assert!(!waiting.join().unwrap());
        });
    }
}
