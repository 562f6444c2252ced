//! Joins of up to 64 tables, as public test suites ask them: comma joins over primary keys, with
//! tables and conditions in random order.
//!
//! Each table `k1` … `k64` has ten rows, `a` from 1 to 10 as its key and `b` the same numbers in
//! another order. A query links tables to a chain `b` → `a` whose last key is fixed, so it has one
//! row, which the test finds by going along the chain. A planner that tries all orders of 64 tables
//! does not come to its end. `DEEP_JOINS_SEED=n` begins with another seed.

mod support;

use extentdb_session::Connection;
use support::draw::Draw;
use support::{batch, connect, server};

const TABLES: usize = 64;
const ROWS: usize = 10;

/// Rows of a table: `b` by `a`, from 0.
type Links = Vec<usize>;

/// Numbers in a random order.
fn shuffled(draw: &mut Draw, mut all: Vec<usize>) -> Vec<usize> {
    for at in (1..all.len()).rev() {
        let other = draw.below(at as u64 + 1) as usize;
        all.swap(at, other);
    }
    all
}

fn prepared(draw: &mut Draw) -> (Connection, Vec<Links>) {
    let mut connection = connect(&server());
    for text in ["CREATE DATABASE deep", "USE deep", "SET NOCOUNT ON"] {
        batch(&mut connection, text);
    }
    let mut all = Vec::new();
    for table in 0..TABLES {
        let links = shuffled(draw, (0..ROWS).collect());
        let mut text = format!(
            "CREATE TABLE k{table} (a{table} int PRIMARY KEY, b{table} int, x{table} varchar(40))\n"
        );
        for (a, b) in links.iter().enumerate() {
            text.push_str(&format!("INSERT k{table} VALUES ({a}, {b}, 'k{table}:{a}')\n"));
        }
        assert_eq!(batch(&mut connection, &text), "");
        all.push(links);
    }
    (connection, all)
}

/// A query over a chain of tables, and its one row.
struct Question {
    text: String,
    row: String,
}

fn question(draw: &mut Draw, tables: &[Links], depth: usize) -> Question {
    let mut chain = shuffled(draw, (0..TABLES).collect());
    chain.truncate(depth);
    let last = draw.below(ROWS as u64) as usize;
    let mut conditions = vec![format!("a{} = {last}", chain[depth - 1])];
    for pair in chain.windows(2) {
        let sides = [format!("a{}", pair[1]), format!("b{}", pair[0])];
        let first = draw.below(2) as usize;
        conditions.push(format!("{} = {}", sides[first], sides[1 - first]));
    }
    let order = shuffled(draw, (0..conditions.len()).collect());
    let conditions: Vec<&str> = order.iter().map(|at| conditions[*at].as_str()).collect();
    let mut keys = vec![0; TABLES];
    let mut key = last;
    for table in chain.iter().rev() {
        let is_last = *table == chain[depth - 1];
        if !is_last {
            key = tables[*table].iter().position(|b| *b == key).unwrap();
        }
        keys[*table] = key;
    }
    let selected = shuffled(draw, chain.clone());
    let listed = shuffled(draw, chain);
    let items: Vec<String> = selected.iter().map(|table| format!("x{table}")).collect();
    let from: Vec<String> = listed.iter().map(|table| format!("k{table}")).collect();
    let row: Vec<String> =
        selected.iter().map(|table| format!("k{table}:{}", keys[*table])).collect();
    Question {
        text: format!(
            "SELECT {}\nFROM {}\nWHERE {}",
            items.join(", "),
            from.join(", "),
            conditions.join("\n  AND ")
        ),
        row: row.join(" | "),
    }
}

#[test]
fn a_chain_of_tables_in_any_order_gives_its_one_row() {
    let seed = std::env::var("DEEP_JOINS_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(5);
    let mut draw = Draw::of(seed);
    let (mut connection, tables) = prepared(&mut draw);
    for depth in (2..=TABLES).step_by(4).chain([63, 64]) {
        for _ in 0..2 {
            let Question { text, row } = question(&mut draw, &tables, depth);
            let answer = batch(&mut connection, &text);
            let found = answer.lines().last().unwrap_or_default();
            assert!(found.ends_with(&row), "seed {seed}\n{text}\n{answer}\n{row}");
        }
    }
}
