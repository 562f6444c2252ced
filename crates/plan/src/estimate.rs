//! Estimates of how many rows a relation has.
//!
//! Counts of tables come from the engine; what conditions leave is guessed by their form, as the
//! System R optimizer did: equality with one of so many values, a tenth where that is not known, a
//! third for a range.

use extentdb_bind::logical::{JoinKind, Relation, RowsSource, ValueId};
use extentdb_bind::table::BoundTable;
use extentdb_engine::model::ObjectBody;
use extentdb_expr::{Environment, Scalar, ScalarTest};

use crate::selectivity;
use crate::uses;

const EQUAL: f64 = 0.05;
const RANGE: f64 = 0.3;
const OTHER: f64 = 0.25;
/// Of texts that have something in them, somewhere.
const LIKE: f64 = 0.15;
/// Rows of functions and recursions.
const UNKNOWN: f64 = 100.0;

/// Rows of a relation, at least one.
pub(crate) fn rows(relation: &Relation, environment: &Environment) -> f64 {
    let found = match relation {
        Relation::Row => 1.0,
        Relation::Values { rows, .. } => rows.len() as f64,
        Relation::Table(table) => table_rows(table),
        Relation::Function(function) => match &function.source {
            RowsSource::Provider(provider) => provider.row_estimate(),
            _ => UNKNOWN,
        },
        Relation::Filter { input, conditions } => {
            rows(input, environment) * shares(conditions, input, environment)
        }
        Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. } => rows(input, environment),
        Relation::Join { kind, left, right, conditions } => {
            joined(*kind, left, right, conditions, environment)
        }
        Relation::Aggregate { input, keys, .. } => {
            if keys.is_empty() {
                1.0
            } else {
                let all = rows(input, environment);
                let groups: f64 = keys.iter().map(|key| distinct_among(input, *key, all)).product();
                groups.min(all * 0.9)
            }
        }
        Relation::Limit { input, limit } => {
            let all = rows(input, environment);
            let count = limit.count.as_ref().and_then(Scalar::literal_integer);
            count.filter(|_| !limit.is_percent).map_or(all, |count| all.min(count as f64))
        }
        Relation::Concat { inputs, .. } => {
            inputs.iter().map(|(input, _)| rows(input, environment)).sum()
        }
        Relation::SetOperation { left, .. } => rows(&left.0, environment),
        Relation::Text { .. } => 1.0,
        Relation::Recursive(_) => 1000.0,
        Relation::Recent { .. } => UNKNOWN,
    };
    found.max(1.0)
}

/// Rows of a table as the engine counts them.
pub(crate) fn table_rows(table: &BoundTable) -> f64 {
    (table.table.row_count().max(0) as f64).max(1.0)
}

/// Different values of a column of a relation with so many rows, about.
///
/// The rows are given: who asks for several columns has counted them once. Counted again for each
/// column of each level, a deep tree would take time that grows exponentially.
pub(crate) fn distinct_among(relation: &Relation, id: ValueId, all: f64) -> f64 {
    match origin(relation, id) {
        Some(table) => distinct_in_table(table, id).min(all),
        None => all.sqrt().max(10.0).min(all),
    }
}

fn distinct_in_table(table: &BoundTable, id: ValueId) -> f64 {
    let all = table_rows(table);
    let Some(column) = selectivity::column_of(table, id) else { return all };
    if let Some(known) = selectivity::distinct(table, id) {
        return known.min(all);
    }
    let ObjectBody::Table(model) = &table.object.body else { return all };
    let mut best: Option<f64> = None;
    for index in &model.indexes {
        let mut keys: Vec<_> = index.columns.iter().filter(|it| it.key_ordinal > 0).collect();
        keys.sort_by_key(|it| it.key_ordinal);
        if keys.first().is_some_and(|key| key.column_id == column.column_id) {
            let own = if index.unique && keys.len() == 1 { all } else { all / 4.0 };
            best = Some(best.map_or(own, |best| best.max(own)));
        }
    }
    best.unwrap_or_else(|| (all / 10.0).max(all.min(10.0)))
}

/// The table that a value is a column of.
fn origin(relation: &Relation, id: ValueId) -> Option<&BoundTable> {
    match relation {
        Relation::Table(table) => {
            table.columns.iter().any(|it| it.column.id == id).then_some(&**table)
        }
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Aggregate { input, .. }
        | Relation::Limit { input, .. } => origin(input, id),
        Relation::Join { left, right, .. } => origin(left, id).or_else(|| origin(right, id)),
        _ => None,
    }
}

/// The share of rows that all conditions leave.
pub(crate) fn shares(conditions: &[Scalar], input: &Relation, environment: &Environment) -> f64 {
    let guess = |condition: &Scalar| share(condition, input, environment);
    match input {
        Relation::Table(table) => {
            selectivity::of_conditions(table, conditions, environment, &guess)
        }
        _ => conditions.iter().map(guess).product(),
    }
}

