//! References against nodes (`docs/check.md` 8).
//!
//! ```text
//! node     references    that
//! none     any           8965 for each
//! one      none          8964
//! one      one           8961: other text id (state 1), other size or content that exceeds it (2),
//!                        another role, or a level
//!                        that is not below its referrer's (4)
//! one      several       of one text id: 8974; those with another text id: 8961
//! one      of another table's row                           8925
//! of no known kind                                          8962
//! on a page of the wrong type                               8963
//! and for every damaged value, once                         8929 on the row or index entry that
//!                                                           owns it
//! ```
//!
//! What is not said
//! - That a node is unreferenced, when a ghost refers to it: a deleted row keeps its off-row data
//!   until it is cleaned up.
//! - The same, when another node of its value could not be read, for that may be what refers to it.
//!   A node that only a row on a bad page can own is unreferenced, as derived damage.
//! - How high a root in a row must be above inner nodes: that is not known.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use extentdb_base::{PageId, Rid};
use extentdb_messages::Arg;

use super::exact::{ExactFacts, ExactReader};
use super::forward::{at, rid_args};
use super::node::{Node, NodeRole};
use super::read::{Reference, Referrer, Stated, common_id};
use super::report::Reporter;
use crate::finding::{Cause, Finding};
use crate::relation::rid_word;
use crate::unit::{Unit, UnitIndex};

/// Deeper than any value: nodes have hundreds of links.
const LEVELS_MAX: usize = 16;

/// A value that is damaged, by the column that holds it.
type ValueKey = (Rid, i32, u64);

/// Compares nodes with their references, place by place.
pub(super) struct Values<'v, 'r> {
    facts: &'v ExactFacts,
    /// Units whose facts are all known.
    certain: &'v BTreeSet<UnitIndex>,
    reporter: &'v mut Reporter<'r>,
    /// Ids of values with a node that could not be read.
    unread: HashSet<u64>,
    /// References that have part in something wrong, each with the bad page that causes it.
    blamed: BTreeMap<Reference, Option<Cause>>,
}

impl<'v, 'r> Values<'v, 'r> {
    pub(super) fn new(
        facts: &'v ExactFacts,
        certain: &'v BTreeSet<UnitIndex>,
        reporter: &'v mut Reporter<'r>,
    ) -> Values<'v, 'r> {
        let mut unread: HashSet<u64> = HashSet::new();
        let broken = |node: &&Node| {
            matches!(node.role, NodeRole::Broken | NodeRole::NoKind | NodeRole::Older)
        };
        unread.extend(facts.nodes.values().filter(broken).map(|node| common_id(node.id)));
        for reference in
            facts.references.values().flatten().filter(|reference| !reference.is_ghost())
        {
            if reporter.cause(reference.target.page).is_some() {
                unread.insert(common_id(reference.id.value()));
            }
        }
        Values { facts, certain, reporter, unread, blamed: BTreeMap::new() }
    }

    /// Reports everything that is wrong at some places, and the rows that own it.
    pub(super) fn verify(mut self, places: &[Rid], exact: &ExactReader<'_>) -> Option<()> {
        for place in places {
            self.place(*place);
        }
        let complete: HashSet<Rid> = places.iter().copied().collect();
        let owners = self.owners(&complete, exact)?;
        for ((row, _, _), (reference, cause)) in owners {
            self.report_owner(row, &reference, cause);
        }
        Some(())
    }

    fn place(&mut self, place: Rid) {
        let of_place = self.facts.references.get(&place).map_or(&[][..], Vec::as_slice);
        let certain =
            of_place.iter().filter(|reference| self.certain.contains(&reference.filed)).copied();
        let (ghosts, live): (Vec<Reference>, Vec<Reference>) =
            certain.partition(Reference::is_ghost);
        let node =
            self.facts.nodes.get(&place).filter(|node| self.certain.contains(&node.unit)).copied();
        match node {
            None => live.iter().for_each(|reference| self.dangling(reference)),
            Some(node) => self.node(&node, &live, &ghosts),
        }
    }

    /// 8965: there is no node.
    fn dangling(&mut self, reference: &Reference) {
        let Reference { target, from, .. } = *reference;
        let cause = self.reporter.cause(target.page);
        let id = reference.id.value();
        self.report(reference.filed, cause, |unit| {
            let rids = node_args(unit, target, id).into_iter().chain(rid_args(from));
            (8965, rids.collect(), at(target), [from.page, PageId::NONE])
        });
        self.blame(reference, cause);
    }

