//! Values of fixed types as machine numbers: what a column of them is in memory.
//!
//! ```text
//! tinyint, smallint, int, bigint   the number     smallmoney, money  1/10000
//! date       days since 0001-01-01                datetime           1/300 s since 1900-01-01
//! time       100 ns since midnight                smalldatetime      minutes since 1900-01-01
//! datetime2  100 ns since 0001-01-01              decimal, numeric   times 10^scale
//! float, real  the number
//! ```
//!
//! Nothing is verified here: bytes that are no value of their type become some number. Those who
//! doubt them use [`Datum::decode`](crate::Datum::decode).

use crate::sql_type::SqlType;

/// Minutes of a day, and 1/300 s and 100 ns of one.
const DAY_MINUTES: i32 = 24 * 60;
const DAY_TICKS: i64 = 24 * 3600 * 300;
const DAY_100NS: i64 = 24 * 3600 * 10_000_000;
/// Digits of a second that 100 ns are the last of.
const FINEST_SCALE: u8 = 7;

/// How the stored bytes of a type become a number, and which one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NativeForm {
    /// tinyint.
    U8,
    /// smallint.
    I16,
    /// int and smallmoney.
    I32,
    /// bigint and money.
    I64,
    /// real.
    F32,
    /// float.
    F64,
    /// date, as `i32`.
    Date,
    /// smalldatetime, as `i32`.
    SmallDateTime,
    /// datetime, as `i64`.
    DateTime,
    /// time, as `i64`: these parts of a second, each worth `unit` times 100 ns.
    Time {
        /// Bytes of the value.
        bytes: u8,
        /// What its parts are worth.
        unit: i64,
    },
    /// datetime2, as `i64`: bytes of the time, and what its parts are worth; three bytes of the day
    /// follow.
    DateTime2 {
        /// Bytes of the time.
        bytes: u8,
        /// What its parts are worth.
        unit: i64,
    },
    /// decimal and numeric of this many bytes, as `i128`.
    Decimal {
        /// Bytes of the value.
        bytes: u8,
    },
}

impl NativeForm {
    /// That of a type; `None` of types that are bytes or bits.
    #[must_use]
    pub fn of(ty: &SqlType) -> Option<NativeForm> {
        let bytes = ty.fixed_bytes().map_or(0, |bytes| bytes as u8);
        Some(match *ty {
            SqlType::TinyInt => NativeForm::U8,
            SqlType::SmallInt => NativeForm::I16,
            SqlType::Int | SqlType::SmallMoney => NativeForm::I32,
            SqlType::BigInt | SqlType::Money => NativeForm::I64,
            SqlType::Real => NativeForm::F32,
            SqlType::Float => NativeForm::F64,
            SqlType::Date => NativeForm::Date,
            SqlType::SmallDateTime => NativeForm::SmallDateTime,
            SqlType::DateTime => NativeForm::DateTime,
            SqlType::Time { scale } => NativeForm::Time { bytes, unit: unit(scale) },
            SqlType::DateTime2 { scale } => {
                NativeForm::DateTime2 { bytes: bytes.saturating_sub(3), unit: unit(scale) }
            }
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => NativeForm::Decimal { bytes },
            _ => return None,
        })
    }
}

fn unit(scale: u8) -> i64 {
    10i64.pow(u32::from(FINEST_SCALE.saturating_sub(scale)))
}

/// date.
#[inline]
#[must_use]
pub fn date(bytes: [u8; 3]) -> i32 {
    let [a, b, c] = bytes;
    i32::from_le_bytes([a, b, c, 0])
}

/// smalldatetime.
#[inline]
#[must_use]
pub fn smalldatetime(bytes: [u8; 4]) -> i32 {
    let [a, b, c, d] = bytes;
    i32::from(u16::from_le_bytes([c, d])) * DAY_MINUTES + i32::from(u16::from_le_bytes([a, b]))
}

/// datetime.
#[inline]
#[must_use]
pub fn datetime(bytes: [u8; 8]) -> i64 {
    let [ticks @ .., e, f, g, h] = bytes;
    i64::from(i32::from_le_bytes([e, f, g, h])) * DAY_TICKS + i64::from(u32::from_le_bytes(ticks))
}

/// time of 3 to 5 bytes.
#[inline]
#[must_use]
pub fn time<const N: usize>(bytes: [u8; N], unit: i64) -> i64 {
    integer(&bytes).wrapping_mul(unit)
}

/// datetime2 of 6 to 8 bytes.
#[inline]
#[must_use]
pub fn datetime2<const N: usize>(bytes: [u8; N], unit: i64) -> i64 {
    let (time, day) = bytes.split_at(N.saturating_sub(3));
    integer(day).wrapping_mul(DAY_100NS).wrapping_add(integer(time).wrapping_mul(unit))
}

/// decimal of 5, 9, 13 or 17 bytes: sign and magnitude.
#[inline]
#[must_use]
pub fn decimal<const N: usize>(bytes: [u8; N]) -> i128 {
    let (sign, magnitude) = bytes.split_at(N.min(1));
    let mut wide = [0; 16];
    let len = magnitude.len().min(wide.len());
    wide[..len].copy_from_slice(&magnitude[..len]);
    let magnitude = i128::from_le_bytes(wide);
    if sign == [0] { magnitude.wrapping_neg() } else { magnitude }
}

