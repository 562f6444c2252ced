//! Table-valued functions of the system.

pub(super) mod builtin;
pub(super) mod collation;
pub(super) mod property;

use extentdb_types::Datum;

/// An argument as text; `None` for NULL, and for one that is missing.
fn text(arguments: &[Datum<'_>], at: usize) -> Option<String> {
    match arguments.get(at)? {
        Datum::NChar(text) => Some(text.decode().0.trim_end().to_owned()),
        Datum::Char(text) => Some(text.decode().0.trim_end().to_owned()),
        _ => None,
    }
}
