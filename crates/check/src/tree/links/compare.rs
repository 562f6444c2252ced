//! B-trees: siblings, parents, levels (`docs/check.md` 6 and 22), from exact tables.
//!
//! ```text
//! 8936 A.next = B, B.prev = C ≠ A              8976 parent and previous refer to X, X was not seen
//! 8978 X.prev = Q, Q.next ≠ X                  8980 parent refers to X, X and the child before it
//!                                              were not seen
//! 8935 the parents' order expects another prev 8981 only a next pointer refers to X, X was not
//!      seen
//! 8937 two slots refer to X                    8977 X has no parent, its previous page refers to
//!                                              it
//! 8931 level differs from the parent's         8979 no reference to X
//! 2531 level differs from the previous page's  8982 A.next is a page of another index
//! ```
//!
//! "Seen" is a page that its unit owns and that passed its audit.
//!
//! What healthy files contain
//! - Roots of level 0 above data pages, in clustered indexes: an index page of a clustered index is
//!   never a leaf, and its children may have its own level when that is 0.
//! - `pgfirst` is stale in most files: the walk begins at `pgroot`.

use std::collections::{HashMap, HashSet};

use extentdb_base::PageId;
use extentdb_messages::{Arg, RepairLevel};

use super::index::LinkIndex;
use super::{ChildFact, PageFact};
use crate::audit::has_unverified_parents;
use crate::finding::{Finding, Findings, Location, page_arg};
use crate::plan::Plan;
use crate::unit::{Structure, Unit, UnitIndex};

/// No index in the table of pages or pointers.
const NOWHERE: u32 = u32::MAX;
/// Deeper than any tree.
const LEVELS_MAX: usize = 40;

/// Compares all link facts of some units; the pages with several parents. `foreign` returns the
/// unit of a page that is not among the facts, when it is a sound page of another tree.
pub(crate) fn verify_links(
    plan: &Plan,
    pages: Vec<PageFact>,
    children: Vec<ChildFact>,
    foreign: &mut dyn FnMut(PageId) -> Option<UnitIndex>,
    findings: &mut Findings,
) -> HashSet<PageId> {
    let index = LinkIndex::new(pages, children);
    let mut links = Links {
        plan,
        parent_of: vec![NOWHERE; index.pages().len()],
        child_at: vec![NOWHERE; index.children().len()],
        lost: HashSet::new(),
        doubled: HashSet::new(),
        index,
        foreign,
        findings,
    };
    links.find_parents();
    links.verify_pages();
    links.verify_order();
    links.report_lost();
    links.doubled
}

struct Links<'l> {
    plan: &'l Plan,
    index: LinkIndex,
    /// For each page the index of the pointer to it.
    parent_of: Vec<u32>,
    /// For each pointer the index of its page.
    child_at: Vec<u32>,
    /// Pages that a parent refers to and that were not seen in its unit.
    lost: HashSet<(UnitIndex, PageId)>,
    /// Pages with several parents.
    doubled: HashSet<PageId>,
    foreign: &'l mut dyn FnMut(PageId) -> Option<UnitIndex>,
    findings: &'l mut Findings,
}

