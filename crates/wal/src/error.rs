//! Errors of the log.

use extentdb_base::{Lsn, OfflineCause};
use extentdb_format::log::block::BuildError;
use extentdb_format::log::fault::{BlockFault, NoBlock, TailFault, VlfFault};

/// A log that cannot take a record, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no room for the record besides the space reserved for undo, and the log cannot
    /// grow. Message 9002 at the API boundary.
    #[error(
        "the log is full: {wanted} bytes wanted, {free} of {total} free, {reserved} of them reserved"
    )]
    Full {
        /// Bytes of the record, and those it wanted reserved.
        wanted: u64,
        /// Bytes that hold no active log.
        free: u64,
        /// Bytes reserved for undo.
        reserved: u64,
        /// Bytes of all VLFs.
        total: u64,
        /// Why the file could not be made longer, when that was tried.
        #[source]
        growth: Option<extentdb_io::Error>,
    },
    /// The database went offline before. Records that were not durable then are lost.
    #[error("offline: {0}")]
    Offline(OfflineCause),
    /// The disk failed. Message 823 at the API boundary.
    #[error(transparent)]
    Disk(#[from] extentdb_io::Error),
    /// The record is larger than the largest log block.
    #[error(
        "a log record of {bytes} bytes is larger than {most}, the largest that fits in a log block"
    )]
    RecordTooBig {
        /// Bytes of the record, slot included.
        bytes: usize,
        /// The most there can be.
        most: usize,
    },
    /// The record's header and payload do not match.
    #[error(transparent)]
    BadRecord(#[from] BuildError),
    /// No record of the log has this LSN: it was truncated, or never written.
    #[error("the log has no record {lsn}")]
    NoRecord {
        /// What was asked for.
        lsn: Lsn,
    },
    /// The file is not a sound log. Message 9004 at the API boundary.
    #[error("the log is damaged at offset {offset:#x}: {what}")]
    Corrupt {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: Damage,
    },
    /// A new log needs an empty file of at least this size in its specification.
    #[error("a log of {bytes} bytes is smaller than {least}")]
    TooSmall {
        /// What was asked for.
        bytes: u64,
        /// Smallest size of a log, in bytes.
        least: u64,
    },
    /// A new log was to be made in a file that has content.
    #[error("the file of a new log has {bytes} bytes already")]
    NotEmpty {
        /// Length of the file in bytes.
        bytes: u64,
    },
}

/// What makes a file no sound log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The first page is not the header of a log file.
    #[error("no header of a log file")]
    FileHeader,
    /// The header of a VLF, or their order.
    #[error(transparent)]
    Vlf(#[from] VlfFault),
    /// A VLF or a block of a format that this engine does not write.
    #[error("format {found}; only logs of format 4 (SQL Server 2008) are written")]
    Format {
        /// The format found.
        found: u8,
    },
    /// The log has no VLF in use, or none with the sequence number of the LSN to begin at.
    #[error("no VLF holds {lsn}")]
    NoVlf {
        /// Where the log was to begin.
        lsn: Lsn,
    },
    /// The log ends where it must continue.
    #[error("no log block {lsn}: {reason}")]
    NoBlock {
        /// LSN of the first record that the block must have.
        lsn: Lsn,
        /// Why it is none.
        reason: NoBlock,
    },
    /// The block is there without the record.
    #[error("log block without record {lsn}")]
    NoRecord {
        /// LSN that was asked for.
        lsn: Lsn,
    },
    /// A block is damaged.
    #[error("log block {lsn}: {fault}")]
    Block {
        /// LSN of its first record.
        lsn: Lsn,
        /// What is wrong.
        fault: BlockFault,
    },
    /// A block names another size of its predecessor than that has.
    #[error("log block {lsn} follows one of {expected} bytes, not {found}")]
    PreviousSize {
        /// LSN of its first record.
        lsn: Lsn,
        /// Size that it names.
        found: u16,
        /// Size of the block before it.
        expected: u16,
    },
    /// Sequence numbers are missing in the middle of the log.
    #[error("VLF {next:#x} follows {after:#x}")]
    MissingVlfs {
        /// Last number before the gap.
        after: u32,
        /// First missing number.
        next: u32,
    },
    /// A block is missing or torn that was durable: a later one was written when the log had been
    /// durable past it.
    #[error(
        "the log ends at {lsn} ({reason}), and block {by} proves that it was durable up to {durable}"
    )]
    EndsEarly {
        /// LSN of the first record that the missing block must have.
        lsn: Lsn,
        /// Why there is no block.
        reason: NoBlock,
        /// LSN of the block that proves it.
        by: Lsn,
        /// LSN up to which the log was durable by that block.
        durable: Lsn,
    },
    /// The caller knows of a durable record past the end of the log.
    #[error("the log ends at {end}, and record {durable} was durable")]
    EndsBefore {
        /// LSN of that record.
        durable: Lsn,
        /// LSN that the next block would have.
        end: Lsn,
    },
    /// After the end of the log there are bytes that no interrupted write leaves.
    #[error("past the end of the log, at {lsn}: {fault}")]
    Tail {
        /// The position, as the LSN of a block.
        lsn: Lsn,
        /// What is wrong.
        fault: TailFault,
    },
    /// The header of a VLF is older than the blocks in it.
    #[error("the header of VLF {sequence:#x} is older than its first block, {block}")]
    VlfHeader {
        /// Sequence number in the header.
        sequence: u32,
        /// LSN of the block.
        block: Lsn,
    },
    /// The header of a VLF is inside another one, whose size is damaged.
    #[error("a VLF begins at {at:#x}, within this one")]
    HiddenVlf {
        /// Offset in the file of the hidden VLF.
        at: u64,
    },
}
