//! CREATE TABLE.

use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{Constraint, Index, IndexKind};
use extentdb_catalog::{Catalog, Column, Table};
use extentdb_types::Collation;

use super::index::{filegroup, key_list, options};
use super::script::{Statement, not_decoded, unknown_bits};
use crate::names::{Quoted, quoted};

/// `syscolpars.status` bits that the model covers, and ANSI padding, which new columns get anyway.
const COLUMN_BITS: u32 = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x100_0000 | 0x200_0000;

/// The table with its columns, defaults and keys.
pub(super) fn create(catalog: &Catalog, table: &Table) -> Statement {
    let mut lines: Vec<String> =
        table.columns.iter().map(|column| column_line(catalog, table, column)).collect();
    let keys = table.indexes.iter().filter(|index| index.primary_key || index.unique_constraint);
    lines.extend(keys.map(|index| key(catalog, table, index)));
    let name = quoted(&table.schema, &table.name);
    let mut comments: Vec<String> =
        table.columns.iter().flat_map(|column| column_gaps(catalog, table, column)).collect();
    let mut sql = format!("CREATE TABLE {name} (\n    {}\n)", join(&lines));
    if let Some(base) = table.base() {
        // A clustered key says so itself.
        if base.kind == IndexKind::Heap {
            sql += &filegroup(catalog, base).unwrap_or_default();
            sql += &heap_options(catalog, base);
            comments.extend(unsupported_storage(catalog, table, base));
        }
    }
    sql.push(';');
    for comment in comments {
        sql = format!("{comment}\n{sql}");
    }
    Statement {
        kind: "TABLE",
        schema: table.schema.clone(),
        name: table.name.clone(),
        sql,
    }
}

/// Joins the lines with commas, which must not stand after a comment.
fn join(lines: &[String]) -> String {
    let is_comment = |line: &String| line.starts_with("--");
    let last = lines.iter().rposition(|line| !is_comment(line));
    let with_comma = lines.iter().enumerate().map(|(i, line)| {
        let comma = !is_comment(line) && Some(i) != last;
        if comma { format!("{line},") } else { line.clone() }
    });
    with_comma.collect::<Vec<_>>().join("\n    ")
}

fn column_line(catalog: &Catalog, table: &Table, column: &Column) -> String {
    let name = Quoted(&column.name);
    if let Some(expression) = &column.computed {
        return computed(column, expression);
    }
    let Some(ty) = type_of(column) else {
        return not_decoded(&format!("column {name}: type {} is not known", column.xtype));
    };
    let mut line = format!("{name} {ty}");
    if let Some(collation) = collation(catalog, column).and_then(Collation::name) {
        line += &format!(" COLLATE {collation}");
    }
    for (is_set, words) in [
        (column.filestream, " FILESTREAM"),
        (column.sparse, " SPARSE"),
        (column.column_set, " COLUMN_SET FOR ALL_SPARSE_COLUMNS"),
    ] {
        line += if is_set { words } else { "" };
    }
    if let Some(identity) = &column.identity {
        line += &format!(" IDENTITY({},{})", identity.seed, identity.increment);
    }
    line += if column.nullable { " NULL" } else { " NOT NULL" };
    line += if column.row_guid { " ROWGUIDCOL" } else { "" };
    if let Some(default) = default_of(catalog, table, column) {
        let name = Quoted(&default.object.name);
        line += &default
            .definition
            .as_ref()
            .map(|text| format!(" CONSTRAINT {name} DEFAULT {text}"))
            .unwrap_or_default();
    }
    line
}

fn computed(column: &Column, expression: &str) -> String {
    let name = Quoted(&column.name);
    if expression.is_empty() {
        return not_decoded(&format!("column {name}: the expression of this computed column"));
    }
    let stored = match (column.persisted, column.nullable) {
        (true, true) => " PERSISTED",
        (true, false) => " PERSISTED NOT NULL",
        (false, _) => "",
    };
    format!("{name} AS {expression}{stored}")
}

