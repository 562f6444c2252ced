//! What the views of the log can find wrong, with the place of each.
//!
//! A fault is a statement about bytes, not an error: the view that reports it has read what it
//! could. Offsets are counted from the start of the structure the fault belongs to.

use extentdb_base::Lsn;

use super::op::Op;

/// What is wrong with a virtual log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VlfFault {
    /// The header does not begin with AB hex.
    #[error("VLF signature is {found:02x}, not ab")]
    Signature {
        /// The byte found.
        found: u8,
    },
    /// The parity byte is none of 00, 40 and 80 hex.
    #[error("VLF parity is {found:02x}, not 00, 40 or 80")]
    Parity {
        /// The byte found.
        found: u8,
    },
    /// A sequence number without the parity that every use of a VLF stamps.
    #[error("VLF {sequence:#x} is in use and has no parity")]
    UnstampedUse {
        /// VLF sequence number.
        sequence: u32,
    },
    /// The VLF format is none of the known ones.
    #[error("VLF format {found} is unknown")]
    Format {
        /// The byte found.
        found: u8,
    },
    /// The size cannot be: too small for a header and a block, no multiple of 8 KiB, or past the
    /// end of the file.
    #[error("VLF size {size} cannot be; {available} bytes are left in the file")]
    Size {
        /// The size in the header.
        size: u64,
        /// Bytes from the VLF's start to the end of the file.
        available: u64,
    },
    /// The header names another place than the one it lies at.
    #[error("VLF header names offset {stored:#x}")]
    Offset {
        /// The offset in the header.
        stored: u64,
    },
    /// Bytes that belong to no VLF: a header in front of them is damaged, or the file ends with
    /// them.
    #[error("{bytes} bytes belong to no VLF")]
    Unreachable {
        /// How many bytes.
        bytes: u64,
    },
    /// Two VLFs carry one sequence number.
    #[error("VLF sequence {sequence:#x} occurs twice")]
    DuplicateSequence {
        /// VLF sequence number, as stored.
        sequence: u32,
    },
    /// More VLFs than a log can have; the walk stopped.
    #[error("more than {limit} VLFs")]
    TooMany {
        /// Where the walk stopped.
        limit: usize,
    },
}

/// What is wrong with a log block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockFault {
    /// The format number is none of 2 to 6.
    #[error("log block format {found} is unknown")]
    Format {
        /// The number found.
        found: u8,
    },
    /// Fewer bytes than the header needs.
    #[error("log block of {bytes} bytes is shorter than its header")]
    TooShort {
        /// Bytes at hand.
        bytes: usize,
    },
    /// The header names another size than the block has.
    #[error("log block header names {stored} bytes, the block has {actual}")]
    Size {
        /// Size in the header.
        stored: u16,
        /// Bytes at hand.
        actual: usize,
    },
    /// The bytes in use reach into the displaced sector bytes, or do not hold header and slot
    /// array.
    #[error("{used} bytes used of a log block that may use {least} to {most}")]
    Used {
        /// Bytes in use by the header.
        used: u16,
        /// Header and slot array.
        least: usize,
        /// Size less one byte per sector.
        most: usize,
    },
    /// A sector does not carry the stamp that its place in the block asks for: the block is torn.
    #[error("sector {sector} is stamped {found:02x}, not {expected:02x}")]
    Stamp {
        /// Sector in the block, from 0.
        sector: usize,
        /// Stamp byte of the sector, as read.
        found: u8,
        /// Stamp byte that parity and position ask for.
        expected: u8,
    },
    /// The checksum over the bytes as they lie on disk is another one.
    #[error("log block checksum is {stored:08x}, computed {computed:08x}")]
    Checksum {
        /// Checksum in the header.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A slot does not point after its predecessor and before its successor; its record is not
    /// read.
    #[error("slot {slot} points to {offset}, out of order or outside the records")]
    Slot {
        /// Record, from 1.
        slot: u16,
        /// Offset in the slot array.
        offset: u16,
    },
    /// The first record does not follow the header.
    #[error("first record at {offset}, the header ends at {expected}")]
    FirstRecord {
        /// Offset of the first record.
        offset: u16,
        /// Header length of the format.
        expected: usize,
    },
    /// A record is wrong.
    #[error("record {slot}: {fault}")]
    Record {
        /// Record, from 1.
        slot: u16,
        /// What is wrong with it.
        fault: RecordFault,
    },
}

