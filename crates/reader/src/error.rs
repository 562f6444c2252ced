//! Why a database cannot be opened.

use std::path::PathBuf;

use extentdb_base::FileId;
use extentdb_types::Guid;

/// The files cannot be opened as a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Error {
    /// No path at all.
    #[error("no file was given")]
    NothingGiven,
    /// The file has no bytes.
    #[error("{}: the file is empty", path.display())]
    Empty { path: PathBuf },
    /// Neither data file nor log nor backup.
    #[error("{}: not a SQL Server data file, log or backup: {what} ({bytes} bytes)", path.display())]
    NotRecognized {
        path: PathBuf,
        bytes: u64,
        /// Its first bytes, described.
        what: &'static str,
    },
    /// The same file under two names.
    #[error("{} and {} are the same file", first.display(), second.display())]
    SameFile {
        /// The first name.
        first: PathBuf,
        second: PathBuf,
    },
    /// Two files claim one file id.
    #[error("{} and {} both say they are file {file} of the database", first.display(), second.display())]
    SameFileId {
        file: FileId,
        /// The first file.
        first: PathBuf,
        second: PathBuf,
    },
    /// Files of two databases.
    #[error("{} and {} belong to different databases: their binding ids differ", first.display(), second.display())]
    OtherDatabase {
        /// The first file.
        first: PathBuf,
        second: PathBuf,
    },
    /// A log that does not belong to the data files.
    #[error(
        "{} is the log of another database: its binding id is {log_id}, that of {} is {data_id}",
        log.display(), data.display()
    )]
    LogOfOtherDatabase {
        log: PathBuf,
        /// Its binding id.
        log_id: Guid,
        /// A data file.
        data: PathBuf,
        /// Its binding id.
        data_id: Guid,
    },
    /// Data files and backups together.
    #[error("{} is a data file, {} a backup: give one kind", file.display(), backup.display())]
    FilesAndBackups {
        /// A data file.
        file: PathBuf,
        backup: PathBuf,
    },
    /// Data files have no point in time but their end.
    #[error("{} is a data file: a stop needs a full backup and log backups", path.display())]
    StopWithoutBackup {
        /// A data file.
        path: PathBuf,
    },
    /// Transparent data encryption.
    #[error("{}: the database is encrypted (TDE): its pages cannot be read without the key", path.display())]
    Encrypted {
        /// A file that is encrypted by its header.
        path: PathBuf,
    },
    /// The catalog lies in file 1.
    #[error("the primary data file (file 1) is missing; given: file {}", list(given))]
    NoPrimary {
        /// The ids of the files given.
        given: Vec<FileId>,
    },
    /// A log has no tables.
    #[error("{}: this is a log file; give the data file it belongs to, or use `log`", path.display())]
    OnlyLog { path: PathBuf },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
    /// The backup cannot be read.
    #[error(transparent)]
    Backup(#[from] crate::backup::Error),
    /// The catalog cannot be read.
    #[error(transparent)]
    Catalog(#[from] extentdb_catalog::Error),
}

fn list(files: &[FileId]) -> String {
    files.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
