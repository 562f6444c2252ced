//! LOGINACK: the login was successful.
//!
//! ```text
//! length u16, interface u8 (1), TDS version u32 BE, program B_VARCHAR,
//! major u8, minor u8, build u16 BE
//! ```

use super::sized;
use crate::error::{DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::write_b_varchar;

/// First byte.
pub const TOKEN: u8 = 0xAD;
/// Interface of T-SQL.
pub const INTERFACE_TSQL: u8 = 1;
/// Program name that all clients accept; some take a server without `Microsoft` in it for another
/// product.
pub const PROGRAM: &str = "Microsoft SQL Server";

/// The token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginAck {
    /// [`INTERFACE_TSQL`].
    pub interface: u8,
    /// Version that is spoken from here on, as [`TdsVersion::raw`](crate::TdsVersion::raw).
    pub tds_version: u32,
    /// Name of the server program; see [`PROGRAM`].
    pub program: String,
    /// Major version of the product: clients derive features from it.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
    /// Build.
    pub build: u16,
}

impl LoginAck {
    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<LoginAck, DecodeError> {
        let mut reader = reader.sized_u16()?;
        Ok(LoginAck {
            interface: reader.u8()?,
            tds_version: reader.u32_be()?,
            program: reader.b_varchar()?.to_string(),
            major: reader.u8()?,
            minor: reader.u8()?,
            build: reader.u16_be()?,
        })
    }

    /// Appends the token.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        sized::write_u16(TOKEN, out, |out| {
            out.push(self.interface);
            out.extend(self.tds_version.to_be_bytes());
            write_b_varchar("program name", &self.program, out)?;
            out.extend([self.major, self.minor]);
            out.extend(self.build.to_be_bytes());
            Ok(())
        })
    }
}
