//! Work under watch: a second thread reports progress and polls the clock and requests to stop.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::thread;

use super::CheckRun;
use crate::options::{Phase, Progress};
use crate::report::{Sample, Timeline};
use crate::scan::Counters;

/// How often progress is reported and a request to stop is polled.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// What was done under watch.
pub(super) struct Watched<T> {
    pub(super) result: T,
    pub(super) was_stopped: bool,
    pub(super) timeline: Timeline,
}

/// Stops the watching thread.
struct EndOfWork<'w> {
    is_done: &'w AtomicBool,
    watcher: &'w thread::Thread,
}

impl Drop for EndOfWork<'_> {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

impl CheckRun<'_> {
    /// Works while another thread watches the clock and requests to stop.
    pub(super) fn watched<T>(
        &self,
        phase: Phase,
        pages_planned: u64,
        counters: &Counters,
        work: impl FnOnce(&AtomicBool) -> T,
    ) -> Watched<T> {
        let stop = AtomicBool::new(self.must_stop());
        let is_done = AtomicBool::new(false);
        let (result, timeline) = thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut timeline = Timeline::default();
                while !is_done.load(Ordering::Acquire) {
                    if self.must_stop() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    self.watch(phase, pages_planned, counters);
                    timeline.offer(self.sample(counters));
                    thread::park_timeout(WATCH_INTERVAL);
                }
                timeline
            });
            // Also when the work panics: the scope would wait for the watcher for ever.
            let end = EndOfWork { is_done: &is_done, watcher: watcher.thread() };
            let result = work(&stop);
            drop(end);
            (result, watcher.join().unwrap_or_default())
        });
        Watched { result, was_stopped: stop.load(Ordering::Relaxed), timeline }
    }

    fn must_stop(&self) -> bool {
        let is_late = |limit: Duration| self.elapsed() >= limit;
        self.control.cancel.load(Ordering::Relaxed) || self.options.time_limit.is_some_and(is_late)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.control.clock.monotonic().saturating_sub(self.start)
    }

    pub(super) fn sample(&self, counters: &Counters) -> Sample {
        Sample {
            elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes: counters.bytes.load(Ordering::Relaxed),
            pages: counters.pages.load(Ordering::Relaxed),
            findings: counters.findings.load(Ordering::Relaxed),
        }
    }

    pub(super) fn watch(&self, phase: Phase, pages_planned: u64, counters: &Counters) {
        if let Some(progress) = self.control.progress {
            progress(&Progress {
                phase,
                pages_planned,
                pages_checked: counters.pages.load(Ordering::Relaxed),
                bytes_read: counters.bytes.load(Ordering::Relaxed),
                findings: counters.findings.load(Ordering::Relaxed),
                elapsed: self.elapsed(),
            });
        }
    }
}
