//! Cancellation: one thread asks another to end its waits and its long work.
//!
//! ```text
//! session   clear ──▶ statement: works, polls is_cancelled ──▶ waits: register ─ sleeps ─ woken ──▶ Cancelled
//! any thread                                   cancel ──▶ flag ──▶ wakes what is registered
//! ```
//!
//! A cancellation token, as other systems call it. It belongs to a session and is shared with those
//! who may cancel its statement. A wait registers a [`Wake`] and looks at the flag under its own
//! mutex before it sleeps; [`Monitor`](crate::monitor::Monitor) does both.
//!
//! **No cancel is lost.** The flag is set before the list of wakers is locked. A waker that is
//! registered by then is called: its call locks the mutex of the wait, so the waiter has either not
//! looked at the flag yet, and sees it, or it sleeps and is notified. A waker that is registered
//! later finds the flag set, by the order of the list's mutex.

use std::fmt;
use std::time::Duration;

use crate::monitor::{Monitor, WaitEnd};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// Whether the statement of a session is to end early.
#[derive(Default)]
pub struct Cancellation {
    is_cancelled: AtomicBool,
    /// The waits of the session: one, or one for each of its parallel workers.
    wakers: Mutex<Vec<Arc<dyn Wake>>>,
}

/// The work was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

/// Wakes a wait, so that it looks whether it was cancelled.
pub trait Wake: Send + Sync {
    /// Called on the thread that cancels, with nothing locked; once more after the wait has ended,
    /// at worst. Must not wait for anything but a short critical section.
    fn wake(&self);
}

/// A waker that is called by a cancel, until this is dropped.
#[must_use = "dropping it ends the registration"]
pub struct Registration<'c> {
    cancellation: &'c Cancellation,
    waker: Arc<dyn Wake>,
}

impl Cancellation {
    /// A session that is not cancelled, and does not wait.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels: the waits of the session end, and its work at the next poll. Stays until
    /// [`clear`](Self::clear).
    pub fn cancel(&self) {
        // Before the list is locked: see the module.
        self.is_cancelled.store(true, Ordering::Relaxed);
        let wakers = lock(&self.wakers).clone();
        wakers.iter().for_each(|waker| waker.wake());
    }

    /// The next statement begins. A cancel that runs at the same time may count for either.
    pub fn clear(&self) {
        self.is_cancelled.store(false, Ordering::Relaxed);
    }

    /// One relaxed load: cheap enough for every batch of a scan.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// # Errors
    /// It is cancelled.
    pub fn verify(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Has `waker` called by every cancel until the registration is dropped; at once when it is
    /// cancelled already. The caller must not hold a lock that `waker` needs.
    pub fn register(&self, waker: Arc<dyn Wake>) -> Registration<'_> {
        lock(&self.wakers).push(waker.clone());
        if self.is_cancelled() {
            waker.wake();
        }
        Registration { cancellation: self, waker }
    }

    /// Waits for `time`.
    ///
    /// # Errors
    /// It was cancelled before.
    pub fn sleep(&self, time: Duration) -> Result<(), Cancelled> {
        let monitor = Arc::new(Monitor::new(()));
        let end = monitor.wait_while(Some(self), Some(time), |()| true).1;
        if end == WaitEnd::Cancelled { Err(Cancelled) } else { Ok(()) }
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut wakers = lock(&self.cancellation.wakers);
        // The same waker may be registered twice: each registration removes one.
        if let Some(at) = wakers.iter().position(|waker| Arc::ptr_eq(waker, &self.waker)) {
            wakers.swap_remove(at);
        }
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancellation({})", self.is_cancelled())
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

#[cfg(test)]
mod tests;
