//! A disk in memory: that of tests and of simulation.
//!
//! ```text
//! file   live       what reads see
//!        durable    what is certain to survive
//!        unsynced   per sector of 512 bytes: the contents it was given since, oldest first, each with its write
//! ```
//!
//! [`MemDisk::crash`] makes the disk that a power cut would leave: of the writes that are not durable, each survives,
//! vanishes or is torn, whatever came before or after it. [`MemDisk::fail_after`] cuts the power in the middle of work: the
//! call that meets the cut may have reached the disk or not, and every later one fails.
//!
//! Invariants
//! - `durable` changes at syncs and durable writes only; a durable write makes nothing durable but its own bytes.
//! - A sector is never torn.
//! - The outcome of a crash follows from the history of the disk and the random numbers alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};

use super::{Disk, DiskCounters, DiskFile, Durability, Fill};
use crate::error::{Error, Op};

/// I/O calls left when no cut is planned.
const UNLIMITED: u64 = u64::MAX;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemDisk {
    files: Arc<Mutex<BTreeMap<PathBuf, Arc<Node>>>>,
    power: Arc<Power>,
}

/// The calls that are left before the power goes.
#[derive(Debug)]
struct Power(AtomicU64);

impl Default for Power {
    fn default() -> Self {
        Power(AtomicU64::new(UNLIMITED))
    }
}

/// What a call meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Supply {
    On,
    /// The power goes during this call.
    Going,
    Off,
}

impl Power {
    fn draw(&self) -> Supply {
        let step = |left| match left {
            UNLIMITED => Some(UNLIMITED),
            left => Some(left.saturating_sub(1)),
        };
        // One is added to the number of calls that still work: 1 means that this call meets the cut, 0 that it is over.
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

/// What a sector was given, by the number of the write.
type Versions = Vec<(u64, [u8; SECTOR_BYTES])>;

#[derive(Debug, Default)]
struct Bytes {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: BTreeMap<u64, Versions>,
    /// Number of the last write.
    writes: u64,
}

impl MemDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// After `calls` more I/O calls the power goes: the next call fails and leaves what it wrote unsynced, and every call after it
    /// fails with [`Error::PowerLost`].
    pub fn fail_after(&self, calls: u64) {
        self.power.0.store(calls.saturating_add(1).min(UNLIMITED - 1), Ordering::Release);
    }

    /// Is the power gone?
    pub fn is_dark(&self) -> bool {
        self.power.0.load(Ordering::Acquire) == 0
    }

    /// The disk that a power cut at this moment would leave. This disk stays as it is.
    pub fn crash(&self, keep: &mut dyn Rng) -> MemDisk {
        self.crash_by(keep, &|_| SECTOR_BYTES)
    }

    /// The same on a device that writes `unit_of(path)` bytes of a file, aligned, as a whole or not at all. A multiple of a sector.
    pub fn crash_by(&self, keep: &mut dyn Rng, unit_of: &dyn Fn(&Path) -> usize) -> MemDisk {
        let files = lock(&self.files);
        let survivors = files.iter().map(|(path, node)| {
            let sectors = (unit_of(path) / SECTOR_BYTES).max(1) as u64;
            let image = lock(&node.bytes).image(keep, sectors);
            (path.clone(), Arc::new(Node::with(image)))
        });
        MemDisk { files: Arc::new(Mutex::new(survivors.collect())), power: Arc::default() }
    }

    /// The bytes of a file as reads see them; `None` when there is no such file.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        lock(&self.files).get(path).map(|node| lock(&node.bytes).live.clone())
    }

    /// Puts a file on the disk, durable, in place of one that may be there.
    pub fn put(&self, path: &Path, contents: Vec<u8>) {
        lock(&self.files).insert(path.to_path_buf(), Arc::new(Node::with(contents)));
    }

    fn refuse_without_power(&self, op: Op, path: &Path) -> Result<(), Error> {
        match self.power.draw() {
            Supply::On => Ok(()),
            Supply::Going | Supply::Off => Err(Error::PowerLost { op, path: path.to_path_buf() }),
        }
    }

