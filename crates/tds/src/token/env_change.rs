//! ENVCHANGE: the session is in another state.
//!
//! ```text
//! length u16, type u8, new value, old value
//!
//! 1 database  2 language  4 packet size  13 mirror partner  19 user instance    B_VARCHAR
//! 7 collation  8, 9, 10 transaction began, committed, rolled back
//! 11, 12 DTC  16 DTC address  17 transaction ended  18 session reset             B_VARBYTE
//! 15 promoted                                                  new value L_VARBYTE (u32)
//! 20 routing     new value u16 length: protocol u8 (0), port u16, server US_VARCHAR; old u16
//! ```

use super::sized;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::{write_b_varchar, write_us_varchar};

/// First byte.
pub const TOKEN: u8 = 0xE3;

const DATABASE: u8 = 1;
const LANGUAGE: u8 = 2;
const PACKET_SIZE: u8 = 4;
const COLLATION: u8 = 7;
const BEGIN: u8 = 8;
const COMMIT: u8 = 9;
const ROLLBACK: u8 = 10;
const MIRROR: u8 = 13;
const PROMOTE: u8 = 15;
const ENDED: u8 = 17;
const RESET: u8 = 18;
const USER_INSTANCE: u8 = 19;
const ROUTING: u8 = 20;

/// The token. Descriptors are those that requests carry in ALL_HEADERS.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EnvChange {
    /// Another database.
    Database {
        /// The new one.
        new: String,
        /// The one before.
        old: String,
    },
    /// Another language.
    Language {
        /// The new one.
        new: String,
        /// The one before.
        old: String,
    },
    /// Another packet size, after the login response.
    PacketSize {
        /// The new one.
        new: u16,
        /// The one before.
        old: u16,
    },
    /// Collation of the database: five bytes, or none.
    Collation {
        /// The new one.
        new: Vec<u8>,
        /// The one before; none at login.
        old: Vec<u8>,
    },
    /// A transaction began.
    Begin {
        /// Descriptor that requests of the transaction carry.
        descriptor: u64,
    },
    /// The transaction was committed.
    Commit {
        /// Descriptor that requests of the transaction carry.
        descriptor: u64,
    },
    /// The transaction was rolled back.
    Rollback {
        /// Descriptor that requests of the transaction carry.
        descriptor: u64,
    },
    /// A transaction ended that was begun by other means.
    TransactionEnded {
        /// Descriptor that requests of the transaction carry.
        descriptor: u64,
    },
    /// Name of the mirror partner.
    MirrorPartner {
        /// Name as the client can connect to it.
        new: String,
    },
    /// The transaction is a distributed one now.
    Promoted {
        /// Token of the distributed transaction.
        token: Vec<u8>,
    },
    /// The session was reset.
    Reset,
    /// Name of the user instance that was started.
    UserInstance {
        /// Name as the client can connect to it.
        new: String,
    },
    /// The client is to connect to another server.
    Routing {
        /// TCP port.
        port: u16,
        /// Server name.
        server: String,
    },
    /// Another type, with both values as bytes.
    Other {
        /// The type.
        kind: u8,
        /// The new value.
        new: Vec<u8>,
        /// The old value.
        old: Vec<u8>,
    },
}

impl EnvChange {
    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<EnvChange, DecodeError> {
        let mut reader = reader.sized_u16()?;
        let kind = reader.u8()?;
        match kind {
            DATABASE | LANGUAGE | PACKET_SIZE | MIRROR | USER_INSTANCE => {
                EnvChange::read_text(kind, &mut reader)
            }
            BEGIN | COMMIT | ROLLBACK | ENDED => EnvChange::read_transaction(kind, &mut reader),
            PROMOTE => {
                let len = reader.length_u32()?;
                Ok(EnvChange::Promoted { token: reader.take(len)?.to_vec() })
            }
            ROUTING => EnvChange::read_routing(&mut reader),
            _ => {
                let new = reader.b_varbyte()?.to_vec();
                let old = reader.b_varbyte()?.to_vec();
                Ok(match kind {
                    COLLATION => EnvChange::Collation { new, old },
                    RESET => EnvChange::Reset,
                    _ => EnvChange::Other { kind, new, old },
                })
            }
        }
    }

