//! Queries: WITH, set operations, ORDER BY, OFFSET.

use extentdb_expr::Scalar;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Direction, Expr, ExprKind, Literal, Offset, OrderItem, Query, QueryBody, Select, SelectItem,
    SetOperator, SetTerm,
};
use extentdb_types::SqlType;

use crate::binder::{Binder, CHAIN_MAX};
use crate::error::{Cause, Result};
use crate::logical::{Column, Computed, Limit, OrderKey, Relation, SetOperation, ValueId};
use crate::scalar::{Clause, Place, parameter};
use crate::scope::{NamedColumn, Scope, Source};
use crate::stage::Stage;
use crate::walk;

/// A column of a result.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name; empty for an expression without alias.
    pub name: String,
    /// Its value.
    pub column: Column,
    /// An expression, not a column of a table.
    pub is_computed: bool,
    /// The identity column of a table.
    pub is_identity: bool,
    /// The source in FROM whose column it is.
    pub source: Option<String>,
}

/// A query with what it gives.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// Its rows.
    pub relation: Relation,
    /// Its columns; a value may be there twice.
    pub outputs: Vec<Output>,
}

/// Where a query stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueryPlace {
    Statement,
    /// A derived table, view, common table expression, or a subquery with a value.
    Subquery,
    /// Only whether there are rows.
    Exists,
}

/// What follows the body of a query.
#[derive(Clone, Copy)]
pub(crate) struct Tail<'q> {
    pub(crate) order_by: &'q [OrderItem],
    pub(crate) offset: Option<&'q Offset>,
}

/// Does a UNION among these terms remove equal rows of what stands before them? Then nothing before
/// it needs to.
fn is_made_distinct(later: &[SetTerm]) -> bool {
    let unions =
        |term: &&SetTerm| matches!(term.operator, SetOperator::Union | SetOperator::UnionAll);
    later.iter().take_while(unions).any(|term| term.operator == SetOperator::Union)
}

