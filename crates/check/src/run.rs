//! A run from beginning to end: plan, scan, second passes, report.
//!
//! ```text
//! run.rs        plan, scan, the second pass of each family
//! coverage.rs   what was covered, what was left out and why
//! summary.rs    partial result -> findings in order, totals, verdict
//! watch.rs      progress, time limit, the wish to stop
//! ```

use std::num::NonZeroUsize;
use std::time::Duration;

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::thread;
use extentdb_reader::{PageSource, SourceFile};

use crate::audit::{Auditor, Subject};
use crate::broker::broker_counts;
use crate::catalog::verify_catalog;
use crate::collector::NoCollector;
use crate::families::{FamilyCollector, FamilyPlans};
use crate::finding::{Finding, Findings, Location};
use crate::offrow::{Outcome, verify_off_row};
use crate::options::{Control, Options, PageRange, Phase, ScopeChoice};
use crate::page_set::Overlap;
use crate::partial::Partial;
use crate::plan::{ExtentOwner, PageOwner, Plan, PlanOutcome, make};
use crate::report::{DataFile, Report};
use crate::rows::{IndexesCompared, verify_crosses, verify_partitions};
use crate::scan::{Counters, Scan, ScanPlan, Window};
use crate::second_pass::SecondPass;
use crate::tree::verify_trees;
use crate::unit::UnitIndex;
use crate::withdrawal::withdraw;

mod coverage;
mod extent_map;
mod summary;
mod watch;

/// Checks the database of `source`.
///
/// Whatever the pages hold, the report is returned; a boot page or catalog that cannot be read is a
/// finding, and all other pages are audited as far as they can be.
pub fn run(source: &dyn PageSource, options: &Options, control: &Control<'_>) -> Report {
    let (mut run, planned) = CheckRun::start(source, options, control);
    if let Some(planned) = planned {
        let sum = run.empty_partial(&planned.plan);
        run.check(planned, sum, &[], AfterStop::Discard);
    }
    run.report
}

/// One run and its report while it is made.
pub(crate) struct CheckRun<'r> {
    pub(crate) source: &'r dyn PageSource,
    pub(crate) options: &'r Options,
    control: &'r Control<'r>,
    start: Duration,
    pub(crate) report: Report,
    compared: IndexesCompared,
}

/// What is known before the scan.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) families: FamilyPlans,
    /// What the plan found on its way.
    pub(crate) findings: Findings,
}

/// What becomes of the result of a scan whose run is stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterStop {
    /// Nothing goes on from it.
    Discard,
    /// A later run resumes from it.
    Keep,
}

/// What the second passes read, once the scan is over.
#[derive(Clone, Copy)]
struct Stage<'s> {
    plan: &'s Plan,
    families: &'s FamilyPlans,
    scan_plan: &'s ScanPlan,
    counters: &'s Counters,
}

impl<'r> CheckRun<'r> {
    /// Makes the plan; nothing when what is to be checked does not exist.
    pub(crate) fn start(
        source: &'r dyn PageSource,
        options: &'r Options,
        control: &'r Control<'r>,
    ) -> (CheckRun<'r>, Option<Planned>) {
        let mut run = CheckRun {
            source,
            options,
            control,
            start: control.clock.monotonic(),
            report: Report::empty(options),
            compared: IndexesCompared::default(),
        };
        run.watch(Phase::Plan, 0, &Counters::default());
        let PlanOutcome { plan, findings, notes, not_checked, refused } = make(source, options);
        run.describe(&plan);
        run.report.notes = notes;
        run.report.coverage.not_checked = not_checked;
        let is_refused = refused.is_some();
        run.report.refused = refused;
        let families = FamilyPlans::new(&plan, options);
        (run, (!is_refused).then_some(Planned { plan, families, findings }))
    }

    pub(crate) fn empty_partial(&self, plan: &Plan) -> Partial {
        Partial::new(plan.units.len(), self.options.max_errors, plan.key)
    }

    fn describe(&mut self, plan: &Plan) {
        self.report.database.clone_from(&plan.database);
        self.report.database_id = plan.database_id;
        self.report.target.clone_from(&plan.target);
        let file = |file: &SourceFile| DataFile {
            id: file.id,
            path: file.path.display().to_string(),
            is_plain: self.source.plain_file(file.id).is_some(),
        };
        self.report.files = self.source.files().iter().map(file).collect();
    }

