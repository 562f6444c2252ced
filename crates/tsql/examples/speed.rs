//! Measures the parser: one megabyte of script, its best time of ten runs.
//!
//! `cargo run --release -p extentdb-tsql --example speed`

use std::hint::black_box;

use extentdb_tsql::{Options, lexer, parse};

const STATEMENTS: &str = "\
DECLARE @i int = 0, @name nvarchar(128) = N'abc';\n\
WHILE @i < 1000 BEGIN SET @i += 1; IF @i % 7 = 0 PRINT 'seven' ELSE CONTINUE; END\n\
SELECT o.order_id, c.name AS customer, SUM(l.quantity * l.price) AS total, COUNT(*) AS lines\n\
FROM dbo.orders AS o INNER JOIN dbo.customers AS c ON c.customer_id = o.customer_id\n\
LEFT JOIN dbo.order_lines AS l ON l.order_id = o.order_id AND l.state IN ('open', 'paid')\n\
WHERE o.created >= '20200101' AND (c.region = @name OR c.region IS NULL) AND o.total BETWEEN 1 AND 9\n\
GROUP BY o.order_id, c.name HAVING SUM(l.quantity) > 10 ORDER BY total DESC, o.order_id;\n\
INSERT INTO dbo.log (at, text, level) VALUES (GETDATE(), N'it''s done', 1), (GETDATE(), 'x', 2);\n\
UPDATE t SET t.a = u.a + 1, b += 2 FROM dbo.t AS t JOIN dbo.u AS u ON t.id = u.id WHERE t.c = 0;\n\
EXEC dbo.write_log @text = N'abc', @level = 3, @id = @i OUTPUT;\n\
CREATE TABLE #t (id int IDENTITY(1,1) PRIMARY KEY, v varchar(50) NOT NULL DEFAULT 'x');\n";

/// Best time of ten runs, in milliseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..10 {
        #[expect(clippy::disallowed_methods, reason = "an example that measures")]
        let start = std::time::Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    best
}

fn main() {
    let text = STATEMENTS.repeat(1_000_000 / STATEMENTS.len() + 1);
    let lexed = best(|| drop(black_box(lexer::tokens(&text))));
    let parsed = best(|| drop(black_box(parse(&text, Options::default()).map(|it| it.statements))));
    println!("{} bytes: {lexed:.1} ms to tokens, {parsed:.1} ms to a tree", text.len());
}
