//! Do the headers of VLFs agree with the blocks after them?
//!
//! The header of a VLF is durable before its first block is written. So the first block is of the
//! use that the header names, or, when none was written since, of an earlier one. A newer one says
//! that the header is damaged, or was replaced by what it was before: then a part of the log is
//! hidden.
//!
//! Invariant: a VLF that a restore has made again (unused, and its parity kept) may hold what it
//! held before, stamped with that parity.

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::probe::block_number;
use crate::log::block::Stamp;
use crate::log::field::Field;
use crate::log::source::LogBytes;
use crate::log::vlf::{VLF_HEADER_AREA, Vlf, VlfMap};

/// A VLF whose first block is of a newer use than its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayUse {
    /// Where the VLF lies in the file.
    pub file_offset: u64,
    /// Sequence number in its header.
    pub header: u32,
    /// LSN that its first block names.
    pub block: Lsn,
}

/// Compares the first block of each VLF with the header.
pub(super) fn find<S: LogBytes>(source: &S, map: &VlfMap) -> Result<Vec<StrayUse>, S::Error> {
    let mut strays = Vec::new();
    for vlf in map.vlfs() {
        let mut sector = [0; SECTOR_BYTES];
        source.read_at(vlf.offset + VLF_HEADER_AREA, &mut sector)?;
        if let Some(block) = newer_use(vlf, &sector) {
            strays.push(StrayUse { file_offset: vlf.offset, header: vlf.header.sequence, block });
        }
    }
    Ok(strays)
}

/// The LSN of the block that begins with `sector`, when it is of a newer use than the header's.
fn newer_use(vlf: &Vlf, sector: &[u8; SECTOR_BYTES]) -> Option<Lsn> {
    let stamp = Stamp(sector[0]);
    let lsn = Lsn::read(sector, 0xc)?;
    let names_this_block = lsn.block == block_number(VLF_HEADER_AREA) && lsn.slot == 1;
    if !stamp.is_possible() || !stamp.is_first() || !names_this_block {
        return None;
    }
    let header = &vlf.header;
    let has_parity = stamp.parity() == header.block_parity();
    let is_restored = !header.is_used() && has_parity;
    let is_newer = lsn.vlf > header.sequence && !is_restored;
    let is_other = lsn.vlf == header.sequence && !has_parity;
    (is_newer || is_other).then_some(lsn)
}
