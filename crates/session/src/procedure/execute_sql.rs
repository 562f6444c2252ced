//! sp_executesql: a text with parameters.

use super::parameters::{self, Callee, Parameter, Split};
use super::{Caller, Finished, Returned, nested, table_parameter};
use extentdb_connection::cause::Cause;
use extentdb_connection::output::Scope;
use extentdb_connection::request::Argument;
use extentdb_connection::step::{Run, Source, Text};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// A text, its declarations, and where its values begin among the arguments.
pub(super) struct Call<'c> {
    pub(super) text: &'c str,
    pub(super) declarations: &'c str,
    pub(super) arguments: &'c [Argument],
    pub(super) first: usize,
}

pub(super) fn run(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let text = text_argument(arguments, 0, "@statement")?;
    let declarations = match arguments.get(1) {
        Some(argument) => variant::text(&argument.value).unwrap_or_default(),
        None => String::new(),
    };
    let call = Call {
        text: &text,
        declarations: &declarations,
        arguments,
        first: 2,
    };
    execute(run, &call, caller)
}

/// A text of an argument, in whichever type it comes.
pub(super) fn text_argument(
    arguments: &[Argument],
    place: usize,
    parameter: &'static str,
) -> Result<String, Stop> {
    let value = arguments.get(place).and_then(|argument| variant::text(&argument.value));
    let missing = || Cause::ParameterType { parameter, ty: "ntext/nchar/nvarchar" };
    Ok(value.ok_or_else(missing)?)
}

/// Runs a text with its parameters.
pub(super) fn execute(
    run: &mut Run<'_>,
    call: &Call<'_>,
    caller: &Caller,
) -> Result<Finished, Stop> {
    let collation = run.connection.collation();
    let parameters = parameters::declared(call.declarations, collation)?;
    let query = format!("({}){}", call.declarations, call.text);
    let bound =
        parameters::bind(run, &parameters, call.arguments, call.first, Callee::Query(&query))?;
    let split = Split::of(parameters, bound);
    let text = Text {
        source: Source::Text(call.text),
        scope: Scope::Procedure,
        parameters: split.declared(),
        values: split.values,
        inherited: caller.inherited.clone(),
        has_outer_handler: caller.has_outer_handler,
        trigger: None,
    };
    let frame = nested(run, |run| {
        table_parameter::enter(run, split.tables)?;
        run.text(text)
    })?;
    let outputs = outputs(&split.variables, &split.places, &frame.values);
    Ok(Finished { status: run.connection.error, outputs })
}

pub(super) fn outputs(
    parameters: &[Parameter],
    places: &[Option<usize>],
    values: &[extentdb_types::Datum<'static>],
) -> Vec<(usize, Returned)> {
    let all = parameters.iter().zip(places).zip(values);
    let outputs = all.filter_map(|((parameter, place), value)| {
        let place = place.filter(|_| parameter.is_output)?;
        Some((place, Returned { ty: parameter.variable.ty, value: value.clone() }))
    });
    outputs.collect()
}