/// What is wrong with a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// Fewer bytes than a record header.
    #[error("{bytes} bytes are no record")]
    TooShort {
        /// Bytes at hand.
        bytes: usize,
    },
    /// The fixed part (format 2: the record) does not hold the header or reaches past the next
    /// record.
    #[error("fixed part of {fixed_len} bytes in a record of {stored}")]
    FixedLen {
        /// Length in the header.
        fixed_len: u16,
        /// Bytes up to the next record.
        stored: usize,
    },
    /// The elements reach past the next record.
    #[error("{count} elements do not fit in a record of {stored} bytes")]
    Elements {
        /// Count of elements.
        count: u16,
        /// Bytes up to the next record.
        stored: usize,
    },
    /// The fixed part ends before the last field that every record of its operation has.
    #[error("fixed part of {fixed_len} bytes, {op} needs {needed}")]
    ShortFixed {
        /// Operation of the record.
        op: Op,
        /// Bytes of the fixed part, header included.
        fixed_len: usize,
        /// Bytes up to the end of the last required field.
        needed: usize,
    },
}

/// Why the bytes at a place are not the next block of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoBlock {
    /// Less than a sector is left.
    #[error("the VLF is full")]
    VlfFull,
    /// The first byte is 00 or C0 hex: initialised and never written.
    #[error("never written")]
    NeverWritten,
    /// The first byte is no stamp of a block's first sector.
    #[error("first byte {found:02x} does not begin a block")]
    NotFirstSector {
        /// The byte found.
        found: u8,
    },
    /// The first sector was stamped by another use of the VLF.
    #[error("stamp {found:02x} is of another use of the VLF")]
    Parity {
        /// The stamp found.
        found: u8,
    },
    /// The size cannot be, or reaches past the VLF.
    #[error("block size {size} cannot be")]
    Size {
        /// The size in the header.
        size: u16,
    },
    /// The block says it is another one.
    #[error("the block names itself {found}")]
    Lsn {
        /// LSN of the first record according to the block.
        found: Lsn,
    },
    /// A later sector has another parity, or the last one is not stamped as the last: the write was
    /// torn.
    #[error("torn: sector {sector} is stamped {found:02x}")]
    Torn {
        /// Sector in the block, from 0.
        sector: usize,
        /// Stamp byte of the sector, as read.
        found: u8,
    },
}

/// What lies past the end of a log that no power cut leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TailFault {
    /// A sector that is neither zero nor stamped by the log.
    #[error("sector begins with {found:02x}, which the log never wrote")]
    Foreign {
        /// Its first byte.
        found: u8,
    },
    /// A sector stamped by another use of a VLF that is used for the first time.
    #[error("sector is stamped {found:02x} by another use, and the VLF had none")]
    FirstUse {
        /// Stamp byte of the sector, as read.
        found: u8,
    },
    /// A sector of this use lies where a block must begin, and begins none.
    #[error("sector stamped {found:02x} where a block must begin")]
    NotFirst {
        /// Stamp byte of the sector, as read.
        found: u8,
    },
    /// The first sector of a block names another place, or another use.
    #[error("block names itself {found}")]
    Lsn {
        /// LSN of the first record according to the block.
        found: Lsn,
    },
    /// The size of a block cannot be, or does not agree with the stamp of its first sector.
    #[error("block size {found} cannot be")]
    Size {
        /// The size in the header.
        found: u16,
    },
    /// A block has all its sectors and is not what was written.
    #[error(transparent)]
    Block(BlockFault),
}
