//! The next leaves of a scan, listed from the page above them.
//!
//! ```text
//! version ──▶ page above the leaves: children from the position on, with their fence keys
//!                │ read-ahead
//!                ▼
//! leaf, leaf, leaf: each latched, version unchanged? the key range is what the fence keys say
//!                                 changed? listed again from the position
//! ```
//!
//! One descent leads to many leaves, and the pool reads neighbours with one call. Why a leaf that
//! is latched while `version` is unchanged has the key range of its parent: point 2 of the
//! [module above](super). A run holds no latch; it is kept while a scan is paused, and useless
//! after the next change of the structure.

use std::ops::{Bound, Range};

use extentdb_base::PageId;

use super::leaf_rows::LeafRows;
use super::page::{Node, is_ghost};
use super::scan::{KeyRange, Leaves, RangePosition};
use super::{Tree, seek};
use crate::columnar::{Located, PageRun, Visibility, Visit};
use crate::error::Error;
use crate::read_ahead;
use crate::version::{Overlay, Versions};

/// Leaves that a run has at first, and the most.
const FIRST_LEAVES: usize = 4;
const LEAVES_MAX: usize = read_ahead::PAGES_MAX;
/// From as many leaves on they are read ahead.
const READ_AHEAD_FROM: usize = 8;

/// The next leaves of a forward scan.
#[derive(Clone, Default, Debug)]
pub struct LeafRun {
    version: u64,
    leaves: Vec<RunLeaf>,
    next: usize,
    /// How many leaves the next run gets.
    size: usize,
}

#[derive(Clone, Debug)]
pub(super) struct RunLeaf {
    pub(super) page: PageId,
    /// All its keys are below; `None` for the last leaf of the tree.
    pub(super) high: Option<Vec<u8>>,
}

/// Which leaves are visited: a sample of pages.
pub type PageFilter<'f> = &'f dyn Fn(PageId) -> bool;

/// What became of the next leaf.
#[derive(Debug)]
pub enum LeafVisit {
    /// Its rows were visited.
    Visited,
    /// An open transaction may have changed it: copies of its rows, ghosts among them.
    Unsettled(LeafRows),
    /// Nothing is left of the range.
    End,
}

impl Leaves<'_> {
    /// Visits the rows of the next leaf under its latch, unless an open transaction may have
    /// changed it. `rows` is room for them. Keys between the first and the last are not compared
    /// with one another. A scan against the order visits copies.
    ///
    /// # Errors
    /// A page cannot be read, or the tree contradicts itself.
    pub fn visit_next(
        &mut self,
        run: &mut LeafRun,
        visibility: Visibility<'_>,
        filter: Option<PageFilter<'_>>,
        rows: &mut Vec<Located>,
        visit: Visit<'_>,
    ) -> Result<LeafVisit, Error> {
        if self.at.is_backward {
            return self.visit_backward(visibility, filter, rows, visit);
        }
        let tree = self.tree;
        while !self.at.is_done() {
            if run.is_over(tree) && !run.list(tree, self.at.range())? {
                self.at.is_done = true;
                break;
            }
            let Some(leaf) = run.leaves.get(run.next) else { continue };
            if filter.is_some_and(|takes| !takes(leaf.page)) {
                self.at.pass_leaf(leaf.high.clone());
                run.next += 1;
                continue;
            }
            let guard = tree.read(leaf.page);
            if tree.version() != run.version {
                run.forget();
                continue;
            }
            let guard = guard?;
            tree.verify_whole()?;
            let node = tree.node(leaf.page, &guard)?;
            let found = visit_leaf(node, &self.at, leaf, visibility, rows, visit)?;
            self.at.pass_leaf(leaf.high.clone());
            run.next += 1;
            return Ok(found);
        }
        Ok(LeafVisit::End)
    }

    /// The same leaf by leaf from the root, over copies.
    fn visit_backward(
        &mut self,
        visibility: Visibility<'_>,
        filter: Option<PageFilter<'_>>,
        rows: &mut Vec<Located>,
        visit: Visit<'_>,
    ) -> Result<LeafVisit, Error> {
        let Some(leaf) = self.next_of(visibility)? else { return Ok(LeafVisit::End) };
        if filter.is_some_and(|takes| !takes(leaf.page())) {
            return Ok(LeafVisit::Visited);
        }
        if !leaf.is_settled() {
            return Ok(LeafVisit::Unsettled(leaf));
        }
        for piece in leaf.pieces() {
            rows.clear();
            rows.extend(piece.located());
            visit(PageRun { page: leaf.page(), bytes: piece.bytes(), rows });
        }
        Ok(LeafVisit::Visited)
    }
}

