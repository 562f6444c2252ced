//! Forwarded rows and off-row data (`docs/check.md` 7, 8 and 17).
//!
//! ```text
//! scan      read.rs      facts of a page: stubs, forwarded records, references, nodes
//!           facts.rs     which of them are hashed                   8960 on the spot
//! finish    exact.rs     units whose multiset hashes do not balance, read again
//!           roots.rs     nodes of an older kind: roots of unknown form, or no roots
//!           forward.rs   8971, 8972, 8993, 8994
//!           value.rs     8925, 8929, 8961 - 8965, 8974
//! ```
//!
//! ```text
//! heap page                 stub 04 | target ────────────────┐
//!                                 ^                          v
//! heap page, forwarded record     └── back pointer 00 04 | rid |
//!
//! row: complex column ── page, slot, text id (and size) ──> node ── the same ──> node
//! ```
//!
//! Invariants
//! - Every stub points to a forwarded record that points back to it; every node is referenced once.
//! - Ghosts state nothing: the nodes of a deleted row may be deleted, and their slots reused by
//!   other values (seen in a healthy backup).
//! - Findings come from a second pass that has read everything the hashes were made of. When it has
//!   not, nothing is reported and the unit is listed as not verified.

use std::collections::{BTreeSet, HashSet};

use extentdb_base::ObjectId;

use crate::audit::part::BadPage;
use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings, Location};
use crate::partial::Partial;
use crate::plan::Plan;
use crate::relation::Relation;
use crate::second_pass::SecondPass;
use crate::unit::{Structure, UnitIndex};

mod exact;
mod facts;
mod forward;
mod node;
pub(crate) mod part;
mod pass;
mod pointer;
mod read;
mod report;
mod roots;
mod rowset;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use node::is_tree_page_in_disguise;
pub(crate) use pass::OffRowCollector;

use exact::{ExactFacts, ExactHashes, ExactReader, FACTS_PER_PASS, SUSPECTS_MAX, places};
use report::Reporter;
use rowset::Rowsets;
use value::Values;

const WHAT: &str = "off-row data and forwarded rows";

/// Outcome of the second pass, besides findings.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) notes: Vec<Finding>,
    pub(crate) not_checked: Vec<NotChecked>,
}

impl Outcome {
    fn leave_out(&mut self, what: String, why: &str, was_asked_for: bool) {
        self.not_checked.push(NotChecked { what, why: why.to_owned(), was_asked_for });
    }
}

/// Looks again at what does not balance.
pub(crate) fn verify_off_row(
    pass: &SecondPass<'_>,
    sum: &Partial,
    findings: &mut Findings,
) -> Outcome {
    let mut rowsets = Rowsets::new(pass.plan, sum);
    rowsets.close_gaps(|rowset| roots::has_none(pass, rowset).unwrap_or(false));
    let mut outcome = Outcome::default();
    list_left_out(pass.plan, &rowsets, &mut outcome);
    let open = open_units(pass.plan, sum, &rowsets);
    if !open.is_empty() {
        Verification {
            pass,
            sum,
            rowsets: &rowsets,
            open,
            findings,
            outcome: &mut outcome,
        }
        .run();
    }
    outcome
}

/// Units whose multiset hashes do not balance, and that can be judged.
fn open_units(plan: &Plan, sum: &Partial, rowsets: &Rowsets) -> BTreeSet<UnitIndex> {
    let is_open = |unit: UnitIndex, relation: Relation| {
        let Some(rowset) = rowsets.of(unit) else { return false };
        match relation {
            Relation::Forward => {
                let is_heap =
                    plan.units.get(unit).is_some_and(|unit| unit.structure == Structure::Heap);
                is_heap && rowset.has_known_rows()
            }
            Relation::Pointer | Relation::PointerSize => rowset.has_known_nodes(),
            _ => false,
        }
    };
    let open = sum
        .sums
        .iter()
        .filter(|(unit, sums)| sums.unbalanced().any(|relation| is_open(*unit, relation)));
    open.map(|(unit, _)| unit).collect()
}

/// Rowsets with off-row data or stubs that are not checked.
fn list_left_out(plan: &Plan, rowsets: &Rowsets, outcome: &mut Outcome) {
    let mut compressed = 0u64;
    for rowset in rowsets.iter() {
        let Some((owner, why)) = rowset.left_out() else { continue };
        if rowset.is_compressed() {
            compressed += u64::from(!rowset.texts.is_empty());
            continue;
        }
        let name = plan.names.get(&owner.object).cloned().unwrap_or_default();
        outcome.leave_out(format!("{WHAT} of {name} (index ID {})", owner.index), why, false);
    }
    if compressed > 0 {
        let what = format!("{WHAT} of {compressed} compressed rowsets");
        outcome.leave_out(
            what,
            "the compressed forms are known from public descriptions only",
            false,
        );
    }
}

struct Verification<'l> {
    pass: &'l SecondPass<'l>,
    sum: &'l Partial,
    rowsets: &'l Rowsets,
    open: BTreeSet<UnitIndex>,
    findings: &'l mut Findings,
    outcome: &'l mut Outcome,
}

