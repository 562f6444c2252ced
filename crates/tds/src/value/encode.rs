//! [`Datum`] to values.

use std::borrow::Cow;

use extentdb_types::{CharText, CodePage, Date, Datum, Decimal, Time, xml};

use super::date_text::write_date_text;
use super::layout::{POINTER_BYTES, TIMESTAMP_BYTES, ValueLayout, byte_length, bytes_max};
use super::{plp, variant};
use crate::collation::WireCollation;
use crate::error::EncodeError;
use crate::text::UnitWriter;
use crate::type_info::{Place, Scalar, TypeInfo, decimal_bytes, time_bytes};

/// Largest value of one that says its length in two bytes: 0xFFFF is NULL.
const SHORT_BYTES_MAX: usize = 0xFFFE;

/// Appends a value as type `info`; after an error `out` is as it was.
///
/// The value must be of the type, with these exceptions: dates and times become text in nvarchar,
/// binary XML becomes text in xml and ntext, CLR values become bytes in varbinary and image, and
/// text of another code page is converted, with `?` for what the column's does not have.
#[inline]
pub fn write_value(
    info: &TypeInfo,
    place: Place,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let result = match (info, value) {
        (_, Datum::Null) => write_null(info, place, out),
        (TypeInfo::Nullable(scalar), _) => {
            out.push(scalar.bytes());
            write_scalar(*scalar, value, out)
        }
        (TypeInfo::Fixed(scalar), _) => write_scalar(*scalar, value, out),
        _ => write_other(info, place, value, out),
    };
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the NULL of a type.
pub(super) fn write_null(
    info: &TypeInfo,
    place: Place,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match ValueLayout::of(info, place) {
        ValueLayout::Nothing => {}
        ValueLayout::Fixed(_) => return Err(EncodeError::Null { wire: info.name() }),
        ValueLayout::Byte | ValueLayout::TextPointer => out.push(0),
        ValueLayout::Short => out.extend([0xFF; 2]),
        ValueLayout::Variant => out.extend([0; 4]),
        ValueLayout::LongText => out.extend([0xFF; 4]),
        ValueLayout::Plp => out.extend(plp::NULL.to_le_bytes()),
    }
    Ok(())
}

/// Appends the bytes of a scalar without a length.
#[inline]
pub(super) fn write_scalar(
    scalar: Scalar,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match (scalar, value) {
        (Scalar::Int, Datum::Int(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (Scalar::BigInt, Datum::BigInt(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (Scalar::Bit, Datum::Bit(value)) => out.push(u8::from(*value)),
        (Scalar::TinyInt, Datum::TinyInt(value)) => out.push(*value),
        (Scalar::SmallInt, Datum::SmallInt(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (Scalar::Float, Datum::Float(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (Scalar::Real, Datum::Real(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (Scalar::Money, Datum::Money(value)) => {
            out.extend_from_slice(&value.0.rotate_left(32).to_le_bytes());
        }
        (Scalar::SmallMoney, Datum::SmallMoney(value)) => {
            out.extend_from_slice(&value.0.to_le_bytes());
        }
        (Scalar::DateTime, Datum::DateTime(value)) => {
            out.extend_from_slice(&value.days().to_le_bytes());
            out.extend_from_slice(&value.ticks().to_le_bytes());
        }
        (Scalar::SmallDateTime, Datum::SmallDateTime(value)) => {
            out.extend_from_slice(&value.days().to_le_bytes());
            out.extend_from_slice(&value.minutes().to_le_bytes());
        }
        _ => return Err(mismatch(&TypeInfo::Fixed(scalar), value)),
    }
    Ok(())
}

fn write_other(
    info: &TypeInfo,
    place: Place,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match (info, value) {
        (
            TypeInfo::NChar { .. } | TypeInfo::NVarChar { .. } | TypeInfo::NText { .. },
            Datum::NChar(text),
        )
        | (TypeInfo::Xml(_), Datum::NChar(text)) => write_bytes(info, place, &text.bytes, out),
        (_, Datum::Char(text)) => write_char(info, place, text, out),
        (_, Datum::Binary(bytes)) if is_binary(info) => write_bytes(info, place, bytes, out),
        (_, Datum::Udt { bytes, .. }) if is_binary(info) => write_bytes(info, place, bytes, out),
        (TypeInfo::Udt(_), Datum::Udt { bytes, .. } | Datum::Binary(bytes)) => {
            write_bytes(info, place, bytes, out)
        }
        (TypeInfo::Binary { len: 8 }, Datum::RowVersion(value)) => {
            write_bytes(info, place, &value.to_be_bytes(), out)
        }
        (TypeInfo::Variant { dates, .. }, Datum::Variant(value)) => {
            variant::write(value, *dates, out)
        }
        (TypeInfo::Xml(_) | TypeInfo::NText { .. }, Datum::Xml(bytes)) => {
            write_sized(info, place, out, |out| {
                xml::write_text(bytes, &mut UnitWriter { out }).map_err(|_| EncodeError::Xml)
            })
        }
        _ => match byte_length(info) {
            Some(len) => {
                out.push(len);
                write_unsized(info, value, out)
            }
            None => write_as_text(info, place, value, out),
        },
    }
}

/// Appends a value of a type with a length of one byte, without that length.
pub(super) fn write_unsized(
    info: &TypeInfo,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match (info, value) {
        (TypeInfo::Guid, Datum::Guid(guid)) => out.extend_from_slice(&guid.0),
        (
            TypeInfo::Decimal { precision, scale } | TypeInfo::Numeric { precision, scale },
            Datum::Decimal(value),
        ) => write_decimal(info, value, *precision, *scale, out)?,
        (TypeInfo::Date, Datum::Date(date)) => write_date(*date, out),
        (TypeInfo::Time { scale }, Datum::Time(time)) => write_time(info, *time, *scale, out)?,
        (TypeInfo::DateTime2 { scale }, Datum::DateTime2(value)) => {
            write_time(info, value.time, *scale, out)?;
            write_date(value.date, out);
        }
        (TypeInfo::DateTimeOffset { scale }, Datum::DateTimeOffset(value)) => {
            write_time(info, value.utc().time, *scale, out)?;
            write_date(value.utc().date, out);
            out.extend_from_slice(&value.offset_minutes().to_le_bytes());
        }
        _ => return Err(mismatch(info, value)),
    }
    Ok(())
}

/// Dates and times in nvarchar.
fn write_as_text(
    info: &TypeInfo,
    place: Place,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if !matches!(info, TypeInfo::NVarChar { .. } | TypeInfo::NChar { .. }) {
        return Err(mismatch(info, value));
    }
    write_sized(info, place, out, |out| {
        let result = write_date_text(value, &mut UnitWriter { out });
        if result == Ok(true) { Ok(()) } else { Err(mismatch(info, value)) }
    })
}

pub(super) fn mismatch(info: &TypeInfo, value: &Datum<'_>) -> EncodeError {
    EncodeError::TypeMismatch { wire: info.name(), value: value.kind_name() }
}

fn is_binary(info: &TypeInfo) -> bool {
    matches!(
        info,
        TypeInfo::Binary { .. }
            | TypeInfo::VarBinary { .. }
            | TypeInfo::Image { .. }
            | TypeInfo::ShortBinary { .. }
            | TypeInfo::ShortVarBinary { .. }
    )
}

fn write_date(date: Date, out: &mut Vec<u8>) {
    let [a, b, c, _] = date.days().to_le_bytes();
    out.extend_from_slice(&[a, b, c]);
}

fn write_time(
    info: &TypeInfo,
    time: Time,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if time.scale() != scale {
        let found = time.scale();
        return Err(EncodeError::Scale { wire: info.name(), scale, found });
    }
    let bytes = time.ticks().to_le_bytes();
    out.extend_from_slice(bytes.get(..time_bytes(scale).into()).unwrap_or(&bytes));
    Ok(())
}

/// Sign and magnitude.
fn write_decimal(
    info: &TypeInfo,
    value: &Decimal,
    precision: u8,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if value.scale() != scale {
        let found = value.scale();
        return Err(EncodeError::Scale { wire: info.name(), scale, found });
    }
    if !value.fits_precision(precision) {
        let found = decimal_bytes(extentdb_types::decimal::MAX_PRECISION).into();
        let max = decimal_bytes(precision).into();
        return Err(EncodeError::Length { wire: info.name(), max, found });
    }
    out.push(u8::from(!value.is_negative()));
    let bytes = value.magnitude().to_le_bytes();
    let len = usize::from(decimal_bytes(precision)) - 1;
    out.extend_from_slice(bytes.get(..len).unwrap_or(&bytes));
    Ok(())
}

fn write_char(
    info: &TypeInfo,
    place: Place,
    text: &CharText<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let is_char = matches!(
        info,
        TypeInfo::Char { .. }
            | TypeInfo::VarChar { .. }
            | TypeInfo::Text { .. }
            | TypeInfo::ShortChar { .. }
            | TypeInfo::ShortVarChar { .. }
    );
    let Some(collation) = info.collation().filter(|_| is_char) else {
        return Err(EncodeError::TypeMismatch { wire: info.name(), value: "char" });
    };
    let bytes = in_code_page(text, collation);
    write_bytes(info, place, &bytes, out)
}

/// The bytes of a text in the code page of a column.
pub(super) fn in_code_page<'t>(text: &'t CharText<'_>, wire: WireCollation) -> Cow<'t, [u8]> {
    let target = wire.code_page();
    let is_same = text.code_page == target
        || target == CodePage::Unknown
        || text.code_page == CodePage::Unknown;
    if is_same || text.bytes.is_ascii() {
        return Cow::Borrowed(&text.bytes);
    }
    let (text, _) = text.decode();
    if let Some(bytes) = target.encode(&text) {
        return Cow::Owned(bytes);
    }
    let mut buffer = [0; 4];
    let encoded = |character: char| {
        let bytes = target.encode(character.encode_utf8(&mut buffer));
        bytes.unwrap_or_else(|| vec![b'?'])
    };
    Cow::Owned(text.chars().flat_map(encoded).collect())
}

/// Appends bytes with the length that the type has.
pub(super) fn write_bytes(
    info: &TypeInfo,
    place: Place,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let found = bytes.len();
    if let Some(max) = bytes_max(info)
        && found > max
    {
        return Err(EncodeError::Length { wire: info.name(), max, found });
    }
    match ValueLayout::of(info, place) {
        ValueLayout::Short if found <= SHORT_BYTES_MAX => {
            out.extend_from_slice(&(found as u16).to_le_bytes());
            out.extend_from_slice(bytes);
            Ok(())
        }
        ValueLayout::Plp if found <= plp::BYTES_MAX => {
            plp::write(bytes, out);
            Ok(())
        }
        _ => write_sized(info, place, out, |out| {
            out.extend_from_slice(bytes);
            Ok(())
        }),
    }
}

/// Appends bytes that a function writes, and fills in their length afterwards.
fn write_sized(
    info: &TypeInfo,
    place: Place,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let layout = ValueLayout::of(info, place);
    if layout == ValueLayout::TextPointer {
        write_text_pointer(out);
    }
    let length_bytes = match layout {
        ValueLayout::Byte => 1,
        ValueLayout::Short => 2,
        ValueLayout::Plp => 12,
        _ => 4,
    };
    let length_at = out.len();
    out.resize(length_at + length_bytes, 0);
    write(out)?;
    let found = out.len() - length_at - length_bytes;
    let max = match layout {
        ValueLayout::Byte => u8::MAX.into(),
        ValueLayout::Short => SHORT_BYTES_MAX,
        _ => plp::BYTES_MAX,
    };
    let max = bytes_max(info).unwrap_or(max).min(max);
    if found > max {
        return Err(EncodeError::Length { wire: info.name(), max, found });
    }
    let length = (found as u64).to_le_bytes();
    if layout == ValueLayout::Plp {
        return finish_plp(length_at, found, out);
    }
    patch(length_at, length.get(..length_bytes).unwrap_or(&length), out);
    Ok(())
}

/// Appends pointer and timestamp. Clients keep them but do not look into them.
pub(super) fn write_text_pointer(out: &mut Vec<u8>) {
    out.push(POINTER_BYTES);
    out.resize(out.len() + usize::from(POINTER_BYTES) + TIMESTAMP_BYTES, 0);
}

/// Total and chunk length of a PLP value whose bytes are written.
fn finish_plp(length_at: usize, found: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    patch(length_at, &(found as u64).to_le_bytes(), out);
    patch(length_at + 8, &(found as u32).to_le_bytes(), out);
    // An empty chunk is the end already.
    if found > 0 {
        out.extend([0; 4]);
    }
    Ok(())
}

/// Writes over bytes that are there.
pub(super) fn patch(at: usize, bytes: &[u8], out: &mut [u8]) {
    for (to, from) in out.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}
