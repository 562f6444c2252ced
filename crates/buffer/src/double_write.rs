//! Torn pages are survived: pages are written twice, as in InnoDB's doublewrite buffer.
//!
//! ```text
//! group of copies ──▶ free segments of the area, durable ──▶ in place ──▶ segments wait for the sync of the files ──▶ free
//! restart: every image of the area whose page in place is damaged replaces it    (repair.rs)
//! ```
//!
//! Where we differ: a page that was formatted since it was last written needs no copy, because redo
//! formats it again by its `FORMAT_PAGE` record and never reads it. The area is created when the
//! database is opened, of the smallest size, grows segment by segment, and is removed by a clean
//! close.
//!
//! Invariants
//! - A page is written in place only when its image is durable in the area, or the page in place is
//!   not read after a crash.
//! - A segment is reused only when all its pages are durable in place, and of those the one whose
//!   batch is the oldest: while an image of a page lies in the area, all later ones do, too. So the
//!   newest image is what the last write in place has put there, also of a page that has rotted
//!   since, which an older image would make older.
//! - For the same reason a page that needs no copy gets one while an image of it lies in the area.
//! - Segments are acquired after the copies are made, without a latch: their holders wait for the
//!   disk only. The holder of a segment never waits for another busy one: on a full disk there may
//!   be one only, and its holder writes smaller groups.
//!
//! Crash example. Pages 8 and 9 are dirty, and older in the file.
//!
//! 1. Both are copied, and their images written to segment 0: directory, image of 8, image of 9.
//! 2. Power cut during this write: restart finds a directory or an image whose checksum fails, and
//!    does not use it. Both pages are whole in place, in their older state; redo continues them.
//! 3. Without that cut the segment is durable, and the write in place begins: 8 is half written.
//! 4. Power cut. Restart: 8 fails its page checksum, and its image replaces it; 9 is whole, in its
//!    older state. Redo continues both.
//! 5. Had 9 been written and 8 not, the same holds: an image replaces no page that is whole.

mod repair;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use extentdb_base::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait};
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::double_write::{
    AreaHeader, Directory, DirectoryEntry, IMAGES_MAX, segment_offset,
};
use extentdb_io::{Disk, DiskFile, Durability, Fill};

use crate::Error;

pub use repair::{Area, Repaired};

/// Segments of the area at most.
const SEGMENTS_MAX: usize = 16;
/// Images of the smallest segment.
const IMAGES_MIN: u32 = 4;
const _: () = assert!(
    IMAGES_MIN as usize <= IMAGES_MAX,
    "the directory of the smallest segment names all its images"
);

/// The double-write area of a database. See the module.
#[derive(Debug)]
pub struct DoubleWrite {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    state: Mutex<AreaState>,
    /// A segment is not in use any more, or waits for a sync.
    changed: Condvar,
}

#[derive(Debug)]
struct AreaState {
    /// On a disk without room its segments are smaller than requested.
    header: AreaHeader,
    /// None while the disk has no room for the smallest area.
    file: Option<Arc<dyn DiskFile>>,
    segments: Vec<Segment>,
    /// Number of the last batch.
    batch: u64,
    /// Pages with images in the area, and the batch of the newest.
    images: HashMap<PageId, u64>,
    /// The batch of each segment, and its pages.
    pages: Vec<(u64, Vec<PageId>)>,
}

impl AreaState {
    /// The free segment whose images are the oldest.
    fn oldest_free(&self) -> Option<usize> {
        let free = self.segments.iter().enumerate().filter_map(|(index, segment)| match segment {
            Segment::Free { batch } => Some((*batch, index)),
            _ => None,
        });
        free.min().map(|(_, index)| index)
    }

