//! How a value of a type says its length.

use crate::type_info::{Place, TypeInfo, decimal_bytes, time_bytes};

/// Timestamp after a text pointer.
pub(crate) const TIMESTAMP_BYTES: usize = 8;
/// Length of the text pointers that servers send.
pub(crate) const POINTER_BYTES: u8 = 16;

/// What stands before the bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueLayout {
    /// There is no value: NULL without a type.
    Nothing,
    /// The number of bytes is that of the type.
    Fixed(usize),
    /// u8, 0 = NULL.
    Byte,
    /// u16, 0xFFFF = NULL.
    Short,
    /// u32, 0 = NULL.
    Variant,
    /// u32, 0xFFFFFFFF = NULL.
    LongText,
    /// Pointer, timestamp, u32.
    TextPointer,
    /// Chunks.
    Plp,
}

impl ValueLayout {
    pub(crate) fn of(info: &TypeInfo, place: Place) -> ValueLayout {
        match info {
            TypeInfo::Null => ValueLayout::Nothing,
            TypeInfo::Fixed(scalar) => ValueLayout::Fixed(scalar.bytes().into()),
            TypeInfo::Nullable(_)
            | TypeInfo::Guid
            | TypeInfo::Decimal { .. }
            | TypeInfo::Numeric { .. }
            | TypeInfo::Date
            | TypeInfo::Time { .. }
            | TypeInfo::DateTime2 { .. }
            | TypeInfo::DateTimeOffset { .. }
            | TypeInfo::ShortChar { .. }
            | TypeInfo::ShortVarChar { .. }
            | TypeInfo::ShortBinary { .. }
            | TypeInfo::ShortVarBinary { .. } => ValueLayout::Byte,
            TypeInfo::VarChar { len: None, .. }
            | TypeInfo::NVarChar { len: None, .. }
            | TypeInfo::VarBinary { len: None }
            | TypeInfo::Xml(_)
            | TypeInfo::Udt(_) => ValueLayout::Plp,
            TypeInfo::Char { .. }
            | TypeInfo::VarChar { .. }
            | TypeInfo::NChar { .. }
            | TypeInfo::NVarChar { .. }
            | TypeInfo::Binary { .. }
            | TypeInfo::VarBinary { .. } => ValueLayout::Short,
            TypeInfo::Variant { .. } => ValueLayout::Variant,
            TypeInfo::Text { .. } | TypeInfo::NText { .. } | TypeInfo::Image { .. } => {
                match place {
                    Place::Column => ValueLayout::TextPointer,
                    Place::Parameter => ValueLayout::LongText,
                }
            }
        }
    }
}

/// Most bytes of a value that says its length in two bytes; `None` where the length field or the
/// decoder of the value is the limit.
pub(crate) fn bytes_max(info: &TypeInfo) -> Option<usize> {
    match *info {
        TypeInfo::Char { len, .. } | TypeInfo::NChar { len, .. } | TypeInfo::Binary { len } => {
            Some(len.into())
        }
        TypeInfo::VarChar { len, .. }
        | TypeInfo::NVarChar { len, .. }
        | TypeInfo::VarBinary { len } => len.map(usize::from),
        TypeInfo::ShortChar { len, .. }
        | TypeInfo::ShortVarChar { len, .. }
        | TypeInfo::ShortBinary { len }
        | TypeInfo::ShortVarBinary { len } => Some(len.into()),
        _ => None,
    }
}

/// Bytes of a value that is not a scalar and says its length in one byte; `None` for all others.
pub(crate) fn byte_length(info: &TypeInfo) -> Option<u8> {
    Some(match info {
        TypeInfo::Guid => 16,
        TypeInfo::Decimal { precision, .. } | TypeInfo::Numeric { precision, .. } => {
            decimal_bytes(*precision)
        }
        TypeInfo::Date => 3,
        TypeInfo::Time { scale } => time_bytes(*scale),
        TypeInfo::DateTime2 { scale } => time_bytes(*scale) + 3,
        TypeInfo::DateTimeOffset { scale } => time_bytes(*scale) + 5,
        _ => return None,
    })
}
