//! Remote procedure calls: one or more in a message.
//!
//! ```text
//! ALL_HEADERS
//! call      name US_VARCHAR, or 0xFFFF and procedure id u16
//!           flags u16: 1 recompile, 2 no metadata, 4 metadata reused
//!           parameters
//! separator 0xFF (7.1: 0x80), then the next call; or 0xFE: the call before it is not executed
//! ```
//!
//! The names of parameters have up to 128 characters with their `@`, so that 0x80 and above stand
//! where a name's length would.

use extentdb_types::Datum;

use super::{Headers, Parameter, ParameterFlags, TvpWriter};
use crate::column::Column;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::text::{Utf16, write_b_varchar, write_us_varchar};
use crate::type_info::{Place, TypeInfo};
use crate::value::write_value;
use crate::version::TdsVersion;

const BY_ID: u16 = 0xFFFF;
const SEPARATOR: u8 = 0xFF;
const SEPARATOR_7_1: u8 = 0x80;
const NO_EXECUTE: u8 = 0xFE;

/// A procedure with a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "variants are the procedures they name")]
pub enum ProcId {
    Cursor,
    CursorOpen,
    CursorPrepare,
    CursorExecute,
    CursorPrepExec,
    CursorUnprepare,
    CursorFetch,
    CursorOption,
    CursorClose,
    ExecuteSql,
    Prepare,
    Execute,
    PrepExec,
    PrepExecRpc,
    Unprepare,
}

impl ProcId {
    /// By number, from 1.
    pub const ALL: [ProcId; 15] = [
        ProcId::Cursor,
        ProcId::CursorOpen,
        ProcId::CursorPrepare,
        ProcId::CursorExecute,
        ProcId::CursorPrepExec,
        ProcId::CursorUnprepare,
        ProcId::CursorFetch,
        ProcId::CursorOption,
        ProcId::CursorClose,
        ProcId::ExecuteSql,
        ProcId::Prepare,
        ProcId::Execute,
        ProcId::PrepExec,
        ProcId::PrepExecRpc,
        ProcId::Unprepare,
    ];

    /// The procedure of a number.
    #[must_use]
    pub fn from_number(number: u16) -> Option<ProcId> {
        ProcId::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The number that calls carry, from 1.
    #[must_use]
    pub fn number(self) -> u16 {
        self as u16 + 1
    }

    /// The name in schema `sys`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ProcId::Cursor => "sp_cursor",
            ProcId::CursorOpen => "sp_cursoropen",
            ProcId::CursorPrepare => "sp_cursorprepare",
            ProcId::CursorExecute => "sp_cursorexecute",
            ProcId::CursorPrepExec => "sp_cursorprepexec",
            ProcId::CursorUnprepare => "sp_cursorunprepare",
            ProcId::CursorFetch => "sp_cursorfetch",
            ProcId::CursorOption => "sp_cursoroption",
            ProcId::CursorClose => "sp_cursorclose",
            ProcId::ExecuteSql => "sp_executesql",
            ProcId::Prepare => "sp_prepare",
            ProcId::Execute => "sp_execute",
            ProcId::PrepExec => "sp_prepexec",
            ProcId::PrepExecRpc => "sp_prepexecrpc",
            ProcId::Unprepare => "sp_unprepare",
        }
    }

    /// The procedure that a name means, with or without schema and brackets.
    #[must_use]
    pub fn from_name(name: Utf16<'_>) -> Option<ProcId> {
        let text = name.to_string();
        let last = text.rsplit('.').next().unwrap_or(&text);
        let bare = last.trim_start_matches('[').trim_end_matches(']');
        ProcId::ALL.into_iter().find(|id| id.name().eq_ignore_ascii_case(bare))
    }
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure<'a> {
    /// By number.
    Id(ProcId),
    /// By name, in any spelling.
    Name(Utf16<'a>),
}

/// Flags of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RpcFlags(pub u16);

