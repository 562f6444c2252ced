//! Aggregates by cases, and groups against a quadratic model.

use std::cell::RefCell;

use extentdb_bind::function::Aggregate as Function;
use extentdb_plan::physical::{Node, Operator, SortKey};
use proptest::prelude::*;

use super::*;
use crate::testing::{Cell, CellRow, Harness, ints, node, nvarchar, sorted, varchar};

const DECIMAL: SqlType = SqlType::Decimal { precision: 10, scale: 2 };

fn call(function: Function, argument: Option<usize>, ty: SqlType) -> AggregateCall {
    AggregateCall {
        function,
        argument,
        argument_type: ty,
        separator: None,
        is_distinct: false,
        order: Vec::new(),
        ty: function.result(&ty).unwrap(),
    }
}

fn distinct(function: Function, argument: usize, ty: SqlType) -> AggregateCall {
    AggregateCall { is_distinct: true, ..call(function, Some(argument), ty) }
}

/// A grouping without sets.
fn grouping(input: Node, keys: &[usize], calls: Vec<AggregateCall>) -> Node {
    let sets = None;
    with_sets(Grouping {
        input,
        keys: keys.to_vec(),
        calls,
        sets,
        groupings: Vec::new(),
        is_ordered: false,
        is_divisible: false,
    })
}

fn with_sets(grouping: Grouping) -> Node {
    let mut types: Vec<SqlType> =
        grouping.keys.iter().map(|key| grouping.input.columns[*key].ty).collect();
    types.extend(grouping.calls.iter().map(|call| call.ty));
    types.extend(grouping.groupings.iter().map(|_| SqlType::Int));
    node(Operator::Aggregate(Box::new(grouping)), &types)
}

/// The result of one aggregate over all values.
fn over(
    harness: &mut Harness,
    function: Function,
    ty: SqlType,
    values: &[Cell],
) -> Result<Cell, Error> {
    let rows: Vec<CellRow> = values.iter().map(|value| vec![value.clone()]).collect();
    let input = harness.given(&[ty], &rows);
    let plan = grouping(input, &[], vec![call(function, Some(0), ty)]);
    harness.try_run(&plan).map(|mut rows| {
        assert_eq!(rows.len(), 1);
        rows.remove(0).remove(0)
    })
}

#[test]
fn aggregates_of_numbers() {
    use Function::{Avg, ChecksumAgg, Count, CountBig, Max, Min, Sum};
    let mut harness = Harness::new();
    let ints = |values: &[i64]| values.iter().map(|value| Cell::Int(*value)).collect::<Vec<_>>();
    let wides = |values: &[i128]| values.iter().map(|it| Cell::Wide(*it)).collect::<Vec<_>>();
    let floats = |values: &[f64]| values.iter().map(|it| Cell::Float(*it)).collect::<Vec<_>>();
    let money = SqlType::Money;
    let cases = [
        (Sum, SqlType::TinyInt, ints(&[255, 255, 3]), Cell::Int(513)),
        (Sum, SqlType::SmallInt, ints(&[-32768, -32768]), Cell::Int(-65536)),
        (Sum, SqlType::Int, ints(&[i64::from(i32::MAX), 1, -1]), Cell::Int(i64::from(i32::MAX))),
        (Sum, SqlType::BigInt, ints(&[i64::MAX, 1, -1]), Cell::Int(i64::MAX)),
        (Sum, DECIMAL, wides(&[150, -25]), Cell::Wide(125)),
        (Sum, money, ints(&[10_000, 5]), Cell::Int(10_005)),
        (Sum, SqlType::SmallMoney, ints(&[10_000, 5]), Cell::Int(10_005)),
        (Sum, SqlType::Real, floats(&[0.5, 0.25]), Cell::Float(0.75)),
        (Avg, SqlType::Int, ints(&[1, 2, 4]), Cell::Int(2)),
        (Avg, SqlType::Int, ints(&[-1, -2, -4]), Cell::Int(-2)),
        (Avg, SqlType::TinyInt, ints(&[255, 254]), Cell::Int(254)),
        (Avg, DECIMAL, wides(&[100, 100, 200]), Cell::Wide(1_333_333)),
        (Avg, DECIMAL, wides(&[-100, -100, -200]), Cell::Wide(-1_333_333)),
        (Avg, money, ints(&[10_000, 10_000, 20_000]), Cell::Int(13_333)),
        (Avg, SqlType::Float, floats(&[1.0, 2.0]), Cell::Float(1.5)),
        (Min, SqlType::Int, ints(&[3, -7, 5]), Cell::Int(-7)),
        (Max, SqlType::Int, ints(&[3, -7, 5]), Cell::Int(5)),
        (Max, DECIMAL, wides(&[-3, -7]), Cell::Wide(-3)),
        (Min, SqlType::Float, floats(&[2.5, -0.5]), Cell::Float(-0.5)),
        (Max, SqlType::DateTime, ints(&[-5, 12]), Cell::Int(12)),
        (Count, SqlType::Int, ints(&[3, 3]), Cell::Int(2)),
        (CountBig, SqlType::Int, ints(&[3, 3]), Cell::Int(2)),
        (ChecksumAgg, SqlType::Int, ints(&[12, 10]), Cell::Int(6)),
    ];
    for (function, ty, values, expected) in cases {
        let found = over(&mut harness, function, ty, &values).unwrap();
        assert_eq!(found, expected, "{function:?} of {ty} {values:?}");
        let mut with_null = values.clone();
        with_null.insert(1, Cell::Null);
        let found = over(&mut harness, function, ty, &with_null).unwrap();
        assert_eq!(found, expected, "{function:?} of {ty}, NULL among them");
        let none = match function {
            Count | CountBig => Cell::Int(0),
            _ => Cell::Null,
        };
        for nothing in [&[][..], &[Cell::Null]] {
            let found = over(&mut harness, function, ty, nothing).unwrap();
            assert_eq!(found, none, "{function:?} of {ty} without values");
        }
    }
}