/// Visits what of a leaf is in the range.
fn visit_leaf(
    node: Node<'_>,
    at: &RangePosition,
    leaf: &RunLeaf,
    visibility: Visibility<'_>,
    rows: &mut Vec<Located>,
    visit: Visit<'_>,
) -> Result<LeafVisit, Error> {
    let corrupt = |what| Err(Error::Corrupt { page: leaf.page, what });
    if !node.is_leaf() {
        return corrupt("is no leaf, and has a parent as one");
    }
    if node.next().is_none() != leaf.high.is_none() || node.next() == leaf.page {
        return corrupt("is linked otherwise than its parent says");
    }
    let lsn = node.view.header().lsn();
    let Range { start: first, end } = slots_of(node, at, leaf)?;
    verify_fences(node, at, leaf, first..end)?;
    if !visibility.takes(lsn) {
        let mut copies = LeafRows::of(leaf.page, usize::from(end.saturating_sub(first)), false);
        for slot in first..end {
            copies.push(slot, node.row(slot)?);
        }
        return Ok(LeafVisit::Unsettled(copies));
    }
    let bytes = &node.view.bytes()[..node.view.slot_array_start()];
    rows.clear();
    if let Some(versions) = visibility.versions_on(node.view.header()) {
        visit_versions(node, first..end, versions, rows, visit)?;
        return Ok(LeafVisit::Visited);
    }
    let slots = (0..).zip(node.view.slot_offsets()).take(end.into()).skip(first.into());
    for (slot, start) in slots {
        let record = bytes.get(usize::from(start)..).filter(|record| !record.is_empty());
        match record {
            Some(record) if start != 0 && !is_ghost(record) => rows.push(Located { start, slot }),
            Some(_) if start != 0 => {}
            _ => return corrupt("has a damaged record"),
        }
    }
    visit(PageRun { page: leaf.page, bytes, rows });
    Ok(LeafVisit::Visited)
}

/// Visits the versions that a snapshot sees of the rows of a leaf.
fn visit_versions(
    node: Node<'_>,
    slots: Range<u16>,
    versions: Versions<'_>,
    rows: &mut Vec<Located>,
    visit: Visit<'_>,
) -> Result<(), Error> {
    let page = node.id();
    let mut overlay = Overlay::new(&node.view.bytes()[..node.view.slot_array_start()]);
    for slot in slots {
        let newest = node.view.slot_offset(slot).unwrap_or_default();
        let start = overlay.place(versions, node.row(slot)?, newest, |bytes| {
            visit(PageRun { page, bytes, rows });
            rows.clear();
        })?;
        rows.extend(start.map(|start| Located { start, slot }));
    }
    visit(PageRun { page, bytes: overlay.bytes(), rows });
    Ok(())
}

/// The slots of a leaf that are in the range: nearly always all of them, which is tried first.
/// `compare engine --only scans` of `bench` measures it.
fn slots_of(node: Node<'_>, at: &RangePosition, leaf: &RunLeaf) -> Result<Range<u16>, Error> {
    let first = node.lower_bound_near(0, at.range().from())?;
    let is_whole = match (at.range().until(), &leaf.high) {
        (None, _) => true,
        (Some(until), Some(high)) => high.as_slice() <= until,
        (Some(_), None) => false,
    };
    let end = match at.range().until() {
        Some(until) if !is_whole => node.lower_bound(first, until)?,
        _ => node.slot_count(),
    };
    Ok(first..end)
}

/// The first and the last key of what is read lie between the fence keys.
fn verify_fences(
    node: Node<'_>,
    at: &RangePosition,
    leaf: &RunLeaf,
    slots: Range<u16>,
) -> Result<(), Error> {
    let Some(last) = slots.clone().next_back() else { return Ok(()) };
    let mut key = Vec::new();
    node.key_into(last, &mut key)?;
    let is_past = leaf.high.as_ref().is_some_and(|high| *high <= key);
    if is_past || !at.range().contains(&key) {
        return Err(Error::KeysOutOfOrder { page: leaf.page });
    }
    node.key_into(slots.start, &mut key)?;
    if at.range().contains(&key) { Ok(()) } else { Err(Error::KeysOutOfOrder { page: leaf.page }) }
}

impl LeafRun {
    /// Is it used up, or of an older structure?
    fn is_over(&self, tree: &Tree) -> bool {
        self.next >= self.leaves.len() || self.version != tree.version()
    }

    /// The next leaf is descended to.
    pub(super) fn forget(&mut self) {
        self.leaves.clear();
        self.next = 0;
        self.size = FIRST_LEAVES;
    }

