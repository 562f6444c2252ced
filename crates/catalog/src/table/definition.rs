//! A table by its columns and keys.

use extentdb_base::{HobtId, IndexId, ObjectId};
use extentdb_types::SqlType;

use crate::layout::Compression;
use crate::model::{AllocUnitKind, IndexKind, ObjectType};

/// A table before it has pages.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// Object id, `sysschobjs.id`.
    pub id: ObjectId,
    /// Name as `sysschobjs` or `syscolpars` stores it.
    pub name: String,
    /// Schema id, `sysschobjs.nsid`.
    pub schema_id: i32,
    /// User, system or internal.
    pub kind: ObjectType,
    /// `sysschobjs.status`: bits by the type of the object.
    pub status: u32,
    /// `sysschobjs.pid`: the object that it belongs to; 0 for none.
    pub parent: ObjectId,
    /// Columns; their ids are 1, 2, 3 …
    pub columns: Vec<ColumnDefinition>,
    /// Heap or clustered index first.
    pub indexes: Vec<IndexDefinition>,
}

/// A column with what `syscolpars` and `sysrscols` say of it.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// Name as `sysschobjs` or `syscolpars` stores it.
    pub name: String,
    /// SQL type with its length, precision, scale and collation.
    pub ty: SqlType,
    /// `utype`: the type's own code, or 256 for sysname.
    pub user_type: i32,
    /// May be NULL, as `syscolpars` says.
    pub nullable: bool,
    /// What `sysrscols` says; the same but for two columns of sysrowsets.
    pub stored_nullable: bool,
    /// `syscolpars.idtval` of an identity column.
    pub identity: Option<Vec<u8>>,
    /// The default constraint; 0 for none.
    pub default_object: ObjectId,
    /// A computed column.
    pub computed: Option<Computed>,
    /// ROWGUIDCOL: the column that `$ROWGUID` names.
    pub row_guid: bool,
    /// What ALTER TABLE did to it.
    pub history: ColumnHistory,
}

/// The expression of a computed column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computed {
    /// As stored: `([quantity]*[price])`.
    pub text: String,
    /// PERSISTED: the values are in the rows. Otherwise they are only in indexes on the column.
    pub persisted: bool,
}

impl ColumnDefinition {
    /// Do rows have a place for this column?
    pub fn is_stored(&self) -> bool {
        !self.history.gone && self.computed.as_ref().is_none_or(|computed| computed.persisted)
    }

    /// The column of an id that is used no more: nothing is left of it but that.
    pub fn dropped() -> ColumnDefinition {
        ColumnDefinition {
            name: String::new(),
            ty: SqlType::Int,
            user_type: 0,
            nullable: true,
            stored_nullable: true,
            identity: None,
            default_object: ObjectId(0),
            computed: None,
            row_guid: false,
            history: ColumnHistory { gone: true, ..ColumnHistory::default() },
        }
    }
}

/// What ALTER TABLE did to a column of a heap or clustered index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColumnHistory {
    /// It was dropped: `syscolpars` does not know it any more, the rows keep its place.
    pub dropped: bool,
    /// It was dropped, and the rows have been rewritten since: they have no place for it either.
    pub gone: bool,
    /// It was added with a value for the rows there were, which `sysseobjvalues` keeps.
    pub has_stored_default: bool,
    /// It was added where this dropped column lies, in the fixed part of the rows.
    pub replaces: Option<i32>,
}

/// A column of an index key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    /// Column of the table.
    pub column_id: i32,
    /// Sorted from the greatest key to the least.
    pub descending: bool,
}

/// A heap or index.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// 0 heap, 1 clustered, 2.. nonclustered.
    pub id: IndexId,
    /// Name; heaps have none.
    pub name: Option<String>,
    /// Heap, clustered or nonclustered.
    pub kind: IndexKind,
    /// Key columns in key order.
    pub keys: Vec<KeyColumn>,
    /// Column ids of INCLUDE, in order of declaration.
    pub included: Vec<i32>,
    /// `sysidxstats.status`, see [`index_status`].
    pub status: u32,
    /// `sysidxstats.dataspace`: filegroup or partition scheme.
    pub data_space: i32,
    /// The filegroup of this partition.
    pub filegroup: i16,
    /// The number of this partition, from 1; further ones are in `rest`.
    pub partition: i32,
    /// The column that decides the partition; 0 when there is one partition only.
    pub partition_column: i32,
    /// Partitions 2, 3 …
    pub rest: Vec<PartitionDefinition>,
    /// The predicate of a filtered index, as stored.
    pub filter: Option<String>,
    /// `sysrowsets.rowsetid`; 0 while the index is disabled.
    pub rowset: HobtId,
    /// `sysrowsets.status`: bits of [`rowset_status`].
    pub rowset_status: u32,
    /// How its leaf rows are stored.
    pub compression: Compression,
    /// FILLFACTOR in percent; 0 = as full as pages get.
    pub fill_factor: u8,
    /// Some old system tables have 0 in `sysrowsets.minint` whatever their keys.
    pub hides_min_interior: bool,
    /// Allocation units, the one of rows first.
    pub units: Vec<UnitDefinition>,
}

/// A partition after the first one.
#[derive(Clone, Debug)]
pub struct PartitionDefinition {
    /// Filegroup id, 1 = PRIMARY.
    pub filegroup: i16,
    /// `sysrowsets.rowsetid` of the partition.
    pub rowset: HobtId,
    /// Its allocation units.
    pub units: Vec<UnitDefinition>,
}

