//! Writing changed pages: gathered, sorted, after their log, and after a copy of them.
//!
//! ```text
//! dirty pages, sorted by file and page
//!   ▼ batches: runs of neighbours of one file, up to 128 pages        ▼ groups: batches, up to 1024 pages
//! per page:   UP ─ copy ─ release          readers continue; a writer waits for one copy, never for the device
//! per group:  seal the copies ─ flush the log to the newest change in them ─ copies to the double-write area, durable ─
//!             in place: a write for each run, those of a batch submitted together ─ accounts of the files ─ frames clean
//! at last:    one sync per file
//! ```
//!
//! Invariants
//! - No latch is held while the log or a file is waited for.
//! - A page has at most one copy in flight, so an old image never overtakes a newer one.
//! - When a write or the flush of the log fails, the pages stay changed, and the pool is offline. A
//!   disk without room for the smallest double-write area is no failure: pages are written once,
//!   and an event reports it.

use std::time::Duration;

use extentdb_base::size::{PAGE_BYTES, SECTOR_BYTES};
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, lock, try_lock};
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageBytes, PageHeader, checksum};
use extentdb_io::{AlignedBuf, Durability as WriteDurability};
use extentdb_telemetry::Event;

use crate::buffer_memory::BufferMemory;
use crate::double_write::{Copy as PageCopy, HeldSegments};
use crate::file::PoolFile;
use crate::frame::{Frame, LatchWait, Tear, earlier};
use crate::guard::PageWriteGuard;
use crate::load::fault_of;
use crate::page_key::PageKey;
use crate::pool::{Pool, PoolCore};
use crate::registry::{Purpose, WritePages, WriteTotals};
use crate::stats::{Counters, WriteStats, count};
use crate::write_ahead::Durability;
use crate::{Error, PageFault};

/// Pages of one write, and of all writes of a batch: 1 MiB.
pub(crate) const GATHER_PAGES: usize = 128;
/// Pages whose copies become durable together: 8 MiB, so that the wait for it costs little compared
/// with the transfer.
const GROUP_PAGES: usize = 1024;
/// Pages written by a thread while another one gathers.
const CONCURRENT_RUN_PAGES: usize = 4;
const _: () = assert!(
    GROUP_PAGES.is_multiple_of(GATHER_PAGES),
    "a group of copies is a number of whole writes"
);
/// Buffers that stay for the next write.
const SPARE_BUFFERS: usize = 4;

/// Copies of pages being written.
struct Batch<'a> {
    core: &'a PoolCore,
    file: Arc<PoolFile>,
    /// The pages, in the order of their copies in the buffer.
    pages: Vec<u32>,
    frames: Vec<Arc<Frame>>,
    tears: Vec<Tear>,
    buffer: AlignedBuf,
    /// The log must be durable up to here.
    newest: Lsn,
    /// The first logged change in the copies.
    first: Lsn,
}

/// A thread that writes pages of a database, until this is dropped.
#[must_use = "the writing counts as ended when this is dropped"]
struct Writer<'a> {
    /// Of the database.
    writers: &'a AtomicUsize,
    /// Of the memory.
    databases: &'a AtomicUsize,
}

impl Pool {
    /// Writes every page that was dirty when the call began, and returns when it is durable. The
    /// caller holds no guard: pages that are being changed are waited for. Pages of an ephemeral
    /// database are not written.
    ///
    /// Scans all frames of the memory.
    ///
    /// # Errors
    /// The pool is offline.
    pub fn write_dirty(&self) -> Result<WriteStats, Error> {
        self.core.refuse_offline()?;
        match self.core.shared.durability {
            Durability::Logged => self.core.write_dirty(),
            Durability::Ephemeral => Ok(WriteStats::default()),
        }
    }

    /// Writes a page in place while its guard is held; it is durable when the call returns, and
    /// clean. For the boot page, where a restart begins: that of an ephemeral database is not
    /// written.
    ///
    /// # Errors
    /// The pool is offline.
    pub fn write_through(&self, guard: &mut PageWriteGuard) -> Result<(), Error> {
        self.core.refuse_offline()?;
        if self.core.shared.durability == Durability::Ephemeral {
            return Ok(());
        }
        let page = guard.id();
        self.core
            .write_guarded(guard)
            .inspect_err(|error| self.core.shared.go_offline(Some(page.file), error))
    }
}

