//! A cursor over received bytes that knows its position and never reads past the end.

use crate::error::{Cause, DecodeError};
use crate::text::Utf16;

/// Reads fields one after the other. Multi-byte integers are little-endian unless the name says
/// otherwise.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    /// Offset of the next byte in `bytes`.
    at: usize,
    /// Offset of `bytes` in the message.
    base: usize,
    /// The bytes have a length of their own: no more can arrive.
    is_closed: bool,
}

impl<'a> ByteReader<'a> {
    /// A reader at the beginning of a message body.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader::part(bytes, 0)
    }

    /// A reader of a part that begins `base` bytes into the message.
    #[must_use]
    pub fn part(bytes: &'a [u8], base: usize) -> ByteReader<'a> {
        ByteReader { bytes, at: 0, base, is_closed: false }
    }

    /// Offset of the next byte from the start of the message body.
    #[must_use]
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// True at the end.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// An error at the next byte.
    #[must_use]
    pub fn fail(&self, cause: impl Into<Cause>) -> DecodeError {
        DecodeError { at: self.position(), cause: cause.into() }
    }

    #[cold]
    fn lacks(&self, needed: usize) -> DecodeError {
        let is_closed = self.is_closed;
        self.fail(if is_closed { Cause::Overrun { needed } } else { Cause::Truncated { needed } })
    }

    /// An error about a field that was read just before, `bytes` long.
    #[must_use]
    pub(crate) fn fail_before(&self, bytes: usize, cause: impl Into<Cause>) -> DecodeError {
        DecodeError {
            at: self.position().saturating_sub(bytes),
            cause: cause.into(),
        }
    }

    /// Refuses bytes after the end of a structure.
    pub fn finish(&self) -> Result<(), DecodeError> {
        let bytes = self.rest().len();
        if bytes == 0 { Ok(()) } else { Err(self.fail(Cause::Trailing { bytes })) }
    }

    /// The next byte, which stays unread.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let rest = self.rest();
        let Some(taken) = rest.get(..len) else {
            return Err(self.lacks(len - rest.len()));
        };
        self.at += len;
        Ok(taken)
    }

    /// A reader of the next `len` bytes, past which nothing belongs to the structure.
    pub fn closed(&mut self, len: usize) -> Result<ByteReader<'a>, DecodeError> {
        let base = self.position();
        let bytes = self.take(len)?;
        Ok(ByteReader { bytes, at: 0, base, is_closed: true })
    }

    /// A reader of the bytes that follow a length of two bytes.
    pub fn sized_u16(&mut self) -> Result<ByteReader<'a>, DecodeError> {
        let len = self.u16()?;
        self.closed(len.into())
    }

    /// A reader of the bytes that follow a length of four bytes.
    pub fn sized_u32(&mut self) -> Result<ByteReader<'a>, DecodeError> {
        let len = self.length_u32()?;
        self.closed(len)
    }

    /// All bytes to the end.
    pub fn take_rest(&mut self) -> &'a [u8] {
        let rest = self.rest();
        self.at = self.bytes.len();
        rest
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some(array) = self.rest().first_chunk::<N>() else {
            return Err(self.lacks(N - self.rest().len()));
        };
        self.at += N;
        Ok(*array)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Two bytes, big-endian.
    pub fn u16_be(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Four bytes, big-endian.
    pub fn u32_be(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Four bytes, signed.
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length of four bytes as a number of bytes of memory.
    pub fn length_u32(&mut self) -> Result<usize, DecodeError> {
        let length = self.u32()?;
        let too_long = Cause::Limit {
            field: "length",
            found: length.into(),
            max: usize::MAX as u64,
        };
        usize::try_from(length).map_err(|_| self.fail_before(4, too_long))
    }

    /// `chars` UTF-16 code units.
    pub fn units(&mut self, chars: usize) -> Result<Utf16<'a>, DecodeError> {
        self.take(chars.saturating_mul(2)).map(Utf16::from_bytes)
    }

    /// B_VARCHAR: a count of characters in one byte, and the characters.
    pub fn b_varchar(&mut self) -> Result<Utf16<'a>, DecodeError> {
        let chars = self.u8()?;
        self.units(chars.into())
    }

    /// US_VARCHAR: a count of characters in two bytes, and the characters.
    pub fn us_varchar(&mut self) -> Result<Utf16<'a>, DecodeError> {
        let chars = self.u16()?;
        self.units(chars.into())
    }

    /// B_VARBYTE: a count of bytes in one byte, and the bytes.
    pub fn b_varbyte(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.u8()?;
        self.take(len.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_cut_says_where_it_begins_and_what_it_lacks() {
        let mut reader = ByteReader::new(&[1, 2, 3, 4, 5]);
        assert_eq!(reader.u16(), Ok(0x0201));
        let error = reader.u64().unwrap_err();
        assert_eq!(error, DecodeError { at: 2, cause: Cause::Truncated { needed: 5 } });
        assert!(error.is_incomplete());
        assert_eq!(reader.u16_be(), Ok(0x0304), "a failed read takes nothing");
        assert_eq!(reader.finish().unwrap_err().cause, Cause::Trailing { bytes: 1 });
    }

    #[test]
    fn names_are_counted_in_characters() {
        let mut reader = ByteReader::new(&[1, b'a', 0, 1, 0, b'b', 0]);
        assert_eq!(reader.b_varchar().unwrap().to_string(), "a");
        assert_eq!(reader.us_varchar().unwrap().to_string(), "b");
        assert!(reader.is_empty());
    }
}
