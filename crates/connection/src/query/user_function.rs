//! Functions of users: found by name, parsed, and run as texts within the query that calls them.
//!
//! ```text
//! RETURNS TABLE AS RETURN ( query )    bound like a view: `bind::inline_function`
//! RETURNS type BEGIN … END             a frame with the parameters and one more variable, which
//!                                      takes the value of RETURN
//! RETURNS @t TABLE ( … ) BEGIN … END   the same; then the rows of @t
//! ```
//!
//! Invariant: a function runs in the session of the query that calls it, whose operators rest
//! meanwhile: what it reads has the snapshot, locks and transaction of that query.

use std::borrow::Cow;

use extentdb_base::sync::Arc;
use extentdb_bind::surroundings::{
    FunctionParameter, Home, InlineFunction, SessionFunction, TableFunctionObject, UserFunction,
};
use extentdb_bind::{Cause as BindCause, Result as Bound};
use extentdb_engine::Database;
use extentdb_tsql::syntax::{
    ColumnDefinition, ColumnKind, ConstraintKind, Declaration, DeclarationKind, Declare, Function,
    FunctionBody, Module, Parameter, ParameterType, Script, Statement, StatementKind, TableElement,
    VariableName,
};
use extentdb_tsql::{Options, Span, parse};
use extentdb_types::{Collation, Datum, SqlType};

use super::function_body::verify_function_body;
use super::surroundings::refused;
use crate::cause::Cause;
use crate::data_type::{self, TypedColumn};
use crate::frame::Variable;
use crate::objects::ResolvedObject;
use crate::output::{ColumnInfo, Gone, Output, Scope};
use crate::step::{Run, Source, Text};
use crate::stop::Stop;

/// The variable that takes the value of RETURN; no other can have the name.
const RETURNED: &str = "@\u{1}returned";

/// A function of users.
pub struct StoredFunction {
    database: Arc<Database>,
    /// Principal that owns it.
    owner: i32,
    name: String,
    script: Script,
    parameters: Vec<FunctionParameter>,
    returns: Returns,
}

/// What a function returns.
enum Returns {
    /// The rows of a query.
    Query,
    /// A value.
    Value(SqlType),
    /// The rows of a table variable.
    Table {
        /// With its `@`.
        variable: Box<str>,
        /// Names, types, nullability.
        columns: Vec<(String, SqlType, bool)>,
    },
}

impl StoredFunction {
    /// The function that a name has led to; `None` when it is something else.
    pub(super) fn of(
        found: &ResolvedObject,
        collation: Collation,
        span: Span,
    ) -> Bound<Option<StoredFunction>> {
        if !matches!(found.kind(), "FN" | "IF" | "TF") {
            return Ok(None);
        }
        let name = found.object.object.name.clone();
        let failed = |what: String| {
            refused(Cause::not_supported(format!("the function {name}: {what}")), span)
        };
        let Some(text) = found.object.module().and_then(|module| module.text.clone()) else {
            return Err(failed("it is encrypted".to_owned()));
        };
        let script = parse(&text, Options { quoted_identifier: true })
            .map_err(|error| failed(error.cause.to_string()))?;
        let Some(function) = function_of(&script.statements) else {
            return Err(failed("its text".to_owned()));
        };
        let cause = |cause: Cause| refused(cause, span);
        verify_function_body(&function.body).map_err(cause)?;
        let parameters = declared(&function.parameters, collation).map_err(cause)?;
        let returns = returned(&function.body, collation).map_err(cause)?;
        let database = found.database.clone();
        let owner = found.model.owner_of(&found.object.object);
        Ok(Some(StoredFunction { database, owner, name, script, parameters, returns }))
    }

