//! From the compressed form of a value to the form that an uncompressed row has. Unverified, see
//! [`compressed`](super).
//!
//! ```text
//! type                                 compressed form (empty = 0, blank or no bytes at all)
//! bit                                  in the descriptor
//! tinyint                              one byte
//! smallint int bigint money smallmoney big-endian in the fewest bytes, the sign bit flipped: 1 =
//!          81, -1 = 7f
//! datetime                             like a bigint: days in the high, ticks of 1/300 s in the
//!                                      low 32 bits
//! rowversion                           big-endian in the fewest bytes
//! float real smalldatetime             little-endian without the zero bytes at its start
//! date time datetime2 datetimeoffset   as uncompressed; zero bytes at its end may be left out
//! decimal numeric                      [`vardecimal`](crate::record::vardecimal)
//! char nchar                           without trailing blanks
//! nchar(n) nvarchar(n)                 in an odd number of bytes [`scsu`](super::scsu), else
//!                                      UTF-16
//! binary                               without trailing zero bytes
//! uniqueidentifier                     16 bytes
//! the others, and all (max) types      as uncompressed
//! ```

use std::borrow::Cow;

use extentdb_types::SqlType;

use super::scsu::{ScsuError, decode_scsu};
use crate::record::vardecimal::{VarDecimalError, expand_vardecimal};

/// A value of a compressed row before its type is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompressedValue<'a> {
    /// The column is NULL.
    Null,
    /// A bit of value 1.
    BitTrue,
    /// The compressed form; empty = zero or blank.
    Bytes(Cow<'a, [u8]>),
    /// A pointer structure: text pointer, inline root or row-overflow pointer.
    Pointer(&'a [u8]),
}

/// Why a value cannot be had from a compressed row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompressedError {
    /// The record is damaged at this column.
    #[error("the compressed record is damaged here")]
    Unreadable,
    /// A symbol on a page that has no dictionary.
    #[error("dictionary symbol {symbol} on a page without dictionary")]
    NoDictionary {
        /// Page dictionary symbol.
        symbol: u8,
    },
    /// A symbol that the dictionary does not have.
    #[error("dictionary symbol {symbol}, but there are {entries} entries")]
    Symbol {
        /// Page dictionary symbol.
        symbol: u8,
        /// Entries that can be read.
        entries: u16,
    },
    /// An anchored column stores bytes without a prefix length.
    #[error("a value of an anchored column has no prefix length")]
    NoPrefix,
    /// The prefix is longer than the anchor.
    #[error("prefix of {found} bytes, but the anchor has {anchor}")]
    Prefix {
        /// Bytes to take from the anchor.
        found: usize,
        /// Bytes of the anchor.
        anchor: usize,
    },
    /// The prefix may be one of two bytes.
    #[error("not decoded: the form of prefix lengths above 127 is not published")]
    LongPrefix,
    /// The anchor record has a pointer or symbol where a prefix belongs.
    #[error("not decoded: the anchor of this column is no plain value")]
    Anchor,
    /// The value lies in other pages: follow the pointer.
    #[error("the value of {ty} is a pointer to other pages")]
    IsPointer {
        /// Type of the column.
        ty: SqlType,
    },
    /// A bit descriptor in a column of another type, or bytes in a bit column.
    #[error("the descriptor does not go with {ty}")]
    Descriptor {
        /// Type of the column.
        ty: SqlType,
    },
    /// More bytes than the type has, or for uniqueidentifier fewer.
    #[error("{ty} has {expected} bytes, its compressed form {found}")]
    Length {
        /// Type of the column.
        ty: SqlType,
        /// Bytes of the type.
        expected: usize,
        /// Bytes of the stored value.
        found: usize,
    },
    /// Compressed text that is none.
    #[error(transparent)]
    Text(#[from] ScsuError),
    /// A decimal that is none.
    #[error(transparent)]
    Decimal(#[from] VarDecimalError),
}

impl<'a> CompressedValue<'a> {
    /// The value as an uncompressed row would have it (a bit as one byte, 0 or 1); `None` = NULL.
    pub fn decompress(self, ty: &SqlType) -> Result<Option<Cow<'a, [u8]>>, CompressedError> {
        match self {
            CompressedValue::Null => Ok(None),
            CompressedValue::BitTrue if ty.is_bit() => Ok(Some(Cow::Borrowed(&[1]))),
            CompressedValue::BitTrue => Err(CompressedError::Descriptor { ty: *ty }),
            CompressedValue::Pointer(_) => Err(CompressedError::IsPointer { ty: *ty }),
            CompressedValue::Bytes(Cow::Borrowed(bytes)) => decompress_value(ty, bytes).map(Some),
            CompressedValue::Bytes(Cow::Owned(bytes)) => {
                let value = decompress_value(ty, &bytes)?.into_owned();
                Ok(Some(Cow::Owned(value)))
            }
        }
    }
}

/// The form that an uncompressed row has, from the compressed form of a value that is not NULL.
pub fn decompress_value<'a>(
    ty: &SqlType,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, CompressedError> {
    match *ty {
        SqlType::Bit if bytes.is_empty() => Ok(Cow::Borrowed(&[0])),
        SqlType::Bit => Err(CompressedError::Descriptor { ty: *ty }),
        SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::DateTime => signed(ty, bytes),
        SqlType::RowVersion => pad(ty, bytes, Side::Left, &[0]),
        SqlType::Float | SqlType::Real | SqlType::SmallDateTime => pad(ty, bytes, Side::Left, &[0]),
        SqlType::TinyInt
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. }
        | SqlType::Binary { .. } => pad(ty, bytes, Side::Right, &[0]),
        SqlType::Char { .. } => pad(ty, bytes, Side::Right, b" "),
        SqlType::NChar { .. } => pad_owned(ty, text(bytes)?, b" \0"),
        SqlType::NVarChar { len: Some(_), .. } => text(bytes),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let fixed = expand_vardecimal(bytes, precision, scale)?;
            Ok(Cow::Owned(fixed.as_bytes().to_vec()))
        }
        SqlType::UniqueIdentifier => guid(ty, bytes),
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Bytes of a fixed-length type, and the error when `bytes` are more.
fn width(ty: &SqlType, bytes: &[u8]) -> Result<usize, CompressedError> {
    let expected = ty.fixed_bytes().unwrap_or(0);
    if bytes.len() > expected {
        return Err(CompressedError::Length { ty: *ty, expected, found: bytes.len() });
    }
    Ok(expected)
}

/// Big-endian bytes, whose number *n* gives the bias 2^(8n-1), to little-endian ones.
fn signed<'a>(ty: &SqlType, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, CompressedError> {
    let width = width(ty, bytes)?;
    let unsigned = bytes.iter().fold(0i128, |number, byte| number << 8 | i128::from(*byte));
    let bias = if bytes.is_empty() { 0 } else { 1i128 << (8 * bytes.len() - 1) };
    let value = (unsigned - bias).to_le_bytes();
    Ok(Cow::Owned(value.get(..width).unwrap_or_default().to_vec()))
}

