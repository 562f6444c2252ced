//! Writing changed pages: gathered, sorted, after their log.
//!
//! ```text
//! dirty pages, sorted by file and page
//!   ▼ runs of neighbours, up to 128 pages
//! per page:  UP ─ copy ─ release          readers go on; a writer waits for one copy, never for the device
//! per run:   seal the copies ─ flush the log to the newest change in them ─ one write ─ file's account ─ frames clean
//! per file:  one sync
//! ```
//!
//! Invariants
//! - No latch is held while the log or a file is waited for.
//! - A page has at most one copy in flight, so an old image never overtakes a newer one.
//! - When a write or the flush of the log fails, the pages count as changed as before, and the pool is offline.

use std::time::Duration;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{Lsn, PageId};
use extentdb_format::page::{PageBytes, PageHeader, checksum};
use extentdb_io::{AlignedBuf, Durability};
use extentdb_telemetry::Event;

use crate::file::PoolFile;
use crate::frame::{Frame, Patience, earlier};
use crate::load::fault_of;
use crate::pool::Pool;
use crate::stats::{Counters, WriteStats, count};
use crate::{Error, PageFault};

/// Pages of one write: 1 MiB.
pub(crate) const GATHER_PAGES: usize = 128;
/// Buffers kept for the next write.
const SPARE_BUFFERS: usize = 4;

/// Copies of neighbouring pages on their way to the file.
struct Batch<'a> {
    pool: &'a Pool,
    file: Arc<PoolFile>,
    first_page: u32,
    frames: Vec<Arc<Frame>>,
    buffer: AlignedBuf,
    /// The log must be durable up to here.
    newest: Lsn,
    /// The first logged change in the copies.
    first: Lsn,
}

/// What was written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) pages: u64,
    pub(crate) writes: u64,
}

impl Pool {
    /// Writes every page that was dirty when the call began, and returns when it is durable. The caller holds no guard: pages
    /// that are being changed are waited for.
    pub fn write_dirty(&self) -> Result<WriteStats, Error> {
        self.refuse_offline()?;
        let begun = self.shared.accounts.clock.monotonic();
        let mut dirty: Vec<PageId> =
            self.frames.iter().filter(|frame| frame.is_dirty()).map(|frame| frame.page()).collect();
        dirty.sort_unstable();
        let mut written = Written::default();
        let mut rest = dirty.as_slice();
        while let Some(run) = next_run(rest) {
            written.add(self.write_run(run, Patience::Wait)?);
            rest = &rest[run.len()..];
        }
        count(&self.counters.checkpoint_pages, written.pages);
        let syncs = self.sync_files()?;
        let duration = self.shared.accounts.clock.monotonic().saturating_sub(begun);
        Ok(WriteStats { pages: written.pages, writes: written.writes, syncs, duration })
    }

    /// Writes the page of a frame together with neighbours that are dirty and free at once. Not durable before the next sync.
    pub(crate) fn write_around(&self, index: usize) -> Result<Written, Error> {
        self.refuse_offline()?;
        let page = self.frames[index].page();
        if page.is_none() {
            return Ok(Written::default());
        }
        let is_dirty = |number: u32| {
            let neighbour = PageId { file: page.file, page: number };
            let shard = self.table.shard(neighbour);
            shard.frame(neighbour).is_some_and(|frame| self.frames[frame].is_dirty())
        };
        let below =
            (0..page.page).rev().take(GATHER_PAGES / 2).take_while(|number| is_dirty(*number)).count();
        let above =
            (page.page + 1..).take(GATHER_PAGES - 1 - below).take_while(|number| is_dirty(*number)).count();
        let first = page.page - below as u32;
        let run: Vec<PageId> = (first..=page.page + above as u32)
            .map(|number| PageId { file: page.file, page: number })
            .collect();
        self.write_run(&run, Patience::AtOnce)
    }

    /// Makes all pages that were written durable. Returns the number of files that needed it.
    fn sync_files(&self) -> Result<u64, Error> {
        let mut syncs = 0;
        for file in self.all_files() {
            self.refuse_offline()?;
            let begun = self.shared.accounts.clock.monotonic();
            let writes = file.sync().map_err(|source| {
                self.shared.go_offline(Some(file.id));
                Error::Disk { file: file.id, source }
            })?;
            if writes > 0 {
                let duration: Duration = self.shared.accounts.clock.monotonic().saturating_sub(begun);
                self.shared.events.event(&Event::MakeWritesDurable { file: file.id, writes, duration });
                count(&self.counters.syncs, 1);
                syncs += 1;
            }
        }
        Ok(syncs)
    }

    /// Writes those of the neighbouring pages that are still dirty.
    fn write_run(&self, run: &[PageId], patience: Patience) -> Result<Written, Error> {
        let mut written = Written::default();
        let Some(start) = run.first() else { return Ok(written) };
        let file = self.pool_file(start.file)?;
        let mut batch = Batch::new(self, file);
        for page in run {
            if !batch.add(*page, patience)? {
                // A page that is clean again, or busy: the write goes up to here.
                written.add(batch.write()?);
            }
        }
        written.add(batch.write()?);
        Ok(written)
    }

