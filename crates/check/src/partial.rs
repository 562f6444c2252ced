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

use extentdb_base::size::PAGES_PER_EXTENT;

pub use file::PartialError;

pub(crate) mod file;

use crate::audit::part::AuditPart;
use crate::finding::Findings;
use crate::hash::HashKey;
use crate::offrow::part::OffRowPart;
use crate::page_set::Overlap;
use crate::part::FamilyPart;
use crate::relation::Sums;
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
    pub sums: Sums,
    /// Rows, indexes and partitions.
    pub rows: RowPart,
    /// Pages of B-trees.
    pub tree: TreePart,
    /// Off-row data.
    pub off_row: OffRowPart,
}

impl Partial {
    /// The empty part of a database with `units` units.
    pub(crate) fn new(units: usize, findings_max: usize, key: HashKey) -> Partial {
        Partial {
            scan: ScanPart::default(),
            audit: AuditPart::new(units),
            findings: Findings::new(findings_max),
            sums: Sums::new(units, key),
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
