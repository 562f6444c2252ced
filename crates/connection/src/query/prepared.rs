//! A statement that is bound and planned, ready to run once.

use extentdb_bind::logical::{Column, FunctionCall, Relation, ValueId};
use extentdb_bind::surroundings::StoredTable;
use extentdb_bind::{Binder, Prologue};
use extentdb_engine::{Session, StatementEnd};
use extentdb_exec::{Batch, Context, Error as ExecError, Evaluator, Operator, build};
use extentdb_expr::Environment;
use extentdb_plan::Statement as Planner;
use extentdb_plan::physical::Node;
use extentdb_types::{Datum, SqlType};

use super::functions::RowFunction;
use super::{QuerySurroundings, RowFunctions, bind_cause, exec_cause, plan_cause};
use crate::cause::Cause;
use crate::frame::Frame;
use crate::step::Run;
use crate::stop::Stop;

/// What a statement takes from outside, and where its values are.
pub struct Prepared {
    /// Values from outside.
    pub environment: Environment,
    /// What is evaluated before the first row.
    pub prologue: Vec<Prologue>,
    /// The highest number of a value.
    pub last: ValueId,
    functions: Vec<RowFunction>,
    /// Does it read tables of the engine?
    pub reads_tables: bool,
    /// May its plan be kept?
    pub is_reusable: bool,
    /// What it changes.
    pub change: Option<Change>,
    /// MAXDOP; `None` without the hint, or 0.
    pub most_threads: Option<usize>,
}

/// What a statement does to rows, for its messages.
#[derive(Clone)]
pub struct Change {
    /// `INSERT`
    pub verb: &'static str,
    /// The table.
    pub stored: StoredTable,
}

