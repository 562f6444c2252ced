//! Runs: neighbouring pages of one level, joined wherever both sides say that they are neighbours
//! (`docs/check.md` 18).
//!
//! ```text
//! run of upper pages   first, its prev ‥ last, its next     first child ‥ last child
//! run of leaves        first, its prev ‥ last, its next     lowest key  ‥ highest key, as prefixes
//!
//! A and B are one run when A.last.next = B.first and B.first.prev = A.last; of upper pages this
//!   states that A's last child
//! is followed by B's first, of leaves the keys of B must come after those of A
//! ```
//!
//! Which pages were joined first does not matter: every pair of neighbours is joined once,
//! whichever worker saw them, and states the same. Sets of runs merge like multiset hashes. A run
//! whose ends meet is a ring; it is kept, since nothing else would show it.

use std::ops::Range;

use extentdb_base::PageId;

use super::key::Prefix;
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

/// Neighbouring pages of one level of one unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRun<E> {
    /// Whose they are.
    pub unit: UnitIndex,
    /// Twice the level, and one for leaves.
    pub rung: u16,
    /// A ring: its ends were joined.
    pub is_ring: bool,
    /// The leftmost page.
    pub first: PageId,
    /// What that calls its previous page.
    pub prev: PageId,
    /// The rightmost page.
    pub last: PageId,
    /// What that calls its next page.
    pub next: PageId,
    /// What the ends hold.
    pub ends: E,
}

/// Outermost children of a run of upper pages.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Children {
    /// Of the first page that has any; none if no page has.
    pub first: PageId,
    /// Of the last such page.
    pub last: PageId,
    /// What the unit states can be named later.
    pub has_sketch: bool,
}

/// Outermost keys of a run of leaves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Keys {
    /// Of the first page; nothing is certain of it when that is empty.
    pub low: Prefix,
    /// Of the last page.
    pub high: Prefix,
}

/// What the ends of a run hold.
pub(crate) trait Ends: Copy {
    /// The ends of this run and the one after it, when they are one.
    #[must_use]
    fn join(self, right: Self) -> Self;
}

impl Ends for Children {
    fn join(self, right: Children) -> Children {
        Children {
            first: if self.first.is_none() { right.first } else { self.first },
            last: if right.last.is_none() { self.last } else { right.last },
            has_sketch: self.has_sketch,
        }
    }
}

impl Ends for Keys {
    fn join(self, right: Keys) -> Keys {
        Keys { low: self.low, high: right.high }
    }
}

impl<E> PageRun<E> {
    /// True when a whole level is one run.
    pub(crate) fn is_level(&self) -> bool {
        self.prev.is_none() && self.next.is_none() && !self.is_ring
    }
}

/// Runs of many units. Their order means nothing.
#[derive(Clone, Debug)]
pub(crate) struct PageRuns<E> {
    /// The runs; neighbours among them may not have been joined yet.
    pub runs: Vec<PageRun<E>>,
    /// Number of runs when they were last joined.
    settled: usize,
}

impl<E> Default for PageRuns<E> {
    fn default() -> Self {
        PageRuns { runs: Vec::new(), settled: 0 }
    }
}

impl<E: Ends> PageRuns<E> {
    /// Adds a run. `joined` is called for each pair that is joined.
    pub(crate) fn push(&mut self, run: PageRun<E>, joined: impl FnMut(&PageRun<E>, &PageRun<E>)) {
        self.runs.push(run);
        self.settle_when_long(joined);
    }

    /// Adds other runs.
    pub(crate) fn merge(
        &mut self,
        mut other: PageRuns<E>,
        joined: impl FnMut(&PageRun<E>, &PageRun<E>),
    ) {
        if self.runs.len() < other.runs.len() {
            std::mem::swap(&mut self.runs, &mut other.runs);
        }
        self.runs.append(&mut other.runs);
        self.settle_when_long(joined);
    }

    /// Joining puts all runs in order, so it is done when there are twice as many as the last time.
    fn settle_when_long(&mut self, joined: impl FnMut(&PageRun<E>, &PageRun<E>)) {
        if self.runs.len() > self.settled.saturating_mul(2).saturating_add(1024) {
            self.join_all(joined);
        }
    }

    /// Joins all neighbours. Afterwards the runs are in order of unit, rung and first page.
    pub(crate) fn join_all(&mut self, mut joined: impl FnMut(&PageRun<E>, &PageRun<E>)) {
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_unstable_by_key(|run| (run.unit, run.rung, run.first));
        let next_of: Vec<Option<u32>> = runs.iter().map(|run| successor(&runs, run)).collect();
        let mut is_taken = vec![false; runs.len()];
        for place in next_of.iter().flatten() {
            if let Some(is_taken) = is_taken.get_mut(*place as usize) {
                *is_taken = true;
            }
        }
        let mut is_done = vec![false; runs.len()];
        // First the runs without a predecessor, then what is left: rings, each from its first page
        // on.
        let heads = (0..runs.len()).filter(|at| is_taken.get(*at) == Some(&false));
        let all: Vec<usize> = heads.chain(0..runs.len()).collect();
        for head in all {
            if is_done.get(head) == Some(&false)
                && let Some(run) = join_from(&runs, &next_of, &mut is_done, head, &mut joined)
            {
                self.runs.push(run);
            }
        }
        self.runs.sort_unstable_by_key(|run| (run.unit, run.rung, run.first));
        self.settled = self.runs.len();
    }

