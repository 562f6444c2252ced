//! Waits of a session that are no locks: for a time, or on a condition. Accounted, and cancelled.

use std::time::Duration;

use extentdb_base::cancel::{Cancellation, Cancelled};
use extentdb_base::env::Clock;
use extentdb_base::monitor::{Monitor, WaitEnd};
use extentdb_base::sync::{Arc, MutexGuard};
use extentdb_telemetry::{WaitType, Waits};

/// Where waits of a session are accounted, and what cancels them.
#[derive(Clone, Copy)]
pub struct SessionWaits<'a> {
    /// The wait statistics.
    pub waits: &'a Waits,
    /// The clock that times them.
    pub clock: &'a dyn Clock,
    /// Ends the waits of the session early.
    pub cancellation: &'a Cancellation,
}

impl SessionWaits<'_> {
    /// Waits for `time`: [`WaitType::WaitFor`] for a WAITFOR, another type to throttle a session.
    ///
    /// # Errors
    /// It was cancelled before.
    pub fn pause(&self, wait: WaitType, time: Duration) -> Result<(), Cancelled> {
        let account = self.waits.begin(wait, self.clock.monotonic());
        let end = self.cancellation.sleep(time);
        account.end(self.clock.monotonic(), None);
        end
    }

    /// Waits on a monitor while `is_waiting` says so of its data, at most for `time`: a memory
    /// grant, for example ([`WaitType::ResourceSemaphore`]). Accounted when it really waits.
    pub fn wait_while<'m, T: Send + 'static>(
        &self,
        wait: WaitType,
        monitor: &'m Arc<Monitor<T>>,
        time: Option<Duration>,
        mut is_waiting: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'m, T>, WaitEnd) {
        let mut data = monitor.lock();
        if !is_waiting(&mut data) {
            return (data, WaitEnd::Ready);
        }
        drop(data);
        let account = self.waits.begin(wait, self.clock.monotonic());
        let ended = monitor.wait_while(Some(self.cancellation), time, is_waiting);
        account.end(self.clock.monotonic(), None);
        ended
    }
}