    fn node(&mut self, node: &Node, live: &[Reference], ghosts: &[Reference]) {
        let rowsets = self.reporter.rowsets;
        let (own, foreign): (Vec<Reference>, Vec<Reference>) =
            live.iter().partition(|reference| rowsets.are_one(reference.from_unit, node.unit));
        self.kind(node, &own);
        foreign.iter().for_each(|reference| self.foreign(node, reference));
        let (same, other): (Vec<Reference>, Vec<Reference>) =
            own.iter().partition(|reference| reference.id.agrees(node.id));
        other.iter().for_each(|reference| self.mismatch(node, reference, 1));
        match (&same[..], &other[..]) {
            ([], []) => self.unreferenced(node, ghosts),
            ([], _) => {}
            ([only], _) => self.shape(node, only),
            ([first, rest @ ..], _) => {
                rest.iter().for_each(|second| self.shared(node, first, second))
            }
        }
    }

    /// 8962, 8963: the node has no known type, or one that its page does not hold.
    fn kind(&mut self, node: &Node, own: &[Reference]) {
        let error = match node.role {
            // Units with roots of an older kind are not judged; see `Roots`.
            NodeRole::NoKind | NodeRole::Older => 8962,
            _ if node.is_misplaced => 8963,
            _ => return,
        };
        self.report(node.unit, None, |unit| {
            let page_type = (error == 8963).then(|| node.page_type.into());
            let args = node_args(unit, node.rid, node.id)
                .into_iter()
                .chain([node.kind.into()])
                .chain(page_type);
            (error, args.collect(), at(node.rid), [PageId::NONE; 2])
        });
        own.iter().for_each(|reference| self.blame(reference, None));
    }

    /// 8964: no row references the node.
    fn unreferenced(&mut self, node: &Node, ghosts: &[Reference]) {
        let is_of_ghost = ghosts.iter().any(|ghost| ghost.id.agrees(node.id));
        if is_of_ghost || self.unread.contains(&common_id(node.id)) {
            return;
        }
        let cause = self.reporter.likely_cause(node.unit);
        self.report(node.unit, cause, |unit| {
            (8964, node_args(unit, node.rid, node.id).to_vec(), at(node.rid), [PageId::NONE; 2])
        });
    }

    /// 8974: two references, both of which mean this node.
    fn shared(&mut self, node: &Node, first: &Reference, second: &Reference) {
        self.report(node.unit, None, |unit| {
            let rids = [first.from, second.from].into_iter().flat_map(rid_args);
            let args = node_args(unit, node.rid, node.id).into_iter().chain(rids).collect();
            (8974, args, at(node.rid), [first.from.page, second.from.page])
        });
        self.blame(first, None);
        self.blame(second, None);
    }

    /// 8925: a row or node of another table.
    fn foreign(&mut self, node: &Node, reference: &Reference) {
        let target = self.reporter.plan.units.get(node.unit).map(Unit::args);
        let Some(target) = target else { return };
        let Reference { from, from_unit, .. } = *reference;
        self.report(from_unit, None, |unit| {
            let own = rid_args(from).into_iter().chain(unit.args());
            let others = rid_args(node.rid).into_iter().chain(target);
            (8925, own.chain(others).collect(), at(from), [node.rid.page, PageId::NONE])
        });
        self.blame(reference, None);
    }

    /// 8961 for what one reference states of its node.
    fn shape(&mut self, node: &Node, reference: &Reference) {
        let state = match (node.role, reference.stated) {
            (NodeRole::NoKind | NodeRole::Older, _) => None,
            (NodeRole::Broken, _) => Some(2),
            (NodeRole::Root, None) => None,
            // A text pointer refers to a root, and nothing else does.
            (NodeRole::Inner | NodeRole::Data, None) | (NodeRole::Root, Some(_)) => Some(4),
            (_, Some(Stated { size, .. })) if size != node.size => Some(2),
            (NodeRole::Inner, Some(Stated { level, .. })) => {
                (!is_below(node.level, level, reference.by)).then_some(4)
            }
            (NodeRole::Data, Some(Stated { level, .. })) => (level != 0).then_some(4),
        };
        if let Some(state) = state {
            self.mismatch(node, reference, state);
        }
    }

