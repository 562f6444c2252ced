//! The families of checks that read sound pages, composed: what each plans before the scan, and
//! what one worker of the scan does with a page.
//!
//! Static composition: a page costs no dynamic call and no allocation.

use extentdb_reader::PageSource;

use crate::collector::Collector;
use crate::offrow::OffRowCollector;
use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::rows::{RowCollector, RowPlans};
use crate::sound::{LinkedPage, SoundPage};
use crate::tree::{TreeCollector, Trees};

/// What the families plan before the first page is scanned, besides the [`Plan`] of allocation.
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
pub(crate) struct FamilyCollector<'p> {
    tree: TreeCollector<'p>,
    rows: RowCollector<'p>,
    off_row: OffRowCollector<'p>,
}

impl<'p> FamilyCollector<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        families: &'p FamilyPlans,
        source: &'p dyn PageSource,
        options: &Options,
    ) -> FamilyCollector<'p> {
        FamilyCollector {
            tree: TreeCollector::new(&families.trees, options.run_budget),
            rows: RowCollector::new(plan, &families.rows, source, options.physical_only),
            off_row: OffRowCollector::new(plan, options),
        }
    }
}

impl Collector for FamilyCollector<'_> {
    #[inline]
    fn sound(&mut self, page: &SoundPage<'_>, partial: &mut Partial) {
        self.tree.sound(page, partial);
        self.rows.page(page, partial);
        self.off_row.page(page, partial);
    }

    fn linked(&mut self, page: &LinkedPage<'_>, partial: &mut Partial) {
        self.tree.linked(page, partial);
    }

    fn finish(&mut self, partial: &mut Partial) {
        self.tree.finish(partial);
    }
}
