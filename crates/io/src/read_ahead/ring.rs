//! The ring: buffers that circulate between reader threads and consumers.
//!
//! ```text
//!  free ──take_free──▶ reader thread ──put_filled──▶ filled ──take_filled──▶ consumer ──give_back──▶ free
//! ```
//!
//! Invariants
//! - At most `limit` buffers exist; they are made when first needed and then reused.
//! - When the last reader leaves, waiting consumers wake at the end; when the last consumer leaves,
//!   waiting readers wake and stop. Both leave by dropping a guard, so a panic on one side never
//!   leaves the other asleep.
//! - A cancelled run ends: a running thread sees the flag at the next buffer, and each buffer
//!   handed over wakes somebody.

use std::collections::VecDeque;
use std::ops::Range;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Condvar, Mutex, MutexGuard, lock};

use super::Request;
use crate::buf::AlignedBuf;
use crate::error::Error;

/// A buffer with the outcome of its read.
pub(super) struct Filled {
    pub(super) request: Request,
    pub(super) buf: AlignedBuf,
    /// Range of the bytes in `buf`.
    pub(super) data: Result<Range<usize>, Error>,
}

pub(super) struct Ring {
    state: Mutex<State>,
    has_free: Condvar,
    has_filled: Condvar,
    depth: usize,
    limit: usize,
    buffer_bytes: usize,
}

struct State {
    free: Vec<AlignedBuf>,
    filled: VecDeque<Filled>,
    made: usize,
    readers: usize,
    consumers: usize,
}

impl Ring {
    /// A ring for `depth` readers and `consumers` consumers, all of which are expected to take
    /// their guard and drop it.
    pub(super) fn new(depth: usize, consumers: usize, limit: usize, buffer_bytes: usize) -> Self {
        let state = State {
            free: Vec::new(),
            filled: VecDeque::new(),
            made: 0,
            readers: depth,
            consumers,
        };
        Ring {
            state: Mutex::new(state),
            has_free: Condvar::new(),
            has_filled: Condvar::new(),
            depth,
            limit,
            buffer_bytes,
        }
    }

    /// Number of readers it was made for.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// A buffer to fill; waits for one. `None` when no consumer is left.
    pub(super) fn take_free(&self, cancel: &AtomicBool) -> Option<AlignedBuf> {
        let mut state = lock(&self.state);
        loop {
            if state.consumers == 0 || cancel.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(buf) = state.free.pop() {
                return Some(buf);
            }
            if state.made < self.limit {
                state.made += 1;
                drop(state);
                return Some(AlignedBuf::zeroed(self.buffer_bytes));
            }
            state = wait(&self.has_free, state);
        }
    }

    /// Passes a filled buffer to the next consumer.
    pub(super) fn put_filled(&self, filled: Filled) {
        lock(&self.state).filled.push_back(filled);
        self.has_filled.notify_one();
    }

    /// A filled buffer; waits for one. `None` when all were taken and no reader is left, and on
    /// cancellation.
    pub(super) fn take_filled(&self, cancel: &AtomicBool) -> Option<Filled> {
        let mut state = lock(&self.state);
        loop {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(filled) = state.filled.pop_front() {
                return Some(filled);
            }
            if state.readers == 0 {
                return None;
            }
            state = wait(&self.has_filled, state);
        }
    }

    /// Takes a used buffer back.
    pub(super) fn give_back(&self, buf: AlignedBuf) {
        lock(&self.state).free.push(buf);
        self.has_free.notify_one();
    }

    /// Signs a reader off when dropped.
    pub(super) fn reader_guard(&self) -> ReaderGuard<'_> {
        ReaderGuard(self)
    }

    /// Signs a consumer off when dropped.
    pub(super) fn consumer_guard(&self) -> ConsumerGuard<'_> {
        ConsumerGuard(self)
    }
}

pub(super) struct ReaderGuard<'r>(&'r Ring);

impl Drop for ReaderGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).readers -= 1;
        self.0.has_filled.notify_all();
    }
}

pub(super) struct ConsumerGuard<'r>(&'r Ring);

impl Drop for ConsumerGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).consumers -= 1;
        self.0.has_free.notify_all();
    }
}

fn wait<'s>(condvar: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condvar.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner())
}
