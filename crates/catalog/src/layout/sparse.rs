//! Sparse columns: their values lie in the row's sparse vector, by the ids of the columns.

use std::borrow::Cow;

use extentdb_format::record::Record;
use extentdb_format::record::sparse::{SparseFault, SparseVector};

use super::Cell;

/// The value of a sparse column of an uncompressed record; NULL where there is no vector.
///
/// # Errors
/// The vector does not add up.
pub fn sparse_cell<'a>(record: &Record<'a>, column_id: i32) -> Result<Cell<'a>, SparseFault> {
    let is_vector = |var: &extentdb_format::record::row::VarColumn<'_>| {
        var.complex && SparseVector::is_one(var.bytes)
    };
    let Some(vector) = record.vars().find(is_vector) else { return Ok(Cell::Null) };
    let vector = SparseVector::parse(vector.bytes);
    if let Some(fault) = vector.fault() {
        return Err(fault);
    }
    Ok(match u16::try_from(column_id).ok().and_then(|id| vector.value(id)) {
        None => Cell::Null,
        Some(value) if value.complex => Cell::Complex(Cow::Borrowed(value.bytes)),
        Some(value) => Cell::Bytes(Cow::Borrowed(value.bytes)),
    })
}
