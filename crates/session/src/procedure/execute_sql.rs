//! sp_executesql: a text with parameters.

use super::parameters::{self, Callee, Split};
use super::{Caller, Finished, nested, table_parameter};
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
    let parameters = parameters::compiled(run, call.declarations)?;
    let callee = Callee::Query { declarations: call.declarations, text: call.text };
    let bound = parameters::bind(run, &parameters, call.arguments, call.first, callee)?;
    let split = Split::of(&parameters, bound);
    let text = Text {
        source: Source::Text(call.text),
        scope: Scope::Procedure,
        parameters: split.variables.clone(),
        values: split.values,
        inherited: caller.inherited.clone(),
        has_outer_handler: caller.has_outer_handler,
        trigger: None,
    };
    let frame = nested(run, |run| {
        table_parameter::enter(run, split.tables)?;
        run.text(text)
    })?;
    let outputs = split.places.outputs(&frame.values);
    Ok(Finished { status: run.connection.error, outputs })
}
