//! Batches: values, control flow, errors and transactions, as published for the product.

mod support;

use extentdb_session::Argument;
use extentdb_types::{Datum, NText, SqlType};
use support::{batch, call, connect, server};

/// Runs batches in one connection, each with what it gives.
fn check(cases: &[(&str, &str)]) {
    let server = server();
    let mut connection = connect(&server);
    for (text, expected) in cases {
        assert_eq!(batch(&mut connection, text), expected.trim(), "{text}");
    }
}

#[test]
fn columns_have_the_types_names_and_nullability_of_the_product() {
    check(&[
        (
            "SELECT 1 AS a, 'abc' b, N'x' AS [c d], NULL",
            "[a int not null, b varchar(3) not null, c d nvarchar(1) not null, int null]\n1 | abc | x | NULL",
        ),
        (
            "SELECT x = 1.50, 1e0, $2.5, 0x0A",
            "[x numeric(3,2) not null, float not null, money not null, varbinary(1) not null]\n1.50 | 1.0 | 2.5000 | 0x0A",
        ),
        (
            "SELECT 1+1, CAST(5 AS decimal(5,2)), -5",
            "[int null, decimal(5,2) null, int not null]\n2 | 5.00 | -5",
        ),
        ("SELECT @@SPID, @@MAX_PRECISION", "[smallint not null, tinyint not null]\n51 | 38"),
        (
            "SELECT ISNULL(NULL, 1), COALESCE(NULL, 'a'), CASE WHEN 1=1 THEN 1 ELSE NULL END",
            "[int not null, varchar(1) null, int null]\n1 | a | 1",
        ),
        ("SELECT 2147483648 AS big", "[big numeric(10,0) not null]\n2147483648"),
    ]);
}

#[test]
fn variables_keep_their_declared_types() {
    check(&[
        (
            "DECLARE @a int = 5, @b varchar(3) = 'abcdef'; SELECT @a * 2 AS d, @b",
            "[d int null, varchar(3) null]\n10 | abc",
        ),
        ("DECLARE @a int; SET @a = '12'; SET @a += 3; SELECT @a", "[int null]\n15"),
        (
            "DECLARE @a int, @b int; SELECT @a = 1, @b = 2; SELECT @a + @b, @@ROWCOUNT",
            "[int null, int not null]\n3 | 1",
        ),
        (
            "DECLARE @a int = 1; SELECT @a = 2 WHERE 1 = 0; SELECT @a, @@ROWCOUNT",
            "[int null, int not null]\n1 | 0",
        ),
        ("SELECT @x", "137.15.2 line 1: Must declare the scalar variable \"@x\"."),
        (
            "DECLARE @a int\nDECLARE @A int",
            "134.15.1 line 2: The variable name '@A' has already been declared. Variable names must be unique within a query batch or stored procedure.",
        ),
        ("PRINT 'never'; SELECT nosuch", "207.16.1 line 1: Invalid column name 'nosuch'."),
    ]);
}

#[test]
fn control_flow_runs_as_written() {
    check(&[
        (
            "DECLARE @i int = 0; WHILE @i < 10 BEGIN SET @i += 1; IF @i = 2 CONTINUE; IF @i > 3 BREAK; PRINT @i END",
            "0.0.1 line 1: 1\n0.0.1 line 1: 3",
        ),
        ("IF 1 = 2 PRINT 'a' ELSE IF 1 = 1 PRINT 'b' ELSE PRINT 'c'", "0.0.1 line 1: b"),
        ("GOTO there; PRINT 'no'; there: PRINT 'yes'", "0.0.1 line 1: yes"),
        ("PRINT 'a'; RETURN; PRINT 'b'", "0.0.1 line 1: a"),
        (
            "RETURN 5",
            "178.15.1 line 1: A RETURN statement with a return value cannot be used in this context.",
        ),
        ("IF NULL = NULL PRINT 'equal' ELSE PRINT 'unknown'", "0.0.1 line 1: unknown"),
        ("SELECT TOP 0 1 AS a", "[a int not null]"),
        (
            "SELECT TOP (-1) 1 AS a",
            "[a int not null]\n127.15.1 line 1: A TOP N or FETCH rowcount value may not be negative.",
        ),
    ]);
}

