//! Does a block of the log begin here?

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::STEP;
use crate::log::block::{BlockHeader, MAX_BLOCK_BYTES, Parity, Stamp, stamp};
use crate::log::fault::NoBlock;
use crate::log::field::Field;
use crate::log::source::LogBytes;
use crate::log::vlf::Vlf;

/// Bytes read at once.
const WINDOW_BYTES: u64 = 256 << 10;

/// What lies at a place.
#[derive(Debug)]
pub(super) enum Probe {
    /// A block with these disk bytes.
    Block {
        /// Its disk bytes.
        disk: Vec<u8>,
        /// The LSN it names itself by.
        lsn: Lsn,
    },
    /// None, and why.
    None(NoBlock),
}

/// Number of a block at a place in its VLF; saturates far after the largest VLF.
pub(super) fn block_number(position: u64) -> u32 {
    u32::try_from(position / STEP).unwrap_or(u32::MAX)
}

/// A stretch of the log file held in memory.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// `len` bytes at a place in a VLF, which must lie within it.
    pub(super) fn bytes<S: LogBytes>(
        &mut self,
        source: &S,
        vlf: &Vlf,
        position: u64,
        len: usize,
    ) -> Result<&[u8], S::Error> {
        let at = vlf.offset + position;
        let covered = at >= self.start && at + len as u64 <= self.start + self.bytes.len() as u64;
        if !covered {
            let wanted = WINDOW_BYTES.min(vlf.end() - at).max(len as u64);
            self.bytes.resize(wanted as usize, 0);
            self.start = at;
            if let Err(error) = source.read_at(at, &mut self.bytes) {
                // What a failed read left must not be taken for the file's bytes.
                self.bytes.clear();
                return Err(error);
            }
        }
        let skip = (at - self.start) as usize;
        Ok(self.bytes.get(skip..).and_then(|rest| rest.get(..len)).unwrap_or_default())
    }

    /// Looks for the block that the log must continue with at this place.
    pub(super) fn probe<S: LogBytes>(
        &mut self,
        source: &S,
        vlf: &Vlf,
        position: u64,
    ) -> Result<Probe, S::Error> {
        let Some(parity) = vlf.header.block_parity() else {
            return Ok(Probe::None(NoBlock::NeverWritten));
        };
        let expected = Lsn::new(vlf.header.sequence, block_number(position), 1);
        self.probe_for(source, vlf, position, |stamp, lsn| match stamp.parity() {
            Some(found) if found != parity => Err(NoBlock::Parity { found: stamp.0 }),
            _ if lsn != expected => Err(NoBlock::Lsn { found: lsn }),
            _ => Ok(()),
        })
    }

    /// Looks for a block of any use of the VLF at this place; `accept` judges its first stamp and
    /// the LSN it names.
    pub(super) fn probe_for<S: LogBytes>(
        &mut self,
        source: &S,
        vlf: &Vlf,
        position: u64,
        accept: impl FnOnce(Stamp, Lsn) -> Result<(), NoBlock>,
    ) -> Result<Probe, S::Error> {
        let room = vlf.header.size.saturating_sub(position);
        if room < STEP || block_number(position) == u32::MAX {
            return Ok(Probe::None(NoBlock::VlfFull));
        }
        let (size, lsn, parity) =
            match read_first_sector(self.bytes(source, vlf, position, SECTOR_BYTES)?, room, accept)
            {
                Ok(found) => found,
                Err(reason) => return Ok(Probe::None(reason)),
            };
        let disk = self.bytes(source, vlf, position, size)?;
        Ok(match find_torn_sector(disk, parity) {
            Some(torn) => Probe::None(torn),
            None => Probe::Block { disk: disk.to_vec(), lsn },
        })
    }

    /// The next place after `position` where a block of the log begins. Every byte looked at is
    /// taken from `budget`.
    pub(super) fn search<S: LogBytes>(
        &mut self,
        source: &S,
        vlf: &Vlf,
        position: u64,
        budget: &mut u64,
    ) -> Result<Option<u64>, S::Error> {
        let mut next = position + STEP;
        while next < vlf.header.size && *budget >= STEP {
            *budget -= STEP;
            match self.probe(source, vlf, next)? {
                Probe::Block { .. } => return Ok(Some(next)),
                Probe::None(NoBlock::NeverWritten) => next = skip_hole(source, vlf, next),
                Probe::None(_) => next += STEP,
            }
        }
        Ok(None)
    }
}

/// The next place to look at after one that was never written.
pub(super) fn skip_hole<S: LogBytes>(source: &S, vlf: &Vlf, position: u64) -> u64 {
    let data = source.next_data(vlf.offset + position).saturating_sub(vlf.offset);
    // VLFs lie on multiples of 8 KiB, so rounding down keeps to the sectors of the VLF.
    (data / STEP * STEP).max(position + STEP)
}

/// Size, LSN and parity of the block that begins with `sector`. Of its bytes, only the first is not
/// as written.
fn read_first_sector(
    sector: &[u8],
    room: u64,
    accept: impl FnOnce(Stamp, Lsn) -> Result<(), NoBlock>,
) -> Result<(usize, Lsn, Parity), NoBlock> {
    let stamp = Stamp(sector.first().copied().unwrap_or(0));
    if stamp.is_unwritten() {
        return Err(NoBlock::NeverWritten);
    }
    let (true, Some(parity)) = (stamp.is_first(), stamp.parity()) else {
        return Err(NoBlock::NotFirstSector { found: stamp.0 });
    };
    let size = u16::read(sector, BlockHeader::SIZE_AT).unwrap_or(0);
    let lsn = Lsn::read(sector, BlockHeader::LSN_AT).unwrap_or_default();
    accept(stamp, lsn)?;
    let bytes = usize::from(size);
    if bytes == 0 || bytes % SECTOR_BYTES != 0 || bytes > MAX_BLOCK_BYTES || u64::from(size) > room
    {
        return Err(NoBlock::Size { size });
    }
    Ok((bytes, lsn, parity))
}

/// The first sector that says the block was not written as a whole.
fn find_torn_sector(disk: &[u8], parity: Parity) -> Option<NoBlock> {
    let last = (disk.len() / SECTOR_BYTES).saturating_sub(1);
    stamp::stamps(disk)
        .enumerate()
        .find(|(sector, stamp)| {
            stamp.parity() != Some(parity) || (*sector == last && !stamp.is_last())
        })
        .map(|(sector, stamp)| NoBlock::Torn { sector, found: stamp.0 })
}
