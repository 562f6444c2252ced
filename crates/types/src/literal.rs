//! Values as T-SQL literals, for INSERT statements of `export --format sql`.
//!
//! | value | literal |
//! | --- | --- |
//! | bit, integers, decimal, money | digits |
//! | float, real | shortest digits with an exponent, so that it is a float literal |
//! | NaN, infinity | `NULL /* NaN */`: SQL Server has no way to write them |
//! | dates and times | quoted ISO 8601, independent of language and DATEFORMAT |
//! | char types | `'…'` when ASCII, `N'…'` otherwise; quotes doubled |
//! | nchar types | `N'…'`; an unpaired surrogate as `+ CONVERT(nvarchar(max), 0x…) +` |
//! | binary, rowversion, other UDT | `0x…` |
//! | hierarchyid, geometry, geography | `CAST(0x… AS hierarchyid)` |
//! | uniqueidentifier | quoted text |
//! | sql_variant | `CAST(… AS type)` |
//! | xml | `CONVERT(xml, N'…', 1)`, which keeps white space, where decoded; else `NULL /* undecoded xml 0x… */` |
//!
//! In a literal a backslash at the end of a line continues the line, and both would be lost. Such a
//! text becomes two literals, one that ends in the backslash and one that begins with the line end.

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::json::{non_finite, write_hex};
use crate::sql_type::{SqlType, UdtKind};
use crate::text::{NText, TextPiece};
use crate::xml;

/// Writes a value as a T-SQL literal. Gives the number of characters or values that could not be
/// kept: characters replaced by U+FFFD, and values SQL Server has no literal for, which become NULL
/// with a comment.
pub fn write_literal<W: Write + ?Sized>(
    value: &Datum<'_>,
    out: &mut W,
) -> Result<usize, fmt::Error> {
    match value {
        Datum::Null => out.write_str("NULL")?,
        Datum::Bit(value) => out.write_char(if *value { '1' } else { '0' })?,
        Datum::TinyInt(value) => write!(out, "{value}")?,
        Datum::SmallInt(value) => write!(out, "{value}")?,
        // The smallest integers: minus sign and a number that is too large on its own still parse
        // as decimal.
        Datum::Int(value) => write!(out, "{value}")?,
        Datum::BigInt(value) => write!(out, "{value}")?,
        Datum::Decimal(value) => write!(out, "{value}")?,
        Datum::Money(value) => write!(out, "{value}")?,
        Datum::SmallMoney(value) => write!(out, "{value}")?,
        Datum::Float(value) if value.is_finite() => write!(out, "{value:e}")?,
        Datum::Real(value) if value.is_finite() => write_real(*value, out)?,
        Datum::Float(value) => return write_missing(non_finite(*value), out),
        Datum::Real(value) => return write_missing(non_finite(f64::from(*value)), out),
        Datum::DateTime(value) => write!(out, "'{value}'")?,
        Datum::SmallDateTime(value) => write!(out, "'{value}'")?,
        Datum::Date(value) => write!(out, "'{value}'")?,
        Datum::Time(value) => write!(out, "'{value}'")?,
        Datum::DateTime2(value) => write!(out, "'{value}'")?,
        Datum::DateTimeOffset(value) => write!(out, "'{value}'")?,
        Datum::Guid(value) => write!(out, "'{value}'")?,
        Datum::RowVersion(value) => write!(out, "0x{value:016X}")?,
        Datum::Binary(bytes) => write_binary(bytes, out)?,
        Datum::Udt { kind, bytes } => {
            out.write_str(open_udt(*kind))?;
            write_hex(bytes, out)?;
            out.write_str(close_udt(*kind))?;
        }
        Datum::Char(text) => {
            let (text, replaced) = text.decode();
            write_char_text(&text, out)?;
            return Ok(replaced);
        }
        Datum::NChar(text) => write_nchar_text(text, out)?,
        Datum::Xml(bytes) if xml::verify(bytes).is_ok() => {
            out.write_str("CONVERT(xml, N'")?;
            let mut quoting = Quoting { out: &mut *out, text: TextLiteral::default() };
            xml::write_text(bytes, &mut quoting).map_err(|_| fmt::Error)?;
            out.write_str("', 1)")?;
        }
        Datum::Xml(bytes) => {
            out.write_str("NULL /* undecoded xml ")?;
            write_binary(bytes, out)?;
            out.write_str(" */")?;
            return Ok(1);
        }
        Datum::Variant(variant) => {
            out.write_str("CAST(")?;
            let replaced = write_literal(&variant.value, out)?;
            write!(out, " AS {})", castable(variant.ty))?;
            return Ok(replaced);
        }
    }
    Ok(0)
}

/// What stands before the hexadecimal digits of a CLR value.
#[must_use]
pub fn open_udt(kind: UdtKind) -> &'static str {
    if kind == UdtKind::Other { "0x" } else { "CAST(0x" }
}