    fn take(&self, node: Arc<Node>, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        if node.taken.swap(true, Ordering::AcqRel) {
            return Err(Error::InUse { path: path.to_path_buf() });
        }
        let power = Arc::clone(&self.power);
        Ok(Arc::new(MemFile { node, power, path: path.to_path_buf(), counters: Mutex::default() }))
    }
}

impl Disk for MemDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.refuse_without_power(Op::Create, path)?;
        let mut files = lock(&self.files);
        if files.contains_key(path) {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(Error::File { op: Op::Create, path: path.to_path_buf(), source });
        }
        let node = Arc::<Node>::default();
        files.insert(path.to_path_buf(), Arc::clone(&node));
        self.take(node, path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.refuse_without_power(Op::Open, path)?;
        let node = lock(&self.files).get(path).cloned();
        self.take(node.ok_or_else(|| not_found(Op::Open, path))?, path)
    }

    fn exists(&self, path: &Path) -> bool {
        lock(&self.files).contains_key(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.refuse_without_power(Op::Remove, path)?;
        lock(&self.files).remove(path).map(drop).ok_or_else(|| not_found(Op::Remove, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.refuse_without_power(Op::Rename, from)?;
        let mut files = lock(&self.files);
        if files.contains_key(to) {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(Error::File { op: Op::Rename, path: from.to_path_buf(), source });
        }
        let node = files.remove(from).ok_or_else(|| not_found(Op::Rename, from))?;
        files.insert(to.to_path_buf(), node);
        Ok(())
    }
}

fn not_found(op: Op, path: &Path) -> Error {
    Error::File { op, path: path.to_path_buf(), source: std::io::ErrorKind::NotFound.into() }
}

impl Node {
    fn with(contents: Vec<u8>) -> Node {
        let bytes = Bytes { durable: contents.clone(), live: contents, ..Bytes::default() };
        Node { bytes: Mutex::new(bytes), taken: AtomicBool::new(false) }
    }
}

impl Bytes {
    /// Changes the live bytes; what is in them is not durable yet.
    fn write(&mut self, offset: usize, parts: &[&[u8]]) {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.live.len() < offset + len {
            self.live.resize(offset + len, 0);
        }
        let mut at = offset;
        for part in parts {
            self.live[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.writes += 1;
        for sector in sectors_of(offset, len) {
            let version = (self.writes, sector_at(&self.live, sector));
            self.unsynced.entry(sector).or_default().push(version);
        }
    }

    /// Makes the sectors of a range durable, and the length as far as they reach.
    fn harden(&mut self, offset: usize, len: usize) {
        for sector in sectors_of(offset, len) {
            self.unsynced.remove(&sector);
            let content = sector_at(&self.live, sector);
            put_sector(&mut self.durable, sector, &content, self.live.len());
        }
    }

    /// Makes everything durable.
    fn sync(&mut self) {
        self.durable.resize(self.live.len(), 0);
        for (sector, versions) in std::mem::take(&mut self.unsynced) {
            if let Some((_, content)) = versions.last() {
                put_sector(&mut self.durable, sector, content, self.live.len());
            }
        }
    }

    /// What a power cut would leave on a device that writes so many sectors as a whole.
    fn image(&self, keep: &mut dyn Rng, unit: u64) -> Vec<u8> {
        let mut image = self.durable.clone();
        let grown = self.live.len().saturating_sub(image.len());
        // The new length is recorded or not, or half way: file systems extend a file step by step.
        let len = image.len()
            + match keep.below(3) {
                0 => 0,
                1 => grown,
                _ => keep.below(grown as u64 + 1) as usize,
            };
        image.resize(len, 0);
        let (mut fates, mut torn) = (BTreeMap::new(), BTreeMap::new());
        for (sector, versions) in &self.unsynced {
            for (write, content) in versions {
                let fate = *fates.entry(*write).or_insert_with(|| keep.below(3));
                let survives = match fate {
                    0 => false,
                    1 => true,
                    _ => *torn.entry((*write, sector / unit)).or_insert_with(|| keep.below(2) == 0),
                };
                if survives {
                    put_sector(&mut image, *sector, content, len);
                }
            }
        }
        image
    }
}

/// Numbers of the sectors that a range touches.
fn sectors_of(offset: usize, len: usize) -> std::ops::Range<u64> {
    (offset / SECTOR_BYTES) as u64..(offset + len).div_ceil(SECTOR_BYTES) as u64
}

fn sector_at(bytes: &[u8], sector: u64) -> [u8; SECTOR_BYTES] {
    let mut content = [0; SECTOR_BYTES];
    let start = sector as usize * SECTOR_BYTES;
    let stored = &bytes[start..(start + SECTOR_BYTES).min(bytes.len())];
    content[..stored.len()].copy_from_slice(stored);
    content
}

/// Puts a sector in its place, as far as it lies within a file of `len` bytes.
fn put_sector(bytes: &mut Vec<u8>, sector: u64, content: &[u8; SECTOR_BYTES], len: usize) {
    let start = sector as usize * SECTOR_BYTES;
    let end = (start + SECTOR_BYTES).min(len);
    if start >= end {
        return;
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(&content[..end - start]);
}

/// An open file of a [`MemDisk`].
#[derive(Debug)]
struct MemFile {
    node: Arc<Node>,
    power: Arc<Power>,
    path: PathBuf,
    counters: Mutex<DiskCounters>,
}

impl MemFile {
    fn dark(&self, op: Op) -> Error {
        Error::PowerLost { op, path: self.path.clone() }
    }

    /// Offsets and lengths as indexes; a file that does not fit in memory is a full disk.
    fn end_of(&self, op: Op, offset: u64, len: usize) -> Result<usize, Error> {
        let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(len));
        end.filter(|end| *end <= isize::MAX as usize).ok_or_else(|| Error::Transfer {
            op,
            path: self.path.clone(),
            offset,
            bytes: len,
            source: std::io::ErrorKind::FileTooLarge.into(),
        })
    }
}

impl Drop for MemFile {
    fn drop(&mut self) {
        self.node.taken.store(false, Ordering::Release);
    }
}

impl DiskFile for MemFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        lock(&self.node.bytes).live.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        if self.power.draw() != Supply::On {
            return Err(self.dark(Op::Read));
        }
        let bytes = lock(&self.node.bytes);
        let stored = usize::try_from(offset).ok().and_then(|at| bytes.live.get(at..)).unwrap_or(&[]);
        let read = stored.len().min(buf.len());
        buf[..read].copy_from_slice(&stored[..read]);
        let mut counters = lock(&self.counters);
        counters.reads += 1;
        counters.calls += 1;
        counters.bytes_read += read as u64;
        Ok(read)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let start = self.end_of(Op::Write, offset, len)? - len;
        let supply = self.power.draw();
        if supply == Supply::Off {
            return Err(self.dark(Op::Write));
        }
        let mut bytes = lock(&self.node.bytes);
        bytes.write(start, parts);
        if supply == Supply::Going {
            return Err(self.dark(Op::Write));
        }
        let mut counters = lock(&self.counters);
        counters.writes += 1;
        counters.calls += 1;
        counters.bytes_written += len as u64;
        if durability == Durability::Through {
            bytes.harden(start, len);
            counters.fua_writes += 1;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        // A sync that meets the cut promises nothing: what it would have hardened stays at the mercy of the cut.
        if self.power.draw() != Supply::On {
            return Err(self.dark(Op::Sync));
        }
        lock(&self.node.bytes).sync();
        let mut counters = lock(&self.counters);
        counters.syncs += 1;
        counters.calls += 1;
        Ok(())
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        let end = self.end_of(Op::Resize, bytes, 0)?;
        let supply = self.power.draw();
        if supply == Supply::Off {
            return Err(self.dark(Op::Resize));
        }
        let mut stored = lock(&self.node.bytes);
        let old = stored.live.len();
        if end > old {
            match fill {
                Fill::Hole | Fill::Allocated => stored.live.resize(end, 0),
                Fill::Zeros => stored.write(old, &[&vec![0; end - old]]),
            }
        }
        if supply == Supply::Going { Err(self.dark(Op::Resize)) } else { Ok(()) }
    }

    fn counters(&self) -> DiskCounters {
        *lock(&self.counters)
    }
}
