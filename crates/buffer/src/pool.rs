//! The pool: pages of the files of one database, in the frames of a memory.
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
//!
//! ```text
//! Pool      ──▶ PoolCore     files, log, double-write area, outage, counters: what writing needs
//! BufferMemory ──weak──▲     so that threads of other databases can write its pages
//! ```

use std::collections::BTreeMap;
use std::fmt;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use extentdb_base::sync::{Arc, RwLock, lock, read, write};
use extentdb_base::{FileId, Lsn, Outage, PageId};
use extentdb_io::DiskFile;
use extentdb_telemetry::{Event, EventSink, NoEvents, Waits};

use crate::buffer_memory::{BufferMemory, InUse};
use crate::double_write::DoubleWrite;
use crate::file::PoolFile;
use crate::frame::{Frame, Shared, earlier};
use crate::guard::{Fixed, PageReadGuard, PageWriteGuard};
use crate::latch::{LatchMode, WaitAccounts};
use crate::page_key::{DatabaseNumber, PageKey};
use crate::stats::{Counters, total};
use crate::suspect::Suspects;
use crate::write_ahead::{Durability, WriteAhead};
use crate::{Error, PageFault, PoolStats, SuspectPage};

/// How a pool is made.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Frames of 8 KiB, at least 4. The number never changes. In a memory that exists: ignored.
    pub frames: usize,
    /// Where waits for latches are counted. In a memory that exists: ignored, it has its own.
    pub waits: Arc<Waits>,
    /// Observer of retries, long I/O and the end of durability.
    pub events: Arc<dyn EventSink>,
    /// Shared with the log: what takes one of them offline takes the other offline, too.
    pub outage: Outage,
    /// The double-write area: copies of pages before they are overwritten, so that torn pages can
    /// be repaired. None: a page torn by a crash is lost (824). An ephemeral database uses none.
    pub double_write: Option<Arc<DoubleWrite>>,
    /// Whether the pages outlive a restart.
    pub durability: Durability,
}

/// Pages of the files of a database in memory. All methods may be called from all threads; see the
/// crate for the rules of latching.
///
/// When it is dropped its pages are removed from memory without being written; that waits for
/// threads of other databases which are writing one of them to free its frame. Guards may outlive
/// it: they keep their frames.
pub struct Pool {
    pub(crate) core: Arc<PoolCore>,
}

/// What writing the pages of a database needs, by its own threads and by those of other databases.
pub(crate) struct PoolCore {
    pub(crate) memory: Arc<BufferMemory>,
    pub(crate) number: DatabaseNumber,
    files: RwLock<BTreeMap<FileId, Arc<PoolFile>>>,
    pub(crate) log: Arc<dyn WriteAhead>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Counters,
    /// The double-write area.
    pub(crate) double_write: Option<Arc<DoubleWrite>>,
    /// Was the last page written without a copy, because the disk was full?
    pub(crate) is_unprotected: AtomicBool,
    /// Threads that copy or write pages.
    pub(crate) writers: AtomicUsize,
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
            durability: Durability::Logged,
        }
    }
}

impl Pool {
    /// An empty pool without files, in a memory of its own.
    ///
    /// # Panics
    /// When the memory cannot be allocated.
    pub fn new(options: PoolOptions, log: Arc<dyn WriteAhead>, clock: Arc<dyn Clock>) -> Pool {
        let waits = Arc::clone(&options.waits);
        let memory = BufferMemory::new(options.frames, waits, Arc::clone(&clock));
        Pool::in_memory(&memory, options, log, clock)
    }

