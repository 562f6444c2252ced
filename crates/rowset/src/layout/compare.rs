//! How keys compare for certain: column by column, and texts by what is known of their collation.
//!
//! The bytes of two keys ([`RowShape::prefix`]) always compare one way or the other, since a tree must put every key somewhere.
//! Whether that is the order of the real product is known for certain only where these functions say so.

use std::cmp::Ordering;

use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_format::record::Record;
use extentdb_types::SqlType;
use extentdb_types::collation::Comparison;

use super::RowShape;
use super::key::push;
use crate::error::Error;

/// How two keys compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyOrder {
    /// So, for certain.
    Decided(Ordering),
    /// The texts of this column, counted from 0 in key order, tell the keys apart in a way that is not known.
    Open(usize),
}

impl RowShape {
    /// Has some column of the key a collation?
    pub fn has_text_keys(&self) -> bool {
        self.key_columns().any(|column| column.ty.is_some_and(|ty| ty.collation().is_some()))
    }

    /// Is every comparison of this key with others of that kind decided? Its first columns, in key order.
    pub fn is_certain_about<'k, 'c: 'k>(&self, key: impl IntoIterator<Item = &'k Cell<'c>>) -> bool {
        self.key_columns().zip(key).all(|(column, cell)| match (column.ty, cell) {
            (
                Some(SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. }),
                Cell::Bytes(text),
            ) => collation.certain_about_char(text),
            (
                Some(SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. }),
                Cell::Bytes(text),
            ) => collation.certain_about_nchar(text),
            _ => true,
        })
    }

    /// Compares two keys by as many of their first columns, in key order, as both have.
    ///
    /// # Errors
    /// A value is none of a key.
    pub fn compare(&self, a: &[Cell<'_>], b: &[Cell<'_>]) -> Result<KeyOrder, Error> {
        for (number, (column, (a, b))) in self.key_columns().zip(a.iter().zip(b)).enumerate() {
            match compare_values(column, a, b)? {
                Some(Ordering::Equal) => {}
                Some(order) => return Ok(KeyOrder::Decided(order)),
                None => return Ok(KeyOrder::Open(number)),
            }
        }
        Ok(KeyOrder::Decided(Ordering::Equal))
    }

    /// The values of the key of a record, in key order.
    pub(crate) fn key_cells(&self, record: &Record<'_>, level: Level) -> Result<Vec<Cell<'static>>, Error> {
        let of = |column| Ok(owned(cell(record, column, level).map_err(|_| ends_early())?));
        self.key_columns().map(of).collect()
    }
}

/// `None` for texts whose order is not known.
fn compare_values(column: &PhysicalColumn, a: &Cell<'_>, b: &Cell<'_>) -> Result<Option<Ordering>, Error> {
    let of_texts = match (column.ty, a, b) {
        (
            Some(SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. }),
            Cell::Bytes(a),
            Cell::Bytes(b),
        ) => Some(collation.compare_char(a, b)),
        (
            Some(SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. }),
            Cell::Bytes(a),
            Cell::Bytes(b),
        ) => Some(collation.compare_nchar(a, b)),
        _ => None,
    };
    if let Some(order) = of_texts.map(Comparison::ordering) {
        return Ok(order.map(|order| if column.is_descending() { order.reverse() } else { order }));
    }
    let key = |value: &Cell<'_>| {
        let mut out = Vec::new();
        push(column, value, &mut out).map(|_| out)
    };
    Ok(Some(key(a)?.cmp(&key(b)?)))
}

fn ends_early() -> Error {
    Error::Record { what: "its fixed part ends within a key column" }
}

fn owned(cell: Cell<'_>) -> Cell<'static> {
    match cell {
        Cell::Null => Cell::Null,
        Cell::Missing => Cell::Missing,
        Cell::Bit(bit) => Cell::Bit(bit),
        Cell::Bytes(bytes) => Cell::Bytes(bytes.into_owned().into()),
        Cell::Complex(bytes) => Cell::Complex(bytes.into_owned().into()),
    }
}
