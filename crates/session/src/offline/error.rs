//! Why a query over files fails.

use std::fmt;

use extentdb_tsql::Span;

use extentdb_connection::cause::Cause;

/// Why a query fails, with the number and text of SQL Server's message.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Which message.
    pub cause: Box<Cause>,
    /// Line of the text, from 1; 0 where it is about none.
    pub line: u32,
}

impl Error {
    pub(super) fn new(cause: Cause, span: Span) -> Error {
        Error { cause: Box::new(cause), line: span.line }
    }

    pub(super) fn plain(cause: Cause) -> Error {
        Error { cause: Box::new(cause), line: 0 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(*self.cause, Cause::NotSupported { .. }) {
            return write!(f, "{}", self.cause.to_string().trim_end_matches('.'));
        }
        write!(f, "Msg {}, Level {}", self.cause.number(), self.cause.severity())?;
        if self.line > 0 {
            write!(f, ", Line {}", self.line)?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for Error {}