impl Verification<'_> {
    /// First at the rowsets that are concerned; at all, when others have part in the hashes.
    fn run(mut self) {
        let near = self.open.iter().filter_map(|unit| self.rowsets.of(*unit));
        let near: BTreeSet<UnitIndex> = near.flat_map(rowset::Rowset::units).collect();
        if self.sum_is_explained(&near).is_none() {
            self.outcome.leave_out(WHAT.to_owned(), "the run was stopped", true);
        }
    }

    fn sum_is_explained(&mut self, near: &BTreeSet<UnitIndex>) -> Option<()> {
        let all = self.rowsets.iter().filter(|rowset| rowset.has_known_rows());
        let all: BTreeSet<UnitIndex> = all.flat_map(rowset::Rowset::units).collect();
        let open = self.open.clone();
        for visit in [near, &all] {
            let reader = ExactReader {
                pass: self.pass,
                open: &open,
                visit,
                id_max: pass::id_max(self.pass.plan),
            };
            let (suspects, seen) = self.look(&reader)?;
            let of_scan = ExactHashes::of(&self.sum.sums, &open);
            let certain: BTreeSet<UnitIndex> = open
                .iter()
                .copied()
                .filter(|unit| of_scan.agree(&seen.hashes_of_units, *unit))
                .collect();
            let is_last = visit.len() == all.len();
            if certain.len() == open.len() || is_last {
                if self.is_implausible(&suspects) {
                    let why =
                        "most of them disagree: more likely they have a form that is not known";
                    self.outcome.leave_out(format!("{WHAT} of {}", self.names(&open)), why, true);
                    return Some(());
                }
                self.report_uncertain(&certain);
                return self.judge(&reader, &certain, &suspects, seen);
            }
        }
        Some(())
    }

    /// The addresses that disagree, and what is stated about them.
    fn look(&self, reader: &ExactReader<'_>) -> Option<(BTreeSet<u64>, ExactFacts)> {
        let facts = ExactHashes::of(&self.sum.sums, reader.open).facts();
        let decoded =
            if self.pass.options.force_rescan { None } else { reader.decode(&self.sum.sums) };
        let suspects = match decoded {
            Some(suspects) => suspects,
            None => reader.search(facts.div_ceil(FACTS_PER_PASS).max(1))?,
        };
        let wanted: HashSet<u64> = suspects.iter().copied().collect();
        let seen = reader.look(&wanted)?;
        Some((suspects, seen))
    }

    /// True when so many addresses of sound units disagree that it cannot be damage.
    fn is_implausible(&self, suspects: &BTreeSet<u64>) -> bool {
        const PLACES_MIN: u64 = 32;
        let is_damaged = |unit: UnitIndex| {
            let rowset =
                self.rowsets.of(unit).map(|rowset| rowset.units().collect::<BTreeSet<_>>());
            let has = |page: &BadPage| {
                page.unit.zip(rowset.as_ref()).is_some_and(|(unit, own)| own.contains(&unit))
            };
            self.sum.audit.bad.iter().any(has)
        };
        let stated = |unit: UnitIndex| {
            let sums = self.sum.sums.unit(unit)?;
            Some(
                [Relation::Pointer, Relation::Forward]
                    .map(|relation| sums.acc(relation).minus)
                    .iter()
                    .sum::<u64>(),
            )
        };
        let all: u64 = self.open.iter().filter_map(|unit| stated(*unit)).sum();
        let found = suspects.len() as u64;
        found >= PLACES_MIN && found * 2 > all && !self.open.iter().any(|unit| is_damaged(*unit))
    }

    fn names(&self, units: &BTreeSet<UnitIndex>) -> String {
        let objects =
            units.iter().filter_map(|unit| Some(self.pass.plan.units.get(*unit)?.owner.object));
        let objects: BTreeSet<ObjectId> = objects.collect();
        objects.into_iter().map(|object| self.name(object)).collect::<Vec<_>>().join(", ")
    }

    fn judge(
        &mut self,
        reader: &ExactReader<'_>,
        certain: &BTreeSet<UnitIndex>,
        suspects: &BTreeSet<u64>,
        seen: ExactFacts,
    ) -> Option<()> {
        if seen.is_cut || suspects.len() >= SUSPECTS_MAX {
            let why = "more places disagree than are followed up; the first of them were";
            self.outcome.leave_out(format!("all of the damaged {WHAT}"), why, true);
        }
        let places = places(suspects);
        let in_flight = seen.in_flight.clone();
        let mut reporter = Reporter::new(
            self.pass.plan,
            self.rowsets,
            &self.sum.audit.bad,
            in_flight,
            self.findings,
        );
        forward::verify_forwarding(&places, &seen, certain, &mut reporter);
        Values::new(&seen, certain, &mut reporter).verify(&places, reader)?;
        let doubtful = std::mem::take(&mut reporter.doubtful);
        for (object, count) in doubtful {
            self.note_doubtful(object, count);
        }
        Some(())
    }

    /// Hashes that the second pass could not reproduce.
    fn report_uncertain(&mut self, certain: &BTreeSet<UnitIndex>) {
        for unit in self.open.difference(certain).filter_map(|unit| self.pass.plan.units.get(*unit))
        {
            let name = self.name(unit.owner.object);
            let why = "the second look did not see what the scan had seen";
            let args = [unit.owner.object.0.into(), name.clone().into(), WHAT.into(), why.into()];
            let place = Location::default().owned_by(unit.owner);
            self.outcome.notes.push(Finding::new(59022, place, args));
            self.outcome.leave_out(format!("{WHAT} of {name}"), why, true);
        }
    }

    fn note_doubtful(&mut self, object: ObjectId, count: u64) {
        let name = self.name(object);
        let why = "pages of the object changed after the last checkpoint";
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let args = [object.0.into(), name.clone().into(), count.into(), why.into()];
        self.outcome.notes.push(Finding::new(59023, Location::default(), args));
        self.outcome.leave_out(format!("{count} findings about {WHAT} of {name}"), why, true);
    }

    fn name(&self, object: ObjectId) -> String {
        self.pass.plan.names.get(&object).cloned().unwrap_or_default()
    }
}
