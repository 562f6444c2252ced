//! Invertible Bloom lookup table: decodes the few facts that one side of a relation states more
//! often.
//!
//! Known algorithm: Goodrich and Mitzenmacher 2011, for set differences Eppstein et al. 2011
//! (sources in `docs/check.md` 16). Where we differ: both sides share one table, one side adds and
//! the other subtracts, and a cell is pure for any count that divides its words and its check, so
//! that facts stated several times are decoded.
//!
//! ```text
//! 96 cells in 4 quarters; a fact goes into one cell of each quarter, chosen by its hash
//! cell = count i64, sum of words 3 × u64, sum of check hashes u64         all wrapping
//! ```
//!
//! Decoding removes the fact of a pure cell from its four cells, which may make others pure. When
//! the table is empty the list is complete; otherwise there were too many facts.

use crate::hash::HashKey;
use crate::wire::wire_structs;

use super::Relation;

const QUARTERS: usize = 4;
const CELLS_PER_QUARTER: usize = 24;
const CELLS: usize = QUARTERS * CELLS_PER_QUARTER;
/// A table that holds more kinds of facts than cells never empties; the bound only guards the loop.
const FACTS_MAX: usize = 2 * CELLS;

/// Units that have sketches: each takes some 16 KiB of every worker, so that 64 workers keep to 256
/// MiB.
const UNITS_MAX: usize = 256;

/// Which units are worth a sketch: those of at least `pages_min` pages, the largest first. The
/// others are verified again as a whole when something does not balance, with the same findings.
pub(crate) fn worth_sketching(pages: &[u64], pages_min: u64) -> Vec<bool> {
    let mut largest: Vec<u64> = pages.iter().copied().filter(|pages| *pages >= pages_min).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let smallest = largest.get(UNITS_MAX - 1).map_or(pages_min, |last| *last);
    let mut left = UNITS_MAX;
    let mut take = |pages: &u64| {
        let is_worth_it = *pages >= smallest && left > 0;
        left -= usize::from(is_worth_it);
        is_worth_it
    };
    pages.iter().map(&mut take).collect()
}

