//! Values on the wire, and as [`Datum`].
//!
//! ```text
//! no length      types without NULL                          the bytes
//! length u8      INTN …, decimal, GUID, date and time        0 = NULL
//! length u16     char, binary and their n and var forms      FFFF = NULL
//! length u32     sql_variant                                 0 = NULL
//! length u32     text, ntext, image as a parameter           FFFFFFFF = NULL
//! text pointer   text, ntext, image in a row                 pointer length u8 (0 = NULL),
//!                                                            pointer, timestamp 8, length u32
//! PLP            (max), xml, CLR types                       see [`Plp`]
//!
//! money          high i32, low u32 of the value times 10,000
//! datetime       days i32 since 1900-01-01, ticks u32 of 1/300 s; smalldatetime days, minutes u16
//! decimal        sign (1 positive), magnitude LE of 4, 8, 12 or 16 bytes by precision
//! xml            UTF-16 text
//! ```
//!
//! All other values are the bytes that a row holds.
//!
//! Invariants
//! - [`RawValue::read`] takes exactly the bytes of the value or fails; it allocates nothing.
//! - A decoded value borrows from the message, except a PLP value of several chunks.
//! - [`write_value`] appends a whole value or leaves `out` as it was.

pub mod date_text;
mod decode;
mod encode;
mod layout;
mod measure;
mod plp;
mod stored;
mod variant;

pub use decode::{decode, read_value};
pub use encode::write_value;
pub(crate) use measure::{ColumnMeasure, RowMeasure};
pub use plp::{Plp, PlpChunks, write_plp_chunk, write_plp_end, write_plp_start};
pub use stored::write_stored;

use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::type_info::{Place, TypeInfo};
use layout::ValueLayout;

/// A value as the message holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawValue<'a> {
    /// NULL.
    Null,
    /// The bytes, without their length.
    Bytes(&'a [u8]),
    /// Chunks.
    Plp(Plp<'a>),
}

impl<'a> RawValue<'a> {
    /// Reads a value of type `info`.
    pub fn read(
        info: &TypeInfo,
        place: Place,
        reader: &mut ByteReader<'a>,
    ) -> Result<RawValue<'a>, DecodeError> {
        let len = match ValueLayout::of(info, place) {
            ValueLayout::Nothing => return Ok(RawValue::Null),
            ValueLayout::Fixed(len) => Some(len),
            ValueLayout::Byte => Some(usize::from(reader.u8()?)).filter(|len| *len != 0),
            ValueLayout::Short => {
                let len = reader.u16()?;
                (len != u16::MAX).then_some(usize::from(len))
            }
            ValueLayout::Variant => Some(reader.length_u32()?).filter(|len| *len != 0),
            ValueLayout::LongText => {
                let len = reader.length_u32()?;
                (len != u32::MAX as usize).then_some(len)
            }
            ValueLayout::TextPointer => read_text_pointer(reader)?,
            ValueLayout::Plp => return Ok(Plp::read(reader)?.map_or(RawValue::Null, RawValue::Plp)),
        };
        let Some(len) = len else { return Ok(RawValue::Null) };
        if let Some(max) = layout::bytes_max(info)
            && len > max
        {
            let cause = Cause::Limit { field: "value", found: len as u64, max: max as u64 };
            return Err(reader.fail(cause));
        }
        reader.take(len).map(RawValue::Bytes)
    }

    /// Is this NULL?
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, RawValue::Null)
    }

    /// Bytes of the value.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            RawValue::Null => 0,
            RawValue::Bytes(bytes) => bytes.len(),
            RawValue::Plp(plp) => plp.len(),
        }
    }

    /// NULL, or a value without bytes?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The length behind a text pointer; `None` for NULL.
fn read_text_pointer(reader: &mut ByteReader<'_>) -> Result<Option<usize>, DecodeError> {
    let pointer = reader.u8()?;
    if pointer == 0 {
        return Ok(None);
    }
    reader.take(pointer.into())?;
    reader.take(layout::TIMESTAMP_BYTES)?;
    reader.length_u32().map(Some)
}

#[cfg(test)]
mod tests;
