//! The sum of index entries that are alike and have no variable columns, straight from their page:
//! what most indexes consist of.
//!
//! ```text
//! columns of 4 and 8 bytes up to three                           hashed and combined in one loop,
//!                                                                and the entries summed up
//! others of 2 to 15 bytes  up to two, by their first and last    in the same loop
//! what is left             each hashed in a loop of its own      combined before, one number per
//!                                                                entry
//! null bitmaps             tested in a loop before all others a NULL anywhere: the general way
//! ```

use super::comparison::ComparisonNumber;
use super::hasher::{RowHasher, number_or_bytes};
use super::page::Entries;
use super::plan::{HashInput, RowPlan};
use crate::hash::HashKey;
use crate::nulls::NullBits;
use crate::relation::MultisetHash;
use crate::sound::{Records, SoundPage, with_spans};
use crate::spans::{RecordSpan, RecordSpans};

/// Columns of an index whose entries are summed in one loop.
const ALIKE_MAX: usize = 16;
/// A column of entries that are alike.
#[derive(Clone, Copy, Default)]
struct EntryColumn {
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
    fn of(part: &EntryColumn) -> Option<Word> {
        let mask = match part.end - part.at {
            4 => u64::from(u32::MAX),
            8 => u64::MAX,
            _ => return None,
        };
        Some(Word { at: part.at, mask, multiplier: part.multiplier })
    }
}

/// Such a column of another width: all of its bytes are among its first and its last ones.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// Where eight bytes are read, and which of them are the first ones of the value.
    low: (usize, u64),
    /// The same of its last ones.
    high: (usize, u64),
    len: usize,
    multiplier: u64,
}

impl Ends {
    /// As [`HashKey::bytes`] takes a short value apart.
    fn of(part: &EntryColumn) -> Option<Ends> {
        const BYTE: u64 = 0xff;
        const PAIR: u64 = 0xffff;
        const HALF: u64 = u32::MAX as u64;
        let EntryColumn { at, end, multiplier } = *part;
        let (low, high) = match end - at {
            2 | 3 => ((at, PAIR), (end - 1, BYTE)),
            5..=7 => ((at, HALF), (end - 4, HALF)),
            9..=15 => ((at, u64::MAX), (end - 8, u64::MAX)),
            _ => return None,
        };
        Some(Ends { low, high, len: end - at, multiplier })
    }
}

/// Columns that are hashed in the loop that adds the entries up.
#[derive(Clone, Copy, Default)]
struct LastColumns {
    words: [Word; 3],
    word_count: usize,
    ends: [Ends; 2],
    ends_count: usize,
}

impl LastColumns {
    /// Takes a column, when there is a place for it.
    fn take(&mut self, part: &EntryColumn) -> bool {
        if let (Some(word), Some(place)) = (Word::of(part), self.words.get_mut(self.word_count)) {
            *place = word;
            self.word_count += 1;
            return true;
        }
        if let (Some(ends), Some(place)) = (Ends::of(part), self.ends.get_mut(self.ends_count)) {
            *place = ends;
            self.ends_count += 1;
            return true;
        }
        false
    }
}

/// The sum of entries: what is combined of each so far, and their last columns. `None` where the
/// bytes end too early.
#[inline(always)]
fn sum_of<const WORDS: usize, const ENDS: usize>(
    key: &HashKey,
    bytes: &[u8],
    entries: impl Iterator<Item = (impl RecordSpan, u64)>,
    last: &LastColumns,
) -> Option<MultisetHash> {
    let words: &[Word; WORDS] = last.words.first_chunk()?;
    let ends: &[Ends; ENDS] = last.ends.first_chunk()?;
    let key = *key;
    let words = *words;
    let ends = *ends;
    let ats = words
        .iter()
        .map(|word| word.at)
        .chain(ends.iter().flat_map(|ends| [ends.low.0, ends.high.0]));
    let reach = ats.map(|at| at + size_of::<u64>()).max().unwrap_or(0);
    let mut lanes = [0u64; 2];
    let mut count = 0;
    for (span, mut combined) in entries {
        let record = bytes.get(span.start()..span.start() + reach)?;
        let word = |(at, mask): (usize, u64)| {
            Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?) & mask)
        };
        for column in &words {
            let hash = key.word(word((column.at, column.mask))?);
            combined = combined.wrapping_add(hash.wrapping_mul(column.multiplier));
        }
        for column in &ends {
            let hash = key.short(word(column.low)?, word(column.high)?, column.len);
            combined = combined.wrapping_add(hash.wrapping_mul(column.multiplier));
        }
        let row = key.row(combined);
        lanes = [lanes[0].wrapping_sub(row[0]), lanes[1].wrapping_sub(row[1])];
        count += 1;
    }
    Some(MultisetHash { plus: 0, minus: count, sum: lanes })
}

/// True for records that are as long as the first of them, and say so.
#[inline(always)]
fn are_alike(bytes: &[u8], spans: impl RecordSpans) -> bool {
    let Some(first) = spans.first() else { return false };
    let len = first.end() - first.start();
    let status = bytes.get(first.start());
    spans.iter().all(|span| span.end() - span.start() == len && bytes.get(span.start()) == status)
}

/// What is read of the entries of an index.
struct Layout<'l> {
    parts: &'l [EntryColumn],
    pminlen: usize,
    /// Null bits of the columns.
    nulls: NullBits,
}

