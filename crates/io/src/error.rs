//! Errors of the operating system.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of the operating system, or a file that is not the expected one. Always names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation on the file as a whole was refused.
    #[error("cannot {op} {}", path.display())]
    File {
        /// What was tried.
        op: FileOp,
        /// Path as it was opened.
        path: PathBuf,
        /// The reason the system gave.
        source: io::Error,
    },
    /// A transfer failed. Message 823 at the API boundary.
    #[error("{op} of {bytes} bytes at offset {offset} in {} failed", path.display())]
    Transfer {
        /// Read or write.
        op: FileOp,
        /// Path as it was opened.
        path: PathBuf,
        /// First byte of the transfer.
        offset: u64,
        /// Length of the transfer in bytes.
        bytes: usize,
        /// The reason the system gave.
        source: io::Error,
    },
    /// The file ends before the last byte requested.
    #[error("{} ends after {read} of {bytes} bytes at offset {offset}", path.display())]
    EndOfFile {
        /// Path as it was opened.
        path: PathBuf,
        /// First byte of the read.
        offset: u64,
        /// Length of the read in bytes.
        bytes: usize,
        /// Bytes that were there.
        read: usize,
    },
    /// The path names something that cannot hold a database.
    #[error("{} is {kind}, not a file", path.display())]
    NotAFile {
        /// Path as the caller gave it.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Somebody else has the file open for writing.
    #[error("{} is in use", path.display())]
    InUse {
        /// Path as it was opened.
        path: PathBuf,
    },
    /// A sync or durable write of this file failed before; what was written then may be lost, so
    /// nothing is promised any more.
    #[error("an earlier durable write of {} failed", path.display())]
    Poisoned {
        /// Path as it was opened.
        path: PathBuf,
    },
    /// The simulated power is off.
    #[error("cannot {op} {}: the power is off", path.display())]
    PowerLost {
        /// What was tried.
        op: FileOp,
        /// Path as it was opened.
        path: PathBuf,
    },
}

impl Error {
    /// [`Error::EndOfFile`] when fewer bytes were read than requested.
    pub(crate) fn unless_whole(
        path: &Path,
        offset: u64,
        bytes: usize,
        read: usize,
    ) -> Result<(), Error> {
        if read == bytes {
            return Ok(());
        }
        Err(Error::EndOfFile { path: path.to_owned(), offset, bytes, read })
    }

    /// Is there no room: on the disk, in the quota, or in the largest file there can be?
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            Error::File { source, .. } | Error::Transfer { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
            }
            _ => false,
        }
    }
}

/// What was being done to the file when it failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileOp {
    /// Opening an existing file.
    Open,
    /// Making a new file.
    Create,
    /// Asking for size, kind or identity.
    Inspect,
    /// A read at an offset.
    Read,
    /// A write at an offset.
    Write,
    /// Setting the length.
    Resize,
    /// Waiting until everything written is durable.
    Sync,
    /// Taking the file for oneself.
    Lock,
    /// Removing the file.
    Remove,
    /// Giving the file another name.
    Rename,
}

impl fmt::Display for FileOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileOp::Open => "open",
            FileOp::Create => "create",
            FileOp::Inspect => "inspect",
            FileOp::Read => "read",
            FileOp::Write => "write",
            FileOp::Resize => "resize",
            FileOp::Sync => "sync",
            FileOp::Rename => "rename",
            FileOp::Lock => "lock",
            FileOp::Remove => "remove",
        })
    }
}
