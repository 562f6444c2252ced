//! A run from beginning to end: plan, scan, verify, report.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::thread;
use extentdb_base::{ObjectId, PageId};
use extentdb_reader::{PageSource, SourceFile};

use crate::audit::{Auditor, Subject};
use crate::broker::broker_counts;
use crate::catalog::verify_catalog;
use crate::critical::verify_critical;
use crate::dive::Dive;
use crate::finding::{Cause, Finding, Findings, Place, page_arg};
use crate::inflight::settle;
use crate::logical::Logical;
use crate::offrow::{Outcome, verify_off_row};
use crate::options::{Control, Options, PageRange, Phase, Progress, ScopeChoice};
use crate::partial::{Overlap, Partial, UnitCounts};
use crate::plan::{ExtentOwner, PageOwner, Plan, PlanOutcome, leaves_out, make};
use crate::report::{
    Coverage, DataFile, ExtentMap, NotChecked, ObjectSummary, Report, Sample, Timeline, Verdict,
    damaged_places,
};
use crate::rows::{Compared, verify_crosses, verify_partitions};
use crate::scan::{Counters, Scan, ScanPlan, Window};
use crate::sound::NoFacts;
use crate::tree::{Trees, verify_trees};
use crate::unit::UnitIndex;
use crate::wholesale::take_back;

/// How often progress is reported and the wish to stop is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Checks that DBCC knows and this program does not do, with the numbers they would report.
const NOT_SUPPORTED: [(&str, &str); 7] = [
    (
        "row and page counts of the catalog that are wrong but possible (2508)",
        "SQL Server 2005 and later report impossible ones only",
    ),
    (
        "system tables but objects, columns, types, indexes, rowsets, units, schemas and files against each other (8992)",
        "not supported",
    ),
    ("conversations of Service Broker (8997)", "not supported"),
    (
        "FILESTREAM directories and files (7903 - 7964)",
        "they lie outside the data files; pages and allocation of their tables are checked",
    ),
    ("leftovers of online index builds (5228, 5229)", "what their column holds is not published"),
    (
        "content of indexed views, XML, spatial and columnstore indexes (8907, 8908, 7967)",
        "not supported",
    ),
    (
        "page flags for row versions and system transactions (5260, 5282)",
        "the bits of the page header are not published",
    ),
];

impl NotChecked {
    /// True for what no run checks, of whatever database.
    pub fn is_of_every_run(&self) -> bool {
        NOT_SUPPORTED.iter().any(|(what, _)| *what == self.what)
    }
}

/// Checks the database behind `source`.
///
/// Whatever the pages hold, the report comes back; a boot page or catalog that cannot be read is
/// a finding, and all other pages are audited as far as they can be.
pub fn run(source: &dyn PageSource, options: &Options, control: &Control<'_>) -> Report {
    let (mut run, outcome) = Run::start(source, options, control);
    if let Some((plan, findings)) = outcome {
        let sum = run.empty_partial(&plan);
        run.check(&plan, findings, sum, &[], false);
    }
    run.report
}

pub(crate) struct Run<'r> {
    pub(crate) source: &'r dyn PageSource,
    pub(crate) options: &'r Options,
    control: &'r Control<'r>,
    start: Duration,
    pub(crate) report: Report,
    compared: Compared,
}

/// What was done under watch.
struct Watched<T> {
    result: T,
    was_stopped: bool,
    timeline: Timeline,
}

/// Tells the watching thread that there is nothing more to watch.
struct EndOfWork<'w> {
    is_done: &'w AtomicBool,
    watcher: &'w thread::Thread,
}

impl Drop for EndOfWork<'_> {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

