//! The lazy writer: frees frames ahead of need.
//!
//! This is one turn of it; the engine calls it from a background thread.

use std::convert::Infallible;

use extentdb_base::sync::lock;

use crate::buffer_memory::BufferMemory;
use crate::clock::Victim;
use crate::page_key::PageKey;
use crate::pool::Pool;
use crate::registry::{Purpose, WriteTotals};
use crate::{Error, SweepStats};

impl Pool {
    /// As [`BufferMemory::sweep`], over the frames of all databases of the memory.
    ///
    /// # Errors
    /// A page of this pool could not be written.
    pub fn sweep(&self, target_free: usize) -> Result<SweepStats, Error> {
        let core = &self.core;
        core.memory.sweep_with(target_free, |key| core.write_victim(key, Purpose::LazyWriter))
    }
}

impl BufferMemory {
    /// Moves the clock on until `target_free` frames, but no more than half of the memory, are on
    /// the free list. Dirty pages that the hand passes are written with their neighbours; where
    /// that fails the database is offline, and the hand goes on. Ends early when all frames are in
    /// use.
    pub fn sweep(&self, target_free: usize) -> SweepStats {
        let write = |key| Ok(self.write_visiting(key, Purpose::LazyWriter));
        let Ok(stats) = self.sweep_with::<Infallible>(target_free, write);
        stats
    }

    fn sweep_with<E>(
        &self,
        target_free: usize,
        write: impl Fn(PageKey) -> Result<WriteTotals, E>,
    ) -> Result<SweepStats, E> {
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
                    let written = write(self.frames[index].key())?;
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
