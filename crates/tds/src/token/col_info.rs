//! COLINFO: where the columns of a result come from; follows TABNAME.
//!
//! ```text
//! length u16, for each column: ordinal u8, table u8 (from 1, 0 = expression), status u8,
//!             [status 0x20: name in the table B_VARCHAR]
//! ```

use super::sized;
use crate::error::{DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::write_b_varchar;

/// First byte.
pub const TOKEN: u8 = 0xA5;

/// Status: an expression.
pub const EXPRESSION: u8 = 0x04;
/// Status: part of a key.
pub const KEY: u8 = 0x08;
/// Status: added by the server.
pub const HIDDEN: u8 = 0x10;
/// Status: the column has another name in its table.
pub const DIFFERENT_NAME: u8 = 0x20;

/// Origin of a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnInfo {
    /// Position in the result, from 1.
    pub ordinal: u8,
    /// Position of its table in TABNAME, from 1; 0 for an expression.
    pub table: u8,
    /// Status bits without [`DIFFERENT_NAME`], which follows from the name.
    pub status: u8,
    /// Name in the table when it differs.
    pub base_name: Option<String>,
}

/// Reads the origins.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<ColumnInfo>, DecodeError> {
    let mut reader = reader.sized_u16()?;
    let mut columns = Vec::new();
    while !reader.is_empty() {
        let ordinal = reader.u8()?;
        let table = reader.u8()?;
        let status = reader.u8()?;
        let has_name = status & DIFFERENT_NAME != 0;
        let base_name = if has_name { Some(reader.b_varchar()?.to_string()) } else { None };
        columns.push(ColumnInfo { ordinal, table, status: status & !DIFFERENT_NAME, base_name });
    }
    Ok(columns)
}

/// Appends the token.
pub fn write(columns: &[ColumnInfo], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    sized::write_u16(TOKEN, out, |out| {
        for column in columns {
            let has_name = if column.base_name.is_some() { DIFFERENT_NAME } else { 0 };
            let status = column.status & !DIFFERENT_NAME | has_name;
            out.extend([column.ordinal, column.table, status]);
            if let Some(name) = &column.base_name {
                write_b_varchar("column name", name, out)?;
            }
        }
        Ok(())
    })
}
