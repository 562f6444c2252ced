//! Table variables keep their rows when a transaction is rolled back.
//!
//! They are temporary tables, whose changes a rollback undoes: their rows are read before it, and
//! are the rows of the table again after it.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_engine::{Address, Error, Table};
use extentdb_types::Datum;

use super::DEFAULT_SCHEMA;
use crate::connection::Connection;

/// The rows of a table variable.
pub(crate) struct KeptRows {
    table: Arc<Table>,
    rows: Vec<Vec<Datum<'static>>>,
}

impl Connection {
    /// The rows of all table variables.
    ///
    /// # Errors
    /// A row cannot be read.
    pub(crate) fn table_variable_rows(&mut self) -> Result<Vec<KeptRows>, Error> {
        let names: Vec<String> = self.temporary.table_variables().map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(tempdb) = self.tempdb() else { return Ok(Vec::new()) };
        let mut kept = Vec::new();
        for name in names {
            let name = format!("{DEFAULT_SCHEMA}.{name}");
            let Ok(table) = self.session.table_in(&tempdb, &name) else { continue };
            let mut rows = Vec::new();
            self.in_database(&tempdb, |connection| {
                connection.session.scan(&table, &mut |_, row| {
                    rows.push(row);
                    ControlFlow::Continue(())
                })
            })?;
            kept.push(KeptRows { table, rows });
        }
        Ok(kept)
    }

    /// Gives table variables the rows that they had.
    ///
    /// # Errors
    /// A row cannot be written.
    pub(crate) fn restore_table_variables(&mut self, kept: Vec<KeptRows>) -> Result<(), Error> {
        if kept.is_empty() {
            return Ok(());
        }
        let Ok(tempdb) = self.tempdb() else { return Ok(()) };
        self.in_database(&tempdb, |connection| {
            for KeptRows { table, rows } in kept {
                let session = &mut connection.session;
                let mut now: Vec<Address> = Vec::new();
                session.scan(&table, &mut |at, _| {
                    now.push(at);
                    ControlFlow::Continue(())
                })?;
                for at in &now {
                    session.delete(&table, at)?;
                }
                for row in &rows {
                    session.insert(&table, row)?;
                }
            }
            Ok(())
        })
    }
}
