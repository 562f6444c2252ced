//! SET: variables and options.
//!
//! Options that change nothing here are those whose meaning has no effect on what runs:
//!
//! | option | here |
//! |---|---|
//! | NO_BROWSETABLE, REMOTE_PROC_TRANSACTIONS, FORCEPLAN, QUERY_GOVERNOR_COST_LIMIT | kept |
//! | STATISTICS IO, TIME | kept; nothing is measured yet |
//! | SHOWPLAN_*, STATISTICS XML and PROFILE, OFFSETS ON, FIPS_FLAGGER | refused |

mod identity;

use extentdb_tsql::syntax::{Column, Expr, ExprKind, IsolationLevel, Set};
use extentdb_types::SqlType;

use super::variable::Assign;
use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::function::language;
use extentdb_connection::message::Message;
use extentdb_connection::options::SetOptions;
use extentdb_connection::output::Environment;
use extentdb_connection::request::Isolation;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

struct Switch {
    options: Vec<&'static str>,
    is_on: bool,
}

struct Statistics {
    what: Vec<&'static str>,
    is_on: bool,
}

struct Level(Isolation);

struct Value {
    option: &'static str,
    value: OptionValue,
}

enum OptionValue {
    /// A word, such as `mdy`.
    Word(String),
    Scalar(Box<Scalar>),
}

pub(super) fn compile(context: &Context<'_>, set: &Set) -> Compiled {
    match set {
        Set::Variable(assignment) => Ok(Box::new(Assign::of(&context.compiler, assignment)?)),
        Set::Switch { options, is_on } => switch(options, *is_on),
        Set::Statistics { what, is_on } => {
            if *is_on && what.iter().any(|it| matches!(*it, "XML" | "PROFILE")) {
                return Err(Cause::not_supported("SET STATISTICS XML and PROFILE"));
            }
            Ok(Box::new(Statistics { what: what.clone(), is_on: *is_on }))
        }
        Set::IsolationLevel(level) => Ok(Box::new(Level(match level {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::Serializable => Isolation::Serializable,
        }))),
        Set::Value { option, value } => value_of(context, option, value),
        Set::FipsFlagger(None) | Set::Offsets { is_on: false, .. } => {
            Ok(Box::new(Statistics { what: Vec::new(), is_on: false }))
        }
        Set::FipsFlagger(Some(_)) => Err(Cause::not_supported("SET FIPS_FLAGGER")),
        Set::Offsets { .. } => Err(Cause::not_supported("SET OFFSETS ON")),
        Set::IdentityInsert { table, is_on } => Ok(identity::compile(table, *is_on)),
        Set::Cursor { variable, definition } => super::cursor::set_variable(variable, definition),
        Set::Method { variable, method, arguments } => {
            Ok(Box::new(Assign::modified(&context.compiler, variable, method, arguments)?))
        }
        Set::Property { .. } => Err(Cause::not_supported("a property of a variable")),
    }
}

fn switch(options: &[&'static str], is_on: bool) -> Compiled {
    let refused = [
        "SHOWPLAN_ALL",
        "SHOWPLAN_TEXT",
        "SHOWPLAN_XML",
        "DISABLE_DEF_CNST_CHK",
        "RESULT_SET_CACHING",
        "RECOMMENDATIONS",
    ];
    match options.iter().find(|option| is_on && refused.contains(option)) {
        Some(option) => Err(Cause::not_supported(format!("SET {option} ON"))),
        None => Ok(Box::new(Switch { options: options.to_vec(), is_on })),
    }
}

fn value_of(context: &Context<'_>, option: &'static str, value: &Expr) -> Compiled {
    let word = match &value.kind {
        ExprKind::Column(column) => match &column.column {
            Column::Named(name) => Some(name.text.to_string()),
            Column::Pseudo(_) => None,
        },
        _ => None,
    };
    let compiler = &context.compiler;
    let value = match word {
        Some(word) => OptionValue::Word(word),
        None => OptionValue::Scalar(Box::new(match option {
            "CONTEXT_INFO" => compiler.assigned(value, SqlType::VarBinary { len: Some(128) })?,
            _ => compiler.value(value)?,
        })),
    };
    Ok(Box::new(Value { option, value }))
}

impl Step for Switch {
    /// It must run, or nothing could be executed ever again.
    fn is_run(&self, _: &SetOptions) -> bool {
        true
    }

    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        let options = &mut run.connection.options;
        for option in &self.options {
            if *option == "ANSI_DEFAULTS" {
                options.set_ansi_defaults(self.is_on);
            } else if let Some(switch) = options.switch(option) {
                *switch = self.is_on;
            }
        }
        Ok(RowCount::Rows(0))
    }
}

