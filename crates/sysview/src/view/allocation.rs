//! `sys.partitions`, `sys.allocation_units`, `sys.dm_db_partition_stats`, and views of internals.
//!
//! They are over the base tables, with the sizes that memory has.

use std::collections::BTreeMap;

use extentdb_base::AllocUnitId;
use extentdb_engine::Database;

use crate::base::{self, bytes};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// `sysrowsets.ownertype` of heaps and indexes.
const OWNER_INDEX: i32 = 1;
/// Types of allocation units.
const IN_ROW: i32 = 1;
const LOB: i32 = 2;
const ROW_OVERFLOW: i32 = 3;

/// A heap or index, or a partition of one.
pub(super) struct PartitionItem {
    pub(super) id: i64,
    pub(super) object: i32,
    pub(super) index: i32,
    number: i32,
    pub(super) rows: i64,
    compression: i32,
    /// Bits of `sysrowsets.status`, and lengths of records.
    status: i64,
    lengths: RecordLengths,
    pub(super) units: Vec<UnitItem>,
}

/// Lengths of the records of a partition, as the base table has them.
struct RecordLengths {
    max_null_bit: i32,
    max_leaf: i32,
    min_leaf: i32,
    max_internal: i32,
    min_internal: i32,
}

/// An allocation unit.
#[derive(Clone, Debug)]
pub(super) struct UnitItem {
    id: i64,
    pub(super) kind: i32,
    owner: i64,
    group: i32,
    pub(super) reserved: i64,
    pub(super) used: i64,
    pub(super) data: i64,
    /// Pages as the base table has them, six bytes each.
    pub(super) first: Option<Vec<u8>>,
    pub(super) root: Option<Vec<u8>>,
    pub(super) first_iam: Option<Vec<u8>>,
    /// Rows by memory, of a unit of rows that is open.
    rows: Option<i64>,
}

impl PartitionItem {
    fn sum(&self, kind: i32, size: impl Fn(&UnitItem) -> i64) -> i64 {
        self.units.iter().filter(|unit| unit.kind == kind).map(size).sum()
    }

    /// Pages of all its units.
    pub(super) fn total(&self, size: impl Fn(&UnitItem) -> i64) -> i64 {
        self.units.iter().map(size).sum()
    }
}

/// All allocation units by id, with sizes as they are now.
fn all_units(database: &Database) -> Result<Vec<UnitItem>, Error> {
    let open: BTreeMap<AllocUnitId, _> =
        database.allocation_units().into_iter().map(|unit| (unit.id(), unit)).collect();
    let table = database.base_table("sysallocunits")?;
    let items = table.rows().map(|row| {
        let id = row.number("auid").unwrap_or(0);
        let now = open.get(&AllocUnitId(id)).map(|unit| unit.counts().0);
        let kept = |column: &str| row.number(column).unwrap_or(0);
        UnitItem {
            id,
            kind: row.int("type"),
            owner: kept("ownerid"),
            group: row.int("fgid"),
            reserved: now.map_or_else(|| kept("pcreserved"), |now| now.reserved),
            used: now.map_or_else(|| kept("pcused"), |now| now.used),
            data: now.map_or_else(|| kept("pcdata"), |now| now.data),
            first: bytes(row.value("pgfirst")),
            root: bytes(row.value("pgroot")),
            first_iam: bytes(row.value("pgfirstiam")),
            rows: now.map(|now| now.rows),
        }
    });
    Ok(items.collect())
}

/// All partitions of heaps and indexes by id.
pub(super) fn all_partitions(database: &Database) -> Result<Vec<PartitionItem>, Error> {
    let mut units: BTreeMap<i64, Vec<UnitItem>> = BTreeMap::new();
    for unit in all_units(database)? {
        units.entry(unit.owner).or_default().push(unit);
    }
    let table = database.base_table("sysrowsets")?;
    let rowsets = table.rows().filter(|row| row.int("ownertype") == OWNER_INDEX);
    let items = rowsets.map(|row| {
        let id = row.number("rowsetid").unwrap_or(0);
        let units = units.remove(&id).unwrap_or_default();
        let now = units.iter().find(|unit| unit.kind == IN_ROW).and_then(|unit| unit.rows);
        PartitionItem {
            id,
            object: row.int("idmajor"),
            index: row.int("idminor"),
            number: row.int("numpart").max(1),
            rows: now.or(row.number("rcrows")).unwrap_or(0),
            compression: row.int("cmprlevel"),
            status: row.number("status").unwrap_or(0),
            lengths: RecordLengths {
                max_null_bit: row.int("maxnullbit"),
                max_leaf: row.int("maxleaf"),
                min_leaf: row.int("minleaf"),
                max_internal: row.int("maxint"),
                min_internal: row.int("minint"),
            },
            units,
        }
    });
    Ok(items.collect())
}

