//! sql_variant: a value with its type.
//!
//! ```text
//! total u32 (0 = NULL), then
//! base type u8, length of properties u8, properties, value
//!   scalars, date, GUID         no properties; no length before the value
//!   time, datetime2, …offset    scale
//!   decimal, numeric            precision, scale; value: sign, magnitude
//!   binary                      largest length u16
//!   char, nchar                 collation 5, largest length u16
//! ```

use extentdb_types::{Datum, Variant};

use super::date_text::write_date_text;
use super::decode::{decode_bytes, scalar_value};
use super::encode::{in_code_page, mismatch, patch, write_scalar, write_unsized};
use super::layout::byte_length;

use crate::collation::WireCollation;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::UnitWriter;
use crate::type_info::{Nullability, Scalar, TypeInfo, VariantDates, code};
use crate::{Protocol, TdsVersion};

/// The value of the bytes after the total.
pub(super) fn decode(bytes: &[u8]) -> Result<Variant<'_>, Cause> {
    let mut reader = ByteReader::new(bytes);
    let header = read_header(&mut reader).map_err(|error| error.cause)?;
    let mut properties = ByteReader::new(header.properties);
    let info = base_type(header.code, &mut properties).map_err(|error| error.cause)?;
    properties.finish().map_err(|error| error.cause)?;
    let value = value_of(&info, reader.take_rest())?;
    let collation = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    let ty = info.to_sql_type(collation).ok_or(Cause::Type { code: header.code })?;
    Ok(Variant { ty, value })
}

struct Header<'a> {
    code: u8,
    properties: &'a [u8],
}

fn read_header<'a>(reader: &mut ByteReader<'a>) -> Result<Header<'a>, DecodeError> {
    Ok(Header { code: reader.u8()?, properties: reader.b_varbyte()? })
}

fn base_type(base: u8, properties: &mut ByteReader<'_>) -> Result<TypeInfo, DecodeError> {
    if let Some(scalar) = Scalar::from_fixed(base) {
        return Ok(TypeInfo::Fixed(scalar));
    }
    let collation =
        |properties: &mut ByteReader<'_>| properties.array::<5>().map(WireCollation::from_bytes);
    Ok(match base {
        code::GUID => TypeInfo::Guid,
        code::DATE => TypeInfo::Date,
        code::TIME => TypeInfo::Time { scale: read_scale(properties, 7)? },
        code::DATETIME2 => TypeInfo::DateTime2 { scale: read_scale(properties, 7)? },
        code::DATETIMEOFFSET => TypeInfo::DateTimeOffset { scale: read_scale(properties, 7)? },
        code::DECIMALN | code::NUMERICN | code::DECIMAL | code::NUMERIC => {
            let precision = properties.u8()?;
            if !(1..=38).contains(&precision) {
                let cause = Cause::Value { field: "precision", found: precision.into() };
                return Err(properties.fail(cause));
            }
            let scale = read_scale(properties, precision)?;
            match base {
                code::DECIMALN | code::DECIMAL => TypeInfo::Decimal { precision, scale },
                _ => TypeInfo::Numeric { precision, scale },
            }
        }
        code::BINARY => TypeInfo::Binary { len: properties.u16()? },
        code::VARBINARY => TypeInfo::VarBinary { len: Some(properties.u16()?) },
        code::CHAR | code::VARCHAR | code::NCHAR | code::NVARCHAR => {
            let collation = collation(properties)?;
            let len = properties.u16()?;
            match base {
                code::CHAR => TypeInfo::Char { len, collation },
                code::VARCHAR => TypeInfo::VarChar { len: Some(len), collation },
                code::NCHAR => TypeInfo::NChar { len, collation },
                _ => TypeInfo::NVarChar { len: Some(len), collation },
            }
        }
        _ => return Err(properties.fail(Cause::Type { code: base })),
    })
}

fn read_scale(properties: &mut ByteReader<'_>, max: u8) -> Result<u8, DecodeError> {
    let scale = properties.u8()?;
    let cause = Cause::Value { field: "scale", found: scale.into() };
    if scale > max { Err(properties.fail(cause)) } else { Ok(scale) }
}

