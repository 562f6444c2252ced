//! What ends an execution.

use extentdb_expr::Failure;

/// Why an execution ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine's: locks, pages, cancellation …
    #[error(transparent)]
    Engine(Box<extentdb_engine::Error>),
    /// The engine's, while rows of a table are changed.
    #[error("{error}")]
    Change {
        /// Why.
        error: Box<extentdb_engine::Error>,
        /// `database.schema.table`
        table: String,
    },
    /// A column takes no NULL (515).
    #[error("column {column} of {table} takes no NULL")]
    Null {
        /// `database.schema.table`
        table: String,
        /// The column.
        column: String,
    },
    /// A value is longer than its column (2628).
    #[error("column {column} of {table} takes no value so long")]
    Truncated {
        /// `database.schema.table`
        table: String,
        /// The column.
        column: String,
        /// The beginning of the value.
        value: String,
    },
    /// An expression has no value for a row.
    #[error("{0}")]
    Expression(Box<Failure>),
    /// A function of the session failed.
    #[error(transparent)]
    Function(Box<dyn std::error::Error + Send + Sync>),
    /// A subquery that stands for a value has a second row (512).
    #[error("a subquery returned more than 1 value")]
    SubqueryRows,
    /// A sum or count does not fit its type (8115).
    #[error("arithmetic overflow converting expression to data type {ty}")]
    Overflow {
        /// The type.
        ty: extentdb_types::SqlType,
    },
    /// TOP, OFFSET or FETCH of less than nothing, with its message number.
    #[error("a number of rows is not valid")]
    RowCount {
        /// Message number.
        number: i32,
    },
    /// An argument of a window function is out of its range, with its message number: that of
    /// NTILE, of LAG and LEAD, of percentiles.
    #[error("an argument of a window function is out of its range")]
    WindowArgument {
        /// Message number.
        number: i32,
    },
    /// OPENJSON: no JSON, no path, or a strict path that leads to nothing.
    #[error("OPENJSON fails by message {number}")]
    Json {
        /// 13607, 13608, 13609.
        number: i32,
    },
    /// Another message, with its number and text.
    #[error("{text}")]
    Message {
        /// Its number.
        number: i32,
        /// Its text.
        text: String,
    },
    /// A recursion does not end (530).
    #[error("the maximum recursion {most} has been exhausted")]
    Recursion {
        /// MAXRECURSION.
        most: u32,
    },
    /// The result of STRING_AGG is longer than its type (9829).
    #[error("STRING_AGG aggregation result exceeded the limit of 8000 bytes")]
    StringAggLength,
    /// A work file cannot be written or read: the disk is full, most likely (1105).
    #[error("a work file: {0}")]
    WorkFile(Box<extentdb_io::Error>),
    /// A work file does not have what was written to it.
    #[error("a work file was changed by somebody else")]
    WorkFileChanged,
    /// A plan asks for what is not executed here.
    #[error("not supported: {0}")]
    NotSupported(String),
}

impl Error {
    /// Has another row the key already?
    pub fn is_duplicate_key(&self) -> bool {
        use extentdb_engine::Error::DuplicateKey;
        match self {
            Error::Engine(error) | Error::Change { error, .. } => {
                matches!(**error, DuplicateKey { .. })
            }
            _ => false,
        }
    }
}

impl From<extentdb_engine::Error> for Error {
    fn from(error: extentdb_engine::Error) -> Error {
        Error::Engine(Box::new(error))
    }
}
