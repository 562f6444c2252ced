//! Page header: the first 96 bytes of every 8 KiB page.
//!
//! ```text
//! offset size field          DBCC PAGE       note
//!      0    1 header_version m_headerVersion always 1
//!      1    1 page_type      m_type          see [`PageType`]
//!      2    1 type_flag_bits m_typeFlagBits  0 or 4; on a PFS page 1 = some page has ghosts
//!      3    1 level          m_level         index level, 0 = leaf
//!      4    2 flag_bits      m_flagBits      0x200 checksum, 0x100 torn-page signature, 0x2000
//!                                            versioning tags
//!      6    2 index_id       m_indexId       bits 48..64 of the allocation unit id
//!      8    6 prev           m_prevPage      page u32, file u16; (0:0) = none
//!     14    2 fixed_len      pminlen         end of the fixed part of a record
//!     16    6 next           m_nextPage
//!     22    2 slot_count     m_slotCnt       entries of the slot array, which grows down from 8192
//!     24    4 object_id      m_objId         bits 16..48 of the allocation unit id
//!     28    2 free_bytes     m_freeCnt       all free bytes, contiguous or not
//!     30    2 free_offset    m_freeData      first byte after the last record
//!     32    6 page_id        m_pageId        must name the place the page was read from
//!     38    2 reserved_bytes m_reservedCnt   held for rollback; may be left non-zero
//!     40   10 lsn            m_lsn           last log record applied to this page
//!     50    2 xact_reserved  m_xactReserved  part of reserved_bytes of the transaction in xdes_id
//!     52    6 xdes_id        m_xdesId        transaction that last reserved space
//!     58    2 ghost_count    m_ghostRecCnt   ghost records on the page
//!     60    4 checksum       m_tornBits      meaning depends on flag_bits
//!     64   32 reserved       -               zero
//! ```
//!
//! Invariants of a sound page
//! - `96 <= free_offset <= 8192 - 2 * slot_count`.
//! - `free_bytes = 8096 - sum of record footprints - 2 * slot_count` (a record on a data page
//!   counts at least 9).
//! - `page_id` is the page's own place.
//!
//! Observed in real files of versions 539 to 904. A header that breaks the invariants is still
//! readable.

use std::fmt;
use std::mem::{offset_of, size_of};

use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_base::{AllocUnitId, Lsn, PageId, XactId};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::PageBytes;

/// The header as it lies on disk; see the module for the picture.
#[derive(Clone, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct PageHeader {
    pub header_version: u8,
    pub page_type: u8,
    pub type_flag_bits: u8,
    pub level: u8,
    pub flag_bits: U16,
    pub index_id: U16,
    pub prev_bytes: [u8; 6],
    pub fixed_len: U16,
    pub next_bytes: [u8; 6],
    pub slot_count: U16,
    pub object_id: U32,
    pub free_bytes: U16,
    pub free_offset: U16,
    pub page_id_bytes: [u8; 6],
    pub reserved_bytes: U16,
    pub lsn_bytes: [u8; 10],
    pub xact_reserved: U16,
    pub xdes_id_bytes: [u8; 6],
    pub ghost_count: U16,
    pub checksum: U32,
    pub reserved: [u8; 32],
}

const _: () = assert!(size_of::<PageHeader>() == PAGE_HEADER_BYTES);
const _: () = assert!(offset_of!(PageHeader, page_id_bytes) == 32);
const _: () = assert!(offset_of!(PageHeader, lsn_bytes) == 40);
const _: () = assert!(offset_of!(PageHeader, checksum) == 60);

/// Offset of `level`, as log records name it.
pub const LEVEL_AT: u16 = offset_of!(PageHeader, level) as u16;
/// Offset of `prev`, as log records name it.
pub const PREV_AT: u16 = offset_of!(PageHeader, prev_bytes) as u16;
/// Offset of `next`, as log records name it.
pub const NEXT_AT: u16 = offset_of!(PageHeader, next_bytes) as u16;

/// The only header version there is.
pub const HEADER_VERSION: u8 = 1;
/// `flag_bits`: the checksum field holds a torn-page signature.
pub const FLAG_TORN_BITS: u16 = 0x0100;
/// `flag_bits`: the checksum field holds a checksum.
pub const FLAG_CHECKSUM: u16 = 0x0200;
/// `flag_bits`: records of the page may have versioning tags, VERSION_INFO. Which bit it is in real
/// files is not known; this one is set on many of their pages without tags, and then says nothing.
pub const FLAG_VERSION_INFO: u16 = 0x2000;

