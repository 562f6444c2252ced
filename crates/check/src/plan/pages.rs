//! Single pages for the plan: read, verified, restored, and what is wrong with them distinguished.

use extentdb_base::PageId;
use extentdb_format::PageBytes;
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{restore_torn, verify};
use extentdb_reader::PageSource;

/// The outcome of reading a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageState {
    /// It is the page asked for, and its protection holds.
    SoundPage,
    /// The file or the backup does not have it, or the system refused.
    Unreadable,
    /// Its protection says that these are not the bytes that were written.
    Broken,
    /// It is another page; `PageId::NONE` when it is all zero.
    Other(PageId),
}

impl PageState {
    pub(crate) fn is_sound(self) -> bool {
        self == PageState::SoundPage
    }
}

/// Reads a page and restores it. Whatever the state, `page` then holds what could be read, or
/// zeros.
pub(crate) fn load(source: &dyn PageSource, id: PageId, page: &mut PageBytes) -> PageState {
    if source.read(id, page).is_err() {
        page.fill(0);
        return PageState::Unreadable;
    }
    examine(id, page)
}

/// Judges a page that was read as `id`, and restores it.
#[inline]
pub(crate) fn examine(id: PageId, page: &mut PageBytes) -> PageState {
    if !verify(page).is_intact() {
        return PageState::Broken;
    }
    restore_torn(page);
    match PageHeader::of(page).page_id() {
        found if found == id => PageState::SoundPage,
        found => PageState::Other(found),
    }
}