/// A fact that one side states more often than the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leftover {
    /// How much more often: > 0 by those that add, < 0 by those that take away.
    pub(crate) count: i64,
    pub(crate) words: [u64; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell {
    pub(crate) count: i64,
    pub(crate) words: [u64; 3],
    pub(crate) check: u64,
}

impl Cell {
    #[inline]
    fn add(&mut self, times: i64, words: [u64; 3], check: u64) {
        let factor = times as u64;
        self.count = self.count.wrapping_add(times);
        for (own, word) in self.words.iter_mut().zip(words) {
            *own = own.wrapping_add(word.wrapping_mul(factor));
        }
        self.check = self.check.wrapping_add(check.wrapping_mul(factor));
    }

    fn merge(&mut self, other: &Cell) {
        self.count = self.count.wrapping_add(other.count);
        for (own, other) in self.words.iter_mut().zip(other.words) {
            *own = own.wrapping_add(other);
        }
        self.check = self.check.wrapping_add(other.check);
    }

    fn is_empty(&self) -> bool {
        *self == Cell::default()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sketch {
    pub(crate) cells: [Cell; CELLS],
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { cells: [Cell::default(); CELLS] }
    }
}

/// The four cells of a fact.
#[inline]
fn places(hash: u64) -> [usize; QUARTERS] {
    std::array::from_fn(|quarter| {
        let bits = (hash >> (16 * quarter)) as usize & 0xffff;
        quarter * CELLS_PER_QUARTER + ((bits * CELLS_PER_QUARTER) >> 16)
    })
}

impl Sketch {
    /// Adds a fact with its hash, `count` times.
    #[inline]
    pub(crate) fn add(&mut self, [place, check]: [u64; 2], times: i64, words: [u64; 3]) {
        for at in places(place) {
            if let Some(cell) = self.cells.get_mut(at) {
                cell.add(times, words, check);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Sketch) {
        for (own, other) in self.cells.iter_mut().zip(&other.cells) {
            own.merge(other);
        }
    }

    /// The unmatched facts; `None` when there are too many to decode.
    pub(crate) fn decode(&self, key: &HashKey, relation: Relation) -> Option<Vec<Leftover>> {
        let mut rest = self.clone();
        let mut found = Vec::new();
        let mut at = 0;
        let mut idle = 0;
        while idle < CELLS && found.len() < FACTS_MAX {
            match rest.cells.get(at).and_then(|cell| pure(cell, key, relation)) {
                Some((fact, hash)) => {
                    rest.add(hash, -fact.count, fact.words);
                    found.push(fact);
                    idle = 0;
                }
                None => idle += 1,
            }
            at = (at + 1) % CELLS;
        }
        rest.cells.iter().all(Cell::is_empty).then_some(found)
    }
}

/// The one fact of a cell, with its hash, when there is only one.
fn pure(cell: &Cell, key: &HashKey, relation: Relation) -> Option<(Leftover, [u64; 2])> {
    let times = cell.count.unsigned_abs();
    if times == 0 || cell.count == i64::MIN {
        return None;
    }
    let of_one = |sum: u64| {
        let sum = if cell.count < 0 { sum.wrapping_neg() } else { sum };
        sum.is_multiple_of(times).then_some(sum / times)
    };
    let [a, b, c] = cell.words;
    let words = [of_one(a)?, of_one(b)?, of_one(c)?];
    let hash = key.fact(relation as u64, words);
    let is_right = hash[1].wrapping_mul(cell.count as u64) == cell.check;
    is_right.then_some((Leftover { count: cell.count, words }, hash))
}

wire_structs! {
    Cell { count, words, check }
    Sketch { cells }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    /// Words stay below 2^62, so that sums of a few equal facts do not wrap.
    fn fact(rng: &mut SplitMix64) -> [u64; 3] {
        [rng.below(1 << 48), rng.below(1 << 62), rng.below(1 << 40)]
    }

    fn decode_rate(facts: usize) -> f64 {
        let mut rng = SplitMix64::new(facts as u64);
        let mut decoded = 0;
        for _ in 0..300 {
            let key = HashKey::new([rng.next_u64(), rng.next_u64()]);
            let mut sketch = Sketch::default();
            let mut expected = BTreeSet::new();
            for n in 0..facts {
                let words = fact(&mut rng);
                let times = if n % 2 == 0 { 1 } else { -1 };
                sketch.add(key.fact(Relation::Child as u64, words), times, words);
                expected.insert((times, words));
            }
            if let Some(found) = sketch.decode(&key, Relation::Child) {
                let found: BTreeSet<_> =
                    found.iter().map(|left| (left.count, left.words)).collect();
                assert_eq!(found, expected, "what is decoded is right");
                decoded += 1;
            }
        }
        f64::from(decoded) / 300.0
    }

    #[test]
    fn few_facts_are_decoded_and_too_many_are_recognised() {
        for facts in [0, 1, 8, 16, 32] {
            assert!(decode_rate(facts) > 0.97, "{facts}: {}", decode_rate(facts));
        }
        assert!(decode_rate(64) > 0.8, "{}", decode_rate(64));
        assert_eq!(decode_rate(400), 0.0);
    }

    #[test]
    fn only_the_largest_units_have_sketches() {
        assert_eq!(worth_sketching(&[7, 8, 0, 900], 8), [false, true, false, true]);
        let pages: Vec<u64> = (0..10_000).collect();
        let sketched = worth_sketching(&pages, 8);
        assert_eq!(sketched.iter().filter(|is_sketched| **is_sketched).count(), UNITS_MAX);
        assert!(sketched[10_000 - UNITS_MAX..].iter().all(|is_sketched| *is_sketched));
        assert_eq!(
            worth_sketching(&[9; 1_000], 8).iter().filter(|it| **it).count(),
            UNITS_MAX,
            "equals, too"
        );
    }

    #[test]
    fn matched_facts_leave_nothing() {
        let key = HashKey::new([1, 1]);
        let mut one = Sketch::default();
        let mut other = Sketch::default();
        let mut rng = SplitMix64::new(2);
        for _ in 0..10_000 {
            let words = fact(&mut rng);
            let hash = key.fact(Relation::Pointer as u64, words);
            one.add(hash, 1, words);
            other.add(hash, -1, words);
        }
        assert_eq!(one.decode(&key, Relation::Pointer), None);
        one.merge(&other);
        assert_eq!(one.decode(&key, Relation::Pointer), Some(vec![]));
    }
}
