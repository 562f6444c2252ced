//! What each page says about its tree, as multiset hashes and runs.
//!
//! ```text
//! CHILD + each child pointer: child, rung below           − each page but the root: itself, its
//!                                                         rung
//! SIB   + a page with a next page: itself, next, rung     − a page with a previous page: previous,
//!                                                         itself, rung
//! ADJ   + neighbouring children, of neighbouring pages, too   − a page with a previous page:
//!                                                             previous, itself
//! SEP   + each child but the leftmost of its level: child, key   − each page but that: itself, its
//!                                                                first key
//! runs  upper pages with their outermost children; leaves with their outermost keys
//! ```
//!
//! CHILD, SIB and ADJ balance and every upper level is one run: then each page has its parent, and
//! the order of siblings is the order of the pointers to them. SEP balances and all leaves are in
//! order, too: then every search finds its row.

use std::cmp::Ordering;

use extentdb_base::PageId;
use extentdb_messages::Arg;

use super::key::{Key, KeyPlan, Prefix};
use super::lead::Pairs;
use super::order::{Disorder, compare_neighbours, has_key};
use super::part::TreePart;
use super::plan::{Tree, Trees};
use super::run::{Children, Keys, PageRun};
use crate::collector::Collector;
use crate::finding::{Finding, Location, page_arg};
use crate::partial::Partial;
use crate::relation::{Relation, RelationHashes, Side, page_word};
use crate::sound::{LinkedPage, SoundPage};
use crate::unit::UnitIndex;

/// A page of a tree by its links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'n> {
    pub(super) id: PageId,
    pub(super) unit: UnitIndex,
    pub(super) prev: PageId,
    pub(super) next: PageId,
    pub(super) level: u8,
    pub(super) is_leaf: bool,
    /// By slot; empty for leaves.
    pub(super) children: &'n [PageId],
}

impl<'n> Node<'n> {
    pub(super) fn new(page: &LinkedPage<'_>, children: &'n [PageId]) -> Node<'n> {
        Node {
            id: page.id,
            unit: page.index,
            prev: page.header.prev(),
            next: page.header.next(),
            level: page.header.level,
            is_leaf: page.is_leaf,
            children,
        }
    }

    fn rung(&self) -> u16 {
        Tree::rung(self.level, self.is_leaf)
    }

    /// What it says about the page before it, and the same fact as that page says it: itself, the
    /// next one, rung.
    fn before(&self) -> Option<[u64; 3]> {
        (!self.prev.is_none())
            .then(|| [page_word(self.prev), page_word(self.id), self.rung().into()])
    }

    /// What it says about the page after it.
    fn behind(&self) -> Option<[u64; 3]> {
        (!self.next.is_none())
            .then(|| [page_word(self.id), page_word(self.next), self.rung().into()])
    }

    /// States its siblings.
    pub(super) fn state_siblings(&self, tree: &Tree, sums: &mut RelationHashes) {
        let facts = [(Side::Plus, self.behind()), (Side::Minus, self.before())];
        for (side, words) in facts {
            let Some(words) = words else { continue };
            sums.state(self.unit, Relation::Sibling, side, words, tree.has_sketch);
        }
    }

    /// States everything but its siblings and the keys.
    pub(super) fn state(&self, tree: &Tree, sums: &mut RelationHashes, part: &mut TreePart) {
        let mut state =
            |relation, side, words| sums.state(self.unit, relation, side, words, tree.has_sketch);
        let own = page_word(self.id);
        let rung = u64::from(self.rung());
        if self.id == tree.root {
            part.rooted.insert(self.unit);
        }
        if !tree.has_parents {
            return;
        }
        if !self.prev.is_none() {
            state(Relation::Adjacent, Side::Minus, [page_word(self.prev), own, 0]);
        }
        if self.id != tree.root {
            state(Relation::Child, Side::Minus, [own, rung, 0]);
        }
        if !self.is_leaf {
            self.state_children(tree, sums, part);
        }
    }

    fn state_children(&self, tree: &Tree, sums: &mut RelationHashes, part: &mut TreePart) {
        let below = u64::from(tree.rung_below(self.level));
        let mut before = PageId::NONE;
        for child in self.children {
            let word = page_word(*child);
            sums.state(self.unit, Relation::Child, Side::Plus, [word, below, 0], tree.has_sketch);
            if !before.is_none() {
                let words = [page_word(before), word, 0];
                sums.state(self.unit, Relation::Adjacent, Side::Plus, words, tree.has_sketch);
            }
            before = *child;
        }
        let ends = Children {
            first: self.children.first().copied().unwrap_or_default(),
            last: self.children.last().copied().unwrap_or_default(),
            has_sketch: tree.has_sketch,
        };
        part.push_upper(self.run(ends), sums);
    }

    fn run<E>(&self, ends: E) -> PageRun<E> {
        PageRun {
            unit: self.unit,
            rung: self.rung(),
            is_ring: false,
            first: self.id,
            prev: self.prev,
            last: self.id,
            next: self.next,
            ends,
        }
    }
}

