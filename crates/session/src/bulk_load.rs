//! Bulk loads: the rows of a message go into the table that INSERT BULK has named.
//!
//! Where we differ: checks and foreign keys are verified whether CHECK_CONSTRAINTS is said or not.

use extentdb_base::sync::Arc;
use extentdb_bind::surroundings::MadeRows;
use extentdb_tsql::syntax::Insert;

use crate::statement::{Event, TriggerTarget, insert_rows};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::{Scope, StatementCode};
use extentdb_connection::pending_load::BulkRows;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

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
    let rows = MadeRows { schema: None, columns, provider: bulk.rows.clone() };
    let events: &[Event] = if pending.fires_triggers { &[Event::Insert] } else { &[] };
    let count = insert(run, &pending.insert, rows, events)?;
    run.connection.rowcount = count as i64;
    run.done(Scope::Batch, StatementCode::BulkInsert, Some(count), false)
}

/// Inserts rows in memory; their number.
pub(crate) fn insert(
    run: &mut Run<'_>,
    insert: &Insert,
    rows: MadeRows,
    events: &[Event],
) -> Result<u64, Stop> {
    run.connection.bulk_rows = Some(rows);
    let mut frame = Frame::new(Scope::Batch, Arc::from([]));
    let bound = Prepared::bind(run, &frame, |binder| binder.insert(insert));
    run.connection.bulk_rows = None;
    let (mut prepared, bound) = bound?;
    prepared.changes("BULK INSERT", &bound.stored);
    let target = TriggerTarget::new(&bound.stored, events, &bound.outputs);
    target.around(run, &mut frame, |run, frame, keeps| {
        insert_rows(run, frame, prepared, bound, keeps)
    })
}
