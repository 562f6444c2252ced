//! Text as the file holds it: bytes of a code page ([`CharText`]) or UTF-16LE ([`NText`]).
//!
//! Invariants
//! - The stored bytes are kept; decoding never changes them, so every value can be written back
//!   exactly.
//! - Decoding to `String` counts what it had to replace by U+FFFD: nothing is lost silently.
//! - An unpaired surrogate is a legal part of nchar and nvarchar; it is kept and can be seen as
//!   [`TextPiece::Unpaired`].

use std::borrow::Cow;

mod code_page;
mod decoder;
mod oem;

pub use code_page::CodePage;
pub use decoder::{CharDecoder, NCharDecoder, TextPiece};

/// char, varchar or text: bytes and the code page that gives them meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharText<'a> {
    /// The stored bytes, blank padding included.
    pub bytes: Cow<'a, [u8]>,
    /// Code page of the column's collation.
    pub code_page: CodePage,
}

impl CharText<'_> {
    /// The text, and how many characters had to be replaced by U+FFFD.
    #[must_use]
    pub fn decode(&self) -> (Cow<'_, str>, usize) {
        // ASCII means the same in every code page of SQL Server.
        if self.bytes.is_ascii() {
            return (String::from_utf8_lossy(&self.bytes), 0);
        }
        let mut text = String::with_capacity(self.bytes.len() + self.bytes.len() / 2);
        let mut decoder = CharDecoder::new(self.code_page);
        decoder.push(&self.bytes, &mut text);
        let replaced = decoder.finish(&mut text);
        (Cow::Owned(text), replaced)
    }

    /// The same text with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> CharText<'static> {
        CharText {
            bytes: Cow::Owned(self.bytes.into_owned()),
            code_page: self.code_page,
        }
    }
}

/// nchar, nvarchar or ntext: UTF-16LE, unpaired surrogates included.
///
/// The number of bytes is even when the value comes from [`Datum::decode`](crate::Datum::decode).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NText<'a> {
    /// The stored bytes, blank padding included.
    pub bytes: Cow<'a, [u8]>,
}

impl NText<'_> {
    /// The text as UTF-16LE bytes.
    #[must_use]
    pub fn from_text(text: &str) -> NText<'static> {
        NText {
            bytes: Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        }
    }

    /// The code units.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        self.bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
    }

    /// The text, and how many unpaired surrogates had to be replaced by U+FFFD.
    #[must_use]
    pub fn decode(&self) -> (String, usize) {
        let mut text = String::with_capacity(self.bytes.len() / 2);
        let mut replaced = 0;
        self.for_each_piece(|piece| match piece {
            TextPiece::Text(piece) => text.push_str(piece),
            TextPiece::Unpaired(_) => {
                text.push(char::REPLACEMENT_CHARACTER);
                replaced += 1;
            }
        });
        (text, replaced)
    }

    /// Hands out the text piece by piece; a dangling odd byte shows as an unpaired U+FFFD
    /// replacement.
    pub fn for_each_piece(&self, mut sink: impl FnMut(TextPiece<'_>)) {
        let mut decoder = NCharDecoder::new();
        decoder.push(&self.bytes, &mut sink);
        if decoder.finish(&mut sink).is_some() {
            sink(TextPiece::Unpaired(0xFFFD));
        }
    }

    /// The same text with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> NText<'static> {
        NText { bytes: Cow::Owned(self.bytes.into_owned()) }
    }
}

#[cfg(test)]
mod tests;
