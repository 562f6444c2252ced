//! Joins as a quadratic model, against which hash joins and loops are tested.

use extentdb_bind::logical::JoinKind;
use extentdb_expr::ScalarTest;
use extentdb_plan::physical::Expression;
use extentdb_types::SqlType;
use proptest::prelude::*;

use crate::testing::{Cell, CellRow, compared, scalar};

/// Columns of each side: two integers.
pub(crate) const TYPES: [SqlType; 2] = [SqlType::Int, SqlType::Int];

/// All kinds of joins.
pub(crate) const KINDS: [JoinKind; 7] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::Mark(9),
    JoinKind::Single,
];

/// A join of two inputs with two integers each.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) kind: JoinKind,
    pub(crate) left: Vec<CellRow>,
    pub(crate) right: Vec<CellRow>,
    pub(crate) keys: Vec<(usize, usize)>,
    /// The second column of the left side is less than that of the right one.
    pub(crate) has_condition: bool,
}

impl Case {
    pub(crate) fn condition(&self) -> Option<Expression> {
        let left = scalar(1, SqlType::Int);
        let right = scalar(3, SqlType::Int);
        self.has_condition.then(|| compared(&left, ScalarTest::Less, &right))
    }

    fn truth(&self, left: &[Cell], right: &[Cell]) -> Option<bool> {
        let known = |a: &Cell, b: &Cell| *a != Cell::Null && *b != Cell::Null;
        let mut truths: Vec<Option<bool>> = (self.keys.iter())
            .map(|(a, b)| known(&left[*a], &right[*b]).then(|| left[*a] == right[*b]))
            .collect();
        if self.has_condition {
            truths.push(known(&left[1], &right[1]).then(|| left[1] < right[1]));
        }
        if truths.contains(&Some(false)) {
            return Some(false);
        }
        (!truths.contains(&None)).then_some(true)
    }

    /// The rows of the result in their order; `None`: a second partner.
    pub(crate) fn expected(&self) -> Option<Vec<CellRow>> {
        let mut rows = Vec::new();
        let nulls = || vec![Cell::Null; TYPES.len()];
        for left in &self.left {
            let truths: Vec<Option<bool>> =
                self.right.iter().map(|right| self.truth(left, right)).collect();
            let partners = self.right.iter().zip(&truths).filter(|(_, it)| **it == Some(true));
            let partners: Vec<&CellRow> = partners.map(|(right, _)| right).collect();
            let has_partner = !partners.is_empty();
            let pairs = partners.iter().map(|right| [left.clone(), (*right).clone()].concat());
            match self.kind {
                JoinKind::Semi if has_partner => rows.push(left.clone()),
                JoinKind::Anti if !has_partner => rows.push(left.clone()),
                JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::Mark(_) => {
                    let is_unknown = !has_partner && truths.contains(&None);
                    let mark = (!is_unknown).then_some(i64::from(has_partner));
                    rows.push([left.clone(), vec![Cell::from(mark)]].concat());
                }
                JoinKind::Single if partners.len() > 1 => return None,
                JoinKind::Inner => rows.extend(pairs),
                _ if has_partner => rows.extend(pairs),
                _ => rows.push([left.clone(), nulls()].concat()),
            }
        }
        if self.kind == JoinKind::Full {
            let is_alone = |right: &&CellRow| {
                !self.left.iter().any(|left| self.truth(left, right) == Some(true))
            };
            let alone = self.right.iter().filter(is_alone);
            rows.extend(alone.map(|right| [nulls(), right.clone()].concat()));
        }
        Some(rows)
    }
}

fn rows(most: usize) -> impl Strategy<Value = Vec<CellRow>> {
    let cell = || prop_oneof![1 => Just(Cell::Null), 4 => (0..4i64).prop_map(Cell::Int)];
    prop::collection::vec((cell(), cell()).prop_map(|(a, b)| vec![a, b]), 0..most)
}

/// Any small join with keys, or none.
pub(crate) fn cases(keys: Vec<Vec<(usize, usize)>>) -> impl Strategy<Value = Case> {
    let kind = prop::sample::select(KINDS.to_vec());
    let keys = prop::sample::select(keys);
    (kind, rows(12), rows(9), keys, any::<bool>()).prop_map(
        |(kind, left, right, keys, has_condition)| Case { kind, left, right, keys, has_condition },
    )
}
