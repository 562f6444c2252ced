//! Keys of rows for hash tables: the values of some columns as one number, or as bytes.
//!
//! ```text
//! packed   (NULL bit, value) of each column, in 128 bits
//! bytes    for each column: 0 for NULL, or 1 and the value; texts with their length before them
//! ```
//!
//! Invariants
//! - Rows with the same key have equal values. Rows with equal values may have several keys when
//!   the keys are not [exact](HashKeys::is_exact): texts that differ in case or in blanks at the
//!   end, moments with different offsets, sql_variant. The table then asks for their sort keys.
//! - Columns of the same types have the same keys, on whichever side of a join they are.

use extentdb_engine::{Values, Vector};
use extentdb_types::SqlType;
use extentdb_types::native::NativeForm;

use crate::batch::Batch;

/// Bits of a packed key.
const PACKED_BITS: u32 = 128;
/// Most bits of one value in a packed key: a shift by all of them is none.
const VALUE_BITS: u32 = 120;
/// Digits of decimals that 64 bits hold.
const SHORT_DIGITS: u8 = 18;

/// How keys are made of rows.
#[derive(Debug, Clone)]
pub(crate) struct HashKeys {
    columns: Vec<KeyColumn>,
    /// Bits of a packed key; `None`: keys are bytes.
    packed_bits: Option<u32>,
    is_exact: bool,
}

#[derive(Debug, Clone, Copy)]
struct KeyColumn {
    column: usize,
    ty: SqlType,
    /// Bits of its values, when they fit into a packed key.
    bits: Option<u32>,
}

impl HashKeys {
    /// Keys of columns with these types.
    pub(crate) fn new(columns: &[usize], types: &[SqlType]) -> HashKeys {
        let column = |(column, ty): (&usize, &SqlType)| KeyColumn {
            column: *column,
            ty: *ty,
            bits: packed_bits(ty),
        };
        let columns: Vec<KeyColumn> = columns.iter().zip(types).map(column).collect();
        let bits: Option<u32> = columns.iter().map(|key| key.bits.map(|bits| bits + 1)).sum();
        HashKeys {
            packed_bits: bits.filter(|bits| *bits <= PACKED_BITS),
            is_exact: columns.iter().all(|key| is_exact(&key.ty)),
            columns,
        }
    }

    /// Those of the same values in columns 0, 1, 2 …
    pub(crate) fn in_order(&self) -> HashKeys {
        let column = |(column, key): (usize, &KeyColumn)| KeyColumn { column, ..*key };
        let columns = self.columns.iter().enumerate().map(column).collect();
        HashKeys { columns, ..self.clone() }
    }

    /// Bits of a key, where keys are numbers.
    pub(crate) fn packed_bits(&self) -> Option<u32> {
        self.packed_bits
    }

    /// Have equal values one key only?
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The columns.
    pub(crate) fn columns(&self) -> Vec<usize> {
        self.columns.iter().map(|key| key.column).collect()
    }

    /// Does a row have NULL in one of the columns?
    pub(crate) fn has_null(&self, batch: &Batch, row: usize) -> bool {
        self.vectors(batch).any(|(_, vector)| vector.is_null(row))
    }

    /// May rows of a batch have NULL in one of the columns?
    pub(crate) fn has_nulls(&self, batch: &Batch) -> bool {
        self.vectors(batch).any(|(_, vector)| vector.validity.is_some())
    }

    fn vectors<'b>(&self, batch: &'b Batch) -> impl Iterator<Item = (KeyColumn, &'b Vector)> {
        self.columns.iter().filter_map(|key| Some((*key, batch.columns.get(key.column)?)))
    }

    /// The packed keys of all rows.
    pub(crate) fn pack(&self, batch: &Batch, out: &mut Vec<u128>) {
        out.clear();
        out.resize(batch.rows, 0);
        for (key, vector) in self.vectors(batch) {
            debug_assert_eq!(packed_bits(&vector.ty), key.bits, "{} as {}", vector.ty, key.ty);
            pack(vector, key.bits.unwrap_or_default(), out);
        }
    }

    /// Appends the key of a row as bytes.
    pub(crate) fn push_bytes(&self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        for (_, vector) in self.vectors(batch) {
            if vector.is_null(row) {
                out.push(0);
                continue;
            }
            out.push(1);
            push_value(vector, row, out);
        }
    }
}

/// Bits that hold every value of a type; `None` when there are too many.
fn packed_bits(ty: &SqlType) -> Option<u32> {
    if ty.is_bit() {
        return Some(1);
    }
    let Some(native) = NativeForm::of(ty) else { return fixed_bits(ty) };
    let bits = match (native, *ty) {
        (NativeForm::U8, _) => 8,
        (NativeForm::I16, _) => 16,
        (NativeForm::I32 | NativeForm::Date | NativeForm::SmallDateTime | NativeForm::F32, _) => 32,
        (
            NativeForm::Decimal { .. },
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. },
        ) if precision > SHORT_DIGITS => return None,
        _ => 64,
    };
    Some(bits)
}

/// The same for values that are held as bytes of one length.
fn fixed_bits(ty: &SqlType) -> Option<u32> {
    match *ty {
        SqlType::Char { len, .. } | SqlType::NChar { len, .. } | SqlType::Binary { len } => {
            Some(u32::from(len) * 8).filter(|bits| *bits <= VALUE_BITS)
        }
        _ => None,
    }
}

/// Have equal values of a type equal bytes?
fn is_exact(ty: &SqlType) -> bool {
    !matches!(
        ty,
        SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
            | SqlType::DateTimeOffset { .. }
            | SqlType::SqlVariant
    )
}

