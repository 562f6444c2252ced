//! What lies past the end of the log.
//!
//! A VLF that is used again is not cleared: whole blocks of its earlier use may follow the end of
//! the log. They are harmless, because they carry the other parity and an older sequence number.
//! Blocks of the *current* use past the end are another matter: they say that the block at the
//! end was written once and is now damaged, so that what follows it is lost. Unless they bear a
//! durable mark before the end: then they belong to the last write, which a power cut tore.

use extentdb_base::Lsn;

use super::probe::{Probe, Window, skip_hole};
use super::{LogEnd, STEP};
use crate::log::block::{Parity, Stamp, mark};
use crate::log::fault::NoBlock;
use crate::log::source::LogBytes;
use crate::log::vlf::{Vlf, VlfMap};

/// What lies past the end of the log in its VLF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Whole blocks of an earlier use of the VLF.
    pub stale_blocks: u64,
    /// Lowest and highest sequence number they name.
    pub stale_sequences: Option<(u32, u32)>,
    /// Whole blocks of the current use: the log should have gone on.
    pub lost_blocks: u64,
    /// LSN of the first of them.
    pub first_lost: Option<Lsn>,
    /// Whole blocks of the current use that were never durable, by their marks.
    pub torn_blocks: u64,
    /// True when the search reached the end of the VLF.
    pub complete: bool,
}

impl Leftovers {
    fn add(&mut self, vlf: &Vlf, found: &FoundBlock<'_>) {
        let lsn = found.lsn;
        let is_current =
            found.parity == vlf.header.block_parity() && lsn.vlf == vlf.header.sequence;
        if is_current && mark::read(found.disk).is_some_and(|durable| durable < found.end) {
            self.torn_blocks += 1;
        } else if is_current {
            self.lost_blocks += 1;
            self.first_lost.get_or_insert(lsn);
        } else {
            self.stale_blocks += 1;
            let (low, high) = self.stale_sequences.unwrap_or((lsn.vlf, lsn.vlf));
            self.stale_sequences = Some((low.min(lsn.vlf), high.max(lsn.vlf)));
        }
    }
}

/// A whole block past the end of the log.
struct FoundBlock<'a> {
    disk: &'a [u8],
    lsn: Lsn,
    /// Of its first stamp.
    parity: Option<Parity>,
    /// Where the log ends.
    end: Lsn,
}

/// Searches from the end of the log to the end of its VLF.
pub(super) fn find<S: LogBytes>(
    source: &S,
    map: &VlfMap,
    end: &LogEnd,
    mut budget: u64,
) -> Result<Leftovers, S::Error> {
    let mut found = Leftovers::default();
    if end.reason == NoBlock::VlfFull {
        // The place of the end is that of the next VLF in the file, whose blocks are older and in
        // order.
        found.complete = true;
        return Ok(found);
    }
    let Some(vlf) =
        map.vlfs().iter().find(|vlf| (vlf.offset..vlf.end()).contains(&end.file_offset))
    else {
        found.complete = true;
        return Ok(found);
    };
    let mut window = Window::default();
    let mut position = end.file_offset - vlf.offset;
    while position < vlf.header.size && budget >= STEP {
        budget -= STEP;
        let mut first_stamp = Stamp(0);
        let probe = window.probe_for(source, vlf, position, |stamp, lsn| {
            first_stamp = stamp;
            let names_this_block = lsn.slot == 1 && u64::from(lsn.block) * STEP == position;
            if names_this_block { Ok(()) } else { Err(NoBlock::Lsn { found: lsn }) }
        })?;
        position = match probe {
            Probe::Block { disk, lsn } => {
                let parity = first_stamp.parity();
                found.add(vlf, &FoundBlock { disk: &disk, lsn, parity, end: end.lsn });
                position + disk.len() as u64
            }
            Probe::None(NoBlock::NeverWritten) => skip_hole(source, vlf, position),
            Probe::None(_) => position + STEP,
        };
    }
    found.complete = position >= vlf.header.size;
    Ok(found)
}
