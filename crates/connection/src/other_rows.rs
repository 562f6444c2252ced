//! Rows of tables that the engine does not read: compressed, partitioned.
//! Those of databases whose files are only read come from the reader.

use extentdb_base::ObjectId;
use extentdb_bind::surroundings::MadeRows;

/// Tables of a database that somebody else reads.
pub trait OtherRows: Send + Sync {
    /// The rows of a table; `None` when they are not read here, either. What cannot be read of them
    /// is an error of the query.
    fn rows_of(&self, table: ObjectId) -> Option<MadeRows>;
}
