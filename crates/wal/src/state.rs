//! The log in memory: the block that takes records, the blocks that wait to be written, and the
//! position of the next one.
//!
//! ```text
//!   records ──▶ open block ──close──▶ queue: block, block, filler, VLF header, block …  ──write──▶ file
//!                    │                  (log order; written in this order, runs at a time)
//!                    └ its position in the VLF is fixed at its opening: returned LSNs are final
//! ```
//!
//! Everything here happens under the log's one lock and touches no file.
//!
//! Invariants
//! - An open block has room in its VLF for all it may become; a VLF is left only when the next one
//!   is taken.
//! - The queue holds nothing that is durable and everything closed that is not.
//! - `durable <= last`, both in the order of the queue.
//! - Every block begins with a durable mark: the filler of a VLF has no other record. What it says
//!   is a lower bound until the block is about to be written; then it is exact.

use std::collections::VecDeque;
use std::time::Duration;

use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, OfflineCause, Outage};
use extentdb_format::log::block::mark::{self, DURABLE_MARK_BYTES};
use extentdb_format::log::block::{BlockHeader, MAX_BLOCK_BYTES};
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{
    BlockBuilder, BlockFormat, Parity, Payload, RecordHeader, Vlf, VlfHeader,
};

use crate::error::Error;
use crate::stats::LogStats;
use crate::vlf::VlfTable;

/// Format of all blocks: that of SQL Server 2008.
pub(crate) const FORMAT: BlockFormat = BlockFormat::V4;
/// The largest record, slot included.
pub(crate) const MAX_RECORD_BYTES: usize = records_room(MAX_BLOCK_BYTES);
/// Space left for checkpoints, and for what a rollback logs besides compensation records.
const CHECKPOINT_SECTORS: u64 = 64;
/// Closed blocks that may wait in memory: 3.75 MiB.
const MAX_QUEUED_BLOCKS: usize = 64;
/// Closed blocks from which on they are written ahead of need, before an append has to wait.
const WRITE_AHEAD_BLOCKS: usize = MAX_QUEUED_BLOCKS / 2;

/// Bytes of a block before its first record but the durable mark, and the mark's slot.
const BLOCK_OVERHEAD: usize = FORMAT.header_bytes() + DURABLE_MARK_BYTES;

/// Bytes for records and slots in a block of `bytes`, its durable mark apart.
const fn records_room(bytes: usize) -> usize {
    (bytes - bytes / SECTOR_BYTES).saturating_sub(BLOCK_OVERHEAD)
}

/// Position of the next block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Index of the VLF in file order.
    pub(crate) vlf: usize,
    /// Offset in the VLF.
    pub(crate) at: u64,
    /// Size of the block before.
    pub(crate) previous_size: u16,
}

/// Something that waits to be written.
#[derive(Clone, Debug)]
pub(crate) enum Closed {
    /// A block, in its disk form.
    Block {
        /// LSN of its first record, whether it has one or not.
        first: Lsn,
        /// LSN of its last record, the durable mark apart; zero for a filler.
        last: Lsn,
        /// Offset in the file.
        offset: u64,
        bytes: Arc<Vec<u8>>,
    },
    /// The header of a VLF taken into use.
    Header(VlfHeader),
}

impl Closed {
    pub(crate) fn block_bytes(&self) -> Option<&[u8]> {
        match self {
            Closed::Block { bytes, .. } => Some(bytes),
            Closed::Header(_) => None,
        }
    }
}

/// Called when half of the log buffers are full; see
/// [`Log::on_half_full`](crate::Log::on_half_full).
#[derive(Clone, Default)]
pub(crate) struct HalfFullSignal(pub(crate) Option<Arc<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for HalfFullSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "HalfFullSignal" } else { "none" })
    }
}

