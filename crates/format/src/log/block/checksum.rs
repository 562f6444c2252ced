//! The checksum of a log block: the scheme of the page checksum for any number of sectors.
//!
//! For each 512-byte sector `s` of `n`, `x(s)` is the XOR of its 128 little-endian u32; the
//! checksum is the XOR over all `s` of `x(s)` rotated left by `n - 1 - s`. It is taken over the
//! bytes as they lie on disk, stamps in place, with the checksum field itself as 0. It is written
//! when the database verifies pages by checksum.
//!
//! Observed to hold for all 6 683 checksummed blocks of formats 4, 5 and 6 at hand.

use extentdb_base::size::SECTOR_BYTES;

use crate::log::field::{Field, write_chunk};

/// Offset of the field in the block header.
pub(crate) const CHECKSUM_OFFSET: usize = 0x18;

/// What the checksum of a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockChecksum {
    /// The block carries none.
    Absent,
    /// The block carries one.
    Present {
        /// In the header.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
}

impl BlockChecksum {
    /// True unless the two differ. A block without checksum counts as intact: nothing speaks
    /// against it.
    pub fn is_intact(self) -> bool {
        match self {
            BlockChecksum::Absent => true,
            BlockChecksum::Present { stored, computed } => stored == computed,
        }
    }
}

/// XOR of the little-endian words of a sector.
fn fold(sector: &[u8]) -> u32 {
    // Two words at a time: the compiler turns this into vector code, and the halves are joined once
    // per sector.
    let wide =
        sector.as_chunks::<8>().0.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
    (wide ^ (wide >> 32)) as u32
}

/// The checksum of disk bytes, whose stored checksum does not matter.
pub fn compute(disk: &[u8]) -> u32 {
    let sectors = disk.chunks_exact(SECTOR_BYTES);
    let count = sectors.len();
    let sum = sectors
        .enumerate()
        .fold(0, |sum, (s, sector)| sum ^ fold(sector).rotate_left(((count - 1 - s) % 32) as u32));
    // Taking the stored field as 0 is the same as taking it out again: it lies in sector 0.
    let stored = u32::read(disk, CHECKSUM_OFFSET).unwrap_or(0);
    sum ^ stored.rotate_left((count.saturating_sub(1) % 32) as u32)
}

/// Stores the checksum of disk bytes in their header.
pub fn seal(disk: &mut [u8]) {
    let computed = compute(disk);
    write_chunk(disk, CHECKSUM_OFFSET, &computed.to_le_bytes());
}

/// Changes bytes of the first sector and corrects the checksum in the header, which it must not
/// touch. A sector enters the checksum by itself, so the others are not read.
pub(crate) fn change_first_sector(disk: &mut [u8], change: impl FnOnce(&mut [u8; SECTOR_BYTES])) {
    let last = (disk.len() / SECTOR_BYTES).saturating_sub(1);
    let Some(sector) = disk.first_chunk_mut::<SECTOR_BYTES>() else { return };
    let before = fold(sector);
    let stored = u32::read(sector, CHECKSUM_OFFSET).unwrap_or(0);
    change(sector);
    let difference = (before ^ fold(sector)).rotate_left((last % 32) as u32);
    write_chunk(sector, CHECKSUM_OFFSET, &(stored ^ difference).to_le_bytes());
}
