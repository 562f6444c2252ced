//! Transaction manager requests (message 14).
//!
//! ```text
//! ALL_HEADERS, request u16, body
//!
//! 0 DTC address, 1 propagate, 6 promote                     bytes, not looked at
//! 5 begin     isolation u8, name B_VARBYTE
//! 7 commit    name B_VARBYTE, flags u8 (1 = begin the next), [isolation u8, name B_VARBYTE]
//! 8 roll back as commit; a name may be that of a savepoint
//! 9 save      name B_VARBYTE
//! ```
//!
//! Names are UTF-16; their length counts bytes.

use super::Headers;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::Utf16;
use crate::version::TdsVersion;

const DTC_ADDRESS: u16 = 0;
const PROPAGATE: u16 = 1;
const BEGIN: u16 = 5;
const PROMOTE: u16 = 6;
const COMMIT: u16 = 7;
const ROLLBACK: u16 = 8;
const SAVE: u16 = 9;
/// Flag: begin the next transaction at once.
const BEGIN_NEXT: u8 = 1;

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// That of the session.
    Unchanged,
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
    /// SNAPSHOT.
    Snapshot,
}

impl Isolation {
    const ALL: [Isolation; 6] = [
        Isolation::Unchanged,
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
        Isolation::Snapshot,
    ];

    fn read(reader: &mut ByteReader<'_>) -> Result<Isolation, DecodeError> {
        let byte = reader.u8()?;
        let cause = Cause::Value { field: "isolation level", found: byte.into() };
        let level = Isolation::ALL.get(usize::from(byte)).copied();
        level.ok_or_else(|| reader.fail_before(1, cause))
    }
}

/// The transaction that begins when one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next<'a> {
    /// Isolation level that it begins with.
    pub isolation: Isolation,
    /// Name for messages and the log; may be empty.
    pub name: Utf16<'a>,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionRequest<'a> {
    /// Begin one.
    Begin {
        /// Isolation level that it begins with.
        isolation: Isolation,
        /// Name for messages and the log; may be empty.
        name: Utf16<'a>,
    },
    /// Commit it.
    Commit {
        /// Name for messages and the log; may be empty.
        name: Utf16<'a>,
        /// What begins afterwards.
        next: Option<Next<'a>>,
    },
    /// Roll it back.
    Rollback {
        /// Name of the transaction or of a savepoint; empty = the whole transaction.
        name: Utf16<'a>,
        /// What begins afterwards.
        next: Option<Next<'a>>,
    },
    /// Set a savepoint.
    Save {
        /// Name by which a later rollback refers to it.
        name: Utf16<'a>,
    },
    /// Where the distributed transaction coordinator listens.
    DtcAddress,
    /// Take part in a distributed transaction.
    Propagate,
    /// Make it a distributed transaction.
    Promote,
}

/// A message: a request with its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionMessage<'a> {
    /// ALL_HEADERS.
    pub headers: Headers,
    /// The request.
    pub request: TransactionRequest<'a>,
}

impl<'a> TransactionMessage<'a> {
    /// Reads a message body.
    pub fn read(
        body: &'a [u8],
        version: TdsVersion,
    ) -> Result<TransactionMessage<'a>, DecodeError> {
        let mut reader = ByteReader::new(body);
        let headers = Headers::read(&mut reader, version)?;
        let request = TransactionRequest::read(&mut reader)?;
        reader.finish()?;
        Ok(TransactionMessage { headers, request })
    }

    /// Appends a message body. Requests about distributed transactions have no form here.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.headers.write(version, out);
        self.request.write(out)
    }
}

impl<'a> TransactionRequest<'a> {
    fn read(reader: &mut ByteReader<'a>) -> Result<TransactionRequest<'a>, DecodeError> {
        let request = reader.u16()?;
        Ok(match request {
            BEGIN => TransactionRequest::Begin {
                isolation: Isolation::read(reader)?,
                name: read_name(reader)?,
            },
            COMMIT => {
                TransactionRequest::Commit { name: read_name(reader)?, next: read_next(reader)? }
            }
            ROLLBACK => {
                TransactionRequest::Rollback { name: read_name(reader)?, next: read_next(reader)? }
            }
            SAVE => TransactionRequest::Save { name: read_name(reader)? },
            DTC_ADDRESS | PROPAGATE | PROMOTE => {
                reader.take_rest();
                match request {
                    DTC_ADDRESS => TransactionRequest::DtcAddress,
                    PROPAGATE => TransactionRequest::Propagate,
                    _ => TransactionRequest::Promote,
                }
            }
            _ => {
                let cause = Cause::Value { field: "transaction request", found: request.into() };
                return Err(reader.fail_before(2, cause));
            }
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            TransactionRequest::Begin { isolation, name } => {
                out.extend(BEGIN.to_le_bytes());
                out.push(*isolation as u8);
                write_name(*name, out)
            }
            TransactionRequest::Commit { name, next } => {
                out.extend(COMMIT.to_le_bytes());
                write_name(*name, out)?;
                write_next(*next, out)
            }
            TransactionRequest::Rollback { name, next } => {
                out.extend(ROLLBACK.to_le_bytes());
                write_name(*name, out)?;
                write_next(*next, out)
            }
            TransactionRequest::Save { name } => {
                out.extend(SAVE.to_le_bytes());
                write_name(*name, out)
            }
            _ => Err(EncodeError::NotInVersion { what: "distributed transactions" }),
        }
    }
}

fn read_name<'a>(reader: &mut ByteReader<'a>) -> Result<Utf16<'a>, DecodeError> {
    let bytes = reader.b_varbyte()?;
    if bytes.len() % 2 == 1 {
        return Err(reader.fail_before(bytes.len(), Cause::OddText { bytes: bytes.len() }));
    }
    Ok(Utf16::from_bytes(bytes))
}

fn read_next<'a>(reader: &mut ByteReader<'a>) -> Result<Option<Next<'a>>, DecodeError> {
    if reader.u8()? & BEGIN_NEXT == 0 {
        return Ok(None);
    }
    Ok(Some(Next {
        isolation: Isolation::read(reader)?,
        name: read_name(reader)?,
    }))
}

fn write_name(name: Utf16<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let found = name.bytes().len();
    let too_long = EncodeError::Name { field: "transaction name", found: name.len(), max: 127 };
    out.push(u8::try_from(found).map_err(|_| too_long)?);
    out.extend_from_slice(name.bytes());
    Ok(())
}

fn write_next(next: Option<Next<'_>>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Some(Next { isolation, name }) = next else {
        out.push(0);
        return Ok(());
    };
    out.extend([BEGIN_NEXT, isolation as u8]);
    write_name(name, out)
}
