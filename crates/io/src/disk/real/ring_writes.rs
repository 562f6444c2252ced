//! Writes of a file through its ring.
//!
//! ```text
//! write_through_ring one write with RWF_DSYNC                      mode Fua, backend Uring
//! put_chained        write ─linked─▶ flush, one call               mode ForcedFlush, backend Uring
//! put_batch          up to 128 writes at once, past the page cache backends Auto and Uring
//! ```
//!
//! Each does what the plain call does, with the same bookkeeping: counters, length, what is to be
//! flushed, poison. What a ring leaves unfinished is finished by plain calls of the caller.
//!
//! Invariant: a chain holds the file's `synced` from before its write to after its flush. A flush
//! requested meanwhile waits, and is done already if its write ended before the chain began. The
//! ring is acquired first and never waited for.

use std::fs;
use std::io;

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::lock;

use super::file::{RealFile, WritePath, is_part_aligned, total, with_aligned};
use super::lane::RingGuard;
use super::ring::{
    Chained, Completion, DEPTH, MAX_PARTS, Request, RingWrite, judge_chain, judge_write,
};
use crate::error::Error;
use crate::platform;

impl RealFile {
    /// Writes with `RWF_DSYNC` through the ring. Returns the number of bytes that are durable now;
    /// the rest is for plain calls.
    pub(super) fn write_through_ring(
        &self,
        handle: &fs::File,
        offset: u64,
        parts: &[&[u8]],
        bytes: usize,
    ) -> io::Result<usize> {
        let Some(mut turn) = self.lane.for_one().filter(|_| fits(offset, parts)) else {
            return Ok(0);
        };
        let parts = &slices(parts);
        self.count_call();
        let write = Request::Write { handle, parts, offset, through: true, linked: false };
        match judge_write(bytes, only(turn.run(&[write]))) {
            RingWrite::All => Ok(bytes),
            RingWrite::Part(done) => Ok(done),
            RingWrite::Failed(error) => Err(error),
        }
    }

    /// A write and its flush in one call; none when plain calls are to be used.
    pub(super) fn put_chained(&self, offset: u64, parts: &[&[u8]]) -> Option<Result<(), Error>> {
        let mut turn = self.lane.for_one().filter(|_| fits(offset, parts))?;
        let bytes = total(parts);
        let (handle, way) = self.door(offset, bytes);
        let done = with_aligned(parts, way, |parts| {
            let is_durable = self.chain(&mut turn, handle, offset, parts)?;
            drop(turn);
            Ok(is_durable)
        });
        Some(done.and_then(|is_durable| {
            self.note_write(offset, bytes, way);
            if is_durable {
                return Ok(());
            }
            self.written.fetch_add(1, Ordering::AcqRel);
            self.flush()
        }))
    }

    /// Writes everything; true when it was flushed, too.
    fn chain(
        &self,
        turn: &mut RingGuard<'_>,
        handle: &fs::File,
        offset: u64,
        parts: &[&[u8]],
    ) -> Result<bool, Error> {
        let bytes = total(parts);
        let parts_of_ring = slices(parts);
        let write = Request::Write {
            handle,
            parts: &parts_of_ring,
            offset,
            through: false,
            linked: true,
        };
        let mut synced = lock(&self.synced);
        self.refuse_poisoned()?;
        let covered = self.written.load(Ordering::Acquire);
        self.count_call();
        let (write, flush) = pair(turn.run(&[write, Request::Flush { handle: &self.handle }]));
        if !matches!(flush, Completion::NotRun) {
            self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        }
        match judge_chain(bytes, write, flush) {
            Chained::Durable => {
                *synced = covered;
                Ok(true)
            }
            Chained::WriteFailed(source) => Err(self.write_failed(offset, bytes, source)),
            Chained::FlushFailed(source) => Err(self.flush_failed(source)),
            Chained::Unfinished(done) => {
                drop(synced);
                self.finish(handle, offset, parts, done).map(|()| false)
            }
        }
    }

