//! Constraints: `TABLE_CONSTRAINTS`, `KEY_COLUMN_USAGE`, `REFERENTIAL_CONSTRAINTS`,
//! `CHECK_CONSTRAINTS`, `CONSTRAINT_COLUMN_USAGE`, `CONSTRAINT_TABLE_USAGE`.

use extentdb_engine::model::{ForeignKey, Index, Object, TableModel};

use super::QualifiedName;
use crate::base::columns_of_checks;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::constraint::{all_foreign_keys, index_of_key, tables};

/// A constraint of a table: primary key, unique, foreign key or check.
struct Item<'a> {
    name: QualifiedName,
    table: QualifiedName,
    object: &'a Object,
}

impl Item<'_> {
    fn kind(&self) -> &'static str {
        match self.object.kind.code() {
            "PK" => "PRIMARY KEY",
            "UQ" => "UNIQUE",
            "F" => "FOREIGN KEY",
            _ => "CHECK",
        }
    }
}

fn items<'s>(source: &Source<'s>) -> impl Iterator<Item = Item<'s>> {
    let objects = source.objects().into_iter().map(|model| &model.object);
    let constraints =
        objects.filter(|object| matches!(object.kind.code(), "PK" | "UQ" | "F" | "C"));
    constraints.filter_map(move |object| {
        let table = &source.model.object_by_id(object.parent)?.object;
        Some(Item {
            name: QualifiedName::of(object, source),
            table: QualifiedName::of(table, source),
            object,
        })
    })
}

/// The names that most of these views have.
trait HasNames {
    fn constraint(&self) -> &QualifiedName;
    fn table(&self) -> &QualifiedName;
}

impl HasNames for Item<'_> {
    fn constraint(&self) -> &QualifiedName {
        &self.name
    }

    fn table(&self) -> &QualifiedName {
        &self.table
    }
}

fn names<T: HasNames>() -> Columns<T> {
    Columns::new()
        .put("CONSTRAINT_CATALOG", |it: &T| (&it.constraint().catalog).into())
        .put("CONSTRAINT_SCHEMA", |it| it.constraint().schema.as_ref().into())
        .put("CONSTRAINT_NAME", |it| (&it.constraint().name).into())
        .put("TABLE_CATALOG", |it| (&it.table().catalog).into())
        .put("TABLE_SCHEMA", |it| it.table().schema.as_ref().into())
        .put("TABLE_NAME", |it| (&it.table().name).into())
}

/// `TABLE_CONSTRAINTS`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = names()
        .put("CONSTRAINT_TYPE", |it: &Item<'_>| it.kind().into())
        .put("IS_DEFERRABLE", |_| "NO".into())
        .put("INITIALLY_DEFERRED", |_| "NO".into());
    rows.add(&columns, items(source))
}

/// `CONSTRAINT_TABLE_USAGE`.
pub(in crate::view) fn table_usage(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&names::<Item<'_>>(), items(source))
}

/// A column of a constraint.
struct ColumnItem {
    constraint: QualifiedName,
    table: QualifiedName,
    column: Option<String>,
    /// From 1.
    ordinal: i32,
}

impl HasNames for ColumnItem {
    fn constraint(&self) -> &QualifiedName {
        &self.constraint
    }

    fn table(&self) -> &QualifiedName {
        &self.table
    }
}

/// Columns of the table of a constraint, in the order of the constraint.
fn with_columns(source: &Source<'_>, item: &Item<'_>, columns: &[i32]) -> Vec<ColumnItem> {
    let table = source.model.object_by_id(item.object.parent).and_then(|model| model.table());
    let name_of = |table: &TableModel, id: i32| {
        table.columns.iter().find(|column| column.id == id).map(|column| column.name.clone())
    };
    let item = |(ordinal, id): (i32, &i32)| ColumnItem {
        constraint: item.name.clone(),
        table: item.table.clone(),
        column: table.and_then(|table| name_of(table, *id)),
        ordinal,
    };
    (1..).zip(columns).map(item).collect()
}

fn key_columns_of(index: &Index) -> Vec<i32> {
    let keys = index.columns.iter().filter(|column| column.key_ordinal != 0);
    keys.map(|column| column.column_id).collect()
}

