//! Constraints and indexes of a table that exists: keys, checks, foreign keys, defaults.

use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectModel, TableModel};
use extentdb_engine::{Database, Error, IndexSpec, Table, Unsupported};
use extentdb_expr::{CompileError, Environment, Predicate, Program};
use extentdb_tsql::stored_condition;
use extentdb_tsql::syntax::{
    Condition, Constraint, ConstraintKind, Expr, KeyConstraint, Name, ObjectName,
};

pub(super) use extentdb_engine::ExistingRows;

use super::column::default_spec;
use super::key::{self, KeyColumn};
use super::names::Namer;
use super::problem::{Defined, Problem};
use super::{Ddl, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::objects::{ResolvedTable, is_temporary};

/// Info that a foreign key of a temporary table is not made.
const SKIPPED_FOREIGN_KEY: i32 = 1756;

/// A table that a statement works on, in the current database.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) database: Arc<Database>,
    pub(super) schema: String,
    pub(super) table: Arc<Table>,
    /// Its name as statements write it.
    pub(super) shown: String,
}

/// What a constraint is called, and where it stands.
struct CheckDraft<'c> {
    constraint: &'c Constraint,
    condition: &'c Condition,
    column: Option<&'c Name>,
}

impl Target {
    /// Schema and name, as messages have it.
    pub(super) fn qualified(&self) -> String {
        format!("{}.{}", self.schema, self.shown)
    }

    /// The table as a model has it.
    pub(super) fn of<'m>(&self, model: &'m CatalogModel) -> Defined<&'m TableModel> {
        let found = model.object_by_id(self.table.id()).map(|object| &**object);
        let gone = || Error::Gone { id: self.table.id() };
        Ok(found.and_then(ObjectModel::table).ok_or_else(gone)?)
    }
}

impl Namer<'_> {
    /// The name of a key, given or not.
    pub(super) fn of_key(
        &mut self,
        constraint: &Constraint,
        key: &KeyConstraint,
        column: Option<&Name>,
    ) -> String {
        if let Some(name) = &constraint.name {
            return name.text.to_string();
        }
        let kind = if key.is_primary { "PK" } else { "UQ" };
        let columns = key.columns.iter().map(|own| &*own.name.text);
        let columns: Vec<&str> = columns.chain(column.map(|name| &*name.text)).collect();
        self.key(kind, &columns)
    }
}

impl Ddl<'_, '_> {
    /// The catalog of a database as it is now.
    pub(super) fn model(&mut self, database: &Arc<Database>) -> Defined<Arc<CatalogModel>> {
        Ok(database.model()?)
    }

    /// Adds a constraint; `column` is the one that it stands beside.
    pub(super) fn add_constraint(
        &mut self,
        target: &Target,
        constraint: &Constraint,
        column: Option<&Name>,
        rows: ExistingRows,
    ) -> Defined {
        match &constraint.kind {
            ConstraintKind::Key(key) => self.add_key(target, constraint, key, column),
            ConstraintKind::Check { condition, .. } => {
                self.add_check(target, &CheckDraft { constraint, condition, column }, rows)
            }
            ConstraintKind::ForeignKey(key) if is_temporary(&target.shown) => {
                let name = constraint.name.as_ref().map(|name| &*name.text).unwrap_or_default();
                let _ = key;
                self.inform(
                    SKIPPED_FOREIGN_KEY,
                    format!(
                        "Skipping FOREIGN KEY constraint '{name}' definition for temporary \
                         table. FOREIGN KEY constraints are not enforced on local or global \
                         temporary tables."
                    ),
                )
            }
            ConstraintKind::ForeignKey(key) => {
                self.add_foreign_key(target, constraint, key, column, rows)
            }
            ConstraintKind::Default { value, column: of, .. } => {
                let of = of.as_ref().or(column);
                self.add_default(target, constraint, value, of)
            }
            ConstraintKind::Connection { .. } => {
                Err(Cause::not_supported("CONNECTION constraints").into())
            }
        }
    }

