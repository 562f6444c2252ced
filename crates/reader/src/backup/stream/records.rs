//! Walks the records of a compressed backup by their headers. No payload is expanded, none is
//! verified here.
//!
//! A damaged header does not end the walk: the next record whose checksum fits its payload is
//! searched for. The bytes between are one lost piece; its length in the stream is taken from the
//! header where that is possible.

use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_format::mtf::checksum::rotate_xor;
use extentdb_format::mtf::container::{
    self, ContainerVersion, IndexHeader, RECORD_BYTES_MAX, RecordHeader, RecordKind,
};
use extentdb_format::mtf::{Block, BlockHeader, BlockKind, Filemark, Tag};
use extentdb_io::ReadAt;

use crate::backup::error::Error;
use crate::backup::finding::{FindingKind, Findings};
use crate::backup::stream::pieces::{FILE_BYTES_MAX, PieceKind, StreamPieces, UNIT_BYTES};
use crate::backup::stream::window::Window;

/// Bytes that identify a record: a header, or the front of a filemark.
const LOOK_BYTES: usize = 64;
/// Longest seek index: an entry per VLF with log and a few more.
const INDEX_BYTES_MAX: usize = 16 << 20;
/// Damaged headers that are bridged in one file.
const LOSSES_MAX: u32 = 64;
/// Header candidates that are tried, at most, in one gap.
const CANDIDATES_MAX: usize = 2048;
/// Assumed units of a lost record: an extent.
const LOST_UNITS: u8 = 128;
/// Units of the longest piece in real files, an extent too.
const UNITS_USUAL_MAX: u8 = 128;

/// The pieces of a compressed file.
pub(crate) struct Records {
    pub(crate) pieces: StreamPieces,
    pub(crate) seek_indexes: usize,
}

/// Walks all records of `source`.
pub(crate) fn walk(
    source: &Arc<dyn ReadAt>,
    version: ContainerVersion,
    path: &Arc<PathBuf>,
    findings: &mut Findings,
) -> Result<Records, Error> {
    let first = first_record(source, version, path, findings)?;
    let mut walk = RecordWalk {
        window: Window::new(source.clone()),
        source,
        version,
        path,
        findings,
        at: first,
        last_data: None,
        filemark_bytes: UNIT_BYTES as u64,
        losses: 0,
        found: Records { pieces: StreamPieces::default(), seek_indexes: 0 },
    };
    let end = source.len().min(FILE_BYTES_MAX);
    while walk.at < end && walk.step()? {}
    Ok(walk.found)
}

fn first_record(
    source: &Arc<dyn ReadAt>,
    version: ContainerVersion,
    path: &Arc<PathBuf>,
    findings: &mut Findings,
) -> Result<u64, Error> {
    if version == ContainerVersion::V2 {
        return Ok(container::FIRST_RECORD_AT);
    }
    findings.add(path, 0, FindingKind::UnverifiedVersion);
    let mut front = vec![0; container::FIRST_RECORD_WITHIN + RECORD_BYTES_MAX];
    let read = source.read_at(0, &mut front)?;
    front.truncate(read);
    let found = container::find_first_record(&front, version);
    found.map(|at| at as u64).ok_or_else(|| Error::NoFirstRecord { path: path.to_path_buf() })
}

struct RecordWalk<'a> {
    window: Window,
    source: &'a Arc<dyn ReadAt>,
    version: ContainerVersion,
    path: &'a Arc<PathBuf>,
    findings: &'a mut Findings,
    at: u64,
    /// Where the last data record begins, when it directly precedes `at`.
    last_data: Option<u64>,
    filemark_bytes: u64,
    losses: u32,
    found: Records,
}

