//! Replaying the log: what a record says, done to a page.
//!
//! ```text
//! page LSN >= record LSN                  the page has the change already
//! page LSN == record's previous page LSN  the change is made, the page gets the record's LSN
//! anything else                           a change between is not in the log: the page stops here
//! FORMAT_PAGE                             needs no old page
//! ```
//!
//! Pure: a record and a page image in, a page image out. A caller that recovers a database (or
//! checks a copy of one) finds the pages, hands them over with their displaced torn-page bits
//! restored, and seals what changed. [`analysis`] tells which transactions were still open;
//! [`undo`](super::undo) says what takes their records back. The change itself, and what can be
//! replayed at all, is the business of [`apply`](super::apply).
//!
//! Invariants
//! - [`redo`] fails without having changed the page.
//! - Replaying twice is replaying once.
//! - No bytes make it panic, or work longer than the record's size and the page ask for.
//!
//! Observed in real files of versions 655 to 706: replayed from their first record, pages of data,
//! indexes, text and IAM come out as they lie in the data file, offset by offset. See
//! `docs/format/replay.md`.

pub mod analysis;
#[cfg(test)]
mod tests;

use extentdb_base::Lsn;

pub use super::apply::ApplyError;
use super::apply::apply;
use super::block::BlockFormat;
use super::field::Field;
use super::op::Op;
use super::payload::Payload;
use super::payload::page::PagePart;
use super::record::{RECORD_HEADER_BYTES, RecordRef};
use crate::PageBytes;
use crate::page::PageHeader;

pub use analysis::{Analysis, Unfinished};

/// What became of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The change was made.
    Changed,
    /// The page had it already.
    Already,
}

/// Pages that begin their life in the log keep nothing of the image on disk.
fn begins_a_page(op: Op) -> bool {
    op == Op::FORMAT_PAGE
}

/// The page that a record changes, and what the record says about it. Operations that this program
/// does not know name their page in the same place.
pub fn page_of(record: &RecordRef<'_>) -> Option<PagePart> {
    let part = PagePart::read(record.fixed(), RECORD_HEADER_BYTES);
    let changes_a_page = record.header().op.is_on_page()
        && record.has_fixed_part()
        && record.format() != BlockFormat::V2;
    part.filter(|part| changes_a_page && !part.page.is_none())
}

/// Does to `page` what `record`, which lies at `lsn`, says.
///
/// # Errors
/// The record cannot be replayed on this page; the page is as it was.
pub fn redo(lsn: Lsn, record: &RecordRef<'_>, page: &mut PageBytes) -> Result<Applied, ApplyError> {
    let op = record.header().op;
    let part = page_of(record).ok_or(ApplyError::Operation(op))?;
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
    let payload = record.payload();
    if !has_known_shape(record, &payload) {
        return Err(ApplyError::Shape(op));
    }
    apply(lsn, record.header(), &payload, &mut image)?;
    *page = image;
    Ok(Applied::Changed)
}

/// False for a record that says more about its page than is understood. What follows a formatted
/// page may be its image, so nothing may follow; other operations are replayed by what is known of
/// them, whatever follows.
fn has_known_shape(record: &RecordRef<'_>, payload: &Payload<'_>) -> bool {
    match payload {
        Payload::Opaque(_) => !Payload::is_decoded(record.format(), record.header().op),
        Payload::FormatPageWith(_) => false,
        Payload::FormatPage(_) => record.rest().is_empty(),
        _ => true,
    }
}

/// The page is the one named, in the state that the record follows on.
fn follows(header: &PageHeader, part: &PagePart) -> Result<(), ApplyError> {
    if header.page_id() != part.page {
        return Err(ApplyError::OtherPage { found: header.page_id() });
    }
    let found = header.lsn();
    let expected = part.previous_page_lsn;
    if found == expected { Ok(()) } else { Err(ApplyError::PageLsn { found, expected }) }
}
