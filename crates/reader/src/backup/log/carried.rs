//! The log that a backup carries, as the log file it was copied from: zeros around the carried
//! parts, and VLFs by description.

use std::collections::BTreeMap;

use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::{FileId, Lsn};
use extentdb_format::log::{LogBytes, Parity, VlfHeader, VlfMap};

use crate::backup::log::{LogPart, overlap};
use crate::backup::read_error::ReadError;
use crate::backup::set::BackupSet;

/// The part of one log file that a backup carries.
pub struct CarriedLog<'b> {
    set: &'b BackupSet,
    /// Parts with bytes, by their offset in the log file.
    parts: Vec<&'b LogPart>,
    len: u64,
}

/// The logs of a backup, by file.
pub fn carried_logs(set: &BackupSet) -> Vec<(FileId, CarriedLog<'_>, VlfMap)> {
    let mut files: BTreeMap<FileId, Vec<&LogPart>> = BTreeMap::new();
    for part in set.log() {
        files.entry(part.file).or_default().push(part);
    }
    files.into_iter().map(|(file, parts)| one_log(set, file, parts)).collect()
}

fn one_log<'b>(
    set: &'b BackupSet,
    file: FileId,
    mut parts: Vec<&'b LogPart>,
) -> (FileId, CarriedLog<'b>, VlfMap) {
    let end = |part: &&LogPart| part.vlf.offset.get().saturating_add(part.vlf.bytes.get());
    let len = parts.iter().map(end).max().unwrap_or(0);
    let map = VlfMap::from_descriptions(parts.iter().map(|part| header(set, part)), len);
    parts.retain(|part| !part.carried.is_empty());
    parts.sort_by_key(|part| part.carried.start);
    (file, CarriedLog { set, parts, len }, map)
}

/// Bytes of the carried log that are searched for a first block: the largest block and the padding
/// before it.
const SEARCH_BYTES_MAX: u64 = 1 << 20;

/// The header that a restore writes. A format too large for its byte becomes FF hex, which the
/// header's faults name.
pub(crate) fn header(set: &BackupSet, part: &LogPart) -> VlfHeader {
    let vlf = part.vlf;
    let described = vlf.parity;
    let parity = match Parity::from_byte(described) {
        Some(parity) => parity.byte(),
        None => stamped_parity(set, part).map_or(described, Parity::byte),
    };
    VlfHeader {
        signature: VlfHeader::SIGNATURE,
        parity,
        format: u8::try_from(vlf.format.get()).unwrap_or(u8::MAX),
        sequence: vlf.sequence.get(),
        size: vlf.bytes.get(),
        offset: vlf.offset.get(),
        create_lsn: vlf.create_lsn.get(),
        ..VlfHeader::default()
    }
}

/// The parity that the carried blocks are stamped with: that of the first block with its own
/// offset. A description may lack it, and the carried log may begin with sectors that belong to no
/// block.
fn stamped_parity(set: &BackupSet, part: &LogPart) -> Option<Parity> {
    let vlf_offset = part.vlf.offset.get();
    let end = part.carried.end.min(part.carried.start.saturating_add(SEARCH_BYTES_MAX));
    let mut sector = [0; SECTOR_BYTES];
    (part.carried.start..end).step_by(SECTOR_BYTES).find_map(|at| {
        let read = set.read_log(part, at, &mut sector).ok()?;
        let number = u32::try_from(at.checked_sub(vlf_offset)? / SECTOR_BYTES as u64).ok()?;
        let lsn = Lsn::new(part.vlf.sequence.get(), number, 1);
        Parity::of_block(sector.get(..read)?, lsn)
    })
}

impl CarriedLog<'_> {
    /// False when the backup only describes the VLFs.
    pub fn carries_anything(&self) -> bool {
        !self.parts.is_empty()
    }
}

impl LogBytes for CarriedLog<'_> {
    type Error = ReadError;

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        buf.fill(0);
        for part in &self.parts {
            if let Some((start, target)) = overlap(&part.carried, offset, buf) {
                self.set.read_log(part, start, target)?;
            }
        }
        Ok(())
    }

    fn next_data(&self, offset: u64) -> u64 {
        let next = self.parts.iter().find(|part| part.carried.end > offset);
        next.map_or(self.len.max(offset), |part| part.carried.start.max(offset))
    }
}