#[test]
fn an_error_ends_what_it_ends_in_the_product() {
    check(&[
        (
            "SELECT 1/0\nPRINT 'on'",
            "[int null]\n8134.16.1 line 1: Divide by zero error encountered.\n0.0.1 line 1: on",
        ),
        (
            "PRINT 'a'\nSELECT CAST('x' AS int)\nPRINT 'b'",
            "0.0.1 line 1: a\n[int null]\n245.16.1 line 2: Conversion failed when converting the varchar value 'x' to data type int.",
        ),
        (
            "SELECT 'a' + 1",
            "[int null]\n245.16.1 line 1: Conversion failed when converting the varchar value 'a' to data type int.",
        ),
        (
            "SELECT CAST(300 AS tinyint)",
            "[tinyint null]\n8115.16.2 line 1: Arithmetic overflow error converting expression to data type tinyint.",
        ),
        ("SELECT 1 +", "102.15.1 line 1: Incorrect syntax near '+'."),
        ("SELEC 1", "2812.16.62 line 1: Could not find stored procedure 'SELEC'."),
        (
            "SELECT 1/0; SELECT @@ERROR, @@ROWCOUNT",
            "[int null]\n8134.16.1 line 1: Divide by zero error encountered.\n[int not null, int not null]\n8134 | 0",
        ),
        ("SELECT foo(1)", "195.15.10 line 1: 'foo' is not a recognized built-in function name."),
        ("SELECT TRY_CAST('x' AS int), TRY_CONVERT(int, '7')", "[int null, int null]\nNULL | 7"),
    ]);
}

#[test]
fn try_and_catch_tell_of_the_error() {
    check(&[
        (
            "BEGIN TRY SELECT 1/0 AS a END TRY BEGIN CATCH SELECT ERROR_NUMBER() n, ERROR_LINE() l, ERROR_MESSAGE() m END CATCH SELECT ERROR_NUMBER()",
            "[a int null]\n[n int null, l int null, m nvarchar(4000) null]\n8134 | 1 | Divide by zero error encountered.\n[int null]\nNULL",
        ),
        (
            "BEGIN TRY EXEC('SELECT nosuch') END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH",
            "0.0.1 line 1: 207",
        ),
        (
            "BEGIN TRY THROW 50001, 'custom', 7 END TRY BEGIN CATCH PRINT 'caught'; THROW END CATCH PRINT 'no'",
            "0.0.1 line 1: caught\n50001.16.7 line 1: custom",
        ),
        (
            "THROW 49999, 'x', 1",
            "35100.16.1 line 1: Error number 49999 in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647.",
        ),
        ("RAISERROR('<<%7.3s>>', 10, 1, 'abcde')", "50000.0.1 line 1: <<    abc>>"),
        (
            "\nRAISERROR('x %d', 16, 3, 5) PRINT @@ERROR",
            "50000.16.3 line 2: x 5\n0.0.1 line 1: 50000",
        ),
        (
            "BEGIN TRY RAISERROR('x', 11, 1) PRINT 'no' END TRY BEGIN CATCH BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH PRINT ERROR_NUMBER() END CATCH",
            "[int null]\n0.0.1 line 1: 8134\n0.0.1 line 1: 50000",
        ),
    ]);
}

#[test]
fn transactions_count_and_end_as_published() {
    check(&[
        (
            "COMMIT",
            "3902.16.1 line 1: The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.",
        ),
        (
            "ROLLBACK",
            "3903.16.1 line 1: The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
        ),
        (
            "BEGIN TRAN; BEGIN TRAN; SELECT @@TRANCOUNT; ROLLBACK; SELECT @@TRANCOUNT, XACT_STATE()",
            "<begin>\n[int not null]\n2\n<rollback>\n[int not null, smallint not null]\n0 | 0",
        ),
        ("BEGIN TRAN t; SAVE TRAN s; ROLLBACK TRAN s; COMMIT TRAN t", "<begin>\n<commit>"),
        (
            "BEGIN TRAN; ROLLBACK TRAN nosuch; COMMIT",
            "<begin>\n6401.16.1 line 1: Cannot roll back nosuch. No transaction or savepoint of that name was found.\n<commit>",
        ),
        (
            "BEGIN TRAN; SELECT CAST('x' AS int); PRINT 'no'",
            "<begin>\n[int null]\n245.16.1 line 1: Conversion failed when converting the varchar value 'x' to data type int.\n<rollback>",
        ),
        (
            "BEGIN TRAN; SELECT 1/0; SELECT @@TRANCOUNT; COMMIT",
            "<begin>\n[int null]\n8134.16.1 line 1: Divide by zero error encountered.\n[int not null]\n1\n<commit>",
        ),
        (
            "SET XACT_ABORT ON; BEGIN TRAN; SELECT 1/0; SELECT 2",
            "<begin>\n[int null]\n8134.16.1 line 1: Divide by zero error encountered.\n<rollback>",
        ),
        (
            "SET XACT_ABORT ON; RAISERROR('x',16,1); SELECT 2",
            "50000.16.1 line 1: x\n[int not null]\n2",
        ),
        (
            "SET XACT_ABORT OFF; BEGIN TRAN; BEGIN TRY SELECT CAST('x' AS int) END TRY BEGIN CATCH SELECT XACT_STATE() END CATCH; COMMIT",
            "<begin>\n[int null]\n[smallint not null]\n-1\n3930.16.1 line 1: The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.\n<rollback>\n3998.16.1 line 1: Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.",
        ),
        (
            "SET IMPLICIT_TRANSACTIONS ON; SELECT 1; SELECT @@TRANCOUNT; BEGIN TRAN; SELECT @@TRANCOUNT; ROLLBACK; SET IMPLICIT_TRANSACTIONS OFF",
            "[int not null]\n1\n[int not null]\n0\n<begin>\n[int not null]\n2\n<rollback>",
        ),
        ("IF @@TRANCOUNT > 0 COMMIT TRAN", ""),
    ]);
}

