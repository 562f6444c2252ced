//! The length of a record and nothing else: what the scan of a sound page needs, without naming
//! what is wrong.
//!
//! Reads the same fields as [`Record`](extentdb_format::record::Record) in the same order and
//! refuses exactly what that calls a fault; the tests hold the two against each other. Apart from
//! that there is no reason for it but speed: a record takes a few nanoseconds here.

use extentdb_format::record::row::{
    COMPLEX_COLUMN, DATA_HEADER_BYTES, STUB_BYTES, VERSION_TAG_BYTES,
};
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG};

use super::few::FewVariable;

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

/// What a record begins with, as far as it decides where its parts lie. Of records that are equal
/// in it, only the variable columns have to be examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecordPattern {
    pub(super) status: u8,
    /// The first four bytes, as far as they count: data rows say themselves where their fixed part
    /// ends.
    head: u32,
    mask: u32,
    fixed_end: u16,
    columns: u16,
    /// What is examined first: everything up to the number of variable columns, or to the end.
    reach: usize,
    tag_bytes: usize,
}

const STATUS: u32 = 0xff;
const STATUS_AND_FIXED_END: u32 = 0xffff_00ff;

impl RecordPattern {
    /// Of a record that adds up; `None` for one that has no fixed part.
    #[inline]
    pub(super) fn new(
        bytes: &[u8],
        is_data: bool,
        status: u8,
        length: Length,
    ) -> Option<RecordPattern> {
        let mask = if is_data { STATUS_AND_FIXED_END } else { STATUS };
        let fixed_end = Some(length.fixed_end).filter(|end| *end > 0)?;
        let columns = columns_of(bytes, status, fixed_end)?;
        let bitmap = if status & HAS_NULL_BITMAP != 0 { 2 + columns.div_ceil(8) } else { 0 };
        let count = if status & HAS_VARIABLE != 0 { 2 } else { 0 };
        let reach = usize::from(fixed_end) + usize::from(bitmap) + count;
        let tag_bytes = if status & HAS_VERSION_TAG != 0 { VERSION_TAG_BYTES } else { 0 };
        Some(RecordPattern {
            status,
            head: head_of(bytes)? & mask,
            mask,
            fixed_end,
            columns,
            reach,
            tag_bytes,
        })
    }

    /// What rows like this have in common that have a few variable columns or none; `None` when
    /// records like this are no such rows, or when the first of them, which `bytes` begin with, has
    /// more.
    pub(super) fn few(&self, bytes: &[u8]) -> Option<FewVariable> {
        let is_row = self.status & HAS_NULL_BITMAP != 0 && self.tag_bytes == 0;
        let few = FewVariable::new(self.head, self.mask, self.fixed_end, self.columns);
        (is_row && few.has_few(bytes)).then_some(few)
    }

    /// True when all records like this are equally long.
    #[inline]
    pub(super) fn is_even(&self) -> bool {
        self.status & HAS_VARIABLE == 0
    }

    /// The fixed part ends there.
    #[inline]
    pub(super) fn fixed_end(&self) -> u16 {
        self.fixed_end
    }

    /// No record like this has fewer bytes.
    #[inline]
    pub(super) fn len_min(&self) -> usize {
        self.reach
    }

    /// The status of records that are alike when only that is.
    #[inline]
    pub(super) fn plain_status(&self) -> Option<u8> {
        (self.mask == STATUS && self.status & HAS_NULL_BITMAP == 0).then_some(self.status)
    }

    /// True for a record like this, given with all of its bytes but those of variable columns.
    #[inline(always)]
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        let has_head = head_of(bytes).is_some_and(|head| head & self.mask == self.head);
        has_head && columns_of(bytes, self.status, self.fixed_end) == Some(self.columns)
    }

    /// The length of a record like this, which begins in `body` at `start`; `None` for another, and
    /// for one that does not add up.
    #[inline(always)]
    pub(super) fn length(&self, body: &[u8], start: usize) -> Option<Length> {
        let begin = body.get(start..start + self.reach)?;
        if !self.is(begin) {
            return None;
        }
        let mut at = self.reach;
        let mut all = 0;
        if self.status & HAS_VARIABLE != 0 {
            let count = usize::from(u16::from_le_bytes(*begin.last_chunk()?));
            let first = at + 2 * count;
            (at, all) = ends(body.get(start + at..start + first)?, first)?;
        }
        at += self.tag_bytes;
        let length = Length {
            bytes: at,
            fixed_end: self.fixed_end,
            has_complex: all & COMPLEX_COLUMN != 0,
        };
        (start + at <= body.len()).then_some(length)
    }
}

/// Where the last of the variable columns ends, and the bits that any of their end offsets has. The
/// first one begins at `at`.
#[inline(always)]
fn ends(offsets: &[u8], mut at: usize) -> Option<(usize, u16)> {
    let mut all = 0;
    // There are few of them: leaving early keeps the compiler from preparing for many.
    for offset in offsets.as_chunks().0 {
        let raw = u16::from_le_bytes(*offset);
        all |= raw;
        let next = usize::from(raw & !COMPLEX_COLUMN);
        if next < at {
            return None;
        }
        at = next;
    }
    Some((at, all))
}