fn value_of<'a>(info: &TypeInfo, bytes: &'a [u8]) -> Result<Datum<'a>, Cause> {
    match info {
        TypeInfo::Fixed(scalar) => scalar_value(*scalar, bytes),
        _ => decode_bytes(info, bytes),
    }
}

/// Appends total, type and value.
pub(super) fn write(
    variant: &Variant<'_>,
    dates: VariantDates,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let total_at = out.len();
    out.extend([0; 4]);
    // The version only decides about dates, which `dates` does here.
    let protocol =
        Protocol::new(TdsVersion::V7_4, extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let info = TypeInfo::of(variant.ty, Nullability::NotNull, &protocol);
    let is_date = matches!(
        info,
        TypeInfo::Date
            | TypeInfo::Time { .. }
            | TypeInfo::DateTime2 { .. }
            | TypeInfo::DateTimeOffset { .. }
    );
    if is_date && dates == VariantDates::Text {
        write_as_text(&variant.value, &protocol, out)?;
    } else {
        write_properties(&info, out)?;
        write_base(&info, &variant.value, out)?;
    }
    let total = (out.len() - total_at - 4) as u32;
    patch(total_at, &total.to_le_bytes(), out);
    Ok(())
}

fn write_as_text(
    value: &Datum<'_>,
    protocol: &Protocol,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    out.extend([code::NVARCHAR, 7]);
    out.extend(protocol.wire_collation().to_bytes());
    let len_at = out.len();
    out.extend([0; 2]);
    let mismatch = EncodeError::TypeMismatch { wire: "sql_variant", value: value.kind_name() };
    match write_date_text(value, &mut UnitWriter { out }) {
        Ok(true) => {}
        _ => return Err(mismatch),
    }
    let len = (out.len() - len_at - 2) as u16;
    patch(len_at, &len.to_le_bytes(), out);
    Ok(())
}

fn write_properties(info: &TypeInfo, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let not_inside = EncodeError::TypeMismatch { wire: "sql_variant", value: info.name() };
    out.push(info.code());
    match info {
        TypeInfo::Fixed(_) | TypeInfo::Guid | TypeInfo::Date => out.push(0),
        TypeInfo::Time { scale }
        | TypeInfo::DateTime2 { scale }
        | TypeInfo::DateTimeOffset { scale } => out.extend([1, *scale]),
        TypeInfo::Decimal { precision, scale } | TypeInfo::Numeric { precision, scale } => {
            out.extend([2, *precision, *scale]);
        }
        TypeInfo::Binary { len } | TypeInfo::VarBinary { len: Some(len) } => {
            out.push(2);
            out.extend(len.to_le_bytes());
        }
        TypeInfo::Char { len, collation }
        | TypeInfo::VarChar { len: Some(len), collation }
        | TypeInfo::NChar { len, collation }
        | TypeInfo::NVarChar { len: Some(len), collation } => {
            out.push(7);
            out.extend(collation.to_bytes());
            out.extend(len.to_le_bytes());
        }
        _ => return Err(not_inside),
    }
    Ok(())
}

fn write_base(info: &TypeInfo, value: &Datum<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match info {
        TypeInfo::Fixed(scalar) => write_scalar(*scalar, value, out),
        _ if byte_length(info).is_some() => write_unsized(info, value, out),
        _ => write_plain(info, value, out),
    }
}

/// Values that are their bytes.
fn write_plain(info: &TypeInfo, value: &Datum<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match (info, value) {
        (TypeInfo::Binary { .. } | TypeInfo::VarBinary { .. }, Datum::Binary(bytes)) => {
            out.extend_from_slice(bytes);
        }
        (TypeInfo::NChar { .. } | TypeInfo::NVarChar { .. }, Datum::NChar(text)) => {
            out.extend_from_slice(&text.bytes);
        }
        (
            TypeInfo::Char { collation, .. } | TypeInfo::VarChar { collation, .. },
            Datum::Char(text),
        ) => out.extend_from_slice(&in_code_page(text, *collation)),
        _ => return Err(mismatch(info, value)),
    }
    Ok(())
}
