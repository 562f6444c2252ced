//! Triggers of a database: CREATE, ALTER, ENABLE, DISABLE and DROP TRIGGER … ON DATABASE.

use extentdb_base::sync::Arc;
use extentdb_engine::Database;
use extentdb_engine::model::ObjectModel;
use extentdb_tsql::syntax::{
    DefinitionVerb, ObjectName, SwitchTrigger, Trigger, TriggerTarget, TriggerTiming,
};

use super::problem::Defined;
use super::{Ddl, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::trigger::ddl_event;

/// What is on the whole server is refused.
fn verify_database(target: &TriggerTarget) -> Result<(), Cause> {
    match target {
        TriggerTarget::AllServer => Err(Cause::not_supported("triggers ON ALL SERVER")),
        _ => Ok(()),
    }
}

fn failed(number: i32, text: String) -> Cause {
    Cause::Failed { number, severity: 16, text }
}

/// Refuses events that a database has not.
fn verify_events(trigger: &Trigger) -> Result<(), Cause> {
    let mut events = trigger.events.iter().map(|event| &*event.text);
    match events.find(|event| ddl_event(event).is_none()) {
        Some(event) => Err(failed(1084, format!("'{event}' is an invalid event type."))),
        None => Ok(()),
    }
}

fn missing(name: &ObjectName) -> Cause {
    failed(
        3701,
        format!(
            "Cannot drop the trigger '{}', because it does not exist or you do not have permission.",
            written(name)
        ),
    )
}

/// A trigger of a database by its name.
fn trigger_named(database: &Database, name: &str) -> Defined<Option<Arc<ObjectModel>>> {
    let model = database.model()?;
    let is_it = |it: &&Arc<ObjectModel>| {
        let own = &it.object;
        own.is_of_database() && own.kind.code() == "TR" && own.name.eq_ignore_ascii_case(name)
    };
    Ok(model.objects().find(is_it).cloned())
}

impl Ddl<'_, '_> {
    pub(super) fn define_database_trigger(
        &mut self,
        verb: DefinitionVerb,
        trigger: &Trigger,
        text: &str,
    ) -> Defined {
        verify_database(&trigger.target)?;
        verify_events(trigger)?;
        if trigger.name.qualifier.is_some() {
            let name = trigger.name.name.text.clone();
            let text = format!(
                "Cannot specify a schema name as a prefix to the trigger name for database and \
                 server level triggers. The name is '{name}'."
            );
            return Err(failed(1094, text).into());
        }
        if trigger.timing == TriggerTiming::InsteadOf {
            let text = "The INSTEAD OF clause is not allowed for DDL triggers.".to_owned();
            return Err(failed(1097, text).into());
        }
        let database = self.session().database().clone();
        let name = trigger.name.name.text.to_string();
        let found = trigger_named(&database, &name)?;
        let settings = self.module_settings();
        self.in_scope(&database, |ddl| match (verb, found) {
            (DefinitionVerb::Create, Some(_)) => {
                Err(DefinitionCause::ObjectExists { name: name.clone() }.into())
            }
            (DefinitionVerb::Alter, None) => {
                Err(DefinitionCause::UnknownObject { name: name.clone() }.into())
            }
            (_, None) => Ok(ddl.session().create_database_trigger(&name, text, settings)?),
            (_, Some(found)) => {
                let own = &found.object.name;
                Ok(ddl.session().alter_database_trigger(own, text, settings)?)
            }
        })
    }

    pub(super) fn switch_database_triggers(&mut self, switch: &SwitchTrigger) -> Defined {
        verify_database(&switch.target)?;
        let database = self.session().database().clone();
        let mut names = Vec::new();
        if switch.names.is_empty() {
            let model = database.model()?;
            let triggers = model.objects().filter(|it| it.object.is_of_database());
            names.extend(triggers.map(|it| it.object.name.clone()));
        }
        for name in &switch.names {
            let found = trigger_named(&database, &name.name.text)?;
            let own = found.map(|it| it.object.name.clone());
            let name = written(name);
            names.push(own.ok_or(DefinitionCause::UnknownObject { name })?);
        }
        self.in_scope(&database, |ddl| {
            for name in &names {
                ddl.session().switch_database_trigger(name, switch.is_enabled)?;
            }
            Ok(())
        })
    }

    pub(super) fn drop_database_trigger(
        &mut self,
        target: &TriggerTarget,
        name: &ObjectName,
        if_exists: bool,
    ) -> Defined {
        verify_database(target)?;
        let database = self.session().database().clone();
        match trigger_named(&database, &name.name.text)? {
            None if if_exists => Ok(()),
            None => Err(missing(name).into()),
            Some(found) => self.in_scope(&database, |ddl| {
                Ok(ddl.session().drop_database_trigger(&found.object.name)?)
            }),
        }
    }
}