/// Fills up to the width of the type with a repeated pattern.
fn pad<'a>(
    ty: &SqlType,
    bytes: &'a [u8],
    side: Side,
    filler: &[u8],
) -> Result<Cow<'a, [u8]>, CompressedError> {
    let width = width(ty, bytes)?;
    if bytes.len() == width {
        return Ok(Cow::Borrowed(bytes));
    }
    let missing = filler.iter().copied().cycle().take(width - bytes.len());
    Ok(Cow::Owned(match side {
        Side::Left => missing.chain(bytes.iter().copied()).collect(),
        Side::Right => bytes.iter().copied().chain(missing).collect(),
    }))
}

fn pad_owned<'a>(
    ty: &SqlType,
    bytes: Cow<'a, [u8]>,
    filler: &[u8],
) -> Result<Cow<'a, [u8]>, CompressedError> {
    match bytes {
        Cow::Borrowed(bytes) => pad(ty, bytes, Side::Right, filler),
        Cow::Owned(bytes) => Ok(Cow::Owned(pad(ty, &bytes, Side::Right, filler)?.into_owned())),
    }
}

/// UTF-16 of a text that is compressed when its number of bytes is odd.
fn text(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CompressedError> {
    if bytes.len().is_multiple_of(2) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut utf16 = Vec::with_capacity(2 * bytes.len());
    decode_scsu(bytes, &mut utf16)?;
    Ok(Cow::Owned(utf16))
}

fn guid<'a>(ty: &SqlType, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, CompressedError> {
    match bytes.len() {
        16 => Ok(Cow::Borrowed(bytes)),
        0 => Ok(Cow::Borrowed(&[0; 16])),
        found => Err(CompressedError::Length { ty: *ty, expected: 16, found }),
    }
}

mod write;

pub use write::compress_value;

#[cfg(test)]
mod tests;
