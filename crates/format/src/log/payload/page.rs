//! Payloads of page operations other than row operations.
//!
//! All of them begin with the page part:
//!
//! ```text
//! offset size field
//!     18    6 page               page u32, file u16
//!     1E    2 slot               FFFF in FORMAT_PAGE
//!     20    4 object_id          as in the page header
//!     24   10 previous_page_lsn  LSN of the page before the change
//!     2E    2 index_id           as in the page header
//! ```
//!
//! Offsets are hexadecimal and counted from the record's start. Observed in real files of versions
//! 611 to 904.

use extentdb_base::{AllocUnitId, Lsn, PageId};

use super::{Body, MayHaveElements, body_without_elements, element_list, len_of, lone_element};
use crate::log::field::{Field, fixed_part};
use crate::log::record::{ElementList, Slices};

/// The part that every operation on a page begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagePart {
    /// Page that the record changes.
    pub page: PageId,
    /// Slot on the page.
    pub slot: u16,
    /// Object id of the page header.
    pub object_id: u32,
    /// LSN of the page before the change: redo applies the record exactly when the page still
    /// carries it.
    pub previous_page_lsn: Lsn,
    /// Index id of the page header.
    pub index_id: u16,
}

impl PagePart {
    /// The allocation unit that the two header fields name.
    pub fn alloc_unit(&self) -> AllocUnitId {
        AllocUnitId::from_header(self.object_id, self.index_id)
    }
}

impl Field for PagePart {
    const BYTES: usize = 24;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(PagePart {
            page: PageId::read(bytes, at)?,
            slot: u16::read(bytes, at + 6)?,
            object_id: u32::read(bytes, at + 8)?,
            previous_page_lsn: Lsn::read(bytes, at + 12)?,
            index_id: u16::read(bytes, at + 22)?,
        })
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        self.page.write(bytes, at);
        self.slot.write(bytes, at + 6);
        self.object_id.write(bytes, at + 8);
        self.previous_page_lsn.write(bytes, at + 12);
        self.index_id.write(bytes, at + 22);
    }
}

fixed_part! {
    /// `LOP_FORMAT_PAGE`: a page is formatted. Redo does not read the old page.
    pub struct FormatPage from 0x18 {
        /// The page; slot is FFFF hex.
        0x18 page: PagePart,
        /// Type of the formatted page, `m_type`.
        0x30 page_type: u8,
        /// Type flag bits of the page header.
        0x31 type_flag_bits: u8,
        /// Level in the index.
        0x32 level: u8,
        /// `m_prevPage` of the formatted page.
        0x34 previous_page: PageId,
        /// Size of the fixed part of the page's records.
        0x3a pminlen: u16,
        /// `m_nextPage` of the formatted page.
        0x3c next_page: PageId,
        /// Flag bits of the page header; 0004 for b-trees from 2008 on.
        0x42 flag_bits: u16,
        /// First page of the interval that an IAM page describes; zero for others.
        0x44 iam_interval: Option<PageId>,
    }
}
body_without_elements!(FormatPage, Some(ElementList::new()));

/// `LOP_FORMAT_PAGE` with elements: an image of the page or a part of it follows, of unknown form.
/// Observed in format 4. What the page is after it is not known, so it is not replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatPageWith<'a> {
    /// The fixed part.
    pub fixed: FormatPage,
    /// Elements of unknown meaning, at least one.
    pub more: Slices<'a>,
}

impl<'a> Body<'a> for FormatPageWith<'a> {
    type Fixed = FormatPage;

    fn join(fixed: FormatPage, elements: Option<Slices<'a>>) -> Option<Self> {
        let more = elements.filter(|all| !all.is_empty())?;
        Some(FormatPageWith { fixed, more })
    }

    fn fixed(&self) -> &FormatPage {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list(self.more.iter().copied()))
    }

    fn unknown_elements(&self) -> usize {
        len_of(&self.more)
    }
}

fixed_part! {
    /// The fixed part of `LOP_SET_BITS`.
    pub struct BitsPart from 0x18 {
        /// Page that the record changes.
        0x18 page: PagePart,
        /// First bit, counted from the record's start, its 4-byte header included.
        0x30 first_bit: u16,
        /// How many bits.
        0x32 bit_count: u16,
        /// Their new value.
        0x34 value: u16,
    }
}

/// `LOP_SET_BITS`: a run of equal bits in a GAM, SGAM, DIFF, IAM or PFS page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetBits<'a> {
    /// The fixed part.
    pub fixed: BitsPart,
    /// Lock information, when the record has an element for it.
    pub lock_info: Option<&'a [u8]>,
}

impl<'a> Body<'a> for SetBits<'a> {
    type Fixed = BitsPart;

    fn join(fixed: BitsPart, elements: Option<Slices<'a>>) -> Option<Self> {
        Some(SetBits { fixed, lock_info: lone_element(&elements?)? })
    }

    fn fixed(&self) -> &BitsPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(self.lock_info.into_iter().map(Into::into).collect())
    }

    fn unknown_elements(&self) -> usize {
        self.lock_info.map_or(0, <[u8]>::len)
    }
}

fixed_part! {
    /// `LOP_SET_FREE_SPACE`: a new PFS byte. No transaction, never undone. In format 3 the fixed
    /// part ends with the page part, and where the bytes are is not known.
    pub struct SetFreeSpace from 0x18 {
        /// The PFS page.
        0x18 page: PagePart,
        /// Offset of the byte in the PFS record: 4 plus the page's number in the interval.
        0x30 byte_offset: Option<u16>,
        /// Value that redo writes.
        0x32 new_value: Option<u8>,
        /// Value that undo restores.
        0x33 old_value: Option<u8>,
    }
}
body_without_elements!(SetFreeSpace, None);

fixed_part! {
    /// `LOP_DELETE_SPLIT`: rows left a page because it was split. They are logged as inserts on the
    /// new page, and undo takes them from there.
    pub struct DeleteSplit from 0x18 {
        /// The old page; slot is the first that moved.
        0x18 page: PagePart,
        /// The page the rows went to.
        0x30 new_page: PageId,
        /// How many rows.
        0x36 rows_deleted: u16,
        /// How many bytes.
        0x38 bytes_freed: u16,
    }
}
body_without_elements!(DeleteSplit, None);

fixed_part! {
    /// `LOP_ROOT_CHANGE`: root page, first page or first IAM page of an allocation unit changes in
    /// its catalog row.
    pub struct RootChange from 0x18 {
        /// Page and slot of the row in `sysallocunits`.
        0x18 page: PagePart,
        /// Which pointer: 0 root, 1 first page, 2 first IAM page.
        0x30 pointer: u8,
        /// The allocation unit.
        0x38 alloc_unit: AllocUnitId,
        /// Object id in the headers of its pages.
        0x40 object_id: u32,
        /// Index id in the headers of its pages.
        0x44 index_id: u16,
        /// Root page that redo writes.
        0x48 new_page: PageId,
        /// Root page that undo restores.
        0x50 old_page: PageId,
        /// Offset of the pointer in the row.
        0x58 row_offset: u16,
    }
}
body_without_elements!(RootChange, None);

fixed_part! {
    /// `LOP_INSYSXACT`: names a page and nothing else that is known (from 2012 on).
    pub struct InSysXact from 0x18 {
        /// Page that the record changes.
        0x18 page: PagePart,
    }
}

/// `LOP_INSYSXACT` with its elements, if it has any; their meaning is unknown.
pub type InSysXactRecord<'a> = MayHaveElements<'a, InSysXact>;
