//! The rows of an allocation unit in `sysallocunits` and of its rowset in `sysrowsets`, as far as
//! log records and recovery read and write them without the catalog.
//!
//! ```text
//! offset size  what
//!      4    8  id of the unit
//!     27    6  first page
//!     33    6  root page
//!     39    6  first IAM page
//!     45    8  pages used
//!     53    8  pages of rows
//!     61    8  pages reserved
//! ```
//!
//! ```text
//! offset size  what
//!      4    8  id of the rowset
//!     31    8  rows
//! ```
//!
//! The three pointers change by `LOP_ROOT_CHANGE`, the counters by `LOP_COUNT_DELTA`. Observed in
//! real files of versions 655 to 904.

use extentdb_base::{AllocUnitId, PageId};

use crate::PageBytes;
use crate::page::PageRef;

const ID_AT: usize = 4;
/// Offset of `sysallocunits.pcused`.
pub const PCUSED_AT: u32 = 45;
/// Offset of `sysallocunits.pcdata`.
pub const PCDATA_AT: u32 = 53;
/// Offset of `sysallocunits.pcreserved`.
pub const PCRESERVED_AT: u32 = 61;
/// Offset of `sysrowsets.rcrows`.
pub const RCROWS_AT: u32 = 31;

/// A pointer of an allocation unit to its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitPointer {
    /// Root of the index.
    Root,
    /// Leftmost leaf, or first page of the heap.
    First,
    /// First IAM page.
    FirstIam,
}

impl UnitPointer {
    /// Its number in `LOP_ROOT_CHANGE`.
    pub const fn number(self) -> u8 {
        match self {
            UnitPointer::Root => 0,
            UnitPointer::First => 1,
            UnitPointer::FirstIam => 2,
        }
    }

    /// Its offset in the row.
    pub const fn offset(self) -> u16 {
        match self {
            UnitPointer::First => 27,
            UnitPointer::Root => 33,
            UnitPointer::FirstIam => 39,
        }
    }

    /// Its value in a row; `None` when the row is too short.
    pub fn read(self, row: &[u8]) -> Option<PageId> {
        row.get(usize::from(self.offset())..)?.first_chunk().map(|bytes| PageId::from_bytes(*bytes))
    }
}

/// The unit, or the rowset, that a row describes; `None` when the row is too short.
pub fn unit_of_row(row: &[u8]) -> Option<AllocUnitId> {
    let bytes = row.get(ID_AT..)?.first_chunk()?;
    Some(AllocUnitId(i64::from_le_bytes(*bytes)))
}

/// Does this slot hold the row of the unit?
pub fn is_row_of(page: &PageBytes, slot: u16, unit: AllocUnitId) -> bool {
    PageRef::new(page).record_bytes(slot).and_then(unit_of_row) == Some(unit)
}

/// The slot of the row of a unit; `guess` is tried first.
pub fn slot_of_unit(page: &PageBytes, unit: AllocUnitId, guess: u16) -> Option<u16> {
    let is_it = |slot: &u16| is_row_of(page, *slot, unit);
    Some(guess).filter(is_it).or_else(|| (0..PageRef::new(page).slot_count()).find(is_it))
}