    fn read_text(kind: u8, reader: &mut ByteReader<'_>) -> Result<EnvChange, DecodeError> {
        let at = reader.position();
        let new = reader.b_varchar()?.to_string();
        let old = reader.b_varchar()?.to_string();
        let number = |text: &str| {
            let cause = Cause::Value { field: "packet size", found: 0 };
            text.parse().map_err(|_| DecodeError { at, cause })
        };
        Ok(match kind {
            DATABASE => EnvChange::Database { new, old },
            LANGUAGE => EnvChange::Language { new, old },
            MIRROR => EnvChange::MirrorPartner { new },
            USER_INSTANCE => EnvChange::UserInstance { new },
            _ => EnvChange::PacketSize { new: number(&new)?, old: number(&old)? },
        })
    }

    fn read_transaction(kind: u8, reader: &mut ByteReader<'_>) -> Result<EnvChange, DecodeError> {
        let new = descriptor(reader)?;
        let old = descriptor(reader)?;
        Ok(match kind {
            BEGIN => EnvChange::Begin { descriptor: new },
            COMMIT => EnvChange::Commit { descriptor: old },
            ROLLBACK => EnvChange::Rollback { descriptor: old },
            _ => EnvChange::TransactionEnded { descriptor: old },
        })
    }

    fn read_routing(reader: &mut ByteReader<'_>) -> Result<EnvChange, DecodeError> {
        let _length = reader.u16()?;
        let protocol = reader.u8()?;
        if protocol != 0 {
            let cause = Cause::Value { field: "routing protocol", found: protocol.into() };
            return Err(reader.fail_before(1, cause));
        }
        Ok(EnvChange::Routing {
            port: reader.u16()?,
            server: reader.us_varchar()?.to_string(),
        })
    }

    /// Appends the token.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        sized::write_u16(TOKEN, out, |out| self.write_body(out))
    }

    fn write_body(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            EnvChange::Database { new, old } => write_texts(DATABASE, new, old, out),
            EnvChange::Language { new, old } => write_texts(LANGUAGE, new, old, out),
            EnvChange::PacketSize { new, old } => {
                write_texts(PACKET_SIZE, &new.to_string(), &old.to_string(), out)
            }
            EnvChange::MirrorPartner { new } => write_texts(MIRROR, new, "", out),
            EnvChange::UserInstance { new } => write_texts(USER_INSTANCE, new, "", out),
            EnvChange::Collation { new, old } => write_bytes(COLLATION, new, old, out),
            EnvChange::Begin { descriptor } => {
                write_bytes(BEGIN, &descriptor.to_le_bytes(), &[], out)
            }
            EnvChange::Commit { descriptor } => {
                write_bytes(COMMIT, &[], &descriptor.to_le_bytes(), out)
            }
            EnvChange::Rollback { descriptor } => {
                write_bytes(ROLLBACK, &[], &descriptor.to_le_bytes(), out)
            }
            EnvChange::TransactionEnded { descriptor } => {
                write_bytes(ENDED, &[], &descriptor.to_le_bytes(), out)
            }
            EnvChange::Promoted { token } => {
                out.push(PROMOTE);
                out.extend((token.len() as u32).to_le_bytes());
                out.extend_from_slice(token);
                out.push(0);
                Ok(())
            }
            EnvChange::Reset => write_bytes(RESET, &[], &[], out),
            EnvChange::Routing { port, server } => write_routing(*port, server, out),
            EnvChange::Other { kind, new, old } => write_bytes(*kind, new, old, out),
        }
    }
}

/// A descriptor of eight bytes; 0 where there is none.
fn descriptor(reader: &mut ByteReader<'_>) -> Result<u64, DecodeError> {
    match reader.u8()? {
        0 => Ok(0),
        8 => reader.u64(),
        other => {
            let cause = Cause::Value { field: "descriptor length", found: other.into() };
            Err(reader.fail_before(1, cause))
        }
    }
}

fn write_texts(kind: u8, new: &str, old: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(kind);
    write_b_varchar("new value", new, out)?;
    write_b_varchar("old value", old, out)
}

fn write_bytes(kind: u8, new: &[u8], old: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.push(kind);
    for value in [new, old] {
        let found = value.len();
        let too_long = EncodeError::Length { wire: "ENVCHANGE", max: u8::MAX.into(), found };
        out.push(u8::try_from(found).map_err(|_| too_long)?);
        out.extend_from_slice(value);
    }
    Ok(())
}

fn write_routing(port: u16, server: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let units = server.encode_utf16().count();
    let too_long = EncodeError::Name { field: "server", found: units, max: 0x7FF0 };
    let length = u16::try_from(5 + 2 * units).map_err(|_| too_long)?;
    out.push(ROUTING);
    out.extend(length.to_le_bytes());
    out.push(0);
    out.extend(port.to_le_bytes());
    write_us_varchar("server", server, out)?;
    out.extend([0; 2]);
    Ok(())
}
