//! All logical checks of one worker, one after the other on each sound page.

use extentdb_reader::PageSource;

use crate::offrow::OffRow;
use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::rows::RowFacts;
use crate::sound::{Facts, Linked, Sound};
use crate::tree::{TreeFacts, Trees};

/// What a worker keeps for the logical checks: scratch memory, and what it hands to the partial at
/// the end.
pub(crate) struct Logical<'p> {
    tree: TreeFacts<'p>,
    rows: RowFacts<'p>,
    off_row: OffRow<'p>,
}

impl<'p> Logical<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        trees: &'p Trees,
        source: &'p dyn PageSource,
        options: &Options,
    ) -> Logical<'p> {
        Logical {
            tree: TreeFacts::new(trees, options.run_budget),
            rows: RowFacts::new(plan, source, options.physical_only),
            off_row: OffRow::new(plan, options),
        }
    }
}

impl Facts for Logical<'_> {
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
