//! Declarations of parameters, and arguments for them.

use extentdb_tsql::syntax::{DeclarationKind, Expr, ObjectName, StatementKind};
use extentdb_tsql::{Options, parse};
use extentdb_types::{Collation, Datum, SqlType};

use super::Returned;
use super::table_parameter::{TableParameter, clash};
use crate::statement::execute::word_as_text;
use extentdb_base::sync::Arc;
use extentdb_connection::cause::Cause;
use extentdb_connection::compiled_texts::Compilation;
use extentdb_connection::data_type;
use extentdb_connection::frame::{Frame, Values, Variable};
use extentdb_connection::output::Scope;
use extentdb_connection::request::{Argument, TableArgument};
use extentdb_connection::scalar::{Compiler, converted};
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};

/// Characters of a query in message 8178.
const SHOWN: usize = 2_000;

/// A declared parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) variable: Variable,
    pub(super) is_output: bool,
    pub(super) default: Option<Expr>,
    /// The table type that it is of; then it is no variable.
    pub(super) table: Option<ObjectName>,
}

/// What the parameters are those of.
#[derive(Clone, Copy)]
pub(super) enum Callee<'c> {
    /// A text with its declarations.
    Query { declarations: &'c str, text: &'c str },
    /// A procedure of this name.
    Procedure(&'c str),
}

impl Parameter {
    /// A parameter of a table type.
    pub(super) fn of_table_type(name: &str, ty: ObjectName) -> Parameter {
        Parameter {
            variable: Variable { name: name.into(), ty: SqlType::Int },
            is_output: false,
            default: None,
            table: Some(ty),
        }
    }

    /// Has it a value without an argument?
    pub(super) fn has_default(&self) -> bool {
        self.default.is_some() || self.table.is_some()
    }
}

/// Parameters with their arguments: variables, and tables.
pub(super) struct Split {
    pub(super) variables: Vec<Variable>,
    pub(super) values: Vec<Datum<'static>>,
    pub(super) places: Places,
    pub(super) tables: Vec<TableParameter>,
}

/// Type and argument of each variable that gives a value back; `None` for the others.
pub(super) struct Places(Vec<Option<(usize, SqlType)>>);