#[test]
fn what_is_not_supported_is_refused_by_its_name_when_it_is_reached() {
    check(&[
        (
            "PRINT 'a'\nINSERT INTO t VALUES (1)\nPRINT 'b'",
            "0.0.1 line 1: a\n40510.16.1 line 2: Statement 'INSERT' is not supported in this version of ExtentDB.",
        ),
        ("IF 1 = 0 CREATE TABLE t (a int) PRINT 'on'", "0.0.1 line 1: on"),
        ("SELECT * FROM sys.objects", "40517.16.1 line 1: not supported: SELECT with FROM."),
        (
            "SELECT 1 UNION SELECT 2",
            "40517.16.1 line 1: not supported: UNION, EXCEPT and INTERSECT.",
        ),
        (
            "SELECT SOUNDEX('a')",
            "40517.16.1 line 1: not supported: the function soundex of 1 arguments.",
        ),
        ("EXEC nosuch", "2812.16.62 line 1: Could not find stored procedure 'nosuch'."),
        ("SET SHOWPLAN_ALL ON", "40517.16.1 line 1: not supported: SET SHOWPLAN_ALL ON."),
    ]);
}

#[test]
fn properties_are_variants_that_convert_and_compare() {
    check(&[
        ("SELECT SERVERPROPERTY('ProductVersion') v", "[v sql_variant null]\n16.0.4165.0"),
        (
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS varchar(20)) v",
            "[v varchar(20) null]\n16.0.4165.0",
        ),
        (
            "SELECT CASE WHEN SERVERPROPERTY('EngineEdition') = 3 THEN 'yes' ELSE 'no' END",
            "[varchar(3) not null]\nyes",
        ),
        (
            "SELECT DB_NAME(), DB_ID('tempdb'), DB_NAME(4), DB_ID('none')",
            "[nvarchar(128) null, int null, nvarchar(128) null, int null]\nmaster | 2 | msdb | NULL",
        ),
        ("SELECT (SELECT DB_NAME()) AS d", "[d nvarchar(128) null]\nmaster"),
        (
            "DECLARE @v sql_variant = 5; SELECT @v; SELECT CAST(@v AS int) + 1",
            "[sql_variant null]\n5\n[int null]\n6",
        ),
    ]);
}

#[test]
fn databases_are_made_used_and_dropped() {
    check(&[
        (
            "USE nosuch",
            "911.16.1 line 1: Database 'nosuch' does not exist. Make sure that the name is entered correctly.",
        ),
        ("CREATE DATABASE shop", ""),
        (
            "CREATE DATABASE shop",
            "1801.16.1 line 1: Database 'shop' already exists. Choose a different database name.",
        ),
        (
            "USE shop; SELECT DB_NAME()",
            "<master -> shop>\n5701.0.1 line 1: Changed database context to 'shop'.\n[nvarchar(128) null]\nshop",
        ),
        (
            "EXEC('USE master'); SELECT DB_NAME()",
            "<shop -> master>\n5701.0.1 line 1: Changed database context to 'master'.\n<master -> shop>\nend of procedure\n[nvarchar(128) null]\nshop",
        ),
        (
            "DROP DATABASE shop",
            "3702.16.1 line 1: Cannot drop database \"shop\" because it is currently in use.",
        ),
        (
            "USE master; BEGIN TRAN; DROP DATABASE shop; ROLLBACK",
            "<shop -> master>\n5701.0.1 line 1: Changed database context to 'master'.\n<begin>\n226.16.1 line 1: DROP DATABASE statement not allowed within multi-statement transaction.\n<rollback>",
        ),
        (
            "DROP DATABASE shop; DROP DATABASE IF EXISTS shop; DROP DATABASE shop",
            "3701.11.1 line 1: Cannot drop the database 'shop', because it does not exist or you do not have permission.",
        ),
        ("CHECKPOINT; KILL 51", "6104.16.1 line 1: Cannot use KILL to kill your own process."),
    ]);
}

fn text(value: &str) -> Argument {
    let collation = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    Argument {
        name: String::new(),
        ty: Some(SqlType::NVarChar { len: None, collation }),
        value: Datum::NChar(NText::from_text(value)),
        is_output: false,
        is_default: false,
    }
}

