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

/// Bytes of a key, after those that all keys have, that are compared as a number; and bits of the
/// number of a row, beside them.
const PREFIX_BYTES: usize = 12;
const ROW_BITS: u32 = 32;

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

    /// Bytes that they take in memory, about, and while they are sorted.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * (size_of::<usize>() + size_of::<u128>())
    }

    /// The rows in the order of their keys; rows with equal keys stay as they are.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let common = self.common_bytes();
        let mut rows: Vec<u128> = (0..self.len()).map(|row| self.prefixed(row, common)).collect();
        let is_longer = |row: usize| self.get(row).len() > common + PREFIX_BYTES;
        if (0..self.len()).any(is_longer) {
            rows.sort_unstable_by(|a, b| {
                let keys = || self.get(*a as u32 as usize).cmp(self.get(*b as u32 as usize));
                (a >> ROW_BITS).cmp(&(b >> ROW_BITS)).then_with(keys).then(a.cmp(b))
            });
        } else {
            // No key begins another one: where prefixes are equal, keys are.
            rows.sort_unstable();
        }
        rows.into_iter().map(|row| row as u32).collect()
    }

    /// Bytes that all keys begin with: numbers that are small for their type have many.
    fn common_bytes(&self) -> usize {
        let first = self.get(0);
        (1..self.len()).fold(first.len(), |common, row| {
            let common = common.min(self.get(row).len());
            let (one, other) = (first.get(..common), self.get(row).get(..common));
            if one == other {
                return common;
            }
            let bytes = one.unwrap_or_default().iter().zip(other.unwrap_or_default());
            bytes.take_while(|(one, other)| one == other).count()
        })
    }

    /// The bytes of the key of a row after so many, and its number.
    fn prefixed(&self, row: usize, common: usize) -> u128 {
        let mut bytes = [0; 16];
        let key = self.get(row).get(common..).unwrap_or_default();
        bytes.iter_mut().zip(key.iter().take(PREFIX_BYTES)).for_each(|(to, from)| {
            *to = *from;
        });
        u128::from_be_bytes(bytes) | row as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cell, batch, varchar};

    fn texts(ty: SqlType, texts: &[&str]) -> Batch {
        let rows: Vec<Vec<Cell>> = texts.iter().map(|text| vec![Cell::from(*text)]).collect();
        batch(&[ty], &rows)
    }

    #[test]
    fn long_keys_are_sorted_beyond_their_prefix() {
        let long = "abcdefghijklmnop";
        let words: Vec<String> =
            ["z", "b", "", "a", "B", "b"].map(|it| format!("{long}{it}")).into();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let rows = texts(varchar(30), &words);
        let mut encoder = KeyEncoder::of_columns(&[0]);
        assert_eq!(KeyRows::of(&mut encoder, &rows).sorted(), [2, 3, 1, 4, 5, 0]);
        let descending = SortKey { column: 0, is_descending: true };
        let mut encoder = KeyEncoder::new(vec![descending]);
        assert_eq!(KeyRows::of(&mut encoder, &rows).sorted(), [0, 1, 4, 5, 3, 2]);
    }

    #[test]
    fn bytes_that_all_keys_have_are_passed_over() {
        let ty = SqlType::Decimal { precision: 38, scale: 2 };
        let numbers: Vec<i64> = (0..3000).map(|row| row * 7919 % 1000).collect();
        let rows: Vec<Vec<Cell>> =
            numbers.iter().map(|it| vec![Cell::Wide((*it).into())]).collect();
        let mut encoder = KeyEncoder::of_columns(&[0]);
        let keys = KeyRows::of(&mut encoder, &batch(&[ty], &rows));
        assert!(keys.common_bytes() > PREFIX_BYTES);
        let mut expected: Vec<u32> = (0..3000).collect();
        expected.sort_by_key(|row| numbers[*row as usize]);
        assert_eq!(keys.sorted(), expected);
        let one = KeyRows::of(&mut encoder, &batch(&[ty], &rows[..1]));
        assert_eq!(one.sorted(), [0]);
        assert_eq!(KeyRows::default().sorted(), [0; 0]);
    }

    #[test]
    fn short_keys_are_sorted_by_their_prefix() {
        let numbers: Vec<i64> = (0..5000).map(|row| row * 7919 % 1000 - 500).collect();
        let rows: Vec<Vec<Cell>> = numbers.iter().map(|it| vec![Cell::Int(*it)]).collect();
        let mut encoder = KeyEncoder::of_columns(&[0]);
        let keys = KeyRows::of(&mut encoder, &batch(&[SqlType::BigInt], &rows));
        let mut expected: Vec<u32> = (0..5000).collect();
        expected.sort_by_key(|row| numbers[*row as usize]);
        assert_eq!(keys.sorted(), expected);
    }

    #[test]
    fn keys_for_equality_do_not_run_into_each_other() {
        let ty = SqlType::VarBinary { len: None };
        let pairs = [["a", "aa"], ["aa", "a"], ["", "aaa"], ["aaa", ""], ["a\u{1}", "a"]];
        let rows: Vec<Vec<Cell>> = pairs.map(|pair| pair.map(Cell::from).to_vec()).into();
        let rows = batch(&[ty, ty], &rows);
        let mut encoder = KeyEncoder::of_columns(&[0, 1]);
        let mut keys: Vec<Vec<u8>> = (0..rows.rows)
            .map(|row| {
                let mut key = Vec::new();
                encoder.push_equality(&rows, row, &mut key);
                key
            })
            .collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), pairs.len());
    }
}
