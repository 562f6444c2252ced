//! Tokens with a length: it is filled in when the token is written.

use crate::error::EncodeError;

/// Appends a token with a length of two bytes; nothing after an error.
pub(super) fn write_u16(
    token: u8,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.push(token);
    out.extend([0; 2]);
    let result = write(out).and_then(|()| {
        let found = out.len() - start - 3;
        let too_long = EncodeError::Length { wire: "token", max: u16::MAX.into(), found };
        let length = u16::try_from(found).map_err(|_| too_long)?;
        fill(start + 1, &length.to_le_bytes(), out);
        Ok(())
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends a token with a length of four bytes.
pub(super) fn write_u32(token: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(token);
    out.extend([0; 4]);
    write(out);
    let length = (out.len() - start - 5) as u32;
    fill(start + 1, &length.to_le_bytes(), out);
}

fn fill(at: usize, bytes: &[u8], out: &mut [u8]) {
    for (to, from) in out.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}
