//! Semi-joins with what has a row at most for each left one: they are inner joins, which have an
//! order and go by an index of either side.
//!
//! ```text
//! left ⋉(a = k) R    where k is a unique key of R    left ⋈(a = k) R
//! ```
//!
//! A key is that of a unique index, or of a grouping.

use extentdb_bind::logical::{JoinKind, Relation, ValueId};
use extentdb_bind::table::BoundTable;
use extentdb_engine::model::ObjectBody;
use extentdb_expr::{CompileError, Environment, Scalar, ScalarTest};

use crate::decorrelate::each_input;
use crate::uses;

/// Makes inner joins of the semi-joins of a relation that can be.
pub(crate) fn rewrite(
    relation: Relation,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    let relation = each_input(relation, &mut |input| rewrite(input, environment))?;
    let Relation::Join { kind: JoinKind::Semi, left, right, conditions } = relation else {
        return Ok(relation);
    };
    let is_free = uses::outer(&right).is_disjoint(&uses::given(&left));
    let is_unique = is_free && has_one_partner(&left, &right, &conditions, environment)?;
    let kind = if is_unique { JoinKind::Inner } else { JoinKind::Semi };
    Ok(Relation::Join { kind, left, right, conditions })
}

/// Do the conditions say what the values of a unique key of the right input are?
fn has_one_partner(
    left: &Relation,
    right: &Relation,
    conditions: &[Scalar],
    environment: &Environment,
) -> Result<bool, CompileError> {
    let (of_left, of_right) = (uses::given(left), uses::given(right));
    let mut equal = Vec::new();
    for condition in conditions {
        let Some((ScalarTest::Equal, a, b)) = condition.as_comparison(environment)? else {
            continue;
        };
        for (own, other) in [(&a, &b), (&b, &a)] {
            let column = own.as_parameter().filter(|it| of_right.contains(&it.place));
            let is_other = other.places().all(|id| !of_right.contains(&id))
                && other.places().any(|id| of_left.contains(&id));
            // Several values of another type may be equal to one of the left input.
            if let Some(column) = column.filter(|it| is_other && it.ty == other.ty()) {
                equal.push(column.place);
            }
        }
    }
    Ok(!equal.is_empty() && is_key(right, &equal))
}

/// Is there a row at most with given values of these columns?
fn is_key(relation: &Relation, columns: &[ValueId]) -> bool {
    match relation {
        Relation::Aggregate { keys, sets: None, .. } => {
            keys.iter().all(|key| columns.contains(key))
        }
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. } => is_key(input, columns),
        Relation::Table(table) => has_unique_index(table, columns),
        _ => false,
    }
}

fn has_unique_index(table: &BoundTable, columns: &[ValueId]) -> bool {
    let ObjectBody::Table(model) = &table.object.body else { return false };
    let is_given = |column_id: i32| {
        let column = table.columns.iter().find(|it| it.column_id == column_id);
        column.is_some_and(|column| columns.contains(&column.column.id))
    };
    let mut indexes = model.indexes.iter().filter(|index| index.unique && !index.disabled);
    indexes.any(|index| {
        let mut keys = index.columns.iter().filter(|it| it.key_ordinal > 0).peekable();
        index.filter.is_none() && keys.peek().is_some() && keys.all(|key| is_given(key.column_id))
    })
}
