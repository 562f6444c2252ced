//! Changes of definitions as events, and the triggers of the database that they fire.
//!
//! ```text
//! BEGIN (where none is open) ─▶ statement ─▶ trigger 1, 2 … with EVENTDATA() ─▶ COMMIT (ours)
//!                                               └ ROLLBACK in one: 3609, the batch ends
//! ```
//!
//! Invariants
//! - A statement and the triggers that it fires are one transaction.
//! - What a statement is about is looked up before it runs: afterwards it may be gone.
//! - Temporary objects fire nothing.

use extentdb_base::sync::Arc;
use extentdb_engine::Database;
use extentdb_engine::model::CatalogModel;
use extentdb_tsql::syntax::{
    AlterAuthorization, AlterIndex, AlterTable, CreateDefault, CreateIndex, CreateRule,
    CreateSchema, CreateStatistics, CreateSynonym, CreateTable, CreateType, DefineModule,
    DefinitionVerb, DropClass, DropIndex, DropObjects, Module, ObjectName, Permission,
    PermissionVerb, Sequence, SwitchTrigger, Trigger, TriggerTarget, Truncate, UpdateStatistics,
};
use extentdb_tsql::{Options, parse};

use super::Ddl;
use super::transfer::Transfer;
use extentdb_connection::cause::Cause;
use extentdb_connection::connection::Connection;
use extentdb_connection::frame::Frame;
use extentdb_connection::function::clock;
use extentdb_connection::objects::{is_temporary, object_name};
use extentdb_connection::run_trigger::{Loaded, run_trigger, trigger_of};
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};
use extentdb_connection::trigger::{TriggerRows, ddl_event};

/// A change of a definition.
#[derive(Clone)]
pub(super) struct Event {
    /// As `CREATE_TABLE`.
    kind: String,
    database: Arc<Database>,
    /// Of what is in one.
    schema: Option<String>,
    object: String,
    object_type: &'static str,
    /// The table of an index, statistics or trigger.
    target: Option<String>,
}

/// A trigger, and what fires it.
pub(super) struct Fired {
    trigger: Loaded,
    event: Event,
}

/// A statement whose changes are events.
pub(super) trait Told {
    /// What it is about to change.
    fn events(&self, _: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        Ok(Vec::new())
    }
}

/// The enabled triggers of databases that events fire, in the order of their creation.
pub(super) fn fired_by(run: &Run<'_>, events: Vec<Event>) -> Result<Vec<Fired>, Stop> {
    let mut fired = Vec::new();
    for event in events {
        let model = event.database.model().map_err(|error| run.connection.engine_cause(&error))?;
        for trigger in loaded(&model, run.connection)? {
            if is_fired_by(&trigger, &event.kind) {
                fired.push(Fired { trigger, event: event.clone() });
            }
        }
    }
    Ok(fired)
}

fn is_fired_by(trigger: &Loaded, kind: &str) -> bool {
    let Some(event) = ddl_event(kind) else { return false };
    let trigger = trigger_of(&trigger.script.statements);
    trigger.is_some_and(|own| own.events.iter().any(|named| event.is_in(&named.text)))
}

/// The enabled triggers of a database that do not run now.
fn loaded(model: &CatalogModel, connection: &Connection) -> Result<Vec<Loaded>, Stop> {
    let mut triggers: Vec<_> = model
        .objects()
        .filter(|it| it.object.is_of_database() && it.object.kind.code() == "TR")
        .filter(|it| !it.object.is_disabled_constraint())
        .filter(|it| connection.firing.last() != Some(&it.object.id))
        .collect();
    triggers.sort_by_key(|it| (it.object.created, it.object.id));
    let mut loaded = Vec::new();
    for it in triggers {
        let name = it.object.name.clone();
        let Some(text) = it.module().and_then(|module| module.text.as_deref()) else {
            return Err(Cause::not_supported(format!("the encrypted trigger {name}")).into());
        };
        let options = Options { quoted_identifier: it.object.uses_quoted_identifier() };
        let script = parse(text, options)
            .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
        loaded.push(Loaded { id: it.object.id, name, script });
    }
    Ok(loaded)
}

/// Runs triggers after the statement of this text.
pub(super) fn fire(
    run: &mut Run<'_>,
    frame: &Frame,
    fired: &[Fired],
    text: &str,
) -> Result<(), Stop> {
    for Fired { trigger, event } in fired {
        let rows = Arc::new(TriggerRows::of_event(&event.data(run.connection, text)));
        run_trigger(run, frame, trigger, (event.database.name(), rows))?;
    }
    Ok(())
}

