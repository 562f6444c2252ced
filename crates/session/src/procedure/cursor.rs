//! Cursors of clients: sp_cursoropen and the calls that follow it.
//!
//! | procedure | arguments |
//! |---|---|
//! | sp_cursoropen | cursor OUT, text, scroll OUT, concurrency OUT, rows OUT [, declarations, values…] |
//! | sp_cursorprepare | prepared OUT, declarations, text, options, scroll OUT, concurrency OUT |
//! | sp_cursorexecute | prepared, cursor OUT, scroll OUT, concurrency OUT, rows OUT [, values…] |
//! | sp_cursorprepexec | prepared OUT, cursor OUT, declarations, text, scroll OUT, concurrency OUT, rows OUT [, values…] |
//! | sp_cursorfetch | cursor, kind, row, count |
//! | sp_cursor | cursor, operation, row, table, values… |
//! | sp_cursoroption | cursor, code, value |
//! | sp_cursorclose | cursor |
//! | sp_cursorunprepare | prepared |
//!
//! Where we differ
//! - As for cursors of T-SQL: all rows or their keys are read when the cursor is opened, and one
//!   over more than a table, or over a table without unique index, is static.
//! - SCROLL_LOCKS takes no locks: the row is compared before it is changed, as for OPTIMISTIC.

mod change;
mod fetch;
mod open;
mod option;
mod origin;
mod prepare;

use extentdb_base::sync::lock;
use extentdb_types::{Datum, SqlType};

use super::given::Given;
use super::{Caller, Finished, Returned};
use crate::statement::cursor::failed;
use extentdb_connection::api_cursor::{ApiCursor, ApiKind, SharedApiCursor};
use extentdb_connection::cause::Cause;
use extentdb_connection::output::ColumnInfo;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// Runs one of the procedures; `None` when the name is of no other.
pub(super) fn run(
    run: &mut Run<'_>,
    name: &str,
    arguments: &[Argument],
    caller: &Caller,
) -> Option<Result<Finished, Stop>> {
    Some(match name {
        "sp_cursoropen" => open::open(run, arguments, caller),
        "sp_cursorprepare" => prepare::prepare(run, arguments),
        "sp_cursorexecute" => prepare::execute(run, arguments, caller),
        "sp_cursorprepexec" => prepare::prepare_and_execute(run, arguments, caller),
        "sp_cursorunprepare" => super::prepare::unprepare(run, arguments),
        "sp_cursorfetch" => fetch::fetch(run, arguments),
        "sp_cursor" => change::run(run, arguments),
        "sp_cursoroption" => option::run(run, arguments),
        "sp_cursorclose" => close(run, arguments),
        _ => return None,
    })
}

fn close(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: "sp_cursorclose", arguments };
    let handle = handle_of(given)?;
    if remove(run, handle) { Ok(Finished::default()) } else { Err(unknown(given, handle)) }
}

/// Forgets a cursor, and its name.
fn remove(run: &mut Run<'_>, handle: i64) -> bool {
    let Some(cursor) = run.connection.cursors.api.remove(handle) else { return false };
    if let Some(name) = &lock(&cursor).name {
        run.connection.cursors.global.remove(name);
    }
    true
}

/// The handle, which is the first argument.
fn handle_of(given: Given<'_>) -> Result<i64, Stop> {
    let missing = Cause::ParameterType { parameter: "@cursor", ty: "int" };
    Ok(given.number(0, "@cursor").ok_or(missing)?)
}

fn found(run: &Run<'_>, given: Given<'_>) -> Result<SharedApiCursor, Stop> {
    let handle = handle_of(given)?;
    run.connection.cursors.api.named(handle).ok_or_else(|| unknown(given, handle))
}

fn unknown(given: Given<'_>, handle: i64) -> Stop {
    let procedure = given.procedure;
    let text =
        format!("{procedure}: The cursor identifier value provided ({handle:x}) is not valid.");
    failed(16_909, text).into()
}

fn invalid(given: Given<'_>, parameter: &str) -> Stop {
    let procedure = given.procedure;
    let text = format!("{procedure}: The value of the parameter '{parameter}' is invalid.");
    failed(16_902, text).into()
}

/// A whole number for an argument that may be an output.
fn returned(value: i32) -> Returned {
    Returned { ty: SqlType::Int, value: Datum::Int(value) }
}

/// Whether a row was there, as the last column of each row.
fn row_status() -> ColumnInfo {
    ColumnInfo {
        name: "ROWSTAT".to_owned(),
        ty: SqlType::Int,
        is_nullable: false,
        is_computed: true,
        is_identity: false,
    }
}

/// Rows of the result; -1 where they are not known at the beginning.
fn row_count(cursor: &ApiCursor) -> i32 {
    let is_counted = matches!(cursor.kind, ApiKind::Keyset | ApiKind::Static);
    match &lock(&cursor.cursor).open {
        Some(open) if is_counted => i32::try_from(open.rows.len()).unwrap_or(i32::MAX),
        Some(_) => -1,
        None => 0,
    }
}
