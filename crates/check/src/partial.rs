//! The mergeable result of scanning a part of the database.
//!
//! ```text
//! chunk -> Partial ┐
//! chunk -> Partial ┼ merge ─> Partial ┐
//! chunk -> Partial ┘                  ┼ merge ─> Partial of the database, whose coverage must be the plan
//! chunk -> Partial ──────────────────-┘
//! ```
//!
//! Plain data without references, so that it can be written down and carried to another machine.
//!
//! Invariants
//! - Merging is associative and commutative; the empty partial changes nothing. What it becomes
//!   does not depend on how the database was cut into chunks, because nothing in it is about a
//!   chunk.
//! - A partial knows exactly which pages it covers. Two that overlap do not merge: counts and facts
//!   are sums, and a page that is summed twice is wrong.
//! - The order of lists inside means nothing; [`verify`](crate::verify) and the report sort.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_base::{FileId, PageId};

pub use file::PartialError;

pub(crate) mod file;
pub(crate) mod wire;

use crate::finding::{Finding, Findings};
use crate::hash::HashKey;
pub use crate::offrow::{Gap, Gaps};
use crate::relation::Sums;
pub use crate::rows::{CrossSums, Standings};
use crate::tree::TreePart;
use crate::unit::UnitIndex;
use wire::wire_structs;

/// A page that was planned and could not be used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BadPage {
    pub(crate) page: PageId,
    pub(crate) unit: Option<UnitIndex>,
    pub(crate) error: u32,
}

/// What was counted in a unit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UnitCounts {
    /// Pages that were checked.
    pub pages: u64,
    /// Of those, data pages and leaf pages.
    pub leaf_pages: u64,
    /// Rows on leaf pages: primary and forwarded records, index entries. Ghosts are none.
    pub rows: u64,
    /// Pages newer than the last checkpoint.
    pub newer: u64,
}

impl UnitCounts {
    fn add(&mut self, other: UnitCounts) {
        self.pages += other.pages;
        self.leaf_pages += other.leaf_pages;
        self.rows += other.rows;
        self.newer += other.newer;
    }
}

/// A run of pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Run {
    file: FileId,
    start: u32,
    end: u32,
}

/// Two partials cover the same page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("page {page} was scanned twice")]
pub struct Overlap {
    /// The first such page.
    pub page: PageId,
}

/// An exact set of pages, as runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PageSet {
    runs: Vec<Run>,
    /// Number of runs that were in order when the set was last put in order.
    settled: usize,
}

impl PageSet {
    /// Adds the pages from `start` on and before `end`.
    pub fn add(&mut self, file: FileId, start: u32, end: u32) -> Result<(), Overlap> {
        if start < end {
            self.push(Run { file, start, end });
        }
        self.settle_when_long()
    }

    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if last.file == run.file && last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }

    /// Adds another set.
    pub fn merge(&mut self, other: PageSet) -> Result<(), Overlap> {
        other.runs.into_iter().for_each(|run| self.push(run));
        self.settle_when_long()
    }

    /// Runs come nearly in order from several threads; joining them now and then keeps the set
    /// small.
    fn settle_when_long(&mut self) -> Result<(), Overlap> {
        if self.runs.len() > 2 * self.settled + 256 { self.settle() } else { Ok(()) }
    }

    fn settle(&mut self) -> Result<(), Overlap> {
        self.runs.sort_unstable();
        let runs = std::mem::take(&mut self.runs);
        let mut overlap = Ok(());
        for run in runs {
            if let Some(last) = self.runs.last()
                && last.file == run.file
                && run.start < last.end
            {
                overlap =
                    overlap.and(Err(Overlap { page: PageId { file: run.file, page: run.start } }));
            }
            self.push(run);
        }
        self.settled = self.runs.len();
        overlap
    }

    /// The runs in order: file, first page, first page behind.
    pub fn runs(&mut self) -> Result<impl Iterator<Item = (FileId, u32, u32)>, Overlap> {
        self.settle()?;
        Ok(self.runs.iter().map(|run| (run.file, run.start, run.end)))
    }

    /// Number of pages.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.end - run.start)).sum()
    }

    /// True without pages.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// What is known about a part of the database.
#[derive(Clone, Debug)]
pub struct Partial {
    /// The pages that were looked at: those that had to be checked, and those between them that had
    /// not.
    pub covered: PageSet,
    /// Pages that had to be checked and were.
    pub pages_checked: u64,
    /// Bytes that were read for them.
    pub bytes: u64,
    /// By unit.
    pub counts: Vec<UnitCounts>,
    /// What is wrong.
    pub findings: Findings,
    /// Pages that could not be used.
    pub bad: Vec<BadPage>,
    /// Pages without checksum and torn-page bits.
    pub unprotected: u64,
    /// The first page that is newer than the last checkpoint.
    pub newer: Option<Finding>,
    /// The first page that changed without its DIFF bit.
    pub diff_missed: Option<Finding>,
    /// Pages whose state PFS could not tell and that do not look like pages of their unit.
    pub pages_unknown: u64,
    /// Pages of compressed units, whose records are checked by unverified rules.
    pub pages_compressed: u64,
    /// Pages that the source does not have although they are allocated.
    pub pages_absent: u64,
    /// Relations between pages, as sums.
    pub sums: Sums,
    /// Rows against indexes, as sums.
    pub crosses: CrossSums,
    /// Indexes with values that could not be read.
    pub unread_crosses: BTreeSet<u32>,
    /// Of partitioned indexes: how rows stand to the boundaries of their partition.
    pub standings: BTreeMap<UnitIndex, Standings>,
    /// Units whose pages were found where nobody owns them: they lack rows.
    pub strayed: BTreeSet<UnitIndex>,
    /// Units with compressed rows that could not be expanded.
    pub unexpanded: BTreeSet<UnitIndex>,
    /// Runs of pages of B-trees.
    pub tree: TreePart,
    /// Units whose off-row data cannot be matched with its references: pairs of unit and reason,
    /// each once.
    pub gaps: Gaps,
}

