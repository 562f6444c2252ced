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

/// What became of a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Nothing yet.
    Open,
    /// The lock is held, since this moment.
    Granted(Duration),
    /// The owner is the victim of a deadlock with these members.
    Victim(Vec<XactId>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct WaitSlot {
    fate: Mutex<Fate>,
    decided: Condvar,
}

impl WaitSlot {
    pub(crate) fn new() -> Self {
        WaitSlot { fate: Mutex::new(Fate::Open), decided: Condvar::new() }
    }

    /// Decides the wait. It is decided once.
    pub(crate) fn decide(&self, fate: Fate) {
        let mut current = lock(&self.fate);
        debug_assert_eq!(*current, Fate::Open);
        *current = fate;
        self.decided.notify_one();
    }

    /// What became of it so far.
    pub(crate) fn fate(&self) -> Fate {
        lock(&self.fate).clone()
    }

    /// Sleeps until the wait is decided or the timeout is over.
    pub(crate) fn sleep(&self, timeout: Timeout) -> Fate {
        let mut fate = lock(&self.fate);
        match timeout {
            Timeout::NoWait => {}
            Timeout::After(time) => {
                fate = wait_at_most(&self.decided, fate, time, |fate| *fate == Fate::Open);
            }
            Timeout::Infinite => {
                while *fate == Fate::Open {
                    fate = wait(&self.decided, fate);
                }
            }
        }
        fate.clone()
    }
}
