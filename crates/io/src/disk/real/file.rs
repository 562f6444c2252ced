//! A file of the file system, taken for writing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock};

use super::probe;
use super::{DurabilityMode, DurabilityReport};
use crate::buf::AlignedBuf;
use crate::disk::{DiskCounters, DiskFile, Durability, Fill};
use crate::error::{Error, Op};
use crate::platform;

/// Zeros of a fill are written in pieces of this size.
const FILL_BYTES: usize = 1 << 20;

/// An open file of a [`RealDisk`](super::RealDisk).
#[derive(Debug)]
pub(super) struct RealFile {
    handle: fs::File,
    /// The same file past the page cache, and what offsets and lengths must be multiples of; only where that is possible.
    direct: Option<(fs::File, usize)>,
    path: PathBuf,
    report: DurabilityReport,
    len: AtomicU64,
    /// A write may still meet a place that the file system has not given room yet.
    has_holes: AtomicBool,
    poisoned: AtomicBool,
    /// Counts writes that ended and need a flush; what it was when the last successful flush began.
    written: AtomicU64,
    synced: Mutex<u64>,
    growing: Mutex<()>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    fua_writes: AtomicU64,
    syncs: AtomicU64,
}

/// How a write went out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    PageCache,
    Direct,
}

/// How soon a write must be durable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// Some time later.
    None,
    /// A flush comes at once: what went into the page cache would have to be written out first.
    BeforeFlush,
    /// When the call returns.
    Through,
}

impl RealFile {
    pub(super) fn new(handle: fs::File, path: &Path, mode: DurabilityMode) -> Result<RealFile, Error> {
        let failed = |source| Error::File { op: Op::Inspect, path: path.to_path_buf(), source };
        let len = platform::len(&handle).map_err(failed)?;
        let twin = platform::open_direct_for_writes(path).filter(|(twin, _)| {
            // The path may lead elsewhere by now.
            let own = platform::identity(&handle, path).ok();
            own.is_some() && own == platform::identity(twin, path).ok()
        });
        let report = probe::choose(mode, &handle, path, twin.is_some());
        let has_holes = len > 0 && platform::next_data(&handle, 0, len) != Some(0..len);
        Ok(RealFile {
            handle,
            direct: twin,
            path: path.to_path_buf(),
            report,
            len: AtomicU64::new(len),
            has_holes: AtomicBool::new(has_holes),
            poisoned: AtomicBool::new(false),
            // What is in the page cache of a file just opened was written by a program that may have died before its sync.
            written: AtomicU64::new(1),
            synced: Mutex::new(0),
            growing: Mutex::new(()),
            counters: Counters::default(),
        })
    }

