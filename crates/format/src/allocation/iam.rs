//! IAM pages: which extents, and which single pages, belong to an allocation unit.
//!
//! ```text
//! offset size  what
//!     96    4  record 0: 00 00 5e 00
//!    100    4  sequence number in the chain, from 0
//!    104   32  zero
//!    136    6  first page of the interval, a multiple of 511,232, with its file
//!    142   48  eight single pages of mixed extents, 6 bytes each; (0:0) = unused
//!    190    4  record 1: 00 00 38 1f
//!    194 7988  one bit per extent of the interval, see [`bitmap`](super::bitmap)
//!   8182    6  free, undefined
//!   8188    4  slots: record 1 at 190, record 0 at 96
//! ```
//!
//! The page itself may lie in another file or interval than the one it describes. The header's
//! `m_prevPage` and `m_nextPage` link the pages of an allocation unit; object and index id name it.
//! Single pages are on the first page of the chain only.
//!
//! On the IAM of the system table sysfiles1, page (1:12) of every database, records are aligned to
//! four bytes as on the data page of that table: two bytes lie between them, and record 1 is at
//! 192, its bitmap at 196, the free bytes at 8184 ([`IamForm::SysFiles`]).
//!
//! Observed in real files of versions 539 to 904; chains of more than one page are from public
//! documentation.

use std::ops::Range;

use extentdb_base::size::PAGES_PER_GAM;
use extentdb_base::{AllocUnitId, Extent, PageId};

use super::bitmap::{AllocationBitmap, AllocationBitmapMut, MAP_PMINLEN, MAP_RECORDS};
use super::{Frame, MapFault, PageStamp, array_at, put};
use crate::PageBytes;
use crate::page::PageRef;
use crate::page::header::{PageHeader, PageType};

/// Single-page slots of an IAM page.
pub const SINGLE_PAGE_SLOTS: usize = 8;
/// Offset of the sequence number in record 0, as log records count.
pub const SEQUENCE_IN_RECORD: u16 = 4;
/// Offset of the first single page in record 0, as log records count.
pub const SINGLE_PAGES_IN_RECORD: u16 = 46;
const RECORD: usize = 96;
const SEQUENCE: usize = RECORD + SEQUENCE_IN_RECORD as usize;
const RESERVED: Range<usize> = 104..136;
const INTERVAL: usize = 136;
const SINGLE_PAGES: usize = RECORD + SINGLE_PAGES_IN_RECORD as usize;
const SLOT_ARRAY: usize = 8188;
/// Record 0 and record 1 of page (1:12).
const SYS_FILES_RECORDS: [(u16, [u8; 4]); 2] = [(96, [0, 0, 0x5e, 0]), (192, [0, 0, 0x38, 0x1f])];
/// First byte of the bitmap of page (1:12).
const SYS_FILES_BITMAP: usize = 196;

/// The two frames of IAM pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IamForm {
    /// All but one.
    #[default]
    Usual,
    /// The IAM of sysfiles1, page (1:12).
    SysFiles,
}

impl IamForm {
    fn frame(self) -> Frame {
        let (free_bytes, free_offset, records): (u16, u16, &'static [_]) = match self {
            IamForm::Usual => (6, 8182, &MAP_RECORDS),
            IamForm::SysFiles => (4, 8184, &SYS_FILES_RECORDS),
        };
        Frame {
            kind: PageType::Iam,
            pminlen: MAP_PMINLEN,
            free_bytes,
            free_offset,
            records,
        }
    }
}

/// What an IAM page says besides its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IamHead {
    /// Its page id.
    pub id: PageId,
    /// The allocation unit it belongs to.
    pub unit: AllocUnitId,
    /// Place in the chain, from 0.
    pub sequence: u32,
    /// First page of the interval described.
    pub interval: PageId,
    /// Pages of mixed extents; `PageId::NONE` = unused.
    pub single_pages: [PageId; SINGLE_PAGE_SLOTS],
    /// The IAM page before this one.
    pub prev: PageId,
    /// The IAM page after this one.
    pub next: PageId,
    /// Frame of the page.
    pub form: IamForm,
}

