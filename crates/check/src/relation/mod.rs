//! Relations: facts that two pages of a database state, compared as multiset hashes.
//!
//! Known algorithm: additive multiset hashing (MSet-Add-Hash; sources in `docs/check.md` 15). Where
//! we differ: the hash is keyed per run but not cryptographic, each side is counted as well, and a
//! hash that is not balanced is never a finding. It selects the allocation unit whose facts are
//! compared exactly; the sketch names the facts (`docs/check.md` 16, 17).
//!
//! ```text
//! MultisetHash   count of each side, two 64-bit sums of hashes
//!                balanced = equal counts and both sums 0
//! Sketch         96 cells from which a few unmatched facts are decoded
//! ```
//!
//! Invariants
//! - Facts are filed under the unit that owns the page by the allocation maps, never under the one
//!   its header names.
//! - Merging is addition: commutative, associative, with an empty set as its zero, but not
//!   idempotent.

use crate::hash::HashKey;
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

mod sketch;

#[cfg(test)]
pub(crate) use sketch::Leftover;
pub(crate) use sketch::{Sketch, worth_sketching};

/// What kind of fact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Relation {
    /// + a slot of a non-leaf page: child, its level. − every page but the root: itself, its level.
    Child,
    /// + a page with a next page: itself, next, level. − a page with a previous page: previous,
    /// itself, level.
    Sibling,
    /// + neighbouring slots of a non-leaf page: both children. − a page with a previous page:
    /// previous, itself.
    Adjacent,
    /// Added by a slot of a non-leaf page, but the leftmost of its level: child, hash of its key.
    /// Taken away by a page that is not the leftmost of its level: itself, hash of its first key.
    Separator,
    /// + a forwarding stub: itself, its target. − a forwarded record: its back pointer, itself.
    Forward,
    /// + a pointer to off-row data: target, text id. − a node: itself, its text id.
    Pointer,
    /// + a pointer that states a size: target, kind and level, size. − a node: itself, kind and
    /// level, size.
    PointerSize,
}

impl Relation {
    /// All of them.
    pub(crate) const ALL: [Relation; 7] = [
        Relation::Child,
        Relation::Sibling,
        Relation::Adjacent,
        Relation::Separator,
        Relation::Forward,
        Relation::Pointer,
        Relation::PointerSize,
    ];
}

/// Sums of both sides of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct MultisetHash {
    /// Facts that were added.
    pub plus: u64,
    /// Facts that were taken away.
    pub minus: u64,
    pub sum: [u64; 2],
}

impl MultisetHash {
    /// Adds a fact.
    #[inline]
    pub(crate) fn add(&mut self, [low, high]: [u64; 2]) {
        self.plus += 1;
        self.sum = [self.sum[0].wrapping_add(low), self.sum[1].wrapping_add(high)];
    }

    /// Takes a fact away.
    #[inline]
    pub(crate) fn subtract(&mut self, [low, high]: [u64; 2]) {
        self.minus += 1;
        self.sum = [self.sum[0].wrapping_sub(low), self.sum[1].wrapping_sub(high)];
    }

    /// Adds a fact to the side that states it.
    #[inline]
    pub(crate) fn state(&mut self, side: Side, lanes: [u64; 2]) {
        match side {
            Side::Plus => self.add(lanes),
            Side::Minus => self.subtract(lanes),
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: MultisetHash) {
        self.plus += other.plus;
        self.minus += other.minus;
        self.sum = [self.sum[0].wrapping_add(other.sum[0]), self.sum[1].wrapping_add(other.sum[1])];
    }

    /// True when both sides stated the same facts.
    pub(crate) fn is_balanced(&self) -> bool {
        self.plus == self.minus && self.sum == [0, 0]
    }

    /// The same of rows, whose lanes have all their bits: the key says how many of them count.
    pub(crate) fn is_balanced_under(&self, key: &HashKey) -> bool {
        self.plus == self.minus && key.cut(self.sum) == [0, 0]
    }
}

/// Sums and sketches of one allocation unit.
#[derive(Clone, Default, Debug)]
pub(crate) struct UnitHashes {
    hashes_of_units: [MultisetHash; Relation::ALL.len()],
    /// Kept for units worth it, for relations that have facts.
    sketches: [Option<Box<Sketch>>; Relation::ALL.len()],
}

impl UnitHashes {
    /// The sum of a relation.
    pub(crate) fn acc(&self, relation: Relation) -> MultisetHash {
        self.hashes_of_units.get(relation as usize).copied().unwrap_or_default()
    }

