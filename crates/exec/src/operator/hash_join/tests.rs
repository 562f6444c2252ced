//! Hash joins against the quadratic model, and over large inputs.

use std::cell::RefCell;

use extentdb_plan::physical::{Node, Operator};
use proptest::prelude::*;

use super::*;
use crate::operator::join::model::{Case, TYPES, cases};
use crate::testing::{Cell, CellRow, Harness, ints, join_types, node, nvarchar, varchar};

fn plan(harness: &mut Harness, case: &Case) -> Node {
    let join = physical::HashJoin {
        kind: case.kind,
        left: harness.given(&TYPES, &case.left),
        right: harness.given(&TYPES, &case.right),
        keys: case.keys.clone(),
        condition: case.condition(),
    };
    node(Operator::HashJoin(Box::new(join)), &join_types(case.kind, &TYPES, &TYPES))
}

#[test]
fn every_kind_joins_as_the_model_does() {
    let harness = RefCell::new(Harness::new());
    let keys = vec![vec![(0, 0)], vec![(0, 0), (1, 1)], vec![(1, 0)]];
    let config = ProptestConfig { cases: 600, ..ProptestConfig::default() };
    proptest!(config, |(case in cases(keys))| {
        let mut harness = harness.borrow_mut();
        harness.clear();
        let plan = plan(&mut harness, &case);
        match (harness.try_run(&plan), case.expected()) {
            (Ok(rows), Some(expected)) => prop_assert_eq!(rows, expected),
            (Err(Error::SubqueryRows), None) => {}
            (found, expected) => prop_assert!(false, "{:?} {:?}", found, expected),
        }
    });
}

fn join(harness: &mut Harness, types: [SqlType; 2], left: &[CellRow], right: &[CellRow]) -> usize {
    let join = physical::HashJoin {
        kind: JoinKind::Inner,
        left: harness.given(&types[..1], left),
        right: harness.given(&types[1..], right),
        keys: vec![(0, 0)],
        condition: None,
    };
    let plan = node(Operator::HashJoin(Box::new(join)), &types);
    harness.run(&plan).len()
}

#[test]
fn keys_are_equal_under_their_collation() {
    let mut harness = Harness::new();
    let texts = |texts: &[&str]| texts.iter().map(|it| vec![Cell::from(*it)]).collect::<Vec<_>>();
    let left = texts(&["abc", "x", "y  "]);
    let right = texts(&["ABC", "aBc", "y", "z"]);
    assert_eq!(join(&mut harness, [varchar(10), varchar(10)], &left, &right), 3);
    assert_eq!(join(&mut harness, [varchar(10), varchar(20)], &left, &right), 3);
    assert_eq!(join(&mut harness, [nvarchar(20), nvarchar(20)], &left, &right), 3);
}

#[test]
fn keys_of_other_types_are_refused() {
    let mut harness = Harness::new();
    let join = physical::HashJoin {
        kind: JoinKind::Inner,
        left: harness.given(&[SqlType::Int], &[]),
        right: harness.given(&[SqlType::BigInt], &[]),
        keys: vec![(0, 0)],
        condition: None,
    };
    let plan = node(Operator::HashJoin(Box::new(join)), &[SqlType::Int, SqlType::BigInt]);
    let error = harness.try_run(&plan).unwrap_err();
    assert_eq!(error.to_string(), "not supported: a hash join of int and bigint");
}

#[test]
fn many_partners_fill_many_batches() {
    let mut harness = Harness::new();
    let rows = 3 * BATCH_ROWS as i64;
    let right: Vec<CellRow> = (0..rows).map(|row| vec![Cell::Int(1), Cell::Int(row)]).collect();
    let left = ints(&[[Some(1), Some(0)], [Some(2), Some(0)], [Some(1), None]]);
    for (kind, has_condition, expected) in [
        (JoinKind::Inner, false, 2 * rows),
        (JoinKind::Left, false, 2 * rows + 1),
        (JoinKind::Inner, true, rows - 1),
        (JoinKind::Left, true, rows + 1),
        (JoinKind::Semi, true, 1),
        (JoinKind::Mark(9), true, 3),
        (JoinKind::Full, false, 2 * rows + 1),
    ] {
        harness.clear();
        let case = Case {
            kind,
            left: left.clone(),
            right: right.clone(),
            keys: vec![(0, 0)],
            has_condition,
        };
        let plan = plan(&mut harness, &case);
        let found = harness.run(&plan);
        assert_eq!(found.len() as i64, expected, "{kind:?}");
        assert_eq!(Some(found), case.expected(), "{kind:?}");
    }
}

#[test]
fn a_mark_is_unknown_for_many_rows_with_null() {
    let mut harness = Harness::new();
    let rows = 2 * BATCH_ROWS as i64 + 7;
    let right: Vec<CellRow> = (0..rows).map(|row| vec![Cell::Null, Cell::Int(row)]).collect();
    for second in [rows - 2, rows] {
        harness.clear();
        let case = Case {
            kind: JoinKind::Mark(9),
            left: ints(&[[Some(1), Some(second)], [None, Some(second)]]),
            right: right.clone(),
            keys: vec![(0, 0)],
            has_condition: true,
        };
        let plan = plan(&mut harness, &case);
        let found = harness.run(&plan);
        assert_eq!(Some(found), case.expected(), "{second}");
    }
}
