//! Operators of one or two inputs, by cases.

use std::cell::RefCell;

use extentdb_bind::logical::SetOperation;
use extentdb_expr::{EvalError, ScalarTest};
use extentdb_plan::physical::{self, Expression, LoopJoin, Node, Operator, SortKey, TopRows};
use extentdb_types::SqlType;
use proptest::prelude::*;

use crate::batch::BATCH_ROWS;
use crate::error::Error;
use crate::testing::{
    Cell, CellRow, Harness, OUTER, compared, expression, integer, ints, node, plus, scalar, varchar,
};

const INT: SqlType = SqlType::Int;

fn column(rows: &[CellRow], column: usize) -> Vec<Cell> {
    rows.iter().map(|row| row[column].clone()).collect()
}

fn boxed(node: Node) -> Box<Node> {
    Box::new(node)
}

#[test]
fn values_may_come_from_outside() {
    let mut harness = Harness::new();
    harness.outer.set(OUTER, Some(&7i32.to_le_bytes()));
    let outer = |id| expression(&scalar(id, INT));
    let rows = vec![vec![integer(1), outer(OUTER)], vec![outer(OUTER + 1), integer(-2)]];
    let plan = node(Operator::Values(rows), &[INT, INT]);
    let expected = ints(&[[Some(1), Some(7)], [None, Some(-2)]]);
    assert_eq!(harness.run(&plan), expected);
    assert_eq!(harness.run(&node(Operator::Values(Vec::new()), &[INT])), Vec::<CellRow>::new());
    assert_eq!(harness.run(&node(Operator::Row, &[])), [CellRow::new()]);
}

#[test]
fn a_filter_keeps_what_is_true() {
    let mut harness = Harness::new();
    let rows = ints(&[[Some(1)], [None], [Some(3)], [Some(2)], [None], [Some(0)]]);
    let input = boxed(harness.given(&[INT], &rows));
    let condition = compared(&scalar(0, INT), ScalarTest::Greater, &scalar(OUTER, INT));
    harness.outer.set(OUTER, Some(&1i32.to_le_bytes()));
    let plan = node(Operator::Filter { input, condition }, &[INT]);
    assert_eq!(harness.run(&plan), ints(&[[Some(3)], [Some(2)]]));
    harness.outer.set(OUTER, None);
    assert_eq!(harness.run(&plan), Vec::<CellRow>::new(), "a comparison with NULL is unknown");
}

#[test]
fn a_projection_keeps_and_computes() {
    let mut harness = Harness::new();
    let input = boxed(harness.given(&[INT, INT], &ints(&[[Some(1), Some(10)], [None, Some(20)]])));
    let sum = expression(&plus(&scalar(0, INT), &scalar(1, INT)));
    let operator = Operator::Project { input, keep: vec![1, 1, 0], computed: vec![sum] };
    let expected =
        ints(&[[Some(10), Some(10), Some(1), Some(11)], [Some(20), Some(20), None, None]]);
    assert_eq!(harness.run(&node(operator, &[INT; 4])), expected);
}

