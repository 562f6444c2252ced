//! Many ranges of keys in one pass over the leaves: index joins.
//!
//! ```text
//! ranges, sorted   r0  r1  r2      r3         r4
//! leaves           [   A    ] [   B   ] … [   C   ]      each latched once, reached by the run of
//!                                                        its parent or by one descent
//! ```

use extentdb_base::PageId;

use super::Tree;
use super::chain::Ghosts;
use super::leaf_rows::LeafRows;
use super::leaf_run::LeafRun;
use super::page::{Node, is_ghost};
use super::scan::KeyRange;
use crate::columnar::{Located, PageRun, Visibility};
use crate::error::Error;
use crate::version::{Overlay, Versions};

/// Where a seek of many ranges is.
#[derive(Clone, Default, Debug)]
pub struct SeekPosition {
    /// The range that is next.
    next: usize,
    /// Keys of that range below this one have been read; `None` at its beginning.
    from: Option<Vec<u8>>,
    run: LeafRun,
}

/// Rows of one leaf and the number of the range that each is in.
#[derive(Default, Debug)]
pub struct SeekRows {
    rows: Vec<Located>,
    /// One for each row.
    pub ranges: Vec<u32>,
}

/// Receives the rows of a leaf with the numbers of their ranges.
pub type VisitSeek<'v> = &'v mut dyn FnMut(PageRun<'_>, &mut Vec<u32>);

/// What became of the next leaf.
#[derive(Debug)]
pub enum SeekVisit {
    /// Its rows were visited.
    Visited,
    /// An open transaction may have changed it: copies of its rows, ghosts among them. Their ranges
    /// are in [`SeekRows::ranges`].
    Unsettled(LeafRows),
    /// All ranges have been read.
    End,
}

impl Tree {
    /// Visits the rows of the next leaf that has some of the ranges, under its latch, unless an
    /// open transaction may have changed it. The ranges are sorted by their first keys.
    ///
    /// # Errors
    /// A page cannot be read, or the tree contradicts itself.
    pub fn seek_next(
        &self,
        ranges: &[KeyRange],
        at: &mut SeekPosition,
        visibility: Visibility<'_>,
        found: &mut SeekRows,
        visit: VisitSeek<'_>,
    ) -> Result<SeekVisit, Error> {
        while let Some(range) = ranges.get(at.next) {
            let from = at.from.as_deref().unwrap_or(range.from()).to_vec();
            let Some(leaf) = at.run.leaf_of(self, &from)? else { break };
            let guard = self.read(leaf.page);
            if !at.run.is_current(self) {
                continue;
            }
            let guard = guard?;
            self.verify_whole()?;
            let node = self.node(leaf.page, &guard)?;
            if !node.is_leaf() {
                let what = "is no leaf, and has a parent as one";
                return Err(Error::Corrupt { page: leaf.page, what });
            }
            let is_settled = visibility.takes(node.view.header().lsn());
            let versions = visibility.versions_on(node.view.header());
            let has_ghosts = !is_settled || versions.is_some();
            let ghosts = if has_ghosts { Ghosts::Included } else { Ghosts::Skipped };
            let high = leaf.high.as_deref();
            found.collect(node, ranges, at, LeafPart { from: &from, high, ghosts })?;
            if !is_settled {
                return Ok(SeekVisit::Unsettled(found.copies(node)?));
            }
            if let Some(versions) = versions {
                found.visit_versions(node, versions, visit)?;
                return Ok(SeekVisit::Visited);
            }
            let page: PageId = leaf.page;
            let bytes = &node.view.bytes()[..node.view.slot_array_start()];
            let SeekRows { rows, ranges } = found;
            visit(PageRun { page, bytes, rows }, ranges);
            return Ok(SeekVisit::Visited);
        }
        Ok(SeekVisit::End)
    }
}

/// What is collected of a leaf.
struct LeafPart<'k> {
    /// The first key.
    from: &'k [u8],
    /// The fence key above the leaf.
    high: Option<&'k [u8]>,
    ghosts: Ghosts,
}

impl SeekRows {
    /// The rows of a leaf that are in the ranges from the next one on.
    fn collect(
        &mut self,
        node: Node<'_>,
        ranges: &[KeyRange],
        at: &mut SeekPosition,
        part: LeafPart<'_>,
    ) -> Result<(), Error> {
        let LeafPart { from, high, ghosts } = part;
        self.rows.clear();
        self.ranges.clear();
        let mut low = node.lower_bound(0, from)?;
        while let Some(range) = ranges.get(at.next) {
            let is_in_leaf = high.is_none_or(|high| range.from() < high);
            if at.from.is_none() && !is_in_leaf {
                break;
            }
            // It begins on a leaf before this one, as equal ranges do that reach over several.
            if at.from.is_none() && range.from() < from {
                at.run.forget();
                break;
            }
            if at.from.is_none() {
                low = node.lower_bound_near(low, range.from())?;
            }
            let end = match range.until() {
                Some(until) => node.lower_bound_near(low, until)?,
                None => node.slot_count(),
            };
            for slot in low..end {
                let start = node.view.slot_offset(slot).unwrap_or_default();
                if ghosts == Ghosts::Included || !is_ghost(node.row(slot)?) {
                    self.rows.push(Located { start, slot });
                    self.ranges.push(at.next as u32);
                }
            }
            // The range goes on in the next leaf.
            if let Some(high) = high.filter(|high| !range.ends_before(high)) {
                at.from = Some(high.to_vec());
                return Ok(());
            }
            at.next += 1;
            at.from = None;
        }
        Ok(())
    }

    /// Visits the versions that a snapshot sees of the rows.
    fn visit_versions(
        &mut self,
        node: Node<'_>,
        versions: Versions<'_>,
        visit: VisitSeek<'_>,
    ) -> Result<(), Error> {
        let page = node.id();
        let found = std::mem::take(&mut self.rows);
        let ranges = std::mem::take(&mut self.ranges);
        let mut overlay = Overlay::new(&node.view.bytes()[..node.view.slot_array_start()]);
        for (row, range) in found.iter().zip(ranges) {
            let place = overlay.place(versions, node.row(row.slot)?, row.start, |bytes| {
                visit(PageRun { page, bytes, rows: &mut self.rows }, &mut self.ranges);
                self.rows.clear();
                self.ranges.clear();
            });
            let Some(start) = place? else { continue };
            self.rows.push(Located { start, slot: row.slot });
            self.ranges.push(range);
        }
        let rows = &mut self.rows;
        visit(PageRun { page, bytes: overlay.bytes(), rows }, &mut self.ranges);
        Ok(())
    }

    /// Copies of the rows.
    fn copies(&self, node: Node<'_>) -> Result<LeafRows, Error> {
        let mut copies = LeafRows::of(node.id(), self.rows.len(), false);
        for row in &self.rows {
            copies.push(row.slot, node.row(row.slot)?);
        }
        Ok(copies)
    }
}
