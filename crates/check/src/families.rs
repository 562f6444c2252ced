//! The families of checks that read sound pages, composed: what each plans before the scan, and
//! what one worker of the scan does with a page.
//!
//! Static composition: a page costs no dynamic call and no allocation.

use extentdb_reader::PageSource;

use crate::facts::Facts;
use crate::offrow::OffRow;
use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::rows::{RowFacts, RowPlans};
use crate::sound::{Linked, Sound};
use crate::tree::{TreeFacts, Trees};

/// What the families plan before the first page is scanned, beside the [`Plan`] of allocation.
pub(crate) struct FamilyPlans {
    pub(crate) rows: RowPlans,
    pub(crate) trees: Trees,
}

impl FamilyPlans {
    pub(crate) fn new(plan: &Plan, options: &Options) -> FamilyPlans {
        FamilyPlans { rows: RowPlans::of(plan, options), trees: Trees::new(plan) }
    }
}

/// The collectors of one worker.
pub(crate) struct FamilyFacts<'p> {
    tree: TreeFacts<'p>,
    rows: RowFacts<'p>,
    off_row: OffRow<'p>,
}

impl<'p> FamilyFacts<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        families: &'p FamilyPlans,
        source: &'p dyn PageSource,
        options: &Options,
    ) -> FamilyFacts<'p> {
        FamilyFacts {
            tree: TreeFacts::new(&families.trees, options.run_budget),
            rows: RowFacts::new(plan, &families.rows, source, options.physical_only),
            off_row: OffRow::new(plan, options),
        }
    }
}

impl Facts for FamilyFacts<'_> {
    #[inline]
    fn sound(&mut self, page: &Sound<'_>, partial: &mut Partial) {
        self.tree.sound(page, partial);
        self.rows.page(page, partial);
        self.off_row.page(page, partial);
    }

    fn linked(&mut self, page: &Linked<'_>, partial: &mut Partial) {
        self.tree.linked(page, partial);
    }

    fn finish(&mut self, partial: &mut Partial) {
        self.tree.finish(partial);
    }
}
