//! A monitor (Hoare, Mesa): data under a mutex, and a condition variable for those who wait until
//! the data is as they need it. The wait may be limited in time, and may be cancelled.
//!
//! ```text
//! wait_while ─ register ─ lock ─ ready? cancelled? ─ sleep … woken ─ ready? cancelled? ─ unregister
//! notify     ─ after a change of the data
//! ```
//!
//! Data that is ready counts before a cancel, and both before the time: who gets
//! [`WaitEnd::Ready`] may use the data although it is cancelled.

use std::time::Duration;

use crate::cancel::{Cancellation, Wake};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait};

/// Data with threads that wait for changes of it.
#[derive(Default, Debug)]
pub struct Monitor<T> {
    data: Mutex<T>,
    changed: Condvar,
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitEnd {
    /// The data is ready.
    Ready,
    /// It is not, and the wait was cancelled.
    Cancelled,
    /// It is not, and the time is over.
    TimedOut,
}

impl<T> Monitor<T> {
    /// A monitor of `data`.
    pub fn new(data: T) -> Self {
        Monitor { data: Mutex::new(data), changed: Condvar::new() }
    }

    /// Locks the data. A change that waits may end by is followed by a notification.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.data)
    }

    /// Wakes one of those who wait.
    pub fn notify_one(&self) {
        self.changed.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.changed.notify_all();
    }
}

impl<T: Send + 'static> Monitor<T> {
    /// Waits while `is_waiting` says so of the data, at most for `time`, and until `cancellation`
    /// is cancelled. Returns the data locked, as the last call of `is_waiting` has seen it.
    ///
    /// The caller must not have the data locked.
    pub fn wait_while(
        self: &Arc<Self>,
        cancellation: Option<&Cancellation>,
        time: Option<Duration>,
        mut is_waiting: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'_, T>, WaitEnd) {
        let registration = cancellation.map(|cancellation| cancellation.register(self.clone()));
        let mut end = WaitEnd::TimedOut;
        let mut sleeps = |data: &mut T| {
            if !is_waiting(data) {
                end = WaitEnd::Ready;
            } else if cancellation.is_some_and(Cancellation::is_cancelled) {
                end = WaitEnd::Cancelled;
            } else {
                return true;
            }
            false
        };
        let mut data = self.lock();
        match time {
            Some(time) => data = self.sleep_at_most(data, time, &mut sleeps),
            None => {
                while sleeps(&mut data) {
                    data = wait(&self.changed, data);
                }
            }
        }
        drop(registration);
        (data, end)
    }
}

impl<T> Monitor<T> {
    #[cfg(not(shuttle))]
    fn sleep_at_most<'a>(
        &'a self,
        data: MutexGuard<'a, T>,
        time: Duration,
        sleeps: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        crate::sync::wait_at_most(&self.changed, data, time, sleeps)
    }

    /// The condition variables of shuttle have no timeout: the time is over after a few turns of
    /// other threads.
    #[cfg(shuttle)]
    fn sleep_at_most<'a>(
        &'a self,
        mut data: MutexGuard<'a, T>,
        _time: Duration,
        mut sleeps: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        for _ in 0..3 {
            if !sleeps(&mut data) {
                return data;
            }
            drop(data);
            crate::sync::thread::yield_now();
            data = self.lock();
        }
        sleeps(&mut data);
        data
    }
}

impl<T: Send> Wake for Monitor<T> {
    fn wake(&self) {
        // A waiter that has not seen the cancel sleeps by now, or has not looked yet.
        drop(self.lock());
        self.notify_all();
    }
}

#[cfg(test)]
mod tests;
