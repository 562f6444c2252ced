//! An open file of a disk in memory.

use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, Mutex, lock};

use super::bytes::Bytes;
use super::death::{Death, Grain};
use super::room::{BLOCK_BYTES, DiskSpace};
use super::{Node, Power, Supply};
use crate::disk::{DiskCounters, DiskFile, Durability, Fill};
use crate::error::{Error, FileOp};

/// See the module.
#[derive(Debug)]
pub(super) struct MemFile {
    pub(super) node: Arc<Node>,
    pub(super) power: Arc<Power>,
    pub(super) room: Arc<DiskSpace>,
    pub(super) path: PathBuf,
    pub(super) counters: Mutex<DiskCounters>,
}

impl MemFile {
    fn dark(&self, op: FileOp) -> Error {
        Error::PowerLost { op, path: self.path.clone() }
    }

    /// Offsets and lengths as indexes; a file that does not fit in memory is a full disk.
    fn end_of(&self, op: FileOp, offset: u64, len: usize) -> Result<usize, Error> {
        let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(len));
        end.filter(|end| *end <= isize::MAX as usize).ok_or_else(|| Error::Transfer {
            op,
            path: self.path.clone(),
            offset,
            bytes: len,
            source: std::io::ErrorKind::FileTooLarge.into(),
        })
    }

    fn full(&self, op: FileOp, offset: u64, bytes: usize) -> Error {
        let source = std::io::ErrorKind::StorageFull.into();
        Error::Transfer { op, path: self.path.clone(), offset, bytes, source }
    }

    /// Extends the file; an interrupted call may have done so in part.
    fn lengthen(&self, bytes: &mut Bytes, end: usize, fill: Fill, supply: Supply) {
        let old = bytes.live.len();
        let grain = match fill {
            Fill::Hole | Fill::Allocated => Grain::Whole,
            Fill::Zeros => Grain::Of(Durability::Deferred),
        };
        if supply == Supply::Going {
            Death::note(bytes, old, vec![0; end - old], grain);
        }
        match fill {
            Fill::Hole | Fill::Allocated => {
                bytes.live.resize(end, 0);
                bytes.death.made(old, 0);
            }
            Fill::Zeros => {
                let number = bytes.write(old, &[&vec![0; end - old]]);
                bytes.death.made(old, number);
            }
        }
    }

    /// Takes room for the holes in a range; returns how many bytes from its start have room.
    fn take_room(&self, bytes: &mut Bytes, start: usize, len: usize) -> usize {
        let holes = bytes.blocks.holes(start, len);
        let taken = self.room.take(holes.len() as u64) as usize;
        bytes.blocks.take(&holes[..taken]);
        match holes.get(taken) {
            None => len,
            Some(missing) => (missing * BLOCK_BYTES).saturating_sub(start),
        }
    }

    /// Takes room for the holes in a range, or for none of them.
    fn take_all_room(&self, bytes: &mut Bytes, start: usize, len: usize) -> bool {
        let holes = bytes.blocks.holes(start, len);
        let taken = self.room.take(holes.len() as u64);
        if taken < holes.len() as u64 {
            self.room.give_back(taken);
            return false;
        }
        bytes.blocks.take(&holes);
        true
    }
}

/// The first `len` bytes of all parts together.
fn joined(parts: &[&[u8]], len: usize) -> Vec<u8> {
    let mut joined = parts.concat();
    joined.truncate(len);
    joined
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
            return Err(self.dark(FileOp::Read));
        }
        let bytes = lock(&self.node.bytes);
        let stored =
            usize::try_from(offset).ok().and_then(|at| bytes.live.get(at..)).unwrap_or(&[]);
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
        let start = self.end_of(FileOp::Write, offset, len)? - len;
        let supply = self.power.draw();
        if supply == Supply::Off {
            return Err(self.dark(FileOp::Write));
        }
        let mut bytes = lock(&self.node.bytes);
        if supply == Supply::Going && !bytes.death.expects(start) {
            Death::note(&mut bytes, start, parts.concat(), Grain::Of(durability));
        }
        let has_room = self.take_room(&mut bytes, start, len);
        let number = match has_room {
            0 if len > 0 => 0,
            // What has room is written, as the file system does it.
            has_room if has_room < len => bytes.write(start, &[&joined(parts, has_room)]),
            _ => bytes.write(start, parts),
        };
        bytes.death.made(start, number);
        if supply == Supply::Going {
            return Err(self.dark(FileOp::Write));
        }
        if has_room < len {
            return Err(self.full(FileOp::Write, offset, len));
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

    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        // All of them run concurrently: whichever is interrupted, each may have been made.
        let is_last = self.power.ends_within(writes.len());
        if is_last && self.power.draws() {
            let mut bytes = lock(&self.node.bytes);
            for (offset, content) in writes {
                let start = self.end_of(FileOp::Write, *offset, 0)?;
                Death::note(&mut bytes, start, content.to_vec(), Grain::Of(Durability::Deferred));
            }
        }
        let mut each = writes.iter();
        let done = each.try_for_each(|(offset, content)| {
            self.write_at(*offset, &[content], Durability::Deferred)
        });
        if is_last && done.is_ok() {
            lock(&self.node.bytes).death.clear();
        }
        done
    }

    fn sync(&self) -> Result<(), Error> {
        // An interrupted sync guarantees nothing: its writes stay uncertain.
        if self.power.draw() != Supply::On {
            return Err(self.dark(FileOp::Sync));
        }
        lock(&self.node.bytes).sync();
        let mut counters = lock(&self.counters);
        counters.syncs += 1;
        counters.calls += 1;
        Ok(())
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        let end = self.end_of(FileOp::Resize, bytes, 0)?;
        let supply = self.power.draw();
        if supply == Supply::Off {
            return Err(self.dark(FileOp::Resize));
        }
        let mut stored = lock(&self.node.bytes);
        let old = stored.live.len();
        // Holes allocate room when they are written, all else at once; existing holes, too, when
        // room is requested.
        let (from, to) = match fill {
            Fill::Hole => (end, end),
            Fill::Zeros => (old.min(end), end),
            Fill::Allocated if end > old => (old, end),
            Fill::Allocated => (0, old),
        };
        if !self.take_all_room(&mut stored, from, to - from) {
            return Err(self.full(FileOp::Resize, bytes, to - from));
        }
        if end > old {
            self.lengthen(&mut stored, end, fill, supply);
        }
        if supply == Supply::Going { Err(self.dark(FileOp::Resize)) } else { Ok(()) }
    }

    fn counters(&self) -> DiskCounters {
        *lock(&self.counters)
    }
}
