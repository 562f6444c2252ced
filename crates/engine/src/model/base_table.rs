//! A base table as it is: what catalog views show of it beyond what a binder needs.

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_space::Unit;
use extentdb_types::{Datum, SqlType};

use crate::database::Database;
use crate::error::Error;

/// The rows of a base table, changes of open transactions among them.
#[derive(Clone, Debug)]
pub struct BaseTable {
    columns: Vec<String>,
    rows: Vec<Vec<Datum<'static>>>,
}

/// A row of a base table.
#[derive(Clone, Copy, Debug)]
pub struct BaseRow<'t> {
    table: &'t BaseTable,
    values: &'t [Datum<'static>],
}

impl BaseTable {
    /// Its rows in the order of its clustered index.
    pub fn rows(&self) -> impl Iterator<Item = BaseRow<'_>> {
        self.rows.iter().map(|values| BaseRow { table: self, values })
    }
}

impl BaseRow<'_> {
    /// The value of a column; NULL where the table has no such column, and of a value off its row.
    pub fn value(&self, column: &str) -> &Datum<'static> {
        let at = self.table.columns.iter().position(|name| name == column);
        at.and_then(|at| self.values.get(at)).unwrap_or(&Datum::Null)
    }

    /// The number in a column of an integer type.
    pub fn number(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Datum::Bit(value) => Some((*value).into()),
            Datum::TinyInt(value) => Some((*value).into()),
            Datum::SmallInt(value) => Some((*value).into()),
            Datum::Int(value) => Some((*value).into()),
            Datum::BigInt(value) => Some(*value),
            _ => None,
        }
    }

    /// The number in a column, 0 for NULL.
    pub fn int(&self, column: &str) -> i32 {
        self.number(column).and_then(|number| number.try_into().ok()).unwrap_or(0)
    }

    /// The text in a column without the zeros that may pad it; empty for NULL.
    pub fn text(&self, column: &str) -> String {
        let mut text = match self.value(column) {
            Datum::NChar(text) => text.decode().0,
            Datum::Char(text) => text.decode().0.into_owned(),
            _ => String::new(),
        };
        text.truncate(text.find('\0').unwrap_or(text.len()));
        text
    }
}

impl Database {
    /// Is there a base table of a name? Those of other versions have others.
    pub fn has_base_table(&self, name: &str) -> bool {
        self.catalog.system.contains_key(name)
    }

    /// The rows of a base table by its name: `sysprufiles`.
    ///
    /// # Errors
    /// There is no such table, or a page of it cannot be read.
    pub fn base_table(&self, name: &str) -> Result<BaseTable, Error> {
        let table = self.catalog.system(name)?;
        let types: Vec<Option<SqlType>> =
            (0..table.columns().len()).map(|at| table.type_of(at)).collect();
        let value = |(cell, ty): (&Cell<'static>, &Option<SqlType>)| match (cell, ty) {
            (Cell::Bit(bit), _) => Datum::Bit(*bit),
            (Cell::Bytes(bytes), Some(ty)) => {
                Datum::decode(ty, bytes).map_or(Datum::Null, Datum::into_owned)
            }
            _ => Datum::Null,
        };
        let row = |cells: &Vec<Cell<'static>>| cells.iter().zip(&types).map(value).collect();
        let rows = table.rows(&[])?.iter().map(row).collect();
        Ok(BaseTable { columns: table.columns().to_vec(), rows })
    }

    /// The allocation units of all tables and indexes, with their sizes as they are now.
    pub fn allocation_units(&self) -> Vec<Arc<Unit>> {
        self.catalog.units.all()
    }
}