impl PageHeader {
    /// May records of the page have versioning tags? Certain of pages whose tags were written here.
    #[inline]
    pub fn has_version_info(&self) -> bool {
        self.flag_bits.get() & FLAG_VERSION_INFO != 0
    }

    /// The header of a page.
    #[inline]
    pub fn of(page: &PageBytes) -> &PageHeader {
        match PageHeader::ref_from_prefix(page) {
            Ok((header, _)) => header,
            Err(_) => {
                unreachable!("a page is longer than its header, and the header has no alignment")
            }
        }
    }

    /// The header of a page, to be changed.
    #[inline]
    pub fn of_mut(page: &mut PageBytes) -> &mut PageHeader {
        match PageHeader::mut_from_prefix(page) {
            Ok((header, _)) => header,
            Err(_) => {
                unreachable!("a page is longer than its header, and the header has no alignment")
            }
        }
    }

    /// What kind of page this says it is.
    #[inline]
    pub fn kind(&self) -> PageType {
        PageType::from_byte(self.page_type)
    }

    /// The page this header says it belongs to.
    #[inline]
    pub fn page_id(&self) -> PageId {
        PageId::from_bytes(self.page_id_bytes)
    }

    /// The previous page of the chain; `PageId::NONE` at its start.
    #[inline]
    pub fn prev(&self) -> PageId {
        PageId::from_bytes(self.prev_bytes)
    }

    /// The next page of the chain; `PageId::NONE` at its end.
    #[inline]
    pub fn next(&self) -> PageId {
        PageId::from_bytes(self.next_bytes)
    }

    /// The last log record applied to the page.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        Lsn::from_bytes(self.lsn_bytes)
    }

    /// The transaction that reserved space last; the default one when there was none.
    #[inline]
    pub fn xdes_id(&self) -> XactId {
        let [l0, l1, l2, l3, h0, h1] = self.xdes_id_bytes;
        XactId {
            high: u16::from_le_bytes([h0, h1]),
            low: u32::from_le_bytes([l0, l1, l2, l3]),
        }
    }

    /// Enters the transaction that reserved space last.
    pub fn set_xdes_id(&mut self, xact: XactId) {
        let [l0, l1, l2, l3] = xact.low.to_le_bytes();
        let [h0, h1] = xact.high.to_le_bytes();
        self.xdes_id_bytes = [l0, l1, l2, l3, h0, h1];
    }

    /// The allocation unit this header names.
    #[inline]
    pub fn alloc_unit(&self) -> AllocUnitId {
        AllocUnitId::from_header(self.object_id.get(), self.index_id.get())
    }

    /// True when the header names `unit`. Databases that come from SQL Server 2000 have leaf pages
    /// of clustered indexes with `index_id` 0 although the unit says 1 (observed in such files):
    /// those belong, too.
    #[inline]
    pub fn belongs_to(&self, unit: AllocUnitId) -> bool {
        let own = self.alloc_unit();
        own == unit || (self.kind() == PageType::Data && AllocUnitId(own.0 | 1 << 48) == unit)
    }

    /// First byte of the slot array, or `None` when the slot count does not fit on a page.
    #[inline]
    pub fn slot_array_start(&self) -> Option<usize> {
        let start = 8192usize.checked_sub(2 * usize::from(self.slot_count.get()))?;
        (start >= PAGE_HEADER_BYTES).then_some(start)
    }
}

/// `m_type` of the page header: what a page holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum PageType {
    /// 0: never formatted.
    Unformatted,
    /// 1: rows of a heap, or the leaf of a clustered index.
    Data,
    /// 2: all pages of a nonclustered index, upper levels of a clustered one.
    Index,
    /// 3: LOB fragments and small roots of several values.
    TextMix,
    /// 4: inner nodes of LOB trees.
    TextTree,
    /// 7: sort runs.
    Sort,
    /// 8: which extents are free.
    Gam,
    /// 9: which mixed extents have a free page.
    Sgam,
    /// 10: which extents belong to an allocation unit.
    Iam,
    /// 11: state of each page.
    Pfs,
    /// 13: the boot page (1:9).
    Boot,
    /// 14: server configuration, in master only.
    Config,
    /// 15: page 0 of every file.
    FileHeader,
    /// 16: extents changed since the last full backup.
    Diff,
    /// 17: extents changed by minimally logged operations.
    Ml,
    /// 18, 19, 20: temporary forms during repair, index rebuild and bulk load.
    Temporary(u8),
    /// A number that no known page type has.
    Unknown(u8),
}

