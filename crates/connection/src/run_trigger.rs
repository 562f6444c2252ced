//! Runs the text of a trigger, in the transaction of the statement that fires it.
//!
//! An error of it ends that transaction, and a ROLLBACK in it is message 3609.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{Module, ModuleBody, Script, Statement, StatementKind, Trigger};

use crate::cause::{Cause, Effect};
use crate::frame::Frame;
use crate::output::Scope;
use crate::security::DBO;
use crate::step::{Run, Source, Text};
use crate::stop::Stop;
use crate::trigger::TriggerRows;

/// A trigger, ready to run.
pub struct Loaded {
    /// Its object id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its text, parsed.
    pub script: Script,
}

/// A transaction that ends with the statement.
pub struct OwnTransaction;

/// What belongs to the owner of a trigger's table is free in the trigger.
fn enter_trigger(run: &mut Run<'_>, loaded: &Loaded) -> Result<(), Stop> {
    let database = run.connection.session.database().clone();
    let model = database.model().map_err(|error| run.connection.engine_cause(&error))?;
    let owner = model.object_by_id(loaded.id).map_or(DBO, |own| model.owner_of(&own.object));
    let trigger = trigger_of(&loaded.script.statements);
    let context = trigger.and_then(|trigger| trigger.options.execute_as.as_ref());
    run.connection.enter_module_of(&database, owner);
    Ok(run.connection.execute_module_as(context, &database, owner)?)
}

/// Runs a trigger of a database with the rows that it sees.
pub fn run_trigger(
    run: &mut Run<'_>,
    frame: &Frame,
    loaded: &Loaded,
    (database, rows): (&str, Arc<TriggerRows>),
) -> Result<(), Stop> {
    let Some(Trigger { body: ModuleBody::Statements(body), .. }) =
        trigger_of(&loaded.script.statements)
    else {
        return Err(Cause::not_supported("a trigger of an assembly").into());
    };
    let text = Text {
        source: Source::Procedure {
            script: &loaded.script,
            body,
            name: &loaded.name,
            returns: None,
        },
        scope: Scope::Procedure,
        parameters: Vec::new(),
        values: Vec::new(),
        inherited: None,
        has_outer_handler: frame.is_handled(),
        trigger: Some(rows),
    };
    run.connection.firing.push(loaded.id);
    let done = run.within(|run| {
        if run.connection.database != database {
            run.change_database(database)?;
        }
        enter_trigger(run, loaded)?;
        run.connection.options.xact_abort = true;
        run.text(text)
    });
    run.connection.firing.pop();
    match done {
        Ok(_) if run.connection.transaction.count == 0 => Err(Cause::EndedInTrigger.into()),
        Ok(_) => Ok(()),
        Err(stop) => Err(doomed_by(run, stop)),
    }
}

/// An error of a trigger that a caller catches: the transaction can only be rolled back.
fn doomed_by(run: &mut Run<'_>, stop: Stop) -> Stop {
    match stop {
        Stop::Raised(mut raised) => {
            run.connection.transaction.is_doomed |= run.connection.transaction.count > 0;
            raised.effect = raised.effect.max(Effect::Batch);
            Stop::Raised(raised)
        }
        other => other,
    }
}

/// Begins a transaction for one statement, where none is open.
pub fn begin_own(run: &mut Run<'_>) -> Option<OwnTransaction> {
    (run.connection.transaction.count == 0).then(|| {
        run.connection.begin_alone();
        OwnTransaction
    })
}

/// Ends the transaction of one statement, if that began one.
pub fn end_own(
    run: &mut Run<'_>,
    own: Option<OwnTransaction>,
    done: Result<u64, Stop>,
) -> Result<u64, Stop> {
    if own.is_none() || run.connection.transaction.count == 0 {
        return done;
    }
    match done {
        Ok(count) => {
            run.connection.commit(run.output)?;
            Ok(count)
        }
        Err(stop) => {
            run.connection.roll_back_all(run.output)?;
            Err(stop)
        }
    }
}

/// The trigger that a text defines.
pub fn trigger_of(statements: &[Statement]) -> Option<&Trigger> {
    match statements {
        [Statement { kind: StatementKind::DefineModule(define), .. }] => match &define.module {
            Module::Trigger(trigger) => Some(trigger),
            _ => None,
        },
        _ => None,
    }
}
