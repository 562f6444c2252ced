//! Values as bytes and bytes as values, in the forms that CAST shows: numbers big-endian, the newer
//! dates as they are stored behind their scale.

use extentdb_types::SqlType;

use super::{Number, argument, fit_bytes};
use crate::calendar::{self, DATETIME_DAY};
use crate::error::{EvalError, EvalResult};
use crate::operator::row::{Call, Cell, Outcome};
use crate::operator::{arithmetic, moment};
use crate::type_facts;

/// The bytes of a value as CAST to binary shows them.
pub(crate) fn binary_of(ty: &SqlType, cell: Cell<'_>) -> EvalResult<Vec<u8>> {
    Ok(match (ty, cell) {
        (SqlType::Bit | SqlType::TinyInt, Cell::Int(value)) => vec![value as u8],
        (SqlType::SmallInt, Cell::Int(value)) => (value as i16).to_be_bytes().to_vec(),
        (SqlType::Int | SqlType::SmallMoney, Cell::Int(value)) => {
            (value as i32).to_be_bytes().to_vec()
        }
        (SqlType::BigInt | SqlType::Money, Cell::Int(value)) => value.to_be_bytes().to_vec(),
        (SqlType::Real, Cell::Float(value)) => (value as f32).to_be_bytes().to_vec(),
        (SqlType::Float, Cell::Float(value)) => value.to_be_bytes().to_vec(),
        (
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            Cell::Wide(value),
        ) => {
            let magnitude = value.unsigned_abs().to_le_bytes();
            let len = ty.fixed_bytes().unwrap_or(17) - 1;
            let mut bytes = vec![*precision, *scale, 0, u8::from(value >= 0)];
            bytes.extend(magnitude.iter().take(len));
            bytes
        }
        (SqlType::DateTime, Cell::Int(count)) => {
            let days = count.div_euclid(DATETIME_DAY) as i32;
            let ticks = count.rem_euclid(DATETIME_DAY) as u32;
            [days.to_be_bytes(), ticks.to_be_bytes()].concat()
        }
        (SqlType::SmallDateTime, Cell::Int(count)) => {
            let days = count.div_euclid(calendar::SMALL_DAY) as u16;
            let minutes = count.rem_euclid(calendar::SMALL_DAY) as u16;
            [days.to_be_bytes(), minutes.to_be_bytes()].concat()
        }
        (SqlType::Date, Cell::Int(days)) => low_bytes(days, 3),
        (SqlType::Time { scale }, Cell::Int(count)) => {
            [vec![*scale], time_bytes(count, *scale)].concat()
        }
        (SqlType::DateTime2 { scale }, Cell::Int(count)) => {
            let time = time_bytes(count.rem_euclid(calendar::DAY), *scale);
            [vec![*scale], time, low_bytes(count.div_euclid(calendar::DAY), 3)].concat()
        }
        (SqlType::DateTimeOffset { scale }, Cell::Bytes(bytes)) => [&[*scale], bytes].concat(),
        (_, Cell::Bytes(bytes)) => bytes.to_vec(),
        _ => return Err(EvalError::Row),
    })
}

fn low_bytes(value: i64, count: usize) -> Vec<u8> {
    value.to_le_bytes().into_iter().take(count).collect()
}

fn time_bytes(ticks: i64, scale: u8) -> Vec<u8> {
    let len = SqlType::Time { scale }.fixed_bytes().unwrap_or(5);
    low_bytes(ticks / 10i64.pow(u32::from(7 - scale.min(7))), len)
}

pub(super) fn to_binary(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let from = call.ty(0);
    let bytes = binary_of(from, argument(cells))?;
    let is_number = (type_facts::is_number(from) && !type_facts::is_decimal(from))
        || matches!(from, SqlType::DateTime | SqlType::SmallDateTime);
    let most = call.result.max_bytes().unwrap_or(usize::MAX);
    if is_number && bytes.len() != most {
        // Numbers keep their low bytes, and zeros go before them.
        let cut = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
        if type_facts::is_padded(&call.result) || call.result == SqlType::RowVersion {
            to.resize(most - cut.len(), 0);
        }
        to.extend_from_slice(cut);
        return Ok(Outcome::Bytes);
    }
    to.extend(bytes);
    fit_bytes(&call.result, to);
    Ok(Outcome::Bytes)
}

