//! COLMETADATA: the columns of the rows that follow.
//!
//! ```text
//! count u16 (0xFFFF = as described before), columns: see [`Column`]
//! ```

use crate::column::{Column, ColumnSource};
use crate::error::{DecodeError, EncodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::version::TdsVersion;

/// First byte.
pub const TOKEN: u8 = 0x81;
/// Count that says: the client has the columns.
const NO_METADATA: u16 = 0xFFFF;

/// Reads the columns; `None` when they are those described before.
pub(crate) fn read(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    source: ColumnSource,
) -> Result<Option<Vec<Column>>, DecodeError> {
    let count = reader.u16()?;
    if count == NO_METADATA {
        return Ok(None);
    }
    (0..count).map(|_| Column::read(reader, protocol, source)).collect::<Result<_, _>>().map(Some)
}

/// Appends the token.
pub fn write(
    columns: &[Column],
    version: TdsVersion,
    source: ColumnSource,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let found = columns.len();
    let count = u16::try_from(found).ok().filter(|count| *count != NO_METADATA);
    let too_many = EncodeError::Count { field: "columns", found, max: 0xFFFE };
    out.push(TOKEN);
    let result = count.ok_or(too_many).and_then(|count| {
        out.extend(count.to_le_bytes());
        columns.iter().try_for_each(|column| column.write(version, source, out))
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the token that says: the columns are those described before.
pub fn write_none(out: &mut Vec<u8>) {
    out.push(TOKEN);
    out.extend(NO_METADATA.to_le_bytes());
}