impl PoolCore {
    fn write_dirty(&self) -> Result<WriteStats, Error> {
        let begun = self.shared.accounts.clock.monotonic();
        let dirty = self.memory.frames.iter().filter(|frame| frame.is_dirty());
        let keys = dirty.map(|frame| frame.key()).filter(|key| key.database() == self.number);
        let pages = each_once(keys.map(PageKey::page));
        let written = self.write_pages(&pages, LatchWait::Wait)?;
        count(&self.counters.checkpoint_pages, written.pages);
        let syncs = self.sync_files()?;
        let duration = self.shared.accounts.clock.monotonic().saturating_sub(begun);
        Ok(WriteStats {
            pages: written.pages,
            writes: written.writes,
            syncs,
            duration,
        })
    }

    /// The dirty neighbours of a page, and the page.
    fn dirty_run(&self, page: PageId, room: usize) -> Vec<PageId> {
        let is_dirty = |number: u32| {
            let neighbour = self.key(PageId { file: page.file, page: number });
            let shard = self.memory.table.shard(neighbour);
            shard.frame(neighbour).is_some_and(|frame| self.memory.frames[frame].is_dirty())
        };
        let below =
            (0..page.page).rev().take(room / 2).take_while(|number| is_dirty(*number)).count();
        let above =
            (page.page + 1..).take(room - 1 - below).take_while(|number| is_dirty(*number)).count();
        let first = page.page - below as u32;
        (first..=page.page + above as u32)
            .map(|number| PageId { file: page.file, page: number })
            .collect()
    }

    /// Up to `room` dirty pages of this database that are not in use and were not used since the
    /// clock's last turn, in the order of the clock.
    fn cold_dirty_pages(&self, room: usize) -> Vec<PageId> {
        let ahead = self.memory.frames_ahead().take(8 * room);
        let cold = ahead
            .filter(|frame| frame.is_dirty() && !frame.has_chance() && !Frame::is_fixed(frame));
        let keys = cold.map(|frame| frame.key()).filter(|key| key.database() == self.number);
        keys.map(PageKey::page).take(room).collect()
    }

    /// Writes those of these pages that are dirty, group by group; without waiting, only those that
    /// are not latched.
    fn write_pages(&self, pages: &[PageId], latch_wait: LatchWait) -> Result<WriteTotals, Error> {
        let _writer = self.begin_writing();
        let mut written = WriteTotals::default();
        let mut rest = pages;
        let mut group_room = self.group_room();
        while !rest.is_empty() {
            let mut group = Vec::new();
            let mut left = rest;
            let mut room = group_room;
            let batch_room = self.batch_room().min(group_room);
            while let Some(batch) = next_batch(left, batch_room).filter(|batch| batch.len() <= room)
            {
                group.push(self.copy_pages(batch, latch_wait)?);
                room -= batch.len();
                left = &left[batch.len()..];
            }
            match self.write_group(&mut group) {
                // What was copied counts as changed as before: it is written in smaller groups.
                Err(Error::DoubleWriteTooSmall) if group_room > 1 => {
                    let one = self.double_write.as_ref().map_or(1, |area| area.images_of_one());
                    group_room = one.min(group_room / 2).max(1);
                }
                done => {
                    written.add(done?);
                    rest = left;
                }
            }
        }
        Ok(written)
    }

