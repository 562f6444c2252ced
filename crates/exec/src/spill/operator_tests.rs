//! Operators over more rows than they may keep: the same rows, within the limit, and no longer than
//! their statement is wanted.

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_bind::function::{Aggregate, WindowFunction};
use extentdb_bind::logical::{Frame, FrameBound, JoinKind, SetOperation};
use extentdb_engine::Session;
use extentdb_io::MemDisk;
use extentdb_plan::physical::{
    AggregateCall, Grouping, HashJoin, Node, Operator, SortKey, Window, WindowCall,
};
use extentdb_types::{Datum, SqlType};

use super::WorkArea;
use crate::batch::Batch;
use crate::build::build;
use crate::context::{Context, Functions, NoFunctions};
use crate::error::Error;
use crate::memory::{Memory, MemoryPool};
use crate::testing::{Cell, CellRow, batch, cells, node, sorted, varchar};

const ROWS: i64 = 40_000;
const LIMIT: usize = 256 * 1024;
/// What a limit does not count: buffers of sixteen partitions of two inputs.
const SLACK: usize = 4 * 1024 * 1024;

fn types() -> Vec<SqlType> {
    vec![SqlType::Int, varchar(30), SqlType::Int]
}

/// Numbers, texts in two cases of which half come twice, NULLs among them.
fn rows() -> Vec<CellRow> {
    let row = |row: i64| {
        let number = row * 7919 % ROWS;
        let text = format!("{} number {}", if row % 2 == 0 { "a" } else { "A" }, number / 2);
        let text = if row % 101 == 0 { Cell::Null } else { Cell::Text(text) };
        vec![Cell::Int(number), text, Cell::Int(row % 13)]
    };
    (0..ROWS).map(row).collect()
}

fn input() -> Node {
    node(Operator::Recent { number: 0 }, &types())
}

/// The rows of a plan over the given ones, and the most memory that it used.
fn run(plan: &Node, given: &[Batch], limit: usize, disk: &Arc<MemDisk>) -> (Vec<CellRow>, usize) {
    let pool = MemoryPool::new(usize::MAX);
    let cancellation = Cancellation::new();
    let mut functions = NoFunctions;
    let mut context = Context::without_engine(&cancellation, &mut functions);
    context.recent.insert(0, given.to_vec());
    let area = WorkArea::new(disk.clone(), "/work");
    context.memory = Memory::new(&pool, limit, &area);
    let mut operator = build(plan).unwrap();
    operator.open(&mut context).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(&mut context).unwrap() {
        rows.extend(cells(&batch));
    }
    drop(operator);
    assert_eq!(pool.used(), 0);
    assert_eq!(area.files() > 0, limit < usize::MAX, "work files");
    (rows, pool.peak())
}

fn sort() -> Node {
    let key = |column, is_descending| SortKey { column, is_descending };
    let keys = vec![key(1, true), key(2, false)];
    node(Operator::Sort { input: Box::new(input()), keys, limit: None }, &types())
}

fn aggregate(is_distinct: bool) -> Node {
    let call = |function, argument: Option<usize>, is_distinct| AggregateCall {
        function,
        argument,
        argument_type: SqlType::Int,
        separator: None,
        is_distinct,
        order: Vec::new(),
        ty: SqlType::Int,
    };
    let calls = vec![
        call(Aggregate::Count, None, false),
        call(Aggregate::Count, Some(0), is_distinct),
        call(Aggregate::Max, Some(0), false),
    ];
    let keys = vec![if is_distinct { 2 } else { 1 }];
    let key_type = types()[keys[0]];
    let grouping = Grouping {
        input: input(),
        keys,
        calls,
        sets: None,
        groupings: Vec::new(),
        is_ordered: false,
        is_divisible: false,
    };
    let types = [key_type, SqlType::Int, SqlType::Int, SqlType::Int];
    node(Operator::Aggregate(Box::new(grouping)), &types)
}

fn join(kind: JoinKind) -> Node {
    let join = HashJoin {
        kind,
        left: input(),
        right: input(),
        keys: vec![(1, 1)],
        condition: None,
    };
    let mut all = types();
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        all.extend(types());
    }
    node(Operator::HashJoin(Box::new(join)), &all)
}

fn set_operation(operation: SetOperation) -> Node {
    let left = Box::new(input());
    let right = Box::new(input());
    node(Operator::SetOperation { operation, left, right }, &types())
}

