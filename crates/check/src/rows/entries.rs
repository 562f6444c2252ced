//! The sum of index entries that are alike and have no variable columns, straight from their page: what most indexes consist of.
//!
//! ```text
//! columns of other widths   each hashed in a loop of its own      combined, one number per entry
//! columns of 4 and 8 bytes  up to three hashed in the last loop   added to it, and the entries summed up
//! null bitmaps              looked at in a loop before all others a NULL anywhere: the general way
//! ```

use super::cross::CrossNumber;
use super::hasher::{RowHasher, number_or_bytes};
use super::page::Entries;
use super::plan::{Input, RowPlan};
use crate::hash::HashKey;
use crate::nulls::NullBits;
use crate::relation::Acc;
use crate::sound::{Records, Sound};
use crate::spots::{Spot, Spots};

/// Columns of an index whose entries are summed in one loop.
const ALIKE_MAX: usize = 16;
/// A column of entries that are alike.
#[derive(Clone, Copy, Default)]
struct Part {
    at: usize,
    end: usize,
    multiplier: u64,
}

/// Such a column whose values are numbers of four or eight bytes.
#[derive(Clone, Copy, Default)]
struct Word {
    at: usize,
    mask: u64,
    multiplier: u64,
}

impl Word {
    fn of(part: &Part) -> Option<Word> {
        let mask = match part.end - part.at {
            4 => u64::from(u32::MAX),
            8 => u64::MAX,
            _ => return None,
        };
        Some(Word { at: part.at, mask, multiplier: part.multiplier })
    }
}

/// The sum of entries: what is combined of each so far, and their last columns.
#[inline(always)]
fn sum_of<const WORDS: usize>(
    key: &HashKey,
    bytes: &[u8],
    entries: impl Iterator<Item = (impl Spot, u64)>,
    words: [Word; WORDS],
) -> Option<Acc> {
    let reach = words.iter().map(|word| word.at + size_of::<u64>()).max().unwrap_or(0);
    let key = *key;
    let mut sum = Acc::default();
    for (spot, mut combined) in entries {
        let record = bytes.get(spot.start()..)?.get(..reach)?;
        for word in &words {
            let value = u64::from_le_bytes(*record.get(word.at..)?.first_chunk()?) & word.mask;
            combined = combined.wrapping_add(key.word(value).wrapping_mul(word.multiplier));
        }
        sum.subtract(key.row(combined));
    }
    Some(sum)
}

/// True for records that are as long as the first of them, and say so.
#[inline(always)]
fn are_alike(bytes: &[u8], spots: impl Spots) -> bool {
    let Some(first) = spots.first() else { return false };
    let (len, status) = (first.end() - first.start(), bytes.get(first.start()));
    spots.iter().all(|spot| spot.end() - spot.start() == len && bytes.get(spot.start()) == status)
}

/// What is read of the entries of an index.
struct Layout<'l> {
    parts: &'l [Part],
    pminlen: usize,
    /// Null bits of the columns.
    nulls: NullBits,
}

