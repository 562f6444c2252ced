//! Sort keys of the values that statistics are made of.

use extentdb_rowset::columnar::{Form, Vector};
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Datum, EncodeError, SqlType};

/// Bytes of the sort key of a column that count: values with the same beginning are one value.
pub(super) const KEY_BYTES_MAX: usize = 900;
/// The sort key of NULL.
pub(super) const NULL_KEY: [u8; 1] = [0];

/// Can values of the type be compared, and have a length?
pub(super) fn has_order(ty: &SqlType) -> bool {
    !ty.is_lob() && !ty.is_max() && !matches!(ty, SqlType::SqlVariant | SqlType::Udt { .. })
}

/// Appends the sort key of a row's value; returns the bytes of the value.
pub(super) fn push(vector: &Vector, row: usize, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    scratch.clear();
    if vector.is_null(row) {
        push_sort_key(&vector.ty, KeyValue::Null, false, out);
        return 0;
    }
    vector.stored_bytes(row, scratch);
    let value = match vector.form() {
        Form::Bit => KeyValue::Bit(scratch.first() == Some(&1)),
        _ => KeyValue::Bytes(scratch),
    };
    push_sort_key(&vector.ty, value, false, out);
    out.truncate(start + KEY_BYTES_MAX);
    scratch.len()
}

/// The sort key of a value.
pub(super) fn of_datum(ty: &SqlType, value: &Datum<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let value = match value {
        Datum::Null => KeyValue::Null,
        Datum::Bit(bit) if ty.is_bit() => KeyValue::Bit(*bit),
        value => {
            value.encode(ty, &mut bytes)?;
            KeyValue::Bytes(&bytes)
        }
    };
    let mut key = Vec::new();
    push_sort_key(ty, value, false, &mut key);
    key.truncate(KEY_BYTES_MAX);
    Ok(key)
}

/// Bytes that both begin with.
pub(super) fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
