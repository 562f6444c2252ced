//! A parameter of an RPC.
//!
//! ```text
//! name B_VARCHAR, flags u8 (1 output, 2 default, 8 encrypted), TYPE_INFO, value
//! ```

use extentdb_types::Datum;

use super::Tvp;
use crate::error::{Cause, DecodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::text::Utf16;
use crate::type_info::{Place, TypeInfo, code};
use crate::value::{RawValue, decode};

const ENCRYPTED: u8 = 0x08;

/// Flags of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ParameterFlags(pub u8);

impl ParameterFlags {
    /// Its value is to be returned.
    pub const OUTPUT: ParameterFlags = ParameterFlags(0x01);
    /// Its value is the default of the procedure.
    pub const DEFAULT: ParameterFlags = ParameterFlags(0x02);

    /// Is its value to be returned?
    #[must_use]
    pub fn is_output(self) -> bool {
        self.0 & ParameterFlags::OUTPUT.0 != 0
    }

    /// Is its value the default?
    #[must_use]
    pub fn is_default(self) -> bool {
        self.0 & ParameterFlags::DEFAULT.0 != 0
    }
}

/// Type and value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterValue<'a> {
    /// One value.
    Scalar {
        /// As the client declares it; the value may be narrower.
        type_info: TypeInfo,
        /// Borrowed from the message; see [`Parameter::decode`].
        raw: RawValue<'a>,
    },
    /// A table.
    Table(Tvp<'a>),
}

/// A parameter. A value has not been decoded yet: see [`Parameter::decode`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Name with its `@`; may be empty.
    pub name: Utf16<'a>,
    /// Output parameter, default value.
    pub flags: ParameterFlags,
    /// Type and value.
    pub value: ParameterValue<'a>,
    /// Offset of the value in the message.
    pub at: usize,
}

impl<'a> Parameter<'a> {
    /// Reads a parameter, the one at `ordinal` of its call.
    pub(crate) fn read(
        reader: &mut ByteReader<'a>,
        protocol: &Protocol,
        ordinal: usize,
    ) -> Result<Parameter<'a>, DecodeError> {
        let name = reader.b_varchar()?;
        let flags = ParameterFlags(reader.u8()?);
        if flags.0 & ENCRYPTED != 0 {
            return Err(reader.fail_before(1, Cause::EncryptedParameter { ordinal }));
        }
        if reader.peek() == Some(code::TVP) {
            reader.u8()?;
            let at = reader.position();
            let value = ParameterValue::Table(Tvp::read(reader, protocol)?);
            return Ok(Parameter { name, flags, value, at });
        }
        let type_info = TypeInfo::read(reader, protocol, Place::Parameter)?;
        let at = reader.position();
        let raw = RawValue::read(&type_info, Place::Parameter, reader)?;
        let value = ParameterValue::Scalar { type_info, raw };
        Ok(Parameter { name, flags, value, at })
    }

    /// The value; `None` for a table.
    pub fn decode(&self) -> Option<Result<Datum<'a>, DecodeError>> {
        match &self.value {
            ParameterValue::Scalar { type_info, raw } => {
                let at = self.at;
                Some(decode(type_info, *raw).map_err(|cause| DecodeError { at, cause }))
            }
            ParameterValue::Table(_) => None,
        }
    }

    /// The value as text, when it is one: statement texts come as char, nchar, text or ntext, of
    /// fixed length or (max). `None` for NULL and for values that are no text.
    pub fn decode_text(&self) -> Result<Option<String>, DecodeError> {
        Ok(match self.decode().transpose()? {
            Some(Datum::NChar(text)) => Some(text.decode().0),
            Some(Datum::Char(text)) => Some(text.decode().0.into_owned()),
            _ => None,
        })
    }
}