    /// The runs of a unit, once they are settled.
    pub(crate) fn of_unit(&self, unit: UnitIndex) -> &[PageRun<E>] {
        let start = self.runs.partition_point(|run| run.unit < unit);
        let end = self.runs.partition_point(|run| run.unit <= unit);
        self.runs.get(Range { start, end }).unwrap_or_default()
    }

    /// Forgets the runs of some units.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(UnitIndex) -> bool) {
        self.runs.retain(|run| !is_forgotten(run.unit));
        self.settled = self.settled.min(self.runs.len());
    }
}

/// The run that goes on where this one ends.
fn successor<E>(runs: &[PageRun<E>], run: &PageRun<E>) -> Option<u32> {
    if run.is_ring || run.next.is_none() {
        return None;
    }
    let key = |run: &PageRun<E>| (run.unit, run.rung, run.first);
    let at = runs.binary_search_by_key(&(run.unit, run.rung, run.next), key).ok()?;
    let is_mutual = runs.get(at)?.prev == run.last;
    if is_mutual { u32::try_from(at).ok() } else { None }
}

/// Joins everything from a run on, to the end or around the ring.
fn join_from<E: Ends>(
    runs: &[PageRun<E>],
    next_of: &[Option<u32>],
    is_done: &mut [bool],
    head: usize,
    joined: &mut impl FnMut(&PageRun<E>, &PageRun<E>),
) -> Option<PageRun<E>> {
    let mut all = *runs.get(head)?;
    let mut at = head;
    *is_done.get_mut(at)? = true;
    while let Some(next) = *next_of.get(at)? {
        at = next as usize;
        let right = runs.get(at)?;
        joined(&all, right);
        if at == head {
            all.is_ring = true;
            break;
        }
        *is_done.get_mut(at)? = true;
        all.ends = all.ends.join(right.ends);
        (all.last, all.next) = (right.last, right.next);
    }
    Some(all)
}

wire_structs! {
    Children { first, last, has_sketch }
    Keys { low, high }
    PageRun<E> { unit, rung, is_ring, first, prev, last, next, ends }
    PageRuns<E> { runs, settled }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    fn page(number: u32) -> PageId {
        if number == 0 { PageId::NONE } else { PageId::new(1, number) }
    }

    fn single(unit: u32, prev: u32, own: u32, next: u32) -> PageRun<Children> {
        let ends = Children {
            first: page(1000 * own),
            last: page(1000 * own + 9),
            has_sketch: false,
        };
        PageRun {
            unit,
            rung: 2,
            is_ring: false,
            first: page(own),
            prev: page(prev),
            last: page(own),
            next: page(next),
            ends,
        }
    }

    /// Joins runs in parts and in random order; the result, and the pairs in order.
    fn joined(
        mut runs: Vec<PageRun<Children>>,
        rng: &mut SplitMix64,
    ) -> (Vec<PageRun<Children>>, Vec<(PageId, PageId)>) {
        for i in (1..runs.len()).rev() {
            runs.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut pairs = Vec::new();
        let mut joined =
            |a: &PageRun<Children>, b: &PageRun<Children>| pairs.push((a.ends.last, b.ends.first));
        let mut parts: Vec<PageRuns<Children>> = (0..3).map(|_| PageRuns::default()).collect();
        for run in runs {
            let part = &mut parts[rng.below(3) as usize];
            part.push(run, &mut joined);
            if rng.below(3) == 0 {
                part.join_all(&mut joined);
            }
        }
        let mut all = PageRuns::default();
        parts.into_iter().for_each(|part| all.merge(part, &mut joined));
        all.join_all(&mut joined);
        pairs.sort_unstable();
        (all.runs, pairs)
    }

    #[test]
    fn a_level_becomes_one_run_in_any_order_and_joins_each_pair_once() {
        let mut rng = SplitMix64::new(5);
        for _ in 0..50 {
            let runs: Vec<_> = (1..=40)
                .map(|own| single(7, own - 1, own, if own == 40 { 0 } else { own + 1 }))
                .collect();
            let (runs, pairs) = joined(runs, &mut rng);
            assert_eq!(runs.len(), 1);
            assert!(runs[0].is_level());
            assert_eq!((runs[0].ends.first, runs[0].ends.last), (page(1000), page(40_009)));
            let expected: Vec<_> =
                (1..40).map(|own| (page(1000 * own + 9), page(1000 * own + 1000))).collect();
            assert_eq!(pairs, expected);
        }
    }

    #[test]
    fn a_ring_is_joined_all_around_and_stays_one() {
        let mut rng = SplitMix64::new(6);
        for _ in 0..50 {
            let ring = |own: u32| single(0, (own + 3) % 5 + 1, own, own % 5 + 1);
            let (runs, pairs) = joined((1..=5).map(ring).collect(), &mut rng);
            assert_eq!(runs.len(), 1);
            assert!(runs[0].is_ring && !runs[0].is_level());
            let expected: Vec<_> =
                (1..=5).map(|own| (page(1000 * own + 9), page(1000 * (own % 5 + 1)))).collect();
            assert_eq!(pairs, expected);
        }
        let (runs, pairs) = joined(vec![single(0, 3, 3, 3)], &mut rng);
        assert_eq!((runs.len(), runs[0].is_ring, pairs.len()), (1, true, 1));
    }

    #[test]
    fn pages_that_do_not_both_agree_stay_apart() {
        let mut rng = SplitMix64::new(7);
        let runs =
            vec![single(0, 0, 1, 2), single(0, 9, 2, 3), single(1, 2, 3, 0), single(0, 2, 4, 0)];
        let (runs, pairs) = joined(runs, &mut rng);
        assert_eq!((runs.len(), pairs.len()), (4, 0));
    }
}
