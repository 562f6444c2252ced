//! The lazy writer: frees frames ahead of need.
//!
//! This is one turn of it; the engine calls it from a background thread.

use extentdb_base::sync::lock;

use crate::clock::Victim;
use crate::pool::Pool;
use crate::stats::count;
use crate::{Error, SweepStats};

impl Pool {
    /// Moves the clock on until `target_free` frames, but no more than half of the pool, are on the
    /// free list. Dirty pages that the hand passes are written with their neighbours. Ends early
    /// when all frames are in use.
    pub fn sweep(&self, target_free: usize) -> Result<SweepStats, Error> {
        let target = target_free.min(self.frames.len() / 2);
        let mut stats = SweepStats::default();
        let mut free_frames = lock(&self.free).len();
        // Every step frees a frame or is the last but few: a frame that others take again at once
        // must not keep us here.
        for _ in 0..2 * self.frames.len() {
            if free_frames >= target {
                break;
            }
            let index = match self.find_victim() {
                Victim::Frame(index) => Some(index),
                Victim::Dirty(index) => {
                    let written = self.write_around(index)?;
                    count(&self.counters.lazy_writes, written.pages);
                    stats.pages_written += written.pages;
                    self.evict(index).then_some(index)
                }
                Victim::Nothing => break,
            };
            let mut free = lock(&self.free);
            if let Some(index) = index {
                free.push(index);
                stats.freed += 1;
            }
            free_frames = free.len();
        }
        stats.free_frames = free_frames as u64;
        Ok(stats)
    }
}
