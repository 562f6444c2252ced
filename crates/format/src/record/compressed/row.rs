//! A record in CD format: a descriptor of four bits per column, then short values, then long ones.
//! Unverified, see [`compressed`](super).
//!
//! ```text
//! header       u8       bit 0: 1 = CD format; 1: versioning tag; 2..4: kind; 5: long data region
//! column count 1 or 2   below 128 one byte; else 0x80 + high byte, low byte
//! descriptors  n / 2    four bits per column, low half first:
//!                         0 NULL  1 empty or zero  2..9 one to eight bytes  10 long  11 bit of 1
//!                         12 one byte: symbol of the page dictionary
//! short data   (n-1)/30 bytes: length of each cluster of 30 columns but the last; then the short
//!              values
//! long data    flags u8 (bit 0: offsets are u16, bit 1: some value is a pointer structure)
//!              count u16, end offset u16 each from the first value's start; bit 15 = pointer
//!              (n-1)/30 bytes: number of long values in each cluster but the last; then the values
//! tag          14 bytes if bit 1 of the header
//! ```
//!
//! ```text
//! 21 0a 51 40 1a 0b aa | ff ff ff ff | 61 61 61 | 01 03 00 e8 03 d0 07 da 07 …
//!  header, 10 columns    col 2: int    col 4      three long values: 1000, 1000 and 10 bytes
//! ```
//!
//! A forwarding stub has no columns: the header byte, then a slot pointer of 8 bytes. An index
//! record of a non-leaf page has one more column than the key, six bytes, which is the child page.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{PageId, Rid};

use super::fault::CdFault;
use super::value::{CompressedError, CompressedValue};
use crate::record::row::{COMPLEX_COLUMN, STUB_BYTES, VERSION_TAG_BYTES, VersionTag};

/// Columns of a cluster.
const CLUSTER: u16 = 30;
/// Header bit: this is a CD record.
pub const IS_CD: u8 = 0x01;
/// Header bit: a versioning tag closes the record.
pub const HAS_VERSION_TAG: u8 = 0x02;
/// Header bit: there is a long data region.
pub const HAS_LONG_DATA: u8 = 0x20;
/// Long data flag: end offsets have two bytes.
const LONG_OFFSETS_U16: u8 = 0x01;
/// First byte of a column count of two bytes.
const WIDE_COUNT: u8 = 0x80;

/// What a CD record is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CdKind {
    /// 0: a row in its home slot.
    Primary,
    /// 1: a ghost without content.
    GhostEmpty,
    /// 2: the stub in the home slot of a forwarded row.
    ForwardingStub,
    /// 3: a row that is deleted but still there.
    GhostData,
    /// 4: a row that an update moved here.
    Forwarded,
    /// 5: a deleted forwarded row.
    GhostForwarded,
    /// 6: an index entry.
    Index,
    /// 7: a deleted index entry.
    GhostIndex,
}

impl CdKind {
    /// The kind that a header byte names.
    pub const fn of(header: u8) -> CdKind {
        match header >> 2 & 7 {
            0 => CdKind::Primary,
            1 => CdKind::GhostEmpty,
            2 => CdKind::ForwardingStub,
            3 => CdKind::GhostData,
            4 => CdKind::Forwarded,
            5 => CdKind::GhostForwarded,
            6 => CdKind::Index,
            _ => CdKind::GhostIndex,
        }
    }

    /// Bits 2 to 4 of the header byte.
    pub const fn bits(self) -> u8 {
        (self as u8) << 2
    }

    /// True for records that are deleted but still in their slot.
    pub const fn is_ghost(self) -> bool {
        matches!(
            self,
            CdKind::GhostEmpty | CdKind::GhostData | CdKind::GhostForwarded | CdKind::GhostIndex
        )
    }
}

/// A column as a CD record stores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CdColumn<'a> {
    /// The column is NULL.
    Null,
    /// Zero, the empty string, a bit of value 0; on a page with anchors: exactly the anchor.
    Empty,
    /// One to eight bytes.
    Short(&'a [u8]),
    /// More than eight bytes, in the long data region.
    Long {
        /// The bytes; a pointer structure when `complex`.
        bytes: &'a [u8],
        /// Bit 15 of the end offset.
        complex: bool,
    },
    /// A bit of value 1.
    BitTrue,
    /// An entry of the page dictionary, from 0.
    Symbol(u8),
    /// The record is damaged here: see its fault.
    Unreadable,
}

