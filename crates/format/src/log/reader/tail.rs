//! The tail of a log: does it end where its chain of blocks ends, or was it cut there by damage?
//!
//! ```text
//! chain of blocks │ end │ rest of the newest VLF
//!                       │ zeros                   never written, or cleared at the opening
//!                       │ sectors of earlier uses the other parity
//!                       │ sectors of this use     the last write: any of them may be missing
//! ```
//!
//! A log is written strictly in order: a write begins when the one before it is durable. So a power
//! cut leaves past the end what is left of *one* write, sector by sector new or as before. The rest
//! of the VLF is searched for what such a cut cannot leave:
//!
//! - a block whose durable mark names the end or a later place: the block missing at the end was
//!   durable when that one was written;
//! - a sector of this use where a block must begin that begins none, or whose header cannot be;
//! - a block that has all its sectors, and fails its checksum;
//! - a sector that is neither zero nor stamped by a use of this VLF.
//!
//! What no format can tell: sectors of the last write that left a mark, replaced by zeros or by
//! what lay there before, look like a torn write.
//!
//! Invariants
//! - A mark is taken from the first sector of a block, which is written as a whole or not at all;
//!   its block may be torn.
//! - What a power cut can leave of a single write is never reported, whatever sectors survive.

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::probe::{Window, block_number, skip_hole};
use super::{LogEnd, STEP};
use crate::log::block::{
    BlockBuf, BlockChecksum, BlockHeader, MAX_BLOCK_BYTES, Parity, Stamp, mark,
};
use crate::log::fault::{BlockFault, NoBlock, TailFault};
use crate::log::field::Field;
use crate::log::source::LogBytes;
use crate::log::vlf::{Vlf, VlfMap};

/// What lies past the end of the log in its VLF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The first thing, in file order, that no power cut leaves.
    pub damage: Option<TailDamage>,
    /// The block that proves most: the log was durable at least up to the end. The end is damage.
    pub proof: Option<TailProof>,
}

/// A block that was written when the log had been durable past its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailProof {
    /// LSN of the block that says so.
    pub by: Lsn,
    /// LSN up to which the log was durable then.
    pub durable: Lsn,
}

/// Damage past the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailDamage {
    /// Offset in the file of the damaged sector or block.
    pub file_offset: u64,
    /// The same place as the LSN of a block.
    pub lsn: Lsn,
    /// What is wrong there.
    pub fault: TailFault,
}

/// Whether a VLF can hold sectors of an earlier use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// It was used before.
    Used,
    /// By its header this is its first use.
    Fresh,
}

impl Before {
    /// A first use has the first parity; a restore resets the count and keeps the parity.
    fn of(vlf: &Vlf) -> Self {
        let is_first = vlf.header.uses < 2 && vlf.header.block_parity() == Some(Parity::Odd);
        if is_first { Before::Fresh } else { Before::Used }
    }
}

/// Searches from the end of the log to the end of its VLF.
pub(super) fn find<S: LogBytes>(
    source: &S,
    map: &VlfMap,
    end: &LogEnd,
) -> Result<LogTail, S::Error> {
    if end.reason == NoBlock::VlfFull {
        return Ok(LogTail::default());
    }
    let holds_end = |vlf: &&Vlf| (vlf.offset..vlf.end()).contains(&end.file_offset);
    let Some(vlf) = map.vlfs().iter().find(holds_end) else { return Ok(LogTail::default()) };
    let tail = Search::new(source, vlf, end, Before::of(vlf)).run()?;
    let is_unexpected_use =
        tail.damage.is_some_and(|damage| matches!(damage.fault, TailFault::FirstUse { .. }));
    if is_unexpected_use && super::leftovers::find(source, map, end, u64::MAX)?.stale_blocks > 0 {
        // Whole blocks of an earlier use say that the header's count does not know of it.
        return Search::new(source, vlf, end, Before::Used).run();
    }
    Ok(tail)
}

/// What a sector is.
enum Sector {
    /// Zeros, from 2016 on C0 bytes.
    Blank,
    /// Written by an earlier use.
    Earlier,
    /// The first of a block of this use.
    First(First),
    /// Another one of a block of this use.
    Other(Stamp),
    /// Nothing that the log ever wrote.
    Foreign(TailFault),
}

/// The first sector of a block of this use.
#[derive(Clone, Copy)]
struct First {
    stamp: Stamp,
    size: u16,
    lsn: Lsn,
    mark: Option<Lsn>,
}

/// A search through the rest of a VLF.
struct Search<'s, S> {
    source: &'s S,
    vlf: &'s Vlf,
    end: Lsn,
    before: Before,
    window: Window,
    position: u64,
    /// A block of this use begins at this position, if a sector of this use lies there.
    boundary: u64,
    found: LogTail,
}

impl<'s, S: LogBytes> Search<'s, S> {
    fn new(source: &'s S, vlf: &'s Vlf, end: &LogEnd, before: Before) -> Self {
        let position = end.file_offset - vlf.offset;
        Search {
            source,
            vlf,
            end: Lsn::new(vlf.header.sequence, block_number(position), 1),
            before,
            window: Window::default(),
            position,
            boundary: position,
            found: LogTail::default(),
        }
    }

    fn run(mut self) -> Result<LogTail, S::Error> {
        while self.vlf.header.size.saturating_sub(self.position) >= STEP {
            self.step()?;
        }
        Ok(self.found)
    }

