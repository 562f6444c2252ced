//! Changes in flight: findings that a restart of the server would make disappear (`docs/check.md`
//! 21, `docs/register.md` rows 17, 36, 37).
//!
//! ```text
//! closed cleanly             every finding counts
//! log replayed to its end    objects of open transactions, and pages that stopped, are in doubt
//! no log, or not to its end  so are objects with pages newer than the last checkpoint
//! ```
//!
//! Objects that the replayed log changed have counters and classes of fullness that no log record
//! keeps up: a restart recounts them, and so they are counted in one note (59040) and are no
//! findings.
//!
//! Of objects and pages in doubt, findings that compare several pages become notes (59026), and the
//! run is incomplete. What a page says about itself always counts.
//!
//! Invariants
//! - Nothing is withdrawn in a database that was closed cleanly.
//! - Totals, objects and verdict are those of the findings that stay.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, Lsn, ObjectId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::MapKind;
use extentdb_format::page::PageHeader;
use extentdb_messages::{Arg, Class};
use extentdb_reader::source::is_zero;
use extentdb_reader::{PageSource, RecoverySummary, StoppedPage, UnfinishedTransaction};

use crate::audit::part::UnitCounts;
use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings, Location, int_arg, page_arg};
use crate::options::LogUse;
use crate::plan::Plan;

/// What is left out without a log.
const UNREPLAYED: &str = "changes in the log since the last checkpoint";
/// Transactions and pages that are named one by one.
const NAMED_MAX: usize = 100;
/// Objects that a transaction's note names.
const OBJECTS_MAX: usize = 10;

/// What became of the findings.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) notes: Vec<Finding>,
    pub(crate) not_checked: Vec<NotChecked>,
}

/// Takes findings that may be changes in flight out of the collection, and says what is known of
/// the log.
pub(crate) fn withdraw_in_flight(
    plan: &Plan,
    log: &LogUse,
    source: &dyn PageSource,
    counts: &[UnitCounts],
    findings: &mut Findings,
) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.note_log(plan, log);
    let recounted = recounted_at_restart(plan, log);
    if !recounted.is_empty() {
        outcome.note_recounted(&findings.extract(|finding| {
            let owner = finding.location.owner;
            finding.is(Class::Counter)
                && owner.is_some_and(|owner| recounted.contains(&owner.object))
        }));
    }
    let Some(mut in_flight) = InFlight::new(plan, log, source, counts) else { return outcome };
    let withdrawn = findings.extract(|finding| in_flight.covers(finding));
    outcome.note_withdrawn(plan, withdrawn, in_flight.why());
    outcome
}

/// Objects that the replayed log changed: a restart of the server recounts them.
fn recounted_at_restart(plan: &Plan, log: &LogUse) -> BTreeSet<ObjectId> {
    let LogUse::Redone(summary) = log else { return BTreeSet::new() };
    let open = summary.unfinished.iter().flat_map(|open| &open.units);
    let objects = summary.units.iter().chain(open).filter_map(|unit| unit_of(plan, *unit));
    objects.map(|(object, _)| object).collect()
}

/// What is in doubt.
struct InFlight<'d> {
    source: &'d dyn PageSource,
    objects: BTreeSet<ObjectId>,
    has_system_objects: bool,
    pages: BTreeSet<PageId>,
    /// Pages newer than this are in doubt as well.
    checkpoint: Option<Lsn>,
    ages: BTreeMap<PageId, Age>,
}

/// How a page stands to the last checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    Unknown,
    Unformatted,
    Older,
    Newer,
}

impl<'d> InFlight<'d> {
    /// `None` when nothing can be in flight.
    fn new(
        plan: &Plan,
        log: &LogUse,
        source: &'d dyn PageSource,
        counts: &[UnitCounts],
    ) -> Option<Self> {
        let redone = match log {
            LogUse::Redone(summary) => Some(&**summary),
            LogUse::None | LogUse::Missing | LogUse::Unusable(_) => None,
        };
        if plan.was_closed_cleanly && redone.is_none() {
            return None;
        }
        let is_current = redone.is_some_and(|summary| summary.ends_early.is_none());
        let checkpoint = plan.checkpoint.filter(|_| !is_current);
        let mut in_flight = InFlight {
            source,
            objects: BTreeSet::new(),
            has_system_objects: false,
            pages: BTreeSet::new(),
            checkpoint,
            ages: BTreeMap::new(),
        };
        if let Some(summary) = redone {
            in_flight.add_summary(plan, summary);
        }
        if checkpoint.is_some() {
            let newer = plan.units.iter().zip(counts).filter(|(_, count)| count.newer > 0);
            newer.for_each(|((_, unit), _)| {
                in_flight.add_object(unit.owner.object, unit.owner.is_user)
            });
        }
        Some(in_flight)
    }

