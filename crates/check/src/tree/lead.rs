//! The first columns of a key, compared over all records of a page: one loop per column, settled
//! for its type beforehand.
//!
//! ```text
//! ranks of a column      17    19    19    40    31   taken out of all records, in one loop
//! pairs of neighbours       <     =     <     >       compared in another: nothing in it depends
//!                                                     on what they are
//! next column                     <                   of those that are equal the same
//! what is not ascending after the last column is doubtful: the whole keys decide
//! ```
//!
//! A lead has columns of a fixed offset. Most rows need no more, and a loop that does one thing
//! only takes a nanosecond or two for each of them. Pages with a NULL in such a column have no
//! lead.

use std::cmp::Ordering;

use extentdb_format::record::status::HAS_NULL_BITMAP;

use super::ascending::AscendingKeys;
use super::column::{Column, Order, Rank};
use crate::hash::is_same;
use crate::nulls::NullBits;
use crate::rows::u16_at;
use crate::spans::{RecordSpan, RecordSpans};

/// The first columns of records of one level.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    parts: Vec<KeyPart>,
    /// Proves most pages at once.
    ascending: Option<AscendingKeys>,
    /// Records whose fixed part ends before have no lead.
    end: usize,
    /// Bits of the null bitmap that must not be set.
    nulls: u64,
}

/// Columns of the null bitmap that are examined.
const NULL_BITS: u16 = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPart {
    pub(super) offset: usize,
    pub(super) width: usize,
    pub(super) order: Order,
    pub(super) is_descending: bool,
}

/// The order of two neighbours: ascending, equal or doubtful. The memory is used for one page after
/// the other.
#[derive(Default)]
pub(super) struct Pairs {
    /// Of the column at hand, by record.
    ranks: Vec<u64>,
    /// By the first record of the pair.
    neighbour_orders: Vec<u8>,
    /// Pairs that are not certainly in order, by the number of their second record.
    doubtful: Vec<u16>,
}

/// The pair is in order.
const RISING: u8 = 0;
/// Equal in all columns so far.
const EQUAL: u8 = 1;
/// Not in order, or not known.
const DOUBTFUL: u8 = 2;

impl Lead {
    pub(super) fn new(columns: &[Column], is_leaf: bool) -> Option<Lead> {
        let mut lead = Lead { parts: Vec::new(), ascending: None, end: 0, nulls: 0 };
        for column in columns {
            let place = column.place(is_leaf);
            let offset = usize::try_from(place.offset).unwrap_or(0);
            let width = usize::from(column.width);
            let is_nullable = !column.is_not_null && place.null_bit > 0;
            let is_covered = !is_nullable || place.null_bit <= NULL_BITS;
            if offset == 0 || width == 0 || !column.order.is_known() || !is_covered {
                break;
            }
            if is_nullable {
                lead.nulls |= 1 << (place.null_bit - 1);
            }
            let order = column.order;
            let is_descending = column.is_descending;
            lead.parts.push(KeyPart { offset, width, order, is_descending });
            lead.end = lead.end.max(offset + width);
        }
        lead.ascending = AscendingKeys::new(&lead.parts);
        (!lead.parts.is_empty()).then_some(lead)
    }

    /// Where the fixed part of a record must reach for it to have a lead.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// True when every record has values in all columns of the lead. `fixed_end`: where the fixed
    /// part of all of them ends, or what they say themselves.
    pub(super) fn holds<S: RecordSpans>(
        &self,
        bytes: &[u8],
        spans: S,
        fixed_end: Option<usize>,
    ) -> bool {
        let has_values = |span: S::RecordSpan| {
            let Some(record) = bytes.get(span.start()..span.end()) else { return false };
            if record.first().is_none_or(|status| status & HAS_NULL_BITMAP == 0) {
                return true;
            }
            let at = fixed_end.unwrap_or_else(|| u16_at(record, 2));
            let unknown = u64::MAX.unbounded_shl(u16_at(record, at) as u32);
            let bits = match record.get(at + 2..).and_then(<[u8]>::first_chunk) {
                Some(bits) => u64::from_le_bytes(*bits),
                None => short_bits(record, at + 2),
            };
            (bits | unknown) & self.nulls == 0
        };
        self.nulls == 0 || self.is_clear(bytes, spans, fixed_end) || spans.iter().all(has_values)
    }

    /// The same of records that begin alike, found out in two plain loops.
    fn is_clear(&self, bytes: &[u8], spans: impl RecordSpans, fixed_end: Option<usize>) -> bool {
        let status = |word: Option<u64>| word.map(|word| word as u8);
        let (Some(at), Some(nulls)) = (fixed_end, NullBits::of(self.nulls)) else { return false };
        let first = spans.words(bytes, 0).next().and_then(status);
        first.is_some_and(|first| first & HAS_NULL_BITMAP != 0)
            && spans.words(bytes, 0).all(|word| status(word) == first)
            && nulls.are_clear(bytes, spans, at)
    }