impl<'a> CdColumn<'a> {
    /// The value on a page without compression information.
    pub fn plain(self) -> Result<CompressedValue<'a>, CompressedError> {
        match self {
            CdColumn::Null => Ok(CompressedValue::Null),
            CdColumn::Empty => Ok(CompressedValue::Bytes((&[]).into())),
            CdColumn::Short(bytes) | CdColumn::Long { bytes, complex: false } => {
                Ok(CompressedValue::Bytes(bytes.into()))
            }
            CdColumn::Long { bytes, complex: true } => Ok(CompressedValue::Pointer(bytes)),
            CdColumn::BitTrue => Ok(CompressedValue::BitTrue),
            CdColumn::Symbol(symbol) => Err(CompressedError::NoDictionary { symbol }),
            CdColumn::Unreadable => Err(CompressedError::Unreadable),
        }
    }
}

/// A CD record that is read. Parsing never fails: after a [`fault`](CdRecord::fault) the columns
/// before it can still be read, the others are [`CdColumn::Unreadable`].
#[derive(Clone, Copy, Debug)]
pub struct CdRecord<'a> {
    bytes: &'a [u8],
    column_count: u16,
    /// First byte of the descriptors.
    codes_at: u16,
    /// First byte of the short values.
    short_at: u16,
    /// First end offset of the long values.
    ends_at: u16,
    /// First byte of the long values.
    long_at: u16,
    /// Long values that can be read.
    long_count: u16,
    len: u16,
    fault: Option<CdFault>,
}

/// What the descriptors add up to.
#[derive(Default)]
struct Totals {
    short_bytes: usize,
    long_values: u16,
}

/// Bytes that a descriptor stands for in the short data.
const fn short_bytes(code: u8) -> usize {
    match code {
        2..=9 => code as usize - 1,
        12 => 1,
        _ => 0,
    }
}

const LONG: u8 = 10;
const BIT_TRUE: u8 = 11;
const SYMBOL: u8 = 12;

impl<'a> CdRecord<'a> {
    /// Does a record that begins with this byte have CD format?
    pub const fn is_one(header: u8) -> bool {
        header & IS_CD != 0
    }

