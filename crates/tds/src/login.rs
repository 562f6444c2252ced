//! LOGIN7: who the client is and what it wants.
//!
//! ```text
//! offset size field
//!      0    4 total length          of the body
//!      4    4 TDS version           u32 LE, 0x74000004 = 7.4
//!      8    4 packet size           0 = the server's default
//!     12    4 client program version
//!     16    4 client process id
//!     20    4 connection id
//!     24    4 OptionFlags1, OptionFlags2, TypeFlags, OptionFlags3
//!     28    4 time zone             minutes
//!     32    4 client LCID
//!     36  9×4 (offset u16, length u16 in characters): host, user, password, application, server,
//!             extension (length in bytes), library, language, database
//!     72    6 client id             MAC address
//!     78    4 SSPI                  length in bytes
//!     82    4 file to attach
//!     86    4 new password          7.2
//!     90    4 long SSPI length      7.2
//!     94      the data
//! ```
//!
//! Offsets are from the start of the body. The fixed part of 7.1 ends at 86. The extension block
//! (OptionFlags3, 0x10) holds a u32, the offset of a list of features: id u8, length u32, data;
//! ended by 0xFF.

mod features;
mod flags;
mod password;
mod write;

pub use features::{Feature, FeatureId};
pub(crate) use features::{read as read_features, write as write_features};
pub use flags::LoginFlags;
pub use password::{Password, obfuscate, reveal};

use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::text::Utf16;
use crate::version::TdsVersion;

/// Bytes of the fixed part.
const FIXED_BYTES_7_1: usize = 86;
const FIXED_BYTES: usize = 94;
/// OptionFlags3: there is an extension block.
const HAS_EXTENSION: u8 = 0x10;
/// SSPI length that says: see the long length.
const SSPI_IS_LONG: u16 = 0xFFFF;

/// A LOGIN7 message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// Version as sent. [`Login::version`] is the one to speak.
    pub tds_version: u32,
    /// Packet size wanted; see [`negotiated_packet_bytes`](crate::packet::negotiated_packet_bytes).
    pub packet_bytes: u32,
    /// Version of the client library.
    pub program_version: u32,
    /// Process of the client.
    pub process_id: u32,
    /// Connection of a client that logs in again.
    pub connection_id: u32,
    /// The four flag bytes.
    pub flags: LoginFlags,
    /// Minutes of the client's time zone.
    pub time_zone_minutes: i32,
    /// Locale of the client.
    pub lcid: u32,
    /// Name of the client's machine.
    pub host: String,
    /// Login name; empty with integrated security.
    pub user: String,
    /// Clear after reading.
    pub password: Password,
    /// Name of the application.
    pub application: String,
    /// Name of the server as the client knows it.
    pub server: String,
    /// Name of the client library.
    pub library: String,
    /// Language wanted; empty = that of the login.
    pub language: String,
    /// Database wanted; empty = that of the login.
    pub database: String,
    /// Usually the MAC address.
    pub client_id: [u8; 6],
    /// SSPI token; not empty: the client wants integrated authentication.
    pub sspi: Vec<u8>,
    /// Database file to attach.
    pub attach_file: String,
    /// With [`LoginFlags::changes_password`].
    pub new_password: Password,
    /// Feature extensions in their order; `None` without an extension block.
    pub features: Option<Vec<Feature>>,
}

impl Login {
    /// Reads a message body. Versions before 7.1 are refused.
    pub fn read(body: &[u8]) -> Result<Login, DecodeError> {
        let mut reader = ByteReader::new(body);
        verify_length(&mut reader, body)?;
        let raw = reader.u32()?;
        let unsupported = Cause::Version { raw };
        let version = TdsVersion::from_raw(raw).ok_or(DecodeError { at: 4, cause: unsupported })?;
        let mut login = Login { tds_version: raw, ..Login::default() };
        login.read_numbers(&mut reader)?;
        login.read_texts(body, &mut reader, version)?;
        Ok(login)
    }

