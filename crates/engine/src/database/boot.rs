//! The boot page: where the last checkpoint began, whether the database was closed cleanly, which
//! ids come next.
//!
//! The checkpoint and the mark of a clean shutdown are written without a log record, as the real
//! product does: they say how far the log is needed, and must be true before it is read. The
//! counters of ids change by records of the transaction that takes one.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_buffer::Pool;
use extentdb_change::change;
use extentdb_format::allocation::boot::{BootRecord, BootView, DatabaseStatus};
use extentdb_format::log::payload::row::{ModifyRow, RowPart};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::checksum;
use extentdb_format::{PageBuf, PageBytes};
use extentdb_io::{DiskFile, Durability};
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;

/// Version of the databases that are written.
pub(crate) const VERSION: u16 = 661;
/// The versions that are written: both have the same base tables and the same log records.
pub(crate) const WRITTEN: [u16; 2] = [655, VERSION];

/// Reads the boot page from its file, past the pool, which does not exist yet.
pub(crate) fn read_boot(file: &dyn DiskFile) -> Result<BootRecord, Error> {
    let mut page = PageBuf::zeroed();
    let offset = u64::from(PageId::BOOT.page) * PAGE_BYTES as u64;
    file.read_exact_at(offset, &mut page[..])?;
    let is_intact = checksum::verify(&page).is_intact();
    checksum::restore_torn(&mut page);
    let is_boot = is_intact && BootView::new(&page).faults().is_empty();
    let record = BootView::new(&page).record().filter(|_| is_boot);
    let path = file.path().to_path_buf();
    let page = PageId::BOOT.page;
    record.ok_or(Error::Unreadable { path, page, kind: "boot page" })
}

/// The state in the boot page, apart from its counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) checkpoint: Lsn,
    pub(crate) is_clean: bool,
    pub(crate) last_xact: XactId,
}

/// Writes the mark, durably, to the page in memory and to the file.
pub(crate) fn write_mark(pool: &Pool, mark: Mark) -> Result<(), Error> {
    let mut page = pool.write(PageId::BOOT)?;
    let mut record = boot_record(&page)?;
    let clean = DatabaseStatus::CLEAN_SHUTDOWN;
    let DatabaseStatus(status) = record.status;
    // An emergency ends when the log is not needed any more.
    let closed = (status | clean) & !DatabaseStatus::EMERGENCY;
    record.status = DatabaseStatus(if mark.is_clean { closed } else { status & !clean });
    record.checkpoint_lsn = mark.checkpoint;
    record.unknown_384 = u64::from(mark.last_xact.high) << 32 | u64::from(mark.last_xact.low);
    write_boot_record(page.bytes_mut(), &record);
    // With all that is on the page, which may have been logged a moment ago.
    pool.write_through(&mut page)?;
    Ok(())
}

/// Marks the database as one whose log is being cut, durably, before its pool and its log are
/// there.
///
/// A power cut leaves the old or the new page: they differ in the status and the checksum, and both
/// lie in the first sector of a page that this engine has written.
pub(crate) fn begin_emergency(file: &dyn DiskFile) -> Result<(), Error> {
    let mut record = read_boot(file)?;
    let DatabaseStatus(status) = record.status;
    record.status = DatabaseStatus(status | DatabaseStatus::EMERGENCY);
    let offset = u64::from(PageId::BOOT.page) * PAGE_BYTES as u64;
    let mut page = PageBuf::zeroed();
    file.read_exact_at(offset, &mut page[..])?;
    checksum::restore_torn(&mut page);
    write_boot_record(&mut page, &record);
    checksum::seal(&mut page);
    Ok(file.write_at(offset, &[&page[..]], Durability::Through)?)
}

/// Clears emergency mode: the database stays open with its cut log.
pub(crate) fn end_emergency(pool: &Pool) -> Result<(), Error> {
    let mut page = pool.write(PageId::BOOT)?;
    let mut record = boot_record(&page)?;
    let DatabaseStatus(status) = record.status;
    record.status = DatabaseStatus(status & !DatabaseStatus::EMERGENCY);
    write_boot_record(page.bytes_mut(), &record);
    Ok(pool.write_through(&mut page)?)
}

fn boot_record(page: &PageBytes) -> Result<BootRecord, Error> {
    BootView::new(page).record().ok_or_else(|| Error::catalog("no boot record"))
}

pub(crate) fn write_boot_record(page: &mut PageBytes, record: &BootRecord) {
    let at = BootView::new(page).record_offset();
    let end = at + usize::from(record.len);
    record.write(page.get_mut(at..end).unwrap_or_default());
}

/// A counter of the boot page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    ObjectId,
    Unit,
    /// The highest rowversion value that may have been given out.
    Timestamp,
}

impl Counter {
    fn name(self) -> &'static str {
        match self {
            Counter::ObjectId => "next_object_id",
            Counter::Unit => "alloc_unit_next",
            Counter::Timestamp => "max_timestamp",
        }
    }
}

/// Takes the value of a counter, and stores `next(value)`.
pub(crate) fn take(
    pool: &Pool,
    tx: &mut Transaction,
    counter: Counter,
    next: impl FnOnce(u64) -> u64,
) -> Result<u64, Error> {
    let missing = || Error::catalog("the boot page has no counter of ids");
    let place =
        BootRecord::FIELDS.iter().find(|field| field.name == counter.name()).ok_or_else(missing)?;
    let mut page = pool.write(PageId::BOOT)?;
    let at = BootView::new(&page).record_offset() + place.offset;
    let before = page.get(at..at + place.bytes).ok_or_else(missing)?.to_vec();
    let mut bytes = [0; 8];
    bytes[..place.bytes].copy_from_slice(&before);
    let value = u64::from_le_bytes(bytes);
    let after = next(value).to_le_bytes();
    let fixed = RowPart {
        offset_in_row: place.offset as u16,
        modify_size: place.bytes as u16,
        ..RowPart::default()
    };
    let modify = ModifyRow {
        fixed,
        before: &before,
        after: &after[..place.bytes],
        ..ModifyRow::default()
    };
    let payload = Payload::ModifyRow(modify);
    change(RecordOwner::Change(tx), &mut page, Op::MODIFY_ROW, Context::BOOT_PAGE, payload)?;
    Ok(value)
}