    fn refuse_poisoned(&self) -> Result<(), Error> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        Ok(())
    }

    /// Writes everything, past the page cache where mode and alignment allow.
    fn put(&self, offset: u64, parts: &[&[u8]], haste: Haste) -> Result<Way, Error> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let failed =
            |source| Error::Transfer { op: Op::Write, path: self.path.clone(), offset, bytes, source };
        let through = haste == Haste::Through;
        let goes_direct = haste != Haste::None || self.report.chosen != DurabilityMode::ForcedFlush;
        let way = match &self.direct {
            Some((twin, align)) if goes_direct && is_aligned(offset, bytes, *align) => {
                put_direct(twin, offset, parts, bytes, through).map_err(failed)?;
                Way::Direct
            }
            _ => {
                platform::write_all_vectored(&self.handle, parts, offset, through).map_err(failed)?;
                Way::PageCache
            }
        };
        let end = offset + bytes as u64;
        let old_end = self.len.fetch_max(end, Ordering::AcqRel);
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        // A write that makes the file longer or fills a hole is in the file system's journal first.
        Ok(if end > old_end || self.has_holes.load(Ordering::Acquire) { Way::PageCache } else { way })
    }

    fn put_durable(&self, offset: u64, parts: &[&[u8]]) -> Result<(), Error> {
        self.refuse_poisoned()?;
        if self.report.chosen == DurabilityMode::Fua && platform::HAS_WRITE_THROUGH {
            self.put(offset, parts, Haste::Through)?;
            self.counters.fua_writes.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let way = self.put(offset, parts, Haste::BeforeFlush)?;
        if way == Way::Direct && self.report.chosen == DurabilityMode::DirectOnly {
            return Ok(());
        }
        self.written.fetch_add(1, Ordering::AcqRel);
        self.flush()
    }

    /// Flushes what was written before the call; who comes while another flushes shares the next flush.
    fn flush(&self) -> Result<(), Error> {
        let needed = self.written.load(Ordering::Acquire);
        let mut synced = lock(&self.synced);
        self.refuse_poisoned()?;
        if *synced >= needed {
            return Ok(());
        }
        let covered = self.written.load(Ordering::Acquire);
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.handle.sync_data().map_err(|source| {
            self.poisoned.store(true, Ordering::Release);
            Error::File { op: Op::Sync, path: self.path.clone(), source }
        })?;
        *synced = covered;
        Ok(())
    }

    fn fill_with_zeros(&self, from: u64, to: u64) -> Result<(), Error> {
        let zeros = AlignedBuf::zeroed(FILL_BYTES);
        let mut at = from;
        while at < to {
            // The first piece ends on a boundary, so that all others are aligned.
            let piece = (FILL_BYTES as u64 - at % FILL_BYTES as u64).min(to - at);
            self.put(at, &[&zeros[..piece as usize]], Haste::None)?;
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
            match platform::read_at(&self.handle, &mut buf[done..], offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(Error::Transfer {
                        op: Op::Read,
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
        let way = self.put(offset, parts, Haste::None);
        // Even a write that failed may have left something to flush.
        if !matches!(way, Ok(Way::Direct)) || self.report.chosen != DurabilityMode::DirectOnly {
            self.written.fetch_add(1, Ordering::AcqRel);
        }
        way.map(drop)
    }

    fn sync(&self) -> Result<(), Error> {
        self.flush()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        let _turn = lock(&self.growing);
        let old = self.len();
        if bytes <= old {
            return Ok(());
        }
        let result = match fill {
            Fill::Zeros => self.fill_with_zeros(old, bytes),
            Fill::Hole => {
                self.has_holes.store(true, Ordering::Release);
                let failed = |source| Error::File { op: Op::Resize, path: self.path.clone(), source };
                self.handle.set_len(bytes).map_err(failed)
            }
        };
        self.written.fetch_add(1, Ordering::AcqRel);
        match result {
            Ok(()) => self.len.fetch_max(bytes, Ordering::AcqRel),
            Err(error) => {
                // Half a fill is of no use to anybody. If cutting fails too, the length tells the truth.
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
        }
    }
}

fn is_aligned(offset: u64, bytes: usize, align: usize) -> bool {
    bytes > 0 && offset.is_multiple_of(align as u64) && bytes.is_multiple_of(align)
}

/// Writes past the page cache. Memory that is not aligned is copied first: a few microseconds beside a device's hundreds.
fn put_direct(twin: &fs::File, offset: u64, parts: &[&[u8]], bytes: usize, through: bool) -> io::Result<()> {
    let lies_well = |part: &&[u8]| {
        part.as_ptr().addr().is_multiple_of(crate::BLOCK_BYTES)
            && part.len().is_multiple_of(crate::BLOCK_BYTES)
    };
    if parts.iter().all(lies_well) {
        return platform::write_all_vectored(twin, parts, offset, through);
    }
    let mut copy = AlignedBuf::zeroed(bytes);
    let mut at = 0;
    for part in parts {
        copy[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    platform::write_all_vectored(twin, &[&copy[..bytes]], offset, through)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failed_durable_write_nothing_is_promised_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, [0; 4096]).unwrap();
        // A handle that cannot write stands for a device that does not.
        let handle = fs::File::open(&path).unwrap();
        let file = RealFile::new(handle, &path, DurabilityMode::ForcedFlush).unwrap();
        file.sync().unwrap();
        assert!(matches!(file.write_at(0, &[b"x"], Durability::Deferred), Err(Error::Transfer { .. })));
        file.sync().unwrap();
        assert!(matches!(file.write_at(0, &[b"x"], Durability::Through), Err(Error::Transfer { .. })));
        assert!(matches!(file.sync(), Err(Error::Poisoned { .. })));
        assert!(matches!(file.write_at(0, &[b"x"], Durability::Through), Err(Error::Poisoned { .. })));
        assert_eq!(file.read_at(0, &mut [0; 10]).unwrap(), 10);
    }
}