impl PageType {
    /// The kind that a type byte names.
    pub const fn from_byte(byte: u8) -> PageType {
        match byte {
            0 => PageType::Unformatted,
            1 => PageType::Data,
            2 => PageType::Index,
            3 => PageType::TextMix,
            4 => PageType::TextTree,
            7 => PageType::Sort,
            8 => PageType::Gam,
            9 => PageType::Sgam,
            10 => PageType::Iam,
            11 => PageType::Pfs,
            13 => PageType::Boot,
            14 => PageType::Config,
            15 => PageType::FileHeader,
            16 => PageType::Diff,
            17 => PageType::Ml,
            18..=20 => PageType::Temporary(byte),
            _ => PageType::Unknown(byte),
        }
    }

    /// The type byte.
    pub const fn to_byte(self) -> u8 {
        match self {
            PageType::Unformatted => 0,
            PageType::Data => 1,
            PageType::Index => 2,
            PageType::TextMix => 3,
            PageType::TextTree => 4,
            PageType::Sort => 7,
            PageType::Gam => 8,
            PageType::Sgam => 9,
            PageType::Iam => 10,
            PageType::Pfs => 11,
            PageType::Boot => 13,
            PageType::Config => 14,
            PageType::FileHeader => 15,
            PageType::Diff => 16,
            PageType::Ml => 17,
            PageType::Temporary(byte) | PageType::Unknown(byte) => byte,
        }
    }

    /// True for pages that hold records of an allocation unit.
    pub const fn holds_records(self) -> bool {
        matches!(self, PageType::Data | PageType::Index | PageType::TextMix | PageType::TextTree)
    }

    /// The name used in listings.
    pub const fn name(self) -> &'static str {
        match self {
            PageType::Unformatted => "unformatted",
            PageType::Data => "data",
            PageType::Index => "index",
            PageType::TextMix => "text mix",
            PageType::TextTree => "text tree",
            PageType::Sort => "sort",
            PageType::Gam => "GAM",
            PageType::Sgam => "SGAM",
            PageType::Iam => "IAM",
            PageType::Pfs => "PFS",
            PageType::Boot => "boot",
            PageType::Config => "server configuration",
            PageType::FileHeader => "file header",
            PageType::Diff => "DIFF map",
            PageType::Ml => "ML map",
            PageType::Temporary(_) => "temporary",
            PageType::Unknown(_) => "unknown",
        }
    }
}

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page (1:116) of a 2008 Northwind, first 64 bytes, as printed in the format description.
    const EXAMPLE: [u8; 64] = [
        0x01, 0x01, 0x04, 0x00, 0x00, 0x02, 0x01, 0x00, 0, 0, 0, 0, 0, 0, 0x2c, 0x00, 0x72, 0, 0,
        0, 1, 0, 0x61, 0, 0x22, 0, 0, 0, 0x3c, 0, 0x02, 0x1f, 0x74, 0, 0, 0, 1, 0, 0, 0, 0x30, 0,
        0, 0, 0x39, 0, 0, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0d, 0x07, 0xbe, 0xa3,
    ];

    #[test]
    fn a_real_header_reads_as_dbcc_page_prints_it() {
        let mut page = [0; 8192];
        page[..64].copy_from_slice(&EXAMPLE);
        let h = PageHeader::of(&page);
        assert_eq!((h.kind(), h.level, h.flag_bits.get()), (PageType::Data, 0, FLAG_CHECKSUM));
        assert_eq!((h.prev(), h.next()), (PageId::NONE, PageId::new(1, 114)));
        assert_eq!((h.slot_count.get(), h.fixed_len.get()), (97, 44));
        assert_eq!((h.free_bytes.get(), h.free_offset.get()), (60, 7938));
        assert_eq!((h.page_id(), h.lsn()), (PageId::new(1, 116), Lsn::new(0x30, 0x39, 0xc)));
        assert_eq!(h.alloc_unit(), AllocUnitId(1 << 48 | 34 << 16));
        assert_eq!(h.checksum.get(), 0xa3be_070d);
    }

    #[test]
    fn every_type_byte_survives() {
        assert!((0..=255u8).all(|byte| PageType::from_byte(byte).to_byte() == byte));
    }

    #[test]
    fn leaf_pages_from_2000_belong_although_their_index_id_is_zero() {
        let mut page = [0; 8192];
        let header = PageHeader::of_mut(&mut page);
        header.page_type = 1;
        header.object_id = 1234.into();
        assert!(header.belongs_to(AllocUnitId::from_header(1234, 1)));
        assert!(!header.belongs_to(AllocUnitId::from_header(1234, 2)));
        header.page_type = 2;
        assert!(!header.belongs_to(AllocUnitId::from_header(1234, 1)));
    }
}