    /// The sketch of a relation.
    pub(crate) fn sketch(&self, relation: Relation) -> Option<&Sketch> {
        self.sketches.get(relation as usize)?.as_deref()
    }

    /// The relations that do not balance.
    pub(crate) fn unbalanced(&self) -> impl Iterator<Item = Relation> {
        Relation::ALL.into_iter().filter(|relation| !self.acc(*relation).is_balanced())
    }

    fn merge(&mut self, other: UnitHashes) {
        for (own, others) in self.hashes_of_units.iter_mut().zip(other.hashes_of_units) {
            own.merge(others);
        }
        for (own, others) in self.sketches.iter_mut().zip(other.sketches) {
            match (own.as_mut(), others) {
                (_, None) => {}
                (Some(own), Some(others)) => own.merge(&others),
                (None, others) => *own = others,
            }
        }
    }
}

/// Which side of a relation states a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// It is added.
    Plus,
    /// It is taken away.
    Minus,
}

/// Sums of all units, under one key.
#[derive(Clone, Debug)]
pub(crate) struct RelationHashes {
    key: HashKey,
    units: Vec<UnitHashes>,
}

impl RelationHashes {
    /// The empty set, of `units` units.
    pub(crate) fn new(units: usize, key: HashKey) -> RelationHashes {
        RelationHashes { key, units: vec![UnitHashes::default(); units] }
    }

    /// The key of the run.
    #[inline]
    pub(crate) fn key(&self) -> &HashKey {
        &self.key
    }

    /// States a fact. With `sketch`, it can be named later.
    #[inline]
    pub(crate) fn state(
        &mut self,
        unit: UnitIndex,
        relation: Relation,
        side: Side,
        words: [u64; 3],
        has_sketch: bool,
    ) {
        let hash = self.key.fact(relation as u64, words);
        let Some(unit) = self.units.get_mut(unit as usize) else { return };
        if let Some(acc) = unit.hashes_of_units.get_mut(relation as usize) {
            match side {
                Side::Plus => acc.add(hash),
                Side::Minus => acc.subtract(hash),
            }
        }
        if has_sketch && let Some(sketch) = unit.sketches.get_mut(relation as usize) {
            let sign = if side == Side::Plus { 1 } else { -1 };
            sketch.get_or_insert_with(Default::default).add(hash, sign, words);
        }
    }

    /// States a fact on both sides: only that it was stated is kept.
    #[inline]
    pub(crate) fn cancel(&mut self, unit: UnitIndex, relation: Relation) {
        let unit = self.units.get_mut(unit as usize);
        if let Some(acc) = unit.and_then(|unit| unit.hashes_of_units.get_mut(relation as usize)) {
            acc.plus += 1;
            acc.minus += 1;
        }
    }

    /// The sums of a unit.
    pub(crate) fn unit(&self, unit: UnitIndex) -> Option<&UnitHashes> {
        self.units.get(unit as usize)
    }

    /// All units with their sums.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (UnitIndex, &UnitHashes)> {
        (0u32..).zip(&self.units)
    }

    /// Adds the sums of another part. Both must be under the same key.
    pub(crate) fn merge(&mut self, other: RelationHashes) {
        debug_assert_eq!(self.key, other.key, "sums under different keys");
        for (own, others) in self.units.iter_mut().zip(other.units) {
            own.merge(others);
        }
    }
}

/// A page as a word of a fact.
#[inline]
pub(crate) fn page_word(page: extentdb_base::PageId) -> u64 {
    u64::from(page.file.0) << 32 | u64::from(page.page)
}

