//! A row of a load on its way from its source to a record.
//!
//! ```text
//! source ─▶ bytes of all values, one after another ─▶ cells that borrow them ─▶ record
//! ```
//!
//! Invariant: memory of the row before is used again; a load takes none for a row of a heap.

use std::borrow::Cow;

use extentdb_catalog::layout::Cell;
use extentdb_types::Datum;

use crate::catalog::Storage;
use crate::error::Error;

/// The values of a row in the order of the columns.
#[derive(Debug)]
pub struct NewRow<'s> {
    storage: &'s Storage,
    bytes: Vec<u8>,
    /// For each value so far what it is, and where its bytes end.
    values: Vec<(Kind, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Null,
    Bit(bool),
    Bytes,
}

impl<'s> NewRow<'s> {
    pub(super) fn new(storage: &'s Storage) -> NewRow<'s> {
        NewRow { storage, bytes: Vec::new(), values: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.values.clear();
    }

    /// Adds the value of the next column.
    ///
    /// # Errors
    /// It is none of the column's, which may get its value from elsewhere.
    pub fn push(&mut self, value: &Datum<'_>) -> Result<(), Error> {
        let Some(column) = self.storage.columns.get(self.values.len()) else {
            return Err(self.wrong_count(self.values.len() + 1));
        };
        let is_null = matches!(value, Datum::Null);
        let kind = match value {
            _ if self.storage.is_generated(column, is_null)? => Kind::Null,
            Datum::Null if column.nullable => Kind::Null,
            Datum::Null => return Err(column.refused("it takes no NULL")),
            Datum::Bit(bit) if column.ty.is_bit() => Kind::Bit(*bit),
            value => {
                let encoded = value.encode(&column.ty, &mut self.bytes);
                encoded.map_err(|error| column.refused(error.to_string()))?;
                Kind::Bytes
            }
        };
        self.values.push((kind, self.bytes.len()));
        Ok(())
    }

    /// Adds the value of the next column by its stored bytes, which `write` appends: those of a
    /// value of just the column's type, not of a bit.
    ///
    /// # Errors
    /// The column gets its value from elsewhere.
    pub fn push_stored(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        let Some(column) = self.storage.columns.get(self.values.len()) else {
            return Err(self.wrong_count(self.values.len() + 1));
        };
        if column.ty.is_bit() || self.storage.is_generated(column, false)? {
            return Err(column.refused("it takes no stored bytes"));
        }
        write(&mut self.bytes);
        self.values.push((Kind::Bytes, self.bytes.len()));
        Ok(())
    }

    /// The cells of the row, with room for those that are computed, in the memory of `cells`.
    pub(super) fn cells(&self, cells: Vec<Cell<'_>>) -> Result<Vec<Cell<'_>>, Error> {
        if self.values.len() != self.storage.columns.len() {
            return Err(self.wrong_count(self.values.len()));
        }
        let mut cells = emptied(cells);
        cells.resize(self.storage.shape.layout().columns.len(), Cell::Null);
        let mut start = 0;
        for (column, (kind, end)) in self.storage.columns.iter().zip(&self.values) {
            let cell = match kind {
                Kind::Null => Cell::Null,
                Kind::Bit(bit) => Cell::Bit(*bit),
                Kind::Bytes => Cell::Bytes(Cow::Borrowed(&self.bytes[start..*end])),
            };
            if let Some(slot) = cells.get_mut(column.at) {
                *slot = cell;
            }
            start = *end;
        }
        Ok(cells)
    }

    fn wrong_count(&self, found: usize) -> Error {
        Error::Columns { expected: self.storage.columns.len(), found }
    }
}

/// The memory of cells, for those of another row.
pub(super) fn emptied<'to>(mut cells: Vec<Cell<'_>>) -> Vec<Cell<'to>> {
    cells.clear();
    // None is left: the vector is collected in place, and only its lifetime changes.
    cells.into_iter().map(|_| Cell::Null).collect()
}
