//! Values as a message holds them, not yet decoded.

use super::layout::{self, ValueLayout};
use super::plp::Plp;
use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::type_info::{Place, TypeInfo};

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
    #[inline]
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
