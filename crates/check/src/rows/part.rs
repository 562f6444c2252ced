//! What the scan of rows leaves: multiset hashes of indexes and tables, and counts of rows by how
//! they relate to the boundaries of their partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::part::FamilyPart;
use crate::relation::{MultisetHash, RelationHashes};
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

/// Sums of the two sides of each index, by its number.
#[derive(Clone, Default, Debug)]
pub(crate) struct ComparisonHashes {
    sums: Vec<MultisetHash>,
}

impl ComparisonHashes {
    /// The hash of an index.
    pub(crate) fn get(&self, number: u32) -> MultisetHash {
        self.sums.get(number as usize).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, number: u32, sum: MultisetHash) {
        let at = number as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, MultisetHash::default());
        }
        if let Some(acc) = self.sums.get_mut(at) {
            acc.merge(sum);
        }
    }

    /// Adds other hashes.
    pub(crate) fn merge(&mut self, other: ComparisonHashes) {
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), MultisetHash::default());
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            own.merge(other);
        }
    }
}

/// How a row relates to the boundaries of its partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BoundaryPosition {
    Inside,
    Outside,
    /// On a boundary value that belongs to this partition.
    OnOwnEdge,
    /// On a boundary value that belongs to the next one.
    OnForeignEdge,
    Undecided,
}

/// Rows of a partition, counted by how they relate to its boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct BoundaryCounts {
    pub inside: u64,
    /// Not between them.
    pub outside: u64,
    /// On a boundary value that belongs to this partition.
    pub on_own_edge: u64,
    /// On a boundary value that belongs to the next one.
    pub on_foreign_edge: u64,
    /// Where they belong is not certain.
    pub undecided: u64,
}

impl BoundaryCounts {
    pub(super) fn add(&mut self, position: BoundaryPosition) {
        let count = match position {
            BoundaryPosition::Inside => &mut self.inside,
            BoundaryPosition::Outside => &mut self.outside,
            BoundaryPosition::OnOwnEdge => &mut self.on_own_edge,
            BoundaryPosition::OnForeignEdge => &mut self.on_foreign_edge,
            BoundaryPosition::Undecided => &mut self.undecided,
        };
        *count += 1;
    }

    /// Adds other rows.
    pub(crate) fn merge(&mut self, other: BoundaryCounts) {
        self.inside += other.inside;
        self.outside += other.outside;
        self.on_own_edge += other.on_own_edge;
        self.on_foreign_edge += other.on_foreign_edge;
        self.undecided += other.undecided;
    }
}

/// What the scan found of rows, besides findings.
#[derive(Clone, Default, Debug)]
pub(crate) struct RowPart {
    /// Rows against indexes, as multiset hashes.
    pub comparisons: ComparisonHashes,
    /// Indexes with values that could not be read.
    pub unread_crosses: BTreeSet<u32>,
    /// Of partitioned indexes: how rows relate to the boundaries of their partition.
    pub boundary_counts: BTreeMap<UnitIndex, BoundaryCounts>,
}

impl FamilyPart for RowPart {
    fn merge(&mut self, other: RowPart, _: &mut RelationHashes) {
        self.comparisons.merge(other.comparisons);
        self.unread_crosses.extend(other.unread_crosses);
        for (unit, boundary_counts) in other.boundary_counts {
            self.boundary_counts.entry(unit).or_default().merge(boundary_counts);
        }
    }
}

wire_structs! {
    ComparisonHashes { sums }
    BoundaryCounts { inside, outside, on_own_edge, on_foreign_edge, undecided }
    RowPart { comparisons, unread_crosses, boundary_counts }
}