impl Event {
    /// What `EVENTDATA()` says.
    fn data(&self, connection: &Connection, text: &str) -> String {
        let on = |is_on: bool| if is_on { "ON" } else { "OFF" };
        let options = &connection.options;
        let time = clock::datetime_of(clock::since_epoch(connection));
        let time = time.map(|time| time.to_string().replacen(' ', "T", 1)).unwrap_or_default();
        let mut data = Element::new("EVENT_INSTANCE")
            .with("EventType", &self.kind)
            .with("PostTime", &time)
            .with("SPID", &connection.spid().to_string())
            .with("ServerName", &connection.server.product.server_name)
            .with("LoginName", &connection.acting_name())
            .with("UserName", &connection.user_name())
            .with("DatabaseName", self.database.name());
        if let Some(schema) = &self.schema {
            data = data.with("SchemaName", schema);
        }
        data = data.with("ObjectName", &self.object).with("ObjectType", self.object_type);
        if let Some(target) = &self.target {
            data = data.with("TargetObjectName", target).with("TargetObjectType", "TABLE");
        }
        let set = format!(
            "<SetOptions ANSI_NULLS=\"{}\" ANSI_NULL_DEFAULT=\"{}\" ANSI_PADDING=\"{}\" \
             QUOTED_IDENTIFIER=\"{}\" ENCRYPTED=\"FALSE\"/>",
            on(options.ansi_nulls),
            on(options.ansi_null_dflt_on),
            on(options.ansi_padding),
            on(options.quoted_identifier),
        );
        let command = Element::new("TSQLCommand").with_xml(&set).with("CommandText", text);
        data.with_xml(&command.end()).end()
    }
}

/// An XML element that is written.
struct Element {
    name: &'static str,
    text: String,
}

impl Element {
    fn new(name: &'static str) -> Element {
        Element { name, text: format!("<{name}>") }
    }

    fn with(mut self, name: &str, value: &str) -> Element {
        let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // A lone return would be read as a line break.
        let value = value.replace('\r', "&#x0D;");
        self.text.push_str(&format!("<{name}>{value}</{name}>"));
        self
    }

    fn with_xml(mut self, xml: &str) -> Element {
        self.text.push_str(xml);
        self
    }

    fn end(self) -> String {
        format!("{}</{}>", self.text, self.name)
    }
}

impl Ddl<'_, '_> {
    /// A statement about an object; of one that is dropped or altered it must be there.
    fn event(
        &mut self,
        (verb, class): (&str, &'static str),
        name: &ObjectName,
    ) -> Result<Option<Event>, Cause> {
        if is_temporary(&name.name.text) {
            return Ok(None);
        }
        let place = match self.connection().object(name)? {
            Some(found) => Some((found.database.clone(), found.schema_name())),
            None if verb == "DROP" && class != "TYPE" => None,
            None => self.connection().qualified(name)?.map(|at| (at.database, at.schema)),
        };
        let Some((database, schema)) = place else { return Ok(None) };
        Ok(Some(Event {
            kind: format!("{verb}_{class}"),
            database,
            schema: Some(schema),
            object: name.name.text.to_string(),
            object_type: class,
            target: None,
        }))
    }

    /// A statement about a part of a table.
    fn event_of_table(
        &mut self,
        (verb, class): (&str, &'static str),
        name: &str,
        table: &ObjectName,
    ) -> Result<Option<Event>, Cause> {
        let of_table = self.event(("ALTER", "TABLE"), table)?;
        Ok(of_table.map(|it| Event {
            kind: format!("{verb}_{class}"),
            target: Some(it.object),
            object: name.to_owned(),
            object_type: class,
            ..it
        }))
    }

    /// A statement about what is in no schema of the current database.
    fn event_of_database(&mut self, kind: &str, name: &str, object_type: &'static str) -> Event {
        Event {
            kind: kind.to_owned(),
            database: self.session().database().clone(),
            schema: None,
            object: name.to_owned(),
            object_type,
            target: None,
        }
    }
}

/// One event at most.
fn one(event: Option<Event>) -> Vec<Event> {
    event.into_iter().collect()
}

impl Told for Truncate {}
impl Told for SwitchTrigger {}

impl Told for CreateTable {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("CREATE", "TABLE"), &self.name).map(one)
    }
}

impl Told for AlterTable {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("ALTER", "TABLE"), &self.name).map(one)
    }
}

impl Told for CreateIndex {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event_of_table(("CREATE", "INDEX"), &self.name.text, &self.table).map(one)
    }
}

impl Told for AlterIndex {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let name = self.name.as_ref().map_or("ALL", |name| &*name.text);
        ddl.event_of_table(("ALTER", "INDEX"), name, &self.table).map(one)
    }
}

impl Told for DropIndex {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let mut events = Vec::new();
        for item in &self.items {
            events.extend(ddl.event_of_table(("DROP", "INDEX"), &item.name.text, &item.table)?);
        }
        Ok(events)
    }
}

impl Told for CreateStatistics {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event_of_table(("CREATE", "STATISTICS"), &self.name.text, &self.table).map(one)
    }
}

impl Told for UpdateStatistics {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event_of_table(("UPDATE", "STATISTICS"), "", &self.table).map(one)
    }
}

