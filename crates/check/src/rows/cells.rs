//! The parts of a record that passed its audit: found without looking for faults a second time.
//!
//! Reads the same fields in the same order as [`Record`](extentdb_format::record::Record); the
//! tests hold the two against each other. Apart from that there is no reason for it but speed.

use extentdb_format::record::row::COMPLEX_COLUMN;
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE};

/// Where the parts of a record are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'r> {
    bytes: &'r [u8],
    fixed: &'r [u8],
    /// Columns that the null bitmap knows; 0 = there is no bitmap.
    columns: u16,
    bitmap: &'r [u8],
    /// End offsets of the variable columns.
    ends: &'r [[u8; 2]],
    /// First byte of the variable columns.
    start: usize,
}

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |b| usize::from(u16::from_le_bytes(*b)))
}

impl<'r> Cells<'r> {
    /// The parts of a record of a data page that is no forwarding stub.
    #[cfg(test)]
    fn data(bytes: &'r [u8]) -> Cells<'r> {
        Cells::new(bytes, u16_at(bytes, 2))
    }

    /// The parts of a record whose fixed part ends at `fixed_end`.
    #[inline(always)]
    pub(super) fn new(bytes: &'r [u8], fixed_end: usize) -> Cells<'r> {
        let status = bytes.first().copied().unwrap_or(0);
        let fixed = bytes.get(..fixed_end).unwrap_or_default();
        let mut cells = Cells { bytes, fixed, columns: 0, bitmap: &[], ends: &[], start: 0 };
        let mut at = fixed_end;
        if status & HAS_NULL_BITMAP != 0 {
            let columns = u16_at(bytes, at);
            let end = at + 2 + columns.div_ceil(8);
            cells.columns = columns as u16;
            cells.bitmap = bytes.get(at + 2..end).unwrap_or_default();
            at = end;
        }
        if status & HAS_VARIABLE != 0 {
            let count = u16_at(bytes, at);
            cells.start = at + 2 + 2 * count;
            cells.ends = bytes.get(at + 2..cells.start).unwrap_or_default().as_chunks().0;
        }
        cells
    }

    /// The null bitmap; empty when there is none.
    #[cfg(test)]
    fn bitmap(&self) -> &'r [u8] {
        self.bitmap
    }

    /// The fixed part, from the first byte of the record.
    #[inline(always)]
    pub(super) fn fixed(&self) -> &'r [u8] {
        self.fixed
    }

    /// The bit of a column; `None` when the row does not know the column. Without a bitmap nothing
    /// is NULL.
    #[inline(always)]
    pub(super) fn is_null(&self, null_bit: u16) -> Option<bool> {
        if self.columns == 0 || null_bit == 0 {
            return Some(false);
        }
        if null_bit > self.columns {
            return None;
        }
        let bit = usize::from(null_bit - 1);
        Some(self.bitmap.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0))
    }

    /// A variable column with its complex bit; trailing empty ones are not stored.
    #[inline(always)]
    pub(super) fn variable(&self, index: u16) -> (&'r [u8], bool) {
        let index = usize::from(index);
        let Some(end) = self.ends.get(index) else { return (&[], false) };
        let end = u16::from_le_bytes(*end);
        let start = match index.checked_sub(1).and_then(|before| self.ends.get(before)) {
            Some(before) => usize::from(u16::from_le_bytes(*before) & !COMPLEX_COLUMN),
            None => self.start,
        };
        let bytes = self.bytes.get(start..usize::from(end & !COMPLEX_COLUMN)).unwrap_or_default();
        (bytes, end & COMPLEX_COLUMN != 0)
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_format::record::{Record, RecordBuilder, RecordKind};

    use super::*;

    #[test]
    fn parts_are_those_of_the_record_view() {
        let mut rng = SplitMix64::new(12);
        for _ in 0..20_000 {
            let fixed_end = 4 + rng.below(20) as u16;
            let columns = rng.below(20) as u16;
            let mut builder = RecordBuilder::data(RecordKind::Primary, usize::from(fixed_end));
            builder.columns(columns);
            (1..=columns).filter(|_| rng.below(3) == 0).collect::<Vec<_>>().into_iter().for_each(
                |bit| {
                    builder.null(bit);
                },
            );
            for _ in 0..rng.below(4) {
                let value: Vec<u8> = (0..rng.below(9)).map(|n| n as u8).collect();
                builder.var(&value, rng.below(3) == 0);
            }
            let bytes = builder.to_vec();
            let record = Record::parse_data(&bytes);
            let cells = Cells::data(&bytes);
            assert_eq!(cells.fixed().len(), record.fixed_end());
            assert_eq!(cells.bitmap(), record.null_bitmap());
            for bit in 1..columns + 3 {
                let expected = if columns == 0 { Some(false) } else { record.is_null(bit) };
                assert_eq!(cells.is_null(bit), expected);
            }
            for index in 0..6 {
                let expected =
                    record.var(index).map_or((&[][..], false), |var| (var.bytes, var.complex));
                assert_eq!(cells.variable(index), expected);
            }
        }
    }
}