impl IamHead {
    /// The only IAM page of a unit: no single pages, no links.
    pub fn new(id: PageId, unit: AllocUnitId, interval: PageId) -> Self {
        IamHead {
            id,
            unit,
            sequence: 0,
            interval,
            single_pages: [PageId::NONE; SINGLE_PAGE_SLOTS],
            prev: PageId::NONE,
            next: PageId::NONE,
            form: IamForm::Usual,
        }
    }
}

/// An IAM page that is read.
#[derive(Clone, Copy)]
pub struct IamView<'a> {
    page: &'a PageBytes,
}

impl<'a> IamView<'a> {
    /// Reads a page as an IAM page.
    pub fn new(page: &'a PageBytes) -> Self {
        IamView { page }
    }

    /// The page header, bytes 0 to 95.
    pub fn header(self) -> &'a PageHeader {
        PageHeader::of(self.page)
    }

    /// Place in the chain, from 0.
    pub fn sequence(self) -> u32 {
        u32::from_le_bytes(array_at(self.page, SEQUENCE))
    }

    /// First page of the interval described. Sound when its page is a multiple of 511,232.
    pub fn interval(self) -> PageId {
        PageId::from_bytes(array_at(self.page, INTERVAL))
    }

    /// The eight single-page slots, unused ones as `PageId::NONE`.
    pub fn single_page_slots(self) -> [PageId; SINGLE_PAGE_SLOTS] {
        std::array::from_fn(|slot| {
            PageId::from_bytes(array_at(self.page, SINGLE_PAGES + PageId::BYTES * slot))
        })
    }

    /// The single pages.
    pub fn single_pages(self) -> impl Iterator<Item = PageId> {
        self.single_page_slots().into_iter().filter(|page| !page.is_none())
    }

    /// The bits, from the first extent of the interval.
    pub fn bitmap(self) -> AllocationBitmap<'a> {
        match self.form() {
            IamForm::Usual => AllocationBitmap::of(self.page),
            IamForm::SysFiles => AllocationBitmap::at::<SYS_FILES_BITMAP>(self.page),
        }
    }

    /// The extents of the unit in this interval. None when the interval does not start at an extent
    /// or ends beyond the last page a file can have.
    pub fn extents(self) -> impl Iterator<Item = Extent> + 'a {
        let interval = self.interval();
        let is_sound = interval.page.is_multiple_of(PAGES_PER_GAM)
            && interval.page <= u32::MAX - PAGES_PER_GAM;
        let first = interval.extent();
        let bitmap = is_sound.then(|| self.bitmap());
        bitmap
            .into_iter()
            .flat_map(|bitmap| bitmap.ones())
            .map(move |bit| Extent { file: first.file, index: first.index + bit })
    }

    /// The frame that the page has, judged by where slot 1 points and what is there.
    pub fn form(self) -> IamForm {
        let [_, (at, start)] = SYS_FILES_RECORDS;
        let is_aligned = PageRef::new(self.page).slot_offset(1) == Some(at);
        if is_aligned && array_at(self.page, usize::from(at)) == start {
            IamForm::SysFiles
        } else {
            IamForm::Usual
        }
    }

    /// All of it but the bits.
    pub fn head(self) -> IamHead {
        let header = self.header();
        IamHead {
            id: header.page_id(),
            unit: header.alloc_unit(),
            sequence: self.sequence(),
            interval: self.interval(),
            single_pages: self.single_page_slots(),
            prev: header.prev(),
            next: header.next(),
            form: self.form(),
        }
    }

    /// Everything about the page's frame that cannot be right.
    pub fn faults(self) -> Vec<MapFault> {
        let mut faults = Vec::new();
        self.form().frame().faults(self.page, &mut faults);
        let reserved = self.page.get(RESERVED).unwrap_or_default();
        if let Some(at) = reserved.iter().position(|byte| *byte != 0) {
            faults.push(MapFault::NotZero { offset: RESERVED.start + at });
        }
        faults
    }

    /// Bytes that mean nothing: between the records and after them.
    pub fn undefined(self) -> [Range<usize>; 2] {
        match self.form() {
            IamForm::Usual => [190..190, 8182..SLOT_ARRAY],
            IamForm::SysFiles => [190..192, 8184..SLOT_ARRAY],
        }
    }
}