    /// Other images come into a segment.
    fn note_images(&mut self, index: usize, batch: u64, copies: &[Copy<'_>]) {
        let Some(lying) = self.pages.get_mut(index) else { return };
        let (old, pages) = std::mem::replace(lying, (batch, Vec::new()));
        for page in pages {
            if self.images.get(&page) == Some(&old) {
                self.images.remove(&page);
            }
        }
        lying.1.extend(copies.iter().map(|(page, _)| *page));
        self.images.extend(copies.iter().map(|(page, _)| (*page, batch)));
    }
}

/// What a segment is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Segment {
    /// Its images are of no use, but still there.
    Free {
        /// Their batch; 0 when there are none.
        batch: u64,
    },
    /// Its pages are being written, to it or in place.
    Busy,
    /// The pages of this batch have been written in place, and are not known to be durable there.
    InPlace { batch: u64 },
}

/// Segments that hold the images of pages which are about to be written in place.
#[derive(Debug)]
#[must_use = "segments stay busy until they are given back"]
pub(crate) struct HeldSegments<'a> {
    area: Option<&'a DoubleWrite>,
    segments: Vec<(usize, u64)>,
    is_in_place: bool,
}

/// A page that needs a copy, and its image.
pub(crate) type Copy<'a> = (PageId, &'a [u8]);

/// What a segment is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentDemand {
    /// The caller holds none, and waits for one.
    First,
    Further,
}

/// Outcome of acquiring a segment.
enum SegmentGrant {
    Segment {
        index: usize,
        batch: u64,
    },
    /// All wait for a sync.
    SyncFirst,
    /// All are busy, and there cannot be more.
    Busy,
}

impl DoubleWrite {
    /// The area of a database at `path`, where no file is yet, or one that [`Area::renew`] has made
    /// ready.
    pub fn new(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        header: AreaHeader,
        file: Option<Arc<dyn DiskFile>>,
    ) -> DoubleWrite {
        let state = AreaState {
            header,
            file,
            segments: Vec::new(),
            batch: 0,
            images: HashMap::new(),
            pages: Vec::new(),
        };
        DoubleWrite {
            disk,
            path,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Makes the first segment, so that a disk which fills up later does not matter. A disk that is
    /// full already does: then the next write of a page tries again.
    ///
    /// # Errors
    /// The disk refuses for another reason.
    pub fn prepare(&self) -> Result<(), extentdb_io::Error> {
        let mut state = lock(&self.state);
        if !state.segments.is_empty() {
            return Ok(());
        }
        match self.add_segment(&mut state) {
            Err(error) if error.is_full() => Ok(()),
            added => added.map(drop),
        }
    }

    /// All data files have the current use in their header, durably: older copies of a file are
    /// recognised from now on.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn narrow(&self) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.header.oldest_use == state.header.current_use {
            return Ok(());
        }
        state.header.oldest_use = state.header.current_use;
        let Some(file) = &state.file else { return Ok(()) };
        // Differs from the stored page within its first sector only: a crash leaves the old or the
        // new one.
        let mut page = PageBuf::zeroed();
        state.header.write(&mut page);
        file.write_at(0, &[&page[..]], Durability::Through)
            .map_err(|source| Error::DoubleWrite { source })
    }

    /// Does an image of the page lie in the area?
    pub(crate) fn has_image(&self, page: PageId) -> bool {
        lock(&self.state).images.contains_key(&page)
    }