/// The low bytes of a big-endian number, as many as the type has.
fn big_endian(bytes: &[u8], len: usize) -> i64 {
    let low = bytes.get(bytes.len().saturating_sub(len)..).unwrap_or_default();
    low.iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
}

pub(super) fn from_binary(
    call: &Call,
    cells: &[Cell<'_>],
    to: &mut Vec<u8>,
) -> EvalResult<Outcome> {
    let bytes = argument(cells).bytes();
    match call.result {
        SqlType::Bit => Ok(Outcome::Int(i64::from(big_endian(bytes, 1) != 0))),
        SqlType::TinyInt => Ok(Outcome::Int(big_endian(bytes, 1))),
        SqlType::SmallInt => Ok(Outcome::Int((big_endian(bytes, 2) as i16).into())),
        SqlType::Int | SqlType::SmallMoney => {
            Ok(Outcome::Int((big_endian(bytes, 4) as i32).into()))
        }
        SqlType::BigInt | SqlType::Money => Ok(Outcome::Int(big_endian(bytes, 8))),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let [_, own, _, sign, magnitude @ ..] = bytes else {
                return Err(EvalError::Conversion);
            };
            if *own > 38 || magnitude.len() > 16 {
                return Err(EvalError::Conversion);
            }
            let value = magnitude.iter().rev().fold(0u128, |sum, it| sum << 8 | u128::from(*it));
            let value = i128::try_from(value).map_err(|_| EvalError::Overflow)?;
            let value = if *sign == 0 { -value } else { value };
            let value = Number::Exact(value, *own).at_scale(scale, false)?;
            arithmetic::fit_wide(Some(value), precision).map(Outcome::Wide)
        }
        _ if type_facts::is_temporal(&call.result) => binary_to_clock(&call.result, bytes, to),
        _ => Err(EvalError::Conversion),
    }
}

fn binary_to_clock(ty: &SqlType, bytes: &[u8], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let within = |count: i64| match calendar::range(ty) {
        Some((least, most)) if (least..=most).contains(&count) => Ok(Outcome::Int(count)),
        _ => Err(EvalError::Overflow),
    };
    let little = |bytes: &[u8]| {
        bytes.iter().take(7).rev().fold(0, |value: i64, byte| value << 8 | i64::from(*byte))
    };
    match *ty {
        SqlType::DateTime => {
            let whole = big_endian(bytes, 8);
            let days = i64::from((whole >> 32) as i32);
            let ticks = whole & 0xFFFF_FFFF;
            if ticks >= DATETIME_DAY {
                return Err(EvalError::Overflow);
            }
            within(days * DATETIME_DAY + ticks)
        }
        SqlType::SmallDateTime => {
            let whole = big_endian(bytes, 4);
            if whole & 0xFFFF >= calendar::SMALL_DAY {
                return Err(EvalError::Overflow);
            }
            within((whole >> 16) * calendar::SMALL_DAY + (whole & 0xFFFF))
        }
        SqlType::Date if bytes.len() == 3 => within(little(bytes)),
        SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => {
            let [scale @ 0..=7, rest @ ..] = bytes else { return Err(EvalError::Conversion) };
            let unit = 10i64.pow(u32::from(7 - scale));
            let (time, rest) = match ty {
                SqlType::Time { .. } => (rest, &[][..]),
                SqlType::DateTime2 { .. } => {
                    rest.split_at_checked(rest.len().saturating_sub(3)).unwrap_or_default()
                }
                _ => {
                    let own = SqlType::DateTimeOffset { scale: *scale };
                    let local = moment::read(&own, Cell::Bytes(rest));
                    let local = local.map_err(|_| EvalError::Conversion)?;
                    let is_offset = local.offset.abs() <= moment::MAX_OFFSET;
                    return match is_offset && rest.len() == own.fixed_bytes().unwrap_or(0) {
                        true => moment::write(ty, local, to),
                        false => Err(EvalError::Conversion),
                    };
                }
            };
            let ticks = little(time).checked_mul(unit).filter(|ticks| *ticks < calendar::DAY);
            let ticks = ticks.ok_or(EvalError::Conversion)?;
            let local = moment::Local { days: little(rest), ticks, offset: 0 };
            moment::write(ty, local, to)
        }
        _ => Err(EvalError::Conversion),
    }
}
