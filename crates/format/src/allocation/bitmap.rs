//! Maps of one bit per extent: GAM, SGAM, DIFF and ML pages, and the bitmap that IAM pages have,
//! too.
//!
//! ```text
//! offset size  what
//!     96   94  record 0: 00 00 5e 00, then 90 bytes, zero except on an IAM page
//!    190    4  record 1: 00 00 38 1f
//!    194 7988  bitmap: byte i, bit k (least significant first) = extent 8i + k of the interval
//!   8182    6  free, undefined
//!   8188    4  slots: record 1 at 190, record 0 at 96
//!
//! map   bit = 1                                             bit = 0
//! GAM   extent free                                         allocated, as a whole or page by page
//! SGAM  mixed extent with a free page                       uniform, free or full mixed extent
//! DIFF  changed since the last full backup                  unchanged
//! ML    changed by a minimally logged operation             not
//! IAM   extent belongs to the allocation unit               not
//! ```
//!
//! Invariants of a sound file
//! - The bits of extent 0 are 0 in GAM and SGAM: its pages are the fixed ones.
//! - GAM bits of extents past the end of the file are 1.
//! - SGAM is cleared lazily: a full mixed extent may still have its bit; the opposite does not
//!   occur.
//! - In most files the DIFF bits of every extent that will hold a PFS page are set from the start.
//!
//! Observed in real files of versions 539 to 904; positions in the second and later intervals are
//! computed (no such file was at hand), confirmed by the DIFF bits.

use std::ops::Range;

use extentdb_base::size::{
    EXTENTS_PER_GAM, PAGE_BYTES, PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS,
};
use extentdb_base::{AllocUnitId, FileId, PageId};

use super::{Frame, MapFault, PageStamp};
use crate::PageBytes;
use crate::page::header::{PageHeader, PageType};

/// Bytes of a bitmap.
pub const BITMAP_BYTES: usize = EXTENTS_PER_GAM as usize / 8;
/// First byte of the bitmap on its page.
pub const BITMAP_OFFSET: usize = 194;
/// Offset of the first extent's bit in record 1, in bits, as log records count.
pub const BITS_IN_RECORD: u16 = 32;
const _: () = assert!(190 + BITS_IN_RECORD as usize / 8 == BITMAP_OFFSET);
/// `pminlen` of every map page.
pub const MAP_PMINLEN: u16 = 90;
/// Record 0 and record 1 of a map page.
pub(super) const MAP_RECORDS: [(u16, [u8; 4]); 2] =
    [(96, [0, 0, 0x5e, 0]), (190, [0, 0, 0x38, 0x1f])];
/// The content of record 0, all zero but on an IAM page.
const HEAD: Range<usize> = 100..190;
/// Between the records and the slots.
const FREE: Range<usize> = 8182..8188;

const _: () = assert!(BITMAP_BYTES == 7988 && BITMAP_OFFSET + BITMAP_BYTES == FREE.start);

/// Does this extent of a file begin with a map page? It is never handed out.
pub fn is_fixed_extent(extent: u32) -> bool {
    let first = extent.saturating_mul(PAGES_PER_EXTENT);
    first.is_multiple_of(PAGES_PER_PFS) || first.is_multiple_of(PAGES_PER_GAM)
}

/// The maps that exist once per interval of every data file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MapKind {
    /// Which extents are free.
    Gam,
    /// Which mixed extents have a free page.
    Sgam,
    /// Which extents changed since the last full backup (DCM).
    Diff,
    /// Which extents a minimally logged operation changed (BCM).
    Ml,
}

impl MapKind {
    /// GAM, SGAM, DIFF and ML, in page order.
    pub const ALL: [MapKind; 4] = [MapKind::Gam, MapKind::Sgam, MapKind::Diff, MapKind::Ml];

    /// The page type.
    pub const fn page_type(self) -> PageType {
        match self {
            MapKind::Gam => PageType::Gam,
            MapKind::Sgam => PageType::Sgam,
            MapKind::Diff => PageType::Diff,
            MapKind::Ml => PageType::Ml,
        }
    }

    /// The map that a page type names.
    pub const fn of(page_type: PageType) -> Option<MapKind> {
        match page_type {
            PageType::Gam => Some(MapKind::Gam),
            PageType::Sgam => Some(MapKind::Sgam),
            PageType::Diff => Some(MapKind::Diff),
            PageType::Ml => Some(MapKind::Ml),
            _ => None,
        }
    }

