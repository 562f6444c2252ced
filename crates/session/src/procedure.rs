//! System procedures that the server has, called by clients and by EXECUTE.
//!
//! | procedure | where |
//! |---|---|
//! | sp_executesql | `execute_sql.rs` |
//! | sp_prepare, sp_prepexec, sp_prepexecrpc, sp_execute, sp_unprepare | `prepare.rs` |
//! | sp_cursoropen, sp_cursorfetch … | `cursor.rs` |
//! | sp_adduser, sp_addrole, sp_addrolemember … | `principal.rs` |
//! | sp_rename | `rename.rs` |
//! | sp_addextendedproperty … | `extended_property.rs` |
//! | sp_bindefault, sp_bindrule, sp_unbindefault, sp_unbindrule | `bind.rs` |
//! | sp_getapplock, sp_releaseapplock | `app_lock.rs` |
//! | sp_describe_undeclared_parameters | `undeclared.rs` |
//! | sp_set_session_context | `session_context.rs` |
//! | sp_tables, sp_columns, sp_help, sp_who … | `catalog.rs` |
//! | sp_helptext | `help_text.rs` |
//! | sp_describe_first_result_set | `describe.rs` |
//! | sp_reset_connection | here |
//! | those of users | `stored.rs` |
//!
//! Procedures of the product that are not here are refused by name ([`absent`]); any other name is
//! message 2812, as for any procedure that does not exist.

mod absent;
mod app_lock;
mod bind;
mod catalog;
mod cursor;
mod describe;
mod execute_sql;
mod extended_property;
pub(crate) mod given;
mod help_text;
mod parameters;
mod prepare;
mod principal;
mod rename;
mod session_context;
mod stored;
mod table_parameter;
mod undeclared;

use extentdb_base::sync::Arc;
use extentdb_definition::Bound;
use extentdb_types::{Datum, SqlType};

use crate::principal::not_permitted;
use crate::statement::execute::function_value;
use extentdb_connection::cause::{Cause, Effect};
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::{OutputValue, Scope, StatementCode};
use extentdb_connection::request::{Argument, ProcedureCall};
use extentdb_connection::scalar::converted;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Raised, Stop};

/// What a procedure finds around it.
#[derive(Default)]
pub(crate) struct Caller {
    /// What the caller has caught.
    pub(crate) inherited: Option<Arc<Message>>,
    /// Would an error be caught?
    pub(crate) has_outer_handler: bool,
}

/// A value that comes back.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    pub(crate) ty: SqlType,
    pub(crate) value: Datum<'static>,
}

/// What a procedure gives back.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) status: i32,
    /// By position of the argument.
    pub(crate) outputs: Vec<(usize, Returned)>,
}

/// A call by the client, with everything that it is answered. What ends a batch ends all calls of a
/// message: those after it are not answered.
pub(crate) fn call(run: &mut Run<'_>, call: &ProcedureCall) -> Result<(), Stop> {
    if run.connection.is_message_ended() {
        return Ok(());
    }
    match function(run, call) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(Stop::Raised(raised)) => {
            run.report(&raised, Scope::ProcedureEnd)?;
            return end_by(run, &raised);
        }
        Err(stop) => return Err(stop),
    }
    let finished = match self::run(run, &call.name, &call.arguments, &Caller::default()) {
        Ok(finished) => finished,
        Err(Stop::Raised(raised)) => {
            run.report(&raised, Scope::ProcedureEnd)?;
            return end_by(run, &raised);
        }
        Err(Stop::Batch) => {
            run.connection.end_message();
            return run.done(Scope::ProcedureEnd, StatementCode::Execute, None, true);
        }
        Err(stop) => return Err(stop),
    };
    run.output.return_status(finished.status)?;
    for (position, returned) in &finished.outputs {
        let Some(argument) = call.arguments.get(*position) else { continue };
        if argument.is_output {
            let Returned { ty, value } = as_declared(run, argument, returned);
            run.output.output_value(&OutputValue {
                is_function: false,
                ordinal: u16::try_from(*position).unwrap_or(u16::MAX),
                name: argument.name.clone(),
                ty,
                value,
            })?;
        }
    }
    run.done(Scope::ProcedureEnd, StatementCode::Execute, None, false)
}

