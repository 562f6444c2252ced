//! `sys.dm_db_log_space_usage`.

use extentdb_base::DatabaseId;

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// Bytes of a log.
struct Item {
    database: DatabaseId,
    total: u64,
    used: u64,
}

/// `sys.dm_db_log_space_usage`: of the current database.
pub(in crate::view) fn space_usage(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("database_id", |it: &Item| it.database.0.into())
        .put("total_log_size_in_bytes", |it| it.total.into())
        .put("used_log_space_in_bytes", |it| it.used.into())
        .put("used_log_space_in_percent", |it| percent(it.used, it.total).into())
        .put("log_space_in_bytes_since_last_backup", |it| it.used.into());
    let log = source.database.log();
    let item = Item {
        database: source.database_id(),
        total: log.total_bytes(),
        used: log.used_bytes(),
    };
    rows.add(&columns, [item])
}

/// A part in percent of the whole.
pub(in crate::view) fn percent(part: u64, whole: u64) -> f32 {
    if whole == 0 { 0.0 } else { (part as f64 * 100.0 / whole as f64) as f32 }
}