impl Places {
    /// What comes back of the values of all variables.
    pub(super) fn outputs(&self, values: &[Datum<'static>]) -> Vec<(usize, Returned)> {
        let all = self.0.iter().zip(values);
        let outputs = all.filter_map(|(place, value)| {
            let (place, ty) = (*place)?;
            Some((place, Returned { ty, value: value.clone() }))
        });
        outputs.collect()
    }
}

impl Split {
    pub(super) fn of(parameters: &[Parameter], bound: Vec<Bound>) -> Split {
        let mut split = Split {
            variables: Vec::with_capacity(parameters.len()),
            values: Vec::with_capacity(parameters.len()),
            places: Places(Vec::with_capacity(parameters.len())),
            tables: Vec::new(),
        };
        for (position, (parameter, bound)) in (1..).zip(parameters.iter().zip(bound)) {
            let Variable { name, ty } = &parameter.variable;
            if let Some(table) = &parameter.table {
                let (name, ty, argument) = (name.as_ref().into(), table.clone(), bound.table);
                split.tables.push(TableParameter { name, ty, position, argument });
                continue;
            }
            split.variables.push(parameter.variable.clone());
            split.values.push(bound.value);
            let place = bound.argument.filter(|_| parameter.is_output);
            split.places.0.push(place.map(|place| (place, *ty)));
        }
        split
    }
}

/// A parameter's value, and the argument that it came from.
pub(super) struct Bound {
    pub(super) value: Datum<'static>,
    pub(super) argument: Option<usize>,
    /// Of a parameter of a table type.
    pub(super) table: Option<TableArgument>,
}

impl Bound {
    /// No value.
    pub(super) fn nothing() -> Bound {
        Bound { value: Datum::Null, argument: None, table: None }
    }
}

/// Declarations as parameters, kept with the texts of the connection.
pub(super) fn compiled(run: &Run<'_>, declarations: &str) -> Result<Arc<Vec<Parameter>>, Stop> {
    let collation = run.connection.collation();
    let compilation = Compilation {
        parameters: Vec::new(),
        collation,
        settings: run.connection.options.settings(),
        quoted_identifier: true,
    };
    let texts = &run.connection.texts;
    let found = texts.find(declarations, &compilation);
    if let Some(Ok(parameters)) = found.map(|found| found.downcast()) {
        return Ok(parameters);
    }
    let parameters = Arc::new(declared(declarations, collation)?);
    texts.keep(declarations, compilation, parameters.clone());
    Ok(parameters)
}

/// Reads `@a int, @b nvarchar(20) = N'x' OUTPUT`.
pub(super) fn declared(text: &str, collation: Collation) -> Result<Vec<Parameter>, Stop> {
    pieces(text).into_iter().enumerate().map(|(at, it)| one(it, at + 1, collation)).collect()
}

fn one(piece: &str, position: usize, collation: Collation) -> Result<Parameter, Stop> {
    let (piece, is_read_only) = without_word(piece.trim(), &["READONLY"]);
    let (piece, is_output) = without_word(piece, &["OUTPUT", "OUT"]);
    let text = format!("DECLARE {piece}");
    let failed = |cause: extentdb_tsql::Cause, line| located(Cause::Syntax(cause), line);
    let script =
        parse(&text, Options::default()).map_err(|error| failed(error.cause, error.span.line))?;
    let near = || extentdb_tsql::Cause::Syntax { near: piece.into() };
    let [statement] = script.statements.as_slice() else { return Err(failed(near(), 1)) };
    let StatementKind::Declare(declare) = &statement.kind else { return Err(failed(near(), 1)) };
    let [declaration] = declare.declarations.as_slice() else { return Err(failed(near(), 1)) };
    match &declaration.kind {
        DeclarationKind::Scalar { data_type, .. } if is_read_only => {
            Ok(Parameter::of_table_type(&declaration.name.text, data_type.name.clone()))
        }
        DeclarationKind::Scalar { data_type, value, .. } => Ok(Parameter {
            variable: Variable {
                name: declaration.name.text.as_ref().into(),
                ty: data_type::parameter(data_type, position, collation)?,
            },
            is_output,
            default: value.clone(),
            table: None,
        }),
        _ => Err(Cause::not_supported("a parameter that is a table or cursor").into()),
    }
}

/// A declaration without one of these words at its end.
fn without_word<'p>(piece: &'p str, words: &[&str]) -> (&'p str, bool) {
    for word in words {
        let Some(at) = piece.len().checked_sub(word.len()).filter(|at| piece.is_char_boundary(*at))
        else {
            continue;
        };
        let (before, last) = piece.split_at(at);
        if last.eq_ignore_ascii_case(word) && before.ends_with(char::is_whitespace) {
            return (before.trim_end(), true);
        }
    }
    (piece, false)
}

/// The parts between commas that stand in no parentheses and no string.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    let mut is_string = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => is_string = !is_string,
            '(' if !is_string => depth += 1,
            ')' if !is_string => depth = depth.saturating_sub(1),
            ',' if !is_string && depth == 0 => {
                pieces.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.get(start..).unwrap_or_default());
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

/// Values for all parameters. `first` is the position of the first argument that is a value.
pub(super) fn bind(
    run: &Run<'_>,
    parameters: &[Parameter],
    arguments: &[Argument],
    first: usize,
    callee: Callee<'_>,
) -> Result<Vec<Bound>, Stop> {
    let mut bound: Vec<Option<Bound>> = parameters.iter().map(|_| None).collect();
    for (place, argument) in arguments.iter().enumerate().skip(first) {
        let slot = slot_of(parameters, argument, place - first, callee)?;
        let (Some(parameter), Some(target)) = (parameters.get(slot), bound.get_mut(slot)) else {
            continue;
        };
        if target.is_some() {
            return Err(Cause::Failed {
                number: 8143,
                severity: 16,
                text: format!("Parameter '{}' was supplied multiple times.", argument.name),
            }
            .into());
        }
        if argument.is_output && !parameter.is_output {
            let name = parameter.variable.name.to_string();
            return Err(Cause::NotOutput { parameter: name }.into());
        }
        if !argument.is_default {
            *target = Some(bound_to(run, parameter, argument, place)?);
        }
    }
    let filled = bound.into_iter().zip(parameters);
    filled
        .map(|(bound, parameter)| match bound {
            Some(bound) => Ok(bound),
            None => default_of(run, parameter, callee),
        })
        .collect()
}

