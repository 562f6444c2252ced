//! Functions of users whose rows are those of one query: bound like views, with parameters.
//!
//! ```text
//! f(a, b)   Join ─┬─ Compute  @p = a, @q = b    over one row
//!                 └─ the query, where @p and @q are these values
//! ```

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Expr, ExprKind, ObjectName, TableAlias};

use crate::binder::{Binder, shown};
use crate::error::{Cause, Error, Result};
use crate::from::Named;
use crate::logical::{Column, Computed, JoinKind, Relation, RowsSource, TableFunction};
use crate::query::QueryPlace;
use crate::scalar::{Clause, Place};
use crate::scope::{NamedColumn, Source};
use crate::stage::Stage;
use crate::surroundings::{FunctionParameter, InlineFunction, UserFunction};

impl Binder<'_> {
    /// The rows of a call.
    pub(crate) fn inline_function(
        &mut self,
        function: &InlineFunction,
        name: &ObjectName,
        values: &[Expr],
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        verify_count(&shown(name), function.parameters.len(), values.len(), span)?;
        let mut stage = Stage::default();
        let mut computed = Vec::new();
        let mut parameters = Vec::new();
        for (parameter, value) in function.parameters.iter().zip(values) {
            let (column, value) = self.argument(parameter, value, &mut stage)?;
            parameters.push((parameter.name.clone(), column));
            computed.push(value);
        }
        let arguments = stage.upon(Relation::Row).computing(computed);
        let scopes = std::mem::take(&mut self.scopes);
        let common_tables = std::mem::take(&mut self.common_tables);
        let home = std::mem::replace(&mut self.home, function.home.clone());
        let outer = std::mem::replace(&mut self.parameters, parameters);
        let bound = self.query(&function.query, QueryPlace::Subquery);
        self.parameters = outer;
        self.home = home;
        self.common_tables = common_tables;
        self.scopes = scopes;
        let bound = bound.map_err(|error| Error { span, ..error })?;
        let columns = self.output_columns(bound.outputs, &[], &function.name, span)?;
        let relation = match function.parameters.is_empty() {
            true => bound.relation,
            false => Relation::Join {
                kind: JoinKind::Inner,
                left: Box::new(arguments),
                right: Box::new(bound.relation),
                conditions: Vec::new(),
            },
        };
        self.aliased(relation, Source::derived(function.name.clone(), columns), alias, span)
    }

    /// The rows of a function of users that the session runs.
    pub(crate) fn user_rows(
        &mut self,
        function: UserFunction,
        name: &ObjectName,
        values: &[Expr],
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        verify_count(&shown(name), function.parameters.len(), values.len(), span)?;
        let mut stage = Stage::default();
        let mut arguments = Vec::new();
        for (parameter, value) in function.parameters.iter().zip(values) {
            arguments.push(self.argument(parameter, value, &mut stage)?.1.value);
        }
        let mut columns = Vec::new();
        for (name, ty, is_nullable) in function.columns {
            columns.push(NamedColumn::new(name, self.new_column(ty, is_nullable)));
        }
        let made = Relation::Function(Box::new(TableFunction {
            source: RowsSource::User { function: function.call.number, arguments },
            columns: columns.iter().map(|it| it.column.clone()).collect(),
        }));
        let relation = stage.before(made);
        self.aliased(relation, Source::derived(function.name, columns), alias, span)
    }

    /// An argument as a value of its parameter's type.
    fn argument(
        &mut self,
        parameter: &FunctionParameter,
        value: &Expr,
        stage: &mut Stage,
    ) -> Result<(Column, Computed)> {
        let span = value.span;
        let value = match (&value.kind, &parameter.default) {
            (ExprKind::Default, Some(default)) => default,
            (ExprKind::Default, None) => {
                return Err(missing(&parameter.name).at(span));
            }
            _ => value,
        };
        let place = Place { clause: Clause::Other, stage, grouping: None };
        let value = self.value(value, place)?;
        let value = value.assigned(parameter.ty, &self.environment);
        let value = value.map_err(|cause| Cause::Expression(cause).at(span))?;
        let column = self.new_column(parameter.ty, true);
        Ok((column.clone(), Computed { id: column.id, value }))
    }
}

/// Takes the function so many arguments?
pub(crate) fn verify_count(name: &str, takes: usize, given: usize, span: Span) -> Result<()> {
    let (number, text) = match given {
        _ if given < takes => (
            313,
            format!(
                "An insufficient number of arguments were supplied for the procedure or function {name}."
            ),
        ),
        _ if given > takes => {
            (8144, format!("Procedure or function {name} has too many arguments specified."))
        }
        _ => return Ok(()),
    };
    Err(Cause::Other { number, text }.at(span))
}

fn missing(parameter: &str) -> Cause {
    let text = format!("Parameter '{parameter}' has no default value.");
    Cause::Other { number: 201, text }
}
