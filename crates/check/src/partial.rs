//! The mergeable result of scanning a part of the database.
//!
//! ```text
//! chunk -> Partial ┐
//! chunk -> Partial ┼ merge ─> Partial ┐
//! chunk -> Partial ┘                  ┼ merge ─> Partial whose coverage must be the plan
//! chunk -> Partial ──────────────────-┘
//! ```
//!
//! One [`FamilyPart`] per family of checks, and what families share: findings, and the multiset
//! hashes of relations. Plain data without references, so that it can be written to a file and
//! merged on another machine.
//!
//! Invariants
//! - Merging is associative and commutative; the empty partial is its identity. The result does not
//!   depend on how the database was cut into chunks.
//! - A partial states exactly which pages it covers. Two that overlap do not merge: counts and
//!   hashes are additive, and a page that is counted twice is wrong.
//! - The order of lists inside means nothing; verification and report sort.

use extentdb_base::size::PAGES_PER_EXTENT;

pub use file::PartialError;

pub(crate) mod file;

use crate::audit::part::AuditPart;
use crate::finding::Findings;
use crate::hash::HashKey;
use crate::offrow::part::OffRowPart;
use crate::page_set::Overlap;
use crate::part::FamilyPart;
use crate::relation::RelationHashes;
use crate::rows::part::RowPart;
use crate::scan::part::ScanPart;
use crate::tree::TreePart;
use crate::wire::wire_structs;

/// What is known about a part of the database: one part per family of checks, and what families
/// share.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    /// The pages that were scanned.
    pub scan: ScanPart,
    /// What single pages say.
    pub audit: AuditPart,
    /// What is wrong.
    pub findings: Findings,
    /// Relations between pages, as multiset hashes: shared by trees and off-row data.
    pub sums: RelationHashes,
    /// Rows, indexes and partitions.
    pub rows: RowPart,
    /// Pages of B-trees.
    pub tree: TreePart,
    pub off_row: OffRowPart,
}

impl Partial {
    /// The empty part of a database with `units` units.
    pub(crate) fn new(units: usize, findings_max: usize, key: HashKey) -> Partial {
        Partial {
            scan: ScanPart::default(),
            audit: AuditPart::new(units),
            findings: Findings::new(findings_max),
            sums: RelationHashes::new(units, key),
            rows: RowPart::default(),
            tree: TreePart::default(),
            off_row: OffRowPart::default(),
        }
    }

    /// Adds another part of the same database.
    ///
    /// # Errors
    /// Both cover the same page; the result then means nothing.
    pub(crate) fn merge(&mut self, mut other: Partial) -> Result<(), Overlap> {
        self.scan.covered.merge(std::mem::take(&mut other.scan.covered))?;
        self.findings.merge(other.findings);
        self.sums.merge(other.sums);
        let sums = &mut self.sums;
        self.scan.merge(other.scan, sums);
        self.audit.merge(other.audit, sums);
        self.rows.merge(other.rows, sums);
        self.tree.merge(other.tree, sums);
        self.off_row.merge(other.off_row, sums);
        Ok(())
    }
}

wire_structs! { Partial { scan, audit, findings, sums, rows, tree, off_row } }

/// Pages of a chunk, rounded to whole extents.
pub(crate) fn whole_extents(pages: u32) -> u32 {
    pages
        .max(1)
        .checked_next_multiple_of(PAGES_PER_EXTENT)
        .unwrap_or(u32::MAX - u32::MAX % PAGES_PER_EXTENT)
}

#[cfg(test)]
mod tests {
    use extentdb_base::{FileId, PageId};

    use super::*;

    const FILE: FileId = FileId(1);

    #[test]
    fn what_overlaps_does_not_merge() {
        let mut one = Partial::new(0, 1, HashKey::new([0, 0]));
        one.scan.covered.add(FILE, 0, 100).unwrap();
        let mut other = Partial::new(0, 1, HashKey::new([0, 0]));
        other.scan.covered.add(FILE, 96, 104).unwrap();
        one.merge(other).unwrap();
        assert_eq!(one.scan.covered.runs().map(|_| ()), Err(Overlap { page: PageId::new(1, 96) }));
    }
}
