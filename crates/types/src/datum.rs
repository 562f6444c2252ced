//! A value: decoded from its stored bytes, borrowed from the page where it can be, and written
//! back.
//!
//! ```text
//! text, ntext, image, (max), xml, UDT the assembled value, not the pointer in the row
//! bit                                 one byte, 0 or 1 (a row's shared bit is the caller's to
//!                                     place)
//! everything else                     exactly the bytes of the row
//! ```
//!
//! Invariants
//! - `decode` accepts only values SQL Server could have stored; the error names field and content,
//!   the raw bytes stay with the caller. Two exceptions that the checker judges itself: NaN or
//!   infinity in real and float.
//! - `encode(decode(bytes)) == bytes`.

use std::borrow::Cow;

use crate::datetime::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use crate::decimal::Decimal;
use crate::error::{DecodeError, EncodeError, Field};
use crate::guid::Guid;
use crate::money::{Money, SmallMoney};
use crate::sql_type::{SqlType, UdtKind, decimal_bytes, time_bytes};
use crate::text::{CharText, CodePage, NText};
use crate::variant::{self, Variant};

/// A SQL value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "variants are SQL Server's own types")]
pub enum Datum<'a> {
    Null,
    Bit(bool),
    TinyInt(u8),
    SmallInt(i16),
    Int(i32),
    BigInt(i64),
    /// decimal and numeric.
    Decimal(Decimal),
    Money(Money),
    SmallMoney(SmallMoney),
    Float(f64),
    Real(f32),
    DateTime(DateTime),
    SmallDateTime(SmallDateTime),
    Date(Date),
    Time(Time),
    DateTime2(DateTime2),
    DateTimeOffset(DateTimeOffset),
    /// char, varchar, text.
    Char(CharText<'a>),
    /// nchar, nvarchar, ntext.
    NChar(NText<'a>),
    /// binary, varbinary, image.
    Binary(Cow<'a, [u8]>),
    RowVersion(u64),
    Guid(Guid),
    Variant(Box<Variant<'a>>),
    /// Binary XML as stored.
    Xml(Cow<'a, [u8]>),
    /// The serialised form of a CLR type.
    Udt {
        kind: UdtKind,
        bytes: Cow<'a, [u8]>,
    },
}

impl<'a> Datum<'a> {
    /// The value behind `bytes`.
    pub fn decode(ty: &SqlType, bytes: &'a [u8]) -> Result<Datum<'a>, DecodeError> {
        check_length(ty, bytes.len())?;
        Ok(match *ty {
            SqlType::Bit => Datum::Bit(decode_bit(bytes)?),
            SqlType::TinyInt => Datum::TinyInt(u8::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::SmallInt => Datum::SmallInt(i16::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::Int => Datum::Int(i32::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::BigInt => Datum::BigInt(i64::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                Datum::Decimal(decode_decimal(ty, precision, scale, bytes)?)
            }
            SqlType::Money => Datum::Money(Money(i64::from_le_bytes(fixed(ty, bytes)?))),
            SqlType::SmallMoney => {
                Datum::SmallMoney(SmallMoney(i32::from_le_bytes(fixed(ty, bytes)?)))
            }
            SqlType::Float => Datum::Float(f64::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::Real => Datum::Real(f32::from_le_bytes(fixed(ty, bytes)?)),
            SqlType::DateTime => Datum::DateTime(decode_datetime(ty, fixed(ty, bytes)?)?),
            SqlType::SmallDateTime => {
                Datum::SmallDateTime(decode_smalldatetime(ty, fixed(ty, bytes)?)?)
            }
            SqlType::Date => Datum::Date(decode_date(ty, bytes)?),
            SqlType::Time { scale } => Datum::Time(decode_time(ty, scale, bytes)?),
            SqlType::DateTime2 { scale } => Datum::DateTime2(decode_datetime2(ty, scale, bytes)?),
            SqlType::DateTimeOffset { scale } => {
                Datum::DateTimeOffset(decode_datetimeoffset(ty, scale, bytes)?)
            }
            SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation } => {
                let code_page = collation.code_page().unwrap_or(CodePage::Unknown);
                Datum::Char(CharText { bytes: Cow::Borrowed(bytes), code_page })
            }
            SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. } => {
                Datum::NChar(NText { bytes: Cow::Borrowed(bytes) })
            }
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image => {
                Datum::Binary(Cow::Borrowed(bytes))
            }
            SqlType::RowVersion => Datum::RowVersion(u64::from_be_bytes(fixed(ty, bytes)?)),
            SqlType::UniqueIdentifier => Datum::Guid(Guid(fixed(ty, bytes)?)),
            SqlType::SqlVariant => Datum::Variant(Box::new(variant::decode(bytes)?)),
            SqlType::Xml => Datum::Xml(Cow::Borrowed(bytes)),
            SqlType::Udt { kind, .. } => Datum::Udt { kind, bytes: Cow::Borrowed(bytes) },
        })
    }

    /// Appends the stored form as a column of type `ty`.
    ///
    /// Nothing is converted: value and type must agree, fixed-length strings must have their full
    /// length. `out` is unchanged after an error.
    pub fn encode(&self, ty: &SqlType, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let result = self.encode_into(ty, out).and_then(|()| {
            let found = out.len() - start;
            check_length(ty, found).map_err(|_| EncodeError::Length { ty: *ty, found })
        });
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn encode_into(&self, ty: &SqlType, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match (self, *ty) {
            (Datum::Null, _) => return Err(EncodeError::Null { ty: *ty }),
            (Datum::Bit(value), SqlType::Bit) => out.push(u8::from(*value)),
            (Datum::TinyInt(value), SqlType::TinyInt) => out.push(*value),
            (Datum::SmallInt(value), SqlType::SmallInt) => out.extend(value.to_le_bytes()),
            (Datum::Int(value), SqlType::Int) => out.extend(value.to_le_bytes()),
            (Datum::BigInt(value), SqlType::BigInt) => out.extend(value.to_le_bytes()),
            (Datum::Decimal(value), SqlType::Decimal { precision, scale })
            | (Datum::Decimal(value), SqlType::Numeric { precision, scale }) => {
                encode_decimal(ty, value, precision, scale, out)?;
            }
            (Datum::Money(value), SqlType::Money) => out.extend(value.0.to_le_bytes()),
            (Datum::SmallMoney(value), SqlType::SmallMoney) => out.extend(value.0.to_le_bytes()),
            (Datum::Float(value), SqlType::Float) => out.extend(value.to_le_bytes()),
            (Datum::Real(value), SqlType::Real) => out.extend(value.to_le_bytes()),
            (Datum::DateTime(value), SqlType::DateTime) => {
                out.extend(value.ticks().to_le_bytes());
                out.extend(value.days().to_le_bytes());
            }
            (Datum::SmallDateTime(value), SqlType::SmallDateTime) => {
                out.extend(value.minutes().to_le_bytes());
                out.extend(value.days().to_le_bytes());
            }
            (Datum::Date(value), SqlType::Date) => encode_date(*value, out),
            (Datum::Time(value), SqlType::Time { scale }) => encode_time(ty, *value, scale, out)?,
            (Datum::DateTime2(value), SqlType::DateTime2 { scale }) => {
                encode_time(ty, value.time, scale, out)?;
                encode_date(value.date, out);
            }
            (Datum::DateTimeOffset(value), SqlType::DateTimeOffset { scale }) => {
                encode_time(ty, value.utc().time, scale, out)?;
                encode_date(value.utc().date, out);
                out.extend(value.offset_minutes().to_le_bytes());
            }
            (
                Datum::Char(text),
                SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text { .. },
            ) => {
                out.extend_from_slice(&text.bytes);
            }
            (
                Datum::NChar(text),
                SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. },
            ) => {
                out.extend_from_slice(&text.bytes);
            }
            (
                Datum::Binary(bytes),
                SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image,
            ) => {
                out.extend_from_slice(bytes);
            }
            (Datum::RowVersion(value), SqlType::RowVersion) => out.extend(value.to_be_bytes()),
            (Datum::Guid(value), SqlType::UniqueIdentifier) => out.extend(value.0),
            (Datum::Variant(value), SqlType::SqlVariant) => variant::encode(value, out)?,
            (Datum::Xml(bytes), SqlType::Xml) => out.extend_from_slice(bytes),
            (Datum::Udt { bytes, .. }, SqlType::Udt { .. }) => out.extend_from_slice(bytes),
            _ => return Err(EncodeError::TypeMismatch { ty: *ty, value: self.kind_name() }),
        }
        Ok(())
    }

    /// The same value with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Datum<'static> {
        match self {
            Datum::Null => Datum::Null,
            Datum::Bit(value) => Datum::Bit(value),
            Datum::TinyInt(value) => Datum::TinyInt(value),
            Datum::SmallInt(value) => Datum::SmallInt(value),
            Datum::Int(value) => Datum::Int(value),
            Datum::BigInt(value) => Datum::BigInt(value),
            Datum::Decimal(value) => Datum::Decimal(value),
            Datum::Money(value) => Datum::Money(value),
            Datum::SmallMoney(value) => Datum::SmallMoney(value),
            Datum::Float(value) => Datum::Float(value),
            Datum::Real(value) => Datum::Real(value),
            Datum::DateTime(value) => Datum::DateTime(value),
            Datum::SmallDateTime(value) => Datum::SmallDateTime(value),
            Datum::Date(value) => Datum::Date(value),
            Datum::Time(value) => Datum::Time(value),
            Datum::DateTime2(value) => Datum::DateTime2(value),
            Datum::DateTimeOffset(value) => Datum::DateTimeOffset(value),
            Datum::Char(text) => Datum::Char(text.into_owned()),
            Datum::NChar(text) => Datum::NChar(text.into_owned()),
            Datum::Binary(bytes) => Datum::Binary(Cow::Owned(bytes.into_owned())),
            Datum::RowVersion(value) => Datum::RowVersion(value),
            Datum::Guid(value) => Datum::Guid(value),
            Datum::Variant(value) => Datum::Variant(Box::new(value.into_owned())),
            Datum::Xml(bytes) => Datum::Xml(Cow::Owned(bytes.into_owned())),
            Datum::Udt { kind, bytes } => {
                Datum::Udt { kind, bytes: Cow::Owned(bytes.into_owned()) }
            }
        }
    }

    /// Is this NULL?
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The kind of the value in one word, for error messages.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Datum::Null => "NULL",
            Datum::Bit(_) => "bit",
            Datum::TinyInt(_) => "tinyint",
            Datum::SmallInt(_) => "smallint",
            Datum::Int(_) => "int",
            Datum::BigInt(_) => "bigint",
            Datum::Decimal(_) => "decimal",
            Datum::Money(_) => "money",
            Datum::SmallMoney(_) => "smallmoney",
            Datum::Float(_) => "float",
            Datum::Real(_) => "real",
            Datum::DateTime(_) => "datetime",
            Datum::SmallDateTime(_) => "smalldatetime",
            Datum::Date(_) => "date",
            Datum::Time(_) => "time",
            Datum::DateTime2(_) => "datetime2",
            Datum::DateTimeOffset(_) => "datetimeoffset",
            Datum::Char(_) => "char",
            Datum::NChar(_) => "nchar",
            Datum::Binary(_) => "binary",
            Datum::RowVersion(_) => "rowversion",
            Datum::Guid(_) => "uniqueidentifier",
            Datum::Variant(_) => "sql_variant",
            Datum::Xml(_) => "xml",
            Datum::Udt { kind, .. } => kind.name(),
        }
    }
}

/// Is this a length the type can have?
fn check_length(ty: &SqlType, found: usize) -> Result<(), DecodeError> {
    if let Some(expected) = ty.fixed_bytes()
        && found != expected
    {
        return Err(DecodeError::Length { ty: *ty, expected, found });
    }
    if let Some(max) = ty.max_bytes()
        && found > max
    {
        return Err(DecodeError::TooLong { ty: *ty, max, found });
    }
    let is_utf16 =
        matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. });
    if is_utf16 && found % 2 == 1 {
        return Err(DecodeError::OddLength { ty: *ty, found });
    }
    Ok(())
}

/// The bytes as an array; the length was checked before, but a mistake there must not panic.
fn fixed<const N: usize>(ty: &SqlType, bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    bytes.try_into().map_err(|_| DecodeError::Length { ty: *ty, expected: N, found: bytes.len() })
}

fn range(ty: &SqlType, field: Field, found: impl Into<i128>) -> DecodeError {
    DecodeError::Range { ty: *ty, field, found: found.into() }
}

/// A little-endian integer of up to 16 bytes.
fn integer(bytes: &[u8]) -> u128 {
    bytes.iter().take(16).rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

fn decode_bit(bytes: &[u8]) -> Result<bool, DecodeError> {
    match fixed::<1>(&SqlType::Bit, bytes)? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(range(&SqlType::Bit, Field::Bit, other)),
    }
}

fn decode_decimal(
    ty: &SqlType,
    precision: u8,
    scale: u8,
    bytes: &[u8],
) -> Result<Decimal, DecodeError> {
    let expected = decimal_bytes(precision);
    let (&sign, magnitude) =
        bytes.split_first().ok_or(DecodeError::Length { ty: *ty, expected, found: bytes.len() })?;
    if sign > 1 {
        return Err(range(ty, Field::Sign, sign));
    }
    let magnitude = integer(magnitude);
    Decimal::new(sign == 0, magnitude, scale)
        .filter(|value| value.fits_precision(precision))
        // A magnitude beyond i128 is shown as its largest value; the raw bytes say the rest.
        .ok_or_else(|| range(ty, Field::Magnitude, i128::try_from(magnitude).unwrap_or(i128::MAX)))
}

fn encode_decimal(
    ty: &SqlType,
    value: &Decimal,
    precision: u8,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if value.scale() != scale {
        return Err(EncodeError::Scale { ty: *ty, found: value.scale() });
    }
    if !value.fits_precision(precision) {
        return Err(EncodeError::Range { ty: *ty, field: Field::Magnitude });
    }
    out.push(u8::from(!value.is_negative()));
    out.extend_from_slice(&value.magnitude().to_le_bytes()[..decimal_bytes(precision) - 1]);
    Ok(())
}

fn decode_datetime(ty: &SqlType, bytes: [u8; 8]) -> Result<DateTime, DecodeError> {
    let [a, b, c, d, rest @ ..] = bytes;
    let ticks = u32::from_le_bytes([a, b, c, d]);
    let days = i32::from_le_bytes(rest);
    DateTime::new(days, ticks).map_err(|field| match field {
        Field::Days => range(ty, field, days),
        _ => range(ty, field, ticks),
    })
}

fn decode_smalldatetime(ty: &SqlType, bytes: [u8; 4]) -> Result<SmallDateTime, DecodeError> {
    let [a, b, c, d] = bytes;
    let minutes = u16::from_le_bytes([a, b]);
    let days = u16::from_le_bytes([c, d]);
    SmallDateTime::new(days, minutes).map_err(|field| range(ty, field, minutes))
}

fn decode_date(ty: &SqlType, bytes: &[u8]) -> Result<Date, DecodeError> {
    let [a, b, c] = fixed(ty, bytes)?;
    let days = u32::from_le_bytes([a, b, c, 0]);
    Date::new(days).map_err(|field| range(ty, field, days))
}

fn decode_time(ty: &SqlType, scale: u8, bytes: &[u8]) -> Result<Time, DecodeError> {
    // At most five bytes: the cast keeps them all.
    let ticks = integer(bytes) as u64;
    Time::new(ticks, scale).map_err(|field| range(ty, field, ticks))
}

fn decode_datetime2(ty: &SqlType, scale: u8, bytes: &[u8]) -> Result<DateTime2, DecodeError> {
    let (time, date) = bytes.split_at_checked(time_bytes(scale)).unwrap_or((bytes, &[]));
    Ok(DateTime2 {
        time: decode_time(ty, scale, time)?,
        date: decode_date(ty, date)?,
    })
}

fn decode_datetimeoffset(
    ty: &SqlType,
    scale: u8,
    bytes: &[u8],
) -> Result<DateTimeOffset, DecodeError> {
    let (instant, offset) = bytes.split_at_checked(time_bytes(scale) + 3).unwrap_or((bytes, &[]));
    let utc = decode_datetime2(ty, scale, instant)?;
    let offset = i16::from_le_bytes(fixed(ty, offset)?);
    DateTimeOffset::new(utc, offset).map_err(|field| range(ty, field, offset))
}

fn encode_date(date: Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&date.days().to_le_bytes()[..3]);
}

fn encode_time(ty: &SqlType, time: Time, scale: u8, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if time.scale() != scale {
        return Err(EncodeError::Scale { ty: *ty, found: time.scale() });
    }
    out.extend_from_slice(&time.ticks().to_le_bytes()[..time_bytes(scale)]);
    Ok(())
}

#[cfg(test)]
mod tests;
