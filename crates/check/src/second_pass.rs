//! The second pass: pages of some units once more, for facts that are kept exactly (`docs/check.md`
//! 22).
//!
//! Goes through the same audit as the scan. What that finds is known already and is not reported
//! again.

use std::collections::BTreeSet;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_reader::PageSource;

use crate::collector::Collector;
use crate::options::{Control, Options};
use crate::plan::Plan;
use crate::scan::{Counters, PageVisitor, Scan};
use crate::unit::UnitIndex;

/// What a second pass needs.
#[derive(Clone, Copy)]
pub(crate) struct SecondPass<'d> {
    pub(crate) source: &'d dyn PageSource,
    pub(crate) plan: &'d Plan,
    pub(crate) options: &'d Options,
    pub(crate) control: &'d Control<'d>,
    pub(crate) stop: &'d AtomicBool,
    pub(crate) jobs: usize,
}

impl SecondPass<'_> {
    /// Shows all sound pages of some units to one collector per worker. `None` when it was stopped
    /// on its way.
    pub(crate) fn visit<F: Collector>(
        &self,
        units: &BTreeSet<UnitIndex>,
        collector: impl Fn() -> F + Sync,
    ) -> Option<Vec<F>> {
        let counters = Counters::default();
        let scan = Scan::new(self.source, self.plan, self.options, &counters).only(units);
        let scan_plan = scan.plan();
        let (sum, facts) =
            scan.run(&scan_plan, self.jobs, self.control, self.stop, collector).ok()?;
        (sum.scan.pages_checked + sum.scan.pages_absent >= scan_plan.pages_planned).then_some(facts)
    }

    /// Looks at single pages with one collector.
    pub(crate) fn visitor<F: Collector, T>(
        &self,
        collector: F,
        with: impl FnOnce(&mut PageVisitor<'_, F>) -> T,
    ) -> T {
        let counters = Counters::default();
        let scan = Scan::new(self.source, self.plan, self.options, &counters);
        with(&mut PageVisitor::new(&scan, collector))
    }

    /// True when the run is asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
