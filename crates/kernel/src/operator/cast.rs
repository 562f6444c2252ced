//! Conversions of statements that have no loop of their own, one function for each pair of
//! families.
//!
//! ```text
//! text    → numbers, dates, uniqueidentifier, binary, xml
//! any     → text
//! numbers → numbers, dates (days since 1900-01-01), binary (big-endian)
//! dates   → dates, numbers, binary
//! binary  → numbers, dates, uniqueidentifier
//! ```
//!
//! The style of CONVERT is [`Call::number`].

use extentdb_types::{Guid, SqlType, xml};

use crate::calendar::{self, DATETIME_DAY};
use crate::error::{EvalError, EvalResult};
use crate::operator::moment_style::NO_STYLE;
use crate::operator::moment_text::Rules;
use crate::operator::row::{Call, Cell, Function, Outcome};
use crate::operator::{
    arithmetic, codec, moment, moment_style, moment_text, number_form, number_text,
};
use crate::type_facts;
use crate::wide::power_of_ten;

mod binary;

pub(crate) use binary::binary_of;
use binary::{from_binary, to_binary};

/// Units of money.
const MONEY_SCALE: u8 = 4;

/// The function that converts; `None` where the representation stays, or a loop does it.
pub fn function(from: &SqlType, to: &SqlType) -> Option<Function> {
    let is_string = |ty: &SqlType| is_character(ty);
    Some(match (from, to) {
        _ if is_string(to) => to_text,
        (SqlType::Xml, _) => return None,
        (_, SqlType::Xml) if is_string(from) || is_bytes(from) => to_xml,
        _ if is_string(from) => from_text,
        _ if is_bytes(from) && is_bytes(to) => bytes_to_bytes,
        _ if is_bytes(from) => from_binary,
        _ if is_bytes(to) => to_binary,
        _ if type_facts::is_temporal(from) && type_facts::is_temporal(to) => temporal,
        _ if type_facts::is_temporal(from) => from_clock,
        _ if type_facts::is_temporal(to) => to_clock,
        _ if type_facts::is_number(from) && type_facts::is_number(to) => numbers,
        _ => return None,
    })
}

/// Types of characters, text and ntext with them.
pub fn is_character(ty: &SqlType) -> bool {
    type_facts::is_text(ty) || matches!(ty, SqlType::Text { .. } | SqlType::NText { .. })
}

/// Types of bytes, uniqueidentifier with them.
fn is_bytes(ty: &SqlType) -> bool {
    type_facts::is_binary(ty) || matches!(ty, SqlType::Image | SqlType::UniqueIdentifier)
}

fn argument<'a>(cells: &[Cell<'a>]) -> Cell<'a> {
    cells.first().copied().unwrap_or(Cell::Null)
}

// Texts as values.

fn from_text(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let bytes = argument(cells).bytes();
    if is_bytes(&call.result) && call.result != SqlType::UniqueIdentifier {
        return text_to_binary(call, bytes, to);
    }
    let text = codec::decode(call.ty(0), bytes);
    read(&call.result, &text, call, to)
}

/// The value that a text is of a type.
pub(crate) fn read(ty: &SqlType, text: &str, call: &Call, to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let within = |value: i64| match type_facts::range(ty) {
        Some((least, most)) if (least..=most).contains(&value) => Ok(Outcome::Int(value)),
        _ => Err(EvalError::Overflow),
    };
    match *ty {
        SqlType::Bit => number_form::read_bit(text).map(Outcome::Int),
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            within(number_form::read_integer(text)?)
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let value = number_form::read_decimal(text, scale)?;
            arithmetic::fit_wide(Some(value), precision).map(Outcome::Wide)
        }
        SqlType::Money | SqlType::SmallMoney => within(number_form::read_money(text)?),
        SqlType::Float => number_form::read_float(text).map(Outcome::Float),
        SqlType::Real => {
            let value = number_form::read_float(text)?;
            arithmetic::settle_float(value, true).map(Outcome::Float)
        }
        SqlType::UniqueIdentifier => {
            let guid = read_guid(text).ok_or(EvalError::Conversion)?;
            to.extend(guid.0);
            Ok(Outcome::Bytes)
        }
        _ if type_facts::is_temporal(ty) => {
            let rules = Rules {
                is_old: matches!(ty, SqlType::DateTime | SqlType::SmallDateTime),
                date_format: call.options.date_format,
                style: call.number,
            };
            let (local, _) = moment_text::read(text, rules)?;
            moment::write(ty, local, to)
        }
        _ => Err(EvalError::Conversion),
    }
}

