//! ORDER: the columns by which a result is ordered. Length u16, ordinals u16 from 1.

use super::sized;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0xA9;

/// Reads the ordinals.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<u16>, DecodeError> {
    let length = reader.u16()?;
    if length % 2 == 1 {
        let cause = Cause::Value { field: "ORDER length", found: length.into() };
        return Err(reader.fail_before(2, cause));
    }
    let bytes = reader.take(length.into())?;
    Ok(bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
}

/// Appends the token.
pub fn write(ordinals: &[u16], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    sized::write_u16(TOKEN, out, |out| {
        out.extend(ordinals.iter().flat_map(|ordinal| ordinal.to_le_bytes()));
        Ok(())
    })
}
