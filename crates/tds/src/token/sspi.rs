//! SSPI: a token of integrated authentication. Length u16, bytes.

use super::sized;
use crate::error::{DecodeError, EncodeError};
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0xED;

/// Reads the bytes.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<u8>, DecodeError> {
    let length = reader.u16()?;
    Ok(reader.take(length.into())?.to_vec())
}

/// Appends the token.
pub fn write(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    sized::write_u16(TOKEN, out, |out| {
        out.extend_from_slice(bytes);
        Ok(())
    })
}
