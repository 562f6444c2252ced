//! Pages that were allocated in advance, as a run, and never formatted: a restart frees them.
//!
//! ```text
//! SET_BITS IAM (the unit takes an extent) → MODIFY_ROW PFS (a run of its pages is allocated) →
//! FORMAT_PAGE, page by page, later
//! ```
//!
//! Earlier versions of the engine allocated the pages of an extent at once when a session began to
//! fill it, formatted them one by one, and corrected PFS when the session stopped. In a copy that
//! was not closed the correction is missing. A page counts as never formatted when it does not name
//! the unit.

use std::collections::HashMap;

use extentdb_base::{AllocUnitId, PageId, XactId};
use extentdb_format::allocation::pfs::{PfsByte, PfsMut, PfsView};
use extentdb_format::log::map_change::pfs_run;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::{Context, RecordRef};
use extentdb_format::page::PageHeader;

use super::redo::Redo;

/// Runs that are remembered.
const RUNS_MAX: usize = 1 << 20;

/// Runs of pages that were allocated at once.
#[derive(Default)]
pub(super) struct AllocatedAhead {
    /// The unit whose IAM page a transaction changed last.
    units: HashMap<XactId, AllocUnitId>,
    runs: Vec<(PageId, u32, AllocUnitId)>,
}

impl AllocatedAhead {
    /// Takes the next record.
    pub(super) fn add(&mut self, record: &RecordRef<'_>) {
        let header = record.header();
        match (header.context, record.payload()) {
            (Context::IAM, Payload::SetBits(bits)) if bits.fixed.value == 1 => {
                self.units.insert(header.xact, bits.fixed.page.alloc_unit());
            }
            (Context::PFS, Payload::ModifyRow(modify)) if modify.after.len() > 1 => {
                let is_taken = modify.after.iter().all(|byte| PfsByte(*byte).is_allocated());
                let unit = self.units.remove(&header.xact);
                if let Some(unit) = unit.filter(|_| is_taken && self.runs.len() < RUNS_MAX) {
                    let first = PageId { page: pfs_run(&modify).start, ..modify.fixed.page.page };
                    self.runs.push((first, modify.after.len() as u32, unit));
                }
            }
            _ => {}
        }
    }

    /// Frees the pages that were never formatted. A page whose map cannot be read stays as it is.
    pub(super) fn settle(&self, redo: &mut Redo<'_>) {
        for (first, count, unit) in &self.runs {
            for number in 0..*count {
                let page = PageId { file: first.file, page: first.page.saturating_add(number) };
                if !names(redo, page, *unit) {
                    free_page(redo, page);
                }
            }
        }
    }
}

/// True when the page header has the id of the unit.
fn names(redo: &Redo<'_>, page: PageId, unit: AllocUnitId) -> bool {
    redo.look(page).is_some_and(|page| PageHeader::of(&page).belongs_to(unit))
}

fn free_page(redo: &mut Redo<'_>, page: PageId) {
    let Ok(map) = redo.page(page.pfs_page()) else { return };
    if PfsView::new(map).entry(page.page).is_allocated() {
        PfsMut::of(map).set(page.page, PfsByte::default());
    }
}
