//! Reading a log in LSN order.
//!
//! The VLFs in use, by sequence number, hold one chain of blocks. Its end is stored nowhere: it is
//! the first place in the newest VLF that is no valid next block. A place is a valid next block
//! when
//!
//! - its first sector is stamped as first,
//! - all its sectors carry the parity of the VLF and the last one is stamped as last,
//! - its size is sane and ends within the VLF,
//! - it names itself by the LSN of this place.
//!
//! Checksums have no part in this rule: a block that passes it and fails its checksum is in the
//! log, and damaged.
//!
//! Invariants
//! - The oldest VLF may begin anywhere (a restored log); one in the middle of the log is full, or a
//!   gap is reported.
//! - Searching for a block where none begins is bounded by a budget over the whole run.
//!
//! Observed in real files of versions 539 to 904.

mod leftovers;
mod probe;
mod starts;
mod tail;
#[cfg(test)]
mod tail_tests;
#[cfg(test)]
mod tests;

pub use leftovers::Leftovers;
pub use starts::StrayUse;
pub use tail::{LogTail, TailDamage, TailProof};

use std::ops::ControlFlow;

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::block::BlockBuf;
use super::fault::NoBlock;
use super::op::Op;
use super::payload::Payload;
use super::payload::checkpoint::EndCheckpoint;
use super::record::RecordRef;
use super::source::LogBytes;
use super::vlf::{VLF_HEADER_AREA, Vlf, VlfMap};
use probe::{Probe, Window};

/// Bytes that a run may look at in search of blocks where none begins.
const SEARCH_BUDGET: u64 = 1 << 30;

/// A log file and its VLFs.
#[derive(Debug)]
pub struct LogReader<S> {
    source: S,
    map: VlfMap,
    search_budget: u64,
}

impl<S: LogBytes> LogReader<S> {
    /// Walks the VLFs of a log file.
    pub fn open(source: S) -> Result<Self, S::Error> {
        let map = VlfMap::read(&source)?;
        Ok(Self::with_map(source, map))
    }

    /// Takes the VLFs from elsewhere: the log part of a backup has no VLF headers of its own.
    pub fn with_map(source: S, map: VlfMap) -> Self {
        LogReader { source, map, search_budget: SEARCH_BUDGET }
    }

    /// Changes how many bytes a run may look at in search of blocks where none begins (1 GiB).
    pub fn with_search_budget(mut self, bytes: u64) -> Self {
        self.search_budget = bytes;
        self
    }

    /// The VLFs found, in sequence order.
    pub fn map(&self) -> &VlfMap {
        &self.map
    }

