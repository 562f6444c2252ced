//! Queries of many levels: what is done for each of them must not grow with a power of their number.

mod support;

use support::{batch, connect, server};

/// Each level groups by several columns and joins the level below: a planner that counted the rows
/// below again for each column would never come to an end.
#[test]
fn a_query_of_many_grouped_levels_is_planned() {
    let server = server();
    let mut connection = connect(&server);
    batch(
        &mut connection,
        "CREATE TABLE t (a int, b int, c int, d int); INSERT t VALUES (1, 2, 3, 4)",
    );
    let mut query = "SELECT a, b, c, d FROM t".to_owned();
    for _ in 0..20 {
        query = format!(
            "SELECT x.a, x.b, x.c, MAX(x.d) AS d FROM ({query}) AS x LEFT JOIN t \
             ON t.a = x.a AND t.b = x.b AND t.c = x.c GROUP BY x.a, x.b, x.c"
        );
    }
    let told = batch(&mut connection, &query);
    assert!(told.ends_with("1 | 2 | 3 | 4"), "{told}");
}
