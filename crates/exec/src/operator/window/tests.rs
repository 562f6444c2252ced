//! Window functions by cases, and all of them against a model that looks at every row for each.

use std::cell::RefCell;

use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::{Frame, FrameBound};
use extentdb_plan::physical::{Node, Operator};
use extentdb_types::SqlType;
use proptest::prelude::*;

use super::*;
use crate::operator::window::model::{FLOAT, OFFSET, ORDER, PARTITION, TEXT, VALUE, WIDE, model};
use crate::testing::{Cell, CellRow, Harness, node, varchar};

const DECIMAL: SqlType = SqlType::Decimal { precision: 10, scale: 2 };

fn types() -> Vec<SqlType> {
    vec![
        SqlType::Int,
        SqlType::Int,
        SqlType::Int,
        SqlType::Float,
        DECIMAL,
        varchar(5),
        SqlType::Int,
    ]
}

const WHOLE: Frame = Frame {
    is_range: true,
    start: FrameBound::UnboundedPreceding,
    end: FrameBound::UnboundedFollowing,
};

const RUNNING: Frame = Frame {
    is_range: true,
    start: FrameBound::UnboundedPreceding,
    end: FrameBound::CurrentRow,
};

fn call(function: WindowFunction, arguments: &[usize], frame: Frame) -> WindowCall {
    let types = types();
    let argument_types: Vec<SqlType> = arguments.iter().map(|column| types[*column]).collect();
    let first = argument_types.first().copied().unwrap_or(SqlType::Int);
    let ty = match function {
        WindowFunction::Aggregate(aggregate) => aggregate.result(&first).unwrap(),
        WindowFunction::PercentRank | WindowFunction::CumeDist | WindowFunction::PercentileCont => {
            SqlType::Float
        }
        WindowFunction::PercentileDisc => SqlType::Int,
        WindowFunction::Lag
        | WindowFunction::Lead
        | WindowFunction::FirstValue
        | WindowFunction::LastValue => first,
        _ => SqlType::BigInt,
    };
    WindowCall {
        function,
        arguments: arguments.to_vec(),
        argument_types,
        frame,
        ignores_nulls: false,
        ty,
    }
}

fn ignoring_nulls(call: WindowCall) -> WindowCall {
    WindowCall { ignores_nulls: true, ..call }
}

fn key(column: usize) -> SortKey {
    SortKey { column, is_descending: false }
}

/// A window over rows, which are sorted first.
fn window(input: Node, partition: &[usize], order: &[usize], calls: Vec<WindowCall>) -> Node {
    let mut types: Vec<SqlType> = input.columns.iter().map(|column| column.ty).collect();
    let keys = partition.iter().chain(order).map(|column| key(*column)).collect();
    let sorted = node(Operator::Sort { input: Box::new(input), keys, limit: None }, &types);
    types.extend(calls.iter().map(|call| call.ty));
    let window = physical::Window {
        input: sorted,
        partition: partition.to_vec(),
        order: order.iter().map(|column| key(*column)).collect(),
        calls,
    };
    node(Operator::Window(Box::new(window)), &types)
}

fn is_close(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Float(a), Cell::Float(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        _ => a == b,
    }
}

fn assert_same(found: &[CellRow], expected: &[CellRow]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let same = found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| is_close(a, b));
        assert!(same, "{found:?}\n{expected:?}");
    }
}

fn rows() -> impl Strategy<Value = Vec<CellRow>> {
    let key = || prop_oneof![1 => Just(Cell::Null), 4 => (0..4i64).prop_map(Cell::Int)];
    let number = prop_oneof![1 => Just(None), 3 => (-20..20i64).prop_map(Some)];
    let text = prop::sample::select(vec![None, Some("a"), Some("b"), Some("cc")]);
    let offset = prop_oneof![1 => Just(Cell::Null), 5 => (0..4i64).prop_map(Cell::Int)];
    let row = (key(), key(), number, text, offset).prop_map(
        |(partition, order, number, text, offset)| {
            let float = number.map_or(Cell::Null, |value| Cell::Float(value as f64));
            let wide = number.map_or(Cell::Null, |value| Cell::Wide(value.into()));
            vec![partition, order, Cell::from(number), float, wide, Cell::from(text), offset]
        },
    );
    prop::collection::vec(row, 0..30)
}

