//! The proof that the keys of a page rise: true for nearly every page, and found out without
//! keeping anything of its records.
//!
//! ```text
//! words    up to three columns with numeric ranks, compared as one: int, datetime, date …
//! value    one column of another kind, by its bytes: char, binary, uniqueidentifier …
//!
//! P17  5 3      value    words                the pairs of records that are equal in the first
//!                                             stage
//! P17  5 9      same     (5, 3) < (5, 9)      are a range for the next one
//! P18  2 1      rises
//! ```
//!
//! A page that cannot be proven is not wrong: the caller compares each of its pairs.

use std::cmp::Ordering;

use super::column::{Order, Rank};
use super::lead::KeyPart;
use crate::spans::RecordSpans;

/// A column whose rank is a number that lies in the record as it is, but for its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word {
    at: usize,
    /// Its bits among the eight bytes that are read.
    mask: u64,
    /// Bits that are turned: the sign, and all of a descending column.
    turn: u64,
}

impl Word {
    fn of(part: &KeyPart) -> Option<Word> {
        let Order::Rank(rank) = part.order else { return None };
        let (bytes, sign) = rank.word()?;
        let mask = u64::MAX >> (64 - 8 * u32::from(bytes));
        let turn = sign ^ if part.is_descending { mask } else { 0 };
        (usize::from(bytes) <= part.width).then_some(Word { at: part.offset, mask, turn })
    }

    /// The rank, by the eight bytes of the record from `at` on.
    #[inline(always)]
    fn rank(&self, bytes: u64) -> u64 {
        (bytes & self.mask) ^ self.turn
    }
}

/// Columns that are compared in one loop.
#[derive(Clone, Debug)]
enum Stage {
    One([Word; 1]),
    Two([Word; 2]),
    Three([Word; 3]),
    Value(KeyPart),
}

/// How the first columns of a key are compared.
#[derive(Clone, Debug)]
pub(super) struct AscendingKeys {
    stages: Vec<Stage>,
}

impl AscendingKeys {
    /// `None` when some column has ranks that have to be worked out.
    pub(super) fn new(parts: &[KeyPart]) -> Option<AscendingKeys> {
        let mut stages = Vec::new();
        for part in parts {
            let stage = match (Word::of(part), stages.last()) {
                (Some(next), Some(Stage::One([first]))) => Some(Stage::Two([*first, next])),
                (Some(next), Some(Stage::Two([first, second]))) => {
                    Some(Stage::Three([*first, *second, next]))
                }
                (Some(next), _) => {
                    stages.push(Stage::One([next]));
                    None
                }
                (None, _) if matches!(part.order, Order::Rank(rank) if rank.bits() <= 64) => {
                    return None;
                }
                (None, _) => {
                    stages.push(Stage::Value(*part));
                    None
                }
            };
            if let (Some(longer), Some(last)) = (stage, stages.last_mut()) {
                *last = longer;
            }
        }
        Some(AscendingKeys { stages })
    }

    /// True when the key of each record is certainly less than that of the next one.
    #[inline]
    pub(super) fn is_proven(&self, bytes: &[u8], spans: impl RecordSpans) -> bool {
        is_proven(&self.stages, bytes, spans)
    }
}

/// The same of records that are equal in all stages before.
fn is_proven<S: RecordSpans>(stages: &[Stage], bytes: &[u8], spans: S) -> bool {
    let Some((stage, rest)) = stages.split_first().filter(|_| spans.len() > 1) else {
        return spans.len() < 2;
    };
    let of = |word: &Word| spans.words(bytes, word.at);
    match stage {
        Stage::One(words @ [a]) => {
            words_ascend(words, of(a).map(|a| Some([a?])), rest, bytes, spans)
        }
        Stage::Two(words @ [a, b]) => {
            words_ascend(words, of(a).zip(of(b)).map(|(a, b)| Some([a?, b?])), rest, bytes, spans)
        }
        Stage::Three(words @ [a, b, c]) => {
            let values = of(a).zip(of(b)).zip(of(c)).map(|((a, b), c)| Some([a?, b?, c?]));
            words_ascend(words, values, rest, bytes, spans)
        }
        // Most values are those of the record before, and their order need not be computed for
        // them.
        Stage::Value(part)
            if (8..=16).contains(&part.width) && !matches!(part.order, Order::Rank(_)) =>
        {
            let high = part.offset + part.width - size_of::<u64>();
            let ends = spans.words(bytes, part.offset).zip(spans.words(bytes, high));
            let values = ends.map(|(low, high)| Some((low?, high?)));
            stage_ascends(
                values,
                |a, b, at| {
                    if a == b {
                        Some(Ordering::Equal)
                    } else {
                        part.compare_with_before(bytes, spans, at)
                    }
                },
                rest,
                bytes,
                spans,
            )
        }
        Stage::Value(part) => {
            let values = spans.iter().map(|span| part.value(bytes, &span));
            stage_ascends(values, |a, b, _| part.compare(Some(*a), Some(*b)), rest, bytes, spans)
        }
    }
}

