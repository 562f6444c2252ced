//! Legal values by type (`docs/check.md` 5): what 2570 is raised for.
//!
//! Only what no engine of any version writes is illegal. What is open (denormals, negative zero,
//! malformed UTF-8, halves of double-byte characters, values inside of variants, CLR types) is
//! accepted.
//!
//! Columns of Always Encrypted hold what the client made of the value, whatever their type: see
//! [`resembles_ciphertext`].

use extentdb_types::SqlType;

use super::variant::is_variant;

/// 1900-01-01 minus 1753-01-01 and 9999-12-31 minus 1900-01-01, in days.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
/// Three-hundredths of a second in a day.
const DATETIME_TICKS: u32 = 25_920_000;
const MINUTES_PER_DAY: u16 = 1_440;
/// 0001-01-01 to 9999-12-31.
const DATE_DAYS_MAX: u32 = 3_652_058;
const SECONDS_PER_DAY: u64 = 86_400;
const OFFSET_MINUTES_MAX: u16 = 840;

/// What values of a column are legal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    /// All of them.
    Any,
    /// Sign byte 0 or 1, magnitude below this power of ten.
    Decimal {
        limit: u128,
    },
    Float,
    Real,
    DateTime,
    SmallDateTime,
    Date,
    Time {
        scale: u8,
    },
    DateTime2 {
        scale: u8,
    },
    DateTimeOffset {
        scale: u8,
    },
    /// UTF-16: an even number of bytes.
    Utf16,
    /// A type that a variant can hold, with the version and properties of one.
    Variant,
}

impl Range {
    pub(super) fn of(ty: &SqlType) -> Range {
        match *ty {
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
                Range::Decimal {
                    limit: 10u128.checked_pow(precision.into()).unwrap_or(u128::MAX),
                }
            }
            SqlType::Float => Range::Float,
            SqlType::Real => Range::Real,
            SqlType::DateTime => Range::DateTime,
            SqlType::SmallDateTime => Range::SmallDateTime,
            SqlType::Date => Range::Date,
            SqlType::Time { scale } => Range::Time { scale },
            SqlType::DateTime2 { scale } => Range::DateTime2 { scale },
            SqlType::DateTimeOffset { scale } => Range::DateTimeOffset { scale },
            SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. } => {
                Range::Utf16
            }
            SqlType::SqlVariant => Range::Variant,
            _ => Range::Any,
        }
    }

    /// True when the bytes are a value of the type.
    #[inline]
    pub(super) fn allows(self, bytes: &[u8]) -> bool {
        match self {
            Range::Any => true,
            Range::Decimal { limit } => is_decimal(bytes, limit),
            Range::Float => bytes.first_chunk().is_some_and(|b| f64::from_le_bytes(*b).is_finite()),
            Range::Real => bytes.first_chunk().is_some_and(|b| f32::from_le_bytes(*b).is_finite()),
            Range::DateTime => is_datetime(bytes),
            Range::SmallDateTime => {
                bytes.first_chunk().is_some_and(|b| u16::from_le_bytes(*b) < MINUTES_PER_DAY)
            }
            Range::Date => is_date(bytes),
            Range::Time { scale } => is_time(bytes, scale),
            Range::DateTime2 { scale } => is_datetime2(bytes, scale),
            Range::DateTimeOffset { scale } => is_datetimeoffset(bytes, scale),
            Range::Utf16 => bytes.len().is_multiple_of(2),
            Range::Variant => is_variant(bytes),
        }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn is_decimal(bytes: &[u8], limit: u128) -> bool {
    let Some((sign, magnitude)) = bytes.split_first() else { return false };
    let value = match *magnitude {
        [a, b, c, d] => u128::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u128::from(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => magnitude.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte)),
    };
    *sign <= 1 && value < limit
}

fn is_datetime(bytes: &[u8]) -> bool {
    let Some((ticks, days)) = bytes.split_first_chunk::<4>() else { return false };
    let days = days.first_chunk().map(|b| i32::from_le_bytes(*b));
    u32::from_le_bytes(*ticks) < DATETIME_TICKS
        && days.is_some_and(|days| DATETIME_DAYS.contains(&days))
}

fn is_date(bytes: &[u8]) -> bool {
    little_endian(bytes) <= u64::from(DATE_DAYS_MAX)
}

fn is_time(bytes: &[u8], scale: u8) -> bool {
    let ticks_per_day =
        10u64.checked_pow(scale.into()).map(|per_second| per_second * SECONDS_PER_DAY);
    ticks_per_day.is_none_or(|limit| little_endian(bytes) < limit)
}

/// Time, then three bytes of date.
fn is_datetime2(bytes: &[u8], scale: u8) -> bool {
    let at = bytes.len().saturating_sub(3);
    bytes.split_at_checked(at).is_some_and(|(time, date)| is_time(time, scale) && is_date(date))
}

