//! Objects and schemas: OBJECT_ID, OBJECT_NAME, OBJECTPROPERTY and their like.

use extentdb_types::{Datum, SqlType, Variant};

use super::catalog::{Catalog, Item, int, name, number, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::object_name;
use crate::variant::nchar;
use extentdb_sysview::property::{self, Property};

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

fn object_id(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(written) = text(it, 0) else { return Ok(Datum::Null) };
    let wanted = match it.get(1) {
        None => None,
        Some(_) => match text(it, 1) {
            Some(kind) => Some(kind.trim().to_uppercase()),
            None => return Ok(Datum::Null),
        },
    };
    let written = object_name(&written);
    let Some(catalog) = Catalog::of_name(at, &written)? else { return Ok(Datum::Null) };
    let found = catalog.named_object(at, &written);
    let found = found.filter(|item| wanted.as_deref().is_none_or(|kind| kind == item.kind()));
    Ok(found.map_or(Datum::Null, |item| Datum::Int(item.id())))
}

/// What an id stands for in the current database, or the one of a second argument.
fn by_id(
    at: Values<'_>,
    it: Arguments<'_>,
    tell: impl FnOnce(&Catalog, &Item<'_>) -> Option<String>,
) -> Given {
    let catalog = match it.get(1) {
        Some(Datum::Null) => None,
        Some(_) => Catalog::by_id(at, number(it, 1).or(Some(-1)))?,
        None => Some(Catalog::current(at)?),
    };
    let Some(catalog) = catalog else { return Ok(Datum::Null) };
    let told = catalog.object(number(it, 0)).and_then(|item| tell(&catalog, &item));
    Ok(name(told.as_deref()))
}

fn definition(at: Values<'_>, it: Arguments<'_>) -> Given {
    let catalog = Catalog::current(at)?;
    let told = catalog.object(number(it, 0)).and_then(|item| text_of(&catalog, &item));
    Ok(name(told.as_deref()))
}

/// Does an object have this name?
pub fn object_exists(at: Values<'_>, written: &str) -> Result<bool, Cause> {
    let written = object_name(written);
    let catalog = Catalog::of_name(at, &written)?;
    Ok(catalog.is_some_and(|catalog| catalog.named_object(at, &written).is_some()))
}

/// The text of a module or constraint by its name.
pub fn object_text(at: Values<'_>, written: &str) -> Result<Option<String>, Cause> {
    let written = object_name(written);
    let Some(catalog) = Catalog::of_name(at, &written)? else { return Ok(None) };
    let item = catalog.named_object(at, &written);
    Ok(item.and_then(|item| text_of(&catalog, &item)))
}

fn text_of(catalog: &Catalog, item: &Item<'_>) -> Option<String> {
    let object = item.stored()?;
    if !catalog.sees_text(object) {
        return None;
    }
    match object.module() {
        Some(module) => module.text.clone(),
        None => of_constraint(catalog, item.id(), object.object.parent),
    }
}

/// The expression of a check or default.
fn of_constraint(catalog: &Catalog, id: i32, parent: extentdb_base::ObjectId) -> Option<String> {
    let table = catalog.model.object_by_id(parent)?.table()?;
    let mut constraints = table.checks.iter().chain(&table.defaults);
    constraints.find(|own| own.object.id.0 == id)?.definition.clone()
}

fn default_schema(at: Values<'_>) -> String {
    let own = at.connection.default_schema(at.connection.session.database());
    own.unwrap_or_else(|| crate::objects::DEFAULT_SCHEMA.to_owned())
}

fn schema_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    if it.is_empty() {
        return Ok(nchar(&default_schema(at)));
    }
    let catalog = Catalog::current(at)?;
    let id = number(it, 0).and_then(|id| i32::try_from(id).ok());
    let schema = id.and_then(|id| catalog.model.schema_by_id(id));
    Ok(name(schema.map(|schema| schema.name.as_str())))
}

fn schema_id(at: Values<'_>, it: Arguments<'_>) -> Given {
    let written = match it.is_empty() {
        true => Some(default_schema(at)),
        false => text(it, 0),
    };
    let catalog = Catalog::current(at)?;
    let schema = written.and_then(|written| catalog.model.schema(&written).map(|own| own.id));
    Ok(schema.map_or(Datum::Null, Datum::Int))
}

fn object_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(id), Some(wanted)) = (number(it, 0), text(it, 1)) else { return Ok(Datum::Null) };
    let catalog = Catalog::current(at)?;
    match catalog.object(Some(id)) {
        Some(Item::Stored(object)) => {
            number_of(property::object(&catalog.model, object, &wanted), &wanted)
        }
        Some(item) => Ok(of_system(&item, &wanted)),
        None => Ok(Datum::Null),
    }
}

