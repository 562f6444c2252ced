//! Waiting for a lock: the slot that gets the outcome, on which the owner sleeps.

use std::time::Duration;

use extentdb_base::OwnerId;
use extentdb_base::cancel::Cancellation;
use extentdb_base::monitor::{Monitor, WaitEnd};
use extentdb_base::sync::Arc;

/// How long to wait for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// Not at all: `SET LOCK_TIMEOUT 0`.
    NoWait,
    /// At most so long.
    After(Duration),
    /// Without a timeout: `SET LOCK_TIMEOUT -1`.
    Infinite,
}

/// State of a lock wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WaitState {
    /// Not decided yet.
    Waiting,
    /// The lock is held, since this moment.
    Granted(Duration),
    /// The owner is the victim of a deadlock with these members.
    Victim(Vec<OwnerId>),
}

/// See the module. Clones are the same slot.
#[derive(Clone, Debug)]
pub(crate) struct WaitSlot(Arc<Monitor<WaitState>>);

impl WaitSlot {
    pub(crate) fn new() -> Self {
        WaitSlot(Arc::new(Monitor::new(WaitState::Waiting)))
    }

    /// Decides the wait. It is decided once.
    pub(crate) fn decide(&self, state: WaitState) {
        let mut current = self.0.lock();
        debug_assert_eq!(*current, WaitState::Waiting);
        *current = state;
        self.0.notify_one();
    }

    /// The state of the wait now.
    pub(crate) fn state(&self) -> WaitState {
        self.0.lock().clone()
    }

    /// Sleeps until the wait is decided or cancelled, or the time is over. Which of the two ended
    /// it matters only when it is still not decided.
    pub(crate) fn sleep(
        &self,
        timeout: Timeout,
        cancellation: Option<&Cancellation>,
    ) -> (WaitState, WaitEnd) {
        let time = match timeout {
            Timeout::NoWait => Some(Duration::ZERO),
            Timeout::After(time) => Some(time),
            Timeout::Infinite => None,
        };
        let is_waiting = |state: &mut WaitState| *state == WaitState::Waiting;
        let (state, end) = self.0.wait_while(cancellation, time, is_waiting);
        (state.clone(), end)
    }
}
