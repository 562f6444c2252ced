//! Reading records: for rollback, recovery and tools.
//!
//! ```text
//! with_record(lsn)   open block ─ or ─ queue ─ or ─ recent blocks ─ or ─ windows of the file
//! ```
//!
//! A rollback walks backwards, mostly through adjacent blocks; a recovery walks forwards. Both read
//! a window of the file around the last position, so that a record costs no read of its own.
//!
//! Invariants
//! - A block is returned only when it has the LSN asked for and is sound. A window may be older
//!   than a block in it; then it is read again.
//! - No callback is called while a lock is held: it may append.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::{Arc, lock};
use extentdb_format::log::block::{BlockBuf, MAX_BLOCK_BYTES, Stamp};
use extentdb_format::log::fault::NoBlock;
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{Op, RecordRef, Vlf};
use extentdb_io::DiskFile;

use crate::error::{Damage, Error};
use crate::log_manager::Log;
use crate::open::damage_of;
use crate::state::{Closed, FORMAT, State};

/// Blocks kept, and windows of the file.
const KEPT_BLOCKS: usize = 16;
const KEPT_WINDOWS: usize = 4;
/// A window begins on a multiple of this, and is longer by the largest block, so that a block that
/// begins in it ends in it.
const WINDOW_BYTES: u64 = 256 << 10;

/// Where a block is.
enum Place {
    /// Still open; this is what it would be on disk now.
    Open(Vec<u8>),
    /// Closed and not durable yet, in its disk form.
    Queue(Arc<Vec<u8>>),
    /// In the file.
    File(Spot),
    Nowhere,
}

/// A position of a block in the file.
#[derive(Clone, Copy)]
struct Spot {
    offset: u64,
    /// Bytes up to the end of the VLF.
    room: u64,
}

/// What was read lately.
#[derive(Debug, Default)]
pub(crate) struct ReadCache {
    /// Newest first.
    blocks: VecDeque<Arc<BlockBuf>>,
    windows: VecDeque<(u64, Vec<u8>)>,
}

