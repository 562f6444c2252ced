//! `tables`: tables with columns, types, indexes, rows and pages, as the catalog states them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use extentdb_catalog::model::{AllocUnitKind, Index, IndexColumn, IndexKind};
use extentdb_catalog::{Catalog, Column, Table};
use extentdb_types::Collation;
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::names;
use crate::options::{CommonOptions, FormatArgs};

/// Options of `tables`.
#[derive(Args, Debug)]
pub(crate) struct TablesArgs {
    /// Data files of one database, or the files of one backup
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// System and internal tables, too
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &TablesArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&args.files)?;
    let database = context.open_database(&args.files)?;
    let catalog = database.catalog();
    let tables = if args.system { all_tables(catalog) } else { names::user_tables(catalog) };
    if args.format.is_json() {
        let tables: Vec<Value> = tables.iter().map(|table| table_json(catalog, table)).collect();
        output.write_json(&Value::Array(tables))?;
    } else {
        output.write_all(text(catalog, &tables).as_bytes())?;
    }
    output.finish()?;
    Ok(context.exit_of(&database, Exit::Done))
}

fn all_tables(catalog: &Catalog) -> Vec<&Table> {
    let mut tables: Vec<_> = catalog.tables.values().collect();
    tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    tables
}

/// Pages of rows: leaf pages of the heap or clustered index, LOB and row-overflow pages not
/// counted.
fn data_pages(catalog: &Catalog, table: &Table) -> i64 {
    let Some(base) = table.base() else { return 0 };
    let units = catalog.rowsets_of(base).filter_map(|rowset| rowset.unit(AllocUnitKind::InRow));
    units.map(|unit| unit.pages_data).fold(0, i64::saturating_add)
}

/// How the rows are stored; partitions may differ.
fn compression(catalog: &Catalog, table: &Table) -> String {
    let mut names: Vec<&str> = Vec::new();
    for rowset in table.base().into_iter().flat_map(|base| catalog.rowsets_of(base)) {
        if !names.contains(&rowset.compression.name()) {
            names.push(rowset.compression.name());
        }
    }
    if names.is_empty() { "NONE".to_owned() } else { names.join(", ") }
}

/// The type as T-SQL writes it.
fn type_name(column: &Column) -> String {
    match column.ty {
        Some(ty) => ty.to_string(),
        None => format!("unknown type {}", column.xtype),
    }
}

fn column_names<'t>(table: &'t Table, columns: &[IndexColumn], key: bool) -> Vec<&'t str> {
    let wanted = columns
        .iter()
        .filter(|column| if key { column.key_ordinal > 0 } else { column.is_included() });
    wanted.map(|column| table.column(column.column_id).map_or("?", |c| c.name.as_str())).collect()
}

fn table_json(catalog: &Catalog, table: &Table) -> Value {
    json!({
        "schema": table.schema,
        "name": table.name,
        "object_id": table.id.0,
        "rows": catalog.row_count(table),
        "data_pages": data_pages(catalog, table),
        "compression": compression(catalog, table),
        "columns": table.columns.iter().map(column_json).collect::<Vec<_>>(),
        "indexes": table.indexes.iter().map(|index| index_json(table, index)).collect::<Vec<_>>(),
    })
}

fn column_json(column: &Column) -> Value {
    let collation = column.ty.as_ref().and_then(|ty| ty.collation());
    json!({
        "name": column.name,
        "type": type_name(column),
        "nullable": column.nullable,
        "identity": column.identity.is_some(),
        "computed": column.computed.is_some(),
        "collation": collation.map(|collation| collation.to_string()),
    })
}

fn index_json(table: &Table, index: &Index) -> Value {
    json!({
        "name": index.name,
        "index_id": index.id.0,
        "type": index.kind.name(),
        "unique": index.unique,
        "primary_key": index.primary_key,
        "columns": column_names(table, &index.columns, true),
        "included": column_names(table, &index.columns, false),
    })
}

fn text(catalog: &Catalog, tables: &[&Table]) -> String {
    let mut out = format!("{}: {} tables\n", catalog.boot.name, tables.len());
    for table in tables {
        let base = table.base().map_or("no rows of its own", |base| match base.kind {
            IndexKind::Heap => "heap",
            _ => "clustered",
        });
        let storage = match compression(catalog, table).as_str() {
            "NONE" => String::new(),
            other => format!(", compression {other}"),
        };
        let rows = catalog.row_count(table);
        let pages = data_pages(catalog, table);
        out +=
            &format!("\n{}  {rows} rows, {pages} data pages, {base}{storage}\n", table.full_name());
        columns_text(catalog, table, &mut out);
        indexes_text(table, &mut out);
    }
    out
}

fn columns_text(catalog: &Catalog, table: &Table, out: &mut String) {
    let types: Vec<String> = table.columns.iter().map(type_name).collect();
    let name_width =
        table.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    let type_width = types.iter().map(|ty| ty.chars().count()).max().unwrap_or(0);
    for (column, ty) in table.columns.iter().zip(&types) {
        let mut line = format!("    {:name_width$}  {ty:type_width$}", column.name);
        line += if column.nullable { "  NULL" } else { "  NOT NULL" };
        if column.identity.is_some() {
            line += "  IDENTITY";
        }
        if column.computed.is_some() {
            line += if column.persisted { "  COMPUTED, stored" } else { "  COMPUTED" };
        }
        let collation = column.ty.as_ref().and_then(|ty| ty.collation());
        if let Some(other) = collation.filter(|c| *c != Collation(catalog.boot.collation_id)) {
            line += &format!("  COLLATE {other}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

fn indexes_text(table: &Table, out: &mut String) {
    for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Heap) {
        let mut words = vec![index.kind.name()];
        words.extend(index.primary_key.then_some("PRIMARY KEY"));
        words.extend((index.unique && !index.primary_key).then_some("UNIQUE"));
        words.extend(index.disabled.then_some("DISABLED"));
        let keys = column_names(table, &index.columns, true).join(", ");
        let name = index.name.as_deref().unwrap_or("(no name)");
        *out += &format!("    index {name}  {} ({keys})", words.join(" "));
        let included = column_names(table, &index.columns, false);
        if !included.is_empty() {
            *out += &format!(" INCLUDE ({})", included.join(", "));
        }
        out.push('\n');
    }
}
