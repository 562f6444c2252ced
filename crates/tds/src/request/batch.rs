//! SQL batch: a text.

use super::Headers;
use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::text::{Utf16, write_units};
use crate::version::TdsVersion;

/// A batch. Its text may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlBatch<'a> {
    /// ALL_HEADERS.
    pub headers: Headers,
    /// The statements.
    pub text: Utf16<'a>,
}

impl<'a> SqlBatch<'a> {
    /// Reads a message body.
    pub fn read(body: &'a [u8], version: TdsVersion) -> Result<SqlBatch<'a>, DecodeError> {
        let mut reader = ByteReader::new(body);
        let headers = Headers::read(&mut reader, version)?;
        let bytes = reader.rest().len();
        if bytes % 2 == 1 {
            return Err(reader.fail(Cause::OddText { bytes }));
        }
        Ok(SqlBatch { headers, text: Utf16::from_bytes(reader.take_rest()) })
    }

    /// Appends a message body.
    pub fn write(headers: &Headers, text: &str, version: TdsVersion, out: &mut Vec<u8>) {
        headers.write(version, out);
        write_units(text, out);
    }
}
