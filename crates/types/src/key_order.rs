//! The order of key values as bytes: two keys compare as their sort keys do, byte by byte.
//!
//! ```text
//! NULL           00
//! any value      01, then
//!   bit          00 or 01
//!   integers     big-endian, sign bit flipped
//!   datetime     days, then ticks
//!   decimal      sign, then the magnitude, complemented when negative
//!   float, real  as their bits, turned so that they compare as numbers
//!   date, times  big-endian: date, then time of day; datetimeoffset by its UTC time alone
//!   binary       the bytes, padded with zeros to the column's length
//!   guid         bytes 10..16, 8..10, 6..8, 4..6, 0..4
//!   text         the collation's sort key, 00 as 00 ff; end 00 00
//!   sql_variant  the family of its type, then the value in a form that the family has in common
//! descending     all of it complemented
//! ```
//!
//! Invariants
//! - No sort key of a key column begins another one of the same column: the keys of several
//!   columns, one after the other, compare column by column, and the keys that begin with certain
//!   columns are those that begin with their bytes.
//! - No bytes make it panic; bytes that are no value of the type sort somewhere.

use crate::collation::SortKey;
use crate::sql_type::SqlType;

mod variant;

/// A value of a key column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyValue<'a> {
    /// NULL, less than every value.
    Null,
    /// A bit, 0 before 1.
    Bit(bool),
    /// The disk form of a value.
    Bytes(&'a [u8]),
}

/// Appends the sort key of one column.
pub fn push_sort_key(ty: &SqlType, value: KeyValue<'_>, descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        KeyValue::Null => out.push(0),
        KeyValue::Bit(value) => out.extend([1, u8::from(value)]),
        KeyValue::Bytes(bytes) => {
            out.push(1);
            value_key(ty, bytes, out);
        }
    }
    if descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

/// How the sort key of a value follows from its bytes, for types that always have the same number
/// of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixedForm {
    /// It is them.
    AsIs,
    /// The last byte first.
    Reversed,
    /// The last byte first, its highest bit the other way.
    Signed,
}

/// How the sort keys of a type follow from the bytes of its values; `None` where that takes more.
pub fn fixed_form(ty: &SqlType) -> Option<FixedForm> {
    match ty {
        SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney => Some(FixedForm::Signed),
        // Days stand after the ticks.
        SqlType::DateTime => Some(FixedForm::Signed),
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. } => Some(FixedForm::Reversed),
        SqlType::TinyInt | SqlType::Binary { .. } | SqlType::RowVersion => Some(FixedForm::AsIs),
        _ => None,
    }
}

/// The same of a value that is not NULL, ascending.
fn value_key(ty: &SqlType, bytes: &[u8], out: &mut Vec<u8>) {
    match ty {
        SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney => {
            signed(bytes, out);
        }
        SqlType::DateTime => {
            let (ticks, days) = bytes.split_at(4.min(bytes.len()));
            signed(days, out);
            out.extend(ticks.iter().rev());
        }
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
            let flip = if bytes.first() == Some(&0) { 0xff } else { 0 };
            out.push(!flip);
            out.extend(bytes.iter().skip(1).rev().map(|byte| byte ^ flip));
        }
        SqlType::Float | SqlType::Real => float(bytes, out),
        SqlType::Date | SqlType::Time { .. } | SqlType::SmallDateTime => {
            out.extend(bytes.iter().rev())
        }
        SqlType::DateTime2 { .. } => out.extend(bytes.iter().rev()),
        SqlType::DateTimeOffset { .. } => {
            out.extend(bytes[..bytes.len().saturating_sub(OFFSET_BYTES)].iter().rev());
        }
        SqlType::UniqueIdentifier if bytes.len() == 16 => {
            for part in [10..16, 8..10, 6..8, 4..6, 0..4] {
                out.extend_from_slice(&bytes[part]);
            }
        }
        SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
            text(&collation.sort_key_char(bytes), out);
        }
        SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
            text(&collation.sort_key_nchar(bytes), out);
        }
        SqlType::VarBinary { len } => {
            out.extend_from_slice(bytes);
            out.resize(out.len() + usize::from(len.unwrap_or(0)).saturating_sub(bytes.len()), 0);
            // Of two values that differ in zeros at the end only, the shorter one comes first.
            out.extend((bytes.len() as u16).to_be_bytes());
        }
        SqlType::SqlVariant => variant::push(bytes, out),
        _ => out.extend_from_slice(bytes),
    }
}

/// Bytes of the offset at the end of a datetimeoffset: equal moments are equal keys.
const OFFSET_BYTES: usize = 2;

/// Negative numbers complemented, positive ones with the sign bit set; -0 is 0.
fn float(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(bytes.iter().rev());
    let is_zero = bytes.iter().rev().skip(1).all(|byte| *byte == 0)
        && bytes.last().is_none_or(|byte| byte & 0x7f == 0);
    match out.get_mut(start) {
        Some(first) if *first & 0x80 == 0 || is_zero => *first = 0x80 | *first & 0x7f,
        _ => out[start..].iter_mut().for_each(|byte| *byte = !*byte),
    }
}

