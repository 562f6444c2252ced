//! The log of several backups as one: VLFs by their sequence number, one after the other.
//!
//! ```text
//! full, log 1, log 2: carried pieces of VLF 49, 50  offsets in their log files, used again and
//!                                                   again
//! combined          : │ VLF 49 │ VLF 50 │ …         offsets of no file: as long as the log is
//! ```
//!
//! Pieces of one VLF may overlap: a block is never written twice, so they agree. Where they do not
//! reach, zeros stand for "never written".

use std::collections::BTreeMap;
use std::ops::Range;

use extentdb_base::sync::Arc;
use extentdb_format::log::{LogBytes, VlfHeader, VlfMap};

use crate::backup::log::carried::header;
use crate::backup::log::{LogPart, overlap};
use crate::backup::read_error::ReadError;
use crate::backup::set::BackupSet;

/// The log that backup sets carry together.
pub struct CombinedLog {
    sets: Vec<Arc<BackupSet>>,
    pieces: Vec<CarriedPiece>,
    len: u64,
}

/// A run of log that a set carries.
struct CarriedPiece {
    /// Where it lies in the combined log.
    at: Range<u64>,
    /// Index of the set, and of its part.
    set: usize,
    part: usize,
    /// Offset in the log file of its first byte.
    file_offset: u64,
}

impl CombinedLog {
    /// Combines the logs of sets, which are in the order of the chain.
    pub fn new(sets: Vec<Arc<BackupSet>>) -> (CombinedLog, VlfMap) {
        let mut vlfs: BTreeMap<u32, VlfHeader> = BTreeMap::new();
        for set in &sets {
            for part in set.log().iter().filter(|part| is_carried(part)) {
                vlfs.entry(part.vlf.sequence.get()).or_insert_with(|| header(set, part));
            }
        }
        let mut len = 0u64;
        for vlf in vlfs.values_mut() {
            vlf.offset = len;
            len = len.saturating_add(vlf.size);
        }
        let mut pieces: Vec<CarriedPiece> = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            let parts = set.log().iter().enumerate().filter(|(_, part)| is_carried(part));
            pieces.extend(parts.filter_map(|(index, part)| {
                let vlf = vlfs.get(&part.vlf.sequence.get())?;
                let skip = part.carried.start.checked_sub(part.vlf.offset.get())?;
                let start = vlf.offset.checked_add(skip)?;
                let bytes = part.stored_bytes().min(vlf.size.checked_sub(skip)?);
                let at = start..start.checked_add(bytes)?;
                Some(CarriedPiece {
                    at,
                    set: number,
                    part: index,
                    file_offset: part.carried.start,
                })
            }));
        }
        // Of those that begin together the one of the later set is read last, and counts.
        pieces.sort_by_key(|piece| (piece.at.start, piece.set));
        let map = VlfMap::from_descriptions(vlfs.into_values(), len);
        (CombinedLog { sets, pieces, len }, map)
    }

    /// False when no set carries any log.
    pub fn carries_anything(&self) -> bool {
        !self.pieces.is_empty()
    }
}

fn is_carried(part: &LogPart) -> bool {
    !part.carried.is_empty() && !part.positions.is_empty()
}

impl LogBytes for CombinedLog {
    type Error = ReadError;

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        buf.fill(0);
        for piece in &self.pieces {
            let Some((start, target)) = overlap(&piece.at, offset, buf) else { continue };
            let Some(set) = self.sets.get(piece.set) else { continue };
            let Some(part) = set.log().get(piece.part) else { continue };
            let file_offset = piece.file_offset + (start - piece.at.start);
            set.read_log(part, file_offset, target)?;
        }
        Ok(())
    }

    fn next_data(&self, offset: u64) -> u64 {
        let ahead = self.pieces.iter().filter(|piece| piece.at.end > offset);
        ahead.map(|piece| piece.at.start.max(offset)).min().unwrap_or(self.len.max(offset))
    }
}