impl RowHasher<'_> {
    /// The sum of the entries of an index that are alike and have no variable columns, as most indexes have them, straight from the
    /// page. `None` where it is not as simple as that.
    #[inline]
    pub(super) fn sum_of_entries(&mut self, page: &Sound<'_>, rows: &RowPlan) -> Option<(CrossNumber, Acc)> {
        let [target] = rows.targets.as_slice() else { return None };
        let mut parts = [Part::default(); ALIKE_MAX];
        if rows.is_base || target.filter.is_some() || target.inputs.len() > ALIKE_MAX {
            return None;
        }
        let mut nulls = NullBits::default();
        for (part, (input, multiplier)) in parts.iter_mut().zip(&target.inputs) {
            let Input::Hashed(place) = input else { return None };
            let column = rows.hashed_column(*place)?;
            let (at, end) = column.fixed_place().filter(|(_, end)| *end <= page.pminlen())?;
            *part = Part { at, end, multiplier: *multiplier };
            nulls.add(column.null_bit)?;
        }
        let parts = parts.get(..target.inputs.len())?;
        let layout = Layout { parts, pminlen: page.pminlen(), nulls };
        let sum = match page.records() {
            Records::Even(bytes, even) => self.sum_alike(bytes, even, &layout),
            Records::OnPage(bytes, spots) => {
                are_alike(bytes, spots).then(|| self.sum_alike(bytes, spots, &layout))?
            }
            Records::Expanded(bytes, spots) => {
                are_alike(bytes, spots).then(|| self.sum_alike(bytes, spots, &layout))?
            }
        };
        Some((target.cross, sum?))
    }

    /// The sum of entries that are like the first of them. Numbers are hashed and combined in the loop that adds up
    /// the entries, the others each in a loop before: nothing in a loop depends on what its columns are.
    fn sum_alike<S: Spots>(&mut self, bytes: &[u8], spots: S, layout: &Layout<'_>) -> Option<Acc> {
        match Entries::of(*bytes.get(spots.first()?.start())?)? {
            Entries::Bare => {}
            Entries::WithBitmap => {
                layout.nulls.are_clear(bytes, spots, layout.pminlen).then_some(())?;
            }
        }
        let (mut words, mut count) = ([Word::default(); 3], 0);
        self.combined.clear();
        for part in layout.parts {
            match (Word::of(part), words.get_mut(count)) {
                (Some(word), Some(place)) => {
                    *place = word;
                    count += 1;
                }
                _ => self.add_column(bytes, spots, part),
            }
        }
        if self.combined.is_empty() {
            return self.sum_words(bytes, spots, &words, count, std::iter::repeat(0));
        }
        self.sum_words(bytes, spots, &words, count, self.combined.iter().copied())
    }

    /// Adds the last columns to the combined entries, and the entries up. `None` where the bytes end too early.
    #[inline(always)]
    fn sum_words<S: Spots>(
        &self,
        bytes: &[u8],
        spots: S,
        words: &[Word; 3],
        count: usize,
        combined: impl Iterator<Item = u64>,
    ) -> Option<Acc> {
        let [a, b, c] = *words;
        let entries = spots.iter().zip(combined);
        match count {
            0 => sum_of(self.key, bytes, entries, []),
            1 => sum_of(self.key, bytes, entries, [a]),
            2 => sum_of(self.key, bytes, entries, [a, b]),
            _ => sum_of(self.key, bytes, entries, [a, b, c]),
        }
    }

    /// Adds a column to the combined entries.
    fn add_column<S: Spots>(&mut self, bytes: &[u8], spots: S, part: &Part) {
        let (Part { at, end, multiplier }, key) = (*part, *self.key);
        let value = move |spot: S::Spot| bytes.get(spot.start() + at..spot.start() + end);
        match end - at {
            2 => self.add_hashes(spots.iter().map(move |spot| {
                let number = value(spot).and_then(<[u8]>::first_chunk::<2>).copied().unwrap_or_default();
                key.bytes(&number).wrapping_mul(multiplier)
            })),
            len @ 9..16 => self.add_hashes(spots.iter().map(move |spot| {
                let ends = value(spot).and_then(|value| Some((*value.first_chunk()?, *value.last_chunk()?)));
                let (low, high) = ends.unwrap_or_default();
                let ends = (u64::from_le_bytes(low), u64::from_le_bytes(high));
                key.short(ends, len).wrapping_mul(multiplier)
            })),
            _ => self.add_hashes(spots.iter().map(move |spot| {
                number_or_bytes(&key, value(spot).unwrap_or_default()).wrapping_mul(multiplier)
            })),
        }
    }

    /// The first hashes that are combined, or more of them.
    #[inline(always)]
    fn add_hashes(&mut self, hashes: impl Iterator<Item = u64>) {
        if self.combined.is_empty() {
            return self.combined.extend(hashes);
        }
        for (combined, hash) in self.combined.iter_mut().zip(hashes) {
            *combined = combined.wrapping_add(hash);
        }
    }
}
