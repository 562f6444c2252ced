//! A row while it is read: its record; values are decoded on request.

use extentdb_base::Rid;
use extentdb_catalog::layout::{Cell, Level};
use extentdb_format::record::Record;
use extentdb_rowset::version::Versions;
use extentdb_types::Datum;

use crate::catalog::{Address, Storage, TableColumn};
use crate::dml::lob::LobReader;
use crate::error::Error;
use crate::session::Row;

/// A row while it is read. Borrowed values are valid during the call; nothing is copied before it
/// is requested.
#[derive(Clone, Copy)]
pub struct RowRef<'r> {
    storage: &'r Storage,
    record: Record<'r>,
    /// Where it is in a heap.
    rid: Option<Rid>,
    /// The snapshot that the record was read by: its values off it are seen the same way.
    versions: Option<Versions<'r>>,
}

impl<'r> RowRef<'r> {
    /// A row of a table with this record, at this RID of a heap, or by its key in a clustered
    /// index.
    pub(crate) fn new(
        storage: &'r Storage,
        record: &'r [u8],
        rid: Option<Rid>,
    ) -> Result<Self, Error> {
        Ok(RowRef {
            storage,
            record: storage.shape.sound_leaf(record)?,
            rid,
            versions: None,
        })
    }

    /// A row at an address.
    pub(crate) fn at(storage: &'r Storage, record: &'r [u8], at: &Address) -> Result<Self, Error> {
        RowRef::new(storage, record, at.rid())
    }

    /// The same row, read by a snapshot when there are versions.
    pub(crate) fn seen_by(self, versions: Option<Versions<'r>>) -> Self {
        RowRef { versions, ..self }
    }

    /// The value of a column, by its number in the table, from 0.
    ///
    /// # Errors
    /// There is no such column, its bytes are no value of its type, or it is computed and has none.
    pub fn value(&self, column: usize) -> Result<Datum<'r>, Error> {
        let columns = &self.storage.columns;
        let missing = || Error::Columns { expected: columns.len(), found: column };
        let column = columns.get(column).ok_or_else(missing)?;
        if column.is_stored() {
            match self.storage.shape.cell(&self.record, column.at)? {
                Cell::Complex(pointer) => {
                    self.storage.value_off_row(column, &pointer, self.versions)
                }
                cell => column.borrowed(cell),
            }
        } else {
            column.value(Some(&self.storage.computed(column, &self.cells()?)?))
        }
    }

    /// The value of a column as a stream of its stored bytes, read from wherever it lies; `None`
    /// for NULL. It is valid during the call.
    ///
    /// # Errors
    /// There is no such column, or it has no bytes of its own: it is a bit, or computed.
    pub fn lob(&self, column: usize) -> Result<Option<LobReader<'r>>, Error> {
        let columns = &self.storage.columns;
        let missing = || Error::Columns { expected: columns.len(), found: column };
        let column = columns.get(column).ok_or_else(missing)?;
        if !column.is_stored() {
            return Err(column.refused("it is computed, and has no bytes in its row"));
        }
        let cell = self.storage.shape.cell(&self.record, column.at)?;
        LobReader::open(self.storage, column, cell, self.versions)
    }

    /// Does the record have pointers to values off it?
    pub(crate) fn is_off_row(&self) -> bool {
        self.storage.is_off_row(self.record.bytes())
    }

    /// All values, in column order.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`]: one is longer than what is held in memory. Bytes of a column are no
    /// value of its type, or a computed column has none.
    pub fn values(&self) -> Result<Row, Error> {
        let columns = &self.storage.columns;
        if !columns.iter().all(TableColumn::is_stored) {
            return self.storage.values(self.record.bytes(), self.versions);
        }
        (0..columns.len()).map(|column| Ok(self.value(column)?.into_owned())).collect()
    }

    /// What leads to the row.
    ///
    /// # Errors
    /// Its key does not add up.
    pub fn address(&self) -> Result<Address, Error> {
        match self.rid {
            Some(rid) => Ok(Address::Rid(rid)),
            None => Ok(Address::Key(self.storage.shape.key(&self.record, Level::Leaf)?.into())),
        }
    }

    /// Where it is in a heap.
    pub(crate) fn rid(&self) -> Option<Rid> {
        self.rid
    }

    /// The cells of the row.
    pub(crate) fn cells(&self) -> Result<Vec<Cell<'r>>, Error> {
        self.storage.cells_seen(self.record.bytes(), self.versions)
    }

    /// The record as it was read, verified.
    pub(crate) fn record(&self) -> &Record<'r> {
        &self.record
    }
}

impl std::fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries((0..self.storage.columns.len()).map(|column| self.value(column)))
            .finish()
    }
}
