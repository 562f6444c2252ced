//! Counters of the pool, as `SQLServer:Buffer Manager` shows them.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock};

/// What the pool holds and what it did since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PoolStats {
    /// Frames in all: "Target pages".
    pub frames: u64,
    /// Frames that hold a page: "Database pages".
    pub cached_pages: u64,
    /// Frames on the free list.
    pub free_frames: u64,
    /// Pages with changes that are not written.
    pub dirty_pages: u64,
    /// Requests for a page, found in memory or not: "Page lookups".
    pub lookups: u64,
    /// Pages read from files: "Page reads".
    pub page_reads: u64,
    /// Of them, those read ahead: "Readahead pages".
    pub read_ahead_pages: u64,
    /// Reads repeated because the page was not sound or the system refused.
    pub read_retries: u64,
    /// Pages written to files: "Page writes".
    pub page_writes: u64,
    /// Calls that wrote them, each up to 1 MiB.
    pub write_calls: u64,
    /// Of the pages, those written by `write_dirty`: "Checkpoint pages".
    pub checkpoint_pages: u64,
    /// Of the pages, those written by the lazy writer: "Lazy writes".
    pub lazy_writes: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Pages that left memory for others.
    pub evictions: u64,
    /// Requests that found the free list empty and had to evict: "Free list stalls".
    pub free_list_stalls: u64,
    /// Time of the last whole turn of the clock's hand, or since the start of the present one when
    /// that is longer: an unused page stays in memory about that long. "Page life expectancy".
    pub page_life_expectancy: Duration,
}

/// What a call of `write_dirty` did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriteStats {
    /// Pages written, of any writer.
    pub pages: u64,
    /// Calls that wrote them.
    pub writes: u64,
    /// Syncs of data files.
    pub syncs: u64,
    /// Time it took.
    pub duration: Duration,
}

/// What a turn of the lazy writer did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SweepStats {
    /// Frames added to the free list.
    pub freed: u64,
    /// Dirty pages written to get them.
    pub pages_written: u64,
    /// Frames on the free list at the end.
    pub free_frames: u64,
}

/// The running sums. None of them is on the path of a hit.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) page_reads: AtomicU64,
    pub(crate) read_ahead_pages: AtomicU64,
    pub(crate) read_retries: AtomicU64,
    pub(crate) page_writes: AtomicU64,
    pub(crate) write_calls: AtomicU64,
    pub(crate) checkpoint_pages: AtomicU64,
    pub(crate) lazy_writes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) free_list_stalls: AtomicU64,
    turn: Mutex<ClockTurn>,
}

/// When the clock's hand passed the first frame.
#[derive(Clone, Copy, Default)]
struct ClockTurn {
    began: Duration,
    last: Duration,
}

impl Counters {
    /// The clock's hand passes the first frame.
    pub(crate) fn note_turn(&self, now: Duration) {
        let mut turn = lock(&self.turn);
        turn.last = now.saturating_sub(turn.began);
        turn.began = now;
    }

    /// The current turn of the hand began at `now`.
    pub(crate) fn start(&self, now: Duration) {
        lock(&self.turn).began = now;
    }

    pub(crate) fn page_life_expectancy(&self, now: Duration) -> Duration {
        let turn = *lock(&self.turn);
        turn.last.max(now.saturating_sub(turn.began))
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// Reads a counter.
pub(crate) fn total(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
