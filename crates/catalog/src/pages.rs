//! Where pages come from, as this crate sees it.

use std::error::Error as StdError;

use extentdb_base::{FileId, PageId};
use extentdb_format::PageBytes;

/// Hands out single pages of a database.
///
/// A page that is handed out carries the id asked for (or is all zero: never formatted), its
/// checksum or torn-page signature has been verified, and displaced torn-page bits are back in
/// their places.
pub trait PageGetter: Send + Sync {
    /// Copies a page into `page`.
    ///
    /// # Errors
    /// Says why the page is not to be had; `page` is then undefined.
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError>;

    /// Pages of a file, 0 when the file is not there.
    fn page_count(&self, file: FileId) -> u32;

    /// A rough bound for walks: pages of all files.
    fn total_pages(&self) -> u64;
}

/// Why a page is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The file is not among those given.
    #[error("page {page}: file {} of the database is not there", page.file)]
    NoFile {
        /// The page asked for.
        page: PageId,
    },
    /// The file is shorter.
    #[error("page {page} is past the end of the file, which has {pages} pages")]
    BeyondEnd {
        /// The page asked for.
        page: PageId,
        /// Pages of the file.
        pages: u32,
    },
    /// A backup does not carry the page's extent.
    #[error("page {page} is not in the backup")]
    NotStored {
        /// The page asked for.
        page: PageId,
    },
    /// What is stored at the page's place names another page.
    #[error("page {page} says in its header that it is {found}")]
    WrongPage {
        /// The page asked for.
        page: PageId,
        /// The page named in the header.
        found: PageId,
    },
    /// The bytes are not those that were written.
    #[error("page {page}: checksum {stored:#010x} in the header, {computed:#010x} computed")]
    Checksum {
        /// The page asked for.
        page: PageId,
        /// Value in the header.
        stored: u32,
        /// Value of the bytes.
        computed: u32,
    },
    /// Some sectors were not written with the others.
    #[error(
        "page {page} is torn: sectors {torn_sectors:#06x} (one bit each) were not written with the others"
    )]
    Torn {
        /// The page asked for.
        page: PageId,
        /// One bit per 512-byte sector.
        torn_sectors: u16,
    },
    /// The operating system refused.
    #[error("page {page} could not be read")]
    Io {
        /// The page asked for.
        page: PageId,
        /// What the system said.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl PageError {
    /// The page asked for.
    pub fn page(&self) -> PageId {
        match self {
            PageError::NoFile { page }
            | PageError::BeyondEnd { page, .. }
            | PageError::NotStored { page }
            | PageError::WrongPage { page, .. }
            | PageError::Checksum { page, .. }
            | PageError::Torn { page, .. }
            | PageError::Io { page, .. } => *page,
        }
    }
}
