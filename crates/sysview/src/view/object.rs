//! Objects, schemas, extended properties: `sys.objects`, `sys.all_objects`, `sys.schemas` …

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_engine::model::{ExtendedProperty, Object, ObjectModel, ObjectType};
use extentdb_types::{DateTime, Datum, SqlType};

use crate::base::{SHIPPED, is_ms_shipped, schema_owners};
use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::shape::{View, ViewKind, views};
use crate::source::Source;
use crate::value::Value;

/// Ids of the schemas of system views.
const SCHEMA_SYS: i32 = 4;
const SCHEMA_INFORMATION_SCHEMA: i32 = 3;

/// An item that is an object, or more than that.
pub(super) trait HasObject {
    /// Its row in `sysschobjs`.
    fn object(&self) -> &Object;
}

impl HasObject for Object {
    fn object(&self) -> &Object {
        self
    }
}

impl HasObject for &Object {
    fn object(&self) -> &Object {
        self
    }
}

impl HasObject for &ObjectModel {
    fn object(&self) -> &Object {
        &self.object
    }
}

/// The columns that all views of objects begin with.
pub(super) fn object_columns<T: HasObject>() -> Columns<T> {
    Columns::new()
        .put("name", |it: &T| (&it.object().name).into())
        .put("object_id", |it| it.object().id.0.into())
        .null(&["principal_id"])
        .put("schema_id", |it| it.object().schema_id.into())
        .put("parent_object_id", |it| it.object().parent.0.into())
        .put("type", |it| it.object().kind.into())
        .put("type_desc", |it| code::object_type(it.object().kind).into())
        .put("create_date", |it| created(it.object()).into())
        .put("modify_date", |it| modified(it.object()).into())
        .put("is_ms_shipped", |it| is_ms_shipped(it.object()).into())
        .zero(&["is_published", "is_schema_published"])
}

/// When the object was made.
pub(super) fn created(object: &Object) -> DateTime {
    object.created.unwrap_or(DateTime::BASE)
}

/// When the object was changed last.
pub(super) fn modified(object: &Object) -> DateTime {
    object.modified.unwrap_or(DateTime::BASE)
}

/// A view of the product as an object.
pub(super) fn system_object(view: &View) -> Object {
    let is_view = view.kind == ViewKind::View;
    Object {
        id: ObjectId(view.object_id()),
        name: view.name.to_owned(),
        schema_id: if view.schema == "sys" { SCHEMA_SYS } else { SCHEMA_INFORMATION_SCHEMA },
        kind: if is_view { ObjectType::VIEW } else { ObjectType(*b"IF") },
        status: SHIPPED,
        parent: ObjectId(0),
        int_prop: 0,
        created: None,
        modified: None,
    }
}

/// Triggers of the database are in no schema, and not among them.
fn user_objects<'s>(source: &Source<'s>) -> impl Iterator<Item = &'s Object> {
    let objects = source.objects().into_iter().map(|model| &model.object);
    objects.filter(|object| !object.is_of_database())
}

/// `sys.objects`: what the database has, its base tables among it.
pub(super) fn of_database(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&object_columns(), user_objects(source))
}

/// `sys.system_objects`.
pub(super) fn system(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&object_columns(), views().map(system_object))
}

/// `sys.all_objects`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    system(source, rows)?;
    of_database(source, rows)
}

/// `sys.schemas`.
pub(super) fn schemas(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let owners: BTreeMap<i32, i32> = schema_owners(source.database)?;
    let items =
        source.model.schemas().map(|schema| (&schema.name, schema.id, owners.get(&schema.id)));
    let columns = Columns::new()
        .put("name", |it: &(&String, i32, Option<&i32>)| it.0.into())
        .put("schema_id", |it| it.1.into())
        .put("principal_id", |it| it.2.copied().into());
    rows.add(&columns, items)
}

/// What this program keeps in properties for itself is no property of users.
pub(super) fn is_of_users(property: &ExtendedProperty) -> bool {
    !property.name.starts_with("ExtentDB_")
}

/// `sys.extended_properties`.
pub(super) fn extended_properties(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let own = source.objects().into_iter().flat_map(|model| &model.properties);
    let all = source.model.properties().iter().chain(own);
    let items = all.filter(|property| is_of_users(property));
    let columns = Columns::new()
        .put("class", |it: &&ExtendedProperty| it.class.into())
        .put("class_desc", |it| code::property_class(it.class).into())
        .put("major_id", |it| it.id.into())
        .put("minor_id", |it| it.sub_id.into())
        .put("name", |it| (&it.name).into())
        .put("value", |it| it.value.as_deref().map(property_value).into());
    rows.add(&columns, items)
}

/// The value of a property; one that cannot be decoded is shown as its bytes.
pub(super) fn property_value(bytes: &[u8]) -> Value {
    match Datum::decode(&SqlType::SqlVariant, bytes) {
        Ok(value) => Value(value.into_owned()),
        Err(_) => {
            let len = u16::try_from(bytes.len()).ok();
            let bytes = Datum::Binary(bytes.to_vec().into());
            Value::variant(SqlType::VarBinary { len }, bytes)
        }
    }
}
