//! What the tests of the pool share: a log that remembers, a file that watches and misbehaves on
//! demand, pages with a counter.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use extentdb_base::env::{Rng, SystemClock};
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_buffer::{Pool, PoolOptions, WriteAhead, WriteAheadError};
use extentdb_format::page::{PageBytes, PageHeader, checksum};
use extentdb_io::{Disk, DiskFile, Durability, Error, FileOp, Fill, MemDisk};
use extentdb_telemetry::Recorder;

pub const FILE: FileId = FileId(1);
pub const PATH: &str = "data.mdf";

/// Where the counter of a test page lies.
const COUNTER: std::ops::Range<usize> = 4000..4008;

pub fn page(number: u32) -> PageId {
    PageId { file: FILE, page: number }
}

/// The n-th record of the test's log.
pub fn lsn(number: u64) -> Lsn {
    Lsn::new(1, number as u32, 1)
}

pub fn counter(bytes: &PageBytes) -> u64 {
    u64::from_le_bytes(bytes[COUNTER].try_into().unwrap())
}

/// Makes the bytes those of `page` with this counter, as changed by the record at `lsn`.
pub fn put(bytes: &mut PageBytes, page: PageId, value: u64, lsn: Lsn) {
    let header = PageHeader::of_mut(bytes);
    header.header_version = 1;
    header.page_type = 1;
    header.page_id_bytes = page.to_bytes();
    header.lsn_bytes = lsn.to_bytes();
    bytes[COUNTER].copy_from_slice(&value.to_le_bytes());
    // Both ends, so that a torn page is seen.
    bytes[8184..].copy_from_slice(&value.to_le_bytes());
}

/// A sealed page as it lies on disk.
pub fn sealed(page: PageId, value: u64) -> PageBytes {
    let mut bytes = [0; PAGE_BYTES];
    put(&mut bytes, page, value, Lsn::ZERO);
    checksum::seal(&mut bytes);
    bytes
}

/// The image of a file whose pages all have counter 0.
pub fn fresh_image(pages: u32) -> Vec<u8> {
    (0..pages).flat_map(|number| sealed(page(number), 0)).collect()
}

/// A log of counters: records are only numbers. Remembers what is durable.
#[derive(Default)]
pub struct TestLog {
    pub records: Mutex<Vec<(PageId, u64)>>,
    durable: AtomicU64,
    pub flushes: AtomicU64,
    pub broken: std::sync::atomic::AtomicBool,
}

impl TestLog {
    /// Adds a record that sets the counter of `page`.
    pub fn append(&self, page: PageId, value: u64) -> Lsn {
        let mut records = self.records.lock().unwrap();
        records.push((page, value));
        lsn(records.len() as u64)
    }

    pub fn last(&self) -> Lsn {
        lsn(self.records.lock().unwrap().len() as u64)
    }

    pub fn durable(&self) -> Lsn {
        match self.durable.load(Ordering::SeqCst) {
            0 => Lsn::ZERO,
            number => lsn(number),
        }
    }

    /// Records of `page` after `after`, up to `end`, in order.
    pub fn missing(&self, wanted: PageId, after: Lsn, end: Lsn) -> Vec<(Lsn, u64)> {
        let records = self.records.lock().unwrap();
        let numbered = (1..).map(lsn).zip(records.iter());
        let of_page =
            numbered.filter(|(at, (page, _))| *page == wanted && *at > after && *at <= end);
        of_page.map(|(at, (_, value))| (at, *value)).collect()
    }
}

impl WriteAhead for TestLog {
    fn flush_to(&self, lsn: Lsn) -> Result<(), WriteAheadError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(WriteAheadError::new("the log is broken"));
        }
        assert!(lsn <= self.last(), "flush up to {lsn}, which was never appended");
        if u64::from(lsn.block) > self.durable.fetch_max(u64::from(lsn.block), Ordering::SeqCst) {
            self.flushes.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

type Hook = Box<dyn FnMut() + Send>;

/// A file that sees to it that no page overtakes its log, and that fails or calls back when a test
/// says so.
pub struct WatchedFile {
    pub inner: Arc<dyn DiskFile>,
    log: Arc<TestLog>,
    /// First page and number of pages of each write.
    pub writes: Mutex<Vec<(u32, usize)>>,
    pub reads: Mutex<Vec<(u32, usize)>>,
    pub syncs: AtomicU64,
    pub fail_reads: AtomicU64,
    pub garble_reads: AtomicU64,
    pub fail_writes: AtomicU64,
    pub fail_syncs: AtomicU64,
    /// Called while a write is under way, before it reaches the disk; then forgotten.
    pub on_write: Mutex<Option<Hook>>,
    pub on_read: Mutex<Option<Hook>>,
}

impl std::fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatchedFile")
    }
}

