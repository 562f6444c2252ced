//! GROUP BY and aggregates.
//!
//! ```text
//! before   rows of FROM and WHERE, then what keys and arguments need    Grouping::input
//! groups   keys, aggregates                                              Relation::Aggregate
//! after    HAVING, select list, ORDER BY: keys and aggregates only       Stage
//! ```

use extentdb_expr::{Parameter, Scalar};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, FunctionCall as CallSyntax, GroupBy, GroupItem, GroupWith,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::function::Aggregate;
use crate::logical::{AggregateCall, GroupingSets, OrderKey, Relation, ValueId};
use crate::scalar::{Clause, Place, parameter};
use crate::stage::Stage;
use crate::walk;

/// A grouped query, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Grouping {
    /// What keys and arguments need.
    pub(crate) input: Stage,
    pub(crate) keys: Vec<GroupKey>,
    pub(crate) calls: Vec<AggregateCall>,
    sets: Option<Vec<Vec<usize>>>,
    /// The tables as keys see them: of a set without a key its columns are NULL afterwards.
    pub(crate) sources: Option<Vec<crate::scope::Source>>,
    groupings: Vec<(ValueId, Vec<usize>)>,
}

#[derive(Debug)]
pub(crate) struct GroupKey {
    pub(crate) value: Scalar,
    pub(crate) id: ValueId,
    /// As it was written.
    text: String,
}

/// Sets of keys that are grouped by, each for itself.
type Sets = Vec<Vec<usize>>;

impl Grouping {
    /// The groups of rows.
    pub(crate) fn upon(self, rows: Relation) -> Relation {
        let groupings = self.groupings;
        let sets = self.sets.or_else(|| {
            let all = || vec![(0..self.keys.len()).collect()];
            (!groupings.is_empty()).then(all)
        });
        Relation::Aggregate {
            input: Box::new(self.input.upon(rows)),
            keys: self.keys.iter().map(|key| key.id).collect(),
            calls: self.calls,
            sets: sets.map(|sets| GroupingSets { sets, groupings }),
        }
    }

    pub(crate) fn has_sets(&self) -> bool {
        self.sets.is_some()
    }
}

