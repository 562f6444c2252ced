//! All logical checks of one worker, one after the other on each sound page.

use extentdb_reader::PageSource;

use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::rows::RowFacts;
use crate::sound::{Facts, Sound};

/// What a worker keeps for the logical checks: scratch memory, no results. Those go into the partial.
pub(crate) struct Logical<'p> {
    rows: RowFacts<'p>,
}

impl<'p> Logical<'p> {
    pub(crate) fn new(plan: &'p Plan, source: &'p dyn PageSource, options: &Options) -> Logical<'p> {
        Logical { rows: RowFacts::new(plan, source, options.physical_only) }
    }
}

impl Facts for Logical<'_> {
    #[inline]
    fn sound(&mut self, page: &Sound<'_>, partial: &mut Partial) {
        self.rows.page(page, partial);
    }
}
