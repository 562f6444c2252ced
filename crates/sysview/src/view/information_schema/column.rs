//! `COLUMNS`, `ROUTINE_COLUMNS`.

use extentdb_engine::model::{Column, Constraint, ObjectModel};

use super::info_type::{HasType, InfoType, type_columns};
use super::{QualifiedName, tables_and_views, yes};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;

/// A column of a table, view or function.
struct Item<'a> {
    table: QualifiedName,
    column: &'a Column,
    ordinal: i32,
    default: Option<&'a str>,
    info: InfoType,
}

impl HasType for Item<'_> {
    fn info(&self) -> &InfoType {
        &self.info
    }
}

impl Item<'_> {
    fn domain(&self) -> Option<&(String, String)> {
        self.info.domain.as_ref()
    }
}

/// Ordinals are positions among the columns there are now.
fn items_of<'s>(source: &Source<'s>, model: &'s ObjectModel) -> Vec<Item<'s>> {
    let table = QualifiedName::of(&model.object, source);
    let item = |(ordinal, column): (i32, &'s Column)| Item {
        table: table.clone(),
        column,
        ordinal,
        default: default_of(model, column).and_then(|default| default.definition.as_deref()),
        info: InfoType::of_column(column, source.model),
    };
    (1..).zip(columns_of(model)).map(item).collect()
}

fn default_of<'a>(model: &'a ObjectModel, column: &Column) -> Option<&'a Constraint> {
    model.table()?.default_of(column)
}

fn shared<'a>() -> Columns<Item<'a>> {
    type_columns(Columns::new())
        .put("TABLE_CATALOG", |it: &Item<'_>| (&it.table.catalog).into())
        .put("TABLE_SCHEMA", |it| it.table.schema.as_ref().into())
        .put("TABLE_NAME", |it| (&it.table.name).into())
        .put("COLUMN_NAME", |it| (&it.column.name).into())
        .put("ORDINAL_POSITION", |it| it.ordinal.into())
        .put("COLUMN_DEFAULT", |it| it.default.into())
        .put("IS_NULLABLE", |it| yes(it.column.nullable).into())
        .put("DOMAIN_CATALOG", |it| it.domain().map(|_| &it.table.catalog).into())
        .put("DOMAIN_SCHEMA", |it| it.domain().map(|(schema, _)| schema).into())
        .put("DOMAIN_NAME", |it| it.domain().map(|(_, name)| name).into())
}

/// `COLUMNS`.
pub(in crate::view) fn of_tables(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), tables_and_views(source).flat_map(|model| items_of(source, model)))
}

/// `ROUTINE_COLUMNS`: of the tables that functions return.
pub(in crate::view) fn of_routines(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let models = source.objects().into_iter();
    let functions = models.filter(|model| matches!(model.object.kind.code(), "IF" | "TF"));
    rows.add(&shared(), functions.flat_map(|model| items_of(source, model)))
}
