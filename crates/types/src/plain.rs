//! Values as plain text: what `export --format csv` puts into a field, before quoting.
//!
//! As JSON without its quotes and escapes, with these differences:
//! * bit is `1` or `0`, as SQL Server's own tools write it;
//! * an unpaired surrogate becomes U+FFFD and is counted;
//! * a sql_variant is written as its value alone;
//! * NULL is nothing at all: the caller decides how a missing field differs from an empty string.

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::json::{non_finite, write_float, write_hex};
use crate::text::TextPiece;
use crate::xml;

/// Writes a value as plain text. Gives the number of characters that had to be replaced by U+FFFD.
pub fn write_plain<W: Write + ?Sized>(value: &Datum<'_>, out: &mut W) -> Result<usize, fmt::Error> {
    match value {
        Datum::Null => {}
        Datum::Bit(value) => out.write_char(if *value { '1' } else { '0' })?,
        Datum::TinyInt(value) => write!(out, "{value}")?,
        Datum::SmallInt(value) => write!(out, "{value}")?,
        Datum::Int(value) => write!(out, "{value}")?,
        Datum::BigInt(value) => write!(out, "{value}")?,
        Datum::Float(value) if value.is_finite() => write_float(format_args!("{value:e}"), out)?,
        Datum::Real(value) if value.is_finite() => write_float(format_args!("{value:e}"), out)?,
        Datum::Float(value) => out.write_str(non_finite(*value))?,
        Datum::Real(value) => out.write_str(non_finite(f64::from(*value)))?,
        Datum::Decimal(value) => write!(out, "{value}")?,
        Datum::Money(value) => write!(out, "{value}")?,
        Datum::SmallMoney(value) => write!(out, "{value}")?,
        Datum::DateTime(value) => write!(out, "{value}")?,
        Datum::SmallDateTime(value) => write!(out, "{value}")?,
        Datum::Date(value) => write!(out, "{value}")?,
        Datum::Time(value) => write!(out, "{value}")?,
        Datum::DateTime2(value) => write!(out, "{value}")?,
        Datum::DateTimeOffset(value) => write!(out, "{value}")?,
        Datum::Guid(value) => write!(out, "{value}")?,
        Datum::RowVersion(value) => write!(out, "0x{value:016X}")?,
        Datum::Char(text) => {
            let (text, replaced) = text.decode();
            out.write_str(&text)?;
            return Ok(replaced);
        }
        Datum::NChar(text) => {
            let mut replaced = 0;
            let mut result = Ok(());
            text.for_each_piece(|piece| {
                if result.is_ok() {
                    result = write_piece(piece, &mut replaced, out);
                }
            });
            result?;
            return Ok(replaced);
        }
        Datum::Xml(bytes) if xml::verify(bytes).is_ok() => {
            xml::write_text(bytes, out).map_err(|_| fmt::Error)?
        }
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } | Datum::Xml(bytes) => {
            out.write_str("0x")?;
            write_hex(bytes, out)?;
        }
        Datum::Variant(variant) => return write_plain(&variant.value, out),
    }
    Ok(0)
}

fn write_piece<W: Write + ?Sized>(
    piece: TextPiece<'_>,
    replaced: &mut usize,
    out: &mut W,
) -> fmt::Result {
    match piece {
        TextPiece::Text(text) => out.write_str(text),
        TextPiece::Unpaired(_) => {
            *replaced += 1;
            out.write_char(char::REPLACEMENT_CHARACTER)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::sql_type::SqlType;
    use crate::text::{CharText, CodePage, NText};
    use crate::variant::Variant;

    fn plain(value: &Datum<'_>) -> (String, usize) {
        let mut text = String::new();
        let replaced = write_plain(value, &mut text).unwrap();
        (text, replaced)
    }

    #[test]
    fn fields_are_bare_values() {
        let char_text = CharText {
            bytes: Cow::Borrowed(b"a\"b \xE9"),
            code_page: CodePage::Cp1252,
        };
        let cases: [(Datum<'_>, &str); 8] = [
            (Datum::Null, ""),
            (Datum::Bit(true), "1"),
            (Datum::Float(0.1), "0.1"),
            (Datum::Real(f32::NAN), "NaN"),
            (Datum::Char(char_text), "a\"b é"),
            (Datum::Binary(Cow::Borrowed(&[0xAB, 0x01])), "0xAB01"),
            (Datum::RowVersion(2001), "0x00000000000007D1"),
            (Datum::Variant(Box::new(Variant { ty: SqlType::Int, value: Datum::Int(-5) })), "-5"),
        ];
        for (value, text) in cases {
            assert_eq!(plain(&value), (text.to_owned(), 0));
        }
    }

    #[test]
    fn an_unpaired_surrogate_is_replaced_and_counted() {
        let text = NText { bytes: Cow::Borrowed(&[0x41, 0, 0, 0xD8, 0x42, 0]) };
        assert_eq!(plain(&Datum::NChar(text)), ("A\u{FFFD}B".to_owned(), 1));
    }

    #[test]
    fn binary_xml_is_text_when_it_decodes_and_hex_otherwise() {
        assert_eq!(plain(&Datum::Xml(Cow::Borrowed(&[0xFF, 0x00]))).0, "0xFF00");
        let empty = [0xDF, 0xFF, 0x01, 0xB0, 0x04];
        assert_eq!(plain(&Datum::Xml(Cow::Borrowed(&empty))).0, "");
    }
}
