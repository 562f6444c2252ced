//! May the session define this? Asked of everybody but members of sysadmin.
//!
//! Invariants
//! - Every statement of this crate has an answer: [`Guarded`] has no default.
//! - Temporary objects are everybody's own.
//! - What is refused does not say more than that it may be missing.

use extentdb_base::sync::Arc;
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::objects::is_temporary;
use extentdb_connection::security::permission::code;
use extentdb_connection::security::{DBO, Rights, cannot_execute_as};
use extentdb_engine::Database;
use extentdb_tsql::syntax::{
    AlterIndex, AlterTable, AlterTableAction, Constraint, ConstraintKind, CreateDefault,
    CreateIndex, CreateRule, CreateSchema, CreateStatistics, CreateSynonym, CreateTable,
    CreateType, DefineModule, DefinitionVerb, DropClass, DropIndex, DropObjects, ExecuteContext,
    Module, ObjectName, Sequence, SwitchTrigger, TableElement, TriggerTarget, Truncate,
    UpdateStatistics,
};

use super::{Ddl, written};

/// A statement that says what it needs.
pub(super) trait Guarded {
    /// Refuses it where the session may not do it.
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause>;
}

/// A statement that creates an object, and its permission.
struct Creation {
    statement: &'static str,
    kind: &'static str,
}

const TABLE: Creation = Creation { statement: "CREATE TABLE", kind: "CRTB" };
const VIEW: Creation = Creation { statement: "CREATE VIEW", kind: "CRVW" };
const PROCEDURE: Creation = Creation { statement: "CREATE PROCEDURE", kind: "CRPR" };
const FUNCTION: Creation = Creation { statement: "CREATE FUNCTION", kind: "CRFN" };
const TYPE: Creation = Creation { statement: "CREATE TYPE", kind: "CRTY" };
const DEFAULT: Creation = Creation { statement: "CREATE DEFAULT", kind: "CRDF" };
const RULE: Creation = Creation { statement: "CREATE RULE", kind: "CRRU" };
const SYNONYM: Creation = Creation { statement: "CREATE SYNONYM", kind: "CRSN" };

/// 262
pub(super) fn denied_in(statement: &str, database: &str) -> Cause {
    let text = format!("{statement} permission denied in database '{database}'.");
    Cause::Denied { number: 262, text }
}

/// 15247
pub(super) fn not_permitted() -> Cause {
    let text = "User does not have permission to perform this action.".to_owned();
    Cause::Denied { number: 15247, text }
}

impl Ddl<'_, '_> {
    /// What the session may do in a database.
    pub(super) fn rights(&mut self, database: &Arc<Database>) -> Result<Arc<Rights>, Cause> {
        let connection = self.connection();
        connection.verify_access(database)?;
        connection.rights(database)
    }

    fn verify_creation(&mut self, name: &ObjectName, what: &Creation) -> Result<(), Cause> {
        if is_temporary(&name.name.text) {
            return Ok(());
        }
        let Some(at) = self.connection().qualified(name)? else { return Ok(()) };
        let rights = self.rights(&at.database)?;
        if !rights.has_on_database(what.kind) {
            return Err(denied_in(what.statement, at.database.name()));
        }
        self.verify_schema(&rights, &at.schema)
    }

    /// A new object in a schema.
    fn verify_schema(&mut self, rights: &Rights, schema: &str) -> Result<(), Cause> {
        match rights.model().schema(schema) {
            Some(own) if !rights.has_on_schema(own.id, code::ALTER) => {
                Err(DefinitionCause::NoSchema { name: schema.to_owned() }.into())
            }
            _ => Ok(()),
        }
    }

    /// A change of an object that is there.
    fn verify_change(
        &mut self,
        name: &ObjectName,
        missing: impl FnOnce(String) -> Cause,
    ) -> Result<(), Cause> {
        if is_temporary(&name.name.text) {
            return Ok(());
        }
        let Some(found) = self.connection().object(name)? else { return Ok(()) };
        let rights = self.rights(&found.database)?;
        match rights.has_on_object(&found.object, code::ALTER) {
            true => Ok(()),
            false => Err(missing(written(name))),
        }
    }

    /// Triggers of the current database.
    fn verify_database_triggers(&mut self) -> Result<(), Cause> {
        let database = self.session().database().clone();
        match self.rights(&database)?.has_on_database("ALTG") {
            true => Ok(()),
            false => Err(not_permitted()),
        }
    }