    /// The map page for the interval that `page` lies in.
    pub const fn page_of(self, page: PageId) -> PageId {
        let first = page.page - page.page % PAGES_PER_GAM;
        let offset = match (self, first) {
            (MapKind::Gam, 0) => 2,
            (MapKind::Sgam, 0) => 3,
            (MapKind::Gam, _) => 0,
            (MapKind::Sgam, _) => 1,
            (MapKind::Diff, _) => 6,
            (MapKind::Ml, _) => 7,
        };
        // Near the 32-bit limit there is no such page; the sum then stays below it by saturating.
        PageId { file: page.file, page: first.saturating_add(offset) }
    }

    fn frame(self) -> Frame {
        Frame {
            kind: self.page_type(),
            pminlen: MAP_PMINLEN,
            free_bytes: (FREE.end - FREE.start) as u16,
            free_offset: FREE.start as u16,
            records: &MAP_RECORDS,
        }
    }
}

/// The kind of page that must stand at a place of a data file whatever else the file holds; `None`
/// for ordinary places. The boot page is fixed in file 1 only.
pub fn fixed_page_type(page: PageId) -> Option<PageType> {
    let in_gam = page.page % PAGES_PER_GAM;
    match (page.page, page.file) {
        (0, _) => return Some(PageType::FileHeader),
        (1, _) => return Some(PageType::Pfs),
        (9, FileId(1)) => return Some(PageType::Boot),
        _ => {}
    }
    if page.page.is_multiple_of(PAGES_PER_PFS) {
        return Some(PageType::Pfs);
    }
    MapKind::ALL
        .into_iter()
        .find(|map| in_gam <= 7 && map.page_of(page) == page)
        .map(MapKind::page_type)
}

/// A bitmap that is read. Bits are counted from the first extent of the interval.
#[derive(Clone, Copy)]
pub struct AllocationBitmap<'a> {
    bytes: &'a [u8; BITMAP_BYTES],
}

impl<'a> AllocationBitmap<'a> {
    /// The bitmap of a map page.
    #[inline]
    pub fn of(page: &'a PageBytes) -> Self {
        Self::at::<BITMAP_OFFSET>(page)
    }

    /// The bitmap that begins at byte `OFFSET` of a page.
    #[inline]
    pub(super) fn at<const OFFSET: usize>(page: &'a PageBytes) -> Self {
        const { assert!(OFFSET + BITMAP_BYTES <= PAGE_BYTES) };
        match page.split_at(OFFSET).1.first_chunk() {
            Some(bytes) => AllocationBitmap { bytes },
            None => unreachable!("a page is longer than the bitmap and what stands before it"),
        }
    }

    /// A bitmap kept elsewhere.
    pub fn new(bytes: &'a [u8; BITMAP_BYTES]) -> Self {
        AllocationBitmap { bytes }
    }

    /// The bytes, least significant bit first.
    pub fn bytes(self) -> &'a [u8; BITMAP_BYTES] {
        self.bytes
    }

    /// The bit of an extent; false outside of the interval.
    #[inline]
    pub fn get(self, extent: u32) -> bool {
        self.bytes.get((extent / 8) as usize).is_some_and(|byte| byte >> (extent % 8) & 1 == 1)
    }

    /// The bits in words of 64, least significant first. The last word has 32 bits, the others of
    /// it are 0.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = u64> + 'a {
        let (words, tail) = self.bytes.as_chunks::<8>();
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(tail) {
            *to = *from;
        }
        words.iter().copied().chain([last]).map(u64::from_le_bytes)
    }

    /// Number of bits that are 1.
    pub fn count_ones(self) -> u32 {
        self.words().map(u64::count_ones).sum()
    }

    /// Extents whose bit is 1, ascending.
    #[inline]
    pub fn ones(self) -> impl Iterator<Item = u32> + 'a {
        (0u32..)
            .step_by(64)
            .zip(self.words())
            .flat_map(|(base, word)| Bits(word).map(move |bit| base + bit))
    }

    /// Extents below `limit` whose bit is 0, ascending.
    pub fn zeros(self, limit: u32) -> impl Iterator<Item = u32> + 'a {
        let limit = limit.min(EXTENTS_PER_GAM);
        (0u32..)
            .step_by(64)
            .zip(self.words())
            .flat_map(|(base, word)| Bits(!word).map(move |bit| base + bit))
            .take_while(move |extent| *extent < limit)
    }

    /// The first extent from `from` on whose bit is `value`.
    #[inline]
    pub fn find(self, from: u32, value: bool) -> Option<u32> {
        let mut at = from;
        while at < EXTENTS_PER_GAM {
            let word = self.word_at(at);
            let wanted = (if value { word } else { !word }) >> (at % 64);
            if wanted != 0 {
                return Some(at + wanted.trailing_zeros()).filter(|found| *found < EXTENTS_PER_GAM);
            }
            at = at - at % 64 + 64;
        }
        None
    }

    fn word_at(self, extent: u32) -> u64 {
        let rest = self.bytes.get((extent / 64) as usize * 8..).unwrap_or_default();
        match rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        }
    }

    /// Maximal runs of equal bits below `limit`, ascending, with their value.
    pub fn runs(self, limit: u32) -> impl Iterator<Item = (Range<u32>, bool)> + 'a {
        let limit = limit.min(EXTENTS_PER_GAM);
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= limit {
                return None;
            }
            let start = at;
            let value = self.get(at);
            at = self.find(at, !value).unwrap_or(limit).min(limit);
            Some((start..at, value))
        })
    }
}