    /// Judges what lies at the position, and goes on past it.
    fn step(&mut self) -> Result<(), S::Error> {
        let sector = self.sector(self.position)?;
        match sector {
            Sector::Blank => self.position = skip_hole(self.source, self.vlf, self.position),
            Sector::Earlier => self.position += STEP,
            Sector::Foreign(fault) => self.damaged(fault),
            Sector::Other(stamp) if self.position == self.boundary => {
                self.damaged(TailFault::NotFirst { found: stamp.0 });
            }
            Sector::Other(_) => self.position += STEP,
            Sector::First(first) => match self.header_fault(&first) {
                Some(fault) => self.damaged(fault),
                None => self.block(&first)?,
            },
        }
        Ok(())
    }

    /// Notes damage of the sector at the position, and goes on past it.
    fn damaged(&mut self, fault: TailFault) {
        self.note(self.position, fault);
        self.position += STEP;
    }

    fn note(&mut self, position: u64, fault: TailFault) {
        let lsn = Lsn::new(self.vlf.header.sequence, block_number(position), 1);
        let file_offset = self.vlf.offset + position;
        self.found.damage.get_or_insert(TailDamage { file_offset, lsn, fault });
    }

    /// What is wrong with the header of a block in its first sector.
    fn header_fault(&self, first: &First) -> Option<TailFault> {
        let expected = Lsn::new(self.vlf.header.sequence, block_number(self.position), 1);
        if first.lsn != expected {
            return Some(TailFault::Lsn { found: first.lsn });
        }
        let size = usize::from(first.size);
        let room = self.vlf.header.size - self.position;
        let is_sane = size > 0
            && size.is_multiple_of(SECTOR_BYTES)
            && size <= MAX_BLOCK_BYTES
            && size as u64 <= room;
        let agrees = first.stamp.is_last() == (size == SECTOR_BYTES);
        (!is_sane || !agrees).then_some(TailFault::Size { found: first.size })
    }

    /// Takes the mark of a block, and its checksum when none of its sectors is missing.
    fn block(&mut self, first: &First) -> Result<(), S::Error> {
        self.take_mark(first);
        let size = usize::from(first.size);
        let is_whole = self.has_all_sectors(size)?;
        if is_whole {
            let disk = self.window.bytes(self.source, self.vlf, self.position, size)?;
            let checksum = BlockBuf::from_disk(disk.to_vec()).checksum();
            if let BlockChecksum::Present { stored, computed } = checksum
                && stored != computed
            {
                let fault = BlockFault::Checksum { stored, computed };
                self.note(self.position, TailFault::Block(fault));
            }
        }
        self.position += size as u64;
        self.boundary = self.position;
        Ok(())
    }

    fn take_mark(&mut self, first: &First) {
        let Some(durable) = first.mark.filter(|durable| *durable >= self.end) else { return };
        if self.found.proof.is_none_or(|proof| proof.durable < durable) {
            self.found.proof = Some(TailProof { by: first.lsn, durable });
        }
    }

    /// Looks at the sectors of a block after its first one. False when some are missing or
    /// damaged.
    fn has_all_sectors(&mut self, size: usize) -> Result<bool, S::Error> {
        let Some(parity) = self.vlf.header.block_parity() else { return Ok(false) };
        let count = size / SECTOR_BYTES;
        let mut is_whole = true;
        for index in 1..count {
            let position = self.position + index as u64 * STEP;
            let expected = Stamp::of(parity, index, count);
            let found = match self.sector(position)? {
                Sector::Other(stamp) => stamp,
                Sector::First(first) => first.stamp,
                Sector::Blank | Sector::Earlier => {
                    is_whole = false;
                    continue;
                }
                Sector::Foreign(fault) => {
                    self.note(position, fault);
                    is_whole = false;
                    continue;
                }
            };
            if found != expected {
                let fault =
                    BlockFault::Stamp { sector: index, found: found.0, expected: expected.0 };
                self.note(position, TailFault::Block(fault));
                is_whole = false;
            }
        }
        Ok(is_whole)
    }

    fn sector(&mut self, position: u64) -> Result<Sector, S::Error> {
        let bytes = self.window.bytes(self.source, self.vlf, position, SECTOR_BYTES)?;
        Ok(classify(bytes, self.vlf, position, self.before))
    }
}

/// What a sector at a place in a VLF is.
fn classify(bytes: &[u8], vlf: &Vlf, position: u64, before: Before) -> Sector {
    let stamp = Stamp(bytes.first().copied().unwrap_or(0));
    if stamp.is_unwritten() {
        let is_blank = bytes.iter().all(|byte| *byte == stamp.0);
        let fault = TailFault::Foreign { found: stamp.0 };
        return if is_blank { Sector::Blank } else { Sector::Foreign(fault) };
    }
    if !stamp.is_possible() {
        return Sector::Foreign(TailFault::Foreign { found: stamp.0 });
    }
    let lsn = Lsn::read(bytes, BlockHeader::LSN_AT).unwrap_or_default();
    if stamp.parity() != vlf.header.block_parity() {
        return classify_earlier(stamp, lsn, vlf, position, before);
    }
    if !stamp.is_first() {
        return Sector::Other(stamp);
    }
    let size = u16::read(bytes, BlockHeader::SIZE_AT).unwrap_or(0);
    Sector::First(First { stamp, size, lsn, mark: mark::read(bytes) })
}

/// A sector with the other parity: of an earlier use, unless its header says that it is not.
fn classify_earlier(stamp: Stamp, lsn: Lsn, vlf: &Vlf, position: u64, before: Before) -> Sector {
    if before == Before::Fresh {
        return Sector::Foreign(TailFault::FirstUse { found: stamp.0 });
    }
    let names_this_block = lsn.block == block_number(position) && lsn.slot == 1;
    if stamp.is_first() && (lsn.vlf == vlf.header.sequence || !names_this_block) {
        return Sector::Foreign(TailFault::Lsn { found: lsn });
    }
    Sector::Earlier
}
