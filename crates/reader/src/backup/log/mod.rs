//! The log that a backup carries: which bytes of the log file, and where in the backup they lie.
//!
//! The bytes are log blocks as they lie in the log file, stamps and checksums included, zeros
//! after the last one.

pub(crate) mod carried;
pub(crate) mod combined;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use extentdb_base::FileId;
use extentdb_base::sync::Arc;
use extentdb_format::mtf::{Fault, VlfDescription};

use crate::backup::finding::Findings;
use crate::backup::media::scan::{LogRun, SetScan};
use crate::backup::stream::BlockStream;

/// A virtual log file of the database, and the log of it that the backup carries.
#[derive(Clone, Debug)]
pub struct LogPart {
    /// The log file.
    pub file: FileId,
    /// The VLF as the backup describes it.
    pub vlf: VlfDescription,
    /// Offsets in the log file of the log that the backup carries; may be empty.
    pub carried: Range<u64>,
    /// Where those bytes lie, in order. Shorter than `carried` when the file was cut off; empty
    /// when another stripe has them.
    pub positions: Vec<LogPosition>,
}

/// A run of log bytes.
#[derive(Clone, Debug)]
pub struct LogPosition {
    /// Offset in the log file of the first byte.
    pub file_offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The backup file.
    pub path: Arc<PathBuf>,
    /// Offset of the first byte in the backup file, or of the record that holds it.
    pub backup_offset: u64,
    /// Index of the stream in the set, and the offset in it.
    pub(crate) stream: usize,
    pub(crate) at: u64,
}

/// What a range of the log file has of a read at `offset`: the first byte, and where it goes.
fn overlap<'b>(range: &Range<u64>, offset: u64, buf: &'b mut [u8]) -> Option<(u64, &'b mut [u8])> {
    let start = range.start.max(offset);
    let end = range.end.min(offset.saturating_add(buf.len() as u64));
    let target = buf.get_mut((start - offset) as usize..end.checked_sub(offset)? as usize)?;
    (start < end).then_some((start, target))
}

impl LogPart {
    fn of(run: &LogRun, number: usize, stream: &BlockStream) -> Self {
        let vlf = run.section.vlf;
        let carried = run.section.carried().unwrap_or(0..0);
        let mut positions = Vec::new();
        let mut file_offset = carried.start;
        for stored in &run.stored {
            let bytes = (stored.end - stored.start).min(carried.end - file_offset);
            if bytes > 0 {
                let path = stream.path().clone();
                let at = stored.start;
                let backup_offset = stream.file_offset(at);
                positions.push(LogPosition {
                    file_offset,
                    bytes,
                    path,
                    backup_offset,
                    stream: number,
                    at,
                });
                file_offset += bytes;
            }
        }
        LogPart { file: FileId(vlf.file.get()), vlf, carried, positions }
    }

    /// Bytes of the log that the backup has.
    pub fn stored_bytes(&self) -> u64 {
        self.positions.iter().map(|position| position.bytes).sum()
    }

    /// True when the backup has all of the log that the VLF should carry.
    pub fn is_complete(&self) -> bool {
        self.stored_bytes() == self.carried.end - self.carried.start
    }
}

/// The VLFs of a set, in the order of the backup. Every stripe lists all of them; one carries the
/// log.
pub(crate) fn log_parts(
    sets: &[(usize, &SetScan)],
    streams: &[Arc<BlockStream>],
    findings: &mut Findings,
) -> Vec<LogPart> {
    let mut parts: Vec<LogPart> = Vec::new();
    let mut known: HashMap<(FileId, u64), usize> = HashMap::new();
    for (number, set) in sets {
        let Some(stream) = streams.get(*number) else { continue };
        for run in &set.logs {
            let part = LogPart::of(run, *number, stream);
            let at = *known.entry((part.file, part.vlf.offset.get())).or_insert(parts.len());
            match parts.get_mut(at) {
                Some(other) if part.stored_bytes() > other.stored_bytes() => *other = part,
                Some(_) => {}
                None => parts.push(part),
            }
        }
    }
    for part in parts.iter().filter(|part| !part.is_complete()) {
        let path = streams.first().map(|stream| stream.path().clone()).unwrap_or_default();
        let needed = part.carried.end - part.carried.start;
        let vlf_offset = part.vlf.offset.get();
        let stored = part.stored_bytes();
        findings.add(&path, 0, Fault::ShortLog { vlf_offset, stored, needed });
    }
    parts
}