fn frames() -> impl Strategy<Value = Frame> {
    let start = prop_oneof![
        Just(FrameBound::UnboundedPreceding),
        (0..4u64).prop_map(FrameBound::Preceding),
        Just(FrameBound::CurrentRow),
        (0..4u64).prop_map(FrameBound::Following),
    ];
    let end = prop_oneof![
        (0..4u64).prop_map(FrameBound::Preceding),
        Just(FrameBound::CurrentRow),
        (0..4u64).prop_map(FrameBound::Following),
        Just(FrameBound::UnboundedFollowing),
    ];
    let by_rows = (start, end).prop_map(|(start, end)| Frame { is_range: false, start, end });
    let following = Frame {
        is_range: true,
        start: FrameBound::CurrentRow,
        end: FrameBound::UnboundedFollowing,
    };
    let peers = Frame { end: FrameBound::CurrentRow, ..following };
    prop_oneof![
        4 => by_rows,
        1 => prop::sample::select(vec![WHOLE, RUNNING, following, peers]),
    ]
}

fn framed_calls(frame: Frame) -> Vec<WindowCall> {
    let of = |function, column: usize| call(WindowFunction::Aggregate(function), &[column], frame);
    let first = call(WindowFunction::FirstValue, &[VALUE], frame);
    let last = call(WindowFunction::LastValue, &[TEXT], frame);
    vec![
        call(WindowFunction::Aggregate(Aggregate::Count), &[], frame),
        of(Aggregate::Count, VALUE),
        of(Aggregate::CountBig, TEXT),
        of(Aggregate::Sum, VALUE),
        of(Aggregate::Avg, VALUE),
        of(Aggregate::Sum, FLOAT),
        of(Aggregate::Avg, FLOAT),
        of(Aggregate::Sum, WIDE),
        of(Aggregate::Avg, WIDE),
        of(Aggregate::Min, VALUE),
        of(Aggregate::Max, VALUE),
        of(Aggregate::Min, TEXT),
        of(Aggregate::Max, WIDE),
        of(Aggregate::ChecksumAgg, VALUE),
        of(Aggregate::VarP, VALUE),
        ignoring_nulls(first.clone()),
        first,
        ignoring_nulls(last.clone()),
        last,
    ]
}

fn other_calls() -> Vec<WindowCall> {
    let plain = |function| call(function, &[], RUNNING);
    let lag = |arguments: &[usize]| call(WindowFunction::Lag, arguments, RUNNING);
    let lead = |arguments: &[usize]| call(WindowFunction::Lead, arguments, RUNNING);
    vec![
        plain(WindowFunction::RowNumber),
        plain(WindowFunction::Rank),
        plain(WindowFunction::DenseRank),
        plain(WindowFunction::PercentRank),
        plain(WindowFunction::CumeDist),
        lag(&[TEXT]),
        lead(&[VALUE]),
        lag(&[VALUE, OFFSET]),
        lead(&[TEXT, OFFSET]),
        lag(&[VALUE, OFFSET, ORDER]),
        lead(&[VALUE, OFFSET, OFFSET]),
        ignoring_nulls(lag(&[VALUE, OFFSET, ORDER])),
        ignoring_nulls(lead(&[VALUE, OFFSET])),
        ignoring_nulls(lead(&[TEXT])),
    ]
}

#[test]
fn every_function_gives_what_the_model_does() {
    let harness = RefCell::new(Harness::new());
    let config = ProptestConfig { cases: 400, ..ProptestConfig::default() };
    proptest!(config, |(rows in rows(), frame in frames())| {
        let mut harness = harness.borrow_mut();
        harness.clear();
        let calls = [framed_calls(frame), other_calls()].concat();
        let input = harness.given(&types(), &rows);
        let found = harness.run(&window(input, &[PARTITION], &[ORDER], calls.clone()));
        assert_same(&found, &model(&rows, &calls));
    });
}

