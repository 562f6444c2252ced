//! The pool: pages of files in a fixed number of frames.
//!
//! ```text
//! read, write ──▶ page table ── hit ──▶ fix, latch ──▶ guard
//!                     │ miss
//!                     ▼
//!                 free list, else clock ──▶ frame, EX, in the table ──▶ load: read, verify ──▶ guard
//! ```
//!
//! A hit takes one shard mutex, one `Arc` clone and one compare-and-swap; nothing that all pages
//! share.

use std::collections::BTreeMap;
use std::fmt;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use extentdb_base::sync::{Arc, Mutex, RwLock, lock, read, write};
use extentdb_base::{FileId, Lsn, Outage, PageId};
use extentdb_io::{AlignedBuf, DiskFile};
use extentdb_telemetry::{Event, EventSink, NoEvents, Waits};

use crate::double_write::DoubleWrite;
use crate::file::PoolFile;
use crate::frame::{Frame, Shared, earlier};
use crate::guard::{Fixed, PageReadGuard, PageWriteGuard};
use crate::latch::{LatchMode, WaitAccounts};
use crate::page_table::PageTable;
use crate::stats::{Counters, total};
use crate::suspect::Suspects;
use crate::under_way::UnderWay;
use crate::{Error, PageFault, PoolStats, SuspectPage, WriteAhead};

/// How a pool is made.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Frames of 8 KiB, at least 4. The number never changes.
    pub frames: usize,
    /// Where waits are counted.
    pub waits: Arc<Waits>,
    /// Observer of retries, long I/O and the end of durability.
    pub events: Arc<dyn EventSink>,
    /// Shared with the log: what takes one of them offline takes the other offline, too.
    pub outage: Outage,
    /// The double-write area: copies of pages before they are overwritten, so that torn pages can
    /// be repaired. None: a page torn by a crash is lost (824).
    pub double_write: Option<Arc<DoubleWrite>>,
}

/// Pages of files in memory. All methods may be called from all threads; see the crate for the
/// rules of latching.
pub struct Pool {
    pub(crate) frames: Box<[Arc<Frame>]>,
    pub(crate) table: PageTable,
    /// Frames that hold nothing.
    pub(crate) free: Mutex<Vec<usize>>,
    /// Where the clock looks next, modulo the number of frames.
    pub(crate) hand: AtomicUsize,
    files: RwLock<BTreeMap<FileId, Arc<PoolFile>>>,
    pub(crate) log: Arc<dyn WriteAhead>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Counters,
    /// The double-write area.
    pub(crate) double_write: Option<Arc<DoubleWrite>>,
    /// Was the last page written without a copy, because the disk was full?
    pub(crate) is_unprotected: AtomicBool,
    /// Serializes gathering cold pages to free frames.
    pub(crate) gathering: Mutex<()>,
    /// Groups of pages being written.
    pub(crate) writing: UnderWay,
    /// Buffers of gathered writes and reads, kept for the next one.
    pub(crate) buffers: Mutex<Vec<AlignedBuf>>,
}

/// A page's frame, fixed.
pub(crate) enum Lookup {
    /// In the table; its latch may be held.
    Cached(Arc<Frame>),
    /// Just entered, latched EX, not read yet.
    Fresh(Fixed),
}

impl PoolOptions {
    /// A pool of `frames` frames with wait counters of its own and without an observer.
    pub fn new(frames: usize) -> Self {
        PoolOptions {
            frames,
            waits: Arc::new(Waits::new()),
            events: Arc::new(NoEvents),
            outage: Outage::default(),
            double_write: None,
        }
    }
}

impl Pool {
    /// An empty pool without files.
    ///
    /// # Panics
    /// When the memory cannot be allocated.
    pub fn new(options: PoolOptions, log: Arc<dyn WriteAhead>, clock: Arc<dyn Clock>) -> Pool {
        let events = Arc::clone(&options.events);
        options.outage.observe(move |cause| {
            events.event(&Event::Offline { file: cause.file, cause: cause.to_string() });
        });
        let counters = Counters::default();
        counters.start(clock.monotonic());
        let shared = Arc::new(Shared {
            accounts: WaitAccounts { waits: options.waits, clock },
            events: options.events,
            outage: options.outage,
            dirty_count: AtomicU64::new(0),
            suspects: Suspects::default(),
        });
        let frames = Frame::allocate(options.frames.max(4), &shared);
        Pool {
            free: Mutex::new((0..frames.len()).rev().collect()),
            frames,
            table: PageTable::new(),
            hand: AtomicUsize::new(0),
            files: RwLock::default(),
            log,
            shared,
            counters,
            double_write: options.double_write,
            is_unprotected: AtomicBool::new(false),
            gathering: Mutex::default(),
            writing: UnderWay::default(),
            buffers: Mutex::default(),
        }
    }