/// The set bits of a word, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// A bitmap that is changed.
pub struct AllocationBitmapMut<'a> {
    bytes: &'a mut [u8; BITMAP_BYTES],
}

impl<'a> AllocationBitmapMut<'a> {
    /// The bitmap of a map page.
    pub fn of(page: &'a mut PageBytes) -> Self {
        Self::at::<BITMAP_OFFSET>(page)
    }

    /// The bitmap that begins at byte `OFFSET` of a page.
    pub(super) fn at<const OFFSET: usize>(page: &'a mut PageBytes) -> Self {
        const { assert!(OFFSET + BITMAP_BYTES <= PAGE_BYTES) };
        match page.split_at_mut(OFFSET).1.first_chunk_mut() {
            Some(bytes) => AllocationBitmapMut { bytes },
            None => unreachable!("a page is longer than the bitmap and what stands before it"),
        }
    }

    /// The bitmap as it is now.
    pub fn view(&self) -> AllocationBitmap<'_> {
        AllocationBitmap { bytes: self.bytes }
    }

    /// Sets the bit of one extent. Extents outside of the interval have none.
    pub fn set(&mut self, extent: u32, value: bool) {
        debug_assert!(extent < EXTENTS_PER_GAM);
        if let Some(byte) = self.bytes.get_mut((extent / 8) as usize) {
            *byte = *byte & !(1 << (extent % 8)) | u8::from(value) << (extent % 8);
        }
    }

    /// Sets the bits of a range of extents.
    pub fn set_range(&mut self, extents: Range<u32>, value: bool) {
        let end = extents.end.min(EXTENTS_PER_GAM);
        let mut at = extents.start;
        while at < end {
            if at.is_multiple_of(8) && end - at >= 8 {
                let bytes = (at / 8) as usize..(end / 8) as usize;
                if let Some(whole) = self.bytes.get_mut(bytes) {
                    whole.fill(if value { 0xff } else { 0 });
                }
                at = end - end % 8;
            } else {
                self.set(at, value);
                at += 1;
            }
        }
    }

    /// Sets every bit.
    pub fn fill(&mut self, value: bool) {
        self.bytes.fill(if value { 0xff } else { 0 });
    }
}

/// Makes the page a map with all bits 0, to be filled through the bitmap that comes back.
pub fn write_map<'a>(
    page: &'a mut PageBytes,
    id: PageId,
    kind: MapKind,
    stamp: &PageStamp,
) -> AllocationBitmapMut<'a> {
    kind.frame().write(page, id, AllocUnitId::SYSTEM_PAGES, stamp);
    if let Some(head) = page.get_mut(HEAD) {
        head.fill(0);
    }
    let mut bitmap = AllocationBitmapMut::of(page);
    bitmap.fill(false);
    bitmap
}

/// A GAM, SGAM, DIFF or ML page that is read.
#[derive(Clone, Copy)]
pub struct MapView<'a> {
    page: &'a PageBytes,
    kind: MapKind,
}

impl<'a> MapView<'a> {
    /// Reads a page as a map of this kind.
    pub fn new(page: &'a PageBytes, kind: MapKind) -> Self {
        MapView { page, kind }
    }

    /// The page header, bytes 0 to 95.
    pub fn header(self) -> &'a PageHeader {
        PageHeader::of(self.page)
    }

    /// The bits of slot 1, one per extent of the interval.
    pub fn bitmap(self) -> AllocationBitmap<'a> {
        AllocationBitmap::of(self.page)
    }

    /// First page of the interval that the map describes, by the page id in its header.
    pub fn interval(self) -> PageId {
        self.header().page_id().gam_interval()
    }

    /// Everything about the page's frame that cannot be right.
    pub fn faults(self) -> Vec<MapFault> {
        let mut faults = Vec::new();
        self.kind.frame().faults(self.page, &mut faults);
        let head = self.page.get(HEAD).unwrap_or_default();
        if let Some(at) = head.iter().position(|byte| *byte != 0) {
            faults.push(MapFault::NotZero { offset: HEAD.start + at });
        }
        faults
    }

    /// Bytes that mean nothing.
    pub fn undefined(self) -> Range<usize> {
        FREE
    }
}

#[cfg(test)]
mod tests;