    /// The blocks of the log in LSN order, what is missing between them, and where the log ends.
    pub fn chain(&self) -> Chain<'_, S> {
        Chain {
            source: &self.source,
            vlfs: self.map.by_sequence(),
            index: 0,
            position: VLF_HEADER_AREA,
            previous_size: None,
            started: false,
            finished: false,
            window: Window::default(),
            budget: self.search_budget,
        }
    }

    /// The blocks from the one that holds `from` on; `None` when no VLF has its sequence number. A
    /// first item that is not the block asked for says that there is none.
    pub fn chain_from(&self, from: Lsn) -> Option<Chain<'_, S>> {
        let chain = self.chain();
        let index = chain.vlfs.iter().position(|vlf| vlf.header.sequence == from.vlf)?;
        let position = (STEP * u64::from(from.block)).max(VLF_HEADER_AREA);
        Some(Chain { index, position, started: true, ..chain })
    }

    /// Hands every readable record of the log to `visit` until it breaks off. Gives the end of the
    /// log when it was reached.
    pub fn for_each_record(
        &self,
        mut visit: impl FnMut(Lsn, &RecordRef<'_>, &LogBlock) -> ControlFlow<()>,
    ) -> Result<Option<LogEnd>, S::Error> {
        for item in self.chain() {
            match item? {
                ChainItem::Block(block) => {
                    for (lsn, record) in block.buf.view().records() {
                        if visit(lsn, &record, &block).is_break() {
                            return Ok(None);
                        }
                    }
                }
                ChainItem::Gap(_) => {}
                ChainItem::End(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    /// Counts the log through and remembers its last checkpoint.
    pub fn summary(&self) -> Result<LogSummary, S::Error> {
        let mut summary = LogSummary::default();
        for item in self.chain() {
            match item? {
                ChainItem::Block(block) => summary.add(&block),
                ChainItem::Gap(gap) => summary.add_gap(gap),
                ChainItem::End(end) => summary.end = Some(end),
            }
        }
        Ok(summary)
    }

    /// What lies past the end of the log in its VLF.
    pub fn leftovers(&self, end: &LogEnd) -> Result<Leftovers, S::Error> {
        leftovers::find(&self.source, &self.map, end, self.search_budget)
    }

    /// The VLFs whose first block was written by another use than their header names, and a newer
    /// one: the header was damaged, or replaced by what it was before.
    pub fn stray_uses(&self) -> Result<Vec<StrayUse>, S::Error> {
        starts::find(&self.source, &self.map)
    }

    /// Whether the log ends where its chain does, or was cut there by damage: reads the rest of the
    /// VLF, whatever its size.
    pub fn tail(&self, end: &LogEnd) -> Result<LogTail, S::Error> {
        tail::find(&self.source, &self.map, end)
    }
}

/// A block of the log.
#[derive(Clone, Debug)]
pub struct LogBlock {
    /// LSN of its first record.
    pub lsn: Lsn,
    /// Where it lies in the log file.
    pub file_offset: u64,
    /// Bytes of the block, from its header on.
    pub buf: BlockBuf,
    /// The size of the block before it, when the block's own `previous_size` says something else.
    pub previous_size_should_be: Option<u16>,
}

/// A part of the log that is missing or unreadable; the chain goes on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Sequence numbers are missing. A shrink does this to the inactive part of a log.
    Vlfs {
        /// Last sequence number before the gap.
        after: u32,
        /// First sequence number after it.
        next: u32,
    },
    /// A VLF in the middle of the log is not full.
    Blocks {
        /// Where the next block should begin.
        lsn: Lsn,
        /// Its offset in the log file.
        from: u64,
        /// Where the chain goes on, or the end of the VLF.
        to: u64,
        /// Why no block begins there.
        reason: NoBlock,
    },
}

/// Where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// LSN that the next block would have.
    pub lsn: Lsn,
    /// Where it would lie in the log file.
    pub file_offset: u64,
    /// Why no block begins there.
    pub reason: NoBlock,
}

/// One step of the chain.
#[derive(Clone, Debug)]
pub enum ChainItem {
    /// The next block.
    Block(LogBlock),
    /// Something is missing before the next block.
    Gap(Gap),
    /// The log ends. Nothing follows.
    End(LogEnd),
}

/// The blocks of a log in LSN order.
#[derive(Debug)]
pub struct Chain<'r, S> {
    source: &'r S,
    vlfs: Vec<&'r Vlf>,
    /// The VLF being read.
    index: usize,
    /// The place in it, counted from its start.
    position: u64,
    previous_size: Option<u16>,
    started: bool,
    finished: bool,
    window: Window,
    budget: u64,
}

impl<S: LogBytes> Chain<'_, S> {
    /// What comes next; `None` when it takes another look to say.
    fn step(&mut self) -> Result<Option<ChainItem>, S::Error> {
        let Some(vlf) = self.vlfs.get(self.index).copied() else {
            let end = LogEnd {
                lsn: Lsn::ZERO,
                file_offset: 0,
                reason: NoBlock::NeverWritten,
            };
            return Ok(Some(ChainItem::End(end)));
        };
        match self.window.probe(self.source, vlf, self.position)? {
            Probe::Block { disk, lsn } => {
                Ok(Some(ChainItem::Block(self.take_block(vlf, disk, lsn))))
            }
            Probe::None(NoBlock::VlfFull) => Ok(self.leave(vlf, NoBlock::VlfFull)),
            Probe::None(reason) if self.is_newest() && self.started => Ok(self.leave(vlf, reason)),
            Probe::None(reason) => self.search(vlf, reason),
        }
    }

    fn is_newest(&self) -> bool {
        self.index + 1 == self.vlfs.len()
    }

    fn take_block(&mut self, vlf: &Vlf, disk: Vec<u8>, lsn: Lsn) -> LogBlock {
        let size = disk.len();
        let file_offset = vlf.offset + self.position;
        let buf = BlockBuf::from_disk(disk);
        let stated = buf.view().header().previous_size;
        let previous_size_should_be = self.previous_size.filter(|size| *size != stated);
        self.previous_size = Some(size as u16);
        self.position += size as u64;
        self.started = true;
        LogBlock { lsn, file_offset, buf, previous_size_should_be }
    }

    /// Goes on to the next VLF, or ends the log in the newest one.
    fn leave(&mut self, vlf: &Vlf, reason: NoBlock) -> Option<ChainItem> {
        if self.is_newest() {
            return Some(ChainItem::End(self.end_here(vlf, reason)));
        }
        self.index += 1;
        self.position = VLF_HEADER_AREA;
        let after = vlf.header.sequence;
        let next = self.vlfs.get(self.index)?.header.sequence;
        if !self.started || after.checked_add(1) == Some(next) {
            return None;
        }
        self.previous_size = None;
        Some(ChainItem::Gap(Gap::Vlfs { after, next }))
    }

    /// The end of the log at the place in hand. After a full VLF the next block would begin
    /// another one.
    fn end_here(&self, vlf: &Vlf, reason: NoBlock) -> LogEnd {
        let lsn = match reason {
            NoBlock::VlfFull => Lsn::new(
                vlf.header.sequence.saturating_add(1),
                probe::block_number(VLF_HEADER_AREA),
                1,
            ),
            _ => Lsn::new(vlf.header.sequence, probe::block_number(self.position), 1),
        };
        LogEnd { lsn, file_offset: vlf.offset + self.position, reason }
    }

    /// No block begins here, but the VLF may go on: it is not the newest one, or the log begins in
    /// its middle.
    fn search(&mut self, vlf: &Vlf, reason: NoBlock) -> Result<Option<ChainItem>, S::Error> {
        let from = self.position;
        let found = self.window.search(self.source, vlf, from, &mut self.budget)?;
        if !self.started {
            // What lies before the first block of the log is not missing.
            return Ok(match found {
                Some(position) => {
                    self.position = position;
                    None
                }
                None => self.leave(vlf, reason),
            });
        }
        let to = found.unwrap_or(vlf.header.size);
        let lsn = Lsn::new(vlf.header.sequence, probe::block_number(from), 1);
        self.position = to;
        self.previous_size = None;
        Ok(Some(ChainItem::Gap(Gap::Blocks {
            lsn,
            from: vlf.offset + from,
            to: vlf.offset + to,
            reason,
        })))
    }
}

