//! ROW: the values of a row, one after the other; see [`RowView`](crate::row::RowView).

use extentdb_types::{Datum, SqlType};

use crate::column::Column;
use crate::error::EncodeError;
use crate::type_info::Place;
use crate::value::{write_stored, write_value};

/// First byte.
pub const TOKEN: u8 = 0xD1;

/// Appends the token; `out` is as it was after an error.
pub fn write(
    columns: &[Column],
    values: &[Datum<'_>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    verify_count(columns.len(), values.len())?;
    let start = out.len();
    out.push(TOKEN);
    for (column, value) in columns.iter().zip(values) {
        let result = write_value(&column.type_info, Place::Column, value, out);
        if result.is_err() {
            out.truncate(start);
            return result;
        }
    }
    Ok(())
}

/// Appends the token from values as rows hold them, `None` = NULL; `types` are those of the
/// columns. `out` is as it was after an error.
pub fn write_from_stored(
    columns: &[Column],
    types: &[SqlType],
    values: &[Option<&[u8]>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    verify_count(columns.len(), types.len())?;
    verify_count(columns.len(), values.len())?;
    let start = out.len();
    out.push(TOKEN);
    for ((column, ty), value) in columns.iter().zip(types).zip(values) {
        let result = write_stored(&column.type_info, Place::Column, ty, *value, out);
        if result.is_err() {
            out.truncate(start);
            return result;
        }
    }
    Ok(())
}

pub(super) fn verify_count(expected: usize, found: usize) -> Result<(), EncodeError> {
    if expected == found { Ok(()) } else { Err(EncodeError::ColumnCount { expected, found }) }
}
