//! A unit of the version store: some megabytes of records that are dropped together.
//!
//! ```text
//! record in a page   length u16 | database u16 | writer u48 | the record as it was kept
//! pointer            unit u32 | page in the unit u16 | slot u16
//! ```

use extentdb_base::size::{PAGE_BODY_BYTES, PAGES_PER_EXTENT, ROW_BYTES_MAX};
use extentdb_base::sync::{Arc, Mutex, OnceLock, Weak, lock};
use extentdb_base::{AllocUnitId, DatabaseId, Extent, PageId, XactId};
use extentdb_format::page::{PageBytes, PageMut, PageRef, PageType};
use extentdb_rowset::version::{VersionPointer, VersionTag};
use extentdb_txn::versions::DatabaseCommits;

use super::info::StoreSize;
use crate::error::Error;

/// The filegroup that its pages come from: tempdb has no other.
pub(super) const FILEGROUP: i16 = 1;
/// Extents of a unit: 4 MiB.
const EXTENTS: usize = 64;
/// Pages of a unit.
pub(super) const PAGES: u16 = EXTENTS as u16 * PAGES_PER_EXTENT as u16;
/// Length, database and writer before each record.
const PREFIX_BYTES: usize = 10;
/// Index id in the headers of its pages: no index has it.
const INDEX_ID: u16 = 0xFFFF;
const SLOT_BYTES: usize = 2;
/// Length of the longest record that is kept: the longest row with its tag.
pub(super) const RECORD_BYTES_MAX: usize = ROW_BYTES_MAX + VersionTag::BYTES;

// The longest record has room on an empty page.
const _: () = assert!(PREFIX_BYTES + RECORD_BYTES_MAX + SLOT_BYTES <= PAGE_BODY_BYTES);

/// Whose record is kept.
#[derive(Clone, Copy)]
pub(crate) struct RecordOwner<'o> {
    pub(crate) database: DatabaseId,
    pub(crate) commits: &'o Arc<DatabaseCommits>,
    pub(crate) writer: XactId,
}

/// A unit.
pub(super) struct Unit {
    number: u32,
    extents: [OnceLock<Extent>; EXTENTS],
    closed: Mutex<Closed>,
}

/// What is known when it is closed.
#[derive(Default)]
struct Closed {
    /// Those that a snapshot may not see yet.
    writers: Vec<UnitWriter>,
    usage: Usage,
}

/// A transaction that has written to a unit.
pub(super) struct UnitWriter {
    /// Gone when the database has left service: nobody reads its rows then.
    commits: Weak<DatabaseCommits>,
    id: XactId,
}

/// Bytes of a unit by database.
#[derive(Default)]
pub(super) struct Usage(Vec<(DatabaseId, u64)>);

/// What a pointer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    pub(super) unit: u32,
    pub(super) page: u16,
    pub(super) slot: u16,
}