/// A datetime2, then two bytes of offset.
fn is_datetimeoffset(bytes: &[u8], scale: u8) -> bool {
    let at = bytes.len().saturating_sub(2);
    let Some((datetime, offset)) = bytes.split_at_checked(at) else { return false };
    let offset = offset.first_chunk().map(|b| i16::from_le_bytes(*b).unsigned_abs());
    is_datetime2(datetime, scale) && offset.is_some_and(|minutes| minutes <= OFFSET_MINUTES_MAX)
}

/// True for bytes that have the form of a value of Always Encrypted: version 1, an authentication
/// tag of 32 bytes, 16 bytes that begin the encryption, and at least one block of 16.
pub(crate) fn resembles_ciphertext(bytes: &[u8]) -> bool {
    const HEAD: usize = 1 + 32 + 16;
    const BLOCK: usize = 16;
    bytes.first() == Some(&1)
        && bytes.len() >= HEAD + BLOCK
        && (bytes.len() - HEAD).is_multiple_of(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(ty: SqlType, bytes: &[u8]) -> bool {
        Range::of(&ty).allows(bytes)
    }

    #[test]
    fn a_datetime_ends_before_midnight_of_the_last_day() {
        let value = |ticks: u32, days: i32| [ticks.to_le_bytes(), days.to_le_bytes()].concat();
        assert!(allows(SqlType::DateTime, &value(25_919_999, 2_958_463)));
        assert!(allows(SqlType::DateTime, &value(0, -53_690)));
        assert!(!allows(SqlType::DateTime, &value(25_920_000, 0)));
        assert!(!allows(SqlType::DateTime, &value(0, 2_958_464)));
        assert!(!allows(SqlType::DateTime, &value(0, -53_691)));
        assert!(allows(SqlType::SmallDateTime, &[0x9f, 5, 255, 255]));
        assert!(!allows(SqlType::SmallDateTime, &[0xa0, 5, 0, 0]));
    }

    #[test]
    fn a_decimal_stays_below_its_power_of_ten() {
        let ty = SqlType::Decimal { precision: 9, scale: 2 };
        let value = |sign: u8, magnitude: u32| [&[sign][..], &magnitude.to_le_bytes()].concat();
        assert!(allows(ty, &value(1, 999_999_999)));
        assert!(!allows(ty, &value(1, 1_000_000_000)));
        assert!(!allows(ty, &value(2, 5)));
        assert!(allows(SqlType::Decimal { precision: 38, scale: 0 }, &[0; 17]));
    }

    #[test]
    fn dates_and_times_of_every_scale_have_their_last_value() {
        for scale in 0..=7u8 {
            let bytes = SqlType::Time { scale }.fixed_bytes().unwrap();
            let last = 86_400 * 10u64.pow(scale.into()) - 1;
            let time = |ticks: u64| ticks.to_le_bytes()[..bytes].to_vec();
            assert!(allows(SqlType::Time { scale }, &time(last)));
            assert!(!allows(SqlType::Time { scale }, &time(last + 1)));
            let date = 3_652_058u32.to_le_bytes()[..3].to_vec();
            let moment = [time(last), date.clone()].concat();
            assert!(allows(SqlType::DateTime2 { scale }, &moment));
            assert!(!allows(SqlType::DateTime2 { scale }, &[time(last + 1), date].concat()));
            let with_offset =
                |offset: i16| [moment.clone(), offset.to_le_bytes().to_vec()].concat();
            assert!(allows(SqlType::DateTimeOffset { scale }, &with_offset(-840)));
            assert!(!allows(SqlType::DateTimeOffset { scale }, &with_offset(841)));
        }
        assert!(allows(SqlType::Date, &[0xda, 0xb9, 0x37]));
        assert!(!allows(SqlType::Date, &[0xdb, 0xb9, 0x37]));
    }

    #[test]
    fn floats_are_finite() {
        assert!(allows(SqlType::Float, &f64::MIN_POSITIVE.to_le_bytes()));
        assert!(allows(SqlType::Real, &1e-45f32.to_le_bytes()), "denormals are accepted");
        assert!(!allows(SqlType::Float, &f64::NAN.to_le_bytes()));
        assert!(!allows(SqlType::Real, &f32::INFINITY.to_le_bytes()));
    }

    #[test]
    fn text_of_a_double_byte_code_page_may_be_cut() {
        let collation = extentdb_types::Collation(0x0000_D010);
        assert!(allows(SqlType::VarChar { len: Some(10), collation }, &[0x93, 0xfa, 0x93]));
        assert!(!Range::Utf16.allows(&[0x41, 0, 0x42]));
    }

    #[test]
    fn ciphertexts_are_recognised() {
        let mut value = vec![1u8; 65];
        assert!(resembles_ciphertext(&value));
        value.push(0);
        assert!(!resembles_ciphertext(&value));
        assert!(!resembles_ciphertext(b"plain text"));
    }
}
