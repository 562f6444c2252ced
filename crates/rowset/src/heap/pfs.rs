//! PFS free space of heaps: brought up to date at checkpoints, at a clean close and after recovery.
//! The class of a page is decided here, by `Fullness::of_free_bytes` of its header.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::lock;
use extentdb_base::{Extent, PageId};
use extentdb_buffer::Error as BufferError;
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::page::{PageHeader, PageType};

use super::Heap;
use super::append::Appender;
use crate::Error;

impl Heap {
    /// Gives every page its true class of fullness, and pages that were taken in advance back, one
    /// record for each extent.
    pub fn update_pfs(&self) -> Result<(), Error> {
        for appender in &self.room.appenders {
            let mut appender = lock(appender);
            appender.noted = None;
            if let Some(page) = appender.page {
                self.room.free.lock().touch(page);
            }
            self.free_run(&mut appender)?;
        }
        let touched = self.room.free.lock().take_touched();
        for (extent, pages) in by_extent(touched) {
            self.update_pfs_of(extent, &pages, |page, old| {
                if !old.is_allocated() {
                    return Ok(old);
                }
                match self.fullness_of(page) {
                    Ok(fullness) => Ok(old.with_fullness(fullness)),
                    Err(Error::Page(BufferError::BadPage { .. })) => Ok(old),
                    Err(error) => Err(error),
                }
            })?;
        }
        Ok(())
    }

    /// Frees the empty pages of an appender's run. They stay in the run until PFS says so: a page
    /// of the heap in no run is one that others read and fill.
    fn free_run(&self, appender: &mut Appender) -> Result<(), Error> {
        let rest: BTreeSet<PageId> = appender.rest.iter().copied().collect();
        for (extent, pages) in by_extent(rest) {
            self.update_pfs_of(extent, &pages, |_, _| Ok(PfsByte::default()))?;
            self.unit.count_data_pages(-(pages.len() as i64));
            appender.rest.retain(|page| page.extent() != extent);
        }
        Ok(())
    }

    /// Number of pages whose class [`update_pfs`](Self::update_pfs) may update.
    pub fn stale_pfs_pages(&self) -> usize {
        // Each appender has a run of one extent at most.
        let appends = |appender: &&_| lock::<Appender>(appender).page.is_some();
        self.room.appenders.iter().filter(appends).count() + self.room.free.lock().touched_count()
    }

    /// After a crash: these pages, which may have been allocated in advance, get their class of
    /// fullness. Those that are another unit's are freed.
    pub fn update_pfs_after_crash(
        &self,
        pages: impl IntoIterator<Item = PageId>,
    ) -> Result<(), Error> {
        for (extent, pages) in by_extent(pages.into_iter().collect()) {
            self.update_pfs_of(extent, &pages, |page, old| self.state_after_crash(page, old))?;
        }
        Ok(())
    }

    fn state_after_crash(&self, page: PageId, old: PfsByte) -> Result<PfsByte, Error> {
        if !old.is_allocated() || old.is_iam() {
            return Ok(old);
        }
        match self.space.pool().read(page) {
            Ok(guard) => {
                let header = PageHeader::of(&guard);
                let is_own =
                    header.kind() == PageType::Data && header.alloc_unit() == self.unit.id();
                let fullness = Fullness::of_free_bytes(header.free_bytes.get());
                Ok(if is_own { old.with_fullness(fullness) } else { unformatted(old) })
            }
            // It may hold rows: it stays what PFS calls it.
            Err(BufferError::BadPage { .. }) => Ok(old),
            Err(error) => Err(error.into()),
        }
    }

    fn update_pfs_of(
        &self,
        extent: Extent,
        pages: &[PageId],
        mut new: impl FnMut(PageId, PfsByte) -> Result<PfsByte, Error>,
    ) -> Result<(), Error> {
        let (Some(first), Some(last)) = (pages.first().copied(), pages.last()) else {
            return Ok(());
        };
        debug_assert!(first.extent() == extent && last.extent() == extent);
        let count = last.page - first.page + 1;
        let old = self.space.pfs_bytes(first.file, first.page..first.page + count)?;
        let mut states = BTreeMap::new();
        for page in pages {
            let was = old.get((page.page - first.page) as usize).copied().unwrap_or_default();
            states.insert(*page, new(*page, was)?);
        }
        self.space.update_pfs(&self.unit, first, count, |page, old| {
            states.get(&page).copied().unwrap_or(old)
        })?;
        Ok(())
    }

    fn fullness_of(&self, page: PageId) -> Result<Fullness, Error> {
        let page = self.space.pool().read(page)?;
        Ok(Fullness::of_free_bytes(PageHeader::of(&page).free_bytes.get()))
    }
}

/// The byte of a page that was allocated and never formatted: it is freed.
fn unformatted(old: PfsByte) -> PfsByte {
    PfsByte::default().with_mixed(old.is_mixed())
}

fn by_extent(pages: BTreeSet<PageId>) -> BTreeMap<Extent, Vec<PageId>> {
    let mut extents: BTreeMap<Extent, Vec<PageId>> = BTreeMap::new();
    for page in pages {
        extents.entry(page.extent()).or_default().push(page);
    }
    extents
}
