//! Errors of the buffer pool.

use std::fmt;

use extentdb_base::{FileId, Lsn, OfflineCause, PageId};

use crate::WriteAheadError;

/// Why a page could not be read, or not be made durable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The page read is not the page asked for, or is damaged. Message 824 at the API boundary.
    #[error("page {page}: {fault}")]
    BadPage {
        /// The page asked for.
        page: PageId,
        /// What is wrong.
        fault: PageFault,
    },
    /// A read, write or sync failed. Message 823 at the API boundary.
    #[error("file {file}: I/O failed")]
    Disk {
        /// The file of the database.
        file: FileId,
        /// What was tried, and the reason given.
        source: extentdb_io::Error,
    },
    /// The pool has no file of this number.
    #[error("there is no file {file}")]
    NoFile {
        /// The number asked for.
        file: FileId,
    },
    /// Every frame is fixed.
    #[error("all {frames} frames of the buffer pool are in use")]
    NoFrame {
        /// Frames of the pool.
        frames: usize,
    },
    /// The log could not be made durable, so no page may be written. The pool is offline from here
    /// on.
    #[error("no page may be written before its log")]
    Log(#[from] WriteAheadError),
    /// The double-write area could not take copies of pages that were to be written: they were not.
    #[error("the double-write area failed")]
    DoubleWrite {
        /// Reason given by the operating system.
        source: extentdb_io::Error,
    },
    /// The double-write area has fewer segments than a group of pages needs. Internal: smaller
    /// groups are written.
    #[error("the double-write area is too small for a group of pages")]
    DoubleWriteTooSmall,
    /// The database went offline before. Pages can be read; nothing can be changed or written any
    /// more.
    #[error("offline: {0}")]
    Offline(OfflineCause),
}

impl Error {
    /// Has the disk no room for copies of pages?
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Error::DoubleWrite { source } if source.is_full())
    }
}

/// What is wrong with the bytes of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PageFault {
    /// The bytes are not those that were written.
    Checksum {
        /// Value in the header.
        stored: u32,
        /// Value of the bytes.
        computed: u32,
    },
    /// Some sectors are of another write than the others. Bit *s* stands for sector *s*.
    Torn {
        /// One bit per sector.
        sectors: u16,
    },
    /// The header names another page: a misdirected write or read.
    WrongPage {
        /// The page it names.
        found: PageId,
    },
    /// Zeros: never formatted.
    Zeroed,
    /// Not a page: the header version is not 1.
    HeaderVersion {
        /// The version found.
        found: u8,
    },
    /// The file ends before the page does.
    BeyondEnd {
        /// Length of the file in pages.
        file_pages: u64,
    },
    /// The page in memory has an LSN that was not announced by `set_dirty`: writing it could
    /// violate write-ahead logging.
    AheadOfLog {
        /// The LSN in the header.
        lsn: Lsn,
        /// The newest announced.
        announced: Lsn,
    },
}

impl fmt::Display for PageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageFault::Checksum { stored, computed } => {
                write!(f, "the checksum is {stored:#010x}, the bytes give {computed:#010x}")
            }
            PageFault::Torn { sectors } => {
                write!(f, "torn: sectors {sectors:#018b} are of another write")
            }
            PageFault::WrongPage { found } => write!(f, "the header names page {found}"),
            PageFault::Zeroed => f.write_str("nothing but zeros"),
            PageFault::HeaderVersion { found } => write!(f, "header version {found}"),
            PageFault::BeyondEnd { file_pages } => {
                write!(f, "the file ends after {file_pages} pages")
            }
            PageFault::AheadOfLog { lsn, announced } => {
                write!(f, "carries LSN {lsn}, but changes are announced up to {announced} only")
            }
        }
    }
}
