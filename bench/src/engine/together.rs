//! Clients in threads of their own that all begin at the same moment.

use std::cell::Cell;
use std::sync::Barrier;
use std::time::Duration;

use anyhow::{Result, anyhow};
use extentdb_base::env::{Clock, SystemClock};

/// Where a client waits for the others.
pub(super) struct Start<'s> {
    gate: &'s Barrier,
    clock: &'s SystemClock,
    begun: Cell<Duration>,
}

impl Start<'_> {
    /// Called once, when the client is ready: returns when all are.
    pub(super) fn wait(&self) {
        self.gate.wait();
        self.begun.set(self.clock.monotonic());
    }
}

/// Runs all clients with their numbers. Returns the time from the start of the first client to the
/// end of the last: the waiting thread may get a processor long after the start.
pub(super) fn together(
    clients: u32,
    work: impl Fn(u32, &Start<'_>) -> Result<()> + Sync,
) -> Result<Duration> {
    let gate = Barrier::new(clients as usize);
    let clock = SystemClock::new();
    let work = &work;
    let gate = &gate;
    let clock = &clock;
    let done = std::thread::scope(|scope| {
        let client = |client| {
            scope.spawn(move || {
                let start = Start { gate, clock, begun: Cell::default() };
                let done = work(client, &start);
                done.map(|()| (start.begun.get(), clock.monotonic()))
            })
        };
        let clients: Vec<_> = (0..clients).map(client).collect();
        clients.into_iter().map(|client| client.join()).collect::<Vec<_>>()
    });
    let mut first = Duration::MAX;
    let mut last = Duration::ZERO;
    for client in done {
        let (begun, ended) = client.map_err(|_| anyhow!("a client panicked"))??;
        (first, last) = (first.min(begun), last.max(ended));
    }
    Ok(last.saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_runs_from_the_first_to_the_last() {
        let ready = Duration::from_millis(40);
        let pause = Duration::from_millis(10);
        let time = together(3, |client, start| {
            std::thread::sleep(if client == 0 { ready } else { Duration::ZERO });
            start.wait();
            std::thread::sleep(pause * client);
            Ok(())
        });
        let time = time.unwrap();
        assert!(time >= 2 * pause && time < ready + 2 * pause, "{time:?}");
    }

    #[test]
    fn a_failed_client_is_an_error() {
        let fail = |client, start: &Start<'_>| {
            start.wait();
            if client == 1 { Err(anyhow!("no room")) } else { Ok(()) }
        };
        assert!(together(2, fail).unwrap_err().to_string().contains("no room"));
    }
}
