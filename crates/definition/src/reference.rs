//! Foreign keys: the referenced table and its key, and what rows of the two must have in common.

use extentdb_engine::model::{CatalogModel, Column, TableModel};
use extentdb_engine::{Error, ForeignKeySpec, ReferentialAction, ReferentialActions, Unsupported};
use extentdb_tsql::syntax::{self, Constraint, ForeignKey, Name};
use extentdb_types::SqlType;

use super::constraint::{ExistingRows, Target};
use super::problem::{Defined, Problem};
use super::{Ddl, written};
use extentdb_connection::cause::DefinitionCause;
use extentdb_connection::objects::{ResolvedTable, is_temporary};

/// A foreign key whose tables are known.
struct Reference<'r> {
    name: String,
    syntax: &'r ForeignKey,
    target: &'r Target,
    parent: &'r ResolvedTable,
}

/// Names of a referencing and of a referenced column.
type Pair = (String, String);

impl Ddl<'_, '_> {
    pub(super) fn add_foreign_key(
        &mut self,
        target: &Target,
        constraint: &Constraint,
        key: &ForeignKey,
        column: Option<&Name>,
        rows: ExistingRows,
    ) -> Defined {
        let added = self.reference(target, constraint, key, column, rows);
        added.map_err(|problem| match problem.is_conflict_of_rows() {
            true => problem,
            false => problem.then(DefinitionCause::NotCreated),
        })
    }

    fn reference(
        &mut self,
        target: &Target,
        constraint: &Constraint,
        key: &ForeignKey,
        column: Option<&Name>,
        rows: ExistingRows,
    ) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let from: Vec<&Name> = match (key.columns.as_slice(), column) {
            ([], Some(column)) => vec![column],
            (columns, _) => columns.iter().collect(),
        };
        let name = match &constraint.name {
            Some(name) => name.text.to_string(),
            None => {
                let column = if let [one] = from.as_slice() { Some(&*one.text) } else { None };
                let text = format!("{}/{}", key.table, constraint.span.start);
                target.namer(&model).rule("FK", column, &text)
            }
        };
        let parent = self.parent(target, key, &name)?;
        let reference = Reference { name, syntax: key, target, parent: &parent };
        let pairs = reference.pairs(own, &from, &model)?;
        reference.verify_actions(own, &pairs, &model)?;
        self.make_reference(&reference, &pairs, rows)
    }

    fn parent(&mut self, target: &Target, key: &ForeignKey, name: &str) -> Defined<ResolvedTable> {
        let table = written(&key.table);
        let key_name = || name.to_owned();
        if is_temporary(&key.table.name.text) {
            return Err(DefinitionCause::TemporaryInKey { key: key_name() }.into());
        }
        let Some(found) = self.connection().object(&key.table)? else {
            return Err(DefinitionCause::NoReferencedTable { key: key_name(), table }.into());
        };
        if !std::ptr::eq(&*found.database, &*target.database) {
            return Err(DefinitionCause::CrossDatabaseKey { key: key_name() }.into());
        }
        let not_table = DefinitionCause::ReferencedNotTable { key: key_name(), table };
        Ok(found.into_table()?.ok_or(not_table)?)
    }

    fn make_reference(
        &mut self,
        reference: &Reference<'_>,
        pairs: &[Pair],
        rows: ExistingRows,
    ) -> Defined {
        let Reference { name, target, parent, .. } = reference;
        let spec = ForeignKeySpec {
            name: name.clone(),
            columns: pairs.to_vec(),
            actions: reference.actions(),
            rows,
        };
        let made = self.session().create_foreign_key(&target.table, &parent.table, &spec);
        made.map_err(|error| reference.problem(pairs, error))
    }
}

