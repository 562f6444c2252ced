//! CREATE, ALTER and DROP of views, procedures, functions and triggers: their texts.
//!
//! A module is kept with the batch that defines it. The query of a view is bound, for its columns
//! and for what is wrong with it; what other modules name need not be there. WITH SCHEMABINDING
//! binds nothing.

use extentdb_base::sync::Arc;
use extentdb_engine::{
    ColumnSpec, Database, Error, ModuleKind, ModuleSettings, ModuleSpec, ParameterSpec,
};
use extentdb_tsql::syntax::{
    DataType, DefineModule, DefinitionVerb, FunctionBody, Module, ModuleBody, ModuleOptions,
    ObjectName, Parameter, ParameterType, Query, QueryBody, SwitchTrigger, Trigger, TriggerTarget,
    TriggerTiming, View,
};

use super::column::{NamedType, named_type};
use super::constraint::Target;
use super::problem::Defined;
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::connection::Connection;
use extentdb_connection::data_type::TypedColumn;
use extentdb_connection::frame::Frame;
use extentdb_connection::objects::{
    QualifiedName, ResolvedObject, is_global_temporary, is_temporary, stored_name,
};
use extentdb_connection::output::{ColumnInfo, Scope, StatementCode};
use extentdb_connection::query::{columns_of, verify_function_body};

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
            return ddl.switch_database_triggers(self);
        };
        if let Some(view) = ddl.view_of_trigger(table)? {
            return ddl.switch_view_triggers(&view, &self.names, self.is_enabled);
        }
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
        ModuleKind::Default => "D",
        ModuleKind::Rule => "R",
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

/// Parameters of one name.
fn verify_unique(parameters: &[Parameter]) -> Result<(), Cause> {
    for (at, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name.text;
        let mut before = parameters.iter().take(at);
        if before.any(|other| other.name.text.eq_ignore_ascii_case(name)) {
            return Err(Cause::DuplicateVariable { name: name.to_string() });
        }
    }
    Ok(())
}

/// What is not supported has this number.
const NOT_SUPPORTED: i32 = 40_517;

/// An error of a view that is defined.
fn view_error(number: i32, text: String) -> Cause {
    Cause::Failed { number, severity: 16, text }
}

/// ORDER BY needs TOP, OFFSET or FOR XML beside it.
fn verify_order(query: &Query) -> Result<(), Cause> {
    let has_top = match &query.body {
        QueryBody::Select(select) => select.top.is_some(),
        _ => false,
    };
    let is_free = query.offset.is_some() || query.for_clause.is_some() || has_top;
    if query.order_by.is_empty() || is_free {
        return Ok(());
    }
    let text = "The ORDER BY clause is invalid in views, inline functions, derived tables, \
                subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also \
                specified.";
    Err(Cause::Failed { number: 1033, severity: 15, text: text.to_owned() })
}

