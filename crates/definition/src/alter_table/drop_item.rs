//! ALTER TABLE … DROP of columns and constraints.

use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectModel};
use extentdb_engine::{Error, Unsupported};
use extentdb_tsql::syntax::{Clause, Name, TableDrop};

use super::super::Ddl;
use super::super::constraint::Target;
use super::super::options::verify_drop_options;
use super::super::problem::{Defined, Problem};
use super::dependents::{self, Change};
use extentdb_connection::cause::{Cause, DefinitionCause};

/// Codes of constraints in `sys.objects.type`.
const CONSTRAINTS: [&str; 5] = ["PK", "UQ", "C", "D", "F"];

impl Ddl<'_, '_> {
    pub(super) fn drop_item(&mut self, target: &Target, item: &TableDrop) -> Defined {
        match item {
            TableDrop::Column { if_exists, name } => self.drop_column(target, name, *if_exists),
            TableDrop::Constraint { if_exists, name, options } => {
                self.drop_constraint(target, name, options, *if_exists)
            }
            TableDrop::Period => Err(Cause::not_supported("PERIOD FOR SYSTEM_TIME").into()),
            TableDrop::Index { .. } => {
                Err(Cause::not_supported("indexes of memory-optimised tables").into())
            }
        }
    }

    fn drop_column(&mut self, target: &Target, name: &Name, if_exists: bool) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let Some(column) = own.column(&name.text, model.collation()) else {
            if if_exists {
                return Ok(());
            }
            return Err(DefinitionCause::NoColumnToAlter {
                statement: "ALTER TABLE DROP COLUMN",
                column: name.text.to_string(),
                table: target.shown.clone(),
            }
            .into());
        };
        let dropped = self.session().drop_column(&target.table, &column.name);
        dropped.map_err(|error| match error {
            Error::Dependent { object, .. } => {
                let found = dependents::problem(target, &model, column, Change::Dropped, &object);
                found.unwrap_or_else(|| Cause::not_supported("the column is used").into())
            }
            Error::NotSupported(Unsupported::LastColumn { column, .. }) => {
                let table = target.shown.clone();
                DefinitionCause::OnlyColumn { column, table }.into()
            }
            error => error.into(),
        })
    }

    fn drop_constraint(
        &mut self,
        target: &Target,
        name: &Name,
        options: &[Clause],
        if_exists: bool,
    ) -> Defined {
        verify_drop_options(options)?;
        let model = self.model(&target.database)?;
        let found = model.object(&target.schema, &name.text).map(|object| &**object);
        let found = found.filter(|object| CONSTRAINTS.contains(&object.object.kind.code()));
        let name = name.text.to_string();
        let Some(found) = found else {
            if if_exists {
                return Ok(());
            }
            let cause = DefinitionCause::NotAConstraint { name };
            return Err(Problem::from(cause).then(DefinitionCause::ConstraintNotDropped));
        };
        if found.object.parent != target.table.id() {
            let cause = DefinitionCause::ForeignConstraint { name, table: target.shown.clone() };
            return Err(Problem::from(cause).then(DefinitionCause::ConstraintNotDropped));
        }
        let dropped = self.session().drop_constraint(&target.table, &found.object.name);
        dropped.map_err(|error| match error {
            Error::NotSupported(Unsupported::ReferencedIndex { key, .. }) => {
                let table = child_of(&model, &target.schema, &key);
                let cause = DefinitionCause::ReferencedConstraint { name, table, key };
                Problem::from(cause).then(DefinitionCause::ConstraintNotDropped)
            }
            error => error.into(),
        })
    }
}

/// The table of a foreign key.
fn child_of(model: &CatalogModel, schema: &str, key: &str) -> String {
    let is_key =
        |object: &&Arc<ObjectModel>| object.object.kind.code() == "F" && object.object.name == key;
    let object = model.object(schema, key).or_else(|| model.objects().find(is_key));
    let table = object.and_then(|object| model.object_by_id(object.object.parent));
    table.map(|table| table.object.name.clone()).unwrap_or_default()
}