/// What must be done before a record can be placed.
pub(crate) enum Placing {
    /// Nothing: the open block takes it.
    Ready,
    /// The log must grow.
    NoVlf,
    /// Blocks must be written.
    NoBuffer,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) vlfs: VlfTable,
    pub(crate) tail: Tail,
    /// The block at the tail; its first LSN.
    pub(crate) open: Option<(Lsn, BlockBuilder)>,
    pub(crate) queue: VecDeque<Closed>,
    queued_blocks: usize,
    /// Sectors of the device.
    sector: u64,
    /// LSN of the newest record.
    pub(crate) last: Lsn,
    /// LSN of the newest record that is durable.
    pub(crate) durable: Lsn,
    pub(crate) minimum: Lsn,
    /// Bytes reserved for undo.
    pub(crate) reserved: u64,
    /// The largest record, or undo of one, that was met: what the end of a VLF may waste.
    largest: u64,
    /// Somebody writes from the front of the queue.
    pub(crate) is_writing: bool,
    pub(crate) is_growing: bool,
    /// Shared with the pool and the database over this log.
    pub(crate) outage: Outage,
    /// Number of the write that will take along what is in the open block now.
    pub(crate) round: u64,
    /// Callers of flush whose records are not written yet; the number expected for the next write.
    pub(crate) waiting: u64,
    pub(crate) expected: u64,
    /// A leader sleeps until as many wait as are expected.
    pub(crate) is_gathering: bool,
    /// What a write takes, of late.
    pub(crate) write_time: Duration,
    pub(crate) half_full: HalfFullSignal,
    pub(crate) stats: LogStats,
}

impl State {
    pub(crate) fn new(vlfs: VlfTable, tail: Tail, sector: u64, last: Lsn, minimum: Lsn) -> Self {
        State {
            vlfs,
            tail,
            open: None,
            queue: VecDeque::new(),
            queued_blocks: 0,
            sector,
            last,
            durable: last,
            minimum,
            reserved: 0,
            largest: SECTOR_BYTES as u64,
            is_writing: false,
            is_growing: false,
            outage: Outage::default(),
            round: 0,
            waiting: 0,
            expected: 0,
            is_gathering: false,
            write_time: Duration::ZERO,
            half_full: HalfFullSignal::default(),
            stats: LogStats::default(),
        }
    }

    pub(crate) fn verify_online(&self) -> Result<(), Error> {
        self.outage.verify().map_err(Error::Offline)
    }

