//! Bitmaps that grow: the lowest bit of the first byte is that of row 0, as Arrow has them.

/// One bit for each row.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    /// `len` bits, all alike.
    pub fn filled(len: usize, bit: bool) -> Bits {
        let mut bits = Bits::default();
        bits.extend(len, bit);
        bits
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes; bits past the end are 0.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A bit; false past the end.
    pub fn get(&self, at: usize) -> bool {
        at < self.len && self.bytes.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0)
    }

    /// Number of bits that are set.
    pub fn count(&self) -> usize {
        self.bytes.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        self.push_word(u64::from(bit), 1);
    }

    /// Appends `rows` bits, all alike.
    pub fn extend(&mut self, rows: usize, bit: bool) {
        let word = if bit { u64::MAX } else { 0 };
        let mut left = rows;
        while left > 0 {
            let taken = left.min(64);
            self.push_word(word, taken);
            left -= taken;
        }
    }

    /// Appends the lowest `count` bits of a word, at most 64.
    #[inline]
    pub fn push_word(&mut self, word: u64, count: usize) {
        debug_assert!(count <= 64);
        let word = if count >= 64 { word } else { word & !(u64::MAX << count) };
        let used = self.len % 8;
        // The bits of a word and those of the last byte before it.
        let mut wide = u128::from(word) << used;
        if used > 0 {
            wide |= u128::from(self.bytes.pop().unwrap_or_default());
        }
        let bytes = (used + count).div_ceil(8);
        self.bytes.extend_from_slice(&wide.to_le_bytes()[..bytes]);
        self.len += count;
    }

    /// Appends a bit for each of the items.
    #[inline]
    pub fn push_all<T>(&mut self, items: &[T], bit: impl Fn(&T) -> bool) {
        for chunk in items.chunks(64) {
            let mut word = 0;
            for (at, item) in chunk.iter().enumerate() {
                word |= u64::from(bit(item)) << at;
            }
            self.push_word(word, chunk.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_out_as_they_went_in() {
        let mut expected = Vec::new();
        let mut bits = Bits::default();
        let mut seed = 7u64;
        for count in [1, 0, 7, 64, 3, 63, 64, 8, 2] {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bits.push_word(seed, count);
            expected.extend((0..count).map(|at| seed >> at & 1 == 1));
        }
        bits.extend(130, true);
        expected.extend([true; 130]);
        bits.push_all(&expected.clone(), |bit| !bit);
        let inverted: Vec<bool> = expected.iter().map(|bit| !bit).collect();
        expected.extend(inverted);
        assert_eq!(bits.len(), expected.len());
        assert!((0..bits.len()).all(|at| bits.get(at) == expected[at]));
        assert_eq!(bits.count(), expected.iter().filter(|bit| **bit).count());
        assert!(!bits.get(bits.len()));
        assert_eq!(Bits::filled(9, true).bytes(), [0xff, 1]);
    }
}
