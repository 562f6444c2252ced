//! SELECT: from FROM to the select list.

use extentdb_expr::{CompileError, Scalar};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    AssignOperator, Assignment, Expr, ExprKind, Link, Select, SelectItem, Top,
};
use extentdb_types::{Collation, SqlType};

use crate::access;
use crate::binder::Binder;
use crate::error::{Cause, Error, Result, not_supported};
use crate::group::Grouping;
use crate::logical::{Column, Computed, Limit, OrderKey, Relation};
use crate::method_call::not_a_value;
use crate::query::{BoundQuery, Output, Tail, distinct, sorted, verify_no_next_value};
use crate::scalar::{Clause, Place};
use crate::scope::Scope;
use crate::stage::Stage;
use crate::walk;

/// `SELECT @variable = value, … FROM …`: rows, and what each of them assigns in turn.
#[derive(Clone, Debug)]
pub struct BoundAssignments {
    /// The rows.
    pub relation: Relation,
    /// Numbers of variables, and their values.
    pub assignments: Vec<(usize, Scalar)>,
}

impl Binder<'_> {
    /// A SELECT of a query.
    pub(crate) fn select(&mut self, select: &Select, tail: Tail<'_>) -> Result<BoundQuery> {
        if let Some(into) = &select.into
            && self.depth > 1
        {
            return not_supported("INTO in a subquery", into.table.span);
        }
        let (relation, sources) = self.from(&select.from)?;
        let windows = select.windows.clone();
        self.scopes.push(Scope { sources, grouped: None });
        self.windows.push(windows);
        let bound = self.select_rows(select, relation, tail);
        self.windows.pop();
        self.scopes.pop();
        bound
    }

    fn select_rows(
        &mut self,
        select: &Select,
        relation: Relation,
        tail: Tail<'_>,
    ) -> Result<BoundQuery> {
        let relation = self.filtered(relation, select)?;
        let mut grouping = self.grouping(select, tail)?;
        let mut stage = Stage::default();
        self.having(select, &mut stage, grouping.as_mut())?;
        let mut outputs = Vec::new();
        if select.is_distinct {
            verify_no_next_value(select)?;
        }
        for item in &select.items {
            let place = Place {
                clause: Clause::Select,
                stage: &mut stage,
                grouping: grouping.as_mut(),
            };
            self.output(item, &mut outputs, place)?;
        }
        if select.is_distinct {
            return self.distinct_rows(select, relation, grouping, stage, outputs, tail);
        }
        let order = self.order(tail, &outputs, &mut stage, grouping.as_mut())?;
        let relation = grouped(relation, grouping);
        let relation = sorted(stage.upon(relation), order.clone());
        let relation = self.limited(relation, select, order, tail)?;
        Ok(BoundQuery { relation, outputs })
    }

    /// SELECT DISTINCT: what is ordered by must be in the list.
    fn distinct_rows(
        &mut self,
        select: &Select,
        relation: Relation,
        mut grouping: Option<Grouping>,
        mut stage: Stage,
        outputs: Vec<Output>,
        tail: Tail<'_>,
    ) -> Result<BoundQuery> {
        let order = self.order(tail, &outputs, &mut stage, grouping.as_mut())?;
        let is_listed = |key: &OrderKey| outputs.iter().any(|it| it.column.id == key.id);
        if !order.iter().all(is_listed) {
            return Err(Cause::DistinctOrder.at(select.span));
        }
        if outputs.iter().any(|it| it.column.ty.is_lob()) {
            return Err(Cause::DistinctLob.at(select.span));
        }
        let columns: Vec<Column> = outputs.iter().map(|it| it.column.clone()).collect();
        let relation = distinct(stage.upon(grouped(relation, grouping)), &columns);
        let relation = self.limited(sorted(relation, order.clone()), select, order, tail)?;
        Ok(BoundQuery { relation, outputs })
    }

    /// WHERE.
    fn filtered(&mut self, relation: Relation, select: &Select) -> Result<Relation> {
        let Some(filter) = &select.filter else { return Ok(relation) };
        self.where_rows(relation, filter)
    }

    /// The rows for which a condition is true.
    pub(crate) fn where_rows(
        &mut self,
        relation: Relation,
        filter: &extentdb_tsql::syntax::Condition,
    ) -> Result<Relation> {
        let mut stage = Stage::default();
        let place = Place { clause: Clause::Where, stage: &mut stage, grouping: None };
        let conditions = self.conjuncts(filter, place)?;
        Ok(stage.upon(relation).filtered(conditions))
    }

    /// The groups, where the query has any.
    fn grouping(&mut self, select: &Select, tail: Tail<'_>) -> Result<Option<Grouping>> {
        let has_aggregate = select.items.iter().any(walk::item_has_aggregate)
            || select.having.as_ref().is_some_and(walk::condition_has_aggregate)
            || tail.order_by.iter().any(|item| walk::has_aggregate(&item.value));
        if select.group_by.is_none() && select.having.is_none() && !has_aggregate {
            return Ok(None);
        }
        let mut grouping = match &select.group_by {
            Some(group_by) => self.group_keys(group_by)?,
            None => Grouping::default(),
        };
        let keys = grouping.keys.iter().map(|key| key.id).collect();
        let has_sets = grouping.has_sets();
        if let Some(scope) = self.scopes.last_mut() {
            scope.grouped = Some(keys);
            if has_sets {
                grouping.sources = Some(scope.sources.clone());
                scope.sources.iter_mut().for_each(crate::scope::Source::make_nullable);
            }
        }
        Ok(Some(grouping))
    }

    fn having(
        &mut self,
        select: &Select,
        stage: &mut Stage,
        grouping: Option<&mut Grouping>,
    ) -> Result<()> {
        let Some(having) = &select.having else { return Ok(()) };
        let place = Place { clause: Clause::Having, stage, grouping };
        let conditions = self.conjuncts(having, place)?;
        stage.push(crate::stage::StageStep::Filter(conditions));
        Ok(())
    }

    /// The columns of an item of the select list.
    fn output(
        &mut self,
        item: &SelectItem,
        outputs: &mut Vec<Output>,
        mut place: Place<'_>,
    ) -> Result<()> {
        match item {
            SelectItem::Star { qualifier, span } => {
                let columns = self.star(qualifier.as_ref(), *span)?;
                if let Some(grouped) = self.scopes.last().and_then(|scope| scope.grouped.as_ref())
                    && let Some(output) = columns.iter().find(|it| !grouped.contains(&it.column.id))
                {
                    let column = output.name.clone();
                    return Err(Cause::UngroupedInSelect { column }.at(*span));
                }
                outputs.extend(columns);
            }
            SelectItem::Value { value, alias } => {
                let scalar = self.value(value, place.again());
                let scalar = scalar.map_err(|error| in_column(error, outputs.len() + 1))?;
                let own = own_name(value);
                let name = alias.as_ref().map(|it| it.text.to_string()).or(own).unwrap_or_default();
                let id = self.staged(&scalar, place.stage);
                let column = Column { id, ty: scalar.ty(), is_nullable: scalar.is_nullable() };
                let is_computed = !matches!(value.kind, ExprKind::Column(_));
                let is_identity = !is_computed && self.is_identity(&scalar);
                let source = self.origin_of(value);
                outputs.push(Output { name, column, is_computed, is_identity, source });
            }
            SelectItem::Assign(_) => return Err(Cause::AssignsAndReturns.at(Span::default())),
        }
        Ok(())
    }

    /// The source that a column is of.
    fn origin_of(&self, value: &Expr) -> Option<String> {
        let ExprKind::Column(name) = &value.kind else { return None };
        Some(self.column(name, value.span).ok()?.source)
    }

    /// Is it the identity column of a table?
    fn is_identity(&self, column: &extentdb_expr::Scalar) -> bool {
        let sources = self.scopes.last().map(|scope| scope.sources.as_slice()).unwrap_or_default();
        let mut own = sources.iter().flat_map(|source| source.columns.iter());
        let ids: Vec<_> = column.places().collect();
        own.any(|own| own.is_identity && ids == [own.column.id])
    }

    /// `*`, or `source.*`.
    fn star(
        &self,
        qualifier: Option<&extentdb_tsql::syntax::ObjectName>,
        span: Span,
    ) -> Result<Vec<Output>> {
        let scope = self.scopes.last();
        let sources = scope.map(|scope| scope.sources.as_slice()).unwrap_or_default();
        if sources.is_empty() {
            return Err(Cause::NoTable.at(span));
        }
        let mut outputs = Vec::new();
        let mut is_known = qualifier.is_none();
        for source in sources {
            if qualifier.is_some_and(|qualifier| !self.exposes(source, qualifier)) {
                continue;
            }
            is_known = true;
            source.columns.iter().try_for_each(|own| access::verify_readable(own, span))?;
            if let Some(own) = source.columns.iter().find(|own| own.node.is_some()) {
                return Err(not_a_value(&own.name, span));
            }
            outputs.extend(source.columns.iter().map(|own| Output {
                name: own.name.clone(),
                column: own.column.clone(),
                is_computed: false,
                is_identity: own.is_identity,
                source: Some(source.name.clone()),
            }));
        }
        match qualifier {
            Some(qualifier) if !is_known => {
                let prefix = crate::binder::shown(qualifier);
                Err(Cause::Prefix { prefix }.at(span))
            }
            _ => Ok(outputs),
        }
    }

    fn order(
        &mut self,
        tail: Tail<'_>,
        outputs: &[Output],
        stage: &mut Stage,
        mut grouping: Option<&mut Grouping>,
    ) -> Result<Vec<OrderKey>> {
        let mut order = Vec::new();
        for (number, item) in tail.order_by.iter().enumerate() {
            let place = Place {
                clause: Clause::Order,
                stage: &mut *stage,
                grouping: grouping.as_deref_mut(),
            };
            order.push(self.order_key(item, number, outputs, place)?);
        }
        Ok(order)
    }

    /// TOP, or OFFSET and FETCH.
    fn limited(
        &mut self,
        input: Relation,
        select: &Select,
        order: Vec<OrderKey>,
        tail: Tail<'_>,
    ) -> Result<Relation> {
        let Some(top) = &select.top else { return self.offset(input, tail.offset) };
        if tail.offset.is_some() {
            return Err(Cause::TopAndOffset.at(select.span));
        }
        let ties = match (top.with_ties, order.is_empty()) {
            (true, true) => return Err(Cause::TiesWithoutOrder.at(select.span)),
            (true, false) => Some(order),
            (false, _) => None,
        };
        let mut stage = Stage::default();
        let limited = self.top_rows(input, top, ties, &mut stage)?;
        Ok(stage.before(limited))
    }

    /// TOP of a change, whose number is no query.
    pub(crate) fn top(
        &mut self,
        input: Relation,
        top: &Top,
        ties: Option<Vec<OrderKey>>,
    ) -> Result<Relation> {
        let mut stage = Stage::default();
        let limited = self.top_rows(input, top, ties, &mut stage)?;
        if !stage.is_empty() {
            return not_supported("a subquery as a number of rows", top.count.span);
        }
        Ok(limited)
    }

    fn top_rows(
        &mut self,
        input: Relation,
        top: &Top,
        ties: Option<Vec<OrderKey>>,
        stage: &mut Stage,
    ) -> Result<Relation> {
        let count = if top.is_percent {
            let place = Place { clause: Clause::Other, stage, grouping: None };
            let value = self.value(&top.count, place)?;
            let value = value.assigned(SqlType::Float, &self.environment);
            value.map_err(|cause| Cause::Expression(cause).at(top.count.span))?
        } else {
            self.row_count(&top.count, stage)?
        };
        let limit = Limit {
            skip: None,
            count: Some(count),
            is_percent: top.is_percent,
            ties,
        };
        Ok(Relation::Limit { input: Box::new(input), limit: Box::new(limit) })
    }

    /// A value outside of a query, as a query of one row and column; converted to `target`.
    ///
    /// # Errors
    /// As for a query.
    pub fn scalar(&mut self, expr: &Expr, target: Option<SqlType>) -> Result<BoundQuery> {
        let mut stage = Stage::default();
        let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
        let mut value = self.value(expr, place)?;
        if let Some(target) = target {
            let assigned = value.assigned(target, &self.environment);
            value = assigned.map_err(|cause| Cause::Expression(cause).at(expr.span))?;
        }
        let id = self.new_id();
        let column = Column { id, ty: value.ty(), is_nullable: value.is_nullable() };
        let relation = stage.upon(Relation::Row).computing(vec![Computed { id, value }]);
        let outputs = vec![Output {
            name: String::new(),
            column,
            is_computed: true,
            is_identity: false,
            source: None,
        }];
        Ok(BoundQuery { relation, outputs })
    }

    /// A condition outside of a query, as a query that has a row when it is true.
    ///
    /// # Errors
    /// As for a query.
    pub fn truth(&mut self, condition: &extentdb_tsql::syntax::Condition) -> Result<BoundQuery> {
        let mut stage = Stage::default();
        let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
        let conditions = self.conjuncts(condition, place)?;
        let relation = stage.upon(Relation::Row).filtered(conditions);
        Ok(BoundQuery { relation, outputs: Vec::new() })
    }

    /// A SELECT all of whose items are assignments.
    ///
    /// # Errors
    /// As for a query.
    pub fn assignments(
        &mut self,
        query: &extentdb_tsql::syntax::Query,
    ) -> Result<BoundAssignments> {
        let extentdb_tsql::syntax::QueryBody::Select(select) = &query.body else {
            return not_supported("assignments in a set operation", query.span);
        };
        if let Some(with) = &query.with {
            self.add_common_tables(with)?;
        }
        let (relation, sources) = self.from(&select.from)?;
        self.scopes.push(Scope { sources, grouped: None });
        self.windows.push(select.windows.clone());
        let relation = self.filtered(relation, select)?;
        let tail = Tail { order_by: &query.order_by, offset: query.offset.as_deref() };
        let mut grouping = self.grouping(select, tail)?;
        let mut stage = Stage::default();
        self.having(select, &mut stage, grouping.as_mut())?;
        let mut assignments = Vec::new();
        for item in &select.items {
            let SelectItem::Assign(assignment) = item else {
                return Err(Cause::AssignsAndReturns.at(select.span));
            };
            let place = Place {
                clause: Clause::Select,
                stage: &mut stage,
                grouping: grouping.as_mut(),
            };
            assignments.push(self.assignment(assignment, place)?);
        }
        let order = self.order(tail, &[], &mut stage, grouping.as_mut())?;
        let relation = sorted(stage.upon(grouped(relation, grouping)), order.clone());
        let relation = self.limited(relation, select, order, tail)?;
        self.windows.pop();
        self.scopes.pop();
        Ok(BoundAssignments { relation, assignments })
    }

    /// A variable with its value, converted to the variable's type.
    pub(crate) fn assignment(
        &mut self,
        assignment: &Assignment,
        place: Place<'_>,
    ) -> Result<(usize, Scalar)> {
        let name = &assignment.variable;
        let Some((variable, ty)) = self.surroundings.variable(&name.text) else {
            return Err(Cause::UnknownVariable { name: name.text.to_string() }.at(name.span));
        };
        let own = Expr { kind: ExprKind::Variable(name.text.clone()), span: name.span };
        let value = assigned_value(assignment.operator, own, &assignment.value);
        let value = self.value(&value, place)?;
        let value = value.assigned(ty, &self.environment);
        let value = value.map_err(|cause| Cause::Expression(cause).at(assignment.value.span))?;
        Ok((variable, value))
    }
}

