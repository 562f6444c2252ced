//! Tables as a query reads them.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_engine::model::ObjectModel;
use extentdb_engine::{Database, ReadHints, Sample, Statistics, Table};

use crate::access::Accesses;
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
    /// What may be done with it, and with views around it.
    pub accesses: Accesses,
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
    /// What was asked of its statistics already.
    pub known: KnownStatistics,
}

/// Statistics by the number of their column, as the engine had them when they were asked for.
#[derive(Clone, Default)]
pub struct KnownStatistics(Arc<Mutex<BTreeMap<usize, Option<Arc<Statistics>>>>>);

/// Fewer rows are read as fast whatever is known of them.
const STATISTICS_ROWS: i64 = 1000;
/// How long a plan waits for statistics that are built for it.
const STATISTICS_WAIT: Duration = Duration::from_millis(100);

impl BoundTable {
    /// Statistics about a column, by its number in the rows of the table: asked for once.
    pub fn statistics(&self, ordinal: usize) -> Option<Arc<Statistics>> {
        if self.table.row_count() < STATISTICS_ROWS {
            return None;
        }
        let mut known = lock(&self.known.0);
        let ask = || self.database.statistics_of(&self.table, ordinal, STATISTICS_WAIT);
        known.entry(ordinal).or_insert_with(ask).clone()
    }
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
