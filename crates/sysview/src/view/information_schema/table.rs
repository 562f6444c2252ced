//! `TABLES`, `VIEWS`, `SCHEMATA`.

use std::collections::BTreeMap;

use extentdb_engine::model::{ObjectModel, ObjectType, SchemaModel};

use super::{QualifiedName, tables_and_views};
use crate::base::schema_owners;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::module::mentions;

/// A table or view.
struct Item<'a> {
    name: QualifiedName,
    model: &'a ObjectModel,
    sees_text: bool,
}

impl Item<'_> {
    fn text(&self) -> Option<&str> {
        self.model.module()?.text.as_deref().filter(|_| self.sees_text)
    }
}

fn items<'s>(source: &Source<'s>) -> impl Iterator<Item = Item<'s>> {
    tables_and_views(source).map(|model| {
        let name = QualifiedName::of(&model.object, source);
        Item { name, model, sees_text: source.sees_text(model) }
    })
}

fn shared<'a>() -> Columns<Item<'a>> {
    Columns::new()
        .put("TABLE_CATALOG", |it: &Item<'_>| (&it.name.catalog).into())
        .put("TABLE_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("TABLE_NAME", |it| (&it.name.name).into())
}

/// `TABLES`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared().put("TABLE_TYPE", |it| {
        let is_view = it.model.object.kind == ObjectType::VIEW;
        if is_view { "VIEW" } else { "BASE TABLE" }.into()
    });
    rows.add(&columns, items(source))
}

/// `VIEWS`.
pub(in crate::view) fn views(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared()
        .put("VIEW_DEFINITION", |it| it.text().into())
        .put("CHECK_OPTION", |it| {
            let is_checked = it.text().is_some_and(|text| mentions(text, "with check option"));
            if is_checked { "CASCADE" } else { "NONE" }.into()
        })
        .put("IS_UPDATABLE", |_| "NO".into());
    let is_view = |it: &Item<'_>| it.model.object.kind == ObjectType::VIEW;
    rows.add(&columns, items(source).filter(is_view))
}

/// A schema with the name of its owner.
struct SchemaItem<'a> {
    catalog: String,
    schema: &'a SchemaModel,
    owner: Option<&'a str>,
}

/// `SCHEMATA`.
pub(in crate::view) fn schemata(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let owners: BTreeMap<i32, i32> = schema_owners(source.database)?;
    let name_of = |id: &i32| {
        let principals = source.model.principals();
        principals.iter().find(|it| it.id == *id).map(|it| it.name.as_str())
    };
    let columns = Columns::new()
        .put("CATALOG_NAME", |it: &SchemaItem<'_>| (&it.catalog).into())
        .put("SCHEMA_NAME", |it| (&it.schema.name).into())
        .put("SCHEMA_OWNER", |it| it.owner.into())
        .put("DEFAULT_CHARACTER_SET_NAME", |_| "iso_1".into())
        .null(&["DEFAULT_CHARACTER_SET_CATALOG", "DEFAULT_CHARACTER_SET_SCHEMA"]);
    let items = source.model.schemas().map(|schema| SchemaItem {
        catalog: source.database_name().to_owned(),
        schema,
        owner: owners.get(&schema.id).and_then(name_of),
    });
    rows.add(&columns, items)
}
