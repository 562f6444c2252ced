//! Types: TYPE_ID, TYPE_NAME, TYPEPROPERTY.

use extentdb_engine::model::ScalarType;
use extentdb_sysview::property;
use extentdb_types::Datum;

use super::catalog::{Catalog, name, number, text};
use super::object::number_of;
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::{DEFAULT_SCHEMA, object_name};

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

/// Schema of the types of the product.
const SYS: &str = "sys";

/// A type by its name: without a schema one of the product, else of dbo.
fn named<'c>(catalog: &'c Catalog, written: &str) -> Option<&'c ScalarType> {
    let written = object_name(written);
    let own = |schema: &str| {
        let schema = catalog.model.schema(schema)?.id;
        catalog.model.scalar_type_named(schema, &written.name.text)
    };
    match (written.database(), written.schema()) {
        (Some(_), _) => None,
        (None, Some(schema)) => own(&schema.text),
        (None, None) => own(SYS).or_else(|| own(DEFAULT_SCHEMA)),
    }
}

fn type_id(at: Values<'_>, it: Arguments<'_>) -> Given {
    let catalog = Catalog::current(at)?;
    let ty = text(it, 0).and_then(|written| named(&catalog, &written).map(|ty| ty.id));
    Ok(ty.map_or(Datum::Null, Datum::Int))
}

fn type_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    let catalog = Catalog::current(at)?;
    let id = number(it, 0).and_then(|id| i32::try_from(id).ok());
    let ty = id.and_then(|id| catalog.model.scalar_type(id));
    Ok(name(ty.map(|ty| ty.name.as_str())))
}

fn type_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(written), Some(wanted)) = (text(it, 0), text(it, 1)) else { return Ok(Datum::Null) };
    let catalog = Catalog::current(at)?;
    match named(&catalog, &written) {
        Some(ty) => number_of(property::scalar_type(ty, &wanted), &wanted),
        None => Ok(Datum::Null),
    }
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("type_id", Kind::Int, type_id).nullable().of(&[Kind::Text(1_035)]),
    Definition::new("type_name", Kind::Name, type_name).nullable().of(&[Kind::Int]),
    Definition::new("typeproperty", Kind::Int, type_property)
        .nullable()
        .of(&[Kind::Text(1_035), Kind::Name]),
];
