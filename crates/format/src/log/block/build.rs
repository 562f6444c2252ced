//! Writing a block: records in, disk bytes out.

use super::stamp::{Parity, stamp};
use super::{BlockFormat, BlockHeader, MAX_BLOCK_BYTES, checksum, sectors};
use crate::log::field::{Field, FixedPart, write_chunk};
use crate::log::payload::Payload;
use crate::log::record::{ElementList, RecordHeader, RecordRef, elements_bytes, write_elements};
use extentdb_base::size::SECTOR_BYTES;

/// Why a record or block cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The record does not fit any more; the block must be finished first.
    #[error("a record of {bytes} bytes does not fit in the {left} bytes left of the log block")]
    Full {
        /// Bytes of the record, slot included.
        bytes: usize,
        /// Bytes left in the block.
        left: usize,
    },
    /// The fixed part is shorter than its fields, or ends at an odd offset.
    #[error("a fixed part of {fixed_len} bytes cannot hold a payload of {least}")]
    FixedLen {
        /// Length in the record header.
        fixed_len: u16,
        /// Bytes the payload needs.
        least: usize,
    },
    /// The size asked for does not hold the block, or is no multiple of the sector size.
    #[error("a log block with {used} bytes used cannot have {size} bytes")]
    Size {
        /// Bytes in use.
        used: usize,
        /// Size asked for.
        size: usize,
    },
}

/// Collects the records of a block.
#[derive(Clone, Debug)]
pub struct BlockBuilder {
    format: BlockFormat,
    bytes: Vec<u8>,
    end: usize,
    slots: Vec<u16>,
}

impl BlockBuilder {
    /// An empty block whose undefined bytes will be zero.
    pub fn new(format: BlockFormat) -> Self {
        Self::with_fill(format, 0)
    }

    /// An empty block whose undefined bytes will be `fill`.
    pub fn with_fill(format: BlockFormat, fill: u8) -> Self {
        let bytes = vec![fill; MAX_BLOCK_BYTES];
        BlockBuilder { format, bytes, end: format.header_bytes(), slots: Vec::new() }
    }

    /// An empty block that may become `room` bytes long, its undefined bytes zero: what is left of
    /// a VLF can be less than the largest block.
    pub fn with_room(format: BlockFormat, room: usize) -> Self {
        let bytes = vec![0; room.min(MAX_BLOCK_BYTES).max(format.header_bytes())];
        BlockBuilder { format, bytes, end: format.header_bytes(), slots: Vec::new() }
    }

    /// Bytes that a record takes in a block, its slot included.
    pub fn bytes_of(
        format: BlockFormat,
        header: &RecordHeader,
        payload: &Payload<'_>,
    ) -> Result<usize, BuildError> {
        let fixed_len = usize::from(header.fixed_len);
        let least = payload.least_fixed_len();
        if fixed_len < least || !fixed_len.is_multiple_of(2) {
            return Err(BuildError::FixedLen { fixed_len: header.fixed_len, least });
        }
        let len = record_len(fixed_len, payload, payload.elements().as_ref());
        Ok(len.next_multiple_of(format.record_align()) + 2)
    }

    /// Bytes that are left for records and their slots.
    pub fn left(&self) -> usize {
        (self.bytes.len() - sectors(self.bytes.len())).saturating_sub(self.used())
    }

    /// A record pushed before; `slot` counts from 1.
    pub fn record(&self, slot: u16) -> Option<RecordRef<'_>> {
        let index = usize::from(slot.checked_sub(1)?);
        let start = usize::from(*self.slots.get(index)?);
        let end = self.slots.get(index + 1).map_or(self.end, |next| usize::from(*next));
        RecordRef::parse(self.format, self.bytes.get(start..end)?)
    }

    /// Records so far.
    pub fn record_count(&self) -> u16 {
        self.slots.len() as u16
    }

    /// Bytes in use so far, slot array included.
    pub fn used(&self) -> usize {
        self.end + 2 * self.slots.len()
    }

    /// Appends a record and gives its slot. Element count and lengths need no check of their own: a
    /// record that does not fit in a block is refused first.
    pub fn push(
        &mut self,
        header: &RecordHeader,
        payload: &Payload<'_>,
    ) -> Result<u16, BuildError> {
        let fixed_len = usize::from(header.fixed_len);
        let least = payload.least_fixed_len();
        if fixed_len < least || fixed_len % 2 != 0 {
            return Err(BuildError::FixedLen { fixed_len: header.fixed_len, least });
        }
        let elements = payload.elements();
        let len = record_len(fixed_len, payload, elements.as_ref());
        let end = (self.end + len).next_multiple_of(self.format.record_align());
        let left = self.left();
        let bytes = end - self.end + 2;
        if bytes > left {
            return Err(BuildError::Full { bytes, left });
        }
        let record = self.bytes.get_mut(self.end..end).unwrap_or_default();
        let (fixed, _) = record.split_at_mut_checked(fixed_len).unwrap_or_default();
        header.write(self.format, fixed);
        payload.write_fixed(fixed);
        match &elements {
            Some(elements) => write_elements(record, fixed_len, elements),
            None => write_chunk(record, fixed_len, payload.raw_tail()),
        }
        self.slots.push(self.end as u16);
        self.end = end;
        Ok(self.record_count())
    }

    /// The least size of the block on a device with sectors of `sector_bytes`.
    pub fn least_size(&self, sector_bytes: usize) -> usize {
        // Each 512 bytes bring one displaced byte along.
        let sectors = self.used().div_ceil(SECTOR_BYTES - 1);
        (sectors * SECTOR_BYTES).next_multiple_of(sector_bytes.max(SECTOR_BYTES))
    }

    /// Writes header and slot array, stamps the sectors, and seals the block when `header` has the
    /// checksum flag.
    ///
    /// Of `header`, format, record count, bytes used and checksum are set here; a `size` of 0
    /// becomes the least one for sectors of 512 bytes.
    pub fn finish(mut self, header: &BlockHeader, parity: Parity) -> Result<Vec<u8>, BuildError> {
        let used = self.used();
        let size = match usize::from(header.size) {
            0 => self.least_size(SECTOR_BYTES),
            size => size,
        };
        if size % SECTOR_BYTES != 0 || size > self.bytes.len() || used + sectors(size) > size {
            return Err(BuildError::Size { used, size });
        }
        let header = BlockHeader {
            format: self.format.number(),
            record_count: self.record_count(),
            used: used as u16,
            size: size as u16,
            checksum: Some(0),
            ..header.clone()
        };
        self.bytes.truncate(size);
        header.write(self.bytes.get_mut(..self.format.header_bytes()).unwrap_or_default());
        for (index, offset) in self.slots.iter().enumerate() {
            offset.write(&mut self.bytes, used - 2 * (index + 1));
        }
        stamp(&mut self.bytes, parity);
        if header.has_checksum() && self.format > BlockFormat::V2 {
            checksum::seal(&mut self.bytes);
        }
        Ok(self.bytes)
    }
}

/// Bytes of a record before alignment.
fn record_len(
    fixed_len: usize,
    payload: &Payload<'_>,
    elements: Option<&ElementList<'_>>,
) -> usize {
    match elements {
        Some(elements) => elements_bytes(fixed_len, elements),
        None => fixed_len + payload.raw_tail().len(),
    }
}
