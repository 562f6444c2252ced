//! Keys as bytes: of a row, of a separator, of values that are looked for.
//!
//! The sort keys of the key columns are concatenated ([`extentdb_types::key_order`]). None is a
//! prefix of another one, so that rows whose first key columns have certain values are those whose
//! key begins with certain bytes.

use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_format::record::Record;
use extentdb_types::SqlType;
use extentdb_types::collation::UncertainCharacter;
use extentdb_types::key_order::{KeyValue, push_sort_key};

use super::{KEY_BYTES_MAX, RowShape};
use crate::error::Error;

/// A fixed type among the variable columns is a uniquifier, of which 0 has no bytes.
const UNIQUIFIER_BYTES: usize = 4;

impl RowShape {
    /// The key of a record.
    ///
    /// # Errors
    /// The record does not add up.
    pub fn key(&self, record: &Record<'_>, level: Level) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.key_into(record, level, &mut out)?;
        Ok(out)
    }

    /// The key of a record; overwrites `out`.
    pub(crate) fn key_into(
        &self,
        record: &Record<'_>,
        level: Level,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        out.clear();
        if record.fault().is_some() {
            return Err(Error::Record { what: "its parts do not fit together" });
        }
        for column in self.key_columns() {
            let cell = cell(record, column, level);
            let cell = cell
                .map_err(|_| Error::Record { what: "its fixed part ends within a key column" })?;
            push(column, &cell, out)?;
        }
        Ok(())
    }

    /// The key of a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// There is another number of values, or those of the key are too long.
    pub fn key_of_cells(&self, cells: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.push_key_of_cells(cells, &mut out)?;
        Ok(out)
    }

    /// Appends the same to what `out` holds.
    pub(crate) fn push_key_of_cells(
        &self,
        cells: &[Cell<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let expected = self.layout.columns.len();
        if cells.len() != expected {
            return Err(Error::Columns { expected, found: cells.len() });
        }
        let mut bytes = 0;
        for (number, at) in self.key.iter().enumerate() {
            let cell = &cells[*at];
            bytes += if number < self.declared_keys { len(cell) } else { 0 };
            push(self.column(*at), cell, out)?;
        }
        if bytes > KEY_BYTES_MAX {
            return Err(Error::KeyTooLong { bytes, most: KEY_BYTES_MAX });
        }
        Ok(())
    }

    /// The prefix of the keys whose first columns have these values, in the order of the key.
    ///
    /// # Errors
    /// The key has fewer columns.
    pub fn prefix(&self, values: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        if values.len() > self.key.len() {
            return Err(Error::Columns { expected: self.key.len(), found: values.len() });
        }
        let mut out = Vec::new();
        for (column, value) in self.key_columns().zip(values) {
            push(column, value, &mut out)?;
        }
        Ok(out)
    }

    /// Has some column of the key a collation?
    pub fn has_text_keys(&self) -> bool {
        self.key_columns().any(|column| column.ty.is_some_and(|ty| ty.collation().is_some()))
    }

    /// The first character in the texts of a key whose weight is not known for certain under the
    /// collation of its column. `key` has the first columns, in key order.
    pub fn uncertain_character<'k, 'c: 'k>(
        &self,
        key: impl IntoIterator<Item = &'k Cell<'c>>,
    ) -> Option<UncertainCharacter> {
        self.key_columns().zip(key).find_map(|(column, cell)| match (column.ty?, cell) {
            (
                SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. },
                Cell::Bytes(text),
            ) => collation.uncertain_char(text),
            (
                SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. },
                Cell::Bytes(text),
            ) => collation.uncertain_nchar(text),
            _ => None,
        })
    }

    /// The key of a [key image](RowShape::key_image).
    ///
    /// # Errors
    /// It does not add up.
    pub fn key_of_image(&self, image: &[u8]) -> Result<Vec<u8>, Error> {
        self.key(&Record::parse_index(image, self.key_image_end()), Level::Interior)
    }
}

fn len(cell: &Cell<'_>) -> usize {
    match cell {
        Cell::Null | Cell::Missing => 0,
        Cell::Bit(_) => 1,
        Cell::Bytes(bytes) | Cell::Complex(bytes) => bytes.len(),
    }
}

/// Appends the sort key of a column.
fn push(column: &PhysicalColumn, cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let ty = column
        .ty
        .ok_or(Error::Form { column_id: column.column_id, what: "a key of unknown type" })?;
    let is_uniquifier = column.leaf.offset < 0 && ty.fixed_bytes().is_some();
    let value = match cell {
        Cell::Null | Cell::Missing => KeyValue::Null,
        Cell::Bit(value) => KeyValue::Bit(*value),
        Cell::Bytes(bytes) if is_uniquifier && bytes.is_empty() => {
            KeyValue::Bytes(&[0; UNIQUIFIER_BYTES])
        }
        Cell::Bytes(bytes) => KeyValue::Bytes(bytes),
        // A key is never pushed off its row.
        Cell::Complex(_) => {
            return Err(Error::Record { what: "a key column is stored off the row" });
        }
    };
    push_sort_key(&ty, value, column.is_descending(), out);
    Ok(())
}