    fn take_buffer(&self) -> AlignedBuf {
        let spare = lock(&self.buffers).pop();
        spare.unwrap_or_else(|| AlignedBuf::zeroed(GATHER_PAGES * PAGE_BYTES))
    }

    fn give_buffer(&self, buffer: AlignedBuf) {
        let mut buffers = lock(&self.buffers);
        if buffers.len() < SPARE_BUFFERS {
            buffers.push(buffer);
        }
    }

    /// Runs `work` with a buffer of [`GATHER_PAGES`] pages.
    pub(crate) fn with_buffer<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut buffer = self.take_buffer();
        let result = work(&mut buffer);
        self.give_buffer(buffer);
        result
    }
}

impl<'a> Batch<'a> {
    fn new(pool: &'a Pool, file: Arc<PoolFile>) -> Self {
        Batch {
            pool,
            file,
            first_page: 0,
            frames: Vec::new(),
            buffer: pool.take_buffer(),
            newest: Lsn::ZERO,
            first: Lsn::ZERO,
        }
    }

    /// Adds a copy of `page`, the neighbour of the last one added; false when there is nothing to write or, without patience, it is
    /// busy.
    fn add(&mut self, page: PageId, patience: Patience) -> Result<bool, Error> {
        let Some(frame) = self.pool.cached(page).filter(|frame| frame.is_dirty()) else { return Ok(false) };
        let (images, _) = self.buffer.as_chunks_mut::<PAGE_BYTES>();
        let copy = &mut images[self.frames.len()];
        let image = match Frame::begin_write(&frame, copy, patience) {
            Ok(Some(image)) => image,
            Ok(None) => return Ok(false),
            Err(fault) => return Err(self.pool.unsound(page, fault)),
        };
        if self.frames.is_empty() {
            self.first_page = page.page;
        }
        self.frames.push(frame);
        self.newest = self.newest.max(image.newest);
        self.first = earlier(self.first, image.first);
        seal(page, copy).map_err(|fault| self.pool.unsound(page, fault))?;
        Ok(true)
    }

    /// Writes what was added and starts again with nothing.
    fn write(&mut self) -> Result<Written, Error> {
        if self.frames.is_empty() {
            return Ok(Written::default());
        }
        if let Err(error) = self.transfer() {
            let file = matches!(error, Error::Disk { .. }).then_some(self.file.id);
            self.pool.shared.go_offline(file);
            return Err(error);
        }
        // The file's account first: a change is in one of the two at every moment.
        self.file.note_write(self.first);
        let pages = self.frames.len() as u64;
        self.frames.drain(..).for_each(|frame| frame.end_write());
        (self.newest, self.first) = (Lsn::ZERO, Lsn::ZERO);
        let Counters { page_writes, write_calls, .. } = &self.pool.counters;
        count(page_writes, pages);
        count(write_calls, 1);
        Ok(Written { pages, writes: 1 })
    }

    fn transfer(&self) -> Result<(), Error> {
        self.pool.refuse_offline()?;
        if !self.newest.is_zero() {
            self.pool.log.flush_to(self.newest)?;
        }
        let offset = u64::from(self.first_page) * PAGE_BYTES as u64;
        let bytes = &self.buffer[..self.frames.len() * PAGE_BYTES];
        let begun = self.pool.shared.accounts.clock.monotonic();
        let outcome = self.file.disk.write_at(offset, &[bytes], Durability::Deferred);
        self.pool.note_io(self.file.id, offset, begun);
        outcome.map_err(|source| Error::Disk { file: self.file.id, source })
    }
}

impl Drop for Batch<'_> {
    /// What was added and not written counts as changed as before.
    fn drop(&mut self) {
        self.frames.drain(..).for_each(|frame| frame.fail_write());
        let buffer = std::mem::replace(&mut self.buffer, AlignedBuf::zeroed(0));
        self.pool.give_buffer(buffer);
    }
}

impl Written {
    fn add(&mut self, more: Written) {
        self.pages += more.pages;
        self.writes += more.writes;
    }
}

impl Pool {
    /// The page's frame if it is in memory, fixed; this is no use that earns a second chance.
    fn cached(&self, page: PageId) -> Option<Arc<Frame>> {
        let shard = self.table.shard(page);
        shard.frame(page).map(|frame| Arc::clone(&self.frames[frame]))
    }

    /// A page in memory must not be written. Nothing is durable from here on.
    fn unsound(&self, page: PageId, fault: PageFault) -> Error {
        self.shared.go_offline(Some(page.file));
        Error::BadPage { page, fault }
    }
}

/// Protects a copy by a checksum, and refuses what would not be accepted when read again. A page that was created and never
/// formatted stays zeros.
fn seal(page: PageId, copy: &mut PageBytes) -> Result<(), PageFault> {
    if PageHeader::of(copy).header_version == 0 && copy.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    checksum::seal(copy);
    fault_of(page, copy).map_or(Ok(()), Err)
}

/// The first pages of a sorted list, as far as they are neighbours and fit one write.
fn next_run(pages: &[PageId]) -> Option<&[PageId]> {
    let first = pages.first()?;
    let neighbours = pages.iter().zip(first.page..).take(GATHER_PAGES);
    let len = neighbours.take_while(|(page, number)| page.file == first.file && page.page == *number).count();
    pages.get(..len)
}
