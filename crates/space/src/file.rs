//! A data file as allocation sees it: which extents are free, in memory, and how large the file is.
//!
//! ```text
//! interval 0   word 0 | word 1 | … | word 998     one bit per extent, 1 = free, as on the GAM page
//! interval 1   …                                  made when the file grows into it
//! ```
//!
//! A free extent is claimed by clearing its bit with one atomic operation; the bit on the GAM page
//! follows, logged. While the database is open, the bitmap in memory is authoritative: an extent
//! whose bit is 1 on the page and 0 here is being allocated, or was freed by a transaction that has
//! not committed yet.
//!
//! Invariants
//! - An extent is claimed by one caller only.
//! - `free` is the number of bits set, except during a claim or release.

use std::ops::Range;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_EXTENT};
use extentdb_base::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, OnceLock, lock};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::allocation::bitmap::is_fixed_extent;
use extentdb_format::allocation::file_header::Growth;

use crate::mixed::MixedExtents;

/// Words of 64 bits that an interval has.
const WORDS: usize = EXTENTS_PER_GAM.div_ceil(64) as usize;
/// Intervals of the largest file.
const INTERVALS: usize = (u32::MAX / PAGES_PER_EXTENT).div_ceil(EXTENTS_PER_GAM) as usize;

/// What the catalog and the file's header say about a data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDescription {
    /// File id: 1 for the primary file, never 2.
    pub id: FileId,
    /// Number of its filegroup; 1 is PRIMARY.
    pub group: i16,
    /// Logical name, unique in the database.
    pub name: String,
    /// Size in pages.
    pub pages: u32,
    /// What it grows by.
    pub growth: Growth,
    /// Maximum size in pages; `None` = that of the format.
    pub pages_max: Option<u32>,
}

/// What ALTER DATABASE … MODIFY FILE changes of a file, besides its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSettings {
    /// Logical name, unique in the database.
    pub name: String,
    /// What it grows by.
    pub growth: Growth,
    /// Maximum size in pages; `None` = that of the format.
    pub pages_max: Option<u32>,
}

/// A data file.
pub struct DataFile {
    description: FileDescription,
    settings: Mutex<FileSettings>,
    /// It is on its way out of the database, and does not grow.
    is_withdrawn: AtomicBool,
    /// Mixed extents without a page in use when it was withdrawn.
    unused_mixed: Mutex<Vec<u32>>,
    pages: AtomicU32,
    free: AtomicU32,
    hint: AtomicU32,
    intervals: Box<[OnceLock<Box<[AtomicU64]>>]>,
    mixed: MixedExtents,
    /// Extents that are marked in DIFF, or about to be.
    marked: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// Held while the file grows.
    growing: Mutex<()>,
    /// Free extents that zeros are being written to, claimed for that. Locked while they are
    /// claimed and released.
    zeroing: Mutex<u32>,
    /// From this extent on the file may never have been written. Its size at the opening counts as
    /// written.
    first_unwritten: AtomicU32,
}

impl DataFile {
    /// A file whose free extents are not known yet.
    pub fn new(description: FileDescription) -> DataFile {
        let pages = description.pages;
        let settings = FileSettings {
            name: description.name.clone(),
            growth: description.growth,
            pages_max: description.pages_max,
        };
        DataFile {
            pages: AtomicU32::new(pages),
            description,
            settings: Mutex::new(settings),
            is_withdrawn: AtomicBool::new(false),
            unused_mixed: Mutex::default(),
            free: AtomicU32::new(0),
            hint: AtomicU32::new(0),
            intervals: (0..INTERVALS).map(|_| OnceLock::new()).collect(),
            mixed: MixedExtents::default(),
            marked: (0..INTERVALS).map(|_| OnceLock::new()).collect(),
            growing: Mutex::new(()),
            zeroing: Mutex::new(0),
            first_unwritten: AtomicU32::new(pages.div_ceil(PAGES_PER_EXTENT)),
        }
    }

    pub(crate) fn first_unwritten(&self) -> u32 {
        self.first_unwritten.load(Ordering::Acquire)
    }

    pub(crate) fn set_first_unwritten(&self, extent: u32) {
        self.first_unwritten.store(extent, Ordering::Release);
    }

    pub(crate) fn growing(&self) -> &Mutex<()> {
        &self.growing
    }

    /// File id, constant.
    pub fn id(&self) -> FileId {
        self.description.id
    }

    /// What it is called, where it belongs and how it grows. The size is that of the opening.
    pub fn description(&self) -> FileDescription {
        let FileSettings { name, growth, pages_max } = lock(&self.settings).clone();
        FileDescription { name, growth, pages_max, ..self.description.clone() }
    }

