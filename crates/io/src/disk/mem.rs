//! A disk in memory: that of tests and of simulation.
//!
//! ```text
//! file live     what reads see
//!      durable  what is certain to survive
//!      unsynced per sector of 512 bytes: its contents since, oldest first, each with its write
//! ```
//!
//! [`MemDisk::crash`] makes the disk that a power failure would leave: of the writes that are not
//! durable, each survives, is lost or is torn, independently of the others. [`MemDisk::kill`] makes
//! the disk that the death of the process would leave: the writes of all calls that returned
//! remain, durable or not. [`MemDisk::fail_after`] ends all work in the middle of a call: that call
//! may have reached the disk or not, and every later one fails.
//!
//! [`MemDisk::set_capacity`] limits the room that all files take together, in blocks of 4,096
//! bytes. Holes take none until they are written.
//!
//! Invariants
//! - `durable` changes at syncs and durable writes only; a durable write makes nothing durable but
//!   its own bytes.
//! - A sector is never torn.
//! - The outcome of a crash follows from the history of the disk and the random numbers alone.

mod bytes;
mod death;
mod file;
mod room;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};

use self::bytes::Bytes;
use self::file::MemFile;
use self::room::DiskSpace;
use super::{Disk, DiskFile};
use crate::error::{Error, FileOp};

/// I/O calls left when no cut is planned.
const UNLIMITED: u64 = u64::MAX;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemDisk {
    files: Arc<Mutex<BTreeMap<PathBuf, Arc<Node>>>>,
    power: Arc<Power>,
    room: Arc<DiskSpace>,
}

/// I/O calls left before the power failure.
#[derive(Debug)]
struct Power(AtomicU64);

impl Default for Power {
    fn default() -> Self {
        Power(AtomicU64::new(UNLIMITED))
    }
}

/// Outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Supply {
    On,
    /// Power failure during this call.
    Going,
    Off,
}

impl Power {
    /// Is the end of all work at most this many calls away?
    fn ends_within(&self, calls: usize) -> bool {
        let left = self.0.load(Ordering::Acquire);
        left != UNLIMITED && left <= calls as u64
    }

    /// Is there a call left that works, or that is interrupted?
    fn draws(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    fn draw(&self) -> Supply {
        let step = |left| match left {
            UNLIMITED => Some(UNLIMITED),
            left => Some(left.saturating_sub(1)),
        };
        // One is added to the number of calls that still work: 1 means that this call is
        // interrupted, 0 that the power is lost.
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, step) {
            Ok(0) => Supply::Off,
            Ok(1) => Supply::Going,
            _ => Supply::On,
        }
    }
}

/// A file of the disk, open or not.
#[derive(Debug, Default)]
struct Node {
    bytes: Mutex<Bytes>,
    taken: AtomicBool,
}