impl Unit {
    pub(super) fn new(number: u32) -> Unit {
        Unit {
            number,
            extents: [const { OnceLock::new() }; EXTENTS],
            closed: Mutex::default(),
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// The page of tempdb; `None` when the unit has none of this number.
    pub(super) fn page(&self, number: u16) -> Option<PageId> {
        let of_extent = u32::from(number) % PAGES_PER_EXTENT;
        let extent = self.extents.get(usize::from(number) / PAGES_PER_EXTENT as usize)?.get()?;
        let first = extent.first_page();
        Some(PageId { file: first.file, page: first.page + of_extent })
    }

    /// Its next extent.
    pub(super) fn add(&self, extent: Extent) {
        for own in &self.extents {
            if own.set(extent).is_ok() {
                return;
            }
        }
    }

    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> {
        self.extents.iter().map_while(|extent| extent.get().copied())
    }

    pub(super) fn close(&self, writers: Vec<UnitWriter>, usage: Usage) {
        *lock(&self.closed) = Closed { writers, usage };
    }

    /// May a snapshot need one of its records? The search ends at the first writer that one may not
    /// see: a call costs what has changed since the last one.
    pub(super) fn is_needed(&self) -> bool {
        let closed = &mut *lock(&self.closed);
        while closed.writers.last().is_some_and(|writer| !writer.is_needed()) {
            closed.writers.pop();
        }
        !closed.writers.is_empty()
    }

    pub(super) fn add_usage(&self, size: &mut StoreSize) {
        lock(&self.closed).usage.add_to(size, self);
    }
}

impl UnitWriter {
    pub(super) fn of(owner: RecordOwner<'_>) -> UnitWriter {
        UnitWriter { commits: Arc::downgrade(owner.commits), id: owner.writer }
    }

    fn is_needed(&self) -> bool {
        self.commits.upgrade().is_some_and(|commits| !commits.is_seen_by_all(self.id))
    }
}

impl Usage {
    pub(super) fn add(&mut self, database: DatabaseId, bytes: usize) {
        match self.0.iter_mut().find(|(own, _)| *own == database) {
            Some((_, sum)) => *sum += bytes as u64,
            None => self.0.push((database, bytes as u64)),
        }
    }

    pub(super) fn add_to(&self, size: &mut StoreSize, unit: &Unit) {
        size.units += 1;
        size.reserved_pages += unit.extents().count() as u64 * u64::from(PAGES_PER_EXTENT);
        for (database, bytes) in &self.0 {
            *size.bytes_by_database.entry(*database).or_default() += bytes;
        }
    }
}

impl Pointer {
    pub(super) fn to_stored(self) -> VersionPointer {
        let [a, b, c, d] = self.unit.to_le_bytes();
        let [e, f] = self.page.to_le_bytes();
        let [g, h] = self.slot.to_le_bytes();
        VersionPointer([a, b, c, d, e, f, g, h])
    }

    pub(super) fn of_stored(stored: VersionPointer) -> Pointer {
        let [a, b, c, d, e, f, g, h] = stored.0;
        Pointer {
            unit: u32::from_le_bytes([a, b, c, d]),
            page: u16::from_le_bytes([e, f]),
            slot: u16::from_le_bytes([g, h]),
        }
    }
}

/// Makes an empty page of a unit.
pub(super) fn format_page(bytes: &mut PageBytes, id: PageId, unit: u32) {
    PageMut::format(bytes, id, PageType::Data, AllocUnitId::from_header(unit, INDEX_ID));
}

/// A record as it is stored.
///
/// # Errors
/// It is longer than a row can be.
pub(super) fn frame_record(owner: RecordOwner<'_>, record: &[u8]) -> Result<Vec<u8>, Error> {
    if record.len() > RECORD_BYTES_MAX {
        return Err(Error::VersionTooLong { bytes: record.len() });
    }
    let mut framed = Vec::with_capacity(PREFIX_BYTES + record.len());
    framed.extend_from_slice(&(record.len() as u16).to_le_bytes());
    framed.extend_from_slice(&owner.database.0.to_le_bytes());
    framed.extend_from_slice(&owner.writer.low.to_le_bytes());
    framed.extend_from_slice(&owner.writer.high.to_le_bytes());
    framed.extend_from_slice(record);
    Ok(framed)
}

/// The record that a pointer leads to; `None` when the page is not one of its unit any more.
pub(super) fn record_of(page: PageRef<'_>, at: Pointer) -> Option<&[u8]> {
    let header = page.header();
    if header.object_id.get() != at.unit || header.index_id.get() != INDEX_ID {
        return None;
    }
    let bytes = page.record_bytes(at.slot)?;
    let len = usize::from(u16::from_le_bytes(*bytes.first_chunk()?));
    bytes.get(PREFIX_BYTES..PREFIX_BYTES + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_survive_their_bytes_and_are_never_zero() {
        let at = Pointer { unit: 0x0102_0304, page: PAGES - 1, slot: 7 };
        assert_eq!(Pointer::of_stored(at.to_stored()), at);
        let first = Pointer { unit: 1, page: 0, slot: 0 };
        assert!(VersionPointer::stored(first.to_stored().0).is_some());
    }
}