impl<S: LogBytes> Iterator for Chain<'_, S> {
    type Item = Result<ChainItem, S::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.finished {
            match self.step() {
                Ok(None) => {}
                Ok(Some(item)) => {
                    self.finished = matches!(item, ChainItem::End(_));
                    return Some(Ok(item));
                }
                Err(error) => {
                    self.finished = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// A log counted through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Blocks, fillers included.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub block_bytes: u64,
    /// Number of records read.
    pub records: u64,
    /// Blocks with a fault.
    pub faulty_blocks: u64,
    /// LSN of the first record.
    pub first: Option<Lsn>,
    /// LSN of the last record.
    pub last: Option<Lsn>,
    /// The last checkpoint that ended, with the LSN of its END_CKPT.
    pub last_checkpoint: Option<(Lsn, EndCheckpoint)>,
    /// How often something is missing.
    pub gap_count: u64,
    /// The first of these gaps.
    pub gaps: Vec<Gap>,
    /// Where the log ends.
    pub end: Option<LogEnd>,
}

impl LogSummary {
    /// Gaps kept; a damaged file can have millions.
    const MAX_GAPS: usize = 100;

    fn add_gap(&mut self, gap: Gap) {
        self.gap_count += 1;
        if self.gaps.len() < Self::MAX_GAPS {
            self.gaps.push(gap);
        }
    }

    fn add(&mut self, block: &LogBlock) {
        self.blocks += 1;
        self.block_bytes += block.buf.as_bytes().len() as u64;
        self.faulty_blocks += u64::from(!block.buf.faults().is_empty());
        for (lsn, record) in block.buf.view().records() {
            self.records += 1;
            self.first.get_or_insert(lsn);
            self.last = Some(lsn);
            if record.header().op == Op::END_CKPT
                && let Payload::EndCheckpoint(end) = record.payload()
            {
                self.last_checkpoint = Some((lsn, end));
            }
        }
    }
}

/// Positions of blocks are multiples of a sector.
const STEP: u64 = SECTOR_BYTES as u64;
