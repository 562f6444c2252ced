//! Single pages, verified: the bridge from a [`PageSource`] to the catalog and to row scans.

use extentdb_base::{FileId, PageId};
use extentdb_catalog::{PageError, PageGetter};
use extentdb_format::PageBytes;
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{Protection, restore_torn, verify};

use crate::source::{PageSource, ReadError, is_zero};

/// Hands out pages that are what they claim to be, with displaced torn-page bits restored.
#[derive(Clone, Copy)]
pub struct CheckedPages<'s> {
    source: &'s dyn PageSource,
}

impl<'s> CheckedPages<'s> {
    /// Checks the pages of `source`.
    pub fn new(source: &'s dyn PageSource) -> Self {
        CheckedPages { source }
    }

    /// The pages as they are stored.
    pub fn source(&self) -> &'s dyn PageSource {
        self.source
    }
}

impl PageGetter for CheckedPages<'_> {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        self.source.read(id, page).map_err(|error| page_error(id, error))?;
        check(id, page)
    }

    fn page_count(&self, file: FileId) -> u32 {
        self.source.page_count(file)
    }

    fn total_pages(&self) -> u64 {
        self.source.files().iter().map(|file| u64::from(file.pages)).sum()
    }
}

/// Verifies a page that was read as `id`, and restores it.
///
/// # Errors
/// Its protection fails, or it is another page. A page of zeros is fine: it was never formatted.
pub fn check(id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
    match verify(page) {
        Protection::Checksum { stored, computed } if stored != computed => {
            return Err(PageError::Checksum { page: id, stored, computed });
        }
        Protection::Torn { torn_sectors, .. } if torn_sectors != 0 => {
            return Err(PageError::Torn { page: id, torn_sectors });
        }
        _ => {}
    }
    restore_torn(page);
    let found = PageHeader::of(page).page_id();
    if found != id && !is_zero(page) {
        return Err(PageError::WrongPage { page: id, found });
    }
    Ok(())
}

fn page_error(id: PageId, error: ReadError) -> PageError {
    match error {
        ReadError::NoFile { .. } => PageError::NoFile { page: id },
        ReadError::BeyondEnd { pages, .. } => PageError::BeyondEnd { page: id, pages },
        ReadError::NotStored { .. } => PageError::NotStored { page: id },
        other => PageError::Io { page: id, source: Box::new(other) },
    }
}