    /// True when all keys are certainly ascending: then no pair is doubtful.
    #[inline]
    pub(super) fn is_ascending(&self, bytes: &[u8], spans: impl RecordSpans) -> bool {
        self.ascending.as_ref().is_some_and(|ascending| ascending.is_proven(bytes, spans))
    }

    /// Pairs of neighbours whose keys are not certainly ascending, in order. All records must reach
    /// to the end of the lead.
    pub(super) fn doubtful<'p>(
        &self,
        bytes: &[u8],
        spans: impl RecordSpans,
        pairs: &'p mut Pairs,
    ) -> &'p [u16] {
        let Pairs { ranks, neighbour_orders, doubtful } = pairs;
        neighbour_orders.clear();
        neighbour_orders.resize(spans.len().saturating_sub(1), EQUAL);
        for part in &self.parts {
            if part.gather(bytes, spans, ranks) {
                compare_ranks(ranks, neighbour_orders);
            } else {
                part.compare_values(bytes, spans, neighbour_orders);
            }
            if !neighbour_orders.contains(&EQUAL) {
                break;
            }
        }
        doubtful.clear();
        let pairs = (1u16..).zip(neighbour_orders.iter());
        doubtful.extend(pairs.filter(|(_, standing)| **standing != RISING).map(|(at, _)| at));
        doubtful
    }
}

/// The null bitmap of a record that ends less than eight bytes after its begin.
fn short_bits(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).unwrap_or_default();
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

impl KeyPart {
    #[inline(always)]
    pub(super) fn value<'b>(&self, bytes: &'b [u8], span: &impl RecordSpan) -> Option<&'b [u8]> {
        let start = span.start() + self.offset;
        bytes.get(start..start + self.width)
    }

    /// Takes the ranks of all records, in the order of the index. False when a value has none, or
    /// none that is short enough.
    fn gather(&self, bytes: &[u8], spans: impl RecordSpans, ranks: &mut Vec<u64>) -> bool {
        ranks.clear();
        match self.order {
            // The types that most keys have get loops of their own.
            Order::Rank(Rank::Signed(4)) => {
                self.take(bytes, spans, ranks, |it| Rank::Signed(4).narrow(it))
            }
            Order::Rank(Rank::Signed(8)) => {
                self.take(bytes, spans, ranks, |it| Rank::Signed(8).narrow(it))
            }
            Order::Rank(Rank::Signed(2)) => {
                self.take(bytes, spans, ranks, |it| Rank::Signed(2).narrow(it))
            }
            Order::Rank(Rank::DateTime) => {
                self.take(bytes, spans, ranks, |it| Rank::DateTime.narrow(it))
            }
            Order::Rank(rank) if rank.bits() <= 64 => {
                self.take(bytes, spans, ranks, |it| rank.narrow(it))
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn take(
        &self,
        bytes: &[u8],
        spans: impl RecordSpans,
        ranks: &mut Vec<u64>,
        rank: impl Fn(&[u8]) -> Option<u64>,
    ) -> bool {
        let turn = if self.is_descending { u64::MAX } else { 0 };
        let mut are_known = true;
        ranks.extend(spans.iter().map(|span| {
            let rank = self.value(bytes, &span).and_then(&rank);
            are_known &= rank.is_some();
            rank.unwrap_or_default() ^ turn
        }));
        are_known
    }

    /// Compares the pairs that are equal so far, value by value.
    fn compare_values(&self, bytes: &[u8], spans: impl RecordSpans, neighbour_orders: &mut [u8]) {
        let pairs = spans.iter().zip(spans.iter().skip(1));
        for (standing, (before, next)) in neighbour_orders.iter_mut().zip(pairs) {
            if *standing == EQUAL {
                *standing = match self.compare(self.value(bytes, &before), self.value(bytes, &next))
                {
                    Some(Ordering::Less) => RISING,
                    Some(Ordering::Equal) => EQUAL,
                    _ => DOUBTFUL,
                };
            }
        }
    }

    #[inline(always)]
    pub(super) fn compare(&self, a: Option<&[u8]>, b: Option<&[u8]>) -> Option<Ordering> {
        let a = a?;
        let b = b?;
        let ascending = match self.order {
            // A value without a rank is not even equal to itself.
            Order::Rank(_) => self.order.compare(a, b)?,
            _ if is_same(a, b) => Ordering::Equal,
            order => order.compare(a, b)?,
        };
        Some(if self.is_descending { ascending.reverse() } else { ascending })
    }
}

/// Compares neighbouring ranks of the pairs that are equal so far.
fn compare_ranks(ranks: &[u64], neighbour_orders: &mut [u8]) {
    let nexts = ranks.get(1..).unwrap_or_default();
    for ((standing, before), next) in neighbour_orders.iter_mut().zip(ranks).zip(nexts) {
        let found = u8::from(before > next) * DOUBTFUL + u8::from(before == next) * EQUAL;
        *standing = if *standing == EQUAL { found } else { *standing };
    }
}
