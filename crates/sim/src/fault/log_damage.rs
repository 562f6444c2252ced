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
use extentdb_format::log::block::Stamp;
use extentdb_io::MemDisk;

/// Most damage is done this close to the end of the log: before that is what no restart reads.
const TAIL_BYTES: u64 = 32 << 10;

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
    if before == after || is_last && looks_earlier(before[0], after[0]) {
        return None;
    }
    bytes[range.clone()].copy_from_slice(&after);
    memory.put(log, bytes);
    Some(format!(
        "{harm:?} in the log at byte {} (stamp {:#04x}, was {:#04x}), the last writes at {writes:?}",
        range.start, after[0], before[0]
    ))
}

/// Does the first byte of a sector, its stamp, say that it is of the other use of its VLF, and not
/// the first of a block, which would name its position? Nothing else in such a sector can be told
/// from what was there before the last write, wherever it comes from.
fn looks_earlier(before: u8, after: u8) -> bool {
    let after = Stamp(after);
    after.is_possible() && !after.is_first() && after.parity() != Stamp(before).parity()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_sector_of_the_other_use_looks_like_what_was_there_before() {
        // Parity 0x40 or 0x80; 0x10 marks the first sector of a block, 0x08 the last.
        assert!(looks_earlier(0x40, 0x80) && looks_earlier(0x98, 0x48));
        assert!(!looks_earlier(0x40, 0x48), "the same use");
        assert!(!looks_earlier(0x40, 0x90), "a first sector names its position");
        assert!(!looks_earlier(0x40, 0x81) && !looks_earlier(0x40, 0xc0), "no stamp of a log");
    }
}
