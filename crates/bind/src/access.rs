//! What a user may do with a table or view: found by the surroundings with the object, verified
//! where the statement does it.
//!
//! Invariants
//! - An object without an [`Access`] is one with which everything may be done.
//! - A column that may not be read is refused where its name is resolved, or `*` stands for it:
//!   what a statement does not read needs no permission.

use std::collections::BTreeSet;

use extentdb_base::sync::Arc;
use extentdb_tsql::Span;

use crate::error::{Cause, Result};
use crate::logical::Relation;
use crate::scope::NamedColumn;
use crate::surroundings::StoredTable;

/// To which columns a permission extends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// All of them.
    All,
    /// Those of these names.
    Columns(BTreeSet<String>),
    /// None.
    Nothing,
}

/// What a user may do with a table or view.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its name, and those of its schema and database, for messages.
    pub object: String,
    /// See [`Access::object`].
    pub schema: String,
    /// See [`Access::object`].
    pub database: String,
    /// SELECT.
    pub select: Allowed,
    /// INSERT.
    pub insert: Allowed,
    /// UPDATE.
    pub update: Allowed,
    /// DELETE.
    pub delete: Allowed,
}

/// What is checked for an object: nothing, or the access to it and to the views around it.
pub type Accesses = Vec<Arc<Access>>;

impl Allowed {
    fn has(&self, column: &str) -> bool {
        match self {
            Allowed::All => true,
            Allowed::Columns(names) => names.contains(column),
            Allowed::Nothing => false,
        }
    }
}

impl Access {
    /// The message of a permission that was denied: 229.
    #[must_use]
    pub fn denied(&self, permission: &str) -> Cause {
        let Access { object, schema, database, .. } = self;
        let text = format!(
            "The {permission} permission was denied on the object '{object}', database \
             '{database}', schema '{schema}'."
        );
        Cause::Other { number: 229, text }
    }

    /// The same of a column: 230.
    fn column_denied(&self, permission: &str, column: &str) -> Cause {
        let Access { object, schema, database, .. } = self;
        let text = format!(
            "The {permission} permission was denied on the column '{column}' of the object \
             '{object}', database '{database}', schema '{schema}'."
        );
        Cause::Other { number: 230, text }
    }

    /// Why a column may not be read or changed.
    fn verify_column(
        &self,
        allowed: &Allowed,
        permission: &str,
        column: &str,
        span: Span,
    ) -> Result<()> {
        match allowed {
            _ if allowed.has(column) => Ok(()),
            Allowed::Columns(_) => Err(self.column_denied(permission, column).at(span)),
            _ => Err(self.denied(permission).at(span)),
        }
    }

    /// Refuses a source of rows of which nothing may be read.
    pub(crate) fn verify_source(&self, span: Span) -> Result<()> {
        match self.select {
            Allowed::Nothing => Err(self.denied("SELECT").at(span)),
            _ => Ok(()),
        }
    }
}

/// Columns that may not be read say so when they are named.
pub(crate) fn restrict(columns: &mut [NamedColumn], access: Option<&Arc<Access>>) {
    let Some(access) = access else { return };
    for column in columns.iter_mut().filter(|column| !access.select.has(&column.name)) {
        column.denied = Some(access.clone());
    }
}

/// Refuses a column that may not be read.
pub(crate) fn verify_readable(column: &NamedColumn, span: Span) -> Result<()> {
    match &column.denied {
        Some(access) => access.verify_column(&access.select, "SELECT", &column.name, span),
        None => Ok(()),
    }
}

/// A statement inserts rows.
pub(crate) fn verify_insert(stored: &StoredTable, span: Span) -> Result<()> {
    let denied = stored.accesses.iter().find(|own| own.insert != Allowed::All);
    denied.map_or(Ok(()), |own| Err(own.denied("INSERT").at(span)))
}

/// A statement deletes rows.
pub(crate) fn verify_delete(stored: &StoredTable, span: Span) -> Result<()> {
    let denied = stored.accesses.iter().find(|own| own.delete != Allowed::All);
    denied.map_or(Ok(()), |own| Err(own.denied("DELETE").at(span)))
}

/// A statement changes a column.
pub(crate) fn verify_update(stored: &StoredTable, column: &str, span: Span) -> Result<()> {
    let verify = |own: &Arc<Access>| own.verify_column(&own.update, "UPDATE", column, span);
    stored.accesses.iter().try_for_each(verify)
}

/// OUTPUT reads the row before or after: all of its columns, as far as is known here.
pub(crate) fn verify_output(stored: &StoredTable, span: Span) -> Result<()> {
    let denied = stored.accesses.iter().find(|own| own.select != Allowed::All);
    denied.map_or(Ok(()), |own| Err(own.denied("SELECT").at(span)))
}

/// Changes of rows through a view are also changes of the view.
pub(crate) fn note_view(relation: &mut Relation, access: &Arc<Access>) {
    match relation {
        Relation::Table(table) => table.accesses.push(access.clone()),
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. } => note_view(input, access),
        Relation::Join { left, right, .. } => {
            note_view(left, access);
            note_view(right, access);
        }
        _ => {}
    }
}