    /// Its filegroup, constant.
    pub fn group(&self) -> i16 {
        self.description.group
    }

    pub(crate) fn set_settings(&self, settings: FileSettings) {
        *lock(&self.settings) = settings;
    }

    /// Claims all that is free, so that nothing can be allocated; false, and nothing has changed,
    /// when more than its maps is in use.
    pub(crate) fn withdraw(&self) -> bool {
        let _growing = lock(&self.growing);
        self.is_withdrawn.store(true, Ordering::Release);
        let extents = 0..self.extents();
        let free: Vec<u32> = extents.clone().filter(|extent| self.take(*extent)).collect();
        let unused: Vec<u32> =
            extents.clone().filter(|extent| self.mixed.hold_whole(*extent)).collect();
        let fixed = extents.filter(|extent| is_fixed_extent(*extent)).count();
        let is_empty = free.len() + unused.len() + fixed == self.extents() as usize;
        if is_empty {
            *lock(&self.unused_mixed) = unused;
        } else {
            free.into_iter().for_each(|extent| self.release(extent));
            unused.into_iter().for_each(|extent| self.mixed.release(extent, u8::MAX));
            self.is_withdrawn.store(false, Ordering::Release);
        }
        is_empty
    }

    /// Claims all that is free, whatever else is in use: the file is no part of the database.
    pub(crate) fn discard(&self) {
        self.is_withdrawn.store(true, Ordering::Release);
        (0..self.extents()).for_each(|extent| {
            self.take(extent);
            self.mixed.forget(extent);
        });
    }

    /// It stays in the database: what [`withdraw`](Self::withdraw) has claimed is free again.
    pub(crate) fn stay(&self) {
        let unused = std::mem::take(&mut *lock(&self.unused_mixed));
        let is_free = |extent: &u32| !unused.contains(extent);
        (0..self.extents()).filter(is_free).for_each(|extent| self.release(extent));
        unused.iter().for_each(|extent| self.mixed.release(*extent, u8::MAX));
        self.is_withdrawn.store(false, Ordering::Release);
    }

    pub(crate) fn is_withdrawn(&self) -> bool {
        self.is_withdrawn.load(Ordering::Acquire)
    }

    /// Size in pages; grows only.
    pub fn pages(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    /// Extents that can be allocated now.
    pub fn free_extents(&self) -> u32 {
        self.free.load(Ordering::Acquire)
    }

    /// Extents that are free: those that can be allocated now, and those that zeros are being
    /// written to.
    pub fn unused_extents(&self) -> u32 {
        let zeroing = lock(&self.zeroing);
        self.free_extents() + *zeroing
    }

    pub(crate) fn zeroing(&self) -> &Mutex<u32> {
        &self.zeroing
    }

    /// Whole extents of the file.
    pub fn extents(&self) -> u32 {
        self.pages() / PAGES_PER_EXTENT
    }

    /// The file is this long now, and these extents are free.
    pub(crate) fn grown(&self, pages: u32, free: impl Iterator<Item = u32>) {
        free.for_each(|extent| self.release(extent));
        self.pages.store(pages, Ordering::Release);
    }

    fn words(&self, interval: usize) -> &[AtomicU64] {
        words_of(&self.intervals[interval])
    }

    /// Marks an extent as changed since the last full backup; true when it was not.
    pub(crate) fn mark(&self, extent: u32) -> bool {
        let (interval, word, mask) = DataFile::bit_of(extent);
        let word = &words_of(&self.marked[interval])[word];
        // Nearly every change is of an extent that is marked: that shall cost a read.
        word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::AcqRel) & mask == 0
    }

    fn bit_of(extent: u32) -> (usize, usize, u64) {
        let bit = extent % EXTENTS_PER_GAM;
        ((extent / EXTENTS_PER_GAM) as usize, (bit / 64) as usize, 1 << (bit % 64))
    }

