//! The order of sql_variant: by families of types, then by value.
//!
//! ```text
//! uniqueidentifier < binary < texts < exact numbers < float, real < dates and times
//! ```
//!
//! Invariants
//! - Values of a family compare as they do beside each other elsewhere, whatever their types: 1,
//!   1.0 and CAST(1 AS money) are equal keys.
//! - Texts of two collations compare by their collations first.

use crate::datum::Datum;
use crate::key_order::{float, text};
use crate::sql_type::SqlType;
use crate::variant::Variant;

/// Families, from the lowest.
const GUID: u8 = 1;
const BINARY: u8 = 2;
const TEXT: u8 = 3;
const EXACT: u8 = 4;
const APPROXIMATE: u8 = 5;
const MOMENT: u8 = 6;

/// Units of a time: 100 ns; of a datetime: 1/300 s.
const UNITS_PER_SECOND: u64 = 10_000_000;
const TICKS_PER_SECOND: u64 = 300;
/// Days from 0001-01-01 to 1900-01-01, where a time alone stands and datetimes count from.
const DAYS_TO_1900: i64 = 693_595;
/// Digits before the point that an exact number has at most.
const WHOLE_DIGITS: usize = 39;

/// Appends the key of a stored sql_variant; what does not decode follows as it is.
pub(super) fn push(bytes: &[u8], out: &mut Vec<u8>) {
    match Datum::decode(&SqlType::SqlVariant, bytes) {
        Ok(Datum::Variant(variant)) => push_value(&variant, out),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(bytes);
        }
    }
}

fn push_value(variant: &Variant<'_>, out: &mut Vec<u8>) {
    match &variant.value {
        Datum::Guid(_) => {
            out.push(GUID);
            let mut bytes = Vec::new();
            // A decoded value can be encoded.
            let _ = variant.value.encode(&SqlType::UniqueIdentifier, &mut bytes);
            super::value_key(&SqlType::UniqueIdentifier, &bytes, out);
        }
        Datum::Binary(bytes) => push_binary(bytes, out),
        Datum::Char(own) => push_text(variant.ty, &own.decode().0, out),
        Datum::NChar(own) => push_text(variant.ty, &own.decode().0, out),
        Datum::Bit(value) => push_exact(i128::from(*value), 0, out),
        Datum::TinyInt(value) => push_exact(i128::from(*value), 0, out),
        Datum::SmallInt(value) => push_exact(i128::from(*value), 0, out),
        Datum::Int(value) => push_exact(i128::from(*value), 0, out),
        Datum::BigInt(value) => push_exact(i128::from(*value), 0, out),
        Datum::Decimal(value) => push_exact(value.unscaled(), value.scale().into(), out),
        Datum::Money(value) => push_exact(i128::from(value.0), 4, out),
        Datum::SmallMoney(value) => push_exact(i128::from(value.0), 4, out),
        Datum::Float(value) => push_float(*value, out),
        Datum::Real(value) => push_float(f64::from(*value), out),
        other => push_moment(other, out),
    }
}

/// Zeros at the end do not count.
fn push_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(BINARY);
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    for byte in bytes.iter().take(end) {
        out.push(*byte);
        if *byte == 0 {
            out.push(u8::MAX);
        }
    }
    out.extend([0, 0]);
}

fn push_text(ty: SqlType, own: &str, out: &mut Vec<u8>) {
    out.push(TEXT);
    let Some(collation) = ty.collation() else { return };
    out.extend(collation.0.to_be_bytes());
    let units: Vec<u8> = own.encode_utf16().flat_map(u16::to_le_bytes).collect();
    text(&collation.sort_key_nchar(&units), out);
}

/// The sign, digits before the point to a fixed number of them, digits after it without zeros at
/// the end; negative numbers complemented.
fn push_exact(unscaled: i128, scale: usize, out: &mut Vec<u8>) {
    out.push(EXACT);
    let start = out.len();
    out.push(u8::from(unscaled >= 0));
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    out.extend(std::iter::repeat_n(b'0', WHOLE_DIGITS.saturating_sub(whole.len())));
    out.extend_from_slice(whole.as_bytes());
    out.extend_from_slice(fraction.trim_end_matches('0').as_bytes());
    out.push(0);
    if unscaled < 0 {
        out.iter_mut().skip(start + 1).for_each(|byte| *byte = !*byte);
    }
}

