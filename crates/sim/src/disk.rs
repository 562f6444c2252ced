//! A disk in memory with injected faults: failing reads and syncs, no room to grow.
//!
//! ```text
//! engine ─▶ FaultDisk: fails the planned calls ─▶ MemDisk: volatile and durable bytes, power cuts
//! ```
//!
//! Invariants
//! - A call that fails by plan fails with the error that the file system would give, and is
//!   counted.
//! - A file whose durable write failed keeps what it had in memory, unsynced, and promises nothing
//!   more (`io`: poisoned).

use std::path::Path;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_io::{Disk, DiskFile, Durability, Error, FileOp, Fill, MemDisk};

/// Planned failures, and those that happened.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// Reads that still work before one fails.
    reads: Option<u64>,
    /// Syncs and durable writes that still work before one fails.
    syncs: Option<u64>,
    /// Syncs of data files that still work before one fails.
    data_syncs: Option<u64>,
    /// Bytes that files may still grow by, all together.
    room: Option<u64>,
    /// Calls that failed by plan.
    fired: u64,
    /// A durable write of the log was among them.
    has_lost_log: bool,
    /// The last durable writes of the log, the newest first: which bytes of its file.
    log_writes: [(u64, u64); LOG_WRITES],
}

/// Writes of the log that are remembered: the one in flight, the last that was acknowledged, and
/// the header of a VLF that may have come between them.
const LOG_WRITES: usize = 3;

/// A disk with injected faults. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FaultDisk {
    memory: MemDisk,
    plan: Arc<Mutex<Plan>>,
}

impl FaultDisk {
    /// A disk over these bytes, without faults.
    pub fn over(memory: MemDisk) -> FaultDisk {
        FaultDisk { memory, plan: Arc::default() }
    }

    /// The disk below.
    pub fn memory(&self) -> &MemDisk {
        &self.memory
    }

    /// Lets the read after `calls` reads fail.
    pub fn fail_read_after(&self, reads: u64) {
        lock(&self.plan).reads = Some(reads);
    }

    /// Lets the sync or durable write after `calls` of them fail.
    pub fn fail_sync_after(&self, syncs: u64) {
        lock(&self.plan).syncs = Some(syncs);
    }

    /// Lets the sync of a data file (by a checkpoint) after `calls` of them fail.
    pub fn fail_data_sync_after(&self, syncs: u64) {
        lock(&self.plan).data_syncs = Some(syncs);
    }

    /// Lets files grow by `bytes` bytes; then the disk is full.
    pub fn limit_growth(&self, bytes: u64) {
        lock(&self.plan).room = Some(bytes);
    }

    /// The number of calls that failed by plan.
    pub fn fired(&self) -> u64 {
        lock(&self.plan).fired
    }

    /// True after a failed durable write of a log: nothing may be acknowledged any more.
    pub fn has_lost_log(&self) -> bool {
        lock(&self.plan).has_lost_log
    }

    /// The last durable writes of the log, the newest first: first byte and the one after the last.
    pub fn log_writes(&self) -> Vec<std::ops::Range<u64>> {
        lock(&self.plan).log_writes.iter().map(|(from, to)| *from..*to).collect()
    }

    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(FaultFile {
            file,
            plan: self.plan.clone(),
            is_poisoned: AtomicBool::new(false),
        })
    }
}

impl Plan {
    fn read_fails(&mut self) -> bool {
        let fails = count_down(&mut self.reads);
        self.fired += u64::from(fails);
        fails
    }

    fn sync_fails(&mut self) -> bool {
        let fails = count_down(&mut self.syncs);
        self.fired += u64::from(fails);
        fails
    }

    fn data_sync_fails(&mut self) -> bool {
        let fails = count_down(&mut self.data_syncs);
        self.fired += u64::from(fails);
        fails
    }

    fn note_log_write(&mut self, offset: u64, bytes: u64) {
        self.log_writes.rotate_right(1);
        self.log_writes[0] = (offset, offset + bytes);
    }