/// What the last page of each unit says about the page after it. Most pages are followed by that
/// one in the file, too: what both say then cancels here, and is never hashed.
#[derive(Default)]
struct PendingSiblings {
    facts: Vec<Option<[u64; 3]>>,
}

impl PendingSiblings {
    /// States the siblings of a page, one of them later.
    fn state_siblings(&mut self, node: &Node<'_>, tree: &Tree, sums: &mut RelationHashes) {
        let at = node.unit as usize;
        if self.facts.len() <= at {
            self.facts.resize(at + 1, None);
        }
        let Some(held) = self.facts.get_mut(at) else { return };
        match (*held, node.before()) {
            (Some(plus), Some(minus)) if plus == minus => sums.cancel(node.unit, Relation::Sibling),
            (plus, minus) => {
                let facts = [(Side::Plus, plus), (Side::Minus, minus)];
                for (side, words) in facts {
                    let Some(words) = words else { continue };
                    sums.state(node.unit, Relation::Sibling, side, words, tree.has_sketch);
                }
            }
        }
        *held = node.behind();
    }

    /// States what is left.
    fn finish(&mut self, trees: &Trees, sums: &mut RelationHashes) {
        for (unit, fact) in (0u32..).zip(self.facts.drain(..)) {
            if let (Some(words), Some(tree)) = (fact, trees.get(unit)) {
                sums.state(unit, Relation::Sibling, Side::Plus, words, tree.has_sketch);
            }
        }
    }
}

/// The children of an upper page, by slot.
pub(super) fn children_of(page: &SoundPage<'_>, tree: &Tree, children: &mut Vec<PageId>) {
    children.clear();
    if page.is_leaf || !tree.has_parents {
        return;
    }
    children.extend(page.entries().filter_map(|entry| entry.record().child()));
}

/// A run of leaves that is still growing.
struct OpenRun {
    run: PageRun<Keys>,
    /// The last key, whole.
    high: Key,
    /// Its last page has no keys.
    is_empty: bool,
}

impl OpenRun {
    fn closed(&self, plan: &KeyPlan) -> PageRun<Keys> {
        let mut run = self.run;
        if !self.is_empty {
            run.ends.high = plan.prefix(&self.high);
        }
        run
    }
}

/// What one worker keeps of trees while it scans.
pub(crate) struct TreeCollector<'p> {
    trees: &'p Trees,
    /// Most bytes for runs of leaves.
    budget: usize,
    open: Vec<Option<Box<OpenRun>>>,
    held: PendingSiblings,
    children: Vec<PageId>,
    pairs: Pairs,
    low: Key,
    high: Key,
}

