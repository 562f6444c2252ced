//! Where records lie in their buffer.
//!
//! ```text
//! Span       of a page: slot, first byte, end        records of any length, anywhere on the page
//! EvenSpans  of a whole page: start, width, count    records of one length, back to back
//! WideSpan   of expanded records                     see `expand`
//! ```
//!
//! Most leaf pages of nonclustered indexes are even: no span is stored per entry, and a loop over
//! them has only numbers that grow by a constant step.

use std::ops::Range;

use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_format::page::PageRef;

use crate::expand::WideSpan;

/// Where a record lies.
pub(crate) trait RecordSpan: Copy {
    /// Its first byte.
    fn start(&self) -> usize;
    /// The byte after it.
    fn end(&self) -> usize;
    fn slot(&self) -> u16;
}

/// Where the records of a page lie, in slot order.
pub(crate) trait RecordSpans: Copy {
    /// One of them.
    type RecordSpan: RecordSpan;

    /// How many there are.
    fn len(self) -> usize;

    /// All of them.
    fn iter(self) -> impl ExactSizeIterator<Item = Self::RecordSpan> + Clone;

    /// Some of them, by index; none when there are not so many.
    fn part(self, range: Range<usize>) -> Self;

    /// Eight bytes of each record, little-endian, from `at` on; which may reach past it. `None`, or
    /// no more of them, where the bytes end before.
    fn words(self, bytes: &[u8], at: usize) -> impl Iterator<Item = Option<u64>>;

    /// The first one.
    #[inline(always)]
    fn first(self) -> Option<Self::RecordSpan> {
        self.iter().next()
    }
}

impl<S: RecordSpan> RecordSpans for &[S] {
    type RecordSpan = S;

    #[inline(always)]
    fn len(self) -> usize {
        <[S]>::len(self)
    }

    #[inline(always)]
    fn iter(self) -> impl ExactSizeIterator<Item = S> + Clone {
        <[S]>::iter(self).copied()
    }

    #[inline(always)]
    fn part(self, range: Range<usize>) -> Self {
        self.get(range).unwrap_or_default()
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], at: usize) -> impl Iterator<Item = Option<u64>> {
        self.iter().map(move |span| word(bytes.get(span.start() + at..)?))
    }
}

#[inline(always)]
fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A record of a page.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Span {
    pub(crate) slot: u16,
    pub(crate) start: u16,
    pub(crate) end: u16,
}

impl RecordSpan for Span {
    #[inline(always)]
    fn start(&self) -> usize {
        usize::from(self.start)
    }

    #[inline(always)]
    fn end(&self) -> usize {
        usize::from(self.end)
    }

    #[inline(always)]
    fn slot(&self) -> u16 {
        self.slot
    }
}

impl RecordSpan for WideSpan {
    #[inline(always)]
    fn start(&self) -> usize {
        self.start as usize
    }

    #[inline(always)]
    fn end(&self) -> usize {
        self.end as usize
    }

    #[inline(always)]
    fn slot(&self) -> u16 {
        self.slot
    }
}

/// Records of one length that lie back to back, in slot order: none of their slots is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EvenSpans {
    slot: usize,
    start: usize,
    /// Bytes of each.
    width: usize,
    count: usize,
}

/// A record among such.
#[derive(Clone, Copy)]
pub(crate) struct EvenSpan {
    slot: usize,
    start: usize,
    len: usize,
}

impl RecordSpan for EvenSpan {
    #[inline(always)]
    fn start(&self) -> usize {
        self.start
    }

    #[inline(always)]
    fn end(&self) -> usize {
        self.start + self.len
    }

    #[inline(always)]
    fn slot(&self) -> u16 {
        self.slot as u16
    }
}

impl EvenSpans {
    /// The records of a page whose slots say so, when each has `len` bytes, and their bytes.
    /// Nothing may reach past `body`.
    #[inline]
    pub(crate) fn of<'b>(
        view: PageRef<'_>,
        body: &'b [u8],
        len: usize,
    ) -> Option<(EvenSpans, &'b [u8])> {
        let count = usize::from(view.slot_count());
        let first = view.slot_offset(0)?;
        let last = view.slot_offset(view.slot_count().checked_sub(1)?)?;
        let even = EvenSpans { slot: 0, start: usize::from(first), width: len, count };
        let bytes = body.get(even.start..even.start + len * count)?;
        if even.start < PAGE_HEADER_BYTES || usize::from(last) != even.start + len * (count - 1) {
            return None;
        }
        // The array lies backwards. Its numbers are less than a page, or the bytes would not be
        // there; so nothing wraps unseen.
        let array = view.bytes().get(view.slot_array_start()..)?.as_chunks::<2>().0;
        let differences = array.iter().zip(0u16..).fold(0, |all, (offset, at)| {
            all | (u16::from_le_bytes(*offset) ^ last.wrapping_sub(at.wrapping_mul(len as u16)))
        });
        (differences == 0).then_some((even, bytes))
    }

    /// One of them.
    #[inline]
    pub(crate) fn get(self, at: usize) -> Option<EvenSpan> {
        (at < self.count).then(|| self.at(at))
    }

    #[inline(always)]
    fn at(self, at: usize) -> EvenSpan {
        EvenSpan {
            slot: self.slot + at,
            start: self.start + at * self.width,
            len: self.width,
        }
    }
}

