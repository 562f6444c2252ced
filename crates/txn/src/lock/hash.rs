//! Hashing for the tables of this crate.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashing for the tables of this crate: a few multiplications.
pub(crate) type FastHash = BuildHasherDefault<FastHasher>;

/// Folds words into one by multiplication; the end spreads them over all bits.
#[derive(Default)]
pub(crate) struct FastHasher(u64);

/// 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(SPREAD);
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        (self.0 ^ (self.0 >> 32)).wrapping_mul(SPREAD)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add(u64::from(*byte)));
    }

    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_i32(&mut self, value: i32) {
        self.add(value as u64);
    }

    fn write_i64(&mut self, value: i64) {
        self.add(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }
}
