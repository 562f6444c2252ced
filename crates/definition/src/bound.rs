//! CREATE DEFAULT and CREATE RULE, and the columns that are bound to them: sp_bindefault,
//! sp_bindrule, sp_unbindefault, sp_unbindrule.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectBody};
use extentdb_engine::{BoundObject, Error, ModuleKind, ModuleSpec, Unsupported};
use extentdb_tsql::syntax::{CreateDefault, CreateRule, DropClass, Name, ObjectName, Qualifier};

use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::objects::{ResolvedObject, ResolvedTable, object_name};
use extentdb_connection::output::Scope;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// What columns are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A value for rows that are inserted without one.
    Default,
    /// A condition for values.
    Rule,
}

/// A call of sp_bindefault and the like: what a column is bound to, nothing for the procedures that
/// end it.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'b> {
    /// Which of the two.
    pub bound: Bound,
    /// Name of the default or rule.
    pub to: Option<&'b str>,
    /// `table.column`, or a type.
    pub of: &'b str,
}

impl Bound {
    fn word(self) -> &'static str {
        match self {
            Bound::Default => "default",
            Bound::Rule => "rule",
        }
    }

    fn code(self) -> &'static str {
        match self {
            Bound::Default => "D",
            Bound::Rule => "R",
        }
    }

    fn kind(self) -> ModuleKind {
        match self {
            Bound::Default => ModuleKind::Default,
            Bound::Rule => ModuleKind::Rule,
        }
    }

    /// Is a column bound to it?
    fn is_used(self, model: &CatalogModel, id: ObjectId) -> bool {
        let mut columns = model.user_tables().flat_map(|(_, table)| &table.columns);
        columns.any(|column| match self {
            Bound::Default => column.default_object == id,
            Bound::Rule => column.rule_object == id,
        })
    }
}

fn failed(number: i32, text: String) -> Cause {
    Cause::Failed { number, severity: 16, text }
}

impl Define for CreateDefault {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        ddl.define_bound(Bound::Default, &self.name)
    }
}

impl Define for CreateRule {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        ddl.define_bound(Bound::Rule, &self.name)
    }
}

impl Ddl<'_, '_> {
    fn define_bound(&mut self, bound: Bound, name: &ObjectName) -> Defined {
        let at = self.place_of(name)?;
        if self.connection().object_at(&at)?.is_some() {
            return Err(DefinitionCause::ObjectExists { name: at.name }.into());
        }
        let spec = ModuleSpec {
            schema: Some(at.schema.clone()),
            name: at.name.clone(),
            kind: bound.kind(),
            text: self.text.to_owned(),
            columns: Vec::new(),
            parameters: Vec::new(),
            settings: self.module_settings(),
        };
        self.in_scope(&at.database, |ddl| Ok(ddl.session().create_module(&spec)?))
    }

    /// DROP DEFAULT and DROP RULE.
    pub(super) fn drop_bound(
        &mut self,
        class: DropClass,
        name: &ObjectName,
        if_exists: bool,
    ) -> Defined {
        let bound = if class == DropClass::Rule { Bound::Rule } else { Bound::Default };
        let found = self.connection().object(name)?;
        let is_it = |found: &&ResolvedObject| {
            found.kind() == bound.code() && found.object.object.parent.0 == 0
        };
        let Some(found) = found.as_ref().filter(is_it) else {
            if if_exists && found.is_none() {
                return Ok(());
            }
            let (kind, name) = (bound.word(), written(name));
            return Err(DefinitionCause::NoTableInDrop { action: "drop", kind, name }.into());
        };
        if bound.is_used(&found.model, found.object.object.id) {
            let text = format!(
                "The {} '{}' cannot be dropped because it is bound to one or more column.",
                bound.word(),
                written(name)
            );
            return Err(failed(3716, text).into());
        }
        let schema = found.schema_name();
        let own = found.object.object.name.clone();
        self.in_scope(&found.database, |ddl| Ok(ddl.session().drop_module(&schema, &own)?))
    }
}

