//! The share of a table's rows that conditions leave, by its statistics.
//!
//! ```text
//! column = constant         the histogram      column = anything else   density: one of all values
//! column between constants  the histogram      without statistics       a guess by the form
//! ```
//!
//! Shares of several columns are not independent: the strongest counts whole, the next one by its
//! square root, and so on (exponential backoff).

use std::ops::Bound;

use extentdb_base::sync::Arc;
use extentdb_bind::logical::ValueId;
use extentdb_bind::table::{BoundTable, TableColumn};
use extentdb_engine::Statistics;
use extentdb_expr::{Batch, Environment, Scalar, ScalarTest};
use extentdb_types::Datum;

use crate::access::{self, Restriction};

/// A share is one row at least of so many.
const LEAST_SHARE: f64 = 1e-9;

/// The column of a table with this value.
pub(crate) fn column_of(table: &BoundTable, id: ValueId) -> Option<&TableColumn> {
    table.columns.iter().find(|it| it.column.id == id)
}

/// Different values of a column; `None` where nothing is known.
pub(crate) fn distinct(table: &BoundTable, id: ValueId) -> Option<f64> {
    let statistics = table.statistics(column_of(table, id)?.ordinal)?;
    let density = statistics.density(1).filter(|density| *density > 0.0)?;
    Some(f64::max(1.0 / density, 1.0))
}

/// The share of rows that one restriction leaves; `None` where nothing is known.
pub(crate) fn of_restriction(restriction: &Restriction, table: &BoundTable) -> Option<f64> {
    let statistics = known(table, restriction.column)?;
    let rows = statistics.rows().max(1.0);
    if restriction.is_null {
        return Some(share(statistics.is_null(), rows));
    }
    let key = restriction.key(&statistics);
    match (restriction.test, key) {
        (ScalarTest::Equal, Some(key)) => Some(share(statistics.equal(&key), rows)),
        (ScalarTest::Equal, None) => statistics.density(1),
        (ScalarTest::NotEqual, _) | (_, None) => None,
        (_, Some(_)) => of_range(&[restriction], table),
    }
}

/// The share of rows with given values of several columns, where statistics are about just these,
/// in their order; `None` where nothing is known.
pub(crate) fn of_values(table: &BoundTable, equal: &[Restriction]) -> Option<f64> {
    let statistics = known(table, equal.first().filter(|_| equal.len() > 1)?.column)?;
    let ids = statistics.column_ids().take(equal.len());
    let own = equal.iter().map(|it| column_of(table, it.column).map(|column| column.column_id));
    own.eq(ids.map(Some)).then(|| statistics.density(equal.len())).flatten()
}

/// The share of rows between the bounds that restrictions of one column are; `None` where nothing
/// is known, or a bound is no constant.
pub(crate) fn of_range(bounds: &[&Restriction], table: &BoundTable) -> Option<f64> {
    let statistics = known(table, bounds.first()?.column)?;
    let mut low: Bound<Vec<u8>> = Bound::Unbounded;
    let mut high: Bound<Vec<u8>> = Bound::Unbounded;
    for bound in bounds {
        let key = bound.key(&statistics)?;
        match bound.test {
            ScalarTest::Greater => tighten(&mut low, Bound::Excluded(key), |new, old| new > old),
            ScalarTest::GreaterOrEqual => {
                tighten(&mut low, Bound::Included(key), |new, old| new > old);
            }
            ScalarTest::Less => tighten(&mut high, Bound::Excluded(key), |new, old| new < old),
            ScalarTest::LessOrEqual => {
                tighten(&mut high, Bound::Included(key), |new, old| new < old);
            }
            ScalarTest::Equal | ScalarTest::NotEqual => return None,
        }
    }
    let found = statistics.range(as_slice(&low), as_slice(&high));
    Some(share(found, statistics.rows().max(1.0)))
}

