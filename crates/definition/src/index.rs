//! CREATE INDEX, DROP INDEX, ALTER INDEX.
//!
//! DROP_EXISTING drops the index and makes the new one, in one statement. REORGANIZE rebuilds: the
//! rows are in as little space afterwards, and the table is locked meanwhile.

use extentdb_engine::model::{Index, TableModel};
use extentdb_engine::{Constraint, Error, IndexSpec, Unsupported};
use extentdb_tsql::syntax::{
    AlterIndex, AlterIndexAction, CreateIndex, DropIndex, DroppedIndex, ObjectName, PartitionNumber,
};

use super::constraint::Target;
use super::key;
use super::options::{IndexOptions, verify_drop_options, verify_reorganize_options};
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::output::StatementCode;

impl Define for CreateIndex {
    fn code(&self) -> StatementCode {
        StatementCode::CreateIndex
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let missing = |name| DefinitionCause::NoTableOfIndex { name };
        if let Some(refused) = refused_view(ddl, &self.table)? {
            return Err(refused.into());
        }
        let target = ddl.target(&self.table, missing)?;
        let spec = key::of_definition(&self.name, &self.definition)?;
        let options = IndexOptions::of(&self.definition.options)?;
        ddl.in_scope(&target.database.clone(), |ddl| {
            if options.drop_existing {
                return ddl.recreate_index(&target, &spec);
            }
            ddl.create_index(&target, &spec)
        })
    }
}

/// Why a view gets no index; `None` when it is no view.
fn refused_view(ddl: &mut Ddl<'_, '_>, name: &ObjectName) -> Defined<Option<Cause>> {
    let Some(found) = ddl.connection().object(name)? else { return Ok(None) };
    if found.kind().trim_end() != "V" {
        return Ok(None);
    }
    let text = found.object.module().and_then(|module| module.text.as_deref()).unwrap_or("");
    if text.to_ascii_lowercase().contains("schemabinding") {
        return Ok(Some(Cause::not_supported("indexes on views")));
    }
    let view = &name.name.text;
    let text =
        format!("Cannot create index on view '{view}' because the view is not schema bound.");
    Ok(Some(Cause::Query { number: 1939, severity: 16, text }))
}

impl Define for DropIndex {
    fn code(&self) -> StatementCode {
        StatementCode::DropIndex
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let mut problem: Option<Problem> = None;
        for item in &self.items {
            if let Err(next) = ddl.drop_index(item, self.if_exists) {
                problem = Some(match problem {
                    Some(before) => before.followed_by(next),
                    None => next,
                });
            }
        }
        problem.map_or(Ok(()), Err)
    }
}

impl Define for AlterIndex {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        verify_action(&self.action)?;
        let missing = |name| DefinitionCause::NoTableOfIndex { name };
        let target = ddl.target(&self.table, missing)?;
        ddl.in_scope(&target.database.clone(), |ddl| {
            let names = ddl.altered(self, &target)?;
            for name in names {
                match self.action {
                    AlterIndexAction::Disable => ddl.disable_index(&target, &name)?,
                    AlterIndexAction::Set(_) => {}
                    _ => ddl.session().rebuild_index(&target.table, &name)?,
                }
            }
            Ok(())
        })
    }
}

/// Refuses actions and options that are not done here.
fn verify_action(action: &AlterIndexAction) -> Result<(), Cause> {
    let verify_whole = |partition: &Option<PartitionNumber>| match partition {
        None | Some(PartitionNumber::All) => Ok(()),
        Some(PartitionNumber::Number(_)) => Err(Cause::not_supported("partitions")),
    };
    match action {
        AlterIndexAction::Rebuild { partition, options } => {
            verify_whole(partition)?;
            let options = IndexOptions::of(options)?;
            if options.fill_factor.is_some() || options.pad_index {
                return Err(Cause::not_supported("another FILLFACTOR in REBUILD"));
            }
            Ok(())
        }
        AlterIndexAction::Reorganize { partition, options } => {
            verify_whole(partition)?;
            verify_reorganize_options(options)
        }
        AlterIndexAction::Disable => Ok(()),
        AlterIndexAction::Set(options) => IndexOptions::of(options).map(drop),
        AlterIndexAction::Resume(_) | AlterIndexAction::Pause | AlterIndexAction::Abort => {
            Err(Cause::not_supported("resumable index operations"))
        }
        AlterIndexAction::Paths(_) => Err(Cause::not_supported("selective XML indexes")),
    }
}

