//! Values and conditions of a clause: columns, variables, aggregates, windows, subqueries.
//!
//! `expr` compiles an expression and asks here, from the top, which of its parts are values from
//! elsewhere; what is answered with a parameter is not looked into.

use extentdb_expr::{CompileError, Parameter, Resolver, Scalar, XML_OF_NODE};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Condition, ConditionKind, Expr, ExprKind, FunctionCall as CallSyntax, MethodCall,
    NextValue,
};

use crate::binder::{Binder, Prologue, shown};
use crate::error::{Cause, Error, Result, not_supported};
use crate::group::Grouping;
use crate::inline_function::verify_count;
use crate::logical::{Column, Computed, FunctionCall, JoinKind, ValueId};
use crate::method_call::{as_method, not_a_value};
use crate::stage::{Stage, StageStep};
use crate::surroundings::SessionFunction;
use crate::walk;
use crate::xml_value::text_of_rows;

/// Where an expression stands: what it may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clause {
    Where,
    On,
    GroupBy,
    Having,
    Select,
    Order,
    Set,
    /// The argument of an aggregate.
    Aggregate,
    /// VALUES, TOP, arguments of table functions …
    Other,
}

/// What an expression of a clause is bound with.
pub(crate) struct Place<'p> {
    pub(crate) clause: Clause,
    pub(crate) stage: &'p mut Stage,
    /// Of a grouped query, after its groups are known.
    pub(crate) grouping: Option<&'p mut Grouping>,
}

impl Place<'_> {
    /// The same place, for a shorter time.
    pub(crate) fn again(&mut self) -> Place<'_> {
        Place {
            clause: self.clause,
            stage: self.stage,
            grouping: self.grouping.as_deref_mut(),
        }
    }
}