    /// As a function in FROM.
    pub(super) fn table_function(&self, number: usize, span: Span) -> Bound<TableFunctionObject> {
        let function = function_of(&self.script.statements);
        match (&self.returns, function.map(|function| &function.body)) {
            (Returns::Query, Some(FunctionBody::Inline { query, .. })) => {
                Ok(TableFunctionObject::Inline(InlineFunction {
                    home: Some(Home { database: self.database.clone(), owner: Some(self.owner) }),
                    name: self.name.clone(),
                    parameters: self.parameters.clone(),
                    query: Arc::new((**query).clone()),
                }))
            }
            (Returns::Table { columns, .. }, _) => {
                let call = self.call(number, SqlType::Int);
                Ok(TableFunctionObject::User(UserFunction {
                    name: self.name.clone(),
                    call,
                    parameters: self.parameters.clone(),
                    columns: columns.clone(),
                }))
            }
            _ => Err(BindCause::InvalidObject { name: self.name.clone() }.at(span)),
        }
    }

    /// As a function of values; `None` when it returns a table.
    pub(super) fn value_function(&self, number: usize) -> Option<UserFunction> {
        let Returns::Value(ty) = self.returns else { return None };
        Some(UserFunction {
            name: self.name.clone(),
            call: self.call(number, ty),
            parameters: self.parameters.clone(),
            columns: Vec::new(),
        })
    }

    fn call(&self, number: usize, ty: SqlType) -> SessionFunction {
        SessionFunction {
            number,
            ty,
            is_nullable: true,
            arguments: self.parameters.iter().map(|parameter| Some(parameter.ty)).collect(),
            is_per_row: false,
        }
    }

    /// Its value for these arguments.
    pub(super) fn value(
        &self,
        run: &mut Run<'_>,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, Stop> {
        let Returns::Value(ty) = self.returns else { return Ok(Datum::Null) };
        let options = function_of(&self.script.statements).map(|function| &function.options);
        let is_strict = options.is_some_and(|it| it.returns_null_on_null == Some(true));
        if is_strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let result = Variable { name: RETURNED.into(), ty };
        let frame = run.within(|run| self.body(run, arguments, Some(result)))?;
        Ok(frame.values.get(self.parameters.len()).cloned().unwrap_or(Datum::Null))
    }

    /// The rows of its table for these arguments.
    pub(super) fn rows(
        &self,
        run: &mut Run<'_>,
        arguments: &[Datum<'_>],
    ) -> Result<Vec<Vec<Datum<'static>>>, Stop> {
        let Returns::Table { variable, .. } = &self.returns else { return Ok(Vec::new()) };
        run.within(|run| {
            self.body(run, arguments, None)?;
            let mut kept = KeptRows::default();
            let query = format!("SELECT * FROM {variable}");
            let mut inner = Run::new(run.connection, &mut kept, run.run_text);
            inner.text(text(Source::Text(&query), Vec::new(), Vec::new()))?;
            Ok(kept.0)
        })
    }

    fn body(
        &self,
        run: &mut Run<'_>,
        arguments: &[Datum<'_>],
        result: Option<Variable>,
    ) -> Result<crate::frame::Frame, Stop> {
        let body = match function_of(&self.script.statements).map(|function| &function.body) {
            Some(FunctionBody::Scalar { statements, .. }) => Cow::Borrowed(statements.as_slice()),
            Some(FunctionBody::Table { variable, elements, statements }) => {
                let mut all = vec![declare_table(variable, elements)];
                all.extend_from_slice(statements);
                Cow::Owned(all)
            }
            _ => return Err(Cause::not_supported(format!("the function {}", self.name)).into()),
        };
        let variable = |parameter: &FunctionParameter| Variable {
            name: parameter.name.as_ref().into(),
            ty: parameter.ty,
        };
        let parameters = self.parameters.iter().map(variable).chain(result).collect();
        let values = arguments.iter().map(|value| value.clone().into_owned()).collect();
        let source = Source::Procedure {
            script: &self.script,
            body: &body,
            name: &self.name,
            returns: Some(RETURNED),
        };
        if run.connection.database != self.database.name() {
            run.change_database(self.database.name())?;
        }
        let options = function_of(&self.script.statements).map(|function| &function.options);
        let context = options.and_then(|options| options.execute_as.as_ref());
        run.connection.enter_module_of(&self.database, self.owner);
        run.connection.execute_module_as(context, &self.database, self.owner)?;
        run.text(text(source, parameters, values))
    }
}

fn text<'t>(
    source: Source<'t>,
    parameters: Vec<Variable>,
    values: Vec<Datum<'static>>,
) -> Text<'t> {
    Text {
        source,
        scope: Scope::Procedure,
        parameters,
        values,
        inherited: None,
        // What fails in a function is an error of the statement that calls it.
        has_outer_handler: true,
        trigger: None,
    }
}

