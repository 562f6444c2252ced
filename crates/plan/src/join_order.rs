//! The order of inner joins.
//!
//! Known algorithm: greedy operator ordering: of all pairs of relations that a condition connects,
//! the one with the fewest rows is joined first, and stands for both from then on.

use extentdb_bind::logical::{JoinKind, Relation};
use extentdb_expr::{CompileError, Environment, Scalar};

use crate::decorrelate::each_input;
use crate::estimate;
use crate::uses::{self, Values};

/// Orders the inner joins of a relation, and of its inputs.
pub(crate) fn order(
    relation: Relation,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    if !is_inner(&relation) {
        return each_input(relation, &mut |input| order(input, environment));
    }
    let mut leaves = Vec::new();
    let mut conditions = Vec::new();
    flatten(relation, &mut leaves, &mut conditions);
    let leaves: Result<Vec<Relation>, CompileError> =
        leaves.into_iter().map(|leaf| order(leaf, environment)).collect();
    let leaves = leaves?.into_iter().map(|leaf| Part::new(leaf, environment)).collect();
    Ok(ordered(leaves, conditions, environment))
}

/// A join whose inputs may be exchanged.
fn is_inner(relation: &Relation) -> bool {
    match relation {
        Relation::Join { kind: JoinKind::Inner, left, right, .. } => {
            uses::outer(right).is_disjoint(&uses::given(left))
        }
        _ => false,
    }
}

fn flatten(relation: Relation, leaves: &mut Vec<Relation>, conditions: &mut Vec<Scalar>) {
    if !is_inner(&relation) {
        leaves.push(relation);
        return;
    }
    if let Relation::Join { left, right, conditions: own, .. } = relation {
        flatten(*left, leaves, conditions);
        flatten(*right, leaves, conditions);
        conditions.extend(own);
    }
}

/// Relations that are joined already.
struct Part {
    relation: Relation,
    given: Values,
    rows: f64,
}

impl Part {
    fn new(relation: Relation, environment: &Environment) -> Part {
        let given = uses::given(&relation);
        let rows = estimate::rows(&relation, environment);
        Part { relation, given, rows }
    }
}

fn ordered(
    mut parts: Vec<Part>,
    mut conditions: Vec<Scalar>,
    environment: &Environment,
) -> Relation {
    while parts.len() > 1 {
        let Some((a, b, rows)) = best_pair(&parts, &conditions, environment) else { break };
        let right = parts.swap_remove(a.max(b));
        let left = parts.swap_remove(a.min(b));
        let all: Values = left.given.union(&right.given).copied().collect();
        let (own, rest) = conditions.into_iter().partition(|it| is_within(it, &all, &parts));
        conditions = rest;
        parts.push(Part {
            relation: Relation::Join {
                kind: JoinKind::Inner,
                left: Box::new(left.relation),
                right: Box::new(right.relation),
                conditions: own,
            },
            given: all,
            rows,
        });
    }
    let whole = parts.pop().map_or(Relation::Row, |part| part.relation);
    whole.filtered(conditions)
}

/// Has the condition all that it needs: nothing of the other parts?
fn is_within(condition: &Scalar, given: &Values, others: &[Part]) -> bool {
    condition
        .places()
        .all(|id| given.contains(&id) || !others.iter().any(|part| part.given.contains(&id)))
}

fn best_pair(
    parts: &[Part],
    conditions: &[Scalar],
    environment: &Environment,
) -> Option<(usize, usize, f64)> {
    let mut best: Option<(bool, f64, usize, usize)> = None;
    for (a, left) in parts.iter().enumerate() {
        for (b, right) in parts.iter().enumerate().skip(a + 1) {
            let between: Vec<Scalar> =
                conditions.iter().filter(|it| connects(it, left, right)).cloned().collect();
            let rows = estimate::pairs(
                (&left.relation, left.rows),
                (&right.relation, right.rows),
                &between,
                environment,
            );
            // Products without a condition come last.
            let is_product = between.is_empty();
            let is_better = best
                .as_ref()
                .is_none_or(|(product, least, ..)| (is_product, rows) < (*product, *least));
            if is_better {
                best = Some((is_product, rows, a, b));
            }
        }
    }
    best.map(|(_, rows, a, b)| (a, b, rows.max(1.0)))
}

fn connects(condition: &Scalar, left: &Part, right: &Part) -> bool {
    let mut has_left = false;
    let mut has_right = false;
    for id in condition.places() {
        has_left |= left.given.contains(&id);
        has_right |= right.given.contains(&id);
    }
    has_left && has_right
}
