//! Why a page is not changed, or a change not undone.

use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::log::Op;
use extentdb_format::log::apply::ApplyError;
use extentdb_format::log::undo::NotUndone;

/// Why a page is not changed, or a change not undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A page does not take what its own log record says: a fault of the engine. The database must
    /// go offline and be recovered.
    #[error("{op} cannot be applied to page {page}")]
    Apply {
        /// Page as the record names it.
        page: PageId,
        /// Operation of the record.
        op: Op,
        /// What is wrong.
        source: ApplyError,
    },
    /// A record that has no inverse.
    #[error(transparent)]
    Undo(#[from] NotUndone),
    /// The row of an allocation unit, whose pointer is to be undone, is neither on its page nor to
    /// the right of it.
    #[error("the catalog row of allocation unit {unit} is not where it was, nor to the right")]
    NoUnitRow {
        /// Unit whose first page, root or first IAM page was changed.
        unit: AllocUnitId,
    },
    /// The buffer pool.
    #[error(transparent)]
    Buffer(#[from] extentdb_buffer::Error),
    /// The transaction or its log.
    #[error(transparent)]
    Transaction(#[from] extentdb_txn::Error),
    /// The record could not be appended.
    #[error(transparent)]
    Log(#[from] extentdb_wal::Error),
}
