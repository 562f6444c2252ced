//! Types and values for the tests: every type, with its extremes.

#![allow(dead_code, reason = "every includer uses its own part")]

use std::borrow::Cow;

use extentdb_types::{
    CharText, CodePage, Collation, Date, DateTime, DateTime2, DateTimeOffset, Datum, Decimal, Guid,
    Money, NText, SmallDateTime, SmallMoney, SqlType, Time, UdtKind, Variant,
};

pub(crate) const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// SplitMix64: seeded random numbers.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Every type, lengths and scales at their ends.
pub(crate) fn every_type() -> Vec<SqlType> {
    let collation = LATIN1;
    let mut types = vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Float,
        SqlType::Real,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Char { len: 10, collation },
        SqlType::VarChar { len: Some(8000), collation },
        SqlType::VarChar { len: None, collation },
        SqlType::Text { collation },
        SqlType::NChar { len: 20, collation },
        SqlType::NVarChar { len: Some(8000), collation },
        SqlType::NVarChar { len: None, collation },
        SqlType::NText { collation },
        SqlType::Binary { len: 8 },
        SqlType::VarBinary { len: Some(100) },
        SqlType::VarBinary { len: None },
        SqlType::Image,
        SqlType::RowVersion,
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::Xml,
        SqlType::Udt { len: Some(892), kind: UdtKind::HierarchyId },
        SqlType::Udt { len: None, kind: UdtKind::Geography },
    ];
    for precision in [1, 9, 10, 19, 20, 28, 29, 38] {
        types.push(SqlType::Decimal { precision, scale: precision / 2 });
        types.push(SqlType::Numeric { precision, scale: precision });
    }
    for scale in 0..=7 {
        types.push(SqlType::Time { scale });
        types.push(SqlType::DateTime2 { scale });
        types.push(SqlType::DateTimeOffset { scale });
    }
    types
}

/// A number that is often at an end of its range.
fn bits(rng: &mut SplitMix64) -> u64 {
    match rng.below(4) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << rng.below(64),
        _ => rng.next_u64(),
    }
}

/// A number below `bound`, often the first or the last.
fn below(bound: u64, rng: &mut SplitMix64) -> u64 {
    match rng.below(4) {
        0 => 0,
        1 => bound - 1,
        _ => rng.below(bound),
    }
}

fn bytes(max: usize, rng: &mut SplitMix64) -> Vec<u8> {
    let len = match rng.below(5) {
        0 => 0,
        1 => max,
        _ => rng.below(1 + max.min(40) as u64) as usize,
    };
    (0..len).map(|_| rng.next_u64() as u8).collect()
}

fn time(scale: u8, rng: &mut SplitMix64) -> Time {
    let per_day = 86_400 * 10u64.pow(scale.into());
    Time::new(below(per_day, rng), scale).unwrap()
}

fn date(rng: &mut SplitMix64) -> Date {
    Date::new(below(3_652_059, rng) as u32).unwrap()
}

fn decimal(precision: u8, scale: u8, rng: &mut SplitMix64) -> Datum<'static> {
    let all = u128::from(bits(rng)) << 64 | u128::from(bits(rng));
    let magnitude = all % 10u128.pow(precision.into());
    Datum::Decimal(Decimal::new(rng.below(2) == 1, magnitude, scale).unwrap())
}

