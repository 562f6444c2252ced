//! Read-ahead: neighbouring pages in one read, before they are requested.
//!
//! ```text
//! wanted      10 11 12 13 14 15 16 17
//! in memory         12          16
//! reads       [10 11]  [13 14 15]  [17]
//! ```
//!
//! A hint: it uses free frames and clean ones that are not in use, never writes a page, never waits
//! for a latch, uses at most a quarter of the pool, and fails silently. A page that was not read
//! ahead is read when it is requested, with its error.

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::lock;
use extentdb_format::page::PageHeader;

use crate::clock::Victim;
use crate::file::PoolFile;
use crate::guard::Fixed;
use crate::load::accept;
use crate::pool::{Lookup, Pool};
use crate::stats::count;

/// Pages of one hint: 512 KiB.
const READ_AHEAD_PAGES: u32 = 64;

impl Pool {
    /// Brings pages into memory that are soon wanted: `pages` from `first` on, at most 64. Returns
    /// when they are there.
    pub fn read_ahead(&self, first: PageId, pages: u32) {
        let Ok(file) = self.pool_file(first.file) else { return };
        let limit = pages.min(READ_AHEAD_PAGES).min((self.frames.len() / 4) as u32);
        let end = u64::from(first.page).saturating_add(u64::from(limit)).min(file.pages()) as u32;
        let mut run: Vec<(PageId, Fixed)> = Vec::new();
        for number in first.page..end {
            let page = PageId { file: first.file, page: number };
            match self.enter_if_absent(page) {
                Some(fixed) => run.push((page, fixed)),
                None => self.fill(&file, std::mem::take(&mut run)),
            }
        }
        self.fill(&file, run);
    }

    /// A frame for the page, in the table and latched EX; none when the page is in memory or no
    /// frame is free cheaply.
    fn enter_if_absent(&self, page: PageId) -> Option<Fixed> {
        if self.table.shard(page).frame(page).is_some() {
            return None;
        }
        let free = lock(&self.free).pop();
        let index = free.or_else(|| match self.find_victim() {
            Victim::Frame(index) => Some(index),
            Victim::Dirty(_) | Victim::Nothing => None,
        })?;
        match self.enter(page, index) {
            Lookup::Fresh(fixed) => Some(fixed),
            Lookup::Cached(_) => None,
        }
    }

    /// Reads a run of neighbours in one read. A damaged page stays without bytes.
    fn fill(&self, file: &PoolFile, run: Vec<(PageId, Fixed)>) {
        let Some((first, _)) = run.first() else { return };
        let first = first.page;
        self.with_buffer(|buffer| {
            let bytes = &mut buffer[..run.len() * PAGE_BYTES];
            let is_read = self.read_run(file, first, bytes).is_ok();
            let (copies, _) = bytes.as_chunks_mut::<PAGE_BYTES>();
            for ((page, mut fixed), copy) in run.into_iter().zip(copies) {
                if is_read && accept(page, copy).is_ok() {
                    fixed.bytes_mut().copy_from_slice(copy);
                    fixed.frame().set_present(PageHeader::of(copy).lsn());
                    count(&self.counters.read_ahead_pages, 1);
                } else {
                    fixed.frame().set_absent();
                }
            }
        });
    }
}
