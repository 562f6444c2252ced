//! The ring of a file: one, opened by the first write that uses it, used by one thread at a time.
//!
//! No thread waits for it. A thread that finds it in use uses plain calls, which serve any number
//! of threads: so two durable writes still share a flush. Without a ring, or after the system stops
//! serving it, plain calls are used permanently.

use std::io;

use extentdb_base::sync::{Mutex, MutexGuard, try_lock};

use super::Backend;
use super::ring::{self, Completion, Request, Ring};

/// How a file gets at a ring.
#[derive(Debug)]
pub(super) struct Lane {
    backend: Backend,
    state: Mutex<LaneState>,
}

#[derive(Debug)]
enum LaneState {
    Untried,
    Ready(Box<dyn Ring>),
    Absent,
}

/// The right to use the ring.
pub(super) struct RingGuard<'a>(MutexGuard<'a, LaneState>);

impl Lane {
    pub(super) fn new(backend: Backend) -> Lane {
        Lane { backend, state: Mutex::new(LaneState::Untried) }
    }

    /// A lane with this ring.
    #[cfg(test)]
    pub(super) fn with_ring(backend: Backend, ring: Box<dyn Ring>) -> Lane {
        Lane { backend, state: Mutex::new(LaneState::Ready(ring)) }
    }

    /// The ring for a batch of writes, when there is one and it is free.
    pub(super) fn for_batch(&self) -> Option<RingGuard<'_>> {
        if self.backend == Backend::Plain { None } else { self.take() }
    }

    /// The ring for a single durable write, when it is to be used for such, there is one and it is
    /// free.
    pub(super) fn for_one(&self) -> Option<RingGuard<'_>> {
        if self.backend == Backend::Uring { self.take() } else { None }
    }

    fn take(&self) -> Option<RingGuard<'_>> {
        let mut state = try_lock(&self.state)?;
        if matches!(*state, LaneState::Untried) {
            *state = ring::open().map_or(LaneState::Absent, LaneState::Ready);
        }
        matches!(*state, LaneState::Ready(_)).then_some(RingGuard(state))
    }
}

impl RingGuard<'_> {
    /// As [`Ring::run`]; a ring that has failed runs nothing.
    pub(super) fn run(&mut self, requests: &[Request<'_>]) -> Vec<Completion> {
        let LaneState::Ready(ring) = &mut *self.0 else {
            return requests.iter().map(|_| Completion::NotRun).collect();
        };
        let completions = ring.run(requests);
        if ring.is_dead() {
            *self.0 = LaneState::Absent;
        }
        completions
    }
}

/// The backend of a file, and why it is not the requested one.
pub(super) fn describe(asked: Backend) -> (Backend, Option<String>) {
    if asked == Backend::Plain {
        return (Backend::Plain, None);
    }
    match ring::open() {
        Ok(_) => (asked, None),
        Err(error) => (Backend::Plain, Some(refusal(&error))),
    }
}

fn refusal(error: &io::Error) -> String {
    format!("no io_uring: {error}")
}