/// A value of the type, never NULL.
pub(crate) fn value_of(ty: SqlType, rng: &mut SplitMix64) -> Datum<'static> {
    const LONG: usize = 20_000;
    match ty {
        SqlType::Bit => Datum::Bit(rng.below(2) == 1),
        SqlType::TinyInt => Datum::TinyInt(bits(rng) as u8),
        SqlType::SmallInt => Datum::SmallInt(bits(rng) as i16),
        SqlType::Int => Datum::Int(bits(rng) as i32),
        SqlType::BigInt => Datum::BigInt(bits(rng) as i64),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            decimal(precision, scale, rng)
        }
        SqlType::Money => Datum::Money(Money(bits(rng) as i64)),
        SqlType::SmallMoney => Datum::SmallMoney(SmallMoney(bits(rng) as i32)),
        // Integers as floats: NaN would not be equal to itself.
        SqlType::Float => Datum::Float(bits(rng) as i64 as f64),
        SqlType::Real => Datum::Real(bits(rng) as i64 as f32),
        SqlType::DateTime => {
            let days = below(3_012_154, rng) as i32 - 53_690;
            Datum::DateTime(DateTime::new(days, below(25_920_000, rng) as u32).unwrap())
        }
        SqlType::SmallDateTime => {
            let minutes = below(1440, rng) as u16;
            Datum::SmallDateTime(SmallDateTime::new(bits(rng) as u16, minutes).unwrap())
        }
        SqlType::Date => Datum::Date(date(rng)),
        SqlType::Time { scale } => Datum::Time(time(scale, rng)),
        SqlType::DateTime2 { scale } => {
            Datum::DateTime2(DateTime2 { date: date(rng), time: time(scale, rng) })
        }
        SqlType::DateTimeOffset { scale } => {
            let utc = DateTime2 { date: date(rng), time: time(scale, rng) };
            let offset = below(1681, rng) as i16 - 840;
            let value = DateTimeOffset::new(utc, offset);
            // At the ends of the calendar not every offset has a local time.
            Datum::DateTimeOffset(value.or_else(|_| DateTimeOffset::new(utc, 0)).unwrap())
        }
        SqlType::Char { len, .. } => char(vec![b'c'; len.into()]),
        SqlType::VarChar { len, .. } => char(bytes(len.map_or(LONG, usize::from), rng)),
        SqlType::Text { .. } => char(bytes(LONG, rng)),
        SqlType::NChar { len, .. } => nchar(vec![0x41; len.into()]),
        SqlType::NVarChar { len, .. } => nchar(even(bytes(len.map_or(LONG, usize::from), rng))),
        SqlType::NText { .. } => nchar(even(bytes(LONG, rng))),
        SqlType::Xml => nchar(NText::from_text("<a>é</a>").bytes.into_owned()),
        SqlType::Binary { len } => Datum::Binary(Cow::Owned(vec![7; len.into()])),
        SqlType::VarBinary { len } => {
            Datum::Binary(Cow::Owned(bytes(len.map_or(LONG, usize::from), rng)))
        }
        SqlType::Image => Datum::Binary(Cow::Owned(bytes(LONG, rng))),
        SqlType::RowVersion => Datum::RowVersion(bits(rng)),
        SqlType::UniqueIdentifier => {
            let halves = [bits(rng).to_le_bytes(), bits(rng).to_le_bytes()];
            Datum::Guid(Guid(halves.concat().try_into().unwrap()))
        }
        SqlType::SqlVariant => variant(rng),
        SqlType::Udt { len, kind } => {
            let bytes = Cow::Owned(bytes(len.map_or(LONG, usize::from), rng));
            Datum::Udt { kind, bytes }
        }
    }
}

fn variant(rng: &mut SplitMix64) -> Datum<'static> {
    let inside = |ty: &SqlType| {
        !ty.is_max()
            && !ty.is_lob()
            && !matches!(ty, SqlType::SqlVariant | SqlType::Udt { .. } | SqlType::RowVersion)
    };
    let types: Vec<SqlType> = every_type().into_iter().filter(inside).collect();
    let ty = types[rng.below(types.len() as u64) as usize];
    Datum::Variant(Box::new(Variant { ty, value: value_of(ty, rng) }))
}

fn char(bytes: Vec<u8>) -> Datum<'static> {
    Datum::Char(CharText { bytes: Cow::Owned(bytes), code_page: CodePage::Cp1252 })
}

fn nchar(bytes: Vec<u8>) -> Datum<'static> {
    Datum::NChar(NText { bytes: Cow::Owned(bytes) })
}

fn even(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() & !1);
    bytes
}
