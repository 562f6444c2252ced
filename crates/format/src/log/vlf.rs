//! Virtual log files: the parts a log file is divided into.
//!
//! ```text
//! log file                                VLF
//! 0000     file header page (8 KiB)       0000  header, 64 bytes
//! 2000     VLF                            0040  zero, from 2016 on filler in the second 4 KiB
//! +size    VLF …                          2000  log blocks to the end
//!
//! offset size field         note
//!     00    1 signature     AB
//!     01    1 parity        00 never used, 40, 80
//!     02    1 format        2 (2000, 2005), 4 (2008, 2008 R2), 5 (2012 to 2019)
//!     04    4 sequence      FSeqNo; 0 never used
//!     0C    4 uses          since creation or restore
//!     10    8 size          bytes of the VLF
//!     18    8 offset        of the VLF in the file
//!     20   10 create_lsn    0 for VLFs made with the file, else the LSN when the file grew
//! ```
//!
//! Offsets are hexadecimal. No directory lists the VLFs: a reader hops by the size field, and VLFs
//! fill the file exactly. Their order in the log is that of the sequence numbers, which may have
//! gaps where a shrink removed a VLF.
//!
//! A crash tears no field of the header: it lies in one sector. `parity`, `sequence` and `uses`
//! change together when a VLF is used again, and the header is durable before the first block of
//! that use; `size`, `offset` and `create_lsn` never change.
//!
//! Invariants
//! - The walk ends: each hop goes forward by at least 16 KiB, and the number of VLFs is bounded.
//! - A VLF in the map lies within the file.
//!
//! Observed in real files of versions 539 to 904.

mod description;
#[cfg(test)]
mod tests;

pub use description::VlfDescription;

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::block::Parity;
use super::fault::VlfFault;
use super::field::{FixedPart, fixed_part};
use super::source::LogBytes;

/// Offset of the first VLF in a log file.
pub const FIRST_VLF_OFFSET: u64 = 0x2000;
/// Bytes of the header area of a VLF; its first block follows.
pub const VLF_HEADER_AREA: u64 = 0x2000;
/// Bytes of the header itself.
pub const VLF_HEADER_BYTES: usize = 64;
/// What sizes and offsets of VLFs are multiples of.
pub const VLF_GRAIN: u64 = 0x2000;
const _: () = assert!(
    VLF_HEADER_BYTES <= SECTOR_BYTES,
    "a header lies in one sector: a crash leaves the old one or the new one"
);
/// The smallest VLF: a header area and as much again for blocks.
const MIN_VLF_BYTES: u64 = VLF_HEADER_AREA + VLF_GRAIN;
/// More VLFs than any usable log has; SQL Server itself becomes slow at a few thousand.
const MAX_VLFS: usize = 1 << 18;
/// How many places the walk looks at to find the VLF after a damaged header: 512 MiB.
const MAX_PROBES: usize = 1 << 16;

fixed_part! {
    /// The header of a VLF.
    pub struct VlfHeader from 0x0 {
        /// AB in every VLF that was used.
        0x0 signature: u8,
        /// 00, 40 or 80 hex; flipped by each new use.
        0x1 parity: u8,
        /// Format of the VLF.
        0x2 format: u8,
        /// Sequence number; 0 when never used.
        0x4 sequence: u32,
        /// Uses since creation or restore.
        0xc uses: u32,
        /// Size of the VLF in bytes.
        0x10 size: u64,
        /// Offset in the file.
        0x18 offset: u64,
        /// LSN current when the file grew by this VLF.
        0x20 create_lsn: Lsn,
    }
}

impl VlfHeader {
    /// First byte of every VLF.
    pub const SIGNATURE: u8 = 0xab;

    /// Reads a header; `None` when there are fewer than 64 bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        VlfHeader::read(bytes.get(..VLF_HEADER_BYTES)?)
    }

    /// The header's bytes.
    pub fn to_bytes(&self) -> [u8; VLF_HEADER_BYTES] {
        let mut bytes = [0; VLF_HEADER_BYTES];
        self.write(&mut bytes);
        bytes
    }

    /// The whole header area: the header, zeros, and in the second 4 KiB `filler` (0 up to 2014, C0
    /// hex from 2016 on).
    pub fn to_area(&self, filler: u8) -> Vec<u8> {
        let mut area = self.to_bytes().to_vec();
        area.resize(VLF_HEADER_AREA as usize / 2, 0);
        area.resize(VLF_HEADER_AREA as usize, filler);
        area
    }

    /// True when the VLF holds or held a part of the log that its sequence number names.
    pub fn is_used(&self) -> bool {
        self.sequence != 0
    }

    /// The parity of its blocks.
    pub fn block_parity(&self) -> Option<Parity> {
        Parity::from_byte(self.parity)
    }

    /// What is wrong with the header alone.
    pub fn faults(&self) -> impl Iterator<Item = VlfFault> + use<> {
        let signature = (self.signature != Self::SIGNATURE)
            .then_some(VlfFault::Signature { found: self.signature });
        let parity = match self.parity {
            0 if self.is_used() => Some(VlfFault::UnstampedUse { sequence: self.sequence }),
            0 | 0x40 | 0x80 => None,
            found => Some(VlfFault::Parity { found }),
        };
        let format =
            (!matches!(self.format, 2..=5)).then_some(VlfFault::Format { found: self.format });
        [signature, parity, format].into_iter().flatten()
    }

    /// True when the size can be that of a VLF with `available` bytes left in the file.
    fn has_sane_size(&self, available: u64) -> bool {
        (MIN_VLF_BYTES..=available).contains(&self.size) && self.size.is_multiple_of(VLF_GRAIN)
    }
}

