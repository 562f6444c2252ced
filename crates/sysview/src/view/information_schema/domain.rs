//! Alias types: `DOMAINS`, `DOMAIN_CONSTRAINTS`, `COLUMN_DOMAIN_USAGE`.

use extentdb_base::ObjectId;
use extentdb_types::SqlType;

use super::info_type::{HasType, InfoType, type_columns};
use super::{QualifiedName, tables_and_views};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;
use crate::view::type_facets::SYSNAME;
use crate::view::types::{TypeItem, items};

/// An alias type.
struct Item {
    name: QualifiedName,
    info: InfoType,
    default: Option<String>,
}

impl HasType for Item {
    fn info(&self) -> &InfoType {
        &self.info
    }
}

fn alias_types<'s>(source: &Source<'s>) -> Result<Vec<TypeItem<'s>>, Error> {
    let is_alias =
        |it: &TypeItem<'_>| it.ty.id > SYSNAME && !matches!(it.ty.ty, Some(SqlType::Udt { .. }));
    Ok(items(source)?.into_iter().filter(is_alias).collect())
}

/// The text of a bound default.
fn text_of(source: &Source<'_>, object: i32) -> Option<String> {
    source.model.object_by_id(ObjectId(object))?.module()?.text.clone()
}

/// `DOMAINS`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = type_columns(Columns::new())
        .put("DOMAIN_CATALOG", |it: &Item| (&it.name.catalog).into())
        .put("DOMAIN_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("DOMAIN_NAME", |it| (&it.name.name).into())
        .put("DOMAIN_DEFAULT", |it| it.default.as_ref().into());
    let item = |it: TypeItem<'_>| Item {
        name: QualifiedName::in_schema(it.ty.schema_id, &it.ty.name, source),
        info: it.ty.ty.as_ref().map(InfoType::of).unwrap_or_default(),
        default: text_of(source, it.default),
    };
    rows.add(&columns, alias_types(source)?.into_iter().map(item))
}

/// A rule that is bound to an alias type.
struct RuleItem {
    rule: QualifiedName,
    domain: QualifiedName,
}

/// `DOMAIN_CONSTRAINTS`.
pub(in crate::view) fn constraints(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("CONSTRAINT_CATALOG", |it: &RuleItem| (&it.rule.catalog).into())
        .put("CONSTRAINT_SCHEMA", |it| it.rule.schema.as_ref().into())
        .put("CONSTRAINT_NAME", |it| (&it.rule.name).into())
        .put("DOMAIN_CATALOG", |it| (&it.domain.catalog).into())
        .put("DOMAIN_SCHEMA", |it| it.domain.schema.as_ref().into())
        .put("DOMAIN_NAME", |it| (&it.domain.name).into())
        .put("IS_DEFERRABLE", |_| "NO".into())
        .put("INITIALLY_DEFERRED", |_| "NO".into());
    let item = |it: TypeItem<'_>| {
        let rule = &source.model.object_by_id(ObjectId(it.rule))?.object;
        Some(RuleItem {
            rule: QualifiedName::of(rule, source),
            domain: QualifiedName::in_schema(it.ty.schema_id, &it.ty.name, source),
        })
    };
    rows.add(&columns, alias_types(source)?.into_iter().filter_map(item))
}

/// A column of an alias type.
struct UsageItem {
    table: QualifiedName,
    column: String,
    domain: (String, String),
}

/// `COLUMN_DOMAIN_USAGE`.
pub(in crate::view) fn usage(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("DOMAIN_CATALOG", |it: &UsageItem| (&it.table.catalog).into())
        .put("DOMAIN_SCHEMA", |it| (&it.domain.0).into())
        .put("DOMAIN_NAME", |it| (&it.domain.1).into())
        .put("TABLE_CATALOG", |it| (&it.table.catalog).into())
        .put("TABLE_SCHEMA", |it| it.table.schema.as_ref().into())
        .put("TABLE_NAME", |it| (&it.table.name).into())
        .put("COLUMN_NAME", |it| (&it.column).into());
    let items = tables_and_views(source).flat_map(|model| {
        let table = QualifiedName::of(&model.object, source);
        columns_of(model).iter().filter_map(move |column| {
            let domain = InfoType::of_column(column, source.model).domain?;
            Some(UsageItem { table: table.clone(), column: column.name.clone(), domain })
        })
    });
    rows.add(&columns, items)
}