#[test]
fn aggregates_that_leave_their_type_fail() {
    let mut harness = Harness::new();
    let int = i64::from(i32::MAX);
    let wide = 10i128.pow(38) - 1;
    let decimal = SqlType::Decimal { precision: 38, scale: 0 };
    let cases = [
        (Function::Sum, SqlType::Int, vec![Cell::Int(int), Cell::Int(1)]),
        (Function::Sum, SqlType::Int, vec![Cell::Int(-int), Cell::Int(-2)]),
        (Function::Avg, SqlType::Int, vec![Cell::Int(int), Cell::Int(int)]),
        (Function::Sum, SqlType::BigInt, vec![Cell::Int(i64::MAX), Cell::Int(1)]),
        (Function::Sum, SqlType::Money, vec![Cell::Int(i64::MAX), Cell::Int(1)]),
        (Function::Sum, decimal, vec![Cell::Wide(wide), Cell::Wide(1)]),
        (Function::Sum, decimal, vec![Cell::Wide(wide), Cell::Wide(wide), Cell::Wide(wide)]),
        (Function::Avg, decimal, vec![Cell::Wide(wide), Cell::Wide(0)]),
        (Function::Sum, SqlType::Float, vec![Cell::Float(1.7e308), Cell::Float(1.7e308)]),
    ];
    for (function, ty, values) in cases {
        let expected = function.result(&ty).unwrap();
        match over(&mut harness, function, ty, &values) {
            Err(Error::Overflow { ty }) => assert_eq!(ty, expected),
            other => panic!("{function:?} of {ty}: {other:?}"),
        }
    }
}

#[test]
fn spread_of_values() {
    use Function::{StDev, StDevP, Var, VarP};
    let mut harness = Harness::new();
    let values = [2, 4, 4, 4, 5, 5, 7, 9].map(Cell::Int);
    let one = [Cell::Int(7)];
    let cases: [(Function, &[Cell], Option<f64>); 8] = [
        (StDevP, &values, Some(2.0)),
        (VarP, &values, Some(4.0)),
        (Var, &values, Some(32.0 / 7.0)),
        (StDev, &values, Some((32.0f64 / 7.0).sqrt())),
        (StDev, &one, None),
        (StDevP, &one, Some(0.0)),
        (Var, &one, None),
        (VarP, &[], None),
    ];
    for (function, values, expected) in cases {
        match (over(&mut harness, function, SqlType::Int, values).unwrap(), expected) {
            (Cell::Null, None) => {}
            (Cell::Float(found), Some(expected)) => {
                assert!((found - expected).abs() < 1e-12, "{function:?} {found}");
            }
            other => panic!("{function:?} {other:?}"),
        }
    }
    let found = over(&mut harness, VarP, DECIMAL, &[Cell::Wide(150), Cell::Wide(250)]).unwrap();
    assert_eq!(found, Cell::Float(0.25));
}

