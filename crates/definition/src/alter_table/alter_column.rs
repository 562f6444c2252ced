//! ALTER TABLE … ALTER COLUMN.

use extentdb_engine::model::Column;
use extentdb_engine::{ColumnType, Error, Nullability, Unsupported};
use extentdb_tsql::syntax::{AlterColumn, ColumnChange, ColumnProperty};
use extentdb_types::SqlType;

use super::super::Ddl;
use super::super::column::{Columns, Standing};
use super::super::constraint::Target;
use super::super::options::verify_alter_column_options;
use super::super::problem::{Defined, Problem};
use super::dependents::{self, Change};
use extentdb_connection::cause::{Cause, DefinitionCause, type_name};

const STATEMENT: &str = "ALTER TABLE ALTER COLUMN";

impl Ddl<'_, '_> {
    pub(super) fn alter_column(&mut self, target: &Target, alter: &AlterColumn) -> Defined {
        verify_alter_column_options(&alter.options)?;
        let definition = match &alter.change {
            ColumnChange::Type(definition) => definition,
            ColumnChange::Add(ColumnProperty::RowGuid) => {
                return self.switch_row_guid(target, &alter.name.text, true);
            }
            ColumnChange::Drop(ColumnProperty::RowGuid) => {
                return self.switch_row_guid(target, &alter.name.text, false);
            }
            ColumnChange::Add(property) | ColumnChange::Drop(property) => {
                return Err(refused_property(property).into());
            }
        };
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let Some(column) = own.column(&alter.name.text, model.collation()) else {
            return Err(DefinitionCause::NoColumnToAlter {
                statement: STATEMENT,
                column: alter.name.text.to_string(),
                table: target.shown.clone(),
            }
            .into());
        };
        let is_special = match (&column.computed, column.ty) {
            (Some(_), _) => Some("COMPUTED"),
            (None, Some(SqlType::RowVersion)) => Some("timestamp"),
            _ => None,
        };
        if let Some(what) = is_special {
            let column = column.name.clone();
            return Err(DefinitionCause::CannotAlter { column, what }.into());
        }
        let columns = Columns {
            model: &model,
            options: &self.connection().options.clone(),
            table: &target.shown,
        };
        let at = Standing { position: 1, is_in_primary_key: false };
        let spec = columns.altered(definition, at)?;
        let new = ColumnType { ty: spec.ty, user_type: spec.user_type };
        let altered =
            self.session().alter_column_as(&target.table, &column.name, new, spec.nullability());
        altered.map_err(|error| match error {
            Error::Dependent { object, .. } => {
                let found = dependents::problem(target, &model, column, Change::Altered, &object);
                found.unwrap_or_else(|| Cause::not_supported("the column is used").into())
            }
            error => of_error(target, spec.ty, spec.nullability(), error),
        })
    }
}

impl Ddl<'_, '_> {
    /// `{ ADD | DROP } ROWGUIDCOL`
    fn switch_row_guid(&mut self, target: &Target, name: &str, is_row_guid: bool) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let Some(column) = own.column(name, model.collation()) else {
            return Err(DefinitionCause::NoColumnToAlter {
                statement: STATEMENT,
                column: name.to_owned(),
                table: target.shown.clone(),
            }
            .into());
        };
        if is_row_guid && column.ty != Some(SqlType::UniqueIdentifier) {
            return Err(DefinitionCause::RowGuidType.into());
        }
        let is_other = |other: &Column| other.row_guid && other.id != column.id;
        if is_row_guid && own.columns.iter().any(is_other) {
            return Err(DefinitionCause::RowGuidExists { table: target.shown.clone() }.into());
        }
        Ok(self.session().set_row_guid(&target.table, &column.name, is_row_guid)?)
    }
}

fn of_error(target: &Target, ty: SqlType, nullability: Nullability, error: Error) -> Problem {
    match error {
        Error::Value { column, what } if nullability == Nullability::NotNull && is_null(&what) => {
            let table = format!("{}.{}", target.database.name(), target.qualified());
            DefinitionCause::NullInRows { column, table }.into()
        }
        Error::Value { what, .. } if is_truncated(&what) => DefinitionCause::Truncated.into(),
        Error::Value { what, .. } if is_overflow(&what) => {
            let ty = type_name(&ty);
            let text =
                format!("Arithmetic overflow error converting expression to data type {ty}.");
            Cause::Failed { number: 8115, severity: 16, text }.into()
        }
        Error::NotSupported(Unsupported::AlterColumn { column, .. }) => {
            DefinitionCause::CannotAlterToType { column, ty: type_name(&ty).to_owned() }.into()
        }
        error => error.into(),
    }
}

/// The engine tells of values in words: one of them is NULL.
fn is_null(what: &str) -> bool {
    what == "it takes no NULL"
}

/// The same: one does not fit the new type.
fn is_overflow(what: &str) -> bool {
    what == extentdb_expr::EvalError::Overflow.to_string()
}

/// The same: one is too long.
fn is_truncated(what: &str) -> bool {
    what.ends_with("would be truncated")
}

fn refused_property(property: &ColumnProperty) -> Cause {
    Cause::not_supported(match property {
        ColumnProperty::RowGuid => "ROWGUIDCOL",
        ColumnProperty::Persisted => "ALTER COLUMN … PERSISTED",
        ColumnProperty::NotForReplication => "ALTER COLUMN … NOT FOR REPLICATION",
        ColumnProperty::Sparse => "sparse columns",
        ColumnProperty::Hidden => "hidden columns",
        ColumnProperty::Masked(_) => "masked columns",
    })
}
