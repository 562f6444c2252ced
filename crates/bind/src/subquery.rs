//! Subqueries in expressions and conditions: joins of the rows at hand with the rows of a query.

use extentdb_expr::{Parameter, Scalar, ScalarTest};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Comparison, Expr, Quantified, Query};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result};
use crate::logical::{Column, Computed, JoinKind, Relation};
use crate::query::{BoundQuery, QueryPlace};
use crate::scalar::{Clause, Place, parameter};
use crate::stage::StageStep;

impl Binder<'_> {
    /// A subquery that stands for a value.
    pub(crate) fn scalar_subquery(
        &mut self,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<Parameter> {
        verify_place(query, place)?;
        let (right, column) = self.column_query(query)?;
        let value = Parameter { is_nullable: true, ..parameter(&column) };
        place.stage.push(StageStep::Join { kind: JoinKind::Single, right, conditions: Vec::new() });
        Ok(value)
    }

    pub(crate) fn join_exists(
        &mut self,
        query: &Query,
        kind: JoinKind,
        place: &mut Place<'_>,
    ) -> Result<()> {
        let bound = self.query(query, QueryPlace::Exists)?;
        let right = bound.relation;
        place.stage.push(StageStep::Join { kind, right, conditions: Vec::new() });
        Ok(())
    }

    pub(crate) fn mark_exists(
        &mut self,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<Parameter> {
        verify_place(query, place)?;
        let id = self.new_id();
        self.join_exists(query, JoinKind::Mark(id), place)?;
        Ok(mark(id))
    }

    pub(crate) fn mark_in(
        &mut self,
        operand: &Expr,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<Parameter> {
        let (right, condition) = self.in_query(operand, query, place)?;
        Ok(self.marked(right, condition, place))
    }

    pub(crate) fn mark_quantified(
        &mut self,
        quantified: &Quantified,
        place: &mut Place<'_>,
    ) -> Result<Parameter> {
        let (right, condition) = self.quantified(quantified, place)?;
        Ok(self.marked(right, condition, place))
    }

    fn marked(&mut self, right: Relation, condition: Scalar, place: &mut Place<'_>) -> Parameter {
        let id = self.new_id();
        let conditions = vec![condition];
        place.stage.push(StageStep::Join { kind: JoinKind::Mark(id), right, conditions });
        mark(id)
    }

    /// The rows of `operand IN ( query )`, and the condition of a partner.
    pub(crate) fn in_query(
        &mut self,
        operand: &Expr,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<(Relation, Scalar)> {
        self.partners(operand, ScalarTest::Equal, query, place)
    }

    /// The same of `left comparison ANY ( query )`.
    pub(crate) fn quantified(
        &mut self,
        quantified: &Quantified,
        place: &mut Place<'_>,
    ) -> Result<(Relation, Scalar)> {
        let test = match quantified.comparison {
            Comparison::Equal => ScalarTest::Equal,
            Comparison::NotEqual => ScalarTest::NotEqual,
            Comparison::Less => ScalarTest::Less,
            Comparison::LessOrEqual => ScalarTest::LessOrEqual,
            Comparison::Greater => ScalarTest::Greater,
            Comparison::GreaterOrEqual => ScalarTest::GreaterOrEqual,
        };
        self.partners(&quantified.left, test, &quantified.query, place)
    }

    fn partners(
        &mut self,
        operand: &Expr,
        test: ScalarTest,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<(Relation, Scalar)> {
        verify_place(query, place)?;
        let left = self.value(operand, place.again())?;
        let (right, column) = self.column_query(query)?;
        let own = Scalar::parameter(parameter(&column));
        let condition = Scalar::compared(test, &left, &own, &self.environment);
        let condition = condition.map_err(|cause| Cause::Expression(cause).at(operand.span))?;
        Ok((right, condition))
    }

    /// A query of one column, which is a value of its own.
    fn column_query(&mut self, query: &Query) -> Result<(Relation, Column)> {
        let BoundQuery { relation, outputs } = self.query(query, QueryPlace::Subquery)?;
        let [output] = outputs.as_slice() else {
            return Err(Cause::SubqueryColumns.at(query_span(query)));
        };
        let column = output.column.clone();
        if relation.columns().iter().any(|own| own.id == column.id) {
            return Ok((relation, column));
        }
        // It is a value of an outer query.
        let id = self.new_id();
        let value = Scalar::parameter(parameter(&column));
        Ok((relation.computing(vec![Computed { id, value }]), Column { id, ..column }))
    }
}

/// Arguments of aggregates and keys of groups have no subqueries.
fn verify_place(query: &Query, place: &Place<'_>) -> Result<()> {
    match place.clause {
        Clause::Aggregate => Err(Cause::NestedAggregate.at(query.span)),
        Clause::GroupBy => Err(Cause::AggregateInGroupBy.at(query.span)),
        _ => Ok(()),
    }
}

fn mark(id: usize) -> Parameter {
    Parameter { place: id, ty: SqlType::Bit, is_nullable: true }
}

fn query_span(query: &Query) -> Span {
    query.span
}
