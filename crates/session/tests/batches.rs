//! Batches: values, control flow, errors and transactions, as published for the product.
//!
//! `tests/scripts/NAME.batches`: batches of one connection with a blank line between them, beneath
//! `---` what each gives. `UPDATE_GOLDENFILES=1 cargo test -p extentdb-session --test batches`
//! writes what they give now; read it: it is what SQL Server would say, or a bug.

mod support;

use extentdb_session::Argument;
use extentdb_types::{Datum, NText, SqlType};
use support::{batch, blocks, call, connect, server};

fn script(name: &str) {
    let mut connection = connect(&server());
    blocks::compare("scripts", name, &mut |text| batch(&mut connection, text));
}

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            script(stringify!($name));
        })*
    };
}

scripts! {
    columns
    variables
    control_flow
    errors
    try_catch
    transactions
    not_supported
    properties
    databases
    files
    fmtonly
    options
}

fn text(value: &str) -> Argument {
    let collation = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    Argument {
        name: String::new(),
        ty: Some(SqlType::NVarChar { len: None, collation }),
        value: Datum::NChar(NText::from_text(value)),
        is_output: false,
        is_default: false,
        table: None,
    }
}

fn int(name: &str, value: i32, is_output: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        ty: Some(SqlType::Int),
        value: Datum::Int(value),
        is_output,
        is_default: false,
        table: None,
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
            "DECLARE @r int; EXEC sp_executesql N'SET @x = 7', N'@x int OUTPUT', @r OUTPUT; \
             SELECT @r"
        ),
        "status 0\nend of procedure\n[int null]\n7"
    );
    let missing = call(&mut connection, "sp_executesql", vec![text("SELECT @a"), text("@a int")]);
    assert_eq!(
        missing,
        "8178.16.1 line 0: The parameterized query '(@a int)SELECT @a' expects the \
         parameter '@a', which was not supplied.\nend of procedure"
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
fn parameters_can_be_text_and_variables_cannot() {
    let server = server();
    let mut connection = connect(&server);
    let arguments = vec![
        text("CREATE TABLE #t (v nvarchar(max)) INSERT #t VALUES (@p) SELECT v FROM #t"),
        text("@p ntext"),
        text("Größe"),
    ];
    assert_eq!(
        call(&mut connection, "sp_executesql", arguments),
        "[v nvarchar(max) null]\nGröße\nstatus 0\nend of procedure"
    );
    assert_eq!(
        batch(&mut connection, "DECLARE @p ntext"),
        "2739.15.1 line 1: The text, ntext, and image data types are invalid for local variables."
    );
}

#[test]
fn procedures_of_the_catalog_run_in_the_database_that_they_are_called_in() {
    let server = server();
    let mut connection = connect(&server);
    batch(&mut connection, "CREATE DATABASE other");
    batch(&mut connection, "USE other; EXEC('CREATE TABLE t (a int, b varchar(9))'); USE master");
    assert_eq!(
        batch(&mut connection, "EXEC other..sp_tablecollations_100 N'.[t]'"),
        "<master -> other>\n\
         [colid int not null, name nvarchar(128) null, tds_collation binary(5) null, \
         collation nvarchar(128) null]\n\
         1 | a | NULL | NULL\n\
         2 | b | 0x0904D00034 | SQL_Latin1_General_CP1_CI_AS\n\
         <other -> master>\nstatus 0\nend of procedure"
    );
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
            extentdb_session::run(&mut connection, &request, None, &mut support::Lines::default())
        });
        interrupt.interrupt();
        waiting.join().unwrap()
    });
    assert_eq!(thread, extentdb_session::Outcome::Interrupted);
    assert_eq!(batch(&mut connection, "SELECT 1"), "[int not null]\n1");
}