/// 36 characters, or 38 in braces; what follows them is ignored.
fn read_guid(text: &str) -> Option<Guid> {
    let text = text.trim_start_matches(' ');
    let len = if text.starts_with('{') { 38 } else { 36 };
    Guid::parse(text.get(..len)?)
}

fn text_to_binary(call: &Call, bytes: &[u8], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    if !matches!(call.number, 1 | 2) {
        to.extend_from_slice(bytes);
    } else {
        let text = codec::decode(call.ty(0), bytes);
        let digits = match call.number {
            1 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")),
            _ => Some(&*text),
        };
        let digits = digits.ok_or(EvalError::Conversion)?.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(EvalError::Conversion);
        }
        for pair in pairs {
            let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(EvalError::Conversion);
            let [high, low] = *pair;
            to.push((digit(high)? << 4 | digit(low)?) as u8);
        }
    }
    fit_bytes(&call.result, to);
    Ok(Outcome::Bytes)
}

/// Cut to the type's length, padded with zeros for binary.
fn fit_bytes(ty: &SqlType, to: &mut Vec<u8>) {
    if let Some(most) = ty.max_bytes() {
        to.truncate(most);
    }
    if *ty == SqlType::RowVersion {
        to.resize(8, 0);
    }
    codec::pad(ty, 0, to);
}

fn bytes_to_bytes(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    to.extend_from_slice(argument(cells).bytes());
    if call.result == SqlType::UniqueIdentifier {
        to.resize(16, 0);
    }
    fit_bytes(&call.result, to);
    Ok(Outcome::Bytes)
}

fn to_xml(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let text = codec::decode(call.ty(0), argument(cells).bytes());
    to.extend(xml::encode_text(&text).map_err(|_| EvalError::Xml)?);
    Ok(Outcome::Bytes)
}

// Values as texts.

/// What happens to a text that its type has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TooLong {
    Cut,
    Star,
    Error(EvalError),
}

fn to_text(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let cell = argument(cells);
    let from = call.ty(0);
    if type_facts::is_binary(from) || *from == SqlType::Image {
        return binary_to_text(call, cell.bytes(), to);
    }
    let mut text = String::new();
    let too_long = write(from, cell, call.number, &mut text)?;
    let is_wide = codec::is_utf16(&call.result);
    let room = type_facts::characters(&call.result);
    let length = if is_wide { text.encode_utf16().count() } else { text.len() };
    if room.is_some_and(|room| length > usize::from(room)) {
        match too_long {
            TooLong::Cut => {}
            TooLong::Star if !is_wide => text = "*".to_owned(),
            TooLong::Star => return Err(EvalError::TextTooShort),
            TooLong::Error(error) => return Err(error),
        }
    }
    codec::write(&call.result, &text, to);
    Ok(Outcome::Bytes)
}