/// The same of a view of the product.
fn of_system(item: &Item<'_>, wanted: &str) -> Datum<'static> {
    let is_view = item.kind() == "V";
    match wanted.to_ascii_lowercase().as_str() {
        "isview" => Datum::Int(is_view.into()),
        "isinlinefunction" | "istablefunction" => Datum::Int((!is_view).into()),
        "ismsshipped" | "isexecuted" | "isansinullson" | "isquotedidenton" => Datum::Int(1),
        "istable" | "isusertable" | "issystemtable" | "isprocedure" | "isscalarfunction"
        | "istrigger" | "isconstraint" => Datum::Int(0),
        _ => Datum::Null,
    }
}

/// A property as an int.
pub(super) fn number_of(value: Property, wanted: &str) -> Given {
    match value {
        Property::Null => Ok(Datum::Null),
        Property::Number(value) => Ok(int(Some(value))),
        Property::Unknown => Err(Cause::not_supported(format!("the property {wanted}"))),
    }
}

/// OBJECTPROPERTYEX: the same as a sql_variant, and two properties more.
fn object_property_ex(at: Values<'_>, it: Arguments<'_>) -> Given {
    let wanted = text(it, 1).unwrap_or_default().to_ascii_lowercase();
    if wanted == "basetype" {
        let catalog = Catalog::current(at)?;
        let item = catalog.object(number(it, 0));
        let kind = item.map(|item| format!("{:<2}", base_kind(at, &item)));
        let collation = at.connection.collation();
        let ty = SqlType::NVarChar { len: Some(4), collation };
        return Ok(kind.map_or(Datum::Null, |kind| wrapped(ty, nchar(&kind))));
    }
    if wanted == "cardinality" {
        return Err(Cause::not_supported("the property Cardinality"));
    }
    Ok(match object_property(at, it)? {
        Datum::Null => Datum::Null,
        value => wrapped(SqlType::Int, value),
    })
}

/// The kind of an object, through a synonym.
fn base_kind(at: Values<'_>, item: &Item<'_>) -> String {
    if let Some(object) = item.stored()
        && let extentdb_engine::model::ObjectBody::Synonym(base) = &object.body
    {
        let base = object_name(base);
        if let Ok(Some(catalog)) = Catalog::of_name(at, &base)
            && let Some(found) = catalog.named_object(at, &base)
        {
            return found.kind().to_owned();
        }
    }
    item.kind().to_owned()
}

fn wrapped(ty: SqlType, value: Datum<'static>) -> Datum<'static> {
    Datum::Variant(Box::new(Variant { ty, value }))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("object_id", Kind::Int, object_id)
        .nullable()
        .of_some(1, &[Kind::Text(1_035), Kind::Name]),
    Definition::new("object_name", Kind::Name, |at, it| {
        by_id(at, it, |_, item| Some(item.name().to_owned()))
    })
    .nullable()
    .of_some(1, &[Kind::Int, Kind::Int]),
    Definition::new("object_schema_name", Kind::Name, |at, it| {
        by_id(at, it, |catalog, item| catalog.schema_of(item))
    })
    .nullable()
    .of_some(1, &[Kind::Int, Kind::Int]),
    Definition::new("object_definition", Kind::LongText, definition).nullable().of(&[Kind::Int]),
    Definition::new("schema_name", Kind::Name, schema_name).nullable().of_optional(&[Kind::Int]),
    Definition::new("schema_id", Kind::Int, schema_id).nullable().of_optional(&[Kind::Name]),
    Definition::new("objectproperty", Kind::Int, object_property)
        .nullable()
        .of(&[Kind::Int, Kind::Name]),
    Definition::new("objectpropertyex", Kind::Variant, object_property_ex)
        .nullable()
        .of(&[Kind::Int, Kind::Name]),
];
