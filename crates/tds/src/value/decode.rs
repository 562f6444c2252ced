//! Values to [`Datum`].

use std::borrow::Cow;

use extentdb_types::{
    CharText, CodePage, DateTime, Datum, Decimal, Field, Money, NText, SmallDateTime, SmallMoney,
    SqlType,
};

use super::raw::RawValue;
use super::variant;
use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::type_info::{Place, Scalar, TypeInfo};

/// First bytes of binary XML, and of UTF-16 with a byte order mark.
const BINARY_XML: [u8; 2] = [0xDF, 0xFF];
const BYTE_ORDER_MARK: [u8; 2] = [0xFF, 0xFE];

/// Reads and decodes a value.
pub fn read_value<'a>(
    info: &TypeInfo,
    place: Place,
    reader: &mut ByteReader<'a>,
) -> Result<Datum<'a>, DecodeError> {
    let at = reader.position();
    let raw = RawValue::read(info, place, reader)?;
    decode(info, raw).map_err(|cause| DecodeError { at, cause })
}

/// The value of raw bytes of type `info`.
///
/// Of INTN, FLTN, MONEYN and DATETIMN the length of the value decides, not that of the type. xml is
/// text, and [`Datum::NChar`], unless the client sent binary XML.
pub fn decode<'a>(info: &TypeInfo, raw: RawValue<'a>) -> Result<Datum<'a>, Cause> {
    match raw {
        RawValue::Null => Ok(Datum::Null),
        RawValue::Bytes(bytes) => decode_bytes(info, bytes),
        RawValue::Plp(plp) => decode_joined(info, plp.join()),
    }
}

pub(super) fn decode_bytes<'a>(info: &TypeInfo, bytes: &'a [u8]) -> Result<Datum<'a>, Cause> {
    match *info {
        TypeInfo::Fixed(scalar) | TypeInfo::Nullable(scalar) => decode_scalar(scalar, bytes),
        TypeInfo::Guid => stored(SqlType::UniqueIdentifier, bytes),
        TypeInfo::Decimal { precision, scale } | TypeInfo::Numeric { precision, scale } => {
            decode_decimal(precision, scale, bytes)
        }
        TypeInfo::Date => stored(SqlType::Date, bytes),
        TypeInfo::Time { scale } => stored(SqlType::Time { scale }, bytes),
        TypeInfo::DateTime2 { scale } => stored(SqlType::DateTime2 { scale }, bytes),
        TypeInfo::DateTimeOffset { scale } => stored(SqlType::DateTimeOffset { scale }, bytes),
        TypeInfo::Variant { .. } => {
            variant::decode(bytes).map(|value| Datum::Variant(Box::new(value)))
        }
        _ => decode_joined(info, Cow::Borrowed(bytes)),
    }
}

/// Values that are their bytes.
fn decode_joined<'a>(info: &TypeInfo, bytes: Cow<'a, [u8]>) -> Result<Datum<'a>, Cause> {
    match info {
        TypeInfo::NChar { .. } | TypeInfo::NVarChar { .. } | TypeInfo::NText { .. } => nchar(bytes),
        TypeInfo::Xml(_) if bytes.starts_with(&BINARY_XML) => Ok(Datum::Xml(bytes)),
        TypeInfo::Xml(_) => nchar(without_mark(bytes)),
        TypeInfo::Udt(udt) => Ok(Datum::Udt { kind: udt.kind(), bytes }),
        _ => Ok(match info.collation() {
            Some(collation) => char(bytes, collation.code_page()),
            None => Datum::Binary(bytes),
        }),
    }
}

fn char(bytes: Cow<'_, [u8]>, code_page: CodePage) -> Datum<'_> {
    Datum::Char(CharText { bytes, code_page })
}

fn nchar(bytes: Cow<'_, [u8]>) -> Result<Datum<'_>, Cause> {
    if bytes.len() % 2 == 1 {
        return Err(Cause::OddText { bytes: bytes.len() });
    }
    Ok(Datum::NChar(NText { bytes }))
}

fn without_mark(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if !bytes.starts_with(&BYTE_ORDER_MARK) {
        return bytes;
    }
    match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(2..).unwrap_or(&[])),
        Cow::Owned(mut bytes) => {
            bytes.drain(..2);
            Cow::Owned(bytes)
        }
    }
}

