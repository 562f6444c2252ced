//! Group commit: one writes for all.
//!
//! ```text
//! A  append commit, flush ─▶ leader: closes the block, writes ───────▶ durable, wakes all
//! B      append commit, flush ─▶ waits ···························▶ leader of the next write, with C and D in its block
//! C         append commit, flush ─▶ waits ························▶ waits ·····▶ durable
//! ```
//!
//! There is no log writer thread. Whoever needs a record durable and finds nobody writing becomes
//! the leader. While its write is under way, the records of others gather in the next block, and
//! one of them writes that block for all. Before a leader closes the block it gives way to callers
//! that the last write let go: they are about to come back with their next commit, and a write more
//! is dearer than the few microseconds they take. A lone caller never gives way.
//!
//! Callers sleep by rounds: those of the block that is written, and those of the block that
//! gathers. The end of a write wakes all of the one and a single one of the other, who leads;
//! nobody is woken to find out that it was for somebody else.
//!
//! Invariants
//! - At most one write is under way, and from the front of the queue: the durable LSN advances in
//!   order.
//! - While anybody waits, somebody writes or was woken to do so: whoever leaves without having led
//!   passes that on.
//! - A VLF's header is durable before its first block is written, and all blocks before it are
//!   durable by then.
//! - After a failed write the log is offline. Nothing is tried again: what the disk still holds of
//!   it is not known.

use std::time::Duration;

use extentdb_base::Lsn;
use extentdb_base::sync::{Condvar, MutexGuard, lock, thread, wait, wait_at_most};
use extentdb_io::Durability;

use crate::error::Error;
use crate::log_manager::Log;
use crate::state::{Closed, State};

/// How often in a row a leader gives way without anybody coming.
const PATIENCE: u32 = 8;
/// Sleeps for the sake of others, as long as they come: each of half a write, or of so long on slow
/// devices. (shuttle's waits never end by time.)
const SLEEPS: u32 = if cfg!(shuttle) { 0 } else { 4 };
const SLEEP_MAX: Duration = Duration::from_micros(200);
/// A VLF header is written as a whole sector of the largest kind.
const HEADER_BYTES: usize = 4096;

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
        // Woken to lead, and nothing left to do: a block that filled up is written with the one
        // before it.
        if round == state.round && !state.is_writing {
            self.sleepers(round).notify_one();
        }
        Ok(())
    }

    fn wake_all(&self) {
        self.changed.notify_all();
        self.rounds.iter().for_each(Condvar::notify_all);
    }

    /// Where those of a round sleep. Of two rounds that share a place the earlier is over when the
    /// later begins.
    fn sleepers(&self, round: u64) -> &Condvar {
        &self.rounds[(round % 2) as usize]
    }

    /// Writes everything there is, for all who wait.
    fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, Error> {
        state.is_writing = true;
        state = self.give_way(state);
        // Everybody who waits now has the record in the block that is closed here, or in one before
        // it.
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
            // Those who wait for buffers, too: nobody writes any more.
            self.changed.notify_all();
        }
        result.map(|()| state)
    }

    /// Lets those come who were let go by the last write, as long as they do come; when nobody runs
    /// on this processor, by sleeping: then it takes over some of those that wait for the others.
    fn give_way<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut in_vain = 0;
        while state.waiting < state.expected && in_vain < PATIENCE {
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
        state.is_writing = true;
        let (mut state, result) = self.write_queue(state);
        state.is_writing = false;
        self.wake_all();
        result.map(|()| state)
    }

    /// Writes what is in the queue now, run by run. The caller is the one who writes.
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