    /// Scans what `sum` does not cover yet, runs the second passes and completes the report. The
    /// result of the scan comes back when the run was stopped and it is to be kept.
    pub(crate) fn check(
        &mut self,
        Planned { plan, families, mut findings }: Planned,
        mut sum: Partial,
        within: &[PageRange],
        after_stop: AfterStop,
    ) -> Option<Partial> {
        let plan = &plan;
        let counters = Counters::default();
        counters.findings.store(findings.count() + sum.findings.count(), Ordering::Relaxed);
        counters.pages.store(sum.scan.pages_checked, Ordering::Relaxed);
        let done = sum.scan.covered.runs().map(Iterator::collect).unwrap_or_default();
        let window = Window::new(within, done);
        let scan_plan = Scan::new(self.source, plan, self.options, &counters).plan_within(&window);
        let stage = Stage {
            plan,
            families: &families,
            scan_plan: &scan_plan,
            counters: &counters,
        };
        if let Err(overlap) = self.scan(stage).and_then(|part| sum.merge(part)) {
            // Counted twice is not counted: nothing of the scan can be used.
            findings.push(Finding::new(8967, Location::page(overlap.page), []));
            self.leave_out("all pages", &overlap.to_string());
            sum = self.empty_partial(plan);
        }
        self.watch(Phase::Verify, scan_plan.pages_planned, &counters);
        let unfinished = (after_stop == AfterStop::Keep).then(|| sum.clone());
        self.report.coverage.not_checked.extend(withdraw(plan, &mut sum));
        self.audit_cut_pages(plan, &mut sum);
        self.verify(stage, &mut sum, &mut findings);
        self.finish(stage, sum, findings);
        unfinished.filter(|_| self.report.was_stopped)
    }

    /// Scans a part and nothing else.
    pub(crate) fn scan_part(
        &mut self,
        plan: &Plan,
        families: &FamilyPlans,
        within: &[PageRange],
    ) -> Result<Partial, Overlap> {
        let counters = Counters::default();
        let window = Window::new(within, Vec::new());
        let scan_plan = Scan::new(self.source, plan, self.options, &counters).plan_within(&window);
        self.scan(Stage { plan, families, scan_plan: &scan_plan, counters: &counters })
    }

    /// Reads everything that is planned.
    fn scan(&mut self, stage: Stage<'_>) -> Result<Partial, Overlap> {
        let Stage { plan, families, scan_plan, counters } = stage;
        let scan = Scan::new(self.source, plan, self.options, counters);
        let facts = || FamilyCollector::new(plan, families, self.source, self.options);
        let outcome = self.watched(Phase::Scan, scan_plan.pages_planned, counters, |stop| {
            scan.run(scan_plan, self.jobs(), self.control, stop, facts)
        });
        if self.options.timeline {
            self.report.timeline = outcome.timeline.finish(self.sample(counters));
        }
        self.report.was_stopped |= outcome.was_stopped;
        outcome.result.map(|(sum, _)| sum)
    }

    /// What needs more than one page: the second pass of each family.
    fn verify(&mut self, stage: Stage<'_>, sum: &mut Partial, findings: &mut Findings) {
        let plan = stage.plan;
        let is_complete = sum.scan.pages_checked == stage.scan_plan.pages_planned;
        if plan.owners_are_known && is_complete && !plan.has_cut_chains {
            self.verify_trees(stage, sum, findings);
        } else if plan.owners_are_known && !is_complete {
            self.leave_out(
                "links between pages and keys across them",
                "not all pages were checked",
            );
        }
        for (unit, reason) in sum.tree.undecided.reasons() {
            let what =
                format!("order of keys of {} (2511, 2512, 8933, 8934)", index_name(plan, unit));
            self.skip(&what, &reason);
        }
        if plan.owners_are_known
            && is_complete
            && !plan.has_cut_chains
            && plan.missing_files.is_empty()
        {
            let rows = &stage.families.rows;
            self.compared =
                self.second_look(stage, |pass| verify_crosses(pass, rows, sum, findings));
            self.report.coverage.not_checked.append(&mut self.compared.left_out);
        }
        self.verify_catalog(plan, sum, findings);
        if !self.options.physical_only && plan.owners_are_known {
            let rows = &stage.families.rows;
            let left_out =
                self.second_look(stage, |pass| verify_partitions(pass, rows, sum, findings));
            self.report.coverage.not_checked.extend(left_out);
        }
        if !self.options.physical_only {
            self.verify_off_row(stage, sum, findings);
        }
    }

