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
use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, LaneKind};
use crate::type_facts;
use crate::wide::power_of_ten;

/// How a type's values are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(
    missing_docs,
    reason = "variants are SQL Server's types, fields the bytes that values take"
)]
pub enum StorageForm {
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

impl StorageForm {
    /// Of a type.
    pub fn of(ty: &SqlType) -> StorageForm {
        let fixed = ty.fixed_bytes();
        match *ty {
            SqlType::Bit => StorageForm::Bit,
            SqlType::TinyInt => StorageForm::TinyInt,
            SqlType::SmallInt => StorageForm::SmallInt,
            SqlType::Int | SqlType::SmallMoney => StorageForm::Int,
            SqlType::BigInt | SqlType::Money => StorageForm::BigInt,
            SqlType::Date => StorageForm::Date,
            SqlType::DateTime => StorageForm::DateTime,
            SqlType::SmallDateTime => StorageForm::SmallDateTime,
            SqlType::Time { scale } => {
                StorageForm::Time { bytes: fixed.unwrap_or(5), unit: time_unit(scale) }
            }
            SqlType::DateTime2 { scale } => StorageForm::DateTime2 {
                bytes: fixed.map_or(5, |bytes| bytes.saturating_sub(3)),
                unit: time_unit(scale),
            },
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
                StorageForm::Decimal { bytes: fixed.unwrap_or(17), precision }
            }
            SqlType::Float => StorageForm::Float,
            SqlType::Real => StorageForm::Real,
            _ if type_facts::kind(ty) == LaneKind::Bytes => StorageForm::Bytes {
                least: fixed.unwrap_or(0),
                most: ty.max_bytes().unwrap_or(usize::MAX),
                unit: if type_facts::is_wide_text(ty) { 2 } else { 1 },
            },
            _ => StorageForm::Opaque,
        }
    }

    /// Representation of its values.
    #[inline]
    pub fn kind(self) -> LaneKind {
        match self {
            StorageForm::Decimal { .. } => LaneKind::Wide,
            StorageForm::Float | StorageForm::Real => LaneKind::Float,
            StorageForm::Bytes { .. } => LaneKind::Bytes,
            StorageForm::Opaque => LaneKind::Opaque,
            _ => LaneKind::Int,
        }
    }

    /// Appends a row: a stored value, or NULL.
    #[inline]
    pub fn read(&self, bytes: Option<&[u8]>, lane: &mut Lane, arena: &mut Arena) {
        let Some(bytes) = bytes else { return lane.push_null(self.kind()) };
        match *self {
            StorageForm::Decimal { bytes: len, precision } => {
                lane.push(read_decimal(bytes, len, precision))
            }
            StorageForm::Float => lane.push(fixed(bytes).map(f64::from_le_bytes).and_then(finite)),
            StorageForm::Real => {
                lane.push(fixed(bytes).map(f32::from_le_bytes).map(f64::from).and_then(finite))
            }
            StorageForm::Bytes { least, most, unit } => {
                let fits = (least..=most).contains(&bytes.len()) && bytes.len() % unit == 0;
                lane.push(if fits { arena.push(bytes) } else { Err(EvalError::Input) });
            }
            StorageForm::Opaque => lane.push_state(LaneKind::Opaque, crate::error::VALUE),
            _ => lane.push(self.read_int(bytes)),
        }
    }

    /// Appends a column of rows. The form is settled before the loop begins.
    pub fn read_all(&self, values: &[Option<&[u8]>], lane: &mut Lane, arena: &mut Arena) {
        match *self {
            StorageForm::TinyInt => {
                lane.push_all(values, |bytes| StorageForm::TinyInt.read_int(bytes))
            }
            StorageForm::SmallInt => {
                lane.push_all(values, |bytes| StorageForm::SmallInt.read_int(bytes))
            }
            StorageForm::Int => lane.push_all(values, |bytes| StorageForm::Int.read_int(bytes)),
            StorageForm::BigInt => {
                lane.push_all(values, |bytes| StorageForm::BigInt.read_int(bytes))
            }
            StorageForm::Date => lane.push_all(values, |bytes| StorageForm::Date.read_int(bytes)),
            StorageForm::DateTime => {
                lane.push_all(values, |bytes| StorageForm::DateTime.read_int(bytes))
            }
            StorageForm::Decimal { bytes: 5, precision } => {
                lane.push_all(values, |bytes| read_decimal(bytes, 5, precision));
            }
            StorageForm::Decimal { bytes: 9, precision } => {
                lane.push_all(values, |bytes| read_decimal(bytes, 9, precision));
            }
            _ => values.iter().for_each(|value| self.read(*value, lane, arena)),
        }
    }