impl<'l> Links<'l> {
    fn unit(&self, unit: UnitIndex) -> Option<&'l Unit> {
        self.plan.units.get(unit)
    }

    fn fact(&self, page: PageId, near: u32) -> Option<PageFact> {
        self.index.find(page, near).and_then(|at| self.index.at(at).copied())
    }

    fn pointer(&self, place: u32) -> Option<ChildFact> {
        self.index.children().get(place as usize).copied()
    }

    /// True for pages of a file that was not given: nothing can be said about them.
    fn is_missing(&self, page: PageId) -> bool {
        self.plan.missing_files.contains(&page.file)
    }

    /// Finds the page of every pointer.
    fn find_parents(&mut self) {
        let mut parent = PageId::NONE;
        let mut parent_at = NOWHERE;
        let mut near = 0;
        for place in 0..self.index.children().len() as u32 {
            let Some(pointer) = self.pointer(place) else { break };
            if pointer.parent() != parent {
                parent = pointer.parent();
                parent_at = self.index.find(parent, parent_at.wrapping_add(1)).unwrap_or(NOWHERE);
            }
            let Some(unit) = self.index.at(parent_at).map(|fact| fact.unit) else { continue };
            let found = self.index.find(pointer.child(), near);
            match found.filter(|at| self.index.at(*at).is_some_and(|fact| fact.unit == unit)) {
                Some(at) => {
                    near = at.wrapping_add(1);
                    self.take_parent(at, place);
                }
                None if self.is_missing(pointer.child()) => {}
                None => {
                    self.lost.insert((unit, pointer.child()));
                }
            }
        }
    }

    /// The page at `at` has the pointer at `place`: 8937 when it has another one already.
    fn take_parent(&mut self, at: u32, place: u32) {
        if let Some(child_at) = self.child_at.get_mut(place as usize) {
            *child_at = at;
        }
        let Some(own) = self.parent_of.get_mut(at as usize) else { return };
        if *own == NOWHERE {
            *own = place;
            return;
        }
        let first = *own;
        if let (Some(first), Some(second), Some(fact)) =
            (self.pointer(first), self.pointer(place), self.index.at(at).copied())
        {
            self.doubled.insert(fact.id());
            let args = [
                page_arg(fact.id()),
                page_arg(first.parent()),
                first.slot.into(),
                page_arg(second.parent()),
                second.slot.into(),
            ];
            self.report(8937, &fact, args, [first.parent(), second.parent()]);
        }
    }

    /// Siblings, levels and parents of every page.
    fn verify_pages(&mut self) {
        for at in 0..self.index.pages().len() as u32 {
            let Some(fact) = self.index.at(at).copied() else { break };
            let is_referred_to = self.verify_prev(at, &fact);
            self.verify_next(at, &fact);
            self.verify_parent(at, &fact, is_referred_to);
        }
    }

    /// 8978 and 2531; true when the page before refers to this one.
    fn verify_prev(&mut self, at: u32, fact: &PageFact) -> bool {
        let prev = fact.prev();
        if prev.is_none() {
            return false;
        }
        let before = self.fact(prev, at.wrapping_sub(1));
        match before.filter(|before| before.unit == fact.unit) {
            Some(before) if before.next() == fact.id() => {
                if before.level != fact.level || before.is_leaf != fact.is_leaf {
                    self.report_level(2531, fact, &before);
                }
                true
            }
            None if self.is_missing(prev) => true,
            _ => {
                // Without a parent the page is reported as 8979, which says both.
                if self.has_parent(at, fact) {
                    let args = [page_arg(fact.id()), page_arg(prev)];
                    self.report(8978, fact, args, [prev, PageId::NONE]);
                }
                false
            }
        }
    }

    /// 8936, 8981, 8982.
    fn verify_next(&mut self, at: u32, fact: &PageFact) {
        let id = fact.id();
        let next = fact.next();
        if next.is_none() {
            return;
        }
        let after = self.fact(next, at.wrapping_add(1));
        let other = match after {
            Some(_) => None,
            None => (self.foreign)(next).filter(|other| *other != fact.unit),
        };
        match after {
            Some(after) if after.unit == fact.unit => {
                if after.prev() != id {
                    let args =
                        [page_arg(id), page_arg(next), page_arg(next), page_arg(after.prev())];
                    self.report(8936, fact, args, [next, after.prev()]);
                }
            }
            Some(after) => self.report_other_index(fact, after.unit, next),
            None if other.is_some() => {
                other.into_iter().for_each(|other| self.report_other_index(fact, other, next));
            }
            None if self.is_missing(next) => {}
            // 8976 is reported with the pointer of the parent.
            None if self.lost.contains(&(fact.unit, next)) => {}
            None => {
                let args = [page_arg(id), page_arg(next), page_arg(next)];
                self.report(8981, fact, args, [next, PageId::NONE]);
            }
        }
    }

    fn report_other_index(&mut self, fact: &PageFact, other: UnitIndex, next: PageId) {
        let (Some(unit), Some(other)) = (self.unit(fact.unit), self.unit(other)) else { return };
        let args = [page_arg(fact.id())].into_iter().chain(unit.args()).chain([page_arg(next)]);
        let args = args.chain(other.args());
        let place = Location::page(fact.id()).owned_by(unit.owner);
        self.findings.push(Finding::new(8982, place, args).related([next, PageId::NONE]));
    }

    /// 8931, 8977, 8979. `is_referred_to`: by the page before.
    fn verify_parent(&mut self, at: u32, fact: &PageFact, is_referred_to: bool) {
        let Some(unit) = self.unit(fact.unit) else { return };
        if let Some(pointer) =
            self.parent_of.get(at as usize).and_then(|place| self.pointer(*place))
        {
            return self.verify_level(fact, &pointer, unit);
        }
        // A root that is its own sibling is mutual, and no parent's order shows that it has no
        // neighbours.
        let is_own_neighbour = unit.root == fact.id() && fact.prev() == fact.id();
        if self.has_parent(at, fact) && !is_own_neighbour {
            return;
        }
        if is_referred_to && !is_own_neighbour {
            self.report(8977, fact, [page_arg(fact.id())], [PageId::NONE; 2]);
        } else {
            let args = [page_arg(fact.id()), page_arg(fact.prev())];
            self.report(8979, fact, args, [fact.prev(), PageId::NONE]);
        }
    }

    /// True for pages with a parent, for the root, and where parents is unknown.
    fn has_parent(&self, at: u32, fact: &PageFact) -> bool {
        let is_exempt = |unit: &Unit| unit.root == fact.id() || has_unverified_parents(unit);
        self.parent_of.get(at as usize).is_some_and(|place| *place != NOWHERE)
            || !self.plan.missing_files.is_empty()
            || self.unit(fact.unit).is_none_or(is_exempt)
    }

    fn verify_level(&mut self, fact: &PageFact, pointer: &ChildFact, unit: &Unit) {
        let Some(parent) = self.index.of_unit(pointer.parent(), fact.unit).copied() else { return };
        let is_right = match parent.level.checked_sub(1) {
            Some(level) => level == fact.level,
            // A root of level 0 above data pages, as files from SQL Server 2000 have it.
            None => unit.structure == Structure::Clustered && fact.is_leaf && fact.level == 0,
        };
        if !is_right {
            self.report_level(8931, fact, &parent);
        }
    }

    /// 8935: the parents' order against the previous links.
    fn verify_order(&mut self) {
        let mut before: Option<ChildFact> = None;
        for place in 0..self.index.children().len() as u32 {
            let Some(pointer) = self.pointer(place) else { break };
            let is_first = before.is_none_or(|before| before.parent() != pointer.parent());
            let previous = if is_first { None } else { before };
            before = Some(pointer);
            let Some(child_at) = self.child_at.get(place as usize).copied() else { break };
            // A page with two parents is reported as that.
            if self.parent_of.get(child_at as usize) != Some(&place) {
                continue;
            }
            let Some(child) = self.index.at(child_at).copied() else { continue };
            let expected = match previous {
                Some(previous) => Some(previous.child()),
                None => self
                    .index
                    .of_unit(pointer.parent(), child.unit)
                    .and_then(|parent| self.last_child_of_left(parent)),
            };
            if let Some(expected) = expected.filter(|expected| *expected != child.prev()) {
                self.report_order(&child, &pointer, expected);
            }
        }
    }

    fn report_order(&mut self, child: &PageFact, pointer: &ChildFact, expected: PageId) {
        // A neighbour that was not seen is reported as that, and where its place is is unknown.
        let is_seen = expected.is_none() || self.index.of_unit(expected, child.unit).is_some();
        if !is_seen || self.doubled.contains(&expected) {
            return;
        }
        let args = [
            page_arg(child.prev()),
            page_arg(child.id()),
            page_arg(expected),
            page_arg(pointer.parent()),
            pointer.slot.into(),
        ];
        self.report(8935, child, args, [expected, pointer.parent()]);
    }

    /// The last child of the page left of `parent`, by the order of the parents above:
    /// `PageId::NONE` at the left edge, nothing when it is unknown.
    fn last_child_of_left(&self, parent: &PageFact) -> Option<PageId> {
        let mut page = *parent;
        let mut climbed = 0;
        // Up to the first page that is not the first child of its parent …
        let mut left = loop {
            climbed += 1;
            if self.unit(page.unit)?.root == page.id() {
                return Some(PageId::NONE);
            }
            if climbed > LEVELS_MAX {
                return None;
            }
            let at = self.index.find(page.id(), NOWHERE)?;
            let place = *self.parent_of.get(at as usize)?;
            let pointer = self.pointer(place)?;
            let before = place.checked_sub(1).and_then(|before| self.pointer(before));
            match before.filter(|before| before.parent() == pointer.parent()) {
                Some(before) => break before.child(),
                None => page = *self.index.of_unit(pointer.parent(), page.unit)?,
            }
        };
        // … and down again along the last children.
        for _ in 0..climbed {
            self.index.of_unit(left, parent.unit)?;
            left = self.index.children().get(self.index.children_of(left))?.last()?.child();
        }
        Some(left)
    }

    /// 8976 and 8980 for pointers whose page was not seen.
    fn report_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        let mut previous: HashMap<(UnitIndex, PageId), PageId> = HashMap::new();
        for fact in self.index.pages() {
            if self.lost.contains(&(fact.unit, fact.next())) {
                previous.insert((fact.unit, fact.next()), fact.id());
            }
        }
        for place in 0..self.index.children().len() as u32 {
            let is_found = self.child_at.get(place as usize).is_some_and(|at| *at != NOWHERE);
            let Some(pointer) =
                self.pointer(place).filter(|it| !is_found && !self.is_missing(it.child()))
            else {
                continue;
            };
            let parent = self.fact(pointer.parent(), NOWHERE);
            if let Some(parent) = parent {
                let referring = previous.get(&(parent.unit, pointer.child())).copied();
                self.report_lost_page(place, &pointer, &parent, referring);
            }
        }
    }

    fn report_lost_page(
        &mut self,
        place: u32,
        pointer: &ChildFact,
        parent: &PageFact,
        referring: Option<PageId>,
    ) {
        let before = place.checked_sub(1).and_then(|before| self.pointer(before));
        let before = before
            .filter(|before| before.parent() == pointer.parent())
            .map(|before| before.child());
        let expected = match before {
            Some(before) => Some(before),
            None => self.last_child_of_left(parent),
        };
        let is_unseen =
            |page: &PageId| !page.is_none() && self.index.of_unit(*page, parent.unit).is_none();
        let child = pointer.child();
        if let Some(before) = expected.filter(is_unseen) {
            let args =
                [page_arg(parent.id()), pointer.slot.into(), page_arg(child), page_arg(before)];
            return self.report_unseen(8980, parent.unit, child, args, [parent.id(), before]);
        }
        let previous = referring.or(expected).unwrap_or(PageId::NONE);
        let args = [page_arg(child), page_arg(parent.id()), page_arg(previous)];
        self.report_unseen(8976, parent.unit, child, args, [parent.id(), previous]);
    }

    /// A page that was never the index's own is no loss: what is wrong is the pointer to it.
    fn report_unseen<const N: usize>(
        &mut self,
        error: u32,
        unit: UnitIndex,
        page: PageId,
        args: [Arg<'static>; N],
        related: [PageId; 2],
    ) {
        let Some(mut finding) = self.finding(error, unit, page, args, related) else { return };
        if self.plan.owner_of(page) != Some(unit) {
            finding.repair = finding.repair.min(RepairLevel::Rebuild);
        }
        self.findings.push(finding);
    }

    /// A finding whose message begins with the unit.
    fn report<const N: usize>(
        &mut self,
        error: u32,
        fact: &PageFact,
        args: [Arg<'static>; N],
        related: [PageId; 2],
    ) {
        let finding = self.finding(error, fact.unit, fact.id(), args, related);
        finding.into_iter().for_each(|finding| self.findings.push(finding));
    }

    /// 2531 and 8931: the level of a page contradicts that of another one.
    fn report_level(&mut self, error: u32, fact: &PageFact, other: &PageFact) {
        let pages = [fact, other].map(|fact| page_arg(fact.id()));
        let [own, others] = pages;
        let args = [own, fact.level.into(), other.level.into(), others];
        self.report(error, fact, args, [other.id(), PageId::NONE]);
    }

    fn finding<const N: usize>(
        &self,
        error: u32,
        unit: UnitIndex,
        page: PageId,
        args: [Arg<'static>; N],
        related: [PageId; 2],
    ) -> Option<Finding> {
        let unit = self.unit(unit)?;
        let args = unit.args().into_iter().chain(args);
        Some(Finding::new(error, unit.at(page), args).related(related))
    }
}