    fn add_summary(&mut self, plan: &Plan, summary: &RecoverySummary) {
        for open in summary.unfinished.iter().filter(|open| open.not_undone.is_some()) {
            open.units.iter().for_each(|unit| self.add_unit(plan, *unit));
            self.pages.extend(&open.pages);
        }
        for stopped in &summary.stopped {
            self.add_unit(plan, stopped.unit);
            self.pages.insert(stopped.page);
        }
    }

    fn add_unit(&mut self, plan: &Plan, named: AllocUnitId) {
        if let Some(unit) = unit_of(plan, named) {
            self.add_object(unit.0, unit.1);
        }
    }

    fn add_object(&mut self, object: ObjectId, is_user: bool) {
        self.objects.insert(object);
        self.has_system_objects |= !is_user;
    }

    fn why(&self) -> &'static str {
        match self.checkpoint {
            Some(_) => {
                "the log was not replayed to its end, and pages are newer than the last checkpoint"
            }
            None => "transactions were not finished, or pages could not be brought up to date",
        }
    }

    /// True for a finding that a restart may make disappear.
    fn covers(&mut self, finding: &Finding) -> bool {
        let Location { owner, page, .. } = finding.location;
        if finding.is(Class::Unformatted) {
            return page.is_some_and(|page| self.is_unwritten(page));
        }
        let other = finding
            .related
            .into_iter()
            .find(|related| !related.is_none() && Some(*related) != page);
        let is_across = finding.is(Class::Across) || (finding.is(Class::Keys) && other.is_some());
        let by_object = owner.is_some_and(|owner| self.objects.contains(&owner.object));
        let by_catalog = finding.is(Class::Catalog) && self.has_system_objects;
        let named = page.into_iter().chain(finding.related).filter(|page| !page.is_none());
        is_across && (by_object || by_catalog || named.into_iter().any(|page| self.doubts(page)))
    }

    /// The page, or a map that says what it is, is in doubt.
    fn doubts(&mut self, page: PageId) -> bool {
        let maps = [page.pfs_page(), MapKind::Gam.page_of(page), MapKind::Sgam.page_of(page)];
        self.pages.contains(&page)
            || self.age(page) == Age::Newer
            || (self.checkpoint.is_some()
                && maps.into_iter().any(|map| self.age(map) == Age::Newer))
    }

    /// Allocated, and never written: its content is in the log only.
    fn is_unwritten(&mut self, page: PageId) -> bool {
        let is_empty = self.age(page) == Age::Unformatted;
        is_empty && (self.pages.contains(&page) || self.age(page.pfs_page()) == Age::Newer)
    }

    fn age(&mut self, id: PageId) -> Age {
        if let Some(known) = self.ages.get(&id) {
            return *known;
        }
        let mut page = PageBuf::zeroed();
        let age = match (self.source.read(id, &mut page), self.checkpoint) {
            (Err(_), _) => Age::Unknown,
            (Ok(()), _) if is_zero(&page) => Age::Unformatted,
            (Ok(()), Some(checkpoint)) if PageHeader::of(&page).lsn() > checkpoint => Age::Newer,
            (Ok(()), _) => Age::Older,
        };
        self.ages.insert(id, age);
        age
    }
}

/// Object of a unit as page headers name it, and whether it is a user object.
fn unit_of(plan: &Plan, named: AllocUnitId) -> Option<(ObjectId, bool)> {
    let unit = plan.units.get(plan.units.of_header(named, true)?)?;
    Some((unit.owner.object, unit.owner.is_user))
}

impl Outcome {
    fn note_log(&mut self, plan: &Plan, log: &LogUse) {
        let (why, summary) = match log {
            LogUse::None => return,
            LogUse::Missing => {
                let why = "the database was not closed cleanly and its log is not given";
                self.leave_out(UNREPLAYED.to_owned(), why, true);
                return;
            }
            LogUse::Unusable(why) => {
                self.leave_out(UNREPLAYED.to_owned(), why, true);
                (Some(why), None)
            }
            LogUse::Redone(summary) => (summary.ends_early.as_ref(), Some(summary)),
        };
        if let Some(why) = why {
            self.note(59029, Location::page(PageId::BOOT), [why.as_str().into()]);
        }
        if let Some(summary) = summary {
            self.note_redone(plan, summary);
        }
    }

