//! Log blocks: the unit in which the log is written.
//!
//! ```text
//! offset size field          note
//!     00    1 format         2 to 6; on disk a stamp lies here and the format number in the
//!                            block's last byte
//!     02    2 record_count   records in the block; 0 in a filler block
//!     04    2 used           bytes in use, slot array included
//!     06    2 size           bytes of the block, a multiple of the sector size, at most F000
//!     08    2 flags          bit 0 always, bit 1 checksum
//!     0A    2 previous_size  size of the block before, across VLF borders too
//!     0C   10 first_lsn      LSN of the first record: VLF sequence, place in the VLF / 512, 1
//!     18    4 checksum       formats 3 to 6
//!     30    8 written_at     format 6
//!            records         from 18 (format 2), 1C (3), 28 (4), 30 (5) or 48 (6)
//!            slot array      u16 each, down from `used`: the offset of record 1 lies at used - 2
//!            free
//!            displaced bytes one per sector, up from the end: see [`stamp`]
//! ```
//!
//! Offsets are hexadecimal. Two forms: *disk bytes* carry the stamps, *logical bytes* the displaced
//! bytes back in their place. The checksum is over disk bytes, everything else is read from logical
//! ones.
//!
//! What a crash can tear: sectors are written in any order. The header and the first record lie in
//! the first sector, so no field of the header is torn from another; `size` and the stamps of the
//! other sectors say whether the rest of the block arrived, and the checksum whether it is of the
//! same write.
//!
//! Invariants
//! - `used + sectors <= size`, so the displaced bytes overwrite nothing.
//! - A block is found where its `first_lsn` says, never elsewhere.
//!
//! Observed in real files of versions 539 to 904; every block of formats 4, 5 and 6 seen with a
//! checksum passed it.

mod build;
pub mod checksum;
pub mod mark;
pub mod stamp;
#[cfg(test)]
mod tests;
mod view;

pub use build::{BlockBuilder, BuildError};
pub use checksum::BlockChecksum;
pub use stamp::{Parity, Stamp};
pub use view::{BlockBuf, BlockView};

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::field::fixed_part;
use super::time::LogTime;

/// The largest block.
pub const MAX_BLOCK_BYTES: usize = 0xf000;

/// Format of a log block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockFormat {
    /// SQL Server 2000.
    V2,
    /// SQL Server 2005.
    V3,
    /// SQL Server 2008 and 2008 R2.
    V4,
    /// SQL Server 2012 to 2016.
    V5,
    /// SQL Server 2019; by public reports from 2017 on.
    V6,
}

impl BlockFormat {
    /// All formats, oldest first.
    pub const ALL: [BlockFormat; 5] =
        [BlockFormat::V2, BlockFormat::V3, BlockFormat::V4, BlockFormat::V5, BlockFormat::V6];

    /// The format of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.number() == number)
    }

    /// The number on disk.
    pub const fn number(self) -> u8 {
        match self {
            BlockFormat::V2 => 2,
            BlockFormat::V3 => 3,
            BlockFormat::V4 => 4,
            BlockFormat::V5 => 5,
            BlockFormat::V6 => 6,
        }
    }

    /// Bytes of the block header: where the first record lies.
    pub const fn header_bytes(self) -> usize {
        match self {
            BlockFormat::V2 => 0x18,
            BlockFormat::V3 => 0x1c,
            BlockFormat::V4 => 0x28,
            BlockFormat::V5 => 0x30,
            BlockFormat::V6 => 0x48,
        }
    }

    /// What the start of a record is aligned to. In formats 4 and 5 all 21 514 records seen lie on
    /// multiples of 8; the headers of formats 2 and 3 end on multiples of 4 only.
    pub const fn record_align(self) -> usize {
        match self {
            BlockFormat::V2 | BlockFormat::V3 => 4,
            BlockFormat::V4 | BlockFormat::V5 | BlockFormat::V6 => 8,
        }
    }
}

const _: () = assert!(
    BlockFormat::V6.header_bytes() <= SECTOR_BYTES,
    "the header lies in the first sector: a crash leaves it as it was, or whole"
);

fixed_part! {
    /// The header of a log block.
    pub struct BlockHeader from 0x0 {
        /// Format number, 2 to 6.
        0x0 format: u8,
        /// Records in the block.
        0x2 record_count: u16,
        /// Bytes in use, slot array included.
        0x4 used: u16,
        /// Bytes of the block.
        0x6 size: u16,
        /// Bit 0 always set; bit 1 a checksum is present.
        0x8 flags: u16,
        /// Size of the previous block; 0 for the first of a log.
        0xa previous_size: u16,
        /// LSN of the first record.
        0xc first_lsn: Lsn,
        /// Checksum over the disk bytes; formats 3 to 6.
        0x18 checksum: Option<u32>,
        /// When the block was written; format 6.
        0x30 written_at: Option<LogTime>,
    }
}

impl BlockHeader {
    /// Offset of the block's size.
    pub(crate) const SIZE_AT: usize = 0x6;
    /// Offset of the LSN of the first record.
    pub(crate) const LSN_AT: usize = 0xc;
    /// Flag bit that is always set.
    pub const FLAG_ALWAYS: u16 = 0x0001;
    /// Flag bit of a block with checksum.
    pub const FLAG_CHECKSUM: u16 = 0x0002;

    /// True when the block carries a checksum.
    pub fn has_checksum(&self) -> bool {
        self.flags & Self::FLAG_CHECKSUM != 0 && self.checksum.is_some()
    }

    /// LSN of a record of the block; `slot` counts from 1.
    pub fn lsn(&self, slot: u16) -> Lsn {
        Lsn { slot, ..self.first_lsn }
    }
}

/// Whole sectors in a number of bytes.
pub(crate) const fn sectors(bytes: usize) -> usize {
    bytes / SECTOR_BYTES
}