fn bound_to(
    run: &Run<'_>,
    parameter: &Parameter,
    argument: &Argument,
    place: usize,
) -> Result<Bound, Stop> {
    match (&parameter.table, &argument.table) {
        (Some(_), Some(table)) => Ok(Bound {
            value: Datum::Null,
            argument: Some(place),
            table: Some(table.clone()),
        }),
        (None, None) => {
            let value = value_of(run, argument, parameter.variable.ty)?;
            Ok(Bound { value, argument: Some(place), table: None })
        }
        (Some(table), None) => {
            let from = argument.ty.map_or("void type", |ty| ty.base_name());
            Err(clash(from, &table.name.text).into())
        }
        (None, Some(_)) => Err(clash("table", parameter.variable.ty.base_name()).into()),
    }
}

fn slot_of(
    parameters: &[Parameter],
    argument: &Argument,
    place: usize,
    callee: Callee<'_>,
) -> Result<usize, Stop> {
    if argument.name.is_empty() && place < parameters.len() {
        return Ok(place);
    }
    let procedure = || match callee {
        Callee::Query { .. } => "sp_executesql".to_owned(),
        Callee::Procedure(name) => name.to_owned(),
    };
    if argument.name.is_empty() {
        if parameters.is_empty() && matches!(callee, Callee::Procedure(_)) {
            return Err(Cause::Failed {
                number: 8146,
                severity: 16,
                text: format!(
                    "Procedure {} has no parameters and arguments were supplied.",
                    procedure()
                ),
            }
            .into());
        }
        return Err(Cause::TooManyArguments { procedure: procedure() }.into());
    }
    let is_it = |parameter: &Parameter| {
        let own = parameter.variable.name.trim_start_matches('@');
        own.eq_ignore_ascii_case(argument.name.trim_start_matches('@'))
    };
    parameters.iter().position(is_it).ok_or_else(|| {
        let parameter = argument.name.clone();
        let procedure = match callee {
            Callee::Query { .. } => String::new(),
            Callee::Procedure(name) => name.to_owned(),
        };
        Cause::UnknownParameter { parameter, procedure }.into()
    })
}

fn value_of(run: &Run<'_>, argument: &Argument, to: SqlType) -> Result<Datum<'static>, Stop> {
    let Some(from) = argument.ty else { return Ok(Datum::Null) };
    let frame = Frame::new(Scope::Procedure, extentdb_base::sync::Arc::from([]));
    let at = Values { connection: run.connection, frame: &frame };
    // Whatever the number of the failed conversion in a query: here it is 8114.
    converted(argument.value.clone(), from, to, at).map_err(|cause| match cause.number() {
        241 | 242 | 244 | 245 | 248 | 295 => {
            Cause::Conversion { from: from.base_name(), to: to.base_name() }.into()
        }
        _ => cause.into(),
    })
}

fn default_of(run: &Run<'_>, parameter: &Parameter, callee: Callee<'_>) -> Result<Bound, Stop> {
    if parameter.table.is_some() {
        return Ok(Bound { value: Datum::Null, argument: None, table: None });
    }
    let Some(default) = &parameter.default else {
        let parameter = parameter.variable.name.to_string();
        return Err(match callee {
            Callee::Query { declarations, text } => {
                let query = format!("({declarations}){text}");
                let query: String = query.chars().take(SHOWN).collect();
                Cause::QueryParameter { query, parameter }
            }
            Callee::Procedure(name) => {
                Cause::MissingParameter { procedure: name.to_owned(), parameter }
            }
        }
        .into());
    };
    let compiler = Compiler {
        variables: &[],
        collation: run.connection.collation(),
        settings: run.connection.options.settings(),
    };
    let scalar = compiler.assigned(&word_as_text(default), parameter.variable.ty)?;
    let frame = Frame::new(Scope::Procedure, extentdb_base::sync::Arc::from([]));
    let at = Values { connection: run.connection, frame: &frame };
    Ok(Bound { value: scalar.value(at)?, argument: None, table: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_with_defaults_and_directions() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let text = "@a int, @b decimal(10,2) OUTPUT,@c varchar(5) = 'x,y'";
        let parameters = declared(text, collation).unwrap();
        let shown: Vec<String> = parameters
            .iter()
            .map(|it| {
                let has_default = it.default.is_some();
                let ty = it.variable.ty;
                format!("{} {ty} {} {has_default}", it.variable.name, it.is_output)
            })
            .collect();
        assert_eq!(
            shown,
            ["@a int false false", "@b decimal(10,2) true false", "@c varchar(5) false true"]
        );
        assert!(declared("  ", collation).unwrap().is_empty());
        assert!(declared("@a", collation).is_err());
    }
}
