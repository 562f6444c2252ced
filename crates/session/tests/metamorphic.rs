//! Two ways to ask the same must give the same rows.
//!
//! Known techniques: ternary logic partitioning (TLP) and non-optimising reference engine
//! construction (NoREC) of SQLancer; and pairs of queries that are equal by definition. The
//! conditions are random, those of a seed always the same; the tables are small, have NULLs and
//! duplicates, and exist twice: as a heap, and with indexes.
//!
//! `METAMORPHIC_SEED=n` begins with another seed, `METAMORPHIC_CASES=n` runs more of them.

#[path = "metamorphic/expression.rs"]
mod expression;
mod support;

use expression::Maker;
use extentdb_session::Connection;
use support::draw::Draw;
use support::{batch, connect, server};

const TABLES: [&str; 4] = ["t", "u", "ti", "ui"];

/// Tables `t` and `u`, and `ti` and `ui` with the same rows and indexes.
fn prepared() -> Connection {
    let server = server();
    let mut connection = connect(&server);
    batch(&mut connection, "CREATE DATABASE pairs");
    batch(&mut connection, "USE pairs");
    batch(&mut connection, "SET NOCOUNT ON");
    let columns = "a int, b int, c decimal(9, 2), s varchar(10), n nvarchar(8), d date";
    let mut draw = Draw::of(7);
    for (table, rows) in [("t", 40), ("u", 25)] {
        let mut texts = vec![
            format!("CREATE TABLE {table} (id int NOT NULL, {columns})"),
            format!("CREATE TABLE {table}i (id int NOT NULL PRIMARY KEY, {columns})"),
            format!("CREATE INDEX by_a ON {table}i (a) INCLUDE (c)"),
            format!("CREATE INDEX by_b_s ON {table}i (b, s)"),
            format!("CREATE INDEX by_d ON {table}i (d DESC)"),
        ];
        texts.extend((1..=rows).map(|id| {
            let row = row(&mut draw, id);
            format!("INSERT INTO {table} VALUES {row}; INSERT INTO {table}i VALUES {row}")
        }));
        for text in texts {
            assert_eq!(batch(&mut connection, &text), "", "{text}");
        }
    }
    connection
}

fn row(draw: &mut Draw, id: u64) -> String {
    let mut field = |text: String| if draw.below(5) == 0 { "NULL".to_owned() } else { text };
    let a = field((id * 7 % 6).to_string());
    let b = field((id * 5 % 9).to_string());
    let c = field(format!("{}.{}", id % 4, id * 3 % 10));
    let s = field(expression::TEXTS[(id % 6) as usize].to_owned());
    let n = field(format!("N{}", expression::TEXTS[(id * 5 % 6) as usize]));
    let d = field(format!("'2024-01-0{}'", 1 + id % 8));
    format!("({id}, {a}, {b}, {c}, {s}, {n}, {d})")
}

/// The rows of a query, sorted.
fn rows(connection: &mut Connection, text: &str) -> Vec<String> {
    let answer = batch(connection, text);
    // A warning that an aggregate passes NULLs over is no row.
    let is_row = |line: &&str| !line.starts_with('[') && !line.starts_with("8153.");
    let rows = answer.lines().filter(is_row);
    let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    rows.sort();
    rows
}