/// What stands after the hexadecimal digits of a CLR value.
#[must_use]
pub fn close_udt(kind: UdtKind) -> &'static str {
    match kind {
        UdtKind::HierarchyId => " AS hierarchyid)",
        UdtKind::Geometry => " AS geometry)",
        UdtKind::Geography => " AS geography)",
        UdtKind::Other => "",
    }
}

/// The inside of an `N'…'` literal, piece by piece.
///
/// The pieces that it adds are of type nvarchar(max): a concatenation of shorter types would be cut
/// at 8000 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextLiteral {
    after_backslash: bool,
}

impl TextLiteral {
    /// Writes a piece of the text.
    pub fn push<W: Write + ?Sized>(&mut self, piece: TextPiece<'_>, out: &mut W) -> fmt::Result {
        match piece {
            TextPiece::Text(text) => self.push_text(text, out),
            TextPiece::Unpaired(unit) => {
                self.after_backslash = false;
                let [low, high] = unit.to_le_bytes();
                write!(out, "' + CONVERT(nvarchar(max), 0x{low:02X}{high:02X}) + N'")
            }
        }
    }

    /// Writes a text between its quotes.
    pub fn push_text<W: Write + ?Sized>(&mut self, text: &str, out: &mut W) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = self.line_continuation(rest) {
            let (line, next) = rest.split_at(at);
            write_quoted(line, out)?;
            out.write_str("' + CONVERT(nvarchar(max), N'') + N'")?;
            self.after_backslash = false;
            rest = next;
        }
        if !rest.is_empty() {
            self.after_backslash = rest.ends_with('\\');
        }
        write_quoted(rest, out)
    }

    /// Where a line end follows a backslash.
    fn line_continuation(self, text: &str) -> Option<usize> {
        let is_line_end = |byte: Option<&u8>| matches!(byte, Some(b'\n' | b'\r'));
        let bytes = text.as_bytes();
        if self.after_backslash && is_line_end(bytes.first()) {
            return Some(0);
        }
        let mut backslashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\\');
        backslashes.find(|(at, _)| is_line_end(bytes.get(at + 1))).map(|(at, _)| at + 1)
    }
}

fn write_binary<W: Write + ?Sized>(bytes: &[u8], out: &mut W) -> fmt::Result {
    out.write_str("0x")?;
    write_hex(bytes, out)
}

/// The literal is a float first and a real then: digits that the two roundings would not bring back
/// are not used.
fn write_real<W: Write + ?Sized>(value: f32, out: &mut W) -> fmt::Result {
    let shortest = format!("{value:e}");
    match shortest.parse::<f64>() {
        Ok(float) if (float as f32).to_bits() == value.to_bits() => out.write_str(&shortest),
        _ => write!(out, "{:e}", f64::from(value)),
    }
}

fn write_char_text<W: Write + ?Sized>(text: &str, out: &mut W) -> fmt::Result {
    let mut literal = TextLiteral::default();
    if text.is_ascii() && literal.line_continuation(text).is_none() {
        out.write_char('\'')?;
        write_quoted(text, out)?;
    } else {
        out.write_str("N'")?;
        literal.push_text(text, out)?;
    }
    out.write_char('\'')
}

fn write_nchar_text<W: Write + ?Sized>(text: &NText<'_>, out: &mut W) -> fmt::Result {
    out.write_str("N'")?;
    let mut literal = TextLiteral::default();
    let mut result = Ok(());
    text.for_each_piece(|piece| {
        if result.is_ok() {
            result = literal.push(piece, out);
        }
    });
    result?;
    out.write_char('\'')
}

/// The type of a sql_variant as CAST takes it: no length is 0 there.
fn castable(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Char { len: 0, collation } => SqlType::Char { len: 1, collation },
        SqlType::VarChar { len: Some(0), collation } => {
            SqlType::VarChar { len: Some(1), collation }
        }
        SqlType::NChar { len: 0, collation } => SqlType::NChar { len: 2, collation },
        SqlType::NVarChar { len: Some(0), collation } => {
            SqlType::NVarChar { len: Some(2), collation }
        }
        SqlType::Binary { len: 0 } => SqlType::Binary { len: 1 },
        SqlType::VarBinary { len: Some(0) } => SqlType::VarBinary { len: Some(1) },
        other => other,
    }
}

fn write_missing<W: Write + ?Sized>(what: &str, out: &mut W) -> Result<usize, fmt::Error> {
    write!(out, "NULL /* {what} */")?;
    Ok(1)
}

fn write_quoted<W: Write + ?Sized>(text: &str, out: &mut W) -> fmt::Result {
    let mut parts = text.split('\'');
    out.write_str(parts.next().unwrap_or_default())?;
    parts.try_for_each(|part| {
        out.write_str("''")?;
        out.write_str(part)
    })
}

/// Makes everything written through it the inside of a literal.
struct Quoting<'a, W: ?Sized> {
    out: &'a mut W,
    text: TextLiteral,
}