fn foreign_key_of<'s>(source: &Source<'s>, object: &Object) -> Option<&'s ForeignKey> {
    let table = source.model.object_by_id(object.parent)?.table()?;
    table.foreign_keys.iter().find(|key| key.object.id == object.id)
}

/// The columns of a key or foreign key; those of a foreign key are the referencing ones.
fn columns_of(source: &Source<'_>, item: &Item<'_>) -> Vec<i32> {
    if item.object.kind.code() == "F" {
        let key = foreign_key_of(source, item.object);
        return key.map_or_else(Vec::new, |key| key.columns.iter().map(|pair| pair.0).collect());
    }
    index_of_key(source, item.object).map_or_else(Vec::new, key_columns_of)
}

/// `KEY_COLUMN_USAGE`.
pub(in crate::view) fn key_columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = names()
        .put("COLUMN_NAME", |it: &ColumnItem| it.column.as_ref().into())
        .put("ORDINAL_POSITION", |it| it.ordinal.into());
    let of_keys = items(source).filter(|item| item.object.kind.code() != "C");
    let items = of_keys.flat_map(|item| with_columns(source, &item, &columns_of(source, &item)));
    rows.add(&columns, items)
}

/// `CONSTRAINT_COLUMN_USAGE`.
pub(in crate::view) fn column_usage(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let of_checks = columns_of_checks(source.database)?;
    let columns = names().put("COLUMN_NAME", |it: &ColumnItem| it.column.as_ref().into());
    let items = items(source).flat_map(|item| {
        let used = match item.object.kind.code() {
            "C" => {
                let own = of_checks.iter().filter(|(check, _)| *check == item.object.id.0);
                own.map(|(_, column)| *column).collect()
            }
            _ => columns_of(source, &item),
        };
        with_columns(source, &item, &used)
    });
    rows.add(&columns, items)
}

/// A check with its expression.
struct CheckItem<'a> {
    name: QualifiedName,
    definition: Option<&'a str>,
}

/// `CHECK_CONSTRAINTS`.
pub(in crate::view) fn checks(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("CONSTRAINT_CATALOG", |it: &CheckItem<'_>| (&it.name.catalog).into())
        .put("CONSTRAINT_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("CONSTRAINT_NAME", |it| (&it.name.name).into())
        .put("CHECK_CLAUSE", |it| it.definition.into());
    let all = tables(source).flat_map(|(_, table)| &table.checks);
    let items = all.map(|check| CheckItem {
        name: QualifiedName::of(&check.object, source),
        definition: check.definition.as_deref(),
    });
    rows.add(&columns, items)
}

/// A foreign key with the constraint that it references.
struct KeyItem<'a> {
    name: QualifiedName,
    referenced: Option<QualifiedName>,
    key: &'a ForeignKey,
}

fn key_item<'s>(source: &Source<'s>, key: &'s ForeignKey) -> KeyItem<'s> {
    let table = source.model.object_by_id(key.referenced);
    let index = table.and_then(|model| {
        model.table()?.indexes.iter().find(|index| index.id == key.referenced_index)
    });
    let referenced = table.zip(index.and_then(|index| index.name.as_ref()));
    KeyItem {
        name: QualifiedName::of(&key.object, source),
        referenced: referenced
            .map(|(table, name)| QualifiedName::in_schema(table.object.schema_id, name, source)),
        key,
    }
}

/// `REFERENTIAL_CONSTRAINTS`.
pub(in crate::view) fn referential(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("CONSTRAINT_CATALOG", |it: &KeyItem<'_>| (&it.name.catalog).into())
        .put("CONSTRAINT_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("CONSTRAINT_NAME", |it| (&it.name.name).into())
        .put("UNIQUE_CONSTRAINT_CATALOG", |it| {
            it.referenced.as_ref().map(|name| &name.catalog).into()
        })
        .put("UNIQUE_CONSTRAINT_SCHEMA", |it| {
            it.referenced.as_ref().and_then(|name| name.schema.as_ref()).into()
        })
        .put("UNIQUE_CONSTRAINT_NAME", |it| it.referenced.as_ref().map(|name| &name.name).into())
        .put("MATCH_OPTION", |_| "SIMPLE".into())
        .put("UPDATE_RULE", |it| it.key.on_update.name().into())
        .put("DELETE_RULE", |it| it.key.on_delete.name().into());
    rows.add(&columns, all_foreign_keys(source).map(|key| key_item(source, key)))
}
