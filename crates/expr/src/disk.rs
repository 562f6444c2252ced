//! Stored bytes to lanes and back.
//!
//! ```text
//! bit 1 byte · integers, money little-endian · date 3 · datetime ticks, days · time(n) 3-5 ·
//!     datetime2(n) time, date
//! decimal sign, magnitude (4, 8, 12, 16) · float 8 · real 4 · the rest as it is
//! ```
//!
//! Invariants
//! - Bytes that are no value of the type become [`EvalError::Input`] for their row, never a nearby
//!   value.
//! - What is written is canonical: zero has the sign of a positive number.

use extentdb_types::SqlType;

use crate::arena::Arena;
use crate::calendar::{self, DATETIME_DAY, DAY, SMALL_DAY};
use crate::error::{EvalError, Outcome};
use crate::lane::{Kind, Lane};
use crate::typing;
use crate::wide::power_of_ten;

/// How a type's values are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Date,
    DateTime,
    SmallDateTime,
    /// Parts of 10^-scale s, in this many bytes, each worth `unit` parts of 100 ns.
    Time {
        bytes: usize,
        unit: i64,
    },
    DateTime2 {
        bytes: usize,
        unit: i64,
    },
    Decimal {
        bytes: usize,
        precision: u8,
    },
    Float,
    Real,
    /// Bytes at least and at most; bytes of a character.
    Bytes {
        least: usize,
        most: usize,
        unit: usize,
    },
    Opaque,
}