    fn growth_fails(&mut self, bytes: u64) -> bool {
        let Some(room) = &mut self.room else { return false };
        let fails = bytes > *room;
        if fails {
            self.fired += 1
        } else {
            *room -= bytes
        }
        fails
    }
}

/// True once, when nothing is left; afterwards nothing is planned any more.
fn count_down(left: &mut Option<u64>) -> bool {
    match left {
        Some(0) => {
            *left = None;
            true
        }
        Some(calls) => {
            *calls -= 1;
            false
        }
        None => false,
    }
}

impl Disk for FaultDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.memory.create(path).map(|file| self.file(file))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.memory.open(path).map(|file| self.file(file))
    }

    fn exists(&self, path: &Path) -> bool {
        self.memory.exists(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.memory.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.memory.rename(from, to)
    }
}

#[derive(Debug)]
struct FaultFile {
    file: Arc<dyn DiskFile>,
    plan: Arc<Mutex<Plan>>,
    is_poisoned: AtomicBool,
}

impl FaultFile {
    fn transfer(&self, op: FileOp, offset: u64, bytes: usize, kind: std::io::ErrorKind) -> Error {
        Error::Transfer {
            op,
            path: self.path().to_path_buf(),
            offset,
            bytes,
            source: kind.into(),
        }
    }

    fn verify_promises(&self) -> Result<(), Error> {
        if self.is_poisoned.load(Ordering::Acquire) {
            Err(Error::Poisoned { path: self.path().to_path_buf() })
        } else {
            Ok(())
        }
    }

    fn is_log(&self) -> bool {
        self.path().extension().is_some_and(|extension| extension == "ldf")
    }

    fn grow(&self, op: FileOp, end: u64) -> Result<(), Error> {
        let bytes = end.saturating_sub(self.len());
        if bytes > 0 && lock(&self.plan).growth_fails(bytes) {
            Err(self.transfer(op, end, bytes as usize, std::io::ErrorKind::StorageFull))
        } else {
            Ok(())
        }
    }
}

impl DiskFile for FaultFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        if lock(&self.plan).read_fails() {
            return Err(self.transfer(FileOp::Read, offset, buf.len(), std::io::ErrorKind::Other));
        }
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.grow(FileOp::Write, offset + bytes as u64)?;
        if durability == Durability::Deferred {
            return self.file.write_at(offset, parts, durability);
        }
        self.verify_promises()?;
        if self.is_log() {
            lock(&self.plan).note_log_write(offset, bytes as u64);
        }
        if lock(&self.plan).sync_fails() {
            self.is_poisoned.store(true, Ordering::Release);
            lock(&self.plan).has_lost_log |= self.is_log();
            // The bytes are in flight; whether they become durable is open.
            self.file.write_at(offset, parts, Durability::Deferred)?;
            return Err(self.transfer(FileOp::Write, offset, bytes, std::io::ErrorKind::Other));
        }
        self.file.write_at(offset, parts, durability)
    }

    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        let grows = |(offset, bytes): &(u64, &[u8])| offset + bytes.len() as u64 > self.len();
        if writes.iter().any(grows) {
            let mut writes = writes.iter();
            return writes.try_for_each(|(offset, bytes)| {
                self.write_at(*offset, &[bytes], Durability::Deferred)
            });
        }
        self.file.write_many(writes)
    }

    fn sync(&self) -> Result<(), Error> {
        self.verify_promises()?;
        let is_data = !self.is_log();
        if lock(&self.plan).sync_fails() || is_data && lock(&self.plan).data_sync_fails() {
            self.is_poisoned.store(true, Ordering::Release);
            let source = std::io::ErrorKind::Other.into();
            return Err(Error::File { op: FileOp::Sync, path: self.path().to_path_buf(), source });
        }
        self.file.sync()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        self.grow(FileOp::Resize, bytes)?;
        self.file.extend(bytes, fill)
    }
}
