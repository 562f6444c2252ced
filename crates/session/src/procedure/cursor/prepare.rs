//! sp_cursorprepare, sp_cursorexecute, sp_cursorprepexec: cursors over prepared statements.

use extentdb_base::sync::Arc;

use super::open::{Opening, Places, describe, query_of};
use super::option::Asked;
use super::{Caller, Finished, Given, returned};
use crate::procedure::execute_sql::text_argument;
use crate::procedure::parameters;
use crate::statement::cursor::{ByValues, CursorKind, cursor_of, failed};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorModel, OpenCursor};
use extentdb_connection::frame::Frame;
use extentdb_connection::output::{Scope, StatementCode};
use extentdb_connection::prepared::Statement;
use extentdb_connection::query;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// Option of sp_cursorprepare: describe the columns.
const DESCRIBE: i64 = 1;

fn statement_of(arguments: &[Argument], declarations: usize) -> Result<Statement, Stop> {
    let declared = arguments.get(declarations).and_then(|it| variant::text(&it.value));
    Ok(Statement {
        declarations: declared.unwrap_or_default(),
        text: text_argument(arguments, declarations + 1, "@stmt")?,
        is_call: false,
    })
}

fn number(arguments: &[Argument], place: usize) -> Option<i64> {
    arguments.get(place).and_then(|it| variant::integer(&it.value))
}

pub(super) fn prepare(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let statement = statement_of(arguments, 1)?;
    let asked = Asked::of(number(arguments, 4), number(arguments, 5));
    if number(arguments, 3).unwrap_or(0) & DESCRIBE != 0 {
        describe_prepared(run, &statement, asked)?;
    }
    let handle = run.connection.prepared.add(statement);
    let mut outputs = vec![(0, returned(handle))];
    let kinds = [asked.kind().map(|it| it as i32), asked.concurrency().map(|it| it as i32)];
    for (place, kind) in (4..).zip(kinds) {
        outputs.extend(kind.map(|kind| (place, returned(kind))));
    }
    Ok(Finished { status: 0, outputs })
}

/// The columns that the cursor will have.
fn describe_prepared(run: &mut Run<'_>, statement: &Statement, asked: Asked) -> Result<(), Stop> {
    let Some(query) = query_of(run, &statement.text)? else {
        if asked.allows_direct() {
            return Ok(());
        }
        return Err(failed(16_937, "No cursor can be opened over the statement.").into());
    };
    let collation = run.connection.collation();
    let parameters = parameters::declared(&statement.declarations, collation)?;
    let variables: Vec<_> = parameters.into_iter().map(|it| it.variable).collect();
    let frame = Frame::new(Scope::Procedure, variables.into());
    let model = CursorModel::Keyset;
    let kind = CursorKind {
        model,
        is_scrollable: true,
        is_read_only: false,
        updatable: Vec::new(),
        by_values: ByValues::Allowed,
    };
    let mut cursor = cursor_of(run, &frame, &Arc::new(query), kind)?;
    let columns = query::columns_of(run, &frame, &cursor.plan.query)?;
    cursor.open = Some(OpenCursor { columns, rows: Vec::new(), position: 0, is_missing: false });
    describe(run, &cursor)?;
    run.done(Scope::Procedure, StatementCode::Select, Some(0), false)
}

/// The statement that a handle stands for, as a cursor.
fn open(
    run: &mut Run<'_>,
    given: Given<'_>,
    places: Places,
    statement: &Statement,
    caller: &Caller,
) -> Result<Finished, Stop> {
    let scroll = number(given.arguments, places.scroll);
    let concurrency = number(given.arguments, places.concurrency);
    let opening = Opening {
        given,
        places,
        text: &statement.text,
        declarations: &statement.declarations,
        asked: Asked::of(scroll, concurrency).with_parameters(),
    };
    opening.run(run, caller)
}

pub(super) fn execute(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let handle =
        number(arguments, 0).ok_or(Cause::ParameterType { parameter: "@handle", ty: "int" })?;
    let statement = run.connection.prepared.named(handle);
    let statement = statement.ok_or(Cause::UnknownHandle { handle })?;
    let places = Places { cursor: 1, scroll: 2, concurrency: 3, rows: 4, values: 5 };
    let given = Given { procedure: "sp_cursorexecute", arguments };
    open(run, given, places, &statement, caller)
}

pub(super) fn prepare_and_execute(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let statement = statement_of(arguments, 2)?;
    if let Some(old) = number(arguments, 0) {
        run.connection.prepared.remove(old);
    }
    let places = Places { cursor: 1, scroll: 4, concurrency: 5, rows: 6, values: 7 };
    let given = Given { procedure: "sp_cursorprepexec", arguments };
    let mut finished = open(run, given, places, &statement, caller)?;
    let handle = run.connection.prepared.add(statement);
    finished.outputs.insert(0, (0, returned(handle)));
    Ok(finished)
}