impl RecordSpans for EvenSpans {
    type RecordSpan = EvenSpan;

    #[inline(always)]
    fn len(self) -> usize {
        self.count
    }

    #[inline(always)]
    fn iter(self) -> impl ExactSizeIterator<Item = EvenSpan> + Clone {
        (0..self.count).map(move |at| self.at(at))
    }

    #[inline(always)]
    fn part(self, range: Range<usize>) -> Self {
        let Range { start, end } = range;
        let count = if start <= end && end <= self.count { end - start } else { 0 };
        EvenSpans {
            slot: self.slot + start,
            start: self.start + start * self.width,
            count,
            ..self
        }
    }

    /// Of records with fewer than eight bytes there are none.
    #[inline(always)]
    fn words(self, bytes: &[u8], at: usize) -> impl Iterator<Item = Option<u64>> {
        // What follows a record is the next one, or what is after the last.
        let start = self.start + at;
        let column = bytes.get(start..start + self.count * self.width).unwrap_or_default();
        column.chunks_exact(self.width.max(1)).map(word)
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_base::size::PAGE_BYTES;

    use super::*;

    fn page(offsets: &[u16]) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        page[22..24].copy_from_slice(&(offsets.len() as u16).to_le_bytes());
        for (slot, offset) in offsets.iter().enumerate() {
            let at = PAGE_BYTES - 2 - 2 * slot;
            page[at..at + 2].copy_from_slice(&offset.to_le_bytes());
        }
        page
    }

    fn even_of(offsets: &[u16], len: usize) -> Option<EvenSpans> {
        let page = page(offsets);
        let body = &page[..PAGE_BYTES - 2 * offsets.len()];
        EvenSpans::of(PageRef::new(&page), body, len).map(|(even, _)| even)
    }

    #[test]
    fn slots_of_records_back_to_back_are_even() {
        for (count, len) in [(1, 11), (2, 4000), (300, 13), (7, 1)] {
            let offsets: Vec<u16> = (0..count).map(|at| 96 + at * len).collect();
            let even = even_of(&offsets, usize::from(len)).unwrap();
            assert_eq!(RecordSpans::len(even), usize::from(count));
            let found: Vec<_> =
                even.iter().map(|span| (span.slot(), span.start(), span.end())).collect();
            let expected = offsets
                .iter()
                .zip(0u16..)
                .map(|(at, slot)| (slot, usize::from(*at), usize::from(at + len)));
            assert_eq!(found, expected.collect::<Vec<_>>());
            assert!(even.get(usize::from(count)).is_none());
        }
    }

    #[test]
    fn one_slot_out_of_step_makes_a_page_uneven() {
        let mut rng = SplitMix64::new(3);
        let offsets: Vec<u16> = (0..200).map(|at| 100 + at * 17).collect();
        assert!(even_of(&offsets, 17).is_some());
        assert!(even_of(&offsets, 16).is_none());
        for at in 0..offsets.len() {
            let mut other = offsets.clone();
            other[at] ^= 1 << rng.below(16);
            assert!(even_of(&other, 17).is_none(), "{at}");
        }
        assert!(even_of(&[], 17).is_none());
        assert!(even_of(&[90, 107], 17).is_none(), "inside the header");
        assert!(even_of(&[8160, 8177], 17).is_none(), "into the slots");
    }

    #[test]
    fn a_part_holds_the_spans_of_its_range() {
        let offsets: Vec<u16> = (0..20).map(|at| 96 + at * 9).collect();
        let even = even_of(&offsets, 9).unwrap();
        let part = even.part(3..7);
        let places = |even: EvenSpans| {
            even.iter().map(|span| (span.slot(), span.start())).collect::<Vec<_>>()
        };
        assert_eq!(places(part), places(even)[3..7]);
        assert!(places(even.part(19..21)).is_empty());
    }

    #[test]
    fn words_are_the_same_for_all_kinds_of_spans() {
        let mut rng = SplitMix64::new(4);
        let bytes: Vec<u8> = (0..300).map(|_| rng.next_u64() as u8).collect();
        for (len, at) in [(9, 0), (9, 3), (20, 17), (70, 4)] {
            let even = EvenSpans { slot: 0, start: 10, width: len, count: 3 };
            let spans: Vec<Span> = even
                .iter()
                .map(|span| Span {
                    slot: span.slot(),
                    start: span.start as u16,
                    end: span.end() as u16,
                })
                .collect();
            let words: Vec<_> = even.words(&bytes, at).collect();
            assert_eq!(words, spans.as_slice().words(&bytes, at).collect::<Vec<_>>());
            let first = u64::from_le_bytes(bytes[10 + at..18 + at].try_into().unwrap());
            assert_eq!((words.len(), words[0]), (3, Some(first)));
        }
        let behind = EvenSpans { slot: 0, start: 280, width: 9, count: 3 };
        assert!(
            !behind.words(&bytes, 0).all(|word| word.is_some())
                || behind.words(&bytes, 0).count() < 3
        );
    }
}
