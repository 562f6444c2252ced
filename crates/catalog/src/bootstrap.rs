//! From the boot page to rowsets and their columns: the part of the catalog that cannot describe
//! itself.
//!
//! ```text
//! boot page (1:9)  ->  first page of sysallocunits (object 7), a chain of leaf pages
//!     unit 5 << 16  ->  root of sysrowsets      every heap and index partition
//!     unit 3 << 16  ->  root of sysrscols       their physical columns
//! 2005 has, in place of sysrscols, sysrowsetcolumns (4) and syshobtcolumns (13), joined by rowset
//!      and hobt column.
//! ```
//!
//! Fixed offsets of these tables, from the record's first byte, are the same from version 655 on;
//! those of the 2005 forms were observed in files of version 611. Which form a file has is seen
//! from the units it lists, not from its version.

use std::collections::{BTreeMap, HashMap, HashSet};

use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId, PageId, Rid};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::SqlType;

use crate::access::{LeafKind, LeafPages};
use crate::error::Fault;
use crate::layout::{ColumnOffset, Compression, PhysicalColumn, RowLayout, column_status};
use crate::model::{AllocUnit, AllocUnitKind, Rowset};
use crate::pages::PageGetter;

/// What the bootstrap tables say.
#[derive(Debug, Default)]
pub struct Bootstrap {
    /// Every allocation unit.
    pub units: BTreeMap<AllocUnitId, AllocUnit>,
    /// Every rowset, with its columns and units.
    pub rowsets: BTreeMap<HobtId, Rowset>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

/// Allocation unit of a bootstrap table: its object id, index part 0.
const fn system_unit(object: i64) -> AllocUnitId {
    AllocUnitId(object << 16)
}

const SYSROWSETCOLUMNS: AllocUnitId = system_unit(4);
/// Allocation unit of `sysallocunits`.
pub const SYSALLOCUNITS: AllocUnitId = AllocUnitId::SYSALLOCUNITS;
const SYSHOBTCOLUMNS: AllocUnitId = system_unit(13);

impl Bootstrap {
    /// Reads the bootstrap tables, starting at the first page of `sysallocunits`.
    pub fn load(pages: &dyn PageGetter, first_sysallocunits: PageId) -> Bootstrap {
        let mut boot = Bootstrap::default();
        boot.load_units(pages, first_sysallocunits);
        let modern = boot.units.contains_key(&AllocUnitId::SYSRSCOLS);
        boot.load_rowsets(pages, modern);
        let columns = if modern { boot.load_columns(pages) } else { boot.load_columns_2005(pages) };
        boot.attach(columns);
        boot
    }

    /// The chain of leaf pages of `sysallocunits`; each page is visited once.
    fn load_units(&mut self, pages: &dyn PageGetter, first: PageId) {
        let mut page = PageBuf::zeroed();
        let mut id = first;
        let mut from = PageId::BOOT;
        let mut seen = HashSet::new();
        while !id.is_none() {
            if !seen.insert(id) {
                return self.faults.push(Fault::Loop { page: id, from });
            }
            if let Err(error) = pages.page(id, &mut page) {
                return self.faults.push(error.into());
            }
            let view = PageRef::new(&page);
            if view.header().kind() != PageType::Data || !view.header().belongs_to(SYSALLOCUNITS) {
                return self.faults.push(Fault::Misplaced {
                    page: id,
                    what: "not a page of sysallocunits",
                    from,
                });
            }
            for row in rows(view, id, &mut self.faults) {
                let Some(unit) = AllocUnit::of_row(&row) else { continue };
                self.units.insert(unit.id, unit);
            }
            (from, id) = (id, view.header().next());
        }
    }

    fn load_rowsets(&mut self, pages: &dyn PageGetter, modern: bool) {
        let mut rowsets = BTreeMap::new();
        self.each_row(pages, AllocUnitId::SYSROWSETS, |row| {
            if let Some(rowset) = read_rowset(row, modern) {
                rowsets.insert(rowset.id, rowset);
            }
        });
        self.rowsets = rowsets;
    }

    fn load_columns(&mut self, pages: &dyn PageGetter) -> HashMap<HobtId, Vec<PhysicalColumn>> {
        let mut columns: HashMap<HobtId, Vec<PhysicalColumn>> = HashMap::new();
        self.each_row(pages, AllocUnitId::SYSRSCOLS, |row| {
            if let Some((rowset, column)) = read_column(row) {
                columns.entry(rowset).or_default().push(column);
            }
        });
        columns
    }