impl Step for Statistics {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        for what in &self.what {
            match *what {
                "IO" => run.connection.options.statistics_io = self.is_on,
                "TIME" => run.connection.options.statistics_time = self.is_on,
                _ => {}
            }
        }
        Ok(RowCount::Rows(0))
    }
}

impl Step for Level {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        run.connection.set_isolation(self.0)?;
        Ok(RowCount::Rows(0))
    }
}

impl Step for Value {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let value = match &self.value {
            OptionValue::Word(word) => variant::nchar(word),
            OptionValue::Scalar(scalar) => scalar.value(run.values(frame))?,
        };
        let text = variant::text(&value).unwrap_or_default();
        let number = variant::integer(&value).or_else(|| text.trim().parse().ok());
        match self.option {
            "LANGUAGE" => return set_language(run, &text),
            "DATEFORMAT" => {
                let order = language::date_order(&text);
                let order = order.ok_or(Cause::DateFormat { order: text })?;
                run.connection.options.dateformat = order;
            }
            "DEADLOCK_PRIORITY" => {
                run.connection.options.deadlock_priority = priority(&text, number)?;
            }
            "CONTEXT_INFO" => {
                if let extentdb_types::Datum::Binary(bytes) = &value {
                    run.connection.options.context_info = Some(bytes.to_vec());
                }
            }
            option => set_number(run, option, number)?,
        }
        run.connection.apply_options();
        Ok(RowCount::Rows(0))
    }
}

fn set_number(run: &mut Run<'_>, option: &str, number: Option<i64>) -> Result<(), Stop> {
    let options = &mut run.connection.options;
    let number =
        number.ok_or_else(|| Cause::not_supported(format!("this value of SET {option}")))?;
    match option {
        "LOCK_TIMEOUT" => options.lock_timeout = i32::try_from(number).unwrap_or(-1).max(-1),
        "ROWCOUNT" => options.rowcount = u64::try_from(number).unwrap_or(0),
        "TEXTSIZE" => {
            let size = i32::try_from(number).unwrap_or(i32::MAX);
            options.textsize = match size {
                -1 => i32::MAX,
                // As documented: 0 is the default of 4096 bytes.
                0 => 4_096,
                size => size,
            };
        }
        "DATEFIRST" => match u8::try_from(number) {
            Ok(day @ 1..=7) => options.datefirst = day,
            _ => return Err(Cause::DateFirst { value: number }.into()),
        },
        _ => options.query_governor_cost_limit = number,
    }
    Ok(())
}

fn priority(text: &str, number: Option<i64>) -> Result<i8, Stop> {
    let named = match text.to_ascii_uppercase().as_str() {
        "LOW" => Some(-5),
        "NORMAL" => Some(0),
        "HIGH" => Some(5),
        _ => number.and_then(|number| i8::try_from(number).ok()),
    };
    let refused = || Cause::not_supported("this value of SET DEADLOCK_PRIORITY");
    Ok(named.filter(|it| (-10..=10).contains(it)).ok_or_else(refused)?)
}

fn set_language(run: &mut Run<'_>, name: &str) -> Result<RowCount, Stop> {
    let Some(language) = language::named(name) else {
        return Err(Cause::not_supported(format!("the language {name}")).into());
    };
    let options = &mut run.connection.options;
    let old = std::mem::replace(&mut options.language, language.name.to_owned());
    options.datefirst = language.first_day;
    options.dateformat = language.date_order;
    let new = language.name.to_owned();
    let text = format!("Changed language setting to {new}.");
    run.output.environment(&Environment::Language { new, old })?;
    run.output.message(&Message::info(5703, 1, 1, text), false)?;
    Ok(RowCount::Rows(0))
}
