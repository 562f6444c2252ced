//! The table that a statement changes, and its rows in the statement's relation.

use extentdb_base::sync::Arc;
use extentdb_engine::model::{Column as ModelColumn, ObjectBody};
use extentdb_engine::{RowLock, UseVersions};
use extentdb_expr::Scalar;
use extentdb_tsql::syntax::{ObjectName, Query, TableSource, Target, TargetKind};
use extentdb_tsql::{Options, Span, parse_expression};

use super::query_target::TargetNames;
use crate::binder::{Binder, shown};
use crate::change::arriving::arriving;
use crate::error::{Cause, Result, not_supported};
use crate::logical::{Column, Relation, ValueId};
use crate::scalar::{Clause, Place};
use crate::scope::Source;
use crate::stage::Stage;
use crate::surroundings::{Object, StoredTable};
use crate::table::BoundTable;

/// The rows of a statement that changes some of them.
pub(crate) struct TargetRows {
    pub(crate) stored: StoredTable,
    pub(crate) relation: Relation,
    pub(crate) sources: Vec<Source>,
    /// The columns of the target by name, where it is a query.
    pub(crate) names: TargetNames,
    /// The value that says where a row is.
    pub(crate) locator: ValueId,
    /// The query of a view WITH CHECK OPTION.
    pub(crate) check: Option<Arc<Query>>,
}