impl RecordWalk<'_> {
    /// Takes the record at `self.at`; false at the end.
    fn step(&mut self) -> Result<bool, Error> {
        let front = self.window.at(self.at, LOOK_BYTES)?;
        if BlockHeader::parse(front).kind == BlockKind::Sfmb.tag().0 {
            return self.filemark();
        }
        let header = RecordHeader::parse(front, self.version);
        let is_zero = front.iter().take(RecordHeader::BYTES).all(|byte| *byte == 0);
        match header.kind {
            RecordKind::Data if header.units > 0 && header.size > 0 => self.data(header),
            RecordKind::Padding
                if self.ends_at_filemark(header.record_bytes(self.version) as u64)? =>
            {
                self.last_data = None;
                self.at += header.record_bytes(self.version) as u64;
                Ok(true)
            }
            RecordKind::Index => self.seek_index(),
            _ if is_zero => self.zeros(header),
            _ if self.is_stored_plain(header)? => {
                let bytes = (self.version.payload_at() + header.output_bytes()) as u64;
                self.found.pieces.push(PieceKind::Stored, self.at, header.units);
                self.last_data = None;
                self.at += bytes;
                Ok(true)
            }
            _ => self.bridge(header),
        }
    }

    /// True when the file holds `bytes` at `self.at`; otherwise records a truncation.
    fn holds(&mut self, bytes: u64) -> bool {
        let left = self.source.len() - self.at;
        if bytes > left {
            self.findings.add(
                self.path,
                self.at,
                FindingKind::TruncatedRecord { missing: bytes - left },
            );
        }
        bytes <= left
    }

    /// True when a record of `bytes` at `self.at` ends where a filemark begins, or the file.
    /// Padding and index do.
    fn ends_at_filemark(&mut self, bytes: u64) -> Result<bool, Error> {
        let end = self.at.saturating_add(bytes);
        if end >= self.source.len() {
            return Ok(end.is_multiple_of(self.filemark_bytes));
        }
        let next = self.window.at(end, LOOK_BYTES)?;
        Ok(BlockHeader::parse(next).kind == BlockKind::Sfmb.tag().0)
    }

    fn data(&mut self, header: RecordHeader) -> Result<bool, Error> {
        let bytes = header.record_bytes(self.version) as u64;
        // A length past the end of the file is damage when sound records follow.
        if bytes > self.source.len() - self.at && self.find_sound(self.at + 1)?.is_some() {
            return self.bridge(header);
        }
        if !self.holds(bytes) {
            return Ok(false);
        }
        self.found.pieces.push(PieceKind::Packed, self.at, header.units);
        self.last_data = Some(self.at);
        self.at += bytes;
        Ok(true)
    }

    fn filemark(&mut self) -> Result<bool, Error> {
        let front = self.window.at(self.at, LOOK_BYTES)?;
        let header = BlockHeader::parse(front);
        let own = match header.stream_offset.get() {
            0 => 1 << 16,
            bytes => u64::from(bytes),
        };
        let is_sound = header.starts_a_block() && own.is_multiple_of(UNIT_BYTES as u64);
        let bytes = if is_sound { own } else { self.filemark_bytes };
        if !is_sound {
            let block = Block::parse(front);
            for fault in Filemark::faults(&block).into_iter().take(1) {
                self.findings.add(self.path, self.at, fault);
            }
        }
        if !self.holds(bytes) {
            return Ok(false);
        }
        let units = u8::try_from(bytes / UNIT_BYTES as u64).unwrap_or(u8::MAX);
        self.found.pieces.push(PieceKind::Clear, self.at, units);
        self.last_data = None;
        self.filemark_bytes = bytes;
        self.at += bytes;
        Ok(true)
    }

    fn seek_index(&mut self) -> Result<bool, Error> {
        let head = self.version.common_bytes();
        let front = self.window.at(self.at, LOOK_BYTES)?;
        let bytes = IndexHeader::parse(front.get(head..).unwrap_or_default()).bytes.get();
        let header = RecordHeader::parse(front, self.version);
        let whole = head as u64 + u64::from(bytes);
        let is_sane = (IndexHeader::BYTES..=INDEX_BYTES_MAX).contains(&(bytes as usize));
        if !is_sane || !self.ends_at_filemark(whole)? {
            return self.bridge(header);
        }
        if !self.holds(whole) {
            return Ok(false);
        }
        let mut body = vec![0; bytes as usize];
        self.source.read_exact_at(self.at + head as u64, &mut body)?;
        if let (_, Some(fault)) = container::parse_index(&body) {
            self.findings.add(self.path, self.at, fault);
        }
        self.found.seek_indexes += 1;
        self.last_data = None;
        self.at += whole;
        Ok(true)
    }

    /// Zeros end the file, or fill a gap too small for a padding record.
    fn zeros(&mut self, header: RecordHeader) -> Result<bool, Error> {
        if let Some(before) = self.last_data
            && !self.is_sound(before)?
        {
            return self.bridge(header);
        }
        let next = (self.at + 1).next_multiple_of(self.filemark_bytes);
        let front = self.window.at(next.min(self.source.len()), LOOK_BYTES)?;
        if BlockHeader::parse(front).kind == BlockKind::Sfmb.tag().0 {
            self.at = next;
            return Ok(true);
        }
        Ok(false)
    }

    /// Data that did not shrink has no known form; plain bytes that fit the checksum are taken as
    /// one.
    fn is_stored_plain(&mut self, header: RecordHeader) -> Result<bool, Error> {
        let head = self.version.payload_at();
        let bytes = header.output_bytes();
        if bytes == 0 || self.at + (head + bytes) as u64 > self.source.len() {
            return Ok(false);
        }
        let record = self.window.at(self.at, head + bytes)?;
        let payload = record.get(head..head + bytes);
        Ok(payload.is_some_and(|payload| rotate_xor(payload) == header.checksum))
    }

    /// Passes over a damaged header to the next record that is sound.
    fn bridge(&mut self, header: RecordHeader) -> Result<bool, Error> {
        let mut lost_at = self.at;
        // No header at the next offset: the length of the previous record is damaged.
        if let Some(before) = self.last_data
            && !self.is_sound(before)?
        {
            lost_at = before;
        }
        self.losses += 1;
        let next = if self.losses > LOSSES_MAX { None } else { self.find_sound(lost_at + 1)? };
        let Some(next) = next else {
            self.findings.add(self.path, lost_at, FindingKind::Unreadable);
            return Ok(false);
        };
        if lost_at == self.at {
            let units = if (1..=UNITS_USUAL_MAX).contains(&header.units) {
                header.units
            } else {
                LOST_UNITS
            };
            self.found.pieces.push(PieceKind::Lost, lost_at, units);
        } else {
            self.found.pieces.lose_last();
        }
        let bytes = self.found.pieces.last_bytes() as u32;
        self.findings.add(self.path, lost_at, FindingKind::LostRecord { bytes });
        self.last_data = None;
        self.at = next;
        Ok(true)
    }

    /// True when the data record at `at` has a payload that fits its checksum.
    fn is_sound(&mut self, at: u64) -> Result<bool, Error> {
        let version = self.version;
        let front = self.window.at(at, RECORD_BYTES_MAX)?;
        Ok(is_sound_data(front, version))
    }

    /// The offset of the next sound record or filemark from `from` on.
    fn find_sound(&mut self, from: u64) -> Result<Option<u64>, Error> {
        let mut bytes = vec![0; 3 * RECORD_BYTES_MAX];
        let read = self.source.read_at(from, &mut bytes)?;
        let bytes = bytes.get(..read).unwrap_or_default();
        let mut candidates = 0;
        for (at, rest) in
            (from..).zip((0..bytes.len()).map(|skip| bytes.get(skip..).unwrap_or_default()))
        {
            let is_filemark = at.is_multiple_of(UNIT_BYTES as u64) && {
                let header = BlockHeader::parse(rest);
                header.tag() == Tag(*b"SFMB") && header.starts_a_block()
            };
            let looks_like_data = rest.first() == Some(&RecordKind::Data.byte());
            candidates += usize::from(looks_like_data);
            if is_filemark || (looks_like_data && is_sound_data(rest, self.version)) {
                return Ok(Some(at));
            }
            if candidates > CANDIDATES_MAX {
                break;
            }
        }
        Ok(None)
    }
}

fn is_sound_data(record: &[u8], version: ContainerVersion) -> bool {
    let header = RecordHeader::parse(record, version);
    let payload = record.get(version.payload_at()..header.record_bytes(version));
    header.kind == RecordKind::Data
        && header.units > 0
        && header.size > 0
        && payload.is_some_and(|payload| rotate_xor(payload) == header.checksum)
}
