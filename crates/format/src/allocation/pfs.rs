//! PFS pages: one byte of state for every page of a file.
//!
//! ```text
//! offset size  what
//!     96    4  record: 00 00 9c 1f
//!    100 8088  one byte per page, from the PFS page itself on; the one at page 1 begins with page
//!              0
//!   8188    2  free, undefined
//!   8190    2  slot: record at 96
//!
//! bits  of a byte
//! 0..2  fullness, see [`Fullness`]
//!    3  some record of the page is a ghost (a hint: may be missing or left over)
//!    4  IAM page
//!    5  page of a mixed extent
//!    6  page is allocated
//!    7  never set
//! ```
//!
//! Fullness is kept for heap and LOB pages; B-tree pages have 0, map pages and the boot page 4. A
//! deallocated page keeps its mixed and IAM bits.
//!
//! Observed in real files of versions 539 to 904.

use std::fmt;
use std::ops::Range;

use extentdb_base::size::{PAGE_BODY_BYTES, PAGES_PER_PFS};
use extentdb_base::{AllocUnitId, PageId};

use super::{Frame, MapFault, PageStamp};
use crate::PageBytes;
use crate::page::header::{PageHeader, PageType};

/// Pages that one PFS page describes.
pub const PFS_ENTRIES: usize = PAGES_PER_PFS as usize;
/// Offset of the first page's byte in the record, as log records count.
pub const BYTES_IN_RECORD: u16 = 4;
const RECORD: usize = 96;
const ENTRIES: Range<usize> = RECORD + BYTES_IN_RECORD as usize..8188;
const FREE: Range<usize> = 8188..8190;
const FRAME: Frame = Frame {
    kind: PageType::Pfs,
    pminlen: 0,
    free_bytes: 2,
    free_offset: 8188,
    records: &[(96, [0, 0, 0x9c, 0x1f])],
};

const _: () = assert!(ENTRIES.end - ENTRIES.start == PFS_ENTRIES);

/// The page is allocated.
const ALLOCATED: u8 = 0x40;
/// Of a mixed extent.
const MIXED: u8 = 0x20;
/// The page is an IAM page.
const IAM: u8 = 0x10;
/// The page has ghost records.
const GHOST: u8 = 0x08;
const FULLNESS: u8 = 0x07;
/// Set in no file seen.
const RESERVED: u8 = 0x80;

/// How full a page is, in the classes that PFS knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Fullness {
    /// 0: nothing on it; also the value of pages whose fullness is not kept.
    #[default]
    Empty,
    /// 1: up to 50 %.
    UpTo50,
    /// 2: up to 80 %.
    UpTo80,
    /// 3: up to 95 %.
    UpTo95,
    /// 4: more than 95 % full.
    UpTo100,
}

impl Fullness {
    /// The class of a page with so many free bytes (`m_freeCnt`).
    pub const fn of_free_bytes(free_bytes: u16) -> Fullness {
        let used = PAGE_BODY_BYTES.saturating_sub(free_bytes as usize) * 100;
        match used {
            0 => Fullness::Empty,
            _ if used <= 50 * PAGE_BODY_BYTES => Fullness::UpTo50,
            _ if used <= 80 * PAGE_BODY_BYTES => Fullness::UpTo80,
            _ if used <= 95 * PAGE_BODY_BYTES => Fullness::UpTo95,
            _ => Fullness::UpTo100,
        }
    }

    /// The class that three bits name; 5, 6 and 7 name none.
    pub const fn from_bits(bits: u8) -> Option<Fullness> {
        match bits {
            0 => Some(Fullness::Empty),
            1 => Some(Fullness::UpTo50),
            2 => Some(Fullness::UpTo80),
            3 => Some(Fullness::UpTo95),
            4 => Some(Fullness::UpTo100),
            _ => None,
        }
    }

    /// The upper end of the class in percent.
    pub const fn percent(self) -> u8 {
        match self {
            Fullness::Empty => 0,
            Fullness::UpTo50 => 50,
            Fullness::UpTo80 => 80,
            Fullness::UpTo95 => 95,
            Fullness::UpTo100 => 100,
        }
    }
}

impl fmt::Display for Fullness {
    /// As DBCC prints it: `  0_PCT_FULL`, `100_PCT_FULL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:3}_PCT_FULL", self.percent())
    }
}

/// The state of one page. Prints as DBCC PAGE does: `MIXED_EXT ALLOCATED   0_PCT_FULL`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[repr(transparent)]
pub struct PfsByte(pub u8);

impl PfsByte {
    /// An allocated page of a uniform extent.
    pub const ALLOCATED: PfsByte = PfsByte(ALLOCATED);

