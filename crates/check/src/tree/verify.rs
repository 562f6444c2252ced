//! From hashes and runs to findings: which trees are proven, and what is wrong with the others.
//!
//! ```text
//! the root was seen ────────────────────────────────────> its place in the catalog is proven
//!   else   ─────────────────────────────────────────────> 8980
//! CHILD, SIB, ADJ balance, upper levels are one run each ──> the links are proven
//!   else   facts by sketch, or of the whole unit ──> verify_links: 2531 8931 8935 - 8937 8976 - 8982
//! SEP balances, all leaves are in order ──────────────────> the keys are proven
//!   else   the children that are named, or all ───> compare_ranges: 8933 8934
//! ```
//!
//! A tree without findings is either proven by its hashes or compared page by page; nothing is left
//! to chance in between.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use extentdb_base::PageId;

use super::gather::{LinkFacts, STRUCTURE, named, put_together, read_again};
use super::page::{Ambiguous, TreePageReader, read_page};
use super::plan::{Tree, Trees};
use super::ranges::{LeafScope, compare_ranges};
use super::undecided::Undecided;
use crate::finding::{Finding, Findings, page_arg};
use crate::partial::Partial;
use crate::relation::{Relation, UnitHashes};
use crate::second_pass::SecondPass;
use crate::tree::links::verify_links;
use crate::unit::UnitIndex;

/// Pages of units that are read again in one go: their link facts are in memory together.
const PAGES_AT_ONCE: u64 = 4 << 20;

/// Verifies all trees of a scan that saw every page. Units with keys whose order is not known are
/// added to those of the partial; units that were not compared to the end, because the run is to
/// stop are returned.
pub(crate) fn verify_trees(
    pass: &SecondPass<'_>,
    trees: &Trees,
    partial: &mut Partial,
    findings: &mut Findings,
) -> BTreeSet<UnitIndex> {
    partial.tree.join_all(&mut partial.sums);
    let undecided = Undecided::default();
    let unfinished = BTreeSet::new();
    let mut verifier = Verifier { pass, trees, partial, findings, undecided, unfinished };
    verifier.roots();
    let links = verifier.links();
    verifier.order(&links);
    let Verifier { undecided, unfinished, .. } = verifier;
    partial.tree.undecided.merge(undecided);
    unfinished
}

/// What is known of a tree whose links are not proven.
struct BrokenLinks {
    doubled: Ambiguous,
    /// Pages that the sketches name.
    named: Option<HashSet<PageId>>,
}

struct Verifier<'v> {
    pass: &'v SecondPass<'v>,
    trees: &'v Trees,
    partial: &'v Partial,
    findings: &'v mut Findings,
    undecided: Undecided,
    unfinished: BTreeSet<UnitIndex>,
}

