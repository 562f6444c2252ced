//! Values as T-SQL literals, for INSERT statements of `export --format sql`.
//!
//! | value | literal |
//! | --- | --- |
//! | bit, integers, decimal, money | digits |
//! | float, real | shortest digits with an exponent, so that it is a float literal |
//! | NaN, infinity | `NULL /* NaN */`: SQL Server has no way to write them |
//! | dates and times | quoted ISO 8601, independent of language and DATEFORMAT |
//! | char types | `'…'` when ASCII, `N'…'` otherwise; quotes doubled |
//! | nchar types | `N'…'`; an unpaired surrogate as `+ NCHAR(n) +` |
//! | binary, rowversion, UDT | `0x…` |
//! | uniqueidentifier | quoted text |
//! | sql_variant | `CAST(… AS type)` |
//! | xml | `N'…'` where decoded, otherwise `NULL /* undecoded xml 0x… */` |

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::json::{non_finite, write_hex};
use crate::text::Piece;
use crate::xml;

/// Writes a value as a T-SQL literal. Gives the number of characters or values that could not be kept: characters
/// replaced by U+FFFD, and values SQL Server has no literal for, which become NULL with a comment.
pub fn write_literal<W: Write + ?Sized>(value: &Datum<'_>, out: &mut W) -> Result<usize, fmt::Error> {
    match value {
        Datum::Null => out.write_str("NULL")?,
        Datum::Bit(value) => out.write_char(if *value { '1' } else { '0' })?,
        Datum::TinyInt(value) => write!(out, "{value}")?,
        Datum::SmallInt(value) => write!(out, "{value}")?,
        // The smallest integers: minus sign and a number that is too large on its own still parse as decimal.
        Datum::Int(value) => write!(out, "{value}")?,
        Datum::BigInt(value) => write!(out, "{value}")?,
        Datum::Decimal(value) => write!(out, "{value}")?,
        Datum::Money(value) => write!(out, "{value}")?,
        Datum::SmallMoney(value) => write!(out, "{value}")?,
        Datum::Float(value) if value.is_finite() => write!(out, "{value:e}")?,
        Datum::Real(value) if value.is_finite() => write!(out, "{value:e}")?,
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
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } => {
            out.write_str("0x")?;
            write_hex(bytes, out)?;
        }
        Datum::Char(text) => {
            let (text, replaced) = text.decode();
            out.write_str(if text.is_ascii() { "'" } else { "N'" })?;
            write_quoted(&text, out)?;
            out.write_char('\'')?;
            return Ok(replaced);
        }
        Datum::NChar(text) => {
            out.write_str("N'")?;
            let mut result = Ok(());
            text.for_each_piece(|piece| {
                if result.is_ok() {
                    result = write_piece(piece, out);
                }
            });
            result?;
            out.write_char('\'')?;
        }
        Datum::Xml(bytes) if xml::verify(bytes).is_ok() => {
            out.write_str("N'")?;
            xml::write_text(bytes, &mut Quoting { out }).map_err(|_| fmt::Error)?;
            out.write_char('\'')?;
        }
        Datum::Xml(bytes) => {
            out.write_str("NULL /* undecoded xml 0x")?;
            write_hex(bytes, out)?;
            out.write_str(" */")?;
            return Ok(1);
        }
        Datum::Variant(variant) => {
            out.write_str("CAST(")?;
            let replaced = write_literal(&variant.value, out)?;
            write!(out, " AS {})", variant.ty)?;
            return Ok(replaced);
        }
    }
    Ok(0)
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

fn write_piece<W: Write + ?Sized>(piece: Piece<'_>, out: &mut W) -> fmt::Result {
    match piece {
        Piece::Text(text) => write_quoted(text, out),
        Piece::Unpaired(unit) => write!(out, "' + NCHAR({unit}) + N'"),
    }
}

/// Doubles the quotes of everything written through it.
struct Quoting<'a, W: ?Sized> {
    out: &'a mut W,
}

impl<W: Write + ?Sized> Write for Quoting<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_quoted(text, self.out)
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
                Datum::Variant(Box::new(Variant { ty: decimal_type, value: Datum::Decimal(decimal) })),
                "CAST(-12.50 AS decimal(5,2))",
            ),
        ];
        for (value, text) in cases {
            assert_eq!(literal(&value), (text.to_owned(), 0));
        }
    }

    #[test]
    fn what_has_no_literal_is_counted() {
        assert_eq!(literal(&Datum::Float(f64::NEG_INFINITY)), ("NULL /* -Infinity */".to_owned(), 1));
        assert_eq!(
            literal(&Datum::Xml(Cow::Borrowed(&[1]))),
            ("NULL /* undecoded xml 0x01 */".to_owned(), 1)
        );
        let text = NText { bytes: Cow::Borrowed(&[0x41, 0, 0, 0xDC]) };
        assert_eq!(literal(&Datum::NChar(text)), ("N'A' + NCHAR(56320) + N''".to_owned(), 0));
    }

    #[test]
    fn quotes_in_xml_are_doubled() {
        let bytes = crate::xml::tests::element_with_text("it's");
        assert_eq!(literal(&Datum::Xml(Cow::Owned(bytes))).0, "N'<a>it''s</a>'");
    }
}
