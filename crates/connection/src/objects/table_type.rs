//! Table types: variables and parameters of them are tables in tempdb, as table variables are.
//!
//! A parameter is READONLY. One that is given a table variable is the same table under another
//! name: nothing is copied, and nothing dropped with it.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, Column};
use extentdb_engine::{StatementEnd, Table};
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::SqlType;

use super::temporary::stored_name;
use super::{DEFAULT_SCHEMA, table_variable_name};
use crate::cause::Cause;
use crate::connection::Connection;
use crate::temporary_table::{HandedTable, TemporaryTable};

/// A table type of a database.
pub struct TableType {
    /// Its name, without schema.
    pub name: String,
    /// The table behind it.
    pub table: ObjectId,
    model: Arc<CatalogModel>,
}

/// A column of a table type.
pub struct TypeColumn {
    /// Its name.
    pub name: String,
    /// It has a value that is not given: it is computed or a rowversion.
    pub is_made: bool,
}

impl TableType {
    /// Its columns, in their order.
    pub fn columns(&self) -> Vec<TypeColumn> {
        let table = self.model.object_by_id(self.table).and_then(|object| object.table());
        let columns = table.map(|table| &*table.columns).unwrap_or_default();
        let column = |own: &Column| TypeColumn {
            name: own.name.clone(),
            is_made: own.computed.is_some() || own.ty == Some(SqlType::RowVersion),
        };
        columns.iter().map(column).collect()
    }
}

impl Connection {
    /// The table type of a name in the current database; `None` when there is none.
    pub fn table_type(&self, name: &ObjectName) -> Option<TableType> {
        if name.database().is_some() || name.server().is_some() {
            return None;
        }
        let model = self.session.database().model().ok()?;
        let schema = name.schema().map_or(DEFAULT_SCHEMA, |schema| &schema.text);
        let schema = model.schema(schema)?.id;
        let ty = model.scalar_type_named(schema, &name.name.text)?;
        let (name, table) = (ty.name.clone(), ty.table?);
        Some(TableType { name, table, model })
    }

    /// Makes a table variable of a type in the batch or procedure at hand.
    ///
    /// # Errors
    /// The type was dropped; tempdb has no room.
    pub fn make_table_variable(&mut self, variable: &str, ty: &TableType) -> Result<(), Cause> {
        let name = table_variable_name(variable);
        let stored = stored_name(&name, self.server.next_temporary_table());
        let tempdb = self.tempdb()?;
        let made = self.in_database(&tempdb, |connection| {
            let session = &mut connection.session;
            let scope = session.begin_scope()?;
            let made = session.create_table_of_type(&ty.model, ty.table, &stored);
            let end = if made.is_ok() { StatementEnd::Done } else { StatementEnd::Failed };
            session.end_scope(scope, end)?;
            made
        });
        let made = made.map_err(|error| self.engine_cause(&error))?;
        self.add_table_of_type(&name, &made, ty.table);
        Ok(())
    }

    fn add_table_of_type(&mut self, name: &str, table: &Table, ty: ObjectId) {
        let nesting = self.nesting;
        self.temporary.tables.push(TemporaryTable {
            of_type: Some(ty),
            ..TemporaryTable::new(name, table, nesting)
        });
    }

    /// What a table variable of the batch or procedure at hand is called here, to be handed to the
    /// next one: see [`Connection::take_table`].
    pub fn hand_table(&self, variable: &str) -> Option<HandedTable> {
        let found = self.temporary.at(&table_variable_name(variable), self.nesting)?;
        Some(HandedTable(TemporaryTable { is_borrowed: true, ..found.clone() }))
    }

    /// Makes a table of a caller known under another name.
    pub fn take_table(&mut self, variable: &str, handed: HandedTable) {
        let nesting = self.nesting;
        let name = table_variable_name(variable);
        self.temporary.tables.push(TemporaryTable { name, nesting, ..handed.0 });
    }

    /// Nobody changes the rows of a table variable from here on: it is a parameter.
    pub fn make_read_only(&mut self, variable: &str) {
        let name = table_variable_name(variable);
        let nesting = self.nesting;
        if let Some(table) = self.temporary.at_mut(&name, nesting) {
            table.is_read_only = true;
        }
    }

    /// Is a table variable a parameter?
    pub fn is_read_only(&self, variable: &str) -> bool {
        let found = self.temporary.at(&table_variable_name(variable), self.nesting);
        found.is_some_and(|table| table.is_read_only)
    }
}
