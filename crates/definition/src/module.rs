//! CREATE, ALTER and DROP of views, procedures, functions and triggers: their texts.
//!
//! Nothing is bound here: a module is kept with the batch that defines it, and what it names need
//! not be there. So the catalog has no columns of a view, and WITH SCHEMABINDING binds nothing.

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Error, ModuleKind, ModuleSettings, ModuleSpec, ParameterSpec};
use extentdb_tsql::syntax::{
    DataType, DefineModule, DefinitionVerb, FunctionBody, Module, ModuleBody, ModuleOptions,
    ObjectName, Parameter, ParameterType, SwitchTrigger, Trigger, TriggerTarget,
};

use super::column::{NamedType, named_type};
use super::constraint::Target;
use super::problem::Defined;
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::connection::Connection;
use extentdb_connection::data_type::TypedColumn;
use extentdb_connection::objects::{
    QualifiedName, ResolvedObject, is_global_temporary, is_temporary, stored_name,
};
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::verify_function_body;

impl Define for DefineModule {
    fn code(&self) -> StatementCode {
        match &self.module {
            Module::View(_) => StatementCode::CreateView,
            Module::Procedure(_) => StatementCode::CreateProcedure,
            Module::Trigger(_) => StatementCode::CreateTrigger,
            Module::Function(_) => StatementCode::Other,
        }
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        verify_kept(&self.module)?;
        if let Module::Function(function) = &self.module {
            verify_function_body(&function.body)?;
        }
        let text = stored_text(self.source.of(ddl.text), self.verb, ddl.start);
        match &self.module {
            Module::Trigger(trigger) => ddl.define_trigger(self.verb, trigger, &text),
            module => {
                let at = ddl.place_of(name_of(module))?;
                ddl.in_scope(&at.database.clone(), |ddl| {
                    ddl.define_module(self.verb, module, &at, &text)
                })
            }
        }
    }
}

impl Define for SwitchTrigger {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let TriggerTarget::Object(table) = &self.target else {
            return Err(Cause::not_supported("DDL triggers").into());
        };
        let missing = |name| DefinitionCause::NoTableOfIndex { name };
        let target = ddl.target(table, missing)?;
        let names = match self.names.as_slice() {
            [] => extentdb_tsql::syntax::AllOrNames::All,
            names => extentdb_tsql::syntax::AllOrNames::Names(
                names.iter().map(|name| name.name.clone()).collect(),
            ),
        };
        ddl.in_scope(&target.database.clone(), |ddl| {
            ddl.switch_triggers(&target, &names, self.is_enabled)
        })
    }
}

/// The text that the catalog keeps: one that creates the module, whatever the statement did. The
/// statement begins at `start`.
fn stored_text(text: &str, verb: DefinitionVerb, start: usize) -> String {
    let Some((before, statement)) = text.split_at_checked(start) else { return text.to_owned() };
    let after_word = |text: &str, word: &str| {
        let rest = text.trim_start();
        let (first, rest) = rest.split_at_checked(word.len())?;
        first.eq_ignore_ascii_case(word).then(|| rest.to_owned())
    };
    let rest = match verb {
        DefinitionVerb::Create => None,
        DefinitionVerb::Alter => after_word(statement, "ALTER"),
        DefinitionVerb::CreateOrAlter => after_word(statement, "CREATE")
            .and_then(|rest| after_word(&rest, "OR"))
            .and_then(|rest| after_word(&rest, "ALTER")),
    };
    rest.map_or_else(|| text.to_owned(), |rest| format!("{before}CREATE{rest}"))
}

fn name_of(module: &Module) -> &ObjectName {
    match module {
        Module::View(view) => &view.name,
        Module::Procedure(procedure) => &procedure.name,
        Module::Function(function) => &function.name,
        Module::Trigger(trigger) => &trigger.name,
    }
}

/// What a module is; `None` for a trigger.
fn kind_of(module: &Module) -> Option<ModuleKind> {
    Some(match module {
        Module::View(_) => ModuleKind::View,
        Module::Procedure(_) => ModuleKind::Procedure,
        Module::Function(function) => match function.body {
            FunctionBody::Inline { .. } => ModuleKind::InlineFunction,
            FunctionBody::Table { .. } => ModuleKind::TableFunction,
            _ => ModuleKind::ScalarFunction,
        },
        Module::Trigger(_) => return None,
    })
}

/// Code of what a module is in `sys.objects.type`.
fn code_of(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::View => "V",
        ModuleKind::Procedure => "P",
        ModuleKind::ScalarFunction => "FN",
        ModuleKind::InlineFunction => "IF",
        ModuleKind::TableFunction => "TF",
    }
}

