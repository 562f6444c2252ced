//! ERROR and INFO: what the server has to say.
//!
//! ```text
//! length u16, number i32, state u8, class u8,
//! text US_VARCHAR, server B_VARCHAR, procedure B_VARCHAR, line i32 (7.1: u16)
//! ```

use super::sized;
use crate::error::{DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::{shortened, write_b_varchar, write_us_varchar};
use crate::version::TdsVersion;

/// First byte of ERROR.
pub const ERROR_TOKEN: u8 = 0xAA;
/// First byte of INFO.
pub const INFO_TOKEN: u8 = 0xAB;
/// Code units that a text is cut to, so that the token's length stays within two bytes.
pub const TEXT_UNITS_MAX: usize = 16_000;
/// Code units that names are cut to.
const NAME_UNITS_MAX: usize = 255;

const _: () = assert!(
    4 + 2 + 2 * TEXT_UNITS_MAX + 2 + 2 * (1 + 2 * NAME_UNITS_MAX) + 4 <= u16::MAX as usize,
    "a message of the longest texts fits its length field"
);

/// Which of the two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Class 11 and above.
    Error,
    /// PRINT, warnings, and what a session was changed to.
    Info,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerMessage {
    /// ERROR or INFO.
    pub kind: MessageKind,
    /// Number; 0 for PRINT.
    pub number: i32,
    /// State.
    pub state: u8,
    /// Severity.
    pub class: u8,
    /// Text.
    pub text: String,
    /// Name of the server, as `@@SERVERNAME` says it.
    pub server: String,
    /// Procedure that the statement stands in; empty in a batch.
    pub procedure: String,
    /// Line in the batch or procedure.
    pub line: u32,
}

impl ServerMessage {
    pub(crate) fn read(
        kind: MessageKind,
        reader: &mut ByteReader<'_>,
        version: TdsVersion,
    ) -> Result<ServerMessage, DecodeError> {
        let mut reader = reader.sized_u16()?;
        Ok(ServerMessage {
            kind,
            number: reader.i32()?,
            state: reader.u8()?,
            class: reader.u8()?,
            text: reader.us_varchar()?.to_string(),
            server: reader.b_varchar()?.to_string(),
            procedure: reader.b_varchar()?.to_string(),
            line: if version.is_7_2_or_later() { reader.u32()? } else { reader.u16()?.into() },
        })
    }

    /// Appends the token. A text that is too long is cut to [`TEXT_UNITS_MAX`], names to 255: an
    /// error must not fail to be said.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) {
        let token = match self.kind {
            MessageKind::Error => ERROR_TOKEN,
            MessageKind::Info => INFO_TOKEN,
        };
        let result = sized::write_u16(token, out, |out| self.write_body(version, out));
        debug_assert!(result.is_ok(), "texts were cut to what the length fields can say");
    }

    fn write_body(&self, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend(self.number.to_le_bytes());
        out.extend([self.state, self.class]);
        write_us_varchar("text", shortened(&self.text, TEXT_UNITS_MAX), out)?;
        write_b_varchar("server", shortened(&self.server, NAME_UNITS_MAX), out)?;
        write_b_varchar("procedure", shortened(&self.procedure, NAME_UNITS_MAX), out)?;
        if version.is_7_2_or_later() {
            out.extend(self.line.to_le_bytes());
        } else {
            out.extend(u16::try_from(self.line).unwrap_or(u16::MAX).to_le_bytes());
        }
        Ok(())
    }
}