/// A VLF at its place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlf {
    /// Where it lies. The header's own `offset` should say the same.
    pub offset: u64,
    /// Header of the VLF, as read.
    pub header: VlfHeader,
}

impl Vlf {
    /// Offset in the file of a block of this VLF.
    pub fn block_offset(&self, lsn: Lsn) -> u64 {
        self.offset + 512 * u64::from(lsn.block)
    }

    /// Where the VLF ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.header.size)
    }
}

/// The VLFs of a log file and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VlfMap {
    vlfs: Vec<Vlf>,
    faults: Vec<(u64, VlfFault)>,
}

impl VlfMap {
    /// Walks a log file.
    pub fn read<S: LogBytes + ?Sized>(source: &S) -> Result<Self, S::Error> {
        let mut map = VlfMap::default();
        let mut offset = FIRST_VLF_OFFSET;
        while offset < source.len() {
            if map.vlfs.len() == MAX_VLFS {
                map.faults.push((offset, VlfFault::TooMany { limit: MAX_VLFS }));
                break;
            }
            offset = match map.take(source, offset)? {
                Some(next) => next,
                None => map.resume(source, offset)?,
            };
        }
        map.find_duplicates();
        Ok(map)
    }

    /// The VLFs that a backup's log part describes, which has no headers of its own. Those that
    /// cannot lie in a file of `file_len` bytes are left out and reported.
    pub fn from_descriptions(headers: impl IntoIterator<Item = VlfHeader>, file_len: u64) -> Self {
        let mut map = VlfMap::default();
        for header in headers {
            let offset = header.offset;
            let available = file_len.saturating_sub(offset);
            if header.has_sane_size(available) {
                map.faults.extend(header.faults().map(|fault| (offset, fault)));
                map.vlfs.push(Vlf { offset, header });
            } else {
                map.faults.push((offset, VlfFault::Size { size: header.size, available }));
            }
        }
        map.vlfs.sort_by_key(|vlf| vlf.offset);
        map.find_duplicates();
        map
    }

    /// Reads the VLF at `offset`. Gives the place of the next one, or `None` when the size is not
    /// to be trusted.
    fn take<S: LogBytes + ?Sized>(
        &mut self,
        source: &S,
        offset: u64,
    ) -> Result<Option<u64>, S::Error> {
        let available = source.len() - offset;
        let Some(header) = read_header(source, offset)? else { return Ok(None) };
        if header.signature != VlfHeader::SIGNATURE {
            self.faults.push((offset, VlfFault::Signature { found: header.signature }));
            return Ok(None);
        }
        if !header.has_sane_size(available) {
            self.faults.push((offset, VlfFault::Size { size: header.size, available }));
            return Ok(None);
        }
        self.faults.extend(header.faults().map(|fault| (offset, fault)));
        if header.offset != offset {
            self.faults.push((offset, VlfFault::Offset { stored: header.offset }));
        }
        let next = offset + header.size;
        self.vlfs.push(Vlf { offset, header });
        Ok(Some(next))
    }

    /// Looks for the VLF after a damaged header: a signature at a place that the header itself
    /// names.
    fn resume<S: LogBytes + ?Sized>(&mut self, source: &S, damaged: u64) -> Result<u64, S::Error> {
        let mut offset = damaged;
        for _ in 0..MAX_PROBES {
            offset = source.next_data(offset.saturating_add(VLF_GRAIN)).next_multiple_of(VLF_GRAIN);
            if offset >= source.len() {
                break;
            }
            let found = read_header(source, offset)?.is_some_and(|header| {
                header.signature == VlfHeader::SIGNATURE
                    && header.offset == offset
                    && header.has_sane_size(source.len() - offset)
            });
            if found {
                self.faults.push((damaged, VlfFault::Unreachable { bytes: offset - damaged }));
                return Ok(offset);
            }
        }
        self.faults.push((damaged, VlfFault::Unreachable { bytes: source.len() - damaged }));
        Ok(source.len())
    }

    fn find_duplicates(&mut self) {
        let mut faults = Vec::new();
        for pair in self.by_sequence().windows(2) {
            if let [one, other] = pair
                && one.header.sequence == other.header.sequence
            {
                faults.push((
                    other.offset,
                    VlfFault::DuplicateSequence { sequence: other.header.sequence },
                ));
            }
        }
        self.faults.extend(faults);
    }

    /// The VLFs in file order.
    pub fn vlfs(&self) -> &[Vlf] {
        &self.vlfs
    }

    /// The VLFs in use, oldest first.
    pub fn by_sequence(&self) -> Vec<&Vlf> {
        let mut used: Vec<&Vlf> = self.vlfs.iter().filter(|vlf| vlf.header.is_used()).collect();
        used.sort_by_key(|vlf| vlf.header.sequence);
        used
    }

    /// What is wrong, each with the offset of the VLF it belongs to.
    pub fn faults(&self) -> &[(u64, VlfFault)] {
        &self.faults
    }
}

/// The header at `offset`; `None` when the file ends before it does.
fn read_header<S: LogBytes + ?Sized>(
    source: &S,
    offset: u64,
) -> Result<Option<VlfHeader>, S::Error> {
    let mut bytes = [0; VLF_HEADER_BYTES];
    if source.len().saturating_sub(offset) < bytes.len() as u64 {
        return Ok(None);
    }
    source.read_at(offset, &mut bytes)?;
    Ok(VlfHeader::parse(&bytes))
}
