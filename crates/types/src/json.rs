//! Values as JSON, by the rules of `export --format jsonl`.
//!
//! | value | JSON |
//! | --- | --- |
//! | NULL | `null` |
//! | bit | `true`, `false` |
//! | integers | number |
//! | float, real | shortest number that reads back as the same float64 or float32; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | decimal, numeric, money, smallmoney | string with the declared scale (money: 4) |
//! | dates and times | ISO 8601 string |
//! | character types | string; an unpaired surrogate as its `\uXXXX` escape |
//! | binary, image, rowversion, UDT | `"0x…"`, upper-case |
//! | uniqueidentifier | upper-case string |
//! | sql_variant | `{"type":"int","value":1}` |
//! | xml | text where the binary XML is decoded, otherwise `"0x…"` |

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::text::{CharText, NText, TextPiece};
use crate::xml;

/// Writes a value as JSON. Gives the number of characters that had to be replaced by U+FFFD.
pub fn write_json<W: Write + ?Sized>(value: &Datum<'_>, out: &mut W) -> Result<usize, fmt::Error> {
    match value {
        Datum::Null => out.write_str("null")?,
        Datum::Bit(value) => out.write_str(if *value { "true" } else { "false" })?,
        Datum::TinyInt(value) => write!(out, "{value}")?,
        Datum::SmallInt(value) => write!(out, "{value}")?,
        Datum::Int(value) => write!(out, "{value}")?,
        Datum::BigInt(value) => write!(out, "{value}")?,
        Datum::Float(value) if value.is_finite() => write_float(format_args!("{value:e}"), out)?,
        Datum::Real(value) if value.is_finite() => write_float(format_args!("{value:e}"), out)?,
        Datum::Float(value) => write!(out, "\"{}\"", non_finite(*value))?,
        Datum::Real(value) => write!(out, "\"{}\"", non_finite(f64::from(*value)))?,
        Datum::Decimal(value) => write!(out, "\"{value}\"")?,
        Datum::Money(value) => write!(out, "\"{value}\"")?,
        Datum::SmallMoney(value) => write!(out, "\"{value}\"")?,
        Datum::DateTime(value) => write!(out, "\"{value}\"")?,
        Datum::SmallDateTime(value) => write!(out, "\"{value}\"")?,
        Datum::Date(value) => write!(out, "\"{value}\"")?,
        Datum::Time(value) => write!(out, "\"{value}\"")?,
        Datum::DateTime2(value) => write!(out, "\"{value}\"")?,
        Datum::DateTimeOffset(value) => write!(out, "\"{value}\"")?,
        Datum::Guid(value) => write!(out, "\"{value}\"")?,
        Datum::RowVersion(value) => write!(out, "\"0x{value:016X}\"")?,
        Datum::Char(text) => return write_char(text, out),
        Datum::NChar(text) => write_nchar(text, out)?,
        Datum::Xml(bytes) if xml::verify(bytes).is_ok() => write_xml(bytes, out)?,
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } | Datum::Xml(bytes) => {
            write_hex_string(bytes, out)?
        }
        Datum::Variant(variant) => {
            write!(out, "{{\"type\":\"{}\",\"value\":", variant.ty.base_name())?;
            let replaced = write_json(&variant.value, out)?;
            out.write_char('}')?;
            return Ok(replaced);
        }
    }
    Ok(0)
}

/// A text as a JSON string, quotes included.
pub fn write_json_str<W: Write + ?Sized>(text: &str, out: &mut W) -> fmt::Result {
    out.write_char('"')?;
    write_escaped(text, out)?;
    out.write_char('"')
}

/// A text with JSON's escapes, without quotes.
pub fn write_escaped<W: Write + ?Sized>(text: &str, out: &mut W) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        let (plain, special) = rest.split_at(at);
        out.write_str(plain)?;
        match special.as_bytes()[0] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x08 => out.write_str("\\b")?,
            0x0C => out.write_str("\\f")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        // The special character is ASCII, so the next byte begins a character.
        rest = &special[1..];
    }
    out.write_str(rest)
}