impl Binder<'_> {
    /// A query that is a statement.
    ///
    /// # Errors
    /// A name means nothing, or what it means does not go together.
    pub fn statement(&mut self, query: &Query) -> Result<BoundQuery> {
        self.query(query, QueryPlace::Statement)
    }

    pub(crate) fn query(&mut self, query: &Query, place: QueryPlace) -> Result<BoundQuery> {
        self.enter(query.span)?;
        let known = self.common_tables.len();
        let bound = self.query_within(query, place);
        self.common_tables.truncate(known);
        self.leave();
        bound
    }

    fn query_within(&mut self, query: &Query, place: QueryPlace) -> Result<BoundQuery> {
        if let Some(with) = &query.with {
            self.add_common_tables(with)?;
        }
        let has_top = matches!(&query.body, QueryBody::Select(select) if select.top.is_some());
        let is_limited = has_top || query.offset.is_some();
        let is_text = query.for_clause.is_some();
        if place != QueryPlace::Statement && !query.order_by.is_empty() && !is_limited && !is_text {
            return Err(Cause::OrderInSubquery.at(query.span));
        }
        verify_order(&query.order_by)?;
        let tail = Tail { order_by: &query.order_by, offset: query.offset.as_deref() };
        let bound = match &query.body {
            QueryBody::Select(select) => self.select(select, tail),
            QueryBody::Parenthesised(inner) => {
                let bound = self.query(inner, place)?;
                self.with_tail(bound, tail, None)
            }
            QueryBody::Set { first, rest } => {
                let bound = self.set_operations(first, rest)?;
                self.with_tail(bound, tail, Some(first))
            }
        }?;
        match query.for_clause.as_deref() {
            Some(clause) => self.text_query(bound, clause, query),
            None => Ok(bound),
        }
    }

    pub(crate) fn body(&mut self, body: &QueryBody) -> Result<BoundQuery> {
        let tail = Tail { order_by: &[], offset: None };
        match body {
            QueryBody::Select(select) => self.select(select, tail),
            QueryBody::Parenthesised(inner) => self.query(inner, QueryPlace::Subquery),
            QueryBody::Set { first, rest } => self.set_operations(first, rest),
        }
    }

    fn set_operations(&mut self, first: &QueryBody, rest: &[SetTerm]) -> Result<BoundQuery> {
        for body in std::iter::once(first).chain(rest.iter().map(|term| &term.body)) {
            if let QueryBody::Select(select) = body {
                verify_no_next_value(select)?;
            }
        }
        if let Some(term) = rest.get(CHAIN_MAX) {
            return Err(Cause::too_deep().at(term.span));
        }
        let mut bound = self.body(first)?;
        for (at, term) in rest.iter().enumerate() {
            let right = self.body(&term.body)?;
            let later = rest.get(at + 1..).unwrap_or_default();
            let operator = match term.operator {
                SetOperator::Union if is_made_distinct(later) => SetOperator::UnionAll,
                other => other,
            };
            bound = self.combined(bound, operator, right, term.span)?;
        }
        Ok(bound)
    }

    /// Two queries as one.
    pub(crate) fn combined(
        &mut self,
        left: BoundQuery,
        operator: SetOperator,
        right: BoundQuery,
        span: Span,
    ) -> Result<BoundQuery> {
        if left.outputs.len() != right.outputs.len() {
            return Err(Cause::SetColumns.at(span));
        }
        let pairs = left.outputs.iter().zip(&right.outputs);
        let mut types = Vec::new();
        for (a, b) in pairs.clone() {
            // NULL alone has the type of what it stands under.
            let is_null = [left.relation.is_null(a.column.id), right.relation.is_null(b.column.id)];
            types.push(match is_null {
                [true, false] => b.column.ty,
                [false, true] => a.column.ty,
                _ => self.common_type(&[a, b], span)?,
            });
        }
        let outputs: Vec<Output> = pairs
            .zip(&types)
            .map(|((a, b), ty)| {
                let is_nullable = match operator {
                    SetOperator::Except => a.column.is_nullable,
                    SetOperator::Intersect => a.column.is_nullable && b.column.is_nullable,
                    _ => a.column.is_nullable || b.column.is_nullable,
                };
                let column = self.new_column(*ty, is_nullable);
                Output {
                    name: a.name.clone(),
                    column,
                    is_computed: true,
                    is_identity: false,
                    source: None,
                }
            })
            .collect();
        let columns: Vec<Column> = outputs.iter().map(|it| it.column.clone()).collect();
        let left = self.converted(left, &types, span)?;
        let right = self.converted(right, &types, span)?;
        let set = |operation| Relation::SetOperation {
            operation,
            left: Box::new(left.clone()),
            right: Box::new(right.clone()),
            columns: columns.clone(),
        };
        let relation = match operator {
            SetOperator::Except => set(SetOperation::Except),
            SetOperator::Intersect => set(SetOperation::Intersect),
            SetOperator::Union | SetOperator::UnionAll => {
                // UNION ALL of many is one concatenation.
                let all = Relation::Concat { inputs: vec![left, right], columns: columns.clone() };
                if operator == SetOperator::Union { distinct(all, &columns) } else { all }
            }
        };
        Ok(BoundQuery { relation, outputs })
    }

    fn common_type(&self, outputs: &[&Output], span: Span) -> Result<SqlType> {
        let values: Vec<Scalar> =
            outputs.iter().map(|it| Scalar::parameter(parameter(&it.column))).collect();
        let all_alike = values.windows(2).all(|pair| match pair {
            [a, b] => a.ty() == b.ty(),
            _ => true,
        });
        if let (true, Some(first)) = (all_alike, values.first()) {
            return Ok(first.ty());
        }
        let common = Scalar::common_type(&values, &self.environment);
        common.map_err(|cause| Cause::Expression(cause).at(span))
    }

    /// The rows of a query with its columns as values of these types.
    pub(crate) fn converted(
        &mut self,
        query: BoundQuery,
        types: &[SqlType],
        span: Span,
    ) -> Result<(Relation, Vec<ValueId>)> {
        let mut computed = Vec::new();
        let mut ids = Vec::new();
        let given = query.relation.columns();
        for (output, ty) in query.outputs.iter().zip(types) {
            let is_own = given.iter().any(|column| column.id == output.column.id);
            if output.column.ty == *ty && is_own {
                ids.push(output.column.id);
                continue;
            }
            let value = match query.relation.is_null(output.column.id) {
                true => Scalar::null(*ty),
                false => Scalar::parameter(parameter(&output.column)),
            };
            let value = value.assigned(*ty, &self.environment);
            let value = value.map_err(|cause| Cause::Expression(cause).at(span))?;
            let id = self.new_id();
            ids.push(id);
            computed.push(Computed { id, value });
        }
        Ok((query.relation.computing(computed), ids))
    }

    /// ORDER BY and OFFSET upon a query that is no SELECT: by its columns. Of a set operation,
    /// whose first query is given, ORDER BY may name columns as the select list of that has them.
    fn with_tail(
        &mut self,
        query: BoundQuery,
        tail: Tail<'_>,
        first: Option<&QueryBody>,
    ) -> Result<BoundQuery> {
        if tail.order_by.is_empty() && tail.offset.is_none() {
            return Ok(query);
        }
        let columns = query
            .outputs
            .iter()
            .map(|it| NamedColumn::new(it.name.clone(), it.column.clone()))
            .collect();
        let sources = vec![Source::derived("", columns)];
        self.scopes.push(Scope { sources, grouped: None });
        let mut stage = Stage::default();
        let mut order = Vec::new();
        let mut done = Ok(());
        for (number, item) in tail.order_by.iter().enumerate() {
            let listed = first.and_then(|first| listed(first, &item.value));
            if let Some(output) = listed.and_then(|at| query.outputs.get(at)) {
                let value = Scalar::parameter(parameter(&output.column));
                let is_descending = is_descending(item);
                order.push(OrderKey { id: self.staged(&value, &mut stage), is_descending });
                continue;
            }
            let place = Place { clause: Clause::Order, stage: &mut stage, grouping: None };
            match self.order_key(item, number, &query.outputs, place) {
                Ok(key) => order.push(key),
                Err(error)
                    if first.is_some() && matches!(error.cause, Cause::InvalidColumn { .. }) =>
                {
                    done = Err(Cause::SetOrder.at(error.span));
                }
                Err(error) => done = Err(error),
            }
        }
        self.scopes.pop();
        done?;
        let relation = sorted(stage.upon(query.relation), order);
        let relation = self.offset(relation, tail.offset)?;
        Ok(BoundQuery { relation, outputs: query.outputs })
    }

    /// A key of ORDER BY: a number of the select list, a name in it, or an expression.
    pub(crate) fn order_key(
        &mut self,
        item: &OrderItem,
        number: usize,
        outputs: &[Output],
        mut place: Place<'_>,
    ) -> Result<OrderKey> {
        let is_descending = is_descending(item);
        if let ExprKind::Literal(literal) = &item.value.kind {
            let Literal::Integer(digits) = literal else {
                return Err(Cause::OrderConstant { position: number + 1 }.at(item.value.span));
            };
            let position: i64 = digits.parse().unwrap_or(i64::MAX);
            let at = usize::try_from(position).ok().and_then(|at| at.checked_sub(1));
            let Some(output) = at.and_then(|at| outputs.get(at)) else {
                return Err(Cause::OrderPosition { position }.at(item.value.span));
            };
            let value = Scalar::parameter(parameter(&output.column));
            return Ok(OrderKey { id: self.staged(&value, place.stage), is_descending });
        }
        if let Some(output) = self.output_named(&item.value, outputs)? {
            let value = Scalar::parameter(parameter(&output.column));
            return Ok(OrderKey { id: self.staged(&value, place.stage), is_descending });
        }
        if matches!(item.value.kind, ExprKind::Variable(_)) {
            return Err(Cause::OrderVariable { position: number + 1 }.at(item.value.span));
        }
        let value = self.value(&item.value, place.again())?;
        if value.is_constant() {
            return Err(Cause::OrderConstant { position: number + 1 }.at(item.value.span));
        }
        Ok(OrderKey { id: self.staged(&value, place.stage), is_descending })
    }

    /// The column of the select list that a name alone stands for.
    fn output_named<'o>(&self, expr: &Expr, outputs: &'o [Output]) -> Result<Option<&'o Output>> {
        let ExprKind::Column(name) = &expr.kind else { return Ok(None) };
        let extentdb_tsql::syntax::Column::Named(text) = &name.column else { return Ok(None) };
        if name.qualifier.is_some() {
            return Ok(None);
        }
        let mut named = outputs.iter().filter(|it| self.is_named(text, &it.name));
        let Some(first) = named.next() else { return Ok(None) };
        if named.any(|other| other.column.id != first.column.id) {
            return Err(Cause::AmbiguousColumn { name: text.to_string() }.at(expr.span));
        }
        Ok(Some(first))
    }

    /// OFFSET … FETCH.
    pub(crate) fn offset(&mut self, input: Relation, offset: Option<&Offset>) -> Result<Relation> {
        let Some(offset) = offset else { return Ok(input) };
        let mut stage = Stage::default();
        let skip = Some(self.row_count(&offset.skip, &mut stage)?);
        let fetch = offset.fetch.as_ref();
        let count = fetch.map(|fetch| self.row_count(fetch, &mut stage)).transpose()?;
        let limit = Limit { skip, count, is_percent: false, ties: None };
        let limited = Relation::Limit { input: Box::new(input), limit: Box::new(limit) };
        Ok(stage.before(limited))
    }

    /// A number of rows: a bigint. What it needs of queries is in the stage.
    pub(crate) fn row_count(&mut self, expr: &Expr, stage: &mut Stage) -> Result<Scalar> {
        let value = self.value(expr, Place { clause: Clause::Other, stage, grouping: None })?;
        let is_whole = matches!(
            value.ty(),
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt
        );
        if !is_whole {
            return Err(Cause::TopNotInteger.at(expr.span));
        }
        let value = value.assigned(SqlType::BigInt, &self.environment);
        value.map_err(|cause| Cause::Expression(cause).at(expr.span))
    }
}