/// Appends the text of a value.
fn write(ty: &SqlType, cell: Cell<'_>, style: i64, text: &mut String) -> EvalResult<TooLong> {
    let too_short = TooLong::Error(EvalError::TextTooShort);
    Ok(match (ty, cell) {
        (SqlType::Money | SqlType::SmallMoney, Cell::Int(value)) => {
            let style = match style {
                1 => 1,
                2 | 126 => 2,
                _ => 0,
            };
            let mut bytes = Vec::new();
            number_text::write_money(value, style, &mut bytes)?;
            text.push_str(&String::from_utf8_lossy(&bytes));
            too_short
        }
        (SqlType::BigInt, Cell::Int(value)) => {
            text.push_str(&value.to_string());
            too_short
        }
        (SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. }, Cell::Wide(value)) => {
            let mut bytes = Vec::new();
            number_text::write_decimal(value, *scale, &mut bytes);
            text.push_str(&String::from_utf8_lossy(&bytes));
            too_short
        }
        (_, Cell::Float(value)) => {
            number_form::write_float(value, style, text)?;
            too_short
        }
        (SqlType::UniqueIdentifier, Cell::Bytes(bytes)) => {
            let mut digits = Vec::new();
            number_text::write_guid(bytes, &mut digits)?;
            text.push_str(&String::from_utf8_lossy(&digits));
            too_short
        }
        (SqlType::Xml, Cell::Bytes(bytes)) => {
            xml::write_text(bytes, text).map_err(|_| EvalError::Xml)?;
            TooLong::Error(EvalError::TextTooShort)
        }
        (SqlType::Text { .. } | SqlType::NText { .. }, Cell::Bytes(bytes)) => {
            text.push_str(&codec::decode(ty, bytes));
            TooLong::Cut
        }
        _ if type_facts::is_temporal(ty) => {
            moment_style::write(ty, moment::read(ty, cell)?, style, text)?;
            match ty {
                SqlType::DateTimeOffset { .. } => TooLong::Error(EvalError::Conversion),
                _ => TooLong::Cut,
            }
        }
        _ if type_facts::is_text(ty) => {
            text.push_str(&codec::decode(ty, cell.bytes()));
            TooLong::Cut
        }
        (_, Cell::Int(value)) => {
            text.push_str(&value.to_string());
            TooLong::Star
        }
        _ => return Err(EvalError::Row),
    })
}

/// The text of a value of any type, as CONCAT and FORMAT want it.
pub(crate) fn text_of(ty: &SqlType, cell: Cell<'_>) -> EvalResult<String> {
    let mut text = String::new();
    write(ty, cell, NO_STYLE, &mut text)?;
    Ok(text)
}

fn binary_to_text(call: &Call, bytes: &[u8], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    if matches!(call.number, 1 | 2) {
        let mut digits = if call.number == 1 { b"0x".to_vec() } else { Vec::new() };
        number_text::write_hex(bytes, &mut digits);
        // Cut after a whole byte.
        if let Some(room) = type_facts::characters(&call.result) {
            digits.truncate(usize::from(room - room % 2));
        }
        codec::write(&call.result, &String::from_utf8_lossy(&digits), to);
        return Ok(Outcome::Bytes);
    }
    if !matches!(call.number, 0 | NO_STYLE) {
        return Err(EvalError::Style);
    }
    let most = call.result.max_bytes().unwrap_or(usize::MAX);
    to.extend(bytes.iter().take(most));
    if codec::is_utf16(&call.result) && to.len() % 2 == 1 {
        to.push(0);
    }
    codec::pad(&call.result, 0, to);
    Ok(Outcome::Bytes)
}

// Numbers.

/// A number as an exact value times `10^scale`, or a float.
enum Number {
    Exact(i128, u8),
    Float(f64),
}

fn number(ty: &SqlType, cell: Cell<'_>) -> EvalResult<Number> {
    Ok(match (ty, cell) {
        (SqlType::Money | SqlType::SmallMoney, Cell::Int(value)) => {
            Number::Exact(value.into(), MONEY_SCALE)
        }
        (SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. }, Cell::Wide(value)) => {
            Number::Exact(value, *scale)
        }
        (_, Cell::Int(value)) => Number::Exact(value.into(), 0),
        (_, Cell::Float(value)) => Number::Float(value),
        _ => return Err(EvalError::Row),
    })
}

