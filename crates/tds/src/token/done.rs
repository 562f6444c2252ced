//! DONE, DONEPROC, DONEINPROC: the end of a statement, of a procedure, of a statement in one.
//!
//! ```text
//! status u16, command u16, row count u64 (7.1: u32)
//!
//! status  0x001 more results follow   0x002 error            0x004 in a transaction
//!         0x010 the count is valid    0x020 attention        0x080 an RPC of a batch ended
//!         0x100 severe error
//! ```

use crate::error::DecodeError;
use crate::reader::ByteReader;
use crate::version::TdsVersion;

/// First bytes.
pub const DONE_TOKEN: u8 = 0xFD;
/// First byte of DONEPROC.
pub const DONE_PROC_TOKEN: u8 = 0xFE;
/// First byte of DONEINPROC.
pub const DONE_IN_PROC_TOKEN: u8 = 0xFF;

/// Command codes that clients look at.
pub mod command {
    #![allow(missing_docs, reason = "each constant is the statement it names")]
    pub const NONE: u16 = 0;
    pub const SELECT: u16 = 0xC1;
    pub const SELECT_INTO: u16 = 0xC2;
    pub const INSERT: u16 = 0xC3;
    pub const DELETE: u16 = 0xC4;
    pub const UPDATE: u16 = 0xC5;
    pub const CREATE_TABLE: u16 = 0xC6;
    pub const DROP_TABLE: u16 = 0xC7;
    pub const CREATE_INDEX: u16 = 0xC8;
    pub const DROP_INDEX: u16 = 0xC9;
    pub const CREATE_DATABASE: u16 = 0xCB;
    pub const DROP_DATABASE: u16 = 0xCC;
    pub const GRANT: u16 = 0xCD;
    pub const REVOKE: u16 = 0xCE;
    pub const CREATE_VIEW: u16 = 0xCF;
    pub const ROLLBACK: u16 = 0xD2;
    pub const SAVE: u16 = 0xD3;
    pub const BEGIN: u16 = 0xD4;
    pub const COMMIT: u16 = 0xD5;
    pub const ALTER_TABLE: u16 = 0xD8;
    pub const CREATE_TRIGGER: u16 = 0xDD;
    pub const CREATE_PROCEDURE: u16 = 0xDE;
    pub const DROP_PROCEDURE: u16 = 0xDF;
    pub const EXECUTE: u16 = 0xE0;
    pub const DBCC: u16 = 0xE6;
    pub const BULK_INSERT: u16 = 0xF0;
    pub const MERGE: u16 = 0x117;
}

/// Bits of a DONE's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct DoneStatus(pub u16);

impl DoneStatus {
    /// Nothing follows, no error, no count.
    pub const FINAL: DoneStatus = DoneStatus(0);
    /// More results follow.
    pub const MORE: DoneStatus = DoneStatus(0x001);
    /// The statement failed.
    pub const ERROR: DoneStatus = DoneStatus(0x002);
    /// A transaction is open.
    pub const IN_TRANSACTION: DoneStatus = DoneStatus(0x004);
    /// The row count is valid.
    pub const COUNT: DoneStatus = DoneStatus(0x010);
    /// Acknowledges an attention.
    pub const ATTENTION: DoneStatus = DoneStatus(0x020);
    /// DONEPROC of one RPC of several.
    pub const RPC_IN_BATCH: DoneStatus = DoneStatus(0x080);
    /// The result is to be discarded.
    pub const SEVERE_ERROR: DoneStatus = DoneStatus(0x100);

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: DoneStatus) -> DoneStatus {
        DoneStatus(self.0 | other.0)
    }

    /// Are all of these set?
    #[must_use]
    pub const fn has(self, other: DoneStatus) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DoneKind {
    /// A statement of a batch: DONE.
    Statement,
    /// A procedure: DONEPROC.
    Procedure,
    /// A statement of a procedure: DONEINPROC.
    InProcedure,
}

impl DoneKind {
    fn token(self) -> u8 {
        match self {
            DoneKind::Statement => DONE_TOKEN,
            DoneKind::Procedure => DONE_PROC_TOKEN,
            DoneKind::InProcedure => DONE_IN_PROC_TOKEN,
        }
    }
}

/// One of the three tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Done {
    /// Which one.
    pub kind: DoneKind,
    /// Status bits.
    pub status: DoneStatus,
    /// Statement that ended; see [`command`].
    pub command: u16,
    /// Rows; counts with [`DoneStatus::COUNT`]. 7.1 says no more than 2^32 - 1.
    pub rows: u64,
}

impl Done {
    pub(crate) fn read(
        kind: DoneKind,
        reader: &mut ByteReader<'_>,
        version: TdsVersion,
    ) -> Result<Done, DecodeError> {
        let status = DoneStatus(reader.u16()?);
        let command = reader.u16()?;
        let has_long_count = version.is_7_2_or_later();
        let rows = if has_long_count { reader.u64()? } else { reader.u32()?.into() };
        Ok(Done { kind, status, command, rows })
    }

    /// Appends the token.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) {
        out.push(self.kind.token());
        out.extend(self.status.0.to_le_bytes());
        out.extend(self.command.to_le_bytes());
        if version.is_7_2_or_later() {
            out.extend(self.rows.to_le_bytes());
        } else {
            out.extend(u32::try_from(self.rows).unwrap_or(u32::MAX).to_le_bytes());
        }
    }
}
