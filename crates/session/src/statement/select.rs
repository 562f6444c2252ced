//! SELECT without FROM: one row of expressions.

use extentdb_tsql::syntax::{
    Column, ExprKind, Query, QueryBody, Select, SelectItem, SelectStatement, Top,
};
use extentdb_types::{Datum, SqlType};

use super::variable::Assign;
use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::options::SetOptions;
use extentdb_connection::output::{ColumnInfo, StatementCode};
use extentdb_connection::scalar::{Condition, Scalar};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// TOP of a hundred percent is everything.
const ALL_PERCENT: i64 = 100;

struct Row {
    columns: Vec<ColumnInfo>,
    values: Vec<Scalar>,
    limits: Limits,
}

struct Assignments {
    assignments: Vec<Assign>,
    limits: Limits,
}

/// Is there a row at all?
struct Limits {
    filter: Option<Condition>,
    top: Option<TopCount>,
}

struct TopCount {
    count: Scalar,
    is_percent: bool,
}

pub(super) fn compile(context: &Context<'_>, statement: &SelectStatement) -> Compiled {
    match without_tables(context, statement) {
        Err(Cause::NotSupported { .. }) => super::query::compile(context, statement),
        other => other,
    }
}

/// A SELECT that needs no plan.
fn without_tables(context: &Context<'_>, statement: &SelectStatement) -> Compiled {
    let select = plain_select(&statement.query)?;
    let limits = limits(context, select)?;
    let is_assignment = |item: &&SelectItem| matches!(item, SelectItem::Assign(_));
    match select.items.iter().filter(is_assignment).count() {
        0 => row(context, select, limits),
        count if count == select.items.len() => assignments(context, select, limits),
        _ => Err(Cause::AssignsAndReturns),
    }
}

/// The one SELECT of a query; everything that needs a table is refused by its name.
fn plain_select(query: &Query) -> Result<&Select, Cause> {
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Parenthesised(inner) => plain_select(inner)?,
        QueryBody::Set { .. } => return Err(Cause::not_supported("UNION, EXCEPT and INTERSECT")),
    };
    let refused = [
        (query.with.is_some(), "WITH before a query"),
        (!select.from.is_empty(), "SELECT with FROM"),
        (!query.order_by.is_empty(), "ORDER BY without FROM"),
        (query.offset.is_some(), "OFFSET"),
        (query.for_clause.is_some(), "FOR BROWSE, FOR XML and FOR JSON"),
        (select.into.is_some(), "SELECT INTO"),
        (select.group_by.is_some(), "GROUP BY"),
        (select.having.is_some(), "HAVING"),
        (!select.windows.is_empty(), "WINDOW"),
    ];
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Cause::not_supported(*what)),
        None => Ok(select),
    }
}

fn limits(context: &Context<'_>, select: &Select) -> Result<Limits, Cause> {
    let compiler = &context.compiler;
    let filter = select.filter.as_ref().map(|filter| compiler.condition(filter)).transpose()?;
    let top = select.top.as_ref().map(|top| top_count(context, top)).transpose()?;
    Ok(Limits { filter, top })
}

fn top_count(context: &Context<'_>, top: &Top) -> Result<TopCount, Cause> {
    let is_percent = top.is_percent;
    let ty = if is_percent { SqlType::Float } else { SqlType::BigInt };
    let natural = context.compiler.value(&top.count)?;
    let is_whole =
        matches!(natural.ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt);
    if !is_percent && !is_whole {
        return Err(Cause::TopNotInteger);
    }
    Ok(TopCount {
        count: context.compiler.assigned(&top.count, ty)?,
        is_percent,
    })
}

fn row(context: &Context<'_>, select: &Select, limits: Limits) -> Compiled {
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for item in &select.items {
        let SelectItem::Value { value, alias } = item else { return Err(Cause::NoTable) };
        let own = match &value.kind {
            ExprKind::Column(column) => match &column.column {
                Column::Named(name) => Some(name),
                Column::Pseudo(_) => None,
            },
            _ => None,
        };
        let scalar = context.compiler.value(value)?;
        columns.push(ColumnInfo {
            name: alias.as_ref().or(own).map(|name| name.text.to_string()).unwrap_or_default(),
            ty: scalar.ty,
            is_nullable: scalar.is_nullable,
            is_computed: true,
            is_identity: false,
        });
        values.push(scalar);
    }
    Ok(Box::new(Row { columns, values, limits }))
}

fn assignments(context: &Context<'_>, select: &Select, limits: Limits) -> Compiled {
    let mut assignments = Vec::new();
    for item in &select.items {
        if let SelectItem::Assign(assignment) = item {
            assignments.push(Assign::of(&context.compiler, assignment)?);
        }
    }
    Ok(Box::new(Assignments { assignments, limits }))
}

impl Limits {
    fn has_row(&self, run: &Run<'_>, frame: &Frame) -> Result<bool, Stop> {
        let at = run.values(frame);
        if let Some(top) = &self.top
            && !top.has_row(run, frame)?
        {
            return Ok(false);
        }
        Ok(match &self.filter {
            Some(filter) => filter.is_true(at)?,
            None => true,
        })
    }
}

impl TopCount {
    fn has_row(&self, run: &Run<'_>, frame: &Frame) -> Result<bool, Stop> {
        let count = match self.count.value(run.values(frame))? {
            Datum::Float(percent) if percent > ALL_PERCENT as f64 => return Err(out_of_percent()),
            Datum::Float(percent) if percent < 0.0 => return Err(out_of_percent()),
            Datum::Float(percent) => i64::from(percent > 0.0),
            Datum::BigInt(count) => count,
            _ => return Err(Cause::TopNotInteger.into()),
        };
        if count < 0 && !self.is_percent {
            return Err(Cause::NegativeTop.into());
        }
        Ok(count > 0)
    }
}

fn out_of_percent() -> Stop {
    let text = "Percent values must be between 0 and 100.".to_owned();
    Cause::Login { number: 1031, text }.into()
}

impl Step for Row {
    fn is_run(&self, options: &SetOptions) -> bool {
        !options.noexec && !options.parseonly
    }

    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        run.output.columns(&self.columns)?;
        if run.connection.options.fmtonly {
            run.done(frame.scope, StatementCode::Select, Some(0), false)?;
            return Ok(RowCount::Rows(0));
        }
        let has_row = self.limits.has_row(run, frame)?;
        if has_row {
            let at = run.values(frame);
            let values: Result<Vec<_>, _> = self.values.iter().map(|it| it.value(at)).collect();
            run.output.row(&values?)?;
        }
        run.done(frame.scope, StatementCode::Select, Some(u64::from(has_row)), false)?;
        Ok(RowCount::Rows(i64::from(has_row)))
    }
}

impl Step for Assignments {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if !self.limits.has_row(run, frame)? {
            return Ok(RowCount::Rows(0));
        }
        for assignment in &self.assignments {
            assignment.apply(run, frame)?;
        }
        Ok(RowCount::Rows(1))
    }
}
