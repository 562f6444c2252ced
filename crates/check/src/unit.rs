//! The allocation units of a database, numbered: what the scan must know of each, in plain data.
//!
//! A unit is found by its number (`UnitIndex`), which owner maps, link facts and partials carry
//! instead of the 64-bit id. Units are numbered by ascending id, so that every run of the same
//! database numbers them alike.

use std::collections::HashMap;

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, IndexId, ObjectId, PageId};
use extentdb_catalog::layout::{Compression, PhysicalColumn, RowLayout};
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, Catalog, IndexKind, ObjectType, Rowset};
use extentdb_format::record::row::DATA_HEADER_BYTES;
use extentdb_messages::Arg;

use crate::expand::expanded_layout;
use crate::finding::{Location, Owner};

/// Place of a unit in [`Units`].
pub(crate) type UnitIndex = u32;

/// How the pages of a unit are linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Structure {
    /// Data pages without links.
    Heap,
    /// Data pages under index pages.
    Clustered,
    /// Index pages only.
    Nonclustered,
    Text,
    /// Nothing this program knows (columnstore and the like): protection and ownership are checked,
    /// no more.
    Other,
}

impl Structure {
    /// True for units whose pages form a B-tree.
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Structure::Clustered | Structure::Nonclustered)
    }
}

/// An allocation unit and its owner.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Its owner, its own id included.
    pub owner: Owner,
    /// In-row, LOB, row-overflow.
    pub kind: AllocUnitKind,
    /// How its pages are linked.
    pub structure: Structure,
    /// How its rows are stored.
    pub compression: Compression,
    /// Root of the tree.
    pub root: PageId,
    /// First IAM page.
    pub first_iam: PageId,
    pub filegroup: i16,
    /// Not read at all, because an option says so.
    pub is_skipped: bool,
    /// Not read, because it lies outside of the table or filegroup that the run is limited to.
    pub is_outside: bool,
    /// Columns of the widest row there can be, by null bits; 0 = not known.
    pub columns_max: u16,
    /// End of the fixed part of rows written now; 0 = not known.
    pub fixed_end: u16,
    /// Where the fixed part of a row can end, ascending, the last one being `fixed_end`; empty =
    /// not known.
    pub fixed_ends: Vec<u16>,
    /// The layout of its rows once they are expanded; only for compressed units whose types are
    /// understood.
    pub expanded: Option<Arc<RowLayout>>,
}

impl Unit {
    /// A page of this unit, as the location of a finding.
    pub(crate) fn at(&self, page: PageId) -> Location {
        Location::page(page).owned_by(self.owner)
    }

    pub(crate) fn id(&self) -> AllocUnitId {
        self.owner.unit
    }

    /// Made by SQL Server 7 or 2000: which columns were dropped then is known no more, and rows may
    /// still have them.
    pub(crate) fn is_from_2000(&self) -> bool {
        self.owner.is_user && self.id().0 < FIRST_OWN_ID
    }

    /// Object, index, partition, unit and type: the five arguments that most messages begin with.
    pub(crate) fn args(&self) -> [Arg<'static>; 5] {
        let Owner { object, index, partition, unit, .. } = self.owner;
        [
            object.0.into(),
            index.0.into(),
            partition.0.into(),
            unit.0.into(),
            self.kind.name().into(),
        ]
    }
}

/// The five arguments for a page whose owner is not known.
pub(crate) fn unknown_args(unit: AllocUnitId) -> [Arg<'static>; 5] {
    [0.into(), (-1).into(), 0i64.into(), unit.0.into(), AllocUnitKind::Other(0).name().into()]
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    units: Vec<Unit>,
    by_id: HashMap<AllocUnitId, UnitIndex>,
    has_skipped: bool,
}

impl Units {
    /// The units of a catalog. With `no_index`, those of nonclustered user indexes are marked as
    /// skipped.
    pub(crate) fn new<'c>(
        units: impl Iterator<Item = (&'c AllocUnit, &'c Rowset)>,
        catalog: Option<&Catalog>,
        no_index: bool,
    ) -> Units {
        let mut all = Units::default();
        for (unit, rowset) in units {
            let mut unit = describe(unit, rowset, catalog);
            unit.is_skipped = no_index && unit.owner.is_user && unit.owner.index.0 >= 2;
            all.has_skipped |= unit.is_skipped;
            all.by_id.insert(unit.id(), all.units.len() as UnitIndex);
            all.units.push(unit);
        }
        all
    }

    /// Marks the units that a limited run leaves out.
    pub(crate) fn leave_out(&mut self, is_outside: impl Fn(&Unit) -> bool) {
        for unit in &mut self.units {
            unit.is_outside = is_outside(unit);
            unit.is_skipped |= unit.is_outside;
            self.has_skipped |= unit.is_skipped;
        }
    }

    /// The unit with a number.
    #[inline]
    pub(crate) fn get(&self, index: UnitIndex) -> Option<&Unit> {
        self.units.get(index as usize)
    }

    /// The number of the unit that a page header names. Data pages of clustered indexes from SQL
    /// Server 2000 carry index id 0 in their header; they are found, too.
    pub(crate) fn of_header(&self, named: AllocUnitId, is_data: bool) -> Option<UnitIndex> {
        let clustered = AllocUnitId(named.0 | 1 << 48);
        let found = self.by_id.get(&named);
        found.or_else(|| self.by_id.get(&clustered).filter(|_| is_data)).copied()
    }

    /// The units with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (UnitIndex, &Unit)> {
        (0u32..).zip(&self.units)
    }

    /// True when an option leaves some of them out.
    #[inline]
    pub(crate) fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }
}

