//! Separators against the keys on both sides of them, exactly: 8933 and 8934. The deferred order
//! pass of `docs/check.md` 18.
//!
//! ```text
//! level 2        [ · | k ]        k bounds everything left and right of it, down to the leaves
//!              ╱           ╲
//! level 1 [ a | b ]     [ f | g ] b < k ≤ f        f bounds nothing: a search for less than f that
//!              │           │                       came here goes to its first child all the same
//! level 0    high          low    high < k ≤ low
//! ```
//!
//! The walk follows the pointers of the parents from the root, left to right. One thread at a time
//! reads the pages above level 1 and hands out level 1; the leaves are read by all of them. Nothing
//! is kept but the path from the root and the left neighbours, so memory depends on threads and on
//! the height of the tree.
//!
//! - A page that was not seen, belongs elsewhere or has two parents is a gap: it is reported as
//!   that, and only what stands left of it is compared with its separator.
//! - Of a page that breaks its bound, its subtree breaks it, too, and is not reported again.

use std::cmp::Ordering;
use std::collections::HashSet;

use extentdb_base::PageId;
use extentdb_base::sync::{Arc, Mutex, lock, thread};

use super::key::{Key, KeyPlan};
use super::page::{Ambiguous, Page, TreePageReader, read_page};
use super::plan::{Tree, Trees};
use super::undecided::Undecided;
use crate::finding::{Finding, Findings, page_arg};
use crate::scan::PageVisitor;
use crate::second_pass::SecondPass;
use crate::unit::{Unit, UnitIndex};

/// Pages of level 1 that a thread takes at a time.
const BATCH: usize = 8;
/// Units with fewer pages are not worth a second thread.
const PAGES_PER_THREAD: u64 = 1024;

/// Which children are compared with their left neighbours.
pub(super) enum LeafScope {
    All,
    /// These, and their leftmost descendants.
    At(HashSet<PageId>),
}

impl LeafScope {
    fn contains(&self, page: PageId) -> bool {
        match self {
            LeafScope::All => true,
            LeafScope::At(pages) => pages.contains(&page),
        }
    }
}

pub(super) struct RangeResult {
    pub(super) findings: Findings,
    /// Keys of the unit whose order is not certain.
    pub(super) undecided: Undecided,
}

/// Compares separators and keys of a unit.
pub(super) fn compare_ranges(
    pass: &SecondPass<'_>,
    trees: &Trees,
    index: UnitIndex,
    scope: &LeafScope,
    doubled: &Ambiguous,
    pages: u64,
) -> Option<RangeResult> {
    let tree = trees.get(index)?;
    let unit = pass.plan.units.get(index)?;
    let plan = tree.key.as_ref()?;
    let order = OrderPass { pass, trees, tree, plan, index, unit, scope, doubled };
    let threads = (pages / PAGES_PER_THREAD + 1).min(pass.jobs as u64).max(1);
    let cursor = Mutex::new(Cursor::default());
    let parts: Vec<RangeResult> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| order.work(&cursor))).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    let mut all = RangeResult {
        findings: Findings::new(pass.options.max_errors),
        undecided: Undecided::default(),
    };
    let is_whole = parts.len() as u64 == threads && !pass.is_stopped();
    for part in parts {
        all.findings.merge(part.findings);
        all.undecided.merge(part.undecided);
    }
    is_whole.then_some(all)
}

/// A separator and what it is the left bound of.
struct Bound {
    key: Key,
    parent: PageId,
    slot: u16,
    child: PageId,
}

/// A child pointer on the way down.
#[derive(Clone)]
struct Step {
    page: PageId,
    rung: u16,
    parent: PageId,
    slot: u16,
    /// None at the left edge of the tree.
    bound: Option<Arc<Bound>>,
    /// The key of its own slot, when that is not the bound.
    own: Option<Arc<Key>>,
    /// Something above broke the bound already: from the right, from the left.
    is_broken: [bool; 2],
    is_wanted: bool,
}

