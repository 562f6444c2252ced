//! Plans over skewed data: which access path and which join order statistics choose.

mod support;

use std::time::Duration;

use extentdb_session::Connection;
use support::{batch, connect, server};

/// 20,000 orders: state 0 nearly everywhere, 1 and 2 in a few rows; customers 1 to 2,000, of whom
/// number 7 has half of all orders.
fn orders() -> Connection {
    let mut connection = connect(&server());
    batch(&mut connection, "CREATE DATABASE shop");
    batch(&mut connection, "USE shop");
    let made = batch(
        &mut connection,
        "CREATE TABLE orders (id int NOT NULL PRIMARY KEY, state int NOT NULL, customer int NOT \
         NULL, placed date NOT NULL, note varchar(40) NULL, INDEX by_state (state), INDEX \
         by_customer (customer), INDEX by_date (placed)); \
         CREATE TABLE customers (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL, country \
         int NOT NULL)",
    );
    assert_eq!(made, "");
    let filled = batch(
        &mut connection,
        "SET NOCOUNT ON; \
         INSERT orders SELECT value, CASE WHEN value % 1000 = 0 THEN 1 WHEN value = 5 THEN 2 \
         ELSE 0 END, CASE WHEN value % 2 = 0 THEN 7 ELSE value % 2000 END, DATEADD(day, value / 20, \
         '2020-01-01'), 'note' FROM GENERATE_SERIES(1, 20000); \
         INSERT customers SELECT value, 'name', CASE WHEN value <= 3 THEN 1 ELSE 2 END FROM \
         GENERATE_SERIES(1, 2000)",
    );
    assert_eq!(filled, "");
    connection
}

/// Waits until a query has the plan that is expected: its statistics are built beside it.
fn has_plan(connection: &mut Connection, text: &str, expected: &str) {
    let mut plan = String::new();
    for _ in 0..100 {
        plan = connection.plan_text(text).unwrap();
        if plan.contains(expected) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{text}\n{plan}\nhas no\n{expected}");
}

#[test]
fn an_index_is_taken_for_a_rare_value_and_not_for_a_frequent_one() {
    let mut connection = orders();
    let orders = |condition: &str| format!("SELECT note FROM orders WHERE {condition}");
    has_plan(&mut connection, &orders("state = 1"), "scan orders by by_state =, 20 rows");
    has_plan(&mut connection, &orders("state = 0"), "scan orders, 19979 rows");
    has_plan(&mut connection, &orders("state IN (1, 2)"), "21 rows");
    has_plan(&mut connection, &orders("customer = 9"), "scan orders by by_customer =, 10 rows");
    has_plan(&mut connection, &orders("customer = 7"), "scan orders, 10010 rows");
    // What is known when the statement runs only: the density.
    has_plan(&mut connection, &orders("customer = DATALENGTH(note)"), "rows");
}

#[test]
fn a_range_is_as_long_as_its_bounds_say() {
    let mut connection = orders();
    let between = |from: &str, to: &str| {
        format!("SELECT note FROM orders WHERE placed >= '{from}' AND placed < '{to}'")
    };
    has_plan(&mut connection, &between("2021-03-01", "2021-03-03"), "scan orders by by_date >= <,");
    has_plan(&mut connection, &between("2020-02-01", "2022-03-03"), "scan orders, 15");
}

#[test]
fn a_join_begins_with_the_side_that_has_few_rows() {
    let mut connection = orders();
    let query = |state: i32| {
        format!(
            "SELECT o.note FROM orders o JOIN customers c ON c.id = o.customer WHERE o.state = \
             {state}"
        )
    };
    // One order: its customer by the key. Nearly all of them: all customers.
    has_plan(&mut connection, &query(2), "loop join inner");
    has_plan(&mut connection, &query(0), "hash join inner");
}

#[test]
fn small_tables_have_no_automatic_statistics() {
    let mut connection = connect(&server());
    batch(&mut connection, "CREATE TABLE t (a int NOT NULL, b int NOT NULL)");
    batch(&mut connection, "SET NOCOUNT ON; INSERT t SELECT value, 0 FROM GENERATE_SERIES(1, 900)");
    connection.plan_text("SELECT * FROM t WHERE a = 7").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let found = batch(&mut connection, "SELECT COUNT(*) FROM sys.stats s WHERE s.name LIKE '_WA%'");
    assert!(found.ends_with("\n0"), "{found}");
}

#[test]
fn what_the_parts_of_an_or_have_in_common_is_estimated_once() {
    let mut connection = orders();
    let query = "SELECT o.note FROM orders o JOIN customers c ON (c.id = o.customer AND o.state = 1 \
                 AND c.country = 1) OR (c.id = o.customer AND o.state = 2 AND c.country = 2)";
    has_plan(&mut connection, query, "filter, 21 rows");
    let texts = "SELECT id FROM orders WHERE note LIKE 'no%' AND note NOT LIKE 'x%'";
    has_plan(&mut connection, texts, "filter, 20000 rows");
    has_plan(&mut connection, "SELECT id FROM orders WHERE note LIKE 'x%'", "filter, 1 rows");
}

#[test]
fn a_semi_join_with_a_unique_key_is_an_inner_join() {
    let mut connection = orders();
    let by_key = "SELECT note FROM orders WHERE customer IN (SELECT id FROM customers WHERE country \
                  = 1)";
    has_plan(&mut connection, by_key, "join inner");
    let by_group = "SELECT name FROM customers WHERE id IN (SELECT customer FROM orders GROUP BY \
                    customer HAVING COUNT(*) > 100)";
    has_plan(&mut connection, by_group, "join inner");
    let several = "SELECT name FROM customers WHERE id IN (SELECT customer FROM orders WHERE state = \
                   0)";
    has_plan(&mut connection, several, "join semi");
}

#[test]
fn few_groups_are_made_by_an_index() {
    let mut connection = orders();
    let query = |condition: &str| {
        format!(
            "SELECT name FROM customers c WHERE {condition} AND 5 < (SELECT MAX(state) FROM orders \
             o WHERE o.customer = c.id)"
        )
    };
    has_plan(&mut connection, &query("id = 9"), "scan orders by by_customer =");
    has_plan(&mut connection, &query("country = 2"), "scan orders, 20000 rows");
}