impl Form {
    pub(crate) fn of(ty: &SqlType) -> Form {
        let fixed = ty.fixed_bytes();
        match *ty {
            SqlType::Bit => Form::Bit,
            SqlType::TinyInt => Form::TinyInt,
            SqlType::SmallInt => Form::SmallInt,
            SqlType::Int | SqlType::SmallMoney => Form::Int,
            SqlType::BigInt | SqlType::Money => Form::BigInt,
            SqlType::Date => Form::Date,
            SqlType::DateTime => Form::DateTime,
            SqlType::SmallDateTime => Form::SmallDateTime,
            SqlType::Time { scale } => {
                Form::Time { bytes: fixed.unwrap_or(5), unit: time_unit(scale) }
            }
            SqlType::DateTime2 { scale } => Form::DateTime2 {
                bytes: fixed.map_or(5, |bytes| bytes.saturating_sub(3)),
                unit: time_unit(scale),
            },
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
                Form::Decimal { bytes: fixed.unwrap_or(17), precision }
            }
            SqlType::Float => Form::Float,
            SqlType::Real => Form::Real,
            _ if typing::kind(ty) == Kind::Bytes => Form::Bytes {
                least: fixed.unwrap_or(0),
                most: ty.max_bytes().unwrap_or(usize::MAX),
                unit: if typing::is_wide_text(ty) { 2 } else { 1 },
            },
            _ => Form::Opaque,
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Form::Decimal { .. } => Kind::Wide,
            Form::Float | Form::Real => Kind::Float,
            Form::Bytes { .. } => Kind::Bytes,
            Form::Opaque => Kind::Opaque,
            _ => Kind::Int,
        }
    }

    /// Appends a row: a stored value, or NULL.
    #[inline]
    pub(crate) fn read(&self, bytes: Option<&[u8]>, lane: &mut Lane, arena: &mut Arena) {
        let Some(bytes) = bytes else { return lane.push_null(self.kind()) };
        match *self {
            Form::Decimal { bytes: len, precision } => {
                lane.push(read_decimal(bytes, len, precision))
            }
            Form::Float => lane.push(fixed(bytes).map(f64::from_le_bytes).and_then(finite)),
            Form::Real => {
                lane.push(fixed(bytes).map(f32::from_le_bytes).map(f64::from).and_then(finite))
            }
            Form::Bytes { least, most, unit } => {
                let fits = (least..=most).contains(&bytes.len()) && bytes.len() % unit == 0;
                lane.push(if fits { arena.push(bytes) } else { Err(EvalError::Input) });
            }
            Form::Opaque => lane.push_state(Kind::Opaque, crate::error::VALUE),
            _ => lane.push(self.read_int(bytes)),
        }
    }

    /// Appends a column of rows. The form is settled before the loop begins.
    pub(crate) fn read_all(&self, values: &[Option<&[u8]>], lane: &mut Lane, arena: &mut Arena) {
        match *self {
            Form::TinyInt => lane.push_all(values, |bytes| Form::TinyInt.read_int(bytes)),
            Form::SmallInt => lane.push_all(values, |bytes| Form::SmallInt.read_int(bytes)),
            Form::Int => lane.push_all(values, |bytes| Form::Int.read_int(bytes)),
            Form::BigInt => lane.push_all(values, |bytes| Form::BigInt.read_int(bytes)),
            Form::Date => lane.push_all(values, |bytes| Form::Date.read_int(bytes)),
            Form::DateTime => lane.push_all(values, |bytes| Form::DateTime.read_int(bytes)),
            Form::Decimal { bytes: 5, precision } => {
                lane.push_all(values, |bytes| read_decimal(bytes, 5, precision));
            }
            Form::Decimal { bytes: 9, precision } => {
                lane.push_all(values, |bytes| read_decimal(bytes, 9, precision));
            }
            _ => values.iter().for_each(|value| self.read(*value, lane, arena)),
        }
    }

    /// Appends rows whose values are words of `bytes` bytes, none of them NULL. False, and nothing
    /// is done, for a form that is not stored so.
    pub(crate) fn read_words(&self, (words, bytes): (&[u64], usize), lane: &mut Lane) -> bool {
        match (*self, bytes) {
            (Form::TinyInt, 1) => {
                lane.push_words::<_, 1>(words, |bytes| Form::TinyInt.read_int(bytes))
            }
            (Form::SmallInt, 2) => {
                lane.push_words::<_, 2>(words, |bytes| Form::SmallInt.read_int(bytes))
            }
            (Form::Date, 3) => lane.push_words::<_, 3>(words, |bytes| Form::Date.read_int(bytes)),
            (Form::Int, 4) => lane.push_words::<_, 4>(words, |bytes| Form::Int.read_int(bytes)),
            (Form::BigInt, 8) => {
                lane.push_words::<_, 8>(words, |bytes| Form::BigInt.read_int(bytes))
            }
            (Form::DateTime, 8) => {
                lane.push_words::<_, 8>(words, |bytes| Form::DateTime.read_int(bytes))
            }
            _ => return false,
        }
        true
    }

    /// Bytes of a type that is stored as the number its lane holds.
    pub(crate) fn number_bytes(self) -> Option<usize> {
        match self {
            Form::TinyInt => Some(1),
            Form::SmallInt => Some(2),
            Form::Int => Some(4),
            Form::BigInt => Some(8),
            _ => None,
        }
    }

    #[inline(always)]
    fn read_int(&self, bytes: &[u8]) -> Outcome<i64> {
        let in_day =
            |count: i64, day: i64| if count < day { Ok(count) } else { Err(EvalError::Input) };
        match *self {
            Form::Int => fixed(bytes).map(i32::from_le_bytes).map(i64::from),
            Form::BigInt => fixed(bytes).map(i64::from_le_bytes),
            Form::SmallInt => fixed(bytes).map(i16::from_le_bytes).map(i64::from),
            Form::TinyInt => fixed(bytes).map(u8::from_le_bytes).map(i64::from),
            Form::Bit => {
                fixed(bytes).map(u8::from_le_bytes).map(i64::from).and_then(|bit| in_day(bit, 2))
            }
            Form::Date => date(bytes),
            Form::DateTime => {
                let [a, b, c, d, days @ ..] = fixed::<8>(bytes)?;
                let ticks = in_day(u32::from_le_bytes([a, b, c, d]).into(), DATETIME_DAY)?;
                let count = i64::from(i32::from_le_bytes(days)) * DATETIME_DAY + ticks;
                within(count, &SqlType::DateTime)
            }
            Form::SmallDateTime => {
                let [a, b, c, d] = fixed(bytes)?;
                let minutes = in_day(u16::from_le_bytes([a, b]).into(), SMALL_DAY)?;
                Ok(i64::from(u16::from_le_bytes([c, d])) * SMALL_DAY + minutes)
            }
            Form::Time { bytes: len, unit } => {
                if bytes.len() != len {
                    return Err(EvalError::Input);
                }
                in_day(integer(bytes).checked_mul(unit).ok_or(EvalError::Input)?, DAY)
            }
            Form::DateTime2 { bytes: len, unit } => {
                let (time, day) = bytes.split_at_checked(len).ok_or(EvalError::Input)?;
                let ticks = in_day(integer(time).checked_mul(unit).ok_or(EvalError::Input)?, DAY)?;
                Ok(date(day)? * DAY + ticks)
            }
            _ => Err(EvalError::Input),
        }
    }

    /// Appends the stored form of every row, each of the same length; rows without value hold
    /// anything. Nothing for types whose values lie in the arena. Gives the length.
    pub(crate) fn write(self, lane: &Lane, to: &mut Vec<u8>) -> usize {
        match self {
            Form::Bit | Form::TinyInt => write_ints::<1>(lane, to),
            Form::SmallInt => write_ints::<2>(lane, to),
            Form::Int => write_ints::<4>(lane, to),
            Form::BigInt => write_ints::<8>(lane, to),
            Form::Date => write_ints::<3>(lane, to),
            Form::DateTime => {
                for &count in &lane.ints {
                    let [ticks, days] =
                        [count.rem_euclid(DATETIME_DAY), count.div_euclid(DATETIME_DAY)];
                    to.extend_from_slice(&(ticks as u32).to_le_bytes());
                    to.extend_from_slice(&(days as i32).to_le_bytes());
                }
                8
            }
            Form::SmallDateTime => {
                for &count in &lane.ints {
                    to.extend_from_slice(&(count.rem_euclid(SMALL_DAY) as u16).to_le_bytes());
                    to.extend_from_slice(&(count.div_euclid(SMALL_DAY) as u16).to_le_bytes());
                }
                4
            }
            Form::Time { bytes, unit } => {
                for &count in &lane.ints {
                    push_low(count / unit, bytes, to);
                }
                bytes
            }
            Form::DateTime2 { bytes, unit } => {
                for &count in &lane.ints {
                    push_low(count.rem_euclid(DAY) / unit, bytes, to);
                    push_low(count.div_euclid(DAY), 3, to);
                }
                bytes + 3
            }
            Form::Decimal { bytes, .. } => write_decimals(lane, bytes, to),
            Form::Float => {
                to.extend(lane.floats.iter().flat_map(|value| value.to_le_bytes()));
                8
            }
            Form::Real => {
                to.extend(lane.floats.iter().flat_map(|value| (*value as f32).to_le_bytes()));
                4
            }
            Form::Bytes { .. } | Form::Opaque => 0,
        }
    }
}

