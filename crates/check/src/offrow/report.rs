//! Findings of this module on their way into the collection: their cause, and whether they may be
//! changes in flight.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use extentdb_base::{ObjectId, PageId};
use extentdb_messages::Arg;

use crate::audit::part::BadPage;
use crate::finding::{Cause, Finding, Findings, Location};
use crate::plan::Plan;
use crate::unit::{Unit, UnitIndex};

use super::rowset::Rowsets;

/// A finding before its owner is known: number, arguments, place, other pages.
pub(super) type Draft = (u32, Vec<Arg<'static>>, Location, [PageId; 2]);

pub(super) struct Reporter<'r> {
    pub(super) plan: &'r Plan,
    pub(super) rowsets: &'r Rowsets,
    /// Pages that could not be used, with what was reported for them.
    bad: HashMap<PageId, u32>,
    /// The first bad page of each unit.
    first_bad: BTreeMap<UnitIndex, Cause>,
    /// Units with pages that changed after the last checkpoint.
    in_flight: BTreeSet<UnitIndex>,
    /// Findings that may be changes in flight, by object.
    pub(super) doubtful: BTreeMap<ObjectId, u64>,
    findings: &'r mut Findings,
}

impl<'r> Reporter<'r> {
    pub(super) fn new(
        plan: &'r Plan,
        rowsets: &'r Rowsets,
        bad_pages: &[BadPage],
        in_flight: BTreeSet<UnitIndex>,
        findings: &'r mut Findings,
    ) -> Reporter<'r> {
        let mut bad = plan.bad.clone();
        let mut first_bad: BTreeMap<UnitIndex, Cause> = BTreeMap::new();
        for BadPage { page, unit, error } in bad_pages {
            bad.entry(*page).or_insert(*error);
            if let Some(unit) = unit {
                let cause = Cause { page: *page, error: *error };
                let first = first_bad.entry(*unit).or_insert(cause);
                *first = (*first).min(cause);
            }
        }
        Reporter {
            plan,
            rowsets,
            bad,
            first_bad,
            in_flight,
            doubtful: BTreeMap::new(),
            findings,
        }
    }

    /// What was reported for a page that could not be used.
    pub(super) fn cause(&self, page: PageId) -> Option<Cause> {
        self.bad.get(&page).map(|error| Cause { page, error: *error })
    }

    /// The first bad page of the units that belong together with this one: who referred to a lost
    /// node may have been there.
    pub(super) fn likely_cause(&self, unit: UnitIndex) -> Option<Cause> {
        let rowset = self.rowsets.of(unit)?;
        rowset.units().filter_map(|unit| self.first_bad.get(&unit).copied()).min()
    }

    /// Reports something of a unit. A bad page that it names is its cause.
    pub(super) fn of_unit(&mut self, unit: UnitIndex, draft: impl FnOnce(&Unit) -> Draft) {
        let Some((finding, named)) = self.finding(unit, draft) else { return };
        let cause = named.iter().find_map(|page| self.cause(*page));
        self.push(unit, Finding { derived_from: cause, ..finding });
    }

    /// Makes a finding of a unit; the pages that it names besides its location are returned, too.
    pub(super) fn finding(
        &self,
        unit: UnitIndex,
        draft: impl FnOnce(&Unit) -> Draft,
    ) -> Option<(Finding, [PageId; 2])> {
        let unit = self.plan.units.get(unit)?;
        let (error, args, place, related) = draft(unit);
        Some((Finding::new(error, place.owned_by(unit.owner), args).related(related), related))
    }

    /// Adds a finding to the collection, unless it may be a change in flight.
    pub(super) fn push(&mut self, unit: UnitIndex, finding: Finding) {
        let rowset = self.rowsets.of(unit);
        let is_moving =
            rowset.is_some_and(|rowset| rowset.units().any(|unit| self.in_flight.contains(&unit)));
        match finding.location.owner {
            Some(owner) if is_moving => *self.doubtful.entry(owner.object).or_default() += 1,
            _ => self.findings.push(finding),
        }
    }
}
