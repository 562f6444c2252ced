//! Findings: message number, location and sentence; and the collection of a run.
//!
//! Order (`docs/check.md` 13): system objects by object id, then user objects, then what belongs to
//! no object; within an object by index, partition, allocation unit and page; on a page the
//! umbrella 8928 comes first, as DBCC prints it.
//!
//! Invariants
//! - The totals count every finding, kept or not.
//! - A collection that is full keeps the findings that come first in the order, so what is kept
//!   does not depend on the order of discovery.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId, PageId, Slot};
use extentdb_messages::{Arg, Class, Counts, Repair, RepairLevel, is_in, lookup};

use crate::wire::wire_structs;

/// "Page %S_PGID could not be processed. See other errors for details."
pub const UMBRELLA: u32 = 8928;

/// The object, index, partition and unit that a finding belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Owner {
    /// User objects come after system objects.
    pub is_user: bool,
    /// Object id of the table.
    pub object: ObjectId,
    /// The index of the table.
    pub index: IndexId,
    /// The partition (rowset).
    pub partition: HobtId,
    /// The allocation unit.
    pub unit: AllocUnitId,
}

/// Where a finding is. What is not known is absent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Location {
    /// Object, index, partition and unit; `None` when no single object owns it.
    pub owner: Option<Owner>,
    /// Page, in a file of the database.
    pub page: Option<PageId>,
    /// The slot on the page.
    pub slot: Option<Slot>,
    /// Offset on the page.
    pub byte_offset: Option<u32>,
}

impl Location {
    /// A page that has no owner.
    pub fn page(page: PageId) -> Location {
        Location { page: Some(page), ..Location::default() }
    }

    /// The same location, with an owner.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Location {
        Location { owner: Some(owner), ..self }
    }

    /// A slot of the page.
    #[must_use]
    pub fn slot(self, slot: u16) -> Location {
        Location { slot: Some(Slot(slot)), ..self }
    }

    /// A byte of the page.
    #[must_use]
    pub fn at(self, byte_offset: usize) -> Location {
        Location { byte_offset: u32::try_from(byte_offset).ok(), ..self }
    }
}

/// The finding that explains another one. Prints as `8939 (1:312)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cause {
    /// The page that is damaged.
    pub page: PageId,
    /// What was reported for it.
    pub error: u32,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.error, self.page)
    }
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Message number, as in `sys.messages`.
    pub error: u32,
    /// 16 for damage, 10 for information.
    pub severity: u8,
    /// Distinguishes the conditions of one number, where they are known.
    pub state: u8,
    /// Where it is.
    pub location: Location,
    /// The mildest repair that removes it.
    pub repair: RepairLevel,
    /// The finding of which this is a consequence.
    pub derived_from: Option<Cause>,
    /// Pages besides the location that the sentence names.
    pub related: [PageId; 2],
    /// The key of the row, such as `[OrderID] = 10248`, where it can be read.
    pub key: Option<String>,
    /// Lines that belong to this one and are not counted: 8955 after 8951, 8956 after 8952, 8988
    /// after 8984.
    pub companions: Vec<Finding>,
    /// The text of the message with its arguments.
    pub message: String,
}

impl Finding {
    /// A finding with its sentence. Arguments that do not fit the message are a mistake of the
    /// caller and show in it.
    pub fn new<'a>(
        error: u32,
        location: Location,
        args: impl IntoIterator<Item = Arg<'a>>,
    ) -> Finding {
        let args: Vec<Arg<'a>> = args.into_iter().collect();
        let index = location.owner.map_or(-1, |owner| owner.index.0);
        let (severity, repair, message) = match lookup(error) {
            Some(message) => {
                let text = message.format(&args);
                debug_assert!(text.is_ok(), "{text:?}");
                let text = text.unwrap_or_else(|error| error.to_string());
                (message.severity, message.repair, text)
            }
            None => (16, Repair::Always(RepairLevel::None), format!("message {error}")),
        };
        Finding {
            error,
            severity,
            state: 1,
            location,
            repair: repair.level(index),
            derived_from: None,
            related: [PageId::NONE; 2],
            key: None,
            companions: Vec::new(),
            message,
        }
    }

    /// With another state than 1.
    #[must_use]
    pub fn state(self, state: u8) -> Finding {
        Finding { state, ..self }
    }

    /// With the pages that it names besides its location.
    #[must_use]
    pub fn related(self, related: [PageId; 2]) -> Finding {
        Finding { related, ..self }
    }

    /// With the key of its row.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Finding {
        Finding { key: Some(key.into()), ..self }
    }

    /// With a line that belongs to it and is not counted.
    #[must_use]
    pub fn with(mut self, companion: Finding) -> Finding {
        debug_assert_eq!(companion.counts(), Counts::Neither, "{}", companion.error);
        self.companions.push(companion);
        self
    }

    /// The total it adds to.
    pub fn counts(&self) -> Counts {
        lookup(self.error).map_or(Counts::Neither, |message| message.counts)
    }

    /// True when its message is in the class.
    pub(crate) fn is(&self, class: Class) -> bool {
        is_in(self.error, class)
    }

    /// The order of the report.
    pub fn order(&self, other: &Finding) -> Ordering {
        let sentences = |finding: &'_ Finding| -> Vec<String> {
            finding.companions.iter().map(|companion| companion.message.clone()).collect()
        };
        (self.sort_key().cmp(&other.sort_key()))
            .then_with(|| self.message.cmp(&other.message))
            .then_with(|| self.key.cmp(&other.key))
            .then_with(|| sentences(self).cmp(&sentences(other)))
    }

    fn sort_key(&self) -> impl Ord + use<> {
        let Location { owner, page, slot, byte_offset } = self.location;
        let rank = if self.error == UMBRELLA { 0 } else { self.error };
        (owner.is_none(), owner, page, rank, slot, byte_offset, self.state)
    }
}