    /// Nothing is appended or written after `error`.
    pub(crate) fn go_offline(&self, error: &(dyn std::error::Error + 'static)) {
        self.outage.begin(OfflineCause::new(None, error));
    }

    fn current(&self) -> &Vlf {
        self.vlfs.get(self.tail.vlf)
    }

    /// LSN that the first record of the next block will have.
    pub(crate) fn tail_lsn(&self) -> Lsn {
        Lsn::new(self.current().header.sequence, (self.tail.at / SECTOR_BYTES as u64) as u32, 1)
    }

    /// The most that a block at the tail may become; 0 when the VLF is full.
    fn room_at_tail(&self) -> u64 {
        // Positions of foreign logs need not be multiples of the sector; then the first block
        // aligns them.
        let end = (self.tail.at + MAX_BLOCK_BYTES as u64) / self.sector * self.sector;
        end.min(self.current().header.size) - self.tail.at
    }

    /// Prepares the open block for a record of `bytes`, as far as memory and VLFs allow.
    pub(crate) fn place_record(&mut self, bytes: usize) -> Result<Placing, Error> {
        loop {
            if let Some((_, block)) = &self.open {
                if block.left() >= bytes {
                    return Ok(Placing::Ready);
                }
                if self.queued_blocks >= MAX_QUEUED_BLOCKS {
                    return Ok(Placing::NoBuffer);
                }
                self.close()?;
            }
            let room = self.room_at_tail() as usize;
            if records_room(room) >= bytes {
                self.open = Some((self.tail_lsn(), self.new_block(room)?));
                return Ok(Placing::Ready);
            }
            // The next VLF first: without one, smaller records may still use the rest of this one.
            let Some(next) = self.vlfs.next_free() else { return Ok(Placing::NoVlf) };
            self.go_to(next)?;
        }
    }

    /// A block that may become `room` bytes long, with its durable mark.
    fn new_block(&self, room: usize) -> Result<BlockBuilder, Error> {
        let mut block = BlockBuilder::with_room(FORMAT, room);
        let (header, payload) = mark::durable_mark(self.durable);
        block.push(&header, &payload)?;
        Ok(block)
    }

    /// Adds a record to the open block, which [`place_record`](Self::place) has prepared.
    pub(crate) fn push(
        &mut self,
        header: &RecordHeader,
        payload: &Payload<'_>,
    ) -> Result<Lsn, Error> {
        let Some((first, block)) = &mut self.open else {
            unreachable!("a block was opened for this record under the same lock");
        };
        let before = block.used();
        let slot = block.push(header, payload)?;
        self.stats.records += 1;
        self.stats.record_bytes += (block.used() - before) as u64;
        self.last = Lsn { slot, ..*first };
        Ok(self.last)
    }

    /// The header of a block at the tail.
    fn block_header(&self, size: u64) -> BlockHeader {
        BlockHeader {
            size: size as u16,
            flags: BlockHeader::FLAG_ALWAYS | BlockHeader::FLAG_CHECKSUM,
            previous_size: self.tail.previous_size,
            first_lsn: self.tail_lsn(),
            ..BlockHeader::default()
        }
    }

    /// The size that the open block takes on disk.
    fn size_of(&self, block: &BlockBuilder) -> u64 {
        let end = self.tail.at + block.least_size(SECTOR_BYTES) as u64;
        end.next_multiple_of(self.sector).min(self.current().header.size) - self.tail.at
    }

    fn parity(&self) -> Parity {
        // A VLF in use has a parity: opening refuses all others.
        self.current().header.block_parity().unwrap_or(Parity::Odd)
    }

    /// Closes the open block, if there is one: it takes no more records and waits to be written.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        let Some((_, block)) = self.open.take() else { return Ok(()) };
        let size = self.size_of(&block);
        self.enqueue(block, size)
    }

    fn enqueue(&mut self, block: BlockBuilder, size: u64) -> Result<(), Error> {
        let first = self.tail_lsn();
        let count = block.record_count();
        let finished = block.finish(&self.block_header(size), self.parity());
        // A block that cannot be written takes its records with it: nothing may follow.
        let bytes = finished.inspect_err(|error| self.go_offline(error))?;
        let last = if count <= 1 { Lsn::ZERO } else { Lsn { slot: count, ..first } };
        let offset = self.current().offset + self.tail.at;
        self.queue.push_back(Closed::Block { first, last, offset, bytes: Arc::new(bytes) });
        self.queued_blocks += 1;
        self.signal_if_half_full();
        self.tail.at += size;
        self.tail.previous_size = size as u16;
        Ok(())
    }

    /// Are so many blocks closed that they are to be written, and is no write in progress?
    pub(crate) fn is_write_due(&self) -> bool {
        self.queued_blocks >= WRITE_AHEAD_BLOCKS && !self.is_writing
    }

    fn signal_if_half_full(&self) {
        if let Some(signal) = self.half_full.0.as_ref().filter(|_| self.is_write_due()) {
            signal();
        }
    }

    /// Fills the rest of the current VLF and takes the next one.
    fn go_to(&mut self, next: usize) -> Result<(), Error> {
        let rest = self.current().header.size - self.tail.at;
        if rest > 0 {
            self.enqueue(self.new_block(rest as usize)?, rest)?;
            self.stats.fillers += 1;
        }
        let header = self.vlfs.take(next);
        self.queue.push_back(Closed::Header(header));
        self.tail = Tail { vlf: next, at: VLF_HEADER_AREA, ..self.tail };
        self.stats.vlfs_taken += 1;
        Ok(())
    }