impl Prepared {
    /// Binds a statement.
    pub fn bind<T>(
        run: &mut Run<'_>,
        frame: &Frame,
        bind: impl FnOnce(&mut Binder<'_>) -> extentdb_bind::Result<T>,
    ) -> Result<(Prepared, T), Cause> {
        let mut surroundings = QuerySurroundings::new(run.connection, frame);
        let environment = extentdb_bind::surroundings::Surroundings::environment(&surroundings);
        let environment = environment.clone();
        let mut binder = Binder::new(&mut surroundings);
        let bound = bind(&mut binder).map_err(bind_cause)?;
        let (prologue, last) = binder.finish();
        let QuerySurroundings { functions, reads_tables, is_reusable, .. } = surroundings;
        Ok((
            Prepared {
                environment,
                prologue,
                last,
                functions,
                reads_tables,
                is_reusable,
                change: None,
                most_threads: None,
            },
            bound,
        ))
    }

    /// The statement changes rows of a table.
    pub fn changes(&mut self, verb: &'static str, stored: &StoredTable) {
        self.reads_tables = true;
        self.change = Some(Change { verb, stored: stored.clone() });
    }

    /// The operators of a relation whose columns are these values.
    pub fn plan(
        &mut self,
        relation: Relation,
        values: &[ValueId],
    ) -> Result<(Box<dyn Operator>, Vec<Column>), Cause> {
        let node = self.node(relation, values)?;
        Ok((operator(&node)?, node.columns))
    }

    /// The plan of the same.
    ///
    /// # Errors
    /// An expression cannot be compiled.
    pub fn node(&self, relation: Relation, values: &[ValueId]) -> Result<Node, Cause> {
        let mut planner = Planner::new(&self.environment, self.last);
        planner.plan(relation, values).map_err(plan_cause)
    }

    /// The plan of a query whose rows go to the client: several threads may read large tables.
    ///
    /// # Errors
    /// An expression cannot be compiled.
    pub fn parallel_node(&self, relation: Relation, values: &[ValueId]) -> Result<Node, Cause> {
        let mut planner = Planner::new(&self.environment, self.last);
        if self.most_threads != Some(1) {
            planner = planner.in_parallel();
        }
        planner.plan(relation, values).map_err(plan_cause)
    }

    /// An evaluator of a value over columns.
    pub fn evaluator(
        &self,
        scalar: &extentdb_expr::Scalar,
        columns: &[Column],
    ) -> Result<Evaluator, Cause> {
        let planner = Planner::new(&self.environment, self.last);
        let expression = planner.expression(scalar, columns).map_err(plan_cause)?;
        Ok(Evaluator::new(&expression))
    }

    /// Runs `work` as one statement of the engine. What it changes stays, or is undone when it
    /// fails.
    pub fn execute<T>(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        work: impl FnOnce(&mut Context<'_>, &mut dyn crate::output::Output) -> Result<T, QueryStop>,
    ) -> Result<T, Stop> {
        if self.reads_tables {
            run.connection.begin_implicit(run.output)?;
        }
        let Some(mut session) = run.connection.session.lend() else {
            return Err(Cause::not_supported("a query within a query").into());
        };
        let done = self.executed(run, frame, &mut session, work);
        run.connection.session.give_back(session);
        done.map_err(|stop| match stop {
            QueryStop::Failed(error) => {
                exec_cause(error, run.connection, self.change.as_ref()).into()
            }
            QueryStop::Stop(stop) => stop,
        })
    }

    fn executed<T>(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        session: &mut Session,
        work: impl FnOnce(&mut Context<'_>, &mut dyn crate::output::Output) -> Result<T, QueryStop>,
    ) -> Result<T, QueryStop> {
        let scope = match self.reads_tables {
            true => Some(session.begin_scope().map_err(ExecError::from)?),
            false => None,
        };
        let memory = run.connection.server.statement_memory(run.connection.memory.as_ref());
        let workers = run.connection.server.workers(self.most_threads);
        let notices = run.connection.notices.clone();
        let (done, identity) = {
            let mut functions = RowFunctions {
                connection: run.connection,
                frame,
                definitions: &self.functions,
                run_text: run.run_text,
                stand_in: None,
            };
            let mut context = Context::new(session, &mut functions);
            context.memory = memory;
            context.workers = workers;
            context.outer.notices = notices;
            let done = match self.evaluate_prologue(&mut context, frame) {
                Ok(()) => work(&mut context, run.output),
                Err(error) => Err(error.into()),
            };
            (done, context.identity)
        };
        run.connection.identities.note(&identity);
        let Some(scope) = scope else { return done };
        let end = if done.is_ok() { StatementEnd::Done } else { StatementEnd::Failed };
        let ended = session.end_scope(scope, end).map_err(ExecError::from);
        match (done, ended) {
            (Ok(done), Ok(())) => Ok(done),
            (Err(stop), _) => Err(stop),
            (Ok(_), Err(error)) => Err(error.into()),
        }
    }

    /// Values from outside: variables, functions without columns.
    fn evaluate_prologue(&self, context: &mut Context<'_>, frame: &Frame) -> Result<(), ExecError> {
        for step in &self.prologue {
            match step {
                Prologue::Variable { variable, id } => {
                    let value = frame.values.get(*variable).unwrap_or(&Datum::Null);
                    let ty = frame.variables.get(*variable).map_or(SqlType::Int, |it| it.ty);
                    set(context, *id, value, &ty)?;
                }
                Prologue::Call(call) => {
                    let planner = Planner::new(&self.environment, self.last);
                    evaluate_call(call, &planner, context)?;
                }
            }
        }
        Ok(())
    }
}

/// The operators of a plan.
pub fn operator(node: &Node) -> Result<Box<dyn Operator>, Cause> {
    build(node).map_err(|error| match error {
        ExecError::NotSupported(what) => Cause::NotSupported { what },
        other => Cause::not_supported(other.to_string()),
    })
}

/// Evaluates a function without columns, whose value then comes from outside.
pub fn evaluate_call(
    call: &FunctionCall,
    planner: &Planner<'_>,
    context: &mut Context<'_>,
) -> Result<(), ExecError> {
    let mut arguments = Vec::new();
    for argument in &call.arguments {
        let expression = planner.expression(argument, &[]);
        let expression = expression.map_err(|error| ExecError::NotSupported(error.to_string()))?;
        arguments.push(Evaluator::new(&expression).datum(&context.outer)?);
    }
    let value = context.call(call.function, &arguments)?;
    set(context, call.column.id, &value, &call.column.ty)
}

/// Gives a value from outside its value.
pub fn set(
    context: &mut Context<'_>,
    id: ValueId,
    value: &Datum<'_>,
    ty: &SqlType,
) -> Result<(), ExecError> {
    if value.is_null() {
        context.outer.set(id, None);
        return Ok(());
    }
    let mut bytes = Vec::new();
    let encoded = value.encode(ty, &mut bytes);
    encoded.map_err(|error| ExecError::NotSupported(error.to_string()))?;
    context.outer.set(id, Some(&bytes));
    Ok(())
}

/// Why a query does not end as it should.
pub enum QueryStop {
    /// The query failed.
    Failed(ExecError),
    /// It ends for another reason.
    Stop(Stop),
}

impl From<ExecError> for QueryStop {
    fn from(error: ExecError) -> QueryStop {
        QueryStop::Failed(error)
    }
}

impl From<crate::output::Gone> for QueryStop {
    fn from(gone: crate::output::Gone) -> QueryStop {
        QueryStop::Stop(gone.into())
    }
}

impl From<Cause> for QueryStop {
    fn from(cause: Cause) -> QueryStop {
        QueryStop::Stop(cause.into())
    }
}

/// All rows of an operator, from its beginning.
pub fn all_batches(
    operator: &mut dyn Operator,
    context: &mut Context<'_>,
) -> Result<Vec<Batch>, QueryStop> {
    let mut all = Vec::new();
    operator.open(context)?;
    while let Some(batch) = operator.next(context)? {
        all.push(batch);
    }
    Ok(all)
}

/// Rows of an operator, from its beginning.
pub fn each_batch(
    operator: &mut dyn Operator,
    context: &mut Context<'_>,
    each: &mut dyn FnMut(&mut Context<'_>, &Batch) -> Result<(), QueryStop>,
) -> Result<(), QueryStop> {
    operator.open(context)?;
    while let Some(batch) = operator.next(context)? {
        each(context, &batch)?;
    }
    Ok(())
}