#[test]
fn an_expression_without_a_value_ends_the_execution() {
    let mut harness = Harness::new();
    let input = boxed(harness.given(&[INT], &ints(&[[Some(1)], [Some(i32::MAX.into())]])));
    let sum = expression(&plus(&scalar(0, INT), &scalar(0, INT)));
    let operator = Operator::Project { input, keep: vec![], computed: vec![sum] };
    match harness.try_run(&node(operator, &[INT])) {
        Err(Error::Expression(failure)) => {
            assert_eq!(failure.error, EvalError::Overflow);
            assert_eq!(failure.to, INT);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_gives_a_column() {
    let mut harness = Harness::new();
    let input = boxed(harness.given(&[varchar(5)], &[vec![Cell::from("x")], vec![Cell::Null]]));
    let arguments = vec![expression(&scalar(0, varchar(5)))];
    let plan = |function| {
        let operator = Operator::Call {
            input: input.clone(),
            function,
            arguments: arguments.clone(),
            is_guarded: false,
        };
        node(operator, &[varchar(5), varchar(5)])
    };
    let expected = [vec![Cell::from("x"), Cell::from("x")], vec![Cell::Null, Cell::Null]];
    assert_eq!(harness.run(&plan(0)), expected);
    assert!(matches!(harness.try_run(&plan(1)), Err(Error::Function(_))));
}

#[test]
fn a_concatenation_has_all_rows_in_order() {
    let mut harness = Harness::new();
    let rows = [ints(&[[Some(1)], [None]]), Vec::new(), ints(&[[Some(1)]])];
    let inputs = rows.iter().map(|rows| harness.given(&[INT], rows)).collect();
    assert_eq!(harness.run(&node(Operator::Concat(inputs), &[INT])), rows.concat());
}

fn set_operation(harness: &mut Harness, operation: SetOperation, rows: [&[CellRow]; 2]) -> Node {
    let types = [INT, varchar(5)];
    let left = boxed(harness.given(&types, rows[0]));
    let right = boxed(harness.given(&types, rows[1]));
    node(Operator::SetOperation { operation, left, right }, &types)
}

#[test]
fn set_operations_take_null_for_equal_and_each_row_once() {
    let mut harness = Harness::new();
    let row = |key: Option<i64>, text: &str| vec![Cell::from(key), Cell::from(text)];
    let left =
        [row(None, "a"), row(Some(1), "a"), row(None, "A"), row(Some(1), "a "), row(Some(2), "b")];
    let right = [row(None, "a"), row(Some(2), "B"), row(Some(3), "b")];
    let except = set_operation(&mut harness, SetOperation::Except, [&left, &right]);
    assert_eq!(harness.run(&except), [row(Some(1), "a")]);
    let intersect = set_operation(&mut harness, SetOperation::Intersect, [&left, &right]);
    assert_eq!(harness.run(&intersect), [row(None, "a"), row(Some(2), "b")]);
    let except = set_operation(&mut harness, SetOperation::Except, [&left, &[]]);
    assert_eq!(harness.run(&except), [row(None, "a"), row(Some(1), "a"), row(Some(2), "b")]);
}

fn top(skip: Option<Expression>, count: Option<Expression>) -> TopRows {
    TopRows { skip, count, is_percent: false }
}

fn key(column: usize, is_descending: bool) -> SortKey {
    SortKey { column, is_descending }
}

fn sort(input: Node, keys: &[SortKey], limit: Option<TopRows>) -> Node {
    let types: Vec<SqlType> = input.columns.iter().map(|column| column.ty).collect();
    node(Operator::Sort { input: boxed(input), keys: keys.to_vec(), limit }, &types)
}

#[test]
fn a_sort_has_null_first_and_is_stable() {
    let mut harness = Harness::new();
    let row = |text: Option<&str>, number: i64| vec![Cell::from(text), Cell::Int(number)];
    let rows =
        [row(Some("b"), 1), row(Some("A"), 2), row(None, 3), row(Some("a"), 4), row(Some("B "), 5)];
    let input = harness.given(&[varchar(5), INT], &rows);
    for (keys, expected) in [
        (vec![key(0, false)], [3, 2, 4, 1, 5]),
        (vec![key(0, true)], [1, 5, 2, 4, 3]),
        (vec![key(0, false), key(1, true)], [3, 4, 2, 5, 1]),
        (vec![], [1, 2, 3, 4, 5]),
    ] {
        let found = harness.run(&sort(input.clone(), &keys, None));
        assert_eq!(column(&found, 1), expected.map(Cell::Int), "{keys:?}");
    }
}

#[test]
fn a_limited_sort_begins_as_the_whole_one() {
    let harness = RefCell::new(Harness::new());
    let cell = prop_oneof![1 => Just(Cell::Null), 6 => (0..50i64).prop_map(Cell::Int)];
    let rows = prop::collection::vec(cell, 0..4000);
    let config = ProptestConfig { cases: 40, ..ProptestConfig::default() };
    proptest!(config, |(cells in rows, is_descending: bool, skip in 0..4i32, count in 0..60i32)| {
        let mut harness = harness.borrow_mut();
        harness.clear();
        let mut rows: Vec<CellRow> = cells.into_iter().enumerate()
            .map(|(at, cell)| vec![cell, Cell::Int(at as i64)])
            .collect();
        let input = harness.given_by(&[INT, INT], &rows, 300);
        let limit = top(Some(integer(skip)), Some(integer(count.max(1))));
        let sorted = sort(input, &[key(0, is_descending)], Some(limit.clone()));
        let plan = Operator::Top { input: boxed(sorted), top: limit, ties: None };
        let found = harness.run(&node(plan, &[INT, INT]));
        rows.sort_by(|a, b| {
            let order = a[0].partial_cmp(&b[0]).unwrap();
            if is_descending { order.reverse() } else { order }
        });
        let expected = rows.into_iter().skip(skip as usize).take(count.max(1) as usize);
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
    });
}

#[test]
fn top_takes_the_first_rows() {
    let mut harness = Harness::new();
    let rows: Vec<CellRow> = [1, 1, 2, 2, 2, 2, 2, 3].map(|value| vec![Cell::Int(value)]).to_vec();
    let input = boxed(harness.given(&[INT], &rows));
    type Case = (Option<i32>, Option<i32>, bool, &'static [i64]);
    let cases: [Case; 12] = [
        (None, Some(3), false, &[1, 1, 2]),
        (None, Some(3), true, &[1, 1, 2, 2, 2, 2, 2]),
        (None, Some(2), true, &[1, 1]),
        (None, Some(7), true, &[1, 1, 2, 2, 2, 2, 2]),
        (None, Some(8), true, &[1, 1, 2, 2, 2, 2, 2, 3]),
        (None, Some(100), true, &[1, 1, 2, 2, 2, 2, 2, 3]),
        (None, Some(0), false, &[]),
        (None, Some(0), true, &[]),
        (Some(6), None, false, &[2, 3]),
        (Some(6), Some(1), false, &[2]),
        (Some(1), Some(2), false, &[1, 2]),
        (Some(9), Some(2), false, &[]),
    ];
    for (skip, count, has_ties, expected) in cases {
        let top = top(skip.map(integer), count.map(integer));
        let ties = has_ties.then(|| vec![key(0, false)]);
        let found = harness.run(&node(Operator::Top { input: input.clone(), top, ties }, &[INT]));
        let expected: Vec<Cell> = expected.iter().map(|value| Cell::Int(*value)).collect();
        assert_eq!(column(&found, 0), expected, "{skip:?} {count:?} {has_ties}");
    }
}

#[test]
fn a_share_of_rows_is_rounded_up() {
    let mut harness = Harness::new();
    let rows: Vec<CellRow> = [1, 2, 2, 3, 3, 3, 3].map(|value| vec![Cell::Int(value)]).to_vec();
    let input = boxed(harness.given(&[INT], &rows));
    for (share, has_ties, expected) in [
        (0, false, 0),
        (1, false, 1),
        (15, false, 2),
        (15, true, 3),
        (50, false, 4),
        (100, false, 7),
    ] {
        let top = TopRows { skip: None, count: Some(integer(share)), is_percent: true };
        let ties = has_ties.then(|| vec![key(0, false)]);
        let found = harness.run(&node(Operator::Top { input: input.clone(), top, ties }, &[INT]));
        assert_eq!(found, rows[..expected], "{share} percent");
    }
}

#[test]
fn counts_of_rows_that_are_none_have_their_messages() {
    let mut harness = Harness::new();
    let input = boxed(harness.given(&[INT], &ints(&[[Some(1)]])));
    let null = || expression(&scalar(OUTER, INT));
    let text = || expression(&scalar(OUTER, varchar(5)));
    let percent = |count| TopRows { is_percent: true, ..top(None, Some(count)) };
    let cases = [
        (top(None, Some(integer(-1))), 127),
        (top(None, Some(null())), 1060),
        (top(None, Some(text())), 1060),
        (percent(integer(-1)), 1031),
        (percent(integer(101)), 1031),
        (percent(null()), 1060),
        (top(Some(integer(-1)), None), 10742),
        (top(Some(null()), None), 10743),
        (top(Some(integer(0)), Some(integer(0))), 10744),
        (top(Some(integer(0)), Some(integer(-1))), 10744),
        (top(Some(integer(0)), Some(null())), 10745),
    ];
    for (top, expected) in cases {
        let shown = format!("{top:?}");
        let operator = Operator::Top { input: input.clone(), top, ties: None };
        match harness.try_run(&node(operator, &[INT])) {
            Err(Error::RowCount { number }) => assert_eq!(number, expected, "{shown}"),
            other => panic!("{other:?} {shown}"),
        }
    }
}

/// 1, 2, 3 … up to `last`, by a recursion.
fn counting(harness: &mut Harness, last: i32, most: u32) -> Node {
    let anchor = boxed(harness.given(&[INT], &ints(&[[Some(1)]])));
    let recent = boxed(node(Operator::Recent { number: 5 }, &[INT]));
    let own = scalar(0, INT);
    harness.outer.set(OUTER, Some(&last.to_le_bytes()));
    let condition = compared(&own, ScalarTest::Less, &scalar(OUTER, INT));
    let rest = boxed(node(Operator::Filter { input: recent, condition }, &[INT]));
    let next = expression(&plus(&own, &extentdb_expr::Scalar::integer(1)));
    let step = Operator::Project { input: rest, keep: vec![], computed: vec![next] };
    let step = boxed(node(step, &[INT]));
    node(Operator::Recursive { number: 5, anchor, step, most }, &[INT])
}

#[test]
fn a_recursion_runs_until_nothing_is_added() {
    let mut harness = Harness::new();
    for (last, most, is_error) in
        [(1, 1, false), (101, 100, false), (102, 100, true), (500, 0, false)]
    {
        let plan = counting(&mut harness, last, most);
        match harness.try_run(&plan) {
            Ok(rows) => {
                assert!(!is_error);
                let expected: Vec<Cell> = (1..=i64::from(last)).map(Cell::Int).collect();
                assert_eq!(column(&rows, 0), expected);
            }
            Err(Error::Recursion { most: found }) => assert!(is_error && found == most),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_recursion_begins_again_in_a_loop() {
    let mut harness = Harness::new();
    let left = harness.given(&[INT], &ints(&[[Some(2)], [Some(0)], [Some(3)]]));
    let right = counting(&mut harness, 0, 100);
    let join = LoopJoin {
        kind: extentdb_bind::logical::JoinKind::Inner,
        left,
        right,
        bindings: vec![(OUTER, 0)],
        condition: None,
    };
    let plan = node(Operator::LoopJoin(Box::new(join)), &[INT, INT]);
    let expected = ints(&[
        [Some(2), Some(1)],
        [Some(2), Some(2)],
        [Some(0), Some(1)],
        [Some(3), Some(1)],
        [Some(3), Some(2)],
        [Some(3), Some(3)],
    ]);
    assert_eq!(harness.run(&plan), expected);
}

#[test]
fn large_results_come_in_batches() {
    let mut harness = Harness::new();
    let rows: Vec<CellRow> =
        (0..3 * BATCH_ROWS as i64 + 1).map(|it| vec![Cell::Int(-it)]).collect();
    let input = harness.given_by(&[INT], &rows, 999);
    let found = harness.run(&sort(input, &[key(0, false)], None));
    assert_eq!(found, rows.iter().rev().cloned().collect::<Vec<_>>());
}

#[test]
fn a_cancelled_statement_ends() {
    let mut harness = Harness::new();
    let input = harness.given(&[INT], &ints(&[[Some(1)]]));
    harness.session.cancellation().cancel();
    let inputs = [
        sort(input.clone(), &[key(0, false)], None),
        counting(&mut harness, 100, 0),
        node(
            Operator::Aggregate(Box::new(physical::Grouping {
                input: input.clone(),
                keys: vec![0],
                calls: vec![],
                sets: None,
                groupings: vec![],
                is_ordered: false,
                is_divisible: false,
            })),
            &[INT],
        ),
    ];
    for plan in inputs {
        let found = harness.try_run(&plan);
        assert!(
            matches!(&found, Err(Error::Engine(error)) if matches!(**error, extentdb_engine::Error::Cancelled)),
            "{found:?}"
        );
    }
}