/// Makes the page an IAM page with all bits 0, to be filled through the bitmap that comes back.
pub fn write_iam<'a>(
    page: &'a mut PageBytes,
    head: &IamHead,
    stamp: &PageStamp,
) -> AllocationBitmapMut<'a> {
    head.form.frame().write(page, head.id, head.unit, stamp);
    let header = PageHeader::of_mut(page);
    header.prev_bytes = head.prev.to_bytes();
    header.next_bytes = head.next.to_bytes();
    put(page, SEQUENCE, &head.sequence.to_le_bytes());
    if let Some(reserved) = page.get_mut(RESERVED) {
        reserved.fill(0);
    }
    put(page, INTERVAL, &head.interval.to_bytes());
    for (slot, single) in head.single_pages.iter().enumerate() {
        put(page, SINGLE_PAGES + PageId::BYTES * slot, &single.to_bytes());
    }
    let mut bitmap = match head.form {
        IamForm::Usual => AllocationBitmapMut::of(page),
        IamForm::SysFiles => AllocationBitmapMut::at::<SYS_FILES_BITMAP>(page),
    };
    bitmap.fill(false);
    bitmap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> IamHead {
        let mut head = IamHead::new(
            PageId::new(1, 86),
            AllocUnitId::from_header(77, 256),
            PageId::new(3, 511_232),
        );
        head.sequence = 2;
        head.single_pages[0] = PageId::new(1, 114);
        head.single_pages[7] = PageId::new(1, 115);
        head.prev = PageId::new(1, 40);
        head.next = PageId::new(2, 41);
        head
    }

    #[test]
    fn a_written_iam_page_reads_back() {
        for form in [IamForm::Usual, IamForm::SysFiles] {
            let head = IamHead { form, ..head() };
            let mut page = [0xee; 8192];
            write_iam(&mut page, &head, &PageStamp::default()).set_range(10..12, true);
            let view = IamView::new(&page);
            assert_eq!(view.head(), head);
            assert_eq!(view.faults(), []);
            assert_eq!(
                view.single_pages().collect::<Vec<_>>(),
                [PageId::new(1, 114), PageId::new(1, 115)]
            );
            let extents: Vec<PageId> = view.extents().map(Extent::first_page).collect();
            assert_eq!(extents, [PageId::new(3, 511_312), PageId::new(3, 511_320)]);
            let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
            assert_eq!(untouched, view.undefined().into_iter().flatten().collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_interval_that_cannot_be_yields_no_extents() {
        for interval in [7, 511_231, u32::MAX, u32::MAX - u32::MAX % 511_232] {
            let mut page = [0; 8192];
            let head = IamHead { interval: PageId::new(1, interval), ..head() };
            write_iam(&mut page, &head, &PageStamp::default()).fill(true);
            assert_eq!(IamView::new(&page).extents().count(), 0, "interval {interval}");
        }
    }

    #[test]
    fn reserved_bytes_and_a_broken_record_are_faults() {
        let mut page = [0; 8192];
        write_iam(&mut page, &head(), &PageStamp::default());
        page[120] = 9;
        page[190] = 1;
        assert_eq!(
            IamView::new(&page).faults(),
            [
                MapFault::RecordHeader {
                    slot: 1,
                    expected: [0, 0, 0x38, 0x1f],
                    found: [1, 0, 0x38, 0x1f]
                },
                MapFault::NotZero { offset: 120 },
            ]
        );
    }
}