fn time_unit(scale: u8) -> i64 {
    10i64.pow(u32::from(7 - scale.min(7)))
}

#[inline(always)]
fn fixed<const N: usize>(bytes: &[u8]) -> Outcome<[u8; N]> {
    bytes.try_into().map_err(|_| EvalError::Input)
}

fn finite(value: f64) -> Outcome<f64> {
    if value.is_finite() { Ok(value) } else { Err(EvalError::Input) }
}

#[inline]
fn within(count: i64, ty: &SqlType) -> Outcome<i64> {
    let range = calendar::range(ty).ok_or(EvalError::Input)?;
    if (range.0..=range.1).contains(&count) { Ok(count) } else { Err(EvalError::Input) }
}

/// Little-endian, at most seven bytes.
fn integer(bytes: &[u8]) -> i64 {
    bytes.iter().take(7).rev().fold(0, |value, byte| value << 8 | i64::from(*byte))
}

fn date(bytes: &[u8]) -> Outcome<i64> {
    let [a, b, c] = fixed(bytes)?;
    within(u32::from_le_bytes([a, b, c, 0]).into(), &SqlType::Date)
}

#[inline(always)]
fn read_decimal(bytes: &[u8], len: usize, precision: u8) -> Outcome<i128> {
    let limit = power_of_ten(precision).ok_or(EvalError::Input)?;
    let magnitude = match *bytes {
        [_, a, b, c, d] if len == 5 => u32::from_le_bytes([a, b, c, d]).into(),
        [_, ref rest @ ..] if len == 9 => u64::from_le_bytes(fixed(rest)?).into(),
        [_, ref rest @ ..] if rest.len() + 1 == len => {
            rest.iter().rev().fold(0u128, |value, byte| value << 8 | u128::from(*byte))
        }
        _ => return Err(EvalError::Input),
    };
    let magnitude =
        i128::try_from(magnitude).ok().filter(|it| *it < limit).ok_or(EvalError::Input)?;
    match bytes.first() {
        Some(1) => Ok(magnitude),
        Some(0) => Ok(-magnitude),
        _ => Err(EvalError::Input),
    }
}

fn push_low(value: i64, bytes: usize, to: &mut Vec<u8>) {
    to.extend_from_slice(value.to_le_bytes().get(..bytes).unwrap_or_default());
}

/// Of a fixed number of bytes, so that each is one store and not a call.
fn write_ints<const N: usize>(lane: &Lane, to: &mut Vec<u8>) -> usize {
    let before = to.len();
    to.resize(before + lane.ints.len() * N, 0);
    let places = to.get_mut(before..).map(<[u8]>::as_chunks_mut::<N>);
    for (place, value) in
        places.map_or(Default::default(), |(places, _)| places).iter_mut().zip(&lane.ints)
    {
        *place = value.to_le_bytes().first_chunk().copied().unwrap_or([0; N]);
    }
    N
}

