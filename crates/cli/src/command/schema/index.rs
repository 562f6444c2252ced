//! CREATE INDEX, and the parts that keys of a table share with it.

use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{Index, IndexColumn, IndexKind, ObjectType};
use extentdb_catalog::{Catalog, Table};

use super::script::{Statement, not_decoded, unknown_bits};
use crate::names::{Quoted, quoted};

/// `sysidxstats.status` bits that the model covers, has rowset, has a name, and one that the system
/// sets by itself.
const INDEX_BITS: u32 = 0x1 | 0x2 | 0x8 | 0x20 | 0x40 | 0x80 | 0x8_0000;
/// The filegroup that everything goes to when nothing is said.
const PRIMARY: i32 = 1;

/// The indexes that are no keys.
pub(super) fn of_table(catalog: &Catalog, table: &Table) -> Vec<Statement> {
    let indexes = table.indexes.iter().filter(|index| index.kind != IndexKind::Heap);
    indexes.filter_map(|index| of_index(catalog, table, index)).collect()
}

/// The indexes of views, which need their views first.
pub(super) fn of_views(catalog: &Catalog) -> Vec<Statement> {
    let views =
        catalog.tables.values().filter(|table| table.kind == ObjectType::VIEW && table.id.0 > 0);
    views.flat_map(|view| of_table(catalog, view)).collect()
}

fn of_index(catalog: &Catalog, table: &Table, index: &Index) -> Option<Statement> {
    let is_key = index.primary_key || index.unique_constraint;
    let create = if is_key { None } else { Some(create(catalog, table, index)) };
    let name = Quoted(index.name.as_deref().unwrap_or_default()).to_string();
    let on = quoted(&table.schema, &table.name);
    let disable = index.disabled.then(|| format!("ALTER INDEX {name} ON {on} DISABLE;"));
    let partitions = index.rowsets.len();
    let partitioned = (partitions > 1).then(|| {
        not_decoded(&format!("partition scheme of index {name} ({partitions} partitions)"))
    });
    let bits = unknown_bits(&format!("index {name} of {on}"), index.status & !INDEX_BITS);
    let parts: Vec<String> = [bits, partitioned, create, disable].into_iter().flatten().collect();
    let named = index.name.clone().unwrap_or_default();
    let statement = Statement {
        kind: "INDEX",
        schema: table.schema.clone(),
        name: named,
        sql: parts.join("\n"),
    };
    (!parts.is_empty()).then_some(statement)
}

fn create(catalog: &Catalog, table: &Table, index: &Index) -> String {
    let name = Quoted(index.name.as_deref().unwrap_or_default());
    let on = quoted(&table.schema, &table.name);
    let unique = if index.unique { "UNIQUE " } else { "" };
    let filegroup_clause = filegroup(catalog, index).unwrap_or_default();
    let columns = match index.kind {
        IndexKind::Clustered | IndexKind::Nonclustered => format!(" ({})", key_list(table, index)),
        IndexKind::ClusteredColumnstore => String::new(),
        IndexKind::NonclusteredColumnstore => format!(" ({})", included_list(table, index)),
        _ => {
            let kind = index.kind.name().to_lowercase();
            return not_decoded(&format!("{kind} index {name} of {on}"));
        }
    };
    let mut sql = format!("CREATE {unique}{} INDEX {name} ON {on}{columns}", index.kind.name());
    if index.kind == IndexKind::Nonclustered && index.columns.iter().any(IndexColumn::is_included) {
        sql += &format!(" INCLUDE ({})", included_list(table, index));
    }
    if let Some(filter) = &index.filter {
        sql += &format!(" WHERE {filter}");
    }
    format!("{sql}{}{filegroup_clause};", options(catalog, index))
}

/// The key columns with their order.
pub(super) fn key_list(table: &Table, index: &Index) -> String {
    let key = index.columns.iter().filter(|column| column.key_ordinal > 0);
    let columns = key.map(|column| {
        let order = if column.descending { "DESC" } else { "ASC" };
        format!("{} {order}", column_name(table, column.column_id))
    });
    columns.collect::<Vec<_>>().join(", ")
}

fn included_list(table: &Table, index: &Index) -> String {
    let included = index.columns.iter().filter(|column| column.is_included());
    included.map(|column| column_name(table, column.column_id)).collect::<Vec<_>>().join(", ")
}

/// A column by its number; one that is not in the catalog cannot be named.
pub(super) fn column_name(table: &Table, id: i32) -> String {
    table
        .column(id)
        .map_or_else(|| format!("/* column {id} */"), |column| Quoted(&column.name).to_string())
}

/// WITH (…), when something is not as it is by default.
pub(super) fn options(catalog: &Catalog, index: &Index) -> String {
    let mut options = Vec::new();
    if index.fill_factor != 0 {
        options.push(format!("FILLFACTOR = {}", index.fill_factor));
    }
    let mut levels: Vec<Compression> =
        catalog.rowsets_of(index).map(|rowset| rowset.compression).collect();
    levels.dedup();
    if let [level @ (Compression::Row | Compression::Page)] = levels[..] {
        options.push(format!("DATA_COMPRESSION = {}", level.name()));
    }
    if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) }
}

/// ON a filegroup other than the primary one.
pub(super) fn filegroup(catalog: &Catalog, index: &Index) -> Option<String> {
    let space = catalog.filegroups.iter().find(|space| space.id == index.data_space)?;
    (space.id != PRIMARY && space.kind == "FG").then(|| format!(" ON {}", Quoted(&space.name)))
}
