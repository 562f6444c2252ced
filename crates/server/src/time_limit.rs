//! How long a request may run.

use std::time::Duration;

use extentdb_base::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::channel::Channel;

/// Interrupts a request when its time is over. Dropped, it does so no more.
pub(crate) struct TimeLimit {
    task: JoinHandle<()>,
}

impl TimeLimit {
    /// The time of the request with this number begins now.
    pub(crate) fn begin(limit: Duration, channel: &Arc<Channel>, number: u64) -> TimeLimit {
        let channel = channel.clone();
        let task = Handle::current().spawn(async move {
            tokio::time::sleep(limit).await;
            channel.end_time(number);
        });
        TimeLimit { task }
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        self.task.abort();
    }
}
