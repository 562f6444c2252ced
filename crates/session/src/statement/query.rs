//! SELECT over tables: a result for the client, or values for variables.

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{Query, QueryBody, SelectItem, SelectStatement};
use extentdb_types::Datum;

use super::{Compiled, Context, hints};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::options::SetOptions;
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::{self, Basis, KeptPlan, Prepared};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// A query that is bound when it runs.
struct QueryStep {
    query: Arc<Query>,
    recursion_limit: u32,
    most_threads: Option<usize>,
    plan: KeptPlan,
}

/// A query whose rows are assigned to variables.
struct AssignStep {
    query: Arc<Query>,
    recursion_limit: u32,
}

pub(super) fn compile(_: &Context<'_>, statement: &SelectStatement) -> Compiled {
    let query = Arc::new(statement.query.clone());
    let recursion_limit = hints::recursion_limit(&statement.option)?;
    let items = match &query.body {
        QueryBody::Select(select) => select.items.as_slice(),
        _ => &[],
    };
    let assigned = items.iter().filter(|item| matches!(item, SelectItem::Assign(_))).count();
    match assigned {
        0 => {
            let most_threads = hints::most_threads(&statement.option);
            let plan = KeptPlan::default();
            Ok(Box::new(QueryStep { query, recursion_limit, most_threads, plan }))
        }
        count if count == items.len() => Ok(Box::new(AssignStep { query, recursion_limit })),
        _ => Err(Cause::AssignsAndReturns),
    }
}

impl Step for QueryStep {
    fn is_run(&self, options: &SetOptions) -> bool {
        !options.noexec && !options.parseonly
    }

    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if !run.connection.options.fmtonly
            && let Some(planned) = self.plan.take(run.connection)
        {
            let count = query::send_planned(run, frame, planned, &self.plan)?;
            return sent(run, frame, count);
        }
        let basis = Basis::now(run.connection);
        let (mut prepared, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            binder.statement(&self.query)
        })?;
        prepared.most_threads = self.most_threads;
        if run.connection.options.fmtonly {
            run.output.columns(&query::column_infos(&bound))?;
            run.done(frame.scope, StatementCode::Select, Some(0), false)?;
            return Ok(RowCount::Rows(0));
        }
        let keep = basis.map(|basis| (basis, &self.plan));
        let count = query::send_rows(run, frame, prepared, bound, keep)?;
        sent(run, frame, count)
    }
}

/// So many rows were sent.
fn sent(run: &mut Run<'_>, frame: &Frame, count: u64) -> Result<RowCount, Stop> {
    run.done(frame.scope, StatementCode::Select, Some(count), false)?;
    Ok(RowCount::Rows(count as i64))
}

impl Step for AssignStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let (mut prepared, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            binder.assignments(&self.query)
        })?;
        let given = bound.relation.columns();
        let mut ids: Vec<usize> = Vec::new();
        for id in bound.assignments.iter().flat_map(|(_, value)| value.places()) {
            if given.iter().any(|column| column.id == id) && !ids.contains(&id) {
                ids.push(id);
            }
        }
        let (mut operator, columns) = prepared.plan(bound.relation, &ids)?;
        let mut assignments = Vec::new();
        for (slot, value) in &bound.assignments {
            assignments.push((*slot, prepared.evaluator(value, &columns)?));
        }
        let variables = frame.variables.clone();
        let mut values: Vec<(usize, Datum<'static>)> = Vec::new();
        let rows = prepared.execute(run, frame, |context, _| {
            let mut rows = 0_i64;
            query::each_batch(&mut *operator, context, &mut |context, batch| {
                for at in 0..batch.rows {
                    let row = batch.slice(at, 1);
                    for (slot, evaluator) in &mut assignments {
                        let vector = evaluator.vector(&row, &context.outer)?;
                        let value = extentdb_exec::datum(&vector, 0)?;
                        // The next value may use this one.
                        let id = prepared.prologue.iter().find_map(|it| match it {
                            extentdb_bind::Prologue::Variable { variable, id }
                                if variable == slot =>
                            {
                                Some(*id)
                            }
                            _ => None,
                        });
                        if let (Some(id), Some(variable)) = (id, variables.get(*slot)) {
                            query::set(context, id, &value, &variable.ty)?;
                        }
                        values.retain(|(own, _)| own != slot);
                        values.push((*slot, value));
                    }
                }
                rows += batch.rows as i64;
                Ok(())
            })?;
            Ok(rows)
        })?;
        for (slot, value) in values {
            if let Some(own) = frame.values.get_mut(slot) {
                *own = value;
            }
        }
        Ok(RowCount::Rows(rows))
    }
}