impl<'r> Run<'r> {
    /// Makes the plan; nothing when what is to be checked does not exist.
    pub(crate) fn start(
        source: &'r dyn PageSource,
        options: &'r Options,
        control: &'r Control<'r>,
    ) -> (Run<'r>, Option<(Plan, Findings)>) {
        let start = control.clock.monotonic();
        let report = Report::empty(options);
        let mut run = Run {
            source,
            options,
            control,
            start,
            report,
            compared: Compared::default(),
        };
        run.watch(Phase::Plan, 0, &Counters::default());
        let PlanOutcome { plan, findings, notes, not_checked, refused } = make(source, options);
        run.describe(&plan);
        run.report.notes = notes;
        run.report.coverage.not_checked = not_checked;
        let is_refused = refused.is_some();
        run.report.refused = refused;
        (run, (!is_refused).then_some((plan, findings)))
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

    /// Scans what `sum` does not cover yet, then compares, looks again and reports. With `is_kept`,
    /// the sum of the scan comes back when the run was stopped.
    pub(crate) fn check(
        &mut self,
        plan: &Plan,
        mut findings: Findings,
        mut sum: Partial,
        within: &[PageRange],
        is_kept: bool,
    ) -> Option<Partial> {
        let counters = Counters::default();
        counters.findings.store(findings.count() + sum.findings.count(), Ordering::Relaxed);
        counters.pages.store(sum.pages_checked, Ordering::Relaxed);
        let done = sum.covered.runs().map(Iterator::collect).unwrap_or_default();
        let window = Window::new(within, done);
        let scan_plan = Scan::new(self.source, plan, self.options, &counters).plan_within(&window);
        let trees = Trees::new(plan);
        let outcome =
            self.scan(plan, &trees, &scan_plan, &counters).and_then(|part| sum.merge(part));
        if let Err(overlap) = outcome {
            // Counted twice is not counted: nothing of the scan can be used.
            findings.push(Finding::new(8967, Place::page(overlap.page), &[]));
            self.leave_out("all pages", &overlap.to_string());
            sum = self.empty_partial(plan);
        }
        self.watch(Phase::Verify, scan_plan.pages_planned, &counters);
        let unfinished = is_kept.then(|| sum.clone());
        self.report.coverage.not_checked.extend(take_back(plan, &mut sum));
        self.audit_cut_pages(plan, &mut sum);
        self.verify(plan, &trees, &scan_plan, &counters, &mut sum, &mut findings);
        self.finish(plan, &scan_plan, sum, findings);
        unfinished.filter(|_| self.report.was_stopped)
    }

    /// What needs more than one page.
    fn verify(
        &mut self,
        plan: &Plan,
        trees: &Trees,
        scan_plan: &ScanPlan,
        counters: &Counters,
        sum: &mut Partial,
        findings: &mut Findings,
    ) {
        let is_complete = sum.pages_checked == scan_plan.pages_planned;
        if plan.owners_are_known && is_complete && !plan.has_cut_chains {
            self.verify_trees(plan, trees, scan_plan, counters, sum, findings);
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
            self.verify_rows(plan, scan_plan, counters, sum, findings);
        }
        let is_whole = self.options.scope == ScopeChoice::Database && !self.options.physical_only;
        if let Some(catalog) = plan.catalog.as_ref().filter(|_| is_whole && plan.owners_are_known) {
            let outcome = verify_catalog(self.source, catalog, &mut sum.findings, findings);
            self.report.broker_counts = broker_counts(self.source, catalog.boot.first_sys_indexes);
            self.report.coverage.catalog_entries = outcome.entries;
            self.report.coverage.not_checked.extend(outcome.left_out);
        }
        if !self.options.physical_only && plan.owners_are_known {
            self.verify_partitions(plan, scan_plan, counters, sum, findings);
        }
        if !self.options.physical_only {
            self.verify_off_row(plan, scan_plan, counters, sum, findings);
        }
    }

    /// Scans a part and nothing else.
    pub(crate) fn scan_part(
        &mut self,
        plan: &Plan,
        within: &[PageRange],
    ) -> Result<Partial, Overlap> {
        let counters = Counters::default();
        let window = Window::new(within, Vec::new());
        let scan_plan = Scan::new(self.source, plan, self.options, &counters).plan_within(&window);
        self.scan(plan, &Trees::new(plan), &scan_plan, &counters)
    }

    /// Reads everything that is planned.
    fn scan(
        &mut self,
        plan: &Plan,
        trees: &Trees,
        scan_plan: &ScanPlan,
        counters: &Counters,
    ) -> Result<Partial, Overlap> {
        let scan = Scan::new(self.source, plan, self.options, counters);
        let facts = || Logical::new(plan, trees, self.source, self.options);
        let planned = scan_plan.pages_planned;
        let outcome = self.watched(Phase::Scan, planned, counters, |stop| {
            scan.run(scan_plan, self.jobs(), self.control, stop, facts)
        });
        if self.options.timeline {
            self.report.timeline = outcome.timeline.finish(self.sample(counters));
        }
        self.report.was_stopped |= outcome.was_stopped;
        outcome.result.map(|(sum, _)| sum)
    }

    /// Works while another thread watches the clock and the wish to stop.
    fn watched<T>(
        &self,
        phase: Phase,
        pages_planned: u64,
        counters: &Counters,
        work: impl FnOnce(&AtomicBool) -> T,
    ) -> Watched<T> {
        let stop = AtomicBool::new(self.must_stop());
        let is_done = AtomicBool::new(false);
        let (result, timeline) = thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut timeline = Timeline::default();
                while !is_done.load(Ordering::Acquire) {
                    if self.must_stop() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    self.watch(phase, pages_planned, counters);
                    timeline.offer(self.sample(counters));
                    thread::park_timeout(WATCH_INTERVAL);
                }
                timeline
            });
            // Also when the work panics: the scope would wait for the watcher for ever.
            let end = EndOfWork { is_done: &is_done, watcher: watcher.thread() };
            let result = work(&stop);
            drop(end);
            (result, watcher.join().unwrap_or_default())
        });
        Watched { result, was_stopped: stop.load(Ordering::Relaxed), timeline }
    }

    /// The second looks that the sums of the scan ask for.
    fn verify_rows(
        &mut self,
        plan: &Plan,
        scan_plan: &ScanPlan,
        counters: &Counters,
        sum: &Partial,
        findings: &mut Findings,
    ) {
        let source = self.source;
        let options = self.options;
        let control = self.control;
        let jobs = self.jobs();
        let outcome = self.watched(Phase::Verify, scan_plan.pages_planned, counters, |stop| {
            verify_crosses(&Dive { source, plan, options, control, stop, jobs }, sum, findings)
        });
        self.report.was_stopped |= outcome.was_stopped;
        self.compared = outcome.result;
        self.report.coverage.not_checked.append(&mut self.compared.left_out);
    }

    /// Rows of partitioned indexes that the scan found to stand elsewhere.
    fn verify_partitions(
        &mut self,
        plan: &Plan,
        scan_plan: &ScanPlan,
        counters: &Counters,
        sum: &Partial,
        findings: &mut Findings,
    ) {
        let source = self.source;
        let options = self.options;
        let control = self.control;
        let jobs = self.jobs();
        let outcome = self.watched(Phase::Verify, scan_plan.pages_planned, counters, |stop| {
            verify_partitions(&Dive { source, plan, options, control, stop, jobs }, sum, findings)
        });
        self.report.was_stopped |= outcome.was_stopped;
        self.report.coverage.not_checked.extend(outcome.result);
    }

    /// Forwarded rows and off-row data, when all pages that can take part are known.
    fn verify_off_row(
        &mut self,
        plan: &Plan,
        scan_plan: &ScanPlan,
        counters: &Counters,
        sum: &Partial,
        findings: &mut Findings,
    ) {
        if let Some(why) = why_not_matched(plan, scan_plan, sum) {
            return self.leave_out("forwarded rows and off-row data", why);
        }
        let source = self.source;
        let options = self.options;
        let control = self.control;
        let jobs = self.jobs();
        let outcome = self.watched(Phase::Verify, scan_plan.pages_planned, counters, |stop| {
            verify_off_row(&Dive { source, plan, options, control, stop, jobs }, sum, findings)
        });
        self.report.was_stopped |= outcome.was_stopped;
        let Outcome { notes, not_checked } = outcome.result;
        self.report.notes.extend(notes);
        self.report.coverage.not_checked.extend(not_checked);
    }

    /// Links, levels and order of keys of all B-trees.
    fn verify_trees(
        &mut self,
        plan: &Plan,
        trees: &Trees,
        scan_plan: &ScanPlan,
        counters: &Counters,
        sum: &mut Partial,
        findings: &mut Findings,
    ) {
        let source = self.source;
        let options = self.options;
        let control = self.control;
        let jobs = self.jobs();
        let outcome = self.watched(Phase::Verify, scan_plan.pages_planned, counters, |stop| {
            verify_trees(&Dive { source, plan, options, control, stop, jobs }, trees, sum, findings)
        });
        self.report.was_stopped |= outcome.was_stopped;
        for unit in outcome.result {
            self.leave_out(
                &format!("links and keys of {}", index_name(plan, unit)),
                "the run was stopped",
            );
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

    fn must_stop(&self) -> bool {
        let is_late = |limit: Duration| self.elapsed() >= limit;
        self.control.cancel.load(Ordering::Relaxed) || self.options.time_limit.is_some_and(is_late)
    }

    fn elapsed(&self) -> Duration {
        self.control.clock.monotonic().saturating_sub(self.start)
    }

    fn sample(&self, counters: &Counters) -> Sample {
        Sample {
            elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes: counters.bytes.load(Ordering::Relaxed),
            pages: counters.pages.load(Ordering::Relaxed),
            findings: counters.findings.load(Ordering::Relaxed),
        }
    }

    fn watch(&self, phase: Phase, pages_planned: u64, counters: &Counters) {
        if let Some(progress) = self.control.progress {
            progress(&Progress {
                phase,
                pages_planned,
                pages_checked: counters.pages.load(Ordering::Relaxed),
                bytes_read: counters.bytes.load(Ordering::Relaxed),
                findings: counters.findings.load(Ordering::Relaxed),
                elapsed: self.elapsed(),
            });
        }
    }

    /// Pages that were cut off with the end of their file are reads that fail.
    fn audit_cut_pages(&self, plan: &Plan, sum: &mut Partial) {
        if !plan.owners_are_known {
            return;
        }
        let mut auditor = Auditor::new(plan, self.options, NoFacts);
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
        sum.bad.append(&mut auditor.partial.bad);
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        let left_out = NotChecked {
            what: what.to_owned(),
            why: why.to_owned(),
            was_asked_for: true,
        };
        self.report.coverage.not_checked.push(left_out);
    }
}

/// From sums to the report.
impl Run<'_> {
    fn finish(
        &mut self,
        plan: &Plan,
        scan_plan: &ScanPlan,
        mut sum: Partial,
        mut findings: Findings,
    ) {
        self.note_coverage(plan, scan_plan, &mut sum);
        for once in [sum.diff_missed.take()].into_iter().flatten() {
            findings.push(once);
        }
        self.report.notes.extend(sum.newer.take());
        self.report.notes.extend(damaged_places(&sum.bad, &self.report.files));
        findings.merge(sum.findings);
        mark_derived(plan, &sum.bad, &mut findings);
        let settled = settle(plan, &self.options.log, self.source, &sum.counts, &mut findings);
        self.report.notes.extend(settled.notes);
        self.report.coverage.not_checked.extend(settled.not_checked);
        let fatal = verify_critical(plan, self.report.command, &mut findings);
        self.report.coverage.not_checked.extend(fatal);
        self.note_disabled_indexes(plan);
        let elapsed_ms = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes = sum.bytes;
        let pages = sum.pages_checked;
        let last_sample = Sample { elapsed_ms, bytes, pages, findings: findings.count() };
        let report = &mut self.report;
        report.totals = findings.totals();
        report.unowned = findings.totals_of(None);
        report.repair = findings.repair();
        report.objects = objects(plan, &sum.counts, &findings);
        report.coverage.objects = sum_of_objects(plan, &sum.counts);
        report.bytes = sum.bytes;
        let count = findings.count();
        report.findings = findings.into_sorted();
        report.findings_omitted = count - report.findings.len() as u64;
        report.notes.sort_by(Finding::order);
        if self.options.timeline {
            report.timeline.push(last_sample);
        }
        if self.options.map {
            let mut map = ExtentMap::new(plan);
            map.mark(&report.findings);
            report.map = Some(map);
        }
        let left_out = report.coverage.not_checked.iter().any(|it| it.was_asked_for);
        report.verdict = match (count, left_out || report.was_stopped) {
            (0, false) => Verdict::Clean,
            (0, true) => Verdict::Incomplete,
            _ => Verdict::Damaged,
        };
        self.list_what_is_left_out(plan);
        self.report.elapsed = self.elapsed();
    }

    /// 2546: an index without pages.
    fn note_disabled_indexes(&mut self, plan: &Plan) {
        let inside = plan.units.iter().filter(|(_, unit)| !unit.is_outside);
        let objects: BTreeSet<ObjectId> = inside.map(|(_, unit)| unit.owner.object).collect();
        let tables = plan.catalog.iter().flat_map(|catalog| catalog.tables.values());
        for table in tables.filter(|table| objects.contains(&table.id)) {
            for index in table.indexes.iter().filter(|index| index.is_marked_disabled()) {
                let name = index.name.as_deref().unwrap_or_default();
                let args = [name.into(), table.name.as_str().into()];
                self.report.notes.push(Finding::new(2546, Place::default(), &args));
            }
        }
    }

    fn note_coverage(&mut self, plan: &Plan, scan_plan: &ScanPlan, sum: &mut Partial) {
        let planned = scan_plan.pages_planned;
        let checked = sum.pages_checked;
        let not_checked = std::mem::take(&mut self.report.coverage.not_checked);
        self.report.coverage = Coverage {
            pages_planned: planned,
            pages_checked: checked,
            objects: 0,
            indexes_compared: self.compared.indexes,
            entries_compared: self.compared.entries,
            catalog_entries: self.report.coverage.catalog_entries,
            not_checked,
        };
        if checked < planned && sum.pages_absent < planned - checked {
            let why = if self.report.was_stopped {
                "the run was stopped"
            } else {
                "they could not be read"
            };
            self.leave_out(&format!("{} pages", planned - checked - sum.pages_absent), why);
        }
        if sum.pages_absent > 0 {
            let why = "they are allocated, but the backup or the files given do not hold them";
            self.leave_out(&format!("{} pages", sum.pages_absent), why);
        }
        if sum.pages_unknown > 0 {
            let why =
                "their PFS page cannot be used, and they do not look like pages of their owner";
            self.leave_out(&format!("{} pages", sum.pages_unknown), why);
        }
        self.note_options(plan, scan_plan);
        if sum.pages_compressed > 0 {
            self.skip(
                &format!("free space and parents of {} compressed pages", sum.pages_compressed),
                "the compressed forms are known from public descriptions only",
            );
        }
        if sum.unprotected > 0 {
            let args = [int(sum.unprotected), int(checked)];
            self.report.notes.push(Finding::new(59003, Place::default(), &args));
        }
        if checked < planned
            && let Some(first) = first_missing(plan, sum)
        {
            let why = if self.report.was_stopped {
                "the run was stopped"
            } else {
                "they could not be read"
            };
            let args = [int(planned - checked), int(planned), page_arg(first), why.into()];
            self.report.notes.push(Finding::new(59001, Place::page(first), &args));
        }
    }

    fn note_options(&mut self, plan: &Plan, scan_plan: &ScanPlan) {
        if scan_plan.pages_skipped > 0 {
            let what = format!("{} pages of nonclustered indexes", scan_plan.pages_skipped);
            self.skip(&what, "NOINDEX was given");
        }
        if scan_plan.pages_outside > 0 {
            let what = format!("{} allocated pages", scan_plan.pages_outside);
            let target = plan.target.as_deref().unwrap_or_default();
            self.skip(&what, &format!("they do not belong to {target}"));
        }
        let others = plan.units.iter().any(|(_, unit)| {
            unit.structure == crate::unit::Structure::Other && !unit.first_iam.is_none()
        });
        if others {
            self.skip("records of columnstore and unknown units", "their form is not known");
        }
        if self.options.physical_only {
            self.skip("ghost counts (8927)", "PHYSICAL_ONLY was given");
        }
    }

    fn list_what_is_left_out(&mut self, plan: &Plan) {
        if self.options.physical_only {
            let families = [
                "column values and rows against the catalog",
                "forwarded rows and off-row data",
                "nonclustered indexes against their tables",
                "system tables against each other",
            ];
            families.into_iter().for_each(|what| self.skip(what, "PHYSICAL_ONLY was given"));
        } else if !plan.owners_are_known {
            let why = "the tables that the pages belong to are not known";
            self.skip("column values against their types (2570)", why);
        } else if !plan.rows.has_purity {
            let why = "the database is older than SQL Server 2005 and its values were never checked: DATA_PURITY does";
            self.skip("column values against their types (2570)", why);
        }
        for cross in
            plan.rows.crosses.iter().map(|(_, cross)| cross).filter(|_| !self.options.physical_only)
        {
            if cross.has_long_columns() {
                let what = format!("some values of index {} of {}", cross.name, cross.table_name);
                self.skip(
                    &what,
                    "they may lie off the row on one side only, or their compressed form is not certain",
                );
            }
        }
        for (what, why) in NOT_SUPPORTED {
            self.skip(what, why);
        }
    }

    /// Something that is outside the scope or was left out on purpose.
    fn skip(&mut self, what: &str, why: &str) {
        let left_out = NotChecked {
            what: what.to_owned(),
            why: why.to_owned(),
            was_asked_for: false,
        };
        self.report.coverage.not_checked.push(left_out);
    }
}

