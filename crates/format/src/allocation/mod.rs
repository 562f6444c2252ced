//! Allocation maps and the fixed pages: what is free, who owns it, and which file and database this
//! is.
//!
//! ```text
//! page                          what
//! 0 of every file               [`file_header`]
//! 1, 8088, 16176 …              [`pfs`]: one byte per page
//! 2, 3 and 6, 7 of an interval  [`bitmap`]: GAM, SGAM, DIFF, ML: one bit per extent
//! anywhere                      [`iam`]: one bit per extent for one allocation unit
//! 9 of file 1                   [`boot`]
//! ```
//!
//! A GAM interval is 63,904 extents (511,232 pages); its GAM is at +2 in the first interval and at
//! +0 in all others, SGAM at +3 or +1, DIFF at +6, ML at +7. PFS intervals are 8088 pages; the
//! first PFS page is page 1.
//!
//! Reading never fails: a view gives what the bytes say, and `faults` lists where they contradict
//! themselves. Writing defines every byte that a reader may rely on and leaves the others as the
//! buffer has them (hand in zeros for a new page); `undefined` of the view names those. The
//! checksum is set last, by [`seal`](crate::page::checksum::seal).

pub mod bitmap;
pub mod boot;
pub mod field;
pub mod file_header;
pub mod iam;
pub mod pfs;
pub mod unit_row;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, Lsn, PageId};

use crate::page::header::{HEADER_VERSION, PageHeader, PageType};
use crate::{PageBytes, page::PageRef};

/// What the header of a system page holds besides the facts that follow from its kind and content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageStamp {
    /// The last log record applied.
    pub lsn: Lsn,
    /// `m_flagBits`. The protection bits are set again when the page is sealed.
    pub flag_bits: u16,
    /// `m_typeFlagBits`: 1 on a PFS page whose interval has ghosts, else 0.
    pub type_flag_bits: u8,
}

impl PageStamp {
    /// The stamp of a page.
    pub fn of(header: &PageHeader) -> PageStamp {
        PageStamp {
            lsn: header.lsn(),
            flag_bits: header.flag_bits.get(),
            type_flag_bits: header.type_flag_bits,
        }
    }
}

/// Something in the frame of a system page that is not as it must be. Content is judged by the
/// views' own callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapFault {
    /// The header names another kind of page.
    PageType {
        /// Kind this page was read as.
        expected: PageType,
        /// Kind in the header.
        found: PageType,
    },
    /// A number of the header is not the only possible one.
    Header {
        /// Name of the field as DBCC PAGE prints it.
        field: &'static str,
        /// The only value there is for this kind of page.
        expected: u32,
        /// Value in the header.
        found: u32,
    },
    /// A slot does not point at its record.
    Slot {
        /// Slot, from 0.
        slot: u16,
        /// Where the record is.
        expected: u16,
        /// Where the slot points.
        found: u16,
    },
    /// The four bytes before a record's content.
    RecordHeader {
        /// Slot, from 0.
        slot: u16,
        /// As they must be.
        expected: [u8; 4],
        /// As they are.
        found: [u8; 4],
    },
    /// Bytes that are zero on every sound page are not.
    NotZero {
        /// First such byte of the page.
        offset: usize,
    },
}

/// The shape of a kind of system page: the numbers its header must hold, and where its records are.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: PageType,
    pminlen: u16,
    free_bytes: u16,
    free_offset: u16,
    /// Offset and first four bytes of each record.
    records: &'static [(u16, [u8; 4])],
}

impl Frame {
    /// Writes header, slot array and record headers of a page that belongs to `unit`.
    fn write(&self, page: &mut PageBytes, id: PageId, unit: AllocUnitId, stamp: &PageStamp) {
        let slots: Vec<u16> = self.records.iter().map(|(offset, _)| *offset).collect();
        write_header(page, self.kind, id, unit, stamp);
        write_slots(page, &slots);
        let header = PageHeader::of_mut(page);
        header.fixed_len.set(self.pminlen);
        header.free_bytes.set(self.free_bytes);
        header.free_offset.set(self.free_offset);
        for (offset, start) in self.records {
            put(page, usize::from(*offset), start);
        }
    }

    /// Compares a page with the shape.
    fn faults(&self, page: &PageBytes, out: &mut Vec<MapFault>) {
        let view = PageRef::new(page);
        let header = view.header();
        if header.kind() != self.kind {
            out.push(MapFault::PageType { expected: self.kind, found: header.kind() });
        }
        let numbers = [
            ("m_headerVersion", u32::from(HEADER_VERSION), u32::from(header.header_version)),
            ("pminlen", u32::from(self.pminlen), u32::from(header.fixed_len.get())),
            ("m_slotCnt", self.records.len() as u32, u32::from(header.slot_count.get())),
            ("m_freeCnt", u32::from(self.free_bytes), u32::from(header.free_bytes.get())),
            ("m_freeData", u32::from(self.free_offset), u32::from(header.free_offset.get())),
        ];
        for (field, expected, found) in numbers {
            if expected != found {
                out.push(MapFault::Header { field, expected, found });
            }
        }
        for (slot, (expected, start)) in (0u16..).zip(self.records) {
            let found = view.slot_offset(slot).unwrap_or(0);
            if found != *expected {
                out.push(MapFault::Slot { slot, expected: *expected, found });
            }
            let found = array_at(page, usize::from(*expected));
            if found != *start {
                out.push(MapFault::RecordHeader { slot, expected: *start, found });
            }
        }
    }
}

/// Writes a page header without its accounting, and without links.
fn write_header(
    page: &mut PageBytes,
    kind: PageType,
    id: PageId,
    unit: AllocUnitId,
    stamp: &PageStamp,
) {
    *PageHeader::of_mut(page) = PageHeader {
        header_version: HEADER_VERSION,
        page_type: kind.to_byte(),
        type_flag_bits: stamp.type_flag_bits,
        level: 0,
        flag_bits: stamp.flag_bits.into(),
        index_id: unit.header_index_id().into(),
        prev_bytes: PageId::NONE.to_bytes(),
        fixed_len: 0.into(),
        next_bytes: PageId::NONE.to_bytes(),
        slot_count: 0.into(),
        object_id: unit.header_object_id().into(),
        free_bytes: 0.into(),
        free_offset: 0.into(),
        page_id_bytes: id.to_bytes(),
        reserved_bytes: 0.into(),
        lsn_bytes: stamp.lsn.to_bytes(),
        xact_reserved: 0.into(),
        xdes_id_bytes: [0; 6],
        ghost_count: 0.into(),
        checksum: 0.into(),
        reserved: [0; 32],
    };
}

/// Writes the slot array and the slot count.
fn write_slots(page: &mut PageBytes, slots: &[u16]) {
    PageHeader::of_mut(page).slot_count.set(slots.len() as u16);
    for (slot, offset) in slots.iter().enumerate() {
        put(page, PAGE_BYTES.saturating_sub(2 + 2 * slot), &offset.to_le_bytes());
    }
}

/// Copies `bytes` to a place of the page; what would reach beyond the page is not written.
fn put(page: &mut PageBytes, at: usize, bytes: &[u8]) {
    if let Some(target) = page.get_mut(at..at.saturating_add(bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

/// `N` bytes of the page; zeros where the page ends before.
fn array_at<const N: usize>(page: &PageBytes, at: usize) -> [u8; N] {
    page.get(at..).and_then(|rest| rest.first_chunk().copied()).unwrap_or([0; N])
}
