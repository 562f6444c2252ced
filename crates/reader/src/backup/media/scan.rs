//! Walks the blocks and streams of one file and notes what it holds and where.
//!
//! Pages and log are skipped. A block that is not at its offset is searched for in what
//! follows; what a file that was cut off still holds is noted like the rest.

use std::ops::Range;

use extentdb_base::size::EXTENT_BYTES;
use extentdb_format::mtf::block::BLOCK_HEADER_BYTES;
use extentdb_format::mtf::stream::{STREAM_ALIGNMENT, STREAM_HEADER_BYTES};
use extentdb_format::mtf::{
    Block, BlockHeader, BlockKind, Configuration, EndOfSet, Fault, Filemark, LogSection, MtfDate,
    Raid, SetMap, StartOfSet, StreamHeader, StreamKind, Tag, Tape, Volume,
};
use extentdb_types::Guid;

use crate::backup::error::Error;
use crate::backup::finding::{FindingKind, Findings, SetPart};
use crate::backup::read_error::ReadError;
use crate::backup::stream::{BlockStream, StreamReader};

/// Bytes in which a lost block is searched for.
const LOOK_BYTES_MAX: u64 = 1 << 20;
/// Blocks begin on multiples of this.
const BLOCK_ALIGNMENT: u64 = 512;
/// Longest configuration that is read: tens of thousands of files.
const CONFIGURATION_BYTES_MAX: u64 = 64 << 20;
/// Longest set map that is read.
const SET_MAP_BYTES_MAX: u64 = 16 << 20;
/// Backup sets of one file, at most; then the scan ends.
const SETS_MAX: usize = 1 << 12;
/// Blocks of one file, at most; then the scan ends. Far more than sets, VLFs and filemarks need.
const BLOCKS_MAX: u32 = 1 << 18;

/// The contents of a file.
pub(crate) struct Scan {
    /// `None` when the media header is damaged.
    pub(crate) tape: Option<Tape>,
    pub(crate) raid: Option<Raid>,
    pub(crate) sets: Vec<SetScan>,
    pub(crate) findings: Findings,
}

/// The contents of a file for one backup set.
pub(crate) struct SetScan {
    /// Offset of SSET in the stream.
    pub(crate) at: u64,
    pub(crate) start: StartOfSet,
    pub(crate) volume: Option<Volume>,
    pub(crate) first: Option<Configuration>,
    pub(crate) last: Option<Configuration>,
    pub(crate) data: Vec<DataRun>,
    pub(crate) logs: Vec<LogRun>,
    pub(crate) has_set_map: bool,
    pub(crate) ends: u32,
    /// A filemark follows the last end.
    pub(crate) is_closed: bool,
    /// The first encrypted stream.
    pub(crate) encrypted: Option<Tag>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DataRun {
    /// Offset of the first in the stream.
    pub(crate) at: u64,
    pub(crate) extents: u64,
}

/// A virtual log file, and where its log lies in the stream.
pub(crate) struct LogRun {
    pub(crate) section: LogSection,
    pub(crate) stored: Vec<Range<u64>>,
}

impl SetScan {
    fn new(at: u64, start: StartOfSet) -> Self {
        SetScan {
            at,
            start,
            volume: None,
            first: None,
            last: None,
            data: Vec::new(),
            logs: Vec::new(),
            has_set_map: false,
            ends: 0,
            is_closed: false,
            encrypted: None,
        }
    }

