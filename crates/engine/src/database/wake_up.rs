//! Wake-up signals of the background threads.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Condvar, Mutex, lock, wait_at_most};

/// What a background thread waits for.
#[derive(Debug, Default)]
pub(crate) struct WakeUp {
    state: Mutex<WakeUpState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct WakeUpState {
    has_work: bool,
    is_over: bool,
}

impl WakeUp {
    /// There is work.
    pub(crate) fn notify(&self) {
        let mut state = lock(&self.state);
        if !state.has_work {
            state.has_work = true;
            self.changed.notify_all();
        }
    }

    pub(crate) fn end(&self) {
        lock(&self.state).is_over = true;
        self.changed.notify_all();
    }

    /// Waits for work, at most so long. False when it is over.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let state = lock(&self.state);
        let mut state =
            wait_at_most(&self.changed, state, most, |state| !state.has_work && !state.is_over);
        state.has_work = false;
        !state.is_over
    }
}

/// The wake_ups of a database's threads.
#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    pub(crate) checkpoint: WakeUp,
    pub(crate) lazy: WakeUp,
    pub(crate) growth: WakeUp,
    pub(crate) ghosts: WakeUp,
    pub(crate) statistics: WakeUp,
    pub(crate) log: WakeUp,
    pub(crate) is_running: AtomicBool,
}

impl WakeUps {
    /// Is there a thread that would hear them?
    pub(crate) fn has_threads(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Ends the threads.
    pub(crate) fn end(&self) {
        self.all().into_iter().for_each(WakeUp::end);
    }

    fn all(&self) -> [&WakeUp; 6] {
        let Self { checkpoint, lazy, growth, ghosts, statistics, log, .. } = self;
        [checkpoint, lazy, growth, ghosts, statistics, log]
    }

    /// False when there are threads already.
    pub(crate) fn begin(&self) -> bool {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return false;
        }
        for wake_up in self.all() {
            *lock(&wake_up.state) = WakeUpState::default();
        }
        true
    }
}
