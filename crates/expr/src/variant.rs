//! sql_variant in statements: each value is converted by the type that it carries, and compared
//! by the family of its type.

use extentdb_kernel::disk::StorageForm;
use extentdb_kernel::error::{EvalError, EvalResult};
use extentdb_kernel::lane::{Lane, LaneKind};
use extentdb_kernel::operator::row::{self, Call, Cell, Outcome};
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Datum, SqlType, Variant};

use crate::batch::Batch;
use crate::program::{Environment, Program};
use crate::settings::Settings;
use crate::typing;

/// The collation of values that have none, where nothing else says one.
const COLLATION: extentdb_types::Collation =
    extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// The value of a sql_variant as one of the call's type, by its style.
pub(crate) fn unwrap(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = row::first::<1>(cells);
    let decoded = Datum::decode(&SqlType::SqlVariant, value.bytes());
    let Ok(Datum::Variant(variant)) = decoded else { return Err(EvalError::Input) };
    let mut stored = Vec::new();
    variant.value.encode(&variant.ty, &mut stored).map_err(|_| EvalError::Input)?;
    let collation = call.result.collation().or(variant.ty.collation()).unwrap_or(COLLATION);
    let environment = Environment {
        columns: Vec::new(),
        database_collation: collation,
        settings: Settings::statement(call.options),
    };
    let program = Program::of_conversion(variant.ty, call.result, call.number, &environment);
    let program = program.map_err(|_| EvalError::Conversion)?;
    let mut batch = Batch::new();
    batch.reset(&program);
    batch.push(0, Some(&stored));
    batch.end_row();
    program.evaluate(&mut batch);
    batch.row_outcome(0, typing::kind(&call.result), to)
}

/// A value of another type as a sql_variant.
pub(crate) fn wrap(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = row::first::<1>(cells);
    let ty = *call.ty(0);
    let stored = stored(&ty, value)?;
    let value = Datum::decode(&ty, &stored).map_err(|_| EvalError::Input)?;
    let variant = Datum::Variant(Box::new(Variant { ty, value }));
    variant.encode(&SqlType::SqlVariant, to).map_err(|_| EvalError::Declared)?;
    Ok(Outcome::Bytes)
}

/// Less, equal or greater, as −1, 0 and 1.
pub(crate) fn order(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [a, b] = row::first::<2>(cells);
    let key = |cell: Cell<'_>| {
        let mut key = Vec::new();
        push_sort_key(&SqlType::SqlVariant, KeyValue::Bytes(cell.bytes()), false, &mut key);
        key
    };
    Ok(Outcome::Int(key(a).cmp(&key(b)) as i64))
}

/// The stored form of a value.
fn stored(ty: &SqlType, value: Cell<'_>) -> EvalResult<Vec<u8>> {
    let mut lane = Lane::default();
    match value {
        Cell::Bytes(bytes) => return Ok(bytes.to_vec()),
        Cell::Int(value) => lane.push(Ok(value)),
        Cell::Wide(value) => lane.push(Ok(value)),
        Cell::Float(value) => lane.push(Ok(value)),
        Cell::Null => lane.push_null(LaneKind::Int),
    }
    let mut bytes = Vec::new();
    StorageForm::of(ty).write(&lane, &mut bytes);
    match bytes.is_empty() {
        false => Ok(bytes),
        true => Err(EvalError::Input),
    }
}
