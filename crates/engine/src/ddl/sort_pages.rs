//! Pages of tempdb for index builds that sort more rows than memory is to hold.
//!
//! ```text
//! page    length u16 │ bytes of a sorted run        one record in each page
//! ```
//!
//! Invariants
//! - Pages are not logged, and no map knows their extents, as those of the version store: every
//!   start makes a new tempdb. They are ordinary pages in memory, and are written to the files of
//!   tempdb when their frames are needed.
//! - The extents are free again when the sort ends, however it ends.

use extentdb_base::size::{PAGE_BODY_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{AllocUnitId, Extent, Lsn, PageId};
use extentdb_format::page::{PageMut, PageRef, PageType};
use extentdb_rowset::RowShape;
use extentdb_rowset::btree::{SORT_PAGE_BYTES, SortStore, Sorter};

use crate::error::Error;
use crate::session::StatementContext;
use crate::versions::Tempdb;

/// The filegroup that the pages come from: tempdb has no other.
const FILEGROUP: i16 = 1;
/// Object and index in the headers of the pages: no table has them.
const HEADER_IDS: (u32, u16) = (0, 0xFFFE);
const LENGTH_BYTES: usize = 2;
const SLOT_BYTES: usize = 2;

// What a sort writes at once has room on a page.
const _: () = assert!(LENGTH_BYTES + SORT_PAGE_BYTES + SLOT_BYTES <= PAGE_BODY_BYTES);

/// See the module.
#[derive(Debug)]
struct SortPages {
    tempdb: Tempdb,
    extents: Vec<Extent>,
    pages: u32,
}

impl StatementContext<'_> {
    /// A sorter of rows for a tree, which keeps in tempdb what memory is not to hold. A database
    /// that is opened without a server has no tempdb, and tempdb does not sort into itself: there
    /// all rows stay in memory.
    pub(crate) fn sorter<'s>(&self, shape: &'s RowShape) -> Sorter<'s> {
        let sorter = Sorter::new(shape);
        let db = self.db();
        match db.services.versions.store() {
            Some(store) if !db.is_ephemeral() => {
                let tempdb = store.tempdb().clone();
                let pages = SortPages { tempdb, extents: Vec::new(), pages: 0 };
                sorter.with_memory_limit(db.options.sort_memory, Box::new(pages))
            }
            _ => sorter,
        }
    }
}

impl SortPages {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.pages.is_multiple_of(PAGES_PER_EXTENT) {
            self.extents.push(self.tempdb.space()?.claim_unmapped(FILEGROUP)?);
        }
        let id = self.page(self.pages).ok_or_else(missing)?;
        let mut guard = self.tempdb.pool()?.create(id)?;
        guard.set_dirty(Lsn::ZERO);
        let (object, index) = HEADER_IDS;
        let unit = AllocUnitId::from_header(object, index);
        PageMut::format(guard.bytes_mut(), id, PageType::Data, unit);
        let record = [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat();
        PageMut::new(guard.bytes_mut()).push(&record).ok_or_else(missing)?;
        self.pages += 1;
        Ok(())
    }

    fn take(&self, page: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        let id = self.page(page).ok_or_else(missing)?;
        let guard = self.tempdb.pool()?.read(id)?;
        let record = PageRef::new(&guard).record_bytes(0).ok_or_else(missing)?;
        let (length, rest) = record.split_first_chunk().ok_or_else(missing)?;
        let bytes = rest.get(..usize::from(u16::from_le_bytes(*length))).ok_or_else(missing)?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn page(&self, number: u32) -> Option<PageId> {
        let first = self.extents.get((number / PAGES_PER_EXTENT) as usize)?.first_page();
        Some(PageId { page: first.page + number % PAGES_PER_EXTENT, ..first })
    }
}

/// A page is not what was written there.
fn missing() -> Error {
    Error::catalog("a page of a sort in tempdb is not what was written there")
}

fn wrapped(error: Error) -> extentdb_rowset::Error {
    extentdb_rowset::Error::SortStore(Box::new(error))
}

impl SortStore for SortPages {
    fn push(&mut self, bytes: &[u8]) -> Result<(), extentdb_rowset::Error> {
        self.add(bytes).map_err(wrapped)
    }

    fn read(&self, page: u32, out: &mut Vec<u8>) -> Result<(), extentdb_rowset::Error> {
        self.take(page, out).map_err(wrapped)
    }
}

impl Drop for SortPages {
    fn drop(&mut self) {
        let Ok(space) = self.tempdb.space() else { return };
        for extent in self.extents.drain(..) {
            // Without its file it is nobody's.
            let _ = space.release_unmapped(extent);
        }
    }
}
