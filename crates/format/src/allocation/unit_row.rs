//! The row of an allocation unit in `sysallocunits`, as far as log records and recovery read and
//! write it without the catalog.
//!
//! ```text
//! offset size  what
//!      4    8  id of the unit
//!     27    6  first page
//!     33    6  root page
//!     39    6  first IAM page
//! ```
//!
//! The three pointers change by `LOP_ROOT_CHANGE`. Observed in real files of versions 655 to 904.

use extentdb_base::AllocUnitId;

use crate::PageBytes;
use crate::page::PageRef;

/// The allocation unit of the clustered index of `sysallocunits`.
pub const SYSALLOCUNITS: AllocUnitId = AllocUnitId(7 << 16);

const ID_AT: usize = 4;

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
            UnitPointer::First => 0x1b,
            UnitPointer::Root => 0x21,
            UnitPointer::FirstIam => 0x27,
        }
    }
}

/// The unit that a row describes; `None` when the row is too short.
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