/// Pairs of queries that are equal, about conditions `p` of table `x` and `q` of `x` and `y`.
fn pairs(t: &str, u: &str, p: &str, q: &str) -> Vec<(String, String)> {
    let pair = |one: String, other: String| (one, other);
    vec![
        // A condition is true, false or unknown.
        pair(
            format!("SELECT x.id FROM {t} x"),
            format!(
                "SELECT x.id FROM {t} x WHERE {p} UNION ALL SELECT x.id FROM {t} x WHERE NOT ({p}) \
                 UNION ALL SELECT x.id FROM {t} x WHERE CASE WHEN {p} THEN 1 WHEN NOT ({p}) \
                 THEN 0 END IS NULL"
            ),
        ),
        // A condition as a filter and as a value.
        pair(
            format!("SELECT COUNT(*) FROM {t} x WHERE {p}"),
            format!(
                "SELECT COALESCE(SUM(z.f), 0) FROM (SELECT CASE WHEN {p} THEN 1 ELSE 0 END f FROM \
                 {t} x) z"
            ),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE {p}"),
            format!("SELECT z.id FROM (SELECT x.id, IIF({p}, 1, 0) f FROM {t} x) z WHERE z.f = 1"),
        ),
        // With indexes and without.
        pair(
            format!("SELECT x.id, x.a, x.s FROM {t} x WHERE {p}"),
            format!("SELECT x.id, x.a, x.s FROM {} x WHERE {p}", twin(t)),
        ),
        // Joins: products with a filter, both orders, as APPLY.
        pair(
            format!("SELECT x.id, y.id FROM {t} x JOIN {u} y ON {q}"),
            format!("SELECT x.id, y.id FROM {u} y CROSS JOIN {t} x WHERE {q}"),
        ),
        pair(
            format!("SELECT x.id, y.id FROM {t} x JOIN {u} y ON x.a = y.a AND {q}"),
            format!(
                "SELECT x.id, z.id FROM {t} x CROSS APPLY (SELECT y.id FROM {} y WHERE y.a = x.a \
                 AND {q}) z",
                twin(u)
            ),
        ),
        // An outer join is the inner one and the rows without a partner.
        pair(
            format!("SELECT x.id, y.id FROM {t} x LEFT JOIN {u} y ON {q}"),
            format!(
                "SELECT x.id, y.id FROM {t} x JOIN {u} y ON {q} UNION ALL SELECT x.id, NULL FROM \
                 {t} x WHERE NOT EXISTS (SELECT 1 FROM {u} y WHERE {q})"
            ),
        ),
        pair(
            format!("SELECT x.id, y.id FROM {t} x RIGHT JOIN {u} y ON x.b = y.b AND {q}"),
            format!("SELECT x.id, y.id FROM {u} y LEFT JOIN {t} x ON x.b = y.b AND {q}"),
        ),
        pair(
            format!("SELECT x.id, y.id FROM {t} x LEFT JOIN {u} y ON {q} WHERE y.a > 1"),
            format!("SELECT x.id, y.id FROM {t} x JOIN {u} y ON {q} WHERE y.a > 1"),
        ),
        // EXISTS, semi-joins and counts.
        pair(
            format!("SELECT x.id FROM {t} x WHERE EXISTS (SELECT * FROM {u} y WHERE {q})"),
            format!("SELECT DISTINCT x.id FROM {t} x JOIN {u} y ON {q}"),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE EXISTS (SELECT * FROM {u} y WHERE {q})"),
            format!("SELECT x.id FROM {t} x WHERE (SELECT COUNT(*) FROM {u} y WHERE {q}) > 0"),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE x.a IN (SELECT y.a FROM {u} y WHERE {q})"),
            format!(
                "SELECT x.id FROM {t} x WHERE EXISTS (SELECT * FROM {u} y WHERE x.a = y.a AND {q})"
            ),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE x.a NOT IN (SELECT y.a FROM {u} y WHERE {q})"),
            format!("SELECT x.id FROM {t} x WHERE x.a <> ALL (SELECT y.a FROM {u} y WHERE {q})"),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE x.a NOT IN (SELECT y.a FROM {u} y WHERE {q})"),
            format!(
                "SELECT x.id FROM {t} x WHERE NOT EXISTS (SELECT * FROM {u} y WHERE ({q}) AND \
                 (x.a = y.a OR x.a IS NULL OR y.a IS NULL))"
            ),
        ),
        // Scalar subqueries and grouped joins.
        pair(
            format!("SELECT x.id, (SELECT SUM(y.b) FROM {u} y WHERE y.a = x.a AND {q}) FROM {t} x"),
            format!(
                "SELECT x.id, SUM(y.b) FROM {t} x LEFT JOIN {u} y ON y.a = x.a AND {q} GROUP BY x.id"
            ),
        ),
        pair(
            format!("SELECT x.id, (SELECT COUNT(*) FROM {u} y WHERE {q}) FROM {t} x"),
            format!("SELECT x.id, COUNT(y.id) FROM {t} x LEFT JOIN {u} y ON {q} GROUP BY x.id"),
        ),
        // Windows and subqueries.
        pair(
            format!(
                "SELECT x.id, SUM(x.b) OVER (PARTITION BY x.a), COUNT(*) OVER (PARTITION BY x.a, \
                 x.s) FROM {t} x WHERE {p}"
            ),
            format!(
                "WITH x AS (SELECT x.* FROM {t} x WHERE {p}) SELECT x.id, (SELECT SUM(y.b) FROM x y \
                 WHERE y.a = x.a OR y.a IS NULL AND x.a IS NULL), (SELECT COUNT(*) FROM x y WHERE \
                 EXISTS (SELECT y.a, y.s INTERSECT SELECT x.a, x.s)) FROM x"
            ),
        ),
        pair(
            format!(
                "SELECT x.id, RANK() OVER (ORDER BY x.d, x.a), SUM(x.b) OVER (ORDER BY x.id), \
                 ROW_NUMBER() OVER (ORDER BY x.id DESC) FROM {t} x WHERE {p} AND x.a IS NOT NULL \
                 AND x.d IS NOT NULL"
            ),
            format!(
                "WITH x AS (SELECT x.* FROM {t} x WHERE {p} AND x.a IS NOT NULL AND x.d IS NOT \
                 NULL) SELECT x.id, (SELECT COUNT(*) + 1 FROM x y WHERE y.d < x.d OR y.d = x.d AND \
                 y.a < x.a), (SELECT SUM(y.b) FROM x y WHERE y.id <= x.id), (SELECT COUNT(*) FROM \
                 x y WHERE y.id >= x.id) FROM x"
            ),
        ),
        // Groups.
        pair(
            format!("SELECT DISTINCT x.a, x.s FROM {t} x WHERE {p}"),
            format!("SELECT x.a, x.s FROM {t} x WHERE {p} GROUP BY x.s, x.a"),
        ),
        pair(
            format!("SELECT x.a, COUNT(*), MIN(x.c) FROM {t} x WHERE {p} GROUP BY ROLLUP (x.a)"),
            format!(
                "SELECT x.a, COUNT(*), MIN(x.c) FROM {t} x WHERE {p} GROUP BY x.a UNION ALL SELECT \
                 NULL, COUNT(*), MIN(x.c) FROM {t} x WHERE {p}"
            ),
        ),
        pair(
            format!("SELECT x.a, COUNT(DISTINCT x.b) FROM {t} x WHERE {p} GROUP BY x.a"),
            format!(
                "SELECT z.a, COUNT(z.b) FROM (SELECT DISTINCT x.a, x.b FROM {t} x WHERE {p}) z \
                 GROUP BY z.a"
            ),
        ),
        // Set operations.
        pair(
            format!("SELECT x.a, x.b FROM {t} x WHERE {p} INTERSECT SELECT y.a, y.b FROM {u} y"),
            format!(
                "SELECT DISTINCT x.a, x.b FROM {t} x WHERE {p} AND EXISTS (SELECT * FROM {u} y \
                 WHERE (x.a = y.a OR x.a IS NULL AND y.a IS NULL) AND (x.b = y.b OR x.b IS NULL \
                 AND y.b IS NULL))"
            ),
        ),
        pair(
            format!("SELECT x.a FROM {t} x WHERE {p} EXCEPT SELECT y.a FROM {u} y"),
            format!(
                "SELECT DISTINCT x.a FROM {t} x WHERE {p} AND NOT EXISTS (SELECT * FROM {u} y WHERE \
                 x.a = y.a OR x.a IS NULL AND y.a IS NULL)"
            ),
        ),
        pair(
            format!("SELECT x.a FROM {t} x WHERE {p} UNION SELECT x.b FROM {t} x"),
            format!(
                "SELECT DISTINCT z.v FROM {t} x CROSS APPLY (VALUES (x.a, IIF({p}, 1, 0)), (x.b, \
                 1)) z (v, f) WHERE z.f = 1"
            ),
        ),
        // Some rows of an order.
        pair(
            format!("SELECT TOP 5 x.id FROM {t} x WHERE {p} ORDER BY x.b DESC, x.id"),
            format!(
                "SELECT z.id FROM (SELECT x.id, ROW_NUMBER() OVER (ORDER BY x.b DESC, x.id) r FROM \
                 {} x WHERE {p}) z WHERE z.r <= 5",
                twin(t)
            ),
        ),
        pair(
            format!(
                "SELECT x.id FROM {t} x WHERE {p} ORDER BY x.d, x.id OFFSET 3 ROWS FETCH NEXT 4 \
                 ROWS ONLY"
            ),
            format!(
                "SELECT TOP 4 z.id FROM (SELECT x.id, x.d, ROW_NUMBER() OVER (ORDER BY x.d, x.id) \
                 r FROM {t} x WHERE {p}) z WHERE z.r > 3 ORDER BY z.d, z.id"
            ),
        ),
        // Several joins.
        pair(
            format!(
                "SELECT x.id, y.id, w.id FROM {t} x LEFT JOIN {u} y ON {q} JOIN {t} w ON w.a = x.b \
                 WHERE {p}"
            ),
            format!(
                "SELECT x.id, y.id, w.id FROM {1} w JOIN {1} x ON x.b = w.a LEFT JOIN {0} y ON {q} \
                 WHERE {p}",
                twin(u),
                twin(t)
            ),
        ),
        pair(
            format!(
                "SELECT x.id, y.id FROM {t} x OUTER APPLY (SELECT TOP 1 y.id, y.c FROM {u} y WHERE \
                 {q} ORDER BY y.d, y.id DESC) y"
            ),
            format!(
                "SELECT x.id, y.id FROM {t} x LEFT JOIN (SELECT x.id xid, y.id, ROW_NUMBER() OVER \
                 (PARTITION BY x.id ORDER BY y.d, y.id DESC) r FROM {t} x JOIN {u} y ON {q}) y ON \
                 y.xid = x.id AND y.r = 1"
            ),
        ),
        pair(
            format!(
                "SELECT w.id, w.n FROM (SELECT x.id, (SELECT COUNT(*) FROM {u} y WHERE {q}) n FROM \
                 {t} x WHERE {p}) w WHERE w.n BETWEEN 1 AND 9"
            ),
            format!(
                "SELECT x.id, COUNT(*) FROM {t} x CROSS JOIN {u} y WHERE {q} AND {p} GROUP BY x.id \
                 HAVING COUNT(*) <= 9"
            ),
        ),
        // Rows to columns, and columns to rows.
        pair(
            format!(
                "SELECT * FROM (SELECT x.s, x.a, x.c FROM {t} x WHERE {p}) x PIVOT (SUM(c) FOR a IN \
                 ([1], [2], [9])) w"
            ),
            format!(
                "SELECT x.s, SUM(CASE WHEN x.a = 1 THEN x.c END), SUM(CASE WHEN x.a = 2 THEN x.c \
                 END), SUM(CASE WHEN x.a = 9 THEN x.c END) FROM {t} x WHERE {p} GROUP BY x.s"
            ),
        ),
        pair(
            format!(
                "SELECT w.id, w.v, w.k FROM (SELECT x.id, x.a, x.b FROM {t} x WHERE {p}) x UNPIVOT \
                 (v FOR k IN (a, b)) w"
            ),
            format!(
                "SELECT x.id, w.v, w.k FROM {t} x CROSS APPLY (VALUES (x.a, 'a'), (x.b, 'b')) w (v, \
                 k) WHERE w.v IS NOT NULL AND {p}"
            ),
        ),
        // Changes of rows.
        pair(
            format!("SELECT x.id FROM {t} x WHERE {p}"),
            format!(
                "BEGIN TRAN; WITH w AS (SELECT x.*, COUNT(*) OVER (PARTITION BY x.a) many FROM {t} x \
                 WHERE {p}) DELETE FROM w OUTPUT deleted.id WHERE many > 0; ROLLBACK"
            ),
        ),
        pair(
            format!("SELECT x.id FROM {t} x WHERE {p}"),
            format!("BEGIN TRAN; DELETE x OUTPUT deleted.id FROM {t} x WHERE {p}; ROLLBACK"),
        ),
        pair(
            format!("SELECT x.id, x.b + 1 FROM {t} x WHERE {p}"),
            format!(
                "BEGIN TRAN; UPDATE x SET b = x.b + 1 OUTPUT inserted.id, inserted.b FROM {} x WHERE \
                 {p}; ROLLBACK",
                twin(t)
            ),
        ),
        pair(
            format!(
                "SELECT x.id FROM {t} x WHERE EXISTS (SELECT * FROM {u} y WHERE y.id = x.id AND {q})"
            ),
            format!(
                "BEGIN TRAN; MERGE {t} z USING (SELECT y.id FROM {u} y JOIN {t} x ON y.id = x.id AND \
                 {q}) y ON z.id = y.id WHEN MATCHED THEN UPDATE SET s = 'm' OUTPUT inserted.id; \
                 ROLLBACK"
            ),
        ),
    ]
}

