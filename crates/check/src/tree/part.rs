//! What a scan of any part of the database leaves of its trees, besides the hashes: runs, and what
//! they could not prove.
//!
//! ```text
//! upper    60 bytes per run of pages above the leaves                 under one percent of an
//!                                                                     index at worst
//! leaves   76 bytes per run of leaves                                 together with `unproven`
//!                                                                     within a budget
//! unproven 12 bytes per pair of leaves whose keys were not distinguished
//! ```
//!
//! Invariants
//! - Merging is associative and commutative in what it proves: which pairs are left over may
//!   depend on who saw them together, what is found in them does not, because each is verified
//!   again.
//! - A unit over the budget is deferred: nothing is kept of its leaves, and all of them are
//!   compared later.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::PageId;

use super::run::{Children, Keys, PageRun, PageRuns};
use super::undecided::Undecided;
use crate::part::FamilyPart;
use crate::relation::{Relation, RelationHashes, Side, page_word};
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

const _: () = assert!(size_of::<PageRun<Children>>() == 60);
const _: () = assert!(size_of::<PageRun<Keys>>() == 76);
const _: () = assert!(size_of::<(UnitIndex, PageId)>() == 12);

/// Runs of trees.
#[derive(Clone, Default, Debug)]
pub(crate) struct TreePart {
    /// Pages above the leaves, joined to runs.
    pub upper: PageRuns<Children>,
    /// Leaves, joined to runs.
    pub leaves: PageRuns<Keys>,
    /// Leaves whose first key was not proven to come after the last key of the page before them.
    pub unproven: Vec<(UnitIndex, PageId)>,
    /// Units whose leaves are compared later.
    pub deferred: BTreeSet<UnitIndex>,
    /// Units with keys whose order is not known.
    pub undecided: Undecided,
    /// Units whose root was seen.
    pub rooted: BTreeSet<UnitIndex>,
}

impl TreePart {
    /// Adds a page above the leaves.
    pub(super) fn push_upper(&mut self, run: PageRun<Children>, sums: &mut RelationHashes) {
        self.upper.push(run, |left, right| state_boundary(left, right, sums));
    }

    /// Adds a run of leaves; a unit that takes too much memory is deferred.
    pub(super) fn push_leaves(&mut self, run: PageRun<Keys>, budget: usize) {
        if self.deferred.contains(&run.unit) {
            return;
        }
        let unproven = &mut self.unproven;
        self.leaves.push(run, |left, right| compare_prefixes(left, right, unproven));
        self.keep_within(budget);
    }

    /// Leaves that must be verified again.
    pub(super) fn push_unproven(&mut self, unit: UnitIndex, page: PageId, budget: usize) {
        if !self.deferred.contains(&unit) {
            self.unproven.push((unit, page));
            self.keep_within(budget);
        }
    }

    /// Joins all runs there are.
    pub(crate) fn join_all(&mut self, sums: &mut RelationHashes) {
        self.upper.join_all(|left, right| state_boundary(left, right, sums));
        let unproven = &mut self.unproven;
        self.leaves.join_all(|left, right| compare_prefixes(left, right, unproven));
        self.unproven.sort_unstable();
        self.unproven.dedup();
        self.forget_deferred();
    }

    /// Leaves of a unit whose left neighbour was not proven, once all is settled.
    pub(super) fn unproven_of(&self, unit: UnitIndex) -> impl Iterator<Item = PageId> {
        let start = self.unproven.partition_point(|(other, _)| *other < unit);
        let of_unit = self.unproven.iter().skip(start).take_while(move |(other, _)| *other == unit);
        of_unit.map(|(_, page)| *page)
    }

    fn bytes(&self) -> usize {
        self.leaves.runs.len() * size_of::<PageRun<Keys>>()
            + self.unproven.len() * size_of::<(UnitIndex, PageId)>()
    }

    /// Puts off the units that take most, until the rest is within the budget.
    fn keep_within(&mut self, budget: usize) {
        if self.bytes() <= budget {
            return;
        }
        let unproven = &mut self.unproven;
        self.leaves.join_all(|left, right| compare_prefixes(left, right, unproven));
        let mut sizes: BTreeMap<UnitIndex, usize> = BTreeMap::new();
        for run in &self.leaves.runs {
            *sizes.entry(run.unit).or_default() += size_of::<PageRun<Keys>>();
        }
        for (unit, _) in &self.unproven {
            *sizes.entry(*unit).or_default() += size_of::<(UnitIndex, PageId)>();
        }
        let mut by_size: Vec<(usize, UnitIndex)> =
            sizes.into_iter().map(|(unit, size)| (size, unit)).collect();
        by_size.sort_unstable();
        // Down to half of it, so that this is seldom.
        let mut bytes = self.bytes();
        while let Some((size, unit)) = by_size.pop_if(|_| bytes > budget / 2) {
            bytes = bytes.saturating_sub(size);
            self.deferred.insert(unit);
        }
        self.forget_deferred();
    }

    fn forget_deferred(&mut self) {
        let deferred = &self.deferred;
        if deferred.is_empty() {
            return;
        }
        self.leaves.forget(|unit| deferred.contains(&unit));
        self.unproven.retain(|(unit, _)| !deferred.contains(unit));
    }
}

impl FamilyPart for TreePart {
    fn merge(&mut self, other: TreePart, sums: &mut RelationHashes) {
        self.upper.merge(other.upper, |left, right| state_boundary(left, right, sums));
        let unproven = &mut self.unproven;
        unproven.extend(other.unproven);
        self.leaves.merge(other.leaves, |left, right| compare_prefixes(left, right, unproven));
        self.undecided.merge(other.undecided);
        self.rooted.extend(other.rooted);
        self.deferred.extend(other.deferred);
        self.forget_deferred();
    }
}

/// The last child of one page and the first of the next are neighbours.
fn state_boundary(left: &PageRun<Children>, right: &PageRun<Children>, sums: &mut RelationHashes) {
    let last = left.ends.last;
    let first = right.ends.first;
    if !last.is_none() && !first.is_none() {
        let words = [page_word(last), page_word(first), 0];
        sums.state(left.unit, Relation::Adjacent, Side::Plus, words, left.ends.has_sketch);
    }
}

/// The keys of one run are all before those of the next, or their pages are verified again.
fn compare_prefixes(
    left: &PageRun<Keys>,
    right: &PageRun<Keys>,
    unproven: &mut Vec<(UnitIndex, PageId)>,
) {
    if !left.ends.high.is_before(&right.ends.low) {
        unproven.push((right.unit, right.first));
    }
}

wire_structs! { TreePart { upper, leaves, unproven, deferred, undecided, rooted } }
