//! What the log has done since it was opened.

/// Counters of a log. All of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Number of records appended.
    pub records: u64,
    /// Bytes of these records, slots included.
    pub record_bytes: u64,
    /// Blocks written, fillers included.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub block_bytes: u64,
    /// Blocks that only filled the rest of a VLF.
    pub fillers: u64,
    /// Durable writes of runs of blocks.
    pub writes: u64,
    /// Microseconds that these took.
    pub write_us: u64,
    /// Writes by a leader, for itself and all callers that waited.
    pub flushes: u64,
    /// Calls of flush that found their record not durable yet. Divided by `flushes`: commits per
    /// flush.
    pub flush_waits: u64,
    /// Times that closed blocks were written because half of the log buffers were full.
    pub writes_ahead: u64,
    /// Times that a record waited for a log buffer.
    pub buffer_waits: u64,
    /// VLFs taken into use.
    pub vlfs_taken: u64,
    /// Times that the file grew.
    pub growths: u64,
}
