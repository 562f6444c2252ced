//! Sector stamps: how a torn or stale log block is recognised.
//!
//! When a block is written, the first byte of each of its 512-byte sectors is replaced by a stamp,
//! and the byte that lay there moves to the end of the block: that of sector `i` to `size - 1 - i`.
//! Sectors are 512 bytes on every device.
//!
//! ```text
//! bit  7 6   parity of the VLF: 01 or 10, flipped with each new use
//! bit  4     first sector of a block
//! bit  3     last sector of a block
//! ```
//!
//! So 50 begins a block of parity 40, 40 continues it, 48 ends it, and 58 is a block of one sector.
//! A sector that was never written begins with 00, from SQL Server 2016 on with C0.
//!
//! Invariants
//! - All sectors of a block carry one parity, that of its VLF; after a torn write some carry the
//!   one before.
//! - `unstamp(stamp(x)) == x` when the last `sectors` bytes of `x` are free.

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::{BlockHeader, sectors};
use crate::log::fault::BlockFault;
use crate::log::field::Field;

/// Parity of a VLF in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parity {
    /// 40 hex: first use, third use …
    Odd,
    /// Bit 80 of the stamp.
    Even,
}

impl Parity {
    /// The byte on disk.
    pub const fn byte(self) -> u8 {
        match self {
            Parity::Odd => 0x40,
            Parity::Even => 0x80,
        }
    }

    /// The parity of a VLF header's byte; `None` for 00 and anything else.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x40 => Some(Parity::Odd),
            0x80 => Some(Parity::Even),
            _ => None,
        }
    }

    /// The parity of a block that begins with `sector` and names itself `lsn`, the LSN of its first
    /// record; `None` when no such block begins there.
    pub fn of_block(sector: &[u8], lsn: Lsn) -> Option<Self> {
        let stamp = Stamp(*sector.first()?);
        let names_itself = Lsn::read(sector, BlockHeader::LSN_AT) == Some(lsn);
        stamp.parity().filter(|_| names_itself && stamp.is_possible() && stamp.is_first())
    }

    /// The parity of the VLF's next use. A restore keeps the parity and resets the count of uses,
    /// so the parity must be flipped, never computed from the count.
    pub const fn flipped(self) -> Self {
        match self {
            Parity::Odd => Parity::Even,
            Parity::Even => Parity::Odd,
        }
    }
}

/// First byte of a sector on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp(pub u8);

impl Stamp {
    const FIRST: u8 = 0x10;
    const LAST: u8 = 0x08;
    const PARITY: u8 = 0xc0;

    /// The stamp of sector `index` of `count`.
    pub fn of(parity: Parity, index: usize, count: usize) -> Self {
        let first = if index == 0 { Self::FIRST } else { 0 };
        let last = if index + 1 == count { Self::LAST } else { 0 };
        Stamp(parity.byte() | first | last)
    }

    /// The parity; `None` for 00 and C0, which no write leaves.
    pub const fn parity(self) -> Option<Parity> {
        Parity::from_byte(self.0 & Self::PARITY)
    }

    /// True for the first sector of a block.
    pub const fn is_first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// True for the last sector of a block.
    pub const fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// True for a byte that some sector of some block is stamped with: a parity, and no bit that
    /// has no meaning.
    pub const fn is_possible(self) -> bool {
        self.parity().is_some() && self.0 & !(Self::PARITY | Self::FIRST | Self::LAST) == 0
    }

    /// True for a sector that was initialised and never written.
    pub const fn is_unwritten(self) -> bool {
        matches!(self.0, 0x00 | 0xc0)
    }
}

/// The stamps of a block's sectors.
pub fn stamps(disk: &[u8]) -> impl Iterator<Item = Stamp> {
    disk.chunks_exact(SECTOR_BYTES).filter_map(|sector| sector.first().map(|b| Stamp(*b)))
}

/// The first sector whose stamp is not the one that its place asks for.
pub fn verify_stamps(disk: &[u8], parity: Parity) -> Option<BlockFault> {
    let count = sectors(disk.len());
    stamps(disk).enumerate().find_map(|(sector, found)| {
        let expected = Stamp::of(parity, sector, count);
        (found != expected).then_some(BlockFault::Stamp {
            sector,
            found: found.0,
            expected: expected.0,
        })
    })
}

/// Turns disk bytes into logical bytes: the displaced bytes go back to the sectors' starts. Their
/// copies at the block's end stay.
pub fn unstamp(block: &mut [u8]) {
    for sector in 0..sectors(block.len()) {
        // The copies lie in the last sector after its first byte: 120 sectors at most move 120
        // bytes.
        let Some(displaced) =
            block.len().checked_sub(1 + sector).and_then(|at| block.get(at)).copied()
        else {
            return;
        };
        if let Some(target) = block.get_mut(sector * SECTOR_BYTES) {
            *target = displaced;
        }
    }
}

/// Turns logical bytes into disk bytes.
pub fn stamp(block: &mut [u8], parity: Parity) {
    let count = sectors(block.len());
    for sector in 0..count {
        let stamp = Stamp::of(parity, sector, count);
        let Some(first) = block.get_mut(sector * SECTOR_BYTES) else { return };
        let displaced = std::mem::replace(first, stamp.0);
        if let Some(target) = block.len().checked_sub(1 + sector).and_then(|at| block.get_mut(at)) {
            *target = displaced;
        }
    }
}
