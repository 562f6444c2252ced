//! Rows with no more than four variable columns, as most have: their lengths without a branch that
//! depends on the row.
//!
//! ```text
//! one word    end 1                         end 2  end 3  end 4  what is not used: 0x7fff
//! the same    begin                         end 1  end 2  end 3  shifted by a column
//! rises when  no end lies before its begin                       four comparisons in one
//!                                                                subtraction, none of which can
//!                                                                borrow
//! ```
//!
//! A row leaves its last columns out when they are NULL or empty, and says nothing of variable
//! columns when it leaves out all. So a row without any is like its neighbours.

use extentdb_base::size::PAGE_BYTES;
use extentdb_format::record::row::COMPLEX_COLUMN;
use extentdb_format::record::status::HAS_VARIABLE;

/// Variable columns whose end offsets fit into a word.
const FEW: usize = 4;
/// Bytes of the number of variable columns, and of a word of end offsets.
const REACH_BYTES: u16 = 2 + 8;

const LANES: u64 = 0x0001_0001_0001_0001;
const TOPS: u64 = LANES * COMPLEX_COLUMN as u64;
/// By number: the bits that no end offset takes.
const UNUSED: [u64; FEW + 1] = [u64::MAX, u64::MAX << 16, u64::MAX << 32, u64::MAX << 48, 0];

/// What such rows have in common: everything up to the end of the null bitmap, as far as it decides
/// where their parts lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FewVariable {
    /// The first four bytes, as far as they count.
    head: u32,
    mask: u32,
    /// The number of columns stands there.
    fixed_end: usize,
    columns: u16,
    bitmap_end: usize,
    /// Everything up to the word of end offsets.
    reach: u16,
}

impl FewVariable {
    /// Of records with a null bitmap and no versioning tag. `mask`: which bits of the first four
    /// bytes count.
    pub(super) fn new(head: u32, mask: u32, fixed_end: u16, columns: u16) -> FewVariable {
        let bitmap_end = fixed_end.saturating_add(2 + columns.div_ceil(8));
        let reach = bitmap_end.saturating_add(REACH_BYTES);
        let mask = mask & !u32::from(HAS_VARIABLE);
        let fixed_end = fixed_end.into();
        let bitmap_end = bitmap_end.into();
        FewVariable {
            head: head & mask,
            mask,
            fixed_end,
            columns,
            bitmap_end,
            reach,
        }
    }

    /// True when a row that is one of them, but for the number of its variable columns, has a few
    /// of them or none.
    pub(super) fn has_few(&self, row: &[u8]) -> bool {
        let has_variable = row.first().is_some_and(|status| status & HAS_VARIABLE != 0);
        !has_variable || u16_at(row, self.bitmap_end).is_some_and(|count| usize::from(count) <= FEW)
    }

    /// How long the row is that begins at `start`, be it longer than the page, and whether it has
    /// pointer structures: the highest bits of its end offsets. `None` for other records, for one
    /// that does not add up, and for one so near the end of the page that it has to be examined
    /// alone.
    #[inline(always)]
    pub(super) fn length(&self, page: &[u8; PAGE_BYTES], start: usize) -> Option<(usize, u64)> {
        let begin = page.get(start..start + usize::from(self.reach))?;
        let head = u32::from_le_bytes(*begin.first_chunk()?);
        if (head ^ self.head) & self.mask != 0 || u16_at(begin, self.fixed_end)? != self.columns {
            return None;
        }
        let has_variable = usize::from(head as u8 & HAS_VARIABLE != 0);
        let count = usize::from(u16_at(begin, self.bitmap_end)?) * has_variable;
        let first = self.bitmap_end + 2 * has_variable + 2 * count;
        ends_of_few(u64::from_le_bytes(*begin.last_chunk()?), count, first)
    }
}

#[inline(always)]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

