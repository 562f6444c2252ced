//! A sector of the log of a crashed database is not what was written.
//!
//! Seen in the wild as: a log on a failing disk, found damaged by the restart that needs it; error
//! 9004. A torn end of the log is nothing of the kind: it has sectors of the last write that are
//! old, or still zero. The engine must detect: with any other sector damaged, an opening has all
//! acknowledged rows or is refused. Damage is never taken for the end of the log.

use std::ops::Range;
use std::path::Path;

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_io::MemDisk;

/// Most damage is done this close to the end of the log: before that is what no restart reads.
const TAIL_BYTES: u64 = 32 << 10;

/// Bits of a sector's stamp that tell the uses of a VLF apart.
const PARITY: u8 = 0xc0;

/// The new content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// One bit flipped.
    Bit,
    Zeros,
    /// Its earlier content.
    Old,
    /// Another sector of the same log.
    Other,
    Noise,
}

impl Harm {
    fn any(rng: &mut dyn Rng) -> Harm {
        [Harm::Bit, Harm::Zeros, Harm::Old, Harm::Other, Harm::Noise][rng.below(5) as usize]
    }

    /// True when an interrupted write could leave the same bytes.
    fn looks_torn(self) -> bool {
        matches!(self, Harm::Zeros | Harm::Old)
    }
}

/// Damages a used sector of a log; says how. `writes` are the last ones; `older` has the log as it
/// was before. `None` where nothing has changed, or where it looks like an interrupted write.
pub fn damage(
    memory: &MemDisk,
    older: &MemDisk,
    log: &Path,
    writes: &[Range<u64>],
    rng: &mut dyn Rng,
) -> Option<String> {
    let mut bytes = memory.contents(log)?;
    let sectors = (bytes.len() / SECTOR_BYTES) as u64;
    let sector = any_sector(sectors, writes, rng);
    let harm = Harm::any(rng);
    let range = at(sector);
    let is_last = writes.iter().any(|write| write.contains(&(range.start as u64)));
    let before = bytes.get(range.clone())?.to_vec();
    if before.iter().all(|byte| *byte == 0) || is_last && harm.looks_torn() {
        return None;
    }
    let after = match harm {
        Harm::Bit => turned(&before, rng),
        Harm::Zeros => vec![0; SECTOR_BYTES],
        Harm::Old => older.contents(log)?.get(range.clone())?.to_vec(),
        Harm::Other => bytes.get(at(any_sector(sectors, writes, rng)))?.to_vec(),
        Harm::Noise => (0..SECTOR_BYTES).map(|_| rng.next_u64() as u8).collect(),
    };
    // A sector of another use of its VLF looks like what was there before, wherever it comes from.
    let is_of_other_use = (before[0] ^ after[0]) & PARITY != 0;
    if before == after || is_last && harm == Harm::Other && is_of_other_use {
        return None;
    }
    bytes[range.clone()].copy_from_slice(&after);
    memory.put(log, bytes);
    Some(format!("{harm:?} in the log at byte {}, the last writes at {writes:?}", range.start))
}

fn at(sector: u64) -> Range<usize> {
    let start = sector as usize * SECTOR_BYTES;
    start..start + SECTOR_BYTES
}

/// Close to the end of the log for the most part.
fn any_sector(sectors: u64, writes: &[Range<u64>], rng: &mut dyn Rng) -> u64 {
    let end = writes.first().map_or(0, |write| write.end);
    match rng.below(4) {
        0 => rng.below(sectors.max(1)),
        _ => end.saturating_sub(1 + rng.below(TAIL_BYTES)) / SECTOR_BYTES as u64,
    }
}

fn turned(sector: &[u8], rng: &mut dyn Rng) -> Vec<u8> {
    let mut sector = sector.to_vec();
    let at = rng.below(sector.len() as u64) as usize;
    sector[at] ^= 1 << rng.below(8);
    sector
}
