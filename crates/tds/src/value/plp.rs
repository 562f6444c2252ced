//! PLP (partially length-prefixed) values: (max), xml, CLR types.
//!
//! ```text
//! total u64   all ones = NULL, ...FE = not known
//! chunk       length u32, bytes
//! …
//! 0 u32       end
//! ```

use std::borrow::Cow;

use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;

/// Total of a NULL.
pub(crate) const NULL: u64 = u64::MAX;
/// Total of a value whose length is not known when it begins.
const UNKNOWN: u64 = u64::MAX - 1;
/// Largest value of any type.
pub(crate) const BYTES_MAX: usize = 0x7FFF_FFFF;

/// A value in chunks, as the message holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plp<'a> {
    /// The chunks with their lengths, without the end.
    body: &'a [u8],
    len: usize,
}

impl<'a> Plp<'a> {
    /// Reads a value to its end; `None` for NULL. A total that the chunks do not add up to is an
    /// error.
    pub fn read(reader: &mut ByteReader<'a>) -> Result<Option<Plp<'a>>, DecodeError> {
        let total = reader.u64()?;
        if total == NULL {
            return Ok(None);
        }
        let all = reader.rest();
        let mut len = 0usize;
        let mut body_len = 0;
        loop {
            let chunk = reader.length_u32()?;
            if chunk == 0 {
                break;
            }
            reader.take(chunk)?;
            len += chunk;
            body_len += 4 + chunk;
        }
        if total != UNKNOWN && total != len as u64 {
            return Err(reader.fail(Cause::Value { field: "PLP length", found: total }));
        }
        Ok(Some(Plp { body: all.get(..body_len).unwrap_or(&[]), len }))
    }

    /// Bytes of all chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// A value without bytes?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunks, one after the other. They may be cut anywhere, also inside a character.
    #[must_use]
    pub fn chunks(&self) -> PlpChunks<'a> {
        PlpChunks { reader: ByteReader::new(self.body) }
    }

    /// The whole value: borrowed when there is one chunk.
    #[must_use]
    pub fn join(&self) -> Cow<'a, [u8]> {
        let mut chunks = self.chunks();
        let first = chunks.next().unwrap_or(&[]);
        if first.len() == self.len {
            return Cow::Borrowed(first);
        }
        let mut joined = Vec::with_capacity(self.len);
        joined.extend_from_slice(first);
        for chunk in chunks {
            joined.extend_from_slice(chunk);
        }
        Cow::Owned(joined)
    }
}

/// The chunks of a value.
#[derive(Debug, Clone)]
pub struct PlpChunks<'a> {
    reader: ByteReader<'a>,
}

impl<'a> Iterator for PlpChunks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // The chunks were verified when the value was read.
        let len = self.reader.length_u32().ok()?;
        self.reader.take(len).ok()
    }
}

/// Begins a value: `None` when its length is not known yet.
pub fn write_plp_start(total: Option<u64>, out: &mut Vec<u8>) {
    out.extend(total.unwrap_or(UNKNOWN).to_le_bytes());
}

/// Appends a chunk. An empty one is left out: it would be the end.
pub fn write_plp_chunk(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(BYTES_MAX) {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
}

/// Ends a value.
pub fn write_plp_end(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

/// Appends a whole value.
pub(crate) fn write(bytes: &[u8], out: &mut Vec<u8>) {
    write_plp_start(Some(bytes.len() as u64), out);
    write_plp_chunk(bytes, out);
    write_plp_end(out);
}
