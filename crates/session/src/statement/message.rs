//! PRINT and RAISERROR.

use extentdb_tsql::syntax::{Print, RaiseError};
use extentdb_types::{Datum, SqlType};

use super::{Compiled, Context};
use extentdb_connection::cause::{Cause, Effect};
use extentdb_connection::format_message::{self, Substitution};
use extentdb_connection::frame::Frame;
use extentdb_connection::message::{MAX_INFO_SEVERITY, Message};
use extentdb_connection::output::StatementCode;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::{Raised, Stop};
use extentdb_connection::variant;

/// Characters that PRINT sends of an nvarchar, and of a varchar.
const PRINT_WIDE: usize = 4_000;
const PRINT_NARROW: usize = 8_000;
/// Number of a message that is a text.
pub(crate) const USER_MESSAGE: i32 = 50_000;
/// Numbers below this one are the product's own and are not raised.
const FIRST_RAISED: i64 = 13_000;
/// Severities above this one need WITH LOG.
const MAX_PLAIN_SEVERITY: i64 = 18;
const MAX_SEVERITY: i64 = 25;
const MAX_ARGUMENTS: usize = 20;

struct PrintStep(Scalar);

struct RaiseStep {
    message: Scalar,
    severity: Scalar,
    state: Scalar,
    arguments: Vec<Scalar>,
    has_log: bool,
    is_urgent: bool,
    sets_error: bool,
}

pub(super) fn print(context: &Context<'_>, print: &Print) -> Compiled {
    let compiler = &context.compiler;
    let natural = compiler.value(&print.value)?;
    if natural.ty.collation().is_some() {
        return Ok(Box::new(PrintStep(natural)));
    }
    let ty = SqlType::VarChar {
        len: Some(PRINT_NARROW as u16),
        collation: compiler.collation,
    };
    Ok(Box::new(PrintStep(compiler.assigned(&print.value, ty)?)))
}

impl Step for PrintStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let value = self.0.value(run.values(frame))?;
        let most = if matches!(value, Datum::NChar(_)) { PRINT_WIDE } else { PRINT_NARROW };
        // NULL prints an empty line, which on the wire is a blank.
        let text = variant::text(&value).unwrap_or_default();
        let text: String = if text.is_empty() { " ".to_owned() } else { text };
        let text: String = text.chars().take(most).collect();
        run.output.message(&Message { line: 1, ..Message::info(0, 1, 1, text) }, true)?;
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

pub(super) fn raise(context: &Context<'_>, raise: &RaiseError) -> Compiled {
    let compiler = &context.compiler;
    let (Some(severity), Some(state)) = (&raise.severity, &raise.state) else {
        return Err(Cause::not_supported("RAISERROR in its old form"));
    };
    if raise.arguments.len() > MAX_ARGUMENTS {
        return Err(Cause::TooManySubstitutions);
    }
    let arguments: Result<Vec<_>, _> =
        raise.arguments.iter().map(|argument| compiler.value(argument)).collect();
    Ok(Box::new(RaiseStep {
        message: compiler.value(&raise.message)?,
        severity: compiler.assigned(severity, SqlType::Int)?,
        state: compiler.assigned(state, SqlType::Int)?,
        arguments: arguments?,
        has_log: raise.has_log,
        is_urgent: raise.has_nowait,
        sets_error: raise.has_seterror,
    }))
}

impl RaiseStep {
    fn message(&self, run: &Run<'_>, frame: &Frame) -> Result<Message, Stop> {
        let at = run.values(frame);
        let severity = self.severity.integer(at)?.unwrap_or(0).clamp(-1, MAX_SEVERITY);
        if severity > MAX_PLAIN_SEVERITY && !self.has_log {
            return Err(Cause::SeverityNeedsLog.into());
        }
        let state = self.state.integer(at)?.unwrap_or(1);
        let state = if (0..=255).contains(&state) { state } else { 1 };
        let severity = severity.max(0);
        let template = match self.message.value(at)? {
            text @ (Datum::Char(_) | Datum::NChar(_)) => variant::text(&text).unwrap_or_default(),
            other => return Err(numbered(variant::integer(&other), severity, state)),
        };
        let arguments: Result<Vec<Substitution>, Cause> = self
            .arguments
            .iter()
            .map(|it| Ok(Substitution { value: it.value(at)?, ty: it.ty }))
            .collect();
        Ok(Message {
            number: USER_MESSAGE,
            severity: severity as u8,
            state: state as u8,
            procedure: String::new(),
            line: 0,
            text: format_message::format(&template, &arguments?)?,
        })
    }
}

/// Messages by number are those of `sys.messages`, which is empty yet.
fn numbered(number: Option<i64>, severity: i64, state: i64) -> Stop {
    match number {
        Some(number) if number >= FIRST_RAISED && number != i64::from(USER_MESSAGE) => {
            Cause::NoMessageText { number, severity, state }.into()
        }
        number => Cause::RaisedNumber { number: number.unwrap_or(0) }.into(),
    }
}

impl Step for RaiseStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let message = self.message(run, frame)?;
        if message.severity > MAX_INFO_SEVERITY {
            let effect = if message.severity > MAX_PLAIN_SEVERITY as u8 + 1 {
                Effect::Connection
            } else {
                Effect::Continue
            };
            return Err(Stop::Raised(Box::new(Raised { message, effect, is_raiserror: true })));
        }
        // Severity 10 is 0 on the wire.
        let severity = if message.severity == MAX_INFO_SEVERITY { 0 } else { message.severity };
        run.output.message(&Message { severity, line: 1, ..message }, self.is_urgent)?;
        if self.sets_error {
            return Ok(RowCount::Unchanged);
        }
        Ok(RowCount::Rows(0))
    }
}
