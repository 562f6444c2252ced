//! Reading a block: header, slots, records, and everything that is wrong with them.

use std::ops::Range;

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;
use smallvec::SmallVec;

use super::checksum::{self, BlockChecksum, CHECKSUM_OFFSET};
use super::stamp::{Parity, Stamp, unstamp, verify_stamps};
use super::{BlockFormat, BlockHeader, mark, sectors};
use crate::log::fault::{BlockFault, NoBlock, RecordFault};
use crate::log::field::{Field, FixedPart};
use crate::log::record::RecordRef;

/// A block that owns its logical bytes, and what its disk bytes said about it.
#[derive(Clone, Debug)]
pub struct BlockBuf {
    bytes: Vec<u8>,
    first_stamp: Stamp,
    checksum: BlockChecksum,
    stamp_fault: Option<BlockFault>,
}

impl BlockBuf {
    /// Takes the disk bytes of a whole block.
    pub fn from_disk(mut disk: Vec<u8>) -> Self {
        let first_stamp = Stamp(disk.first().copied().unwrap_or(0));
        let parity = first_stamp.parity().unwrap_or(Parity::Odd);
        let stamp_fault = verify_stamps(&disk, parity);
        let computed = checksum::compute(&disk);
        unstamp(&mut disk);
        let view = BlockView::of(&disk);
        // A damaged format number must not switch the checksum off; only format 2 has none. Nor
        // must a damaged flag: a block with a durable mark always has one.
        let flagged =
            view.header().flags & BlockHeader::FLAG_CHECKSUM != 0 || mark::read(&disk).is_some();
        let checksum = match u32::read(&disk, CHECKSUM_OFFSET) {
            Some(stored) if flagged && view.format() != Some(BlockFormat::V2) => {
                BlockChecksum::Present { stored, computed }
            }
            _ => BlockChecksum::Absent,
        };
        BlockBuf { bytes: disk, first_stamp, checksum, stamp_fault }
    }

    /// The block at the start of disk bytes, when `first` is its first LSN and it has at most
    /// `room` bytes.
    ///
    /// # Errors
    /// Why no such block is there.
    pub fn at_start(disk: &[u8], first: Lsn, room: u64) -> Result<Self, NoBlock> {
        let sector: &[u8; SECTOR_BYTES] = disk.first_chunk().ok_or(NoBlock::VlfFull)?;
        if Stamp(sector[0]).is_unwritten() {
            return Err(NoBlock::NeverWritten);
        }
        let size = u16::read(sector, BlockHeader::SIZE_AT).unwrap_or(0);
        let is_size = |bytes: &&[u8]| {
            !bytes.is_empty()
                && bytes.len().is_multiple_of(SECTOR_BYTES)
                && bytes.len() as u64 <= room
        };
        let whole = disk.get(..size.into()).filter(is_size).ok_or(NoBlock::Size { size })?;
        let block = BlockBuf::from_disk(whole.to_vec());
        let found = block.view().header().first_lsn;
        if found == first { Ok(block) } else { Err(NoBlock::Lsn { found }) }
    }

    /// The stamp of the first sector.
    pub fn first_stamp(&self) -> Stamp {
        self.first_stamp
    }

    /// What the checksum says.
    pub fn checksum(&self) -> BlockChecksum {
        self.checksum
    }

    /// The logical bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The block's header and records.
    pub fn view(&self) -> BlockView<'_> {
        BlockView::of(&self.bytes)
    }

    /// Everything wrong with the block and its records.
    pub fn faults(&self) -> Vec<BlockFault> {
        let checksum = match self.checksum {
            BlockChecksum::Present { stored, computed } if stored != computed => {
                Some(BlockFault::Checksum { stored, computed })
            }
            _ => None,
        };
        self.stamp_fault.into_iter().chain(checksum).chain(self.view().faults()).collect()
    }
}