/// Appends the stored bytes of a number that is no `real` or `float`: the way back. A decimal that
/// is 0 gets the positive sign.
pub fn push_stored(form: NativeForm, value: i128, out: &mut Vec<u8>) {
    let mut push = |value: i128, bytes: u8| {
        out.extend_from_slice(&value.to_le_bytes()[..usize::from(bytes).min(16)]);
    };
    match form {
        NativeForm::U8 => push(value, 1),
        NativeForm::I16 => push(value, 2),
        NativeForm::I32 | NativeForm::F32 => push(value, 4),
        NativeForm::I64 | NativeForm::F64 => push(value, 8),
        NativeForm::Date => push(value, 3),
        NativeForm::SmallDateTime => {
            push(value.rem_euclid(DAY_MINUTES.into()), 2);
            push(value.div_euclid(DAY_MINUTES.into()), 2);
        }
        NativeForm::DateTime => {
            push(value.rem_euclid(DAY_TICKS.into()), 4);
            push(value.div_euclid(DAY_TICKS.into()), 4);
        }
        NativeForm::Time { bytes, unit } => push(value / i128::from(unit.max(1)), bytes),
        NativeForm::DateTime2 { bytes, unit } => {
            push(value.rem_euclid(DAY_100NS.into()) / i128::from(unit.max(1)), bytes);
            push(value.div_euclid(DAY_100NS.into()), 3);
        }
        NativeForm::Decimal { bytes } => {
            push(i128::from(value >= 0), 1);
            push(value.unsigned_abs() as i128, bytes.saturating_sub(1));
        }
    }
}

/// Little-endian, at most eight bytes.
#[inline]
fn integer(bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    let len = bytes.len().min(wide.len());
    wide[..len].copy_from_slice(&bytes[..len]);
    i64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, DateTime, DateTime2, Datum, Decimal, SmallDateTime, Time};

    fn stored<const N: usize>(value: &Datum<'_>, ty: SqlType) -> [u8; N] {
        let mut bytes = Vec::new();
        value.encode(&ty, &mut bytes).unwrap();
        bytes.try_into().unwrap()
    }

    #[test]
    fn instants_are_counted_from_their_epoch() {
        let value = Datum::DateTime(DateTime::new(-1, 299).unwrap());
        assert_eq!(datetime(stored(&value, SqlType::DateTime)), 299 - DAY_TICKS);
        let value = Datum::SmallDateTime(SmallDateTime::new(2, 61).unwrap());
        assert_eq!(smalldatetime(stored(&value, SqlType::SmallDateTime)), 2 * 1440 + 61);
        let value = Datum::Date(Date::new(737_000).unwrap());
        assert_eq!(date(stored(&value, SqlType::Date)), 737_000);
        for scale in 0..=7 {
            let parts = 3 * 10u64.pow(u32::from(scale));
            let half = Time::new(parts, scale).unwrap();
            let ty = SqlType::DateTime2 { scale };
            let value = Datum::DateTime2(DateTime2 { date: Date::new(5).unwrap(), time: half });
            let Some(NativeForm::DateTime2 { bytes, unit }) = NativeForm::of(&ty) else { panic!() };
            let found = match bytes {
                3 => datetime2(stored::<6>(&value, ty), unit),
                4 => datetime2(stored::<7>(&value, ty), unit),
                _ => datetime2(stored::<8>(&value, ty), unit),
            };
            assert_eq!(found, 5 * DAY_100NS + 30_000_000, "{scale}");
        }
    }

    #[test]
    fn decimals_have_their_sign() {
        for (text, expected) in [("-1.50", -150), ("1.50", 150), ("0.00", 0)] {
            let value = Datum::Decimal(Decimal::parse(text).unwrap());
            let narrow = SqlType::Decimal { precision: 9, scale: 2 };
            let wide = SqlType::Numeric { precision: 38, scale: 2 };
            assert_eq!(decimal(stored::<5>(&value, narrow)), expected);
            assert_eq!(decimal(stored::<17>(&value, wide)), expected);
        }
    }

    #[test]
    fn numbers_become_their_stored_bytes_again() {
        let types = [
            SqlType::TinyInt,
            SqlType::SmallInt,
            SqlType::Int,
            SqlType::BigInt,
            SqlType::Money,
            SqlType::Date,
        ];
        for ty in types {
            for value in [0i128, 1, 97] {
                let form = NativeForm::of(&ty).unwrap();
                let mut bytes = Vec::new();
                push_stored(form, value, &mut bytes);
                assert_eq!(bytes.len(), ty.fixed_bytes().unwrap());
                assert_eq!(i128::from(integer(&bytes)), value, "{ty:?}");
            }
        }
        let again = |ty: &SqlType, value: i128| {
            let mut bytes = Vec::new();
            push_stored(NativeForm::of(ty).unwrap(), value, &mut bytes);
            bytes
        };
        let bytes = |ty| <[u8; 8]>::try_from(again(&ty, -12_345_678_901)).unwrap();
        assert_eq!(datetime(bytes(SqlType::DateTime)), -12_345_678_901);
        let bytes = <[u8; 4]>::try_from(again(&SqlType::SmallDateTime, 2_000_001)).unwrap();
        assert_eq!(smalldatetime(bytes), 2_000_001);
        let ty = SqlType::DateTime2 { scale: 3 };
        let Some(NativeForm::DateTime2 { unit, .. }) = NativeForm::of(&ty) else { panic!() };
        let value = 700_000 * DAY_100NS + 47 * unit;
        assert_eq!(datetime2(<[u8; 7]>::try_from(again(&ty, value.into())).unwrap(), unit), value);
        let ty = SqlType::Decimal { precision: 38, scale: 0 };
        for value in [0, -1, i128::from(i64::MIN) * 1_000_003, i128::MAX] {
            assert_eq!(decimal(<[u8; 17]>::try_from(again(&ty, value)).unwrap()), value);
        }
    }
}
