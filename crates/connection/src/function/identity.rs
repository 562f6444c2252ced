//! Identity values: SCOPE_IDENTITY, IDENT_CURRENT, IDENT_SEED, IDENT_INCR.

use extentdb_engine::IdentityState;
use extentdb_types::{Datum, Decimal};

use super::catalog::{Catalog, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::object_name;

type Given = Result<Datum<'static>, Cause>;

/// Of a table by its name.
fn of_table(
    at: Values<'_>,
    it: &[Datum<'static>],
    tell: impl FnOnce(IdentityState) -> i128,
) -> Given {
    let Some(written) = text(it, 0) else { return Ok(Datum::Null) };
    let written = object_name(&written);
    let Some(catalog) = Catalog::of_name(at, &written)? else { return Ok(Datum::Null) };
    let found = catalog.named_object(at, &written).and_then(|item| item.stored().cloned());
    let identity = found.and_then(|object| catalog.database.identity(object.object.id));
    let value = identity.map(tell);
    let value = value.and_then(|value| Decimal::new(value < 0, value.unsigned_abs(), 0));
    Ok(value.map_or(Datum::Null, Datum::Decimal))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("scope_identity", Kind::Numeric, |at, _| {
        Ok(at.connection.identities.in_scope().map_or(Datum::Null, Datum::Decimal))
    })
    .nullable(),
    Definition::new("ident_current", Kind::Numeric, |at, it| {
        of_table(at, it, |identity| identity.last.unwrap_or(identity.seed))
    })
    .nullable()
    .of(&[Kind::Text(1_035)]),
    Definition::new("ident_seed", Kind::Numeric, |at, it| {
        of_table(at, it, |identity| identity.seed)
    })
    .nullable()
    .of(&[Kind::Text(1_035)]),
    Definition::new("ident_incr", Kind::Numeric, |at, it| {
        of_table(at, it, |identity| identity.increment)
    })
    .nullable()
    .of(&[Kind::Text(1_035)]),
];
