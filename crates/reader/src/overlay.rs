//! A page source with replaced pages: the result of redo and undo.
//!
//! ```text
//! read ──▶ OverlaySource ──▶ changed pages, in memory
//!                      └───▶ the source below, for all others: a file keeps its direct reads
//! ```
//!
//! A page that the log formatted may be past the end of the source: then the file has
//! grown, and what was not written of the growth is zero, as a server leaves it.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_io::File;

use crate::source::{PageSource, ReadError, SourceFile};

/// A page source with some of its pages replaced. `B` owns the source below or borrows it.
pub struct OverlaySource<B> {
    below: B,
    pages: HashMap<PageId, PageBuf>,
    extents: HashSet<Extent>,
    /// The files of the source below, with their length after replacement.
    files: Vec<SourceFile>,
}

impl<B: Deref<Target: PageSource> + Send + Sync> OverlaySource<B> {
    /// Lays pages, as they are to be read, over a source.
    pub fn new(below: B, pages: impl IntoIterator<Item = (PageId, PageBuf)>) -> Self {
        let pages: HashMap<PageId, PageBuf> = pages.into_iter().collect();
        let extents = pages.keys().map(|id| id.extent()).collect();
        let files = grown(below.files(), pages.keys());
        OverlaySource { below, pages, extents, files }
    }

    /// How many pages are replaced.
    pub fn overlaid_count(&self) -> usize {
        self.pages.len()
    }

    /// The replaced pages alone.
    pub(crate) fn into_pages(self) -> HashMap<PageId, PageBuf> {
        self.pages
    }

    /// Reads a run in which pages are replaced, piece by piece.
    fn read_mixed(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let mut id = first;
        let mut rest = buf;
        while !rest.is_empty() {
            let count = (rest.len() / PAGE_BYTES) as u32;
            let ids = (id.page..id.page.saturating_add(count)).map(|page| PageId { page, ..id });
            // One page at a time in extents that only replaced pages have.
            let plain = if self.is_new(id.extent()) {
                1
            } else {
                ids.take_while(|id| self.is_below(*id)).count()
            };
            let bytes = plain.max(1) * PAGE_BYTES;
            let (now, later) = rest.split_at_mut(bytes.min(rest.len()));
            match self.pages.get(&id) {
                Some(page) => now.copy_from_slice(page.get(..now.len()).unwrap_or_default()),
                // Never written pages of an extent that the log took: zero, as where a file has
                // grown.
                None if self.is_new(id.extent()) => now.fill(0),
                None => self.read_below(id, now)?,
            }
            id.page = id.page.saturating_add(plain.max(1) as u32);
            rest = later;
        }
        Ok(())
    }

    /// Only replaced pages lie in the extent: the source below has nothing of it.
    fn is_new(&self, extent: Extent) -> bool {
        self.extents.contains(&extent) && !self.below.is_stored(extent)
    }

    fn is_below(&self, id: PageId) -> bool {
        !self.pages.contains_key(&id) && !self.is_new(id.extent())
    }

    /// Reads pages that are not replaced. Pages past the old end of the file are zero.
    fn read_below(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let there = self.below.page_count(first.file).saturating_sub(first.page) as usize;
        let wanted = buf.len() / PAGE_BYTES;
        let end = u64::from(first.page) + wanted as u64;
        if wanted <= there || end > u64::from(self.page_count(first.file)) {
            return self.below.read_run(first, buf);
        }
        let (old, new) = buf.split_at_mut(there * PAGE_BYTES);
        new.fill(0);
        if old.is_empty() { Ok(()) } else { self.below.read_run(first, old) }
    }
}

/// The files, up to the end of the extent of the last replaced page.
fn grown<'p>(below: &[SourceFile], pages: impl Iterator<Item = &'p PageId>) -> Vec<SourceFile> {
    let mut files = below.to_vec();
    for page in pages {
        let end = page.extent().first_page().page.saturating_add(PAGES_PER_EXTENT);
        let file = files.iter_mut().find(|file| file.id == page.file);
        if let Some(file) = file.filter(|file| page.page >= file.pages) {
            file.pages = end;
            file.trailing_bytes = 0;
        }
    }
    files
}

impl<B: Deref<Target: PageSource> + Send + Sync> PageSource for OverlaySource<B> {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let count = (buf.len() / PAGE_BYTES) as u32;
        let last = PageId {
            page: first.page.saturating_add(count.saturating_sub(1)),
            ..first
        };
        let mut extents = first.extent().index..=last.extent().index;
        if extents.any(|index| self.has_overlay(Extent { file: first.file, index })) {
            self.read_mixed(first, buf)
        } else {
            self.read_below(first, buf)
        }
    }

    fn is_stored(&self, extent: Extent) -> bool {
        self.has_overlay(extent) || self.below.is_stored(extent)
    }

    fn plain_file(&self, file: FileId) -> Option<&File> {
        self.below.plain_file(file)
    }

    fn has_overlay(&self, extent: Extent) -> bool {
        self.extents.contains(&extent) || self.below.has_overlay(extent)
    }

    fn overlaid_page(&self, id: PageId) -> Option<&PageBytes> {
        self.pages.get(&id).map(|page| &**page).or_else(|| self.below.overlaid_page(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemoryFile;

    fn below() -> MemoryFile {
        let bytes = (0..24u8).flat_map(|page| [page; PAGE_BYTES]).collect();
        MemoryFile::new(FileId(1), bytes)
    }

    fn page(value: u8) -> PageBuf {
        PageBuf::from(&[value; PAGE_BYTES])
    }

    fn firsts(source: &dyn PageSource, first: u32, count: usize) -> Vec<u8> {
        let mut buf = vec![0xee; count * PAGE_BYTES];
        source.read_run(PageId::new(1, first), &mut buf).unwrap();
        buf.chunks(PAGE_BYTES).map(|page| page[0]).collect()
    }

    #[test]
    fn replaced_pages_are_read_by_any_run() {
        let below = below();
        let source = OverlaySource::new(
            &below as &dyn PageSource,
            [(PageId::new(1, 3), page(103)), (PageId::new(1, 17), page(117))],
        );
        assert_eq!(firsts(&source, 0, 5), [0, 1, 2, 103, 4]);
        assert_eq!(firsts(&source, 3, 1), [103]);
        assert_eq!(firsts(&source, 8, 8), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(firsts(&source, 15, 4), [15, 16, 117, 18]);
        assert_eq!(source.overlaid_page(PageId::new(1, 17)).map(|page| page[0]), Some(117));
        assert_eq!(source.overlaid_page(PageId::new(1, 18)), None);
        let extent = |index| Extent { file: FileId(1), index };
        assert_eq!([0, 1, 2].map(|index| source.has_overlay(extent(index))), [true, false, true]);
    }

    #[test]
    fn a_replaced_page_may_lie_past_the_end_of_the_source() {
        let below = below();
        let source =
            OverlaySource::new(&below as &dyn PageSource, [(PageId::new(1, 30), page(130))]);
        assert_eq!(firsts(&source, 30, 1), [130]);
        assert!(source.is_stored(PageId::new(1, 30).extent()));
        assert_eq!(source.page_count(FileId(1)), 32);
        assert_eq!(firsts(&source, 22, 10), [22, 23, 0, 0, 0, 0, 0, 0, 130, 0]);
        let mut buf = vec![0; 2 * PAGE_BYTES];
        let beyond = source.read_run(PageId::new(1, 31), &mut buf);
        assert!(matches!(beyond, Err(ReadError::BeyondEnd { .. })));
    }
}
