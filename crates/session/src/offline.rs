//! Queries over files that are only read: data files, backups, chains of backups.
//!
//! ```text
//! text ─ tsql ▶ query ─ bind ▶ relation ─ plan ▶ operators ─ exec ▶ rows
//!                   ▲                                 ▲
//!           surroundings: catalog of the reader     scan: rows of a table, from a thread
//! ```
//!
//! No engine is needed: tables are providers of rows, all of whose rows are read; there are no
//! indexes, locks or transactions.
//!
//! Invariants
//! - Nothing is written but work files, where the caller says. Memory does not grow with a table;
//!   what sorts, groups and joins keep is within the limit that the caller gives.
//! - A row that cannot be read is left out, and counted ([`Database::losses`]).

mod error;
mod files;
mod mount;
mod query;
mod scan;
mod surroundings;

use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{QueryBody, SelectStatement, StatementKind};
use extentdb_tsql::{Options, parse};

use extentdb_connection::cause::Cause;

pub use error::Error;
pub use extentdb_exec::{Memory, MemoryPool, WorkArea};
pub use files::{LostPart, TableLosses};
pub use query::{Query, Stop};

use files::Files;

/// A database of files that are only read.
pub struct Database {
    files: Arc<Files>,
}

impl Database {
    /// A database that the reader has opened.
    pub fn new(database: extentdb_reader::Database) -> Database {
        Database { files: Arc::new(Files::new(database)) }
    }

    /// The files.
    pub fn reader(&self) -> &extentdb_reader::Database {
        &self.files.database
    }

    /// What the queries that have run could not read, by table.
    pub fn losses(&self) -> Vec<TableLosses> {
        self.files.losses()
    }

    /// Prepares a query: the text is one SELECT. `now`, since 1970, is the time that functions
    /// give.
    ///
    /// # Errors
    /// The message that SQL Server would give, or what is not supported.
    pub fn query(&self, text: &str, now: Duration) -> Result<Query, Error> {
        let script = parse(text, Options { quoted_identifier: true })
            .map_err(|error| Error::new(Cause::Syntax(error.cause), error.span))?;
        let mut statements = script.statements.into_iter();
        let Some(statement) = statements.next() else {
            return Err(Error::plain(Cause::not_supported("a text without a query")));
        };
        if let Some(second) = statements.next() {
            return Err(Error::new(Cause::not_supported("more than one statement"), second.span));
        }
        let StatementKind::Select(select) = statement.kind else {
            let what = "a statement other than SELECT: the files are only read";
            return Err(Error::new(Cause::not_supported(what), statement.span));
        };
        verify(&select).map_err(|cause| Error::new(cause, statement.span))?;
        Query::prepare(&self.files, &select, now)
    }
}

/// Refuses what a query over files cannot do.
fn verify(select: &SelectStatement) -> Result<(), Cause> {
    if select.query.for_clause.is_some() {
        return Err(Cause::not_supported("FOR BROWSE, FOR XML and FOR JSON"));
    }
    if has_into(&select.query.body) {
        return Err(Cause::not_supported("SELECT INTO: the files are only read"));
    }
    Ok(())
}

fn has_into(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => select.into.is_some(),
        QueryBody::Parenthesised(query) => has_into(&query.body),
        QueryBody::Set { first, rest } => {
            has_into(first) || rest.iter().any(|term| has_into(&term.body))
        }
    }
}

#[cfg(test)]
mod tests;
