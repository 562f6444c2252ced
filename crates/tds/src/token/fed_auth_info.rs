//! FEDAUTHINFO: where a client gets its token of federated authentication.
//!
//! ```text
//! length u32, count u32, for each: id u8, length u32, offset u32 (from the count); then the data
//!
//! 1 URL of the token service, 2 name of the service: UTF-16 text
//! ```

use super::sized;
use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0xEE;
/// URL of the token service.
pub const STS_URL: u8 = 1;
/// Name of the service.
pub const SPN: u8 = 2;

const ENTRY_BYTES: usize = 9;

/// A piece of information.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FedAuthInfo {
    /// [`STS_URL`], [`SPN`] or one that is not known here.
    pub id: u8,
    /// UTF-16 text for the known ids.
    pub data: Vec<u8>,
}

/// Reads the pieces.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<FedAuthInfo>, DecodeError> {
    let body = reader.sized_u32()?;
    let mut entries = body;
    let count = entries.length_u32()?;
    let most = body.rest().len() / ENTRY_BYTES;
    if count > most {
        let found = count as u64;
        let cause = Cause::Limit { field: "FEDAUTHINFO count", found, max: most as u64 };
        return Err(entries.fail_before(4, cause));
    }
    let mut pieces = Vec::with_capacity(count);
    for _ in 0..count {
        let id = entries.u8()?;
        let length = entries.length_u32()?;
        let offset = entries.length_u32()?;
        let mut data = body;
        data.take(offset)?;
        pieces.push(FedAuthInfo { id, data: data.take(length)?.to_vec() });
    }
    Ok(pieces)
}

/// Appends the token.
pub fn write(pieces: &[FedAuthInfo], out: &mut Vec<u8>) {
    sized::write_u32(TOKEN, out, |out| {
        out.extend((pieces.len() as u32).to_le_bytes());
        let mut offset = 4 + pieces.len() * ENTRY_BYTES;
        for piece in pieces {
            out.push(piece.id);
            out.extend((piece.data.len() as u32).to_le_bytes());
            out.extend((offset as u32).to_le_bytes());
            offset += piece.data.len();
        }
        for piece in pieces {
            out.extend_from_slice(&piece.data);
        }
    });
}