#[test]
fn extremes_of_texts_follow_the_collation() {
    let mut harness = Harness::new();
    let texts = ["b", "A", "a ", "C", "c"].map(Cell::from);
    for ty in [varchar(10), nvarchar(20)] {
        let least = over(&mut harness, Function::Min, ty, &texts).unwrap();
        assert_eq!(least, Cell::from("A"), "the first of equal ones");
        let greatest = over(&mut harness, Function::Max, ty, &texts).unwrap();
        assert_eq!(greatest, Cell::from("C"));
    }
}

#[test]
fn texts_are_put_together() {
    let mut harness = Harness::new();
    let text = varchar(100);
    let types = [SqlType::Int, text, text];
    let row =
        |key: i64, value: Option<&str>| vec![Cell::Int(key), Cell::from(value), Cell::from(", ")];
    let rows = [
        row(1, Some("b")),
        row(2, None),
        row(1, None),
        row(1, Some("a")),
        row(3, Some("x")),
        row(1, Some("")),
    ];
    let plain = AggregateCall {
        separator: Some(2),
        ..call(Function::StringAgg, Some(1), text)
    };
    let key = SortKey { column: 1, is_descending: true };
    let ordered = AggregateCall { order: vec![key], ..plain.clone() };
    let input = harness.given(&types, &rows);
    let plan = grouping(input, &[0], vec![plain, ordered]);
    let texts = |key, plain: Option<&str>, ordered: Option<&str>| {
        vec![Cell::Int(key), Cell::from(plain), Cell::from(ordered)]
    };
    let expected = [
        texts(1, Some("b, a, "), Some("b, a, ")),
        texts(2, None, None),
        texts(3, Some("x"), Some("x")),
    ];
    assert_eq!(harness.run(&plan), expected);
}

#[test]
fn a_text_of_more_than_8000_bytes_fails() {
    let mut harness = Harness::new();
    let text = varchar(8000);
    let long = "x".repeat(4000);
    for (second, is_error) in [("y".repeat(4000), false), ("y".repeat(4001), true)] {
        for order in [vec![], vec![SortKey { column: 0, is_descending: false }]] {
            let rows = [vec![Cell::from(long.as_str())], vec![Cell::from(second.as_str())]];
            let input = harness.given(&[text], &rows);
            let call = AggregateCall { order, ..call(Function::StringAgg, Some(0), text) };
            let found = harness.try_run(&grouping(input, &[], vec![call]));
            assert_eq!(matches!(found, Err(Error::StringAggLength)), is_error);
        }
    }
}

#[test]
fn a_separator_of_a_code_page_becomes_unicode() {
    let mut harness = Harness::new();
    let rows = [vec![Cell::from("a"), Cell::from("-")], vec![Cell::from("b"), Cell::from("+")]];
    let input = harness.given(&[nvarchar(20), varchar(1)], &rows);
    let aggregate = call(Function::StringAgg, Some(0), nvarchar(20));
    let call = AggregateCall { separator: Some(1), ..aggregate };
    assert_eq!(harness.run(&grouping(input, &[], vec![call])), [[Cell::from("a+b")]]);
}

#[test]
fn sets_are_grouped_each_for_itself() {
    let mut harness = Harness::new();
    let rows = ints(&[[Some(1), Some(1), Some(10)], [Some(1), None, Some(20)]]);
    let int = SqlType::Int;
    let plan = |input: Node| {
        with_sets(Grouping {
            input,
            keys: vec![0, 1],
            calls: vec![call(Function::Sum, Some(2), int)],
            sets: Some(vec![vec![0, 1], vec![1], vec![]]),
            groupings: vec![vec![0, 1], vec![1]],
            is_ordered: false,
            is_divisible: false,
        })
    };
    let input = harness.given(&[int, int, int], &rows);
    let expected = ints(&[
        [Some(1), Some(1), Some(10), Some(0), Some(0)],
        [Some(1), None, Some(20), Some(0), Some(0)],
        [None, Some(1), Some(10), Some(2), Some(0)],
        [None, None, Some(20), Some(2), Some(0)],
        [None, None, Some(30), Some(3), Some(1)],
    ]);
    assert_eq!(harness.run(&plan(input)), expected);
    let input = harness.given(&[int, int, int], &[]);
    let expected = ints(&[[None, None, None, Some(3), Some(1)]]);
    assert_eq!(harness.run(&plan(input)), expected, "GROUP BY () has a row");
}