    /// Is the page allocated?
    #[inline]
    pub const fn is_allocated(self) -> bool {
        self.0 & ALLOCATED != 0
    }

    /// Is it in a mixed extent?
    #[inline]
    pub const fn is_mixed(self) -> bool {
        self.0 & MIXED != 0
    }

    /// Is it an IAM page?
    #[inline]
    pub const fn is_iam(self) -> bool {
        self.0 & IAM != 0
    }

    /// May it have ghosts?
    #[inline]
    pub const fn has_ghosts(self) -> bool {
        self.0 & GHOST != 0
    }

    /// Are bits set that have no meaning: bit 7, or a fullness of 5 to 7?
    pub const fn has_reserved_bits(self) -> bool {
        self.0 & RESERVED != 0 || self.fullness().is_none()
    }

    /// How full the page is; `None` for the three values that mean nothing.
    pub const fn fullness(self) -> Option<Fullness> {
        Fullness::from_bits(self.0 & FULLNESS)
    }

    /// With the allocated bit as given.
    #[must_use]
    pub const fn with_allocated(self, on: bool) -> PfsByte {
        self.with(ALLOCATED, on)
    }

    /// With the mixed bit as given.
    #[must_use]
    pub const fn with_mixed(self, on: bool) -> PfsByte {
        self.with(MIXED, on)
    }

    /// With the IAM bit as given.
    #[must_use]
    pub const fn with_iam(self, on: bool) -> PfsByte {
        self.with(IAM, on)
    }

    /// With the ghost bit as given.
    #[must_use]
    pub const fn with_ghosts(self, on: bool) -> PfsByte {
        self.with(GHOST, on)
    }

    /// With this fullness.
    #[must_use]
    pub const fn with_fullness(self, fullness: Fullness) -> PfsByte {
        PfsByte(self.0 & !FULLNESS | fullness as u8)
    }

    const fn with(self, bit: u8, on: bool) -> PfsByte {
        PfsByte(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl fmt::Display for PfsByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.is_iam(), "IAM_PG "),
            (self.is_mixed(), "MIXED_EXT "),
            // The word for ghosts is ours: no published output shows one.
            (self.has_ghosts(), "HAS_GHOST "),
            (self.is_allocated(), "ALLOCATED "),
        ];
        for (is_set, word) in flags {
            if is_set {
                f.write_str(word)?;
            }
        }
        match self.fullness() {
            Some(fullness) => fullness.fmt(f),
            None => write!(f, "fullness {}", self.0 & FULLNESS),
        }
    }
}

/// A PFS page that is read.
#[derive(Clone, Copy)]
pub struct PfsView<'a> {
    page: &'a PageBytes,
}

impl<'a> PfsView<'a> {
    /// Reads a page as a PFS page.
    pub fn new(page: &'a PageBytes) -> Self {
        PfsView { page }
    }

    /// The page header, bytes 0 to 95.
    pub fn header(self) -> &'a PageHeader {
        PageHeader::of(self.page)
    }

    /// The bytes of all pages of the interval, whether the file has them or not.
    #[inline]
    pub fn bytes(self) -> &'a [u8; PFS_ENTRIES] {
        match self.page.split_at(ENTRIES.start).1.first_chunk() {
            Some(bytes) => bytes,
            None => unreachable!("a page is longer than its entries and what stands before them"),
        }
    }

    /// First page described, by the page id in the header.
    pub fn first_page(self) -> PageId {
        let id = self.header().page_id();
        PageId { file: id.file, page: id.page - id.page % PAGES_PER_PFS }
    }

    /// The state of a page, by its number in the file. The caller has picked the PFS page by
    /// [`PageId::pfs_page`].
    #[inline]
    pub fn entry(self, page: u32) -> PfsByte {
        let [byte, ..] = self.bytes().split_at((page % PAGES_PER_PFS) as usize).1 else {
            return PfsByte(0);
        };
        PfsByte(*byte)
    }

    /// The states in page order, from [`first_page`](Self::first_page) on.
    pub fn entries(self) -> impl ExactSizeIterator<Item = PfsByte> + 'a {
        self.bytes().iter().copied().map(PfsByte)
    }

    /// Everything about the page's frame that cannot be right.
    pub fn faults(self) -> Vec<MapFault> {
        let mut faults = Vec::new();
        FRAME.faults(self.page, &mut faults);
        faults
    }

    /// Bytes that mean nothing.
    pub fn undefined(self) -> Range<usize> {
        FREE
    }
}

/// The entries of a PFS page that is changed.
pub struct PfsMut<'a> {
    bytes: &'a mut [u8; PFS_ENTRIES],
}

