//! Whose the extents of a database are, and where it is damaged: the data of the map in the HTML
//! report.
//!
//! ```text
//! extents 0 1 2 3 4 5 6 7 8 9 …         1 TB has 16 million of them
//! cells   |  0  |  1  |  2  |           2^n extents each: at most 65,536 cells
//! runs    (0, 4, Orders) (4, 2, free) … neighbouring cells with the same owner
//! ```
//!
//! A cell belongs to the owner of most of its extents. Faults are counted in their cell and never
//! lost.

use std::collections::BTreeMap;

use extentdb_base::{FileId, ObjectId, PageId};

use crate::finding::Finding;

/// Who has a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CellOwner {
    /// Free by the GAM.
    Free,
    /// Unknown: no usable GAM page speaks of it, as past the end of a database in a longer file.
    Unknown,
    /// In use by the GAM, without an owner.
    Nobody,
    /// Its pages belong to several objects.
    Mixed,
    /// Allocation maps and file headers.
    Maps,
    /// Pages of one object.
    Object(ObjectId),
}

/// Neighbouring cells of one owner, in extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentRun {
    /// The first extent.
    pub first: u32,
    /// Number of extents.
    pub count: u32,
    /// The same for all extents of the run.
    pub owner: CellOwner,
}

/// What is wrong in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellFaults {
    /// First extent of the cell.
    pub first: u32,
    /// Findings that follow from no other.
    pub root: u32,
    /// Findings that follow from others.
    pub derived: u32,
}

/// The map of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileExtents {
    /// File id, as in `sys.database_files`.
    pub file: FileId,
    /// Number of extents of the file.
    pub extents: u32,
    /// Who has them, from the first to the last.
    pub runs: Vec<ExtentRun>,
    /// Cells with findings, ascending.
    pub faults: Vec<CellFaults>,
}

/// The map of all files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtentMap {
    /// Extents per cell.
    pub extents_per_cell: u32,
    /// One map per file, by file id.
    pub files: Vec<FileExtents>,
}

impl ExtentMap {
    /// Counts findings in the cell of their page.
    pub fn mark(&mut self, findings: &[Finding]) {
        let mut counts: BTreeMap<(FileId, u32), (u32, u32)> = BTreeMap::new();
        for finding in findings {
            let Some(PageId { file, page }) = finding.location.page else { continue };
            let first = page / 8 / self.extents_per_cell * self.extents_per_cell;
            let (root, derived) = counts.entry((file, first)).or_default();
            *(if finding.derived_from.is_some() { derived } else { root }) += 1;
        }
        for file in &mut self.files {
            let own = counts.range((file.file, 0)..=(file.file, u32::MAX));
            file.faults = own
                .map(|((_, first), (root, derived))| CellFaults {
                    first: *first,
                    root: *root,
                    derived: *derived,
                })
                .collect();
        }
    }
}
