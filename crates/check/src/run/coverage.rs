//! What a run covered: pages planned and checked, and everything that was left out, with its
//! reason.

use std::collections::HashMap;

use extentdb_base::PageId;
use extentdb_messages::Arg;

use super::{CheckRun, Stage};
use crate::coverage::{Coverage, NotChecked};
use crate::finding::{Finding, Location, int_arg, page_arg};
use crate::partial::Partial;
use crate::plan::{Plan, leaves_out};
use crate::unit::Structure;

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

impl CheckRun<'_> {
    /// Lists something that was asked for and not checked.
    pub(super) fn leave_out(&mut self, what: &str, why: &str) {
        self.report.coverage.not_checked.push(NotChecked::asked(what, why));
    }

    /// Lists something that is outside the scope or was left out on purpose.
    pub(super) fn note<'a>(
        &mut self,
        error: u32,
        at: Location,
        args: impl IntoIterator<Item = Arg<'a>>,
    ) {
        self.report.notes.push(Finding::new(error, at, args));
    }

    pub(super) fn skip(&mut self, what: &str, why: &str) {
        self.report.coverage.not_checked.push(NotChecked::skipped(what, why));
    }

    pub(super) fn note_coverage(&mut self, stage: Stage<'_>, sum: &mut Partial) {
        let Stage { plan, scan_plan, .. } = stage;
        let planned = scan_plan.pages_planned;
        let checked = sum.scan.pages_checked;
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
        self.note_unread_pages(planned, sum);
        self.note_options(stage);
        if sum.audit.pages_compressed > 0 {
            self.skip(
                &format!(
                    "free space and parents of {} compressed pages",
                    sum.audit.pages_compressed
                ),
                "the compressed forms are known from public descriptions only",
            );
        }
        if sum.audit.unprotected > 0 {
            let args = [int_arg(sum.audit.unprotected), int_arg(checked)];
            self.note(59003, Location::default(), args);
        }
        if checked < planned
            && let Some(first) = first_missing(plan, sum)
        {
            let why = self.why_unread();
            let args = [int_arg(planned - checked), int_arg(planned), page_arg(first), why.into()];
            self.note(59001, Location::page(first), args);
        }
    }

    fn note_unread_pages(&mut self, planned: u64, sum: &Partial) {
        let absent = sum.scan.pages_absent;
        let unread = planned.saturating_sub(sum.scan.pages_checked);
        if absent < unread {
            self.leave_out(&format!("{} pages", unread - absent), self.why_unread());
        }
        if absent > 0 {
            let why = "they are allocated, but the backup or the files given do not hold them";
            self.leave_out(&format!("{absent} pages"), why);
        }
        if sum.scan.pages_unknown > 0 {
            let why =
                "their PFS page cannot be used, and they do not look like pages of their owner";
            self.leave_out(&format!("{} pages", sum.scan.pages_unknown), why);
        }
    }

    /// Why planned pages were not checked.
    fn why_unread(&self) -> &'static str {
        if self.report.was_stopped { "the run was stopped" } else { "they could not be read" }
    }

    fn note_options(&mut self, stage: Stage<'_>) {
        let Stage { plan, scan_plan, .. } = stage;
        if scan_plan.pages_skipped > 0 {
            let what = format!("{} pages of nonclustered indexes", scan_plan.pages_skipped);
            self.skip(&what, "NOINDEX was given");
        }
        if scan_plan.pages_outside > 0 {
            let what = format!("{} allocated pages", scan_plan.pages_outside);
            let target = plan.target.as_deref().unwrap_or_default();
            self.skip(&what, &format!("they do not belong to {target}"));
        }
        let others = plan
            .units
            .iter()
            .any(|(_, unit)| unit.structure == Structure::Other && !unit.first_iam.is_none());
        if others {
            self.skip("records of columnstore and unknown units", "their form is not known");
        }
        if self.options.physical_only {
            self.skip("ghost counts (8927)", "PHYSICAL_ONLY was given");
        }
    }

    pub(super) fn list_left_out(&mut self, stage: Stage<'_>) {
        let Stage { plan, families, .. } = stage;
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
        } else if !families.rows.has_purity {
            let why = "the database is older than SQL Server 2005 and its values were never checked: DATA_PURITY does";
            self.skip("column values against their types (2570)", why);
        }
        for comparison in families
            .rows
            .comparisons
            .iter()
            .map(|(_, comparison)| comparison)
            .filter(|_| !self.options.physical_only)
        {
            if comparison.has_long_columns() {
                let what = format!(
                    "some values of index {} of {}",
                    comparison.name, comparison.table_name
                );
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
}

/// Why facts of different pages cannot be matched: not all pages that state them are known.
pub(super) fn why_not_matched(stage: Stage<'_>, sum: &Partial) -> Option<&'static str> {
    let Stage { plan, scan_plan, .. } = stage;
    let is_pfs = |page: &PageId| page.pfs_page() == *page;
    if !plan.owners_are_known {
        Some("the catalog cannot be trusted")
    } else if plan.has_cut_chains || !plan.missing_files.is_empty() {
        Some("a file was not given")
    } else if sum.scan.pages_checked != scan_plan.pages_planned {
        Some("not all pages were checked")
    } else if sum.scan.pages_unknown > 0 || plan.bad.keys().any(is_pfs) {
        Some("PFS does not say of all pages whether they are allocated")
    } else {
        None
    }
}

/// The first allocated page that the scan did not reach.
fn first_missing(plan: &Plan, sum: &mut Partial) -> Option<PageId> {
    let mut covered: HashMap<_, Vec<(u32, u32)>> = HashMap::new();
    for (file, start, end) in sum.scan.covered.runs().ok()? {
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
