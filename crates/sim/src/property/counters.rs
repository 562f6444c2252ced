//! The counters of tables are those of their rows.

use extentdb_base::sync::Arc;
use extentdb_engine::Database;

use super::rows::Found;

/// The first table whose counter is wrong.
pub(crate) fn difference(db: &Arc<Database>, found: &Found) -> Option<String> {
    db.tables().iter().find_map(|table| {
        let rows = found.get(table.name()).map_or(0, |found| found.rows.len() as i64);
        let counted = table.row_count();
        (counted != rows).then(|| format!("{} counts {counted} rows and has {rows}", table.name()))
    })
}
