//! `.WRITE ( value , offset , length )`: part of a (max) value is replaced.

use extentdb_kernel::error::{EvalError, EvalResult};
use extentdb_kernel::operator::row::{self, Call, Cell, Outcome};
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, entry};
use super::{BindResult, Binder, Ty};
use crate::error::CompileError;

pub(super) const FUNCTIONS: &[Entry] =
    &[entry("\0the method WRITE", 5, 5, |binder, a| binder.write(&a))];

impl Binder<'_> {
    fn write(&mut self, arguments: &Arguments) -> BindResult {
        let name = self.wide_argument(arguments, 0)?;
        let (Some(value), Some(new)) = (arguments.get(1).cloned(), arguments.get(2).cloned())
        else {
            return self.unsupported("WRITE without its arguments");
        };
        let ty = match value.ty {
            Ty::Sql(
                ty @ (SqlType::VarChar { len: None, .. }
                | SqlType::NVarChar { len: None, .. }
                | SqlType::VarBinary { len: None }),
            ) => ty,
            _ => {
                let name = self.sql(&value).map_or("NULL", |ty| crate::error::name(&ty));
                let text = format!("Cannot call methods on {name}.");
                return Err(CompileError::Message { number: 258, text, at: self.at });
            }
        };
        let unit = i64::from(matches!(ty, SqlType::NVarChar { .. })) + 1;
        let new = self.implicit(new, ty)?;
        let offset = self.argument(arguments, 3, SqlType::BigInt)?;
        let offset =
            self.row_with_nulls(verify_offset, &[offset, value.clone()], SqlType::BigInt, unit)?;
        let length = self.argument(arguments, 4, SqlType::BigInt)?;
        let length = self.row(verify_length, &[length], SqlType::BigInt, 0)?;
        self.row_with_nulls(written, &[name, value, new, offset, length], ty, unit)
    }
}

/// An offset within a value, or at its end.
fn verify_offset(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    match row::first::<2>(cells) {
        [Cell::Int(offset), Cell::Bytes(value)] => {
            let end = value.len() as i64 / call.number;
            if (0..=end).contains(&offset) {
                Ok(Outcome::Int(offset))
            } else {
                Err(EvalError::LobOffset)
            }
        }
        [Cell::Int(offset), _] => Ok(Outcome::Int(offset)),
        _ => Ok(Outcome::Null),
    }
}

fn verify_length(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    match row::first::<1>(cells) {
        [Cell::Int(length)] if length < 0 => Err(EvalError::LobLength),
        [Cell::Int(length)] => Ok(Outcome::Int(length)),
        _ => Ok(Outcome::Null),
    }
}

/// The value with a part of it replaced. NULL as the new part cuts it at the offset; without an
/// offset the part is appended, without a length it replaces all that follows.
fn written(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [_, value, new, offset, length] = row::first::<5>(cells);
    let Cell::Bytes(value) = value else { return Err(EvalError::NullMutator) };
    let at = |units: i64| usize::try_from(units.saturating_mul(call.number)).unwrap_or(usize::MAX);
    let start = match offset {
        Cell::Int(offset) => at(offset).min(value.len()),
        _ => value.len(),
    };
    to.extend_from_slice(value.get(..start).unwrap_or_default());
    let Cell::Bytes(new) = new else { return Ok(Outcome::Bytes) };
    to.extend_from_slice(new);
    let end = match (offset, length) {
        (Cell::Int(_), Cell::Int(length)) => start.saturating_add(at(length)).min(value.len()),
        _ => value.len(),
    };
    to.extend_from_slice(value.get(end..).unwrap_or_default());
    Ok(Outcome::Bytes)
}