    /// The final configuration, or the one at the start when the final one is missing.
    pub(crate) fn configuration(&self) -> Option<&Configuration> {
        self.last.as_ref().or(self.first.as_ref())
    }
}

/// Walks a file.
pub(crate) fn scan(stream: &BlockStream, findings: Findings) -> Result<Scan, Error> {
    let mut walk = BlockWalk {
        reader: StreamReader::new(stream),
        at: 0,
        tape: None,
        raid: None,
        sets: vec![],
        findings,
    };
    walk.run()?;
    if walk.sets.is_empty() {
        let cause = walk.findings.kept().first().cloned().map(Box::new);
        return Err(Error::NoSet { path: stream.path().to_path_buf(), cause });
    }
    let mut scan = Scan {
        tape: walk.tape,
        raid: walk.raid,
        sets: walk.sets,
        findings: walk.findings,
    };
    scan.note_missing_parts(stream);
    Ok(scan)
}

impl Scan {
    fn note_missing_parts(&mut self, stream: &BlockStream) {
        let sets = self.sets.len();
        for (n, set) in self.sets.iter().enumerate() {
            let parts = [
                (set.first.is_none(), SetPart::Configuration),
                (set.last.is_none(), SetPart::FinalConfiguration),
                (stream.seek_indexes().is_some_and(|indexes| indexes <= n), SetPart::SeekIndex),
                (!set.has_set_map, SetPart::SetMap),
                (set.ends < 2, SetPart::End),
                // Between sets a block begins only after the filemark.
                (!set.is_closed && n + 1 == sets, SetPart::Filemark),
            ];
            for (_, part) in parts.iter().filter(|(is_missing, _)| *is_missing) {
                let what = FindingKind::Missing { set: n as u32 + 1, part: *part };
                self.findings.add(stream.path(), stream.file_offset(set.at), what);
            }
        }
    }
}

struct BlockWalk<'a> {
    reader: StreamReader<'a>,
    at: u64,
    tape: Option<Tape>,
    raid: Option<Raid>,
    sets: Vec<SetScan>,
    findings: Findings,
}