    /// Copies those of the pages of one file that are dirty.
    fn copy_pages(&self, pages: &[PageId], latch_wait: LatchWait) -> Result<Batch<'_>, Error> {
        let file = pages.first().map_or(extentdb_base::FileId(0), |first| first.file);
        let mut batch = Batch::new(self, self.pool_file(file)?);
        for page in pages {
            batch.add(*page, latch_wait)?;
        }
        Ok(batch)
    }

    /// Writes the copies of a group: to the double-write area, then in place.
    fn write_group(&self, group: &mut [Batch<'_>]) -> Result<WriteTotals, Error> {
        let _under_way = self.memory.writing.begin();
        let transferred = self.transfer(group);
        if let Err(error) = &transferred
            && !matches!(error, Error::DoubleWriteTooSmall)
        {
            let file = if let Error::Disk { file, .. } = error { Some(*file) } else { None };
            self.shared.go_offline(file, error);
        }
        let held = transferred?;
        let mut written = WriteTotals::default();
        for batch in group {
            written.add(batch.end());
        }
        held.in_place();
        Ok(written)
    }

    fn transfer(&self, group: &[Batch<'_>]) -> Result<HeldSegments<'_>, Error> {
        self.refuse_offline()?;
        let newest = group.iter().map(|batch| batch.newest).max().unwrap_or(Lsn::ZERO);
        self.flush_log(newest)?;
        let copies: Vec<PageCopy<'_>> = group.iter().flat_map(Batch::harmful).collect();
        let held = self.protect(&copies, newest)?;
        for batch in group {
            batch.write_in_place()?;
        }
        Ok(held)
    }

    /// Makes copies durable, where pages are written twice.
    fn protect(
        &self,
        copies: &[PageCopy<'_>],
        log_durable: Lsn,
    ) -> Result<HeldSegments<'_>, Error> {
        match &self.double_write {
            Some(area) if !copies.is_empty() => {
                match area.protect(copies, log_durable, &|| self.sync_files().map(drop)) {
                    Err(error) if error.is_full() => {
                        self.note_unprotected(true);
                        Ok(HeldSegments::none())
                    }
                    held => {
                        self.note_unprotected(false);
                        held
                    }
                }
            }
            _ => Ok(HeldSegments::none()),
        }
    }

    fn note_unprotected(&self, is_unprotected: bool) {
        if self.is_unprotected.swap(is_unprotected, Ordering::Relaxed) != is_unprotected
            && is_unprotected
        {
            self.shared.events.event(&Event::PagesUnprotected);
        }
    }

    /// Makes the log durable up to the newest change of a copy. The pages of an ephemeral database
    /// do not wait for it: no restart reads them.
    fn flush_log(&self, newest: Lsn) -> Result<(), Error> {
        if newest.is_zero() || self.shared.durability == Durability::Ephemeral {
            return Ok(());
        }
        Ok(self.log.flush_to(newest)?)
    }

    fn write_guarded(&self, guard: &mut PageWriteGuard) -> Result<(), Error> {
        let page = guard.id();
        let file = self.pool_file(page.file)?;
        // With EX held no other copy is made; one in progress must not be written after this one.
        let frame = guard.frame();
        let newest = frame.wait_for_write();
        let mut image = PageBuf::zeroed();
        image.copy_from_slice(&guard[..]);
        seal(page, &mut image).map_err(|fault| Error::BadPage { page, fault })?;
        self.flush_log(newest)?;
        let offset = u64::from(page.page) * PAGE_BYTES as u64;
        let disk_error = |source| Error::Disk { file: page.file, source };
        let copies = [(page, &image[..])];
        let copies = if self.may_tear(&file, page, &image)? { &copies[..] } else { &[] };
        let held = self.protect(copies, newest)?;
        file.disk.write_at(offset, &[&image[..]], WriteDurability::Through).map_err(disk_error)?;
        frame.set_clean();
        held.in_place();
        Ok(())
    }

    /// Can an interrupted write tear the page? Not when old and new page differ in one sector only.
    fn may_tear(&self, file: &PoolFile, page: PageId, image: &PageBytes) -> Result<bool, Error> {
        let mut stored = PageBuf::zeroed();
        self.read_run(file, page.page, &mut stored[..])?;
        let sectors = stored.chunks(SECTOR_BYTES).zip(image.chunks(SECTOR_BYTES));
        Ok(sectors.filter(|(old, new)| old != new).count() > 1 || self.has_image(page))
    }

    /// Would a restart find an older image of the page?
    fn has_image(&self, page: PageId) -> bool {
        self.double_write.as_ref().is_some_and(|area| area.has_image(page))
    }

    /// Makes all pages that were written durable. Returns the number of files that needed it.
    pub(crate) fn sync_files(&self) -> Result<u64, Error> {
        match &self.double_write {
            Some(area) => area.sync_with(|| self.sync_each_file()),
            None => self.sync_each_file(),
        }
    }

    fn sync_each_file(&self) -> Result<u64, Error> {
        let mut syncs = 0;
        for file in self.all_files() {
            self.refuse_offline()?;
            let begun = self.shared.accounts.clock.monotonic();
            let writes = file.sync().map_err(|source| {
                let error = Error::Disk { file: file.id, source };
                self.shared.go_offline(Some(file.id), &error);
                error
            })?;
            if writes > 0 {
                let duration: Duration =
                    self.shared.accounts.clock.monotonic().saturating_sub(begun);
                self.shared.events.event(&Event::MakeWritesDurable {
                    file: file.id,
                    writes,
                    duration,
                });
                count(&self.counters.syncs, 1);
                syncs += 1;
            }
        }
        Ok(syncs)
    }

    /// Pages of a batch. Their frames are fixed until it is written: a small memory needs most of
    /// its frames for other pages, some of which the batch depends on.
    fn batch_room(&self) -> usize {
        GATHER_PAGES.min(self.memory.share() / 4).max(1)
    }

    /// Pages of a group, for the same reason.
    fn group_room(&self) -> usize {
        GROUP_PAGES.min(self.memory.share() / 8).max(self.batch_room())
    }

    /// Counts the database among those that write.
    fn begin_writing(&self) -> Writer<'_> {
        if self.writers.fetch_add(1, Ordering::Relaxed) == 0 {
            self.memory.writing_databases.fetch_add(1, Ordering::Relaxed);
        }
        Writer {
            writers: &self.writers,
            databases: &self.memory.writing_databases,
        }
    }
}

impl WritePages for PoolCore {
    fn write_around(&self, page: PageId, purpose: Purpose) -> Result<WriteTotals, Error> {
        self.refuse_offline()?;
        let room = self.batch_room();
        // One gathers for all: several would fix all frames of a small pool.
        let turn = self.double_write.as_ref().and_then(|_| try_lock(&self.memory.gathering));
        let run = if turn.is_some() || self.double_write.is_none() {
            room
        } else {
            room.min(CONCURRENT_RUN_PAGES)
        };
        let mut pages = self.dirty_run(page, run);
        if turn.is_some() {
            pages.extend(self.cold_dirty_pages(room.saturating_sub(pages.len())));
        }
        let written = self.write_pages(&each_once(pages.into_iter()), LatchWait::AtOnce)?;
        if purpose == Purpose::LazyWriter {
            count(&self.counters.lazy_writes, written.pages);
        }
        Ok(written)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.writers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.databases.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl BufferMemory {
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
    fn new(core: &'a PoolCore, file: Arc<PoolFile>) -> Self {
        Batch {
            core,
            file,
            pages: Vec::new(),
            frames: Vec::new(),
            tears: Vec::new(),
            buffer: core.memory.take_buffer(),
            newest: Lsn::ZERO,
            first: Lsn::ZERO,
        }
    }

    /// Adds a copy of `page` unless it is clean or, without waiting, it is latched.
    fn add(&mut self, page: PageId, latch_wait: LatchWait) -> Result<(), Error> {
        let Some(frame) = self.core.cached(page).filter(|frame| frame.is_dirty()) else {
            return Ok(());
        };
        let (images, _) = self.buffer.as_chunks_mut::<PAGE_BYTES>();
        let copy = &mut images[self.frames.len()];
        let image = match Frame::begin_write(&frame, copy, latch_wait) {
            Ok(Some(image)) => image,
            Ok(None) => return Ok(()),
            Err(fault) => return Err(self.core.unsound(page, fault)),
        };
        self.pages.push(page.page);
        self.frames.push(frame);
        self.tears.push(image.tear);
        self.newest = self.newest.max(image.newest);
        self.first = earlier(self.first, image.first);
        seal(page, copy).map_err(|fault| self.core.unsound(page, fault))
    }

    /// The copies whose pages must not be torn, or whose older images must not be found.
    fn harmful(&self) -> impl Iterator<Item = PageCopy<'_>> {
        let images = self.buffer.chunks(PAGE_BYTES);
        let pages = self.pages.iter().map(|page| PageId { file: self.file.id, page: *page });
        let copies = pages.zip(images).zip(&self.tears);
        let harmful = copies
            .filter(|((page, _), tear)| **tear == Tear::Harmful || self.core.has_image(*page));
        harmful.map(|(copy, _)| copy)
    }

    fn write_in_place(&self) -> Result<(), Error> {
        let runs = runs_of(&self.pages, &self.buffer);
        let Some((offset, _)) = runs.first() else { return Ok(()) };
        let begun = self.core.shared.accounts.clock.monotonic();
        let outcome = self.file.disk.write_many(&runs);
        self.core.note_io(self.file.id, *offset, begun);
        outcome.map_err(|source| Error::Disk { file: self.file.id, source })
    }

    /// The copies are in place.
    fn end(&mut self) -> WriteTotals {
        let writes = runs_of(&self.pages, &self.buffer).len() as u64;
        let written = WriteTotals { pages: self.frames.len() as u64, writes };
        // The file's account first: a change is in one of the two at every moment.
        self.file.note_writes(written.writes, self.first);
        self.frames.drain(..).for_each(|frame| frame.end_write());
        let Counters { page_writes, write_calls, .. } = &self.core.counters;
        count(page_writes, written.pages);
        count(write_calls, written.writes);
        written
    }
}

impl Drop for Batch<'_> {
    /// What was added and not written counts as changed as before.
    fn drop(&mut self) {
        self.frames.drain(..).for_each(|frame| frame.fail_write());
        let buffer = std::mem::replace(&mut self.buffer, AlignedBuf::zeroed(0));
        self.core.memory.give_buffer(buffer);
    }
}

impl PoolCore {
    /// The page's frame if it is in memory, fixed; this is no use that earns a second chance.
    pub(crate) fn cached(&self, page: PageId) -> Option<Arc<Frame>> {
        let key = self.key(page);
        let shard = self.memory.table.shard(key);
        shard.frame(key).map(|frame| Arc::clone(&self.memory.frames[frame]))
    }

    /// A page in memory must not be written. Nothing is durable from here on.
    fn unsound(&self, page: PageId, fault: PageFault) -> Error {
        let error = Error::BadPage { page, fault };
        self.shared.go_offline(Some(page.file), &error);
        error
    }
}

/// Protects a copy by a checksum, and refuses what would not be accepted when read again. A page
/// that was created and never formatted stays zeros.
fn seal(page: PageId, copy: &mut PageBytes) -> Result<(), PageFault> {
    if PageHeader::of(copy).header_version == 0 && copy.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    checksum::seal(copy);
    fault_of(page, copy).map_or(Ok(()), Err)
}

/// The pages in order, each once. One that was written, thrown out and read again while the frames
/// were looked at is met in both of its frames; a batch that held it twice would wait for itself
/// for ever, since a page has one copy in flight.
fn each_once(pages: impl Iterator<Item = PageId>) -> Vec<PageId> {
    let mut pages: Vec<PageId> = pages.collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// The first pages of a sorted list that make a batch: a run of neighbours, and more of the same
/// file as far as there is `room`. A run that does not fit any more begins the next batch, so that
/// it stays one write, unless it is longer than any batch.
fn next_batch(pages: &[PageId], room: usize) -> Option<&[PageId]> {
    let file = pages.first()?.file;
    let mut end = next_run(pages, room)?.len();
    while let Some(run) = pages.get(end..).and_then(|pages| next_run(pages, room)) {
        if end + run.len() > room || run.iter().any(|page| page.file != file) {
            break;
        }
        end += run.len();
    }
    pages.get(..end)
}

/// The first pages of a sorted list, as far as they are neighbours and fit one batch.
fn next_run(pages: &[PageId], room: usize) -> Option<&[PageId]> {
    let first = pages.first()?;
    let neighbours = pages.iter().zip(first.page..).take(room);
    let len = neighbours
        .take_while(|(page, number)| page.file == first.file && page.page == *number)
        .count();
    pages.get(..len)
}

/// Adjacent copies of a buffer as writes: one for each run of neighbouring pages, with its offset
/// in the file.
fn runs_of<'a>(pages: &[u32], buffer: &'a [u8]) -> Vec<(u64, &'a [u8])> {
    let mut left = &buffer[..pages.len() * PAGE_BYTES];
    let runs = pages.chunk_by(|page, next| page + 1 == *next);
    runs.map(|run| {
        let (bytes, rest) = left.split_at(run.len() * PAGE_BYTES);
        left = rest;
        (u64::from(run[0]) * PAGE_BYTES as u64, bytes)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use extentdb_base::FileId;

    use super::*;

    fn pages(file: u16, runs: &[(u32, u32)]) -> Vec<PageId> {
        let numbers = runs.iter().flat_map(|(first, count)| *first..first + count);
        numbers.map(|page| PageId { file: FileId(file), page }).collect()
    }

    /// Lengths of the batches that a sorted list falls into.
    fn batches(mut pages: &[PageId], room: usize) -> Vec<usize> {
        let mut lengths = Vec::new();
        while let Some(batch) = next_batch(pages, room) {
            lengths.push(batch.len());
            pages = &pages[batch.len()..];
        }
        lengths
    }

    #[test]
    fn a_page_met_in_two_frames_is_written_once() {
        let met = pages(1, &[(9, 1), (3, 2), (9, 1), (4, 1)]);
        assert_eq!(each_once(met.into_iter()), pages(1, &[(3, 2), (9, 1)]));
    }

    #[test]
    fn a_batch_is_whole_runs_of_one_file() {
        let of_128 = |pages: &[PageId]| batches(pages, 128);
        assert_eq!(of_128(&[]), []);
        assert_eq!(of_128(&pages(1, &[(10, 1)])), [1]);
        assert_eq!(of_128(&pages(1, &[(10, 3), (20, 5), (30, 120)])), [128]);
        assert_eq!(
            of_128(&pages(1, &[(10, 3), (20, 5), (30, 121)])),
            [8, 121],
            "no run is cut in two"
        );
        assert_eq!(of_128(&pages(1, &[(0, 300)])), [128, 128, 44]);
        assert_eq!(of_128(&pages(1, &[(5, 1), (10, 300), (400, 84)])), [1, 128, 128, 128]);
        let files = [pages(1, &[(8, 2)]), pages(3, &[(10, 2), (14, 1)])].concat();
        assert_eq!(of_128(&files), [2, 3]);
        let scattered: Vec<(u32, u32)> = (0..300).map(|number| (number * 2, 1)).collect();
        assert_eq!(of_128(&pages(1, &scattered)), [128, 128, 44]);
        // The pool has no more frames than this.
        assert_eq!(batches(&pages(1, &[(10, 3), (20, 5), (30, 1), (40, 2)]), 4), [3, 4, 4]);
        assert_eq!(batches(&pages(1, &[(10, 2), (14, 1)]), 1), [1, 1, 1]);
    }

    #[test]
    fn copies_are_written_run_by_run_each_at_its_offset() {
        let mut buffer = vec![0; 6 * PAGE_BYTES];
        buffer.chunks_mut(PAGE_BYTES).zip(1_u8..).for_each(|(copy, number)| copy.fill(number));
        let runs = runs_of(&[7, 8, 3, 20, 21], &buffer);
        let seen: Vec<(u64, usize, u8)> = runs
            .iter()
            .map(|(offset, bytes)| (*offset, bytes.len() / PAGE_BYTES, bytes[0]))
            .collect();
        assert_eq!(seen, [(7 * 8192, 2, 1), (3 * 8192, 1, 3), (20 * 8192, 2, 4)]);
        assert!(runs_of(&[], &buffer).is_empty());
    }
}
