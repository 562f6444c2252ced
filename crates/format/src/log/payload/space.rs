//! Payloads about rowsets, allocation units and counters.
//!
//! Offsets are hexadecimal and counted from the record's start. Observed in real files of versions
//! 611 to 904.

use extentdb_base::{AllocUnitId, PageId};

use super::{Body, MayHaveElements, body_without_elements, page::PagePart};
use crate::log::field::{Field, fixed_part};
use crate::log::record::{ElementList, Slices};

fixed_part! {
    /// `LOP_HOBT_DELTA`: the counters of an allocation unit change in memory; redo and undo add and
    /// subtract.
    pub struct HobtDelta from 0x18 {
        /// The allocation unit.
        0x18 alloc_unit: AllocUnitId,
        /// Change of the row count.
        0x20 rows: i64,
        /// Change of the count of data pages.
        0x28 data_pages: i64,
        /// Change of the count of used pages.
        0x30 used_pages: i64,
        /// Change of the count of reserved pages.
        0x38 reserved_pages: i64,
    }
}
body_without_elements!(HobtDelta, None);

fixed_part! {
    /// `LOP_CREATE_ALLOCCHAIN`: an allocation unit gets its first IAM page.
    pub struct CreateAllocChain from 0x18 {
        /// The IAM page.
        0x18 first_iam: PageId,
        /// Object id in the headers of the unit's pages.
        0x20 object_id: u32,
        /// Index id in the headers of the unit's pages.
        0x24 index_id: u16,
    }
}
body_without_elements!(CreateAllocChain, None);

fixed_part! {
    /// `LOP_HOBT_DDL`: a heap or index comes or goes. The meaning of the three fields was inferred
    /// from the records around it (an action of 1 precedes the first page of a new rowset).
    pub struct HobtDdl from 0x18 {
        /// Object id in the headers of the rowset's pages.
        0x18 object_id: u32,
        /// Index id in the headers of the rowset's pages.
        0x1c index_id: u16,
        /// What happened: 1, 2 or 3.
        0x20 action: u32,
    }
}
body_without_elements!(HobtDdl, None);

fixed_part! {
    /// `LOP_IDENT_NEWVAL`, `LOP_IDENT_SENTVAL`: an identity counter moves on. Only the object is
    /// known.
    pub struct IdentValue from 0x18 {
        /// Object id of the table.
        0x18 object_id: u32,
    }
}

/// `LOP_IDENT_NEWVAL`, `LOP_IDENT_SENTVAL` with what follows: nothing, or one element of a few
/// bytes (formats 3 and 4).
pub type IdentValueRecord<'a> = MayHaveElements<'a, IdentValue>;

fixed_part! {
    /// `LOP_BP_DBVER`: the version of the database changes; one record per step of an upgrade.
    pub struct DbVersionChange from 0x18 {
        /// Database version before the step.
        0x18 old_version: u16,
        /// Database version after the step.
        0x1a new_version: u16,
    }
}
body_without_elements!(DbVersionChange, None);

/// A new value of a counter in a catalog row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountCell {
    /// The new value itself, not a difference.
    pub value: i64,
    /// Offset of the counter in the row.
    pub row_offset: u32,
    /// Bytes of the counter; 0 in records about rowsets, whose counter has eight. A cell is not in
    /// use when the offset is 0.
    pub bytes: u32,
}

impl Field for CountCell {
    const BYTES: usize = 16;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let value = i64::read(bytes, at)?;
        let row_offset = u32::read(bytes, at + 8)?;
        Some(CountCell { value, row_offset, bytes: u32::read(bytes, at + 12)? })
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        self.value.write(bytes, at);
        self.row_offset.write(bytes, at + 8);
        self.bytes.write(bytes, at + 12);
    }
}

/// Kind of a count record whose row is one of `sysallocunits`.
pub const KIND_UNIT: u32 = 0;
/// Kind of a count record whose row is one of `sysrowsets`.
pub const KIND_ROWSET: u32 = 1;
/// Kind of a count record whose row is one of `sysrscols`, which has a column id before the cells.
const KIND_COLUMN: u32 = 2;

fixed_part! {
    /// The fixed part of a [`CountDelta`].
    pub struct CountPart from 0x18 {
        /// Page and slot of the row.
        0x18 page: PagePart,
        /// Catalog table of the row: 0 `sysallocunits`, 1 `sysrowsets`.
        0x30 kind: u32,
        /// Id of the row's object: allocation unit or rowset.
        0x38 id: u64,
        /// Counters with their changes, unused ones zero.
        0x50 cells: [CountCell; 8],
    }
}

/// `LOP_COUNT_DELTA` for allocation units and rowsets: counters live in memory and are logged
/// before a checkpoint. Redo only, no transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountDelta {
    /// The fixed part.
    pub fixed: CountPart,
}

impl Body<'_> for CountDelta {
    type Fixed = CountPart;

    fn join(fixed: CountPart, elements: Option<Slices<'_>>) -> Option<Self> {
        (elements.is_none() && fixed.kind != KIND_COLUMN).then_some(CountDelta { fixed })
    }

    fn fixed(&self) -> &CountPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        None
    }
}

fixed_part! {
    /// The fixed part of a [`ColumnCountDelta`].
    pub struct ColumnCountPart from 0x18 {
        /// Page and slot of the row.
        0x18 page: PagePart,
        /// Catalog table of the row: 2, `sysrscols`.
        0x30 kind: u32,
        /// `sysrscols.rsid`: the rowset of the column.
        0x38 id: u64,
        /// `sysrscols.rscolid`: the column in the rowset.
        0x50 column_id: u64,
        /// The counters: `rcmodified`.
        0x58 cells: [CountCell; 7],
    }
}

/// `LOP_COUNT_DELTA` for columns of a rowset: how often they were modified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnCountDelta {
    /// The fixed part.
    pub fixed: ColumnCountPart,
}

impl Body<'_> for ColumnCountDelta {
    type Fixed = ColumnCountPart;

    fn join(fixed: ColumnCountPart, elements: Option<Slices<'_>>) -> Option<Self> {
        (elements.is_none() && fixed.kind == KIND_COLUMN).then_some(ColumnCountDelta { fixed })
    }

    fn fixed(&self) -> &ColumnCountPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        None
    }
}