fn window() -> Node {
    let whole = Frame {
        is_range: true,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
    };
    let call = WindowCall {
        function: WindowFunction::RowNumber,
        arguments: Vec::new(),
        argument_types: Vec::new(),
        frame: whole,
        ignores_nulls: false,
        ty: SqlType::BigInt,
    };
    let window = Window {
        input: sort(),
        partition: Vec::new(),
        order: Vec::new(),
        calls: vec![call],
    };
    let mut all = types();
    all.push(SqlType::BigInt);
    node(Operator::Window(Box::new(window)), &all)
}

#[test]
fn operators_give_the_same_rows_within_their_limit() {
    let given: Vec<Batch> = rows().chunks(1000).map(|rows| batch(&types(), rows)).collect();
    let plans = [
        ("sort", sort()),
        ("aggregate", aggregate(false)),
        ("distinct", aggregate(true)),
        ("join", join(JoinKind::Inner)),
        ("full join", join(JoinKind::Full)),
        ("anti join", join(JoinKind::Anti)),
        ("intersect", set_operation(SetOperation::Intersect)),
        ("except", set_operation(SetOperation::Except)),
        ("window", window()),
    ];
    let disk = Arc::new(MemDisk::new());
    for (name, plan) in plans {
        let (expected, most) = run(&plan, &given, usize::MAX, &disk);
        assert!(most > LIMIT, "{name} takes {most} bytes");
        let (found, most) = run(&plan, &given, LIMIT, &disk);
        assert!(most < LIMIT + SLACK, "{name} takes {most} bytes");
        match name {
            "sort" | "window" => assert!(found == expected, "{name}"),
            _ => assert!(sorted(found) == sorted(expected), "{name}"),
        }
    }
}

/// Gives batches, and cancels the statement after some of them.
struct Cancelling<'c> {
    cancellation: &'c Cancellation,
    left: usize,
}

impl Functions for Cancelling<'_> {
    fn call(
        &mut self,
        _: Option<&mut Session>,
        _: usize,
        _: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.cancellation.cancel();
        }
        Ok(Datum::Int(1))
    }
}

#[test]
fn a_statement_that_spills_is_cancelled() {
    let given: Vec<Batch> = rows().chunks(1000).map(|rows| batch(&types(), rows)).collect();
    let mut called = types();
    called.push(SqlType::Int);
    for mut plan in [sort(), aggregate(false), join(JoinKind::Inner)] {
        // A function of the session for each row, which counts them.
        let input = Box::new(self::input());
        let call = Operator::Call { input, function: 0, arguments: Vec::new(), is_guarded: false };
        match &mut plan.operator {
            Operator::Sort { input, .. } => **input = node(call, &called),
            Operator::Aggregate(grouping) => grouping.input = node(call, &called),
            Operator::HashJoin(join) => join.right = node(call, &called),
            _ => {}
        }
        let pool = MemoryPool::new(usize::MAX);
        let area = WorkArea::new(Arc::new(MemDisk::new()), "/work");
        let cancellation = Cancellation::new();
        let mut functions = Cancelling { cancellation: &cancellation, left: ROWS as usize / 2 };
        let mut context = Context::without_engine(&cancellation, &mut functions);
        context.recent.insert(0, given.clone());
        context.memory = Memory::new(&pool, LIMIT, &area);
        let mut operator = build(&plan).unwrap();
        operator.open(&mut context).unwrap();
        let ended =
            std::iter::from_fn(|| operator.next(&mut context).transpose()).find(Result::is_err);
        let is_cancelled = |error: &Error| match error {
            Error::Engine(error) => matches!(**error, extentdb_engine::Error::Cancelled),
            _ => false,
        };
        assert!(ended.is_some_and(|ended| ended.as_ref().err().is_some_and(is_cancelled)));
        drop(operator);
        assert_eq!(pool.used(), 0);
    }
}

#[test]
fn a_full_disk_ends_the_statement() {
    let given: Vec<Batch> = rows().chunks(1000).map(|rows| batch(&types(), rows)).collect();
    for plan in [sort(), aggregate(false), join(JoinKind::Inner), window()] {
        let disk = Arc::new(MemDisk::new());
        disk.set_capacity(Some(200 * 1024));
        let pool = MemoryPool::new(usize::MAX);
        let cancellation = Cancellation::new();
        let mut functions = NoFunctions;
        let mut context = Context::without_engine(&cancellation, &mut functions);
        context.recent.insert(0, given.clone());
        context.memory = Memory::new(&pool, LIMIT, &WorkArea::new(disk, "/work"));
        let mut operator = build(&plan).unwrap();
        operator.open(&mut context).unwrap();
        let ended =
            std::iter::from_fn(|| operator.next(&mut context).transpose()).find(Result::is_err);
        assert!(matches!(ended, Some(Err(Error::WorkFile(_)))));
    }
}
