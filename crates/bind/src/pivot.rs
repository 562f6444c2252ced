//! PIVOT and UNPIVOT.
//!
//! PIVOT groups its source by the columns that it does not mention; each value of its list is a
//! column, an aggregate over the rows with that value. UNPIVOT gives a row for each row of its
//! source and column of its list, but for NULLs.

use extentdb_expr::{Scalar, ScalarTest};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Column as ColumnSyntax, ColumnName, Expr, ExprKind, FunctionCall as CallSyntax,
    Literal, Name, Pivot, StringLiteral, TableAlias, Unpivot,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::from::Named;
use crate::function::Aggregate;
use crate::logical::{AggregateCall, Column, Computed, JoinKind, Relation, ValueId};
use crate::scalar::{Clause, Place, parameter};
use crate::scope::{NamedColumn, Scope, Source};
use crate::stage::Stage;

/// Bytes of the type of column names, `nvarchar(128)`.
const NAME_BYTES: u16 = 256;

impl Binder<'_> {
    pub(crate) fn pivot(
        &mut self,
        pivot: &Pivot,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let (relation, sources) = self.source(&pivot.source)?;
        let (function, argument_name) = pivot_aggregate(&pivot.aggregate, span)?;
        let found = self.columns_of(&sources, &[&pivot.column, argument_name], span)?;
        let [by, argument] = found.as_slice() else { return not_supported("PIVOT", span) };
        let mut computed = Vec::new();
        let mut calls = Vec::new();
        for value in &pivot.values {
            let chosen = self.pivoted(&by.column, &argument.column, value)?;
            let call = self.pivot_call(function, &chosen, span)?;
            computed.push(Computed { id: call.argument.unwrap_or_default(), value: chosen });
            calls.push(call);
        }
        let keys = others(&sources, &[by.column.id, argument.column.id]);
        let names = pivot.values.iter().map(|name| name.text.to_string());
        let values =
            names.zip(&calls).map(|(name, call)| NamedColumn::new(name, call.column.clone()));
        let mut columns = keys.clone();
        columns.extend(values);
        let relation = Relation::Aggregate {
            input: Box::new(relation.computing(computed)),
            keys: keys.iter().map(|key| key.column.id).collect(),
            calls,
            sets: None,
        };
        self.pivot_result(relation, columns, alias, span)
    }

    /// The argument in rows with a value, else NULL.
    fn pivoted(&mut self, by: &Column, argument: &Column, value: &Name) -> Result<Scalar> {
        let text = self.name_text(value)?;
        let environment = &self.environment;
        let chosen = || {
            let value = text.assigned(by.ty, environment)?;
            let by = Scalar::parameter(parameter(by));
            let is_chosen = Scalar::compared(ScalarTest::Equal, &by, &value, environment)?;
            let own = Scalar::parameter(parameter(argument));
            Scalar::call("iif", &[is_chosen, own, Scalar::null(argument.ty)], environment)
        };
        chosen().map_err(|cause| Cause::Expression(cause).at(value.span))
    }

    fn pivot_call(
        &mut self,
        function: Aggregate,
        argument: &Scalar,
        span: Span,
    ) -> Result<AggregateCall> {
        let Some(ty) = function.result(&argument.ty()) else {
            let ty = argument.ty().base_name().to_owned();
            return Err(Cause::OperandType { ty, function: function.name().to_owned() }.at(span));
        };
        Ok(AggregateCall {
            argument: Some(self.new_id()),
            column: self.new_column(ty, !function.is_never_null()),
            function,
            separator: None,
            is_distinct: false,
            order: Vec::new(),
        })
    }

    pub(crate) fn unpivot(
        &mut self,
        unpivot: &Unpivot,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let (relation, sources) = self.source(&unpivot.source)?;
        let listed: Vec<&ColumnName> = unpivot.columns.iter().collect();
        let found = self.columns_of(&sources, &listed, span)?;
        let Some(first) = found.first() else { return not_supported("UNPIVOT", span) };
        if let Some(other) = found.iter().find(|it| it.column.ty != first.column.ty) {
            let text = format!(
                "The type of column \"{}\" conflicts with the type of other columns specified in \
                 the UNPIVOT list.",
                other.name
            );
            return Err(Cause::Other { number: 8167, text }.at(span));
        }
        let collation = self.environment.database_collation;
        let name_type = SqlType::NVarChar { len: Some(NAME_BYTES), collation };
        let value = self.new_column(first.column.ty, true);
        let name = self.new_column(name_type, false);
        let rows = self.unpivoted(&unpivot.columns, &found, name_type)?;
        let mentioned: Vec<ValueId> = found.iter().map(|it| it.column.id).collect();
        let mut columns = others(&sources, &mentioned);
        columns.push(NamedColumn::new(unpivot.value.text.to_string(), value.clone()));
        columns.push(NamedColumn::new(unpivot.column.text.to_string(), name.clone()));
        let is_null = Scalar::parameter(parameter(&value)).is_null(&self.environment);
        let is_given = is_null.and_then(|it| it.not(&self.environment));
        let is_given = is_given.map_err(|cause| Cause::Expression(cause).at(span))?;
        let joined = Relation::Join {
            kind: JoinKind::Inner,
            left: Box::new(relation),
            right: Box::new(Relation::Values { columns: vec![value, name], rows }),
            conditions: Vec::new(),
        };
        self.pivot_result(joined.filtered(vec![is_given]), columns, alias, span)
    }

    /// A row for each column of the list: its value and its name.
    fn unpivoted(
        &mut self,
        names: &[ColumnName],
        columns: &[NamedColumn],
        name_type: SqlType,
    ) -> Result<Vec<Vec<Scalar>>> {
        let mut rows = Vec::new();
        for (name, own) in names.iter().zip(columns) {
            let ColumnSyntax::Named(name) = &name.column else { continue };
            let text = self.name_text(name)?.assigned(name_type, &self.environment);
            let text = text.map_err(|cause| Cause::Expression(cause).at(name.span))?;
            rows.push(vec![Scalar::parameter(parameter(&own.column)), text]);
        }
        Ok(rows)
    }

    /// A name as a value.
    fn name_text(&mut self, name: &Name) -> Result<Scalar> {
        let literal = StringLiteral { value: name.text.clone(), is_national: true };
        let kind = ExprKind::Literal(Literal::String(literal));
        let mut stage = Stage::default();
        let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
        self.value(&Expr { kind, span: name.span }, place)
    }

    /// Columns of sources by their names.
    fn columns_of(
        &mut self,
        sources: &[Source],
        names: &[&ColumnName],
        span: Span,
    ) -> Result<Vec<NamedColumn>> {
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope { sources: sources.to_vec(), grouped: None });
        let found = names.iter().map(|name| Ok(self.column(name, span)?.named)).collect();
        self.scopes = scopes;
        found
    }

    /// The columns as those of one table: none has its name twice.
    fn pivot_result(
        &mut self,
        relation: Relation,
        columns: Vec<NamedColumn>,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let name = alias.map(|it| it.name.text.to_string()).unwrap_or_default();
        for (at, column) in columns.iter().enumerate() {
            let others = columns.get(..at).unwrap_or_default();
            if others.iter().any(|other| self.is_same(&other.name, &column.name)) {
                let column = column.name.clone();
                return Err(Cause::DuplicateColumn { column, name }.at(span));
            }
        }
        self.aliased(relation, Source::derived(name, columns), alias, span)
    }
}

/// The aggregate of PIVOT, and the column that it is over.
fn pivot_aggregate(call: &CallSyntax, span: Span) -> Result<(Aggregate, &ColumnName)> {
    let name = &call.name.name.text;
    let argument = match &call.arguments {
        Arguments::List(values) => match values.as_slice() {
            [Expr { kind: ExprKind::Column(column), .. }] => Some(column),
            _ => None,
        },
        _ => None,
    };
    match (Aggregate::named(name), argument) {
        (Some(function), Some(column)) => Ok((function, column)),
        (Some(_), None) => {
            not_supported(format!("PIVOT of {name} over other than one column"), span)
        }
        (None, _) => not_supported(format!("PIVOT of {name}"), span),
    }
}

/// The columns of sources without some of them.
fn others(sources: &[Source], without: &[ValueId]) -> Vec<NamedColumn> {
    let all = sources.iter().flat_map(|source| &source.columns);
    all.filter(|column| !without.contains(&column.column.id)).cloned().collect()
}
