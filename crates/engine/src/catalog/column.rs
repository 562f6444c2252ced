//! A column of a user table: values to the bytes of a record, and back.

use std::borrow::Cow;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::ColumnDefinition;
use extentdb_types::{Datum, SqlType};

use crate::catalog::Formula;
use crate::catalog::definition::plain_column;
use crate::error::Error;

/// A column of a user table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) nullable: bool,
    pub(crate) default: Option<ColumnDefault>,
    /// What it is computed by.
    pub(crate) formula: Option<Arc<Formula>>,
    /// Where it is among the cells of a row: in its record, or after that when rows do not have
    /// it.
    pub(crate) at: usize,
}

/// A DEFAULT constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ColumnDefault {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    /// It belongs to the column; others are objects by themselves, which columns are bound to.
    pub(crate) is_own: bool,
    /// Its expression, as the catalog keeps it.
    pub(crate) text: String,
}

impl TableColumn {
    pub(crate) fn refused(&self, what: impl Into<String>) -> Error {
        Error::Value { column: self.name.clone(), what: what.into() }
    }

    /// As the layout of rows and indexes needs it.
    pub(crate) fn definition(&self) -> ColumnDefinition {
        let computed = self.formula.as_ref().map(|formula| formula.computed.clone());
        ColumnDefinition { computed, ..plain_column(&self.name, self.ty, self.nullable) }
    }

    /// Do rows have its values?
    pub(crate) fn is_stored(&self) -> bool {
        self.formula.as_ref().is_none_or(|formula| formula.computed.persisted)
    }

    pub(crate) fn cell(&self, value: &Datum<'_>) -> Result<Cell<'static>, Error> {
        match value {
            Datum::Null if self.nullable => Ok(Cell::Null),
            Datum::Null => Err(self.refused("it takes no NULL")),
            Datum::Bit(bit) if self.ty.is_bit() => Ok(Cell::Bit(*bit)),
            value => {
                let mut bytes = Vec::new();
                value
                    .encode(&self.ty, &mut bytes)
                    .map_err(|error| self.refused(error.to_string()))?;
                Ok(Cell::Bytes(Cow::Owned(bytes)))
            }
        }
    }

    /// Refuses what a row has here and the column does not take.
    pub(crate) fn verify_cell(&self, cell: &Cell<'_>) -> Result<(), Error> {
        match cell {
            Cell::Null | Cell::Missing if !self.nullable => Err(self.refused("it takes no NULL")),
            Cell::Bytes(bytes) if self.ty.max_bytes().is_some_and(|most| bytes.len() > most) => {
                Err(self.refused(format!("a value of {} bytes would be truncated", bytes.len())))
            }
            _ => Ok(()),
        }
    }

    /// A value to search for: no row has NULL in a NOT NULL column, but it may be sought.
    pub(crate) fn sought(&self, value: &Datum<'_>) -> Result<Cell<'static>, Error> {
        if matches!(value, Datum::Null) { Ok(Cell::Null) } else { self.cell(value) }
    }

    /// The value of a cell, borrowed from where the cell is.
    pub(crate) fn borrowed<'c>(&self, cell: Cell<'c>) -> Result<Datum<'c>, Error> {
        match cell {
            Cell::Bytes(Cow::Borrowed(bytes)) => {
                Datum::decode(&self.ty, bytes).map_err(|error| self.refused(error.to_string()))
            }
            cell => self.value(Some(&cell)),
        }
    }

    pub(crate) fn value(&self, cell: Option<&Cell<'_>>) -> Result<Datum<'static>, Error> {
        match cell {
            None | Some(Cell::Null | Cell::Missing) => Ok(Datum::Null),
            Some(Cell::Bit(bit)) => Ok(Datum::Bit(*bit)),
            Some(Cell::Bytes(bytes)) => {
                let value = Datum::decode(&self.ty, bytes)
                    .map_err(|error| self.refused(error.to_string()))?;
                Ok(value.into_owned())
            }
            Some(Cell::Complex(_)) => Err(self.refused("its value lies off the row")),
        }
    }
}