    /// What the log has brought, and what it has not.
    fn note_redone(&mut self, plan: &Plan, summary: &RecoverySummary) {
        if let Some(why) = &summary.ends_early {
            self.leave_out(format!("changes behind {} in the log", summary.end_lsn), why, true);
        }
        if summary.changes > 0 {
            let args = [
                plan.database.as_str().into(),
                int_arg(summary.records),
                summary.checkpoint.to_string().into(),
                summary.end_lsn.to_string().into(),
                int_arg(summary.pages_changed),
            ];
            self.note(59025, Location::page(PageId::BOOT), args);
        }
        let open = summary.unfinished.iter().take(NAMED_MAX);
        self.notes.extend(open.map(|open| note_open(plan, open)));
        self.notes.extend(summary.stopped.iter().take(NAMED_MAX).map(note_stopped));
        for (op, count) in &summary.left_out {
            self.leave_out(
                format!("what {count} log records {op} did"),
                "they are not replayed",
                false,
            );
        }
        let unnamed = summary.unfinished.len().saturating_sub(NAMED_MAX)
            + summary.stopped.len().saturating_sub(NAMED_MAX)
            + usize::from(summary.has_more_stopped);
        if unnamed > 0 {
            let what = format!("names of {unnamed} more transactions and pages in flight");
            self.leave_out(what, "there are too many", false);
        }
    }

    /// 59040: how many counters there are that a restart brings up to date, and where the first one
    /// is.
    fn note_recounted(&mut self, recounted: &[Finding]) {
        let Some(first) = recounted.first() else { return };
        let args = [int_arg(recounted.len() as u64), first.message.as_str().into()];
        self.note(59040, first.location, args);
    }

    /// One note per finding, and one per object.
    fn note_withdrawn(&mut self, plan: &Plan, withdrawn: Vec<Finding>, why: &'static str) {
        if withdrawn.is_empty() {
            return;
        }
        self.leave_out(
            format!("{} findings that may be changes in flight", withdrawn.len()),
            why,
            true,
        );
        let mut by_object: BTreeMap<ObjectId, (Location, i64)> = BTreeMap::new();
        for finding in &withdrawn {
            if let Some(owner) = finding.location.owner {
                let place = Location { owner: Some(owner), ..Location::default() };
                by_object.entry(owner.object).or_insert((place, 0)).1 += 1;
            }
            let args = [i64::from(finding.error).into(), finding.message.as_str().into()];
            self.notes.push(Finding::new(59026, finding.location, args).related(finding.related));
        }
        for (object, (place, count)) in by_object {
            let name = plan.names.get(&object).cloned().unwrap_or_default();
            let args = [object.0.into(), name.into(), count.into(), why.into()];
            self.note(59023, place, args);
        }
    }

    fn note<'a>(&mut self, error: u32, at: Location, args: impl IntoIterator<Item = Arg<'a>>) {
        self.notes.push(Finding::new(error, at, args));
    }

    fn leave_out(&mut self, what: String, why: &str, was_asked_for: bool) {
        self.not_checked.push(NotChecked { what, why: why.to_owned(), was_asked_for });
    }
}

fn note_open(plan: &Plan, open: &UnfinishedTransaction) -> Finding {
    let objects: BTreeSet<ObjectId> = open
        .units
        .iter()
        .filter_map(|unit| unit_of(plan, *unit))
        .map(|(object, _)| object)
        .collect();
    let name =
        |object: &ObjectId| plan.names.get(object).cloned().unwrap_or_else(|| object.to_string());
    let mut names: Vec<String> = objects.iter().take(OBJECTS_MAX).map(name).collect();
    match objects.len() {
        0 => names.push("no object that is known".to_owned()),
        count if count > OBJECTS_MAX => names.push(format!("and {} more", count - OBJECTS_MAX)),
        _ => {}
    }
    let begun =
        open.begin_time.map_or_else(|| "before the log".to_owned(), |time| time.to_string());
    let args = [
        open.id.to_string().into(),
        open.name.as_str().into(),
        begun.into(),
        int_arg(open.records),
        names.join(", ").into(),
        match &open.not_undone {
            None => "They were undone in memory".into(),
            Some(why) => {
                format!("A restart would undo them; here something of them is still there: {why}")
                    .into()
            }
        },
    ];
    Finding::new(59027, Location::default(), args)
}

fn note_stopped(stopped: &StoppedPage) -> Finding {
    let args = [
        page_arg(stopped.page),
        stopped.lsn.to_string().into(),
        stopped.operation.to_string().into(),
        stopped.why.as_str().into(),
    ];
    Finding::new(59028, Location::page(stopped.page), args)
}