impl Binder<'_> {
    /// The keys of GROUP BY.
    pub(crate) fn group_keys(&mut self, group_by: &GroupBy) -> Result<Grouping> {
        let mut grouping = Grouping::default();
        let span = group_span(group_by);
        if group_by.is_all {
            return not_supported("GROUP BY ALL", span);
        }
        let mut sets: Sets = vec![Vec::new()];
        let items: Vec<Sets> = match group_by.with {
            None => {
                let items = group_by.items.iter();
                items.map(|item| self.group_sets(item, &mut grouping)).collect::<Result<_>>()?
            }
            Some(with) => {
                let units = self.group_units(&group_by.items, &mut grouping)?;
                vec![match with {
                    GroupWith::Rollup => rollup(&units),
                    GroupWith::Cube => cube(&units, span)?,
                }]
            }
        };
        for alternatives in items {
            sets = sets
                .iter()
                .flat_map(|set| alternatives.iter().map(move |more| joined(set, more)))
                .collect();
        }
        let all: Vec<usize> = (0..grouping.keys.len()).collect();
        if sets != [all] {
            grouping.sets = Some(sets);
        }
        Ok(grouping)
    }

    /// The sets that an item stands for.
    fn group_sets(&mut self, item: &GroupItem, grouping: &mut Grouping) -> Result<Sets> {
        Ok(match item {
            GroupItem::Value(value) => vec![vec![self.group_key(value, grouping)?]],
            GroupItem::Composite(values) => vec![self.group_list(values, grouping)?],
            GroupItem::Rollup(items) => rollup(&self.group_units(items, grouping)?),
            GroupItem::Cube(items) => {
                let units = self.group_units(items, grouping)?;
                cube(&units, Span::default())?
            }
            GroupItem::GroupingSets(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(self.group_sets(item, grouping)?);
                }
                all
            }
        })
    }

    /// The items of ROLLUP and CUBE: each is one key, or several that stay together.
    fn group_units(&mut self, items: &[GroupItem], grouping: &mut Grouping) -> Result<Sets> {
        items
            .iter()
            .map(|item| match item {
                GroupItem::Value(value) => Ok(vec![self.group_key(value, grouping)?]),
                GroupItem::Composite(values) => self.group_list(values, grouping),
                _ => not_supported("nested ROLLUP, CUBE and GROUPING SETS", Span::default()),
            })
            .collect()
    }

    fn group_list(&mut self, values: &[Expr], grouping: &mut Grouping) -> Result<Vec<usize>> {
        values.iter().map(|value| self.group_key(value, grouping)).collect()
    }

    /// A key; the same expression is the same key.
    fn group_key(&mut self, expr: &Expr, grouping: &mut Grouping) -> Result<usize> {
        let place = Place {
            clause: Clause::GroupBy,
            stage: &mut grouping.input,
            grouping: None,
        };
        let value = self.value(expr, place)?;
        if value.is_constant() {
            return Err(Cause::GroupConstant.at(expr.span));
        }
        if let Some(known) = grouping.keys.iter().position(|key| key.value == value) {
            return Ok(known);
        }
        let id = self.staged(&value, &mut grouping.input);
        grouping.keys.push(GroupKey { value, id, text: expr.to_string() });
        Ok(grouping.keys.len() - 1)
    }

    /// The key that an expression of a grouped query is, as a whole.
    pub(crate) fn grouped_key(
        &mut self,
        expr: &Expr,
        grouping: &Grouping,
    ) -> Result<Option<Parameter>> {
        let is_simple = matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Column(_));
        let has_computed = grouping.keys.iter().any(|key| key.value.as_parameter().is_none());
        if let Some(key) = self.called_key(expr, grouping) {
            return Ok(Some(key));
        }
        if is_simple || !has_computed || !is_plain(expr) {
            return Ok(None);
        }
        let outside = self.prologue.len();
        let value = self.key_value(expr, grouping);
        self.prologue.truncate(outside.max(self.prologue_needed(outside)));
        let Ok(value) = value else { return Ok(None) };
        let key = grouping.keys.iter().find(|key| key.value == value);
        Ok(key.map(|key| Parameter {
            place: key.id,
            ty: value.ty(),
            is_nullable: value.is_nullable() || grouping.has_sets(),
        }))
    }

    /// The key that a call of a function is, by its text: each call has a value of its own.
    fn called_key(&self, expr: &Expr, grouping: &Grouping) -> Option<Parameter> {
        let ExprKind::Function(call) = &expr.kind else { return None };
        if call.over.is_some() || walk::is_aggregate(call) {
            return None;
        }
        let text = expr.to_string();
        let key = grouping.keys.iter().find(|key| key.text.eq_ignore_ascii_case(&text))?;
        Some(Parameter {
            place: key.id,
            ty: key.value.ty(),
            is_nullable: key.value.is_nullable() || grouping.has_sets(),
        })
    }

    /// An expression as a key has it.
    fn key_value(&mut self, expr: &Expr, grouping: &Grouping) -> Result<Scalar> {
        let mut stage = Stage::default();
        let mut before = self.scopes.last().cloned();
        if let Some(scope) = self.scopes.last_mut() {
            scope.grouped = None;
            if let Some(sources) = &grouping.sources {
                scope.sources.clone_from(sources);
            }
        }
        let place = Place { clause: Clause::GroupBy, stage: &mut stage, grouping: None };
        let value = self.value(expr, place);
        if let (Some(scope), Some(before)) = (self.scopes.last_mut(), before.take()) {
            *scope = before;
        }
        value
    }

    /// Variables that were met on the way stay known.
    fn prologue_needed(&self, from: usize) -> usize {
        let rest = self.prologue.iter().skip(from);
        let last = rest
            .enumerate()
            .rfind(|(_, it)| matches!(it, crate::binder::Prologue::Variable { .. }));
        last.map_or(from, |(at, _)| from + at + 1)
    }

    /// An aggregate of a grouped query.
    pub(crate) fn aggregate_call(
        &mut self,
        call: &CallSyntax,
        span: Span,
        grouping: &mut Grouping,
    ) -> Result<Parameter> {
        let name = &call.name.name.text;
        let Some(function) = Aggregate::named(name) else {
            return self.grouping_call(call, span, grouping);
        };
        let (values, is_distinct): (&[Expr], bool) = match &call.arguments {
            Arguments::Star if matches!(function, Aggregate::Count | Aggregate::CountBig) => {
                (&[], false)
            }
            Arguments::List(values) => (values, false),
            Arguments::Distinct(values) => (values, true),
            _ => return not_supported(format!("the arguments of {name}"), span),
        };
        let expected = if function == Aggregate::StringAgg { 2 } else { 1 };
        if values.len() != expected && !matches!(call.arguments, Arguments::Star) {
            let function = function.name().to_owned();
            return Err(Cause::ArgumentCount { function, count: expected }.at(span));
        }
        let mut ids = Vec::new();
        let mut types = Vec::new();
        for value in values {
            let mut value = self.value(value, argument_place(&mut grouping.input))?;
            if function == Aggregate::StringAgg && value.ty().collation().is_none() {
                let collation = self.environment.database_collation;
                let text = SqlType::NVarChar { len: Some(8000), collation };
                let converted = value.assigned(text, &self.environment);
                value = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
            }
            if function.is_percentile() {
                let converted = value.assigned(SqlType::Float, &self.environment);
                value = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
            }
            if value.is_null_literal() {
                let ty = "NULL".to_owned();
                let function = function.name().to_owned();
                return Err(Cause::OperandType { ty, function }.at(span));
            }
            types.push(value.ty());
            ids.push(self.staged(&value, &mut grouping.input));
        }
        let mut order = Vec::new();
        let mut sorted_type = SqlType::Int;
        for item in &call.within_group {
            let value = self.value(&item.value, argument_place(&mut grouping.input))?;
            sorted_type = value.ty();
            let id = self.staged(&value, &mut grouping.input);
            order.push(OrderKey { id, is_descending: crate::query::is_descending(item) });
        }
        if function.is_percentile() {
            let [key] = order.as_slice() else {
                let text = format!("The function '{name}' must have a WITHIN GROUP clause.");
                return Err(Cause::Other { number: 10754, text }.at(span));
            };
            // The values are those that are sorted by; the share stands where a separator does.
            ids.insert(0, key.id);
            types.insert(0, sorted_type);
        }
        let result = match types.first() {
            None => function.result(&SqlType::Int),
            Some(ty) => function.result(ty),
        };
        let Some(ty) = result else {
            let ty = types.first().map_or("", |ty| ty.base_name()).to_owned();
            return Err(Cause::OperandType { ty, function: function.name().to_owned() }.at(span));
        };
        let (argument, separator) = (ids.first().copied(), ids.get(1).copied());
        let known = grouping.calls.iter().find(|it| {
            it.function == function
                && it.argument == argument
                && it.separator == separator
                && it.is_distinct == is_distinct
                && it.order == order
        });
        if let Some(known) = known {
            return Ok(parameter(&known.column));
        }
        let column = self.new_column(ty, !function.is_never_null());
        let bound = parameter(&column);
        grouping.calls.push(AggregateCall {
            column,
            function,
            argument,
            separator,
            is_distinct,
            order,
        });
        Ok(bound)
    }

    /// GROUPING and GROUPING_ID.
    fn grouping_call(
        &mut self,
        call: &CallSyntax,
        span: Span,
        grouping: &mut Grouping,
    ) -> Result<Parameter> {
        let Arguments::List(values) = &call.arguments else {
            return not_supported("the arguments of GROUPING", span);
        };
        let mut keys = Vec::new();
        for value in values {
            let bound = self.key_value(value, grouping)?;
            let Some(key) = grouping.keys.iter().position(|key| key.value == bound) else {
                let text = "Argument 1 of the GROUPING function does not match any of the \
                            expressions in the GROUP BY clause."
                    .to_owned();
                return Err(Cause::Other { number: 8161, text }.at(span));
            };
            keys.push(key);
        }
        if let Some((id, _)) = grouping.groupings.iter().find(|(_, own)| *own == keys) {
            return Ok(Parameter { place: *id, ty: SqlType::Int, is_nullable: false });
        }
        let id = self.new_id();
        grouping.groupings.push((id, keys));
        Ok(Parameter { place: id, ty: SqlType::Int, is_nullable: false })
    }
}

