//! Changing a page: the log record first, then the page, by the same function that redo uses.
//!
//! ```text
//! page latched EX → marked dirty as of the log's end → record appended → applied → page LSN =
//!      record's LSN
//! ```
//!
//! The mark comes before the record: a checkpoint that begins between the two must know that the
//! page is about to change, or it would truncate the record. A page that has changed since it was
//! written last is marked already, as of an earlier record.

use extentdb_base::Lsn;
use extentdb_buffer::PageWriteGuard;
use extentdb_format::log::apply::apply;
use extentdb_format::log::{Context, Op, Payload, RecordHeader};
use extentdb_format::page::PageHeader;
use extentdb_txn::RecordOwner;

use crate::error::Error;

/// Logs a change of a page and makes it. The page part of the payload is filled in here; its slot
/// is the caller's.
///
/// # Errors
/// The log took no record, and the page is as it was; or the page does not take its own record
/// ([`Error::Apply`]), which is a fault of the engine: the database must go offline and be
/// recovered.
pub fn change(
    mut link: RecordOwner<'_>,
    page: &mut PageWriteGuard,
    op: Op,
    context: Context,
    mut payload: Payload<'_>,
) -> Result<Lsn, Error> {
    if let Some(part) = payload.page_part_mut() {
        let header = PageHeader::of(page);
        part.page = page.id();
        if op != Op::FORMAT_PAGE {
            (part.object_id, part.index_id) = (header.object_id.get(), header.index_id.get());
            part.previous_page_lsn = header.lsn();
        }
    }
    link.manager().note_change(page.id());
    if !page.is_changed() {
        page.set_dirty(link.manager().log().last());
    }
    let lsn = link.log(op, context, &payload)?;
    match op {
        Op::FORMAT_PAGE => page.set_formatted(lsn),
        _ => page.set_dirty(lsn),
    }
    let header = RecordHeader { op, context, flags: link.flags(), ..RecordHeader::default() };
    let id = page.id();
    let stopped = |source| Error::Apply { page: id, op, source };
    apply(lsn, &header, &payload, page.bytes_mut()).map_err(stopped)?;
    Ok(lsn)
}