    /// An empty pool without files, in a memory that it shares with others.
    ///
    /// # Panics
    /// When 32,767 pools share it already.
    pub fn in_memory(
        memory: &Arc<BufferMemory>,
        options: PoolOptions,
        log: Arc<dyn WriteAhead>,
        clock: Arc<dyn Clock>,
    ) -> Pool {
        let events = Arc::clone(&options.events);
        options.outage.observe(move |cause| {
            events.event(&Event::Offline { file: cause.file, cause: cause.to_string() });
        });
        let shared = Arc::new(Shared {
            accounts: WaitAccounts { waits: options.waits, clock },
            events: options.events,
            outage: options.outage,
            durability: options.durability,
            dirty_count: AtomicU64::new(0),
            suspects: Suspects::default(),
        });
        let is_logged = options.durability == Durability::Logged;
        let number = memory.registry.reserve();
        let core = Arc::new(PoolCore {
            memory: Arc::clone(memory),
            number,
            files: RwLock::default(),
            log,
            shared,
            counters: Counters::default(),
            double_write: options.double_write.filter(|_| is_logged),
            is_unprotected: AtomicBool::new(false),
            writers: AtomicUsize::new(0),
        });
        let weak = Arc::downgrade(&core);
        memory.registry.open(number, weak);
        Pool { core }
    }

    /// The memory, for further pools.
    pub fn memory(&self) -> &Arc<BufferMemory> {
        &self.core.memory
    }

    /// Serves pages of this file from now on.
    ///
    /// # Panics
    /// When the pool has another file of this number.
    pub fn add_file(&self, id: FileId, file: Arc<dyn DiskFile>) {
        let before = write(&self.core.files).insert(id, Arc::new(PoolFile::new(id, file)));
        assert!(before.is_none(), "two files with number {id}");
    }

    /// Serves no page of this file any more. The caller sees to it that none is in use or dirty,
    /// and that no file gets the number again while the pool lives: its clean pages are evicted
    /// later.
    pub fn remove_file(&self, id: FileId) {
        write(&self.core.files).remove(&id);
    }

    /// The file of this number.
    pub fn file(&self, id: FileId) -> Option<Arc<dyn DiskFile>> {
        read(&self.core.files).get(&id).map(|file| Arc::clone(&file.disk))
    }

    /// The page, to be read: latched SH; read from its file and verified when it is not in memory.
    pub fn read(&self, page: PageId) -> Result<PageReadGuard, Error> {
        Ok(PageReadGuard::new(self.fixed(page, LatchMode::Sh)?, page))
    }

    /// The page, to be changed: latched EX; read from its file and verified when it is not in
    /// memory.
    pub fn write(&self, page: PageId) -> Result<PageWriteGuard, Error> {
        self.core.refuse_offline()?;
        Ok(PageWriteGuard::new(self.fixed(page, LatchMode::Ex)?, page))
    }

    /// As [`write`](Self::write), but `None` when another thread has the page latched. It may still
    /// wait for a read.
    pub fn try_write(&self, page: PageId) -> Result<Option<PageWriteGuard>, Error> {
        self.core.refuse_offline()?;
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
        self.core.refuse_offline()?;
        self.core.refuse_beyond_end(page)?;
        let fixed = match self.fix(page)? {
            Lookup::Fresh(fixed) => fixed,
            Lookup::Cached(frame) => Fixed::acquire(frame, LatchMode::Ex),
        };
        fixed.frame().set_present(Lsn::ZERO);
        Ok(PageWriteGuard::unformatted(fixed, page))
    }

    /// Pages with changes that are not written to their file yet.
    pub fn dirty_count(&self) -> u64 {
        total(&self.core.shared.dirty_count)
    }

    /// The first logged change whose page image is not durable in its file. Every record that was
    /// appended to the log before the call counts, also when its page is still being changed: such
    /// pages are waited for, so the caller holds no guard. None for an ephemeral database.
    ///
    /// Redo that starts here, or at the end of the log as it was before the call, misses nothing.
    ///
    /// Scans all frames of the memory.
    pub fn oldest_dirty(&self) -> Option<Lsn> {
        if self.core.shared.durability == Durability::Ephemeral {
            return None;
        }
        let mut oldest = Lsn::ZERO;
        for frame in &self.core.memory.frames {
            let key = frame.key();
            if key.database() != self.core.number {
                continue;
            }
            // Who changes a page logs the change before announcing it. Let him finish, and the
            // announcement is there. The page is fixed for that: the frame could be another
            // database's by now, whose changes take as long as they like.
            if frame.latch.is_exclusive()
                && frame.is_present()
                && let Some(frame) = self.core.cached(key.page())
            {
                frame.acquire(LatchMode::Sh);
                frame.release(LatchMode::Sh);
            }
            oldest = earlier(oldest, frame.oldest_change(&self.core.shared));
        }
        // Frames first, files second: changes move in this direction only.
        let files = self.core.all_files();
        let oldest =
            files.iter().fold(oldest, |oldest, file| earlier(oldest, file.oldest_unsynced()));
        (!oldest.is_zero()).then_some(oldest)
    }

