//! All logical checks of one worker, one after the other on each sound page.

use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::sound::{Facts, Sound};

/// What a worker keeps for the logical checks: scratch memory, no results. Those go into the partial.
pub(crate) struct Logical<'p> {
    #[allow(dead_code, reason = "the checks follow")]
    plan: &'p Plan,
}

impl<'p> Logical<'p> {
    pub(crate) fn new(plan: &'p Plan, _options: &Options) -> Logical<'p> {
        Logical { plan }
    }
}

impl Facts for Logical<'_> {
    #[inline]
    fn sound(&mut self, _page: &Sound<'_>, _partial: &mut Partial) {}
}