impl<W: Write + ?Sized> Write for Quoting<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_text(text, self.out)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::datetime::{Date, DateTime2, DateTimeOffset, Time};
    use crate::decimal::Decimal;
    use crate::sql_type::SqlType;
    use crate::text::{CharText, CodePage, NText};
    use crate::variant::Variant;

    fn literal(value: &Datum<'_>) -> (String, usize) {
        let mut text = String::new();
        let lost = write_literal(value, &mut text).unwrap();
        (text, lost)
    }

    #[test]
    fn literals_are_exact_and_quoted() {
        let char_text = |bytes: &'static [u8]| {
            Datum::Char(CharText { bytes: Cow::Borrowed(bytes), code_page: CodePage::Cp1252 })
        };
        let date = Date::from_ymd(2024, 2, 29).unwrap();
        let instant = DateTime2 { date, time: Time::new(1, 7).unwrap() };
        let decimal = Decimal::parse("-12.50").unwrap();
        let decimal_type = SqlType::Decimal { precision: 5, scale: 2 };
        let cases: [(Datum<'_>, &str); 12] = [
            (Datum::Null, "NULL"),
            (Datum::Bit(false), "0"),
            (Datum::Float(0.1), "1e-1"),
            (Datum::Real(16_777_216.0), "1.6777216e7"),
            (char_text(b"O'Brien"), "'O''Brien'"),
            (char_text(b"caf\xE9"), "N'café'"),
            (Datum::NChar(NText::from_text("'ж'")), "N'''ж'''"),
            (Datum::Binary(Cow::Borrowed(&[])), "0x"),
            (Datum::Date(date), "'2024-02-29'"),
            (
                Datum::DateTimeOffset(DateTimeOffset::new(instant, 90).unwrap()),
                "'2024-02-29T01:30:00.0000001+01:30'",
            ),
            (Datum::Decimal(decimal), "-12.50"),
            (
                Datum::Variant(Box::new(Variant {
                    ty: decimal_type,
                    value: Datum::Decimal(decimal),
                })),
                "CAST(-12.50 AS decimal(5,2))",
            ),
        ];
        for (value, text) in cases {
            assert_eq!(literal(&value), (text.to_owned(), 0));
        }
    }

    #[test]
    fn what_has_no_literal_is_counted() {
        assert_eq!(
            literal(&Datum::Float(f64::NEG_INFINITY)),
            ("NULL /* -Infinity */".to_owned(), 1)
        );
        assert_eq!(
            literal(&Datum::Xml(Cow::Borrowed(&[1]))),
            ("NULL /* undecoded xml 0x01 */".to_owned(), 1)
        );
        let text = NText { bytes: Cow::Borrowed(&[0x41, 0, 0, 0xDC]) };
        assert_eq!(
            literal(&Datum::NChar(text)),
            ("N'A' + CONVERT(nvarchar(max), 0x00DC) + N''".to_owned(), 0)
        );
    }

    #[test]
    fn a_backslash_at_the_end_of_a_line_is_kept() {
        const BREAK: &str = "' + CONVERT(nvarchar(max), N'') + N'";
        let cases = [
            ("a\\\nb", format!("N'a\\{BREAK}\nb'")),
            ("\\\r\n\\\n", format!("N'\\{BREAK}\r\n\\{BREAK}\n'")),
            ("a\\b\n\\", "N'a\\b\n\\'".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(literal(&Datum::NChar(NText::from_text(text))).0, expected);
        }
        let text = CharText { bytes: Cow::Borrowed(b"a\\\nb"), code_page: CodePage::Cp1252 };
        assert_eq!(literal(&Datum::Char(text)).0, format!("N'a\\{BREAK}\nb'"));
        let mut pieces = (TextLiteral::default(), String::new());
        for piece in ["a\\", "", "\nb"] {
            pieces.0.push_text(piece, &mut pieces.1).unwrap();
        }
        assert_eq!(pieces.1, format!("a\\{BREAK}\nb"));
    }

    #[test]
    fn a_real_survives_the_way_through_float() {
        for bits in
            [1u32, 0x0080_0000, 0x3DCC_CCCD, 0x7F7F_FFFF, 0x8000_0000, 0x15AE_43FD, 0x0000_0007]
        {
            let value = f32::from_bits(bits);
            let text = literal(&Datum::Real(value)).0;
            let float: f64 = text.parse().unwrap();
            assert_eq!((float as f32).to_bits(), bits, "{text}");
        }
    }

    #[test]
    fn clr_values_name_their_type() {
        let value = |kind| literal(&Datum::Udt { kind, bytes: Cow::Borrowed(&[0x58]) }).0;
        assert_eq!(value(UdtKind::HierarchyId), "CAST(0x58 AS hierarchyid)");
        assert_eq!(value(UdtKind::Other), "0x58");
    }

    #[test]
    fn quotes_in_xml_are_doubled() {
        let bytes = crate::xml::tests::element_with_text("it's");
        assert_eq!(literal(&Datum::Xml(Cow::Owned(bytes))).0, "CONVERT(xml, N'<a>it''s</a>', 1)");
    }
}
