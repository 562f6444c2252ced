//! What running a request gives, as it is given: the edge makes tokens of it.
//!
//! ```text
//! batch        (columns row* done | message | environment)*
//! procedure    (columns row* done | message | environment)*  return_status  output_value*  done
//! ```
//!
//! Invariants
//! - Rows follow their columns; a result ends with a `done`, also after an error.
//! - The edge may slow the caller down; when the client is gone it answers [`Gone`], and the
//!   request ends.

use extentdb_types::{Datum, SqlType};

use crate::message::Message;

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Empty for an expression without alias.
    pub name: String,
    /// Type of its values, with the collation of texts.
    pub ty: SqlType,
    /// Can a value be NULL?
    pub is_nullable: bool,
    /// An expression, not a column of a table.
    pub is_computed: bool,
    /// The identity column of a table.
    pub is_identity: bool,
}

/// Where a column of a cursor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// A column of the cursor's table.
    Column {
        /// Its name there.
        name: String,
        /// Is it part of the key that rows are found by?
        is_key: bool,
    },
    /// An expression, or a column of a cursor that nothing is changed through.
    Expression,
    /// Whether the row was there: added by the server.
    RowStatus,
}

/// Where the columns of a cursor come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// Database, schema and name of the cursor's table; empty for a cursor that nothing is changed
    /// through.
    pub table: Vec<String>,
    /// In the order of the columns.
    pub columns: Vec<ColumnOrigin>,
}

/// What ended with a [`Done`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A statement of the client's batch.
    Batch,
    /// A statement of dynamic text or of a procedure.
    Procedure,
    /// The procedure or dynamic text itself.
    ProcedureEnd,
}

/// Which statement ended, as far as clients look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are statements")]
pub enum StatementCode {
    Other,
    Select,
    SelectInto,
    Insert,
    Update,
    Delete,
    Merge,
    BulkInsert,
    Execute,
    Begin,
    Commit,
    Rollback,
    Save,
    CreateDatabase,
    DropDatabase,
    CreateTable,
    AlterTable,
    DropTable,
    CreateIndex,
    DropIndex,
    CreateView,
    CreateProcedure,
    DropProcedure,
    CreateTrigger,
}

/// The end of a statement or procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// What ended.
    pub scope: Scope,
    /// Which statement.
    pub code: StatementCode,
    /// Rows, where the client is to know.
    pub count: Option<u64>,
    /// It failed.
    pub is_error: bool,
    /// A transaction is open.
    pub in_transaction: bool,
}

/// A change of what the client keeps of the session. Descriptors are those that requests name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Environment {
    /// Another current database.
    Database {
        /// Its name.
        new: String,
        /// The one before.
        old: String,
    },
    /// Another language.
    Language {
        /// Its name.
        new: String,
        /// The one before.
        old: String,
    },
    /// A transaction began.
    Begin {
        /// Its descriptor.
        descriptor: u64,
    },
    /// The transaction was committed.
    Commit {
        /// Its descriptor.
        descriptor: u64,
    },
    /// The transaction was rolled back.
    Rollback {
        /// Its descriptor.
        descriptor: u64,
    },
    /// The session was reset.
    Reset,
}

/// An output parameter of a procedure that the client called, or the value of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputValue {
    /// The value of a function.
    pub is_function: bool,
    /// Position among the parameters, from 0.
    pub ordinal: u16,
    /// Name as the client sent it; may be empty.
    pub name: String,
    /// Type of the parameter.
    pub ty: SqlType,
    /// Its value.
    pub value: Datum<'static>,
}

/// Takes what a request gives; what an implementation does not name is taken and not kept.
#[allow(clippy::missing_errors_doc, reason = "the one error is that nobody reads any more")]
pub trait Output {
    /// A result begins.
    fn columns(&mut self, _columns: &[ColumnInfo]) -> Result<(), Gone> {
        Ok(())
    }

    /// Where its columns come from: of cursors, after their columns.
    fn origins(&mut self, _origins: &Origins) -> Result<(), Gone> {
        Ok(())
    }

    /// A row of it.
    fn row(&mut self, _values: &[Datum<'_>]) -> Result<(), Gone> {
        Ok(())
    }

    /// A statement or procedure ended.
    fn done(&mut self, _done: Done) -> Result<(), Gone> {
        Ok(())
    }

    /// A message, sent at once when it `is_urgent`.
    fn message(&mut self, _message: &Message, _is_urgent: bool) -> Result<(), Gone> {
        Ok(())
    }

    /// The session changed.
    fn environment(&mut self, _change: &Environment) -> Result<(), Gone> {
        Ok(())
    }

    /// What a procedure returns.
    fn return_status(&mut self, _status: i32) -> Result<(), Gone> {
        Ok(())
    }

    /// An output parameter.
    fn output_value(&mut self, _value: &OutputValue) -> Result<(), Gone> {
        Ok(())
    }
}

/// Takes everything and keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discard;

impl Output for Discard {}
