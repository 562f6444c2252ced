//! Seconds of a hash join, a hash aggregate and a sort over two million generated rows.
//!
//! `cargo run --release -p extentdb-exec --example operators`
//!
//! Decision 30 compares them with the operators of another engine over the same rows.

#![allow(clippy::disallowed_methods, reason = "it measures times")]

use std::time::Instant;

use extentdb_base::cancel::Cancellation;
use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::{Column, JoinKind};
use extentdb_engine::Vector;
use extentdb_exec::{Batch, Context, NoFunctions, build};
use extentdb_plan::physical::{AggregateCall, Grouping, HashJoin, Node, Operator, SortKey};
use extentdb_types::{Collation, SqlType};

const ROWS: usize = 2_000_000;
const KEYS: u64 = 200_000;
const NAMES: u64 = 100_000;
const BATCH_ROWS: usize = 1024;
const AMOUNT: SqlType = SqlType::Decimal { precision: 19, scale: 2 };
/// Numbers of the inputs among the rows that are given.
const FACTS: usize = 0;
const GROUPS: usize = 1;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn text() -> SqlType {
    SqlType::VarChar {
        len: Some(25),
        collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
    }
}

fn name(random: &mut Random) -> String {
    let number = random.next() % NAMES;
    let is_lower = random.next().is_multiple_of(2);
    if is_lower { format!("customer#{number:09}") } else { format!("CUSTOMER#{number:09}") }
}

fn facts() -> Vec<Batch> {
    let mut random = Random(88_172_645_463_325_252);
    let mut batches = Vec::new();
    for from in (0..ROWS).step_by(BATCH_ROWS) {
        let rows = BATCH_ROWS.min(ROWS - from);
        let mut columns: Vec<Vector> =
            fact_types().iter().map(|ty| Vector::computed(*ty)).collect();
        for row in from..from + rows {
            columns[0].extend_integers(&[row as i64], &|_| true);
            columns[1].extend_integers(&[(random.next() % KEYS) as i64], &|_| true);
            columns[2].push_stored(Some(name(&mut random).as_bytes())).unwrap();
            let amount = i128::from(random.next() % 10_000_000) - 1000;
            columns[3].extend_wide(&[amount], &|_| true);
        }
        batches.push(Batch { rows, columns });
    }
    batches
}

fn groups() -> Vec<Batch> {
    let mut batches = Vec::new();
    for from in (0..KEYS as usize).step_by(BATCH_ROWS) {
        let to = (KEYS as usize).min(from + BATCH_ROWS);
        let mut keys = Vector::computed(SqlType::Int);
        let mut labels = Vector::computed(text());
        for key in from..to {
            keys.extend_integers(&[key as i64], &|_| true);
            labels.push_stored(Some(format!("label {key}").as_bytes())).unwrap();
        }
        batches.push(Batch { rows: to - from, columns: vec![keys, labels] });
    }
    batches
}

fn fact_types() -> [SqlType; 4] {
    [SqlType::BigInt, SqlType::Int, text(), AMOUNT]
}

fn node(operator: Operator, types: &[SqlType]) -> Node {
    let column = |(id, ty): (usize, &SqlType)| Column { id, ty: *ty, is_nullable: true };
    Node {
        operator,
        columns: types.iter().enumerate().map(column).collect(),
        rows: 1.0,
    }
}

fn given(number: usize, types: &[SqlType]) -> Node {
    node(Operator::Recent { number }, types)
}

fn join() -> Node {
    let left = given(FACTS, &fact_types());
    let right = given(GROUPS, &[SqlType::Int, text()]);
    let mut types = fact_types().to_vec();
    types.extend([SqlType::Int, text()]);
    let kind = JoinKind::Inner;
    let join = HashJoin { kind, left, right, keys: vec![(1, 0)], condition: None };
    node(Operator::HashJoin(Box::new(join)), &types)
}

fn aggregate() -> Node {
    let sum = SqlType::Decimal { precision: 38, scale: 2 };
    let call = |function, argument: Option<usize>, ty| AggregateCall {
        function,
        argument,
        argument_type: AMOUNT,
        separator: None,
        is_distinct: false,
        order: Vec::new(),
        ty,
    };
    let calls =
        vec![call(Aggregate::Sum, Some(3), sum), call(Aggregate::Count, None, SqlType::Int)];
    let grouping = Grouping {
        input: given(FACTS, &fact_types()),
        keys: vec![2],
        calls,
        sets: None,
        groupings: Vec::new(),
        is_ordered: false,
        is_divisible: false,
    };
    node(Operator::Aggregate(Box::new(grouping)), &[text(), sum, SqlType::Int])
}

fn sort() -> Node {
    let key = |column, is_descending| SortKey { column, is_descending };
    let input = Box::new(given(FACTS, &fact_types()));
    let operator = Operator::Sort { input, keys: vec![key(3, true), key(2, false)], limit: None };
    node(operator, &fact_types())
}

fn run(what: &str, plan: &Node, context: &mut Context<'_>) {
    for _ in 0..3 {
        let begun = Instant::now();
        let mut operator = build(plan).unwrap();
        operator.open(context).unwrap();
        let mut rows = 0;
        while let Some(batch) = operator.next(context).unwrap() {
            rows += batch.rows;
        }
        println!("{what}: {rows} rows, {:.3} s", begun.elapsed().as_secs_f64());
    }
}

fn main() {
    let cancellation = Cancellation::default();
    let mut functions = NoFunctions;
    let mut context = Context::without_engine(&cancellation, &mut functions);
    context.recent.insert(FACTS, facts());
    context.recent.insert(GROUPS, groups());
    run("join", &join(), &mut context);
    run("aggregate", &aggregate(), &mut context);
    run("sort", &sort(), &mut context);
}
