//! Facts of types: how their values are held, and what kind of values they are.

use extentdb_types::SqlType;

use crate::lane::LaneKind;

/// Representation of a type's values.
pub fn kind(ty: &SqlType) -> LaneKind {
    match ty {
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. } => LaneKind::Int,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => LaneKind::Wide,
        SqlType::Float | SqlType::Real => LaneKind::Float,
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::RowVersion
        | SqlType::UniqueIdentifier
        // Their values pass through, as they are stored.
        | SqlType::DateTimeOffset { .. }
        | SqlType::Text { .. }
        | SqlType::NText { .. }
        | SqlType::Image
        | SqlType::SqlVariant
        | SqlType::Xml
        | SqlType::Udt { .. } => LaneKind::Bytes,
    }
}

/// Types whose values stored expressions do not look at.
pub fn is_opaque(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::DateTimeOffset { .. }
            | SqlType::Text { .. }
            | SqlType::NText { .. }
            | SqlType::Image
            | SqlType::SqlVariant
            | SqlType::Xml
            | SqlType::Udt { .. }
    )
}

/// Bit to bigint.
pub fn is_integer(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt
    )
}

/// money, smallmoney.
pub fn is_money(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Money | SqlType::SmallMoney)
}

/// float, real.
pub fn is_float(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Float | SqlType::Real)
}

/// char, varchar, nchar, nvarchar.
pub fn is_text(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
    )
}

/// nchar, nvarchar.
pub fn is_wide_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. })
}

/// binary, varbinary, rowversion.
pub fn is_binary(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::RowVersion)
}

/// The types whose values are points in time.
pub fn is_clock(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::DateTime
            | SqlType::SmallDateTime
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime2 { .. }
    )
}

/// char, nchar, binary: padded to their length.
pub fn is_padded(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Char { .. } | SqlType::NChar { .. } | SqlType::Binary { .. })
}

/// Precision and scale of an exact number as a decimal.
pub fn digits(ty: &SqlType) -> Option<(u8, u8)> {
    match *ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Some((precision, scale))
        }
        SqlType::Bit => Some((1, 0)),
        SqlType::TinyInt => Some((3, 0)),
        SqlType::SmallInt => Some((5, 0)),
        SqlType::Int => Some((10, 0)),
        SqlType::BigInt => Some((19, 0)),
        SqlType::Money => Some((19, 4)),
        SqlType::SmallMoney => Some((10, 4)),
        _ => None,
    }
}

/// Least and greatest value of a type held as an integer; `None` for other types. Clocks: see
/// `calendar`.
pub fn range(ty: &SqlType) -> Option<(i64, i64)> {
    Some(match ty {
        SqlType::Bit => (0, 1),
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int | SqlType::SmallMoney => (i32::MIN.into(), i32::MAX.into()),
        SqlType::BigInt | SqlType::Money => (i64::MIN, i64::MAX),
        SqlType::DateTime | SqlType::SmallDateTime | SqlType::Date | SqlType::Time { .. } => {
            return crate::calendar::range(ty);
        }
        SqlType::DateTime2 { .. } => return crate::calendar::range(ty),
        _ => return None,
    })
}

/// Bytes that a binary type holds, `None` for `(max)` and other types.
pub fn bytes_len(ty: &SqlType) -> Option<u16> {
    match *ty {
        SqlType::Binary { len } => Some(len),
        SqlType::VarBinary { len } => len,
        SqlType::RowVersion => Some(8),
        _ => None,
    }
}

/// decimal and numeric.
pub fn is_decimal(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Decimal { .. } | SqlType::Numeric { .. })
}

/// bit to decimal, money, float, real.
pub fn is_number(ty: &SqlType) -> bool {
    digits(ty).is_some() || is_float(ty)
}

/// Any type of dates or times.
pub fn is_temporal(ty: &SqlType) -> bool {
    is_clock(ty) || matches!(ty, SqlType::DateTimeOffset { .. })
}

/// Characters a text type holds, `None` for `(max)` (and for other types).
pub fn characters(ty: &SqlType) -> Option<u16> {
    match *ty {
        SqlType::Char { len, .. } => Some(len),
        SqlType::VarChar { len, .. } => len,
        SqlType::NChar { len, .. } => Some(len / 2),
        SqlType::NVarChar { len, .. } => len.map(|len| len / 2),
        _ => None,
    }
}