/// Keeps the rows of a result.
#[derive(Default)]
struct KeptRows(Vec<Vec<Datum<'static>>>);

impl Output for KeptRows {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), Gone> {
        self.0.clear();
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Gone> {
        self.0.push(values.iter().map(|value| value.clone().into_owned()).collect());
        Ok(())
    }
}

fn function_of(statements: &[Statement]) -> Option<&Function> {
    match statements {
        [Statement { kind: StatementKind::DefineModule(define), .. }] => match &define.module {
            Module::Function(function) => Some(function),
            _ => None,
        },
        _ => None,
    }
}

fn declared(
    parameters: &[Parameter],
    collation: Collation,
) -> Result<Vec<FunctionParameter>, Cause> {
    let parameter = |(at, own): (usize, &Parameter)| match &own.data_type {
        ParameterType::Type(data_type) if !own.is_readonly => Ok(FunctionParameter {
            name: own.name.text.clone(),
            ty: data_type::declared(data_type, at + 1, collation)?,
            default: own.default.clone(),
        }),
        _ => Err(Cause::not_supported("a cursor or table as a parameter of a function")),
    };
    parameters.iter().enumerate().map(parameter).collect()
}

fn returned(body: &FunctionBody, collation: Collation) -> Result<Returns, Cause> {
    match body {
        FunctionBody::Inline { .. } => Ok(Returns::Query),
        FunctionBody::Scalar { returns, .. } => {
            data_type::declared(returns, 1, collation).map(Returns::Value)
        }
        FunctionBody::Table { variable, elements, .. } => {
            let mut columns = Vec::new();
            for element in elements {
                if let TableElement::Column(column) = element {
                    columns.push(column_of(column, columns.len() + 1, collation)?);
                }
            }
            Ok(Returns::Table { variable: variable.text.clone(), columns })
        }
        _ => Err(Cause::not_supported("a function of an assembly")),
    }
}

/// A column of the table that a function returns: name, type, nullability.
fn column_of(
    column: &ColumnDefinition,
    position: usize,
    collation: Collation,
) -> Result<(String, SqlType, bool), Cause> {
    let name = column.name.text.to_string();
    let refused = |what: &str| Cause::not_supported(format!("a function's column {name} {what}"));
    let ColumnKind::Stored(data_type) = &column.kind else {
        return Err(refused("that is computed"));
    };
    if column.collation.is_some() {
        return Err(refused("with a collation of its own"));
    }
    let typed = TypedColumn { name: &name, position };
    let ty = data_type::of_column(data_type, typed, collation)?;
    let ty = ty.ok_or_else(|| refused("of an alias type"))?;
    let is_key = column
        .constraints
        .iter()
        .any(|own| matches!(&own.kind, ConstraintKind::Key(key) if key.is_primary));
    let is_nullable = column.is_nullable.unwrap_or(!is_key && column.identity.is_none());
    Ok((name, ty, is_nullable))
}

/// `DECLARE @name TABLE ( elements )`
fn declare_table(variable: &VariableName, elements: &[TableElement]) -> Statement {
    let span = variable.span;
    let declaration = Declaration {
        name: variable.clone(),
        kind: DeclarationKind::Table(elements.to_vec()),
        span,
    };
    Statement {
        kind: StatementKind::Declare(Declare { declarations: vec![declaration] }),
        span,
    }
}
