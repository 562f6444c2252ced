//! The token message of federated authentication. It is recognised, so that a server can refuse it
//! by name.
//!
//! ```text
//! length u32, token length u32, token, [nonce 32]
//! ```

use crate::error::DecodeError;
use crate::reader::ByteReader;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FedAuthToken<'a> {
    /// The token, usually UTF-16 text.
    pub token: &'a [u8],
    /// Nonce of PRELOGIN, signed.
    pub nonce: Option<[u8; 32]>,
}

impl<'a> FedAuthToken<'a> {
    /// Reads a message body.
    pub fn read(body: &'a [u8]) -> Result<FedAuthToken<'a>, DecodeError> {
        let mut reader = ByteReader::new(body);
        let mut data = reader.sized_u32()?;
        reader.finish()?;
        let length = data.length_u32()?;
        let token = data.take(length)?;
        let nonce = if data.is_empty() { None } else { Some(data.array()?) };
        data.finish()?;
        Ok(FedAuthToken { token, nonce })
    }
}
