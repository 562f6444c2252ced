//! A file of the file system, taken for writing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock};

use super::lane::Lane;
use super::probe;
use super::{Backend, DurabilityMode};
use crate::buf::AlignedBuf;
use crate::disk::{DiskCounters, DiskFile, Durability, Fill};
use crate::error::{Error, FileOp};
use crate::platform;

/// Zeros of a fill are written in pieces of this size.
const FILL_BYTES: usize = 1 << 20;

/// An open file of a [`RealDisk`](super::RealDisk).
#[derive(Debug)]
pub(super) struct RealFile {
    pub(super) handle: fs::File,
    /// The same file past the page cache, and what offsets and lengths must be multiples of; only
    /// where that is possible.
    pub(super) direct: Option<(fs::File, usize)>,
    pub(super) path: PathBuf,
    /// What [`DurabilityMode::Auto`] was resolved to; never that itself.
    pub(super) mode: DurabilityMode,
    pub(super) lane: Lane,
    len: AtomicU64,
    /// A write that is not aligned has gone through the page cache: from then on all do. After a
    /// direct write next to dirty pages of the cache the kernel returns an I/O error at the next
    /// sync.
    is_cached: AtomicBool,
    /// A write may still need a block that the file system has not allocated yet.
    has_holes: AtomicBool,
    pub(super) poisoned: AtomicBool,
    /// Counts writes that ended and need a flush; what it was when the last successful flush began.
    pub(super) written: AtomicU64,
    pub(super) synced: Mutex<u64>,
    growing: Mutex<()>,
    pub(super) counters: Counters,
}

/// The counters of [`DiskCounters`], counted by several threads.
#[derive(Debug, Default)]
pub(super) struct Counters {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    fua_writes: AtomicU64,
    pub(super) syncs: AtomicU64,
    pub(super) calls: AtomicU64,
}

/// How a write was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WritePath {
    PageCache,
    Direct,
}

/// How soon a write must be durable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    /// After the next flush.
    Deferred,
    /// When the call returns.
    Through,
}

impl RealFile {
    pub(super) fn new(
        handle: fs::File,
        path: &Path,
        mode: DurabilityMode,
        backend: Backend,
    ) -> Result<RealFile, Error> {
        let failed = |source| Error::File { op: FileOp::Inspect, path: path.to_path_buf(), source };
        let len = platform::len(&handle).map_err(failed)?;
        let twin = platform::open_direct_for_writes(path).filter(|(twin, _)| {
            // The path may name another file by now.
            let own = platform::identity(&handle, path).ok();
            own.is_some() && own == platform::identity(twin, path).ok()
        });
        let mode = probe::choose(mode, &handle, path, twin.is_some()).chosen;
        let has_holes = len > 0 && platform::next_data(&handle, 0, len) != Some(0..len);
        Ok(RealFile {
            handle,
            direct: twin,
            path: path.to_path_buf(),
            mode,
            lane: Lane::new(backend),
            len: AtomicU64::new(len),
            is_cached: AtomicBool::new(false),
            has_holes: AtomicBool::new(has_holes),
            poisoned: AtomicBool::new(false),
            // What is in the page cache of a file just opened was written by a program that may
            // have died before its sync.
            written: AtomicU64::new(1),
            synced: Mutex::new(0),
            growing: Mutex::new(()),
            counters: Counters::default(),
        })
    }

