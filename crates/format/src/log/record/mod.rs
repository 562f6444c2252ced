//! Log records: a common header, a fixed part, a variable part.
//!
//! ```text
//! formats 3 to 6                                   format 2 (SQL Server 2000)
//! offset size field         fn_dblog               offset size field
//!      0    2 tag_bits      Tag Bits, always 0          0    2 tag_bits
//!      2    2 fixed_len     Log Record Fixed Length     2    2 length of the whole record
//!      4   10 previous      Previous LSN                4   10 previous
//!     14    2 flags         Flag Bits                  14    1 op
//!     16    6 xact          Transaction ID             15    1 context
//!     22    1 op            Operation                  16    6 xact
//!     23    1 context       Context                    22    2 flags
//!     24      payload                                  24      payload
//! ```
//!
//! At `fixed_len` most operations continue with elements: `u16 count`, `count` times `u16 length`,
//! padding to 4, then the elements, each padded to 4. Padding is never cleared: it holds whatever
//! the buffer held before.
//!
//! A record may be longer than what is known of it: the fixed part and the elements end, and more
//! bytes follow than alignment explains (END_CKPT of format 6 by 8 bytes or more, FORMAT_PAGE with
//! a page image). These bytes are the record's [`RecordRef::rest`]: kept and counted, not damage.
//! Whether a block is damaged is told by stamps, checksum and slots.
//!
//! Invariants
//! - `previous` links the records of a transaction backwards; in a compensation record it names the
//!   record to be undone next.
//! - Records lie in slot order, so the bytes up to the next record bound a record.
//!
//! Observed in real files of versions 539 to 904.

mod elements;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use extentdb_base::{Lsn, XactId};
use smallvec::SmallVec;

use super::block::BlockFormat;
use super::context::Context;
use super::fault::RecordFault;
use super::field::{Field, write_chunk};
use super::op::{Op, VariablePart};
use super::payload::Payload;
pub use elements::Slices;
pub(crate) use elements::{ElementList, elements_bytes, write_elements};

/// Bytes of the common header.
pub const RECORD_HEADER_BYTES: usize = 24;

/// Flag bits of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordFlags(pub u16);

impl RecordFlags {
    /// The record undoes another one.
    pub const COMPENSATION: RecordFlags = RecordFlags(0x0001);
    /// The record belongs to a transaction.
    pub const TRANSACTION: RecordFlags = RecordFlags(0x0002);

    /// True when the record undoes another one.
    pub fn is_compensation(self) -> bool {
        self.0 & Self::COMPENSATION.0 != 0
    }

    /// True when the record belongs to a transaction.
    pub fn is_of_transaction(self) -> bool {
        self.0 & Self::TRANSACTION.0 != 0
    }
}

impl fmt::Display for RecordFlags {
    /// As `fn_dblog` prints it: the two bytes as they lie on disk, so 0002 hex is `0x0200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04X}", self.0.swap_bytes())
    }
}

/// The common header of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// 0 in every record seen.
    pub tag_bits: u16,
    /// Where the variable part starts; in format 2 the length of the whole record.
    pub fixed_len: u16,
    /// Record of the same transaction before this one; zero for the first.
    pub previous: Lsn,
    /// Flag bits of the record.
    pub flags: RecordFlags,
    /// Transaction; zero for none.
    pub xact: XactId,
    /// What was done.
    pub op: Op,
    /// What it was done to.
    pub context: Context,
}

impl RecordHeader {
    /// Reads the header; `None` when there are fewer than 24 bytes.
    pub fn read(format: BlockFormat, bytes: &[u8]) -> Option<Self> {
        let [op, context, flags] = Self::flag_offsets(format);
        Some(RecordHeader {
            tag_bits: u16::read(bytes, 0)?,
            fixed_len: u16::read(bytes, 2)?,
            previous: Lsn::read(bytes, 4)?,
            flags: RecordFlags(u16::read(bytes, flags)?),
            xact: XactId::read(bytes, 16)?,
            op: Op(u8::read(bytes, op)?),
            context: Context(u8::read(bytes, context)?),
        })
    }

    /// Writes the 24 bytes of the header.
    pub fn write(&self, format: BlockFormat, bytes: &mut [u8]) {
        let [op, context, flags] = Self::flag_offsets(format);
        self.tag_bits.write(bytes, 0);
        self.fixed_len.write(bytes, 2);
        self.previous.write(bytes, 4);
        self.xact.write(bytes, 16);
        write_chunk(bytes, op, &[self.op.0]);
        write_chunk(bytes, context, &[self.context.0]);
        self.flags.0.write(bytes, flags);
    }

    /// Offsets of operation, context and flags, the three fields that moved after format 2.
    fn flag_offsets(format: BlockFormat) -> [usize; 3] {
        if format == BlockFormat::V2 { [14, 15, 22] } else { [22, 23, 14] }
    }
}

/// What follows the fixed part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail<'a> {
    /// The record ends after its fixed part.
    Absent,
    /// Elements after the fixed part.
    Elements(Slices<'a>),
    /// Bytes that are not elements, or not valid ones.
    Raw(&'a [u8]),
}

/// A record as it lies in a block.
#[derive(Clone, Debug)]
pub struct RecordRef<'a> {
    format: BlockFormat,
    bytes: &'a [u8],
    header: RecordHeader,
    fixed_len: usize,
    tail: Tail<'a>,
    len: usize,
    rest: &'a [u8],
    fault: Option<RecordFault>,
}