/// Why facts of different pages cannot be matched: not all pages that state them are known.
fn why_not_matched(plan: &Plan, scan_plan: &ScanPlan, sum: &Partial) -> Option<&'static str> {
    let is_pfs = |page: &PageId| page.pfs_page() == *page;
    if !plan.owners_are_known {
        Some("the catalog cannot be trusted")
    } else if plan.has_cut_chains || !plan.missing_files.is_empty() {
        Some("a file was not given")
    } else if sum.pages_checked != scan_plan.pages_planned {
        Some("not all pages were checked")
    } else if sum.pages_unknown > 0 || plan.bad.keys().any(is_pfs) {
        Some("PFS does not say of all pages whether they are allocated")
    } else {
        None
    }
}

/// The first allocated page that the scan did not come to.
fn first_missing(plan: &Plan, sum: &mut Partial) -> Option<PageId> {
    let mut covered: HashMap<_, Vec<(u32, u32)>> = HashMap::new();
    for (file, start, end) in sum.covered.runs().ok()? {
        covered.entry(file).or_default().push((start, end));
    }
    plan.maps.iter().find_map(|maps| {
        let runs = covered.get(&maps.file).map_or(&[][..], Vec::as_slice);
        let is_covered = |page: u32| {
            let at = runs.partition_point(|(_, end)| *end <= page);
            runs.get(at).is_some_and(|(start, _)| *start <= page)
        };
        let mut pages = maps.described_ranges().flat_map(|(first, end)| first..end);
        let is_missing = |page: &u32| {
            maps.state(*page).is_some_and(|s| s.is_allocated())
                && !is_covered(*page)
                && !leaves_out(plan, PageId { file: maps.file, page: *page })
        };
        pages.find(is_missing).map(|page| PageId { file: maps.file, page })
    })
}