/// Appends a value to each packed key.
fn pack(vector: &Vector, bits: u32, out: &mut [u128]) {
    match &vector.values {
        Values::Bits(own) => {
            pack_all(vector, bits, out, (0..vector.len()).map(|row| u64::from(own.get(row))));
        }
        Values::U8(own) => pack_all(vector, bits, out, own.iter().map(|it| u64::from(*it))),
        Values::I16(own) => {
            pack_all(vector, bits, out, own.iter().map(|it| u64::from(*it as u16)));
        }
        Values::I32(own) => {
            pack_all(vector, bits, out, own.iter().map(|it| u64::from(*it as u32)));
        }
        Values::I64(own) => pack_all(vector, bits, out, own.iter().map(|it| *it as u64)),
        Values::I128(own) => pack_all(vector, bits, out, own.iter().map(|it| *it as u64)),
        Values::F32(own) => {
            pack_all(vector, bits, out, own.iter().map(|it| u64::from((it + 0.0).to_bits())));
        }
        Values::F64(own) => pack_all(vector, bits, out, own.iter().map(|it| (it + 0.0).to_bits())),
        Values::Fixed { .. } | Values::Variable { .. } => pack_bytes(vector, bits, out),
    }
}

fn pack_all(vector: &Vector, bits: u32, out: &mut [u128], values: impl Iterator<Item = u64>) {
    let valid = 1u128 << bits;
    let rows = out.iter_mut().zip(values);
    match &vector.validity {
        None => rows.for_each(|(key, value)| {
            *key = *key << (bits + 1) | valid | u128::from(value);
        }),
        Some(validity) => rows.enumerate().for_each(|(row, (key, value))| {
            let own = if validity.get(row) { valid | u128::from(value) } else { 0 };
            *key = *key << (bits + 1) | own;
        }),
    }
}

fn pack_bytes(vector: &Vector, bits: u32, out: &mut [u128]) {
    let width = bits.div_ceil(8) as usize;
    let padding: &[u8] = match vector.ty {
        SqlType::Char { .. } => b" ",
        SqlType::NChar { .. } => b" \0",
        _ => b"\0",
    };
    for (row, key) in out.iter_mut().enumerate() {
        let mut own = 0u128;
        if !vector.is_null(row) {
            // A record may leave out the end of a value.
            let bytes = vector.bytes(row).iter().chain(padding.iter().cycle()).take(width);
            own = bytes.fold(1, |own, byte| own << 8 | u128::from(*byte));
        }
        *key = *key << (bits + 1) | own;
    }
}

/// Appends a value that is not NULL.
fn push_value(vector: &Vector, row: usize, out: &mut Vec<u8>) {
    match &vector.values {
        // Zero has two forms.
        Values::F32(own) => {
            out.extend((own.get(row).copied().unwrap_or_default() + 0.0).to_le_bytes());
        }
        Values::F64(own) => {
            out.extend((own.get(row).copied().unwrap_or_default() + 0.0).to_le_bytes());
        }
        Values::Fixed { .. } | Values::Variable { .. } => {
            let bytes = vector.bytes(row);
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        _ => vector.stored_bytes(row, out),
    }
}

#[cfg(test)]
mod tests {
    use extentdb_types::Collation;

    use super::*;
    use crate::testing::{Cell, batch};

    fn keys(types: &[SqlType], batch: &Batch) -> Vec<u128> {
        let columns: Vec<usize> = (0..types.len()).collect();
        let keys = HashKeys::new(&columns, types);
        assert!(keys.packed_bits().is_some());
        let mut out = Vec::new();
        keys.pack(batch, &mut out);
        out
    }

    #[test]
    fn null_differs_from_every_value() {
        let types = [SqlType::Int, SqlType::SmallInt];
        let ints = |values: [Option<i64>; 2]| values.map(Cell::from).to_vec();
        let rows = [
            ints([None, Some(0)]),
            ints([Some(0), None]),
            ints([Some(0), Some(0)]),
            ints([Some(-1), Some(0)]),
            ints([Some(0), Some(-1)]),
            ints([None, None]),
        ];
        let keys = keys(&types, &batch(&types, &rows));
        let mut distinct = keys.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len(), "{keys:x?}");
    }

    #[test]
    fn zeros_are_equal() {
        let rows = [vec![Cell::Float(0.0)], vec![Cell::Float(-0.0)], vec![Cell::Float(1.0)]];
        let keys = keys(&[SqlType::Float], &batch(&[SqlType::Float], &rows));
        assert_eq!(keys[0], keys[1]);
        assert_ne!(keys[0], keys[2]);
    }

    #[test]
    fn the_types_decide_what_is_packed() {
        let char = |len| SqlType::Char { len, collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS };
        let decimal = |precision| SqlType::Decimal { precision, scale: 2 };
        let cases: &[(&[SqlType], bool)] = &[
            (&[SqlType::Int, SqlType::BigInt], true),
            (&[SqlType::BigInt, SqlType::BigInt], false),
            (&[char(1), char(1)], true),
            (&[char(20)], false),
            (&[decimal(18)], true),
            (&[decimal(19)], false),
            (&[SqlType::UniqueIdentifier], false),
            (&[], true),
        ];
        for (types, expected) in cases {
            let columns: Vec<usize> = (0..types.len()).collect();
            assert_eq!(
                HashKeys::new(&columns, types).packed_bits().is_some(),
                *expected,
                "{types:?}"
            );
        }
    }
}