/// A call of a function that has a value; false when it is none.
fn function(run: &mut Run<'_>, call: &ProcedureCall) -> Result<bool, Stop> {
    if call.name.starts_with("sp_")
        || system_name(&call.name).is_some_and(|name| name.starts_with("sp_"))
    {
        return Ok(false);
    }
    let value = function_value(run, false, &call.name, &call.arguments)?;
    let Some(Returned { ty, value }) = value else { return Ok(false) };
    run.output.output_value(&OutputValue {
        is_function: true,
        ordinal: 0,
        name: String::new(),
        ty,
        value,
    })?;
    run.done(Scope::ProcedureEnd, StatementCode::Execute, None, false)?;
    Ok(true)
}

/// A number in the type of number that the client has declared for it; anything else as it is.
fn as_declared(run: &Run<'_>, argument: &Argument, returned: &Returned) -> Returned {
    let is_number = |ty: SqlType| {
        use SqlType::{BigInt, Bit, Decimal, Float, Int, Numeric, Real, SmallInt, TinyInt};
        let is_plain = matches!(ty, Bit | TinyInt | SmallInt | Int | BigInt | Real | Float);
        is_plain || matches!(ty, Decimal { .. } | Numeric { .. })
    };
    let to = argument.ty.filter(|ty| is_number(*ty) && is_number(returned.ty));
    let Some(ty) = to else { return returned.clone() };
    let frame = Frame::new(Scope::Procedure, Arc::from([]));
    let at = run.values(&frame);
    // What does not fit is returned as the procedure has it.
    match converted(returned.value.clone(), returned.ty, ty, at) {
        Ok(value) => Returned { ty, value },
        Err(_) => returned.clone(),
    }
}

fn end_by(run: &mut Run<'_>, raised: &Raised) -> Result<(), Stop> {
    if raised.effect >= Effect::Batch {
        run.connection.end_message();
    }
    match raised.effect {
        Effect::Connection => Err(Stop::Close),
        Effect::Rollback => run.connection.roll_back_all(run.output),
        _ => Ok(()),
    }
}

/// Runs a procedure by its name.
pub(crate) fn run(
    run: &mut Run<'_>,
    name: &str,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    // What clients call with every statement is not looked for among all others.
    match name {
        "sp_execute" => return prepare::execute(run, arguments, caller),
        "sp_executesql" => return execute_sql::run(run, arguments, caller),
        _ => {}
    }
    if let Some((database, rest)) = in_other_database(name)
        && is_catalog_or_text(&rest.to_lowercase())
    {
        return run_in(run, &database, &rest, arguments, caller);
    }
    let known = system_name(name);
    if let Some(call) = known.as_deref().and_then(catalog::named) {
        return call.run(run, arguments, caller);
    }
    if let Some(procedure) = known.as_deref().and_then(principal::named) {
        return principal::run(run, arguments, procedure);
    }
    if let Some(action) = known.as_deref().and_then(extended_property::Action::of) {
        verify_definer(run)?;
        return extended_property::run(run, arguments, action);
    }
    if let Some(done) = known.as_deref().and_then(|name| cursor::run(run, name, arguments, caller))
    {
        return done;
    }
    match known.as_deref() {
        Some("sp_executesql") => execute_sql::run(run, arguments, caller),
        Some("sp_prepare") => prepare::prepare(run, arguments),
        Some("sp_prepexec") => prepare::prepare_and_execute(run, arguments, caller),
        Some("sp_execute") => prepare::execute(run, arguments, caller),
        Some("sp_unprepare") => prepare::unprepare(run, arguments),
        Some("sp_rename") => {
            verify_definer(run)?;
            rename::run(run, arguments)
        }
        Some("sp_bindefault") => bind::run(run, arguments, Bound::Default, bind::Action::Bind),
        Some("sp_bindrule") => bind::run(run, arguments, Bound::Rule, bind::Action::Bind),
        Some("sp_unbindefault") => bind::run(run, arguments, Bound::Default, bind::Action::Unbind),
        Some("sp_unbindrule") => bind::run(run, arguments, Bound::Rule, bind::Action::Unbind),
        Some("sp_getapplock") => app_lock::get(run, arguments),
        Some("sp_releaseapplock") => app_lock::release(run, arguments),
        Some("sp_set_session_context") => session_context::run(run, arguments),
        Some("sp_reset_connection") => {
            run.connection.reset(false, run.output)?;
            Ok(Finished::default())
        }
        Some("sp_describe_first_result_set") => describe::run(run, arguments),
        Some("sp_describe_undeclared_parameters") => undeclared::run(run, arguments),
        Some("sp_helptext") => help_text::run(run, arguments),
        Some("sp_prepexecrpc") => prepare::prepare_and_call(run, arguments, caller),
        _ => match stored::run(run, name, arguments, caller)? {
            Some(finished) => Ok(finished),
            None => {
                if let Some(known) = known.filter(|known| absent::is_of_the_product(known)) {
                    return Err(Cause::not_supported(format!("the procedure {known}")).into());
                }
                let name = name.replace(['[', ']'], "");
                Err(Cause::UnknownProcedure { name }.into())
            }
        },
    }
}

