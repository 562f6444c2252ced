//! RETURNVALUE: an output parameter, or the result of a function.
//!
//! ```text
//! ordinal u16, name B_VARCHAR, status u8 (1 output parameter, 2 function result),
//! user type u32 (7.1: u16), flags u16, TYPE_INFO, value
//! ```

use extentdb_types::Datum;

use crate::column::{ColumnFlags, read_user_type, write_user_type};
use crate::error::{Cause, DecodeError, EncodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::text::write_b_varchar;
use crate::type_info::{Place, TypeInfo};
use crate::value::{RawValue, decode, write_value};
use crate::version::TdsVersion;

/// First byte.
pub const TOKEN: u8 = 0xAC;

/// What was returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReturnValueKind {
    /// An output parameter.
    Output,
    /// The result of a user-defined function.
    Function,
}

/// The token.
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnValue<'a> {
    /// Position of the parameter.
    pub ordinal: u16,
    /// Name as the client sent it; may be empty.
    pub name: String,
    /// What was returned.
    pub kind: ReturnValueKind,
    /// User type of the parameter.
    pub user_type: u32,
    /// Flags as of a column.
    pub flags: ColumnFlags,
    /// As the parameter was declared by the procedure or the client.
    pub type_info: TypeInfo,
    /// At the end of the procedure.
    pub value: Datum<'a>,
}

impl<'a> ReturnValue<'a> {
    pub(crate) fn read(
        reader: &mut ByteReader<'a>,
        protocol: &Protocol,
    ) -> Result<ReturnValue<'a>, DecodeError> {
        let ordinal = reader.u16()?;
        let name = reader.b_varchar()?.to_string();
        let status = reader.u8()?;
        let kind = match status {
            1 => ReturnValueKind::Output,
            2 => ReturnValueKind::Function,
            _ => {
                let cause = Cause::Value { field: "RETURNVALUE status", found: status.into() };
                return Err(reader.fail_before(1, cause));
            }
        };
        let user_type = read_user_type(reader, protocol.version())?;
        let flags = ColumnFlags(reader.u16()?);
        let type_info = TypeInfo::read(reader, protocol, Place::Column)?;
        let at = reader.position();
        let raw = RawValue::read(&type_info, Place::Column, reader)?;
        let value = decode(&type_info, raw).map_err(|cause| DecodeError { at, cause })?;
        Ok(ReturnValue { ordinal, name, kind, user_type, flags, type_info, value })
    }

    /// Appends the token; `out` is as it was after an error.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let result = self.write_body(version, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn write_body(&self, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(TOKEN);
        out.extend(self.ordinal.to_le_bytes());
        write_b_varchar("parameter name", &self.name, out)?;
        out.push(match self.kind {
            ReturnValueKind::Output => 1,
            ReturnValueKind::Function => 2,
        });
        write_user_type(self.user_type, version, out);
        out.extend(self.flags.0.to_le_bytes());
        self.type_info.write(Place::Column, out)?;
        write_value(&self.type_info, Place::Column, &self.value, out)
    }
}