/// The value that `=`, or `+=` and its like, assigns to what is `own` now.
pub(crate) fn assigned_value(operator: AssignOperator, own: Expr, value: &Expr) -> Expr {
    match operator {
        AssignOperator::Set => value.clone(),
        AssignOperator::Compound(operator) => {
            let span = value.span;
            let link = Link { operator, operand: value.clone(), span };
            Expr {
                kind: ExprKind::Chain { first: Box::new(own), rest: vec![link] },
                span,
            }
        }
    }
}

fn grouped(relation: Relation, grouping: Option<Grouping>) -> Relation {
    match grouping {
        Some(grouping) => grouping.upon(relation),
        None => relation,
    }
}

/// The name of the column that an expression is.
fn own_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Column(name) => Some(crate::names::column_text(name)),
        ExprKind::Function(call) if call.name.name.text.starts_with('@') => None,
        _ => None,
    }
}

/// 451: texts of two collations put together, as a column of a result.
fn in_column(error: Error, position: usize) -> Error {
    let Cause::Expression(CompileError::CollationConflict { a, b, operation: "add", .. }) =
        &error.cause
    else {
        return error;
    };
    let name = |collation: &Collation| collation.name().unwrap_or_default();
    let text = format!(
        "Cannot resolve collation conflict between \"{}\" and \"{}\" in add operator occurring in \
         SELECT statement column {position}.",
        name(a),
        name(b)
    );
    Cause::Other { number: 451, text }.at(error.span)
}