    /// Appends rows whose values are words of `bytes` bytes, none of them NULL. False, and nothing
    /// is done, for a form that is not stored so.
    pub fn read_words(&self, words: &[u64], bytes: usize, lane: &mut Lane) -> bool {
        match (*self, bytes) {
            (StorageForm::TinyInt, 1) => {
                lane.push_words::<_, 1>(words, |bytes| StorageForm::TinyInt.read_int(bytes))
            }
            (StorageForm::SmallInt, 2) => {
                lane.push_words::<_, 2>(words, |bytes| StorageForm::SmallInt.read_int(bytes))
            }
            (StorageForm::Date, 3) => {
                lane.push_words::<_, 3>(words, |bytes| StorageForm::Date.read_int(bytes))
            }
            (StorageForm::Int, 4) => {
                lane.push_words::<_, 4>(words, |bytes| StorageForm::Int.read_int(bytes))
            }
            (StorageForm::BigInt, 8) => {
                lane.push_words::<_, 8>(words, |bytes| StorageForm::BigInt.read_int(bytes))
            }
            (StorageForm::DateTime, 8) => {
                lane.push_words::<_, 8>(words, |bytes| StorageForm::DateTime.read_int(bytes))
            }
            _ => return false,
        }
        true
    }

    /// Bytes of a type that is stored as the number its lane holds.
    #[inline]
    pub fn number_bytes(self) -> Option<usize> {
        match self {
            StorageForm::TinyInt => Some(1),
            StorageForm::SmallInt => Some(2),
            StorageForm::Int => Some(4),
            StorageForm::BigInt => Some(8),
            _ => None,
        }
    }

    #[inline(always)]
    fn read_int(&self, bytes: &[u8]) -> EvalResult<i64> {
        let in_day =
            |count: i64, day: i64| if count < day { Ok(count) } else { Err(EvalError::Input) };
        match *self {
            StorageForm::Int => fixed(bytes).map(i32::from_le_bytes).map(i64::from),
            StorageForm::BigInt => fixed(bytes).map(i64::from_le_bytes),
            StorageForm::SmallInt => fixed(bytes).map(i16::from_le_bytes).map(i64::from),
            StorageForm::TinyInt => fixed(bytes).map(u8::from_le_bytes).map(i64::from),
            StorageForm::Bit => {
                fixed(bytes).map(u8::from_le_bytes).map(i64::from).and_then(|bit| in_day(bit, 2))
            }
            StorageForm::Date => date(bytes),
            StorageForm::DateTime => {
                let [a, b, c, d, days @ ..] = fixed::<8>(bytes)?;
                let ticks = in_day(u32::from_le_bytes([a, b, c, d]).into(), DATETIME_DAY)?;
                let count = i64::from(i32::from_le_bytes(days)) * DATETIME_DAY + ticks;
                within(count, &SqlType::DateTime)
            }
            StorageForm::SmallDateTime => {
                let [a, b, c, d] = fixed(bytes)?;
                let minutes = in_day(u16::from_le_bytes([a, b]).into(), SMALL_DAY)?;
                Ok(i64::from(u16::from_le_bytes([c, d])) * SMALL_DAY + minutes)
            }
            StorageForm::Time { bytes: len, unit } => {
                if bytes.len() != len {
                    return Err(EvalError::Input);
                }
                in_day(integer(bytes).checked_mul(unit).ok_or(EvalError::Input)?, DAY)
            }
            StorageForm::DateTime2 { bytes: len, unit } => {
                let (time, day) = bytes.split_at_checked(len).ok_or(EvalError::Input)?;
                let ticks = in_day(integer(time).checked_mul(unit).ok_or(EvalError::Input)?, DAY)?;
                Ok(date(day)? * DAY + ticks)
            }
            _ => Err(EvalError::Input),
        }
    }