impl BlockWalk<'_> {
    fn run(&mut self) -> Result<(), Error> {
        for _ in 0..BLOCKS_MAX {
            if self.sets.len() > SETS_MAX {
                break;
            }
            match self.step() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(ReadError::Io(error)) => return Err(error.into()),
                Err(damage) => self.pass_damage(damage)?,
            }
        }
        self.note(self.at, FindingKind::Unreadable);
        Ok(())
    }

    /// A record that does not expand. At the start of the file that is the end; later, what follows
    /// may be sound.
    fn pass_damage(&mut self, damage: ReadError) -> Result<(), Error> {
        let stream = self.reader.stream();
        let ReadError::Damaged { offset, what, .. } = damage else { return Ok(()) };
        if self.sets.is_empty()
            && let crate::backup::read_error::Undecoded::Payload(payload) = what
            && payload.is_other_algorithm()
        {
            return Err(stream.other_algorithm(offset));
        }
        self.findings.add(stream.path(), offset, FindingKind::Undecoded(what));
        self.at = stream.piece_end(self.at).max(self.at + BLOCK_ALIGNMENT);
        Ok(())
    }

    fn note(&mut self, at: u64, what: impl Into<FindingKind>) {
        let stream = self.reader.stream();
        self.findings.add(stream.path(), stream.file_offset(at), what);
    }

    fn note_all(&mut self, at: u64, faults: Vec<Fault>) {
        for fault in faults {
            self.note(at, fault);
        }
    }

    /// Takes the block at `self.at` and its streams; false at the end.
    fn step(&mut self) -> Result<bool, ReadError> {
        let front = self.reader.bytes(self.at, BLOCK_HEADER_BYTES)?;
        if front.is_empty() {
            return Ok(false);
        }
        let header = BlockHeader::parse(&front);
        let Some(kind) = BlockKind::from_tag(header.tag()) else {
            return self.find_block(self.at);
        };
        if !header.starts_a_block() && usize::from(header.stream_offset.get()) < BLOCK_HEADER_BYTES
        {
            return self.find_block(self.at + BLOCK_ALIGNMENT);
        }
        let bytes = self.reader.bytes(self.at, usize::from(header.stream_offset.get()))?;
        let block = Block::parse(&bytes);
        if kind == BlockKind::Sfmb {
            self.filemark(&block);
            return Ok(true);
        }
        self.block(kind, &block);
        let at = self.at;
        let streams_at = at + u64::from(header.stream_offset.get()).max(BLOCK_HEADER_BYTES as u64);
        self.streams(kind, streams_at)
    }

    /// Searches the next block from `from` on and skips the bytes before it.
    fn find_block(&mut self, from: u64) -> Result<bool, ReadError> {
        let lost_at = self.at;
        let mut is_zero = true;
        let mut at = from.next_multiple_of(BLOCK_ALIGNMENT);
        let end = at.saturating_add(LOOK_BYTES_MAX).min(self.reader.stream().len());
        while at < end {
            let front = match self.reader.bytes(at, BLOCK_HEADER_BYTES) {
                Err(ReadError::Damaged { offset, what, .. }) => {
                    let stream = self.reader.stream();
                    self.findings.add(stream.path(), offset, FindingKind::Undecoded(what));
                    at = stream.piece_end(at).max(at + BLOCK_ALIGNMENT);
                    continue;
                }
                read => read?,
            };
            if BlockHeader::parse(&front).starts_a_block() {
                self.note(lost_at, FindingKind::PassedOver { bytes: at - lost_at });
                self.at = at;
                return Ok(true);
            }
            is_zero &= front.iter().all(|byte| *byte == 0);
            at += BLOCK_ALIGNMENT;
        }
        // Zeros fill a file up to its initial size.
        let front = self.reader.bytes(lost_at, BLOCK_HEADER_BYTES)?;
        if !(is_zero && front.iter().all(|byte| *byte == 0)) {
            self.note(lost_at, FindingKind::Unreadable);
        }
        Ok(false)
    }

    fn filemark(&mut self, block: &Block<'_>) {
        self.note_all(self.at, Filemark::faults(block));
        let own = u64::from(block.header().stream_offset.get());
        let usual =
            self.tape.as_ref().map_or(1, |tape| u64::from(tape.fields.filemark_units.get()))
                * BLOCK_ALIGNMENT;
        let bytes = if own.is_multiple_of(BLOCK_ALIGNMENT) && own > 0 {
            own
        } else {
            usual.max(BLOCK_ALIGNMENT)
        };
        let left = self.reader.stream().len() - self.at;
        if bytes > left {
            self.note(
                self.at,
                FindingKind::Truncated { part: block.header().tag(), missing: bytes - left },
            );
        } else if let Some(set) = self.sets.last_mut().filter(|set| set.ends > 0) {
            set.is_closed = true;
        }
        self.at += bytes;
    }

    fn block(&mut self, kind: BlockKind, block: &Block<'_>) {
        let at = self.at;
        let faults = match kind {
            BlockKind::Tape => {
                self.tape.get_or_insert_with(|| Tape::parse(block));
                Tape::faults(block)
            }
            BlockKind::Sset => {
                self.sets.push(SetScan::new(at, StartOfSet::parse(block)));
                StartOfSet::faults(block)
            }
            BlockKind::Volb => {
                self.set().volume = Some(Volume::parse(block));
                Volume::faults(block)
            }
            BlockKind::Mstl => {
                let run = LogRun { section: LogSection::parse(block), stored: Vec::new() };
                self.set().logs.push(run);
                LogSection::faults(block)
            }
            BlockKind::Eset => {
                self.set().ends += 1;
                EndOfSet::faults(block)
            }
            _ => extentdb_format::mtf::section::ConfigurationSection::faults(block),
        };
        self.note_all(at, faults);
    }

    /// The set that blocks belong to now. When its start was lost, one without a name.
    fn set(&mut self) -> &mut SetScan {
        if self.sets.is_empty() {
            self.note(self.at, FindingKind::Missing { set: 1, part: SetPart::Start });
            let start = StartOfSet::new(1, Guid([0; 16]), MtfDate::NONE);
            self.sets.push(SetScan::new(self.at, start));
        }
        self.sets.last_mut().expect("a set was pushed above")
    }

    /// Scans the streams of a block up to SPAD and sets `self.at` to its end.
    fn streams(&mut self, kind: BlockKind, start: u64) -> Result<bool, ReadError> {
        let mut at = start;
        loop {
            let front = self.reader.bytes(at, STREAM_HEADER_BYTES)?;
            if front.len() < STREAM_HEADER_BYTES {
                let missing = (STREAM_HEADER_BYTES - front.len()) as u64;
                self.note(at, FindingKind::Truncated { part: kind.tag(), missing });
                self.at = self.reader.stream().len();
                return Ok(false);
            }
            let header = StreamHeader::parse(&front);
            let data_at = at + STREAM_HEADER_BYTES as u64;
            let left = self.reader.stream().len().saturating_sub(data_at);
            let is_sound = header.fault().is_none();
            if !is_sound && (header.stream_kind().is_none() || header.bytes.get() > left) {
                self.note(at, header.fault().map_or(FindingKind::Unreadable, FindingKind::Fault));
                self.at = at;
                return self.find_block(at);
            }
            self.note_all(at, header.fault().into_iter().collect());
            let bytes = header.bytes.get().min(left);
            if header.bytes.get() > left {
                let missing = header.bytes.get() - left;
                self.note(at, FindingKind::Truncated { part: header.tag(), missing });
            }
            self.take_stream(kind, &header, data_at, bytes)?;
            at = (data_at + bytes).next_multiple_of(STREAM_ALIGNMENT);
            self.at = at;
            if header.stream_kind() == Some(StreamKind::Spad) || header.bytes.get() > left {
                return Ok(true);
            }
        }
    }

    fn take_stream(
        &mut self,
        kind: BlockKind,
        header: &StreamHeader,
        at: u64,
        bytes: u64,
    ) -> Result<(), ReadError> {
        if header.is_encrypted() {
            let tag = header.tag();
            self.set().encrypted.get_or_insert(tag);
        }
        match header.stream_kind() {
            Some(StreamKind::Raid) => {
                let data = self.reader.bytes(at, Raid::BYTES)?;
                self.raid.get_or_insert(Raid::parse(&data));
            }
            Some(StreamKind::Mqci) => self.configuration(kind, at, bytes)?,
            Some(StreamKind::Mqda) => self.data(header, at, bytes),
            Some(StreamKind::Mqtl) => {
                let gap = header.payload_gap().min(bytes);
                if let Some(run) = self.set().logs.last_mut() {
                    run.stored.push(at + gap..at + bytes);
                }
            }
            Some(StreamKind::Tsmp) => {
                let data = self.reader.bytes(at, bytes.min(SET_MAP_BYTES_MAX) as usize)?;
                let (_, faults) = SetMap::parse(&data);
                self.note_all(at, faults);
                self.set().has_set_map = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn configuration(&mut self, kind: BlockKind, at: u64, bytes: u64) -> Result<(), ReadError> {
        let data = self.reader.bytes(at, bytes.min(CONFIGURATION_BYTES_MAX) as usize)?;
        let (config, faults) = Configuration::parse(&data);
        self.note_all(at, faults);
        let set = self.set();
        if kind == BlockKind::Msls {
            set.last = Some(config);
        } else {
            set.first.get_or_insert(config);
        }
        Ok(())
    }

    fn data(&mut self, header: &StreamHeader, at: u64, bytes: u64) {
        let gap = header.payload_gap().min(bytes);
        let pages = header.bytes.get() - header.payload_gap().min(header.bytes.get());
        if !pages.is_multiple_of(EXTENT_BYTES as u64) {
            self.note(at, Fault::OddLength { kind: header.tag(), bytes: header.bytes.get() });
        }
        let extents = (bytes - gap) / EXTENT_BYTES as u64;
        if extents > 0 {
            self.set().data.push(DataRun { at: at + gap, extents });
        }
    }
}