    /// Gives an extent back; those with maps are never free.
    pub(crate) fn release(&self, extent: u32) {
        if is_fixed_extent(extent) {
            return;
        }
        let (interval, word, mask) = DataFile::bit_of(extent);
        // Counted first: a claim that follows at once decrements the counter, which must not
        // underflow.
        self.free.fetch_add(1, Ordering::AcqRel);
        if self.words(interval)[word].fetch_or(mask, Ordering::AcqRel) & mask != 0 {
            self.free.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// An extent is not free, whatever its map said: what gave it back may still be undone.
    ///
    /// True when it was free until now.
    pub(crate) fn take(&self, extent: u32) -> bool {
        let (interval, word, mask) = DataFile::bit_of(extent);
        let was_free = self.words(interval)[word].fetch_and(!mask, Ordering::AcqRel) & mask != 0;
        if was_free {
            self.free.fetch_sub(1, Ordering::AcqRel);
        }
        was_free
    }

    /// Is the extent free?
    pub fn is_free(&self, extent: u32) -> bool {
        let (interval, word, mask) = DataFile::bit_of(extent);
        self.words(interval)[word].load(Ordering::Acquire) & mask != 0
    }

    /// Claims a free extent, the next one after the last claimed; `None` when there is none.
    pub(crate) fn claim(&self) -> Option<Extent> {
        if self.free_extents() == 0 {
            return None;
        }
        let start = self.hint.load(Ordering::Relaxed);
        let end = self.extents();
        let claimed = self.claim_in(start..end).or_else(|| self.claim_in(0..start.min(end)))?;
        self.hint.store(claimed, Ordering::Relaxed);
        self.free.fetch_sub(1, Ordering::AcqRel);
        Some(Extent { file: self.id(), index: claimed })
    }

    fn claim_in(&self, range: Range<u32>) -> Option<u32> {
        let mut at = range.start;
        while at < range.end {
            let (interval, word, mask) = DataFile::bit_of(at);
            let words = self.words(interval);
            // Bits before the first one asked for do not count.
            let mut candidates = words[word].load(Ordering::Acquire) & !(mask - 1);
            while candidates != 0 {
                let bit = candidates & candidates.wrapping_neg();
                if words[word].fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                    let extent = (interval as u32) * EXTENTS_PER_GAM
                        + word as u32 * 64
                        + bit.trailing_zeros();
                    return Some(extent);
                }
                candidates &= !bit;
            }
            let next = (word as u32 + 1) * 64;
            at = interval as u32 * EXTENTS_PER_GAM + next.min(EXTENTS_PER_GAM);
        }
        None
    }

    /// Holds a free page of a mixed extent for the caller.
    pub(crate) fn claim_mixed(&self) -> Option<PageId> {
        let (extent, page) = self.mixed.claim()?;
        Some(PageId { file: self.id(), page: extent * PAGES_PER_EXTENT + page })
    }

    /// Its mixed extents.
    pub(crate) fn mixed(&self) -> &MixedExtents {
        &self.mixed
    }
}

fn words_of(interval: &OnceLock<Box<[AtomicU64]>>) -> &[AtomicU64] {
    interval.get_or_init(|| (0..WORDS).map(|_| AtomicU64::new(0)).collect())
}

impl std::fmt::Debug for DataFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "DataFile({}: {} pages, {} extents free)",
            self.id(),
            self.pages(),
            self.free_extents()
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use extentdb_base::sync::thread;

    use super::*;

    /// A data file of `pages` pages, none of them free.
    pub(crate) fn file(pages: u32) -> DataFile {
        let growth = Growth::Pages(0);
        let name = String::new();
        DataFile::new(FileDescription {
            id: FileId(1),
            group: 1,
            name,
            pages,
            growth,
            pages_max: None,
        })
    }

    #[test]
    fn extents_are_claimed_once_in_order_and_again_after_release() {
        let file = file(200 * PAGES_PER_EXTENT);
        (5..200).for_each(|extent| file.release(extent));
        assert_eq!(file.free_extents(), 195);
        let claimed: Vec<u32> =
            std::iter::from_fn(|| file.claim()).map(|extent| extent.index).collect();
        assert_eq!(claimed, (5..200).collect::<Vec<_>>());
        file.release(7);
        file.release(7);
        assert_eq!((file.free_extents(), file.is_free(7)), (1, true));
        assert_eq!(file.claim().map(|extent| extent.index), Some(7));
        assert_eq!(file.claim(), None);
    }

    #[test]
    fn an_interval_ends_in_half_a_word() {
        let file = file(2 * EXTENTS_PER_GAM * PAGES_PER_EXTENT);
        let around = [EXTENTS_PER_GAM - 1, EXTENTS_PER_GAM + 1, EXTENTS_PER_GAM + 2];
        file.release(EXTENTS_PER_GAM);
        around.into_iter().for_each(|extent| file.release(extent));
        let claimed: Vec<u32> =
            std::iter::from_fn(|| file.claim()).map(|extent| extent.index).collect();
        assert_eq!(claimed, around);
    }

    #[test]
    fn threads_never_get_the_same_extent() {
        let file = file(4000 * PAGES_PER_EXTENT);
        (1..1001).for_each(|extent| file.release(extent));
        let claims = |file: &DataFile| {
            std::iter::from_fn(|| file.claim()).map(|e| e.index).collect::<Vec<_>>()
        };
        let mut all: Vec<u32> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| claims(&file))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert_eq!(all, (1..1001).collect::<Vec<_>>());
    }
}