/// Takes one from a counter of planned mishaps.
fn due(counter: &AtomicU64) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl WatchedFile {
    fn refuse(&self, op: FileOp, offset: u64, bytes: usize) -> Error {
        let source = std::io::Error::other("as the test wished");
        Error::Transfer { op, path: self.path().to_path_buf(), offset, bytes, source }
    }

    fn call(hook: &Mutex<Option<Hook>>) {
        let taken = hook.lock().unwrap().take();
        if let Some(mut hook) = taken {
            hook();
        }
    }
}

impl DiskFile for WatchedFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        self.reads.lock().unwrap().push(((offset / 8192) as u32, buf.len() / 8192));
        Self::call(&self.on_read);
        if due(&self.fail_reads) {
            return Err(self.refuse(FileOp::Read, offset, buf.len()));
        }
        let read = self.inner.read_at(offset, buf)?;
        if due(&self.garble_reads) {
            buf[5000] ^= 0x10;
        }
        Ok(read)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        let bytes = parts.concat();
        let (pages, rest) = bytes.as_chunks::<PAGE_BYTES>();
        assert!(
            rest.is_empty() && offset.is_multiple_of(PAGE_BYTES as u64),
            "pages are written whole"
        );
        let first = (offset / PAGE_BYTES as u64) as u32;
        for (number, bytes) in (first..).zip(pages) {
            let header = PageHeader::of(bytes);
            assert!(header.lsn() <= self.log.durable(), "page {number} overtook its log");
            assert!(checksum::verify(bytes).is_intact());
            if !bytes.iter().all(|byte| *byte == 0) {
                assert_eq!(header.page_id(), page(number), "a misdirected write");
                assert_eq!(
                    counter(bytes).to_le_bytes(),
                    bytes[8184..],
                    "half a change was written"
                );
            }
        }
        self.writes.lock().unwrap().push((first, pages.len()));
        Self::call(&self.on_write);
        if due(&self.fail_writes) {
            return Err(self.refuse(FileOp::Write, offset, bytes.len()));
        }
        self.inner.write_at(offset, parts, durability)
    }

    fn sync(&self) -> Result<(), Error> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if due(&self.fail_syncs) {
            return Err(self.refuse(FileOp::Sync, 0, 0));
        }
        self.inner.sync()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        self.inner.extend(bytes, fill)
    }
}

/// Nothing that is not durable survives.
pub struct Nothing;

impl Rng for Nothing {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// A pool over one watched file in memory.
pub struct Bench {
    pub disk: MemDisk,
    pub file: Arc<WatchedFile>,
    pub log: Arc<TestLog>,
    pub events: Arc<Recorder>,
    pub options: PoolOptions,
    pub pool: Arc<Pool>,
}

impl Bench {
    /// A file of `pages` pages with counter 0.
    pub fn new(frames: usize, pages: u32) -> Bench {
        Bench::over(frames, fresh_image(pages), Arc::default())
    }

    pub fn over(frames: usize, image: Vec<u8>, log: Arc<TestLog>) -> Bench {
        let disk = MemDisk::new();
        disk.put(Path::new(PATH), image);
        let file = Arc::new(WatchedFile {
            inner: disk.open(Path::new(PATH)).unwrap(),
            log: Arc::clone(&log),
            writes: Mutex::default(),
            reads: Mutex::default(),
            syncs: AtomicU64::new(0),
            fail_reads: AtomicU64::new(0),
            garble_reads: AtomicU64::new(0),
            fail_writes: AtomicU64::new(0),
            fail_syncs: AtomicU64::new(0),
            on_write: Mutex::default(),
            on_read: Mutex::default(),
        });
        let events = Arc::new(Recorder::default());
        let options = PoolOptions { events: Arc::clone(&events) as _, ..PoolOptions::new(frames) };
        let pool = Arc::new(Pool::new(
            options.clone(),
            Arc::clone(&log) as _,
            Arc::new(SystemClock::new()),
        ));
        pool.add_file(FILE, Arc::clone(&file) as _);
        Bench { disk, file, log, events, options, pool }
    }

    /// Sets the counter of a page, logged.
    pub fn change(&self, number: u32, value: u64) -> Lsn {
        change(&self.pool, &self.log, number, value)
    }

    /// The image that a power cut would leave when nothing survives that is not durable.
    pub fn durable_image(&self) -> Vec<u8> {
        self.disk.crash(&mut Nothing).contents(Path::new(PATH)).unwrap()
    }

    /// The counter of a page as it is certain to survive.
    pub fn durable_counter(&self, number: u32) -> u64 {
        counter(page_of(&self.durable_image(), number))
    }
}

pub fn change(pool: &Pool, log: &TestLog, number: u32, value: u64) -> Lsn {
    let mut guard = pool.write(page(number)).unwrap();
    let lsn = log.append(page(number), value);
    put(guard.bytes_mut(), page(number), value, lsn);
    guard.set_dirty(lsn);
    lsn
}

pub fn page_of(image: &[u8], number: u32) -> &PageBytes {
    &image.as_chunks::<PAGE_BYTES>().0[number as usize]
}
