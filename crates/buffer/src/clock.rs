//! Eviction. Known algorithm: the clock (second chance). Where we differ: a dirty frame is skipped
//! once and written together with its neighbours when no clean one follows soon.
//!
//! ```text
//!   hand ──▶ fixed, on the free list  pass
//!            page of a dropped pool   the frame is free
//!            used since the last turn clear the bit, pass
//!            clean                    removed from the table, and the frame is free
//!            dirty                    remembered; when no clean one comes soon: written with its
//!                                     neighbours, then as above
//!            dirty and offline        pass
//! ```
//!
//! The hand takes frames of all databases. A dirty page is written by its own database: its log,
//! double-write area and files. When that fails, that database is offline, and its dirty frames are
//! passed from then on; only a request of the same database fails.
//!
//! A frame is removed from the table under the lock of its shard, after these were checked under
//! it: the table has it, it is not fixed, DT was acquired without waiting, it has no changes. Each
//! can only change under that lock.

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock, thread};

use crate::Error;
use crate::buffer_memory::BufferMemory;
use crate::frame::Frame;
use crate::latch::LatchMode;
use crate::page_key::PageKey;
use crate::pool::PoolCore;
use crate::registry::{Purpose, WritePages, WriteTotals};
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

impl PoolCore {
    /// Writes the page of a dirty frame, whatever its database is.
    ///
    /// # Errors
    /// A page of this database could not be written.
    pub(crate) fn write_victim(
        &self,
        key: PageKey,
        purpose: Purpose,
    ) -> Result<WriteTotals, Error> {
        if key.database() == self.number {
            return self.write_around(key.page(), purpose);
        }
        Ok(self.memory.write_visiting(key, purpose))
    }
}

impl BufferMemory {
    /// An empty frame that is on no list, for a page of `requester`. Writes a dirty page of any
    /// database if necessary.
    pub(crate) fn take_frame(&self, requester: &PoolCore) -> Result<usize, Error> {
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
                    requester.write_victim(self.frames[index].key(), Purpose::Eviction)?;
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
        requester.refuse_offline()?;
        Err(Error::NoFrame { frames: self.frames.len() })
    }

    /// Writes a page, and others with it, as a visit to its database. Nothing is written when the
    /// database is about to leave the memory, nor when it fails: it is offline then, which its own
    /// outage reports.
    pub(crate) fn write_visiting(&self, key: PageKey, purpose: Purpose) -> WriteTotals {
        let visit = self.registry.visit(key.database());
        let Some(owner) = visit.as_ref().and_then(|visit| visit.owner()) else {
            // Its frames are free when that is done.
            self.registry.wait_while_closed(key.database());
            return WriteTotals::default();
        };
        owner.write_around(key.page(), purpose).unwrap_or_default()
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
            let key = frame.key();
            if key == PageKey::ORPHAN && Frame::reclaim(frame) {
                return Victim::Frame(index);
            }
            if key.is_none() || Frame::is_fixed(frame) || frame.take_chance() {
                continue;
            }
            if frame.is_dirty() {
                if dirty.is_none() && frame.is_writable() {
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
        let key = frame.key();
        if key.is_none() {
            return false;
        }
        let mut shard = self.table.shard(key);
        let is_idle = shard.frame(key) == Some(index) && !Frame::is_fixed(frame);
        if !is_idle || !frame.latch.try_acquire(LatchMode::Dt) {
            return false;
        }
        let is_clean = !frame.is_dirty();
        if is_clean {
            shard.remove(key);
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
            self.counters.note_turn(self.accounts.clock.monotonic());
        }
        at
    }
}