/// Refuses modules that are more than a text.
fn verify_kept(module: &Module) -> Result<(), Cause> {
    let (options, is_external) = match module {
        Module::View(view) => (&view.options, false),
        Module::Procedure(procedure) => {
            if procedure.number.is_some_and(|number| number > 1) {
                return Err(Cause::not_supported("numbered procedures"));
            }
            if procedure.is_for_replication {
                return Err(Cause::not_supported("procedures FOR REPLICATION"));
            }
            (&procedure.options, matches!(procedure.body, ModuleBody::External(_)))
        }
        Module::Function(function) => {
            let is_external = matches!(
                function.body,
                FunctionBody::ExternalScalar { .. } | FunctionBody::ExternalTable { .. }
            );
            (&function.options, is_external)
        }
        Module::Trigger(trigger) => {
            (&trigger.options, matches!(trigger.body, ModuleBody::External(_)))
        }
    };
    if is_external {
        return Err(Cause::not_supported("CLR modules"));
    }
    verify_options(options)
}

fn verify_options(options: &ModuleOptions) -> Result<(), Cause> {
    if options.has_encryption {
        return Err(Cause::not_supported("WITH ENCRYPTION"));
    }
    if options.is_native {
        return Err(Cause::not_supported("WITH NATIVE_COMPILATION"));
    }
    Ok(())
}

fn action_of(verb: DefinitionVerb) -> &'static str {
    match verb {
        DefinitionVerb::Create => "create",
        DefinitionVerb::Alter | DefinitionVerb::CreateOrAlter => "alter",
    }
}

/// Parameters of table types are READONLY, and no others are.
fn verify_read_only(connection: &Connection, parameter: &Parameter) -> Result<(), Cause> {
    let ParameterType::Type(data_type) = &parameter.data_type else { return Ok(()) };
    let is_table = connection.table_type(&data_type.name).is_some();
    let name = &parameter.name.text;
    let (number, text) = match (is_table, parameter.is_readonly) {
        (true, false) => (
            352,
            format!(
                "The table-valued parameter \"{name}\" must be declared with the READONLY option."
            ),
        ),
        (false, true) => (
            346,
            format!(
                "The parameter \"{name}\" can not be declared READONLY since it is not a \
                 table-valued parameter."
            ),
        ),
        _ => return Ok(()),
    };
    Err(Cause::Failed { number, severity: 15, text })
}

impl Ddl<'_, '_> {
    /// Where a new object comes to: its schema is there.
    pub(super) fn place_of(&mut self, name: &ObjectName) -> Defined<QualifiedName> {
        let place = self.connection().qualified(name)?;
        let Some(mut at) = place else {
            let database = name.database().map(|name| name.text.to_string()).unwrap_or_default();
            return Err(Cause::UnknownDatabase { name: database }.into());
        };
        let model = self.model(&at.database)?;
        let Some(schema) = model.schema(&at.schema) else {
            return Err(DefinitionCause::NoSchema { name: at.schema }.into());
        };
        at.schema = schema.name.clone();
        Ok(at)
    }

    pub(super) fn define_module(
        &mut self,
        verb: DefinitionVerb,
        module: &Module,
        at: &QualifiedName,
        text: &str,
    ) -> Defined {
        let Some(kind) = kind_of(module) else { return Ok(()) };
        let is_own = {
            let name = &name_of(module).name.text;
            is_temporary(name) && !is_global_temporary(name)
        };
        let found = match is_own {
            true => self.connection().object(name_of(module))?,
            false => self.connection().object_at(at)?,
        };
        let is_new = self.is_new(verb, found.as_ref(), &[code_of(kind)], name_of(module))?;
        let name = match &found {
            Some(found) => found.object.object.name.clone(),
            None if is_own => {
                stored_name(&at.name, self.connection().server.next_temporary_table())
            }
            None => at.name.clone(),
        };
        let spec = ModuleSpec {
            schema: Some(at.schema.clone()),
            name,
            kind,
            text: text.to_owned(),
            columns: Vec::new(),
            parameters: self.parameters_of(module, &at.database)?,
            settings: self.module_settings(),
        };
        let session = self.session();
        let done = match is_new {
            true => session.create_module(&spec),
            false => session.alter_module(&spec),
        };
        done?;
        let shown = &name_of(module).name.text;
        if is_new && is_temporary(shown) {
            // One that all sessions see ends with the session, not with a procedure of it.
            let connection = self.connection();
            let nesting = if is_global_temporary(shown) { 0 } else { connection.nesting };
            connection.temporary.add_procedure(shown, &spec.name, nesting);
        }
        Ok(())
    }

    /// The parameters of a module as far as the catalog keeps them: those of tables and cursors
    /// are in its text alone.
    fn parameters_of(
        &mut self,
        module: &Module,
        database: &Arc<Database>,
    ) -> Defined<Vec<ParameterSpec>> {
        let own: &[Parameter] = match module {
            Module::Procedure(procedure) => &procedure.parameters,
            Module::Function(function) => &function.parameters,
            _ => return Ok(Vec::new()),
        };
        let model = self.model(database)?;
        let typed = |name: &str, data_type: &DataType, is_output: bool| -> Defined<_> {
            let column = TypedColumn { name, position: 1 };
            let NamedType { ty, user_type, .. } =
                named_type(&model, data_type, column, model.collation())?;
            Ok(ParameterSpec { name: name.to_owned(), ty, user_type, is_output })
        };
        let mut parameters = Vec::new();
        if let Module::Function(function) = module
            && let FunctionBody::Scalar { returns, .. } = &function.body
        {
            parameters.push(typed("", returns, true)?);
        }
        for parameter in own {
            verify_read_only(self.connection(), parameter)?;
            if let ParameterType::Type(data_type) = &parameter.data_type
                && !parameter.is_readonly
            {
                parameters.push(typed(&parameter.name.text, data_type, parameter.is_output)?);
            }
        }
        Ok(parameters)
    }

