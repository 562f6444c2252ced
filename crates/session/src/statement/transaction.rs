//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION.

use extentdb_tsql::syntax::{BeginTransaction, Commit, NameOrVariable, Rollback, SaveTransaction};

use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::{Frame, variable_named};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// Characters of a name in a variable that count.
const MAX_NAME: usize = 32;

#[derive(Clone, Copy)]
enum Verb {
    Begin,
    Commit,
    RollBack,
    Save,
}

enum NameSource {
    Text(String),
    Variable(usize),
}

struct Transaction {
    verb: Verb,
    name: NameSource,
}

pub(super) fn begin(context: &Context<'_>, begin: &BeginTransaction) -> Compiled {
    if begin.is_distributed {
        return Err(Cause::not_supported("BEGIN DISTRIBUTED TRANSACTION"));
    }
    if begin.mark.is_some() {
        return Err(Cause::not_supported("WITH MARK"));
    }
    of(context, Verb::Begin, begin.name.as_ref())
}

pub(super) fn commit(context: &Context<'_>, commit: &Commit) -> Compiled {
    of(context, Verb::Commit, commit.name.as_ref())
}

pub(super) fn roll_back(context: &Context<'_>, rollback: &Rollback) -> Compiled {
    of(context, Verb::RollBack, rollback.name.as_ref())
}

pub(super) fn save(context: &Context<'_>, save: &SaveTransaction) -> Compiled {
    of(context, Verb::Save, Some(&save.name))
}

fn of(context: &Context<'_>, verb: Verb, name: Option<&NameOrVariable>) -> Compiled {
    let name = match name {
        None => NameSource::Text(String::new()),
        Some(NameOrVariable::Name(name)) => NameSource::Text(name.text.to_string()),
        Some(NameOrVariable::Variable(variable)) => {
            let unknown = || Cause::UnknownVariable { name: variable.text.to_string() };
            let slot = variable_named(context.compiler.variables, &variable.text);
            NameSource::Variable(slot.ok_or_else(unknown)?)
        }
    };
    Ok(Box::new(Transaction { verb, name }))
}

impl Step for Transaction {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let name = match &self.name {
            NameSource::Text(text) => text.clone(),
            NameSource::Variable(slot) => {
                let value = frame.values.get(*slot).and_then(variant::text).unwrap_or_default();
                value.chars().take(MAX_NAME).collect()
            }
        };
        match self.verb {
            Verb::Begin => run.connection.begin(&name, run.output)?,
            Verb::Commit => run.connection.commit(run.output)?,
            Verb::RollBack => run.connection.roll_back(&name, run.output)?,
            Verb::Save => run.connection.save(&name)?,
        }
        Ok(RowCount::Rows(0))
    }
}