    fn add_key(
        &mut self,
        target: &Target,
        constraint: &Constraint,
        key: &KeyConstraint,
        column: Option<&Name>,
    ) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        if key.is_primary && own.primary_key().is_some() {
            let cause = DefinitionCause::PrimaryKeyExists { table: target.shown.clone() };
            return Err(Problem::from(cause).then(DefinitionCause::NotCreated));
        }
        let has_clustered = own.indexes.iter().any(|index| index.id.0 == 1);
        let is_clustered = key.is_clustered.unwrap_or(key.is_primary && !has_clustered);
        let mut namer = target.namer(&model);
        let name = namer.of_key(constraint, key, column);
        let is_taken = model.object(&target.schema, &name).is_some();
        if is_taken {
            let cause = DefinitionCause::ObjectExists { name };
            return Err(Problem::from(cause).then(DefinitionCause::NotCreated));
        }
        let spec = key::of_constraint(key, name, column, is_clustered)?;
        self.create_index(target, &spec)
    }

    /// Makes an index, with the entries of the rows there are.
    pub(super) fn create_index(&mut self, target: &Target, spec: &IndexSpec) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let is_constraint = spec.constraint != extentdb_engine::Constraint::None;
        let then = |problem: Problem| {
            if is_constraint { problem.then(DefinitionCause::NotCreated) } else { problem }
        };
        let taken = own.statistics.iter().any(|it| it.name.eq_ignore_ascii_case(&spec.name));
        let named = own.indexes.iter().filter_map(|index| index.name.as_deref());
        if taken || named.into_iter().any(|name| name.eq_ignore_ascii_case(&spec.name)) {
            let name = spec.name.clone();
            let table = target.qualified();
            return Err(then(DefinitionCause::IndexExists { name, table }.into()));
        }
        let clustered = own.indexes.iter().find(|index| index.id.0 == 1);
        if let (true, Some(other)) = (spec.clustered, clustered) {
            return Err(then(
                DefinitionCause::SecondClustered {
                    table: target.qualified(),
                    index: other.name.clone().unwrap_or_default(),
                }
                .into(),
            ));
        }
        key::verify(spec, &target.qualified(), &columns_of(own))?;
        self.verify_set_options(spec, own)?;
        if let Some(filter) = &spec.filter {
            columns_used(filter, own, &model, "filter", target)?;
        }
        let made = self.session().create_index(&target.table, spec);
        made.map_err(|error| then(target.problem_of_index(spec, error)))
    }

    /// Filtered indexes, and those over computed columns, mean what they mean under the options
    /// of the standard.
    fn verify_set_options(&mut self, spec: &IndexSpec, table: &TableModel) -> Defined {
        let is_computed = |name: &String| {
            let own = table.columns.iter().find(|own| own.name.eq_ignore_ascii_case(name));
            own.is_some_and(|own| own.computed.is_some())
        };
        let mut columns = spec.keys.iter().map(|(name, _)| name).chain(&spec.included);
        if spec.filter.is_none() && !columns.any(is_computed) {
            return Ok(());
        }
        let options = self.connection().options.wrong_for_indexes();
        if options.is_empty() {
            return Ok(());
        }
        let options = options.join(", ");
        Err(DefinitionCause::SetOptions { statement: "CREATE INDEX", options }.into())
    }

    fn add_check(
        &mut self,
        target: &Target,
        draft: &CheckDraft<'_>,
        rows: ExistingRows,
    ) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let text = stored_condition(draft.condition);
        let used = columns_used(&text, own, &model, "check constraint", target)?;
        verify_stored(own, &used, "CHECK CONSTRAINT", target)?;
        if let Some(column) = draft.column
            && used.iter().any(|name| !name.eq_ignore_ascii_case(&column.text))
        {
            let cause = DefinitionCause::OtherColumnInConstraint {
                kind: "CHECK",
                column: column.text.to_string(),
                table: target.shown.clone(),
            };
            return Err(Problem::from(cause).then(DefinitionCause::NotCreated));
        }
        let name = match &draft.constraint.name {
            Some(name) => name.text.to_string(),
            None => {
                let column = draft.column.map(|name| &*name.text);
                target.namer(&model).rule("CK", column, &text)
            }
        };
        let added = self.session().add_check_with(&target.table, &name, &text, rows);
        added.map_err(|error| match error {
            Error::Constraint { .. } => target.conflict("CHECK", name, &used).into(),
            Error::Exists { .. } => exists(name),
            error => error.into(),
        })
    }

    fn add_default(
        &mut self,
        target: &Target,
        constraint: &Constraint,
        value: &Expr,
        column: Option<&Name>,
    ) -> Defined {
        let Some(column) = column else {
            return Err(Cause::not_supported("a default without its column").into());
        };
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let Some(of) = own.column(&column.text, model.collation()) else {
            let column = column.text.to_string();
            let cause = DefinitionCause::NoColumnInIndex { column };
            return Err(Problem::from(cause).then(DefinitionCause::NotCreated));
        };
        let name = of.name.clone();
        let table = target.shown.clone();
        let refused = if of.default_object.0 != 0 {
            Some(DefinitionCause::DefaultExists)
        } else if of.identity.is_some() {
            Some(DefinitionCause::DefaultOfIdentity { column: name.clone(), table })
        } else if of.ty == Some(extentdb_types::SqlType::RowVersion) {
            Some(DefinitionCause::DefaultOfTimestamp { column: name.clone(), table })
        } else {
            None
        };
        if let Some(cause) = refused {
            return Err(Problem::from(cause).then(DefinitionCause::NotCreated));
        }
        let spec = default_spec(constraint, value, &name, &mut target.namer(&model))?;
        let added = self.session().add_default(&target.table, &name, &spec);
        added.map_err(|error| match error {
            Error::Exists { name } => exists(name),
            error => error.into(),
        })
    }

    /// The table that a statement alters or drops from; `missing` says what it is when there is
    /// none.
    pub(super) fn target(
        &mut self,
        name: &ObjectName,
        missing: impl Fn(String) -> DefinitionCause,
    ) -> Defined<Target> {
        let Some(found) = self.connection().object(name)? else {
            return Err(missing(written(name)).into());
        };
        let Some(found) = found.into_table()? else {
            return Err(DefinitionCause::NotATable { name: written(name) }.into());
        };
        Ok(found.into())
    }
}