impl<'a> RecordRef<'a> {
    /// Reads a record from all the bytes up to the next one; `None` when they do not hold a header.
    pub fn parse(format: BlockFormat, bytes: &'a [u8]) -> Option<Self> {
        let header = RecordHeader::read(format, bytes)?;
        let tail = Tail::Absent;
        let len = bytes.len();
        let mut record = RecordRef {
            format,
            bytes,
            header,
            fixed_len: len,
            tail,
            len,
            rest: &[],
            fault: None,
        };
        let fixed_len = usize::from(header.fixed_len);
        if !(RECORD_HEADER_BYTES..=len).contains(&fixed_len) {
            record.fault =
                Some(RecordFault::FixedLen { fixed_len: header.fixed_len, stored: bytes.len() });
            return Some(record);
        }
        record.fixed_len = fixed_len;
        if format == BlockFormat::V2 {
            record.len = fixed_len;
        } else {
            record.read_tail();
        }
        if record.fault.is_none() && bytes.len() - record.len >= format.record_align() {
            record.rest = bytes.get(record.len..).unwrap_or_default();
        }
        Some(record)
    }

    /// Finds out what follows the fixed part and with it the record's length.
    fn read_tail(&mut self) {
        let fixed_len = self.fixed_len;
        let stored = self.bytes.len();
        let elements = elements::read_elements(self.bytes, fixed_len);
        (self.tail, self.len) = match (self.header.op.variable_part(), elements) {
            (VariablePart::Absent, _) => (Tail::Absent, fixed_len),
            (VariablePart::Elements, Some((slices, end))) => (Tail::Elements(slices), end),
            (VariablePart::Elements, None) => {
                let count = u16::read(self.bytes, fixed_len).unwrap_or(0);
                self.fault = Some(RecordFault::Elements { count, stored });
                (Tail::Raw(self.bytes.get(fixed_len..).unwrap_or_default()), stored)
            }
            (VariablePart::Unknown, Some((slices, end)))
                if stored - end < self.format.record_align() =>
            {
                (Tail::Elements(slices), end)
            }
            (VariablePart::Unknown, _) if stored - fixed_len < self.format.record_align() => {
                (Tail::Absent, fixed_len)
            }
            (VariablePart::Unknown, _) => {
                (Tail::Raw(self.bytes.get(fixed_len..).unwrap_or_default()), stored)
            }
        };
    }

    /// Format of the block that holds the record.
    pub fn format(&self) -> BlockFormat {
        self.format
    }

    /// The common header.
    pub fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// Bytes of the record as far as its shape is known, without what follows them up to the next
    /// record.
    #[expect(clippy::len_without_is_empty, reason = "a record always has a header")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes of the record.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.get(..self.len).unwrap_or(self.bytes)
    }

    /// The fixed part, header included. In format 2, and when the header's length cannot be, this
    /// is the whole record.
    pub fn fixed(&self) -> &'a [u8] {
        self.bytes.get(..self.fixed_len).unwrap_or(self.bytes)
    }

    /// True when the length of the fixed part can be.
    pub(crate) fn has_fixed_part(&self) -> bool {
        usize::from(self.header.fixed_len) == self.fixed_len
    }

    /// What follows the fixed part.
    pub fn tail(&self) -> &Tail<'a> {
        &self.tail
    }

    /// The elements, none if the record has none.
    pub fn elements(&self) -> &[&'a [u8]] {
        match &self.tail {
            Tail::Elements(slices) => slices,
            Tail::Absent | Tail::Raw(_) => &[],
        }
    }

    /// The payload by its operation.
    pub fn payload(&self) -> Payload<'a> {
        Payload::read(self)
    }

    /// The bytes after the known part, when they are more than alignment explains. Their meaning is
    /// unknown.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes have no known meaning because the record does not end, or is not built, as
    /// its operation was seen to be; 0 for a record of a known shape, whatever single fields of it
    /// are unknown.
    pub fn undecoded_bytes(&self) -> usize {
        let is_known =
            self.header.op.name().is_some() && !Payload::is_decoded(self.format, self.header.op);
        if is_known {
            return self.rest.len();
        }
        match self.payload() {
            Payload::Opaque(payload) => payload.unknown_bytes() + self.rest.len(),
            payload => payload.foreign_bytes() + self.rest.len(),
        }
    }

    /// What is wrong with the record.
    pub fn faults(&self) -> SmallVec<[RecordFault; 2]> {
        let mut faults: SmallVec<[RecordFault; 2]> = self.fault.into_iter().collect();
        let op = self.header.op;
        let needed = Payload::least_fixed_of(self.format, op).unwrap_or(0);
        if self.fault.is_none() && self.fixed_len < needed {
            faults.push(RecordFault::ShortFixed { op, fixed_len: self.fixed_len, needed });
        }
        faults
    }

    /// The ranges of the stored bytes, counted from the record's start, that hold nothing: padding
    /// between elements and the way to the next record.
    pub fn undefined(&self) -> SmallVec<[Range<usize>; 4]> {
        let mut ranges = match &self.tail {
            Tail::Elements(slices) => elements::padding(slices, self.fixed_len, self.len),
            Tail::Absent | Tail::Raw(_) => SmallVec::new(),
        };
        if self.len < self.bytes.len() {
            ranges.push(self.len..self.bytes.len());
        }
        ranges
    }
}