fn signed(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(bytes.iter().rev());
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

/// The collation's own sort key, with an end that sorts before any continuation.
fn text(key: &SortKey, out: &mut Vec<u8>) {
    if key.bytes().contains(&0) {
        for byte in key.bytes() {
            out.push(*byte);
            if *byte == 0 {
                out.push(0xff);
            }
        }
    } else {
        out.extend_from_slice(key.bytes());
    }
    out.extend([0, 0]);
}

#[cfg(test)]
mod tests {
    use crate::Collation;

    use super::*;

    fn key(ty: SqlType, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_sort_key(&ty, KeyValue::Bytes(bytes), false, &mut out);
        out
    }

    #[test]
    fn a_fixed_form_gives_the_bytes_of_the_key() {
        let types = [
            SqlType::TinyInt,
            SqlType::SmallInt,
            SqlType::Int,
            SqlType::BigInt,
            SqlType::Money,
            SqlType::SmallMoney,
            SqlType::DateTime,
            SqlType::SmallDateTime,
            SqlType::Date,
            SqlType::Time { scale: 3 },
            SqlType::DateTime2 { scale: 7 },
            SqlType::Binary { len: 5 },
            SqlType::RowVersion,
        ];
        for ty in types {
            for seed in [0u8, 1, 0x7f, 0x80, 0xc3] {
                let len = ty.fixed_bytes().unwrap() as u8;
                let bytes: Vec<u8> =
                    (0..len).map(|at| at.wrapping_mul(67).wrapping_add(seed)).collect();
                let mut expected = bytes.clone();
                let form = fixed_form(&ty).unwrap();
                if form != FixedForm::AsIs {
                    expected.reverse();
                }
                if form == FixedForm::Signed {
                    expected[0] ^= 0x80;
                }
                expected.insert(0, 1);
                assert_eq!(key(ty, &bytes), expected, "{ty:?}");
            }
        }
        assert_eq!(fixed_form(&SqlType::UniqueIdentifier), None, "in an order of its own");
        assert_eq!(fixed_form(&SqlType::Float), None, "zeros have two forms");
    }

    #[test]
    fn numbers_sort_by_value_and_null_comes_first() {
        let int = |value: i32| key(SqlType::Int, &value.to_le_bytes());
        let mut null = Vec::new();
        push_sort_key(&SqlType::Int, KeyValue::Null, false, &mut null);
        let keys = [null, int(i32::MIN), int(-1), int(0), int(7), int(i32::MAX)];
        assert!(keys.is_sorted_by(|a, b| a < b));
        let decimal = SqlType::Decimal { precision: 9, scale: 2 };
        let keys =
            [[0, 9, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]];
        assert!(keys.iter().map(|bytes| key(decimal, bytes)).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn times_and_floats_sort_by_value() {
        let datetime2 = |days: u32, ticks: u64| {
            let [t0, t1, t2, t3, t4, ..] = ticks.to_le_bytes();
            let [d0, d1, d2, _] = days.to_le_bytes();
            key(SqlType::DateTime2 { scale: 7 }, &[t0, t1, t2, t3, t4, d0, d1, d2])
        };
        let keys = [datetime2(1, 5), datetime2(1, 256), datetime2(255, 0), datetime2(256, 0)];
        assert!(keys.is_sorted_by(|a, b| a < b));
        let float = |value: f64| key(SqlType::Float, &value.to_le_bytes());
        let keys = [-1e300, -1.5, -1e-300, 0.0, 1e-300, 1.0, 256.0, 1e300].map(float);
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(float(0.0), float(-0.0));
        let offset = SqlType::DateTimeOffset { scale: 0 };
        assert_eq!(key(offset, &[1, 0, 0, 9, 0, 0, 60, 0]), key(offset, &[1, 0, 0, 9, 0, 0, 0, 0]));
        assert!(
            key(SqlType::SmallDateTime, &[1, 0, 1, 0]) < key(SqlType::SmallDateTime, &[0, 0, 2, 0])
        );
    }

    #[test]
    fn names_sort_as_in_a_latin_collation() {
        let ty = SqlType::NVarChar { len: Some(256), collation: Collation(0x3400_d008) };
        let name = |text: &str| {
            key(ty, &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
        };
        let names = ["a b", "a.b", "a_b", "a1", "aa", "Ab", "ac", "b"];
        assert!(names.map(name).is_sorted_by(|a, b| a < b));
        assert_eq!(name("Abc  "), name("aBC"), "case and trailing blanks do not count");
    }

    #[test]
    fn descending_turns_the_order_round() {
        let key = |value: i32| {
            let mut out = Vec::new();
            push_sort_key(&SqlType::Int, KeyValue::Bytes(&value.to_le_bytes()), true, &mut out);
            out
        };
        assert!(key(2) < key(1));
    }

    #[test]
    fn no_sort_key_begins_another() {
        let text = SqlType::NVarChar { len: Some(256), collation: Collation(0x3400_d008) };
        let name = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let names = ["", "a", "a b", "ab", "aba", "b"].map(|text_of| key(text, &name(text_of)));
        let binary = SqlType::VarBinary { len: Some(4) };
        let binaries: [&[u8]; 5] = [&[], &[0], &[0, 0], &[0, 0, 1], &[1]];
        for keys in [names.to_vec(), binaries.map(|bytes| key(binary, bytes)).to_vec()] {
            assert!(keys.is_sorted_by(|a, b| a < b && !b.starts_with(a)));
        }
    }
}