/// Ids of units that SQL Server 2005 or later made for user tables. Lower ones are put together
/// from object and index.
pub(crate) const FIRST_OWN_ID: i64 = 1 << 56;

fn describe(unit: &AllocUnit, rowset: &Rowset, catalog: Option<&Catalog>) -> Unit {
    let owner = Owner {
        is_user: !is_system(rowset.object, catalog),
        object: rowset.object,
        index: rowset.index,
        partition: rowset.id,
        unit: unit.id,
    };
    let columns = &rowset.layout.columns;
    let fixed_ends = fixed_ends(rowset);
    Unit {
        owner,
        kind: unit.kind,
        structure: structure(unit, rowset, catalog),
        compression: rowset.compression,
        root: unit.root,
        first_iam: unit.first_iam,
        filegroup: unit.filegroup,
        is_skipped: false,
        is_outside: false,
        columns_max: columns.iter().map(|column| column.leaf.null_bit).max().unwrap_or(0),
        fixed_end: fixed_ends.last().copied().unwrap_or(0),
        fixed_ends,
        expanded: match rowset.compression {
            Compression::Row | Compression::Page => {
                expanded_layout(&rowset.layout, rowset.index.0 <= 1).map(Arc::new)
            }
            _ => None,
        },
    }
}

/// The ends of all fixed columns: rows that were written before the last of them was added end
/// earlier.
fn fixed_ends(rowset: &Rowset) -> Vec<u16> {
    let columns = &rowset.layout.columns;
    let mut ends: Vec<u16> = columns.iter().filter_map(fixed_column_end).collect();
    // A type that is not understood may end anywhere.
    if ends.is_empty() || columns.iter().any(|column| column.ty.is_none()) {
        return Vec::new();
    }
    ends.extend([DATA_HEADER_BYTES as u16, rowset.min_leaf]);
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Where a fixed column of leaf rows ends.
pub(crate) fn fixed_column_end(column: &PhysicalColumn) -> Option<u16> {
    let start = u16::try_from(column.leaf.offset).ok().filter(|start| *start > 0)?;
    let ty = column.ty?;
    let bytes = if ty.is_bit() { 1 } else { ty.fixed_bytes()? };
    start.checked_add(u16::try_from(bytes).ok()?)
}

/// System objects are listed first and are never left out.
fn is_system(object: ObjectId, catalog: Option<&Catalog>) -> bool {
    /// Ids of system base tables are below this in every version.
    const FIRST_USER_ID: i32 = 100;
    let listed = catalog.and_then(|catalog| catalog.objects.get(&object));
    match listed {
        Some(listed) => {
            matches!(listed.kind, ObjectType::SYSTEM_TABLE | ObjectType::INTERNAL_TABLE)
        }
        None => object.0 < FIRST_USER_ID,
    }
}

/// `sysrowsets.ownertype` of heaps and indexes.
const OWNED_BY_INDEX: u8 = 1;

fn structure(unit: &AllocUnit, rowset: &Rowset, catalog: Option<&Catalog>) -> Structure {
    let table = catalog.and_then(|catalog| catalog.tables.get(&rowset.object));
    let index = table.and_then(|table| table.indexes.iter().find(|index| index.id == rowset.index));
    let columnstore = matches!(
        index.map(|index| index.kind),
        Some(
            IndexKind::ClusteredColumnstore
                | IndexKind::NonclusteredColumnstore
                | IndexKind::NonclusteredHash
                | IndexKind::Other(_)
        )
    );
    // Rowsets that belong to no heap or index of their own: delta stores and delete bitmaps of
    // columnstores, and what may come.
    let is_auxiliary = rowset.owner_type > OWNED_BY_INDEX;
    if columnstore || is_auxiliary || matches!(rowset.compression, Compression::Other(_)) {
        return Structure::Other;
    }
    match (unit.kind, rowset.index) {
        (AllocUnitKind::Lob | AllocUnitKind::RowOverflow, _) => Structure::Text,
        (AllocUnitKind::InRow, IndexId(0)) => Structure::Heap,
        (AllocUnitKind::InRow, IndexId(1)) => Structure::Clustered,
        (AllocUnitKind::InRow, _) => Structure::Nonclustered,
        (AllocUnitKind::Other(_), _) => Structure::Other,
    }
}
