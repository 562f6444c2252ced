//! EXECUTE of procedures and of text.

use extentdb_tsql::syntax::{
    Argument, Column, Execute, Executed, Expr, ExprKind, ProcedureName, TextPrincipal,
};
use extentdb_tsql::{Options, parse_expression};
use extentdb_types::SqlType;

use super::impersonate::{login_identity, user_identity};
use super::{Compiled, Context};
use crate::procedure::{self, Caller};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::{Frame, Variable, variable_named};
use extentdb_connection::objects::object_name;
use extentdb_connection::options::SetOptions;
use extentdb_connection::output::{Scope, StatementCode};
use extentdb_connection::query::{self, Prepared};
use extentdb_connection::request::{self, TableArgument};
use extentdb_connection::scalar::Scalar;
use extentdb_connection::security::Revert;
use extentdb_connection::step::{RowCount, Run, Source, Step, Text};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

struct ExecuteText {
    text: Scalar,
    /// Who it runs as.
    principal: Option<TextPrincipal>,
}

struct ExecuteProcedure {
    name: Called,
    /// Variable that takes the return status.
    status: Option<usize>,
    arguments: Vec<CompiledArgument>,
}

/// Which procedure: by its name, or by the name that a variable has.
enum Called {
    Name(String),
    Variable(usize),
}

struct CompiledArgument {
    name: String,
    value: Option<Scalar>,
    /// A table variable; then there is no value.
    table: Option<Box<str>>,
    /// Variable that takes the value back.
    output: Option<usize>,
}

pub(super) fn compile(context: &Context<'_>, execute: &Execute) -> Compiled {
    if execute.result_sets.is_some() {
        return Err(Cause::not_supported("EXECUTE WITH RESULT SETS"));
    }
    match &execute.what {
        Executed::Text { text, principal, at: None } => {
            let collation = context.compiler.collation;
            let ty = SqlType::NVarChar { len: None, collation };
            let text = context.compiler.assigned(text, ty)?;
            Ok(Box::new(ExecuteText { text, principal: principal.clone() }))
        }
        Executed::Text { .. } => Err(Cause::not_supported("EXECUTE AT")),
        Executed::Procedure { name, number: None | Some(1) } => {
            let name = match name {
                ProcedureName::Object(name) => Called::Name(name.to_string()),
                ProcedureName::Variable(name) => Called::Variable(slot(context, &name.text)?),
            };
            let status = execute.status.as_ref().map(|it| slot(context, &it.text)).transpose()?;
            let arguments: Result<Vec<_>, _> =
                execute.arguments.iter().map(|it| argument(context, it)).collect();
            Ok(Box::new(ExecuteProcedure { name, status, arguments: arguments? }))
        }
        Executed::Procedure { .. } => Err(Cause::not_supported("a procedure by its number")),
    }
}

fn slot(context: &Context<'_>, name: &str) -> Result<usize, Cause> {
    let slot = variable_named(context.compiler.variables, name);
    slot.ok_or_else(|| Cause::UnknownVariable { name: name.to_owned() })
}

fn argument(context: &Context<'_>, argument: &Argument) -> Result<CompiledArgument, Cause> {
    let mut table = None;
    let value = match &argument.value.kind {
        ExprKind::Default => None,
        ExprKind::Variable(name) if slot(context, name).is_err() && !name.starts_with("@@") => {
            table = Some(name.clone());
            None
        }
        _ => Some(context.compiler.value(&word_as_text(&argument.value))?),
    };
    let output = match &argument.value.kind {
        ExprKind::Variable(name) if argument.is_output => Some(slot(context, name)?),
        _ => None,
    };
    let name = argument.name.as_ref().map(|name| name.text.to_string()).unwrap_or_default();
    Ok(CompiledArgument { name, value, table, output })
}

/// A bare word stands for its name.
pub(crate) fn word_as_text(expr: &Expr) -> Expr {
    use extentdb_tsql::syntax::{Literal, StringLiteral};
    if let ExprKind::Column(column) = &expr.kind
        && column.qualifier.is_none()
        && let Column::Named(name) = &column.column
    {
        let value = name.text.clone();
        let literal = Literal::String(StringLiteral { value, is_national: true });
        return Expr { kind: ExprKind::Literal(literal), span: expr.span };
    }
    expr.clone()
}

impl CompiledArgument {
    /// The table that it is.
    fn table(&self, run: &Run<'_>) -> Result<Option<TableArgument>, Cause> {
        let Some(name) = &self.table else { return Ok(None) };
        let handed = run.connection.hand_table(name);
        let handed = handed.ok_or_else(|| Cause::UnknownVariable { name: name.to_string() })?;
        Ok(Some(TableArgument::Variable(handed)))
    }
}