    fn verify_table(&mut self, name: &ObjectName) -> Result<(), Cause> {
        self.verify_change(name, |name| DefinitionCause::NoTableOfIndex { name }.into())
    }

    /// Foreign keys need REFERENCES on the tables that they are to.
    fn verify_references<'e>(
        &mut self,
        elements: impl Iterator<Item = &'e TableElement>,
    ) -> Result<(), Cause> {
        let of_element = |element: &'e TableElement| -> &'e [Constraint] {
            match element {
                TableElement::Column(column) => &column.constraints,
                TableElement::Constraint(constraint) => std::slice::from_ref(&**constraint),
                _ => &[],
            }
        };
        for constraint in elements.flat_map(of_element) {
            let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            let Some(found) = self.connection().object(&key.table)? else { continue };
            let rights = self.rights(&found.database)?;
            if !rights.has_on_object(&found.object, code::REFERENCES) {
                let denied = rights.access(&found.object).denied("REFERENCES");
                return Err(Cause::Denied { number: 229, text: denied.to_string() });
            }
        }
        Ok(())
    }
}

impl Guarded for CreateTable {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_creation(&self.name, &TABLE)?;
        ddl.verify_references(self.elements.iter())
    }
}

impl Guarded for AlterTable {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.name)?;
        match &self.action {
            AlterTableAction::Add { elements, .. } => ddl.verify_references(elements.iter()),
            _ => Ok(()),
        }
    }
}

impl Guarded for Truncate {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.table)
    }
}

impl Guarded for CreateIndex {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.table)
    }
}

impl Guarded for AlterIndex {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.table)
    }
}

impl Guarded for DropIndex {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        self.items.iter().try_for_each(|item| ddl.verify_table(&item.table))
    }
}

impl Guarded for CreateStatistics {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.table)
    }
}

impl Guarded for UpdateStatistics {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_table(&self.table)
    }
}

/// WITH EXECUTE AS of a module.
fn context_of(module: &Module) -> Option<&ExecuteContext> {
    match module {
        Module::View(_) => None,
        Module::Procedure(procedure) => procedure.options.execute_as.as_ref(),
        Module::Function(function) => function.options.execute_as.as_ref(),
        Module::Trigger(trigger) => trigger.options.execute_as.as_ref(),
    }
}

impl Ddl<'_, '_> {
    /// A module that runs as somebody needs IMPERSONATE on that user.
    fn verify_execute_as(
        &mut self,
        name: &ObjectName,
        context: &ExecuteContext,
    ) -> Result<(), Cause> {
        let Some(at) = self.connection().qualified(name)? else { return Ok(()) };
        let rights = self.rights(&at.database)?;
        let model = rights.model();
        let owner = model.schema(&at.schema).map_or(DBO, |own| own.owner);
        let user = match context {
            ExecuteContext::Caller => return Ok(()),
            // It is stored as a word, and runs as the owner: who makes it has to be that.
            ExecuteContext::Owner | ExecuteContext::Itself => owner,
            ExecuteContext::Named(own) => match model.principal(&own.value) {
                Some(own) => own.id,
                None => return Err(cannot_execute_as(&own.value)),
            },
            _ => return Ok(()),
        };
        if context == &ExecuteContext::Itself && rights.user != Some(owner) {
            return Err(Cause::not_supported("EXECUTE AS SELF of who does not own the schema"));
        }
        if rights.is(user) || rights.has_on_principal(user, code::IMPERSONATE) {
            return Ok(());
        }
        let name = model.principal_by_id(user).map(|own| own.name.clone());
        Err(cannot_execute_as(&name.unwrap_or_default()))
    }
}

impl Guarded for DefineModule {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        let (name, creation) = match &self.module {
            Module::View(view) => (&view.name, VIEW),
            Module::Procedure(procedure) => (&procedure.name, PROCEDURE),
            Module::Function(function) => (&function.name, FUNCTION),
            Module::Trigger(trigger) => {
                let TriggerTarget::Object(table) = &trigger.target else {
                    return ddl.verify_database_triggers();
                };
                if let Some(context) = context_of(&self.module) {
                    ddl.verify_execute_as(table, context)?;
                }
                return ddl.verify_table(table);
            }
        };
        if let Some(context) = context_of(&self.module) {
            ddl.verify_execute_as(name, context)?;
        }
        let is_there = !is_temporary(&name.name.text) && ddl.connection().object(name)?.is_some();
        match self.verb {
            DefinitionVerb::Create => ddl.verify_creation(name, &creation),
            DefinitionVerb::CreateOrAlter if !is_there => ddl.verify_creation(name, &creation),
            _ => ddl.verify_change(name, |name| DefinitionCause::UnknownObject { name }.into()),
        }
    }
}

