//! Bulk loads: the rows of a message go into the table that INSERT BULK has named.
//!
//! Where we differ: checks and foreign keys are verified whether CHECK_CONSTRAINTS is said or not.

use extentdb_base::sync::Arc;
use extentdb_bind::provider::{KeptRows, RequestedColumn, RowProvider, RowStream};
use extentdb_bind::surroundings::MadeRows;
use extentdb_types::Datum;

use crate::cause::Cause;
use crate::frame::Frame;
use crate::output::{Scope, StatementCode};
use crate::pending_load::BulkRows;
use crate::query::Prepared;
use crate::statement::insert_rows;
use crate::step::Run;
use crate::stop::Stop;

/// The rows of a message.
struct Rows(Arc<[Vec<Datum<'static>>]>);

impl RowProvider for Rows {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        Ok(Box::new(KeptRows::new(self.0.clone(), columns)))
    }
}

/// Loads the rows of a message into the table of the statement before.
pub(crate) fn load(run: &mut Run<'_>, bulk: &BulkRows) -> Result<(), Stop> {
    let Some(pending) = run.connection.pending_load.take() else {
        return Err(Cause::not_supported("a bulk load without INSERT BULK").into());
    };
    if pending.columns.len() != bulk.columns.len() {
        let text = "Received an invalid column length from the bcp client.".to_owned();
        return Err(Cause::Failed { number: 4815, severity: 16, text }.into());
    }
    // The columns are those of the statement, in its order.
    let columns = pending
        .columns
        .iter()
        .zip(&bulk.columns)
        .map(|(name, (_, ty))| (name.clone(), *ty, true))
        .collect();
    let provider = Arc::new(Rows(bulk.rows.clone()));
    run.connection.bulk_rows = Some(MadeRows { schema: None, columns, provider });
    let frame = Frame::new(Scope::Batch, Arc::from([]));
    let bound = Prepared::bind(run, &frame, |binder| binder.insert(&pending.insert));
    run.connection.bulk_rows = None;
    let (mut prepared, bound) = bound?;
    prepared.changes("BULK INSERT", &bound.stored);
    let count = insert_rows(run, &frame, prepared, bound)?;
    run.connection.rowcount = count as i64;
    run.done(Scope::Batch, StatementCode::Other, Some(count), false)
}
