//! RETURNSTATUS: the return code of a procedure, i32.

use crate::error::DecodeError;
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0x79;

/// Reads the return code.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<i32, DecodeError> {
    reader.i32()
}

/// Appends the token.
pub fn write(status: i32, out: &mut Vec<u8>) {
    out.push(TOKEN);
    out.extend(status.to_le_bytes());
}
