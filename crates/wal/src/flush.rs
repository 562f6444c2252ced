//! Group commit: one writes for all.
//!
//! ```text
//! A append commit, flush ─▶ leader: closes the block, writes ───────▶ durable, wakes all
//! B     append commit, flush ─▶ waits ···························▶ leader of the next write, with C and D in its block
//! C        append commit, flush ─▶ waits ························▶ waits ·····▶ durable
//! ```
//!
//! Known algorithm: group commit, led by the callers. A caller that needs a record durable
//! while no write is in progress becomes the leader. During its write, the records of other callers
//! collect in the next block, and one of them writes that block for all. Before a leader closes the
//! block it waits a moment for the callers that the last write has released (the group-commit
//! delay): they are about to commit again, and another write costs more than the few microseconds
//! that they take. It waits for as many as the last write has released, and no longer than they
//! keep arriving. So a lone caller does not delay, but for the first write after that of a group:
//! it waits in vain once, for some yields and one sleep of at most [`SLEEP_MAX`]; the next write
//! expects one caller.
//!
//! Blocks that nobody waits for are written when half of the log buffers are full, by a thread that
//! the log's owner has for that ([`Log::on_half_full`], [`Log::write_if_half_full`]); without one,
//! by the append that finds all of them full.
//!
//! Callers sleep by rounds: those of the block being written, and those of the block being filled.
//! The end of a write wakes all of the former and one of the latter, which leads; no caller is
//! woken in vain.
//!
//! Invariants
//! - At most one write is under way, and from the front of the queue: the durable LSN advances in
//!   order.
//! - While a caller waits, another one writes or was woken to do so: a caller that leaves without
//!   having led wakes the next.
//! - A VLF's header is durable before its first block is written, and all blocks before it are
//!   durable by then.
//! - After a failed write the log is offline. Nothing is tried again: how much of the write has
//!   reached the disk is unknown.

use std::time::Duration;

use extentdb_base::Lsn;
use extentdb_base::sync::{Condvar, MutexGuard, lock, thread, wait, wait_at_most};
use extentdb_format::log::vlf::{VLF_HEADER_AREA, VLF_HEADER_BYTES};
use extentdb_io::Durability;

use crate::error::Error;
use crate::log_manager::Log;
use crate::state::{Closed, State};

/// Yields of a leader in a row without a new caller that end the group-commit delay.
const GROUP_COMMIT_YIELDS: u32 = 8;
/// Longest single sleep of the group-commit delay; half the time of a write on faster devices.
/// (shuttle's waits have no timeout.)
const SLEEPS: u32 = if cfg!(shuttle) { 0 } else { 4 };
const SLEEP_MAX: Duration = Duration::from_micros(200);
/// A VLF header is written as a whole sector of the largest kind.
const HEADER_BYTES: usize = 4096;
const _: () = assert!(
    VLF_HEADER_BYTES <= HEADER_BYTES && HEADER_BYTES as u64 <= VLF_HEADER_AREA,
    "the write of a header covers it and no block"
);

impl Log {
    /// Returns when every record up to `lsn` is durable. An LSN beyond the newest record stands for
    /// that record.
    ///
    /// # Errors
    /// The write failed, or one before it: the log is offline.
    pub fn flush(&self, lsn: Lsn) -> Result<(), Error> {
        let mut state = lock(&self.state);
        let target = lsn.min(state.last);
        if state.durable >= target {
            return Ok(());
        }
        state.waiting += 1;
        if state.is_gathering && state.waiting >= state.expected {
            self.gathered.notify_one();
        }
        state.stats.flush_waits += 1;
        self.wait_or_lead(state, target)
    }

