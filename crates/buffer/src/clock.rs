//! Eviction. Known algorithm: the clock (second chance). Where we differ: a dirty frame is skipped
//! once and written together with its neighbours when no clean one follows soon.
//!
//! ```text
//!   hand ──▶ fixed, on the free list  pass
//!            used since the last turn clear the bit, pass
//!            clean                    removed from the table, and the frame is free
//!            dirty                    remembered; when no clean one comes soon: written with its
//!                                     neighbours, then as above
//! ```
//!
//! A frame is removed from the table under the lock of its shard, after these were checked under
//! it: the table has it, it is not fixed, DT was acquired without waiting, it has no changes. Each
//! can only change under that lock.

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock, thread};

use crate::Error;
use crate::frame::Frame;
use crate::latch::LatchMode;
use crate::pool::Pool;
use crate::stats::count;

/// Frames looked at for a clean one after a dirty one was seen.
const CLEAN_SEARCH: usize = 64;
/// Turns without any frame before giving up. Others may be between fixing and unfixing for an
/// instant.
const TURNS: usize = 64;

/// Ends of writes that are waited for at most: seconds, on a slow device.
const WAITS: usize = 500;

/// What the hand found.
pub(crate) enum Victim {
    /// A frame, out of the table.
    Frame(usize),
    /// A dirty frame, in case no clean one follows.
    Dirty(usize),
    /// Two turns, and every frame is fixed or was used in the meantime.
    Nothing,
}

impl Pool {
    /// An empty frame that is on no list, for the caller. Writes a dirty page if necessary.
    pub(crate) fn take_frame(&self) -> Result<usize, Error> {
        if let Some(index) = lock(&self.free).pop() {
            return Ok(index);
        }
        count(&self.counters.free_list_stalls, 1);
        let mut turns = 0;
        let mut waits = 0;
        while turns < TURNS {
            match self.find_victim() {
                Victim::Frame(index) => return Ok(index),
                Victim::Dirty(index) => {
                    self.write_around(index)?;
                    if self.evict(index) {
                        return Ok(index);
                    }
                }
                // Frames of writes under way are free when those end.
                Victim::Nothing if waits < WAITS && self.writing.wait_for_one() => {
                    waits += 1;
                    continue;
                }
                Victim::Nothing => thread::yield_now(),
            }
            turns += 1;
            if let Some(index) = lock(&self.free).pop() {
                return Ok(index);
            }
        }
        Err(Error::NoFrame { frames: self.frames.len() })
    }

    /// The frames in the order in which the hand will pass them.
    pub(crate) fn frames_ahead(&self) -> impl Iterator<Item = &Arc<Frame>> {
        let hand = self.hand.load(Ordering::Relaxed);
        let count = self.frames.len();
        (0..count).map(move |step| &self.frames[(hand.wrapping_add(step)) % count])
    }

    /// Moves the hand until it finds something, at most two turns.
    pub(crate) fn find_victim(&self) -> Victim {
        let mut dirty = None;
        let mut left = 2 * self.frames.len();
        while left > 0 {
            left -= 1;
            let index = self.advance();
            let frame = &self.frames[index];
            if frame.page().is_none() || Frame::is_fixed(frame) || frame.take_chance() {
                continue;
            }
            if frame.is_dirty() {
                if dirty.is_none() {
                    dirty = Some(index);
                    left = left.min(CLEAN_SEARCH);
                }
            } else if self.evict(index) {
                return Victim::Frame(index);
            }
        }
        dirty.map_or(Victim::Nothing, Victim::Dirty)
    }

    /// Evicts the page of a frame, if it is neither in use nor dirty.
    pub(crate) fn evict(&self, index: usize) -> bool {
        let frame: &Arc<Frame> = &self.frames[index];
        let page = frame.page();
        if page.is_none() {
            return false;
        }
        let mut shard = self.table.shard(page);
        let is_idle = shard.frame(page) == Some(index) && !Frame::is_fixed(frame);
        if !is_idle || !frame.latch.try_acquire(LatchMode::Dt) {
            return false;
        }
        let is_clean = !frame.is_dirty();
        if is_clean {
            shard.remove(page);
            drop(shard);
            frame.vacate();
            count(&self.counters.evictions, 1);
        }
        frame.release(LatchMode::Dt);
        is_clean
    }

    /// The next frame of the clock.
    fn advance(&self) -> usize {
        let at = self.hand.fetch_add(1, Ordering::Relaxed) % self.frames.len();
        if at == 0 {
            self.counters.note_turn(self.shared.accounts.clock.monotonic());
        }
        at
    }
}