impl RowHasher<'_> {
    /// The sum of the entries of an index that are alike and have no variable columns, as most
    /// indexes have them, straight from the page. `None` where it is not as simple as that.
    #[inline]
    pub(super) fn sum_of_entries(
        &mut self,
        page: &SoundPage<'_>,
        rows: &RowPlan,
    ) -> Option<(ComparisonNumber, MultisetHash)> {
        let [target] = rows.targets.as_slice() else { return None };
        let mut parts = [EntryColumn::default(); ALIKE_MAX];
        if rows.is_base || target.filter.is_some() || target.inputs.len() > ALIKE_MAX {
            return None;
        }
        let mut nulls = NullBits::default();
        for (part, (input, multiplier)) in parts.iter_mut().zip(&target.inputs) {
            let HashInput::Hashed(place) = input else { return None };
            let column = rows.hashed_column(*place)?;
            let (at, end) = column.fixed_place().filter(|(_, end)| *end <= page.pminlen())?;
            *part = EntryColumn { at, end, multiplier: *multiplier };
            nulls.add(column.null_bit)?;
        }
        let parts = parts.get(..target.inputs.len())?;
        let layout = Layout { parts, pminlen: page.pminlen(), nulls };
        let sum = match page.records() {
            Records::Even(bytes, even) => self.sum_alike(bytes, even, &layout),
            records => with_spans!(records, |bytes, spans| {
                are_alike(bytes, spans).then(|| self.sum_alike(bytes, spans, &layout))?
            }),
        };
        Some((target.comparison, sum?))
    }

    /// The sum of entries that are like the first of them. Numbers are hashed and combined in the
    /// loop that adds up the entries, the others each in a loop before: nothing in a loop depends
    /// on what its columns are.
    fn sum_alike<S: RecordSpans>(
        &mut self,
        bytes: &[u8],
        spans: S,
        layout: &Layout<'_>,
    ) -> Option<MultisetHash> {
        match Entries::of(*bytes.get(spans.first()?.start())?)? {
            Entries::Bare => {}
            Entries::WithBitmap => {
                layout.nulls.are_clear(bytes, spans, layout.pminlen).then_some(())?;
            }
        }
        let mut last = LastColumns::default();
        self.combined.clear();
        for part in layout.parts {
            if !last.take(part) {
                self.add_column(bytes, spans, part);
            }
        }
        if self.combined.is_empty() {
            return self.sum_last(bytes, spans.iter().zip(std::iter::repeat(0)), &last);
        }
        self.sum_last(bytes, spans.iter().zip(self.combined.iter().copied()), &last)
    }

    /// Adds the last columns to the combined entries, and the entries up.
    #[inline(always)]
    fn sum_last(
        &self,
        bytes: &[u8],
        entries: impl Iterator<Item = (impl RecordSpan, u64)>,
        last: &LastColumns,
    ) -> Option<MultisetHash> {
        match (last.word_count, last.ends_count) {
            (0, 0) => sum_of::<0, 0>(self.key, bytes, entries, last),
            (1, 0) => sum_of::<1, 0>(self.key, bytes, entries, last),
            (2, 0) => sum_of::<2, 0>(self.key, bytes, entries, last),
            (_, 0) => sum_of::<3, 0>(self.key, bytes, entries, last),
            (0, 1) => sum_of::<0, 1>(self.key, bytes, entries, last),
            (1, 1) => sum_of::<1, 1>(self.key, bytes, entries, last),
            (2, 1) => sum_of::<2, 1>(self.key, bytes, entries, last),
            (_, 1) => sum_of::<3, 1>(self.key, bytes, entries, last),
            (0, _) => sum_of::<0, 2>(self.key, bytes, entries, last),
            (1, _) => sum_of::<1, 2>(self.key, bytes, entries, last),
            (2, _) => sum_of::<2, 2>(self.key, bytes, entries, last),
            _ => sum_of::<3, 2>(self.key, bytes, entries, last),
        }
    }

    /// Adds a column to the combined entries.
    fn add_column<S: RecordSpans>(&mut self, bytes: &[u8], spans: S, part: &EntryColumn) {
        let EntryColumn { at, end, multiplier } = *part;
        let key = *self.key;
        let value = move |span: S::RecordSpan| bytes.get(span.start() + at..span.start() + end);
        self.add_hashes(spans.iter().map(move |span| {
            number_or_bytes(&key, value(span).unwrap_or_default()).wrapping_mul(multiplier)
        }));
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

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    /// The loop reads of each value what the general way reads of it.
    #[test]
    fn the_ends_of_a_value_are_hashed_as_its_bytes() {
        let mut rng = SplitMix64::new(1);
        let key = HashKey::new([3, 4]);
        let mut taken = 0;
        for len in 1..=20 {
            let Some(ends) = Ends::of(&EntryColumn { at: 3, end: 3 + len, multiplier: 1 }) else {
                continue;
            };
            taken += 1;
            for _ in 0..100 {
                let record: Vec<u8> = (0..40).map(|_| rng.next_u64() as u8).collect();
                let word = |(at, mask): (usize, u64)| {
                    u64::from_le_bytes(*record[at..].first_chunk().unwrap()) & mask
                };
                let hash = key.short(word(ends.low), word(ends.high), ends.len);
                assert_eq!(hash, number_or_bytes(&key, &record[3..3 + len]), "{len}");
            }
        }
        assert_eq!(taken, 12, "2, 3, 5 to 7 and 9 to 15 bytes");
    }
}
