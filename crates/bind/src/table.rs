//! Tables as a query reads them.

use extentdb_base::sync::Arc;
use extentdb_engine::model::ObjectModel;
use extentdb_engine::{Database, ReadHints, Sample, Table};

use crate::logical::{Column, ValueId};

/// A table in a query.
#[derive(Clone)]
pub struct BoundTable {
    /// The database that it is in.
    pub database: Arc<Database>,
    /// The table.
    pub table: Arc<Table>,
    /// What the catalog says of it.
    pub object: Arc<ObjectModel>,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// How its rows are locked.
    pub hints: ReadHints,
    /// The index that a hint names.
    pub forced_index: Option<String>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// The value that says where a row is, where a statement changes rows.
    pub locator: Option<ValueId>,
}

/// A column of a table in a query.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Its value.
    pub column: Column,
    /// Its number in the rows of the table.
    pub ordinal: usize,
    /// `sys.columns.column_id`
    pub column_id: i32,
    /// Its name.
    pub name: String,
}

impl std::fmt::Debug for BoundTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BoundTable({})", self.table.name())
    }
}