/// Refuses who may not change definitions in the current database: these procedures are for
/// db_owner and db_ddladmin, not for the owners of single objects.
fn verify_definer(run: &Run<'_>) -> Result<(), Cause> {
    let database = run.connection.session.database().clone();
    let may = run.connection.is_sysadmin()
        || run.connection.rights(&database)?.has_on_database(code::ALTER_ANY_SCHEMA);
    if may { Ok(()) } else { Err(not_permitted()) }
}

/// Runs a system procedure where another database is the current one.
fn run_in(
    run: &mut Run<'_>,
    database: &str,
    name: &str,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let before = run.connection.database.clone();
    if before.eq_ignore_ascii_case(database) {
        return self::run(run, name, arguments, caller);
    }
    run.change_database(database)?;
    let done = self::run(run, name, arguments, caller);
    run.change_database(&before)?;
    done
}

/// Database and rest of a name like `tempdb..sp_executesql`.
fn in_other_database(name: &str) -> Option<(String, String)> {
    let plain = name.trim().replace(['[', ']', '"'], "");
    let (database, rest) = plain.split_once('.')?;
    let (schema, procedure) = rest.split_once('.')?;
    let is_system = matches!(&*schema.to_lowercase(), "" | "sys" | "dbo");
    (is_system && !database.is_empty()).then(|| (database.to_owned(), procedure.to_owned()))
}

/// Procedures that look at the current database or run a text in it.
fn is_catalog_or_text(name: &str) -> bool {
    catalog::named(name).is_some()
        || extended_property::Action::of(name).is_some()
        || principal::named(name).is_some()
        || matches!(
            name,
            "sp_executesql"
                | "sp_getapplock"
                | "sp_releaseapplock"
                | "sp_describe_first_result_set"
                | "sp_helptext"
        )
}

/// The last part of a name of a system procedure, in small letters.
fn system_name(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches(";1").replace(['[', ']', '"'], "").to_lowercase();
    let mut parts: Vec<&str> = name.split('.').collect();
    let last = parts.pop()?;
    let is_system = parts.iter().all(|part| matches!(*part, "" | "sys" | "dbo" | "master"));
    is_system.then(|| last.to_owned())
}

/// Runs a text within another: options, database and the number of transactions are looked after.
pub(crate) fn nested<T>(
    run: &mut Run<'_>,
    work: impl FnOnce(&mut Run<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let before = run.connection.transaction.count;
    let done = run.within(work)?;
    let after = run.connection.transaction.count;
    // One that a statement has begun by itself is not the text's to end.
    let is_begun_by_itself =
        run.connection.options.implicit_transactions && before == 0 && after == 1;
    if before != after && !is_begun_by_itself && !run.connection.transaction.is_doomed {
        let Stop::Raised(raised) = Stop::from(Cause::TransactionCount { before, after }) else {
            return Ok(done);
        };
        run.report(&raised, Scope::Procedure)?;
    }
    Ok(done)
}