    /// The open block, as it would be written now.
    pub(crate) fn open_block(&self) -> Option<Result<Vec<u8>, Error>> {
        let (_, block) = self.open.as_ref()?;
        let header = self.block_header(self.size_of(block));
        Some(block.clone().finish(&header, self.parity()).map_err(Error::from))
    }

    /// What is written next: a VLF header alone, or adjacent blocks. For the caller that writes it:
    /// all earlier writes have ended, so the marks of the blocks are set.
    pub(crate) fn front_run(&mut self) -> Vec<Closed> {
        let mut run: Vec<Closed> = Vec::new();
        let mut next = None;
        for item in &mut self.queue {
            match item {
                Closed::Header(_) if run.is_empty() => return vec![item.clone()],
                Closed::Block { offset, bytes, .. } if next.is_none_or(|next| next == *offset) => {
                    next = Some(*offset + bytes.len() as u64);
                    mark::set(Arc::make_mut(bytes).as_mut_slice(), self.durable);
                    run.push(item.clone());
                }
                _ => break,
            }
        }
        run
    }

    /// The first `count` things of the queue are durable.
    pub(crate) fn harden(&mut self, count: usize) {
        for item in self.queue.drain(..count) {
            if let Closed::Block { last, bytes, .. } = item {
                self.durable = self.durable.max(last);
                self.queued_blocks -= 1;
                self.stats.blocks += 1;
                self.stats.block_bytes += bytes.len() as u64;
            }
        }
    }

    /// Remembers how large records are.
    pub(crate) fn note_size(&mut self, bytes: usize, reserve: u64) {
        self.largest = self.largest.max(bytes as u64).max(reserve.min(MAX_RECORD_BYTES as u64));
    }

    /// Would a record of `bytes` leave room for what is reserved, for `reserve` more, and for a
    /// checkpoint?
    pub(crate) fn has_room_besides_reserved(&self, bytes: usize, reserve: u64) -> bool {
        let own = bytes as u64 + self.sector + BLOCK_OVERHEAD as u64;
        self.has_room(own, self.reserved.saturating_add(reserve), CHECKPOINT_SECTORS * self.sector)
    }

    /// Would the records of a checkpoint, all together of `bytes`, leave room for what is reserved?
    pub(crate) fn has_room_for_checkpoint(&self, bytes: u64) -> bool {
        self.has_room(bytes, self.reserved, 0)
    }

    fn has_room(&self, bytes: u64, reserved: u64, for_others: u64) -> bool {
        // Blocks have headers and stamps, and a flush may close one early.
        let overhead = reserved / 32 + bytes / 32;
        let all = [bytes, reserved, overhead, for_others]
            .iter()
            .fold(0u64, |sum, part| sum.saturating_add(*part));
        all <= self.sure_bytes()
    }

    /// Bytes that records can have for certain: at the end of each VLF a record may not fit.
    fn sure_bytes(&self) -> u64 {
        let waste = self.largest + self.sector + BLOCK_OVERHEAD as u64;
        let of_others = self.vlfs.free_bytes().saturating_sub(self.vlfs.free_count() * waste);
        of_others + self.rest_of_current().saturating_sub(waste)
    }

    fn rest_of_current(&self) -> u64 {
        let used = self.open.as_ref().map_or(0, |(_, block)| self.size_of(block));
        self.current().header.size - self.tail.at - used
    }

    /// Bytes that hold no active log.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.vlfs.free_bytes() + self.rest_of_current()
    }

    /// The refusal of a record.
    pub(crate) fn full(&self, wanted: u64, growth: Option<extentdb_io::Error>) -> Error {
        let free = self.free_bytes();
        let total = self.vlfs.total_bytes();
        Error::Full { wanted, free, reserved: self.reserved, total, growth }
    }
}
