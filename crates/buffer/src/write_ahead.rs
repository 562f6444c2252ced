//! Write-ahead logging as the pool sees it: a log that can be made durable up to an LSN.

use std::error::Error;

use extentdb_base::Lsn;

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
