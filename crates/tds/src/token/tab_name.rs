//! TABNAME: the tables of a result that can be updated through a cursor.
//!
//! ```text
//! length u16, for each table: count of parts u8, US_VARCHAR each
//! ```

use super::sized;
use crate::error::{DecodeError, EncodeError};
use crate::reader::ByteReader;
use crate::text::write_us_varchar;

/// First byte.
pub const TOKEN: u8 = 0xA4;

/// Reads the names, each in its parts.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<Vec<String>>, DecodeError> {
    let mut reader = reader.sized_u16()?;
    let mut tables = Vec::new();
    while !reader.is_empty() {
        let parts = reader.u8()?;
        let name = (0..parts).map(|_| reader.us_varchar().map(|part| part.to_string()));
        tables.push(name.collect::<Result<_, _>>()?);
    }
    Ok(tables)
}

/// Appends the token.
pub fn write(tables: &[Vec<String>], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    sized::write_u16(TOKEN, out, |out| {
        for table in tables {
            let found = table.len();
            let too_many = EncodeError::Count { field: "parts of a table name", found, max: 255 };
            out.push(u8::try_from(found).map_err(|_| too_many)?);
            table.iter().try_for_each(|part| write_us_varchar("table name", part, out))?;
        }
        Ok(())
    })
}
