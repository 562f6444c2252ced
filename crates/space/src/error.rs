//! Errors of space management.

use extentdb_base::{AllocUnitId, FileId, PageId};

/// Why no space was allocated, or a map not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file of the filegroup has room or can grow. Message 1105 (for an object) or 1101 (for a
    /// page) at the API boundary.
    #[error("filegroup {group} is full")]
    FilegroupFull {
        /// Number of the filegroup that is full.
        group: i16,
        /// Why a file that may grow did not: the disk is full.
        #[source]
        growth: Option<extentdb_io::Error>,
    },
    /// A rollback asks for a page. Undo never allocates, because its room is reserved: a fault of
    /// the engine.
    #[error("a rollback asks for a page for unit {unit}")]
    PageForUndo {
        /// Allocation unit of the map or row.
        unit: AllocUnitId,
    },
    /// A filegroup that the database does not have.
    #[error("there is no filegroup {group}")]
    NoFilegroup {
        /// Filegroup number that was asked for.
        group: i16,
    },
    /// A file that the database does not have.
    #[error("there is no data file {file}")]
    NoFile {
        /// File id that was asked for.
        file: FileId,
    },
    /// A change of a page, or its undo.
    #[error(transparent)]
    Change(#[from] extentdb_change::Error),
    /// A page of an allocation unit's maps contradicts what the unit is known to own.
    #[error("page {page} of unit {unit} is not what its maps say: {what}")]
    Maps {
        /// Map page that contradicts the unit.
        page: PageId,
        /// Allocation unit of the map or row.
        unit: AllocUnitId,
        /// What contradicts what.
        what: &'static str,
    },
    /// The pool has no page to give.
    #[error(transparent)]
    Buffer(#[from] extentdb_buffer::Error),
    /// A file could not be made longer.
    #[error(transparent)]
    Disk(#[from] extentdb_io::Error),
    /// The transaction or its log.
    #[error(transparent)]
    Transaction(#[from] extentdb_txn::Error),
    /// The log refused a record.
    #[error(transparent)]
    Log(#[from] extentdb_wal::Error),
    /// The row of an allocation unit in the catalog could not be reached.
    #[error("the catalog row of allocation unit {unit}")]
    Catalog {
        /// Allocation unit of the map or row.
        unit: AllocUnitId,
        /// Error of the catalog.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