    fn load_columns_2005(
        &mut self,
        pages: &dyn PageGetter,
    ) -> HashMap<HobtId, Vec<PhysicalColumn>> {
        let mut physical = HashMap::new();
        self.each_row(pages, SYSHOBTCOLUMNS, |row| {
            if let Some((rowset, column)) = read_hobt_column(row) {
                physical.insert((rowset, column.ordinal), column);
            }
        });
        let mut columns: HashMap<HobtId, Vec<PhysicalColumn>> = HashMap::new();
        self.each_row(pages, SYSROWSETCOLUMNS, |row| {
            let join = || {
                let rowset = HobtId(row.i64(4)?);
                let hobt_column = row.i32(16)?;
                let mut column = physical.get(&(rowset, hobt_column))?.clone();
                column.column_id = row.i32(12)?;
                column.max_in_row = row.i16(32)?;
                column.status |= row.u32(20)?;
                Some((rowset, column))
            };
            if let Some((rowset, column)) = join() {
                columns.entry(rowset).or_default().push(column);
            }
        });
        for (rowset, columns) in &mut columns {
            if self.rowsets.get(rowset).is_some_and(|rowset| rowset.index == CLUSTERED) {
                columns.iter_mut().for_each(mark_uniquifier);
            }
        }
        columns
    }

    /// Calls `visit` for every row of a table that has no layout yet.
    fn each_row(
        &mut self,
        pages: &dyn PageGetter,
        id: AllocUnitId,
        mut visit: impl FnMut(&FixedRow<'_>),
    ) {
        let Some(unit) = self.units.get(&id) else {
            let what = format!("no allocation unit {id} in sysallocunits");
            return self.faults.push(Fault::Catalog(what));
        };
        for leaf in LeafPages::new(pages, id, unit.root, LeafKind::Clustered) {
            match leaf {
                Ok((page_id, page)) => {
                    rows(PageRef::new(&page), page_id, &mut self.faults)
                        .iter()
                        .for_each(&mut visit);
                }
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    fn attach(&mut self, mut columns: HashMap<HobtId, Vec<PhysicalColumn>>) {
        for (id, rowset) in &mut self.rowsets {
            let columns = columns.remove(id).unwrap_or_default();
            rowset.layout = RowLayout::new(columns, rowset.compression);
        }
        for unit in self.units.values() {
            match self.rowsets.get_mut(&unit.owner) {
                Some(rowset) => rowset.units.push(unit.clone()),
                // Type 0: a unit whose drop is deferred; its pages are freed later, by a background
                // task.
                None if unit.kind == AllocUnitKind::Other(0) => {}
                None => self.faults.push(Fault::Catalog(format!(
                    "allocation unit {} belongs to rowset {}, which sysrowsets does not list",
                    unit.id, unit.owner
                ))),
            }
        }
    }
}

/// The rows of a page; records that do not add up become faults.
fn rows<'a>(view: PageRef<'a>, page: PageId, faults: &mut Vec<Fault>) -> Vec<FixedRow<'a>> {
    let mut out = Vec::with_capacity(usize::from(view.slot_count()));
    for (slot, bytes) in view.records() {
        let record = Record::parse_data(bytes);
        if let Some(fault) = record.fault() {
            faults.push(Fault::Record { rid: Rid::new(page, slot), fault });
        } else if record.kind() == RecordKind::Primary {
            out.push(FixedRow(record));
        }
    }
    out
}

/// A record of which only the fixed columns are read, by offset.
struct FixedRow<'a>(Record<'a>);

impl FixedRow<'_> {
    fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.0.fixed(offset, N)?.first_chunk().copied()
    }
    fn u8(&self, offset: usize) -> Option<u8> {
        self.array::<1>(offset).map(|[b]| b)
    }
    fn i16(&self, offset: usize) -> Option<i16> {
        self.array(offset).map(i16::from_le_bytes)
    }
    fn u16(&self, offset: usize) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }
    fn i32(&self, offset: usize) -> Option<i32> {
        self.array(offset).map(i32::from_le_bytes)
    }
    fn u32(&self, offset: usize) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }
    fn i64(&self, offset: usize) -> Option<i64> {
        self.array(offset).map(i64::from_le_bytes)
    }
    fn page(&self, offset: usize) -> Option<PageId> {
        self.array(offset).map(PageId::from_bytes)
    }
}

