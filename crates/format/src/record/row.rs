//! A record of a data or index page: fixed part, null bitmap, variable part.
//!
//! ```text
//! data record                          index record
//! +0  status A   u8                    +0  status A  u8
//! +1  status B   u8                    +1  fixed columns, up to the page's pminlen
//! +2  fixed end  u16                       (on non-leaf pages the last 6 bytes are the child page)
//! +4  fixed columns, up to fixed end
//!
//! then, in both
//!     column count u16, null bitmap ceil(count / 8) bytes      if status bit 4
//!     variable count u16, end offsets u16 each                 if status bit 5; bit 15 = complex
//!                                                              column
//!     variable columns
//!     versioning tag 14 bytes                                  if status bit 6
//! ```
//!
//! Bit *n* - 1 of the null bitmap belongs to the column with null bit *n*; 1 = NULL. Trailing empty
//! variable columns are not stored. Observed in real files of versions 539 to 904; the versioning
//! tag is from public documentation.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{PageId, Rid};

use super::status::{
    COMPRESSED, GHOST_FORWARDED, HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG, RecordKind,
};

/// Bytes before the fixed columns of a data record.
pub const DATA_HEADER_BYTES: usize = 4;
/// Bytes before the fixed columns of an index record.
pub const INDEX_HEADER_BYTES: usize = 1;
/// Bytes of a versioning tag: slot pointer into the version store, transaction sequence number.
pub const VERSION_TAG_BYTES: usize = 14;
/// Bytes of a forwarding stub.
pub const STUB_BYTES: usize = 9;
/// Bit 15 of an end offset: the column is a pointer structure.
pub const COMPLEX_COLUMN: u16 = 0x8000;

/// The fixed part of a record and its null bitmap, without a look at anything else: what reads a
/// key in place needs.
#[derive(Clone, Copy, Debug)]
pub struct FixedPart<'r> {
    /// Bytes up to the end of the fixed columns, the record's head included.
    pub fixed: &'r [u8],
    /// Columns that the null bitmap counts, and the bytes that begin with it.
    pub nulls: Option<(u16, &'r [u8])>,
}

impl<'r> FixedPart<'r> {
    /// Of the record that `bytes` begin with. `fixed_end` of an index record is its `pminlen`; a
    /// data record has its own. `None` for a stub, a compressed record, and one that is cut short.
    #[inline]
    pub fn of(bytes: &'r [u8], fixed_end: Option<u16>) -> Option<Self> {
        let status = *bytes.first()?;
        if status & COMPRESSED != 0 {
            return None;
        }
        let fixed_end = match fixed_end {
            Some(fixed_end) => fixed_end,
            None if RecordKind::of(status) == RecordKind::ForwardingStub => return None,
            None => u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]),
        };
        let (fixed, rest) = bytes.split_at_checked(fixed_end.into())?;
        if status & HAS_NULL_BITMAP == 0 {
            return Some(FixedPart { fixed, nulls: None });
        }
        let (count, bitmap) = rest.split_first_chunk::<2>()?;
        Some(FixedPart { fixed, nulls: Some((u16::from_le_bytes(*count), bitmap)) })
    }
}

