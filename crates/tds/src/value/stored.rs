//! Values from the bytes of a row, without a [`Datum`] between them.
//!
//! Most types have the same bytes in a row and on the wire. money, datetime and smalldatetime have
//! their halves swapped; xml, sql_variant and what an old client sees as text are decoded first.

use extentdb_types::{Datum, SqlType};

use super::encode::{write_bytes, write_null, write_value};
use super::layout::byte_length;
use crate::error::{Cause, EncodeError};
use crate::type_info::{Place, Scalar, TypeInfo};

/// Appends a value of type `ty`, as rows and expressions hold it (`None` = NULL), as type `info`,
/// which is [`TypeInfo::of`] that type. After an error `out` is as it was.
///
/// The bytes are not verified to be a value of the type; their number is.
#[inline]
pub fn write_stored(
    info: &TypeInfo,
    place: Place,
    ty: &SqlType,
    bytes: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Some(bytes) = bytes else { return write_null(info, place, out) };
    match info {
        TypeInfo::Nullable(scalar) if bytes.len() == usize::from(scalar.bytes()) => {
            out.push(scalar.bytes());
            write_scalar(*scalar, bytes, out);
            Ok(())
        }
        TypeInfo::Fixed(scalar) if bytes.len() == usize::from(scalar.bytes()) => {
            write_scalar(*scalar, bytes, out);
            Ok(())
        }
        _ if byte_length(info).is_some_and(|len| usize::from(len) == bytes.len()) => {
            // At most 17 bytes: the length fits its byte.
            out.push(bytes.len() as u8);
            out.extend_from_slice(bytes);
            Ok(())
        }
        _ if is_plain(info, ty) => write_bytes(info, place, bytes, out),
        _ => write_decoded(info, place, ty, bytes, out),
    }
}

#[inline]
fn write_scalar(scalar: Scalar, bytes: &[u8], out: &mut Vec<u8>) {
    match scalar {
        Scalar::Money | Scalar::DateTime | Scalar::SmallDateTime => {
            let (low, high) = bytes.split_at_checked(bytes.len() / 2).unwrap_or((bytes, &[]));
            out.extend_from_slice(high);
            out.extend_from_slice(low);
        }
        _ => out.extend_from_slice(bytes),
    }
}

/// Is the value its bytes in both forms?
fn is_plain(info: &TypeInfo, ty: &SqlType) -> bool {
    match info {
        TypeInfo::Char { .. } | TypeInfo::VarChar { .. } | TypeInfo::Text { .. } => true,
        TypeInfo::Binary { .. } | TypeInfo::VarBinary { .. } | TypeInfo::Image { .. } => true,
        TypeInfo::Udt(_) => true,
        TypeInfo::NChar { .. } | TypeInfo::NVarChar { .. } | TypeInfo::NText { .. } => {
            matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. })
        }
        _ => false,
    }
}

fn write_decoded(
    info: &TypeInfo,
    place: Place,
    ty: &SqlType,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let value =
        Datum::decode(ty, bytes).map_err(|error| EncodeError::Stored(Cause::from(error)))?;
    write_value(info, place, &value, out)
}