#[test]
fn without_rows_there_is_one_group_of_all_and_none_of_keys() {
    let mut harness = Harness::new();
    let count = || AggregateCall { argument: None, ..call(Function::Count, None, SqlType::Int) };
    let input = harness.given(&[SqlType::Int], &[]);
    assert_eq!(harness.run(&grouping(input, &[], vec![count()])), [[Cell::Int(0)]]);
    let input = harness.given(&[SqlType::Int], &[]);
    assert_eq!(harness.run(&grouping(input, &[0], vec![count()])), Vec::<CellRow>::new());
}

/// The same by comparing every row with every group.
fn model(rows: &[CellRow], keys: &[usize]) -> Vec<CellRow> {
    let mut groups: Vec<(CellRow, Vec<CellRow>)> = Vec::new();
    for row in rows {
        let key: CellRow = keys.iter().map(|key| row[*key].clone()).collect();
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, rows)) => rows.push(row.clone()),
            None => groups.push((key, vec![row.clone()])),
        }
    }
    let int = |cell: &Cell| match cell {
        Cell::Int(value) => Some(*value),
        _ => None,
    };
    let of_group = |(mut result, rows): (CellRow, Vec<CellRow>)| {
        let values: Vec<i64> = rows.iter().filter_map(|row| int(&row[2])).collect();
        let mut unique = values.clone();
        unique.sort_unstable();
        unique.dedup();
        let some = |value: i64| if values.is_empty() { Cell::Null } else { Cell::Int(value) };
        result.push(Cell::Int(rows.len() as i64));
        result.push(Cell::Int(values.len() as i64));
        result.push(some(values.iter().sum()));
        result.push(some(values.iter().sum::<i64>() / (values.len() as i64).max(1)));
        result.push(some(values.iter().min().copied().unwrap_or_default()));
        result.push(some(values.iter().max().copied().unwrap_or_default()));
        result.push(Cell::Int(unique.len() as i64));
        result.push(some(unique.iter().sum()));
        result
    };
    groups.into_iter().map(of_group).collect()
}

fn calls() -> Vec<AggregateCall> {
    let of = |function| call(function, Some(2), SqlType::Int);
    vec![
        call(Function::Count, None, SqlType::Int),
        of(Function::Count),
        of(Function::Sum),
        of(Function::Avg),
        of(Function::Min),
        of(Function::Max),
        of(Function::ApproxCountDistinct),
        distinct(Function::Sum, 2, SqlType::Int),
    ]
}

#[test]
fn groups_are_those_of_the_model() {
    let harness = RefCell::new(Harness::new());
    let key = || prop_oneof![1 => Just(Cell::Null), 4 => (-2..3i64).prop_map(Cell::Int)];
    let text =
        prop::sample::select(vec![Cell::Null, Cell::from(""), Cell::from("a"), Cell::from("b")]);
    let value = prop_oneof![1 => Just(Cell::Null), 3 => (-9..9i64).prop_map(Cell::Int)];
    let row = (key(), text, value).prop_map(|(a, b, c)| vec![a, b, c]);
    let rows = prop::collection::vec(row, 0..40);
    let keys = prop::sample::select(vec![vec![0], vec![1], vec![0, 1], vec![1, 0]]);
    let config = ProptestConfig { cases: 300, ..ProptestConfig::default() };
    proptest!(config, |(rows in rows, keys in keys)| {
        let mut harness = harness.borrow_mut();
        harness.clear();
        let input = harness.given(&[SqlType::Int, varchar(10), SqlType::Int], &rows);
        let found = harness.run(&grouping(input, &keys, calls()));
        prop_assert_eq!(found, model(&rows, &keys));
    });
}

#[test]
fn many_groups_fill_many_batches() {
    let mut harness = Harness::new();
    let rows: Vec<CellRow> = (0..10_000i64)
        .map(|row| vec![Cell::Int(row * 7919 % 5000), Cell::from("k"), Cell::Int(row % 100)])
        .collect();
    let types = [SqlType::BigInt, varchar(10), SqlType::Int];
    for keys in [vec![0], vec![0, 1]] {
        let input = harness.given_by(&types, &rows, 700);
        let found = harness.run(&grouping(input, &keys, calls()));
        assert_eq!(sorted(found), sorted(model(&rows, &keys)));
    }
}