/// The page of such a word.
pub(crate) fn page_of_word(word: u64) -> extentdb_base::PageId {
    extentdb_base::PageId::new((word >> 32) as u16, word as u32)
}

/// A slot of a page as a word of a fact.
#[inline]
pub(crate) fn rid_word(rid: extentdb_base::Rid) -> u64 {
    u64::from(rid.slot.0) << 48 | page_word(rid.page)
}

/// The slot of such a word.
pub(crate) fn rid_of_word(word: u64) -> extentdb_base::Rid {
    extentdb_base::Rid::new(page_of_word(word & 0xffff_ffff_ffff), (word >> 48) as u16)
}

wire_structs! {
    MultisetHash { plus, minus, sum }
    UnitHashes { hashes_of_units, sketches }
    RelationHashes { key, units }
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;
    use extentdb_base::Rid;
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    #[test]
    fn what_both_sides_state_cancels_in_any_order() {
        let mut rng = SplitMix64::new(8);
        let key = HashKey::random();
        let mut facts: Vec<(Side, [u64; 3])> = (0..500)
            .flat_map(|n| [(Side::Plus, [n, n + 1, 0]), (Side::Minus, [n, n + 1, 0])])
            .collect();
        for i in (1..facts.len()).rev() {
            facts.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut parts: Vec<RelationHashes> = (0..4).map(|_| RelationHashes::new(1, key)).collect();
        for (side, words) in facts {
            parts[rng.below(4) as usize].state(0, Relation::Sibling, side, words, true);
        }
        let mut sum = parts.pop().unwrap();
        parts.into_iter().for_each(|part| sum.merge(part));
        let unit = sum.unit(0).unwrap();
        assert_eq!(unit.unbalanced().count(), 0);
        assert_eq!(
            unit.sketch(Relation::Sibling).unwrap().decode(&key, Relation::Sibling),
            Some(vec![])
        );
    }

    #[test]
    fn a_fact_stated_twice_on_one_side_does_not_cancel() {
        let mut sums = RelationHashes::new(1, HashKey::random());
        for _ in 0..2 {
            sums.state(0, Relation::Child, Side::Plus, [1, 2, 3], true);
            sums.state(0, Relation::Child, Side::Minus, [4, 5, 6], true);
        }
        let key = *sums.key();
        let unit = sums.unit(0).unwrap();
        assert_eq!(unit.unbalanced().collect::<Vec<_>>(), [Relation::Child]);
        let mut left = unit.sketch(Relation::Child).unwrap().decode(&key, Relation::Child).unwrap();
        left.sort_by_key(|left| left.words);
        assert_eq!(
            left,
            [Leftover { count: 2, words: [1, 2, 3] }, Leftover { count: -2, words: [4, 5, 6] }]
        );
    }

    #[test]
    fn addresses_survive_packing_into_words() {
        let rid = Rid::new(PageId::new(0x7fff, u32::MAX), u16::MAX);
        assert_eq!(rid_of_word(rid_word(rid)), rid);
        assert_eq!(page_of_word(page_word(rid.page)), rid.page);
    }

    /// With lanes of eight bits a broken sum is missed about once in 65,536 times, one lane of it
    /// once in 256.
    #[test]
    fn a_hash_misses_a_difference_as_often_as_its_width_predicts() {
        let mut rng = SplitMix64::new(1);
        let mut missed = 0u32;
        const TRIALS: u32 = 100_000;
        for _ in 0..TRIALS {
            let key = HashKey::new([rng.next_u64(), rng.next_u64()]).with_bits(8);
            let mut acc = MultisetHash::default();
            acc.add(key.fact(0, [rng.below(100), 7, 0]));
            acc.subtract(key.fact(0, [rng.below(100) + 100, 7, 0]));
            missed += u32::from(acc.sum[0] == 0);
        }
        let expected = TRIALS / 256;
        assert!(
            (expected * 8 / 10..expected * 12 / 10).contains(&missed),
            "{missed} of about {expected}"
        );
    }
}
