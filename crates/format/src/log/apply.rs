//! One function changes a page: what a log record says, done to the page it names.
//!
//! ```text
//! forward   build header and payload → append to the log → apply       (the engine, row by row)
//! redo      page LSN == record's previous page LSN → apply             ([`replay`](super::replay))
//! undo      inverse of header and payload → append → apply             ([`undo`](super::undo))
//! ```
//!
//! Because all three go through here, redo is tested by every insert. Every change is compared with
//! what the record says was there before, and a page that holds something else is not changed. Only
//! the boot page has bytes that change without a record.
//!
//! Applied: FORMAT_PAGE (rows, text and IAM pages), INSERT_ROWS, DELETE_ROWS, MODIFY_ROW,
//! MODIFY_COLUMNS, MODIFY_HEADER, SET_BITS, SET_FREE_SPACE, DELETE_SPLIT, EXPUNGE_ROWS,
//! FILE_HDR_MODIFY, COUNT_DELTA, ROOT_CHANGE. Not applied: every other operation on a page, rows of
//! compressed pages, and formatting of map pages.
//!
//! Invariants
//! - A call that fails may have moved rows on the page, but has lost none but the one it was to
//!   change. A caller that cannot rule out failure works on a copy, as
//!   [`redo`](super::replay::redo) does.
//! - No bytes make it panic, or work longer than the record's size and the page ask for.

mod bytes;
mod rows;

use extentdb_base::{Lsn, PageId};

use super::op::Op;
use super::payload::Payload;
use super::record::RecordHeader;
use crate::PageBytes;
use crate::page::{EditError, PageHeader, PageType};

/// Why a record cannot be applied to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The operation is known by name only, or does not change a page.
    #[error("{0} is not replayed")]
    Operation(Op),
    /// The record does not have the shape of its operation.
    #[error("the record does not have the shape of {0}")]
    Shape(Op),
    /// What the record undoes is not known in this form.
    #[error("{0} as a compensation record is not replayed")]
    Compensation(Op),
    /// The page says that it is another one.
    #[error("the page names itself {found}")]
    OtherPage {
        /// The page id in its header.
        found: PageId,
    },
    /// The page is in a state that the record does not follow on.
    #[error("the page has LSN {found}, the record follows on {expected}")]
    PageLsn {
        /// LSN of the page.
        found: Lsn,
        /// The record's previous page LSN.
        expected: Lsn,
    },
    /// A page of this type is not formatted from the log.
    #[error("a page of type {0} is not formatted from the log")]
    PageType(PageType),
    /// The record changes rows in a way that does not go with the page.
    #[error("{0} does not go with a page of type {1}")]
    Structure(Op, PageType),
    /// The page does not hold what the record says was there.
    #[error("byte {offset} of slot {slot} is not what the record changes")]
    Before {
        /// Slot that the record names.
        slot: u16,
        /// First byte of the change in the row, or in the page header.
        offset: u16,
    },
    /// The page cannot take the change.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Does to `page` what the record with this header and payload says, and gives it the record's LSN.
/// Whether the page is in the state that the record follows on is the caller's business.
///
/// # Errors
/// The change does not go with the page.
pub fn apply(
    lsn: Lsn,
    header: &RecordHeader,
    payload: &Payload<'_>,
    page: &mut PageBytes,
) -> Result<(), ApplyError> {
    let op = header.op;
    let context = header.context;
    let is_compensation = header.flags.is_compensation();
    match payload {
        Payload::FormatPage(format) => bytes::format_page(format, page),
        Payload::InsertRows(insert) => rows::insert(insert, context, is_compensation, page),
        Payload::DeleteRows(delete) => rows::delete(delete, context, is_compensation, page),
        Payload::ModifyRow(modify) => rows::modify(modify, is_compensation, page),
        Payload::ModifyColumns(modify) => rows::modify_columns(modify, page),
        Payload::DeleteSplit(split) => rows::delete_split(split, page),
        Payload::RowTouch(touch) if op == Op::EXPUNGE_ROWS => {
            rows::expunge(touch.fixed.page.slot, context, page)
        }
        Payload::ModifyHeader(modify) => bytes::modify_header(modify, page),
        Payload::SetBits(bits) => bytes::set_bits(bits, page),
        Payload::SetFreeSpace(set) => bytes::set_free_space(set, page),
        Payload::FileHeaderModify(modify) => bytes::modify_file_header(modify, page),
        Payload::CountDelta(counts) => {
            bytes::set_counts(counts.fixed.page.slot, &counts.fixed.cells, page)
        }
        Payload::ColumnCountDelta(counts) => {
            bytes::set_counts(counts.fixed.page.slot, &counts.fixed.cells, page)
        }
        Payload::RootChange(root) => bytes::change_root(root, page),
        _ => Err(ApplyError::Operation(op)),
    }?;
    PageHeader::of_mut(page).lsn_bytes = lsn.to_bytes();
    Ok(())
}
