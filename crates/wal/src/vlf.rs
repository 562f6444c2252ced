//! Virtual log files: their sizes, which are free, and how one is taken into use.
//!
//! ```text
//!               take: next sequence, parity flipped; the header is durable before its first block
//!   unused ─────────────▶ current ──────────▶ full ────────────────▶ free ──▶ taken again
//!                              all blocks durable     truncated: its sequence number is below that
//!                                                     of the minimum LSN
//! ```
//!
//! The state is not stored: a VLF is free when it was never used, or when its sequence number is
//! below that of the VLF with the minimum LSN. What it held stays in it; parity and sequence number
//! tell the old blocks from new ones.
//!
//! Invariants
//! - Every VLF but the current one is full (its blocks, the last one a filler if need be, end at
//!   its end) or was never used.
//! - Sequence numbers grow by one with each VLF taken, in any file order.

use extentdb_base::size::PAGE_BYTES;
use extentdb_format::log::vlf::{VLF_GRAIN, VLF_HEADER_AREA};
use extentdb_format::log::{Parity, Vlf, VlfHeader};

/// The smallest VLF made: 248 KiB.
pub(crate) const MIN_VLF_BYTES: u64 = 0x3e000;
/// Sizes are multiples of this, but for the one that takes the remainder.
const BOUNDARY: u64 = 0x1_0000;
const _: () = assert!(
    BOUNDARY.is_multiple_of(VLF_GRAIN) && MIN_VLF_BYTES.is_multiple_of(VLF_GRAIN),
    "every VLF made is one that a reader accepts"
);
/// Format of the VLFs of SQL Server 2008.
pub(crate) const VLF_FORMAT: u8 = 4;

/// Sizes of the VLFs of a new file that has `bytes` after its first page. The last one takes the
/// remainder.
pub(crate) fn sizes_of_new_file(bytes: u64) -> Vec<u64> {
    let (count, piece) = divide(bytes);
    let mut sizes = vec![piece; count as usize - 1];
    sizes.push(bytes - piece * (count - 1));
    sizes
}

/// Sizes of the VLFs that a growth by `bytes` adds. The first one takes the remainder.
pub(crate) fn sizes_of_growth(bytes: u64) -> Vec<u64> {
    let mut sizes = sizes_of_new_file(bytes);
    sizes.reverse();
    sizes
}

/// How many VLFs, and the size of all but one: the rule of the versions up to 2012.
fn divide(bytes: u64) -> (u64, u64) {
    let count = match bytes {
        ..0x400_0000 => 4,
        0x400_0000..=0x4000_0000 => 8,
        _ => 16,
    };
    let count = (bytes / MIN_VLF_BYTES).clamp(1, count);
    let piece = (bytes / count / BOUNDARY * BOUNDARY).max(MIN_VLF_BYTES);
    (count, piece)
}

/// How a log file grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// By a number of pages.
    Pages(u32),
    /// By a percentage of its size.
    Percent(u32),
    /// Not at all.
    None,
}

/// How the file grows, and how far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowthRule {
    pub(crate) growth: Growth,
    pub(crate) max_bytes: u64,
}

impl GrowthRule {
    /// The length after the next growth; `None` when there is none.
    pub(crate) fn next_len(&self, len: u64) -> Option<u64> {
        let step = match self.growth {
            Growth::None | Growth::Pages(0) | Growth::Percent(0) => return None,
            Growth::Pages(pages) => u64::from(pages) * PAGE_BYTES as u64,
            Growth::Percent(percent) => (len / 100).saturating_mul(u64::from(percent)),
        };
        let wanted = len.saturating_add(step.max(MIN_VLF_BYTES)).next_multiple_of(BOUNDARY);
        let next = wanted.min(self.max_bytes / VLF_GRAIN * VLF_GRAIN);
        (next >= len.saturating_add(MIN_VLF_BYTES)).then_some(next)
    }
}

