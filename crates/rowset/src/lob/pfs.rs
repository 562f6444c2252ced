//! PFS free space of text pages: brought up to date at checkpoints, at a clean close and after
//! recovery. Text mix pages have the class of their free bytes; text tree pages are full, whatever
//! they hold (observed in real files).

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_buffer::Error as BufferError;
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::page::{PageHeader, PageType};

use super::LobUnit;
use crate::Error;

impl LobUnit {
    /// Gives every text mix page its true class of fullness, and pages that were allocated in
    /// advance back.
    ///
    /// # Errors
    /// A map cannot be read, or the log is full.
    pub fn update_pfs(&self) -> Result<(), Error> {
        self.runs.drain(|pages| {
            let Some(first) = pages.first() else { return Ok(()) };
            let count = pages.len() as u32;
            Ok(self.space.update_pfs(&self.unit, *first, count, |_, _| PfsByte::default())?)
        })?;
        let touched = self.free.lock().take_touched();
        for page in touched {
            let Some(fullness) = self.fullness_of(page)? else { continue };
            self.space.update_pfs(&self.unit, page, 1, |_, old| {
                if old.is_allocated() { old.with_fullness(fullness) } else { old }
            })?;
        }
        Ok(())
    }

    /// Number of pages whose class [`update_pfs`](Self::update_pfs) may update, and of runs that it
    /// frees.
    pub fn stale_pfs_pages(&self) -> usize {
        self.runs.count() + self.free.lock().touched_count()
    }

    /// After a crash: these pages, which may have been allocated in advance, get their class of
    /// fullness. Those that are no text pages of the unit are freed.
    ///
    /// # Errors
    /// As [`update_pfs`](Self::update_pfs).
    pub fn update_pfs_after_crash(
        &self,
        pages: impl IntoIterator<Item = PageId>,
    ) -> Result<(), Error> {
        for page in pages {
            let fullness = match self.fullness_of(page) {
                // It may hold records: it stays what PFS calls it.
                Err(Error::Page(BufferError::BadPage { .. })) => continue,
                fullness => fullness?,
            };
            self.space.update_pfs(&self.unit, page, 1, |_, old| match fullness {
                _ if !old.is_allocated() || old.is_iam() => old,
                Some(fullness) => old.with_fullness(fullness),
                None => PfsByte::default().with_mixed(old.is_mixed()),
            })?;
        }
        Ok(())
    }

    /// The class of a page; `None` for one that is no text page of the unit.
    fn fullness_of(&self, page: PageId) -> Result<Option<Fullness>, Error> {
        let page = self.space.pool().read(page)?;
        let header = PageHeader::of(&page);
        let is_own = header.alloc_unit() == self.unit.id();
        Ok(match header.kind() {
            PageType::TextMix if is_own => Some(Fullness::of_free_bytes(header.free_bytes.get())),
            PageType::TextTree if is_own => Some(Fullness::UpTo100),
            _ => None,
        })
    }

    /// Loads the free space of existing pages from PFS, once: the least room of each class. To be
    /// called before a page is inserted into or freed, so that no page that is about to be freed is
    /// found here.
    pub(super) fn load_free_space(&self) -> Result<(), Error> {
        if self.free.is_loaded() {
            return Ok(());
        }
        // A unit without pages has nothing to be read.
        let has_pages = !self.unit.first_iam().is_none();
        let pages = if has_pages { self.space.pages_of(&self.unit)? } else { Vec::new() };
        let mut known: Vec<(PageId, u16)> = Vec::new();
        for id in pages {
            let state = self.space.pfs_bytes(id.file, id.page..id.page + 1)?;
            let full =
                state.first().and_then(|state| state.fullness()).unwrap_or(Fullness::UpTo100);
            let room = PAGE_BODY_BYTES as u32 * u32::from(100 - full.percent()) / 100;
            known.push((id, room as u16));
        }
        let mut free = self.free.lock();
        if !free.is_loaded {
            known.into_iter().for_each(|(id, room)| free.file(id, room));
            free.is_loaded = true;
        }
        Ok(())
    }
}