    /// One second pass, under watch.
    fn second_look<T>(&mut self, stage: Stage<'_>, look: impl FnOnce(&SecondPass<'_>) -> T) -> T {
        let Stage { plan, scan_plan, counters, .. } = stage;
        let source = self.source;
        let options = self.options;
        let control = self.control;
        let jobs = self.jobs();
        let outcome = self.watched(Phase::Verify, scan_plan.pages_planned, counters, |stop| {
            look(&SecondPass { source, plan, options, control, stop, jobs })
        });
        self.report.was_stopped |= outcome.was_stopped;
        outcome.result
    }

    /// System tables against each other.
    fn verify_catalog(&mut self, plan: &Plan, sum: &mut Partial, findings: &mut Findings) {
        let is_whole = self.options.scope == ScopeChoice::Database && !self.options.physical_only;
        if let Some(catalog) = plan.catalog.as_ref().filter(|_| is_whole && plan.owners_are_known) {
            let outcome = verify_catalog(self.source, catalog, &mut sum.findings, findings);
            self.report.broker_counts = broker_counts(self.source, catalog.boot.first_sys_indexes);
            self.report.coverage.catalog_entries = outcome.entries;
            self.report.coverage.not_checked.extend(outcome.left_out);
        }
    }

    /// Forwarded rows and off-row data, when all pages that can take part are known.
    fn verify_off_row(&mut self, stage: Stage<'_>, sum: &Partial, findings: &mut Findings) {
        if let Some(why) = coverage::why_not_matched(stage, sum) {
            return self.leave_out("forwarded rows and off-row data", why);
        }
        let Outcome { notes, not_checked } =
            self.second_look(stage, |pass| verify_off_row(pass, sum, findings));
        self.report.notes.extend(notes);
        self.report.coverage.not_checked.extend(not_checked);
    }

    /// Links, levels and order of keys of all B-trees.
    fn verify_trees(&mut self, stage: Stage<'_>, sum: &mut Partial, findings: &mut Findings) {
        let plan = stage.plan;
        let trees = &stage.families.trees;
        for unit in self.second_look(stage, |pass| verify_trees(pass, trees, sum, findings)) {
            let what = format!("links and keys of {}", index_name(plan, unit));
            self.leave_out(&what, "the run was stopped");
        }
        for unit in plan.cut_units.iter().filter(|unit| trees.get(**unit).is_some()) {
            let what = format!("links and keys of {}", index_name(plan, *unit));
            self.leave_out(&what, "its chain of IAM pages is broken");
        }
    }

    fn jobs(&self) -> usize {
        let machine = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.options.jobs.unwrap_or_else(machine).get()
    }

    /// Pages that were cut off with the end of their file are reads that fail.
    fn audit_cut_pages(&self, plan: &Plan, sum: &mut Partial) {
        if !plan.owners_are_known {
            return;
        }
        let mut auditor = Auditor::new(plan, self.options, NoCollector);
        for id in plan.maps.iter().flat_map(|maps| maps.cut_off_pages()) {
            let owner = match (plan.owners.page(id), plan.owners.extent(id.extent())) {
                (Some(PageOwner::Unit(unit)), _) | (None, ExtentOwner::Unit(unit)) => Some(unit),
                _ => None,
            };
            let is_read =
                |unit: &UnitIndex| plan.units.get(*unit).is_some_and(|unit| !unit.is_skipped);
            if let Some(unit) = owner.filter(is_read) {
                auditor.unreadable(id, Subject::Owned(unit));
            }
        }
        sum.findings.merge(auditor.partial.findings);
        sum.audit.bad.append(&mut auditor.partial.audit.bad);
    }
}

/// An index by its name and table, as in `index 'IX_sales' of 'sales'`.
fn index_name(plan: &Plan, unit: UnitIndex) -> String {
    let Some(owner) = plan.units.get(unit).map(|unit| unit.owner) else {
        return format!("unit {unit}");
    };
    let table = plan.names.get(&owner.object).cloned().unwrap_or_default();
    let indexes = plan.catalog.as_ref().and_then(|catalog| catalog.tables.get(&owner.object));
    let index =
        indexes.and_then(|table| table.indexes.iter().find(|index| index.id == owner.index));
    match index.and_then(|index| index.name.as_ref()) {
        Some(name) => format!("index '{name}' of '{table}'"),
        None => format!("index {} of '{table}'", owner.index),
    }
}
