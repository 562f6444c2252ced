//! Many requests to the system in one call, and what became of each.
//!
//! ```text
//! run [write ─linked─▶ flush] one call: the flush begins when the write has ended in full, and is cancelled otherwise
//! run [write, write, write …] one call: all run concurrently and end in any order
//! ```
//!
//! The results of a ring are interpreted here by pure functions. What a ring did not finish, plain
//! calls finish: a short write continues where it stopped, a cancelled flush has not begun. Only a
//! failure of the device is an error.
//!
//! Invariants
//! - [`Ring::run`] returns when no request is in progress any more: memory and files are borrowed
//!   for the call only.
//! - A request that is reported as [`Completion::NotRun`] changed nothing that may not be repeated.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nobody makes a ring there"))]

#[cfg(target_os = "linux")]
mod kernel;

use std::fmt::Debug;
use std::fs;
use std::io;

/// Requests of one call, at most.
pub(super) const DEPTH: usize = 128;
/// Parts of one write, at most: what the system takes in one transfer.
pub(super) const MAX_PARTS: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(super) enum Request<'a> {
    /// All parts at `offset`, concatenated.
    Write {
        handle: &'a fs::File,
        parts: &'a [io::IoSlice<'a>],
        offset: u64,
        /// Each byte is durable when the write ends.
        through: bool,
        /// The next request begins when this one has ended in full, and is cancelled otherwise.
        linked: bool,
    },
    /// Makes durable what was written before.
    Flush { handle: &'a fs::File },
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Completion {
    /// Ended; bytes that were written.
    Done(usize),
    /// The system refused.
    Failed(io::Error),
    /// Cancelled, interrupted, or never handed over.
    NotRun,
}

/// Hands requests to the system.
pub(super) trait Ring: Send + Debug {
    /// Runs at most [`DEPTH`] requests and waits for all. The completions are in the order of the
    /// requests.
    fn run(&mut self, requests: &[Request<'_>]) -> Vec<Completion>;

    /// Is it of no use any more?
    fn is_dead(&self) -> bool;
}

/// The kernel's ring, or why there is none.
#[cfg(target_os = "linux")]
pub(super) fn open() -> io::Result<Box<dyn Ring>> {
    kernel::KernelRing::open().map(|ring| Box::new(ring) as Box<dyn Ring>)
}

/// The kernel's ring: not here.
#[cfg(not(target_os = "linux"))]
pub(super) fn open() -> io::Result<Box<dyn Ring>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has io_uring"))
}

/// Outcome of a write in a ring.
#[derive(Debug)]
pub(super) enum RingWrite {
    All,
    /// Bytes written; the rest is to be written by plain calls.
    Part(usize),
    Failed(io::Error),
}

/// Judges a write of `wanted` bytes.
pub(super) fn judge_write(wanted: usize, write: Completion) -> RingWrite {
    match write {
        Completion::Done(bytes) if bytes >= wanted => RingWrite::All,
        Completion::Done(0) => RingWrite::Failed(io::ErrorKind::WriteZero.into()),
        Completion::Done(bytes) => RingWrite::Part(bytes),
        Completion::Failed(error) => RingWrite::Failed(error),
        Completion::NotRun => RingWrite::Part(0),
    }
}

/// Outcome of a write and the flush linked to it.
#[derive(Debug)]
pub(super) enum Chained {
    Durable,
    /// Bytes written; the rest, and the flush, are to be done by plain calls.
    Unfinished(usize),
    WriteFailed(io::Error),
    /// What was written before the flush may be lost.
    FlushFailed(io::Error),
}

/// Interprets a write of `wanted` bytes and its flush. A successful flush counts only after a whole
/// write.
pub(super) fn judge_chain(wanted: usize, write: Completion, flush: Completion) -> Chained {
    match (judge_write(wanted, write), flush) {
        (RingWrite::Failed(error), _) => Chained::WriteFailed(error),
        (_, Completion::Failed(error)) => Chained::FlushFailed(error),
        (RingWrite::All, Completion::Done(_)) => Chained::Durable,
        (RingWrite::All, Completion::NotRun) => Chained::Unfinished(wanted),
        (RingWrite::Part(bytes), _) => Chained::Unfinished(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Completion {
        Completion::Failed(io::Error::other("refused"))
    }

    #[test]
    fn a_write_is_done_in_part_in_full_or_not_at_all() {
        let judged = |write| format!("{:?}", judge_write(512, write));
        assert_eq!(judged(Completion::Done(512)), "All");
        assert_eq!(judged(Completion::Done(100)), "Part(100)");
        assert_eq!(judged(Completion::NotRun), "Part(0)");
        assert!(judged(Completion::Done(0)).contains("WriteZero"));
        assert!(judged(refused()).contains("refused"));
    }

    #[test]
    fn a_chain_is_durable_only_when_both_have_ended_in_full() {
        use Completion::{Done, NotRun};
        let judged = |write, flush| format!("{:?}", judge_chain(512, write, flush));
        assert_eq!(judged(Done(512), Done(0)), "Durable");
        // A short write cancels its flush. A flush that ran all the same was too early for the
        // rest.
        assert_eq!(judged(Done(100), NotRun), "Unfinished(100)");
        assert_eq!(judged(Done(100), Done(0)), "Unfinished(100)");
        assert_eq!(judged(NotRun, NotRun), "Unfinished(0)");
        assert_eq!(judged(NotRun, Done(0)), "Unfinished(0)");
        assert_eq!(judged(Done(512), NotRun), "Unfinished(512)");
        assert!(judged(refused(), NotRun).starts_with("WriteFailed"));
        assert!(judged(refused(), refused()).starts_with("WriteFailed"));
        assert!(judged(Done(0), NotRun).starts_with("WriteFailed"));
        // The system reports a lost write once: never a success, whatever the result of the write.
        for write in [Done(512), Done(100), NotRun] {
            assert!(judged(write, refused()).starts_with("FlushFailed"));
        }
    }
}
