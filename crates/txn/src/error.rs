//! What can go wrong with a transaction.

use extentdb_base::XactId;

/// Why a transaction cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log took no record.
    #[error(transparent)]
    Log(#[from] extentdb_wal::Error),
    /// The database is read-only: message 3906.
    #[error("the database is read-only")]
    ReadOnly,
    /// There is no savepoint of this name.
    #[error("transaction {xact} has no savepoint {name}")]
    NoSavepoint {
        /// Id of the transaction.
        xact: XactId,
        /// The name asked for.
        name: String,
    },
}
