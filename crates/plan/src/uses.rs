//! Which values a relation uses and gives.

use extentdb_bind::logical::{Relation, RowsSource, ValueId};
use extentdb_expr::Scalar;
use rustc_hash::FxHashSet;

/// A set of values.
pub(crate) type Values = FxHashSet<ValueId>;

/// The values that a relation gives.
pub(crate) fn given(relation: &Relation) -> Values {
    relation.columns().iter().map(|column| column.id).collect()
}

/// The values that a relation uses and does not make itself: those of outer queries and of the
/// statement.
pub(crate) fn outer(relation: &Relation) -> Values {
    let mut used = Values::default();
    let mut made = Values::default();
    collect(relation, &mut used, &mut made);
    used.retain(|id| !made.contains(id));
    used
}

/// All values that a relation uses anywhere, its own among them.
pub(crate) fn of_all(relation: &Relation) -> Values {
    let mut used = Values::default();
    collect(relation, &mut used, &mut Values::default());
    used
}

/// The values that an expression uses.
pub(crate) fn of(value: &Scalar) -> Values {
    value.places().collect()
}

fn collect(relation: &Relation, used: &mut Values, made: &mut Values) {
    made.extend(relation.columns().iter().map(|column| column.id));
    let mut values = |values: &[Scalar]| used.extend(values.iter().flat_map(Scalar::places));
    match relation {
        Relation::Row | Relation::Table(_) | Relation::Recent { .. } => {}
        Relation::Values { rows, .. } => rows.iter().for_each(|row| values(row)),
        Relation::Function(function) => match &function.source {
            RowsSource::Provider(_) => {}
            RowsSource::StringSplit(arguments)
            | RowsSource::Called { arguments, .. }
            | RowsSource::User { arguments, .. }
            | RowsSource::GenerateSeries(arguments)
            | RowsSource::XmlNodes { arguments, .. }
            | RowsSource::OpenJson { arguments, .. } => values(arguments),
        },
        Relation::Filter { input, conditions } => {
            values(conditions);
            collect(input, used, made);
        }
        Relation::Compute { input, values: computed } => {
            computed.iter().for_each(|it| values(std::slice::from_ref(&it.value)));
            collect(input, used, made);
        }
        Relation::Call { input, call } => {
            values(&call.arguments);
            collect(input, used, made);
        }
        Relation::Join { left, right, conditions, .. } => {
            values(conditions);
            collect(left, used, made);
            collect(right, used, made);
        }
        Relation::Aggregate { input, keys, calls, .. } => {
            used.extend(keys);
            for call in calls {
                used.extend(call.argument);
                used.extend(call.separator);
                used.extend(call.order.iter().map(|key| key.id));
            }
            collect(input, used, made);
        }
        Relation::Window { input, partition, order, calls } => {
            used.extend(partition);
            used.extend(order.iter().map(|key| key.id));
            used.extend(calls.iter().flat_map(|call| call.arguments.iter().copied()));
            collect(input, used, made);
        }
        Relation::Sort { input, order } => {
            used.extend(order.iter().map(|key| key.id));
            collect(input, used, made);
        }
        Relation::Limit { input, limit } => {
            for value in limit.skip.iter().chain(&limit.count) {
                values(std::slice::from_ref(value));
            }
            used.extend(limit.ties.iter().flatten().map(|key| key.id));
            collect(input, used, made);
        }
        Relation::Text { input, text } => {
            used.extend(text.items.iter().map(|item| item.id));
            collect(input, used, made);
        }
        Relation::Concat { inputs, .. } => {
            for (input, ids) in inputs {
                used.extend(ids);
                collect(input, used, made);
            }
        }
        Relation::SetOperation { left, right, .. } => {
            for (input, ids) in [&**left, &**right] {
                used.extend(ids);
                collect(input, used, made);
            }
        }
        Relation::Recursive(recursive) => {
            for (input, ids) in [&recursive.anchor, &recursive.step] {
                used.extend(ids);
                collect(input, used, made);
            }
        }
    }
}
