//! Statements that run again and again on one connection: their plans are kept, and are given up as
//! soon as something is not as it was.

mod support;

use extentdb_session::Connection;
use support::{batch, connect, server};

/// Executions after which a plan is certainly one that was kept.
const TIMES: usize = 4;

fn connected(texts: &[&str]) -> Connection {
    let mut connection = connect(&server());
    for text in texts {
        let told = batch(&mut connection, text);
        assert!(!told.contains(".16."), "{text}: {told}");
    }
    connection
}

/// Runs a text often enough for its plan to be kept; what it gives the last time.
#[track_caller]
fn often(connection: &mut Connection, text: &str) -> String {
    let told: Vec<String> = (0..TIMES).map(|_| batch(connection, text)).collect();
    for one in &told {
        assert!(!one.contains(".16."), "{text}: {one}");
    }
    told.into_iter().last().unwrap()
}

#[track_caller]
fn assert_value(connection: &mut Connection, query: &str, value: &str) {
    let told = batch(connection, query);
    assert_eq!(told.lines().last(), Some(value), "{query}: {told}");
}

#[test]
fn a_table_with_a_trigger_for_another_event_is_changed_again_and_again() {
    let mut connection = connected(&[
        "CREATE TABLE t (a int, b int)",
        "CREATE TRIGGER on_insert ON t AFTER INSERT AS UPDATE t SET b = 7 WHERE a = 1",
        "INSERT t VALUES (1, 0)",
    ]);
    often(&mut connection, "UPDATE t SET b = b + 1");
    assert_value(&mut connection, "SELECT b FROM t", "11");
    often(&mut connection, "INSERT t VALUES (2, 0)");
    assert_value(&mut connection, "SELECT COUNT(*) FROM t WHERE b = 7", "1");
    often(&mut connection, "DELETE t WHERE a = 2");
    assert_value(&mut connection, "SELECT COUNT(*) FROM t", "1");
}

#[test]
fn triggers_fire_from_their_creation_to_their_end() {
    let mut connection = connected(&["CREATE TABLE t (a int)", "CREATE TABLE log (a int)"]);
    let insert = "INSERT t VALUES (1)";
    often(&mut connection, insert);
    let rows = |connection: &mut Connection, value: &str| {
        assert_value(connection, "SELECT COUNT(*) FROM log", value);
    };
    batch(
        &mut connection,
        "CREATE TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT a FROM inserted",
    );
    often(&mut connection, insert);
    rows(&mut connection, "4");
    batch(&mut connection, "DISABLE TRIGGER tr ON t");
    often(&mut connection, insert);
    rows(&mut connection, "4");
    batch(&mut connection, "ENABLE TRIGGER tr ON t");
    often(&mut connection, insert);
    rows(&mut connection, "8");
    batch(&mut connection, "DROP TRIGGER tr");
    often(&mut connection, insert);
    batch(&mut connection, "CREATE TRIGGER tr ON t INSTEAD OF INSERT AS INSERT log VALUES (0)");
    often(&mut connection, insert);
    rows(&mut connection, "12");
    assert_value(&mut connection, "SELECT COUNT(*) FROM t", "20");
}

#[test]
fn changed_definitions_are_seen() {
    let mut connection = connected(&["CREATE TABLE t (a int NOT NULL, b int DEFAULT 1)"]);
    let insert = "INSERT t (a) VALUES (1)";
    often(&mut connection, insert);
    batch(&mut connection, "ALTER TABLE t ADD c int NOT NULL DEFAULT 5");
    often(&mut connection, insert);
    assert_value(&mut connection, "SELECT SUM(c) FROM t", "40");
    batch(&mut connection, "CREATE UNIQUE INDEX u ON t (a) WHERE a > 1");
    often(&mut connection, insert);
    often(&mut connection, "UPDATE t SET b = 2 WHERE a = 1");
    batch(&mut connection, "ALTER TABLE t ADD CONSTRAINT ck CHECK (a <> 1 OR b < 2) , d int");
    batch(&mut connection, "DELETE t; ALTER TABLE t ADD CONSTRAINT few CHECK (a > 1)");
    assert!(batch(&mut connection, insert).contains("547.16."));
    batch(&mut connection, "DROP TABLE t; CREATE TABLE t (x int IDENTITY, a varchar(10))");
    often(&mut connection, insert);
    assert_value(&mut connection, "SELECT MAX(x) FROM t WHERE a = '1'", "4");
}

#[test]
fn names_are_those_of_the_moment() {
    let mut connection = connected(&[
        "CREATE DATABASE other",
        "CREATE TABLE t (a int)",
        "CREATE TABLE other.dbo.t (a int)",
    ]);
    let insert = "INSERT t VALUES (1)";
    often(&mut connection, insert);
    batch(&mut connection, "USE other");
    often(&mut connection, insert);
    let query =
        "SELECT (SELECT COUNT(*) FROM master.dbo.t) * 100 + (SELECT COUNT(*) FROM other.dbo.t)";
    assert_value(&mut connection, query, "404");
    let temporary = "CREATE TABLE #t (a int); INSERT #t VALUES (1); UPDATE #t SET a = 2; \
                     SELECT SUM(a) FROM #t; DROP TABLE #t";
    assert!(often(&mut connection, temporary).ends_with("\n2"));
    let variable = "DECLARE @t TABLE (a int); INSERT @t VALUES (1), (2); DELETE @t WHERE a = 1; \
                    SELECT SUM(a) FROM @t";
    assert!(often(&mut connection, variable).ends_with("\n2"));
}

#[test]
fn options_and_values_are_those_of_the_moment() {
    let mut connection = connected(&["CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int)"]);
    let insert = "INSERT t (id, a) VALUES (100, 1)";
    batch(&mut connection, "SET IDENTITY_INSERT t ON");
    batch(&mut connection, insert);
    for _ in 0..TIMES {
        assert!(batch(&mut connection, insert).contains("2627.14."));
    }
    batch(&mut connection, "SET IDENTITY_INSERT t OFF");
    assert!(batch(&mut connection, insert).contains("544.16."));
    let loop_ = "DECLARE @i int = 0; WHILE @i < 50 BEGIN INSERT t (a) VALUES (@i); SET @i += 1 END";
    often(&mut connection, loop_);
    assert_value(&mut connection, "SELECT SUM(a) FROM t WHERE id > 100", "4900");
    batch(&mut connection, "SET ROWCOUNT 3");
    often(&mut connection, "DELETE t");
    batch(&mut connection, "SET ROWCOUNT 0");
    assert_value(&mut connection, "SELECT COUNT(*) FROM t", "189");
    often(&mut connection, "DELETE t");
    assert_value(&mut connection, "SELECT COUNT(*) FROM t", "0");
    let doomed = "BEGIN TRAN; INSERT t (a) VALUES (1); ROLLBACK";
    often(&mut connection, doomed);
    assert_value(&mut connection, "SELECT COUNT(*) FROM t", "0");
}