    /// Serves pages of this file from now on.
    ///
    /// # Panics
    /// When the pool has another file of this number.
    pub fn add_file(&self, id: FileId, file: Arc<dyn DiskFile>) {
        let before = write(&self.files).insert(id, Arc::new(PoolFile::new(id, file)));
        assert!(before.is_none(), "two files with number {id}");
    }

    /// The file of this number.
    pub fn file(&self, id: FileId) -> Option<Arc<dyn DiskFile>> {
        read(&self.files).get(&id).map(|file| Arc::clone(&file.disk))
    }

    /// The page, to be read: latched SH; read from its file and verified when it is not in memory.
    pub fn read(&self, page: PageId) -> Result<PageReadGuard, Error> {
        Ok(PageReadGuard::new(self.fixed(page, LatchMode::Sh)?, page))
    }

    /// The page, to be changed: latched EX; read from its file and verified when it is not in
    /// memory.
    pub fn write(&self, page: PageId) -> Result<PageWriteGuard, Error> {
        self.refuse_offline()?;
        Ok(PageWriteGuard::new(self.fixed(page, LatchMode::Ex)?, page))
    }

    /// As [`write`](Self::write), but `None` when another thread has the page latched. It may still
    /// wait for a read.
    pub fn try_write(&self, page: PageId) -> Result<Option<PageWriteGuard>, Error> {
        self.refuse_offline()?;
        let fixed = match self.fix(page)? {
            Lookup::Fresh(fixed) => self.load(fixed, page)?,
            Lookup::Cached(frame) => match Fixed::try_acquire(frame, LatchMode::Ex) {
                Some(fixed) if fixed.frame().is_present() => fixed,
                Some(fixed) => self.load(fixed, page)?,
                None => return Ok(None),
            },
        };
        Ok(Some(PageWriteGuard::new(fixed, page)))
    }

    /// The page, latched EX and zeroed, to be formatted. Nothing is read. When the guard is dropped
    /// without `set_dirty`, the page is unchanged, unless it had unwritten changes: those are lost.
    pub fn create(&self, page: PageId) -> Result<PageWriteGuard, Error> {
        self.refuse_offline()?;
        self.refuse_beyond_end(page)?;
        let fixed = match self.fix(page)? {
            Lookup::Fresh(fixed) => fixed,
            Lookup::Cached(frame) => Fixed::acquire(frame, LatchMode::Ex),
        };
        fixed.frame().set_present(Lsn::ZERO);
        Ok(PageWriteGuard::unformatted(fixed, page))
    }

    /// Pages with changes that are not written to their file yet.
    pub fn dirty_count(&self) -> u64 {
        total(&self.shared.dirty_count)
    }

    /// The first logged change whose page image is not durable in its file. Every record that was
    /// appended to the log before the call counts, also when its page is still being changed: such
    /// pages are waited for, so the caller holds no guard.
    ///
    /// Redo that starts here, or at the end of the log as it was before the call, misses nothing.
    pub fn oldest_dirty(&self) -> Option<Lsn> {
        let mut oldest = Lsn::ZERO;
        for frame in &self.frames {
            // Who changes a page logs the change before announcing it. Let him finish, and the
            // announcement is there.
            if frame.latch.is_exclusive() && frame.is_present() {
                frame.acquire(LatchMode::Sh);
                frame.release(LatchMode::Sh);
            }
            oldest = earlier(oldest, frame.oldest_change());
        }
        // Frames first, files second: changes move in this direction only.
        let files = self.all_files();
        let oldest =
            files.iter().fold(oldest, |oldest, file| earlier(oldest, file.oldest_unsynced()));
        (!oldest.is_zero()).then_some(oldest)
    }

    /// Forgets every page and every change, as a crash does. For tests.
    ///
    /// # Panics
    /// When a page is in use.
    pub fn discard_all(&self) {
        for (index, frame) in self.frames.iter().enumerate() {
            let page = frame.page();
            if page.is_none() {
                continue;
            }
            let mut shard = self.table.shard(page);
            assert!(!Frame::is_fixed(frame), "page {page} is in use");
            shard.remove(page);
            drop(shard);
            frame.forget_changes();
            frame.vacate();
            lock(&self.free).push(index);
        }
        self.all_files().iter().for_each(|file| file.forget_writes());
    }