/// Types whose wire form is that of a row.
fn stored(ty: SqlType, bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    Datum::decode(&ty, bytes).map_err(Cause::from)
}

/// A value of the type of this family that has as many bytes.
fn decode_scalar(declared: Scalar, bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    let cause = Cause::Value { field: "length of value", found: bytes.len() as u64 };
    let scalar = Scalar::from_nullable(declared.nullable_code(), bytes.len()).ok_or(cause)?;
    scalar_value(scalar, bytes)
}

/// The value of a type without length; also inside of sql_variant.
pub(super) fn scalar_value(scalar: Scalar, bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    Ok(match scalar {
        Scalar::TinyInt => Datum::TinyInt(u8::from_le_bytes(array(bytes)?)),
        // Any byte but 0 is true, as clients send it.
        Scalar::Bit => Datum::Bit(array::<1>(bytes)? != [0]),
        Scalar::SmallInt => Datum::SmallInt(i16::from_le_bytes(array(bytes)?)),
        Scalar::Int => Datum::Int(i32::from_le_bytes(array(bytes)?)),
        Scalar::BigInt => Datum::BigInt(i64::from_le_bytes(array(bytes)?)),
        Scalar::Real => Datum::Real(f32::from_le_bytes(array(bytes)?)),
        Scalar::Float => Datum::Float(f64::from_le_bytes(array(bytes)?)),
        Scalar::SmallMoney => Datum::SmallMoney(SmallMoney(i32::from_le_bytes(array(bytes)?))),
        // The high half comes first: turned by 32 bits it is an i64.
        Scalar::Money => Datum::Money(Money(i64::from_le_bytes(array(bytes)?).rotate_left(32))),
        Scalar::SmallDateTime => decode_smalldatetime(bytes)?,
        Scalar::DateTime => decode_datetime(bytes)?,
    })
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Cause> {
    let cause = Cause::Value { field: "length of value", found: bytes.len() as u64 };
    <[u8; N]>::try_from(bytes).map_err(|_| cause)
}

fn out_of_range(field: Field, found: u64) -> Cause {
    Cause::Value { field: field.name(), found }
}

fn decode_smalldatetime(bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    let [a, b, c, d] = array(bytes)?;
    let days = u16::from_le_bytes([a, b]);
    let minutes = u16::from_le_bytes([c, d]);
    let value = SmallDateTime::new(days, minutes);
    value.map(Datum::SmallDateTime).map_err(|field| out_of_range(field, minutes.into()))
}

fn decode_datetime(bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    let [a, b, c, d, ticks @ ..] = array::<8>(bytes)?;
    let days = i32::from_le_bytes([a, b, c, d]);
    let ticks = u32::from_le_bytes(ticks);
    DateTime::new(days, ticks).map(Datum::DateTime).map_err(|field| {
        let found = if field == Field::Days { days as u32 } else { ticks };
        out_of_range(field, found.into())
    })
}

/// Sign and magnitude; the magnitude may be shorter than the precision needs.
fn decode_decimal(precision: u8, scale: u8, bytes: &[u8]) -> Result<Datum<'_>, Cause> {
    let (&sign, magnitude) =
        bytes.split_first().ok_or(Cause::Value { field: "length of value", found: 0 })?;
    if sign > 1 {
        return Err(out_of_range(Field::Sign, sign.into()));
    }
    if magnitude.len() > 16 {
        let found = bytes.len() as u64;
        return Err(Cause::Value { field: "length of value", found });
    }
    let fold = |value: u128, byte: &u8| value << 8 | u128::from(*byte);
    let magnitude = magnitude.iter().rev().fold(0, fold);
    Decimal::new(sign == 0, magnitude, scale)
        .filter(|value| value.fits_precision(precision))
        .map(Datum::Decimal)
        .ok_or(out_of_range(Field::Magnitude, u64::try_from(magnitude).unwrap_or(u64::MAX)))
}

const _: () = assert!(BINARY_XML[0] != BYTE_ORDER_MARK[0], "the first byte tells them apart");
