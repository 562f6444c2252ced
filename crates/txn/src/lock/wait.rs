//! Waiting for a lock: the slot that gets the outcome, on which the owner sleeps.

use std::time::Duration;

use extentdb_base::XactId;
use extentdb_base::sync::{Condvar, Mutex, lock, wait, wait_at_most};

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
    Victim(Vec<XactId>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct WaitSlot {
    state: Mutex<WaitState>,
    decided: Condvar,
}

impl WaitSlot {
    pub(crate) fn new() -> Self {
        WaitSlot {
            state: Mutex::new(WaitState::Waiting),
            decided: Condvar::new(),
        }
    }

    /// Decides the wait. It is decided once.
    pub(crate) fn decide(&self, state: WaitState) {
        let mut current = lock(&self.state);
        debug_assert_eq!(*current, WaitState::Waiting);
        *current = state;
        self.decided.notify_one();
    }

    /// The state of the wait now.
    pub(crate) fn state(&self) -> WaitState {
        lock(&self.state).clone()
    }

    /// Sleeps until the wait is decided or the timeout is over.
    pub(crate) fn sleep(&self, timeout: Timeout) -> WaitState {
        let mut state = lock(&self.state);
        match timeout {
            Timeout::NoWait => {}
            Timeout::After(time) => {
                state =
                    wait_at_most(&self.decided, state, time, |state| *state == WaitState::Waiting);
            }
            Timeout::Infinite => {
                while *state == WaitState::Waiting {
                    state = wait(&self.decided, state);
                }
            }
        }
        state.clone()
    }
}