/// The share of rows that all conditions leave, `guess` saying what the others do for which nothing
/// is known.
pub(crate) fn of_conditions(
    table: &BoundTable,
    conditions: &[Scalar],
    environment: &Environment,
    guess: &dyn Fn(&Scalar) -> f64,
) -> f64 {
    let restrictions = access::restrictions(table, conditions, environment).unwrap_or_default();
    let mut is_done = vec![false; conditions.len()];
    let mut known = Vec::new();
    for restriction in &restrictions {
        if is_done.get(restriction.condition) != Some(&false) {
            continue;
        }
        let bounds = bounds_of(&restrictions, restriction.column);
        let is_bound = bounds.iter().any(|it| it.condition == restriction.condition);
        let found = match is_bound {
            true => of_range(&bounds, table),
            false => of_restriction(restriction, table),
        };
        let Some(found) = found else { continue };
        known.push(found);
        let own = [restriction];
        for used in if is_bound { bounds.as_slice() } else { own.as_slice() } {
            if let Some(done) = is_done.get_mut(used.condition) {
                *done = true;
            }
        }
    }
    let rest = conditions.iter().zip(&is_done).filter(|(_, is_done)| !**is_done);
    damped(known) * rest.map(|(condition, _)| guess(condition)).product::<f64>()
}

/// The restrictions of a column that are bounds.
fn bounds_of(restrictions: &[Restriction], column: ValueId) -> Vec<&Restriction> {
    let is_bound = |it: &&Restriction| {
        it.column == column && !matches!(it.test, ScalarTest::Equal | ScalarTest::NotEqual)
    };
    restrictions.iter().filter(is_bound).collect()
}

/// The product of shares that are not independent.
pub(crate) fn damped(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    let mut power = 1.0;
    let mut product = 1.0;
    for share in shares {
        product *= share.powf(power);
        power /= 2.0;
    }
    product
}

fn known(table: &BoundTable, column: ValueId) -> Option<Arc<Statistics>> {
    table.statistics(column_of(table, column)?.ordinal)
}

fn share(found: f64, rows: f64) -> f64 {
    (found / rows).clamp(LEAST_SHARE, 1.0)
}

/// Takes a bound in place of a wider one.
fn tighten(
    bound: &mut Bound<Vec<u8>>,
    new: Bound<Vec<u8>>,
    is_tighter: impl Fn(&[u8], &[u8]) -> bool,
) {
    let is_better = match (&*bound, &new) {
        (Bound::Unbounded, _) => true,
        (Bound::Included(old) | Bound::Excluded(old), Bound::Included(key)) => is_tighter(key, old),
        (Bound::Included(old) | Bound::Excluded(old), Bound::Excluded(key)) => {
            key == old || is_tighter(key, old)
        }
        (_, Bound::Unbounded) => false,
    };
    if is_better {
        *bound = new;
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

impl Restriction {
    /// The sort key of its value; `None`: it is not known before the statement runs, or is NULL.
    fn key(&self, statistics: &Statistics) -> Option<Vec<u8>> {
        let value = self.constant.as_ref()?;
        statistics.key(value).ok()
    }
}

/// The value of an expression that uses nothing from outside; `None` of NULL, and where it fails.
pub(crate) fn constant(value: &Scalar, environment: &Environment) -> Option<Datum<'static>> {
    if value.places().next().is_some() {
        return None;
    }
    let program = value.compile(environment).ok()?;
    let mut batch = Batch::new();
    batch.reset(&program);
    batch.end_rows(1);
    program.run(&mut batch);
    let bytes = batch.value(0).ok()??;
    Datum::decode(&value.ty(), bytes).ok().map(Datum::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_bound_is_taken() {
        let mut low = Bound::Unbounded;
        let greater = |new: &[u8], old: &[u8]| new > old;
        tighten(&mut low, Bound::Included(vec![5]), greater);
        tighten(&mut low, Bound::Included(vec![3]), greater);
        assert_eq!(low, Bound::Included(vec![5]));
        tighten(&mut low, Bound::Excluded(vec![5]), greater);
        assert_eq!(low, Bound::Excluded(vec![5]));
        tighten(&mut low, Bound::Included(vec![5]), greater);
        assert_eq!(low, Bound::Excluded(vec![5]));
    }

    #[test]
    fn the_strongest_share_counts_whole() {
        assert_eq!(damped(vec![0.25, 0.01]), 0.01 * 0.5);
        assert_eq!(damped(Vec::new()), 1.0);
    }
}