/// A view of a block's logical bytes.
#[derive(Clone, Debug)]
pub struct BlockView<'a> {
    bytes: &'a [u8],
    format: Option<BlockFormat>,
    header: BlockHeader,
    /// Bytes of each record, by slot; empty for a slot that points nowhere. They ascend and do not
    /// overlap, so that no block can make a reader walk its bytes more than once.
    spans: SmallVec<[Range<u16>; 16]>,
}

impl<'a> BlockView<'a> {
    /// Looks at logical bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        let format = bytes.first().and_then(|number| BlockFormat::from_number(*number));
        // The header of an unknown format is read as the part that all formats share.
        let header_bytes = format.map_or(BlockFormat::V2.header_bytes(), BlockFormat::header_bytes);
        let header = bytes.get(..header_bytes).and_then(BlockHeader::read);
        let mut view = BlockView {
            bytes,
            format,
            header: header.unwrap_or_default(),
            spans: SmallVec::new(),
        };
        if let Some(format) = format {
            view.spans = view.find_spans(format);
        }
        view
    }

    /// Walks the slot array backwards: each record ends where the next one starts.
    fn find_spans(&self, format: BlockFormat) -> SmallVec<[Range<u16>; 16]> {
        let count = usize::from(self.header.record_count);
        let Some(mut end) = self.records_end() else { return SmallVec::new() };
        let mut spans = SmallVec::from_elem(0..0, count);
        for (slot, span) in spans.iter_mut().enumerate().rev() {
            let Some(offset) = self.slot_at(slot) else { continue };
            if usize::from(offset) >= format.header_bytes() && offset < end {
                *span = offset..end;
                end = offset;
            }
        }
        spans
    }

    /// Where the records end and the slot array begins; `None` when the header leaves no room for
    /// both.
    fn records_end(&self) -> Option<u16> {
        let end = self.header.used.checked_sub(2 * self.header.record_count.min(u16::MAX / 2))?;
        let fits = self.header.record_count <= u16::MAX / 2
            && usize::from(self.header.used) <= self.bytes.len()
            && usize::from(end) >= self.format?.header_bytes();
        fits.then_some(end)
    }

    /// Entry of the slot array, counted from 0.
    fn slot_at(&self, index: usize) -> Option<u16> {
        let at = usize::from(self.header.used).checked_sub(2 * (index + 1))?;
        u16::read(self.bytes, at)
    }

    /// The logical bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The format; `None` when its number is unknown, and then the block has no readable records.
    pub fn format(&self) -> Option<BlockFormat> {
        self.format
    }

    /// The header, all zero when the bytes are too few for it.
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// Offset of a record by the slot array; `slot` counts from 1.
    pub fn slot_offset(&self, slot: u16) -> Option<u16> {
        let index = usize::from(slot.checked_sub(1)?);
        (index < self.spans.len()).then(|| self.slot_at(index))?
    }

    /// A record; `slot` counts from 1.
    pub fn record(&self, slot: u16) -> Option<RecordRef<'a>> {
        let span = self.spans.get(usize::from(slot.checked_sub(1)?))?;
        RecordRef::parse(self.format?, self.bytes_of(span))
    }

    fn bytes_of(&self, span: &Range<u16>) -> &'a [u8] {
        self.bytes.get(usize::from(span.start)..usize::from(span.end)).unwrap_or_default()
    }

    /// Slots and readable records, in order.
    pub fn slots(&self) -> impl Iterator<Item = (u16, RecordRef<'a>)> {
        (1..=self.spans.len() as u16).filter_map(|slot| Some((slot, self.record(slot)?)))
    }

    /// LSNs and readable records, in order.
    pub fn records(&self) -> impl Iterator<Item = (Lsn, RecordRef<'a>)> {
        self.slots().map(|(slot, record)| (self.header.lsn(slot), record))
    }

    /// True for a block that only fills the rest of a VLF: it has no record but its durable mark.
    pub fn is_filler(&self) -> bool {
        match self.header.record_count {
            0 => true,
            1 => mark::read(self.bytes).is_some(),
            _ => false,
        }
    }

    /// Everything wrong with header, slots and records.
    pub fn faults(&self) -> Vec<BlockFault> {
        let Some(format) = self.format else {
            return vec![BlockFault::Format { found: self.bytes.first().copied().unwrap_or(0) }];
        };
        let mut faults = Vec::new();
        if self.bytes.len() < format.header_bytes() {
            faults.push(BlockFault::TooShort { bytes: self.bytes.len() });
            return faults;
        }
        faults.extend(self.header_faults(format));
        if self.records_end().is_some() {
            self.slot_faults(format, &mut faults);
        }
        faults
    }

    fn header_faults(&self, format: BlockFormat) -> impl Iterator<Item = BlockFault> {
        let BlockHeader { size, used, record_count, .. } = self.header;
        let actual = self.bytes.len();
        let size_fault =
            (usize::from(size) != actual).then_some(BlockFault::Size { stored: size, actual });
        let least = format.header_bytes() + 2 * usize::from(record_count);
        let most = actual - sectors(actual);
        let used_fault = (!(least..=most).contains(&usize::from(used)))
            .then_some(BlockFault::Used { used, least, most });
        size_fault.into_iter().chain(used_fault)
    }

    fn slot_faults(&self, format: BlockFormat, faults: &mut Vec<BlockFault>) {
        let expected = format.header_bytes();
        for (slot, span) in (1..).zip(&self.spans) {
            let offset = self.slot_at(usize::from(slot) - 1).unwrap_or(0);
            if span.is_empty() {
                faults.push(BlockFault::Slot { slot, offset });
                continue;
            }
            if slot == 1 && usize::from(offset) != expected {
                faults.push(BlockFault::FirstRecord { offset, expected });
            }
            match self.record(slot) {
                Some(record) => {
                    let of_record = record.faults();
                    faults.extend(
                        of_record.into_iter().map(|fault| BlockFault::Record { slot, fault }),
                    );
                }
                None => faults.push(BlockFault::Record {
                    slot,
                    fault: RecordFault::TooShort { bytes: usize::from(span.end - span.start) },
                }),
            }
        }
    }

    /// The ranges of the logical bytes that hold nothing, ascending: padding in records, what lies
    /// in front of the first record or in a span too short for one, the free bytes after the slot
    /// array, and the displaced bytes of sectors that begin with such a byte.
    pub fn undefined(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let Some((format, records_end)) = self.format.zip(self.records_end()) else {
            return ranges;
        };
        let mut next = format.header_bytes();
        for span in self.spans.iter().filter(|span| !span.is_empty()) {
            let start = usize::from(span.start);
            if next < start {
                ranges.push(next..start);
            }
            match RecordRef::parse(format, self.bytes_of(span)) {
                Some(record) => {
                    let of_record = record.undefined();
                    ranges.extend(of_record.into_iter().map(|r| r.start + start..r.end + start));
                }
                None => ranges.push(start..usize::from(span.end)),
            }
            next = usize::from(span.end);
        }
        if next < usize::from(records_end) {
            ranges.push(next..usize::from(records_end));
        }
        let displaced = self.bytes.len() - sectors(self.bytes.len());
        if usize::from(self.header.used) < displaced {
            ranges.push(usize::from(self.header.used)..displaced);
        }
        self.add_displaced(&mut ranges);
        ranges
    }

    /// A sector that begins with an undefined byte has an undefined displaced byte, too.
    fn add_displaced(&self, ranges: &mut Vec<Range<usize>>) {
        let size = self.bytes.len();
        let is_undefined = |at: usize| {
            let next = ranges.partition_point(|range| range.end <= at);
            ranges.get(next).is_some_and(|range| range.contains(&at))
        };
        let copies: Vec<usize> = (0..sectors(size))
            .rev()
            .filter(|s| is_undefined(s * SECTOR_BYTES))
            .map(|s| size - 1 - s)
            .collect();
        ranges.extend(copies.into_iter().map(|at| at..at + 1));
    }
}