impl Ddl<'_, '_> {
    /// Puts an index in the place of the one of its name.
    fn recreate_index(&mut self, target: &Target, spec: &IndexSpec) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let Some(old) = index_named(own, &spec.name) else {
            let index = spec.name.clone();
            let table = target.qualified();
            return Err(DefinitionCause::NoIndexToRecreate { index, table }.into());
        };
        if !old.primary_key && !old.unique_constraint {
            self.drop_one(target, old)?;
            return self.create_index(target, spec);
        }
        // The index of a constraint stays what it is; it is rebuilt.
        if !is_same(old, spec, own) {
            return Err(DefinitionCause::OtherThanConstraint { index: spec.name.clone() }.into());
        }
        Ok(self.session().rebuild_index(&target.table, &spec.name)?)
    }

    fn drop_index(&mut self, item: &DroppedIndex, if_exists: bool) -> Defined {
        verify_drop_options(&item.options)?;
        let shown = || format!("{}.{}", written(&item.table), item.name.text);
        let missing =
            || DefinitionCause::NoTableInDrop { action: "drop", kind: "index", name: shown() };
        let Some(target) = self.table_if_there(&item.table)? else {
            return if if_exists { Ok(()) } else { Err(missing().into()) };
        };
        self.in_scope(&target.database.clone(), |ddl| {
            let model = ddl.model(&target.database)?;
            match index_named(target.of(&model)?, &item.name.text) {
                Some(index) => ddl.drop_one(&target, index),
                None if if_exists => Ok(()),
                None => Err(missing().into()),
            }
        })
    }

    fn drop_one(&mut self, target: &Target, index: &Index) -> Defined {
        let name = index.name.clone().unwrap_or_default();
        let used = |kind| DefinitionCause::ConstraintIndex {
            name: format!("{}.{name}", target.shown),
            kind,
        };
        if index.primary_key || index.unique_constraint {
            let kind = if index.primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
            return Err(used(kind).into());
        }
        self.session().drop_index(&target.table, &name).map_err(|error| match error {
            Error::NotSupported(Unsupported::ReferencedIndex { .. }) => used("FOREIGN KEY").into(),
            error => error.into(),
        })
    }

    fn disable_index(&mut self, target: &Target, name: &str) -> Defined {
        Ok(self.session().disable_index(&target.table, name)?)
    }

    /// Names of the indexes that ALTER INDEX is about.
    fn altered(&mut self, alter: &AlterIndex, target: &Target) -> Defined<Vec<String>> {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let all = own.indexes.iter().filter_map(|index| Some((index, index.name.clone()?)));
        let Some(name) = &alter.name else {
            let is_disabling = matches!(alter.action, AlterIndexAction::Disable);
            let has_clustered = own.indexes.iter().any(|index| index.id.0 == 1);
            // The clustered one takes the others with it, but for those that are disabled.
            let is_done = |index: &Index| {
                !is_disabling && has_clustered && index.id.0 != 1 && !index.disabled
            };
            return Ok(all.filter(|(index, _)| !is_done(index)).map(|(_, name)| name).collect());
        };
        let found = index_named(own, &name.text).and_then(|index| index.name.clone());
        let missing = || DefinitionCause::NoIndexNamed { name: name.text.to_string() };
        Ok(vec![found.ok_or_else(missing)?])
    }

    /// The table of a name; `None` when there is none, or no table.
    pub(super) fn table_if_there(&mut self, name: &ObjectName) -> Defined<Option<Target>> {
        match self.connection().object(name)? {
            None => Ok(None),
            Some(found) => Ok(found.into_table()?.map(Target::from)),
        }
    }
}

fn index_named<'t>(table: &'t TableModel, name: &str) -> Option<&'t Index> {
    let has_name =
        |index: &&Index| index.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name));
    table.indexes.iter().find(has_name)
}

/// Has an index the key and the kind of another?
fn is_same(old: &Index, new: &IndexSpec, table: &TableModel) -> bool {
    let keys = old.columns.iter().filter(|column| column.key_ordinal > 0);
    let name = |id: i32| {
        let column = table.columns.iter().find(|column| column.id == id);
        column.map(|column| column.name.to_lowercase()).unwrap_or_default()
    };
    let of_old: Vec<(String, bool)> =
        keys.map(|own| (name(own.column_id), own.descending)).collect();
    let of_new: Vec<(String, bool)> =
        new.keys.iter().map(|(name, descending)| (name.to_lowercase(), *descending)).collect();
    of_old == of_new
        && new.unique
        && new.constraint == Constraint::None
        && new.clustered == (old.id.0 == 1)
}
