//! The first columns of a key, compared over all records of a page: one loop per column, settled for its type beforehand.
//!
//! ```text
//! pairs of neighbours   (0,1) (1,2) (2,3) (3,4) …
//! first column            <     =     =     >         rising: done   falling, or not known: doubtful   equal: open
//! second column                 <     =               of the open ones the same
//! what is open behind the last column is doubtful: the whole keys decide
//! ```
//!
//! A lead has columns of a fixed place. Most rows need no more, and a loop that does one thing only takes a nanosecond or two for
//! each of them. Pages with a NULL in such a column have no lead.

use std::cmp::Ordering;

use extentdb_format::record::status::HAS_NULL_BITMAP;

use super::column::{Column, Order, Rank};
use crate::hash::is_same;
use crate::rows::u16_at;
use crate::sound::Spot;

/// The first columns of records of one level.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    parts: Vec<Part>,
    /// Records whose fixed part ends before have no lead.
    end: usize,
    /// Bits of the null bitmap that must not be set.
    nulls: u64,
}

/// Columns of the null bitmap that are looked at.
const NULL_BITS: u16 = 64;

#[derive(Clone, Copy, Debug)]
struct Part {
    offset: usize,
    width: usize,
    order: Order,
    is_descending: bool,
}

/// Pairs of neighbours, by the number of their second record. The memory is used for one page after the other.
#[derive(Default)]
pub(super) struct Pairs {
    /// Equal so far.
    open: Vec<u16>,
    /// Not certainly in order.
    doubtful: Vec<u16>,
}

impl Lead {
    pub(super) fn new(columns: &[Column], is_leaf: bool) -> Option<Lead> {
        let mut lead = Lead { parts: Vec::new(), end: 0, nulls: 0 };
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
            let (order, is_descending) = (column.order, column.is_descending);
            lead.parts.push(Part { offset, width, order, is_descending });
            lead.end = lead.end.max(offset + width);
        }
        (!lead.parts.is_empty()).then_some(lead)
    }

    /// Where the fixed part of a record must reach for it to have a lead.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// True when every record has values in all columns of the lead. `fixed_end`: where the fixed part of all of them ends, or
    /// what they say themselves.
    pub(super) fn holds<S: Spot>(&self, bytes: &[u8], spots: &[S], fixed_end: Option<usize>) -> bool {
        let has_values = |spot: &S| {
            let Some(record) = bytes.get(spot.start()..spot.end()) else { return false };
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
        self.nulls == 0 || spots.iter().all(has_values)
    }

    /// Pairs of neighbours whose keys are not certainly rising, ascending. All records must reach to the end of the lead.
    pub(super) fn doubtful<'p, S: Spot>(&self, bytes: &[u8], spots: &[S], pairs: &'p mut Pairs) -> &'p [u16] {
        pairs.open.clear();
        pairs.doubtful.clear();
        for (at, part) in self.parts.iter().enumerate() {
            let step = Step { bytes, spots, part, is_first: at == 0 };
            step.run(pairs);
            if pairs.open.is_empty() {
                break;
            }
        }
        pairs.doubtful.append(&mut pairs.open);
        pairs.doubtful.sort_unstable();
        &pairs.doubtful
    }
}

/// The null bitmap of a record that ends less than eight bytes behind its begin.
fn short_bits(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).unwrap_or_default();
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// One column over one page.
struct Step<'s, S> {
    bytes: &'s [u8],
    spots: &'s [S],
    part: &'s Part,
    is_first: bool,
}

impl<S: Spot> Step<'_, S> {
    /// The types that most keys have get loops of their own.
    fn run(&self, pairs: &mut Pairs) {
        match self.part.order {
            Order::Rank(Rank::Signed(4)) => self.ranks(pairs, |value| Rank::Signed(4).narrow(value)),
            Order::Rank(Rank::Signed(8)) => self.ranks(pairs, |value| Rank::Signed(8).narrow(value)),
            Order::Rank(Rank::Signed(2)) => self.ranks(pairs, |value| Rank::Signed(2).narrow(value)),
            Order::Rank(Rank::Unsigned(1)) => self.ranks(pairs, |value| Rank::Unsigned(1).narrow(value)),
            Order::Rank(Rank::DateTime) => self.ranks(pairs, |value| Rank::DateTime.narrow(value)),
            Order::Rank(rank) if rank.bits() <= 64 => self.ranks(pairs, |value| rank.narrow(value)),
            Order::Rank(rank) => self.ranks(pairs, |value| rank.of(value)),
            order => self.values(pairs, order),
        }
    }

    #[inline(always)]
    fn value(&self, spot: &S) -> Option<&[u8]> {
        let start = spot.start() + self.part.offset;
        self.bytes.get(start..start + self.part.width)
    }

    #[inline(always)]
    fn ranks<R: Ord>(&self, pairs: &mut Pairs, rank: impl Fn(&[u8]) -> Option<R>) {
        let is_descending = self.part.is_descending;
        let compare = |a: &Option<R>, b: &Option<R>| match (a, b) {
            (Some(a), Some(b)) => Some(if is_descending { b.cmp(a) } else { a.cmp(b) }),
            _ => None,
        };
        self.each(pairs, |spot| rank(self.value(spot)?), compare);
    }

    fn values(&self, pairs: &mut Pairs, order: Order) {
        let compare = |a: &Option<&[u8]>, b: &Option<&[u8]>| {
            let (a, b) = ((*a)?, (*b)?);
            if is_same(a, b) {
                return Some(Ordering::Equal);
            }
            let ascending = order.compare(a, b)?;
            Some(if self.part.is_descending { ascending.reverse() } else { ascending })
        };
        self.each(pairs, |spot| self.value(spot), compare);
    }

    /// Sorts the pairs that are left by what a comparison says of them.
    #[inline(always)]
    fn each<V>(
        &self,
        pairs: &mut Pairs,
        value: impl Fn(&S) -> V,
        compare: impl Fn(&V, &V) -> Option<Ordering>,
    ) {
        let Pairs { open, doubtful } = pairs;
        if self.is_first {
            let Some((first, others)) = self.spots.split_first() else { return };
            let mut before = value(first);
            for (at, spot) in (1u16..).zip(others) {
                let next = value(spot);
                match compare(&before, &next) {
                    Some(Ordering::Less) => {}
                    Some(Ordering::Equal) => open.push(at),
                    _ => doubtful.push(at),
                }
                before = next;
            }
            return;
        }
        open.retain(|at| {
            let at = usize::from(*at);
            let order = match self.spots.get(at - 1..=at) {
                Some([before, next]) => compare(&value(before), &value(next)),
                _ => None,
            };
            if !matches!(order, Some(Ordering::Less | Ordering::Equal)) {
                doubtful.push(at as u16);
            }
            order == Some(Ordering::Equal)
        });
    }
}
