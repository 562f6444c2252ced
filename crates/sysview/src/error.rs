//! Why the rows of a view cannot be told.

/// Why the rows of a view cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The view is not filled yet.
    #[error("not supported: the view {schema}.{view}")]
    Refused {
        /// Its schema.
        schema: &'static str,
        /// Its name.
        view: &'static str,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Engine(#[from] extentdb_engine::Error),
    /// A filled view does not name one of its columns, or names one that it does not have: a fault
    /// of this program.
    #[error("column {column} of {view} is not filled")]
    Column {
        /// Name of the view.
        view: &'static str,
        /// Name of the column.
        column: &'static str,
    },
    /// A value is none of its column's type: a fault of this program.
    #[error("a value of column {column} of {view} is not of its type")]
    Value {
        /// Name of the view.
        view: &'static str,
        /// Name of the column.
        column: &'static str,
    },
}
