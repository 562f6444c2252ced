//! Errors: a copy that cannot be damaged, a crash that cannot be made.

use std::path::PathBuf;

use extentdb_base::PageId;

/// Errors of `damage`, `harmless` and `crash`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
    /// The number of paths is not the number of files.
    #[error("{found} paths were given for {expected} files")]
    PathCount { expected: usize, found: usize },
    /// A log for a crash cannot be written.
    #[error("the log of the crash cannot be made: {0}")]
    Log(String),
    /// No kind has this name.
    #[error("there is no fault {name}; known are {known}")]
    UnknownKind {
        /// The name given.
        name: String,
        known: String,
    },
    /// The database has no structure that this fault can be made in.
    #[error("this database has nothing to do the fault {kind} to: {needs}")]
    NotApplicable {
        kind: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// The file is not a data file.
    #[error("{} is not a data file: {what}", path.display())]
    NotDataFile {
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The database to be damaged could not be read.
    #[error("the database cannot be read")]
    Catalog(#[from] extentdb_catalog::Error),
    /// A page of the database to be damaged could not be read.
    #[error("page {page} cannot be read")]
    Page { page: PageId, source: extentdb_catalog::PageError },
}