/// The share of rows that a condition leaves.
pub(crate) fn share(condition: &Scalar, input: &Relation, environment: &Environment) -> f64 {
    if condition.disjuncts(environment).is_ok_and(|parts| parts.len() > 1) {
        let parts = condition.disjuncts(environment).unwrap_or_default();
        let one = |part: &Scalar| {
            shares(&part.conjuncts(environment).unwrap_or_default(), input, environment)
        };
        let none: f64 = parts.iter().map(|part| 1.0 - one(part)).product();
        return 1.0 - none;
    }
    if let Ok(Some(negated)) = condition.as_negation(environment) {
        return 1.0 - share(&negated, input, environment);
    }
    if let Ok(Some(bounds)) = condition.as_like_bounds(environment) {
        return if bounds.is_empty() { LIKE } else { shares(&bounds, input, environment) };
    }
    match condition.as_comparison(environment) {
        Ok(Some((ScalarTest::Equal, left, right))) => {
            let column = left.as_parameter().or_else(|| right.as_parameter());
            match column.and_then(|it| origin(input, it.place).map(|table| (table, it.place))) {
                Some((table, id)) => (1.0 / distinct_in_table(table, id)).min(EQUAL),
                None => EQUAL,
            }
        }
        Ok(Some((ScalarTest::NotEqual, ..))) => 0.9,
        Ok(Some(_)) => RANGE,
        _ => OTHER,
    }
}

fn joined(
    kind: JoinKind,
    left: &Relation,
    right: &Relation,
    conditions: &[Scalar],
    environment: &Environment,
) -> f64 {
    let (l, r) = (rows(left, environment), rows(right, environment));
    match kind {
        JoinKind::Semi => l * 0.5,
        JoinKind::Anti => l * 0.5,
        JoinKind::Mark(_) | JoinKind::Single => l,
        JoinKind::Inner => pairs((left, l), (right, r), conditions, environment),
        JoinKind::Left => pairs((left, l), (right, r), conditions, environment).max(l),
        JoinKind::Full => pairs((left, l), (right, r), conditions, environment).max(l).max(r),
    }
}

/// Pairs of rows that satisfy the conditions.
///
/// Where equalities cover a unique key of a table, each row of the other side has one partner there
/// at most.
pub(crate) fn pairs(
    (left, l): (&Relation, f64),
    (right, r): (&Relation, f64),
    conditions: &[Scalar],
    environment: &Environment,
) -> f64 {
    let (of_left, of_right) = (uses::given(left), uses::given(right));
    let mut all = l * r;
    let mut equal: Vec<[Option<ValueId>; 2]> = Vec::new();
    for condition in conditions {
        match condition.as_comparison(environment) {
            Ok(Some((ScalarTest::Equal, a, b))) => {
                let column = |value: &Scalar, of: &uses::Values| {
                    value.as_parameter().map(|it| it.place).filter(|id| of.contains(id))
                };
                let of = |own: &uses::Values| column(&a, own).or_else(|| column(&b, own));
                equal.push([of(&of_left), of(&of_right)]);
            }
            Ok(Some(_)) => all *= RANGE,
            _ => all *= OTHER,
        }
    }
    let keys = [
        unique_key(left, equal.iter().filter_map(|[own, _]| *own)),
        unique_key(right, equal.iter().filter_map(|[_, own]| *own)),
    ];
    let is_covered = |id: Option<ValueId>| {
        let mut ids = keys.iter().flatten().flat_map(|(ids, _)| ids);
        id.is_some_and(|id| ids.any(|own| *own == id))
    };
    let mut divisors = Vec::new();
    divisors.extend(keys.iter().flatten().map(|(_, rows)| *rows).reduce(f64::max));
    for pair in equal.iter().filter(|pair| !pair.iter().any(|id| is_covered(*id))) {
        let distinct_of = |(id, (relation, rows)): (Option<ValueId>, (&Relation, f64))| {
            id.map(|id| distinct_before(relation, id, rows))
        };
        let values = pair.iter().copied().zip([(left, l), (right, r)]).filter_map(distinct_of);
        divisors.push(values.fold(10.0, f64::max));
    }
    all / damped(divisors)
}

/// The longest unique key among columns of a relation, and the rows of its table.
fn unique_key(
    relation: &Relation,
    ids: impl Iterator<Item = ValueId>,
) -> Option<(Vec<ValueId>, f64)> {
    let ids: Vec<ValueId> = ids.collect();
    let mut best: Option<(Vec<ValueId>, f64)> = None;
    for table in ids.iter().filter_map(|id| origin(relation, *id)) {
        let ObjectBody::Table(model) = &table.object.body else { continue };
        let id_of = |column_id: i32| {
            let column = table.columns.iter().find(|it| it.column_id == column_id)?;
            ids.iter().copied().find(|id| *id == column.column.id)
        };
        let rows = table_rows(table);
        for index in model.indexes.iter().filter(|index| index.unique) {
            let keys = index.columns.iter().filter(|it| it.key_ordinal > 0);
            let key: Option<Vec<ValueId>> = keys.map(|key| id_of(key.column_id)).collect();
            let Some(key) = key.filter(|key| !key.is_empty()) else { continue };
            if best.as_ref().is_none_or(|(_, most)| rows > *most) {
                best = Some((key, rows));
            }
        }
    }
    best
}

/// The product of shares that are not independent: the strongest counts whole, the next one by its
/// square root, and so on.
fn damped(mut divisors: Vec<f64>) -> f64 {
    divisors.sort_by(|a, b| b.total_cmp(a));
    let mut power = 1.0;
    let mut product = 1.0;
    for divisor in divisors {
        product *= divisor.powf(power);
        power /= 2.0;
    }
    product
}

/// Different values of a column before conditions: those of its table.
fn distinct_before(relation: &Relation, id: ValueId, all: f64) -> f64 {
    match origin(relation, id) {
        Some(table) => distinct_in_table(table, id),
        None => distinct_among(relation, id, all),
    }
}
