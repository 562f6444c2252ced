//! sql_variant: a value that carries its type.
//!
//! ```text
//! +0  xtype of the value
//! +1  version, 1
//! +2  properties
//!       integers, bit, float, real, money, datetime, date, uniqueidentifier   none
//!       decimal, numeric                        precision u8, scale u8
//!       time, datetime2, datetimeoffset         scale u8
//!       binary, varbinary                       max length u16
//!       char, varchar, nchar, nvarchar          max length u16, collation id u32
//!     value in its normal form, character and binary types unpadded
//! ```
//!
//! Verified for int, bigint, bit and nvarchar; the other base types are from public descriptions.

use crate::datum::Datum;
use crate::error::{DecodeError, EncodeError, Field};
use crate::sql_type::{SqlType, xtype};

/// Largest stored sql_variant: 8,000 bytes of value and 16 of type.
pub(crate) const MAX_BYTES: usize = 8_016;

const VERSION: u8 = 1;

/// A value with its base type.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant<'a> {
    /// The base type; lengths are the declared maximum.
    pub ty: SqlType,
    /// The value: never NULL, never a sql_variant.
    pub value: Datum<'a>,
}

impl Variant<'_> {
    /// The same value with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Variant<'static> {
        Variant { ty: self.ty, value: self.value.into_owned() }
    }
}

/// Reads type, properties and value.
pub(crate) fn decode(bytes: &[u8]) -> Result<Variant<'_>, DecodeError> {
    let too_short = DecodeError::VariantTooShort { found: bytes.len() };
    let (&[code, version], rest) = bytes.split_first_chunk::<2>().ok_or(too_short)?;
    if version != VERSION {
        return Err(out_of_range(Field::VariantVersion, version.into()));
    }
    let properties = property_bytes(code).ok_or(out_of_range(Field::VariantType, code.into()))?;
    let (properties, value) = rest.split_at_checked(properties).ok_or(too_short)?;
    let ty = base_type(code, properties).ok_or_else(|| {
        let found = properties.iter().rev().fold(0, |all, byte| all << 8 | i128::from(*byte));
        out_of_range(Field::VariantProperty, found)
    })?;
    Ok(Variant { ty, value: Datum::decode(&stored_type(ty), value)? })
}

/// Writes type, properties and value.
pub(crate) fn encode(variant: &Variant<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let ty = variant.ty;
    if property_bytes(ty.xtype()).is_none() || ty.is_max() {
        return Err(EncodeError::TypeMismatch { ty: SqlType::SqlVariant, value: ty.base_name() });
    }
    out.extend([ty.xtype(), VERSION]);
    match ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            out.extend([precision, scale]);
        }
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => {
            out.push(scale);
        }
        _ => {
            // Only the character and binary types have a length to write.
            if let Some(len) = declared_length(ty) {
                out.extend(len.to_le_bytes());
            }
            if let Some(collation) = ty.collation() {
                out.extend(collation.0.to_le_bytes());
            }
        }
    }
    variant.value.encode(&stored_type(ty), out)
}

fn out_of_range(field: Field, found: i128) -> DecodeError {
    DecodeError::Range { ty: SqlType::SqlVariant, field, found }
}

/// Size of the properties; `None` for codes that cannot be inside a sql_variant.
fn property_bytes(code: u8) -> Option<usize> {
    match code {
        xtype::BIT
        | xtype::TINYINT
        | xtype::SMALLINT
        | xtype::INT
        | xtype::BIGINT
        | xtype::MONEY
        | xtype::SMALLMONEY
        | xtype::FLOAT
        | xtype::REAL
        | xtype::DATETIME
        | xtype::SMALLDATETIME
        | xtype::DATE
        | xtype::UNIQUEIDENTIFIER => Some(0),
        xtype::TIME | xtype::DATETIME2 | xtype::DATETIMEOFFSET => Some(1),
        xtype::DECIMAL | xtype::NUMERIC | xtype::BINARY | xtype::VARBINARY => Some(2),
        xtype::CHAR | xtype::VARCHAR | xtype::NCHAR | xtype::NVARCHAR => Some(6),
        _ => None,
    }
}

fn base_type(code: u8, properties: &[u8]) -> Option<SqlType> {
    // A zero maximum is an empty string's; `from_physical` would read it as (max).
    let byte = |at: usize| properties.get(at).copied().unwrap_or(0);
    let collation = u32::from_le_bytes([byte(2), byte(3), byte(4), byte(5)]);
    let len = u16::from_le_bytes([byte(0), byte(1)]);
    let has_length = property_bytes(code).is_some() && declared_length_code(code);
    if has_length {
        let len = i16::try_from(len).ok()?;
        return SqlType::from_column(code, 0, len, 0, 0, collation);
    }
    SqlType::from_physical(u32::from_le_bytes([code, byte(0), byte(1), 0]), 0)
}

fn declared_length_code(code: u8) -> bool {
    matches!(
        code,
        xtype::BINARY
            | xtype::VARBINARY
            | xtype::CHAR
            | xtype::VARCHAR
            | xtype::NCHAR
            | xtype::NVARCHAR
    )
}

fn declared_length(ty: SqlType) -> Option<u16> {
    match ty {
        SqlType::Char { len, .. } | SqlType::NChar { len, .. } | SqlType::Binary { len } => {
            Some(len)
        }
        SqlType::VarChar { len, .. }
        | SqlType::NVarChar { len, .. }
        | SqlType::VarBinary { len } => len,
        _ => None,
    }
}

/// The type by which the value's bytes are read: fixed-length strings are stored unpadded.
fn stored_type(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Char { len, collation } => SqlType::VarChar { len: Some(len), collation },
        SqlType::NChar { len, collation } => SqlType::NVarChar { len: Some(len), collation },
        SqlType::Binary { len } => SqlType::VarBinary { len: Some(len) },
        other => other,
    }
}

#[cfg(test)]
mod tests;