    /// Where the file of the area is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes copies durable. `sync` makes every earlier write in place durable.
    ///
    /// # Errors
    /// Those of the disk and of `sync`. When the disk is full nothing was written.
    pub(crate) fn protect(
        &self,
        copies: &[Copy<'_>],
        log_durable: Lsn,
        sync: &dyn Fn() -> Result<(), Error>,
    ) -> Result<HeldSegments<'_>, Error> {
        let mut held = HeldSegments { area: Some(self), segments: Vec::new(), is_in_place: false };
        held.segments.push(self.take(sync, SegmentDemand::First)?);
        // The first segment fixes how many images one has.
        let images = lock(&self.state).header.pages_per_segment as usize;
        for _ in copies.chunks(images).skip(1) {
            held.segments.push(self.take(sync, SegmentDemand::Further)?);
        }
        let batches: Vec<&[Copy<'_>]> = copies.chunks(images).collect();
        self.write(&held.segments, &batches, log_durable)
            .map_err(|source| Error::DoubleWrite { source })?;
        Ok(held)
    }

    /// Writes copies to these segments; they are durable when the call returns.
    fn write(
        &self,
        segments: &[(usize, u64)],
        batches: &[&[Copy<'_>]],
        log_durable: Lsn,
    ) -> Result<(), extentdb_io::Error> {
        let (file, images) = {
            let mut state = lock(&self.state);
            for (copies, (index, batch)) in batches.iter().zip(segments) {
                state.note_images(*index, *batch, copies);
            }
            (state.file.clone(), state.header.pages_per_segment)
        };
        let Some(file) = file else { return Ok(()) };
        let durability =
            if segments.len() == 1 { Durability::Through } else { Durability::Deferred };
        for (copies, (index, batch)) in batches.iter().zip(segments) {
            let directory = Directory { batch: *batch, log_durable, entries: entries_of(copies) };
            let offset = segment_offset(*index, images);
            write_segment(&*file, offset, &directory, copies, durability)?;
        }
        if segments.len() > 1 { file.sync() } else { Ok(()) }
    }

    /// Takes a free segment. Syncs or waits when there is none.
    fn take(
        &self,
        sync: &dyn Fn() -> Result<(), Error>,
        need: SegmentDemand,
    ) -> Result<(usize, u64), Error> {
        loop {
            match self.take_or_wait(need).map_err(|source| Error::DoubleWrite { source })? {
                SegmentGrant::Segment { index, batch } => return Ok((index, batch)),
                SegmentGrant::Busy => return Err(Error::DoubleWriteTooSmall),
                SegmentGrant::SyncFirst => self.sync_with(sync)?,
            }
        }
    }

    fn take_or_wait(&self, need: SegmentDemand) -> Result<SegmentGrant, extentdb_io::Error> {
        let mut state = lock(&self.state);
        loop {
            let index = match state.oldest_free() {
                Some(index) => Some(index),
                None => self.add_segment(&mut state)?,
            };
            if let Some(index) = index {
                state.batch += 1;
                state.segments[index] = Segment::Busy;
                return Ok(SegmentGrant::Segment { index, batch: state.batch });
            }
            if state.segments.iter().any(|segment| matches!(segment, Segment::InPlace { .. })) {
                return Ok(SegmentGrant::SyncFirst);
            }
            if need == SegmentDemand::Further {
                return Ok(SegmentGrant::Busy);
            }
            state = wait(&self.changed, state);
        }
    }

    /// Images that one segment holds: what a group may have that has to do with one.
    pub(crate) fn images_of_one(&self) -> usize {
        lock(&self.state).header.pages_per_segment as usize
    }

    /// Makes the area longer by a segment. None when it is as long as it may be, or when the disk
    /// is full and there are others.
    fn add_segment(
        &self,
        state: &mut MutexGuard<'_, AreaState>,
    ) -> Result<Option<usize>, extentdb_io::Error> {
        let index = state.segments.len();
        if index == SEGMENTS_MAX {
            return Ok(None);
        }
        loop {
            let file = self.made(state)?;
            let images = state.header.pages_per_segment;
            match file.extend(segment_offset(index + 1, images), Fill::Zeros) {
                Ok(()) => {
                    state.segments.push(Segment::Free { batch: 0 });
                    state.pages.push((0, Vec::new()));
                    return Ok(Some(index));
                }
                Err(error) if error.is_full() && index > 0 => return Ok(None),
                Err(error) if error.is_full() && images > IMAGES_MIN => {
                    drop(file);
                    self.make_smaller(state)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins again with segments of half the size. None has been used.
    fn make_smaller(
        &self,
        state: &mut MutexGuard<'_, AreaState>,
    ) -> Result<(), extentdb_io::Error> {
        state.pages.clear();
        state.header.pages_per_segment = (state.header.pages_per_segment / 2).max(IMAGES_MIN);
        state.file = None;
        self.disk.remove(&self.path)
    }

    /// The file; made when there is none.
    fn made(
        &self,
        state: &mut MutexGuard<'_, AreaState>,
    ) -> Result<Arc<dyn DiskFile>, extentdb_io::Error> {
        if let Some(file) = &state.file {
            return Ok(file.clone());
        }
        let file = self.disk.create(&self.path)?;
        let mut page = PageBuf::zeroed();
        state.header.write(&mut page);
        let written = file.write_at(0, &[&page[..]], Durability::Through);
        if let Err(error) = written {
            drop(file);
            // Nobody knows of the file yet; if it cannot be removed either, the next attempt says
            // that it exists.
            let _ = self.disk.remove(&self.path);
            return Err(error);
        }
        state.file = Some(file.clone());
        Ok(file)
    }

    /// Runs a sync of all data files; segments whose pages had been written in place before are
    /// free afterwards.
    pub(crate) fn sync_with<T, E>(&self, sync: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let covered = lock(&self.state).segments.clone();
        let synced = sync()?;
        let mut state = lock(&self.state);
        for (segment, before) in state.segments.iter_mut().zip(covered) {
            // The batch number shows whether it was reused meanwhile.
            if let Segment::InPlace { batch } = before
                && *segment == before
            {
                *segment = Segment::Free { batch };
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(synced)
    }

    /// Removes the file: every page is durable in place, and no more pages are written.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn remove(&self) -> Result<(), extentdb_io::Error> {
        let file = {
            let mut state = lock(&self.state);
            state.segments.clear();
            state.images.clear();
            state.pages.clear();
            state.file.take()
        };
        match file {
            Some(file) => {
                drop(file);
                self.disk.remove(&self.path)
            }
            None => Ok(()),
        }
    }

    fn give_back(&self, segments: &[(usize, u64)], is_in_place: bool) {
        let mut state = lock(&self.state);
        for (index, batch) in segments {
            if let Some(segment) = state.segments.get_mut(*index) {
                let batch = *batch;
                *segment = match is_in_place {
                    true => Segment::InPlace { batch },
                    false => Segment::Free { batch },
                };
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl HeldSegments<'_> {
    /// For pages that need no copy.
    pub(crate) fn none() -> HeldSegments<'static> {
        HeldSegments { area: None, segments: Vec::new(), is_in_place: true }
    }

    /// The writes in place have ended, and are entered in the accounts of the files.
    pub(crate) fn in_place(mut self) {
        self.is_in_place = true;
    }
}

impl Drop for HeldSegments<'_> {
    /// Without [`in_place`](Held::in_place) the writes have failed, or never began: then the pool
    /// is offline, or the images are of no use.
    fn drop(&mut self) {
        if let Some(area) = self.area {
            area.give_back(&self.segments, self.is_in_place);
        }
    }
}

fn entries_of(copies: &[Copy<'_>]) -> Vec<DirectoryEntry> {
    copies.iter().map(|(page, image)| DirectoryEntry::of(*page, image)).collect()
}

/// Writes a directory and its images in one write.
fn write_segment(
    file: &dyn DiskFile,
    offset: u64,
    directory: &Directory,
    copies: &[Copy<'_>],
    durability: Durability,
) -> Result<(), extentdb_io::Error> {
    let mut page = PageBuf::zeroed();
    directory.write(&mut page);
    let images = copies.iter().map(|(_, image)| *image);
    let parts: Vec<&[u8]> = std::iter::once(&page[..]).chain(images).collect();
    file.write_at(offset, &parts, durability)
}