    /// 8961: node and reference contradict each other.
    fn mismatch(&mut self, node: &Node, reference: &Reference, state: u8) {
        let from = reference.from;
        let draft = |unit: &Unit| {
            let args =
                node_args(unit, node.rid, node.id).into_iter().chain(rid_args(from)).collect();
            (8961, args, at(node.rid), [from.page, PageId::NONE])
        };
        if let Some((finding, _)) = self.reporter.finding(node.unit, draft) {
            self.reporter.push(node.unit, finding.state(state));
        }
        self.blame(reference, None);
    }

    fn report(
        &mut self,
        unit: UnitIndex,
        cause: Option<Cause>,
        draft: impl FnOnce(&Unit) -> super::report::Draft,
    ) {
        if let Some((finding, _)) = self.reporter.finding(unit, draft) {
            self.reporter.push(unit, Finding { derived_from: cause, ..finding });
        }
    }

    fn blame(&mut self, reference: &Reference, cause: Option<Cause>) {
        self.blamed.entry(*reference).or_insert(cause);
    }
}

/// The rows that own damaged values.
impl Values<'_, '_> {
    /// Goes from the blamed references upwards, a level at a time. The references to nodes at
    /// `complete` places are known; others are looked for.
    fn owners(
        &mut self,
        complete: &HashSet<Rid>,
        exact: &ExactReader<'_>,
    ) -> Option<BTreeMap<ValueKey, (Reference, Option<Cause>)>> {
        let mut rows = BTreeMap::new();
        let mut level = std::mem::take(&mut self.blamed);
        let mut entered: HashSet<Rid> = HashSet::new();
        for _ in 0..LEVELS_MAX {
            let mut nodes: BTreeMap<Rid, Option<Cause>> = BTreeMap::new();
            for (reference, cause) in level {
                match reference.by {
                    Referrer::Row { column, .. } => {
                        let key = (reference.from, column, reference.id.value());
                        rows.entry(key).or_insert((reference, cause));
                    }
                    Referrer::Node if entered.insert(reference.from) => {
                        nodes.insert(reference.from, cause);
                    }
                    Referrer::Node => {}
                }
            }
            if nodes.is_empty() {
                break;
            }
            level = self.references_to(&nodes, complete, exact)?;
        }
        Some(rows)
    }

    /// Who refers to some nodes.
    fn references_to(
        &self,
        nodes: &BTreeMap<Rid, Option<Cause>>,
        complete: &HashSet<Rid>,
        exact: &ExactReader<'_>,
    ) -> Option<BTreeMap<Reference, Option<Cause>>> {
        let wanted: HashSet<u64> = nodes
            .keys()
            .filter(|node| !complete.contains(node))
            .map(|node| rid_word(*node))
            .collect();
        let found = if wanted.is_empty() { ExactFacts::default() } else { exact.look(&wanted)? };
        let mut references = BTreeMap::new();
        for (node, cause) in nodes {
            let known = [&self.facts.references, &found.references]
                .into_iter()
                .filter_map(|all| all.get(node));
            for reference in known.flatten().filter(|reference| !reference.is_ghost()) {
                references.entry(*reference).or_insert(*cause);
            }
        }
        Some(references)
    }

    /// 8929: the row whose value is damaged.
    fn report_owner(&mut self, row: Rid, reference: &Reference, cause: Option<Cause>) {
        let is_entry = matches!(reference.by, Referrer::Row { is_entry: true, .. });
        let id = reference.id.value() as i64;
        self.report(reference.from_unit, cause, |unit| {
            let kind = if is_entry { "index" } else { "data" };
            let own: [Arg<'static>; 3] = [id.into(), kind.into(), format!("RID = {row}").into()];
            (
                8929,
                unit.args().into_iter().chain(own).collect(),
                at(row),
                [reference.target.page, PageId::NONE],
            )
        });
    }
}

/// True when a node is as far below its referrer as it must be. How high a root in a row says it
/// is, is known of level 0 only.
fn is_below(level: u16, referrer: u16, by: Referrer) -> bool {
    match by {
        Referrer::Node => level.checked_add(1) == Some(referrer),
        Referrer::Row { .. } => level < referrer,
    }
}

/// Object, index, partition, unit, type, slot and text id: what messages about nodes begin with.
fn node_args(unit: &Unit, rid: Rid, id: u64) -> [Arg<'static>; 8] {
    let [object, index, partition, own, kind] = unit.args();
    let [page, slot] = rid_args(rid);
    [object, index, partition, own, kind, page, slot, (id as i64).into()]
}
