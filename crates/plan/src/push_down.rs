//! Predicate pushdown: each condition is evaluated as early as the values that it uses are there.

use extentdb_bind::logical::{Computed, JoinKind, Relation};
use extentdb_expr::{CompileError, Environment, Scalar};

use crate::uses::{self, Values};

/// The relation with the conditions that hold upon it, each of them as deep as possible.
pub(crate) fn push(
    relation: Relation,
    conditions: Vec<Scalar>,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    match relation {
        Relation::Filter { input, conditions: mut own } => {
            own.extend(conditions);
            push(*input, own, environment)
        }
        Relation::Join { kind, left, right, conditions: own } => {
            join(kind, (*left, *right), own, conditions, environment)
        }
        Relation::Compute { input, values } => compute(*input, values, conditions, environment),
        Relation::Call { input, call } => {
            let id = call.column.id;
            let (above, below) = parted(conditions, |uses| uses.contains(&id));
            let input = Box::new(push(*input, below, environment)?);
            Ok(Relation::Call { input, call }.filtered(above))
        }
        Relation::Aggregate { input, keys, calls, sets } => {
            let of_keys: Values = keys.iter().copied().collect();
            let made: Values = calls.iter().map(|call| call.column.id).collect();
            // Without keys there is a row even where the input has none.
            let stays = sets.is_some() || keys.is_empty();
            let given = uses::given(&input);
            let (above, below) = parted(conditions, |uses| {
                stays
                    || uses.iter().any(|id| {
                        made.contains(id) || (given.contains(id) && !of_keys.contains(id))
                    })
            });
            let input = Box::new(push(*input, below, environment)?);
            Ok(Relation::Aggregate { input, keys, calls, sets }.filtered(above))
        }
        Relation::Window { input, partition, order, calls } => {
            let given = uses::given(&input);
            let made: Values = calls.iter().map(|call| call.column.id).collect();
            let (above, below) = parted(conditions, |uses| {
                uses.iter()
                    .any(|id| made.contains(id) || (given.contains(id) && !partition.contains(id)))
                    || partition.is_empty()
            });
            let input = Box::new(push(*input, below, environment)?);
            Ok(Relation::Window { input, partition, order, calls }.filtered(above))
        }
        Relation::Sort { input, order } => {
            let input = Box::new(push(*input, conditions, environment)?);
            Ok(Relation::Sort { input, order })
        }
        Relation::Limit { input, limit } => {
            let input = Box::new(push(*input, Vec::new(), environment)?);
            Ok(Relation::Limit { input, limit }.filtered(conditions))
        }
        Relation::Text { input, text } => {
            let input = Box::new(push(*input, Vec::new(), environment)?);
            Ok(Relation::Text { input, text }.filtered(conditions))
        }
        Relation::Concat { inputs, columns } => concat(inputs, columns, conditions, environment),
        Relation::SetOperation { operation, left, right, columns } => {
            let left = (push(left.0, Vec::new(), environment)?, left.1);
            let right = (push(right.0, Vec::new(), environment)?, right.1);
            let (left, right) = (Box::new(left), Box::new(right));
            Ok(Relation::SetOperation { operation, left, right, columns }.filtered(conditions))
        }
        Relation::Recursive(mut recursive) => {
            recursive.anchor.0 = push(
                std::mem::replace(&mut recursive.anchor.0, Relation::Row),
                Vec::new(),
                environment,
            )?;
            recursive.step.0 = push(
                std::mem::replace(&mut recursive.step.0, Relation::Row),
                Vec::new(),
                environment,
            )?;
            Ok(Relation::Recursive(recursive).filtered(conditions))
        }
        leaf => Ok(leaf.filtered(conditions)),
    }
}

/// Conditions that stay, by the values that they use, and the others.
fn parted(conditions: Vec<Scalar>, stays: impl Fn(&Values) -> bool) -> (Vec<Scalar>, Vec<Scalar>) {
    conditions.into_iter().partition(|condition| stays(&uses::of(condition)))
}

fn compute(
    input: Relation,
    values: Vec<Computed>,
    conditions: Vec<Scalar>,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    let mut above = Vec::new();
    let mut below = Vec::new();
    for condition in conditions {
        // A value that is another one by another number is replaced.
        let renamed = condition.replaced(environment, &|place| {
            let own = values.iter().find(|it| it.id == place)?;
            own.value.as_parameter().map(Scalar::parameter)
        })?;
        let uses = uses::of(&renamed);
        if values.iter().any(|it| uses.contains(&it.id)) {
            above.push(condition);
        } else {
            below.push(renamed);
        }
    }
    Ok(push(input, below, environment)?.computing(values).filtered(above))
}

fn concat(
    inputs: Vec<(Relation, Vec<usize>)>,
    columns: Vec<extentdb_bind::logical::Column>,
    conditions: Vec<Scalar>,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    let mut pushed = Vec::with_capacity(inputs.len());
    for (input, ids) in inputs {
        let given = input.columns();
        let mut own = Vec::new();
        for condition in &conditions {
            own.push(condition.replaced(environment, &|place| {
                let at = columns.iter().position(|column| column.id == place)?;
                let id = ids.get(at)?;
                let column = given.iter().find(|column| column.id == *id)?;
                Some(Scalar::parameter(extentdb_expr::Parameter {
                    place: column.id,
                    ty: column.ty,
                    is_nullable: column.is_nullable,
                }))
            })?);
        }
        pushed.push((push(input, own, environment)?, ids));
    }
    Ok(Relation::Concat { inputs: pushed, columns })
}

fn join(
    kind: JoinKind,
    (left, right): (Relation, Relation),
    own: Vec<Scalar>,
    above: Vec<Scalar>,
    environment: &Environment,
) -> Result<Relation, CompileError> {
    let of_left = uses::given(&left);
    let of_right = uses::given(&right);
    let uses_left = |condition: &Scalar| condition.places().any(|id| of_left.contains(&id));
    let uses_right = |condition: &Scalar| condition.places().any(|id| of_right.contains(&id));
    let mut to_left = Vec::new();
    let mut to_right = Vec::new();
    let mut kept = Vec::new();
    let mut stays = Vec::new();
    let mark = if let JoinKind::Mark(id) = kind { Some(id) } else { None };
    for condition in above {
        let is_of_mark = mark.is_some_and(|id| condition.places().any(|place| place == id));
        match (kind, uses_left(&condition), uses_right(&condition)) {
            (JoinKind::Full, ..) => stays.push(condition),
            _ if is_of_mark => stays.push(condition),
            (_, _, false) => to_left.push(condition),
            (JoinKind::Inner, false, true) => to_right.push(condition),
            (JoinKind::Inner, true, true) => kept.push(condition),
            _ => stays.push(condition),
        }
    }
    for condition in own {
        match (kind, uses_left(&condition), uses_right(&condition)) {
            (JoinKind::Inner | JoinKind::Semi, true, false) => to_left.push(condition),
            // A condition of an IN that is unknown makes the mark unknown.
            (
                JoinKind::Inner
                | JoinKind::Semi
                | JoinKind::Anti
                | JoinKind::Left
                | JoinKind::Single,
                false,
                true,
            ) => to_right.push(condition),
            _ => kept.push(condition),
        }
    }
    let left = Box::new(push(left, to_left, environment)?);
    let right = Box::new(push(right, to_right, environment)?);
    Ok(Relation::Join { kind, left, right, conditions: kept }.filtered(stays))
}