impl Told for DefineModule {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let (name, class) = match &self.module {
            Module::View(view) => (&view.name, "VIEW"),
            Module::Procedure(procedure) => (&procedure.name, "PROCEDURE"),
            Module::Function(function) => (&function.name, "FUNCTION"),
            Module::Trigger(trigger) => (&trigger.name, "TRIGGER"),
        };
        let is_altered = match self.verb {
            DefinitionVerb::Create => false,
            DefinitionVerb::Alter => true,
            DefinitionVerb::CreateOrAlter => ddl.connection().object(name)?.is_some(),
        };
        let verb = if is_altered { "ALTER" } else { "CREATE" };
        match &self.module {
            Module::Trigger(own) => ddl.event_of_trigger(verb, own).map(one),
            _ => ddl.event((verb, class), name).map(one),
        }
    }
}

impl Ddl<'_, '_> {
    fn event_of_trigger(&mut self, verb: &str, trigger: &Trigger) -> Result<Option<Event>, Cause> {
        let name = &trigger.name.name.text;
        match &trigger.target {
            TriggerTarget::Object(table) => self.event_of_table((verb, "TRIGGER"), name, table),
            _ => Ok(Some(self.event_of_database(&format!("{verb}_TRIGGER"), name, "TRIGGER"))),
        }
    }
}

impl Told for CreateSchema {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let name = self.name.as_ref().or(self.owner.as_ref());
        let name = name.map(|name| name.text.to_string()).unwrap_or_default();
        Ok(vec![ddl.event_of_database("CREATE_SCHEMA", &name, "SCHEMA")])
    }
}

impl Told for CreateType {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("CREATE", "TYPE"), &self.name).map(one)
    }
}

impl Told for Sequence {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let verb = if self.is_alter { "ALTER" } else { "CREATE" };
        ddl.event((verb, "SEQUENCE"), &self.name).map(one)
    }
}

impl Told for CreateSynonym {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("CREATE", "SYNONYM"), &self.name).map(one)
    }
}

impl Told for Transfer {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let event = ddl.event(("ALTER", "SCHEMA"), &self.object)?;
        Ok(one(event.map(|event| Event {
            schema: Some(self.schema.clone()),
            object: self.schema.clone(),
            target: None,
            ..event
        })))
    }
}

impl Told for CreateDefault {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("CREATE", "DEFAULT"), &self.name).map(one)
    }
}

impl Told for CreateRule {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        ddl.event(("CREATE", "RULE"), &self.name).map(one)
    }
}

impl Told for Permission {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let kind = match self.verb {
            PermissionVerb::Grant => "GRANT_DATABASE",
            PermissionVerb::Deny => "DENY_DATABASE",
            PermissionVerb::Revoke => "REVOKE_DATABASE",
        };
        let on = self.on.as_ref().map(|on| on.name.name.text.to_string()).unwrap_or_default();
        Ok(vec![ddl.event_of_database(kind, &on, "")])
    }
}

impl Told for AlterAuthorization {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let on = self.on.name.name.text.to_string();
        Ok(vec![ddl.event_of_database("ALTER_AUTHORIZATION_DATABASE", &on, "")])
    }
}

impl Told for DropObjects {
    fn events(&self, ddl: &mut Ddl<'_, '_>) -> Result<Vec<Event>, Cause> {
        let class = match self.class {
            DropClass::Table => "TABLE",
            DropClass::View => "VIEW",
            DropClass::Procedure => "PROCEDURE",
            DropClass::Function => "FUNCTION",
            DropClass::Trigger => "TRIGGER",
            DropClass::Sequence => "SEQUENCE",
            DropClass::Synonym => "SYNONYM",
            DropClass::Type => "TYPE",
            DropClass::Rule => "RULE",
            DropClass::Default => "DEFAULT",
            DropClass::Schema => "SCHEMA",
            DropClass::Statistics => "STATISTICS",
            DropClass::Aggregate | DropClass::Database => return Ok(Vec::new()),
        };
        let mut events = Vec::new();
        for name in &self.names {
            let own = &name.name.text;
            let is_of_database = class == "SCHEMA" || self.scope.is_some();
            events.extend(match (class, name.schema()) {
                ("STATISTICS", Some(table)) => {
                    let table = object_name(&table.text);
                    ddl.event_of_table(("DROP", class), own, &table)?
                }
                _ if is_of_database => {
                    Some(ddl.event_of_database(&format!("DROP_{class}"), own, class))
                }
                _ => ddl.event(("DROP", class), name)?,
            });
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn texts_of_event_data_are_escaped() {
        let element = Element::new("A").with("B", "a<b & c>d\r\n").with_xml("<C/>");
        assert_eq!(element.end(), "<A><B>a&lt;b &amp; c&gt;d&#x0D;\n</B><C/></A>");
    }
}
