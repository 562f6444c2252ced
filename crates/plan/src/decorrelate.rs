//! Decorrelation: a subquery that is evaluated for each row of an outer query becomes one that is
//! evaluated once, and joined.
//!
//! ```text
//! left ⋈ σ(inner = outer)(R)                    left ⋈(inner = outer) R
//! left ⋈1 γ(; agg)(σ(inner = outer)(R))         left ⋈1(key = outer) γ(key := inner; agg)(R)
//! ```
//!
//! Known algorithm: pulling correlated conditions up (Kim, Dayal), with the count of an empty group
//! put right above the join. What is not of these forms stays a loop.

use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::{AggregateCall, Column, Computed, JoinKind, Relation, ValueId};
use extentdb_expr::{CompileError, Environment, Parameter, Scalar, ScalarTest};

use crate::uses::{self, Values};

/// Numbers for values that rewriting makes.
pub(crate) struct Numbers {
    next: ValueId,
}

impl Numbers {
    /// Numbers from this one on.
    pub(crate) fn from(next: ValueId) -> Numbers {
        Numbers { next }
    }

    pub(crate) fn next(&mut self) -> ValueId {
        self.next += 1;
        self.next
    }
}

/// Rewrites all correlated joins of a relation that can be.
pub(crate) fn rewrite(
    relation: Relation,
    environment: &Environment,
    numbers: &mut Numbers,
) -> Result<Relation, CompileError> {
    let relation = each_input(relation, &mut |input| rewrite(input, environment, numbers))?;
    let Relation::Join { kind, left, right, conditions } = relation else { return Ok(relation) };
    let of_left = uses::given(&left);
    if uses::outer(&right).is_disjoint(&of_left) {
        return Ok(Relation::Join { kind, left, right, conditions });
    }
    let mut join = Correlated { of_left, environment, numbers };
    join.rewritten(kind, *left, *right, conditions)
}

struct Correlated<'c> {
    of_left: Values,
    environment: &'c Environment,
    numbers: &'c mut Numbers,
}