/// Findings about links that follow from a page that could not be used.
fn mark_derived(plan: &Plan, bad: &[crate::partial::BadPage], findings: &mut Findings) {
    const LINKS: [u32; 10] = [2531, 8931, 8935, 8936, 8976, 8977, 8978, 8979, 8980, 8981];
    let mut causes: HashMap<PageId, u32> = plan.bad.clone();
    let mut of_unit: BTreeMap<UnitIndex, Cause> = BTreeMap::new();
    for page in bad {
        causes.entry(page.page).or_insert(page.error);
        if let Some(unit) = page.unit {
            let cause = Cause { page: page.page, error: page.error };
            let first = of_unit.entry(unit).or_insert(cause);
            *first = (*first).min(cause);
        }
    }
    for finding in findings.iter_mut().filter(|finding| LINKS.contains(&finding.error)) {
        let named = finding.place.page.into_iter().chain(finding.related);
        let direct =
            named.filter_map(|page| Some(Cause { page, error: *causes.get(&page)? })).next();
        // A page without a parent does not say who that was; a bad page of the same unit is the
        // likely one.
        let has_lost_parent = matches!(finding.error, 8977 | 8979);
        let unit = || plan.units.of_header(finding.place.owner?.unit, false);
        let likely =
            || unit().and_then(|unit| of_unit.get(&unit).copied()).filter(|_| has_lost_parent);
        finding.derived_from = finding.derived_from.or(direct).or_else(likely);
    }
}

