//! Negative tests: text, message number, line, message.

use extentdb_tsql::{Options, parse};

fn check(text: &str, number: u32, line: u32, message: &str) {
    let error = match parse(text, Options::default()) {
        Ok(script) => panic!("{text:?} parses: {:?}", script.statements),
        Err(error) => error,
    };
    assert_eq!(error.cause.number(), number, "{text:?}: {error}");
    assert_eq!(error.span.line, line, "{text:?}: {error}");
    assert!(error.cause.to_string().starts_with(message), "{text:?}: {error}");
}

#[test]
fn syntax_errors_name_the_token() {
    check("SELECT 1 1", 102, 1, "Incorrect syntax near '1'.");
    check("SELECT 1,\nfrom t", 156, 2, "Incorrect syntax near the keyword 'from'.");
    check("SELECT * FROM", 102, 1, "Incorrect syntax near 'FROM'.");
    check("SELECT 1 = 1", 102, 1, "Incorrect syntax near '='.");
    check("SELECT (a = 1) FROM t", 102, 1, "Incorrect syntax near '='.");
    check("SELECT 1\n\nselct 2 3", 102, 3, "Incorrect syntax near '2'.");
    check("SELECT a FROM t WHERE a = b = c", 102, 1, "Incorrect syntax near '='.");
    check("SELECT [a b] [c] [d]", 102, 1, "Incorrect syntax near 'd'.");
    check("SELECT 1 AS 'x' 'y z'", 102, 1, "Incorrect syntax near 'y z'.");
    check("INSERT t SET a = 1", 156, 1, "Incorrect syntax near the keyword 'SET'.");
    check("UPDATE t WHERE a = 1", 156, 1, "Incorrect syntax near the keyword 'WHERE'.");
    check("BEGIN SELECT 1", 102, 1, "Incorrect syntax near '1'.");
    check("BEGIN END", 156, 1, "Incorrect syntax near the keyword 'END'.");
    check("BEGIN TRY END TRY BEGIN CATCH END CATCH", 156, 1, "Incorrect syntax near");
    check("SELECT TOP @n a FROM t", 102, 1, "Incorrect syntax near '@n'.");
    check("EXEC p 1 + 2", 102, 1, "Incorrect syntax near '+'.");
    check("EXEC ('a' + f(x))", 102, 1, "Incorrect syntax near 'f'.");
}

#[test]
fn lexical_errors_are_reported_in_order() {
    check("SELECT 'abc", 105, 1, "Unclosed quotation mark after the character string 'abc'.");
    check("SELECT\n[abc", 105, 2, "Unclosed quotation mark after the character string 'abc'.");
    check("SELECT 1 /* x", 113, 1, "Missing end comment mark '*/'.");
    check("SELECT 1 1 'abc", 102, 1, "Incorrect syntax near '1'.");
    check("SELECT ?", 102, 1, "Incorrect syntax near '?'.");
    let long = "x".repeat(129);
    check(&format!("SELECT {long}"), 103, 1, "The identifier that starts with 'xxx");
    check(&format!("SELECT {}", "1".repeat(39)), 1007, 1, "The number '111");
    check("SELECT 1 AS []", 1038, 1, "An object or column name is missing or empty.");
}

#[test]
fn statements_that_need_a_semicolon() {
    check(
        "SELECT 1\nWITH c AS (SELECT 1 AS a) SELECT a FROM c",
        319,
        2,
        "Incorrect syntax near the keyword 'with'.",
    );
    check(
        "SELECT * FROM t\nWITH c AS (SELECT 1 AS a) SELECT a FROM c",
        336,
        2,
        "Incorrect syntax near 'c'. If this is intended",
    );
    check(
        "MERGE t USING u ON 1 = 1 WHEN MATCHED THEN DELETE",
        10713,
        1,
        "A MERGE statement must be terminated by a semi-colon (;).",
    );
}

#[test]
fn conditions_and_values_are_told_apart() {
    check("SELECT 1 WHERE 1", 4145, 1, "An expression of non-boolean type specified");
    check("IF @a SELECT 1", 4145, 1, "An expression of non-boolean type");
    check("SELECT CASE WHEN a THEN 1 END FROM t", 4145, 1, "An expression of non-boolean type");
    check("SELECT 1 WHERE a OR b = 1", 4145, 1, "An expression of non-boolean type");
    check("SELECT * FROM a, b WHERE a.x *= b.x", 4147, 1, "The query uses non-ANSI outer join");
    check("SELECT * FROM a, b WHERE a.x =* b.x", 4147, 1, "The query uses non-ANSI outer join");
}

