//! Values as numbers and texts, and in and out of sql_variant.

use extentdb_types::{Datum, NText, SqlType, Variant, plain};

/// A value as a sql_variant; NULL stays NULL.
pub fn wrap(value: Datum<'static>, ty: SqlType) -> Datum<'static> {
    match value {
        Datum::Null => Datum::Null,
        value => Datum::Variant(Box::new(Variant { ty, value })),
    }
}

/// A text as nvarchar.
pub fn nchar(text: &str) -> Datum<'static> {
    Datum::NChar(NText::from_text(text))
}

/// A text as nvarchar; NULL when it is empty.
pub fn nchar_or_null(text: &str) -> Datum<'static> {
    if text.is_empty() { Datum::Null } else { nchar(text) }
}

/// The whole number that a value is.
pub fn integer(value: &Datum<'_>) -> Option<i64> {
    Some(match value {
        Datum::Bit(value) => i64::from(*value),
        Datum::TinyInt(value) => i64::from(*value),
        Datum::SmallInt(value) => i64::from(*value),
        Datum::Int(value) => i64::from(*value),
        Datum::BigInt(value) => *value,
        Datum::Decimal(value) if value.scale() == 0 => i64::try_from(value.unscaled()).ok()?,
        _ => return None,
    })
}

/// The value as text; NULL is `None`.
pub fn text(value: &Datum<'_>) -> Option<String> {
    match value {
        Datum::Null => None,
        Datum::NChar(text) => Some(text.decode().0),
        Datum::Char(text) => Some(text.decode().0.into_owned()),
        Datum::Variant(inner) => text_of_inner(&inner.value),
        other => text_of_inner(other),
    }
}

fn text_of_inner(value: &Datum<'_>) -> Option<String> {
    match value {
        Datum::NChar(text) => return Some(text.decode().0),
        Datum::Char(text) => return Some(text.decode().0.into_owned()),
        _ => {}
    }
    let mut out = String::new();
    // A text that is not whole is still what can be said of the value.
    let _ = plain::write_plain(value, &mut out);
    Some(out)
}