/// The page left of where the walk is, on one level.
#[derive(Clone)]
struct LeftPage {
    id: PageId,
    level: u8,
    high: Option<Key>,
    /// Its highest separator is not that of its last child, so what is right of it is compared with
    /// it.
    is_wanted: bool,
}

struct OrderPass<'p> {
    pass: &'p SecondPass<'p>,
    trees: &'p Trees,
    tree: &'p Tree,
    plan: &'p KeyPlan,
    index: UnitIndex,
    unit: &'p Unit,
    scope: &'p LeafScope,
    doubled: &'p Ambiguous,
}

/// The walk above level 1.
#[derive(Default)]
struct Cursor {
    is_begun: bool,
    /// Path from the root, with the index of the next child of each page.
    frames: Vec<Frame>,
    lefts: Vec<Option<LeftPage>>,
    /// The last page of level 1 that was handed out; none after a gap.
    last: Option<Step>,
}

struct Frame {
    page: Page,
    next: usize,
    step: Step,
}

/// Pages of level 1, and the one left of the first.
struct Batch {
    before: Option<Step>,
    steps: Vec<Step>,
    /// There is nothing left of these, or it is not known.
    gaps: Vec<bool>,
}

impl<'p> OrderPass<'p> {
    fn work(&self, cursor: &Mutex<Cursor>) -> RangeResult {
        let findings = Findings::new(self.pass.options.max_errors);
        self.pass.visitor(TreePageReader::new(self.trees, true), |visitor| {
            let mut worker = Worker {
                order: self,
                visitor,
                out: RangeResult { findings, undecided: Undecided::default() },
            };
            while !self.pass.is_stopped() {
                let batch = worker.take_batch(&mut lock(cursor));
                if batch.steps.is_empty() {
                    break;
                }
                worker.compare_batch(&batch);
            }
            worker.out
        })
    }

    fn left(&self, page: &Page) -> LeftPage {
        let last = page.children.last().map(|(_, child)| *child);
        LeftPage {
            id: page.id,
            level: page.level,
            high: page.high.clone(),
            is_wanted: last.is_some_and(|last| self.scope.contains(last)),
        }
    }

    /// The step to a child of a page.
    fn step(&self, page: &Page, at: usize, above: &Step) -> Option<Step> {
        let (slot, child) = page.children.get(at).copied()?;
        // The first slot of the leftmost page of a level has no key.
        let separator = page.separators.get(at).filter(|_| at > 0 || !page.prev.is_none());
        let rung = self.tree.rung_below(page.level);
        let base = Step { page: child, rung, parent: page.id, slot, ..above.clone() };
        Some(match separator {
            Some(key) if at > 0 => {
                let bound = Bound { key: key.clone(), parent: page.id, slot, child };
                let bound = Some(Arc::new(bound));
                Step {
                    bound,
                    own: None,
                    is_broken: [false; 2],
                    is_wanted: self.scope.contains(child),
                    ..base
                }
            }
            separator => Step {
                own: separator.map(|key| Arc::new(key.clone())),
                // Without keys on this page, nothing bounds the subtree.
                bound: if at > 0 { None } else { base.bound },
                is_wanted: above.is_wanted && at == 0 || self.scope.contains(child),
                ..base
            },
        })
    }
}

struct Worker<'w, 'l, 't> {
    order: &'w OrderPass<'w>,
    visitor: &'w mut PageVisitor<'l, TreePageReader<'t>>,
    out: RangeResult,
}

