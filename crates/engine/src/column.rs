//! A column of a user table: values to the bytes of a record, and back.

use std::borrow::Cow;

use extentdb_catalog::layout::Cell;
use extentdb_types::{Datum, SqlType};

use crate::error::Error;

/// A column of a user table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) nullable: bool,
    /// The expression of its default, as the catalogue keeps it.
    pub(crate) default: Option<String>,
    /// Where it is in a record's columns.
    pub(crate) at: usize,
}

impl TableColumn {
    pub(crate) fn refused(&self, what: impl Into<String>) -> Error {
        Error::Value { column: self.name.clone(), what: what.into() }
    }

    pub(crate) fn cell(&self, value: &Datum<'_>) -> Result<Cell<'static>, Error> {
        match value {
            Datum::Null if self.nullable => Ok(Cell::Null),
            Datum::Null => Err(self.refused("it takes no NULL")),
            Datum::Bit(bit) if self.ty.is_bit() => Ok(Cell::Bit(*bit)),
            value => {
                let mut bytes = Vec::new();
                value.encode(&self.ty, &mut bytes).map_err(|error| self.refused(error.to_string()))?;
                Ok(Cell::Bytes(Cow::Owned(bytes)))
            }
        }
    }

    /// A value to look for: no row has NULL in a column that takes none, but it may be asked for.
    pub(crate) fn sought(&self, value: &Datum<'_>) -> Result<Cell<'static>, Error> {
        if matches!(value, Datum::Null) { Ok(Cell::Null) } else { self.cell(value) }
    }

    pub(crate) fn value(&self, cell: Option<&Cell<'_>>) -> Result<Datum<'static>, Error> {
        match cell {
            None | Some(Cell::Null | Cell::Missing) => Ok(Datum::Null),
            Some(Cell::Bit(bit)) => Ok(Datum::Bit(*bit)),
            Some(Cell::Bytes(bytes)) => {
                let value =
                    Datum::decode(&self.ty, bytes).map_err(|error| self.refused(error.to_string()))?;
                Ok(value.into_owned())
            }
            Some(Cell::Complex(_)) => Err(self.refused("its value lies off the row")),
        }
    }
}
