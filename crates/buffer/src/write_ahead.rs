//! Write-ahead logging as the pool sees it: a log that can be made durable up to an LSN.

use std::error::Error;

use extentdb_base::Lsn;

/// Whether the pages of a database outlive a restart.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// They do: write-ahead logging, double writes, syncs.
    #[default]
    Logged,
    /// They do not, as those of tempdb: a page is written to free its frame and for no other
    /// reason, without waiting for the log, without a copy, and is never synced.
    Ephemeral,
}

/// Makes log records durable. A page is written only after the records of its changes.
pub trait WriteAhead: Send + Sync {
    /// Returns when every record up to and including `lsn` is durable. Quick when it is already.
    ///
    /// Called by threads of any database that need a frame, while they hold guards of their pages:
    /// it waits for the log's own locks and its disk only, never for a page, a frame or a lock of
    /// data. It is served until the pool has been dropped.
    fn flush_to(&self, lsn: Lsn) -> Result<(), WriteAheadError>;
}

/// The log cannot be made durable, now or later.
#[derive(Debug, thiserror::Error)]
#[error("the log could not be made durable")]
pub struct WriteAheadError {
    source: Box<dyn Error + Send + Sync>,
}

impl WriteAheadError {
    /// With the log's own reason.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        WriteAheadError { source: source.into() }
    }
}