impl AllocUnit {
    /// What a record of `sysallocunits` says; `None` when it is too short.
    pub fn of_record(bytes: &[u8]) -> Option<AllocUnit> {
        AllocUnit::of_row(&FixedRow(Record::parse_data(bytes)))
    }

    fn of_row(row: &FixedRow<'_>) -> Option<AllocUnit> {
        Some(AllocUnit {
            id: AllocUnitId(row.i64(4)?),
            kind: AllocUnitKind::from_type(row.u8(12)?),
            owner: HobtId(row.i64(13)?),
            status: row.u32(21)?,
            filegroup: row.i16(25)?,
            first_page: row.page(27)?,
            root: row.page(33)?,
            first_iam: row.page(39)?,
            pages_used: row.i64(45)?,
            pages_data: row.i64(53)?,
            pages_reserved: row.i64(61)?,
        })
    }
}

fn read_rowset(row: &FixedRow<'_>, modern: bool) -> Option<Rowset> {
    let level = if modern { row.u8(39)? } else { 0 };
    Some(Rowset {
        id: HobtId(row.i64(4)?),
        owner_type: row.u8(12)?,
        object: ObjectId(row.i32(13)?),
        index: IndexId(row.i32(17)?),
        partition: row.i32(21)?,
        status: row.u32(25)?,
        rows: row.i64(31)?,
        compression: Compression::from_level(level),
        fill_factor: if modern { row.u8(40)? } else { 0 },
        min_leaf: if modern { row.u16(49)? } else { 0 },
        min_interior: if modern { row.u16(51)? } else { 0 },
        layout: RowLayout::default(),
        units: Vec::new(),
    })
}

fn read_column(row: &FixedRow<'_>) -> Option<(HobtId, PhysicalColumn)> {
    let ti = row.u32(28)?;
    let collation_id = row.u32(32)?;
    let (leaf, interior) = PhysicalColumn::unpack_offsets(row.i32(44)?, row.i32(48)?, row.i16(52)?);
    let column = PhysicalColumn {
        column_id: row.i32(12)?,
        ordinal: row.i32(16)?,
        ti,
        collation_id,
        ty: SqlType::from_physical(ti, collation_id),
        key_ordinal: row.i16(36)?,
        max_in_row: row.i16(38)?,
        status: row.u32(40)?,
        leaf,
        interior,
    };
    Some((HobtId(row.i64(4)?), column))
}

const CLUSTERED: IndexId = IndexId(1);

/// What the 2005 form says of a uniquifier in its status is not known, but no other int lies among
/// variable columns, and none is ever dropped.
fn mark_uniquifier(column: &mut PhysicalColumn) {
    if column.ty == Some(SqlType::Int) && column.leaf.offset < 0 {
        column.status = column.status & !column_status::DROPPED | column_status::UNIQUIFIER;
    }
}

/// The status of `syshobtcolumns` in the bits of `sysrscols`. 0x20 is NOT NULL: it is set for
/// exactly those columns of user tables that `syscolpars` calls so (observed in files of version
/// 611). That a column was dropped is a matter of `sysrowsetcolumns`; bit 0x2 here means something
/// else, or nothing.
fn status_of_2005(status: u32) -> u32 {
    const NOT_NULL: u32 = 0x20;
    let other = status & !(NOT_NULL | column_status::DROPPED);
    if status & NOT_NULL == 0 { other } else { other | column_status::NOT_NULL }
}

fn read_hobt_column(row: &FixedRow<'_>) -> Option<(HobtId, PhysicalColumn)> {
    let collation_id = row.u32(27)?;
    // A length of 0 is (max), as in the packed form of later versions.
    let length = match row.i16(23)? {
        0 => -1,
        length => length,
    };
    let ty = SqlType::from_column(row.u8(22)?, 0, length, row.u8(25)?, row.u8(26)?, collation_id);
    let column_offset = |offset, null_bit, bit| {
        Some(ColumnOffset {
            offset: row.i16(offset)?,
            null_bit: row.u16(null_bit)?,
            bit: row.u8(bit)?,
        })
    };
    let column = PhysicalColumn {
        column_id: 0,
        ordinal: row.i32(12)?,
        ti: ty.map_or(0, |ty| ty.to_physical().0),
        collation_id,
        ty,
        key_ordinal: row.i16(20)?,
        max_in_row: 0,
        status: status_of_2005(row.u32(16)?),
        leaf: column_offset(31, 37, 35)?,
        interior: column_offset(33, 39, 36)?,
    };
    Some((HobtId(row.i64(4)?), column))
}

#[cfg(test)]
mod tests;