/// Why a record does not add up. Offsets count from the record's first byte; `limit` is where the
/// page ends for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFault {
    /// Not even the header fits.
    Header {
        /// Bytes there are.
        limit: usize,
    },
    /// The fixed part ends before it begins or past the page.
    FixedEnd {
        /// As stored, or the page's pminlen for index records.
        fixed_end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// The null bitmap reaches past the page.
    NullBitmap {
        /// Where it would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// The array of end offsets reaches past the page.
    OffsetArray {
        /// Where it would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// An end offset lies before its predecessor or past the page.
    EndOffset {
        /// Variable column, from 0.
        column: u16,
        /// Its end offset without the complex bit.
        end: usize,
        /// The smallest end there could be.
        start: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// The versioning tag reaches past the page.
    VersionTag {
        /// Where it would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
}

/// A variable-length column as stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VarColumn<'a> {
    /// The bytes; a pointer structure when `complex`.
    pub bytes: &'a [u8],
    /// Bit 15 of the end offset.
    pub complex: bool,
}

/// A record that is read. Parsing never fails: after a [`fault`](Record::fault) the parts before it
/// can still be read.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    bytes: &'a [u8],
    fixed_end: u16,
    column_count: u16,
    /// First byte of the null bitmap; 0 = none.
    bitmap_at: u16,
    var_count: u16,
    /// First byte of the end offsets.
    offsets_at: u16,
    len: u16,
    header_bytes: u8,
    fault: Option<RecordFault>,
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

impl<'a> Record<'a> {
    /// Reads a record of a data page. `bytes` begin at the record and may reach beyond it.
    #[inline]
    pub fn parse_data(bytes: &'a [u8]) -> Record<'a> {
        let bytes = bytes.get(..PAGE_BYTES).unwrap_or(bytes);
        let mut record = Record::empty(bytes, DATA_HEADER_BYTES);
        if record.kind() == RecordKind::ForwardingStub {
            record.parse_stub();
            return record;
        }
        match u16_at(bytes, 2) {
            Some(fixed_end) => record.parse_from(fixed_end),
            None => record.fault = Some(RecordFault::Header { limit: bytes.len() }),
        }
        record
    }

    /// Reads a record of an index page, whose fixed part ends at the page's `pminlen`.
    #[inline]
    pub fn parse_index(bytes: &'a [u8], pminlen: u16) -> Record<'a> {
        let bytes = bytes.get(..PAGE_BYTES).unwrap_or(bytes);
        let mut record = Record::empty(bytes, INDEX_HEADER_BYTES);
        if bytes.is_empty() {
            record.fault = Some(RecordFault::Header { limit: 0 });
        } else {
            record.parse_from(pminlen);
        }
        record
    }

    fn empty(bytes: &'a [u8], header_bytes: usize) -> Record<'a> {
        Record {
            bytes,
            fixed_end: 0,
            column_count: 0,
            bitmap_at: 0,
            var_count: 0,
            offsets_at: 0,
            len: 0,
            header_bytes: header_bytes as u8,
            fault: None,
        }
    }

    fn parse_stub(&mut self) {
        if self.bytes.len() < STUB_BYTES {
            self.fault = Some(RecordFault::Header { limit: self.bytes.len() });
        }
        self.len = self.bytes.len().min(STUB_BYTES) as u16;
    }

    /// Everything after the fixed part's end, which decides where the rest lies.
    #[inline]
    fn parse_from(&mut self, fixed_end: u16) {
        let limit = self.bytes.len();
        let end = usize::from(fixed_end);
        if end < usize::from(self.header_bytes) || end > limit {
            self.fault = Some(RecordFault::FixedEnd { fixed_end: end, limit });
            self.len = limit.min(usize::from(self.header_bytes)) as u16;
            return;
        }
        self.fixed_end = fixed_end;
        self.len = fixed_end;
        if let Err(fault) =
            self.parse_bitmap().and_then(|()| self.parse_variable()).and_then(|()| self.parse_tag())
        {
            self.fault = Some(fault);
        }
    }

    #[inline]
    fn parse_bitmap(&mut self) -> Result<(), RecordFault> {
        if self.status_a() & HAS_NULL_BITMAP == 0 {
            return Ok(());
        }
        let at = usize::from(self.len);
        let limit = self.bytes.len();
        let count = u16_at(self.bytes, at).ok_or(RecordFault::NullBitmap { end: at + 2, limit })?;
        let end = at + 2 + usize::from(count).div_ceil(8);
        if end > limit {
            return Err(RecordFault::NullBitmap { end, limit });
        }
        self.column_count = count;
        self.bitmap_at = (at + 2) as u16;
        self.len = end as u16;
        Ok(())
    }

    #[inline]
    fn parse_variable(&mut self) -> Result<(), RecordFault> {
        if self.status_a() & HAS_VARIABLE == 0 {
            return Ok(());
        }
        let at = usize::from(self.len);
        let limit = self.bytes.len();
        let count =
            u16_at(self.bytes, at).ok_or(RecordFault::OffsetArray { end: at + 2, limit })?;
        let end = at + 2 + 2 * usize::from(count);
        let Some(offsets) = self.bytes.get(at + 2..end) else {
            return Err(RecordFault::OffsetArray { end, limit });
        };
        self.offsets_at = (at + 2) as u16;
        let mut start = end;
        for (column, raw) in (0u16..).zip(offsets.as_chunks::<2>().0) {
            let end = usize::from(u16::from_le_bytes(*raw) & !COMPLEX_COLUMN);
            if end < start || end > limit {
                self.len = start as u16;
                self.var_count = column;
                return Err(RecordFault::EndOffset { column, end, start, limit });
            }
            start = end;
        }
        self.var_count = count;
        self.len = start as u16;
        Ok(())
    }

    #[inline]
    fn parse_tag(&mut self) -> Result<(), RecordFault> {
        if self.status_a() & HAS_VERSION_TAG == 0 {
            return Ok(());
        }
        let end = usize::from(self.len) + VERSION_TAG_BYTES;
        let limit = self.bytes.len();
        if end > limit {
            return Err(RecordFault::VersionTag { end, limit });
        }
        self.len = end as u16;
        Ok(())
    }

    /// The status byte; 0 of an empty record.
    #[inline]
    pub fn status_a(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0)
    }

    /// The second status byte of a data record: bit 0 = ghost forwarded record.
    pub fn status_b(&self) -> Option<u8> {
        if usize::from(self.header_bytes) != DATA_HEADER_BYTES
            || self.kind() == RecordKind::ForwardingStub
        {
            return None;
        }
        self.bytes.get(1).copied()
    }

    /// What the record is.
    #[inline]
    pub fn kind(&self) -> RecordKind {
        RecordKind::of(self.status_a())
    }

    /// Bytes of the record, tag included; with a fault, of the part before it.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a record is never empty")]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The record's own bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.get(..self.len()).unwrap_or_default()
    }

    /// The first thing that does not add up.
    #[inline]
    pub fn fault(&self) -> Option<RecordFault> {
        self.fault
    }

    /// End of the fixed part.
    #[inline]
    pub fn fixed_end(&self) -> usize {
        usize::from(self.fixed_end)
    }

    /// First byte of the fixed columns: 4 for data records, 1 for index records.
    pub fn fixed_start(&self) -> usize {
        usize::from(self.header_bytes)
    }

    /// A fixed column by its place; `None` when the fixed part of this row ends before it does.
    #[inline]
    pub fn fixed(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        let end = offset.checked_add(len)?;
        if offset < usize::from(self.header_bytes) || end > self.fixed_end() {
            return None;
        }
        self.bytes.get(offset..end)
    }

    /// True when there is a null bitmap.
    pub fn has_null_bitmap(&self) -> bool {
        self.bitmap_at != 0
    }

    /// Number of columns the row was written with; 0 without a null bitmap.
    #[inline]
    pub fn column_count(&self) -> u16 {
        self.column_count
    }

    /// The null bitmap as stored; empty when there is none.
    pub fn null_bitmap(&self) -> &'a [u8] {
        let at = usize::from(self.bitmap_at);
        self.bytes.get(at..at + usize::from(self.column_count).div_ceil(8)).unwrap_or_default()
    }

    /// The bit of the column with null bit `null_bit` (from 1). `None` when the row was written
    /// before the column existed, or has no null bitmap.
    #[inline]
    pub fn is_null(&self, null_bit: u16) -> Option<bool> {
        let bit = usize::from(null_bit.checked_sub(1)?);
        if null_bit > self.column_count {
            return None;
        }
        let byte = self.bytes.get(usize::from(self.bitmap_at) + bit / 8)?;
        Some(byte & (1 << (bit % 8)) != 0)
    }

    /// Number of variable columns stored.
    #[inline]
    pub fn var_count(&self) -> u16 {
        self.var_count
    }

    /// The end offset of a variable column as stored, complex bit included.
    #[inline]
    fn raw_end(&self, column: u16) -> Option<u16> {
        u16_at(self.bytes, usize::from(self.offsets_at) + 2 * usize::from(column))
    }

    /// First byte of the variable columns.
    fn var_start(&self) -> usize {
        let stored = u16_at(self.bytes, usize::from(self.offsets_at).wrapping_sub(2)).unwrap_or(0);
        usize::from(self.offsets_at) + 2 * usize::from(stored)
    }

    /// A variable column, from 0. `None` when it is not stored: trailing empty columns are not.
    #[inline]
    pub fn var(&self, column: u16) -> Option<VarColumn<'a>> {
        if column >= self.var_count {
            return None;
        }
        let raw = self.raw_end(column)?;
        let start = match column.checked_sub(1) {
            Some(before) => usize::from(self.raw_end(before)? & !COMPLEX_COLUMN),
            None => self.var_start(),
        };
        let bytes = self.bytes.get(start..usize::from(raw & !COMPLEX_COLUMN))?;
        Some(VarColumn { bytes, complex: raw & COMPLEX_COLUMN != 0 })
    }

    /// All stored variable columns.
    pub fn vars(&self) -> impl Iterator<Item = VarColumn<'a>> {
        let record = *self;
        (0..self.var_count).filter_map(move |column| record.var(column))
    }

    /// The versioning tag.
    pub fn version_tag(&self) -> Option<VersionTag> {
        if self.status_a() & HAS_VERSION_TAG == 0 || self.fault.is_some() {
            return None;
        }
        let at = self.len().checked_sub(VERSION_TAG_BYTES)?;
        let bytes: &[u8; VERSION_TAG_BYTES] = self.bytes.get(at..)?.first_chunk()?;
        let (pointer, sequence) = bytes.split_first_chunk::<8>()?;
        Some(VersionTag {
            previous: Rid::from_bytes(*pointer),
            sequence: *sequence.first_chunk()?,
        })
    }

    /// The child page of a record of a non-leaf index page: the last six bytes of the fixed part.
    pub fn child(&self) -> Option<PageId> {
        let at = self.fixed_end().checked_sub(PageId::BYTES)?;
        self.fixed(at, PageId::BYTES)?.first_chunk().map(|b| PageId::from_bytes(*b))
    }

    /// Where a forwarding stub points.
    pub fn stub_target(&self) -> Option<Rid> {
        if self.kind() != RecordKind::ForwardingStub {
            return None;
        }
        self.bytes.get(1..)?.first_chunk().map(|b| Rid::from_bytes(*b))
    }

    /// Is it the ghost of a forwarded record? One without null bitmap was a stub, which has no
    /// second status byte.
    pub fn is_ghost_forwarded(&self) -> bool {
        let is_marked = self.status_b().is_some_and(|status| status & GHOST_FORWARDED != 0);
        is_marked && self.has_null_bitmap() && self.kind() == RecordKind::GhostData
    }

    /// The home slot of a forwarded record or its ghost: its last variable column, complex, `00 04`
    /// and a slot pointer.
    pub fn back_pointer(&self) -> Option<Rid> {
        if self.kind() != RecordKind::Forwarded && !self.is_ghost_forwarded() {
            return None;
        }
        let column = self.var(self.var_count.checked_sub(1)?)?;
        match column.bytes.split_first_chunk::<2>() {
            Some((&BACK_POINTER_TAG, rid)) if column.complex => {
                rid.try_into().ok().map(Rid::from_bytes)
            }
            _ => None,
        }
    }
}

/// First bytes of the complex column that leads from a forwarded record to its stub.
pub const BACK_POINTER_TAG: [u8; 2] = [0x00, 0x04];

/// The 14 bytes that row versioning adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionTag {
    /// The older version in the version store.
    pub previous: Rid,
    /// Transaction sequence number, little-endian.
    pub sequence: [u8; 6],
}
