//! Writes in progress: their frames are fixed, and free again soon. A request that finds no frame
//! waits for one of them to end.

use std::time::Duration;

use extentdb_base::sync::{Condvar, Mutex, lock, wait_at_most};

/// A write that takes longer is not waited for at once: another frame may have become free
/// meanwhile.
const WAIT_MAX: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    counts: Mutex<Counts>,
    ended: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    begun: u64,
    ended: u64,
}

/// A write in progress, until this is dropped.
#[derive(Debug)]
#[must_use = "the write counts as ended when this is dropped"]
pub(crate) struct Write<'a>(&'a UnderWay);

impl UnderWay {
    pub(crate) fn begin(&self) -> Write<'_> {
        lock(&self.counts).begun += 1;
        Write(self)
    }

    /// Waits until a write in progress has ended. False at once when there is none.
    pub(crate) fn wait_for_one(&self) -> bool {
        let counts = lock(&self.counts);
        if counts.begun == counts.ended {
            return false;
        }
        let before = counts.ended;
        drop(wait_at_most(&self.ended, counts, WAIT_MAX, |counts| counts.ended == before));
        true
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        lock(&self.0.counts).ended += 1;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::sync::thread;

    use super::*;

    #[test]
    fn only_writes_that_are_under_way_are_waited_for() {
        let writes = UnderWay::default();
        assert!(!writes.wait_for_one());
        let write = writes.begin();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| writes.wait_for_one());
            drop(write);
            // Called before or after the end: either way it returns.
            let _ = waiter.join().unwrap();
        });
        assert!(!writes.wait_for_one());
    }
}