impl<'a> PfsMut<'a> {
    /// The entries of a page.
    pub fn of(page: &'a mut PageBytes) -> Self {
        match page.split_at_mut(ENTRIES.start).1.first_chunk_mut() {
            Some(bytes) => PfsMut { bytes },
            None => unreachable!("a page is longer than its entries and what stands before them"),
        }
    }

    /// Sets the state of a page, by its number in the file.
    pub fn set(&mut self, page: u32, state: PfsByte) {
        if let Some(byte) = self.bytes.get_mut((page % PAGES_PER_PFS) as usize) {
            *byte = state.0;
        }
    }
}

/// Makes the page a PFS page with all entries 0, to be filled through what comes back.
pub fn write_pfs<'a>(page: &'a mut PageBytes, id: PageId, stamp: &PageStamp) -> PfsMut<'a> {
    FRAME.write(page, id, AllocUnitId::SYSTEM_PAGES, stamp);
    let entries = PfsMut::of(page);
    entries.bytes.fill(0);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_as_dbcc_page_prints_them() {
        let cases = [
            (0x60, "MIXED_EXT ALLOCATED   0_PCT_FULL"),
            (0x70, "IAM_PG MIXED_EXT ALLOCATED   0_PCT_FULL"),
            (0x64, "MIXED_EXT ALLOCATED 100_PCT_FULL"),
            (0x44, "ALLOCATED 100_PCT_FULL"),
            (0x41, "ALLOCATED  50_PCT_FULL"),
            (0x00, "  0_PCT_FULL"),
            (0x47, "ALLOCATED fullness 7"),
        ];
        for (byte, text) in cases {
            assert_eq!(PfsByte(byte).to_string(), text);
        }
    }

    #[test]
    fn fullness_classes_begin_where_real_pages_say() {
        // Observed: class 1 up to 46.5 %, 2 from 52 to 77, 3 from 80.2 to 94.6, 4 from 95.0 on.
        let cases = [
            (8096, Fullness::Empty),
            (8095, Fullness::UpTo50),
            (4048, Fullness::UpTo50),
            (4047, Fullness::UpTo80),
            (1619, Fullness::UpTo95),
            (405, Fullness::UpTo95),
            (404, Fullness::UpTo100),
            (0, Fullness::UpTo100),
            (u16::MAX, Fullness::Empty),
        ];
        for (free, class) in cases {
            assert_eq!(Fullness::of_free_bytes(free), class, "{free} bytes free");
        }
    }

    #[test]
    fn flags_are_set_and_read_one_by_one() {
        let byte = PfsByte::ALLOCATED
            .with_mixed(true)
            .with_iam(true)
            .with_ghosts(true)
            .with_fullness(Fullness::UpTo80);
        assert_eq!(byte, PfsByte(0x7a));
        assert!(byte.is_allocated() && byte.is_mixed() && byte.is_iam() && byte.has_ghosts());
        assert_eq!(byte.with_allocated(false).with_iam(false).with_ghosts(false), PfsByte(0x22));
        assert!(!byte.has_reserved_bits());
        assert!(PfsByte(0x80).has_reserved_bits() && PfsByte(0x05).has_reserved_bits());
    }

    #[test]
    fn a_written_pfs_page_reads_back() {
        let mut page = [0xee; 8192];
        let stamp = PageStamp { type_flag_bits: 1, ..PageStamp::default() };
        let mut entries = write_pfs(&mut page, PageId::new(2, 8_088), &stamp);
        entries.set(8_088, PfsByte(0x44));
        entries.set(16_175, PfsByte(0x61));
        let view = PfsView::new(&page);
        assert_eq!(view.faults(), []);
        assert_eq!(view.first_page(), PageId::new(2, 8_088));
        assert_eq!(
            (view.entry(8_088), view.entry(8_089), view.entry(16_175)),
            (PfsByte(0x44), PfsByte(0), PfsByte(0x61))
        );
        assert_eq!(view.entries().filter(|entry| entry.is_allocated()).count(), 2);
        assert_eq!(view.header().type_flag_bits, 1);
        let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
        assert_eq!(untouched, view.undefined().collect::<Vec<_>>());
    }

    #[test]
    fn the_first_pfs_page_begins_with_page_zero() {
        let mut page = [0; 8192];
        write_pfs(&mut page, PageId::new(1, 1), &PageStamp::default()).set(1, PfsByte(0x44));
        assert_eq!(PfsView::new(&page).first_page(), PageId::new(1, 0));
        assert_eq!(PfsView::new(&page).bytes()[1], 0x44);
    }
}
