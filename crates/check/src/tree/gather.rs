//! The link facts of a unit whose multiset hashes do not balance.
//!
//! ```text
//! by sketch    upper pages are read, and the leaves that leftovers name, with their neighbours;
//!              all other leaves stand where their parents' order puts them
//! by a full read     every page of the unit
//! ```
//!
//! Facts that were put together by the sketch are believed only when they add up to the hashes of
//! the scan: otherwise something else is true of some leaf, and the unit is read again.

use std::collections::{BTreeSet, HashMap, HashSet};

use extentdb_base::PageId;

use super::collector::{Node, children_of};
use super::page::{Page, TreePageReader, read_page};
use super::part::TreePart;
use super::plan::{Tree, Trees};
use crate::collector::Collector;
use crate::hash::HashKey;
use crate::partial::Partial;
use crate::relation::{MultisetHash, Relation, RelationHashes, UnitHashes, page_of_word};
use crate::scan::PageVisitor;
use crate::second_pass::SecondPass;
use crate::sound::{LinkedPage, SoundPage};
use crate::tree::links::{ChildFact, PageFact};
use crate::unit::UnitIndex;

/// Relations between pages that say nothing of keys.
pub(super) const STRUCTURE: [Relation; 3] =
    [Relation::Child, Relation::Sibling, Relation::Adjacent];

/// The link facts of some pages.
#[derive(Default)]
pub(super) struct LinkFacts {
    pub(super) pages: Vec<PageFact>,
    pub(super) children: Vec<ChildFact>,
}

impl LinkFacts {
    fn push(&mut self, node: &Node<'_>, slots: impl Iterator<Item = (u16, PageId)>) {
        self.pages.push(PageFact {
            page: node.id.page,
            prev: node.prev.page,
            next: node.next.page,
            unit: node.unit,
            file: node.id.file.0,
            prev_file: node.prev.file.0,
            next_file: node.next.file.0,
            level: node.level,
            is_leaf: node.is_leaf,
        });
        self.children.extend(slots.map(|(slot, child)| ChildFact {
            parent: node.id.page,
            child: child.page,
            parent_file: node.id.file.0,
            child_file: child.file.0,
            slot,
        }));
    }

    pub(super) fn append(&mut self, mut other: LinkFacts) {
        self.pages.append(&mut other.pages);
        self.children.append(&mut other.children);
    }
}

/// Collects the facts of every page that is shown.
pub(super) struct LinkCollector<'t> {
    trees: &'t Trees,
    scratch: Vec<PageId>,
    pub(super) facts: LinkFacts,
}

impl<'t> LinkCollector<'t> {
    pub(super) fn new(trees: &'t Trees) -> LinkCollector<'t> {
        LinkCollector { trees, scratch: Vec::new(), facts: LinkFacts::default() }
    }
}

impl Collector for LinkCollector<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let Some(tree) = self.trees.get(page.index) else { return };
        children_of(page, tree, &mut self.scratch);
        let slots = page.entries().filter(|_| !page.is_leaf && tree.has_parents);
        let slots = slots.filter_map(|entry| Some((entry.slot, entry.record().child()?)));
        self.facts.push(&Node::new(&page.linked(), &self.scratch), slots);
    }

    fn linked(&mut self, page: &LinkedPage<'_>, _: &mut Partial) {
        if self.trees.get(page.index).is_some() {
            self.facts.push(&Node::new(page, &[]), std::iter::empty());
        }
    }
}

/// Every page of some units, read again. `None` when that was stopped.
pub(super) fn read_again(
    pass: &SecondPass<'_>,
    trees: &Trees,
    units: &BTreeSet<UnitIndex>,
) -> Option<LinkFacts> {
    let parts = pass.visit(units, || LinkCollector::new(trees))?;
    let mut facts = LinkFacts::default();
    parts.into_iter().for_each(|part| facts.append(part.facts));
    Some(facts)
}