impl KeyPart {
    /// Compares the value of the record before a place with that of the record there.
    #[inline(never)]
    fn compare_with_before(
        &self,
        bytes: &[u8],
        spans: impl RecordSpans,
        at: usize,
    ) -> Option<Ordering> {
        let mut pair =
            spans.part(at.checked_sub(1)?..at + 1).iter().map(|span| self.value(bytes, &span));
        self.compare(pair.next()?, pair.next()?)
    }
}

#[inline(always)]
fn words_ascend<S: RecordSpans, const WORDS: usize>(
    words: &[Word; WORDS],
    values: impl Iterator<Item = Option<[u64; WORDS]>>,
    rest: &[Stage],
    bytes: &[u8],
    spans: S,
) -> bool {
    let words = *words;
    let ranks = values.map(|values| {
        let mut ranks = values?;
        ranks.iter_mut().zip(&words).for_each(|(rank, word)| *rank = word.rank(*rank));
        Some(ranks)
    });
    match rest {
        [] => all_ascend(ranks, spans.len()),
        _ => stage_ascends(ranks, |a, b, _| Some(a.cmp(b)), rest, bytes, spans),
    }
}

/// The last stage, of words: nothing in its loop depends on what they are.
#[inline(always)]
fn all_ascend<const WORDS: usize>(
    mut ranks: impl Iterator<Item = Option<[u64; WORDS]>>,
    records: usize,
) -> bool {
    let Some(Some(mut before)) = ranks.next() else { return false };
    let mut is_ascending = true;
    let mut count = 1;
    for next in ranks {
        let Some(next) = next else { return false };
        let pairs = before.iter().zip(&next).rev();
        is_ascending &= pairs.fold(false, |is_less, (a, b)| (a < b) | ((a == b) & is_less));
        before = next;
        count += 1;
    }
    is_ascending && count == records
}

/// A stage that others follow: they decide between records that are equal in it. `compare` is given
/// two values and the place of the second.
#[inline(always)]
fn stage_ascends<S: RecordSpans, V>(
    mut values: impl Iterator<Item = Option<V>>,
    compare: impl Fn(&V, &V, usize) -> Option<Ordering>,
    rest: &[Stage],
    bytes: &[u8],
    spans: S,
) -> bool {
    let Some(Some(mut before)) = values.next() else { return false };
    let mut begin = 0;
    let mut count = 1;
    for next in values {
        let Some(next) = next else { return false };
        match compare(&before, &next, count) {
            Some(Ordering::Equal) => {}
            Some(Ordering::Less) => {
                if count - begin > 1 && !is_proven(rest, bytes, spans.part(begin..count)) {
                    return false;
                }
                begin = count;
            }
            _ => return false,
        }
        before = next;
        count += 1;
    }
    count == spans.len() && is_proven(rest, bytes, spans.part(begin..count))
}