/// Where the argument of an aggregate stands.
fn argument_place(stage: &mut Stage) -> Place<'_> {
    Place { clause: Clause::Aggregate, stage, grouping: None }
}

/// No subquery, aggregate or window in it.
fn is_plain(expr: &Expr) -> bool {
    let is_refused = match &expr.kind {
        ExprKind::Subquery(_) => true,
        ExprKind::Function(call) => call.over.is_some() || walk::is_aggregate(call),
        _ => false,
    };
    if is_refused {
        return false;
    }
    let mut plain = true;
    walk::each_operand(expr, &mut |operand| plain &= is_plain(operand));
    plain
}

fn joined(set: &[usize], more: &[usize]) -> Vec<usize> {
    let mut all = set.to_vec();
    all.extend(more.iter().filter(|key| !set.contains(key)));
    all.sort_unstable();
    all
}

/// All keys, all but the last, … none.
fn rollup(units: &Sets) -> Sets {
    (0..=units.len())
        .rev()
        .map(|count| units.iter().take(count).flatten().copied().collect())
        .collect()
}

/// All subsets.
fn cube(units: &Sets, span: Span) -> Result<Sets> {
    if units.len() > 12 {
        return not_supported("CUBE of more than 12 expressions", span);
    }
    let subsets = (0..1u32 << units.len()).rev();
    Ok(subsets
        .map(|bits| {
            let chosen = units.iter().enumerate().filter(|(at, _)| {
                let bit = units.len() - 1 - at;
                bits >> bit & 1 == 1
            });
            chosen.flat_map(|(_, unit)| unit.iter().copied()).collect()
        })
        .collect())
}

fn group_span(group_by: &GroupBy) -> Span {
    match group_by.items.first() {
        Some(GroupItem::Value(value)) => value.span,
        _ => Span::default(),
    }
}
