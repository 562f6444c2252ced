//! Which pages were scanned, and the outcome of reading them.

use crate::page_set::PageSet;
use crate::part::FamilyPart;
use crate::relation::RelationHashes;
use crate::wire::wire_structs;

/// The pages that were scanned. `covered` is merged by [`Partial`](crate::partial::Partial) first:
/// two parts that cover the same page do not merge.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScanPart {
    /// Pages read: those that had to be checked, and those between them that had not.
    pub covered: PageSet,
    /// Pages that had to be checked and were.
    pub pages_checked: u64,
    pub bytes: u64,
    /// Pages whose state PFS does not give and that do not look like pages of their unit.
    pub pages_unknown: u64,
    /// Pages that the source does not have although they are allocated.
    pub pages_absent: u64,
}

impl FamilyPart for ScanPart {
    fn merge(&mut self, other: ScanPart, _: &mut RelationHashes) {
        self.pages_checked += other.pages_checked;
        self.bytes += other.bytes;
        self.pages_unknown += other.pages_unknown;
        self.pages_absent += other.pages_absent;
    }
}

wire_structs! { ScanPart { covered, pages_checked, bytes, pages_unknown, pages_absent } }
