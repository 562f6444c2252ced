//! INSERT … EXECUTE: the rows of all results of a procedure or text.
//!
//! Invariants
//! - The procedure ends before the first row is inserted: it may read or change the table.
//! - Messages of the procedure go to the client; its results do not.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Execute, Insert, InsertSource, Name};

use super::{Event, TriggerTarget, insert_rows};
use crate::statement::capture::{Capture, Rows};
use crate::statement::{Compiled, Context, execute};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::pending_load;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::trigger::RowsInMemory;

struct InsertExecute {
    insert: Insert,
    execute: Box<dyn Step>,
    span: Span,
}

pub(super) fn compile(context: &Context<'_>, insert: &Insert, execute: &Execute) -> Compiled {
    if !insert.outputs.is_empty() {
        return Err(Cause::not_supported("INSERT … EXECUTE with OUTPUT"));
    }
    Ok(Box::new(InsertExecute {
        insert: insert.clone(),
        execute: execute::compile(context, execute)?,
        span: insert.span,
    }))
}

impl Step for InsertExecute {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        super::verify_writable(run)?;
        if run.connection.is_capturing {
            return Err(Cause::NestedInsertExecute.into());
        }
        let mut capture = Capture::new(run.output);
        run.connection.is_capturing = true;
        let executed =
            self.execute.run(&mut Run::new(run.connection, &mut capture, run.run_text), frame);
        run.connection.is_capturing = false;
        let results = capture.into_results();
        executed?;
        let mut count = 0;
        for result in results {
            count += self.insert_result(run, frame, result)?;
        }
        run.done(frame.scope, StatementCode::Other, Some(count), false)?;
        Ok(RowCount::Rows(count as i64))
    }
}

impl InsertExecute {
    fn insert_result(
        &self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        result: Rows,
    ) -> Result<u64, Stop> {
        let names: Vec<String> = (0..result.columns.len()).map(|at| format!("c{at}")).collect();
        let columns = names.iter().zip(&result.columns);
        let columns = columns.map(|(name, own)| (name.clone(), own.ty, own.is_nullable)).collect();
        let span = self.span;
        let names: Vec<Name> =
            names.into_iter().map(|name| Name { text: name.into(), span }).collect();
        let mut insert = self.insert.clone();
        insert.source = InsertSource::Query(Box::new(pending_load::query(&names, span)));
        run.connection.given_rows = Some(RowsInMemory::made(result.rows, columns));
        let bound = Prepared::bind(run, frame, |binder| binder.insert(&insert));
        run.connection.given_rows = None;
        let (mut prepared, bound) = bound?;
        prepared.changes("INSERT", &bound.stored);
        let target = TriggerTarget::new(&bound.stored, &[Event::Insert], &bound.outputs);
        target
            .around(run, frame, |run, frame, keeps| insert_rows(run, frame, prepared, bound, keeps))
    }
}