    /// Reads a record. `bytes` begin at it and may reach beyond it.
    pub fn parse(bytes: &'a [u8]) -> CdRecord<'a> {
        let bytes = bytes.get(..PAGE_BYTES).unwrap_or(bytes);
        let mut record = CdRecord {
            bytes,
            column_count: 0,
            codes_at: 0,
            short_at: 0,
            ends_at: 0,
            long_at: 0,
            long_count: 0,
            len: 0,
            fault: None,
        };
        record.fault = record.parse_parts().err();
        record
    }

    fn parse_parts(&mut self) -> Result<(), CdFault> {
        if !Self::is_one(self.header()) {
            return Err(CdFault::NotCompressed { header: self.header() });
        }
        if self.kind() == CdKind::ForwardingStub {
            return self.parse_stub();
        }
        self.parse_count()?;
        let totals = self.parse_short()?;
        self.parse_long(totals.long_values)?;
        self.parse_tag()
    }

    fn parse_stub(&mut self) -> Result<(), CdFault> {
        let limit = self.bytes.len();
        self.len = limit.min(STUB_BYTES) as u16;
        if limit < STUB_BYTES { Err(CdFault::Header { limit }) } else { Ok(()) }
    }

    /// Column count and descriptors.
    fn parse_count(&mut self) -> Result<(), CdFault> {
        let limit = self.bytes.len();
        let (count, at) = match (self.bytes.get(1), self.bytes.get(2)) {
            (Some(first), _) if first & WIDE_COUNT == 0 => (u16::from(*first), 2),
            (Some(first), Some(second)) => (u16::from_be_bytes([first & !WIDE_COUNT, *second]), 3),
            _ => return Err(CdFault::Header { limit }),
        };
        self.len = at as u16;
        let end = at + usize::from(count).div_ceil(2);
        if end > limit {
            return Err(CdFault::Descriptors { end, limit });
        }
        self.codes_at = at as u16;
        self.column_count = count;
        self.len = end as u16;
        Ok(())
    }

    /// Bytes of each of the two cluster arrays.
    fn cluster_bytes(&self) -> usize {
        usize::from(self.column_count.saturating_sub(1) / CLUSTER)
    }

    /// Cluster lengths and short values, checked against the descriptors.
    fn parse_short(&mut self) -> Result<Totals, CdFault> {
        let limit = self.bytes.len();
        let clusters_at = usize::from(self.len);
        self.short_at = (clusters_at + self.cluster_bytes()) as u16;
        let mut totals = Totals::default();
        let mut cluster_start = 0;
        let mut mismatch = None;
        for column in 0..self.column_count {
            let code = self.code(column);
            if code > SYMBOL {
                return Err(CdFault::Descriptor { column, code });
            }
            totals.short_bytes += short_bytes(code);
            totals.long_values += u16::from(code == LONG);
            let is_cluster_end = column % CLUSTER == CLUSTER - 1 && column + 1 < self.column_count;
            if is_cluster_end {
                let cluster = column / CLUSTER;
                let computed = (totals.short_bytes - cluster_start) as u16;
                let stored =
                    self.bytes.get(clusters_at + usize::from(cluster)).copied().unwrap_or(0);
                if u16::from(stored) != computed {
                    mismatch =
                        mismatch.or(Some(CdFault::ShortCluster { cluster, stored, computed }));
                }
                cluster_start = totals.short_bytes;
            }
        }
        let end = usize::from(self.short_at) + totals.short_bytes;
        if end > limit {
            return Err(CdFault::ShortData { end, limit });
        }
        self.len = end as u16;
        match mismatch {
            Some(fault) => Err(fault),
            None => Ok(totals),
        }
    }

    fn parse_long(&mut self, computed: u16) -> Result<(), CdFault> {
        let has_region = self.header() & HAS_LONG_DATA != 0;
        if !has_region {
            return if computed == 0 {
                Ok(())
            } else {
                Err(CdFault::LongRegion { columns: computed })
            };
        }
        let at = usize::from(self.len);
        let limit = self.bytes.len();
        let (Some(flags), Some(stored)) = (self.bytes.get(at), u16_at(self.bytes, at + 1)) else {
            return Err(CdFault::LongArrays { end: at + 3, limit });
        };
        if flags & LONG_OFFSETS_U16 == 0 {
            return Err(CdFault::LongFlags { found: *flags });
        }
        let clusters_at = at + 3 + 2 * usize::from(stored);
        let end = clusters_at + self.cluster_bytes();
        if end > limit {
            return Err(CdFault::LongArrays { end, limit });
        }
        self.ends_at = (at + 3) as u16;
        self.long_at = end as u16;
        self.len = end as u16;
        self.parse_ends(stored)?;
        // A forwarded row carries a back pointer of a form that is not published; it may be one
        // more long value.
        let may_have_more =
            self.kind() == CdKind::Forwarded || self.kind() == CdKind::GhostForwarded;
        if stored != computed && !(may_have_more && stored > computed) {
            return Err(CdFault::LongCount { stored, computed });
        }
        self.check_long_clusters(clusters_at)
    }

    fn parse_ends(&mut self, stored: u16) -> Result<(), CdFault> {
        let limit = self.bytes.len();
        let base = usize::from(self.long_at);
        let mut start = base;
        for entry in 0..stored {
            let end = base + usize::from(self.raw_end(entry).unwrap_or(0) & !COMPLEX_COLUMN);
            if end < start || end > limit {
                return Err(CdFault::LongOffset { entry, end, start, limit });
            }
            start = end;
            self.long_count = entry + 1;
            self.len = end as u16;
        }
        Ok(())
    }

    fn check_long_clusters(&self, at: usize) -> Result<(), CdFault> {
        for cluster in 0..self.cluster_bytes() as u16 {
            let columns = cluster * CLUSTER..(cluster + 1) * CLUSTER;
            let computed = columns.filter(|column| self.code(*column) == LONG).count() as u16;
            let stored = self.bytes.get(at + usize::from(cluster)).copied().unwrap_or(0);
            if u16::from(stored) != computed {
                return Err(CdFault::LongCluster { cluster, stored, computed });
            }
        }
        Ok(())
    }

    fn parse_tag(&mut self) -> Result<(), CdFault> {
        if self.header() & HAS_VERSION_TAG == 0 {
            return Ok(());
        }
        let end = usize::from(self.len) + VERSION_TAG_BYTES;
        let limit = self.bytes.len();
        if end > limit {
            return Err(CdFault::VersionTag { end, limit });
        }
        self.len = end as u16;
        Ok(())
    }

    /// The header byte; 0 of an empty record.
    #[inline]
    pub fn header(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0)
    }

    /// What the record is.
    #[inline]
    pub fn kind(&self) -> CdKind {
        CdKind::of(self.header())
    }

    /// Number of columns the row was written with.
    #[inline]
    pub fn column_count(&self) -> u16 {
        self.column_count
    }

    /// Bytes of the record, tag included; with a fault, of the part before it. A forwarded row may
    /// have some more.
    #[expect(clippy::len_without_is_empty, reason = "a record is never empty")]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The first thing that does not add up.
    pub fn fault(&self) -> Option<CdFault> {
        self.fault
    }

    /// The descriptor of a column.
    #[inline]
    fn code(&self, column: u16) -> u8 {
        let byte = self
            .bytes
            .get(usize::from(self.codes_at) + usize::from(column / 2))
            .copied()
            .unwrap_or(0);
        if column.is_multiple_of(2) { byte & 0x0f } else { byte >> 4 }
    }

