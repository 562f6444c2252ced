//! What the scan of rows leaves: multiset hashes of indexes and tables, and counts of rows by how
//! they stand to the boundaries of their partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::part::FamilyPart;
use crate::relation::{Acc, Sums};
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

/// Sums of the two sides of each index, by its number.
#[derive(Clone, Default, Debug)]
pub(crate) struct CrossSums {
    sums: Vec<Acc>,
}

impl CrossSums {
    /// The sum of an index.
    pub(crate) fn get(&self, number: u32) -> Acc {
        self.sums.get(number as usize).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, number: u32, sum: Acc) {
        let at = number as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, Acc::default());
        }
        if let Some(acc) = self.sums.get_mut(at) {
            acc.merge(sum);
        }
    }

    /// Adds other sums.
    pub(crate) fn merge(&mut self, other: CrossSums) {
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), Acc::default());
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            own.merge(other);
        }
    }
}

/// How a row stands to the boundaries of its partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Inside,
    Outside,
    /// On a boundary value that belongs to this partition.
    OnOwnEdge,
    /// On a boundary value that belongs to the next one.
    OnForeignEdge,
    Undecided,
}

/// How the rows of a partition stand to its boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Standings {
    /// Between them.
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

impl Standings {
    pub(super) fn add(&mut self, standing: Standing) {
        let count = match standing {
            Standing::Inside => &mut self.inside,
            Standing::Outside => &mut self.outside,
            Standing::OnOwnEdge => &mut self.on_own_edge,
            Standing::OnForeignEdge => &mut self.on_foreign_edge,
            Standing::Undecided => &mut self.undecided,
        };
        *count += 1;
    }

    /// Adds other rows.
    pub(crate) fn merge(&mut self, other: Standings) {
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
    pub crosses: CrossSums,
    /// Indexes with values that could not be read.
    pub unread_crosses: BTreeSet<u32>,
    /// Of partitioned indexes: how rows stand to the boundaries of their partition.
    pub standings: BTreeMap<UnitIndex, Standings>,
}

impl FamilyPart for RowPart {
    fn merge(&mut self, other: RowPart, _: &mut Sums) {
        self.crosses.merge(other.crosses);
        self.unread_crosses.extend(other.unread_crosses);
        for (unit, standings) in other.standings {
            self.standings.entry(unit).or_default().merge(standings);
        }
    }
}

wire_structs! {
    CrossSums { sums }
    Standings { inside, outside, on_own_edge, on_foreign_edge, undecided }
    RowPart { crosses, unread_crosses, standings }
}