fn write_decimals(lane: &Lane, bytes: usize, to: &mut Vec<u8>) -> usize {
    match bytes {
        5 => write_magnitudes::<4>(lane, to),
        9 => write_magnitudes::<8>(lane, to),
        13 => write_magnitudes::<12>(lane, to),
        _ => write_magnitudes::<16>(lane, to),
    }
    bytes
}

/// Of a fixed number of bytes, so that each is one store and not a call.
fn write_magnitudes<const N: usize>(lane: &Lane, to: &mut Vec<u8>) {
    to.reserve(lane.wides.len() * (N + 1));
    for &value in &lane.wides {
        let magnitude = value.unsigned_abs().to_le_bytes();
        to.push(u8::from(value >= 0));
        to.extend_from_slice(magnitude.first_chunk::<N>().unwrap_or(&[0; N]));
    }
}

#[cfg(test)]
mod tests {
    use extentdb_types::{Collation, Datum};
    use proptest::prelude::*;

    use super::*;

    fn types() -> Vec<SqlType> {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
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
            SqlType::UniqueIdentifier,
            SqlType::RowVersion,
            SqlType::VarChar { len: Some(9), collation },
            SqlType::NVarChar { len: Some(10), collation },
            SqlType::NChar { len: 6, collation },
            SqlType::VarBinary { len: None },
        ];
        types.extend(
            (0..=7).flat_map(|scale| [SqlType::Time { scale }, SqlType::DateTime2 { scale }]),
        );
        types.extend(
            [1, 9, 10, 19, 20, 28, 29, 38]
                .map(|precision| SqlType::Decimal { precision, scale: 1 }),
        );
        types
    }

    proptest! {
        /// `types::Datum` is the model: what it takes we take and write back, what it refuses we
        /// refuse.
        #[test]
        fn stored_values_pass_through_unchanged(
            at in 0usize..42,
            mut bytes in proptest::collection::vec(any::<u8>(), 0..20),
            zero in any::<bool>(),
        ) {
            let types = types();
            let ty = types[at % types.len()];
            if let Some(len) = ty.fixed_bytes() {
                bytes.resize(len, 0);
            }
            // High bytes of zero make legal values likely.
            if zero {
                let keep = bytes.len() / 2;
                bytes[keep..].fill(0);
                if matches!(ty, SqlType::Decimal { .. }) {
                    bytes[0] &= 1;
                }
            }
            let mut lane = Lane::default();
            let mut arena = Arena::default();
            let form = Form::of(&ty);
            form.read(Some(&bytes), &mut lane, &mut arena);
            // A column at once is the same.
            let mut all = Lane::default();
            form.read_all(&[None, Some(&bytes)], &mut all, &mut arena);
            let mut one_by_one = Lane::default();
            form.read(None, &mut one_by_one, &mut arena);
            form.read(Some(&bytes), &mut one_by_one, &mut arena);
            prop_assert_eq!(&all.state, &one_by_one.state);
            prop_assert_eq!((&all.ints, &all.wides), (&one_by_one.ints, &one_by_one.wides));
            prop_assert_eq!(all.floats.len() + all.spans.len(), one_by_one.floats.len() + one_by_one.spans.len());
            // So are words.
            let mut word = [0; 8];
            if let Some(place) = word.get_mut(..bytes.len()) {
                place.copy_from_slice(&bytes);
                let words = [u64::from_le_bytes(word)];
                let mut lane = Lane::default();
                if form.read_words((&words, bytes.len()), &mut lane) {
                    prop_assert_eq!(lane.state.as_slice(), &one_by_one.state[1..]);
                    prop_assert_eq!(lane.ints.as_slice(), &one_by_one.ints[1..]);
                }
            }
            let is_finite = |datum: &Datum<'_>| match datum {
                Datum::Float(value) => value.is_finite(),
                Datum::Real(value) => value.is_finite(),
                _ => true,
            };
            let is_legal = Datum::decode(&ty, &bytes).is_ok_and(|datum| is_finite(&datum));
            prop_assert_eq!(lane.state[0] == crate::error::VALUE, is_legal, "{} {:?}", ty, bytes);
            if is_legal && form.kind() != Kind::Bytes {
                let mut written = Vec::new();
                prop_assert_eq!(form.write(&lane, &mut written), bytes.len());
                // A negative zero is written positive.
                if matches!(ty, SqlType::Decimal { .. }) && bytes[1..].iter().all(|byte| *byte == 0) {
                    bytes[0] = 1;
                }
                prop_assert_eq!(written, bytes);
            }
        }
    }
}