    /// Forgets every page and every change, as a crash does. For tests.
    ///
    /// Scans all frames of the memory.
    ///
    /// # Panics
    /// When a page is in use.
    pub fn discard_all(&self) {
        let PoolCore { memory, number, .. } = &*self.core;
        memory.registry.close(*number);
        memory.remove_pages(*number, InUse::Refuse);
        self.core.all_files().iter().for_each(|file| file.forget_writes());
        let weak = Arc::downgrade(&self.core);
        memory.registry.open(*number, weak);
    }

    /// Whether pages are changed and written, and why not.
    pub fn outage(&self) -> &Outage {
        &self.core.shared.outage
    }

    /// Pages that could not be read, by number.
    pub fn suspect_pages(&self) -> Vec<SuspectPage> {
        self.core.shared.suspects.all()
    }

    /// What the pool holds and did, and the memory that it is in.
    pub fn stats(&self) -> PoolStats {
        let memory = self.core.memory.stats();
        let counters = &self.core.counters;
        PoolStats {
            frames: memory.frames,
            cached_pages: self.core.memory.table.pages_of(self.core.number),
            free_frames: memory.free_frames,
            dirty_pages: self.dirty_count(),
            lookups: memory.lookups,
            page_reads: total(&counters.page_reads),
            read_ahead_pages: total(&counters.read_ahead_pages),
            read_retries: total(&counters.read_retries),
            page_writes: total(&counters.page_writes),
            write_calls: total(&counters.write_calls),
            checkpoint_pages: total(&counters.checkpoint_pages),
            lazy_writes: total(&counters.lazy_writes),
            syncs: total(&counters.syncs),
            evictions: memory.evictions,
            free_list_stalls: memory.free_list_stalls,
            page_life_expectancy: memory.page_life_expectancy,
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
        self.core.pool_file(page.file)?;
        let index = self.core.memory.take_frame(&self.core)?;
        Ok(self.enter(page, index))
    }

    /// The page's frame if it is in the table, fixed.
    pub(crate) fn lookup(&self, page: PageId) -> Option<Arc<Frame>> {
        let memory = &*self.core.memory;
        let key = self.core.key(page);
        let mut shard = memory.table.shard(key);
        shard.lookups += 1;
        let frame = Arc::clone(&memory.frames[shard.frame(key)?]);
        frame.touch();
        Some(frame)
    }

    /// Enters an empty frame into the table for `page`, unless another thread was faster.
    pub(crate) fn enter(&self, page: PageId, index: usize) -> Lookup {
        let memory = &*self.core.memory;
        let key = self.core.key(page);
        let fixed = Fixed::acquire(Arc::clone(&memory.frames[index]), LatchMode::Ex);
        fixed.frame().assign(key, &self.core.shared);
        let mut shard = memory.table.shard(key);
        if let Some(faster) = shard.frame(key) {
            let frame = Arc::clone(&memory.frames[faster]);
            drop(shard);
            fixed.frame().vacate();
            drop(fixed);
            lock(&memory.free).push(index);
            return Lookup::Cached(frame);
        }
        shard.insert(key, index);
        drop(shard);
        fixed.frame().touch();
        Lookup::Fresh(fixed)
    }
}

impl PoolCore {
    /// The page among those of all databases of the memory.
    #[inline]
    pub(crate) fn key(&self, page: PageId) -> PageKey {
        PageKey::new(self.number, page)
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

impl Drop for Pool {
    fn drop(&mut self) {
        let PoolCore { memory, number, .. } = &*self.core;
        memory.registry.close(*number);
        memory.remove_pages(*number, InUse::Orphan);
        memory.frames.iter().for_each(|frame| frame.forget_owner(&self.core.shared));
        memory.registry.release(*number);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.core.memory.frames.len();
        write!(f, "Pool({frames} frames, {} dirty)", self.dirty_count())
    }
}
