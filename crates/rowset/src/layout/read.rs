//! Records to values.

use extentdb_catalog::layout::{Cell, CellFault, Level, PhysicalColumn, cell, sparse_cell};
use extentdb_format::record::Record;

use super::RowShape;
use crate::error::Error;

impl RowShape {
    /// A leaf record, as the pages of this rowset have it.
    pub fn leaf<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        if self.is_base {
            Record::parse_data(bytes)
        } else {
            Record::parse_index(bytes, self.leaf.fixed_end)
        }
    }

    /// The same of a record that adds up.
    ///
    /// # Errors
    /// It does not.
    pub fn sound_leaf<'a>(&self, bytes: &'a [u8]) -> Result<Record<'a>, Error> {
        let record = self.leaf(bytes);
        match record.fault() {
            Some(_) => Err(Error::Record { what: "its parts do not fit together" }),
            None => Ok(record),
        }
    }

    /// The value of a column of a sound leaf record, by its index in the layout.
    ///
    /// # Errors
    /// The record ends within it, or the layout has no such column.
    pub fn cell<'a>(&self, record: &Record<'a>, at: usize) -> Result<Cell<'a>, Error> {
        let expected = self.layout.columns.len();
        let columns = &self.layout.columns;
        let column = columns.get(at).ok_or(Error::Columns { expected, found: at })?;
        match self.stored_cell(record, column)? {
            Cell::Missing => Ok(self.older_value(column).cloned().unwrap_or(Cell::Missing)),
            cell => Ok(cell),
        }
    }

    /// A column of a sound leaf record; missing where the record is from before the column.
    pub(crate) fn stored_cell<'a>(
        &self,
        record: &Record<'a>,
        column: &PhysicalColumn,
    ) -> Result<Cell<'a>, Error> {
        if column.is_sparse() {
            let wrong = |_| Error::Record { what: "its sparse vector does not add up" };
            return sparse_cell(record, column.column_id).map_err(wrong);
        }
        cell(record, column, Level::Leaf).map_err(within_column)
    }

    /// What records from before a column was added have in it; `None` for NULL.
    pub(crate) fn older_value(&self, column: &PhysicalColumn) -> Option<&Cell<'static>> {
        let is_own = |(ordinal, _): &&(i32, Cell<'static>)| *ordinal == column.ordinal;
        let own = self.stored_defaults.iter().find(is_own).filter(|_| !column.is_dropped());
        own.map(|(_, cell)| cell)
    }

    /// The values of a leaf record, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The record does not add up.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Vec<Cell<'a>>, Error> {
        self.cells(&self.leaf(bytes), Level::Leaf)
    }

    /// The values of a record.
    pub(super) fn cells<'a>(
        &self,
        record: &Record<'a>,
        level: Level,
    ) -> Result<Vec<Cell<'a>>, Error> {
        if record.fault().is_some() {
            return Err(Error::Record { what: "its parts do not fit together" });
        }
        // Collected as a result it would grow step by step.
        let mut cells = Vec::with_capacity(self.layout.columns.len());
        for (at, column) in self.layout.columns.iter().enumerate() {
            let cell = match level {
                Level::Leaf => self.cell(record, at),
                Level::Interior => cell(record, column, level).map_err(within_column),
            };
            cells.push(match cell {
                // It may be from a time when the table had columns that were rolled back, and
                // others have their offsets now. Only its key is read, which precedes them.
                Err(_) if record.kind().is_ghost() => Cell::Missing,
                cell => cell?,
            });
        }
        Ok(cells)
    }
}

fn within_column(_: CellFault) -> Error {
    Error::Record { what: "its fixed part ends within a column" }
}