fn push_float(value: f64, out: &mut Vec<u8>) {
    out.push(APPROXIMATE);
    float(&value.to_le_bytes(), out);
}

/// Days from 0001-01-01 and 100 ns within the day; datetimeoffset by its UTC time.
fn push_moment(value: &Datum<'_>, out: &mut Vec<u8>) {
    let (days, units) = match value {
        Datum::DateTime(own) => {
            let ticks = u64::from(own.ticks());
            let units = (ticks * UNITS_PER_SECOND + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
            (DAYS_TO_1900 + i64::from(own.days()), units)
        }
        Datum::SmallDateTime(own) => {
            let units = u64::from(own.minutes()) * 60 * UNITS_PER_SECOND;
            (DAYS_TO_1900 + i64::from(own.days()), units)
        }
        Datum::Date(own) => (i64::from(own.days()), 0),
        Datum::Time(own) => (DAYS_TO_1900, own.ticks_100ns()),
        Datum::DateTime2(own) => (i64::from(own.date.days()), own.time.ticks_100ns()),
        Datum::DateTimeOffset(own) => {
            let utc = own.utc();
            (i64::from(utc.date.days()), utc.time.ticks_100ns())
        }
        _ => (0, 0),
    };
    out.push(MOMENT);
    out.extend((days as u64 ^ 1 << 63).to_be_bytes());
    out.extend(units.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Collation;
    use crate::datetime::Date;
    use crate::decimal::Decimal;
    use crate::money::Money;
    use crate::text::NText;

    fn key(ty: SqlType, value: Datum<'static>) -> Vec<u8> {
        let mut out = Vec::new();
        push_value(&Variant { ty, value }, &mut out);
        out
    }

    fn decimal(text: &str) -> Vec<u8> {
        let value = Decimal::parse(text).unwrap();
        key(SqlType::Decimal { precision: 38, scale: value.scale() }, Datum::Decimal(value))
    }

    #[test]
    fn families_come_before_values() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let text = |own| {
            key(SqlType::NVarChar { len: Some(20), collation }, Datum::NChar(NText::from_text(own)))
        };
        let keys = [
            key(SqlType::VarBinary { len: Some(9) }, Datum::Binary(vec![255].into())),
            text(""),
            text("zz"),
            key(SqlType::Int, Datum::Int(i32::MIN)),
            decimal("-1.5"),
            key(SqlType::Int, Datum::Int(-1)),
            key(SqlType::Bit, Datum::Bit(false)),
            decimal("0.001"),
            decimal("0.01"),
            key(SqlType::Int, Datum::Int(9)),
            key(SqlType::Int, Datum::Int(10)),
            decimal("99999999999999999999999999999999999999"),
            key(SqlType::Float, Datum::Float(-1e300)),
            key(SqlType::Real, Datum::Real(1.5)),
            key(SqlType::Date, Datum::Date(Date::from_ymd(2000, 1, 1).unwrap())),
        ];
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
        assert_eq!(text("A"), text("a"));
    }

    #[test]
    fn equal_numbers_of_several_types_are_equal_keys() {
        let one = key(SqlType::Int, Datum::Int(1));
        assert_eq!(one, decimal("1.000"));
        assert_eq!(one, key(SqlType::Money, Datum::Money(Money(10_000))));
        assert_eq!(one, key(SqlType::Bit, Datum::Bit(true)));
        let binary =
            |bytes: Vec<u8>| key(SqlType::VarBinary { len: Some(9) }, Datum::Binary(bytes.into()));
        assert_eq!(binary(vec![1]), binary(vec![1, 0]));
        assert_ne!(binary(vec![1]), binary(vec![0, 1]));
    }
}
