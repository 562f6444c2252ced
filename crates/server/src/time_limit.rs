//! How long a request may run.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, lock};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::running::SharedRunning;

/// Interrupts the request at hand when its time is over. Dropped, it does so no more.
pub(crate) struct TimeLimit {
    limit: Duration,
    is_over: Arc<AtomicBool>,
    /// Changed while `running` is locked: the request that is interrupted is the one at hand.
    is_done: Arc<AtomicBool>,
    running: SharedRunning,
    task: JoinHandle<()>,
}

impl TimeLimit {
    /// The time of the request that runs begins now.
    pub(crate) fn begin(limit: Duration, running: &SharedRunning) -> TimeLimit {
        let is_over = Arc::new(AtomicBool::new(false));
        let is_done = Arc::new(AtomicBool::new(false));
        let (own, over, done) = (running.clone(), is_over.clone(), is_done.clone());
        let task = Handle::current().spawn(async move {
            tokio::time::sleep(limit).await;
            let running = lock(&own);
            // What the client or the server has ended is not ended by its time.
            if !done.load(Ordering::SeqCst) && !running.is_attention && !running.is_ended {
                over.store(true, Ordering::SeqCst);
                running.interrupt();
            }
        });
        TimeLimit { limit, is_over, is_done, running: running.clone(), task }
    }

    /// Was the request ended by its time?
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// How long it may run.
    pub(crate) fn seconds(&self) -> u64 {
        self.limit.as_secs()
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        let _running = lock(&self.running);
        self.is_done.store(true, Ordering::SeqCst);
        self.task.abort();
    }
}