/// Rows that are compared with each other have no values of sequences.
pub(crate) fn verify_no_next_value(select: &Select) -> Result<()> {
    if walk::items_have_next_value(&select.items) {
        let text = "NEXT VALUE FOR function cannot be used directly in a statement that uses a \
                    DISTINCT, UNION, UNION ALL, EXCEPT or INTERSECT operator.";
        return Err(Cause::Other { number: 11721, text: text.to_owned() }.at(select.span));
    }
    Ok(())
}

/// Each row once.
pub(crate) fn distinct(input: Relation, columns: &[Column]) -> Relation {
    let mut keys: Vec<ValueId> = Vec::new();
    for column in columns {
        if !keys.contains(&column.id) {
            keys.push(column.id);
        }
    }
    Relation::Aggregate { input: Box::new(input), keys, calls: Vec::new(), sets: None }
}

/// Where a column with its qualifier stands in the select list of the first query of a set
/// operation, written the same way.
fn listed(first: &QueryBody, value: &Expr) -> Option<usize> {
    if !matches!(&value.kind, ExprKind::Column(name) if name.qualifier.is_some()) {
        return None;
    }
    let select = match first {
        QueryBody::Select(select) => select,
        QueryBody::Parenthesised(inner) => return listed(&inner.body, value),
        QueryBody::Set { first, .. } => return listed(first, value),
    };
    let text = value.to_string();
    let mut at = None;
    for (number, item) in select.items.iter().enumerate() {
        match item {
            SelectItem::Value { value, .. } if value.to_string().eq_ignore_ascii_case(&text) => {
                at = at.or(Some(number));
            }
            SelectItem::Value { .. } => {}
            // The numbers of the items are no longer those of the columns.
            _ => break,
        }
    }
    at
}

/// The rows in an order, if there is one.
pub(crate) fn sorted(input: Relation, order: Vec<OrderKey>) -> Relation {
    if order.is_empty() {
        return input;
    }
    let mut keys: Vec<OrderKey> = Vec::new();
    for key in order {
        if keys.iter().all(|own| own.id != key.id) {
            keys.push(key);
        }
    }
    Relation::Sort { input: Box::new(input), order: keys }
}

/// A column stands once in ORDER BY.
fn verify_order(items: &[OrderItem]) -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    for item in items {
        if !matches!(item.value.kind, ExprKind::Column(_)) {
            continue;
        }
        let name = item.value.to_string().to_lowercase();
        if names.contains(&name) {
            return Err(Cause::OrderTwice.at(item.value.span));
        }
        names.push(name);
    }
    Ok(())
}

pub(crate) fn is_descending(item: &OrderItem) -> bool {
    item.direction == Some(Direction::Descending)
}