impl Correlated<'_> {
    fn rewritten(
        &mut self,
        kind: JoinKind,
        left: Relation,
        right: Relation,
        conditions: Vec<Scalar>,
    ) -> Result<Relation, CompileError> {
        if kind == JoinKind::Single && conditions.is_empty() && is_scalar_aggregate(&right) {
            return self.scalar_aggregate(left, right);
        }
        // The condition of an IN may be unknown; a pulled one that is unknown means no partner.
        let is_in = matches!(kind, JoinKind::Mark(_)) && !conditions.is_empty();
        if kind == JoinKind::Full || is_in {
            return Ok(as_it_was(kind, left, right, conditions));
        }
        let ignores_order = matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
        let mut pulled = Vec::new();
        let Some(flat) = self.pull(right.clone(), &mut pulled, ignores_order) else {
            return Ok(as_it_was(kind, left, right, conditions));
        };
        if !self.is_free(&flat) {
            return Ok(as_it_was(kind, left, right, conditions));
        }
        let mut all = conditions;
        all.extend(pulled);
        let JoinKind::Mark(id) = kind else {
            return Ok(as_it_was(kind, left, flat, all));
        };
        // EXISTS is never unknown.
        let own = self.numbers.next();
        let joined = as_it_was(JoinKind::Mark(own), left, flat, all);
        let value = or_zero(own, extentdb_types::SqlType::Bit, self.environment)?;
        Ok(joined.computing(vec![Computed { id, value }]))
    }

    fn is_free(&self, relation: &Relation) -> bool {
        uses::outer(relation).is_disjoint(&self.of_left)
    }

    fn is_correlated(&self, value: &Scalar) -> bool {
        value.places().any(|id| self.of_left.contains(&id))
    }

    /// The relation without its correlated conditions; `None` where they cannot be pulled out.
    fn pull(
        &mut self,
        relation: Relation,
        pulled: &mut Vec<Scalar>,
        ignores_order: bool,
    ) -> Option<Relation> {
        if self.is_free(&relation) {
            return Some(relation);
        }
        match relation {
            Relation::Filter { input, conditions } => {
                let input = self.pull(*input, pulled, ignores_order)?;
                let (outer, own): (Vec<_>, Vec<_>) =
                    conditions.into_iter().partition(|it| self.is_correlated(it));
                pulled.extend(outer);
                Some(input.filtered(own))
            }
            Relation::Join { kind: JoinKind::Inner, left, right, conditions } => {
                let left = Box::new(self.pull(*left, pulled, ignores_order)?);
                let right = Box::new(self.pull(*right, pulled, ignores_order)?);
                let (outer, conditions) =
                    conditions.into_iter().partition(|it| self.is_correlated(it));
                pulled.extend::<Vec<_>>(outer);
                Some(Relation::Join { kind: JoinKind::Inner, left, right, conditions })
            }
            Relation::Join { kind, left, right, conditions } if kind != JoinKind::Full => {
                let is_own =
                    self.is_free(&right) && !conditions.iter().any(|it| self.is_correlated(it));
                if !is_own {
                    return None;
                }
                let left = Box::new(self.pull(*left, pulled, ignores_order)?);
                Some(Relation::Join { kind, left, right, conditions })
            }
            Relation::Compute { input, values } => {
                if values.iter().any(|it| self.is_correlated(&it.value)) {
                    return None;
                }
                Some(self.pull(*input, pulled, ignores_order)?.computing(values))
            }
            Relation::Sort { input, .. } if ignores_order => {
                self.pull(*input, pulled, ignores_order)
            }
            // Each row once: the pulled conditions must be about what is left.
            Relation::Aggregate { input, keys, calls, sets: None }
                if ignores_order && calls.is_empty() && !keys.is_empty() =>
            {
                self.pull(*input, pulled, ignores_order)
            }
            _ => None,
        }
    }

    /// A scalar aggregate: grouped by what the outer query compares with.
    fn scalar_aggregate(
        &mut self,
        left: Relation,
        right: Relation,
    ) -> Result<Relation, CompileError> {
        let original = right.clone();
        let mut above = Vec::new();
        let mut inner = right;
        while let Relation::Compute { input, values } = inner {
            above.push(values);
            inner = *input;
        }
        let Relation::Aggregate { input, calls, .. } = inner else {
            return Ok(as_it_was(JoinKind::Single, left, original, Vec::new()));
        };
        let mut pulled = Vec::new();
        let flat = self.pull(*input, &mut pulled, true).filter(|it| self.is_free(it));
        let keys = match &flat {
            Some(flat) => self.keys(&pulled, flat)?,
            None => None,
        };
        let (Some(flat), Some(keys)) = (flat, keys) else {
            return Ok(as_it_was(JoinKind::Single, left, original, Vec::new()));
        };
        let (calls, counts) = self.counted(calls);
        let mut computed = Vec::new();
        let mut ids = Vec::new();
        let mut conditions = Vec::new();
        for (own, outer) in keys {
            let id = match own.as_parameter() {
                Some(parameter) => parameter.place,
                None => self.numbers.next(),
            };
            let key = Parameter { place: id, ty: own.ty(), is_nullable: own.is_nullable() };
            let key = Scalar::parameter(key);
            conditions.push(Scalar::compared(ScalarTest::Equal, &key, &outer, self.environment)?);
            if own.as_parameter().is_none() {
                computed.push(Computed { id, value: own });
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let grouped = Relation::Aggregate {
            input: Box::new(flat.computing(computed)),
            keys: ids,
            calls,
            sets: None,
        };
        let mut joined = as_it_was(JoinKind::Single, left, grouped, conditions);
        let mut zeros = Vec::new();
        for (id, counted) in counts {
            let value = or_zero(counted.id, counted.ty, self.environment)?;
            zeros.push(Computed { id, value });
        }
        joined = joined.computing(zeros);
        Ok(above.into_iter().rev().fold(joined, Relation::computing))
    }

    /// Pairs of values, inner and outer, that the conditions say to be equal; `None` when one says
    /// something else.
    fn keys(
        &self,
        conditions: &[Scalar],
        inner: &Relation,
    ) -> Result<Option<Vec<(Scalar, Scalar)>>, CompileError> {
        let given = uses::given(inner);
        let is_inner =
            |value: &Scalar| value.places().all(|id| given.contains(&id)) && !value.is_constant();
        let is_outer = |value: &Scalar| value.places().all(|id| !given.contains(&id));
        let mut keys = Vec::new();
        for condition in conditions {
            let Some((ScalarTest::Equal, a, b)) = condition.as_comparison(self.environment)? else {
                return Ok(None);
            };
            keys.push(match (is_inner(&a) && is_outer(&b), is_inner(&b) && is_outer(&a)) {
                (true, _) => (a, b),
                (_, true) => (b, a),
                _ => return Ok(None),
            });
        }
        Ok(Some(keys))
    }

    /// Counts under other numbers: the count of a group that is not there is zero.
    fn counted(
        &mut self,
        calls: Vec<AggregateCall>,
    ) -> (Vec<AggregateCall>, Vec<(ValueId, Column)>) {
        let mut counts = Vec::new();
        let calls = calls.into_iter().map(|call| {
            let is_count = matches!(
                call.function,
                Aggregate::Count | Aggregate::CountBig | Aggregate::ApproxCountDistinct
            );
            if !is_count {
                return call;
            }
            let column = Column { id: self.numbers.next(), ..call.column.clone() };
            counts.push((call.column.id, column.clone()));
            AggregateCall { column, ..call }
        });
        (calls.collect(), counts)
    }
}

fn as_it_was(kind: JoinKind, left: Relation, right: Relation, conditions: Vec<Scalar>) -> Relation {
    Relation::Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        conditions,
    }
}