impl Verifier<'_> {
    /// True when each page is under its parent.
    fn has_proven_links(&self, unit: UnitIndex, sums: &UnitHashes) -> bool {
        let mut rungs = BTreeSet::new();
        STRUCTURE.into_iter().all(|relation| sums.acc(relation).is_balanced())
            && self
                .partial
                .tree
                .upper
                .of_unit(unit)
                .iter()
                .all(|run| run.is_level() && rungs.insert(run.rung))
    }

    /// 8980: the catalog names a root that is no page of the index. Damaged ones are reported as
    /// that.
    fn roots(&mut self) {
        let plan = self.pass.plan;
        let bad: HashSet<PageId> = self.partial.audit.bad.iter().map(|page| page.page).collect();
        for (index, tree) in self.trees.iter() {
            let root = tree.root;
            let is_unknown =
                root.is_none() || plan.missing_files.contains(&root.file) || self.is_cut(index);
            let is_told = bad.contains(&root) || plan.bad.contains_key(&root);
            if is_unknown || is_told || self.partial.tree.rooted.contains(&index) {
                continue;
            }
            let Some(unit) = plan.units.get(index) else { continue };
            let nowhere = PageId::NONE;
            let slot = 0u16;
            let pointer = [page_arg(nowhere), slot.into(), page_arg(root), page_arg(nowhere)];
            let args = unit.args().into_iter().chain(pointer);
            let place = unit.at(root);
            self.findings.push(Finding::new(8980, place, args).related([root, nowhere]));
        }
    }

    /// Links of all trees that are not proven.
    fn links(&mut self) -> BTreeMap<UnitIndex, BrokenLinks> {
        let mut broken = BTreeMap::new();
        let mut again = BTreeSet::new();
        let mut pages = 0;
        let trees = self.trees;
        for (unit, tree) in trees.iter() {
            if self.is_cut(unit) {
                continue;
            }
            let Some(sums) =
                self.partial.sums.unit(unit).filter(|sums| !self.has_proven_links(unit, sums))
            else {
                continue;
            };
            let key = self.partial.sums.key();
            let facts = if self.pass.options.force_rescan {
                None
            } else {
                put_together(self.pass, trees, tree, unit, sums)
            };
            match facts {
                Some(facts) => {
                    let doubled = self.verify(facts);
                    broken
                        .insert(unit, BrokenLinks { doubled, named: named(sums, key, &STRUCTURE) });
                }
                None => {
                    again.insert(unit);
                    pages += self.pages_of(unit);
                    if pages >= PAGES_AT_ONCE {
                        self.links_again(&std::mem::take(&mut again), &mut broken);
                        pages = 0;
                    }
                }
            }
        }
        self.links_again(&again, &mut broken);
        broken
    }

    /// True for a unit whose chain of IAM pages is broken: pages that it lacks have no cause in the
    /// tree (7965).
    fn is_cut(&self, unit: UnitIndex) -> bool {
        self.pass.plan.cut_units.contains(&unit)
    }

    fn pages_of(&self, unit: UnitIndex) -> u64 {
        self.partial.audit.counts.get(unit as usize).map_or(0, |counts| counts.pages)
    }

    /// Links of some units, from all their pages.
    fn links_again(
        &mut self,
        units: &BTreeSet<UnitIndex>,
        broken: &mut BTreeMap<UnitIndex, BrokenLinks>,
    ) {
        if units.is_empty() {
            return;
        }
        let Some(facts) = read_again(self.pass, self.trees, units) else {
            self.unfinished.extend(units);
            return;
        };
        let doubled = self.verify(facts);
        broken.extend(
            units.iter().map(|unit| (*unit, BrokenLinks { doubled: doubled.clone(), named: None })),
        );
    }

    fn verify(&mut self, facts: LinkFacts) -> Ambiguous {
        let findings = &mut *self.findings;
        self.pass.visitor(TreePageReader::new(self.trees, false), |visitor| {
            let mut unit_of = |page| read_page(visitor, page).map(|page| page.unit);
            verify_links(self.pass.plan, facts.pages, facts.children, &mut unit_of, findings)
        })
    }

    /// Separators and order of all trees that are not proven.
    fn order(&mut self, broken: &BTreeMap<UnitIndex, BrokenLinks>) {
        let nothing = Ambiguous::new();
        let trees = self.trees;
        for (unit, tree) in trees.iter().filter(|(_, tree)| tree.key.is_some() && tree.has_parents)
        {
            if self.is_cut(unit) {
                continue;
            }
            let links = broken.get(&unit);
            let Some(scope) = self.scope(unit, tree, links) else { continue };
            let doubled = links.map_or(&nothing, |links| &links.doubled);
            let pages = self.pages_of(unit);
            match compare_ranges(self.pass, trees, unit, &scope, doubled, pages) {
                Some(compared) => {
                    self.findings.merge(compared.findings);
                    self.undecided.merge(compared.undecided);
                }
                None => {
                    self.unfinished.insert(unit);
                }
            }
        }
    }

    /// Which children of a tree must be compared with their neighbours; `None` when all are proven.
    fn scope(
        &self,
        unit: UnitIndex,
        tree: &Tree,
        links: Option<&BrokenLinks>,
    ) -> Option<LeafScope> {
        let sums = self.partial.sums.unit(unit)?;
        let part = &self.partial.tree;
        let is_balanced = sums.acc(Relation::Separator).is_balanced();
        let mut leaves: HashSet<PageId> = part.unproven_of(unit).collect();
        let runs = part.leaves.of_unit(unit);
        leaves.extend(runs.iter().filter(|run| !run.prev.is_none()).map(|run| run.first));
        let is_deferred = part.deferred.contains(&unit);
        if is_balanced && leaves.is_empty() && !is_deferred && links.is_none() {
            return None;
        }
        let by_links = links.map(|links| links.named.as_ref());
        if is_deferred || self.pass.options.force_rescan || by_links == Some(None) {
            return Some(LeafScope::All);
        }
        leaves.extend(by_links.flatten().into_iter().flatten());
        match named(sums, self.partial.sums.key(), &[Relation::Separator]) {
            Some(named) if tree.has_sketch || is_balanced => leaves.extend(named),
            _ => return Some(LeafScope::All),
        }
        Some(LeafScope::At(leaves))
    }
}
