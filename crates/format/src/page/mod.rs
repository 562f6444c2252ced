//! A page of 8 KiB: header, protection, slot array, and the insertion and deletion of rows.

pub mod checksum;
pub mod edit;
pub mod header;
pub mod rows;
pub mod view;

use std::ops::{Deref, DerefMut};

use extentdb_base::size::PAGE_BYTES;

pub use edit::PageMut;
pub use header::{PageHeader, PageType};
pub use rows::{EditError, Growth, SlotRule};
pub use view::PageRef;

/// The bytes of a page.
pub type PageBytes = [u8; PAGE_BYTES];

/// A page that owns its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct PageBuf(Box<PageBytes>);

impl PageBuf {
    /// A page of zeros.
    pub fn zeroed() -> Self {
        PageBuf(Box::new([0; PAGE_BYTES]))
    }
}

impl From<&PageBytes> for PageBuf {
    fn from(bytes: &PageBytes) -> Self {
        PageBuf(Box::new(*bytes))
    }
}

impl Deref for PageBuf {
    type Target = PageBytes;

    fn deref(&self) -> &PageBytes {
        &self.0
    }
}

impl DerefMut for PageBuf {
    fn deref_mut(&mut self) -> &mut PageBytes {
        &mut self.0
    }
}