/// Where the last of the variable columns ends, and the highest bits of their end offsets. The
/// first one begins at `at`, which is less than 0x8000. `None` when one ends before it begins, and
/// when they are more than a few.
#[inline(always)]
fn ends_of_few(word: u64, count: usize, at: usize) -> Option<(usize, u64)> {
    let unused = *UNUSED.get(count)?;
    let ends = (word | unused) & !TOPS;
    let begins = ends << 16 | at as u64;
    let last = ends >> ((16 * count as u32).wrapping_sub(16) & 63) & u64::from(!COMPLEX_COLUMN);
    let last = if count == 0 { at as u64 } else { last };
    let ascends = (ends | TOPS).wrapping_sub(begins) & TOPS == TOPS;
    ascends.then_some((last as usize, word & !unused & TOPS))
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_format::record::Record;

    use super::*;

    /// What each end offset says by itself.
    fn one_by_one(offsets: &[u16], at: usize) -> Option<(usize, bool)> {
        let mut end = at;
        for offset in offsets {
            let next = usize::from(offset & !COMPLEX_COLUMN);
            if next < end {
                return None;
            }
            end = next;
        }
        Some((end, offsets.iter().any(|offset| offset & COMPLEX_COLUMN != 0)))
    }

    #[test]
    fn a_few_ends_are_found_as_each_of_them_is() {
        let mut rng = SplitMix64::new(7);
        let mut sound = 0;
        let mut refused = 0;
        for _ in 0..200_000 {
            let count = rng.below(5) as usize;
            let at = rng.below(40) as usize;
            let mut end = at as u16;
            let offsets: [u16; FEW] = std::array::from_fn(|_| {
                end = (end + rng.below(6) as u16).saturating_sub(u16::from(rng.below(12) == 0));
                let top = if rng.below(4) == 0 { COMPLEX_COLUMN } else { 0 };
                if rng.below(30) == 0 { rng.next_u64() as u16 } else { end | top }
            });
            let word = offsets.iter().rev().fold(0, |word, offset| word << 16 | u64::from(*offset));
            let found = ends_of_few(word, count, at).map(|(end, tops)| (end, tops != 0));
            let expected = one_by_one(&offsets[..count], at);
            assert_eq!(found, expected, "{word:x} {count} {at}");
            sound += u32::from(expected.is_some());
            refused += u32::from(expected.is_none());
        }
        assert!(sound > 50_000 && refused > 10_000, "{sound} sound, {refused} refused");
    }

    /// A row of a table with eight bytes of fixed columns and nine columns in all, some byte of it
    /// changed.
    fn row(rng: &mut SplitMix64) -> Vec<u8> {
        let mut row = vec![0x10, 0, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0];
        let count = rng.below(6) as u16;
        if count > 0 || rng.below(2) == 0 {
            row[0] |= HAS_VARIABLE;
            row.extend(count.to_le_bytes());
            let mut end = row.len() as u16 + 2 * count;
            for _ in 0..count {
                end += rng.below(9) as u16;
                row.extend(
                    (end | if rng.below(8) == 0 { COMPLEX_COLUMN } else { 0 }).to_le_bytes(),
                );
            }
            row.resize(end.into(), 0xcc);
        }
        if rng.below(3) == 0 {
            let at = rng.below(row.len() as u64) as usize;
            row[at] ^= 1 << rng.below(8);
        }
        row
    }

    #[test]
    fn a_row_like_the_others_is_as_long_as_its_view_says() {
        let mut rng = SplitMix64::new(9);
        let few = FewVariable::new(u32::from_le_bytes([0x30, 0xff, 12, 0]), 0xffff_00ff, 12, 9);
        let mut alike = 0;
        let mut others = 0;
        for _ in 0..100_000 {
            let bytes = row(&mut rng);
            let start = 96 + rng.below(7000) as usize;
            let mut page = [0xff; PAGE_BYTES];
            page[start..start + bytes.len()].copy_from_slice(&bytes);
            let record = Record::parse_data(&page[start..]);
            let found = few.length(&page, start).filter(|(len, _)| start + len <= PAGE_BYTES);
            let Some((len, tops)) = found else {
                others += 1;
                continue;
            };
            assert_eq!((record.fault(), record.len()), (None, len), "{bytes:02x?}");
            assert_eq!(record.vars().any(|var| var.complex), tops != 0, "{bytes:02x?}");
            assert_eq!((record.fixed_end(), record.column_count()), (12, 9));
            assert_eq!(record.status_a() & !HAS_VARIABLE, 0x10);
            alike += 1;
        }
        assert!(alike > 50_000 && others > 20_000, "{alike} alike, {others} others");
    }

    #[test]
    fn a_row_at_the_end_of_the_page_is_left_to_others() {
        let few = FewVariable::new(0x000c_0010, 0xffff_00ff, 12, 9);
        assert_eq!(few.length(&[0; PAGE_BYTES], PAGE_BYTES - 20), None);
        assert_eq!(few.length(&[0; PAGE_BYTES], 0xffff), None);
    }
}
