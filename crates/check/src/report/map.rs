//! Whose the extents of a database are, and where it is damaged: the data of the map in the HTML
//! report.
//!
//! ```text
//! extents  0 1 2 3 4 5 6 7 8 9 …                1 TB has 16 million of them
//! cells    |  0  |  1  |  2  |                  a power of two of extents each, so that there are at most 65,536
//! runs     (0, 4, Orders) (4, 2, free) …        neighbouring cells with the same owner
//! ```
//!
//! A cell belongs to whoever has most of its extents. Faults are counted in their cell and never
//! lost.

use std::collections::BTreeMap;

use extentdb_base::{Extent, FileId, ObjectId, PageId};

use crate::finding::Finding;
use crate::plan::ownership::holds_fixed_pages;
use crate::plan::{ExtentOwner, FileMaps, Plan};

/// Cells of all files together.
const CELLS_MAX: u64 = 1 << 16;

/// Who has a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CellOwner {
    /// Nobody, and the GAM says so.
    Free,
    /// Nobody knows: no usable GAM page speaks of it, as behind the end of a database in a longer
    /// file.
    Unknown,
    /// Nobody, although the GAM says that it is in use.
    Nobody,
    /// Its pages belong to several objects.
    Mixed,
    /// Allocation maps.
    Maps,
    /// An object.
    Object(ObjectId),
}

/// Neighbouring cells of one owner, in extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentRun {
    /// The first extent.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Whose.
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
    /// Its number.
    pub file: FileId,
    /// Its extents.
    pub extents: u32,
    /// Who has them, from the first to the last.
    pub runs: Vec<ExtentRun>,
    /// Cells with findings, ascending.
    pub faults: Vec<CellFaults>,
}

/// The map of all files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtentMap {
    /// Extents that a cell stands for.
    pub extents_per_cell: u32,
    /// By file.
    pub files: Vec<FileExtents>,
}

impl ExtentMap {
    /// The owners by the plan, without faults.
    pub(crate) fn new(plan: &Plan) -> ExtentMap {
        let cells = |per_cell: u32| -> u64 {
            plan.maps.iter().map(|maps| u64::from(maps.extents().div_ceil(per_cell))).sum()
        };
        let sizes = (0..31).map(|power| 1u32 << power);
        let files = plan.maps.len() as u64;
        let extents_per_cell = sizes
            .into_iter()
            .find(|per_cell| cells(*per_cell) <= CELLS_MAX.max(files))
            .unwrap_or(1 << 30);
        let files =
            plan.maps.iter().map(|maps| file_extents(plan, maps, extents_per_cell)).collect();
        ExtentMap { extents_per_cell, files }
    }

    /// Counts findings in the cell of their page.
    pub fn mark(&mut self, findings: &[Finding]) {
        let mut counts: BTreeMap<(FileId, u32), (u32, u32)> = BTreeMap::new();
        for finding in findings {
            let Some(PageId { file, page }) = finding.place.page else { continue };
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

fn file_extents(plan: &Plan, maps: &FileMaps, per_cell: u32) -> FileExtents {
    let extents = maps.extents();
    let mut runs: Vec<ExtentRun> = Vec::new();
    let mut shares: Vec<(CellOwner, u32)> = Vec::new();
    for first in (0..extents).step_by(per_cell as usize) {
        let count = per_cell.min(extents - first);
        shares.clear();
        for index in first..first + count {
            let owner = extent_owner(plan, maps, index);
            match shares.iter_mut().find(|(known, _)| *known == owner) {
                Some((_, share)) => *share += 1,
                None => shares.push((owner, 1)),
            }
        }
        // Of equal shares the greater owner: an object before nobody, whatever came first.
        let Some((owner, _)) = shares.iter().max_by_key(|(owner, share)| (*share, *owner)) else {
            continue;
        };
        match runs.last_mut() {
            Some(run) if run.owner == *owner => run.count += count,
            _ => runs.push(ExtentRun { first, count, owner: *owner }),
        }
    }
    FileExtents { file: maps.file, extents, runs, faults: Vec::new() }
}

fn extent_owner(plan: &Plan, maps: &FileMaps, index: u32) -> CellOwner {
    match plan.owners.extent(Extent { file: maps.file, index }) {
        ExtentOwner::Unit(unit) => match plan.units.get(unit) {
            Some(unit) => CellOwner::Object(unit.owner.object),
            None => CellOwner::Nobody,
        },
        ExtentOwner::Singles => CellOwner::Mixed,
        ExtentOwner::Nobody => match maps.is_free(index) {
            None => CellOwner::Unknown,
            Some(true) => CellOwner::Free,
            Some(false) if holds_fixed_pages(index) => CellOwner::Maps,
            Some(false) if maps.is_mixed(index) == Some(true) => CellOwner::Mixed,
            Some(false) => CellOwner::Nobody,
        },
    }
}