    fn read_numbers(&mut self, reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
        self.packet_bytes = reader.u32()?;
        self.program_version = reader.u32()?;
        self.process_id = reader.u32()?;
        self.connection_id = reader.u32()?;
        self.flags = LoginFlags::from_bytes(reader.array()?);
        self.time_zone_minutes = reader.i32()?;
        self.lcid = reader.u32()?;
        Ok(())
    }

    fn read_texts(
        &mut self,
        body: &[u8],
        reader: &mut ByteReader<'_>,
        version: TdsVersion,
    ) -> Result<(), DecodeError> {
        self.host = Span::read(reader)?.text(body)?.to_string();
        self.user = Span::read(reader)?.text(body)?.to_string();
        self.password = Password::reveal(Span::read(reader)?.text(body)?.bytes());
        self.application = Span::read(reader)?.text(body)?.to_string();
        self.server = Span::read(reader)?.text(body)?.to_string();
        let extension = Span::read(reader)?;
        self.library = Span::read(reader)?.text(body)?.to_string();
        self.language = Span::read(reader)?.text(body)?.to_string();
        self.database = Span::read(reader)?.text(body)?.to_string();
        self.client_id = reader.array()?;
        let sspi = Span::read(reader)?;
        self.attach_file = Span::read(reader)?.text(body)?.to_string();
        let mut sspi_len = usize::from(sspi.length);
        if version.is_7_2_or_later() {
            self.new_password = Password::reveal(Span::read(reader)?.text(body)?.bytes());
            let long = reader.length_u32()?;
            if sspi.length == SSPI_IS_LONG && long != 0 {
                sspi_len = long;
            }
        }
        self.sspi = sspi.part(body, sspi_len)?.rest().to_vec();
        if self.flags.option3 & HAS_EXTENSION != 0 && version.has_feature_extensions() {
            self.features = Some(read_extension(body, extension)?);
        }
        Ok(())
    }

    /// The version to speak with this client.
    #[must_use]
    pub fn version(&self) -> Option<TdsVersion> {
        TdsVersion::from_raw(self.tds_version)
    }

    /// Does the client want to log in as its operating system user?
    #[must_use]
    pub fn wants_integrated_security(&self) -> bool {
        self.flags.has_integrated_security() || !self.sspi.is_empty()
    }

    /// The feature of an id, if the client sent it.
    #[must_use]
    pub fn feature(&self, id: FeatureId) -> Option<&Feature> {
        self.features.iter().flatten().find(|feature| feature.id == id.byte())
    }
}

/// The announced length may not be above what came; some clients pad.
fn verify_length(reader: &mut ByteReader<'_>, body: &[u8]) -> Result<(), DecodeError> {
    let length = reader.u32()?;
    if length as usize > body.len() || (length as usize) < FIXED_BYTES_7_1 {
        let cause = Cause::Value { field: "LOGIN7 length", found: length.into() };
        return Err(DecodeError { at: 0, cause });
    }
    Ok(())
}

/// An offset and a length in the fixed part.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: u16,
    length: u16,
}

impl Span {
    fn read(reader: &mut ByteReader<'_>) -> Result<Span, DecodeError> {
        Ok(Span { offset: reader.u16()?, length: reader.u16()? })
    }

    /// `bytes` bytes from the offset on. Nothing at any offset is nothing.
    fn part(self, body: &[u8], bytes: usize) -> Result<ByteReader<'_>, DecodeError> {
        if bytes == 0 {
            return Ok(ByteReader::new(&[]));
        }
        let mut reader = ByteReader::new(body);
        reader.take(self.offset.into())?;
        Ok(ByteReader::part(reader.take(bytes)?, self.offset.into()))
    }

    fn text(self, body: &[u8]) -> Result<Utf16<'_>, DecodeError> {
        let bytes = usize::from(self.length) * 2;
        Ok(Utf16::from_bytes(self.part(body, bytes)?.rest()))
    }
}

fn read_extension(body: &[u8], extension: Span) -> Result<Vec<Feature>, DecodeError> {
    let offset = extension.part(body, extension.length.into())?.length_u32()?;
    let mut reader = ByteReader::new(body);
    reader.take(offset)?;
    read_features(&mut reader)
}

#[cfg(test)]
mod tests;
