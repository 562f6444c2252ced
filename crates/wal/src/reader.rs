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

use std::ops::ControlFlow;

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::{Arc, lock};
use extentdb_format::log::block::BlockBuf;
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{Op, RecordRef, Vlf};

use crate::error::Error;
use crate::log_manager::Log;
use crate::read_cache::BlockPosition;
use crate::state::{Closed, FORMAT, State};

/// Where a block is.
enum BlockSource {
    /// Still open; this is what it would be on disk now.
    Open(Vec<u8>),
    /// Closed and not durable yet, in its disk form.
    Queue(Arc<Vec<u8>>),
    /// In the file.
    File(BlockPosition),
    Nowhere,
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
            at = self.next_block(at, view.header().size);
        }
        Ok(())
    }

    /// LSN of the block after one of `size` bytes.
    fn next_block(&self, block: Lsn, size: u16) -> Lsn {
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
        let source = {
            let state = lock(&self.state);
            find(&state, lsn)?
        };
        if let BlockSource::Open(bytes) = source {
            return Ok(Some(Arc::new(BlockBuf::from_disk(bytes))));
        }
        let mut cache = lock(&self.cache);
        if let Some(block) = cache.block(lsn) {
            return Ok(Some(block));
        }
        let block = match source {
            BlockSource::Queue(bytes) => BlockBuf::from_disk(bytes.to_vec()),
            BlockSource::File(position) => cache.fetch(&*self.file, lsn, position)?,
            BlockSource::Open(_) | BlockSource::Nowhere => return Ok(None),
        };
        Ok(Some(cache.keep(block)))
    }
}

/// Where the block of a record is.
fn find(state: &State, lsn: Lsn) -> Result<BlockSource, Error> {
    let is_it = |first: &Lsn| (first.vlf, first.block) == (lsn.vlf, lsn.block);
    if lsn > state.last {
        return Ok(BlockSource::Nowhere);
    }
    if let Some((first, _)) = &state.open
        && is_it(first)
    {
        return Ok(state.open_block().transpose()?.map_or(BlockSource::Nowhere, BlockSource::Open));
    }
    let queued = state.queue.iter().find_map(|item| match item {
        Closed::Block { first, bytes, .. } if is_it(first) => Some(Arc::clone(bytes)),
        _ => None,
    });
    if let Some(bytes) = queued {
        return Ok(BlockSource::Queue(bytes));
    }
    let spot_in = |vlf: &Vlf| {
        let at = u64::from(lsn.block) * SECTOR_BYTES as u64;
        let room =
            vlf.header.size.checked_sub(at).filter(|room| *room > 0 && at >= VLF_HEADER_AREA)?;
        Some(BlockPosition { offset: vlf.offset + at, room })
    };
    Ok(state
        .vlfs
        .with_sequence(lsn.vlf)
        .and_then(spot_in)
        .map_or(BlockSource::Nowhere, BlockSource::File))
}