    /// Is it of the structure that the tree has now?
    pub(super) fn is_current(&self, tree: &Tree) -> bool {
        self.version == tree.version()
    }

    /// The leaf of a key that is not less than those before; `None` in a tree without pages. One
    /// that lies past the leaves of the run is descended to.
    pub(super) fn leaf_of(&mut self, tree: &Tree, key: &[u8]) -> Result<Option<RunLeaf>, Error> {
        let is_left = |leaf: &RunLeaf| leaf.high.as_deref().is_none_or(|high| key < high);
        if self.is_current(tree) {
            let ahead = self.leaves.get(self.next..).unwrap_or_default();
            if let Some(at) = ahead.iter().position(is_left) {
                self.next += at;
                return Ok(self.leaves.get(self.next).cloned());
            }
        }
        let range = KeyRange::all().with_lower(Bound::Included(key));
        let is_found = self.list(tree, &range)?;
        Ok(self.leaves.first().filter(|_| is_found).cloned())
    }

    /// Lists the leaves from the beginning of a range on. False in a tree without pages.
    fn list(&mut self, tree: &Tree, range: &KeyRange) -> Result<bool, Error> {
        let was_used_up = !self.leaves.is_empty() && self.version == tree.version();
        let size = if was_used_up { (2 * self.size).min(LEAVES_MAX) } else { FIRST_LEAVES };
        self.forget();
        self.size = size;
        let Some(parent) = tree.parent_of_leaf(range, size)? else { return Ok(false) };
        self.version = parent.version;
        // What lies past the end of the range is neither read nor read ahead.
        self.leaves = parent.leaves;
        if self.leaves.len() >= READ_AHEAD_FROM {
            let pages: Vec<PageId> = self.leaves.iter().map(|leaf| leaf.page).collect();
            read_ahead::bring(tree.space.pool(), &pages);
        }
        Ok(true)
    }
}

/// The leaves below the page above them, from one on.
pub(super) struct Parent {
    pub(super) version: u64,
    pub(super) leaves: Vec<RunLeaf>,
}

impl Tree {
    /// The leaf where a range begins, and its right neighbours with the same parent that have keys
    /// of the range, at most `most` leaves; `None` in a tree without pages.
    pub(super) fn parent_of_leaf(
        &self,
        range: &KeyRange,
        most: usize,
    ) -> Result<Option<Parent>, Error> {
        self.restarting(|version| self.try_parent_of_leaf(range, most, version))
    }

    /// `None`: the structure has changed meanwhile.
    fn try_parent_of_leaf(
        &self,
        range: &KeyRange,
        most: usize,
        version: u64,
    ) -> Result<Option<Option<Parent>>, Error> {
        self.verify_whole()?;
        let mut page = self.unit.root();
        let mut high = None;
        if page.is_none() {
            return Ok(Some(None));
        }
        for _ in 0..seek::LEVELS_MAX {
            let guard = self.read(page);
            if self.version() != version {
                return Ok(None);
            }
            let guard = guard?;
            let node = self.node(page, &guard)?;
            if node.is_leaf() {
                return Ok(Some(Some(Parent { version, leaves: vec![RunLeaf { page, high }] })));
            }
            let slot = node.child_slot(range.from())?;
            if node.is_right_above_leaves() {
                let leaves = children_from(node, slot, most, high, range)?;
                return Ok(Some(Some(Parent { version, leaves })));
            }
            if slot + 1 < node.slot_count() {
                node.key_into(slot + 1, high.get_or_insert_default())?;
            }
            page = node.child(slot)?;
        }
        Err(Error::Corrupt { page, what: "is deeper than a tree can be" })
    }
}

/// The children of a page from a slot on, at most `most` and none past the range, with the fence
/// key above each.
fn children_from(
    node: Node<'_>,
    slot: u16,
    most: usize,
    high: Option<Vec<u8>>,
    range: &KeyRange,
) -> Result<Vec<RunLeaf>, Error> {
    let end = node.slot_count().min(slot.saturating_add(most as u16));
    let mut children = Vec::new();
    for slot in slot..end {
        let fence = if slot + 1 < node.slot_count() {
            let mut key = Vec::new();
            node.key_into(slot + 1, &mut key)?;
            Some(key)
        } else {
            high.clone()
        };
        let is_last = fence.as_ref().is_none_or(|fence| range.ends_before(fence));
        children.push(RunLeaf { page: node.child(slot)?, high: fence });
        if is_last {
            break;
        }
    }
    Ok(children)
}