/// One piece of decoded UTF-16, escaped for the inside of a JSON string.
pub fn write_piece<W: Write + ?Sized>(piece: TextPiece<'_>, out: &mut W) -> fmt::Result {
    match piece {
        TextPiece::Text(text) => write_escaped(text, out),
        TextPiece::Unpaired(unit) => write!(out, "\\u{unit:04X}"),
    }
}

/// Upper-case hexadecimal digits, without `0x`.
pub fn write_hex<W: Write + ?Sized>(bytes: &[u8], out: &mut W) -> fmt::Result {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    let mut buffer = [0u8; 128];
    for chunk in bytes.chunks(buffer.len() / 2) {
        for (pair, byte) in buffer.chunks_exact_mut(2).zip(chunk) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        // Digits are ASCII, so this always is a text.
        out.write_str(std::str::from_utf8(&buffer[..chunk.len() * 2]).unwrap_or_default())?;
    }
    Ok(())
}

fn write_hex_string<W: Write + ?Sized>(bytes: &[u8], out: &mut W) -> fmt::Result {
    out.write_str("\"0x")?;
    write_hex(bytes, out)?;
    out.write_char('"')
}

fn write_char<W: Write + ?Sized>(text: &CharText<'_>, out: &mut W) -> Result<usize, fmt::Error> {
    let (text, replaced) = text.decode();
    write_json_str(&text, out)?;
    Ok(replaced)
}

fn write_nchar<W: Write + ?Sized>(text: &NText<'_>, out: &mut W) -> fmt::Result {
    out.write_char('"')?;
    let mut result = Ok(());
    text.for_each_piece(|piece| {
        if result.is_ok() {
            result = write_piece(piece, out);
        }
    });
    result?;
    out.write_char('"')
}

fn write_xml<W: Write + ?Sized>(bytes: &[u8], out: &mut W) -> fmt::Result {
    out.write_char('"')?;
    xml::write_text(bytes, &mut Escaping { out }).map_err(|_| fmt::Error)?;
    out.write_char('"')
}

/// Escapes everything written through it for the inside of a JSON string.
struct Escaping<'a, W: ?Sized> {
    out: &'a mut W,
}

impl<W: Write + ?Sized> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(text, self.out)
    }
}

/// Name of a float that JSON has no number for.
pub(crate) fn non_finite(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

/// Shortest digits and exponent as `{:e}` gives them, in plain notation unless that gets long.
pub(crate) fn write_float<W: Write + ?Sized>(
    scientific: fmt::Arguments<'_>,
    out: &mut W,
) -> fmt::Result {
    let mut text = ShortText { bytes: [0; 40], len: 0 };
    text.write_fmt(scientific)?;
    let (digits, exponent) = text.as_str().split_once('e').unwrap_or((text.as_str(), "0"));
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    if !(-5..16).contains(&exponent) {
        return out.write_str(text.as_str());
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (first, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    out.write_str(sign)?;
    if exponent < 0 {
        out.write_str("0.")?;
        write_zeros((-exponent - 1) as usize, out)?;
        out.write_str(first)?;
        return out.write_str(fraction);
    }
    let whole = exponent as usize;
    out.write_str(first)?;
    if fraction.len() <= whole {
        out.write_str(fraction)?;
        write_zeros(whole - fraction.len(), out)?;
        return out.write_str(".0");
    }
    write!(out, "{}.{}", &fraction[..whole], &fraction[whole..])
}

fn write_zeros<W: Write + ?Sized>(count: usize, out: &mut W) -> fmt::Result {
    (0..count).try_for_each(|_| out.write_char('0'))
}

/// A text of at most 40 bytes on the stack: more than any float needs.
struct ShortText {
    bytes: [u8; 40],
    len: usize,
}

impl ShortText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
