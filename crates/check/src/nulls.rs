//! The null bitmaps of records that are alike, tested in one loop.
//!
//! ```text
//! fixed part | columns u16 | bits 1-8 | bits 9-16 | …  one word of eight bytes holds the number
//!                                                      and 48 bits
//! ```

use crate::spans::RecordSpans;

/// Columns whose bits are read with their number.
const BITS: u16 = 48;

/// Bits of null bitmaps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct NullBits(u64);

impl NullBits {
    /// Those of a mask, the lowest bit of which is the first column's.
    pub(crate) fn of(mask: u64) -> Option<NullBits> {
        (mask >> BITS == 0).then_some(NullBits(mask))
    }

    /// Takes in the bit of a column, from 1; 0 is of a column that has none. `None` for one too far
    /// after.
    #[inline(always)]
    pub(crate) fn add(&mut self, null_bit: u16) -> Option<()> {
        if let Some(bit) = null_bit.checked_sub(1) {
            self.0 |= (bit < BITS).then(|| 1 << bit)?;
        }
        Some(())
    }

    /// True when the bitmaps at `at` of records that have one know the same number of columns,
    /// these among them, and none of these is NULL. False also where that cannot be read so easily.
    #[inline(always)]
    pub(crate) fn are_clear(self, bytes: &[u8], spans: impl RecordSpans, at: usize) -> bool {
        let Some(known) = spans.words(bytes, at).next().flatten().map(|word| word as u16) else {
            return false;
        };
        if self.0.unbounded_shr(known.into()) != 0 {
            return false;
        }
        let mask = self.0 << 16 | u64::from(u16::MAX);
        let mut others = 0;
        let mut count = 0;
        for word in spans.words(bytes, at) {
            others |= word.map_or(u64::MAX, |word| (word ^ u64::from(known)) & mask);
            count += 1;
        }
        others == 0 && count == spans.len()
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_format::record::{Record, RecordBuilder, RecordKind};

    use super::*;
    use crate::spans::Span;

    #[test]
    fn bits_are_clear_only_where_each_record_says_so() {
        let mut rng = SplitMix64::new(31);
        let mut clear = 0;
        let mut others = 0;
        for _ in 0..20_000 {
            let columns = 1 + rng.below(20) as u16;
            let count = 1 + rng.below(5) as u16;
            let mut bytes = Vec::new();
            let spans = (0..count).map(|slot| {
                let mut builder = RecordBuilder::index(RecordKind::Index, 9);
                builder.columns(if rng.below(20) == 0 { columns + 1 } else { columns });
                if rng.below(4) == 0 {
                    builder.null(1 + rng.below(columns.into()) as u16);
                }
                let start = bytes.len() as u16;
                bytes.extend(builder.to_vec());
                Span { slot, start, end: bytes.len() as u16 }
            });
            let spans: Vec<Span> = spans.collect();
            bytes.extend([0xff; 8]);
            let mut bits = NullBits::default();
            let wanted: Vec<u16> = (0..=rng.below(3)).map(|_| rng.below(22) as u16).collect();
            wanted.iter().for_each(|bit| bits.add(*bit).unwrap());
            let records = spans
                .iter()
                .map(|span| Record::parse_index(&bytes[span.start.into()..span.end.into()], 9));
            let records: Vec<_> = records.collect();
            let is_clear = |record: &Record<'_>| {
                record.column_count() == records[0].column_count()
                    && wanted.iter().all(|bit| *bit == 0 || record.is_null(*bit) == Some(false))
            };
            let expected = records.iter().all(is_clear);
            assert_eq!(
                bits.are_clear(&bytes, spans.as_slice(), 9),
                expected,
                "{bits:?} {bytes:02x?}"
            );
            clear += u32::from(expected);
            others += u32::from(!expected);
        }
        assert!(clear > 3_000 && others > 3_000, "{clear} {others}");
    }

    #[test]
    fn a_bit_past_the_record_is_refused() {
        let mut bits = NullBits::default();
        assert_eq!((bits.add(48), bits.add(49)), (Some(()), None));
        assert_eq!((NullBits::of(1 << 47), NullBits::of(1 << 48)), (Some(bits), None));
    }
}