/// Binds a column to a default or rule, or ends that.
///
/// # Errors
/// There is no such object or column (15017, 15104); a type is named.
pub fn bind(run: &mut Run<'_>, binding: &Binding<'_>) -> Result<(), Stop> {
    run.connection.begin_implicit(run.output)?;
    let mut ddl = Ddl { run, text: "", start: 0, line: 0 };
    let frame = Frame::new(Scope::Procedure, Arc::from([]));
    ddl.bind(binding).map_err(|problem| ddl.raised(problem, &frame))
}

impl Ddl<'_, '_> {
    fn bind(&mut self, binding: &Binding<'_>) -> Defined {
        let (target, column) = self.bound_column(binding)?;
        let object = binding.to.map(|name| self.bound_object(binding.bound, name)).transpose()?;
        let bound = self.in_scope(&target.database.clone(), |ddl| {
            let session = ddl.session();
            match binding.bound {
                Bound::Default => session.bind_default(&target.table, &column, object.as_ref()),
                Bound::Rule => session.bind_rule(&target.table, &column, object.as_ref()),
            }
            .map_err(Problem::from)
        });
        if let Err(problem) = bound {
            return Err(match problem.into_engine()? {
                Error::NotSupported(Unsupported::DefaultOfComputed { .. }) => {
                    let text = format!(
                        "Cannot bind default '{}'. Type, computed columns and columns with a \
                         default or IDENTITY take none.",
                        binding.to.unwrap_or_default()
                    );
                    failed(15103, text).into()
                }
                error => error.into(),
            });
        }
        let (number, text) = match (binding.bound, binding.to) {
            (Bound::Default, Some(_)) => (15511, "Default bound to column."),
            (Bound::Default, None) => (15519, "Default unbound from table column."),
            (Bound::Rule, Some(_)) => (15514, "Rule bound to table column."),
            (Bound::Rule, None) => (15522, "Rule unbound from table column."),
        };
        let message = Message::info(number, 1, self.line, text);
        Ok(self.run.output.message(&message, false)?)
    }

    /// The column of `[schema.]table.column`.
    fn bound_column(&mut self, binding: &Binding<'_>) -> Defined<(ResolvedTable, String)> {
        let name = object_name(binding.of);
        let Some(table) = name.schema() else {
            let what = format!("binding a {} to a type", binding.bound.word());
            return Err(Cause::not_supported(what).into());
        };
        let schema = name.database().cloned();
        let qualifier =
            schema.map(|schema| Qualifier { server: None, database: None, schema: Some(schema) });
        let table = ObjectName {
            name: Name { text: table.text.clone(), span: table.span },
            qualifier: qualifier.map(Box::new),
            span: name.span,
        };
        let missing = || {
            let text = format!(
                "You do not own a table named '{}' that has a column named '{}'.",
                written(&table),
                name.name.text
            );
            failed(15104, text)
        };
        let found = self.connection().object(&table)?.ok_or_else(missing)?;
        let found = found.into_table()?.ok_or_else(missing)?;
        let column = name.name.text.to_string();
        let columns = match &found.object.body {
            ObjectBody::Table(table) => table.columns.as_slice(),
            _ => &[],
        };
        match columns.iter().find(|own| own.name.eq_ignore_ascii_case(&column)) {
            Some(own) => {
                let own = own.name.clone();
                Ok((found, own))
            }
            None => Err(missing().into()),
        }
    }

    /// The default or rule of a name.
    fn bound_object(&mut self, bound: Bound, name: &str) -> Defined<BoundObject> {
        let missing = || {
            let procedure = if bound == Bound::Rule { "rule" } else { "default" };
            failed(15017, format!("The {procedure} '{name}' does not exist."))
        };
        let found = self.connection().object(&object_name(name))?.ok_or_else(missing)?;
        let object = &found.object.object;
        let text = found.object.module().and_then(|module| module.text.clone());
        match text {
            Some(text) if object.is_bound_to() && found.kind() == bound.code() => {
                Ok(BoundObject { id: object.id, name: object.name.clone(), text })
            }
            _ => Err(missing().into()),
        }
    }
}
