//! TYPEPROPERTY.

use extentdb_engine::model::ScalarType;

use super::Property;
use super::column::{precision, scale};
use crate::view::Facets;

/// Owner of types whose schema has no other: dbo.
const DBO: i64 = 1;
/// The first id of types of users.
const FIRST_OF_USERS: i32 = 257;

/// A property of a type.
#[must_use]
pub fn scalar_type(ty: &ScalarType, name: &str) -> Property {
    let facets = ty.ty.as_ref().map(Facets::of).unwrap_or_default();
    match name.trim_end().to_ascii_lowercase().as_str() {
        "allowsnull" => (!ty.not_null).into(),
        "ownerid" if ty.id >= FIRST_OF_USERS => Property::Number(DBO),
        "ownerid" => Property::Number(4),
        "precision" => precision(ty.ty.as_ref(), facets).into(),
        "scale" => scale(ty.ty.as_ref(), facets).into(),
        "usesansitrim" if ty.ty.is_some_and(|it| it.collation().is_some()) => true.into(),
        _ => Property::Null,
    }
}
