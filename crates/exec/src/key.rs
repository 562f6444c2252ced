//! Sort keys of rows: columns as bytes that compare as their values do, under their collations.
//! Equal keys are equal values, so groups and hash joins use them, too.

use extentdb_engine::{Values, Vector};
use extentdb_plan::physical::SortKey;
use extentdb_types::key_order::{KeyValue, push_sort_key};

use crate::batch::Batch;

/// Appends the sort key of a value.
pub(crate) fn push_value(
    vector: &Vector,
    row: usize,
    is_descending: bool,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    if vector.is_null(row) {
        return push_sort_key(&vector.ty, KeyValue::Null, is_descending, out);
    }
    let value = match &vector.values {
        Values::Bits(bits) => KeyValue::Bit(bits.get(row)),
        Values::Fixed { .. } | Values::Variable { .. } => KeyValue::Bytes(vector.bytes(row)),
        _ => {
            scratch.clear();
            vector.stored_bytes(row, scratch);
            KeyValue::Bytes(scratch)
        }
    };
    push_sort_key(&vector.ty, value, is_descending, out);
}

/// Makes sort keys of the rows of batches.
#[derive(Debug, Clone)]
pub(crate) struct KeyEncoder {
    keys: Vec<SortKey>,
    scratch: Vec<u8>,
}

impl KeyEncoder {
    pub(crate) fn new(keys: Vec<SortKey>) -> KeyEncoder {
        KeyEncoder { keys, scratch: Vec::new() }
    }

    /// Of columns in ascending order.
    pub(crate) fn of_columns(columns: &[usize]) -> KeyEncoder {
        let key = |column: &usize| SortKey { column: *column, is_descending: false };
        KeyEncoder::new(columns.iter().map(key).collect())
    }

    /// Appends the key of a row; says whether one of its values is NULL.
    pub(crate) fn push(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        for key in &self.keys {
            let Some(vector) = batch.columns.get(key.column) else { continue };
            has_null |= vector.is_null(row);
            push_value(vector, row, key.is_descending, &mut self.scratch, out);
        }
        has_null
    }
}
