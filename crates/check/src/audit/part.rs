//! What the audits of single pages leave: counts by unit, bad pages, and what was seen once.

use std::collections::BTreeSet;

use extentdb_base::PageId;

use crate::finding::Finding;
use crate::part::{FamilyPart, append, keep_first};
use crate::relation::RelationHashes;
use crate::unit::UnitIndex;
use crate::wire::wire_structs;

/// A page that was planned and could not be used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct BadPage {
    pub(crate) page: PageId,
    pub(crate) unit: Option<UnitIndex>,
    pub(crate) error: u32,
}

/// What was counted in a unit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct UnitCounts {
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

/// What the audits of single pages found, besides findings.
#[derive(Clone, Default, Debug)]
pub(crate) struct AuditPart {
    pub counts: Vec<UnitCounts>,
    /// Pages that could not be used.
    pub bad: Vec<BadPage>,
    /// Pages without checksum and torn-page bits.
    pub unprotected: u64,
    /// The first page that is newer than the last checkpoint.
    pub newer: Option<Finding>,
    /// The first page that changed without its DIFF bit.
    pub diff_missed: Option<Finding>,
    /// Pages of compressed units, whose records are checked by unverified rules.
    pub pages_compressed: u64,
    /// Units whose pages were found without an owner: they lack rows.
    pub strayed: BTreeSet<UnitIndex>,
    /// Units with compressed rows that could not be expanded.
    pub unexpanded: BTreeSet<UnitIndex>,
}

impl AuditPart {
    /// Of a database with `units` units.
    pub(crate) fn new(units: usize) -> AuditPart {
        AuditPart {
            counts: vec![UnitCounts::default(); units],
            ..AuditPart::default()
        }
    }

    /// What was counted in a unit.
    #[inline]
    pub(crate) fn count(&mut self, unit: UnitIndex) -> Option<&mut UnitCounts> {
        self.counts.get_mut(unit as usize)
    }
}

impl FamilyPart for AuditPart {
    fn merge(&mut self, other: AuditPart, _: &mut RelationHashes) {
        for (own, others) in self.counts.iter_mut().zip(other.counts) {
            own.add(others);
        }
        append(&mut self.bad, other.bad);
        self.unprotected += other.unprotected;
        keep_first(&mut self.newer, other.newer);
        keep_first(&mut self.diff_missed, other.diff_missed);
        self.pages_compressed += other.pages_compressed;
        self.strayed.extend(other.strayed);
        self.unexpanded.extend(other.unexpanded);
    }
}

wire_structs! {
    BadPage { page, unit, error }
    UnitCounts { pages, leaf_pages, rows, newer }
    AuditPart {
        counts, bad, unprotected, newer, diff_missed, pages_compressed, strayed, unexpanded,
    }
}