fn is_scalar_aggregate(relation: &Relation) -> bool {
    match relation {
        Relation::Compute { input, .. } => is_scalar_aggregate(input),
        Relation::Aggregate { keys, sets: None, .. } => keys.is_empty(),
        _ => false,
    }
}

/// A value, or zero where it is NULL.
fn or_zero(
    id: ValueId,
    ty: extentdb_types::SqlType,
    environment: &Environment,
) -> Result<Scalar, CompileError> {
    let value = Scalar::parameter(Parameter { place: id, ty, is_nullable: true });
    let zero = Scalar::integer(0).assigned(ty, environment)?;
    Scalar::call("isnull", &[value, zero], environment)
}

/// The relation with each of its inputs rewritten.
pub(crate) fn each_input(
    relation: Relation,
    rewrite: &mut dyn FnMut(Relation) -> Result<Relation, CompileError>,
) -> Result<Relation, CompileError> {
    Ok(match relation {
        Relation::Filter { input, conditions } => {
            Relation::Filter { input: Box::new(rewrite(*input)?), conditions }
        }
        Relation::Compute { input, values } => {
            Relation::Compute { input: Box::new(rewrite(*input)?), values }
        }
        Relation::Call { input, call } => {
            Relation::Call { input: Box::new(rewrite(*input)?), call }
        }
        Relation::Join { kind, left, right, conditions } => Relation::Join {
            kind,
            left: Box::new(rewrite(*left)?),
            right: Box::new(rewrite(*right)?),
            conditions,
        },
        Relation::Aggregate { input, keys, calls, sets } => {
            Relation::Aggregate { input: Box::new(rewrite(*input)?), keys, calls, sets }
        }
        Relation::Window { input, partition, order, calls } => {
            Relation::Window { input: Box::new(rewrite(*input)?), partition, order, calls }
        }
        Relation::Sort { input, order } => {
            Relation::Sort { input: Box::new(rewrite(*input)?), order }
        }
        Relation::Limit { input, limit } => {
            Relation::Limit { input: Box::new(rewrite(*input)?), limit }
        }
        Relation::Text { input, text } => {
            Relation::Text { input: Box::new(rewrite(*input)?), text }
        }
        Relation::Concat { inputs, columns } => {
            let inputs: Result<Vec<_>, CompileError> =
                inputs.into_iter().map(|(input, ids)| Ok((rewrite(input)?, ids))).collect();
            Relation::Concat { inputs: inputs?, columns }
        }
        Relation::SetOperation { operation, left, right, columns } => Relation::SetOperation {
            operation,
            left: Box::new((rewrite(left.0)?, left.1)),
            right: Box::new((rewrite(right.0)?, right.1)),
            columns,
        },
        Relation::Recursive(mut recursive) => {
            let anchor = std::mem::replace(&mut recursive.anchor.0, Relation::Row);
            recursive.anchor.0 = rewrite(anchor)?;
            let step = std::mem::replace(&mut recursive.step.0, Relation::Row);
            recursive.step.0 = rewrite(step)?;
            Relation::Recursive(recursive)
        }
        leaf => leaf,
    })
}