impl Number {
    /// Times `10^scale`, rounded; or cut.
    fn at_scale(&self, scale: u8, is_cut: bool) -> EvalResult<i128> {
        match *self {
            Number::Float(value) if is_cut => number_form::float_to_decimal(value.trunc(), scale),
            Number::Float(value) => number_form::float_to_decimal(value, scale),
            Number::Exact(value, own) if own <= scale => {
                let unit = power_of_ten(scale - own).ok_or(EvalError::Overflow)?;
                value.checked_mul(unit).ok_or(EvalError::Overflow)
            }
            Number::Exact(value, own) => {
                let unit = power_of_ten(own - scale).ok_or(EvalError::Overflow)?;
                Ok(arithmetic::round(value, unit, is_cut)? / unit)
            }
        }
    }

    fn float(&self) -> f64 {
        match *self {
            Number::Exact(value, scale) => number_form::decimal_to_float(value, scale),
            Number::Float(value) => value,
        }
    }
}

fn numbers(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let from = call.ty(0);
    let number = number(from, argument(cells))?;
    number_as(&number, &call.result, type_facts::is_money(from))
}

/// A number as a value of a type of numbers.
fn number_as(number: &Number, ty: &SqlType, rounds: bool) -> EvalResult<Outcome> {
    let within = |value: i128| {
        let (least, most) = type_facts::range(ty).ok_or(EvalError::Overflow)?;
        let value = i64::try_from(value).map_err(|_| EvalError::Overflow)?;
        let is_in = (least..=most).contains(&value);
        if is_in { Ok(Outcome::Int(value)) } else { Err(EvalError::Overflow) }
    };
    match *ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let value = number.at_scale(scale, false)?;
            arithmetic::fit_wide(Some(value), precision).map(Outcome::Wide)
        }
        SqlType::Money | SqlType::SmallMoney => within(number.at_scale(MONEY_SCALE, false)?),
        SqlType::Float | SqlType::Real => {
            let value = arithmetic::settle_float(number.float(), *ty == SqlType::Real);
            value.map(Outcome::Float)
        }
        SqlType::Bit => Ok(Outcome::Int(i64::from(number.float() != 0.0))),
        _ => within(number.at_scale(0, !rounds)?),
    }
}

/// Days since 1900-01-01 with their fraction.
fn to_clock(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let number = number(call.ty(0), argument(cells))?;
    let parts = match number {
        Number::Exact(value, scale) => {
            let unit = power_of_ten(scale).ok_or(EvalError::Overflow)?;
            let parts = value.checked_mul(DATETIME_DAY.into()).ok_or(EvalError::Overflow)?;
            arithmetic::round(parts, unit, false)? / unit
        }
        Number::Float(value) => (value * DATETIME_DAY as f64).round() as i128,
    };
    let parts = i64::try_from(parts).map_err(|_| EvalError::Overflow)?;
    let local = moment::read(&SqlType::DateTime, Cell::Int(parts))?;
    moment::write(&call.result, local, to).map_err(|_| EvalError::Overflow)
}

/// datetime and smalldatetime as days since 1900-01-01.
fn from_clock(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let local = moment::read(call.ty(0), argument(cells))?;
    let days = local.days - calendar::DAYS_TO_1900;
    let parts = days * DATETIME_DAY + (local.ticks * 3 + 50_000) / 100_000;
    match call.result {
        SqlType::Float | SqlType::Real => {
            let value = parts as f64 / DATETIME_DAY as f64;
            arithmetic::settle_float(value, call.result == SqlType::Real).map(Outcome::Float)
        }
        SqlType::Bit => Ok(Outcome::Int(i64::from(parts != 0))),
        ref ty => {
            let scale = match *ty {
                SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => scale,
                SqlType::Money | SqlType::SmallMoney => MONEY_SCALE,
                _ => 0,
            };
            let unit = power_of_ten(scale).ok_or(EvalError::Overflow)?;
            let scaled = i128::from(parts).checked_mul(unit).ok_or(EvalError::Overflow)?;
            let value = arithmetic::round(scaled, DATETIME_DAY.into(), false)?;
            number_as(&Number::Exact(value / i128::from(DATETIME_DAY), scale), ty, true)
        }
    }
}

fn temporal(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let local = moment::read(call.ty(0), argument(cells))?;
    moment::write(&call.result, local, to)
}