impl Binder<'_> {
    /// A value.
    pub(crate) fn value(&mut self, expr: &Expr, place: Place<'_>) -> Result<Scalar> {
        let environment = self.environment.clone();
        let mut resolver = ClauseResolver { binder: self, place, error: None };
        let bound = Scalar::of_value(expr, &environment, &mut resolver);
        let error = resolver.error.take();
        bound.map_err(|cause| error.unwrap_or_else(|| Cause::Expression(cause).at(expr.span)))
    }

    /// A condition as a whole.
    pub(crate) fn condition(&mut self, condition: &Condition, place: Place<'_>) -> Result<Scalar> {
        let environment = self.environment.clone();
        let mut resolver = ClauseResolver { binder: self, place, error: None };
        let bound = Scalar::of_condition(condition, &environment, &mut resolver);
        let error = resolver.error.take();
        bound.map_err(|cause| error.unwrap_or_else(|| Cause::Expression(cause).at(condition.span)))
    }

    /// The conjuncts of a condition; subqueries among them become joins of the stage, and conjuncts
    /// no more.
    pub(crate) fn conjuncts(
        &mut self,
        condition: &Condition,
        mut place: Place<'_>,
    ) -> Result<Vec<Scalar>> {
        match &condition.kind {
            ConditionKind::And(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.conjuncts(part, place.again())?);
                }
                Ok(all)
            }
            _ if self.joined(condition, &mut place)? => Ok(Vec::new()),
            _ => {
                let whole = self.condition(condition, place)?;
                let parts = whole.conjuncts(&self.environment);
                parts.map_err(|cause| Cause::Expression(cause).at(condition.span))
            }
        }
    }

    /// Joins a subquery that is a conjunct by itself.
    fn joined(&mut self, condition: &Condition, place: &mut Place<'_>) -> Result<bool> {
        match &condition.kind {
            ConditionKind::Exists(query) => self.join_exists(query, JoinKind::Semi, place)?,
            ConditionKind::Not(inner) => match &inner.kind {
                ConditionKind::Exists(query) => self.join_exists(query, JoinKind::Anti, place)?,
                _ => return Ok(false),
            },
            ConditionKind::InQuery { operand, query, is_negated: false } => {
                let (right, condition) = self.in_query(operand, query, place)?;
                let conditions = vec![condition];
                place.stage.push(StageStep::Join { kind: JoinKind::Semi, right, conditions });
            }
            ConditionKind::Quantified(quantified) if !quantified.is_all => {
                let (right, condition) = self.quantified(quantified, place)?;
                let conditions = vec![condition];
                place.stage.push(StageStep::Join { kind: JoinKind::Semi, right, conditions });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value as one of the stage, computed where it is no value yet.
    pub(crate) fn staged(&mut self, value: &Scalar, stage: &mut Stage) -> ValueId {
        if let Some(parameter) = value.as_parameter()
            && !self.is_outside(parameter.place)
        {
            return parameter.place;
        }
        if let Some(id) = stage.known(value) {
            return id;
        }
        let id = self.new_id();
        stage.compute(Computed { id, value: value.clone() });
        id
    }

    /// Is it a value from outside of all rows?
    fn is_outside(&self, id: ValueId) -> bool {
        self.prologue.iter().any(|it| match it {
            Prologue::Variable { id: own, .. } => *own == id,
            Prologue::Call(call) => call.column.id == id,
        })
    }

    /// The parameter of a variable.
    fn variable(&mut self, name: &str, span: Span) -> Result<Parameter> {
        if let Some(hidden) = self.hidden_value(name) {
            return Ok(hidden);
        }
        let own = self.parameters.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        if let Some((_, column)) = own {
            return Ok(Parameter { place: column.id, ty: column.ty, is_nullable: true });
        }
        let Some((variable, ty)) = self.surroundings.variable(name) else {
            return Err(Cause::UnknownVariable { name: name.to_owned() }.at(span));
        };
        let known = self.prologue.iter().find_map(|it| match it {
            Prologue::Variable { variable: own, id } if *own == variable => Some(*id),
            _ => None,
        });
        let id = known.unwrap_or_else(|| {
            let id = self.new_id();
            self.prologue.push(Prologue::Variable { variable, id });
            id
        });
        Ok(Parameter { place: id, ty, is_nullable: true })
    }

    /// The call of a function of the session.
    fn session_call(
        &mut self,
        function: &SessionFunction,
        arguments: &[Expr],
        place: Place<'_>,
        span: Span,
    ) -> Result<Parameter> {
        self.call(function, arguments, None, place, span)
    }

    /// The same, for rows where the guard is 1.
    fn call(
        &mut self,
        function: &SessionFunction,
        arguments: &[Expr],
        guard: Option<&Expr>,
        mut place: Place<'_>,
        span: Span,
    ) -> Result<Parameter> {
        let mut values = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            let value = self.value(argument, place.again())?;
            let target = function.arguments.get(number).copied().flatten();
            let converted = match target {
                Some(ty) => value.assigned(ty, &self.environment),
                None => Ok(value),
            };
            values.push(converted.map_err(|cause| Cause::Expression(cause).at(span))?);
        }
        if let Some(guard) = guard {
            values.push(self.value(guard, place.again())?);
        }
        let is_guarded = guard.is_some();
        let is_constant = !function.is_per_row
            && values.iter().flat_map(Scalar::places).all(|place| self.is_outside(place));
        let column = self.new_column(function.ty, function.is_nullable || is_guarded);
        let parameter = parameter(&column);
        let function = function.number;
        let call = FunctionCall { column, function, arguments: values, is_guarded };
        if is_constant {
            self.prologue.push(Prologue::Call(call));
        } else {
            place.stage.push(StageStep::Call(call));
        }
        Ok(parameter)
    }

    /// The value of a function of users, for rows where a guard is 1.
    pub(crate) fn user_call(
        &mut self,
        call: &CallSyntax,
        guard: Option<&Expr>,
        place: Place<'_>,
        span: Span,
    ) -> Result<Parameter> {
        let home = self.home.clone();
        let found = self.surroundings.user_function(&call.name, home.as_ref())?;
        let Some(function) = found else {
            let text = format!(
                "Cannot find either column \"{}\" or the user-defined function or aggregate \"{}\", \
                 or the name is ambiguous.",
                call.name.schema().map_or("dbo", |schema| &schema.text),
                shown(&call.name)
            );
            return Err(Cause::Other { number: 4121, text }.at(span));
        };
        let arguments: &[Expr] = match &call.arguments {
            Arguments::List(values) => values,
            _ => &[],
        };
        let takes = function.parameters.len();
        verify_count(&shown(&call.name), takes, arguments.len(), span)?;
        let arguments: Vec<Expr> = arguments
            .iter()
            .zip(&function.parameters)
            .map(|(value, parameter)| match (&value.kind, &parameter.default) {
                (ExprKind::Default, Some(default)) => default.clone(),
                _ => value.clone(),
            })
            .collect();
        self.call(&function.call, &arguments, guard, place, span)
    }
}

/// The parameter that a column is in expressions.
pub(crate) fn parameter(column: &Column) -> Parameter {
    Parameter {
        place: column.id,
        ty: column.ty,
        is_nullable: column.is_nullable,
    }
}

/// CHECKSUM and BINARY_CHECKSUM, which take all columns as `*`.
fn is_checksum(name: &str) -> bool {
    name.eq_ignore_ascii_case("checksum") || name.eq_ignore_ascii_case("binary_checksum")
}

/// Answers what `expr` asks for.
struct ClauseResolver<'r, 'b, 'p> {
    binder: &'r mut Binder<'b>,
    place: Place<'p>,
    error: Option<Error>,
}

