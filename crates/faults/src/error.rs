//! Why a copy could not be damaged or a crash not be made.

use std::path::PathBuf;

use extentdb_base::PageId;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
    /// The number of paths is not the number of files.
    #[error("{found} paths were given for {expected} files")]
    PathCount {
        /// Data files.
        expected: usize,
        /// Paths.
        found: usize,
    },
    /// A log for a crash cannot be written.
    #[error("the log of the crash cannot be made: {0}")]
    Log(String),
    /// There is no such fault.
    #[error("there is no fault {name}; known are {known}")]
    UnknownKind {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },
    /// The database has nothing that this fault could be done to.
    #[error("this database has nothing to do the fault {kind} to: {needs}")]
    NotApplicable {
        /// The fault.
        kind: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// The file is not a data file.
    #[error("{} is not a data file: {what}", path.display())]
    NotDataFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The database to be damaged could not be read.
    #[error("the database cannot be read")]
    Catalog(#[from] extentdb_catalog::Error),
    /// A page of the database to be damaged could not be read.
    #[error("page {page} cannot be read")]
    Page {
        /// The page.
        page: PageId,
        /// Why.
        source: extentdb_catalog::PageError,
    },
}