fn int(name: &str, value: i32, is_output: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        ty: Some(SqlType::Int),
        value: Datum::Int(value),
        is_output,
        is_default: false,
    }
}

#[test]
fn sp_executesql_binds_by_name_and_place_and_gives_values_back() {
    let server = server();
    let mut connection = connect(&server);
    let arguments = vec![
        text("SET @b = @a * 2; SELECT @a AS a"),
        text("@a int, @b int OUTPUT"),
        int("@b", 0, true),
        int("@a", 21, false),
    ];
    assert_eq!(
        call(&mut connection, "sp_executesql", arguments),
        "[a int null]\n21\nstatus 0\noutput 2 int 42\nend of procedure"
    );
    assert_eq!(
        batch(
            &mut connection,
            "DECLARE @r int; EXEC sp_executesql N'SET @x = 7', N'@x int OUTPUT', @r OUTPUT; SELECT @r"
        ),
        "status 0\nend of procedure\n[int null]\n7"
    );
    let missing = call(&mut connection, "sp_executesql", vec![text("SELECT @a"), text("@a int")]);
    assert_eq!(
        missing,
        "8178.16.1 line 0: The parameterized query '(@a int)SELECT @a' expects the parameter '@a', which was not supplied.\nend of procedure"
    );
}

#[test]
fn prepared_statements_live_until_they_are_unprepared() {
    let server = server();
    let mut connection = connect(&server);
    let handle = Argument { ty: None, value: Datum::Null, ..int("", 0, true) };
    let prepared = call(
        &mut connection,
        "sp_prepexec",
        vec![handle, text("@p int"), text("SELECT @p + 1 AS n"), int("", 4, false)],
    );
    assert_eq!(prepared, "[n int null]\n5\nstatus 0\noutput 0 int 1\nend of procedure");
    let execute = |connection: &mut _| {
        call(connection, "[sys].sp_execute", vec![int("", 1, false), int("", 6, false)])
    };
    assert_eq!(execute(&mut connection), "[n int null]\n7\nstatus 0\nend of procedure");
    let unprepared = call(&mut connection, "sp_unprepare", vec![int("", 1, false)]);
    assert_eq!(unprepared, "status 0\nend of procedure");
    assert_eq!(
        execute(&mut connection),
        "8179.16.1 line 0: Could not find prepared statement with handle 1.\nend of procedure"
    );
}

#[test]
fn fmtonly_describes_and_runs_nothing() {
    check(&[
        ("SET FMTONLY ON PRINT 'no' SELECT 1 AS a SET FMTONLY OFF", "[a int not null]"),
        ("SET FMTONLY ON", ""),
        ("SELECT 1 AS a", "[a int not null]"),
        ("SET FMTONLY OFF; SELECT 1 AS a", "[a int not null]\n1"),
        ("SET NOEXEC ON", ""),
        ("SELECT 1", ""),
        ("SET NOEXEC OFF", ""),
        ("SELECT 1", "[int not null]\n1"),
    ]);
}

#[test]
fn options_are_kept_and_shown() {
    check(&[
        (
            "SELECT @@OPTIONS, @@TEXTSIZE, @@LANGUAGE",
            "[int not null, int not null, nvarchar(128) not null]\n5432 | 2147483647 | us_english",
        ),
        (
            "SET NOCOUNT ON SET TEXTSIZE 4096 SET LANGUAGE German SET LOCK_TIMEOUT 50 SELECT @@OPTIONS & 512, @@TEXTSIZE, @@DATEFIRST, @@LOCK_TIMEOUT",
            "<language Deutsch>\n5703.0.1 line 1: Changed language setting to Deutsch.\n[int null, int not null, tinyint not null, int not null]\n512 | 4096 | 1 | 50",
        ),
        ("EXEC('SET NOCOUNT OFF'); SELECT @@OPTIONS & 512", "end of procedure\n[int null]\n512"),
        ("SET DATEFIRST 9", "2742.16.1 line 1: SET DATEFIRST 9 is out of range."),
        (
            "EXEC sp_reset_connection SELECT @@OPTIONS",
            "<reset>\nstatus 0\nend of procedure\n[int not null]\n5432",
        ),
    ]);
}

#[test]
fn an_interrupt_ends_a_wait() {
    let server = server();
    let mut connection = connect(&server);
    connection.begin_request();
    let interrupt = connection.interrupt();
    let thread = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let request = extentdb_session::Request::Batch("WAITFOR DELAY '00:01'".to_owned());
            connection.run(&request, None, &mut support::Lines::default())
        });
        interrupt.interrupt();
        waiting.join().unwrap()
    });
    assert_eq!(thread, extentdb_session::Outcome::Interrupted);
    assert_eq!(batch(&mut connection, "SELECT 1"), "[int not null]\n1");
}
