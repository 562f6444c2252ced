//! Records to values.

use extentdb_catalog::layout::{Cell, Level, cell};
use extentdb_format::record::Record;

use super::RowShape;
use crate::error::Error;

impl RowShape {
    /// A leaf record, as the pages of this rowset have it.
    pub fn leaf<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        match self.is_base {
            true => Record::parse_data(bytes),
            false => Record::parse_index(bytes, self.leaf.fixed_end),
        }
    }

    /// The values of a leaf record, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The record does not add up.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Vec<Cell<'a>>, Error> {
        self.cells(&self.leaf(bytes), Level::Leaf)
    }

    /// The values of a record.
    pub(super) fn cells<'a>(&self, record: &Record<'a>, level: Level) -> Result<Vec<Cell<'a>>, Error> {
        if record.fault().is_some() {
            return Err(Error::Record { what: "its parts do not fit together" });
        }
        let of_column = |column| cell(record, column, level);
        let cells: Result<Vec<_>, _> = self.layout.columns.iter().map(of_column).collect();
        cells.map_err(|_| Error::Record { what: "its fixed part ends within a column" })
    }
}
