//! INSERT, UPDATE, DELETE and MERGE: rows are read by a plan, then changed one after the other.
//!
//! Invariants
//! - All rows are read before the first is changed, unless the statement does not read its target.
//! - A statement that fails has changed nothing.
//! - What OUTPUT sends to the client goes before the count; what it puts into a table is part of
//!   the statement.

mod delete;
mod insert;
mod merge;
mod output;
mod update;

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{Dml, QueryHint};

use super::{Compiled, Context};
use crate::frame::Frame;
use crate::output::StatementCode;
use crate::step::{RowCount, Run};
use crate::stop::Stop;

/// Compiles a statement that changes rows.
pub(super) fn compile(_: &Context<'_>, dml: &Dml) -> Compiled {
    Ok(match dml {
        Dml::Insert(insert) => Box::new(insert::InsertStep {
            limit: limit(&insert.option)?,
            syntax: Arc::new((**insert).clone()),
        }),
        Dml::Update(update) => Box::new(update::UpdateStep {
            limit: limit(&update.option)?,
            syntax: Arc::new((**update).clone()),
        }),
        Dml::Delete(delete) => Box::new(delete::DeleteStep {
            limit: limit(&delete.option)?,
            syntax: Arc::new((**delete).clone()),
        }),
        Dml::Merge(merge) => Box::new(merge::MergeStep {
            limit: limit(&merge.option)?,
            syntax: Arc::new((**merge).clone()),
        }),
    })
}

pub(crate) use insert::insert as insert_rows;

fn limit(hints: &[QueryHint]) -> Result<u32, crate::cause::Cause> {
    super::hints::recursion_limit(hints)
}

/// The end of a statement that has changed so many rows.
fn ended(run: &mut Run<'_>, frame: &Frame, count: u64) -> Result<RowCount, Stop> {
    run.done(frame.scope, StatementCode::Other, Some(count), false)?;
    Ok(RowCount::Rows(count as i64))
}

/// A transaction that can only be rolled back changes nothing.
fn verify_writable(run: &Run<'_>) -> Result<(), Stop> {
    if run.connection.transaction.is_doomed {
        return Err(crate::cause::Cause::Doomed.into());
    }
    Ok(())
}