impl Step for ExecuteText {
    /// Under FMTONLY the statements of the text are described in its place.
    fn is_run(&self, options: &SetOptions) -> bool {
        !options.noexec && !options.parseonly
    }

    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let value = self.text.value(run.values(frame))?;
        let identity = match &self.principal {
            None => None,
            Some(own) if own.is_login => Some(login_identity(run, &own.name.value)?),
            Some(own) => Some(user_identity(run, &own.name.value)?),
        };
        let text = variant::text(&value).unwrap_or_default();
        let text = Text {
            source: Source::Text(&text),
            scope: Scope::Procedure,
            parameters: Vec::new(),
            values: Vec::new(),
            inherited: frame.error_at_hand().cloned(),
            has_outer_handler: frame.is_handled(),
            trigger: None,
        };
        procedure::nested(run, |run| {
            if let Some(identity) = identity {
                run.connection.impersonate(identity, Revert::Never);
            }
            run.text(text).map(|_| ())
        })?;
        run.done(Scope::ProcedureEnd, StatementCode::Execute, None, false)?;
        Ok(RowCount::Unchanged)
    }
}

impl Step for ExecuteProcedure {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let mut arguments = Vec::new();
        for argument in &self.arguments {
            let value = argument.value.as_ref();
            arguments.push(request::Argument {
                name: argument.name.clone(),
                ty: value.map(|value| value.ty),
                value: match value {
                    Some(value) => value.value(run.values(frame))?,
                    None => extentdb_types::Datum::Null,
                },
                is_output: argument.output.is_some(),
                is_default: value.is_none() && argument.table.is_none(),
                table: argument.table(run)?,
            });
        }
        let caller = Caller {
            inherited: frame.error_at_hand().cloned(),
            has_outer_handler: frame.is_handled(),
        };
        let name = match &self.name {
            Called::Name(name) => name.clone(),
            Called::Variable(slot) => {
                frame.values.get(*slot).and_then(variant::text).unwrap_or_default()
            }
        };
        if let Some(value) = function_value(run, frame.is_handled(), &name, &arguments)? {
            if let Some(slot) = self.status {
                self.take_back(run, frame, slot, &value)?;
            }
            run.done(Scope::ProcedureEnd, StatementCode::Execute, None, false)?;
            return Ok(RowCount::Unchanged);
        }
        let done = procedure::run(run, &name, &arguments, &caller)?;
        for (position, value) in &done.outputs {
            let output = self.arguments.get(*position).and_then(|argument| argument.output);
            if let Some(slot) = output {
                self.take_back(run, frame, slot, value)?;
            }
        }
        if let Some(slot) = self.status {
            let status = procedure::Returned {
                ty: SqlType::Int,
                value: extentdb_types::Datum::Int(done.status),
            };
            self.take_back(run, frame, slot, &status)?;
        }
        run.output.return_status(done.status)?;
        run.done(Scope::ProcedureEnd, StatementCode::Execute, None, false)?;
        Ok(RowCount::Unchanged)
    }
}

/// The value of a function that is called as a procedure; `None` when the name is none of a
/// function with a value.
pub(crate) fn function_value(
    run: &mut Run<'_>,
    is_handled: bool,
    name: &str,
    arguments: &[request::Argument],
) -> Result<Option<procedure::Returned>, Stop> {
    let object = object_name(name.trim());
    let is_function = run.connection.readable(&object)?.is_some_and(|it| it.kind() == "FN");
    if !is_function {
        return Ok(None);
    }
    let variables: Vec<Variable> = arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| Variable {
            name: format!("@a{at}").into(),
            ty: argument.ty.unwrap_or(SqlType::Int),
        })
        .collect();
    let list: Vec<String> = arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| match argument.is_default {
            true => "DEFAULT".to_owned(),
            false => format!("@a{at}"),
        })
        .collect();
    let schema = if object.schema().is_some() { "" } else { "dbo." };
    let text = format!("{schema}{object}({})", list.join(", "));
    let call =
        parse_expression(&text, Options::default()).map_err(|error| Cause::Syntax(error.cause))?;
    let mut own = Frame::new(Scope::Procedure, variables.into());
    own.values = arguments.iter().map(|argument| argument.value.clone()).collect();
    own.has_outer_handler = is_handled;
    let (prepared, bound) = Prepared::bind(run, &own, |binder| binder.scalar(&call, None))?;
    let ty = bound.outputs.first().map_or(SqlType::Int, |output| output.column.ty);
    let value = query::single_value(run, &own, prepared, bound)?;
    Ok(Some(procedure::Returned { ty, value }))
}

impl ExecuteProcedure {
    fn take_back(
        &self,
        run: &Run<'_>,
        frame: &mut Frame,
        slot: usize,
        returned: &procedure::Returned,
    ) -> Result<(), Stop> {
        let ty = frame.variables.get(slot).map_or(returned.ty, |variable| variable.ty);
        let value = returned.value.clone();
        let value =
            extentdb_connection::scalar::converted(value, returned.ty, ty, run.values(frame))?;
        if let Some(place) = frame.values.get_mut(slot) {
            *place = value;
        }
        Ok(())
    }
}