    /// Writes what is missing after the first `done` bytes.
    fn finish(
        &self,
        handle: &fs::File,
        offset: u64,
        parts: &[&[u8]],
        done: usize,
    ) -> Result<(), Error> {
        let bytes = total(parts);
        if done >= bytes {
            return Ok(());
        }
        self.count_call();
        let written = platform::write_all_vectored(handle, parts, done, offset, false);
        written.map_err(|source| self.write_failed(offset, bytes, source))
    }

    /// Many deferred writes at once; none when plain calls are to be used: through the page cache,
    /// and for a single write, a ring gains nothing.
    pub(super) fn put_batch(&self, writes: &[(u64, &[u8])]) -> Option<Result<(), Error>> {
        let goes_direct = |(offset, bytes): &(u64, &[u8])| {
            let (_, way) = self.door(*offset, bytes.len());
            way == WritePath::Direct && is_part_aligned(bytes) && fits(*offset, &[bytes])
        };
        let (twin, _) = self.direct.as_ref()?;
        if writes.len() < 2 || !writes.iter().all(goes_direct) {
            return None;
        }
        let mut turn = self.lane.for_batch()?;
        Some(writes.chunks(DEPTH).try_for_each(|writes| self.put_at_once(&mut turn, twin, writes)))
    }

    fn put_at_once(
        &self,
        turn: &mut RingGuard<'_>,
        twin: &fs::File,
        writes: &[(u64, &[u8])],
    ) -> Result<(), Error> {
        let parts: Vec<[io::IoSlice<'_>; 1]> =
            writes.iter().map(|(_, bytes)| [io::IoSlice::new(bytes)]).collect();
        let requests: Vec<Request<'_>> = writes
            .iter()
            .zip(&parts)
            .map(|((offset, _), parts)| Request::Write {
                handle: twin,
                parts,
                offset: *offset,
                through: false,
                linked: false,
            })
            .collect();
        self.count_call();
        let mut outcome = Ok(());
        for ((offset, bytes), completion) in writes.iter().zip(turn.run(&requests)) {
            let written = self.settle(twin, *offset, bytes, completion);
            self.note_deferred(written.as_ref().ok().copied());
            // All have ended, so all are noted; the first error is returned.
            outcome = outcome.and(written.map(drop));
        }
        outcome
    }

    /// Outcome of one write of a batch.
    fn settle(
        &self,
        twin: &fs::File,
        offset: u64,
        bytes: &[u8],
        completion: Completion,
    ) -> Result<WritePath, Error> {
        match judge_write(bytes.len(), completion) {
            RingWrite::All => {}
            RingWrite::Part(done) => self.finish(twin, offset, &[bytes], done)?,
            RingWrite::Failed(source) => {
                return Err(self.write_failed(offset, bytes.len(), source));
            }
        }
        Ok(self.note_write(offset, bytes.len(), WritePath::Direct))
    }
}

/// Can a ring take it as one request? A write of nothing, or one past what the system can address,
/// is left to plain calls.
fn fits(offset: u64, parts: &[&[u8]]) -> bool {
    let bytes = total(parts);
    let end = offset.checked_add(bytes as u64).and_then(|end| i64::try_from(end).ok());
    bytes > 0 && end.is_some() && parts.len() <= MAX_PARTS
}

fn slices<'a>(parts: &[&'a [u8]]) -> Vec<io::IoSlice<'a>> {
    parts.iter().map(|part| io::IoSlice::new(part)).collect()
}

/// The completion of a single request.
fn only(completions: Vec<Completion>) -> Completion {
    completions.into_iter().next().unwrap_or(Completion::NotRun)
}

/// The completions of two requests.
fn pair(completions: Vec<Completion>) -> (Completion, Completion) {
    let mut completions = completions.into_iter();
    let mut next = || completions.next().unwrap_or(Completion::NotRun);
    (next(), next())
}