    /// What a module keeps of the options of the session.
    fn module_settings(&mut self) -> ModuleSettings {
        let options = &self.connection().options;
        ModuleSettings {
            ansi_nulls: options.ansi_nulls,
            quoted_identifier: options.quoted_identifier,
        }
    }

    /// Is the object made, or does it get another text?
    fn is_new(
        &mut self,
        verb: DefinitionVerb,
        found: Option<&ResolvedObject>,
        codes: &[&str],
        name: &ObjectName,
    ) -> Defined<bool> {
        let shown = || written(name);
        match (verb, found) {
            (DefinitionVerb::Create, Some(_)) => {
                Err(DefinitionCause::ObjectExists { name: name.name.text.to_string() }.into())
            }
            (DefinitionVerb::Alter, None) => {
                Err(DefinitionCause::UnknownObject { name: shown() }.into())
            }
            (_, None) => Ok(true),
            (_, Some(found)) if codes.contains(&found.kind()) => Ok(false),
            (_, Some(_)) => {
                let action = action_of(verb);
                Err(DefinitionCause::IncompatibleObject { action, name: shown() }.into())
            }
        }
    }

    fn define_trigger(&mut self, verb: DefinitionVerb, trigger: &Trigger, text: &str) -> Defined {
        let TriggerTarget::Object(table) = &trigger.target else {
            return Err(Cause::not_supported("DDL triggers and logon triggers").into());
        };
        let target = self.trigger_target(table)?;
        let name = trigger.name.name.text.to_string();
        let schema = trigger.name.schema().map(|schema| &*schema.text);
        if schema.is_some_and(|schema| !schema.eq_ignore_ascii_case(&target.schema)) {
            let action = action_of(verb);
            return Err(DefinitionCause::TriggerSchema { action, name }.into());
        }
        self.in_scope(&target.database.clone(), |ddl| {
            let at = QualifiedName {
                database: target.database.clone(),
                schema: target.schema.clone(),
                name: name.clone(),
            };
            let found = ddl.connection().object_at(&at)?;
            let is_new = ddl.is_new(verb, found.as_ref(), &["TR"], &trigger.name)?;
            let table = &target.table;
            let settings = ddl.module_settings();
            if is_new {
                return Ok(ddl.session().create_trigger_with(table, &name, text, settings)?);
            }
            let is_own = found.is_some_and(|it| it.object.object.parent == table.id());
            if !is_own {
                return Err(Cause::not_supported("a trigger that moves to another table").into());
            }
            Ok(ddl.session().alter_trigger(table, &name, text, settings)?)
        })
    }

    fn trigger_target(&mut self, table: &ObjectName) -> Defined<Target> {
        let missing = || DefinitionCause::NoTriggerTarget { name: written(table) };
        let Some(found) = self.connection().object(table)? else { return Err(missing().into()) };
        if found.kind() == "V" {
            return Err(Cause::not_supported("triggers of views").into());
        }
        Ok(found.into_table()?.map(Target::from).ok_or_else(missing)?)
    }

    /// Drops a trigger, by its name and the table that it belongs to.
    pub(super) fn drop_trigger(&mut self, found: &ResolvedObject) -> Defined {
        let parent = found.model.object_by_id(found.object.object.parent).cloned();
        let schema = parent.as_ref().and_then(|parent| {
            found.model.schemas().find(|schema| schema.id == parent.object.schema_id)
        });
        let (Some(parent), Some(schema)) = (&parent, schema) else {
            return Err(Error::Gone { id: found.object.object.id }.into());
        };
        let table = format!("{}.{}", schema.name, parent.object.name);
        let name = found.object.object.name.clone();
        self.in_scope(&found.database, |ddl| {
            let table = ddl.session().table(&table)?;
            Ok(ddl.session().drop_trigger(&table, &name)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use extentdb_tsql::syntax::DefinitionVerb;

    use super::stored_text;

    #[test]
    fn stored_texts_create_their_module() {
        use DefinitionVerb::{Alter, Create, CreateOrAlter};
        let cases = [
            ("create view v as select 1", Create, 0, "create view v as select 1"),
            ("-- x\nalter VIEW v AS SELECT 1", Alter, 5, "-- x\nCREATE VIEW v AS SELECT 1"),
            ("Create or\nAlter proc p AS", CreateOrAlter, 0, "CREATE proc p AS"),
            (
                "CREATE /* or */ OR ALTER PROC p AS",
                CreateOrAlter,
                0,
                "CREATE /* or */ OR ALTER PROC p AS",
            ),
        ];
        for (text, verb, start, stored) in cases {
            assert_eq!(stored_text(text, verb, start), stored);
        }
    }
}
