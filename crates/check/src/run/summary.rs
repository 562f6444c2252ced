//! From partial results to the report: root causes, totals, objects, verdict.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use extentdb_base::{ObjectId, PageId};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_messages::Class;

use super::extent_map::extent_map;
use super::{CheckRun, Stage};
use crate::audit::part::{BadPage, UnitCounts};
use crate::bad_regions::bad_regions;
use crate::critical::verify_critical;
use crate::finding::{Cause, Finding, Findings, Location};
use crate::inflight::withdraw_in_flight;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::report::{ObjectSummary, Sample, Verdict};
use crate::unit::UnitIndex;

impl CheckRun<'_> {
    pub(super) fn finish(&mut self, stage: Stage<'_>, mut sum: Partial, mut findings: Findings) {
        let plan = stage.plan;
        self.note_coverage(stage, &mut sum);
        if let Some(first) = sum.audit.diff_missed.take() {
            findings.push(first);
        }
        self.report.notes.extend(sum.audit.newer.take());
        self.report.notes.extend(bad_regions(&sum.audit.bad, &self.report.files));
        findings.merge(std::mem::take(&mut sum.findings));
        mark_derived(plan, &sum.audit.bad, &mut findings);
        let in_flight = withdraw_in_flight(
            plan,
            &self.options.log,
            self.source,
            &sum.audit.counts,
            &mut findings,
        );
        self.report.notes.extend(in_flight.notes);
        self.report.coverage.not_checked.extend(in_flight.not_checked);
        let fatal = verify_critical(plan, self.report.command, &mut findings);
        self.report.coverage.not_checked.extend(fatal);
        self.note_disabled_indexes(plan);
        if self.options.timeline {
            self.report.timeline.push(Sample {
                elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
                bytes: sum.scan.bytes,
                pages: sum.scan.pages_checked,
                findings: findings.count(),
            });
        }
        self.report_findings(plan, &sum, findings);
        self.list_left_out(stage);
        self.report.elapsed = self.elapsed();
    }

    /// What the findings amount to: totals, objects, verdict.
    fn report_findings(&mut self, plan: &Plan, sum: &Partial, findings: Findings) {
        let report = &mut self.report;
        report.totals = findings.totals();
        report.unowned = findings.totals_of(None);
        report.repair = findings.repair();
        report.objects = objects(plan, &sum.audit.counts, &findings);
        report.coverage.objects = sum_of_objects(plan, &sum.audit.counts);
        report.bytes = sum.scan.bytes;
        let count = findings.count();
        report.findings = findings.into_sorted();
        report.findings_omitted = count - report.findings.len() as u64;
        report.notes.sort_by(Finding::order);
        if self.options.map {
            report.map = Some(extent_map(plan, &report.findings));
        }
        let left_out = report.coverage.not_checked.iter().any(|it| it.was_asked_for);
        report.verdict = match (count, left_out || report.was_stopped) {
            (0, false) => Verdict::Clean,
            (0, true) => Verdict::Incomplete,
            _ => Verdict::Damaged,
        };
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
                self.note(2546, Location::default(), args);
            }
        }
    }
}

/// Findings about links that follow from a page that could not be used.
fn mark_derived(plan: &Plan, bad: &[BadPage], findings: &mut Findings) {
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
    for finding in findings.iter_mut().filter(|finding| finding.is(Class::Link)) {
        let named = finding.location.page.into_iter().chain(finding.related);
        let direct =
            named.filter_map(|page| Some(Cause { page, error: *causes.get(&page)? })).next();
        // A page without a parent does not name it; a bad page of the same unit is the likely one.
        let has_lost_parent = matches!(finding.error, 8977 | 8979);
        let unit = || plan.units.of_header(finding.location.owner?.unit, false);
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
        if (0..=1).contains(&unit.owner.index.0) && unit.kind == AllocUnitKind::InRow {
            summary.rows += count.rows;
            summary.pages += count.leaf_pages;
        }
    }
    objects.into_values().collect()
}

fn sum_of_objects(plan: &Plan, counts: &[UnitCounts]) -> u64 {
    let checked = plan.units.iter().zip(counts).filter(|(_, count)| count.pages > 0);
    let objects: BTreeSet<ObjectId> = checked.map(|((_, unit), _)| unit.owner.object).collect();
    objects.len() as u64
}
