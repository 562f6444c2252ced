//! Values inside binary XML, and the escapes of XML text.
//!
//! Certain: text in Unicode or with its code page, integers, booleans, decimals, uniqueidentifier,
//! binary. The text SQL Server gives floats, money and dates is not certain, so those are errors.

use std::fmt::Write;

use super::reader::Reader;
use super::{XmlError, write_number};
use crate::decimal::Decimal;
use crate::json::write_hex;
use crate::sql_type::SqlType;
use crate::text::{CharDecoder, CodePage, NCharDecoder, TextPiece};

/// Where a value stands: it decides which characters are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextContext {
    Content,
    Attribute,
}

/// Reads and writes the value of a token whose code is already read.
pub(super) fn write<W: Write>(
    token: u8,
    at: usize,
    context: TextContext,
    reader: &mut Reader<'_>,
    out: &mut W,
) -> Result<(), XmlError> {
    match token {
        0x01 => fixed(SqlType::SmallInt, 2, reader, out),
        0x02 => fixed(SqlType::Int, 4, reader, out),
        0x07 => fixed(SqlType::TinyInt, 1, reader, out),
        0x08 => fixed(SqlType::BigInt, 8, reader, out),
        0x06 => bit(["0", "1"], reader, out),
        0x86 => bit(["false", "true"], reader, out),
        0x0A | 0x0B => decimal(reader, out),
        // SQL-BINARY, SQL-VARBINARY, SQL-IMAGE, XSD-BASE64
        0x0C | 0x0F | 0x17 | 0x85 => {
            let len = reader.number()?;
            write_base64(reader.take(len)?, out)
        }
        // XSD-BINHEX
        0x84 => {
            let len = reader.number()?;
            Ok(write_hex(reader.take(len)?, out)?)
        }
        // SQL-CHAR, SQL-VARCHAR, SQL-TEXT
        0x0D | 0x10 | 0x16 => char_text(context, reader, out),
        // SQL-NCHAR, SQL-NVARCHAR, SQL-NTEXT
        0x0E | 0x11 | 0x18 => {
            let text = reader.text()?;
            write_escaped(text, context, reader.at(), out)
        }
        // XSD-BYTE, XSD-UNSIGNEDSHORT, XSD-UNSIGNEDINT, XSD-UNSIGNEDLONG
        0x88 => integer::<1, W>(|bytes| i128::from(i8::from_le_bytes(bytes)), reader, out),
        0x89 => integer::<2, W>(|bytes| i128::from(u16::from_le_bytes(bytes)), reader, out),
        0x8A => integer::<4, W>(|bytes| i128::from(u32::from_le_bytes(bytes)), reader, out),
        0x8B => integer::<8, W>(|bytes| i128::from(u64::from_le_bytes(bytes)), reader, out),
        token => Err(XmlError::Token { token, at }),
    }
}

fn fixed<W: Write>(
    ty: SqlType,
    len: usize,
    reader: &mut Reader<'_>,
    out: &mut W,
) -> Result<(), XmlError> {
    let bytes = reader.take(len)?;
    Ok(write_number(ty, bytes, out).ok_or(XmlError::Value { at: reader.at() })??)
}

fn integer<const N: usize, W: Write>(
    value: impl Fn([u8; N]) -> i128,
    reader: &mut Reader<'_>,
    out: &mut W,
) -> Result<(), XmlError> {
    let bytes = reader.take(N)?.try_into().map_err(|_| XmlError::Value { at: reader.at() })?;
    Ok(write!(out, "{}", value(bytes))?)
}

fn bit<W: Write>(texts: [&str; 2], reader: &mut Reader<'_>, out: &mut W) -> Result<(), XmlError> {
    let value = usize::from(reader.byte()?);
    Ok(out.write_str(texts.get(value).ok_or(XmlError::Value { at: reader.at() })?)?)
}

/// Length, precision, scale, sign (1 = positive), magnitude.
fn decimal<W: Write>(reader: &mut Reader<'_>, out: &mut W) -> Result<(), XmlError> {
    let len = reader.number()?;
    let bytes = reader.take(len)?;
    let bad = XmlError::Value { at: reader.at() };
    let (&[precision, scale, sign], magnitude) = bytes.split_first_chunk::<3>().ok_or(bad)?;
    if !matches!(len, 7 | 11 | 15 | 19) || sign > 1 || precision > 38 || scale > precision {
        return Err(bad);
    }
    let magnitude =
        magnitude.iter().rev().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    let value =
        Decimal::new(sign == 0, magnitude, scale).filter(|value| value.fits_precision(precision));
    Ok(write!(out, "{}", value.ok_or(bad)?)?)
}

