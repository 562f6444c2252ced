//! The map of extents of a report, from the plan and the findings.

use extentdb_base::Extent;

use crate::finding::Finding;
use crate::plan::ownership::holds_fixed_pages;
use crate::plan::{ExtentOwner, FileMaps, Plan};
use crate::report::{CellOwner, ExtentMap, ExtentRun, FileExtents};

/// Cells of all files together.
const CELLS_MAX: u64 = 1 << 16;

/// The owners of all extents by the plan, and the findings in them.
pub(super) fn extent_map(plan: &Plan, findings: &[Finding]) -> ExtentMap {
    let cells = |per_cell: u32| -> u64 {
        plan.maps.iter().map(|maps| u64::from(maps.extents().div_ceil(per_cell))).sum()
    };
    let sizes = (0..31).map(|power| 1u32 << power);
    let files = plan.maps.len() as u64;
    let extents_per_cell = sizes
        .into_iter()
        .find(|per_cell| cells(*per_cell) <= CELLS_MAX.max(files))
        .unwrap_or(1 << 30);
    let files = plan.maps.iter().map(|maps| file_extents(plan, maps, extents_per_cell)).collect();
    let mut map = ExtentMap { extents_per_cell, files };
    map.mark(findings);
    map
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
        // Of equal shares the greater owner: an object before no owner, in any order of extents.
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
