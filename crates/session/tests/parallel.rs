//! Queries whose tables several threads read give what one thread gives.

mod support;

use std::sync::Arc;

use extentdb_session::{Connection, MemoryLimits, Server};
use support::{batch, connect, server_of};

/// Enough that several threads read them.
const ROWS: usize = 120_000;
const FRAMES: usize = 8192;

fn large() -> (Arc<Server>, Connection) {
    let server = server_of(FRAMES);
    let mut connection = connect(&server);
    batch(&mut connection, "CREATE DATABASE shop");
    batch(&mut connection, "USE shop");
    let made = batch(
        &mut connection,
        &format!(
            "SET NOCOUNT ON; CREATE TABLE sales (id int NOT NULL PRIMARY KEY, part int NOT NULL, \
             price decimal(15, 2) NOT NULL, tax decimal(9, 4) NULL, day date NOT NULL, state \
             char(1) NOT NULL, note varchar(max) NULL); \
             CREATE TABLE parts (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL); \
             INSERT sales SELECT value, value % 997, value * 0.25, CASE WHEN value % 3 = 0 THEN \
             NULL ELSE value % 100 * 0.01 END, DATEADD(day, value % 400, '2020-01-01'), CASE value \
             % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'A' WHEN 2 THEN 'b' ELSE 'c' END, CASE WHEN value % \
             20000 = 0 THEN REPLICATE(CAST('x' AS varchar(max)), 9000) ELSE 'note' END FROM \
             GENERATE_SERIES(1, {ROWS}); \
             INSERT parts SELECT value, 'part' FROM GENERATE_SERIES(0, 500)"
        ),
    );
    assert_eq!(made, "");
    (server, connection)
}

/// With an order where several rows come.
const QUERIES: [&str; 9] = [
    "SELECT COUNT(*), SUM(price), AVG(price), MIN(day), MAX(tax), COUNT(tax), SUM(tax), AVG(part) \
     FROM sales WHERE day >= '2020-03-01'",
    "SELECT UPPER(state) AS s, COUNT(*), SUM(price * (1 + tax)), MIN(price), MAX(id), AVG(tax) \
     FROM sales GROUP BY state ORDER BY s",
    "SELECT part, SUM(price), COUNT(tax) FROM sales WHERE id % 7 = 1 GROUP BY part ORDER BY part",
    "SELECT COUNT(DISTINCT part), COUNT(*) FROM sales WHERE state = 'a'",
    "SELECT id, LEN(note) FROM sales WHERE id % 20000 = 0 ORDER BY id",
    "SELECT p.id, SUM(s.price) FROM sales s JOIN parts p ON p.id = s.part WHERE s.id % 3 = 0 GROUP \
     BY p.id ORDER BY p.id",
    "SELECT COUNT(*) FROM parts p WHERE NOT EXISTS (SELECT * FROM sales s WHERE s.part = p.id AND \
     s.price > 29000)",
    "SELECT TOP 20 id, price FROM sales WHERE state = 'c' ORDER BY price DESC, id",
    "SELECT COUNT(*), SUM(price) FROM sales WHERE id < 0",
];

fn verify_all(connection: &mut Connection) {
    for query in QUERIES {
        let one = batch(connection, &format!("{query} OPTION (MAXDOP 1)"));
        assert!(one.starts_with('['), "{query}\n{one}");
        for hint in ["", " OPTION (MAXDOP 2)", " OPTION (MAXDOP 0)"] {
            assert_eq!(batch(connection, &format!("{query}{hint}")), one, "{query}{hint}");
        }
    }
}

#[test]
fn several_threads_give_what_one_gives() {
    let (server, mut connection) = large();
    let plan = connection.plan_text(QUERIES[0]).unwrap();
    assert!(plan.contains("parallel scan sales"), "{plan}");
    verify_all(&mut connection);
    // With room for few groups, and for none.
    for room in [200_000, 1] {
        server.set_memory_limits(MemoryLimits { server: room, statement: room, login: None });
        verify_all(&mut connection);
    }
}

#[test]
fn what_somebody_changes_is_read_by_the_session() {
    let (server, mut connection) = large();
    let mut other = connect(&server);
    batch(&mut other, "USE shop");
    batch(&mut other, "SET NOCOUNT ON; BEGIN TRANSACTION; DELETE sales WHERE id = 60000");
    batch(&mut connection, "SET LOCK_TIMEOUT 0");
    let count = "SELECT COUNT(*) FROM sales WHERE price > 0";
    assert!(batch(&mut connection, count).contains("1222"));
    batch(&mut connection, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    let dirty = batch(&mut connection, count);
    assert!(dirty.contains(&(ROWS - 1).to_string()), "{dirty}");
    batch(&mut other, "ROLLBACK");
    batch(&mut connection, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    let clean = batch(&mut connection, count);
    assert!(clean.contains(&ROWS.to_string()), "{clean}");
    batch(&mut connection, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(batch(&mut connection, count), clean);
}

#[test]
fn a_row_that_fails_ends_the_query_and_its_threads() {
    let (_server, mut connection) = large();
    for query in [
        "SELECT SUM(1 / (id - 70000)) FROM sales WHERE state = 'c' OR id = 70000",
        "SELECT COUNT(*) FROM sales WHERE 1 / (id - 70000) = 7",
        "SELECT part, SUM(CAST(price * 100000 AS int)) FROM sales GROUP BY part",
    ] {
        let failed = batch(&mut connection, query);
        assert!(failed.contains("8134") || failed.contains("8115"), "{query}\n{failed}");
    }
    verify_all(&mut connection);
    // The table is not read any more.
    assert_eq!(batch(&mut connection, "DROP TABLE sales"), "");
}

#[test]
fn rows_that_are_only_sent_come_in_the_order_of_the_table() {
    let (_server, mut connection) = large();
    let plan = |connection: &mut Connection, text: &str| connection.plan_text(text).unwrap();
    for query in [
        "SELECT id, price FROM sales",
        "SELECT TOP 10 id FROM sales WHERE price > 5",
        "SELECT id FROM sales ORDER BY id",
        "SELECT STRING_AGG(state, '') FROM sales WHERE id < 90000",
        "SELECT SUM(CAST(price AS float)) FROM sales",
    ] {
        let plan = plan(&mut connection, query);
        assert!(!plan.contains("parallel"), "{query}\n{plan}");
    }
}