    fn raw_end(&self, entry: u16) -> Option<u16> {
        u16_at(self.bytes, usize::from(self.ends_at) + 2 * usize::from(entry))
    }

    fn long(&self, entry: u16) -> Option<(&'a [u8], bool)> {
        if entry >= self.long_count {
            return None;
        }
        let raw = self.raw_end(entry)?;
        let before = entry.checked_sub(1).and_then(|before| self.raw_end(before)).unwrap_or(0);
        let base = usize::from(self.long_at);
        let start = usize::from(before & !COMPLEX_COLUMN);
        let end = usize::from(raw & !COMPLEX_COLUMN);
        Some((self.bytes.get(base + start..base + end)?, raw & COMPLEX_COLUMN != 0))
    }

    /// All columns in order. Faster than asking for each.
    pub fn columns(&self) -> CdColumns<'a> {
        CdColumns {
            record: *self,
            column: 0,
            short_at: usize::from(self.short_at),
            entry: 0,
        }
    }

    /// A column, from 0. `None` when the row was written before the column existed.
    pub fn column(&self, column: u16) -> Option<CdColumn<'a>> {
        self.columns().nth(usize::from(column))
    }

    /// Long values beyond those of the columns: on a forwarded row, what leads back to its stub.
    pub fn extra_long(&self) -> impl Iterator<Item = (&'a [u8], bool)> {
        let record = *self;
        let of_columns =
            (0..self.column_count).filter(|column| self.code(*column) == LONG).count() as u16;
        (of_columns..self.long_count).filter_map(move |entry| record.long(entry))
    }

    /// The versioning tag of a sound record.
    pub fn version_tag(&self) -> Option<VersionTag> {
        if self.header() & HAS_VERSION_TAG == 0
            || self.fault.is_some()
            || self.kind() == CdKind::ForwardingStub
        {
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

    /// Where a forwarding stub points. The description of the form is not certain: check that a
    /// forwarded row is there.
    pub fn stub_target(&self) -> Option<Rid> {
        if self.kind() != CdKind::ForwardingStub {
            return None;
        }
        self.bytes.get(1..)?.first_chunk().map(|bytes| Rid::from_bytes(*bytes))
    }

    /// The child page of an index record of a non-leaf page: its last column, when that has six
    /// bytes.
    pub fn child(&self) -> Option<PageId> {
        if !matches!(self.kind(), CdKind::Index | CdKind::GhostIndex) {
            return None;
        }
        match self.column(self.column_count.checked_sub(1)?)? {
            CdColumn::Short(bytes) => bytes.try_into().ok().map(PageId::from_bytes),
            _ => None,
        }
    }
}

/// The columns of a record, in order.
#[derive(Clone, Debug)]
pub struct CdColumns<'a> {
    record: CdRecord<'a>,
    column: u16,
    /// Where the next short value begins.
    short_at: usize,
    /// The next long value.
    entry: u16,
}

impl<'a> Iterator for CdColumns<'a> {
    type Item = CdColumn<'a>;

    fn next(&mut self) -> Option<CdColumn<'a>> {
        if self.column >= self.record.column_count {
            return None;
        }
        let code = self.record.code(self.column);
        self.column += 1;
        Some(match code {
            0 => CdColumn::Null,
            1 => CdColumn::Empty,
            2..=9 | SYMBOL => self.short(code),
            LONG => {
                self.entry += 1;
                match self.record.long(self.entry - 1) {
                    Some((bytes, complex)) => CdColumn::Long { bytes, complex },
                    None => CdColumn::Unreadable,
                }
            }
            BIT_TRUE => CdColumn::BitTrue,
            _ => {
                // Nobody knows how long this one is, so what follows cannot be found either.
                self.short_at = usize::MAX;
                CdColumn::Unreadable
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = usize::from(self.record.column_count - self.column);
        (rest, Some(rest))
    }
}

impl ExactSizeIterator for CdColumns<'_> {}

impl<'a> CdColumns<'a> {
    fn short(&mut self, code: u8) -> CdColumn<'a> {
        let end = self.short_at.saturating_add(short_bytes(code));
        let bytes = self.record.bytes.get(self.short_at..end);
        self.short_at = end;
        match (bytes, code) {
            (None, _) => CdColumn::Unreadable,
            (Some([symbol]), SYMBOL) => CdColumn::Symbol(*symbol),
            (Some(bytes), _) => CdColumn::Short(bytes),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

mod write;

pub use write::CdParts;

#[cfg(test)]
mod tests;
