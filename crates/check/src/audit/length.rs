//! The length of a record and nothing else: what the scan of a sound page needs, without naming what is wrong.
//!
//! Reads the same fields as [`Record`](extentdb_format::record::Record) in the same order and refuses exactly what that
//! calls a fault; the tests hold the two against each other. Apart from that there is no reason for it but speed: a record
//! takes a few nanoseconds here.

use extentdb_format::record::row::{COMPLEX_COLUMN, DATA_HEADER_BYTES, STUB_BYTES, VERSION_TAG_BYTES};
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG};

#[inline(always)]
fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|b| usize::from(u16::from_le_bytes(*b)))
}

/// What is known of a record that adds up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Length {
    pub(super) bytes: usize,
    /// Where the fixed part ends; 0 for a stub, which has none.
    pub(super) fixed_end: u16,
    /// Some variable column says that it is a pointer structure.
    pub(super) has_complex: bool,
}

/// What records without variable columns begin with: those that are equal in it are equally long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Alike {
    pub(super) status: u8,
    pub(super) length: Length,
    columns: u16,
    /// Data rows say themselves where their fixed part ends.
    is_data: bool,
}

impl Alike {
    /// Of the first record of a page; `None` when others need not be as long.
    #[inline]
    pub(super) fn new(bytes: &[u8], is_data: bool, (status, length): (u8, Length)) -> Option<Alike> {
        let is_fixed = status & HAS_VARIABLE == 0 && length.fixed_end > 0;
        let columns = columns_of(bytes, status, usize::from(length.fixed_end)).filter(|_| is_fixed)?;
        Some(Alike { status, length, columns, is_data })
    }

    /// True when a record, given with just so many bytes, is like this.
    #[inline(always)]
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        let fixed_end = usize::from(self.length.fixed_end);
        bytes.first() == Some(&self.status)
            && (!self.is_data || u16_at(bytes, 2) == Some(fixed_end))
            && columns_of(bytes, self.status, fixed_end) == Some(self.columns)
    }
}

#[inline(always)]
fn columns_of(bytes: &[u8], status: u8, fixed_end: usize) -> Option<u16> {
    if status & HAS_NULL_BITMAP == 0 { Some(0) } else { Some(u16_at(bytes, fixed_end)? as u16) }
}

/// Length of a record of a data page that is no forwarding stub. `fixed_end_min`: the fixed part must reach so far.
#[inline(always)]
pub(super) fn data_len(bytes: &[u8], status: u8, fixed_end_min: usize, columns_max: usize) -> Option<Length> {
    let fixed_end = u16_at(bytes, 2)?;
    if fixed_end < fixed_end_min.max(DATA_HEADER_BYTES) {
        return None;
    }
    tail_len(bytes, status, fixed_end, columns_max)
}

/// Length of a forwarding stub.
#[inline(always)]
pub(super) fn stub_len(bytes: &[u8]) -> Option<Length> {
    (bytes.len() >= STUB_BYTES).then_some(Length { bytes: STUB_BYTES, fixed_end: 0, has_complex: false })
}

/// Length of a record whose fixed part ends at `fixed_end`.
#[inline(always)]
pub(super) fn tail_len(bytes: &[u8], status: u8, fixed_end: usize, columns_max: usize) -> Option<Length> {
    let mut at = fixed_end;
    let mut all = 0;
    if status & HAS_NULL_BITMAP != 0 {
        let columns = u16_at(bytes, at)?;
        if columns > columns_max {
            return None;
        }
        at += 2 + columns.div_ceil(8);
    }
    if status & HAS_VARIABLE != 0 {
        let count = u16_at(bytes, at)?;
        let start = at + 2 + 2 * count;
        let (offsets, _) = bytes.get(at + 2..start)?.as_chunks::<2>();
        let mut end = start;
        let mut is_ascending = true;
        for offset in offsets {
            let raw = u16::from_le_bytes(*offset);
            all |= raw;
            let next = usize::from(raw & !COMPLEX_COLUMN);
            is_ascending &= next >= end;
            end = next;
        }
        if !is_ascending {
            return None;
        }
        at = end;
    }
    if status & HAS_VERSION_TAG != 0 {
        at += VERSION_TAG_BYTES;
    }
    let has_complex = all & COMPLEX_COLUMN != 0;
    (at <= bytes.len()).then_some(Length { bytes: at, fixed_end: fixed_end as u16, has_complex })
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_format::record::Record;

    use super::*;

    const ANY: usize = u16::MAX as usize;

    /// Records that are nearly right, and bytes that are not.
    fn bytes(rng: &mut SplitMix64) -> Vec<u8> {
        let len = rng.below(60) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| (rng.next_u64() % 24) as u8).collect();
        if let Some(status) = bytes.first_mut() {
            *status = [0x10, 0x30, 0x36, 0x70, 0x20, 0x00][rng.below(6) as usize];
        }
        if rng.below(2) == 0
            && let Some(fixed) = bytes.get_mut(2..4)
        {
            fixed.copy_from_slice(&(4 + rng.below(12) as u16).to_le_bytes());
        }
        // Small high bytes make counts and offsets plausible.
        (5..len).step_by(2).for_each(|at| bytes[at] = if rng.below(8) == 0 { bytes[at] } else { 0 });
        bytes
    }

    fn expected_of(bytes: &[u8], record: &Record<'_>) -> Option<Length> {
        let has_complex = record.vars().any(|var| var.complex);
        let fixed_end = record.fixed_end() as u16;
        (!bytes.is_empty() && record.fault().is_none()).then(|| Length {
            bytes: record.len(),
            fixed_end,
            has_complex,
        })
    }

    #[test]
    fn length_and_refusal_are_those_of_the_record_view() {
        let mut rng = SplitMix64::new(5);
        let (mut sound, mut refused) = (0, 0);
        for _ in 0..200_000 {
            let bytes = bytes(&mut rng);
            let status = bytes.first().copied().unwrap_or(0);
            let data = Record::parse_data(&bytes);
            let expected = expected_of(&bytes, &data);
            assert_eq!(data_len(&bytes, status, 0, ANY), expected, "{bytes:02x?}");
            let pminlen = 1 + rng.below(20) as u16;
            let index = Record::parse_index(&bytes, pminlen);
            let expected = expected_of(&bytes, &index);
            assert_eq!(tail_len(&bytes, status, pminlen.into(), ANY), expected, "{bytes:02x?} {pminlen}");
            sound += u32::from(expected.is_some());
            refused += u32::from(expected.is_none());
        }
        assert!(sound > 10_000 && refused > 10_000, "{sound} sound, {refused} refused");
    }

    #[test]
    fn more_columns_than_the_table_has_are_refused() {
        let record = [0x10, 0, 8, 0, 1, 2, 3, 4, 3, 0, 0];
        assert_eq!(
            data_len(&record, 0x10, 0, 3),
            Some(Length { bytes: 11, fixed_end: 8, has_complex: false })
        );
        assert_eq!(data_len(&record, 0x10, 0, 2), None);
        assert_eq!(data_len(&record, 0x10, 9, 3), None, "the fixed part ends too early");
    }
}
