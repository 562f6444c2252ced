//! `sys.sysindexes`, `sys.sysindexkeys`.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_engine::model::{Index, IndexColumn, IndexKind, Statistics};

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;
use crate::view::allocation::{PartitionItem, UnitItem, all_partitions};
use crate::view::constraint::tables;
use crate::view::index::items as indexes;

/// Bits of `status`.
const IGNORE_DUP_KEY: i32 = 1;
const UNIQUE: i32 = 2;
const CLUSTERED: i32 = 16;
const STATISTICS: i32 = 64;
const PRIMARY_KEY: i32 = 2048;
const UNIQUE_CONSTRAINT: i32 = 4096;
const AUTO_STATISTICS: i32 = 0x80_0000;

/// A heap, index, or statistics of their own.
struct Item<'a> {
    object: ObjectId,
    id: i32,
    name: Option<&'a str>,
    status: i32,
    keys: usize,
    group: i32,
    fill_factor: u8,
    partitions: &'a [PartitionItem],
}

impl Item<'_> {
    fn sum(&self, size: impl Fn(&PartitionItem) -> i64) -> i64 {
        self.partitions.iter().map(size).sum()
    }

    fn rows(&self) -> i64 {
        self.sum(|partition| partition.rows)
    }

    /// A page pointer of the first unit.
    fn page(&self, which: impl Fn(&UnitItem) -> &Option<Vec<u8>>) -> Value {
        let unit = self.partitions.first().and_then(|partition| partition.units.first());
        unit.and_then(|unit| which(unit).as_deref()).into()
    }
}

/// An int: what is greater is the greatest there is.
fn int(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn status_of(index: &Index) -> i32 {
    let bits = [
        (crate::base::ignores_dup_key(index), IGNORE_DUP_KEY),
        (index.unique, UNIQUE),
        (index.kind == IndexKind::Clustered, CLUSTERED),
        (index.primary_key, PRIMARY_KEY),
        (index.unique_constraint, UNIQUE_CONSTRAINT),
    ];
    bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}

fn of_index<'a>(object: ObjectId, index: &'a Index, partitions: &'a [PartitionItem]) -> Item<'a> {
    Item {
        object,
        id: index.id.0,
        name: index.name.as_deref(),
        status: status_of(index),
        keys: index.columns.iter().filter(|column| column.key_ordinal != 0).count(),
        group: index.data_space,
        fill_factor: index.fill_factor,
        partitions,
    }
}

fn of_statistics(statistics: &Statistics) -> Item<'_> {
    let automatic = if statistics.is_auto_created() { AUTO_STATISTICS } else { 0 };
    Item {
        object: statistics.table,
        id: statistics.id,
        name: Some(&statistics.name),
        status: STATISTICS | automatic,
        keys: statistics.columns.len(),
        group: 0,
        fill_factor: 0,
        partitions: &[],
    }
}

/// Statistics that are of no index.
fn own_statistics<'s>(source: &Source<'s>) -> impl Iterator<Item = &'s Statistics> {
    tables(source).flat_map(|(_, table)| {
        let is_of_index = |id: i32| table.indexes.iter().any(|index| index.id.0 == id);
        table.statistics.iter().filter(move |statistics| !is_of_index(statistics.id))
    })
}

/// `sys.sysindexes`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let mut partitions: BTreeMap<(i32, i32), Vec<PartitionItem>> = BTreeMap::new();
    for partition in all_partitions(source.database)? {
        partitions.entry((partition.object, partition.index)).or_default().push(partition);
    }
    let of = |object: ObjectId, index: &Index| {
        partitions.get(&(object.0, index.id.0)).map_or(&[][..], Vec::as_slice)
    };
    let items = indexes(source).map(|(object, index)| of_index(object, index, of(object, index)));
    rows.add(&columns(), items.chain(own_statistics(source).map(of_statistics)))
}

fn columns<'a>() -> Columns<Item<'a>> {
    Columns::new()
        .put("id", |it: &Item<'_>| it.object.0.into())
        .put("status", |it| it.status.into())
        .put("first", |it| it.page(|unit| &unit.first))
        .put("indid", |it| it.id.min(i16::MAX.into()).into())
        .put("root", |it| it.page(|unit| &unit.root))
        .put("FirstIAM", |it| it.page(|unit| &unit.first_iam))
        .put("keycnt", |it| Value::from(it.keys as u64))
        .put("groupid", |it| it.group.min(i16::MAX.into()).into())
        .put("dpages", |it| int(it.sum(|own| own.total(|unit| unit.data))).into())
        .put("reserved", |it| int(it.sum(|own| own.total(|unit| unit.reserved))).into())
        .put("used", |it| int(it.sum(|own| own.total(|unit| unit.used))).into())
        .put("rowcnt", |it| it.rows().into())
        .put("rows", |it| int(it.rows()).into())
        .put("OrigFillFactor", |it| it.fill_factor.into())
        .put("name", |it| it.name.into())
        .zero(&["minlen", "rowmodctr", "reserved3", "reserved4", "xmaxlen", "maxirow"])
        .zero(&["StatVersion", "reserved2", "impid", "lockflags", "pgmodctr", "maxlen"])
        .null(&["keys", "statblob"])
}

/// `sys.sysindexkeys`.
pub(in crate::view) fn keys(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("id", |it: &(ObjectId, &Index, &IndexColumn)| it.0.0.into())
        .put("indid", |it| it.1.id.0.into())
        .put("colid", |it| it.2.column_id.into())
        .put("keyno", |it| it.2.key_ordinal.into());
    let items = indexes(source).flat_map(|(object, index)| {
        index.columns.iter().map(move |column| (object, index, column))
    });
    rows.add(&columns, items)
}