impl ClauseResolver<'_, '_, '_> {
    /// Keeps the error of a query; `expr` has none of this kind.
    fn kept<T>(&mut self, done: Result<T>) -> std::result::Result<T, CompileError> {
        done.map_err(|error| {
            let at = error.span.start as usize;
            self.error = Some(error);
            CompileError::Unsupported { what: "an expression of a query".to_owned(), at }
        })
    }

    fn part(&mut self, expr: &Expr) -> Result<Option<Parameter>> {
        if let Some(grouping) = &self.place.grouping
            && let Some(key) = self.binder.grouped_key(expr, grouping)?
        {
            return Ok(Some(key));
        }
        match &expr.kind {
            ExprKind::Column(name) => self.column(name, expr.span).map(Some),
            ExprKind::Variable(name) => self.binder.variable(name, expr.span).map(Some),
            ExprKind::GlobalVariable(name) => match self.binder.surroundings.function(name, 0)? {
                Some(function) => {
                    let place = self.place.again();
                    self.binder.session_call(&function, &[], place, expr.span).map(Some)
                }
                None => Err(Cause::UnknownVariable { name: name.to_string() }.at(expr.span)),
            },
            ExprKind::Subquery(query) => {
                self.binder.scalar_subquery(query, &mut self.place).map(Some)
            }
            ExprKind::Function(call) if !walk::is_choice(expr) => self.function(call, expr.span),
            ExprKind::NextValue(next) => self.next_value(next, expr.span).map(Some),
            ExprKind::Method(call) => self.method(call),
            _ if walk::is_choice(expr) && walk::has_next_value(expr) => {
                let text = "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, \
                            IIF, ISNULL and NULLIF.";
                Err(Cause::Other { number: 11741, text: text.to_owned() }.at(expr.span))
            }
            _ if walk::has_guarded_call(expr) => {
                let case = self.binder.guarded_case(expr, &mut self.place)?;
                self.staged(&case).map(Some)
            }
            ExprKind::Default => not_supported("DEFAULT here", expr.span),
            _ => Ok(None),
        }
    }

    /// A method of xml; `None` where `expr` evaluates it as it is.
    fn method(&mut self, call: &MethodCall) -> Result<Option<Parameter>> {
        if call.name.text.starts_with(XML_OF_NODE) {
            return Ok(None);
        }
        if let Some(expr) = text_of_rows(call) {
            return self.staged(&expr).map(Some);
        }
        if let ExprKind::Variable(name) = &call.operand.kind {
            // A table variable has no columns but under an alias: 137.
            self.binder.variable(name, call.operand.span)?;
        }
        let expr = self.binder.method_expr(call)?;
        match &expr.kind {
            ExprKind::Method(own) if **own == *call => Ok(None),
            _ => self.staged(&expr).map(Some),
        }
    }

    /// What an expression has as its value is a value of the stage.
    fn staged(&mut self, expr: &Expr) -> Result<Parameter> {
        let value = self.binder.value(expr, self.place.again())?;
        let id = self.binder.staged(&value, &mut *self.place.stage);
        Ok(Parameter { place: id, ty: value.ty(), is_nullable: value.is_nullable() })
    }

    fn column(
        &mut self,
        name: &extentdb_tsql::syntax::ColumnName,
        span: Span,
    ) -> Result<Parameter> {
        let found = self.binder.column(name, span)?;
        if found.named.node.is_some() {
            return Err(not_a_value(&found.named.name, span));
        }
        let column = &found.named.column;
        let grouped = self.binder.scopes.get(found.scope).and_then(|it| it.grouped.as_ref());
        let is_hidden = grouped.is_some_and(|keys| !keys.contains(&column.id))
            && self.place.clause != Clause::Aggregate;
        if is_hidden {
            let column = found.shown.clone();
            return Err(match self.place.clause {
                Clause::Having => Cause::UngroupedInHaving { column },
                Clause::Order => Cause::UngroupedInOrder { column },
                _ => Cause::UngroupedInSelect { column },
            }
            .at(span));
        }
        Ok(parameter(column))
    }

    /// NEXT VALUE FOR: one value for each row, wherever it stands.
    fn next_value(&mut self, next: &NextValue, span: Span) -> Result<Parameter> {
        if next.over.is_some() {
            return not_supported("NEXT VALUE FOR … OVER", span);
        }
        if !matches!(self.place.clause, Clause::Select | Clause::Set | Clause::Other)
            || self.place.grouping.is_some()
        {
            let text = "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, \
                        GROUP BY, HAVING, or ORDER BY clauses.";
            return Err(Cause::Other { number: 11720, text: text.to_owned() }.at(span));
        }
        let Some(sequence) = self.binder.surroundings.sequence(&next.sequence)? else {
            return Err(Cause::InvalidObject { name: shown(&next.sequence) }.at(span));
        };
        match self.place.stage.called(sequence.number) {
            Some(column) => Ok(parameter(column)),
            None => {
                let place = self.place.again();
                self.binder.session_call(&sequence, &[], place, span)
            }
        }
    }

    fn function(&mut self, call: &CallSyntax, span: Span) -> Result<Option<Parameter>> {
        if let Some(method) = as_method(call)
            && self.is_column(&method.operand)
        {
            let expr = Expr { kind: ExprKind::Method(Box::new(method)), span };
            return self.staged(&expr).map(Some);
        }
        if !call.name.is_simple() {
            let place = self.place.again();
            return self.binder.user_call(call, None, place, span).map(Some);
        }
        if call.over.is_some() {
            return self.binder.window_call(call, span, &mut self.place).map(Some);
        }
        if walk::is_aggregate(call) {
            return self.aggregate(call, span).map(Some);
        }
        let name = &call.name.name.text;
        if let Some(window) = crate::function::WindowFunction::named(name)
            && !matches!(window, crate::function::WindowFunction::Aggregate(_))
        {
            return Err(Cause::NeedsOver { function: name.to_string() }.at(span));
        }
        let arguments: &[Expr] = match &call.arguments {
            Arguments::List(values) => values,
            Arguments::None => &[],
            Arguments::Star if is_checksum(name) => {
                let expr = self.binder.of_all_columns(call, span)?;
                return self.staged(&expr).map(Some);
            }
            _ => return Ok(None),
        };
        match self.binder.surroundings.function(name, arguments.len())? {
            Some(function) => {
                let place = self.place.again();
                self.binder.session_call(&function, arguments, place, span).map(Some)
            }
            None => Ok(None),
        }
    }

    fn is_column(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Column(name) if self.binder.column(name, expr.span).is_ok())
    }

    fn aggregate(&mut self, call: &CallSyntax, span: Span) -> Result<Parameter> {
        match (self.place.clause, self.place.grouping.as_deref_mut()) {
            (_, Some(grouping)) => self.binder.aggregate_call(call, span, grouping),
            (Clause::Where, _) => Err(Cause::AggregateInWhere.at(span)),
            (Clause::On, _) => Err(Cause::AggregateInOn.at(span)),
            (Clause::GroupBy, _) => Err(Cause::AggregateInGroupBy.at(span)),
            (Clause::Set, _) => Err(Cause::AggregateInSet.at(span)),
            (Clause::Aggregate, _) => Err(Cause::NestedAggregate.at(span)),
            _ => not_supported("an aggregate here", span),
        }
    }
}

impl Resolver for ClauseResolver<'_, '_, '_> {
    fn resolve(&mut self, expr: &Expr) -> std::result::Result<Option<Parameter>, CompileError> {
        let part = self.part(expr);
        self.kept(part)
    }

    fn resolve_condition(
        &mut self,
        condition: &Condition,
    ) -> std::result::Result<Option<Parameter>, CompileError> {
        let part = match &condition.kind {
            ConditionKind::Exists(query) => {
                self.binder.mark_exists(query, &mut self.place).map(Some)
            }
            ConditionKind::InQuery { operand, query, is_negated: false } => {
                self.binder.mark_in(operand, query, &mut self.place).map(Some)
            }
            ConditionKind::Quantified(quantified) if !quantified.is_all => {
                self.binder.mark_quantified(quantified, &mut self.place).map(Some)
            }
            _ => Ok(None),
        };
        self.kept(part)
    }
}
