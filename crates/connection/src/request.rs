//! What a client asks for.

use extentdb_base::sync::Arc;
use extentdb_types::{Datum, SqlType};

use crate::temporary_table::HandedTable;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A batch of statements.
    Batch(String),
    /// Calls of procedures, one after the other.
    Procedure(ProcedureCall),
    /// The rows of a bulk load, after INSERT BULK.
    BulkLoad(crate::pending_load::BulkRows),
    /// A transaction begins or ends by a request of its own.
    Transaction(TransactionRequest),
}

/// A call of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureCall {
    /// Its name as the client wrote it, with schema and brackets if it did.
    pub name: ProcedureName,
    /// In the order of the request.
    pub arguments: Vec<Argument>,
    /// The client wants rows without their columns.
    pub has_no_metadata: bool,
}

/// Name of a procedure.
pub type ProcedureName = String;

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// With its `@`; empty when it is given by position.
    pub name: String,
    /// Type that the client declares; `None` for NULL without a type.
    pub ty: Option<SqlType>,
    /// The value.
    pub value: Datum<'static>,
    /// Its value is to be returned.
    pub is_output: bool,
    /// The parameter's default is meant.
    pub is_default: bool,
    /// It is a table, and has no type and value.
    pub table: Option<TableArgument>,
}

/// A table as an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum TableArgument {
    /// Rows that the client sends.
    Rows(TableRows),
    /// A table variable of the caller.
    Variable(HandedTable),
}

/// The rows of a table-valued parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRows {
    /// Types of its columns, in the order of those of the table type; `None` where the rows have no
    /// values, and the defaults are meant.
    pub columns: Vec<Option<SqlType>>,
    /// The rows: values of the columns that have some.
    pub rows: Arc<[Vec<Datum<'static>>]>,
}

/// Isolation level of a transaction that a request begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are isolation levels")]
pub enum Isolation {
    Unchanged,
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
    Snapshot,
}

/// A request about the transaction. Names may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    /// Begin one.
    Begin {
        /// Its isolation level.
        isolation: Isolation,
        /// Its name.
        name: String,
    },
    /// Commit it.
    Commit {
        /// Begin the next one at once, with this isolation level and name.
        next: Option<(Isolation, String)>,
    },
    /// Roll it back, or to a savepoint.
    Rollback {
        /// Name of the transaction or savepoint.
        name: String,
        /// As for a commit.
        next: Option<(Isolation, String)>,
    },
    /// Set a savepoint.
    Save {
        /// Its name.
        name: String,
    },
    /// Something about distributed transactions, by its name.
    Distributed(&'static str),
}
