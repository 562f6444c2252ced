//! A query over files: bound and planned once, run once.

use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_bind::{Binder, Prologue};
use extentdb_engine::Session;
use extentdb_exec::{Context, Error as ExecError, Functions, Memory, Operator, build, datum};
use extentdb_expr::Environment;
use extentdb_plan::Statement as Planner;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::SelectStatement;
use extentdb_types::Datum;

use super::error::Error;
use super::files::Files;
use super::surroundings::FileSurroundings;
use crate::statement::recursion_limit;
use extentdb_connection::cause::Cause;
use extentdb_connection::function::{Definition, clock};
use extentdb_connection::output::ColumnInfo;
use extentdb_connection::query::{
    bind_cause, column_infos, evaluate_call, operator_cause, plan_cause,
};

/// A query that is ready to run.
pub struct Query {
    columns: Vec<ColumnInfo>,
    operator: Box<dyn Operator>,
    environment: Environment,
    prologue: Vec<Prologue>,
    last: usize,
    functions: TimeFunctions,
    memory: Memory,
}

/// Why a query did not come to its end.
#[derive(Debug)]
pub enum Stop<E> {
    /// It failed.
    Query(Error),
    /// It was cancelled.
    Cancelled,
    /// Who takes the rows takes no more.
    Taker(E),
}

/// Functions of the time, which give one time for the whole query.
struct TimeFunctions {
    definitions: Vec<&'static Definition>,
    now: Duration,
}

impl Functions for TimeFunctions {
    fn call(
        &mut self,
        _: Option<&mut Session>,
        function: usize,
        _: &[Datum<'_>],
    ) -> Result<Datum<'static>, ExecError> {
        let definition = self.definitions.get(function);
        let value = definition.and_then(|own| clock::value_at(own.name, self.now));
        value.ok_or_else(|| ExecError::NotSupported("a function without a definition".to_owned()))
    }
}

impl Query {
    pub(super) fn prepare(
        files: &Arc<Files>,
        select: &SelectStatement,
        now: Duration,
    ) -> Result<Query, Error> {
        let limit = recursion_limit(&select.option).map_err(Error::plain)?;
        let mut surroundings = FileSurroundings::new(files);
        let mut binder = Binder::new(&mut surroundings);
        binder.set_recursion_limit(limit);
        let bound = binder.statement(&select.query).map_err(|error| {
            let span = error.span;
            Error::new(bind_cause(error), span)
        })?;
        let (prologue, last) = binder.finish();
        let definitions = std::mem::take(&mut surroundings.functions);
        let environment = FileSurroundings::new(files).into_environment();
        let columns = column_infos(&bound);
        let ids: Vec<usize> = bound.outputs.iter().map(|output| output.column.id).collect();
        let mut planner = Planner::new(&environment, last);
        let node = planner.plan(bound.relation, &ids);
        let node = node.map_err(|error| Error::plain(plan_cause(error)))?;
        let operator =
            build(&node).map_err(|error| Error::plain(operator_cause(error, "SELECT")))?;
        Ok(Query {
            columns,
            operator,
            environment,
            prologue,
            last,
            functions: TimeFunctions { definitions, now },
            memory: Memory::unlimited(),
        })
    }

    /// The same query, keeping rows within a limit of memory; it has none otherwise.
    #[must_use]
    pub fn within(self, memory: Memory) -> Query {
        Query { memory, ..self }
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Runs the query: hands each row to `take`; the number of rows.
    ///
    /// # Errors
    /// It failed, was cancelled, or `take` wants no more rows.
    pub fn run<E>(
        mut self,
        cancellation: &Cancellation,
        take: &mut dyn FnMut(&[Datum<'static>]) -> Result<(), E>,
    ) -> Result<u64, Stop<E>> {
        let mut context = Context::without_engine(cancellation, &mut self.functions);
        context.memory = self.memory.clone();
        let planner = Planner::new(&self.environment, self.last);
        for step in &self.prologue {
            match step {
                Prologue::Call(call) => evaluate_call(call, &planner, &mut context)?,
                Prologue::Variable { .. } => {
                    let cause = Cause::not_supported("variables in a query over files");
                    return Err(Stop::Query(Error::new(cause, Span::default())));
                }
            }
        }
        let mut count = 0;
        let mut row: Vec<Datum<'static>> = Vec::with_capacity(self.columns.len());
        self.operator.open(&mut context)?;
        while let Some(batch) = self.operator.next(&mut context)? {
            for at in 0..batch.rows {
                row.clear();
                for column in &batch.columns {
                    row.push(datum(column, at)?);
                }
                take(&row).map_err(Stop::Taker)?;
            }
            count += batch.rows as u64;
        }
        Ok(count)
    }
}

impl<E> From<ExecError> for Stop<E> {
    fn from(error: ExecError) -> Stop<E> {
        match error {
            ExecError::Engine(error) if matches!(*error, extentdb_engine::Error::Cancelled) => {
                Stop::Cancelled
            }
            other => Stop::Query(Error::plain(operator_cause(other, "SELECT"))),
        }
    }
}
