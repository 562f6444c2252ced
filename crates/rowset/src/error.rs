//! What can go wrong with rows.

use extentdb_base::{AllocUnitId, PageId, Rid, XactId};
use extentdb_format::log::Op;
use extentdb_txn::lock::LockError;

use crate::version::VersionPointer;

/// Why a row operation was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Allocation of pages, or the maps that record it.
    #[error(transparent)]
    Space(#[from] extentdb_space::Error),
    /// A change of a page, or its undo.
    #[error(transparent)]
    Change(#[from] extentdb_change::Error),
    /// A page cannot be read.
    #[error(transparent)]
    Page(#[from] extentdb_buffer::Error),
    /// The transaction cannot go on.
    #[error(transparent)]
    Transaction(#[from] extentdb_txn::Error),
    /// There is a row with this key.
    #[error("allocation unit {unit} has a row with this key already, at {at}")]
    Duplicate {
        /// Allocation unit of the tree.
        unit: AllocUnitId,
        /// The existing row; on no page when both are rows of one build.
        at: Rid,
    },
    /// There is no row with this key.
    #[error("allocation unit {unit} has no row with this key")]
    NotFound {
        /// Allocation unit of the tree.
        unit: AllocUnitId,
    },
    /// A tree that is to be built has rows already, or gets some meanwhile.
    #[error("allocation unit {unit} is not empty")]
    NotEmpty {
        /// Allocation unit of the tree.
        unit: AllocUnitId,
    },
    /// Rows that a tree is to be built from are not in key order.
    #[error("row {row} for allocation unit {unit} is less than the row before it")]
    OutOfOrder {
        /// Allocation unit of the tree.
        unit: AllocUnitId,
        /// Which row it is, counted from 0.
        row: u64,
    },
    /// The row is longer than a row can be.
    #[error("a row of {bytes} bytes is longer than the {most} that fit in a page")]
    RowTooLong {
        /// Length of the row in bytes.
        bytes: usize,
        /// The most there can be.
        most: usize,
    },
    /// The key columns are longer than a key can be. Message 1946; 1944 where the columns are of
    /// fixed length, so that no row could have the key. Versions from 2016 on take 1,700 bytes in
    /// nonclustered indexes.
    #[error("a key of {bytes} bytes is longer than the {most} that an index takes")]
    KeyTooLong {
        /// Bytes of the key's values.
        bytes: usize,
        /// The most there can be.
        most: usize,
    },
    /// A row or key with another number of columns.
    #[error("{found} values for {expected} columns")]
    Columns {
        /// Columns there are.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// A value that is not one of its column: NULL where records have no room for that, or of
    /// another length.
    #[error("column {column_id} takes no value of {bytes:?} bytes")]
    Value {
        /// `rscolid` of the column.
        column_id: i32,
        /// Bytes of the value; `None` for NULL, and for a bit in another column.
        bytes: Option<usize>,
    },
    /// A value that is needed lies off its row.
    #[error("the value of column {column_id} lies off its row")]
    OffRow {
        /// `rscolid` of the column.
        column_id: i32,
    },
    /// Rows of this rowset are not written here.
    #[error("column {column_id} of the rowset is stored in a form that is not written: {what}")]
    Form {
        /// The column; 0 for the rowset as a whole.
        column_id: i32,
        /// What it is.
        what: &'static str,
    },
    /// A part of a value begins, or ends, past the end of the value or of the part.
    #[error("offset {offset} is past the end of {len} bytes of a value")]
    Offset {
        /// Offset in the value, bytes, at which the part begins or ends.
        offset: u64,
        /// Where the value, or the part that is replaced, ends.
        len: u64,
    },
    /// A value is longer than any type takes.
    #[error("a value is longer than {most} bytes")]
    ValueTooLong {
        /// The most there can be.
        most: u64,
    },
    /// A page is not what the tree needs there.
    #[error("page {page}: {what}")]
    Corrupt {
        /// Page that holds, or should hold, the record.
        page: PageId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Keys of a page are not in the order of their sort keys, or not between its fence keys.
    #[error("page {page} has keys that are out of order")]
    KeysOutOfOrder {
        /// Page that holds, or should hold, the record.
        page: PageId,
    },
    /// A record does not hold what its layout says.
    #[error("a record of the rowset is damaged: {what}")]
    Record {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A log record of a transaction does not fit what the tree holds.
    #[error("{op} cannot be undone: {what}")]
    NotUndone {
        /// Operation of the log record.
        op: Op,
        /// What of the tree contradicts the record.
        what: &'static str,
    },
    /// A row gets its old length back, and its page has no room for that, although it was reserved:
    /// the page is damaged, or the engine is wrong. An undo never takes another page.
    #[error("page {page} has no room for a row of {bytes} bytes whose change is undone")]
    NoUndoRoom {
        /// Page that holds, or should hold, the record.
        page: PageId,
        /// Length of the row as it was before the change.
        bytes: usize,
    },
    /// The rollback of a page split failed; the next restart undoes the split.
    #[error(
        "allocation unit {unit} is unusable until restart: a page split could not be rolled back: \
         {reason}"
    )]
    Unusable {
        /// Allocation unit of the tree.
        unit: AllocUnitId,
        /// The error of that rollback.
        reason: String,
    },
    /// A lock on the RID of a record was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no row at this RID.
    #[error("there is no row {0}")]
    NoRow(Rid),
    /// The record at this RID is no row of its heap.
    #[error("the record {0} is damaged")]
    BadRow(Rid),
    /// A reader's version is not in the version store any more.
    #[error("the version store has no version at {at:?}")]
    VersionGone {
        /// Where it was.
        at: VersionPointer,
    },
    /// The version store failed.
    #[error("the version store")]
    VersionStore(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store of sorted runs failed.
    #[error("the store of sorted rows")]
    SortStore(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A transaction would change a row whose newest version its snapshot does not see. Message
    /// 3960.
    #[error(
        "a row of allocation unit {unit} was changed by {writer}, which the snapshot does not see"
    )]
    UpdateConflict {
        /// Allocation unit of the row.
        unit: AllocUnitId,
        /// Who changed or deleted it.
        writer: XactId,
    },
}