    /// Whether pages are changed and written, and why not.
    pub fn outage(&self) -> &Outage {
        &self.shared.outage
    }

    /// Pages that could not be read, by number.
    pub fn suspect_pages(&self) -> Vec<SuspectPage> {
        self.shared.suspects.all()
    }

    /// What the pool holds and did.
    pub fn stats(&self) -> PoolStats {
        let (cached_pages, lookups) = self.table.totals();
        let counters = &self.counters;
        PoolStats {
            frames: self.frames.len() as u64,
            cached_pages: cached_pages as u64,
            free_frames: lock(&self.free).len() as u64,
            dirty_pages: self.dirty_count(),
            lookups,
            page_reads: total(&counters.page_reads),
            read_ahead_pages: total(&counters.read_ahead_pages),
            read_retries: total(&counters.read_retries),
            page_writes: total(&counters.page_writes),
            write_calls: total(&counters.write_calls),
            checkpoint_pages: total(&counters.checkpoint_pages),
            lazy_writes: total(&counters.lazy_writes),
            syncs: total(&counters.syncs),
            evictions: total(&counters.evictions),
            free_list_stalls: total(&counters.free_list_stalls),
            page_life_expectancy: counters
                .page_life_expectancy(self.shared.accounts.clock.monotonic()),
        }
    }

    /// The page's frame, fixed and latched in SH or EX, its bytes present.
    fn fixed(&self, page: PageId, mode: LatchMode) -> Result<Fixed, Error> {
        let loaded = match self.fix(page)? {
            Lookup::Fresh(fixed) => self.load(fixed, page)?,
            Lookup::Cached(frame) => {
                let fixed = Fixed::acquire(Arc::clone(&frame), mode);
                if fixed.frame().is_present() {
                    return Ok(fixed);
                }
                // Somebody's read failed, or a created page was never formatted. It is our turn to
                // read it.
                drop(fixed);
                let fixed = Fixed::acquire(frame, LatchMode::Ex);
                if fixed.frame().is_present() { fixed } else { self.load(fixed, page)? }
            }
        };
        Ok(if mode == LatchMode::Sh { loaded.downgrade() } else { loaded })
    }

    /// The page's frame, fixed.
    pub(crate) fn fix(&self, page: PageId) -> Result<Lookup, Error> {
        if let Some(frame) = self.lookup(page) {
            return Ok(Lookup::Cached(frame));
        }
        self.pool_file(page.file)?;
        let index = self.take_frame()?;
        Ok(self.enter(page, index))
    }

    /// The page's frame if it is in the table, fixed.
    pub(crate) fn lookup(&self, page: PageId) -> Option<Arc<Frame>> {
        let mut shard = self.table.shard(page);
        shard.lookups += 1;
        let frame = Arc::clone(&self.frames[shard.frame(page)?]);
        frame.touch();
        Some(frame)
    }

    /// Enters an empty frame into the table for `page`, unless another thread was faster.
    pub(crate) fn enter(&self, page: PageId, index: usize) -> Lookup {
        let fixed = Fixed::acquire(Arc::clone(&self.frames[index]), LatchMode::Ex);
        fixed.frame().assign(page);
        let mut shard = self.table.shard(page);
        if let Some(faster) = shard.frame(page) {
            let frame = Arc::clone(&self.frames[faster]);
            drop(shard);
            fixed.frame().vacate();
            drop(fixed);
            lock(&self.free).push(index);
            return Lookup::Cached(frame);
        }
        shard.insert(page, index);
        drop(shard);
        fixed.frame().touch();
        Lookup::Fresh(fixed)
    }

    pub(crate) fn pool_file(&self, id: FileId) -> Result<Arc<PoolFile>, Error> {
        read(&self.files).get(&id).cloned().ok_or(Error::NoFile { file: id })
    }

    /// The files as they are now, by number.
    pub(crate) fn all_files(&self) -> Vec<Arc<PoolFile>> {
        read(&self.files).values().cloned().collect()
    }

    pub(crate) fn refuse_offline(&self) -> Result<(), Error> {
        self.shared.outage.verify().map_err(Error::Offline)
    }

    pub(crate) fn refuse_beyond_end(&self, page: PageId) -> Result<Arc<PoolFile>, Error> {
        let file = self.pool_file(page.file)?;
        let file_pages = file.pages();
        if u64::from(page.page) < file_pages {
            return Ok(file);
        }
        Err(Error::BadPage { page, fault: PageFault::BeyondEnd { file_pages } })
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} frames, {} dirty)", self.frames.len(), self.dirty_count())
    }
}