impl Reference<'_> {
    fn parent_name(&self) -> String {
        written(&self.syntax.table)
    }

    fn actions(&self) -> ReferentialActions {
        ReferentialActions {
            on_delete: action(self.syntax.on_delete),
            on_update: action(self.syntax.on_update),
        }
    }

    /// The columns of both sides, in order.
    fn pairs(&self, own: &TableModel, from: &[&Name], model: &CatalogModel) -> Defined<Vec<Pair>> {
        let key = || self.name.clone();
        let mut referencing = Vec::new();
        for name in from {
            referencing.push(own.column(&name.text, model.collation()).ok_or_else(|| {
                DefinitionCause::NoReferencingColumn {
                    key: key(),
                    column: name.text.to_string(),
                    table: self.target.shown.clone(),
                }
            })?);
        }
        let of_parent = self.parent.object.table();
        let missing =
            || DefinitionCause::NoReferencedTable { key: key(), table: self.parent_name() };
        let of_parent = of_parent.ok_or_else(missing)?;
        let referenced = self.referenced(of_parent, model)?;
        if referencing.len() != referenced.len() {
            let table = self.target.shown.clone();
            return Err(match self.syntax.referenced.is_empty() {
                true => DefinitionCause::KeyColumnCount { key: key(), table: self.parent_name() },
                false => DefinitionCause::ReferencingCount { table },
            }
            .into());
        }
        self.verify_stored(&referencing, &referenced)?;
        self.verify_unique(of_parent, &referenced)?;
        for (from, to) in referencing.iter().zip(&referenced) {
            self.verify_types(from, to)?;
        }
        let pair = |(from, to): (&&Column, &&Column)| (from.name.clone(), to.name.clone());
        Ok(referencing.iter().zip(&referenced).map(pair).collect())
    }

    /// The referenced columns: those that are written, or the primary key.
    fn referenced<'m>(
        &self,
        parent: &'m TableModel,
        model: &CatalogModel,
    ) -> Defined<Vec<&'m Column>> {
        let key = self.name.clone();
        if self.syntax.referenced.is_empty() {
            let missing =
                DefinitionCause::NoPrimaryKeyReferenced { key, table: self.parent_name() };
            let primary = parent.primary_key().ok_or(missing)?;
            let columns = primary.columns.iter().filter(|column| column.key_ordinal > 0);
            let column = |id: i32| parent.columns.iter().find(move |column| column.id == id);
            return Ok(columns.filter_map(|own| column(own.column_id)).collect());
        }
        let mut columns = Vec::new();
        for name in &self.syntax.referenced {
            columns.push(parent.column(&name.text, model.collation()).ok_or_else(|| {
                DefinitionCause::NoReferencedColumn {
                    key: key.clone(),
                    column: name.text.to_string(),
                    table: self.parent_name(),
                }
            })?);
        }
        Ok(columns)
    }

    /// Rows must have the columns of both sides.
    fn verify_stored(&self, from: &[&Column], to: &[&Column]) -> Defined {
        let is_virtual = |column: &&&Column| column.computed.is_some() && !column.persisted;
        if let Some(column) = from.iter().find(is_virtual) {
            return Err(DefinitionCause::NotPersistedInKey {
                column: column.name.clone(),
                table: self.target.shown.clone(),
                what: "FOREIGN KEY CONSTRAINT",
            }
            .into());
        }
        if let Some(column) = to.iter().find(is_virtual) {
            let column = format!("{}.{}", self.parent.table.name(), column.name);
            let key = self.name.clone();
            return Err(DefinitionCause::ComputedReferenced { key, column }.into());
        }
        Ok(())
    }

    fn verify_unique(&self, parent: &TableModel, columns: &[&Column]) -> Defined {
        let is_key = |index: &&extentdb_engine::model::Index| {
            let keys = index.columns.iter().filter(|column| column.key_ordinal > 0);
            let keys: Vec<i32> = keys.map(|column| column.column_id).collect();
            index.unique
                && !index.disabled
                && index.filter.is_none()
                && keys.len() == columns.len()
                && columns.iter().all(|column| keys.contains(&column.id))
        };
        if parent.indexes.iter().any(|index| is_key(&index)) {
            return Ok(());
        }
        let key = self.name.clone();
        Err(DefinitionCause::NoCandidateKey { key, table: self.parent_name() }.into())
    }

    fn verify_types(&self, from: &Column, to: &Column) -> Defined {
        let (Some(a), Some(b)) = (from.ty, to.ty) else { return Ok(()) };
        if a == b {
            return Ok(());
        }
        let shown = |table: &str, column: &Column| format!("{table}.{}", column.name);
        let from = shown(&self.target.shown, from);
        let to = shown(self.parent.table.name(), to);
        let key = self.name.clone();
        if a.xtype() != b.xtype() {
            return Err(DefinitionCause::TypeInKey { to, from, key }.into());
        }
        if without_collation(a) == without_collation(b) {
            return Err(DefinitionCause::CollationInKey { to, from, key }.into());
        }
        Err(DefinitionCause::LengthInKey { to, from, key }.into())
    }

    /// SET NULL needs columns that take it, SET DEFAULT ones with a default.
    fn verify_actions(&self, own: &TableModel, pairs: &[Pair], model: &CatalogModel) -> Defined {
        let ReferentialActions { on_delete, on_update } = self.actions();
        let is = |action| on_delete == action || on_update == action;
        let columns = pairs.iter().filter_map(|(from, _)| own.column(from, model.collation()));
        let key = || self.name.clone();
        for column in columns.filter(|column| !column.nullable) {
            if is(ReferentialAction::SetNull) {
                return Err(DefinitionCause::SetNullOfNotNull { key: key() }.into());
            }
            if is(ReferentialAction::SetDefault) && column.default_object.0 == 0 {
                return Err(DefinitionCause::SetDefaultWithoutDefault { key: key() }.into());
            }
        }
        Ok(())
    }

    fn problem(&self, pairs: &[Pair], error: Error) -> Problem {
        let key = self.name.clone();
        match error {
            Error::Constraint { .. } => self.conflict(pairs).into(),
            Error::Exists { name } => DefinitionCause::ObjectExists { name }.into(),
            Error::NotSupported(Unsupported::CascadePaths { .. }) => {
                let table = self.target.shown.clone();
                DefinitionCause::CascadePaths { key, table }.into()
            }
            error => error.into(),
        }
    }

    /// A row exists that references none.
    fn conflict(&self, pairs: &[Pair]) -> DefinitionCause {
        let is_same = self.parent.table.id() == self.target.table.id();
        let kind = if is_same { "FOREIGN KEY SAME TABLE" } else { "FOREIGN KEY" };
        let parent = Target {
            database: self.target.database.clone(),
            schema: self.parent.table.schema().to_owned(),
            table: self.parent.table.clone(),
            shown: self.parent.table.name().to_owned(),
        };
        let columns: Vec<String> = pairs.iter().map(|(_, to)| to.clone()).collect();
        parent.conflict(kind, self.name.clone(), &columns)
    }
}

fn action(action: Option<syntax::ReferentialAction>) -> ReferentialAction {
    match action {
        None | Some(syntax::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(syntax::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(syntax::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(syntax::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// A type whose texts have some collation.
fn without_collation(ty: SqlType) -> SqlType {
    let collation = extentdb_types::Collation(0);
    match ty {
        SqlType::Char { len, .. } => SqlType::Char { len, collation },
        SqlType::VarChar { len, .. } => SqlType::VarChar { len, collation },
        SqlType::NChar { len, .. } => SqlType::NChar { len, collation },
        SqlType::NVarChar { len, .. } => SqlType::NVarChar { len, collation },
        other => other,
    }
}