impl Guarded for SwitchTrigger {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        let TriggerTarget::Object(table) = &self.target else {
            return ddl.verify_database_triggers();
        };
        ddl.verify_table(table)
    }
}

impl Guarded for CreateSchema {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        let database = ddl.session().database().clone();
        match ddl.rights(&database)?.has_on_database("CRSM") {
            true => Ok(()),
            false => Err(denied_in("CREATE SCHEMA", database.name())),
        }
    }
}

impl Guarded for CreateType {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_creation(&self.name, &TYPE)
    }
}

impl Guarded for CreateDefault {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_creation(&self.name, &DEFAULT)
    }
}

impl Guarded for CreateRule {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_creation(&self.name, &RULE)
    }
}

impl Guarded for CreateSynonym {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        ddl.verify_creation(&self.name, &SYNONYM)
    }
}

impl Guarded for Sequence {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        if self.is_alter {
            return ddl
                .verify_change(&self.name, |name| DefinitionCause::UnknownObject { name }.into());
        }
        let Some(at) = ddl.connection().qualified(&self.name)? else { return Ok(()) };
        let rights = ddl.rights(&at.database)?;
        match rights.model().schema(&at.schema) {
            Some(own) if !rights.has_on_schema(own.id, "CRSO") => {
                ddl.verify_schema(&rights, &at.schema)
            }
            _ => Ok(()),
        }
    }
}

impl Guarded for DropObjects {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        self.names.iter().try_for_each(|name| self.verify_one(ddl, name))
    }
}

/// What DROP has as a message for it: the kind of object.
fn kind_of(class: DropClass) -> &'static str {
    match class {
        DropClass::Table => "table",
        DropClass::View => "view",
        DropClass::Procedure => "procedure",
        DropClass::Function => "function",
        DropClass::Trigger => "trigger",
        DropClass::Sequence => "sequence object",
        DropClass::Synonym => "synonym",
        DropClass::Statistics => "statistics",
        DropClass::Schema => "schema",
        DropClass::Type => "type",
        DropClass::Rule => "rule",
        DropClass::Default => "default",
        DropClass::Aggregate => "aggregate",
        DropClass::Database => "database",
    }
}

trait VerifyDrop {
    fn verify_one(&self, ddl: &mut Ddl<'_, '_>, name: &ObjectName) -> Result<(), Cause>;
}

impl VerifyDrop for DropObjects {
    fn verify_one(&self, ddl: &mut Ddl<'_, '_>, name: &ObjectName) -> Result<(), Cause> {
        let kind = kind_of(self.class);
        let missing = |name: String| Cause::Denied {
            number: 3701,
            text: format!(
                "Cannot drop the {kind} '{name}', because it does not exist or you do not have \
                 permission."
            ),
        };
        let database = ddl.session().database().clone();
        match self.class {
            DropClass::Schema => {
                let rights = ddl.rights(&database)?;
                let schema = rights.model().schema(&name.name.text).map(|own| own.id);
                match schema {
                    Some(id) if !rights.has_on_schema(id, code::ALTER) => {
                        Err(missing(written(name)))
                    }
                    _ => Ok(()),
                }
            }
            DropClass::Type => {
                let Some(at) = ddl.connection().qualified(name)? else { return Ok(()) };
                let rights = ddl.rights(&at.database)?;
                match rights.model().schema(&at.schema) {
                    Some(own) if !rights.has_on_schema(own.id, code::ALTER) => {
                        Err(missing(written(name)))
                    }
                    _ => Ok(()),
                }
            }
            DropClass::Statistics => {
                let Some(table) = name.schema() else { return Ok(()) };
                let table = extentdb_connection::objects::object_name(&table.text);
                ddl.verify_table(&table)
            }
            DropClass::Trigger if self.scope.is_some() => ddl.verify_database_triggers(),
            _ => ddl.verify_change(name, missing),
        }
    }
}