#[inline(always)]
fn head_of(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|head| u32::from_le_bytes(*head))
}

#[inline(always)]
fn columns_of(bytes: &[u8], status: u8, fixed_end: u16) -> Option<u16> {
    if status & HAS_NULL_BITMAP == 0 {
        Some(0)
    } else {
        Some(u16_at(bytes, fixed_end.into())? as u16)
    }
}

/// Length of a record of a data page that is no forwarding stub. `fixed_end_min`: the fixed part
/// must reach so far.
#[inline(always)]
pub(super) fn data_len(
    bytes: &[u8],
    status: u8,
    fixed_end_min: usize,
    columns_max: usize,
) -> Option<Length> {
    let fixed_end = u16_at(bytes, 2)?;
    if fixed_end < fixed_end_min.max(DATA_HEADER_BYTES) {
        return None;
    }
    tail_len(bytes, status, fixed_end, columns_max)
}

/// Length of a forwarding stub.
#[inline(always)]
pub(super) fn stub_len(bytes: &[u8]) -> Option<Length> {
    (bytes.len() >= STUB_BYTES).then_some(Length {
        bytes: STUB_BYTES,
        fixed_end: 0,
        has_complex: false,
    })
}

/// Length of a record whose fixed part ends at `fixed_end`.
#[inline(always)]
pub(super) fn tail_len(
    bytes: &[u8],
    status: u8,
    fixed_end: usize,
    columns_max: usize,
) -> Option<Length> {
    let mut at = fixed_end;
    if status & HAS_NULL_BITMAP != 0 {
        let columns = u16_at(bytes, at)?;
        if columns > columns_max {
            return None;
        }
        at += 2 + columns.div_ceil(8);
    }
    let mut all = 0;
    if status & HAS_VARIABLE != 0 {
        let count = u16_at(bytes, at)?;
        let start = at + 2 + 2 * count;
        (at, all) = ends(bytes.get(at + 2..start)?, start)?;
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
        (5..len)
            .step_by(2)
            .for_each(|at| bytes[at] = if rng.below(8) == 0 { bytes[at] } else { 0 });
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
        let mut sound = 0;
        let mut refused = 0;
        for _ in 0..200_000 {
            let bytes = bytes(&mut rng);
            let status = bytes.first().copied().unwrap_or(0);
            let data = Record::parse_data(&bytes);
            let expected = expected_of(&bytes, &data);
            assert_eq!(data_len(&bytes, status, 0, ANY), expected, "{bytes:02x?}");
            let pminlen = 1 + rng.below(20) as u16;
            let index = Record::parse_index(&bytes, pminlen);
            let expected = expected_of(&bytes, &index);
            assert_eq!(
                tail_len(&bytes, status, pminlen.into(), ANY),
                expected,
                "{bytes:02x?} {pminlen}"
            );
            sound += u32::from(expected.is_some());
            refused += u32::from(expected.is_none());
        }
        assert!(sound > 10_000 && refused > 10_000, "{sound} sound, {refused} refused");
    }

    #[test]
    fn a_record_like_another_is_as_long_as_it_would_be_alone() {
        let mut rng = SplitMix64::new(6);
        let mut alike = 0;
        let mut others = 0;
        for _ in 0..200_000 {
            let first = bytes(&mut rng);
            let is_data = rng.below(2) == 0;
            let pminlen = 1 + rng.below(20) as usize;
            let alone = |bytes: &[u8], status| {
                if is_data {
                    data_len(bytes, status, 0, ANY)
                } else {
                    tail_len(bytes, status, pminlen, ANY)
                }
            };
            let status = first.first().copied().unwrap_or(0);
            let known = alone(&first, status)
                .and_then(|length| RecordPattern::new(&first, is_data, status, length));
            let Some(known) = known else { continue };
            // Shorter ones are always parsed alone.
            if known.len_min() < 4 {
                continue;
            }
            assert_eq!(known.length(&first, 0), alone(&first, status));
            // The same record with a few bytes changed, and cut off somewhere.
            let mut other = first.clone();
            for _ in 0..rng.below(4) {
                let at = rng.below(other.len() as u64) as usize;
                other[at] = (rng.next_u64() % 24) as u8;
            }
            other.truncate(other.len() - rng.below(5).min(other.len() as u64 - 1) as usize);
            match known.length(&other, 0) {
                Some(length) => {
                    assert_eq!(other[0], status);
                    assert_eq!(alone(&other, status), Some(length), "{first:02x?} {other:02x?}");
                    alike += 1;
                }
                None => others += 1,
            }
        }
        assert!(alike > 10_000 && others > 2_000, "{alike} alike, {others} others");
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
