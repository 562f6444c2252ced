//! Group commit: one writes for all.
//!
//! ```text
//! A  append commit, flush ─▶ leader: closes the block, writes ───────▶ durable, wakes all
//! B      append commit, flush ─▶ waits ···························▶ leader of the next write, with C and D in its block
//! C         append commit, flush ─▶ waits ························▶ waits ·····▶ durable
//! ```
//!
//! There is no log writer thread. Whoever needs a record durable and finds nobody writing becomes the leader. While its write
//! is under way, the records of others gather in the next block, and one of them writes that block for all. Before a leader
//! closes the block it gives way to callers that the last write let go: they are about to come back with their next commit,
//! and a write more is dearer than the few microseconds they take. A lone caller never gives way.
//!
//! Invariants
//! - At most one write is under way, and from the front of the queue: the durable LSN advances in order.
//! - A VLF's header is durable before its first block is written, and all blocks before it are durable by then.
//! - After a failed write the log is offline. Nothing is tried again: what the disk still holds of it is not known.

use extentdb_base::Lsn;
use extentdb_base::sync::{MutexGuard, lock, thread, wait};
use extentdb_io::Durability;

use crate::error::Error;
use crate::log_manager::Log;
use crate::state::{Closed, State};

/// How often in a row a leader gives way without anybody coming.
const PATIENCE: u32 = 8;
/// A VLF header is written as a whole sector of the largest kind.
const HEADER_BYTES: usize = 4096;

impl Log {
    /// Returns when every record up to `lsn` is durable. An LSN beyond the newest record stands for that record.
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
        state.stats.flush_waits += 1;
        self.wait_or_lead(state, target)
    }

    /// Makes everything durable that was appended before the call, and gives the LSN of the last of it.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_all(&self) -> Result<Lsn, Error> {
        let last = self.last();
        self.flush(last)?;
        Ok(last)
    }

    fn wait_or_lead<'a>(&'a self, mut state: MutexGuard<'a, State>, target: Lsn) -> Result<(), Error> {
        while state.durable < target {
            if state.is_offline() {
                return Err(Error::Offline);
            }
            state = if state.is_writing { wait(&self.changed, state) } else { self.lead(state)? };
        }
        Ok(())
    }

    /// Writes everything there is, for all who wait.
    fn lead<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, Error> {
        state.is_writing = true;
        state = self.give_way(state);
        // Everybody who waits now has the record in the block that is closed here, or in one before it.
        let served = std::mem::take(&mut state.waiting);
        let mut result = state.close();
        if result.is_ok() {
            state.stats.flushes += 1;
            (state, result) = self.write_queue(state);
        }
        state.expected = served + state.waiting;
        state.is_writing = false;
        self.changed.notify_all();
        result.map(|()| state)
    }

    /// Lets those come who were let go by the last write, as long as they do come.
    fn give_way<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut in_vain = 0;
        while state.waiting < state.expected && in_vain < PATIENCE {
            let before = state.waiting;
            drop(state);
            thread::yield_now();
            state = lock(&self.state);
            in_vain = if state.waiting > before { 0 } else { in_vain + 1 };
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
        self.changed.notify_all();
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
            if let Err(error) = result {
                state.go_offline();
                self.changed.notify_all();
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