impl Worker<'_, '_, '_> {
    /// A page as a parent describes it.
    fn visitor(&mut self, step: &Step) -> Option<Page> {
        let order = self.order;
        if order.doubled.contains(&step.page) {
            return None;
        }
        read_page(self.visitor, step.page)
            .filter(|page| page.unit == order.index && page.rung() == step.rung)
    }

    /// The next pages of level 1 in order.
    fn take_batch(&mut self, cursor: &mut Cursor) -> Batch {
        let mut batch = Batch {
            before: cursor.last.clone(),
            steps: Vec::new(),
            gaps: Vec::new(),
        };
        if !cursor.is_begun {
            cursor.is_begun = true;
            self.begin(cursor, &mut batch);
        }
        while batch.steps.len() < BATCH
            && !cursor.frames.is_empty()
            && !self.order.pass.is_stopped()
        {
            self.advance(cursor, &mut batch);
        }
        batch
    }

    fn begin(&mut self, cursor: &mut Cursor, batch: &mut Batch) {
        let root = self.order.tree.root;
        let Some(page) = read_page(self.visitor, root).filter(|page| page.unit == self.order.index)
        else {
            return;
        };
        let step = Step {
            page: root,
            rung: page.rung(),
            parent: PageId::NONE,
            slot: 0,
            bound: None,
            own: None,
            is_broken: [false; 2],
            is_wanted: false,
        };
        if page.is_leaf {
            return;
        }
        if self.order.tree.rung_below(page.level) & 1 == 1 {
            cursor.last = Some(step.clone());
            batch.steps.push(step);
            batch.gaps.push(true);
        } else {
            cursor.lefts = vec![None];
            cursor.frames.push(Frame { page, next: 0, step });
        }
    }

    /// Goes to the next child of the deepest open page: into it, or, on level 1, to the batch.
    fn advance(&mut self, cursor: &mut Cursor, batch: &mut Batch) {
        let depth = cursor.frames.len();
        let Some(frame) = cursor.frames.last_mut() else { return };
        let Some(mut step) = self.order.step(&frame.page, frame.next, &frame.step) else {
            cursor.frames.pop();
            return;
        };
        frame.next += 1;
        let is_above_leaves = frame.page.level <= 2;
        if is_above_leaves {
            batch.gaps.push(cursor.last.is_none());
            cursor.last = Some(step.clone());
            batch.steps.push(step);
            return;
        }
        let page = self.visitor(&step);
        cursor.lefts.resize(cursor.lefts.len().max(depth + 1), None);
        let left = cursor.lefts.get(depth).cloned().flatten();
        self.compare(&mut step, left.as_ref(), page.as_ref());
        if let Some(left) = cursor.lefts.get_mut(depth) {
            *left = page.as_ref().map(|page| self.order.left(page));
        }
        match page {
            Some(page) => cursor.frames.push(Frame { page, next: 0, step }),
            None => {
                // What is left of a gap is not next to what is right of it, on any level below.
                cursor.lefts.truncate(depth);
                cursor.last = None;
            }
        }
    }

    fn compare_batch(&mut self, batch: &Batch) {
        let mut upper = None;
        let mut leaf = LeftLeaf::None;
        if let Some(before) = batch.before.as_ref().filter(|_| batch.gaps.first() == Some(&false))
            && let Some(page) = self.visitor(before)
        {
            leaf = self.last_leaf(&page, before);
            upper = Some(self.order.left(&page));
        }
        for (step, is_gap) in batch.steps.iter().zip(&batch.gaps) {
            if *is_gap {
                (upper, leaf) = (None, LeftLeaf::None);
            }
            let mut step = step.clone();
            // The root was not compared with anything.
            let page = self.visitor(&step);
            self.compare(&mut step, upper.as_ref(), page.as_ref());
            upper = page.as_ref().map(|page| self.order.left(page));
            leaf = match &page {
                Some(page) => self.compare_leaves(page, &step, leaf),
                None => {
                    self.compare_left_of_gap(&mut step, leaf);
                    LeftLeaf::None
                }
            };
        }
    }

    fn last_leaf(&self, page: &Page, step: &Step) -> LeftLeaf {
        let last =
            page.children.len().checked_sub(1).and_then(|at| self.order.step(page, at, step));
        last.map_or(LeftLeaf::None, LeftLeaf::Unread)
    }

    /// The leaves below a page of level 1. `left` is the leaf before them; the last of them comes
    /// back.
    fn compare_leaves(&mut self, page: &Page, step: &Step, mut left: LeftLeaf) -> LeftLeaf {
        for at in 0..page.children.len() {
            let Some(mut step) = self.order.step(page, at, step) else { break };
            if !step.is_wanted {
                left = LeftLeaf::Unread(step);
                continue;
            }
            let before = self.read(left);
            let leaf = self.visitor(&step);
            self.compare(&mut step, before.as_ref(), leaf.as_ref());
            left =
                leaf.as_ref().map_or(LeftLeaf::None, |leaf| LeftLeaf::Read(self.order.left(leaf)));
        }
        left
    }

    fn compare_left_of_gap(&mut self, step: &mut Step, left: LeftLeaf) {
        if step.is_wanted {
            let before = self.read(left);
            self.compare(step, before.as_ref(), None);
        }
    }

    fn read(&mut self, leaf: LeftLeaf) -> Option<LeftPage> {
        match leaf {
            LeftLeaf::None => None,
            LeftLeaf::Read(left) => Some(left),
            LeftLeaf::Unread(step) => self.visitor(&step).map(|leaf| self.order.left(&leaf)),
        }
    }

    /// Compares what is left and right of a bound with it.
    fn compare(&mut self, step: &mut Step, left: Option<&LeftPage>, page: Option<&Page>) {
        let is_wanted = step.is_wanted || left.is_some_and(|left| left.is_wanted);
        let Some(bound) = step.bound.clone().filter(|_| is_wanted) else { return };
        let [right_broken, left_broken] = step.is_broken;
        if let Some(low) = page.and_then(|page| page.low.as_ref())
            && !right_broken
        {
            match self.order.plan.compare(low, &bound.key) {
                Some(Ordering::Less) => {
                    step.is_broken[0] = true;
                    page.into_iter().for_each(|page| self.report_low(page, step));
                }
                Some(_) => {}
                None => self.doubt(low, &bound.key),
            }
        }
        if let Some((left, high)) = left.and_then(|left| Some((left, left.high.as_ref()?)))
            && !left_broken
        {
            match self.order.plan.compare(high, &bound.key) {
                Some(Ordering::Less) => {}
                Some(Ordering::Equal) if self.order.plan.may_repeat => {}
                Some(_) => {
                    step.is_broken[1] = true;
                    self.report_high(left, high, &bound, step);
                }
                None => self.doubt(high, &bound.key),
            }
        }
    }

    fn doubt(&mut self, key: &Key, bound: &Key) {
        self.out.undecided.add(self.order.index, self.order.plan.doubt_of(key, bound));
    }

    fn report_low(&mut self, page: &Page, step: &Step) {
        let args = [page_arg(page.id), page.level.into(), page_arg(step.parent), step.slot.into()];
        self.report(8933, page.id, &args, [step.parent, PageId::NONE]);
    }

    fn report_high(&mut self, left: &LeftPage, high: &Key, bound: &Bound, step: &Step) {
        // The parent's own slot for the next page, when that shows it, too.
        let is_behind = |own: &Key| {
            matches!(self.order.plan.compare(high, own), Some(Ordering::Greater | Ordering::Equal))
        };
        let shows_in_parent = step.own.as_deref().is_some_and(is_behind);
        let (parent, slot, next) = if shows_in_parent {
            (step.parent, step.slot, step.page)
        } else {
            (bound.parent, bound.slot, bound.child)
        };
        let args =
            [page_arg(left.id), left.level.into(), page_arg(parent), slot.into(), page_arg(next)];
        self.report(8934, left.id, &args, [parent, next]);
    }

    fn report(
        &mut self,
        error: u32,
        page: PageId,
        args: &[extentdb_messages::Arg<'static>],
        related: [PageId; 2],
    ) {
        let unit = self.order.unit;
        let args = unit.args().into_iter().chain(args.iter().cloned());
        let place = unit.at(page);
        self.out.findings.push(Finding::new(error, place, args).related(related));
    }
}

/// A leaf that may become a left neighbour.
enum LeftLeaf {
    None,
    Unread(Step),
    Read(LeftPage),
}