impl RpcFlags {
    /// Recompile the procedure.
    #[must_use]
    pub fn recompiles(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// COLMETADATA is to be sent without columns.
    #[must_use]
    pub fn has_no_metadata(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// The columns are those of the call before.
    #[must_use]
    pub fn reuses_metadata(self) -> bool {
        self.0 & 0x04 != 0
    }
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcCall<'a> {
    /// What is called.
    pub procedure: Procedure<'a>,
    /// Whether columns are to be described, and whether a plan may be used again.
    pub flags: RpcFlags,
    /// In the order of the message; positional where the name is empty.
    pub parameters: Vec<Parameter<'a>>,
    /// False when the client cancelled the call after sending it: it is not executed.
    pub is_executed: bool,
    /// Does another call follow?
    pub has_next: bool,
}

/// Reads the calls of a message one after the other.
#[derive(Debug, Clone)]
pub struct RpcReader<'a> {
    headers: Headers,
    reader: ByteReader<'a>,
    protocol: Protocol,
    is_at_end: bool,
}

impl<'a> RpcReader<'a> {
    /// Reads the headers of a message body.
    pub fn new(body: &'a [u8], protocol: Protocol) -> Result<RpcReader<'a>, DecodeError> {
        let mut reader = ByteReader::new(body);
        let headers = Headers::read(&mut reader, protocol.version())?;
        Ok(RpcReader { headers, reader, protocol, is_at_end: false })
    }

    /// ALL_HEADERS.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The next call; `None` after the last one. An error is the last result.
    pub fn next_call(&mut self) -> Result<Option<RpcCall<'a>>, DecodeError> {
        if self.is_at_end {
            return Ok(None);
        }
        self.is_at_end = true;
        let mut call = RpcCall {
            procedure: read_procedure(&mut self.reader)?,
            flags: RpcFlags(self.reader.u16()?),
            parameters: Vec::new(),
            is_executed: true,
            has_next: false,
        };
        while let Some(next) = self.reader.peek() {
            if next == self.separator() || next == NO_EXECUTE {
                self.reader.u8()?;
                call.is_executed = next != NO_EXECUTE;
                // A separator may stand at the end of the message, too.
                call.has_next = !self.reader.is_empty();
                break;
            }
            let ordinal = call.parameters.len();
            call.parameters.push(Parameter::read(&mut self.reader, &self.protocol, ordinal)?);
        }
        self.is_at_end = !call.has_next;
        Ok(Some(call))
    }

    fn separator(&self) -> u8 {
        separator(self.protocol.version())
    }
}

fn separator(version: TdsVersion) -> u8 {
    if version.is_7_2_or_later() { SEPARATOR } else { SEPARATOR_7_1 }
}

fn read_procedure<'a>(reader: &mut ByteReader<'a>) -> Result<Procedure<'a>, DecodeError> {
    let length = reader.u16()?;
    if length != BY_ID {
        return reader.units(length.into()).map(Procedure::Name);
    }
    let number = reader.u16()?;
    let cause = Cause::Value { field: "procedure id", found: number.into() };
    let id = ProcId::from_number(number);
    id.map(Procedure::Id).ok_or_else(|| reader.fail_before(2, cause))
}

/// Writes the body of an RPC message.
#[derive(Debug)]
pub struct RpcWriter<'o> {
    version: TdsVersion,
    has_call: bool,
    out: &'o mut Vec<u8>,
}

impl<'o> RpcWriter<'o> {
    /// Begins a message body.
    pub fn new(headers: &Headers, version: TdsVersion, out: &'o mut Vec<u8>) -> RpcWriter<'o> {
        headers.write(version, out);
        RpcWriter { version, has_call: false, out }
    }

    /// Begins a call of a procedure by number.
    pub fn call(&mut self, id: ProcId, flags: RpcFlags) {
        self.separate();
        self.out.extend(BY_ID.to_le_bytes());
        self.out.extend(id.number().to_le_bytes());
        self.out.extend(flags.0.to_le_bytes());
    }

    /// Begins a call of a procedure by name.
    pub fn call_by_name(&mut self, name: &str, flags: RpcFlags) -> Result<(), EncodeError> {
        self.separate();
        write_us_varchar("procedure name", name, self.out)?;
        self.out.extend(flags.0.to_le_bytes());
        Ok(())
    }

    fn separate(&mut self) {
        if self.has_call {
            self.out.push(separator(self.version));
        }
        self.has_call = true;
    }

    /// Adds a parameter to the call.
    pub fn parameter(
        &mut self,
        name: &str,
        flags: ParameterFlags,
        type_info: &TypeInfo,
        value: &Datum<'_>,
    ) -> Result<(), EncodeError> {
        write_b_varchar("parameter name", name, self.out)?;
        self.out.push(flags.0);
        type_info.write(Place::Parameter, self.out)?;
        write_value(type_info, Place::Parameter, value, self.out)
    }

    /// Adds a table-valued parameter of type `schema`.`type_name`; its rows are written next.
    pub fn tvp<'w>(
        &'w mut self,
        name: &str,
        schema: &str,
        type_name: &str,
        columns: &'w [Column],
    ) -> Result<TvpWriter<'w>, EncodeError> {
        write_b_varchar("parameter name", name, self.out)?;
        self.out.push(0);
        TvpWriter::begin(schema, type_name, columns, self.version, self.out)
    }
}