/// `sys.partitions`.
pub(super) fn partitions(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("partition_id", |it: &PartitionItem| it.id.into())
        .put("object_id", |it| it.object.into())
        .put("index_id", |it| it.index.into())
        .put("partition_number", |it| it.number.into())
        .put("hobt_id", |it| it.id.into())
        .put("rows", |it| it.rows.into())
        .put("data_compression", |it| it.compression.into())
        .put("data_compression_desc", |it| compression(it.compression).into())
        .put("xml_compression_desc", |_| "OFF".into())
        .zero(&["filestream_filegroup_id", "xml_compression"]);
    rows.add(&columns, all_partitions(source.database)?)
}

fn compression(level: i32) -> Option<&'static str> {
    Some(match level {
        0 => "NONE",
        1 => "ROW",
        2 => "PAGE",
        3 => "COLUMNSTORE",
        4 => "COLUMNSTORE_ARCHIVE",
        _ => return None,
    })
}

/// `sys.allocation_units`.
pub(super) fn units(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("allocation_unit_id", |it: &UnitItem| it.id.into())
        .put("type", |it| it.kind.into())
        .put("type_desc", |it| unit_type(it.kind).into())
        .put("container_id", |it| it.owner.into())
        .put("data_space_id", |it| it.group.into())
        .put("total_pages", |it| it.reserved.into())
        .put("used_pages", |it| it.used.into())
        .put("data_pages", |it| it.data.into());
    rows.add(&columns, all_units(source.database)?)
}

fn unit_type(kind: i32) -> Option<&'static str> {
    Some(match kind {
        0 => "DROPPED",
        IN_ROW => "IN_ROW_DATA",
        LOB => "LOB_DATA",
        ROW_OVERFLOW => "ROW_OVERFLOW_DATA",
        _ => return None,
    })
}

/// `sys.dm_db_partition_stats`.
pub(super) fn partition_stats(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("partition_id", |it: &PartitionItem| it.id.into())
        .put("object_id", |it| it.object.into())
        .put("index_id", |it| it.index.into())
        .put("partition_number", |it| it.number.into())
        .put("in_row_data_page_count", |it| it.sum(IN_ROW, |unit| unit.data).into())
        .put("in_row_used_page_count", |it| it.sum(IN_ROW, |unit| unit.used).into())
        .put("in_row_reserved_page_count", |it| it.sum(IN_ROW, |unit| unit.reserved).into())
        .put("lob_used_page_count", |it| it.sum(LOB, |unit| unit.used).into())
        .put("lob_reserved_page_count", |it| it.sum(LOB, |unit| unit.reserved).into())
        .put("row_overflow_used_page_count", |it| it.sum(ROW_OVERFLOW, |unit| unit.used).into())
        .put("row_overflow_reserved_page_count", |it| {
            it.sum(ROW_OVERFLOW, |unit| unit.reserved).into()
        })
        .put("used_page_count", |it| it.total(|unit| unit.used).into())
        .put("reserved_page_count", |it| it.total(|unit| unit.reserved).into())
        .put("row_count", |it| it.rows.into());
    rows.add(&columns, all_partitions(source.database)?)
}

/// `sys.system_internals_allocation_units`.
pub(super) fn internal_units(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("allocation_unit_id", |it: &UnitItem| it.id.into())
        .put("type", |it| it.kind.into())
        .put("type_desc", |it| unit_type(it.kind).into())
        .put("container_id", |it| it.owner.into())
        .put("filegroup_id", |it| it.group.into())
        .put("total_pages", |it| it.reserved.into())
        .put("used_pages", |it| it.used.into())
        .put("data_pages", |it| it.data.into())
        .put("first_page", |it| it.first.as_deref().into())
        .put("root_page", |it| it.root.as_deref().into())
        .put("first_iam_page", |it| it.first_iam.as_deref().into());
    rows.add(&columns, all_units(source.database)?)
}

/// `sys.system_internals_partitions`.
pub(super) fn internal_partitions(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("partition_id", |it: &PartitionItem| it.id.into())
        .put("object_id", |it| it.object.into())
        .put("index_id", |it| it.index.into())
        .put("partition_number", |it| it.number.into())
        .put("rows", |it| it.rows.into())
        .put("is_unique", |it| base::is_unique_rowset(it.status).into())
        .put("allows_nullable_keys", |it| base::has_nullable_key(it.status).into())
        .put("max_null_bit_used", |it| it.lengths.max_null_bit.into())
        .put("max_leaf_length", |it| it.lengths.max_leaf.into())
        .put("min_leaf_length", |it| it.lengths.min_leaf.into())
        .put("max_internal_length", |it| it.lengths.max_internal.into())
        .put("min_internal_length", |it| it.lengths.min_internal.into())
        .put("ownertype", |_| OWNER_INDEX.into())
        .zero(&["filestream_filegroup_id", "is_orphaned", "dropped_lob_column_state"])
        .zero(&["is_replicated", "is_logged_for_replication", "is_sereplicated"])
        .zero(&["is_not_versioned", "is_columnstore", "optimize_for_sequential_key"])
        .one(&["allow_row_locks", "allow_page_locks", "is_data_row_format"])
        .null(&["filestream_guid"]);
    rows.add(&columns, all_partitions(source.database)?)
}