fn row(partition: i64, value: i64) -> CellRow {
    vec![
        Cell::Int(partition),
        Cell::Int(value),
        Cell::Int(value),
        Cell::Float(value as f64),
        Cell::Wide(value.into()),
        Cell::Null,
        Cell::Null,
    ]
}

fn last_column(rows: &[CellRow]) -> Vec<Cell> {
    rows.iter().map(|row| row[row.len() - 1].clone()).collect()
}

#[test]
fn tiles_are_equal_but_for_one_row() {
    let mut harness = Harness::new();
    for (tiles, expected) in [
        (3, vec![1, 1, 1, 2, 2, 3, 3]),
        (7, vec![1, 2, 3, 4, 5, 6, 7]),
        (100, vec![1, 2, 3, 4, 5, 6, 7]),
        (1, vec![1; 7]),
    ] {
        let rows: Vec<CellRow> = (0..7)
            .map(|value| {
                let mut row = row(1, value);
                row[OFFSET] = Cell::Int(tiles);
                row
            })
            .collect();
        let input = harness.given(&types(), &rows);
        let calls = vec![call(WindowFunction::NTile, &[OFFSET], RUNNING)];
        let found = harness.run(&window(input, &[PARTITION], &[ORDER], calls));
        let expected: Vec<Cell> = expected.into_iter().map(Cell::Int).collect();
        assert_eq!(last_column(&found), expected, "{tiles}");
    }
}

#[test]
fn percentiles_of_partitions() {
    use WindowFunction::{PercentileCont, PercentileDisc};
    let mut harness = Harness::new();
    let cases: [(WindowFunction, f64, &[i64], Cell); 9] = [
        (PercentileCont, 0.5, &[1, 2, 3, 4], Cell::Float(2.5)),
        (PercentileDisc, 0.5, &[1, 2, 3, 4], Cell::Int(2)),
        (PercentileCont, 0.0, &[1, 2, 9], Cell::Float(1.0)),
        (PercentileDisc, 0.0, &[1, 2, 9], Cell::Int(1)),
        (PercentileCont, 1.0, &[1, 2, 9], Cell::Float(9.0)),
        (PercentileDisc, 1.0, &[1, 2, 9], Cell::Int(9)),
        (PercentileCont, 0.25, &[10, 20], Cell::Float(12.5)),
        (PercentileDisc, 0.51, &[10, 20], Cell::Int(20)),
        (PercentileDisc, 0.5, &[], Cell::Null),
    ];
    for (function, share, values, expected) in cases {
        let mut rows: Vec<CellRow> = values.iter().map(|value| row(1, *value)).collect();
        rows.push(row(2, 7));
        rows.push(row(1, 0));
        rows.last_mut().unwrap()[VALUE] = Cell::Null;
        rows.iter_mut().for_each(|row| row[FLOAT] = Cell::Float(share));
        let input = harness.given(&types(), &rows);
        let calls = vec![call(function, &[FLOAT], WHOLE)];
        let found = harness.run(&window(input, &[PARTITION], &[VALUE], calls));
        assert_eq!(found.len(), values.len() + 2);
        assert!(last_column(&found)[..=values.len()].iter().all(|cell| *cell == expected));
    }
}

