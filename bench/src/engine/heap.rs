//! Facts of a loaded heap: pages, their fill, log records about PFS.

use std::ops::ControlFlow;

use anyhow::Result;
use extentdb_base::Lsn;
use extentdb_engine::Table;
use extentdb_format::log::Context;
use extentdb_format::page::PageHeader;

use super::Lab;

/// Bytes of a page for records and slots.
pub(super) const PAGE_ROOM: u64 = 8096;
/// Bytes of a row beyond its fixed columns: status, length, column count, null bitmap, and slot.
const ROW_OVERHEAD: u64 = 7;
const SLOT_BYTES: u64 = 2;

/// Facts of a loaded heap.
#[derive(Clone, Copy, Debug)]
pub struct HeapFacts {
    /// Formatted pages of the heap.
    pub pages: u64,
    /// Bytes in use of what they hold, in percent.
    pub fill: f64,
}

/// Pages of `rows` rows of fixed columns when each page takes as many as fit.
pub fn ideal_pages(rows: u64, row_bytes: u64) -> u64 {
    rows.div_ceil(PAGE_ROOM / (row_bytes + ROW_OVERHEAD + SLOT_BYTES))
}

impl Lab {
    /// Reads the headers of all pages of the table.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn heap_facts(&self, table: &Table) -> Result<HeapFacts> {
        let heap = table.heap().ok_or_else(|| anyhow::anyhow!("{} is no heap", table.name()))?;
        let pages = heap.formatted_pages()?;
        let mut used = 0;
        for page in &pages {
            let page = self.db.pool().read(*page)?;
            used += PAGE_ROOM - u64::from(PageHeader::of(&page).free_bytes.get());
        }
        let pages = pages.len() as u64;
        Ok(HeapFacts {
            pages,
            fill: 100.0 * used as f64 / (pages * PAGE_ROOM).max(1) as f64,
        })
    }

    /// Log records about PFS from an LSN on, and all records.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn pfs_records(&self, from: Lsn) -> Result<(u64, u64)> {
        let mut pfs = 0;
        let mut all = 0;
        self.db.log().scan(from, &mut |lsn, record| {
            if lsn > from {
                all += 1;
                pfs += u64::from(record.header().context == Context::PFS);
            }
            ControlFlow::Continue(())
        })?;
        Ok((pfs, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideal_pages_of_known_row_lengths() {
        let lengths = [100, 200, 500, 1000, 2000, 3000, 4000];
        let pages = lengths.map(|bytes| ideal_pages(10_000, bytes));
        assert_eq!(pages, [136, 264, 667, 1250, 2500, 5000, 5000]);
    }
}
