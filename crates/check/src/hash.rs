//! Keyed hash function of all multiset hashes (`docs/check.md` 15).
//!
//! Known algorithm: folded multiplication, as in wyhash.
//!
//! ```text
//! fold(a, b) = low half xor high half of the 128-bit product a * b
//! fact       = three words -> two lanes of 64 bits, each by multiplications with keys of its own
//! value      = bytes of a column -> one lane, 16 bytes at a time, its length mixed in
//! ```
//!
//! The key is random per run, so that no file can be made to cancel wrong facts, and repeated runs
//! are independent. Runs in parts and resumed runs derive it from the boot page: all parts need one
//! key, which every partial carries. Rows have 64 bits of their own, spread over two lanes.
//!
//! Invariant: the probability that two different facts have equal lanes is about 2^-64 per lane.

use std::hash::{BuildHasher, RandomState};

/// The key of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HashKey {
    seed: [u64; 2],
    words: [u64; 8],
    mask: u64,
}

#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl HashKey {
    /// A key from 128 bits.
    pub fn new(seed: [u64; 2]) -> HashKey {
        // Odd constants of high entropy: the fractional digits of e, pi and the golden ratio.
        const START: [u64; 2] = [0xb7e1_5162_8aed_2a6b, 0x243f_6a88_85a3_08d3];
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let [mut a, mut b] = [seed[0] ^ START[0], seed[1] ^ START[1]];
        let words = std::array::from_fn(|_| {
            a = a.wrapping_add(STEP);
            b = fold(b ^ a, STEP | 1).wrapping_add(a.rotate_left(29));
            fold(a ^ START[1], b | 1) ^ b | 1
        });
        HashKey { seed, words, mask: u64::MAX }
    }

    /// An unpredictable key, from the operating system's randomness.
    pub fn random() -> HashKey {
        let lane = |n: u64| RandomState::new().hash_one(n);
        HashKey::new([lane(1), lane(2)])
    }

    /// The 128 bits it was made from.
    pub fn seed(&self) -> [u64; 2] {
        self.seed
    }

    /// Cuts all lanes to `bits` bits: those of facts when they are made, those of rows when their
    /// hashes are examined, which is equivalent. Only for tests of what the hashes miss then.
    #[must_use]
    pub fn with_bits(self, bits: u32) -> HashKey {
        HashKey { mask: u64::MAX >> (64 - bits.clamp(1, 64)), ..self }
    }

    /// Both lanes of a fact; `relation` keeps the facts of different relations apart.
    #[inline]
    pub fn fact(&self, relation: u64, [a, b, c]: [u64; 3]) -> [u64; 2] {
        let [k0, k1, k2, k3, k4, k5, ..] = self.words;
        let low = fold(fold(a ^ k0, b ^ k1) ^ c ^ relation, k2 ^ c.rotate_left(32));
        let high = fold(fold(c ^ k3, a ^ k4) ^ b.rotate_left(17) ^ relation, k5 ^ b);
        [low & self.mask, high & self.mask]
    }

    /// One lane of up to eight bytes that are a number already.
    #[inline(always)]
    pub fn word(&self, word: u64) -> u64 {
        fold(word ^ self.words[6], self.words[7])
    }

    /// One lane of bytes.
    #[inline(always)]
    pub fn bytes(&self, bytes: &[u8]) -> u64 {
        if let 1..16 = bytes.len() {
            let (low, high) = ends(bytes);
            return self.short(low, high, bytes.len());
        }
        let mut state = self.words[5] ^ bytes.len() as u64;
        let (chunks, rest) = bytes.as_chunks::<16>();
        for chunk in chunks {
            let (low, high) = halves(chunk);
            state = fold(low ^ self.words[6], high ^ state);
        }
        if !rest.is_empty() {
            let (low, high) = ends(rest);
            state = fold(low ^ self.words[4], high ^ state);
        }
        fold(state ^ self.words[3], self.words[7])
    }

    /// The same of less than 16 bytes, but for none, given by their [`ends`].
    #[inline(always)]
    pub(crate) fn short(&self, low: u64, high: u64, len: usize) -> u64 {
        // Once is enough: what comes out is multiplied, summed and folded again by `row`, or by the
        // hash of a key.
        fold(low ^ self.words[4], high ^ self.words[5] ^ len as u64)
    }

    /// A finished row: its combined columns to two lanes, of which one is what the other is made
    /// of. Rows whose columns have changed places among them may have equal sums of the second
    /// lane, never of the first but by chance.
    #[inline(always)]
    pub fn row(&self, combined: u64) -> [u64; 2] {
        let [k0, k1, ..] = self.words;
        [fold(combined ^ k0, k1), combined]
    }

    /// What counts of a sum of the lanes of rows.
    #[inline]
    pub(crate) fn cut(&self, sum: [u64; 2]) -> [u64; 2] {
        sum.map(|lane| lane & self.mask)
    }

    /// An odd multiplier for the column at a position.
    #[inline]
    pub fn multiplier(&self, position: usize) -> u64 {
        fold(self.words[2] ^ position as u64, self.words[5]).rotate_left(7) | 1
    }
}

