//! Looks after the connections whose threads are at work.
//!
//! A short request is over before anybody looks, and costs nobody but its thread. One that is seen
//! twice has run for 5 to 10 ms: from then on its connection is watched ([`Channel::look`]).

use std::collections::HashMap;
use std::time::Duration;

use extentdb_base::sync::{Arc, Mutex, lock};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::channel::Channel;

const INTERVAL: Duration = Duration::from_millis(5);

/// The connections whose threads are at work.
#[derive(Default)]
pub(crate) struct Pulse {
    busy: Mutex<Busy>,
    /// Told of the first one.
    begun: Notify,
}

#[derive(Default)]
struct Busy {
    last: u64,
    channels: HashMap<u64, Arc<Channel>>,
}

/// A connection whose thread is at work, until this is dropped.
pub(crate) struct AtWork<'p> {
    pulse: &'p Pulse,
    number: u64,
}

impl Pulse {
    /// The thread of this connection is at work.
    pub(crate) fn enter(&self, channel: &Arc<Channel>) -> AtWork<'_> {
        let mut busy = lock(&self.busy);
        busy.last += 1;
        let number = busy.last;
        busy.channels.insert(number, channel.clone());
        if busy.channels.len() == 1 {
            self.begun.notify_one();
        }
        AtWork { pulse: self, number }
    }

    /// Looks at them while there are any, without an end.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            if lock(&self.busy).channels.is_empty() {
                self.begun.notified().await;
            }
            sleep(INTERVAL).await;
            lock(&self.busy).channels.values().for_each(Channel::look);
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        lock(&self.pulse.busy).channels.remove(&self.number);
    }
}