/// The pages that the leftovers of some relations name; `None` when a sketch does not decode.
pub(super) fn named(
    sums: &UnitHashes,
    key: &HashKey,
    relations: &[Relation],
) -> Option<HashSet<PageId>> {
    let mut named = HashSet::new();
    for relation in relations.iter().filter(|relation| !sums.acc(**relation).is_balanced()) {
        for left in sums.sketch(*relation)?.decode(key, *relation)? {
            let [first, second, _] = left.words;
            named.insert(page_of_word(first));
            if matches!(relation, Relation::Sibling | Relation::Adjacent) {
                named.insert(page_of_word(second));
            }
        }
    }
    named.remove(&PageId::NONE);
    Some(named)
}

/// The facts of a unit from what its sketches name. `None` when they name too much, or not all.
pub(super) fn put_together(
    pass: &SecondPass<'_>,
    trees: &Trees,
    tree: &Tree,
    unit: UnitIndex,
    sums: &UnitHashes,
) -> Option<LinkFacts> {
    let key = &pass.plan.key;
    let named = if tree.has_parents { named(sums, key, &STRUCTURE)? } else { return None };
    let facts = pass.visitor(TreePageReader::new(trees, false), |visitor| {
        let mut gatherer = Gatherer {
            visitor,
            pass,
            tree,
            unit,
            named,
            upper: HashMap::new(),
            read: HashMap::new(),
        };
        gatherer.read_upper()?;
        gatherer.facts()
    })?;
    adds_up(&facts, tree, key, sums).then_some(facts)
}

struct Gatherer<'g, 'l, 't> {
    visitor: &'g mut PageVisitor<'l, TreePageReader<'t>>,
    pass: &'g SecondPass<'g>,
    tree: &'g Tree,
    unit: UnitIndex,
    named: HashSet<PageId>,
    upper: HashMap<PageId, Page>,
    /// Other pages that were examined; `None`: not seen in this unit.
    read: HashMap<PageId, Option<Page>>,
}