#[test]
fn arguments_out_of_range_have_their_messages() {
    let mut harness = Harness::new();
    let cases = [
        (WindowFunction::NTile, vec![OFFSET], Cell::Int(0), 4116),
        (WindowFunction::NTile, vec![OFFSET], Cell::Int(-1), 4116),
        (WindowFunction::NTile, vec![OFFSET], Cell::Null, 4116),
        (WindowFunction::Lag, vec![VALUE, OFFSET], Cell::Int(-1), 8730),
        (WindowFunction::Lead, vec![VALUE, OFFSET], Cell::Int(-1), 8730),
        (WindowFunction::PercentileCont, vec![OFFSET], Cell::Int(2), 8727),
        (WindowFunction::PercentileDisc, vec![OFFSET], Cell::Int(-1), 8727),
    ];
    for (function, arguments, argument, expected) in cases {
        let mut own = row(1, 1);
        own[OFFSET] = argument;
        let input = harness.given(&types(), &[own]);
        let calls = vec![call(function, &arguments, RUNNING)];
        match harness.try_run(&window(input, &[PARTITION], &[ORDER], calls)) {
            Err(Error::WindowArgument { number }) => assert_eq!(number, expected),
            other => panic!("{function:?} {other:?}"),
        }
    }
}

#[test]
fn a_sum_that_leaves_its_type_fails_where_it_does() {
    let mut harness = Harness::new();
    let most = i64::from(i32::MAX);
    let rows = [row(1, 0), row(2, most), row(2, most)];
    let sum = WindowFunction::Aggregate(Aggregate::Sum);
    let pairs = Frame {
        is_range: false,
        start: FrameBound::Preceding(1),
        end: FrameBound::CurrentRow,
    };
    let alone = Frame { start: FrameBound::CurrentRow, ..pairs };
    for (frame, is_error) in [(pairs, true), (WHOLE, true), (alone, false)] {
        let input = harness.given(&types(), &rows);
        let calls = vec![call(sum, &[VALUE], frame)];
        let found = harness.try_run(&window(input, &[PARTITION], &[ORDER], calls));
        assert_eq!(matches!(found, Err(Error::Overflow { ty: SqlType::Int })), is_error);
    }
}

#[test]
fn a_large_float_leaves_nothing_behind() {
    let mut harness = Harness::new();
    let mut rows: Vec<CellRow> = (0..4).map(|value| row(1, value)).collect();
    rows[0][FLOAT] = Cell::Float(1e300);
    let frame = Frame {
        is_range: false,
        start: FrameBound::Preceding(1),
        end: FrameBound::CurrentRow,
    };
    let input = harness.given(&types(), &rows);
    let calls = vec![call(WindowFunction::Aggregate(Aggregate::Sum), &[FLOAT], frame)];
    let found = harness.run(&window(input, &[PARTITION], &[ORDER], calls));
    assert_eq!(last_column(&found)[2..], [Cell::Float(3.0), Cell::Float(5.0)]);
}

#[test]
fn what_windows_do_not_compute_is_refused() {
    let mut harness = Harness::new();
    let range = Frame { start: FrameBound::Preceding(2), ..RUNNING };
    let text = call(WindowFunction::Aggregate(Aggregate::StringAgg), &[TEXT], RUNNING);
    let sum = call(WindowFunction::Aggregate(Aggregate::Sum), &[VALUE], range);
    for (call, expected) in [
        (text, "not supported: string_agg over a window"),
        (sum, "not supported: RANGE with a number of rows"),
    ] {
        let input = harness.given(&types(), &[row(1, 1)]);
        let plan = window(input, &[PARTITION], &[ORDER], vec![call]);
        assert_eq!(harness.try_run(&plan).unwrap_err().to_string(), expected);
    }
}

#[test]
fn large_partitions_are_computed_in_one_pass() {
    let mut harness = Harness::new();
    let rows: Vec<CellRow> = (0..60_000).map(|value| row(1, value % 1000)).collect();
    let input = harness.given_by(&types(), &rows, 1000);
    let frame = Frame {
        is_range: false,
        start: FrameBound::Preceding(30_000),
        end: FrameBound::CurrentRow,
    };
    let calls = framed_calls(frame)
        .into_iter()
        .filter(|call| call.function != WindowFunction::Aggregate(Aggregate::VarP));
    let found = harness.run(&window(input, &[PARTITION], &[], calls.collect()));
    let last = &found[59_999];
    assert_eq!(last[types().len()], Cell::Int(30_001));
}