/// The header of a VLF that was never used.
pub(crate) fn unused(offset: u64, size: u64) -> VlfHeader {
    VlfHeader {
        signature: VlfHeader::SIGNATURE,
        format: VLF_FORMAT,
        size,
        offset,
        ..VlfHeader::default()
    }
}

/// The header of the next use of a VLF.
pub(crate) fn next_use(header: &VlfHeader, sequence: u32) -> VlfHeader {
    // The parity is flipped, never computed: a restore resets the count of uses and keeps the
    // parity.
    let parity = header.block_parity().map_or(Parity::Odd, Parity::flipped);
    VlfHeader {
        sequence,
        parity: parity.byte(),
        uses: header.uses.wrapping_add(1),
        format: VLF_FORMAT,
        ..header.clone()
    }
}

/// Bytes of a VLF for blocks.
pub(crate) fn body(vlf: &Vlf) -> u64 {
    vlf.header.size.saturating_sub(VLF_HEADER_AREA)
}

/// The VLFs of a log in file order, and how much of them is free.
#[derive(Debug)]
pub(crate) struct VlfTable {
    vlfs: Vec<Vlf>,
    /// VLFs with lower sequence numbers are free.
    oldest_active: u32,
    newest: u32,
    /// Of the free VLFs.
    free_count: u64,
    free_bytes: u64,
    total_bytes: u64,
}

impl VlfTable {
    pub(crate) fn new(vlfs: Vec<Vlf>, oldest_active: u32) -> Self {
        let newest = vlfs.iter().map(|vlf| vlf.header.sequence).max().unwrap_or(0);
        let mut table = VlfTable {
            vlfs,
            oldest_active,
            newest,
            free_count: 0,
            free_bytes: 0,
            total_bytes: 0,
        };
        table.count();
        table
    }

    fn count(&mut self) {
        let free = self.vlfs.iter().filter(|vlf| self.is_free(vlf));
        (self.free_count, self.free_bytes) =
            free.fold((0, 0), |(count, bytes), vlf| (count + 1, bytes + body(vlf)));
        self.total_bytes = self.vlfs.iter().map(body).sum();
    }

    fn is_free(&self, vlf: &Vlf) -> bool {
        vlf.header.sequence < self.oldest_active
    }

    pub(crate) fn get(&self, index: usize) -> &Vlf {
        &self.vlfs[index]
    }

    /// The VLF with this sequence number, and its index in file order.
    pub(crate) fn with_sequence(&self, sequence: u32) -> Option<&Vlf> {
        self.vlfs.iter().find(|vlf| sequence != 0 && vlf.header.sequence == sequence)
    }

    /// The VLF to be taken next: one that was never used, else the one that was free for the
    /// longest time. So the sequence numbers of the file never have a gap.
    pub(crate) fn next_free(&self) -> Option<usize> {
        // No file gets there by itself, but one may say that it is there.
        self.newest.checked_add(1)?;
        let free = self.vlfs.iter().enumerate().filter(|(_, vlf)| self.is_free(vlf));
        free.min_by_key(|(_, vlf)| vlf.header.sequence).map(|(index, _)| index)
    }

    /// Takes a free VLF into use and gives its new header, which is to be written before the first
    /// block.
    pub(crate) fn take(&mut self, index: usize) -> VlfHeader {
        debug_assert!(self.is_free(&self.vlfs[index]), "an active VLF is never overwritten");
        self.newest += 1;
        let header = next_use(&self.vlfs[index].header, self.newest);
        self.vlfs[index].header = header.clone();
        self.count();
        header
    }

    /// VLFs with lower sequence numbers are free from now on. The current one never is.
    pub(crate) fn free_below(&mut self, sequence: u32) {
        self.oldest_active = self.oldest_active.max(sequence.min(self.newest));
        self.count();
    }

    /// Adds VLFs at the end of the file.
    pub(crate) fn extend(&mut self, more: Vec<Vlf>) {
        self.vlfs.extend(more);
        self.count();
    }