/// All objects that own units, in the order of the report.
fn objects(plan: &Plan, counts: &[UnitCounts], findings: &Findings) -> Vec<ObjectSummary> {
    let mut objects: BTreeMap<(bool, ObjectId), ObjectSummary> = BTreeMap::new();
    for ((_, unit), count) in
        plan.units.iter().zip(counts).filter(|((_, unit), _)| !unit.is_outside)
    {
        let object = unit.owner.object;
        let is_user = unit.owner.is_user;
        let summary = objects.entry((is_user, object)).or_insert_with(|| ObjectSummary {
            object,
            name: plan.names.get(&object).cloned().unwrap_or_default(),
            is_user,
            rows: 0,
            pages: 0,
            totals: findings.totals_of(Some(object)),
        });
        if (0..=1).contains(&unit.owner.index.0)
            && unit.kind == extentdb_catalog::model::AllocUnitKind::InRow
        {
            summary.rows += count.rows;
            summary.pages += count.leaf_pages;
        }
    }
    objects.into_values().collect()
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

fn sum_of_objects(plan: &Plan, counts: &[UnitCounts]) -> u64 {
    let checked = plan.units.iter().zip(counts).filter(|(_, count)| count.pages > 0);
    let objects: BTreeSet<ObjectId> = checked.map(|((_, unit), _)| unit.owner.object).collect();
    objects.len() as u64
}

fn int(value: u64) -> extentdb_messages::Arg<'static> {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}
