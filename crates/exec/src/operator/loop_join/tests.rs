//! Loops against the quadratic model: over kept rows, and over rows that depend on the left one.

use std::cell::RefCell;

use extentdb_expr::ScalarTest;
use extentdb_plan::physical::{Node, Operator};
use proptest::prelude::*;

use super::*;
use crate::operator::join::model::{Case, TYPES, cases};
use crate::testing::{Cell, CellRow, Harness, OUTER, compared, ints, join_types, node, scalar};

/// The number of the value that bound inputs use.
const BOUND: usize = 2 * OUTER;

fn plan(case: &Case, left: Node, right: Node, bindings: Vec<(usize, usize)>) -> Node {
    let join = physical::LoopJoin {
        kind: case.kind,
        left,
        right,
        bindings,
        condition: case.condition(),
    };
    node(Operator::LoopJoin(Box::new(join)), &join_types(case.kind, &TYPES, &TYPES))
}

fn kept(harness: &mut Harness, case: &Case) -> Node {
    let left = harness.given(&TYPES, &case.left);
    let right = harness.given(&TYPES, &case.right);
    plan(case, left, right, Vec::new())
}

/// The first columns are equal, by a filter of the right input.
fn bound(harness: &mut Harness, case: &Case) -> Node {
    let left = harness.given(&TYPES, &case.left);
    let right = harness.given(&TYPES, &case.right);
    let bound = scalar(BOUND, SqlType::Int);
    let condition = compared(&bound, ScalarTest::Equal, &scalar(0, SqlType::Int));
    let right = node(Operator::Filter { input: Box::new(right), condition }, &TYPES);
    plan(case, left, right, vec![(BOUND, 0)])
}

fn assert_joins(harness: &mut Harness, plan: &Node, case: &Case) {
    match (harness.try_run(plan), case.expected()) {
        (Ok(rows), Some(expected)) => assert_eq!(rows, expected),
        (Err(Error::SubqueryRows), None) => {}
        (found, expected) => panic!("{found:?} {expected:?}"),
    }
}

#[test]
fn every_kind_joins_as_the_model_does() {
    let harness = RefCell::new(Harness::new());
    let config = ProptestConfig { cases: 300, ..ProptestConfig::default() };
    proptest!(config, |(case in cases(vec![Vec::new()]))| {
        let mut harness = harness.borrow_mut();
        harness.clear();
        let plan = kept(&mut harness, &case);
        assert_joins(&mut harness, &plan, &case);
    });
}

#[test]
fn every_kind_joins_dependent_rows() {
    let harness = RefCell::new(Harness::new());
    let config = ProptestConfig { cases: 300, ..ProptestConfig::default() };
    proptest!(config, |(case in cases(vec![vec![(0, 0)]]))| {
        // The filter does not tell unknown from false.
        prop_assume!(!matches!(case.kind, JoinKind::Full | JoinKind::Mark(_)));
        let mut harness = harness.borrow_mut();
        harness.clear();
        let plan = bound(&mut harness, &case);
        assert_joins(&mut harness, &plan, &case);
    });
}

#[test]
fn many_pairs_fill_many_batches() {
    let mut harness = Harness::new();
    let rows = 2 * BATCH_ROWS as i64 + 5;
    let right: Vec<CellRow> = (0..rows).map(|row| vec![Cell::Int(1), Cell::Int(row)]).collect();
    let left = ints(&[[Some(1), Some(0)], [Some(2), Some(0)], [Some(1), None]]);
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::Full] {
        for has_condition in [false, true] {
            harness.clear();
            let case = Case {
                kind,
                left: left.clone(),
                right: right.clone(),
                keys: Vec::new(),
                has_condition,
            };
            let plan = kept(&mut harness, &case);
            assert_joins(&mut harness, &plan, &case);
            if kind != JoinKind::Full {
                let case = Case { keys: vec![(0, 0)], ..case };
                let plan = bound(&mut harness, &case);
                assert_joins(&mut harness, &plan, &case);
            }
        }
    }
}

#[test]
fn without_left_rows_the_right_input_is_not_read() {
    let mut harness = Harness::new();
    let left = harness.given(&TYPES, &[]);
    let right = harness.given(&TYPES, &ints(&[[Some(1), Some(1)]]));
    // It fails when it is read.
    let call = Operator::Call {
        input: Box::new(right),
        function: 1,
        arguments: Vec::new(),
        is_guarded: false,
    };
    let right = node(call, &[SqlType::Int, SqlType::Int, SqlType::Int]);
    let join = physical::LoopJoin {
        kind: JoinKind::Inner,
        left,
        right,
        bindings: Vec::new(),
        condition: None,
    };
    let types = [SqlType::Int; 5];
    let plan = node(Operator::LoopJoin(Box::new(join)), &types);
    assert_eq!(harness.run(&plan), Vec::<CellRow>::new());
}
