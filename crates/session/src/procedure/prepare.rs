//! sp_prepare, sp_prepexec, sp_prepexecrpc, sp_execute, sp_unprepare: statements by handle.

use extentdb_types::{Datum, SqlType};

use super::execute_sql::{self, Call, text_argument};
use super::parameters::{Bound, Split};
use super::{Caller, Finished, Returned};
use extentdb_connection::cause::Cause;
use extentdb_connection::prepared::Statement;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// Places of the arguments of sp_prepare and sp_prepexec.
const HANDLE: usize = 0;
const DECLARATIONS: usize = 1;
const TEXT: usize = 2;
const OPTIONS: usize = 3;
/// Place of the name among the arguments of sp_prepexecrpc.
const CALLED: usize = 1;
/// Option of sp_prepare: describe the first result.
const DESCRIBE: i64 = 1;

pub(super) fn prepare(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let statement = statement_of(arguments)?;
    let options = arguments.get(OPTIONS).and_then(|it| variant::integer(&it.value)).unwrap_or(0);
    if options & DESCRIBE != 0 {
        describe(run, &statement)?;
    }
    let handle = run.connection.prepared.add(statement);
    Ok(Finished { status: 0, outputs: vec![handle_output(handle)] })
}

pub(super) fn prepare_and_execute(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let statement = statement_of(arguments)?;
    // A handle that comes in is that of the statement prepared before.
    if let Some(old) = arguments.get(HANDLE).and_then(|it| variant::integer(&it.value)) {
        run.connection.prepared.remove(old);
    }
    let call = Call {
        text: &statement.text,
        declarations: &statement.declarations,
        arguments,
        first: TEXT + 1,
    };
    let mut finished = execute_sql::execute(run, &call, caller)?;
    let handle = run.connection.prepared.add(statement);
    finished.outputs.insert(0, handle_output(handle));
    Ok(finished)
}

pub(super) fn execute(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let handle = handle_of(arguments)?;
    let statement = run.connection.prepared.named(handle);
    let statement = statement.ok_or(Cause::UnknownHandle { handle })?;
    if statement.is_call {
        return called(run, &statement.text, arguments, 1, caller);
    }
    let call = Call {
        text: &statement.text,
        declarations: &statement.declarations,
        arguments,
        first: 1,
    };
    execute_sql::execute(run, &call, caller)
}

/// sp_prepexecrpc: a procedure is called, and its name kept for sp_execute.
pub(super) fn prepare_and_call(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let name = text_argument(arguments, CALLED, "@procname")?;
    if let Some(old) = arguments.get(HANDLE).and_then(|it| variant::integer(&it.value)) {
        run.connection.prepared.remove(old);
    }
    let mut finished = called(run, &name, arguments, CALLED + 1, caller)?;
    let statement = Statement { declarations: String::new(), text: name, is_call: true };
    let handle = run.connection.prepared.add(statement);
    finished.outputs.insert(0, handle_output(handle));
    Ok(finished)
}

/// Calls a procedure with the arguments from a place on.
fn called(
    run: &mut Run<'_>,
    name: &str,
    arguments: &[Argument],
    first: usize,
    caller: &Caller,
) -> Result<Finished, Stop> {
    let own = arguments.get(first..).unwrap_or_default();
    let mut finished = super::run(run, name, own, caller)?;
    finished.outputs.iter_mut().for_each(|(place, _)| *place += first);
    Ok(finished)
}

pub(super) fn unprepare(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let handle = handle_of(arguments)?;
    if run.connection.prepared.remove(handle) {
        Ok(Finished::default())
    } else {
        Err(Cause::UnknownHandle { handle }.into())
    }
}

fn statement_of(arguments: &[Argument]) -> Result<Statement, Stop> {
    let declarations = arguments.get(DECLARATIONS).and_then(|it| variant::text(&it.value));
    Ok(Statement {
        declarations: declarations.unwrap_or_default(),
        text: text_argument(arguments, TEXT, "@stmt")?,
        is_call: false,
    })
}

fn handle_of(arguments: &[Argument]) -> Result<i64, Stop> {
    let handle = arguments.get(HANDLE).and_then(|it| variant::integer(&it.value));
    Ok(handle.ok_or(Cause::ParameterType { parameter: "@handle", ty: "int" })?)
}

fn handle_output(handle: i32) -> (usize, Returned) {
    (HANDLE, Returned { ty: SqlType::Int, value: Datum::Int(handle) })
}

/// The columns of the first result, as under FMTONLY.
fn describe(run: &mut Run<'_>, statement: &Statement) -> Result<(), Stop> {
    let parameters = super::parameters::compiled(run, &statement.declarations)?;
    let nothing = parameters.iter().map(|_| Bound::nothing()).collect();
    let split = Split::of(&parameters, nothing);
    let before = std::mem::replace(&mut run.connection.options.fmtonly, true);
    let text = extentdb_connection::step::Text {
        source: extentdb_connection::step::Source::Text(&statement.text),
        scope: extentdb_connection::output::Scope::Procedure,
        parameters: split.variables,
        values: Vec::new(),
        inherited: None,
        has_outer_handler: false,
        trigger: None,
    };
    let described = super::nested(run, |run| {
        super::table_parameter::enter(run, split.tables)?;
        run.text(text)
    });
    run.connection.options.fmtonly = before;
    described.map(|_| ())
}