impl<'p> TreeCollector<'p> {
    pub(crate) fn new(trees: &'p Trees, budget: usize) -> TreeCollector<'p> {
        let low = Key::default();
        let high = Key::default();
        TreeCollector {
            trees,
            budget,
            open: Vec::new(),
            held: PendingSiblings::default(),
            children: Vec::new(),
            pairs: Pairs::default(),
            low,
            high,
        }
    }

    /// Order on the page, its first key and its separators.
    fn keys(&mut self, page: &SoundPage<'_>, tree: &Tree, plan: &KeyPlan, partial: &mut Partial) {
        let is_leftmost = page.header().prev().is_none();
        let has_first = page.is_leaf || !is_leftmost;
        compare_neighbours(page, plan, has_first, &mut self.pairs, |disorder| match disorder {
            Disorder::Falling(first, second) => report_falling(page, first, second, partial),
            Disorder::Same(first, second) => report_same(page, first, second, partial),
            Disorder::Undecided(doubt) => partial.tree.undecided.add(page.index, doubt),
        });
        let first = page.entries().find(has_key);
        if let Some(first) = first {
            plan.take(&first.record(), page.is_leaf, &mut self.low);
            if !is_leftmost && tree.has_parents {
                let words = [page_word(page.id), plan.hash(partial.sums.key(), &self.low), 0];
                partial.sums.state(
                    page.index,
                    Relation::Separator,
                    Side::Minus,
                    words,
                    tree.has_sketch,
                );
            }
        }
        if page.is_leaf {
            self.leaf(page, first.is_some(), plan, partial);
        } else if tree.has_parents {
            self.separators(page, is_leftmost, tree, plan, partial);
        }
    }

    /// The key of each child but the leftmost of its level, which has none.
    fn separators(
        &mut self,
        page: &SoundPage<'_>,
        is_leftmost: bool,
        tree: &Tree,
        plan: &KeyPlan,
        partial: &mut Partial,
    ) {
        for entry in page.entries().skip(usize::from(is_leftmost)) {
            let record = entry.record();
            let Some(child) = record.child() else { continue };
            plan.take(&record, false, &mut self.high);
            let words = [page_word(child), plan.hash(partial.sums.key(), &self.high), 0];
            partial.sums.state(page.index, Relation::Separator, Side::Plus, words, tree.has_sketch);
        }
    }

    /// Joins a leaf to the run that it goes on, or begins another. Its first key is in `low`.
    fn leaf(
        &mut self,
        page: &SoundPage<'_>,
        has_keys: bool,
        plan: &KeyPlan,
        partial: &mut Partial,
    ) {
        if partial.tree.deferred.contains(&page.index) {
            return;
        }
        let last = page.entries().rev().find(has_key);
        if let Some(last) = last {
            plan.take(&last.record(), true, &mut self.high);
        }
        let node = Node::new(&page.linked(), &[]);
        let at = page.index as usize;
        if self.open.len() <= at {
            self.open.resize_with(at + 1, || None);
        }
        let Some(place) = self.open.get_mut(at) else { return };
        match place {
            Some(open)
                if open.run.next == node.id
                    && open.run.last == node.prev
                    && open.run.rung == node.rung() =>
            {
                let order = if has_keys && !open.is_empty {
                    plan.compare(&open.high, &self.low)
                        .ok_or_else(|| plan.doubt_of(&open.high, &self.low))
                } else {
                    Ok(Ordering::Greater)
                };
                (open.run.last, open.run.next) = (node.id, node.next);
                open.is_empty = !has_keys;
                std::mem::swap(&mut open.high, &mut self.high);
                match order {
                    Ok(Ordering::Less) => {}
                    Ok(_) => partial.tree.push_unproven(page.index, page.id, self.budget),
                    // A second read would not decide it.
                    Err(doubt) => partial.tree.undecided.add(page.index, doubt),
                }
            }
            place => {
                let low = if has_keys { plan.prefix(&self.low) } else { Prefix::default() };
                let run = node.run(Keys { low, high: Prefix::default() });
                let open = place.get_or_insert_with(|| {
                    Box::new(OpenRun { run, high: Key::default(), is_empty: true })
                });
                if open.run.first != run.first {
                    partial.tree.push_leaves(open.closed(plan), self.budget);
                }
                open.run = run;
                open.is_empty = !has_keys;
                std::mem::swap(&mut open.high, &mut self.high);
            }
        }
    }
}

impl Collector for TreeCollector<'_> {
    #[inline]
    fn sound(&mut self, page: &SoundPage<'_>, partial: &mut Partial) {
        let Some(tree) = self.trees.get(page.index) else { return };
        children_of(page, tree, &mut self.children);
        let node = Node::new(&page.linked(), &self.children);
        self.held.state_siblings(&node, tree, &mut partial.sums);
        node.state(tree, &mut partial.sums, &mut partial.tree);
        match &tree.key {
            Some(plan) if has_keys_of(page, plan) => self.keys(page, tree, plan, partial),
            _ => partial.tree.undecided.add(page.index, None),
        }
    }

    fn linked(&mut self, page: &LinkedPage<'_>, partial: &mut Partial) {
        let Some(tree) = self.trees.get(page.index) else { return };
        let node = Node::new(page, &[]);
        node.state_siblings(tree, &mut partial.sums);
        node.state(tree, &mut partial.sums, &mut partial.tree);
        partial.tree.undecided.add(page.index, None);
    }

    fn finish(&mut self, partial: &mut Partial) {
        self.held.finish(self.trees, &mut partial.sums);
        for open in self.open.drain(..).flatten() {
            if let Some(plan) = self.trees.get(open.run.unit).and_then(|tree| tree.key.as_ref()) {
                partial.tree.push_leaves(open.closed(plan), self.budget);
            }
        }
    }
}

/// True for a page whose records have the form of its level: a leaf that calls itself an upper page
/// has other columns there.
pub(super) fn has_keys_of(page: &SoundPage<'_>, plan: &KeyPlan) -> bool {
    let Some(first) = page.first() else { return true };
    page.is_leaf || plan.has_upper_end(first.record().fixed_end())
}

#[cold]
fn report_falling(page: &SoundPage<'_>, first: u16, second: u16, partial: &mut Partial) {
    let args = [page_arg(page.id), first.into(), second.into()];
    report(page, 2511, first, &args, partial);
}

#[cold]
fn report_same(page: &SoundPage<'_>, first: u16, second: u16, partial: &mut Partial) {
    let args = [page_arg(page.id), first.into(), page_arg(page.id), second.into()];
    report(page, 2512, second, &args, partial);
}

fn report(
    page: &SoundPage<'_>,
    error: u32,
    slot: u16,
    args: &[Arg<'static>],
    partial: &mut Partial,
) {
    let args = page.unit.args().into_iter().chain(args.iter().cloned());
    let place = Location::page(page.id).owned_by(page.unit.owner).slot(slot);
    partial.findings.push(Finding::new(error, place, args));
}
