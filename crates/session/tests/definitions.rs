//! Statements that define objects: what clients are told, and what the catalog has afterwards.
//!
//! `tests/definitions/NAME.batches`, written as `tests/batches.rs` and `support/story.rs` say.
//! `UPDATE_GOLDENFILES=1 cargo test -p extentdb-session --test definitions` writes the outputs.

mod support;

use support::story::{Story, script};
use support::{batch, connect, server};

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            script("definitions", stringify!($name));
        })*
    };
}

scripts! {
    create_table
    create_table_errors
    foreign_keys
    temporary_tables
    drop_table
    indexes
    alter_table
    alter_table_errors
    constraints
    truncate
    schemas
    modules
    triggers
    types_and_synonyms
    statistics
    sequences
    defaults_and_rules
    database_triggers
    transfer
    rename
    model
}

/// Rows of `t (a int null, b varchar(10) null)` and `p (id int)`, which no statement inserts here.
fn with_rows() -> Story {
    use extentdb_types::{CharText, CodePage, Datum};
    let server = server();
    let mut connection = connect(&server);
    let made = batch(
        &mut connection,
        "CREATE TABLE t (a int, b varchar(10)); CREATE TABLE p (id int PRIMARY KEY)",
    );
    assert_eq!(made, "");
    let mut session = server.instance().session("master").unwrap();
    let text = |text: &'static str| {
        Datum::Char(CharText { bytes: text.as_bytes().into(), code_page: CodePage::Cp1252 })
    };
    let t = session.table("t").unwrap();
    for row in [
        [Datum::Int(1), text("one")],
        [Datum::Int(1), text("longer")],
        [Datum::Int(-5), Datum::Null],
    ] {
        session.insert(&t, &row).unwrap();
    }
    let p = session.table("p").unwrap();
    session.insert(&p, &[Datum::Int(1)]).unwrap();
    let other = connect(&server);
    Story { server, connection, other }
}

#[test]
fn rows_that_exist_refuse_definitions_by_the_numbers_of_their_messages() {
    let mut story = with_rows();
    let cases = [
        (
            "CREATE UNIQUE INDEX u ON t (a)",
            "1505.16.1 line 1: The CREATE UNIQUE INDEX statement terminated because a duplicate \
             key was found for the object name 'dbo.t' and the index name 'u'. The duplicate key \
             value is (1).",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a)",
            "1505.16.1 line 1: The CREATE UNIQUE INDEX statement terminated because a duplicate \
             key was found for the object name 'dbo.t' and the index name 'u'. The duplicate key \
             value is (1).\n\
             1750.16.1 line 1: Could not create constraint or index. See previous errors.",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT ck CHECK (a > 0)",
            "547.16.1 line 1: The ALTER TABLE statement conflicted with the CHECK constraint \
             \"ck\". The conflict occurred in database \"master\", table \"dbo.t\", column 'a'.",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES p",
            "547.16.1 line 1: The ALTER TABLE statement conflicted with the FOREIGN KEY \
             constraint \"fk\". The conflict occurred in database \"master\", table \"dbo.p\", \
             column 'id'.",
        ),
        (
            "ALTER TABLE t ADD c int NOT NULL",
            "4901.16.1 line 1: ALTER TABLE only allows columns to be added that can contain \
             nulls, or have a DEFAULT definition specified, or the column being added is an \
             identity or timestamp column, or alternatively if none of the previous conditions \
             are satisfied the table must be empty to allow addition of this column. Column 'c' \
             cannot be added to non-empty table 't' because it does not satisfy these conditions.",
        ),
        (
            "ALTER TABLE t ALTER COLUMN b varchar(10) NOT NULL",
            "515.16.1 line 1: Cannot insert the value NULL into column 'b', table \
             'master.dbo.t'; column does not allow nulls. UPDATE fails.\n3621.0.0 line 1: The \
             statement has been terminated.",
        ),
        (
            "ALTER TABLE t ALTER COLUMN b varchar(4)",
            "8152.16.1 line 1: String or binary data would be truncated.\n3621.0.0 line 1: The \
             statement has been terminated.",
        ),
        (
            "ALTER TABLE t WITH NOCHECK ADD CONSTRAINT ck CHECK (a > 0); \
             ALTER TABLE t WITH CHECK CHECK CONSTRAINT ck",
            "547.16.1 line 1: The ALTER TABLE statement conflicted with the CHECK constraint \
             \"ck\". The conflict occurred in database \"master\", table \"dbo.t\".",
        ),
    ];
    for (statement, told) in cases {
        assert_eq!(story.given(statement), told, "{statement}");
    }
    let changed = "ALTER TABLE t ADD c int NOT NULL DEFAULT 7, d int DEFAULT 8 WITH VALUES, \
                   e int DEFAULT 9; TRUNCATE TABLE t; ALTER TABLE t ADD f int NOT NULL";
    assert_eq!(story.given(changed), "");
}

#[test]
fn a_table_that_another_session_is_changing_is_waited_for() {
    let mut story = with_rows();
    assert_eq!(story.given("BEGIN TRAN; DROP TABLE t"), "<begin>");
    let waits = "other: SET LOCK_TIMEOUT 0; TRUNCATE TABLE t";
    let timeout = "1222.16.1 line 1: Lock request time out period exceeded.";
    assert_eq!(story.given(waits), timeout);
    assert_eq!(story.given("ROLLBACK; BEGIN TRAN; CREATE TABLE u (a int)"), "<rollback>\n<begin>");
    assert_eq!(story.given("other: DROP TABLE u"), timeout);
    assert_eq!(story.given("COMMIT"), "<commit>");
    assert_eq!(story.given("other: DROP TABLE u, t"), "");
}
