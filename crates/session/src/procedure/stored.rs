//! Procedures of users: their text is kept by the catalog, and compiled when it is called.

use extentdb_tsql::syntax::{
    Module, ModuleBody, ParameterType, Procedure, Statement, StatementKind,
};
use extentdb_tsql::{Options, parse};

use super::parameters::{self, Callee, Parameter, Split};
use super::{Caller, Finished, nested, table_parameter};
use crate::user_type;
use extentdb_connection::cause::Cause;
use extentdb_connection::data_type;
use extentdb_connection::frame::Variable;
use extentdb_connection::objects::{ResolvedObject, is_temporary, object_name};
use extentdb_connection::output::Scope;
use extentdb_connection::request::Argument;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::{Run, Source, Text};
use extentdb_connection::stop::{Stop, located};

/// Runs the procedure of a name; `None` when there is none.
pub(super) fn run(
    run: &mut Run<'_>,
    name: &str,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Option<Finished>, Stop> {
    let name = object_name(name.trim().trim_end_matches(";1"));
    let Some(found) = run.connection.readable(&name)? else { return Ok(None) };
    if found.kind() != "P" {
        return Ok(None);
    }
    called(run, &found, arguments, caller).map(Some)
}

fn called(
    run: &mut Run<'_>,
    found: &ResolvedObject,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    run.connection.verify_object(found, None, code::EXECUTE, "EXECUTE")?;
    let name = found.shown_name().to_owned();
    let Some(text) = found.object.module().and_then(|module| module.text.clone()) else {
        return Err(Cause::not_supported(format!("the encrypted procedure {name}")).into());
    };
    let object = &found.object.object;
    let quoted_identifier = object.uses_quoted_identifier();
    let ansi_nulls = object.uses_ansi_nulls();
    let mut script = parse(&text, Options { quoted_identifier })
        .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
    resolve_types(run, &mut script.statements);
    let Some(procedure) = procedure_of(&script.statements) else {
        return Err(Cause::not_supported(format!("the text of procedure {name}")).into());
    };
    let ModuleBody::Statements(body) = &procedure.body else {
        return Err(Cause::not_supported("a procedure of an assembly").into());
    };
    let collation = run.connection.collation();
    let parameters = declared(procedure, collation)?;
    let bound = parameters::bind(run, &parameters, arguments, 0, Callee::Procedure(&name))?;
    let split = Split::of(&parameters, bound);
    let text = Text {
        source: Source::Procedure { script: &script, body, name: &name, returns: None },
        scope: Scope::Procedure,
        parameters: split.variables.clone(),
        values: split.values,
        inherited: caller.inherited.clone(),
        has_outer_handler: caller.has_outer_handler,
        trigger: None,
    };
    let database = found.database.name().to_owned();
    let frame = nested(run, |run| {
        // As they were when the procedure was made.
        run.connection.options.ansi_nulls = ansi_nulls;
        run.connection.options.quoted_identifier = quoted_identifier;
        // A temporary procedure runs where it is called.
        if run.connection.database != database && !is_temporary(&name) {
            run.change_database(&database)?;
        }
        if !is_temporary(&name) {
            let context = procedure.options.execute_as.as_ref();
            let owner = found.model.owner_of(object);
            run.connection.enter_module(found);
            run.connection.execute_module_as(context, &found.database, owner)?;
        }
        table_parameter::enter(run, split.tables)?;
        run.text(text)
    })?;
    let outputs = split.places.outputs(&frame.values);
    Ok(Finished { status: frame.return_status, outputs })
}

/// Replaces alias types of the procedure's parameters and declarations.
fn resolve_types(run: &Run<'_>, statements: &mut [Statement]) {
    if let [Statement { kind: StatementKind::DefineModule(define), .. }] = statements
        && let Module::Procedure(procedure) = &mut define.module
    {
        user_type::resolve_parameters(run.connection, &mut procedure.parameters);
        if let ModuleBody::Statements(body) = &mut procedure.body {
            user_type::resolve(run.connection, body);
        }
    }
}

pub(super) fn procedure_of(statements: &[Statement]) -> Option<&Procedure> {
    match statements {
        [Statement { kind: StatementKind::DefineModule(define), .. }] => match &define.module {
            Module::Procedure(procedure) => Some(procedure),
            _ => None,
        },
        _ => None,
    }
}

fn declared(
    procedure: &Procedure,
    collation: extentdb_types::Collation,
) -> Result<Vec<Parameter>, Cause> {
    let parameter = |(at, it): (usize, &extentdb_tsql::syntax::Parameter)| {
        let ParameterType::Type(data_type) = &it.data_type else {
            return Err(Cause::not_supported("a cursor as a parameter"));
        };
        if it.is_readonly {
            return Ok(Parameter::of_table_type(&it.name.text, data_type.name.clone()));
        }
        Ok(Parameter {
            variable: Variable {
                name: it.name.text.as_ref().into(),
                ty: data_type::parameter(data_type, at + 1, collation)?,
            },
            is_output: it.is_output,
            default: it.default.clone(),
            table: None,
        })
    };
    procedure.parameters.iter().enumerate().map(parameter).collect()
}