#[test]
fn control_flow_is_checked() {
    check("IF 1 = 0 BREAK", 135, 1, "Cannot use a BREAK statement");
    check("CONTINUE", 136, 1, "Cannot use a CONTINUE statement");
    check("RETURN 5", 178, 1, "A RETURN statement with a return value");
    check("GOTO x", 133, 1, "A GOTO statement references the label 'x'");
    check("x: SELECT 1\nX: SELECT 2", 132, 2, "The label 'X' has already been declared.");
    check("THROW", 10704, 1, "To rethrow an error");
    check("SELECT 1\nCREATE VIEW v AS SELECT 1 AS a", 111, 2, "'CREATE VIEW' must be the first");
    check("IF 1 = 1 CREATE PROC p AS SELECT 1", 156, 1, "Incorrect syntax near the keyword 'PROC'");
    check("EXEC p @a = 1, 2", 119, 1, "Must pass parameter number 2");
    check("EXEC p 1 OUTPUT", 179, 1, "Cannot use the OUTPUT option");
    check("CREATE TRIGGER t ON u AFTER INSERT AS", 102, 1, "Incorrect syntax near 'AS'.");
}

#[test]
fn options_and_classes_are_checked() {
    check("SET FOO ON", 195, 1, "'FOO' is not a recognized SET option.");
    check("CREATE FOO x", 343, 1, "Unknown object type 'FOO' used in a CREATE, DROP, or ALTER");
    check("DROP SELECT x", 156, 1, "Incorrect syntax near the keyword 'SELECT'.");
    check("SELECT * FROM t WITH (FOO)", 321, 1, "\"FOO\" is not a recognized table hints option.");
    check("SELECT * FROM t HOLDLOCK", 1018, 1, "Incorrect syntax near 'HOLDLOCK'.");
    check("CREATE LOGIN x WITH PASSWRD = 'a'", 102, 1, "Incorrect syntax near 'PASSWRD'.");
    check("CREATE USER u WITHOUT LOGINN", 102, 1, "Incorrect syntax near 'LOGINN'.");
    check("BACKUP DATABASE a TO DISK = x", 102, 1, "Incorrect syntax near 'x'.");
    check("ALTER DATABASE a SET RECOVERY FOO", 102, 1, "Incorrect syntax near 'FOO'.");
    check("CREATE INDEX i ON t (a) WITH (FOO = ON)", 102, 1, "Incorrect syntax near 'FOO'.");
    check("GRANT FOO ON t TO u", 102, 1, "Incorrect syntax near 'FOO'.");
    check("CREATE TABLE t (a int, PRIMARY KEY)", 142, 1, "Incorrect syntax for definition of");
    check("DECLARE @a varchar(99999999999)", 1001, 1, "Line 1: Length or precision");
    check("SELECT TOP 1 a FROM t ORDER BY a OFFSET 1 ROWS", 10741, 1, "A TOP can not be used");
}

#[test]
fn nesting_is_bounded() {
    for text in [
        format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1", "- ".repeat(5000)),
        format!("SELECT {}1", "~".repeat(5000)),
        format!("SELECT 1 WHERE {}1 = 1", "NOT ".repeat(5000)),
        format!("SELECT 1 WHERE {}1 = 1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1{}", "f(".repeat(5000), ")".repeat(5000)),
        format!("SELECT {}1{}", "(SELECT ".repeat(5000), ")".repeat(5000)),
        format!("SELECT * FROM {}t{}", "(".repeat(5000), ")".repeat(5000)),
        format!("SELECT a{}", " COLLATE x".repeat(5000)),
        format!("SELECT a{}", ".b()".repeat(5000)),
        format!("SELECT * FROM t{}", " PIVOT (MAX(a) FOR b IN (c)) AS p".repeat(5000)),
        format!("SELECT * FROM t{}", " JOIN t".repeat(5000)),
        format!("SELECT {}1", "CASE WHEN 1 = 1 THEN ".repeat(5000)),
        "BEGIN ".repeat(5000),
        "IF 1 = 1 ".repeat(5000),
        "WHILE 1 = 1 ".repeat(5000),
    ] {
        check(&text, 191, 1, "Some part of your SQL statement is nested too deeply.");
    }
}

#[test]
fn long_chains_are_not_nested() {
    for text in [
        format!("SELECT 1{}", " + 1".repeat(20_000)),
        format!("SELECT 1 WHERE 1 = 1{}", " OR 1 = 1".repeat(20_000)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(20_000)),
        format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(20_000)),
        format!("IF 1 = 1 SELECT 1{}", " ELSE IF 1 = 1 SELECT 1".repeat(20_000)),
        format!("SELECT {}1{}", "REPLACE(".repeat(90), ", 'a', 'b')".repeat(90)),
    ] {
        let script = parse(&text, Options::default()).unwrap();
        assert_eq!(script.statements.len(), 1);
    }
}