/// An allocation unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitDefinition {
    /// What its pages hold.
    pub kind: AllocUnitKind,
    /// `sysallocunits.auid`, which its pages carry in their headers.
    pub id: extentdb_base::AllocUnitId,
}

/// Bits of `sysidxstats.status`.
pub mod index_status {
    /// There is a rowset.
    pub const HAS_ROWSET: u32 = 0x1;
    /// There are statistics and a name.
    pub const HAS_STATISTICS: u32 = 0x2;
    /// `sysidxstats.status`: no two rows have equal keys.
    pub const UNIQUE: u32 = 0x8;
    /// Belongs to a primary key.
    pub const PRIMARY_KEY: u32 = 0x20;
    /// Belongs to a unique constraint.
    pub const UNIQUE_CONSTRAINT: u32 = 0x40;
    /// Switched off (public text of `sys.indexes`).
    pub const DISABLED: u32 = 0x80;
    /// Has a filter (public text of `sys.indexes`).
    pub const FILTERED: u32 = 0x2_0000;
}

/// Bits of `sysrowsets.status`.
pub mod rowset_status {
    /// Set in all but some old system tables.
    pub const USUAL: u32 = 0x2;
    /// `sysidxstats.status`: no two rows have equal keys.
    pub const UNIQUE: u32 = 0x4;
    /// A key column may be NULL.
    pub const NULLABLE_KEY: u32 = 0x40;
    /// Heap or clustered index.
    pub const TABLE: u32 = 0x200;
}

impl TableDefinition {
    /// A column by id.
    pub fn column(&self, id: i32) -> Option<&ColumnDefinition> {
        self.columns.get(usize::try_from(id.checked_sub(1)?).ok()?)
    }

    /// The id of a column by name.
    pub fn column_id(&self, name: &str) -> Option<i32> {
        self.columns.iter().position(|column| column.name == name).map(|at| at as i32 + 1)
    }

    /// The clustered index.
    pub fn clustered(&self) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.kind == IndexKind::Clustered)
    }

    /// Columns of the clustered key come first in a row. System base tables keep the order of their
    /// column ids.
    pub fn has_key_first(&self) -> bool {
        self.kind != ObjectType::SYSTEM_TABLE
    }
}

impl IndexDefinition {
    /// True when no two rows may have equal keys.
    pub fn is_unique(&self) -> bool {
        self.status & index_status::UNIQUE != 0
    }

    /// Heap or clustered index.
    pub fn is_base(&self) -> bool {
        matches!(self.kind, IndexKind::Heap | IndexKind::Clustered)
    }

    /// The partitioning column, when it is none of the index's own: it is added without being asked
    /// for.
    pub fn added_partition_column(&self) -> Option<i32> {
        let is_own = |id: i32| {
            self.keys.iter().any(|key| key.column_id == id) || self.included.contains(&id)
        };
        Some(self.partition_column).filter(|id| *id > 0 && !is_own(*id))
    }

    /// Each partition as an index of its own.
    pub fn partitions(&self) -> Vec<IndexDefinition> {
        let mut out = vec![IndexDefinition { rest: Vec::new(), ..self.clone() }];
        for (part, number) in self.rest.iter().zip(2..) {
            out.push(IndexDefinition {
                rest: Vec::new(),
                partition: number,
                filegroup: part.filegroup,
                rowset: part.rowset,
                units: part.units.clone(),
                ..self.clone()
            });
        }
        out
    }
}

/// What `syscolpars` says about a type: length, precision, scale. Character and binary lengths are
/// bytes, -1 = (max).
pub fn column_facets(ty: &SqlType) -> (i16, u8, u8) {
    let fixed = ty.fixed_bytes().map_or(-1, |bytes| bytes as i16);
    match *ty {
        SqlType::Bit => (1, 1, 0),
        SqlType::TinyInt => (fixed, 3, 0),
        SqlType::SmallInt => (fixed, 5, 0),
        SqlType::Int => (fixed, 10, 0),
        SqlType::BigInt => (fixed, 19, 0),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            (fixed, precision, scale)
        }
        SqlType::Money => (fixed, 19, 4),
        SqlType::SmallMoney => (fixed, 10, 4),
        SqlType::Float => (fixed, 53, 0),
        SqlType::Real => (fixed, 24, 0),
        SqlType::DateTime => (fixed, 23, 3),
        SqlType::SmallDateTime => (fixed, 16, 0),
        SqlType::Date => (fixed, 10, 0),
        SqlType::Time { scale } => (fixed, time_precision(8, scale), scale),
        SqlType::DateTime2 { scale } => (fixed, time_precision(19, scale), scale),
        SqlType::DateTimeOffset { scale } => (fixed, time_precision(26, scale), scale),
        SqlType::Text { .. } | SqlType::NText { .. } | SqlType::Image => (16, 0, 0),
        SqlType::SqlVariant => (8016, 0, 0),
        _ => (ty.max_bytes().map_or(-1, |bytes| bytes as i16), 0, 0),
    }
}

/// Characters of a time in text: with a scale, a point and the digits are added.
fn time_precision(whole: u8, scale: u8) -> u8 {
    if scale == 0 { whole } else { whole + 1 + scale }
}

/// True for the types whose columns are marked as padded by the ANSI rule.
pub fn is_ansi_padded(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
    )
}

/// Bytes a column may take in a row, as `syscolpars.maxinrow` counts them.
pub fn max_in_row(ty: &SqlType) -> i16 {
    match column_facets(ty).0 {
        -1 => 8000,
        length => length,
    }
}