impl Log {
    /// Runs `f` over a record, durable or still in memory. `f` may use the log.
    ///
    /// # Errors
    /// [`Error::NoRecord`] when the log has no such record, or not any more.
    pub fn with_record<T>(
        &self,
        lsn: Lsn,
        f: impl FnOnce(&RecordRef<'_>) -> T,
    ) -> Result<T, Error> {
        let none = Error::NoRecord { lsn };
        if let Some(bytes) = self.open_record(lsn) {
            return RecordRef::parse(FORMAT, &bytes).map(|record| f(&record)).ok_or(none);
        }
        let Some(block) = self.block(lsn)? else { return Err(none) };
        block.view().record(lsn.slot).map(|record| f(&record)).ok_or(none)
    }

    /// Hands the records from `from` on to `each`, in order, up to the newest one at the time of
    /// the call. The durable marks of the blocks are the log's own and are left out.
    ///
    /// # Errors
    /// [`Error::NoRecord`] when `from` is not in the log; damage and errors of the disk.
    pub fn scan(
        &self,
        from: Lsn,
        each: &mut dyn FnMut(Lsn, &RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let newest = self.last();
        let mut at = Lsn { slot: 1, ..from };
        while at <= newest {
            let Some(block) = self.block(at)? else { return Err(Error::NoRecord { lsn: at }) };
            let view = block.view();
            for (lsn, record) in view.records().filter(|(lsn, _)| (from..=newest).contains(lsn)) {
                if record.header().op == Op::DURABLE_MARK {
                    continue;
                }
                if each(lsn, &record).is_break() {
                    return Ok(());
                }
            }
            at = self.behind(at, view.header().size);
        }
        Ok(())
    }

    /// LSN of the block after one of `size` bytes.
    fn behind(&self, block: Lsn, size: u16) -> Lsn {
        let state = lock(&self.state);
        let next = u64::from(block.block) * SECTOR_BYTES as u64 + u64::from(size);
        match state.vlfs.with_sequence(block.vlf) {
            Some(vlf) if next < vlf.header.size => {
                Lsn { block: (next / SECTOR_BYTES as u64) as u32, ..block }
            }
            _ => Lsn::new(
                block.vlf.saturating_add(1),
                (VLF_HEADER_AREA / SECTOR_BYTES as u64) as u32,
                1,
            ),
        }
    }

    /// A record of the open block.
    fn open_record(&self, lsn: Lsn) -> Option<Vec<u8>> {
        let state = lock(&self.state);
        let (first, block) = state.open.as_ref()?;
        if (first.vlf, first.block) != (lsn.vlf, lsn.block) {
            return None;
        }
        Some(block.record(lsn.slot)?.bytes().to_vec())
    }

    /// The block that holds a record; `None` when there is none.
    fn block(&self, lsn: Lsn) -> Result<Option<Arc<BlockBuf>>, Error> {
        let place = {
            let state = lock(&self.state);
            find(&state, lsn)?
        };
        if let Place::Open(bytes) = place {
            return Ok(Some(Arc::new(BlockBuf::from_disk(bytes))));
        }
        let mut cache = lock(&self.cache);
        if let Some(block) = cache.block(lsn) {
            return Ok(Some(block));
        }
        let block = match place {
            Place::Queue(bytes) => BlockBuf::from_disk(bytes.to_vec()),
            Place::File(spot) => cache.fetch(&*self.file, lsn, spot)?,
            Place::Open(_) | Place::Nowhere => return Ok(None),
        };
        Ok(Some(cache.keep(block)))
    }
}

/// Where the block of a record is.
fn find(state: &State, lsn: Lsn) -> Result<Place, Error> {
    let is_it = |first: &Lsn| (first.vlf, first.block) == (lsn.vlf, lsn.block);
    if lsn > state.last {
        return Ok(Place::Nowhere);
    }
    if let Some((first, _)) = &state.open
        && is_it(first)
    {
        return Ok(state.open_block().transpose()?.map_or(Place::Nowhere, Place::Open));
    }
    let queued = state.queue.iter().find_map(|item| match item {
        Closed::Block { first, bytes, .. } if is_it(first) => Some(Arc::clone(bytes)),
        _ => None,
    });
    if let Some(bytes) = queued {
        return Ok(Place::Queue(bytes));
    }
    let spot_in = |vlf: &Vlf| {
        let at = u64::from(lsn.block) * SECTOR_BYTES as u64;
        let room =
            vlf.header.size.checked_sub(at).filter(|room| *room > 0 && at >= VLF_HEADER_AREA)?;
        Some(Spot { offset: vlf.offset + at, room })
    };
    Ok(state.vlfs.with_sequence(lsn.vlf).and_then(spot_in).map_or(Place::Nowhere, Place::File))
}

impl ReadCache {
    /// A block kept from before.
    fn block(&mut self, lsn: Lsn) -> Option<Arc<BlockBuf>> {
        let is_it = |block: &Arc<BlockBuf>| {
            let first = block.view().header().first_lsn;
            (first.vlf, first.block) == (lsn.vlf, lsn.block)
        };
        let index = self.blocks.iter().position(is_it)?;
        let block = self.blocks.remove(index)?;
        self.blocks.push_front(Arc::clone(&block));
        Some(block)
    }

    fn keep(&mut self, block: BlockBuf) -> Arc<BlockBuf> {
        let block = Arc::new(block);
        self.blocks.truncate(KEPT_BLOCKS - 1);
        self.blocks.push_front(Arc::clone(&block));
        block
    }

    /// Takes a block from a window, or from the file.
    fn fetch(&mut self, file: &dyn DiskFile, lsn: Lsn, spot: Spot) -> Result<BlockBuf, Error> {
        let start = spot.offset / WINDOW_BYTES * WINDOW_BYTES;
        if let Some(index) = self.windows.iter().position(|(window, _)| *window == start)
            && let Some(window) = self.windows.remove(index)
        {
            let bytes = window.1.get((spot.offset - start) as usize..).unwrap_or_default();
            if let Ok(block) = parse(bytes, lsn, spot) {
                self.windows.push_front(window);
                return Ok(block);
            }
            // It was read before the block was written, or the file was that long.
        }
        let mut bytes = vec![0; WINDOW_BYTES as usize + MAX_BLOCK_BYTES];
        let read = file.read_at(start, &mut bytes)?;
        bytes.truncate(read.max((spot.offset - start) as usize));
        let block = parse(&bytes[(spot.offset - start) as usize..], lsn, spot);
        self.windows.truncate(KEPT_WINDOWS - 1);
        self.windows.push_front((start, bytes));
        block.map_err(|what| Error::Corrupt { offset: spot.offset, what })
    }
}

/// The block at the start of `bytes`, when it is the one that holds `lsn`.
fn parse(bytes: &[u8], lsn: Lsn, spot: Spot) -> Result<BlockBuf, Damage> {
    let first = Lsn { slot: 1, ..lsn };
    let none = |reason| Damage::NoBlock { lsn: first, reason };
    let Some(sector) = bytes.first_chunk::<SECTOR_BYTES>() else {
        return Err(none(NoBlock::VlfFull));
    };
    if Stamp(sector[0]).is_unwritten() {
        return Err(none(NoBlock::NeverWritten));
    }
    let size = u16::from_le_bytes([sector[6], sector[7]]);
    let whole = bytes.get(..usize::from(size)).filter(|_| size > 0 && u64::from(size) <= spot.room);
    let Some(whole) = whole.filter(|whole| whole.len().is_multiple_of(SECTOR_BYTES)) else {
        return Err(none(NoBlock::Size { size }));
    };
    let block = BlockBuf::from_disk(whole.to_vec());
    let found = block.view().header().first_lsn;
    if found != first {
        return Err(none(NoBlock::Lsn { found }));
    }
    match damage_of(&block) {
        Some(fault) => Err(Damage::Block { lsn: first, fault }),
        None => Ok(block),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use extentdb_io::{Disk, MemDisk};

    use super::*;

    #[test]
    fn a_window_that_was_read_before_the_file_grew_is_read_again() {
        let disk = MemDisk::new();
        let path = Path::new("log.ldf");
        disk.put(path, vec![0; 8192]);
        let mut cache = ReadCache::default();
        let file = disk.open(path).unwrap();
        let lsn = Lsn { vlf: 1, block: 16, slot: 1 };
        let fetch = |cache: &mut ReadCache, file: &dyn DiskFile, offset| {
            cache.fetch(file, lsn, Spot { offset, room: 1 << 20 }).map(drop)
        };
        assert!(matches!(fetch(&mut cache, &*file, 512), Err(Error::Corrupt { offset: 512, .. })));
        disk.put(path, vec![0; 65536]);
        let file = disk.open(path).unwrap();
        assert!(matches!(
            fetch(&mut cache, &*file, 32256),
            Err(Error::Corrupt { offset: 32256, .. })
        ));
    }
}