/// Errors counted as DBCC counts them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Counted as "allocation errors" in 8989.
    pub allocation: u64,
    /// Counted as "consistency errors" in 8989.
    pub consistency: u64,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.allocation += other.allocation;
        self.consistency += other.consistency;
    }

    /// Allocation and consistency errors together.
    pub fn sum(self) -> u64 {
        self.allocation + self.consistency
    }
}

/// A collection of findings: the first `limit` in the order of the report, and totals of all.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    kept: Vec<Finding>,
    limit: usize,
    /// Findings that were added, kept or not.
    count: u64,
    /// By object; `None` = not associated with any single object.
    totals: BTreeMap<Option<ObjectId>, Totals>,
    repair: RepairLevel,
}

impl Findings {
    /// An empty collection.
    pub fn new(limit: usize) -> Findings {
        Findings { limit, ..Findings::default() }
    }

    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        if let Some(total) = self.total_of(&finding) {
            *total += 1;
        }
        self.count += 1;
        self.repair = self.repair.max(finding.repair);
        self.kept.push(finding);
        self.shrink();
    }

    fn total_of(&mut self, finding: &Finding) -> Option<&mut u64> {
        let object = finding.location.owner.map(|owner| owner.object);
        let totals = self.totals.entry(object).or_default();
        match finding.counts() {
            Counts::Allocation => Some(&mut totals.allocation),
            Counts::Consistency => Some(&mut totals.consistency),
            Counts::Neither => None,
        }
    }

    /// Adds everything of another collection.
    pub fn merge(&mut self, other: Findings) {
        for (object, totals) in other.totals {
            self.totals.entry(object).or_default().add(totals);
        }
        self.count += other.count;
        self.repair = self.repair.max(other.repair);
        self.kept.extend(other.kept);
        self.shrink();
    }

    /// The collection without what does not pass; totals are those of what is left. Exact as long
    /// as everything added was kept, which the second value states.
    pub(crate) fn narrow(self, passes: impl Fn(&Finding) -> bool) -> (Findings, bool) {
        let is_exact = self.count == self.kept.len() as u64;
        let mut narrowed = Findings::new(self.limit);
        self.kept.into_iter().filter(passes).for_each(|finding| narrowed.push(finding));
        (narrowed, is_exact)
    }

    /// Sorting is put off until the collection holds twice what it may.
    fn shrink(&mut self) {
        if self.kept.len() > self.limit.saturating_mul(2) {
            self.sort_and_truncate();
        }
    }

    fn sort_and_truncate(&mut self) {
        self.kept.sort_by(Finding::order);
        self.kept.truncate(self.limit);
    }

    /// The findings that are kept, in order.
    pub fn into_sorted(mut self) -> Vec<Finding> {
        self.sort_and_truncate();
        self.kept
    }

    /// Removes kept findings from list and totals.
    pub(crate) fn extract(&mut self, mut is_wanted: impl FnMut(&Finding) -> bool) -> Vec<Finding> {
        let (taken, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.kept).into_iter().partition(&mut is_wanted);
        for finding in &taken {
            if let Some(total) = self.total_of(finding) {
                *total = total.saturating_sub(1);
            }
        }
        self.count -= taken.len() as u64;
        // The repair level of findings that were not kept is unknown: then the level stays.
        if self.count == kept.len() as u64 {
            self.repair =
                kept.iter().map(|finding| finding.repair).max().unwrap_or(RepairLevel::None);
        }
        self.kept = kept;
        taken
    }

    /// The findings that are kept, in no order, to be completed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.kept.iter_mut()
    }

    /// Findings added, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Totals of everything.
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        self.totals.values().for_each(|totals| all.add(*totals));
        all
    }

    /// Totals of an object; of `None`, what belongs to no object.
    pub fn totals_of(&self, object: Option<ObjectId>) -> Totals {
        self.totals.get(&object).copied().unwrap_or_default()
    }

    /// The highest repair level of all findings.
    pub fn repair(&self) -> RepairLevel {
        self.repair
    }
}

