//! Findings that are too many to be damage: what most pages of a unit violate is a rule that does
//! not hold for it.
//!
//! ```text
//! compressed unit more than one page in four cannot be expanded, or one in nine of the database,
//!                 or one row in sixteen: the form is not what is published
//! any unit        one page in four violates one rule, or most of many rows: rule not understood
//! system tables   a few rows lack required values: other versions may differ
//! ```
//!
//! Damage hits single pages and rows. A column that is stored in another way than this program
//! thinks, or keys in another order, is wrong everywhere. Such findings are withdrawn, and the
//! report says what was not checked.
//!
//! Invariants
//! - Nothing is withdrawn for a few pages or rows, nor what only one page of many says.
//! - Links of pages whose records are not understood count all the same: see `audit`.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{PageId, Slot};
use extentdb_catalog::layout::Compression;

use extentdb_messages::{Class, is_in};

use crate::coverage::NotChecked;
use crate::finding::{Finding, UMBRELLA};
use crate::partial::Partial;
use crate::plan::Plan;
use crate::unit::UnitIndex;

/// A row of a compressed page that could not be expanded.
const UNEXPANDED: u32 = 2537;
/// Minimum number of pages …
const PAGES_MIN: u64 = 4;
/// … or minimum number of rows.
const ROWS_MIN: u64 = 32;
/// NULL in a column that must not be.
const NULL: u32 = 8970;
/// Rows of a table of the server with such a column.
const SYSTEM_NULLS_MIN: u64 = 4;

/// Withdraws findings that are implausible after a scan, and says what is not checked for it.
pub(crate) fn withdraw(plan: &Plan, sum: &mut Partial) -> Vec<NotChecked> {
    let mut not_checked = withdraw_compressed(plan, sum);
    not_checked.extend(withdraw_rules(plan, sum));
    not_checked
}

fn unit_of(plan: &Plan, finding: &Finding) -> Option<UnitIndex> {
    plan.units.of_header(finding.location.owner?.unit, false)
}

fn name(plan: &Plan, unit: UnitIndex) -> String {
    let owner = plan.units.get(unit).map(|unit| unit.owner);
    let table = owner.and_then(|owner| plan.names.get(&owner.object)).cloned().unwrap_or_default();
    format!("{table} (index ID {})", owner.map_or(-1, |owner| owner.index.0))
}

/// Damage of a compressed unit.
#[derive(Default)]
struct FailedRecords {
    failed: BTreeSet<PageId>,
    rows_failed: u64,
}

/// The damage of compressed units whose records could not be read.
fn failed_records(
    plan: &Plan,
    sum: &mut Partial,
    is_compressed: &dyn Fn(UnitIndex) -> bool,
) -> BTreeMap<UnitIndex, FailedRecords> {
    let mut by_unit: BTreeMap<UnitIndex, FailedRecords> = BTreeMap::new();
    for page in sum.audit.bad.iter().filter(|page| is_in(page.error, Class::Crack)) {
        if let Some(unit) = page.unit.filter(|unit| is_compressed(*unit)) {
            by_unit.entry(unit).or_default().failed.insert(page.page);
        }
    }
    for finding in sum.findings.iter_mut().filter(|finding| finding.error == UNEXPANDED) {
        if let Some(unit) = unit_of(plan, finding).filter(|unit| is_compressed(*unit)) {
            by_unit.entry(unit).or_default().rows_failed += 1;
        }
    }
    by_unit
}

fn withdraw_compressed(plan: &Plan, sum: &mut Partial) -> Vec<NotChecked> {
    let is_compressed = |unit: UnitIndex| {
        plan.units.get(unit).is_some_and(|unit| unit.compression != Compression::None)
    };
    let mut by_unit = failed_records(plan, sum, &is_compressed);
    let counts = |unit: UnitIndex| sum.audit.counts.get(unit as usize).copied().unwrap_or_default();
    let all: u64 = by_unit.values().map(|cracked| cracked.failed.len() as u64).sum();
    let sound: u64 = plan
        .units
        .iter()
        .filter(|(unit, _)| is_compressed(*unit))
        .map(|(unit, _)| counts(unit).pages)
        .sum();
    by_unit.retain(|unit, cracked| {
        let failed = cracked.failed.len() as u64;
        let counts = counts(*unit);
        failed * 4 > counts.pages || all * 8 > sound || cracked.rows_failed * 16 > counts.rows
    });
    sum.audit.bad.retain(|page| {
        !page
            .unit
            .and_then(|unit| by_unit.get(&unit))
            .is_some_and(|it| it.failed.contains(&page.page))
    });
    sum.findings.extract(|finding| {
        let page = finding.location.page.unwrap_or_default();
        let Some(cracked) = unit_of(plan, finding).and_then(|unit| by_unit.get(&unit)) else {
            return false;
        };
        let is_of_page = finding.is(Class::Crack) || finding.error == UMBRELLA;
        finding.error == UNEXPANDED || (is_of_page && cracked.failed.contains(&page))
    });
    sum.audit.unexpanded.extend(by_unit.keys());
    let tell = |(unit, cracked): (UnitIndex, FailedRecords)| {
        NotChecked::asked(
            format!(
                "records of {} pages and {} more of {}",
                cracked.failed.len(),
                cracked.rows_failed,
                name(plan, unit)
            ),
            "too many are not in the compressed form that is published",
        )
    };
    by_unit.into_iter().map(tell).collect()
}

/// How often a unit violates a rule.
#[derive(Default)]
struct Violations {
    pages: BTreeSet<PageId>,
    rows: u64,
    /// The row of the last one: its columns are reported one after the other.
    last: Option<(PageId, Option<Slot>)>,
}

fn withdraw_rules(plan: &Plan, sum: &mut Partial) -> Vec<NotChecked> {
    let mut found: BTreeMap<(UnitIndex, u32), Violations> = BTreeMap::new();
    for finding in sum.findings.iter_mut().filter(|finding| finding.is(Class::Rule)) {
        if let Some(unit) = unit_of(plan, finding) {
            let violations = found.entry((unit, finding.error)).or_default();
            violations.pages.extend(finding.location.page);
            let row = finding.location.page.map(|page| (page, finding.location.slot));
            violations.rows += u64::from(row.is_none() || row != violations.last);
            violations.last = row;
        }
    }
    found.retain(|(unit, error), violations| {
        let is_user = plan.units.get(*unit).is_some_and(|unit| unit.owner.is_user);
        if *error == NULL && !is_user {
            return violations.rows >= SYSTEM_NULLS_MIN;
        }
        let counts = sum.audit.counts.get(*unit as usize).copied().unwrap_or_default();
        let pages = violations.pages.len() as u64;
        let are_most_pages = pages >= PAGES_MIN && pages * 4 >= counts.pages;
        are_most_pages || (violations.rows >= ROWS_MIN && violations.rows * 2 > counts.rows)
    });
    sum.findings.extract(|finding| {
        unit_of(plan, finding).is_some_and(|unit| found.contains_key(&(unit, finding.error)))
    });
    let tell = |((unit, error), violations): ((UnitIndex, u32), Violations)| {
        NotChecked::asked(
            format!("rule {error} on {} pages of {}", violations.pages.len(), name(plan, unit)),
            "too many of its pages or rows violate it: more likely their form is not understood",
        )
    };
    found.into_iter().map(tell).collect()
}