    /// Makes everything durable that was appended before the call, and gives the LSN of the last of
    /// it.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_all(&self) -> Result<Lsn, Error> {
        let last = self.last();
        self.flush(last)?;
        Ok(last)
    }

    fn wait_or_lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        target: Lsn,
    ) -> Result<(), Error> {
        let round = state.round;
        while state.durable < target {
            if let Err(offline) = state.verify_online() {
                self.wake_all();
                return Err(offline);
            }
            state = if state.is_writing {
                wait(self.sleepers(round), state)
            } else {
                self.lead(state)?
            };
        }
        // Woken to lead with nothing left to write: a full block is written with the one before it.
        if round == state.round && !state.is_writing {
            self.sleepers(round).notify_one();
        }
        Ok(())
    }

    fn wake_all(&self) {
        self.changed.notify_all();
        self.rounds.iter().for_each(Condvar::notify_all);
    }

    /// The condition variable of a round. Of two rounds that share one, the earlier is over when
    /// the later begins.
    fn sleepers(&self, round: u64) -> &Condvar {
        &self.rounds[(round % 2) as usize]
    }

    /// Writes all closed blocks, for all callers that wait.
    fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, Error> {
        state.is_writing = true;
        state = self.delay_for_group(state);
        // Every caller that waits now has its record in the block that is closed here, or in an
        // earlier one.
        let served = std::mem::take(&mut state.waiting);
        let round = state.round;
        state.round += 1;
        let mut result = state.close();
        if result.is_ok() {
            state.stats.flushes += 1;
            (state, result) = self.write_queue(state);
        }
        state.expected = served + state.waiting;
        state.is_writing = false;
        self.sleepers(round).notify_all();
        self.sleepers(round + 1).notify_one();
        if result.is_err() {
            // Callers that wait for buffers, too: no write is in progress any more.
            self.changed.notify_all();
        }
        result.map(|()| state)
    }

    /// The group-commit delay: yields to the callers that the last write has released, while they
    /// arrive; sleeps when no other thread runs on this processor, so that the scheduler can move
    /// threads to it.
    fn delay_for_group<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut in_vain = 0;
        while state.waiting < state.expected && in_vain < GROUP_COMMIT_YIELDS {
            let before = state.waiting;
            drop(state);
            thread::yield_now();
            state = lock(&self.state);
            in_vain = if state.waiting > before { 0 } else { in_vain + 1 };
        }
        let slice = (state.write_time / 2).min(SLEEP_MAX);
        for _ in 0..SLEEPS {
            let before = state.waiting;
            if before >= state.expected {
                break;
            }
            state.is_gathering = true;
            state =
                wait_at_most(&self.gathered, state, slice, |state| state.waiting < state.expected);
            state.is_gathering = false;
            if state.waiting == before {
                break;
            }
        }
        state
    }

    /// All log buffers are full: waits for the writer, or writes.
    pub(crate) fn drain<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, Error> {
        state.stats.buffer_waits += 1;
        if state.is_writing {
            return Ok(wait(&self.changed, state));
        }
        self.write_closed(state)
    }

    /// Writes the closed blocks when half of the log buffers are full and no write is in progress:
    /// the work of a background thread, so that an append seldom finds all of them full. True when
    /// something was written.
    ///
    /// # Errors
    /// The write failed, or one before it: the log is offline.
    pub fn write_if_half_full(&self) -> Result<bool, Error> {
        let mut state = lock(&self.state);
        if !state.is_write_due() {
            return Ok(false);
        }
        state.verify_online()?;
        state.stats.writes_ahead += 1;
        self.write_closed(state).map(|_| true)
    }

    /// Writes the closed blocks and wakes all who wait for one of them, or for a buffer. No write
    /// is in progress.
    fn write_closed<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, Error> {
        state.is_writing = true;
        let (mut state, result) = self.write_queue(state);
        state.is_writing = false;
        self.wake_all();
        result.map(|()| state)
    }

    /// Writes what is in the queue now, run by run. Called by the leader only.
    fn write_queue<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> (MutexGuard<'a, State>, Result<(), Error>) {
        let mut left = state.queue.len();
        while left > 0 {
            let run = state.front_run();
            left = left.saturating_sub(run.len());
            drop(state);
            let started = self.clock.monotonic();
            let result = self.write_run(&run);
            let took = self.clock.monotonic().saturating_sub(started);
            state = lock(&self.state);
            state.stats.writes += 1;
            state.stats.write_us += took.as_micros() as u64;
            state.write_time = (state.write_time * 3 + took) / 4;
            if let Err(error) = result {
                state.go_offline(&error);
                self.wake_all();
                return (state, Err(error));
            }
            state.harden(run.len());
            self.changed.notify_all();
        }
        (state, Ok(()))
    }

    fn write_run(&self, run: &[Closed]) -> Result<(), Error> {
        let written = match run {
            [Closed::Header(header)] => {
                let mut bytes = vec![0; HEADER_BYTES];
                let head = header.to_bytes();
                bytes[..head.len()].copy_from_slice(&head);
                self.file.write_at(header.offset, &[&bytes], Durability::Through)
            }
            [Closed::Block { offset, .. }, ..] => {
                let parts: Vec<&[u8]> = run.iter().filter_map(Closed::block_bytes).collect();
                self.file.write_at(*offset, &parts, Durability::Through)
            }
            _ => Ok(()),
        };
        written.map_err(Error::from)
    }
}
