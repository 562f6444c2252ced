//! Rowsets: the units whose rows and nodes belong together, and whether they can be matched at all.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::HobtId;
use extentdb_catalog::layout::Compression;

use super::part::Gap;
use crate::finding::Owner;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::unit::{Structure, Unit, UnitIndex};

/// The units of a partition of a heap or index.
#[derive(Clone, Debug, Default)]
pub(super) struct Rowset {
    /// Heap, clustered or nonclustered index.
    pub(super) rows: BTreeSet<UnitIndex>,
    pub(super) texts: BTreeSet<UnitIndex>,
    /// Why neither forwarded rows nor nodes can be matched.
    obstacle: Option<Obstacle>,
    /// Why nodes cannot be matched with their references.
    gap: Option<Gap>,
    owner: Option<Owner>,
}

/// Why a rowset is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Obstacle {
    /// It has no rows in the catalog: a deferred drop, or a table that is not listed.
    Unlisted,
    /// An option leaves it out.
    Skipped,
    /// Compressed records are not read here.
    Compressed,
    /// Columnstore and the like.
    Unknown,
    /// Not all of its pages are known.
    Cut,
}

impl Rowset {
    fn add(&mut self, plan: &Plan, index: UnitIndex, unit: &Unit) {
        self.owner = self.owner.or(Some(unit.owner));
        match unit.structure {
            Structure::Text => self.texts.insert(index),
            _ => self.rows.insert(index),
        };
        let obstacle = obstacle(plan, index, unit);
        self.obstacle = self.obstacle.max(obstacle);
    }

    /// Forwarding stubs and forwarded records can be matched.
    pub(super) fn has_known_rows(&self) -> bool {
        self.obstacle.is_none()
    }

    /// So can nodes and references.
    pub(super) fn has_known_nodes(&self) -> bool {
        self.obstacle.is_none() && self.gap.is_none()
    }

    /// All that keeps nodes from being matched are nodes of an older kind.
    pub(super) fn has_older_nodes(&self) -> bool {
        self.obstacle.is_none() && self.gap == Some(Gap::Node)
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.obstacle == Some(Obstacle::Compressed)
    }

    /// What is said of a rowset that is left out; `None` when there is nothing to say.
    pub(super) fn left_out(&self) -> Option<(Owner, &'static str)> {
        let owner = self.owner?;
        let why = match (self.obstacle, self.gap) {
            (Some(Obstacle::Cut), _) => "not all pages of its units are known",
            (Some(Obstacle::Compressed), _) => "its records are compressed",
            (Some(_), _) | (None, None) => return None,
            (None, Some(Gap::Node)) => {
                "a root of off-row data has a kind whose links are not known"
            }
            (None, Some(Gap::Pointer)) => "the form of a complex column is not known",
        };
        Some((owner, why))
    }

    pub(super) fn units(&self) -> impl Iterator<Item = UnitIndex> {
        self.rows.iter().chain(&self.texts).copied()
    }
}

fn obstacle(plan: &Plan, index: UnitIndex, unit: &Unit) -> Option<Obstacle> {
    if plan.cut_units.contains(&index) {
        Some(Obstacle::Cut)
    } else if unit.structure == Structure::Other {
        Some(Obstacle::Unknown)
    } else if unit.compression != Compression::None {
        Some(Obstacle::Compressed)
    } else if plan.layout(index).is_none() {
        Some(Obstacle::Unlisted)
    } else if unit.is_skipped {
        Some(Obstacle::Skipped)
    } else {
        None
    }
}

pub(super) struct Rowsets {
    all: BTreeMap<HobtId, Rowset>,
    of_unit: Vec<HobtId>,
}

impl Rowsets {
    pub(super) fn new(plan: &Plan, sum: &Partial) -> Rowsets {
        let mut all: BTreeMap<HobtId, Rowset> = BTreeMap::new();
        for (index, unit) in plan.units.iter() {
            all.entry(unit.owner.partition).or_default().add(plan, index, unit);
        }
        let of_unit: Vec<HobtId> =
            plan.units.iter().map(|(_, unit)| unit.owner.partition).collect();
        let mut rowsets = Rowsets { all, of_unit };
        for (unit, gap) in &sum.off_row.gaps {
            if let Some(rowset) = rowsets.of_mut(*unit) {
                rowset.gap = rowset.gap.max(Some(*gap));
            }
        }
        for unit in &sum.audit.strayed {
            if let Some(rowset) = rowsets.of_mut(*unit) {
                rowset.obstacle = rowset.obstacle.max(Some(Obstacle::Cut));
            }
        }
        rowsets
    }

    fn of_mut(&mut self, unit: UnitIndex) -> Option<&mut Rowset> {
        self.all.get_mut(self.of_unit.get(unit as usize)?)
    }

    /// The rowset of a unit.
    pub(super) fn of(&self, unit: UnitIndex) -> Option<&Rowset> {
        self.all.get(self.of_unit.get(unit as usize)?)
    }

    /// Those whose nodes of an older kind are all no roots have no gap.
    pub(super) fn close_gaps(&mut self, is_closed: impl Fn(&Rowset) -> bool) {
        for rowset in self.all.values_mut() {
            if rowset.has_older_nodes() && is_closed(rowset) {
                rowset.gap = None;
            }
        }
    }

    /// True for units of one rowset.
    pub(super) fn are_one(&self, a: UnitIndex, b: UnitIndex) -> bool {
        self.of_unit.get(a as usize) == self.of_unit.get(b as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Rowset> {
        self.all.values()
    }
}
