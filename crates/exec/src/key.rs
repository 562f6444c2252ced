//! Sort keys of rows: columns as bytes that compare as their values do, under their collations.
//! Equal keys are equal values, so groups and hash joins use them, too.

use extentdb_engine::{Values, Vector};
use extentdb_plan::physical::SortKey;
use extentdb_types::SqlType;
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

    /// Appends a key of a row for equality only: such keys are equal when all values are, whatever
    /// their types. (The sort keys of some types may begin each other; here their length precedes
    /// them.)
    pub(crate) fn push_equality(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        for key in &self.keys {
            let Some(vector) = batch.columns.get(key.column) else { continue };
            if !needs_length(&vector.ty) {
                push_value(vector, row, false, &mut self.scratch, out);
                continue;
            }
            let start = out.len();
            out.extend([0; LENGTH_BYTES]);
            push_value(vector, row, false, &mut self.scratch, out);
            let length = (out.len() - start - LENGTH_BYTES) as u32;
            if let Some(to) = out.get_mut(start..start + LENGTH_BYTES) {
                to.copy_from_slice(&length.to_le_bytes());
            }
        }
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

/// Bytes of the length of a key.
const LENGTH_BYTES: usize = 4;

/// May the sort key of a value begin that of another one?
fn needs_length(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::VarBinary { len: None }
            | SqlType::Image
            | SqlType::Text { .. }
            | SqlType::NText { .. }
            | SqlType::SqlVariant
            | SqlType::Xml
            | SqlType::Udt { .. }
    )
}

/// Sort keys of rows, one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct KeyRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyRows {
    /// The keys of all rows of a batch.
    pub(crate) fn of(encoder: &mut KeyEncoder, batch: &Batch) -> KeyRows {
        let mut keys = KeyRows::default();
        keys.append(encoder, batch);
        keys
    }

    /// Appends the keys of all rows of a batch.
    pub(crate) fn append(&mut self, encoder: &mut KeyEncoder, batch: &Batch) {
        self.ends.reserve(batch.rows);
        for row in 0..batch.rows {
            encoder.push(batch, row, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// Appends the key of one row of others.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// The key of a row.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let from = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let to = self.ends.get(row).copied().unwrap_or_default();
        self.bytes.get(from.unwrap_or_default()..to).unwrap_or_default()
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The rows in the order of their keys; rows with equal keys stay as they are.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let prefix = |row: usize| {
            let key = self.get(row);
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(bytes)
        };
        let mut rows: Vec<(u64, u32)> =
            (0..self.len()).map(|row| (prefix(row), row as u32)).collect();
        rows.sort_unstable_by(|(a, first), (b, second)| {
            let keys = || self.get(*first as usize).cmp(self.get(*second as usize));
            a.cmp(b).then_with(keys).then(first.cmp(second))
        });
        rows.into_iter().map(|(_, row)| row).collect()
    }
}