/// The names of a view's columns: those of its list, or of its query.
fn names_of(view: &View, columns: &[ColumnInfo]) -> Result<Vec<String>, Cause> {
    let shown = &view.name.name.text;
    if !view.columns.is_empty() && view.columns.len() != columns.len() {
        let (number, word) = match columns.len() > view.columns.len() {
            true => (8158, "more"),
            false => (8159, "fewer"),
        };
        let text = format!("'{shown}' has {word} columns than were specified in the column list.");
        return Err(view_error(number, text));
    }
    let names: Vec<String> = match view.columns.as_slice() {
        [] => columns.iter().map(|column| column.name.clone()).collect(),
        listed => listed.iter().map(|name| name.text.to_string()).collect(),
    };
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() {
            let text = format!(
                "Create View or Function failed because no column name was specified for column \
                 {}.",
                at + 1
            );
            return Err(view_error(4511, text));
        }
        let before = names.iter().take(at);
        if before.into_iter().any(|other| other.eq_ignore_ascii_case(name)) {
            let text = format!(
                "Column names in each view or function must be unique. Column name '{name}' in \
                 view or function '{shown}' is specified more than once."
            );
            return Err(view_error(4506, text));
        }
    }
    Ok(names)
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
            columns: self.columns_of(module)?,
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

    /// The columns of a view. None of one whose query is not supported: it is refused when it is
    /// used.
    fn columns_of(&mut self, module: &Module) -> Defined<Vec<ColumnSpec>> {
        let Module::View(view) = module else { return Ok(Vec::new()) };
        verify_order(&view.query)?;
        let frame = Frame::new(Scope::Procedure, Arc::from([]));
        let columns = match columns_of(self.run, &frame, &view.query) {
            Ok(columns) => columns,
            Err(cause) if cause.number() == NOT_SUPPORTED => return Ok(Vec::new()),
            Err(cause) => return Err(cause.into()),
        };
        let names = names_of(view, &columns)?;
        let specs = names.into_iter().zip(&columns).map(|(name, column)| ColumnSpec {
            nullable: column.is_nullable,
            ..ColumnSpec::new(&name, column.ty)
        });
        Ok(specs.collect())
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
        verify_unique(own)?;
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
    pub(super) fn module_settings(&mut self) -> ModuleSettings {
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
            return self.define_database_trigger(verb, trigger, text);
        };
        if let Some(view) = self.view_of_trigger(table)? {
            return self.define_view_trigger(verb, trigger, &view, text);
        }
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

    /// The view that a trigger is of; `None` for a trigger of a table.
    fn view_of_trigger(&mut self, name: &ObjectName) -> Defined<Option<ResolvedObject>> {
        let found = self.connection().object(name)?;
        Ok(found.filter(|found| found.kind() == "V"))
    }

    /// ENABLE and DISABLE TRIGGER of a view; without names all of them.
    fn switch_view_triggers(
        &mut self,
        view: &ResolvedObject,
        names: &[ObjectName],
        is_enabled: bool,
    ) -> Defined {
        let children = view.object.children.iter().filter_map(|id| view.model.object_by_id(*id));
        let is_named = |own: &str| {
            names.is_empty() || names.iter().any(|name| name.name.text.eq_ignore_ascii_case(own))
        };
        let triggers: Vec<_> = children
            .filter(|child| child.object.kind.code() == "TR" && is_named(&child.object.name))
            .map(|child| child.object.id)
            .collect();
        self.in_scope(&view.database.clone(), |ddl| {
            for id in &triggers {
                ddl.session().switch_view_trigger(*id, is_enabled)?;
            }
            Ok(())
        })
    }

    /// A trigger of a view takes the place of the statement.
    fn define_view_trigger(
        &mut self,
        verb: DefinitionVerb,
        trigger: &Trigger,
        view: &ResolvedObject,
        text: &str,
    ) -> Defined {
        let TriggerTarget::Object(of) = &trigger.target else { return Ok(()) };
        if trigger.timing != TriggerTiming::InsteadOf {
            return Err(DefinitionCause::NoTriggerTarget { name: written(of) }.into());
        }
        let name = trigger.name.name.text.to_string();
        let schema = view.schema_name();
        self.in_scope(&view.database.clone(), |ddl| {
            let at = QualifiedName {
                database: view.database.clone(),
                schema: schema.clone(),
                name: name.clone(),
            };
            let found = ddl.connection().object_at(&at)?;
            let is_new = ddl.is_new(verb, found.as_ref(), &["TR"], &trigger.name)?;
            let settings = ddl.module_settings();
            let own = view.object.object.name.clone();
            match found.filter(|_| !is_new) {
                None => {
                    Ok(ddl.session().create_view_trigger((&schema, &own), &name, text, settings)?)
                }
                Some(found) if found.object.object.parent == view.object.object.id => {
                    let id = found.object.object.id;
                    Ok(ddl.session().alter_view_trigger(id, text, settings)?)
                }
                Some(_) => Err(Cause::not_supported("a trigger that moves to another view").into()),
            }
        })
    }

    fn trigger_target(&mut self, table: &ObjectName) -> Defined<Target> {
        let missing = || DefinitionCause::NoTriggerTarget { name: written(table) };
        let Some(found) = self.connection().object(table)? else { return Err(missing().into()) };
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
        let is_of_view = parent.object.kind.code() == "V";
        let id = found.object.object.id;
        self.in_scope(&found.database, |ddl| {
            if is_of_view {
                return Ok(ddl.session().drop_view_trigger(id)?);
            }
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