/// Bytes after the number of their code page.
fn char_text<W: Write>(
    context: TextContext,
    reader: &mut Reader<'_>,
    out: &mut W,
) -> Result<(), XmlError> {
    let len = reader.number()?;
    let bytes = reader.take(len)?;
    let bad = XmlError::Value { at: reader.at() };
    let (number, bytes) = bytes.split_first_chunk::<4>().ok_or(bad)?;
    let number = u16::try_from(u32::from_le_bytes(*number)).map_err(|_| bad)?;
    let code_page = CodePage::from_number(number).ok_or(bad)?;
    let mut escaper = Escaper::new(context, all_blank_bytes(bytes));
    let mut decoder = CharDecoder::new(code_page);
    let mut text = String::new();
    for chunk in bytes.chunks(4_096) {
        text.clear();
        decoder.push(chunk, &mut text);
        escaper.write(&text, out)?;
    }
    text.clear();
    if decoder.finish(&mut text) > 0 { Err(bad) } else { Ok(()) }
}

fn all_blank_bytes(bytes: &[u8]) -> usize {
    let is_blank = bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    if is_blank { bytes.len() } else { 0 }
}

/// Text with the escapes of its place.
fn write_escaped<W: Write>(
    text: &[u8],
    context: TextContext,
    at: usize,
    out: &mut W,
) -> Result<(), XmlError> {
    let units = text.as_chunks::<2>().0;
    let is_blank = units.iter().all(|unit| matches!(unit, [b' ' | b'\t' | b'\n' | b'\r', 0]));
    let mut escaper = Escaper::new(context, if is_blank { units.len() } else { 0 });
    for_each_text(text, at, |text| escaper.write(text, out))
}

/// Text as it is.
pub(super) fn write_verbatim<W: Write>(
    text: &[u8],
    at: usize,
    out: &mut W,
) -> Result<(), XmlError> {
    for_each_text(text, at, |text| Ok(out.write_str(text)?))
}

/// XML has no context for unpaired surrogates.
fn for_each_text(
    text: &[u8],
    at: usize,
    mut write: impl FnMut(&str) -> Result<(), XmlError>,
) -> Result<(), XmlError> {
    let mut result = Ok(());
    let mut sink = |piece: TextPiece<'_>| {
        if result.is_ok() {
            result = match piece {
                TextPiece::Text(text) => write(text),
                TextPiece::Unpaired(_) => Err(XmlError::Value { at }),
            };
        }
    };
    let mut decoder = NCharDecoder::new();
    decoder.push(text, &mut sink);
    decoder.finish(&mut sink);
    result
}

/// Escapes text as SQL Server serialises it: the characters XML needs escaped, line ends and tabs
/// that a parser would change, and the last character of a text that is all white space, which a
/// parser would drop.
struct Escaper {
    context: TextContext,
    /// Characters left in a text of white space only; 0 otherwise.
    blank_left: usize,
}

impl Escaper {
    fn new(context: TextContext, blank_characters: usize) -> Escaper {
        Escaper {
            context,
            blank_left: if context == TextContext::Content { blank_characters } else { 0 },
        }
    }

    fn write<W: Write>(&mut self, text: &str, out: &mut W) -> Result<(), XmlError> {
        let mut plain = 0;
        for (at, character) in text.char_indices() {
            let is_last_blank = self.blank_left == 1;
            self.blank_left = self.blank_left.saturating_sub(1);
            let escape = match (character, self.context) {
                ('&', _) => "&amp;",
                ('<', _) => "&lt;",
                ('>', _) => "&gt;",
                ('\r', _) => "&#x0D;",
                ('"', TextContext::Attribute) => "&quot;",
                ('\t', TextContext::Attribute) => "&#x09;",
                ('\n', TextContext::Attribute) => "&#x0A;",
                (' ', _) if is_last_blank => "&#x20;",
                ('\t', _) if is_last_blank => "&#x09;",
                ('\n', _) if is_last_blank => "&#x0A;",
                _ => continue,
            };
            out.write_str(&text[plain..at])?;
            out.write_str(escape)?;
            plain = at + character.len_utf8();
        }
        Ok(out.write_str(&text[plain..])?)
    }
}

fn write_base64<W: Write>(bytes: &[u8], out: &mut W) -> Result<(), XmlError> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for context in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * context) & 63) as usize] as char;
            out.write_char(if context <= chunk.len() { digit } else { '=' })?;
        }
    }
    Ok(())
}
