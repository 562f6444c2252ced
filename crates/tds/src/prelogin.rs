//! PRELOGIN: what both sides can, before anything else is said.
//!
//! ```text
//! entry    option u8, offset u16 BE, length u16 BE     offsets from the start of the body
//! …
//! 0xFF
//! data of the options
//!
//! 0 VERSION          major u8, minor u8, build u16 BE, sub-build u16 BE; first
//! 1 ENCRYPTION       u8
//! 2 INSTOPT          zero-terminated name from a client, u8 from a server: 0 = matches
//! 3 THREADID         u32 from a client, empty from a server
//! 4 MARS             u8
//! 5 TRACEID          connection id 16, activity id 16, sequence u32
//! 6 FEDAUTHREQUIRED  u8
//! 7 NONCEOPT         32 bytes
//! ```
//!
//! All options but VERSION may be missing. Options with other numbers are kept.

mod encryption;

pub use encryption::{Encryption, Negotiation, ServerEncryption, TlsScope, negotiate};

use crate::error::{Cause, DecodeError, EncodeError};
use crate::reader::ByteReader;

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD_ID: u8 = 3;
const MARS: u8 = 4;
const TRACE_ID: u8 = 5;
const FED_AUTH_REQUIRED: u8 = 6;
const NONCE: u8 = 7;
const TERMINATOR: u8 = 0xFF;
const ENTRY_BYTES: usize = 5;

/// Version of a program, as PRELOGIN says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramVersion {
    /// 16 for SQL Server 2022.
    pub major: u8,
    /// Usually 0.
    pub minor: u8,
    /// Build number.
    pub build: u16,
    /// Sub-build.
    pub sub_build: u16,
}

/// TRACEID: names a connection attempt in logs of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId {
    /// Id of the connection attempt, in the byte order of a GUID.
    pub connection_id: [u8; 16],
    /// Id of the client's activity.
    pub activity_id: [u8; 16],
    /// Position in that activity.
    pub sequence: u32,
}

/// An option that has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownOption {
    /// Number in the table of options.
    pub option: u8,
    /// As it came.
    pub data: Vec<u8>,
}

/// A PRELOGIN message of either side. `None`: the option is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prelogin {
    /// Version of the sender.
    pub version: ProgramVersion,
    /// What the sender wants or answers; see [`negotiate`].
    pub encryption: Option<Encryption>,
    /// INSTOPT with its terminator: a name from a client, one byte from a server.
    pub instance: Option<Vec<u8>>,
    /// THREADID: four bytes from a client, none from a server.
    pub thread_id: Option<Vec<u8>>,
    /// Several active result sets: wanted, or granted.
    pub mars: Option<bool>,
    /// Sent by clients.
    pub trace_id: Option<TraceId>,
    /// Federated authentication: wanted, or required.
    pub fed_auth_required: Option<bool>,
    /// Sent with federated authentication.
    pub nonce: Option<[u8; 32]>,
    /// Other options, in the order they came.
    pub unknown: Vec<UnknownOption>,
}

impl Prelogin {
    /// Reads a message body.
    pub fn read(body: &[u8]) -> Result<Prelogin, DecodeError> {
        let mut prelogin = Prelogin::default();
        let mut entries = ByteReader::new(body);
        let mut is_first = true;
        loop {
            let option = entries.u8()?;
            if option == TERMINATOR {
                break;
            }
            if is_first && option != VERSION {
                let cause = Cause::Value { field: "first option", found: option.into() };
                return Err(entries.fail_before(1, cause));
            }
            is_first = false;
            let offset = usize::from(entries.u16_be()?);
            let length = usize::from(entries.u16_be()?);
            let data = data_of(body, offset, length)?;
            prelogin.set(option, data)?;
        }
        Ok(prelogin)
    }

    fn set(&mut self, option: u8, mut data: ByteReader<'_>) -> Result<(), DecodeError> {
        match option {
            VERSION => self.version = read_version(&mut data)?,
            ENCRYPTION => self.encryption = Some(Encryption::from_byte(data.u8()?)),
            INSTANCE => self.instance = Some(data.take_rest().to_vec()),
            THREAD_ID => self.thread_id = Some(data.take_rest().to_vec()),
            MARS => self.mars = Some(data.u8()? != 0),
            TRACE_ID => self.trace_id = read_trace_id(&mut data)?,
            FED_AUTH_REQUIRED => self.fed_auth_required = Some(data.u8()? != 0),
            NONCE => self.nonce = Some(data.array()?),
            _ => self.unknown.push(UnknownOption { option, data: data.take_rest().to_vec() }),
        }
        Ok(())
    }

    /// Appends the message body.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let options = self.options();
        let mut offset = options.len() * ENTRY_BYTES + 1;
        for UnknownOption { option, data } in &options {
            let too_long = |found| EncodeError::Length { wire: "PRELOGIN", max: 0xFFFF, found };
            let at = u16::try_from(offset).map_err(|_| too_long(offset))?;
            let length = u16::try_from(data.len()).map_err(|_| too_long(data.len()))?;
            out.push(*option);
            out.extend(at.to_be_bytes());
            out.extend(length.to_be_bytes());
            offset += data.len();
        }
        out.push(TERMINATOR);
        for UnknownOption { data, .. } in &options {
            out.extend_from_slice(data);
        }
        Ok(())
    }

    /// The options that are sent, in order of their numbers, and the unknown ones.
    fn options(&self) -> Vec<UnknownOption> {
        let mut options = Vec::new();
        let mut add = |option, data: Option<Vec<u8>>| {
            options.extend(data.map(|data| UnknownOption { option, data }));
        };
        add(VERSION, Some(version_bytes(self.version)));
        add(ENCRYPTION, self.encryption.map(|encryption| vec![encryption.byte()]));
        add(INSTANCE, self.instance.clone());
        add(THREAD_ID, self.thread_id.clone());
        add(MARS, self.mars.map(|is_wanted| vec![is_wanted.into()]));
        add(TRACE_ID, self.trace_id.map(trace_id_bytes));
        add(FED_AUTH_REQUIRED, self.fed_auth_required.map(|is_required| vec![is_required.into()]));
        add(NONCE, self.nonce.map(|nonce| nonce.to_vec()));
        options.extend(self.unknown.iter().cloned());
        options
    }

    /// The answer of a server that declines MARS and federated authentication and whose instance
    /// has the name asked for.
    #[must_use]
    pub fn answer(&self, version: ProgramVersion, encryption: Encryption) -> Prelogin {
        Prelogin {
            version,
            encryption: Some(encryption),
            instance: Some(vec![0]),
            thread_id: Some(Vec::new()),
            mars: Some(false),
            fed_auth_required: self.fed_auth_required.map(|_| false),
            ..Prelogin::default()
        }
    }
}