impl From<ResolvedTable> for Target {
    fn from(found: ResolvedTable) -> Target {
        Target {
            shown: found.shown_name().to_owned(),
            schema: found.table.schema().to_owned(),
            database: found.database,
            table: found.table,
        }
    }
}

impl Target {
    pub(super) fn namer<'n>(&'n self, model: &'n CatalogModel) -> Namer<'n> {
        Namer::new(model, &self.schema, &self.shown, self.table.name())
    }

    /// The conflict of a row that exists with a new constraint.
    pub(super) fn conflict(
        &self,
        kind: &'static str,
        name: String,
        columns: &[String],
    ) -> DefinitionCause {
        let column = match columns {
            [column] => format!(", column '{column}'"),
            _ => String::new(),
        };
        DefinitionCause::DefinitionConflict {
            statement: "ALTER TABLE",
            kind,
            name,
            database: self.database.name().to_owned(),
            table: self.qualified(),
            column,
        }
    }

    fn problem_of_index(&self, spec: &IndexSpec, error: Error) -> Problem {
        match error {
            Error::DuplicateKey { key, .. } => DefinitionCause::DuplicateInBuild {
                table: self.qualified(),
                index: spec.name.clone(),
                key,
            }
            .into(),
            Error::Rowset(_) if key_bytes(&error).is_some() => DefinitionCause::KeyTooLong {
                index: spec.name.clone(),
                bytes: key_bytes(&error).unwrap_or_default(),
            }
            .into(),
            Error::NotSupported(Unsupported::ComputedInIndex { column, .. }) => {
                let table = self.qualified();
                DefinitionCause::NondeterministicInIndex { column, table }.into()
            }
            error => error.into(),
        }
    }
}

/// How many bytes a key has that is too long.
fn key_bytes(error: &Error) -> Option<usize> {
    error.key_bytes()
}

fn exists(name: String) -> Problem {
    Problem::from(DefinitionCause::ObjectExists { name }).then(DefinitionCause::NotCreated)
}

/// The columns of a table as its indexes see them.
pub(super) fn columns_of(table: &TableModel) -> Vec<KeyColumn> {
    let columns = table.columns.iter().filter_map(|column| {
        Some(KeyColumn {
            name: column.name.clone(),
            ty: column.ty?,
            is_nullable: column.nullable,
        })
    });
    columns.collect()
}

/// Names of the columns that a stored text is about; none of one that does not compile.
pub(super) fn columns_of_text(text: &str, table: &TableModel, model: &CatalogModel) -> Vec<String> {
    let columns: Vec<_> =
        table.columns.iter().filter_map(|own| Some((own.name.clone(), own.ty?))).collect();
    let environment = Environment {
        columns: columns.clone(),
        database_collation: model.collation(),
        settings: extentdb_expr::Settings::stored(),
    }
    .with_context();
    let inputs = match Predicate::compile(text, &environment) {
        Ok(predicate) => predicate.inputs().to_vec(),
        Err(_) => Program::compile(text, &environment)
            .map(|program| program.inputs().to_vec())
            .unwrap_or_default(),
    };
    inputs.iter().filter_map(|at| columns.get(*at)).map(|(name, _)| name.clone()).collect()
}

/// Refuses a constraint over a computed column that rows do not have.
fn verify_stored(
    table: &TableModel,
    columns: &[String],
    what: &'static str,
    target: &Target,
) -> Defined {
    let is_virtual = |name: &&String| {
        let own = table.columns.iter().find(|own| own.name.eq_ignore_ascii_case(name));
        own.is_some_and(|own| own.computed.is_some() && !own.persisted)
    };
    let Some(column) = columns.iter().find(is_virtual).cloned() else { return Ok(()) };
    let cause = DefinitionCause::NotPersistedInKey { column, table: target.shown.clone(), what };
    Err(Problem::from(cause).then(DefinitionCause::NotCreated))
}

/// Names of the columns that a condition is about.
fn columns_used(
    text: &str,
    table: &TableModel,
    model: &CatalogModel,
    what: &str,
    target: &Target,
) -> Defined<Vec<String>> {
    let columns: Vec<_> =
        table.columns.iter().filter_map(|own| Some((own.name.clone(), own.ty?))).collect();
    let environment = Environment {
        columns: columns.clone(),
        database_collation: model.collation(),
        settings: extentdb_expr::Settings::stored(),
    };
    let predicate = Predicate::compile(text, &environment.with_context());
    let predicate = predicate.map_err(|error| match error {
        CompileError::UnknownColumn { name, .. } => Cause::UnknownColumn { name },
        other => Cause::not_supported(format!("a {what} of {}: {other}", target.shown)),
    })?;
    let used = predicate.inputs().iter().filter_map(|at| columns.get(*at));
    Ok(used.map(|(name, _)| name.clone()).collect())
}