/// A full join, and an outer one with the other rows without a partner.
fn full_join(t: &str, u: &str, q: &str) -> (String, String) {
    (
        format!("SELECT x.id, y.id FROM {t} x FULL JOIN {u} y ON {q}"),
        format!(
            "SELECT x.id, y.id FROM {t} x LEFT JOIN {u} y ON {q} UNION ALL SELECT NULL, y.id FROM \
             {u} y WHERE NOT EXISTS (SELECT * FROM {t} x WHERE {q})"
        ),
    )
}

/// The table with the same rows.
fn twin(table: &str) -> String {
    match table.strip_suffix('i') {
        Some(heap) => heap.to_owned(),
        None => format!("{table}i"),
    }
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(otherwise)
}

/// Lines of transactions are not rows.
fn without_transactions(rows: Vec<String>) -> Vec<String> {
    rows.into_iter().filter(|row| !row.starts_with('<')).collect()
}

#[test]
fn equal_queries_give_equal_rows() {
    let mut connection = prepared();
    let first = from_environment("METAMORPHIC_SEED", 1);
    let cases = from_environment("METAMORPHIC_CASES", 40);
    let mut differences = 0;
    for seed in first..first + cases {
        let mut draw = Draw::of(seed);
        let (t, u) = (draw.one(&["t", "ti"]), draw.one(&["u", "ui"]));
        let depth = 1 + (seed % 3) as u32;
        let mut maker = Maker {
            draw: &mut draw,
            aliases: vec!["x".to_owned()],
            tables: &TABLES,
            queries: 2,
        };
        let p = maker.condition(depth);
        maker.aliases.push("y".to_owned());
        let q = maker.condition(depth);
        let mut all = pairs(t, u, &p, &q);
        // A subquery in the condition of a full join is refused.
        if !q.contains("SELECT") {
            all.push(full_join(t, u, &q));
        }
        for (at, (one, other)) in all.into_iter().enumerate() {
            let first = without_transactions(rows(&mut connection, &one));
            let second = without_transactions(rows(&mut connection, &other));
            if first != second {
                differences += 1;
                println!("seed {seed}, pair {at}\n{one}\n  {first:?}\n{other}\n  {second:?}\n");
            }
        }
    }
    assert_eq!(differences, 0);
}
