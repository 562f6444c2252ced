//! Streaming decoders: text that arrives in chunks, cut anywhere.
//!
//! A chunk may end inside a character (a lead byte, half a UTF-8 sequence, half a code unit, a high
//! surrogate). The decoder keeps those few bytes and goes on with the next chunk; the result does
//! not depend on where the cuts are.

use super::code_page::{CodePage, Scheme};
use super::oem;

/// A piece of decoded UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPiece<'a> {
    /// Decoded text, of whole characters.
    Text(&'a str),
    /// A surrogate without its partner; no `str` can hold it.
    Unpaired(u16),
}

/// Decodes code-page bytes chunk by chunk.
#[derive(Debug, Clone)]
pub struct CharDecoder {
    code_page: CodePage,
    /// First bytes of a character whose rest is in the next chunk.
    pending: Vec<u8>,
    replaced: usize,
}

impl CharDecoder {
    /// A decoder at the beginning of a text.
    #[must_use]
    pub fn new(code_page: CodePage) -> CharDecoder {
        CharDecoder { code_page, pending: Vec::new(), replaced: 0 }
    }

    /// Appends the text of the next chunk to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut String) {
        match self.code_page.scheme() {
            Scheme::Ascii => self.replaced += push_ascii(chunk, out),
            Scheme::Table(high) => push_table(chunk, high, out),
            Scheme::SingleByte(encoding) => self.replaced += push_encoded(encoding, chunk, out),
            Scheme::DoubleByte(encoding) => self.push_double_byte(encoding, chunk, out),
            Scheme::Utf8 => self.push_utf8(chunk, out),
        }
    }

    /// Ends the text: a character that is still incomplete becomes U+FFFD. Gives the number of
    /// replacements.
    pub fn finish(&mut self, out: &mut String) -> usize {
        if !self.pending.is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
            self.replaced += 1;
            self.pending.clear();
        }
        std::mem::take(&mut self.replaced)
    }

    fn push_double_byte(
        &mut self,
        encoding: &'static encoding_rs::Encoding,
        chunk: &[u8],
        out: &mut String,
    ) {
        let mut rest = chunk;
        if let (Some(&lead), Some((&trail, after))) = (self.pending.first(), rest.split_first()) {
            self.pending.clear();
            if self.code_page.takes_trail(lead, trail) {
                self.replaced += self.push_pairs(encoding, &[lead, trail], out);
                rest = after;
            } else {
                out.push(char::REPLACEMENT_CHARACTER);
                self.replaced += 1;
            }
        }
        let whole = self.code_page.whole_characters(rest);
        self.replaced += self.push_pairs(encoding, &rest[..whole], out);
        self.pending.extend_from_slice(&rest[whole..]);
    }

    /// Bytes that end at a character's end. Characters that Windows maps in its own way are taken
    /// out; the runs between them go to the common decoder.
    fn push_pairs(
        &self,
        encoding: &'static encoding_rs::Encoding,
        bytes: &[u8],
        out: &mut String,
    ) -> usize {
        let mut replaced = 0;
        let mut run = 0;
        let mut at = 0;
        while at < bytes.len() {
            let len = self.code_page.character_len(&bytes[at..]);
            if let Some(special) = self.code_page.special(&bytes[at..at + len]) {
                replaced += push_encoded(encoding, &bytes[run..at], out);
                replaced += usize::from(special == char::REPLACEMENT_CHARACTER);
                out.push(special);
                run = at + len;
            }
            at += len;
        }
        replaced + push_encoded(encoding, &bytes[run..], out)
    }

    fn push_utf8(&mut self, chunk: &[u8], out: &mut String) {
        let mut rest = chunk;
        while !self.pending.is_empty() {
            let Some((&next, after)) = rest.split_first() else { return };
            self.pending.push(next);
            match std::str::from_utf8(&self.pending) {
                Ok(text) => {
                    out.push_str(text);
                    self.pending.clear();
                    rest = after;
                }
                Err(error) if error.error_len().is_none() => rest = after,
                Err(_) => {
                    // The byte does not continue the character: it is read again on its own.
                    out.push(char::REPLACEMENT_CHARACTER);
                    self.replaced += 1;
                    self.pending.clear();
                }
            }
        }
        for piece in rest.utf8_chunks() {
            out.push_str(piece.valid());
            let invalid = piece.invalid();
            let is_cut = invalid.as_ptr_range().end == rest.as_ptr_range().end
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_cut {
                self.pending.extend_from_slice(invalid);
            } else if !invalid.is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
                self.replaced += 1;
            }
        }
    }
}