/// A count as an argument of a message.
pub fn int_arg(value: u64) -> Arg<'static> {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}

/// A page as an argument of a message.
pub fn page_arg(page: PageId) -> Arg<'static> {
    Arg::Page { file: page.file.0, page: page.page }
}

wire_structs! {
    Owner { is_user, object, index, partition, unit }
    Location { owner, page, slot, byte_offset }
    Cause { page, error }
    Finding {
        error, severity, state, location, repair, derived_from, related, key, companions, message
    }
    Totals { allocation, consistency }
    Findings { kept, limit, count, totals, repair }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(object: i32, is_user: bool) -> Owner {
        Owner {
            is_user,
            object: ObjectId(object),
            index: IndexId(1),
            partition: HobtId(7),
            unit: AllocUnitId(8),
        }
    }

    fn umbrella(owner: Owner, page: u32) -> Finding {
        let page = PageId::new(1, page);
        let args = [
            owner.object.0.into(),
            1.into(),
            7i64.into(),
            8i64.into(),
            "In-row data".into(),
            page_arg(page),
        ];
        Finding::new(UMBRELLA, Location::page(page).owned_by(owner), args)
    }

    fn leaked(page: u32) -> Finding {
        let page = PageId::new(1, page);
        Finding::new(8905, Location::page(page), [page_arg(page), 7.into()])
    }

    #[test]
    fn system_objects_come_first_and_unowned_findings_last() {
        let mut bag = Findings::new(10);
        let system = owner(41, false);
        let user = owner(5, true);
        for finding in [leaked(8), umbrella(user, 9), umbrella(system, 70), umbrella(system, 60)] {
            bag.push(finding);
        }
        let pages: Vec<_> =
            bag.into_sorted().iter().map(|f| f.location.page.unwrap().page).collect();
        assert_eq!(pages, [60, 70, 9, 8]);
    }

    #[test]
    fn a_full_collection_keeps_the_first_and_counts_all_in_any_order() {
        let pages = [5u32, 3, 9, 1, 7, 2, 8, 4, 6];
        let bag = |order: &[u32]| {
            let mut bag = Findings::new(3);
            order.iter().for_each(|page| bag.push(leaked(*page)));
            bag
        };
        let mut halves = bag(&pages[..4]);
        halves.merge(bag(&pages[4..]));
        for bag in [bag(&pages), halves] {
            assert_eq!((bag.count(), bag.totals().allocation), (9, 9));
            let kept: Vec<_> =
                bag.into_sorted().iter().map(|f| f.location.page.unwrap().page).collect();
            assert_eq!(kept, [1, 2, 3]);
        }
    }

    #[test]
    fn companions_are_not_counted_and_follow_their_finding() {
        let of_table = owner(5, true);
        let page = PageId::new(1, 77);
        let line = [1.into(), 77.into(), 3.into(), "a = 1".into(), "b = 2".into()];
        let location = Location::page(page).slot(3).owned_by(of_table);
        let row = Finding::new(8951, location, ["t".into(), 5.into(), "i".into(), 2.into()]);
        let mut bag = Findings::new(10);
        bag.push(row.key("[a] = 1").with(Finding::new(8955, location, line)));
        assert_eq!((bag.count(), bag.totals().consistency), (1, 1));
        let kept = bag.into_sorted();
        assert_eq!((kept[0].companions[0].error, kept[0].key.as_deref()), (8955, Some("[a] = 1")));
    }

    #[test]
    fn a_narrowed_collection_counts_what_is_left() {
        let mut bag = Findings::new(10);
        (1..6).for_each(|page| bag.push(leaked(page)));
        let (bag, is_exact) =
            bag.narrow(|finding| finding.location.page.is_some_and(|page| page.page > 3));
        assert_eq!((bag.count(), bag.totals().allocation, is_exact), (2, 2, true));
    }

    #[test]
    fn a_nonclustered_index_can_be_rebuilt() {
        let mut of_index = owner(5, true);
        assert_eq!(umbrella(of_index, 1).repair, RepairLevel::AllowDataLoss);
        of_index.index = IndexId(2);
        assert_eq!(umbrella(of_index, 1).repair, RepairLevel::Rebuild);
    }
}
