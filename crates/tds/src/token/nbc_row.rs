//! NBCROW: a bitmap of the NULLs, and the other values. 7.3.B and later; pays for wide rows with
//! many NULLs.

use extentdb_types::Datum;

use super::row::verify_count;
use crate::column::Column;
use crate::error::EncodeError;
use crate::type_info::Place;
use crate::value::write_value;

/// First byte.
pub const TOKEN: u8 = 0xD2;

/// Bytes of the bitmap.
pub(crate) fn bitmap_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

/// Appends the token; `out` is as it was after an error.
pub fn write(
    columns: &[Column],
    values: &[Datum<'_>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    verify_count(columns.len(), values.len())?;
    let start = out.len();
    out.push(TOKEN);
    for eight in values.chunks(8) {
        let bit = |(at, value): (usize, &Datum<'_>)| u8::from(value.is_null()) << at;
        out.push(eight.iter().enumerate().map(bit).sum());
    }
    for (column, value) in columns.iter().zip(values).filter(|(_, value)| !value.is_null()) {
        let result = write_value(&column.type_info, Place::Column, value, out);
        if result.is_err() {
            out.truncate(start);
            return result;
        }
    }
    Ok(())
}