/// The first and the last bytes of up to 16: together they hold each of them.
#[inline(always)]
fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
    } else {
        let [first, middle, last] =
            [0, bytes.len() / 2, bytes.len() - 1].map(|at| bytes.get(at).copied());
        let wide = |byte: Option<u8>| u64::from(byte.unwrap_or(0));
        (wide(first) | wide(middle) << 8, wide(last))
    }
}

/// Equality of values, most of which are shorter than it takes to call a function.
#[inline(always)]
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (a.len(), a.len() == b.len()) {
        (1..=16, true) => ends(a) == ends(b),
        (_, has_same_len) => has_same_len && a == b,
    }
}

#[inline(always)]
fn halves(bytes: &[u8; 16]) -> (u64, u64) {
    let whole = u128::from_le_bytes(*bytes);
    (whole as u64, (whole >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    /// Chi-square of the low and high bytes of hashes over consecutive facts: they must look like
    /// chance.
    #[test]
    fn hashes_over_consecutive_pages_are_uniform() {
        let key = HashKey::new([1, 2]);
        let mut counts = [[0u32; 256]; 4];
        let mut sum = [0u64; 2];
        const FACTS: u32 = 1 << 20;
        for page in 0..FACTS {
            let fact = key.fact(1, [u64::from(page), u64::from(page + 1), 0]);
            sum = [sum[0].wrapping_add(fact[0]), sum[1].wrapping_add(fact[1])];
            let bytes = [sum[0] as u8, (sum[0] >> 56) as u8, sum[1] as u8, (sum[1] >> 56) as u8];
            for (counts, byte) in counts.iter_mut().zip(bytes) {
                counts[usize::from(byte)] += 1;
            }
        }
        for counts in counts {
            let expected = f64::from(FACTS) / 256.0;
            let chi: f64 =
                counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
            // 255 degrees of freedom: outside of this once in far more than a million keys.
            assert!((130.0..400.0).contains(&chi), "{chi}");
        }
    }

    #[test]
    fn every_bit_of_a_fact_changes_half_of_both_lanes() {
        let key = HashKey::new([7, 9]);
        let mut rng = SplitMix64::new(4);
        let mut flips = [0u32; 2];
        const TRIALS: u32 = 2_000;
        for _ in 0..TRIALS {
            let words = [rng.next_u64(), rng.below(1 << 40), rng.below(16)];
            let mut changed = words;
            changed[rng.below(3) as usize] ^= 1 << rng.below(64);
            let a = key.fact(3, words);
            let b = key.fact(3, changed);
            for lane in 0..2 {
                flips[lane] += (a[lane] ^ b[lane]).count_ones();
            }
        }
        for flipped in flips {
            let mean = f64::from(flipped) / f64::from(TRIALS);
            assert!((31.0..33.0).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn bytes_of_different_length_differ_even_when_the_rest_is_zero() {
        let key = HashKey::random();
        let zeros = [0u8; 40];
        let mut seen: Vec<u64> = (0..=40).map(|len| key.bytes(&zeros[..len])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 41);
    }

    #[test]
    fn short_values_are_the_same_when_all_their_bytes_are() {
        for len in 0..=20 {
            let bytes: Vec<u8> = (0..len).collect();
            assert!(is_same(&bytes, &bytes.clone()));
            assert!(!is_same(&bytes, &[bytes.clone(), vec![0]].concat()));
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert!(!is_same(&bytes, &other), "{len} {at}");
            }
        }
    }

    #[test]
    fn another_key_gives_other_lanes() {
        let [a, b] = [HashKey::new([1, 2]), HashKey::new([1, 3])];
        assert_ne!(a.fact(1, [1, 2, 3]), b.fact(1, [1, 2, 3]));
        assert_ne!(a.bytes(b"x"), b.bytes(b"x"));
        assert_ne!(HashKey::random().seed(), HashKey::random().seed());
    }
}