fn push_ascii(chunk: &[u8], out: &mut String) -> usize {
    out.extend(
        chunk
            .iter()
            .map(|&byte| if byte.is_ascii() { byte as char } else { char::REPLACEMENT_CHARACTER }),
    );
    chunk.iter().filter(|byte| !byte.is_ascii()).count()
}

fn push_table(chunk: &[u8], high: &[char; 128], out: &mut String) {
    out.extend(chunk.iter().map(|&byte| oem::character(high, byte)));
}

/// Decodes whole characters with encoding_rs, counting replacements.
fn push_encoded(encoding: &'static encoding_rs::Encoding, bytes: &[u8], out: &mut String) -> usize {
    use encoding_rs::DecoderResult;
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut rest = bytes;
    let mut replaced = 0;
    loop {
        out.reserve(
            decoder.max_utf8_buffer_length_without_replacement(rest.len()).unwrap_or(rest.len()),
        );
        let (result, read) = decoder.decode_to_string_without_replacement(rest, out, true);
        rest = &rest[read..];
        match result {
            DecoderResult::InputEmpty => return replaced,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                out.push(char::REPLACEMENT_CHARACTER);
                replaced += 1;
                if rest.is_empty() {
                    // After a malformed last character the decoder is at its end and must not be
                    // called again.
                    return replaced;
                }
            }
        }
    }
}

/// Decodes UTF-16LE bytes chunk by chunk.
#[derive(Debug, Clone, Default)]
pub struct NCharDecoder {
    /// First byte of a code unit that is cut.
    half: Option<u8>,
    /// A high surrogate that waits for its partner.
    high: Option<u16>,
}

/// Characters gathered before they are handed on.
const GATHER: usize = 256;

impl NCharDecoder {
    /// A decoder at the beginning of a text.
    #[must_use]
    pub fn new() -> NCharDecoder {
        NCharDecoder::default()
    }

    /// Hands the text of the next chunk to `sink`.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(TextPiece<'_>)) {
        let mut gathered = Gathered { bytes: [0; GATHER], len: 0, sink };
        let mut rest = chunk;
        if let (Some(low), Some((&high, after))) = (self.half, rest.split_first()) {
            self.half = None;
            self.unit(u16::from_le_bytes([low, high]), &mut gathered);
            rest = after;
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        for &pair in pairs {
            self.unit(u16::from_le_bytes(pair), &mut gathered);
        }
        gathered.flush();
        if let Some(&odd) = odd.first() {
            self.half = Some(odd);
        }
    }

    /// Ends the text: a waiting high surrogate is handed out. Gives the dangling byte of an odd
    /// length, a fault.
    pub fn finish(&mut self, sink: &mut impl FnMut(TextPiece<'_>)) -> Option<u8> {
        if let Some(high) = self.high.take() {
            sink(TextPiece::Unpaired(high));
        }
        self.half.take()
    }

    fn unit<F: FnMut(TextPiece<'_>)>(&mut self, unit: u16, gathered: &mut Gathered<'_, F>) {
        match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + (u32::from(high - 0xD800) << 10) + u32::from(unit - 0xDC00);
                gathered.character(code);
            }
            (waiting, _) => {
                if let Some(high) = waiting {
                    gathered.unpaired(high);
                }
                match unit {
                    0xD800..=0xDBFF => self.high = Some(unit),
                    0xDC00..=0xDFFF => gathered.unpaired(unit),
                    _ => gathered.character(u32::from(unit)),
                }
            }
        }
    }
}

/// Collects characters, so that the sink is called once per few hundred bytes.
struct Gathered<'s, F> {
    bytes: [u8; GATHER],
    len: usize,
    sink: &'s mut F,
}

impl<F: FnMut(TextPiece<'_>)> Gathered<'_, F> {
    /// `code` is no surrogate.
    fn character(&mut self, code: u32) {
        if self.len + 4 > GATHER {
            self.flush();
        }
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.len += character.encode_utf8(&mut self.bytes[self.len..]).len();
    }

    fn unpaired(&mut self, unit: u16) {
        self.flush();
        (self.sink)(TextPiece::Unpaired(unit));
    }

    fn flush(&mut self) {
        // The bytes were written by `encode_utf8`, so they always are UTF-8.
        if let Ok(text) = std::str::from_utf8(&self.bytes[..self.len])
            && !text.is_empty()
        {
            (self.sink)(TextPiece::Text(text));
        }
        self.len = 0;
    }
}