impl Partial {
    /// Nothing, of a database with so many units.
    pub fn new(units: usize, findings_max: usize, key: HashKey) -> Partial {
        Partial {
            covered: PageSet::default(),
            pages_checked: 0,
            bytes: 0,
            counts: vec![UnitCounts::default(); units],
            findings: Findings::new(findings_max),
            bad: Vec::new(),
            unprotected: 0,
            newer: None,
            diff_missed: None,
            pages_unknown: 0,
            pages_compressed: 0,
            pages_absent: 0,
            sums: Sums::new(units, key),
            crosses: CrossSums::default(),
            unread_crosses: BTreeSet::new(),
            standings: BTreeMap::new(),
            strayed: BTreeSet::new(),
            unexpanded: BTreeSet::new(),
            tree: TreePart::default(),
            gaps: Gaps::new(),
        }
    }

    /// Adds another part of the same database.
    ///
    /// # Errors
    /// Both cover the same page; the sum then means nothing.
    pub fn merge(&mut self, other: Partial) -> Result<(), Overlap> {
        self.covered.merge(other.covered)?;
        self.pages_checked += other.pages_checked;
        self.bytes += other.bytes;
        for (own, others) in self.counts.iter_mut().zip(other.counts) {
            own.add(others);
        }
        self.findings.merge(other.findings);
        append(&mut self.bad, other.bad);
        self.unprotected += other.unprotected;
        keep_first(&mut self.newer, other.newer);
        keep_first(&mut self.diff_missed, other.diff_missed);
        self.pages_unknown += other.pages_unknown;
        self.pages_compressed += other.pages_compressed;
        self.pages_absent += other.pages_absent;
        self.sums.merge(other.sums);
        self.crosses.merge(other.crosses);
        self.unread_crosses.extend(other.unread_crosses);
        for (unit, standings) in other.standings {
            self.standings.entry(unit).or_default().merge(standings);
        }
        self.strayed.extend(other.strayed);
        self.unexpanded.extend(other.unexpanded);
        self.tree.merge(other.tree, &mut self.sums);
        self.gaps.extend(other.gaps);
        Ok(())
    }

    /// What was counted in a unit.
    #[inline]
    pub(crate) fn count(&mut self, unit: UnitIndex) -> Option<&mut UnitCounts> {
        self.counts.get_mut(unit as usize)
    }
}

wire_structs! {
    BadPage { page, unit, error }
    UnitCounts { pages, leaf_pages, rows, newer }
    Run { file, start, end }
    PageSet { runs, settled }
    Partial {
        covered, pages_checked, bytes, counts, findings, bad, unprotected, newer, diff_missed,
        pages_unknown, pages_compressed, pages_absent, sums, crosses, unread_crosses, standings, strayed, unexpanded,
        tree, gaps,
    }
}

/// Appends the shorter list to the longer: their order means nothing.
fn append<T>(own: &mut Vec<T>, mut others: Vec<T>) {
    if own.len() < others.len() {
        std::mem::swap(own, &mut others);
    }
    own.append(&mut others);
}

/// Keeps the finding on the lowest page.
pub(crate) fn keep_first(own: &mut Option<Finding>, other: Option<Finding>) {
    if let Some(other) = other
        && own.as_ref().is_none_or(|own| other.place.page < own.place.page)
    {
        *own = Some(other);
    }
}

/// Pages of a chunk, rounded to whole extents.
pub(crate) fn whole_extents(pages: u32) -> u32 {
    pages
        .max(1)
        .checked_next_multiple_of(PAGES_PER_EXTENT)
        .unwrap_or(u32::MAX - u32::MAX % PAGES_PER_EXTENT)
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    const FILE: FileId = FileId(1);

    #[test]
    fn a_set_does_not_depend_on_the_order_of_its_runs() {
        let mut rng = SplitMix64::new(3);
        for _ in 0..50 {
            let mut runs: Vec<(u32, u32)> = (0..600).map(|i| (i * 8, i * 8 + 8)).collect();
            for i in (1..runs.len()).rev() {
                runs.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let mut halves = [PageSet::default(), PageSet::default()];
            for (start, end) in runs {
                halves[rng.below(2) as usize].add(FILE, start, end).unwrap();
            }
            let [mut set, other] = halves;
            set.merge(other).unwrap();
            assert_eq!(set.runs().unwrap().collect::<Vec<_>>(), [(FILE, 0, 4800)]);
            assert_eq!(set.len(), 4800);
        }
    }

    #[test]
    fn what_overlaps_does_not_merge() {
        let mut one = Partial::new(0, 1, HashKey::new([0, 0]));
        one.covered.add(FILE, 0, 100).unwrap();
        let mut other = Partial::new(0, 1, HashKey::new([0, 0]));
        other.covered.add(FILE, 96, 104).unwrap();
        one.merge(other).unwrap();
        assert_eq!(one.covered.runs().map(|_| ()), Err(Overlap { page: PageId::new(1, 96) }));
    }
}
