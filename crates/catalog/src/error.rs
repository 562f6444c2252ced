//! What can go wrong while a catalog is read.

use extentdb_base::{AllocUnitId, ObjectId, PageId, Rid};
use extentdb_format::record::RecordFault;
use extentdb_types::DecodeError;

use crate::pages::PageError;

/// The catalog cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The boot page is not to be had.
    #[error("the boot page cannot be read")]
    Boot(#[source] PageError),
    /// Page (1:9) is not a boot page.
    #[error("page (1:9) is not a boot page: {0}")]
    NotBoot(String),
    /// A system table without which nothing can be found is missing.
    #[error("system table {name} (object ID {object}) was not found in the catalog")]
    MissingTable {
        /// Name of the system table, such as `sysrowsets`.
        name: &'static str,
        /// Its object id.
        object: ObjectId,
    },
}

/// Something in a table that could not be read; the rest was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A page is not to be had.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A page is not what its place in the structure says.
    #[error("page {page}: {what} (reached from {from})")]
    Misplaced {
        /// Page that could not be used.
        page: PageId,
        /// What it should be and is not.
        what: &'static str,
        /// The page that led here.
        from: PageId,
    },
    /// A page belongs to another allocation unit.
    #[error("page {page} belongs to allocation unit {found}, not {expected}")]
    Foreign {
        /// Page that could not be used.
        page: PageId,
        /// The unit walked.
        expected: AllocUnitId,
        /// The unit named in its header.
        found: AllocUnitId,
    },
    /// A walk came to a page it had been at.
    #[error("page {page} is reached twice (the second time from {from})")]
    Loop {
        /// Page that could not be used.
        page: PageId,
        /// The page that led here again.
        from: PageId,
    },
    /// A record does not add up.
    #[error("record {rid}: {fault:?}")]
    Record {
        /// Page and slot of the record.
        rid: Rid,
        /// What does not add up.
        fault: RecordFault,
    },
    /// A record of a compressed page does not add up.
    #[error("compressed record {rid}: {what}")]
    Compressed {
        /// Page and slot of the record.
        rid: Rid,
        /// What does not add up.
        what: String,
    },
    /// A value is not one of its type.
    #[error("record {rid}, column {column}")]
    Value {
        /// Page and slot of the record.
        rid: Rid,
        /// The column's name or number.
        column: String,
        /// What is wrong with the bytes.
        source: DecodeError,
    },
    /// An off-row value does not add up.
    #[error("off-row value at {rid}: {what}")]
    Lob {
        /// The record of the value that is wrong, or the row that points to it.
        rid: Rid,
        /// What does not add up.
        what: String,
    },
    /// The catalog contradicts itself.
    #[error("catalog: {0}")]
    Catalog(String),
}

impl Fault {
    /// The page that could not be read, or on which something is wrong.
    pub fn page(&self) -> Option<PageId> {
        match self {
            Fault::Page(error) => Some(error.page()),
            Fault::Misplaced { page, .. }
            | Fault::Foreign { page, .. }
            | Fault::Loop { page, .. } => Some(*page),
            Fault::Record { rid, .. }
            | Fault::Compressed { rid, .. }
            | Fault::Value { rid, .. }
            | Fault::Lob { rid, .. } => Some(rid.page),
            Fault::Catalog(_) => None,
        }
    }

    /// False when something was not there to be read, or is not supported: nothing is wrong with
    /// the database then.
    pub fn is_damage(&self) -> bool {
        match self {
            Fault::Page(error) => !matches!(
                error,
                PageError::NoFile { .. } | PageError::NotStored { .. } | PageError::Io { .. }
            ),
            Fault::Catalog(_) => false,
            _ => true,
        }
    }
}