    /// Where the last VLF ends.
    pub(crate) fn end(&self) -> u64 {
        self.vlfs.last().map_or(extentdb_format::log::vlf::FIRST_VLF_OFFSET, Vlf::end)
    }

    pub(crate) fn free_count(&self) -> u64 {
        self.free_count
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn vlfs(sizes: &[u64]) -> Vec<Vlf> {
        let mut offset = 0x2000;
        let layout = |size: &u64| {
            let vlf = Vlf { offset, header: unused(offset, *size) };
            offset += size;
            vlf
        };
        sizes.iter().map(layout).collect()
    }

    #[test]
    fn sizes_are_those_of_real_files() {
        let of_file = |bytes: u64| sizes_of_new_file(bytes - 0x2000);
        assert_eq!(of_file(0x7e000), [0x3e000; 2]);
        assert_eq!(of_file(MIB), [0x3e000, 0x3e000, 0x3e000, 0x44000]);
        assert_eq!(of_file(2 * MIB), [0x70000, 0x70000, 0x70000, 0xae000]);
        // A growth by 256 KiB of a file of 7E000.
        assert_eq!(sizes_of_growth(0x42000), [0x42000]);
        assert_eq!([63, 64, 1024, 1025].map(|mib| sizes_of_growth(mib * MIB).len()), [4, 8, 8, 16]);
        for bytes in (MIN_VLF_BYTES..3 * MIB).step_by(0x2000) {
            let sizes = sizes_of_growth(bytes);
            assert_eq!(sizes.iter().sum::<u64>(), bytes);
            assert!(
                sizes.iter().all(|size| *size >= MIN_VLF_BYTES && size.is_multiple_of(0x2000)),
                "{sizes:x?}"
            );
        }
    }

    #[test]
    fn growth_ends_on_a_boundary_and_at_the_limit() {
        let next = |growth, max_bytes, len| GrowthRule { growth, max_bytes }.next_len(len);
        assert_eq!(next(Growth::Pages(32), u64::MAX, 0x7e000), Some(0xc0000));
        assert_eq!(next(Growth::Percent(10), u64::MAX, 100 * MIB), Some(110 * MIB));
        assert_eq!(next(Growth::Percent(1), u64::MAX, MIB), Some(0x14_0000), "at least a VLF");
        assert_eq!(next(Growth::Pages(128), 0xc1fff, 0x7e000), Some(0xc0000));
        assert_eq!(next(Growth::Pages(128), 0xb0000, 0x7e000), None);
        assert_eq!(next(Growth::None, u64::MAX, 0x7e000), None);
        assert_eq!(next(Growth::Pages(0), u64::MAX, 0x7e000), None);
    }

    #[test]
    fn a_vlf_is_taken_with_the_next_number_and_the_other_parity() {
        let mut table = VlfTable::new(vlfs(&[0x4000, 0x4000, 0x6000]), 1);
        assert_eq!(
            (table.free_count(), table.free_bytes(), table.total_bytes()),
            (3, 0x8000, 0x8000)
        );
        let facts = |header: VlfHeader| (header.sequence, header.parity, header.uses);
        assert_eq!(facts(table.take(0)), (1, 0x40, 1));
        assert_eq!(table.next_free(), Some(1));
        assert_eq!(facts(table.take(1)), (2, 0x40, 1));
        assert_eq!(facts(table.take(2)), (3, 0x40, 1));
        assert_eq!(table.next_free(), None);
        table.free_below(3);
        assert_eq!((table.next_free(), table.free_bytes()), (Some(0), 0x4000));
        assert_eq!(facts(table.take(0)), (4, 0x80, 2));
        table.free_below(100);
        assert_eq!(table.next_free(), Some(1), "the current one is never free");
        assert_eq!(table.free_count(), 2);
        assert_eq!(facts(table.take(1)), (5, 0x80, 2));
        table.free_below(5);
        assert_eq!(facts(table.take(0)), (6, 0x40, 3));
    }
}