fn data_of(body: &[u8], offset: usize, length: usize) -> Result<ByteReader<'_>, DecodeError> {
    let mut reader = ByteReader::new(body);
    reader.take(offset)?;
    Ok(ByteReader::part(reader.take(length)?, offset))
}

fn read_version(data: &mut ByteReader<'_>) -> Result<ProgramVersion, DecodeError> {
    Ok(ProgramVersion {
        major: data.u8()?,
        minor: data.u8()?,
        build: data.u16_be()?,
        sub_build: data.u16_be()?,
    })
}

fn version_bytes(version: ProgramVersion) -> Vec<u8> {
    let mut bytes = vec![version.major, version.minor];
    bytes.extend(version.build.to_be_bytes());
    bytes.extend(version.sub_build.to_be_bytes());
    bytes
}

/// Bytes of a TRACEID.
const TRACE_ID_BYTES: usize = 36;

/// A TRACEID of another length, also an empty one as a server may send, is none: it is of use for
/// logs alone and no reason to refuse a client.
fn read_trace_id(data: &mut ByteReader<'_>) -> Result<Option<TraceId>, DecodeError> {
    if data.rest().len() != TRACE_ID_BYTES {
        return Ok(None);
    }
    Ok(Some(TraceId {
        connection_id: data.array()?,
        activity_id: data.array()?,
        sequence: data.u32()?,
    }))
}

fn trace_id_bytes(trace_id: TraceId) -> Vec<u8> {
    let mut bytes = trace_id.connection_id.to_vec();
    bytes.extend(trace_id.activity_id);
    bytes.extend(trace_id.sequence.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(prelogin: &Prelogin) -> Vec<u8> {
        let mut out = Vec::new();
        prelogin.write(&mut out).unwrap();
        out
    }

    #[test]
    fn the_answer_of_the_worked_example() {
        let version = ProgramVersion { major: 16, minor: 0, build: 4165, sub_build: 0 };
        let answer = Prelogin::default().answer(version, Encryption::Off);
        let expected = [
            [0, 0, 26, 0, 6],
            [1, 0, 32, 0, 1],
            [2, 0, 33, 0, 1],
            [3, 0, 34, 0, 0],
            [4, 0, 34, 0, 1],
        ];
        let bytes = bytes(&answer);
        assert_eq!(bytes[..25], expected.concat());
        assert_eq!(bytes[25..], [0xFF, 16, 0, 0x10, 0x45, 0, 0, 0, 0, 0]);
        assert_eq!(Prelogin::read(&bytes), Ok(answer));
    }

    #[test]
    fn every_option_comes_back() {
        let prelogin = Prelogin {
            version: ProgramVersion { major: 18, minor: 3, build: 1, sub_build: 2 },
            encryption: Some(Encryption::Required),
            instance: Some(b"MSSQLSERVER\0".to_vec()),
            thread_id: Some(vec![1, 2, 3, 4]),
            mars: Some(true),
            trace_id: Some(TraceId { connection_id: [1; 16], activity_id: [2; 16], sequence: 9 }),
            fed_auth_required: Some(true),
            nonce: Some([7; 32]),
            unknown: vec![UnknownOption { option: 0x20, data: vec![1, 2] }],
        };
        assert_eq!(Prelogin::read(&bytes(&prelogin)), Ok(prelogin));
    }

    #[test]
    fn only_the_version_must_be_there_and_it_must_be_first() {
        let only = [0, 0, 6, 0, 6, 0xFF, 1, 2, 0, 3, 0, 4];
        assert_eq!(Prelogin::read(&only).unwrap().version.build, 3);
        let other = [1, 0, 6, 0, 1, 0xFF, 0];
        let cause = Cause::Value { field: "first option", found: 1 };
        assert_eq!(Prelogin::read(&other), Err(DecodeError { at: 0, cause }));
    }

    #[test]
    fn a_federated_client_is_told_that_it_is_not_required() {
        let client = Prelogin { fed_auth_required: Some(true), ..Prelogin::default() };
        let answer = client.answer(ProgramVersion::default(), Encryption::NotSupported);
        assert_eq!(answer.fed_auth_required, Some(false));
    }

    #[test]
    fn offsets_past_the_end_are_errors_at_their_place() {
        let far = [0, 0xFF, 0xFF, 0, 6, 0xFF];
        assert!(Prelogin::read(&far).unwrap_err().is_incomplete());
        let cut = [0, 0, 6, 0, 6, 0xFF, 1, 2];
        assert_eq!(Prelogin::read(&cut).unwrap_err().at, 6);
        assert_eq!(Prelogin::read(&[]).unwrap_err().at, 0);
    }
}
