//! The memory that all databases of an instance share: a fixed number of frames, and which page of
//! which database is in which of them.
//!
//! ```text
//! Pool of database 1 ──┐                        ┌─ frames, page table, clock, free list
//! Pool of database 2 ──┼──▶ BufferMemory ───────┼─ buffers of gathered writes
//! Pool of database 3 ──┘                        └─ registry: number ─▶ database, for those who write
//!                                                  its pages to get a frame
//! ```
//!
//! What belongs to one database (files, log, double-write area, outage) is in its pool. See the
//! crate for the rules of eviction.

use std::fmt;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_io::AlignedBuf;
use extentdb_telemetry::Waits;

use crate::MemoryStats;
use crate::frame::Frame;
use crate::latch::WaitAccounts;
use crate::page_key::DatabaseNumber;
use crate::page_table::PageTable;
use crate::registry::Registry;
use crate::stats::{MemoryCounters, total};
use crate::under_way::UnderWay;

/// Frames of a memory at least.
const FRAMES_MIN: usize = 4;

/// Frames of 8 KiB for the pages of all databases of an instance; [`Pool`](crate::Pool) is the
/// pages of one of them. All methods may be called from all threads.
pub struct BufferMemory {
    pub(crate) frames: Box<[Arc<Frame>]>,
    pub(crate) table: PageTable,
    /// Frames that hold nothing.
    pub(crate) free: Mutex<Vec<usize>>,
    /// Where the clock looks next, modulo the number of frames.
    pub(crate) hand: AtomicUsize,
    /// Waits for latches, and time.
    pub(crate) accounts: Arc<WaitAccounts>,
    pub(crate) counters: MemoryCounters,
    pub(crate) registry: Registry,
    /// Serializes gathering cold pages to free frames.
    pub(crate) gathering: Mutex<()>,
    /// Groups of pages being written.
    pub(crate) writing: UnderWay,
    /// Databases with pages being copied or written.
    pub(crate) writing_databases: AtomicUsize,
    /// Buffers of gathered writes and reads, kept for the next one.
    pub(crate) buffers: Mutex<Vec<AlignedBuf>>,
}

/// What to do with a page in use when its database leaves the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InUse {
    /// Its guards keep it; its frame is free when the last one is dropped.
    Orphan,
    /// An error of the caller: panics.
    Refuse,
}

impl BufferMemory {
    /// `frames` empty frames, at least 4; the number never changes. Waits for latches are counted
    /// in `waits`, by `clock`.
    ///
    /// # Panics
    /// When the memory cannot be allocated.
    pub fn new(frames: usize, waits: Arc<Waits>, clock: Arc<dyn Clock>) -> Arc<BufferMemory> {
        let accounts = Arc::new(WaitAccounts { waits, clock });
        let counters = MemoryCounters::default();
        counters.start(accounts.clock.monotonic());
        let frames = Frame::allocate(frames.max(FRAMES_MIN), &accounts);
        Arc::new(BufferMemory {
            free: Mutex::new((0..frames.len()).rev().collect()),
            frames,
            table: PageTable::new(),
            hand: AtomicUsize::new(0),
            accounts,
            counters,
            registry: Registry::default(),
            gathering: Mutex::default(),
            writing: UnderWay::default(),
            writing_databases: AtomicUsize::new(0),
            buffers: Mutex::default(),
        })
    }

    /// What the memory holds and did, for all databases.
    pub fn stats(&self) -> MemoryStats {
        let (cached_pages, lookups) = self.table.totals();
        MemoryStats {
            databases: self.registry.len() as u64,
            frames: self.frames.len() as u64,
            cached_pages: cached_pages as u64,
            free_frames: lock(&self.free).len() as u64,
            lookups,
            evictions: total(&self.counters.evictions),
            free_list_stalls: total(&self.counters.free_list_stalls),
            page_life_expectancy: self
                .counters
                .page_life_expectancy(self.accounts.clock.monotonic()),
        }
    }

    /// Frames that one of the databases whose pages are being written may fix for that.
    pub(crate) fn share(&self) -> usize {
        self.frames.len() / self.writing_databases.load(Ordering::Relaxed).max(1)
    }

    /// Removes the pages of a database from memory, changed or not. The slot of the database is
    /// closed, and none of its own threads uses it; others may evict clean pages of it meanwhile.
    ///
    /// Scans all frames.
    pub(crate) fn remove_pages(&self, database: DatabaseNumber, in_use: InUse) {
        for (index, frame) in self.frames.iter().enumerate() {
            let key = frame.key();
            if key.database() != database {
                continue;
            }
            let mut shard = self.table.shard(key);
            if shard.frame(key) != Some(index) {
                // Evicted since, or about to be.
                continue;
            }
            let is_fixed = Frame::is_fixed(frame);
            assert!(!is_fixed || in_use == InUse::Orphan, "page {} is in use", key.page());
            shard.remove(key);
            drop(shard);
            if is_fixed {
                frame.set_orphan();
                continue;
            }
            frame.forget_changes();
            frame.vacate();
            lock(&self.free).push(index);
        }
    }
}

impl fmt::Debug for BufferMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let databases = self.registry.len();
        write!(f, "BufferMemory({} frames, {databases} databases)", self.frames.len())
    }
}