impl Binder<'_> {
    /// The table of a target by its name.
    pub(crate) fn target(&mut self, target: &Target) -> Result<StoredTable> {
        match &target.kind {
            TargetKind::Object(name) => self.target_object(name, target.span),
            TargetKind::Variable(name) => {
                if self.surroundings.is_read_only(&name.text) {
                    let name = &name.text;
                    let text = format!(
                        "The table-valued parameter \"{name}\" is READONLY and cannot be modified."
                    );
                    return Err(Cause::Other { number: 10_700, text }.at(target.span));
                }
                let found = self.surroundings.table_variable(&name.text);
                found.ok_or_else(|| {
                    let name = name.text.to_string();
                    Cause::UnknownTableVariable { name }.at(target.span)
                })
            }
            TargetKind::Rowset(_) => {
                not_supported("OPENQUERY and OPENROWSET as a target", target.span)
            }
        }
    }

    fn target_object(&mut self, name: &ObjectName, span: Span) -> Result<StoredTable> {
        match self.surroundings.object(name, None)? {
            Some(Object::Table(table)) => Ok(table),
            Some(Object::View(view)) => {
                not_supported(format!("changes of rows through view {}", view.name), span)
            }
            Some(Object::Rows(_)) => {
                let text = "Ad hoc updates to system catalogs are not allowed.".to_owned();
                Err(Cause::Other { number: 259, text }.at(span))
            }
            None => Err(Cause::InvalidObject { name: shown(name) }.at(span)),
        }
    }

    /// The rows of UPDATE and DELETE: those of FROM, the target among them.
    pub(crate) fn target_rows(
        &mut self,
        target: &Target,
        from: &[TableSource],
    ) -> Result<TargetRows> {
        if from.is_empty() {
            return self.lone_target(target);
        }
        let (mut relation, sources) = self.from(from)?;
        let Some(own) = self.source_of(target, &sources)? else {
            let lone = self.lone_target(target)?;
            let mut all = sources;
            all.extend(lone.sources);
            let relation = Relation::Join {
                kind: crate::logical::JoinKind::Inner,
                left: Box::new(relation),
                right: Box::new(lone.relation),
                conditions: Vec::new(),
            };
            return Ok(TargetRows { relation, sources: all, ..lone });
        };
        let locator = self.new_id();
        let columns = sources.get(own).map(|source| source.columns.as_slice()).unwrap_or_default();
        let mut ids = columns.iter().map(|it| it.column.id);
        let found = ids.find(|id| table_of(&mut relation, *id).is_some());
        let Some(table) = found.and_then(|id| table_of(&mut relation, id)) else {
            return not_supported("changes of rows of what is no table", target.span);
        };
        table.locator = Some(locator);
        lock_for_update(table);
        let names = sources.get(own).map(|source| TargetNames::of(source, table));
        let stored = StoredTable {
            database: table.database.clone(),
            table: table.table.clone(),
            object: table.object.clone(),
            accesses: table.accesses.clone(),
        };
        let names = names.unwrap_or_default();
        Ok(TargetRows { stored, relation, sources, locator, names, check: None })
    }

    fn lone_target(&mut self, target: &Target) -> Result<TargetRows> {
        if let Some(rows) = self.query_target(target)? {
            return Ok(rows);
        }
        let stored = self.target(target)?;
        let hints = self.hints(&target.hints)?;
        let name = match &target.kind {
            TargetKind::Object(name) => name.name.text.to_string(),
            TargetKind::Variable(name) => name.text.to_string(),
            TargetKind::Rowset(_) => String::new(),
        };
        let (mut relation, mut source): (Relation, Source) = self.stored(&stored, hints, &name);
        source.schema = Some(stored.table.schema().to_owned());
        source.database = Some(stored.database.name().to_owned());
        let locator = self.new_id();
        if let Relation::Table(table) = &mut relation {
            table.locator = Some(locator);
            lock_for_update(table);
        }
        let sources = vec![source];
        Ok(TargetRows {
            stored,
            relation,
            sources,
            locator,
            names: TargetNames::default(),
            check: None,
        })
    }

    /// The source that the target names: by its alias, or as the one source of its table.
    fn source_of(&mut self, target: &Target, sources: &[Source]) -> Result<Option<usize>> {
        let name = match &target.kind {
            TargetKind::Object(name) => name,
            TargetKind::Variable(name) => {
                return Ok(sources.iter().position(|it| self.is_same(&it.name, &name.text)));
            }
            TargetKind::Rowset(_) => return Ok(None),
        };
        let exposed = sources.iter().position(|source| self.exposes(source, name));
        if exposed.is_some() {
            return Ok(exposed);
        }
        // A table that is there under an alias only.
        let Ok(stored) = self.target(target) else { return Ok(None) };
        let is_it = |source: &&Source| {
            source.table.is_some_and(|id| id == stored.table.id())
                && source.in_database.as_deref() == Some(stored.database.name())
        };
        match sources.iter().filter(is_it).count() {
            0 => Ok(None),
            1 => Ok(sources.iter().position(|source| is_it(&source))),
            _ => {
                let name = shown(name);
                Err(Cause::AmbiguousTable { name }.at(target.span))
            }
        }
    }

    /// The values of the columns of a table as new values of a plan: `inserted`, `deleted`.
    pub(crate) fn row_columns(&mut self, stored: &StoredTable) -> Vec<(String, Column)> {
        let columns = stored.table.columns();
        columns
            .into_iter()
            .map(|(name, ty)| {
                let is_nullable = model_column(stored, &name).is_none_or(|own| own.nullable);
                let column = self.new_column(ty, is_nullable);
                (name, column)
            })
            .collect()
    }

    /// The number of a column in the rows of a table.
    pub(crate) fn ordinal(&self, stored: &StoredTable, name: &str, span: Span) -> Result<usize> {
        let columns = stored.table.columns();
        let found = columns.iter().position(|(own, _)| self.is_same(own, name));
        found.ok_or_else(|| Cause::InvalidColumn { name: name.to_owned() }.at(span))
    }

    /// The value of a column's default; NULL without one, `None` where it cannot be bound.
    pub(crate) fn default_of(
        &mut self,
        stored: &StoredTable,
        ordinal: usize,
        stage: &mut Stage,
    ) -> Option<Scalar> {
        let (name, ty) = stored.table.columns().into_iter().nth(ordinal)?;
        let column = model_column(stored, &name)?;
        let ObjectBody::Table(model) = &stored.object.body else { return None };
        let Some(default) = model.default_of(column) else {
            return Some(Scalar::null(arriving(ty)));
        };
        let text = default.definition.as_deref()?;
        let expr = parse_expression(text, Options::default()).ok()?;
        let scopes = std::mem::take(&mut self.scopes);
        let place = Place { clause: Clause::Other, stage, grouping: None };
        let value = self.value(&expr, place);
        self.scopes = scopes;
        self.arriving(&value.ok()?, ty, Span::default()).ok()
    }
}

/// What the catalog says of a column of a table.
pub(crate) fn model_column<'s>(stored: &'s StoredTable, name: &str) -> Option<&'s ModelColumn> {
    let ObjectBody::Table(model) = &stored.object.body else { return None };
    model.columns.iter().find(|column| column.name == name)
}

/// The table that gives a value.
fn table_of(relation: &mut Relation, column: ValueId) -> Option<&mut BoundTable> {
    match relation {
        Relation::Table(table) => {
            table.columns.iter().any(|it| it.column.id == column).then_some(&mut **table)
        }
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. } => table_of(input, column),
        Relation::Join { left, right, .. } => match table_of(left, column) {
            Some(table) => Some(table),
            None => table_of(right, column),
        },
        _ => None,
    }
}

pub(super) fn lock_for_update(table: &mut BoundTable) {
    if table.hints.row_lock == RowLock::ByIsolation {
        table.hints.row_lock = RowLock::Update;
        if table.hints.versions == UseVersions::ByIsolation {
            table.hints.versions = UseVersions::BeforeChange;
        }
        // Rows that are changed are locked, whatever is read without locks.
        if table.hints.isolation == Some(extentdb_engine::Isolation::ReadUncommitted) {
            table.hints.isolation = None;
        }
    }
}
