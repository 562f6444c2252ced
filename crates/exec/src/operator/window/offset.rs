//! LAG and LEAD: the value some rows before or after.

use extentdb_bind::function::WindowFunction;
use extentdb_engine::Vector;
use extentdb_plan::physical::WindowCall;

use crate::batch::Batch;
use crate::error::Error;
use crate::operator::join::NO_ROW;
use crate::operator::window::argument;
use crate::operator::window::layout::Layout;
use crate::operator::window::value::{Valued, typed};

/// Message number of an offset that is negative.
const OFFSET_NEGATIVE: i32 = 8730;

/// The values before or after all rows; where there is no such row, the default of the row itself.
pub(super) fn column(call: &WindowCall, rows: &Batch, layout: &Layout) -> Result<Vector, Error> {
    let values = argument(call, rows, 0)?;
    let offsets = offsets(call, rows)?;
    let valued = call.ignores_nulls.then(|| Valued::of(values));
    let is_lag = call.function == WindowFunction::Lag;
    let mut found = Vec::with_capacity(rows.rows);
    for row in 0..rows.rows {
        let offset = match &offsets {
            None => Some(1),
            Some(offsets) => offsets.get(row).copied().flatten(),
        };
        let other = offset.and_then(|offset| match &valued {
            _ if offset == 0 => Some(row),
            None if is_lag => row.checked_sub(offset),
            None => row.checked_add(offset),
            Some(valued) if is_lag => valued.get(valued.before(row).checked_sub(offset)?),
            Some(valued) => valued.get(valued.before(row + 1).checked_add(offset)? - 1),
        });
        let partition = layout.partitions().of(row);
        let other = other.filter(|other| partition.contains(other));
        found.push(other.map_or(NO_ROW, |other| other as u32));
    }
    match call.arguments.get(2) {
        None => typed(call, values.take_or_null(&found)),
        Some(_) => with_defaults(call, values, argument(call, rows, 2)?, &found),
    }
}

/// The offset of each row, `None` for NULL; those that are not given are 1.
fn offsets(call: &WindowCall, rows: &Batch) -> Result<Option<Vec<Option<usize>>>, Error> {
    if call.arguments.len() < 2 {
        return Ok(None);
    }
    let vector = argument(call, rows, 1)?;
    let refused = || Error::WindowArgument { number: OFFSET_NEGATIVE };
    let values = vector.integers().ok_or_else(refused)?;
    let offset = |(row, value): (usize, i64)| {
        if vector.is_null(row) {
            return Ok(None);
        }
        usize::try_from(value).map(Some).map_err(|_| refused())
    };
    values.into_iter().enumerate().map(offset).collect::<Result<_, _>>().map(Some)
}

fn with_defaults(
    call: &WindowCall,
    values: &Vector,
    defaults: &Vector,
    found: &[u32],
) -> Result<Vector, Error> {
    if values.ty != call.ty || defaults.ty != call.ty {
        return Err(Error::NotSupported(format!(
            "a default of {} for values of {}",
            defaults.ty, values.ty
        )));
    }
    let mut result = Vector::computed(call.ty);
    let mut row = 0u32;
    for run in found.chunk_by(|a, b| (*a == NO_ROW) == (*b == NO_ROW)) {
        let end = row + run.len() as u32;
        if run.first() == Some(&NO_ROW) {
            let own: Vec<u32> = (row..end).collect();
            result.append_rows(defaults, &own);
        } else {
            result.append_rows(values, run);
        }
        row = end;
    }
    Ok(result)
}
