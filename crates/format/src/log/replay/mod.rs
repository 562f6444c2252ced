//! Replaying the log: what a record says, done to a page.
//!
//! ```text
//! page LSN >= record LSN                  the page has the change already
//! page LSN == record's previous page LSN  the change is made, the page gets the record's LSN
//! anything else                           a change between is not in the log: the page stops here
//! FORMAT_PAGE                             needs no old page
//! ```
//!
//! Pure: a record and a page image in, a page image out. Whoever recovers a database (or checks a copy of one) finds the
//! pages, hands them over with their displaced torn-page bits restored, and seals what changed. [`analysis`] tells which
//! transactions were still open; undoing them is the business of `undo`, which will stand beside [`redo`].
//!
//! Every change is compared with what the record says was there before, and a page that holds something else is never changed.
//! Only the boot page has bytes that change without a record.
//!
//! Replayed: FORMAT_PAGE (rows, text and IAM pages), INSERT_ROWS, DELETE_ROWS, MODIFY_ROW, MODIFY_COLUMNS, MODIFY_HEADER,
//! SET_BITS, SET_FREE_SPACE, DELETE_SPLIT, EXPUNGE_ROWS, FILE_HDR_MODIFY, COUNT_DELTA, ROOT_CHANGE. Not replayed: every other
//! operation on a page, rows of compressed pages, and formatting of map pages.
//!
//! Invariants
//! - [`redo`] fails without having changed the page.
//! - Replaying twice is replaying once.
//! - No bytes make it panic, or work longer than the record's size and the page ask for.
//!
//! Observed in real files of versions 655 to 706: replayed from their first record, pages of data, indexes, text and IAM
//! come out as they lie in the data file, offset by offset. See `docs/format/replay.md`.

pub mod analysis;
mod bytes;
mod rows;
#[cfg(test)]
mod tests;

use extentdb_base::{Lsn, PageId};

use super::block::BlockFormat;
use super::field::Field;
use super::op::Op;
use super::payload::Payload;
use super::payload::page::PagePart;
use super::record::{RECORD_HEADER_BYTES, RecordRef};
use crate::PageBytes;
use crate::page::{EditError, PageHeader, PageType};

pub use analysis::{Analysis, Unfinished};

/// What became of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The change was made.
    Changed,
    /// The page had it already.
    Already,
}

/// Why a record cannot be replayed on a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
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
        /// The slot.
        slot: u16,
        /// First byte of the change in the row, or in the page header.
        offset: u16,
    },
    /// The page cannot take the change.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Pages that begin their life in the log keep nothing of the image on disk.
fn begins_a_page(op: Op) -> bool {
    op == Op::FORMAT_PAGE
}

/// The page that a record changes, and what the record says about it. Operations that this program does not know name
/// their page in the same place.
pub fn page_of(record: &RecordRef<'_>) -> Option<PagePart> {
    let part = PagePart::read(record.fixed(), RECORD_HEADER_BYTES);
    let changes_a_page =
        record.header().op.is_on_page() && record.has_fixed_part() && record.format() != BlockFormat::V2;
    part.filter(|part| changes_a_page && !part.page.is_none())
}

/// Does to `page` what `record`, which lies at `lsn`, says.
///
/// # Errors
/// The record cannot be replayed on this page; the page is as it was.
pub fn redo(lsn: Lsn, record: &RecordRef<'_>, page: &mut PageBytes) -> Result<Applied, Stop> {
    let op = record.header().op;
    let part = page_of(record).ok_or(Stop::Operation(op))?;
    let header = PageHeader::of(page);
    if !begins_a_page(op) || header.page_id() == part.page {
        if header.lsn() >= lsn {
            return Ok(Applied::Already);
        }
        if !begins_a_page(op) {
            follows(header, &part)?;
        }
    }
    let mut image = *page;
    change(record, &part, &mut image)?;
    PageHeader::of_mut(&mut image).lsn_bytes = lsn.to_bytes();
    *page = image;
    Ok(Applied::Changed)
}

/// The page is the one named, in the state that the record follows on.
fn follows(header: &PageHeader, part: &PagePart) -> Result<(), Stop> {
    if header.page_id() != part.page {
        return Err(Stop::OtherPage { found: header.page_id() });
    }
    let (found, expected) = (header.lsn(), part.previous_page_lsn);
    if found == expected { Ok(()) } else { Err(Stop::PageLsn { found, expected }) }
}

/// One function changes a page, whoever asks for it.
fn change(record: &RecordRef<'_>, part: &PagePart, page: &mut PageBytes) -> Result<(), Stop> {
    let header = record.header();
    let (op, context) = (header.op, header.context);
    let is_compensation = header.flags.is_compensation();
    match record.payload() {
        Payload::FormatPage(format) => bytes::format_page(&format, page),
        Payload::InsertRows(insert) => rows::insert(&insert, context, is_compensation, page),
        Payload::DeleteRows(delete) => rows::delete(&delete, context, is_compensation, page),
        Payload::ModifyRow(modify) => rows::modify(&modify, is_compensation, page),
        Payload::ModifyColumns(modify) => rows::modify_columns(&modify, page),
        Payload::DeleteSplit(split) => rows::delete_split(&split, page),
        Payload::RowTouch(_) if op == Op::EXPUNGE_ROWS => rows::expunge(part.slot, context, page),
        Payload::ModifyHeader(modify) => bytes::modify_header(&modify, page),
        Payload::SetBits(bits) => bytes::set_bits(&bits, page),
        Payload::SetFreeSpace(set) => bytes::set_free_space(&set, page),
        Payload::FileHeaderModify(modify) => bytes::modify_file_header(&modify, page),
        Payload::CountDelta(counts) => bytes::set_counts(part.slot, &counts.fixed.cells, page),
        Payload::ColumnCountDelta(counts) => bytes::set_counts(part.slot, &counts.fixed.cells, page),
        Payload::RootChange(root) => bytes::change_root(&root, page),
        Payload::Opaque(_) if Payload::is_decoded(record.format(), op) => Err(Stop::Shape(op)),
        _ => Err(Stop::Operation(op)),
    }
}