    pub(super) fn refuse_poisoned(&self) -> Result<(), Error> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        Ok(())
    }

    /// The handle for a write, and whether it bypasses the page cache: where alignment allows.
    pub(super) fn door(&self, offset: u64, bytes: usize) -> (&fs::File, WritePath) {
        match &self.direct {
            Some(_) if self.is_cached.load(Ordering::Acquire) => {
                (&self.handle, WritePath::PageCache)
            }
            Some((twin, align)) if is_aligned(offset, bytes, *align) => (twin, WritePath::Direct),
            _ => {
                self.is_cached.store(true, Ordering::Release);
                (&self.handle, WritePath::PageCache)
            }
        }
    }

    /// Writes everything. Returns how, because the caller may have to flush.
    fn put(&self, offset: u64, parts: &[&[u8]], haste: Haste) -> Result<WritePath, Error> {
        let bytes = total(parts);
        let (handle, way) = self.door(offset, bytes);
        let through = haste == Haste::Through;
        let written = with_aligned(parts, way, |parts| {
            let done =
                if through { self.write_through_ring(handle, offset, parts, bytes)? } else { 0 };
            if done < bytes {
                self.count_call();
                platform::write_all_vectored(handle, parts, done, offset, through)?;
            }
            Ok(())
        });
        written.map_err(|source| self.write_failed(offset, bytes, source))?;
        Ok(self.note_write(offset, bytes, way))
    }

    /// A write has ended. Returns how it counts for the decision to flush.
    pub(super) fn note_write(&self, offset: u64, bytes: usize, way: WritePath) -> WritePath {
        let end = offset + bytes as u64;
        let old_end = self.len.fetch_max(end, Ordering::AcqRel);
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        // A write that makes the file longer or fills a hole is in the file system's journal first.
        if end > old_end || self.has_holes.load(Ordering::Acquire) {
            WritePath::PageCache
        } else {
            way
        }
    }

    pub(super) fn count_call(&self) {
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn write_failed(&self, offset: u64, bytes: usize, source: io::Error) -> Error {
        Error::Transfer {
            op: FileOp::Write,
            path: self.path.clone(),
            offset,
            bytes,
            source,
        }
    }

    /// A flush has failed: nothing is promised any more.
    pub(super) fn flush_failed(&self, source: io::Error) -> Error {
        self.poisoned.store(true, Ordering::Release);
        Error::File { op: FileOp::Sync, path: self.path.clone(), source }
    }

    fn put_durable(&self, offset: u64, parts: &[&[u8]]) -> Result<(), Error> {
        self.refuse_poisoned()?;
        if self.mode == DurabilityMode::Fua && platform::HAS_WRITE_THROUGH {
            self.put(offset, parts, Haste::Through)?;
            self.counters.fua_writes.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        if self.mode == DurabilityMode::ForcedFlush
            && let Some(result) = self.put_chained(offset, parts)
        {
            return result;
        }
        let way = self.put(offset, parts, Haste::Deferred)?;
        if way == WritePath::Direct && self.mode == DurabilityMode::DirectOnly {
            return Ok(());
        }
        self.written.fetch_add(1, Ordering::AcqRel);
        self.flush()
    }

    /// Deferred writes have ended, well or not: even one that failed may have left something to
    /// flush.
    pub(super) fn note_deferred(&self, way: Option<WritePath>) {
        if way != Some(WritePath::Direct) || self.mode != DurabilityMode::DirectOnly {
            self.written.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Flushes what was written before the call; callers during a flush share the next one.
    pub(super) fn flush(&self) -> Result<(), Error> {
        let needed = self.written.load(Ordering::Acquire);
        let mut synced = lock(&self.synced);
        self.refuse_poisoned()?;
        if *synced >= needed {
            return Ok(());
        }
        let covered = self.written.load(Ordering::Acquire);
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.count_call();
        self.handle.sync_data().map_err(|source| self.flush_failed(source))?;
        *synced = covered;
        Ok(())
    }

    /// Makes the file longer by a hole.
    fn lengthen(&self, bytes: u64) -> Result<(), Error> {
        self.has_holes.store(true, Ordering::Release);
        let failed = |source| Error::File { op: FileOp::Resize, path: self.path.clone(), source };
        self.handle.set_len(bytes).map_err(failed)
    }

    /// Extends the file by room that is allocated and never written; by zeros where that is not
    /// supported.
    fn allocate(&self, from: u64, to: u64) -> Result<(), Error> {
        let failed = |source| Error::File { op: FileOp::Resize, path: self.path.clone(), source };
        match platform::allocate(&self.handle, from, to - from) {
            Ok(true) => {
                self.has_holes.store(true, Ordering::Release);
                Ok(())
            }
            Ok(false) => self.fill_with_zeros(from, to),
            Err(source) => Err(failed(source)),
        }
    }

    /// Allocates room for what was never written below `end`, where that is supported.
    fn allocate_holes(&self, end: u64) -> Result<(), Error> {
        if end == 0
            || !self.has_holes.load(Ordering::Acquire)
                && platform::next_data(&self.handle, 0, end) == Some(0..end)
        {
            return Ok(());
        }
        let failed = |source| Error::File { op: FileOp::Resize, path: self.path.clone(), source };
        self.has_holes.store(true, Ordering::Release);
        platform::allocate(&self.handle, 0, end).map(drop).map_err(failed)
    }

    fn fill_with_zeros(&self, from: u64, to: u64) -> Result<(), Error> {
        let zeros = AlignedBuf::zeroed(FILL_BYTES);
        let mut at = from;
        while at < to {
            // The first piece ends on a boundary, so that all others are aligned.
            let piece = (FILL_BYTES as u64 - at % FILL_BYTES as u64).min(to - at);
            self.put(at, &[&zeros[..piece as usize]], Haste::Deferred)?;
            at += piece;
        }
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        let bytes = buf.len();
        let mut done = 0;
        while done < bytes {
            match platform::read_at(
                &self.handle,
                &mut buf[done..],
                offset.saturating_add(done as u64),
            ) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(Error::Transfer {
                        op: FileOp::Read,
                        path: self.path.clone(),
                        offset,
                        bytes,
                        source,
                    });
                }
            }
        }
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_read.fetch_add(done as u64, Ordering::Relaxed);
        self.count_call();
        Ok(done)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        if durability == Durability::Through {
            let result = self.put_durable(offset, parts);
            if result.is_err() {
                self.poisoned.store(true, Ordering::Release);
            }
            return result;
        }
        let way = self.put(offset, parts, Haste::Deferred);
        self.note_deferred(way.as_ref().ok().copied());
        way.map(drop)
    }

    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        match self.put_batch(writes) {
            Some(result) => result,
            None => {
                let mut writes = writes.iter();
                writes.try_for_each(|(offset, bytes)| {
                    self.write_at(*offset, &[bytes], Durability::Deferred)
                })
            }
        }
    }

    fn sync(&self) -> Result<(), Error> {
        self.flush()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        let _turn = lock(&self.growing);
        let old = self.len();
        if bytes <= old {
            // Holes within the file get their room, too.
            return if fill == Fill::Allocated { self.allocate_holes(old) } else { Ok(()) };
        }
        let result = match fill {
            Fill::Zeros => self.fill_with_zeros(old, bytes),
            Fill::Hole => self.lengthen(bytes),
            Fill::Allocated => self.allocate(old, bytes),
        };
        self.written.fetch_add(1, Ordering::AcqRel);
        match result {
            Ok(()) => self.len.fetch_max(bytes, Ordering::AcqRel),
            Err(error) => {
                // A partial fill is useless. If truncation fails, too, the length is that of the
                // file.
                let cut = self.handle.set_len(old);
                self.len.store(
                    if cut.is_ok() { old } else { platform::len(&self.handle).unwrap_or(old) },
                    Ordering::Release,
                );
                return Err(error);
            }
        };
        Ok(())
    }

    fn counters(&self) -> DiskCounters {
        let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DiskCounters {
            reads: now(&self.counters.reads),
            bytes_read: now(&self.counters.bytes_read),
            writes: now(&self.counters.writes),
            bytes_written: now(&self.counters.bytes_written),
            fua_writes: now(&self.counters.fua_writes),
            syncs: now(&self.counters.syncs),
            calls: now(&self.counters.calls),
        }
    }
}

pub(super) fn total(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

fn is_aligned(offset: u64, bytes: usize, align: usize) -> bool {
    bytes > 0 && offset.is_multiple_of(align as u64) && bytes.is_multiple_of(align)
}

/// May this memory be written past the page cache?
pub(super) fn is_part_aligned(part: &[u8]) -> bool {
    part.as_ptr().addr().is_multiple_of(crate::BLOCK_BYTES)
        && part.len().is_multiple_of(crate::BLOCK_BYTES)
}

/// Runs `write` with the parts, or with a copy of them where they are to bypass the page cache and
/// their memory is not aligned: a few microseconds compared with a device's hundreds.
pub(super) fn with_aligned<T>(
    parts: &[&[u8]],
    way: WritePath,
    write: impl FnOnce(&[&[u8]]) -> T,
) -> T {
    if way == WritePath::PageCache || parts.iter().all(|part| is_part_aligned(part)) {
        return write(parts);
    }
    let bytes = total(parts);
    let mut copy = AlignedBuf::zeroed(bytes);
    let mut at = 0;
    for part in parts {
        copy[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    write(&[&copy[..bytes]])
}