    /// Appends the stored form of every row, each of the same length; rows without value hold
    /// anything. Nothing for types whose values lie in the arena. Gives the length.
    pub fn write(self, lane: &Lane, to: &mut Vec<u8>) -> usize {
        match self {
            StorageForm::Bit | StorageForm::TinyInt => write_ints::<1>(lane, to),
            StorageForm::SmallInt => write_ints::<2>(lane, to),
            StorageForm::Int => write_ints::<4>(lane, to),
            StorageForm::BigInt => write_ints::<8>(lane, to),
            StorageForm::Date => write_ints::<3>(lane, to),
            StorageForm::DateTime => {
                for &count in &lane.ints {
                    let [ticks, days] =
                        [count.rem_euclid(DATETIME_DAY), count.div_euclid(DATETIME_DAY)];
                    to.extend_from_slice(&(ticks as u32).to_le_bytes());
                    to.extend_from_slice(&(days as i32).to_le_bytes());
                }
                8
            }
            StorageForm::SmallDateTime => {
                for &count in &lane.ints {
                    to.extend_from_slice(&(count.rem_euclid(SMALL_DAY) as u16).to_le_bytes());
                    to.extend_from_slice(&(count.div_euclid(SMALL_DAY) as u16).to_le_bytes());
                }
                4
            }
            StorageForm::Time { bytes, unit } => {
                for &count in &lane.ints {
                    push_low(count / unit, bytes, to);
                }
                bytes
            }
            StorageForm::DateTime2 { bytes, unit } => {
                for &count in &lane.ints {
                    push_low(count.rem_euclid(DAY) / unit, bytes, to);
                    push_low(count.div_euclid(DAY), 3, to);
                }
                bytes + 3
            }
            StorageForm::Decimal { bytes, .. } => write_decimals(lane, bytes, to),
            StorageForm::Float => {
                to.extend(lane.floats.iter().flat_map(|value| value.to_le_bytes()));
                8
            }
            StorageForm::Real => {
                to.extend(lane.floats.iter().flat_map(|value| (*value as f32).to_le_bytes()));
                4
            }
            StorageForm::Bytes { .. } | StorageForm::Opaque => 0,
        }
    }
}

fn time_unit(scale: u8) -> i64 {
    10i64.pow(u32::from(7 - scale.min(7)))
}

#[inline(always)]
fn fixed<const N: usize>(bytes: &[u8]) -> EvalResult<[u8; N]> {
    bytes.try_into().map_err(|_| EvalError::Input)
}

#[inline]
fn finite(value: f64) -> EvalResult<f64> {
    if value.is_finite() { Ok(value) } else { Err(EvalError::Input) }
}

#[inline]
fn within(count: i64, ty: &SqlType) -> EvalResult<i64> {
    let range = calendar::range(ty).ok_or(EvalError::Input)?;
    if (range.0..=range.1).contains(&count) { Ok(count) } else { Err(EvalError::Input) }
}

/// Little-endian, at most seven bytes.
#[inline]
fn integer(bytes: &[u8]) -> i64 {
    bytes.iter().take(7).rev().fold(0, |value, byte| value << 8 | i64::from(*byte))
}

#[inline]
fn date(bytes: &[u8]) -> EvalResult<i64> {
    let [a, b, c] = fixed(bytes)?;
    within(u32::from_le_bytes([a, b, c, 0]).into(), &SqlType::Date)
}

#[inline(always)]
fn read_decimal(bytes: &[u8], len: usize, precision: u8) -> EvalResult<i128> {
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
    let targets = to.get_mut(before..).map(<[u8]>::as_chunks_mut::<N>);
    for (target, value) in
        targets.map_or(Default::default(), |(targets, _)| targets).iter_mut().zip(&lane.ints)
    {
        *target = value.to_le_bytes().first_chunk().copied().unwrap_or([0; N]);
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
            let form = StorageForm::of(&ty);
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
            if let Some(target) = word.get_mut(..bytes.len()) {
                target.copy_from_slice(&bytes);
                let words = [u64::from_le_bytes(word)];
                let mut lane = Lane::default();
                if form.read_words(&words, bytes.len(), &mut lane) {
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
            if is_legal && form.kind() != LaneKind::Bytes {
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
