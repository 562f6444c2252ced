//! Conditions that OR connects: what all parts have in common, and what each side of a join must
//! satisfy.
//!
//! ```text
//! (a AND b) OR (a AND c)           a AND (b OR c)          a may be a key of a hash join
//! (l1 AND r1) OR (l2 AND r2)       implies l1 OR l2 of the left rows, r1 OR r2 of the right ones
//! ```
//!
//! Both hold with three truth values, too.

use extentdb_expr::{CompileError, Environment, Scalar};

/// The same conditions, with what the parts of each OR have in common as conditions of their own.
pub(crate) fn factored(
    conditions: Vec<Scalar>,
    environment: &Environment,
) -> Result<Vec<Scalar>, CompileError> {
    let mut all = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let Some(parts) = parts(&condition, environment)? else {
            all.push(condition);
            continue;
        };
        let common = common(&parts);
        if common.is_empty() {
            all.push(condition);
            continue;
        }
        let rest = parts.iter().map(|part| {
            let rest: Vec<&Scalar> = part.iter().filter(|it| !common.contains(it)).collect();
            conjunction(&rest, environment)
        });
        let rest: Vec<Option<Scalar>> = rest.collect::<Result<_, _>>()?;
        all.extend(common);
        // Where one part has nothing else, the others add nothing.
        if let Some(rest) = rest.into_iter().collect::<Option<Vec<Scalar>>>() {
            all.extend(disjunction(&rest, environment)?);
        }
    }
    Ok(all)
}

/// What a condition implies about some values: an OR over the conjuncts of each part that use
/// nothing else. `None`: nothing.
pub(crate) fn implied(
    condition: &Scalar,
    is_about: &dyn Fn(&Scalar) -> bool,
    environment: &Environment,
) -> Result<Option<Scalar>, CompileError> {
    let Some(parts) = parts(condition, environment)? else { return Ok(None) };
    let mut own = Vec::with_capacity(parts.len());
    for part in &parts {
        let about: Vec<&Scalar> = part.iter().filter(|it| is_about(it)).collect();
        match conjunction(&about, environment)? {
            Some(part) => own.push(part),
            None => return Ok(None),
        }
    }
    disjunction(&own, environment)
}

/// The conjuncts of each part of an OR; `None` of what is none.
fn parts(
    condition: &Scalar,
    environment: &Environment,
) -> Result<Option<Vec<Vec<Scalar>>>, CompileError> {
    let parts = condition.disjuncts(environment)?;
    if parts.len() < 2 {
        return Ok(None);
    }
    parts.iter().map(|part| part.conjuncts(environment)).collect::<Result<_, _>>().map(Some)
}

fn common(parts: &[Vec<Scalar>]) -> Vec<Scalar> {
    let Some((first, rest)) = parts.split_first() else { return Vec::new() };
    let mut common: Vec<Scalar> = Vec::new();
    for condition in first {
        if !common.contains(condition) && rest.iter().all(|part| part.contains(condition)) {
            common.push(condition.clone());
        }
    }
    common
}

fn conjunction(
    conditions: &[&Scalar],
    environment: &Environment,
) -> Result<Option<Scalar>, CompileError> {
    let Some((first, rest)) = conditions.split_first() else { return Ok(None) };
    let all = rest.iter().try_fold((*first).clone(), |all, it| all.and(it, environment));
    all.map(Some)
}

fn disjunction(
    conditions: &[Scalar],
    environment: &Environment,
) -> Result<Option<Scalar>, CompileError> {
    let Some((first, rest)) = conditions.split_first() else { return Ok(None) };
    let all = rest.iter().try_fold(first.clone(), |all, it| all.or(it, environment));
    all.map(Some)
}

#[cfg(test)]
mod tests {
    use extentdb_expr::{Parameter, ScalarTest, Settings, StatementOptions};
    use extentdb_types::{Collation, SqlType};

    use super::*;

    fn environment() -> Environment {
        Environment {
            columns: Vec::new(),
            database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            settings: Settings::statement(StatementOptions::default()),
        }
    }

    fn equal(place: usize, value: i32, environment: &Environment) -> Scalar {
        let column = Parameter { place, ty: SqlType::Int, is_nullable: true };
        let column = Scalar::parameter(column);
        let value = Scalar::integer(value);
        Scalar::compared(ScalarTest::Equal, &column, &value, environment).unwrap()
    }

    #[test]
    fn what_all_parts_have_becomes_a_condition_of_its_own() {
        let environment = environment();
        let of = |place, value| equal(place, value, &environment);
        let both = |a: &Scalar, b: &Scalar| a.and(b, &environment).unwrap();
        let either = |a: &Scalar, b: &Scalar| a.or(b, &environment).unwrap();
        let (a, b, c) = (of(1, 1), of(2, 2), of(3, 3));
        let cases = [
            (either(&both(&a, &b), &both(&c, &a)), vec![a.clone(), either(&b, &c)]),
            (either(&both(&a, &b), &a), vec![a.clone()]),
            (either(&a, &b), vec![either(&a, &b)]),
            (both(&a, &b), vec![both(&a, &b)]),
        ];
        for (condition, expected) in cases {
            assert_eq!(factored(vec![condition], &environment).unwrap(), expected);
        }
    }

    #[test]
    fn each_side_gets_its_part() {
        let environment = environment();
        let of = |place, value| equal(place, value, &environment);
        let both = |a: &Scalar, b: &Scalar| a.and(b, &environment).unwrap();
        let either = |a: &Scalar, b: &Scalar| a.or(b, &environment).unwrap();
        let left = |it: &Scalar| it.places().all(|place| place == 1);
        let pairs = either(&both(&of(1, 1), &of(2, 2)), &both(&of(1, 3), &of(2, 4)));
        let found = implied(&pairs, &left, &environment).unwrap();
        assert_eq!(found, Some(either(&of(1, 1), &of(1, 3))));
        let one = either(&both(&of(1, 1), &of(2, 2)), &of(2, 4));
        assert_eq!(implied(&one, &left, &environment).unwrap(), None);
    }
}