impl Rank {
    /// Bytes of a rank that lies in its record as a number, little-endian, and its bits that are
    /// turned there.
    fn word(self) -> Option<(u8, u64)> {
        match self {
            Rank::Unsigned(bytes @ 1..=8) => Some((bytes, 0)),
            Rank::Signed(bytes @ (2 | 4 | 8)) => Some((bytes, 1 << (8 * u32::from(bytes) - 1))),
            // Days lie after the ticks, and have a sign; those of the other types have none.
            Rank::DateTime => Some((8, 1 << 63)),
            Rank::SmallDateTime => Some((4, 0)),
            Rank::DateTime2(time @ ..=5) => Some((time + 3, 0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_types::Collation;

    use super::*;
    use crate::spans::Span;

    const RANKS: [Rank; 13] = [
        Rank::Unsigned(1),
        Rank::Unsigned(3),
        Rank::Unsigned(5),
        Rank::Signed(2),
        Rank::Signed(4),
        Rank::Signed(8),
        Rank::DateTime,
        Rank::SmallDateTime,
        Rank::DateTime2(3),
        Rank::DateTime2(5),
        Rank::Bit,
        Rank::Float,
        Rank::Decimal(4),
    ];

    fn width(rank: Rank) -> usize {
        match rank {
            Rank::DateTime => 8,
            Rank::Decimal(bytes) => usize::from(bytes) + 1,
            _ => usize::from(rank.bits() / 8),
        }
    }

    #[test]
    fn a_word_is_the_rank_of_its_column() {
        let mut rng = SplitMix64::new(8);
        let mut seen = 0;
        for rank in RANKS.into_iter().filter(|rank| rank.word().is_some()) {
            let part = KeyPart {
                offset: 3,
                width: width(rank),
                order: Order::Rank(rank),
                is_descending: false,
            };
            let word = Word::of(&part).unwrap();
            for _ in 0..1_000 {
                let record: Vec<u8> = (0..20).map(|_| rng.next_u64() as u8).collect();
                let bytes = u64::from_le_bytes(*record[3..].first_chunk().unwrap());
                assert_eq!(
                    Some(word.rank(bytes)),
                    rank.narrow(&record[3..3 + part.width]),
                    "{rank:?}"
                );
                seen += 1;
            }
        }
        assert_eq!(seen, 10_000);
    }

    fn parts(rng: &mut SplitMix64) -> Vec<KeyPart> {
        let mut offset = 1;
        let mut next = |rng: &mut SplitMix64| {
            let order = match rng.below(3) {
                0 => Order::Char(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
                _ => Order::Rank(RANKS[rng.below(10) as usize]),
            };
            let width = match order {
                Order::Rank(rank) => width(rank),
                _ => 3,
            };
            let part = KeyPart { offset, width, order, is_descending: rng.below(3) == 0 };
            offset += width;
            part
        };
        (0..1 + rng.below(5)).map(|_| next(rng)).collect()
    }

    /// Every pair, column by column.
    fn ascends(parts: &[KeyPart], bytes: &[u8], spans: &[Span]) -> bool {
        spans.windows(2).all(|pair| {
            let column = |part: &KeyPart| {
                part.compare(part.value(bytes, &pair[0]), part.value(bytes, &pair[1]))
            };
            let decided = parts.iter().map(column).find(|order| *order != Some(Ordering::Equal));
            decided == Some(Some(Ordering::Less))
        })
    }

    #[test]
    fn what_is_proven_is_what_rises_column_by_column() {
        let mut rng = SplitMix64::new(9);
        let mut outcomes = [0, 0];
        for _ in 0..20_000 {
            let parts = parts(&mut rng);
            let len = parts.last().map_or(0, |part| part.offset + part.width);
            let mut records: Vec<Vec<u8>> = (0..rng.below(8))
                .map(|_| (0..len).map(|_| [b'0', b'1', b'A'][rng.below(3) as usize]).collect())
                .collect();
            let compare = |a: &Vec<u8>, b: &Vec<u8>| {
                let columns = parts.iter().map(|part| {
                    let value = |record: &'_ Vec<u8>| record[part.offset..][..part.width].to_vec();
                    part.compare(Some(&value(a)), Some(&value(b))).unwrap()
                });
                columns.fold(Ordering::Equal, Ordering::then)
            };
            if rng.below(4) > 0 {
                records.sort_by(compare);
            }
            let mut bytes = records.concat();
            let spans: Vec<Span> = (0..records.len() as u16)
                .map(|slot| Span { slot, start: slot * len as u16, end: (slot + 1) * len as u16 })
                .collect();
            let expected = ascends(&parts, &bytes, &spans);
            // Words are read with what follows them.
            bytes.extend_from_slice(&[rng.next_u64() as u8; 8]);
            let ascending = AscendingKeys::new(&parts).unwrap();
            assert_eq!(
                ascending.is_proven(&bytes, spans.as_slice()),
                expected,
                "{parts:?} {records:?}"
            );
            outcomes[usize::from(expected)] += 1;
        }
        assert!(outcomes[0] > 3_000 && outcomes[1] > 3_000, "{outcomes:?}");
    }

    #[test]
    fn columns_whose_ranks_are_no_numbers_in_the_record_are_left_to_others() {
        for rank in [Rank::Float, Rank::Decimal(4)] {
            let order = Order::Rank(rank);
            assert!(
                AscendingKeys::new(&[KeyPart { offset: 1, width: 8, order, is_descending: false }])
                    .is_none()
            );
        }
    }
}