/// The type as it is declared: by its own name when a user made it.
fn type_of(column: &Column) -> Option<String> {
    match &column.user_type {
        Some(user) => Some(match user.split_once('.') {
            Some((schema, name)) => quoted(schema, name),
            None => user.clone(),
        }),
        None => column.ty.map(|ty| ty.to_string()),
    }
}

/// The collation, where it is not the database's. A type of a user's has its own.
fn collation(catalog: &Catalog, column: &Column) -> Option<Collation> {
    let own = column.ty?.collation().filter(|_| column.user_type.is_none())?;
    (own != Collation(catalog.boot.collation_id)).then_some(own)
}

/// What the line of a column does not say.
fn column_gaps(catalog: &Catalog, table: &Table, column: &Column) -> Vec<String> {
    let name = Quoted(&column.name).to_string();
    let unnamed = collation(catalog, column).is_some_and(|collation| collation.name().is_none());
    let default =
        default_of(catalog, table, column).is_some_and(|default| default.definition.is_none());
    let gaps = [
        unnamed.then(|| not_decoded(&format!("name of the collation of column {name}"))),
        default.then(|| not_decoded(&format!("default of column {name}"))),
        unknown_bits(&format!("column {name}"), column.status & !COLUMN_BITS),
    ];
    gaps.into_iter().flatten().collect()
}

/// The default constraint of a column; a default that is bound to it is another matter.
fn default_of<'c>(catalog: &'c Catalog, table: &Table, column: &Column) -> Option<&'c Constraint> {
    let id = column.default_object;
    catalog
        .defaults
        .iter()
        .find(|default| default.object.id == id && default.object.parent == table.id)
}

fn key(catalog: &Catalog, table: &Table, index: &Index) -> String {
    let name = Quoted(index.name.as_deref().unwrap_or_default());
    let what = if index.primary_key { "PRIMARY KEY" } else { "UNIQUE" };
    let kind = if index.kind == IndexKind::Clustered { "CLUSTERED" } else { "NONCLUSTERED" };
    let columns = key_list(table, index);
    let options = options(catalog, index);
    let filegroup_clause = filegroup(catalog, index).unwrap_or_default();
    format!("CONSTRAINT {name} {what} {kind} ({columns}){options}{filegroup_clause}")
}

fn heap_options(catalog: &Catalog, base: &Index) -> String {
    match catalog.rowsets_of(base).next().map(|rowset| rowset.compression) {
        Some(level @ (Compression::Row | Compression::Page)) => {
            format!(" WITH (DATA_COMPRESSION = {})", level.name())
        }
        _ => String::new(),
    }
}

fn unsupported_storage(catalog: &Catalog, table: &Table, base: &Index) -> Option<String> {
    let partitions = catalog.rowsets_of(base).count();
    let name = quoted(&table.schema, &table.name);
    (partitions > 1)
        .then(|| not_decoded(&format!("partition scheme of {name} ({partitions} partitions)")))
}

/// Defaults and rules that were bound to columns.
pub(super) fn bindings(catalog: &Catalog, table: &Table) -> Vec<Statement> {
    let bound = |id, procedure: &str, column: &Column| {
        let object = catalog.objects.get(&id).filter(|object| object.parent.0 == 0)?;
        let schema = catalog.schema_name(object.schema_id);
        let target = format!("{}.{}", quoted(&table.schema, &table.name), Quoted(&column.name));
        let object = text_literal(&quoted(&schema, &object.name));
        let target = text_literal(&target);
        let sql = format!("EXEC sys.{procedure} {object}, {target};");
        Some(Statement {
            kind: "BINDING",
            schema: table.schema.clone(),
            name: table.name.clone(),
            sql,
        })
    };
    let of_column = |column: &Column| {
        [
            bound(column.default_object, "sp_bindefault", column),
            bound(column.rule_object, "sp_bindrule", column),
        ]
    };
    table.columns.iter().flat_map(of_column).flatten().collect()
}

fn text_literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