impl Gatherer<'_, '_, '_> {
    fn read(&mut self, page: PageId) -> Option<&Page> {
        if !self.upper.contains_key(&page) && !self.read.contains_key(&page) {
            let seen = read_page(self.visitor, page).filter(|seen| seen.unit == self.unit);
            match seen {
                Some(seen) if !seen.is_leaf => {
                    self.upper.insert(page, seen);
                }
                seen => {
                    self.read.insert(page, seen);
                }
            }
        }
        self.upper.get(&page).or_else(|| self.read.get(&page)?.as_ref())
    }

    /// All pages above the leaves: those below the root, and those below any page that is named.
    fn read_upper(&mut self) -> Option<()> {
        let mut open: Vec<PageId> = self.named.iter().copied().chain([self.tree.root]).collect();
        while let Some(page) = open.pop() {
            if self.pass.is_stopped() {
                return None;
            }
            let is_new = !self.upper.contains_key(&page) && !self.read.contains_key(&page);
            let tree = self.tree;
            let Some(seen) = self.read(page).filter(|seen| is_new && !seen.is_leaf) else {
                continue;
            };
            if tree.rung_below(seen.level) & 1 == 0 {
                open.extend(seen.children.iter().map(|(_, child)| *child));
            }
        }
        Some(())
    }

    fn facts(&mut self) -> Option<LinkFacts> {
        let mut facts = LinkFacts::default();
        for page in self.upper.values() {
            push_page(&mut facts, page);
        }
        let mut done = HashSet::new();
        for leaves in self.leaves() {
            for at in 0..leaves.len() {
                let Some((leaf, rung)) =
                    leaves.get(at).copied().filter(|(leaf, _)| done.insert(*leaf))
                else {
                    continue;
                };
                let neighbour =
                    |at: Option<usize>| at.and_then(|at| leaves.get(at)).map(|(leaf, _)| *leaf);
                let before = neighbour(at.checked_sub(1));
                let after = neighbour(at.checked_add(1));
                let mut near = [Some(leaf), before, after].into_iter().flatten();
                if near.any(|page| self.named.contains(&page)) {
                    if let Some(page) = self.read(leaf) {
                        push_page(&mut facts, page);
                    }
                    continue;
                }
                let node = Node {
                    id: leaf,
                    unit: self.unit,
                    prev: before.unwrap_or_default(),
                    next: after.unwrap_or_default(),
                    level: u8::try_from(rung >> 1).ok()?,
                    is_leaf: true,
                    children: &[],
                };
                facts.push(&node, std::iter::empty());
            }
        }
        let others = self.read.iter().filter(|(page, _)| !done.contains(page));
        others.filter_map(|(_, page)| page.as_ref()).for_each(|page| push_page(&mut facts, page));
        Some(facts)
    }

    /// The leaves in the order of their parents, with the rung that these expect: those below the
    /// root, then those below other pages without a reference.
    fn leaves(&self) -> Vec<Vec<(PageId, u16)>> {
        let referred: HashSet<PageId> = self
            .upper
            .values()
            .flat_map(|page| page.children.iter().map(|(_, child)| *child))
            .collect();
        let mut tops: Vec<PageId> = self.upper.keys().copied().collect();
        tops.sort_unstable();
        tops.retain(|top| *top == self.tree.root || !referred.contains(top));
        // What is referred to in a circle has no top; each of its pages is a start then.
        let mut starts = tops;
        starts.extend(self.named.iter().copied().filter(|page| self.upper.contains_key(page)));
        let mut seen = HashSet::new();
        starts.into_iter().map(|start| self.leaves_below(start, &mut seen)).collect()
    }

    fn leaves_below(&self, start: PageId, seen: &mut HashSet<PageId>) -> Vec<(PageId, u16)> {
        let mut leaves = Vec::new();
        let mut open = vec![start];
        while let Some(page) = open.pop() {
            let Some(page) = self.upper.get(&page) else { continue };
            if !seen.insert(page.id) {
                continue;
            }
            let rung = self.tree.rung_below(page.level);
            let children = page.children.iter().map(|(_, child)| *child);
            if rung & 1 == 1 {
                leaves.extend(
                    children
                        .filter(|child| !self.upper.contains_key(child))
                        .map(|child| (child, rung)),
                );
            } else {
                open.extend(children.rev());
            }
        }
        leaves
    }
}

fn push_page(facts: &mut LinkFacts, page: &Page) {
    facts.push(&node(page, &[]), page.children.iter().copied());
}

fn node<'n>(page: &Page, children: &'n [PageId]) -> Node<'n> {
    Node {
        id: page.id,
        unit: page.unit,
        prev: page.prev,
        next: page.next,
        level: page.level,
        is_leaf: page.is_leaf,
        children,
    }
}

/// True when facts say the same as the hashes that the scan made of all pages.
fn adds_up(facts: &LinkFacts, tree: &Tree, key: &HashKey, sums: &UnitHashes) -> bool {
    let tree = Tree { has_sketch: false, key: None, ..tree.clone() };
    let mut own = RelationHashes::new(1, *key);
    let mut part = TreePart::default();
    let mut by_parent: HashMap<PageId, Vec<PageId>> = HashMap::new();
    for child in &facts.children {
        by_parent.entry(child.parent()).or_default().push(child.child());
    }
    for page in &facts.pages {
        let children = by_parent.get(&page.id()).map_or(&[][..], Vec::as_slice);
        let node = Node {
            id: page.id(),
            unit: 0,
            prev: page.prev(),
            next: page.next(),
            level: page.level,
            is_leaf: page.is_leaf,
            children,
        };
        node.state_siblings(&tree, &mut own);
        node.state(&tree, &mut own, &mut part);
    }
    part.join_all(&mut own);
    let acc = |relation| own.unit(0).map_or_else(MultisetHash::default, |own| own.acc(relation));
    STRUCTURE.into_iter().all(|relation| acc(relation) == sums.acc(relation))
}