impl MemDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// After `calls` more I/O calls the power fails, or the process dies: the next call fails, and
    /// every call after it fails with [`Error::PowerLost`]. What remains is decided by
    /// [`crash`](Self::crash), where all unsynced writes are uncertain, or by [`kill`](Self::kill),
    /// where only the call that failed is.
    pub fn fail_after(&self, calls: u64) {
        self.power.0.store(calls.saturating_add(1).min(UNLIMITED - 1), Ordering::Release);
    }

    /// Has the power failed?
    pub fn is_dark(&self) -> bool {
        self.power.0.load(Ordering::Acquire) == 0
    }

    /// The disk that a power failure at this moment would leave. This disk stays as it is.
    pub fn crash(&self, keep: &mut dyn Rng) -> MemDisk {
        self.crash_by(keep, &|_| SECTOR_BYTES)
    }

    /// The same on a device that writes `unit_of(path)` bytes of a file, aligned, as a whole or not
    /// at all. A multiple of a sector.
    pub fn crash_by(&self, keep: &mut dyn Rng, unit_of: &dyn Fn(&Path) -> usize) -> MemDisk {
        let files = lock(&self.files);
        let survivors = files.iter().map(|(path, node)| {
            let sectors = (unit_of(path) / SECTOR_BYTES).max(1) as u64;
            let bytes = lock(&node.bytes);
            let image = bytes.image(keep, sectors);
            let blocks = bytes.blocks.up_to(image.len());
            (path.clone(), Bytes::sparse(image, blocks))
        });
        self.with_files(survivors.collect())
    }

    /// The disk that the death of the process at this moment would leave. What calls that returned
    /// have written is there, and not more durable than it was. The call that met the end of
    /// [`fail_after`](Self::fail_after) is cut: a deferred write at a multiple of 4,096 bytes from
    /// its start, a durable one at a multiple of 512; of a batch each write by itself. This disk
    /// stays as it is.
    pub fn kill(&self, cut: &mut dyn Rng) -> MemDisk {
        let files = lock(&self.files);
        let survivors = files.iter().map(|(path, node)| {
            let mut bytes = lock(&node.bytes).clone();
            death::cut(&mut bytes, cut);
            (path.clone(), bytes)
        });
        self.with_files(survivors.collect())
    }

    /// Another disk with the same files, as reads see them and all of them durable.
    pub fn copy(&self) -> MemDisk {
        let files = lock(&self.files);
        let copies = files.iter().map(|(path, node)| {
            let bytes = lock(&node.bytes);
            let blocks = bytes.blocks.clone();
            (path.clone(), Bytes::sparse(bytes.live.clone(), blocks))
        });
        self.with_files(copies.collect())
    }

    /// A disk of the same capacity that never fails.
    fn with_files(&self, files: BTreeMap<PathBuf, Bytes>) -> MemDisk {
        let used = files.values().map(|bytes| bytes.blocks.count()).sum();
        let nodes = files.into_iter().map(|(path, bytes)| (path, Arc::new(Node::of(bytes))));
        MemDisk {
            files: Arc::new(Mutex::new(nodes.collect())),
            power: Arc::default(),
            room: Arc::new(self.room.with_used(used)),
        }
    }

    /// The files on the disk.
    pub fn paths(&self) -> Vec<PathBuf> {
        lock(&self.files).keys().cloned().collect()
    }

    /// From now on all files together have room for this many bytes, rounded down to blocks of
    /// 4,096; `None` for any number. What is there already stays, also when it is more.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.room.set_capacity(bytes);
    }

    /// The bytes that all files take, holes left out. A multiple of 4,096.
    pub fn used_bytes(&self) -> u64 {
        self.room.used_bytes()
    }

    /// The bytes of a file as reads see them; `None` when there is no such file.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        lock(&self.files).get(path).map(|node| lock(&node.bytes).live.clone())
    }

    /// Stores a file on the disk, durable; replaces an existing one.
    pub fn put(&self, path: &Path, contents: Vec<u8>) {
        let node = Arc::new(Node::of(Bytes::with(contents)));
        self.room.charge(lock(&node.bytes).blocks.count());
        if let Some(old) = lock(&self.files).insert(path.to_path_buf(), node) {
            self.room.give_back(lock(&old.bytes).blocks.count());
        }
    }

    fn refuse_without_power(&self, op: FileOp, path: &Path) -> Result<(), Error> {
        match self.power.draw() {
            Supply::On => Ok(()),
            Supply::Going | Supply::Off => Err(Error::PowerLost { op, path: path.to_path_buf() }),
        }
    }

    fn take(&self, node: Arc<Node>, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        if node.taken.swap(true, Ordering::AcqRel) {
            return Err(Error::InUse { path: path.to_path_buf() });
        }
        Ok(Arc::new(MemFile {
            node,
            power: Arc::clone(&self.power),
            room: Arc::clone(&self.room),
            path: path.to_path_buf(),
            counters: Mutex::default(),
        }))
    }
}

impl Disk for MemDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.refuse_without_power(FileOp::Create, path)?;
        let mut files = lock(&self.files);
        if files.contains_key(path) {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(Error::File { op: FileOp::Create, path: path.to_path_buf(), source });
        }
        let node = Arc::<Node>::default();
        files.insert(path.to_path_buf(), Arc::clone(&node));
        self.take(node, path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.refuse_without_power(FileOp::Open, path)?;
        let node = lock(&self.files).get(path).cloned();
        self.take(node.ok_or_else(|| not_found(FileOp::Open, path))?, path)
    }

    fn exists(&self, path: &Path) -> bool {
        lock(&self.files).contains_key(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.refuse_without_power(FileOp::Remove, path)?;
        let removed =
            lock(&self.files).remove(path).ok_or_else(|| not_found(FileOp::Remove, path))?;
        self.room.give_back(lock(&removed.bytes).blocks.count());
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.refuse_without_power(FileOp::Rename, from)?;
        let mut files = lock(&self.files);
        if files.contains_key(to) {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(Error::File { op: FileOp::Rename, path: from.to_path_buf(), source });
        }
        let node = files.remove(from).ok_or_else(|| not_found(FileOp::Rename, from))?;
        files.insert(to.to_path_buf(), node);
        Ok(())
    }
}

fn not_found(op: FileOp, path: &Path) -> Error {
    Error::File {
        op,
        path: path.to_path_buf(),
        source: std::io::ErrorKind::NotFound.into(),
    }
}

impl Node {
    fn of(bytes: Bytes) -> Node {
        Node { bytes: Mutex::new(bytes), taken: AtomicBool::new(false) }
    }
}
