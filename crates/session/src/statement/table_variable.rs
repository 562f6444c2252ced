//! DECLARE @t TABLE ( … ): a temporary table that ends with its batch or procedure.
//!
//! Invariant: no rollback takes it away. Where a transaction is open, another session makes it.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{CreateTable, Name, ObjectName, TableElement, TableKind};

use extentdb_connection::cause::Cause;
use extentdb_connection::engine_session::EngineSession;
use extentdb_connection::frame::Frame;
use extentdb_connection::objects::table_variable_name;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// The declaration of a table variable.
pub(crate) struct DeclareTable {
    /// With its `@`.
    pub(crate) name: Box<str>,
    pub(crate) elements: Vec<TableElement>,
    pub(crate) span: Span,
}

impl Step for DeclareTable {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        // A declaration that is met again declares nothing.
        if run.connection.table_variable(&self.name)?.is_some() {
            return Ok(RowCount::Unchanged);
        }
        let name = Name {
            text: table_variable_name(&self.name).into(),
            span: self.span,
        };
        let create = CreateTable {
            name: ObjectName::simple(name),
            elements: self.elements.clone(),
            kind: TableKind::Plain,
            storage: None,
            text_storage: None,
            filestream_storage: None,
            options: Vec::new(),
        };
        if run.connection.is_in_transaction() {
            outside_transaction(run, |run| extentdb_definition::create_table(run, frame, &create))?;
        } else {
            extentdb_definition::create_table(run, frame, &create)?;
        }
        Ok(RowCount::Unchanged)
    }
}

/// Does something in a session of its own, whose changes no transaction of this one undoes.
fn outside_transaction(
    run: &mut Run<'_>,
    work: impl FnOnce(&mut Run<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let other = run.connection.server.instance.session(&run.connection.database);
    let other = other.map_err(|error| run.connection.engine_cause(&error))?;
    let own = std::mem::replace(&mut run.connection.session, EngineSession::new(other));
    let transaction = std::mem::take(&mut run.connection.transaction);
    let is_implicit = std::mem::take(&mut run.connection.options.implicit_transactions);
    let done = work(run);
    run.connection.options.implicit_transactions = is_implicit;
    run.connection.transaction = transaction;
    run.connection.session = own;
    done
}

/// The declaration of a variable of a table type.
pub(crate) struct DeclareOfType {
    /// With its `@`.
    pub(crate) name: Box<str>,
    pub(crate) ty: ObjectName,
    /// From 1, among the declarations of the batch.
    pub(crate) position: usize,
}

impl Step for DeclareOfType {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        if run.connection.table_variable(&self.name)?.is_some() {
            return Ok(RowCount::Unchanged);
        }
        // It was there when the text was compiled.
        let Some(ty) = run.connection.table_type(&self.ty) else {
            let name = self.ty.to_string().replace(['[', ']'], "");
            return Err(Cause::UnknownType { position: self.position, name }.into());
        };
        outside_transaction(run, |run| Ok(run.connection.make_table_variable(&self.name, &ty)?))?;
        Ok(RowCount::Unchanged)
    }
}
