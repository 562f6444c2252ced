//! Rows in key order, forwards or backwards.
//!
//! A scan holds no latch between two leaves: it copies the rows of one leaf under its latch, and
//! continues from the fence key of that leaf. A caller may change rows during its own scan: it
//! meets no latch of its own, and no row twice; rows inserted or deleted after the position of the
//! scan may be seen or not. The position is the end of the last leaf read.

use std::collections::VecDeque;
use std::ops::{Bound, Range};

use extentdb_base::Lsn;
use extentdb_buffer::PageReadGuard;
use extentdb_catalog::layout::Cell;

use super::leaf_rows::{LeafRows, RowRef};
use super::page::{Node, is_ghost};
use super::seek::{Fence, Towards};
use super::{Row, Tree};
use crate::columnar::Visibility;
use crate::error::Error;

/// A run of keys, as sort keys ([`RowShape::prefix`](crate::RowShape::prefix)). A prefix stands for
/// all keys that begin with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct KeyRange {
    /// No key is below it.
    from: Vec<u8>,
    /// All keys are below it; `None` for a range without an end.
    until: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range without bounds.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// The keys that begin with a prefix.
    pub fn of(prefix: impl Into<Vec<u8>>) -> KeyRange {
        let from = prefix.into();
        KeyRange { until: successor(&from), from }
    }

    /// Those of them from the prefix on, or greater than it.
    #[must_use]
    pub fn with_lower(mut self, prefix: Bound<&[u8]>) -> KeyRange {
        let from = match prefix {
            Bound::Included(prefix) => Some(prefix.to_vec()),
            Bound::Excluded(prefix) => successor(prefix),
            Bound::Unbounded => return self,
        };
        match from {
            Some(from) => self.from = from.max(self.from),
            // No key is greater.
            None => self.until = Some(Vec::new()),
        }
        self
    }

    /// Those of them up to the prefix, or less than it.
    #[must_use]
    pub fn with_upper(mut self, prefix: Bound<&[u8]>) -> KeyRange {
        let until = match prefix {
            Bound::Included(prefix) => successor(prefix),
            Bound::Excluded(prefix) => Some(prefix.to_vec()),
            Bound::Unbounded => return self,
        };
        if let Some(until) = until {
            self.until = Some(self.until.map_or(until.clone(), |own| own.min(until)));
        }
        self
    }

    /// Is a key in the range?
    pub fn contains(&self, key: &[u8]) -> bool {
        self.from.as_slice() <= key && !self.ends_before(key)
    }

    /// Is a key greater than all of the range?
    pub(super) fn ends_before(&self, key: &[u8]) -> bool {
        self.until.as_deref().is_some_and(|until| until <= key)
    }

    /// No key is below it.
    pub(super) fn from(&self) -> &[u8] {
        &self.from
    }

    /// All keys are below it; `None` for a range without an end.
    pub(super) fn until(&self) -> Option<&[u8]> {
        self.until.as_deref()
    }

    /// The range in pieces, cut at keys within it, which are sorted.
    pub(super) fn cut_at(self, cuts: Vec<Vec<u8>>) -> Vec<KeyRange> {
        let mut pieces = Vec::with_capacity(cuts.len() + 1);
        let mut from = self.from;
        for cut in cuts {
            let until = Some(cut.clone());
            pieces.push(KeyRange { from: std::mem::replace(&mut from, cut), until });
        }
        pieces.push(KeyRange { from, until: self.until });
        pieces
    }

    /// The keys greater than all of the range; `None` when there can be none.
    pub fn following(&self) -> Option<KeyRange> {
        let from = self.until.clone()?;
        Some(KeyRange { from, until: None })
    }
}

/// The least upper bound of all keys that begin with a prefix; `None` when there is none.
pub(super) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Which ghosts a scan takes for rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Ghosts {
    /// Those of leaves that an open transaction may have changed: the delete may be rolled back.
    #[default]
    Unsettled,
    All,
}

/// Where a scan of a range is: what is left of it. It holds neither latch nor page, and stays right
/// whatever is inserted, deleted or split meanwhile.
#[derive(Clone, Default, Debug)]
pub struct RangePosition {
    /// What is left of the range.
    range: KeyRange,
    pub(super) is_backward: bool,
    ghosts: Ghosts,
    pub(super) is_done: bool,
}

/// Goes through a range leaf by leaf.
#[derive(Clone, Debug)]
pub struct Leaves<'t> {
    pub(super) tree: &'t Tree,
    pub(super) at: RangePosition,
}

/// Iterator over rows in key order. It ends after an error.
#[derive(Debug)]
pub struct Scan<'t> {
    leaves: Leaves<'t>,
    rows: VecDeque<Row>,
}

impl Tree {
    /// The rows whose first key columns have these values; all rows when there are none.
    ///
    /// # Errors
    /// The key has fewer columns.
    pub fn scan(&self, prefix: &[Cell<'_>]) -> Result<Scan<'_>, Error> {
        let range = KeyRange::of(self.shape.prefix(prefix)?);
        Ok(Scan { leaves: self.leaves(range), rows: VecDeque::new() })
    }

    /// The same with all ghosts among the rows.
    ///
    /// # Errors
    /// As for [`scan`](Self::scan).
    pub fn scan_all(&self, prefix: &[Cell<'_>]) -> Result<Scan<'_>, Error> {
        let scan = self.scan(prefix)?;
        Ok(Scan {
            leaves: Leaves {
                at: RangePosition { ghosts: Ghosts::All, ..scan.leaves.at },
                ..scan.leaves
            },
            ..scan
        })
    }

    /// A range leaf by leaf, in key order.
    pub fn leaves(&self, range: KeyRange) -> Leaves<'_> {
        self.leaves_from(RangePosition::new(range))
    }

    /// The leaves of what a scan has left.
    pub fn leaves_from(&self, at: RangePosition) -> Leaves<'_> {
        Leaves { tree: self, at }
    }
}

impl RangePosition {
    /// At the beginning of a range.
    pub fn new(range: KeyRange) -> RangePosition {
        RangePosition {
            range,
            is_backward: false,
            ghosts: Ghosts::Unsettled,
            is_done: false,
        }
    }

    /// At the end of the range, on the way to its beginning.
    #[must_use]
    pub fn backward(self) -> RangePosition {
        RangePosition { is_backward: true, ..self }
    }

    /// What is left of the range.
    pub fn range(&self) -> &KeyRange {
        &self.range
    }

    /// The slots of a leaf that are left.
    pub(super) fn slots_of(&self, node: Node<'_>) -> Result<Range<u16>, Error> {
        let first = node.lower_bound(0, &self.range.from)?;
        let end = match &self.range.until {
            Some(until) => node.lower_bound_near(first, until)?,
            None => node.slot_count(),
        };
        Ok(first..end)
    }

    /// A leaf whose keys are all less than `high` is behind a forward scan; no leaf follows the
    /// last one. Fence keys must grow, so that a scan ends even where pages contradict each other.
    pub(super) fn pass_leaf(&mut self, high: Option<Vec<u8>>) {
        match high.filter(|high| self.range.from < *high && !self.range.ends_before(high)) {
            Some(high) => self.range.from = high,
            None => self.is_done = true,
        }
    }

    /// Is nothing left?
    pub fn is_done(&self) -> bool {
        self.is_done || self.range.ends_before(&self.range.from)
    }

    /// Goes back to a key of the leaf that was read last: all up to it has been read, in the
    /// direction of the scan, and what follows it has not.
    pub fn return_after(&mut self, key: &[u8]) {
        if self.is_backward {
            self.range.until = Some(key.to_vec());
            self.is_done = false;
            return;
        }
        match successor(key) {
            Some(from) => {
                self.range.from = from;
                self.is_done = false;
            }
            None => self.is_done = true,
        }
    }
}

impl<'t> Leaves<'t> {
    /// From the end of the range to its beginning.
    #[must_use]
    pub fn backward(self) -> Leaves<'t> {
        Leaves { at: self.at.backward(), ..self }
    }

    /// Does it go from the end of the range to its beginning?
    pub fn is_backward(&self) -> bool {
        self.at.is_backward
    }

    /// Where the scan is.
    pub fn into_position(self) -> RangePosition {
        self.at
    }

    /// All keys from what is left of the range on, beyond its end, too.
    pub fn onward(&self) -> KeyRange {
        KeyRange { from: self.at.range.from.clone(), until: None }
    }

    /// The rows of the next leaf that has some; `None` at the end. `oldest_open` returns the begin
    /// of the oldest open transaction; it is called while the leaf is latched.
    ///
    /// # Errors
    /// A page cannot be read, or the tree contradicts itself.
    pub fn next(
        &mut self,
        oldest_open: &dyn Fn() -> Option<Lsn>,
    ) -> Result<Option<LeafRows>, Error> {
        self.next_of(Visibility::Settled(oldest_open))
    }

    /// The same as `visibility` says: of a snapshot the versions that it sees, as settled rows.
    ///
    /// # Errors
    /// As for [`next`](Self::next); the version store fails.
    pub fn next_of(&mut self, visibility: Visibility<'_>) -> Result<Option<LeafRows>, Error> {
        self.at.is_done |= self.at.range.ends_before(&self.at.range.from);
        let found = self.find(visibility);
        self.at.is_done |= !matches!(found, Ok(Some(_)));
        found
    }

    fn find(&mut self, visibility: Visibility<'_>) -> Result<Option<LeafRows>, Error> {
        let tree = self.tree;
        while !self.at.is_done {
            let towards = if self.at.is_backward {
                Towards::Before(self.at.range.until.as_deref())
            } else {
                Towards::Key(&self.at.range.from)
            };
            let Some((leaf, fence)) = tree.descend::<PageReadGuard, Fence>(towards)? else {
                return Ok(None);
            };
            let node = tree.node(leaf.id(), &leaf)?;
            verify_links(node, &fence)?;
            let rows = self.take(node, visibility, &fence)?;
            self.advance(fence);
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// Takes the rows of a leaf that are in the range.
    fn take(
        &self,
        node: Node<'_>,
        visibility: Visibility<'_>,
        fence: &Fence,
    ) -> Result<LeafRows, Error> {
        let header = node.view.header();
        let is_settled = visibility.takes(header.lsn());
        let versions = visibility.versions_on(header);
        let falling = Err(Error::KeysOutOfOrder { page: node.id() });
        let Range { start: first, end } = self.at.slots_of(node)?;
        let has_ghosts = self.at.ghosts == Ghosts::All || !is_settled;
        let mut rows = LeafRows::of(node.id(), usize::from(end.saturating_sub(first)), is_settled);
        let mut key = Vec::new();
        let mut last = Vec::new();
        for slot in first..end {
            node.key_into(slot, &mut key)?;
            if key < last || slot == first && fence.low.as_ref().is_some_and(|low| key < *low) {
                return falling;
            }
            let row = node.row(slot)?;
            if let Some(versions) = versions {
                if let Some(version) = versions.resolve(row)? {
                    rows.push(slot, &version);
                }
            } else if has_ghosts || !is_ghost(row) {
                rows.push(slot, row);
            }
            std::mem::swap(&mut key, &mut last);
        }
        if first < end && fence.high.as_ref().is_some_and(|high| *high <= last) {
            return falling;
        }
        if self.at.is_backward {
            rows.reverse();
        }
        Ok(rows)
    }

    /// The rest of the range after a leaf. Fence keys must grow from leaf to leaf, so that a scan
    /// terminates even where pages contradict each other.
    fn advance(&mut self, fence: Fence) {
        let fence_key = if self.at.is_backward { fence.low } else { fence.high };
        let is_left = |key: &Vec<u8>| {
            if self.at.is_backward {
                self.at.range.from < *key
            } else {
                !self.at.range.ends_before(key)
            }
        };
        match fence_key.filter(is_left) {
            None => self.at.is_done = true,
            Some(key) if self.at.is_backward => self.at.range.until = Some(key),
            Some(key) => self.at.range.from = key,
        }
    }
}

/// A leaf has a neighbour where it has a fence key, and is not its own neighbour.
fn verify_links(node: Node<'_>, fence: &Fence) -> Result<(), Error> {
    let corrupt = |what| Err(Error::Corrupt { page: node.id(), what });
    for (link, fence_key) in [(node.previous(), &fence.low), (node.next(), &fence.high)] {
        if link == node.id() {
            return corrupt("occurs twice in its chain");
        }
        if link.is_none() != fence_key.is_none() {
            return corrupt("is linked otherwise than its parent says");
        }
    }
    Ok(())
}

impl Iterator for Scan<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows.is_empty() {
            match self.leaves.next(&|| None) {
                Ok(leaf) => {
                    self.rows.extend(leaf.iter().flat_map(|leaf| leaf.iter().map(RowRef::to_row)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        self.rows.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(range: KeyRange) -> (Vec<u8>, Option<Vec<u8>>) {
        (range.from, range.until)
    }

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        assert_eq!(bounds(KeyRange::of([1, 2])), (vec![1, 2], Some(vec![1, 3])));
        assert_eq!(bounds(KeyRange::of([1, 0xff])), (vec![1, 0xff], Some(vec![2])));
        assert_eq!(
            bounds(KeyRange::of([0xff, 0xff])),
            (vec![0xff, 0xff], None),
            "nothing lies behind it"
        );
        assert_eq!(KeyRange::of([]), KeyRange::all());
    }

    #[test]
    fn bounds_only_make_a_range_shorter() {
        let range = KeyRange::of([5]);
        assert_eq!(
            range.clone().with_lower(Bound::Included(&[3])).with_upper(Bound::Included(&[8])),
            range
        );
        let inner =
            range.clone().with_lower(Bound::Excluded(&[5, 3])).with_upper(Bound::Excluded(&[5, 8]));
        assert_eq!(bounds(inner), (vec![5, 4], Some(vec![5, 8])));
        let inner = range.with_lower(Bound::Included(&[5, 3])).with_upper(Bound::Included(&[5, 8]));
        assert_eq!(bounds(inner), (vec![5, 3], Some(vec![5, 9])));
        assert_eq!(KeyRange::all().with_upper(Bound::Included(&[0xff])), KeyRange::all());
        assert_eq!(
            bounds(KeyRange::all().with_upper(Bound::Excluded(&[0xff]))),
            (vec![], Some(vec![0xff]))
        );
    }

    #[test]
    fn a_range_greater_than_all_keys_is_empty() {
        let range = KeyRange::all().with_lower(Bound::Excluded(&[0xff]));
        assert!(range.ends_before(&[]) && range.ends_before(&[0xff, 1]));
        assert!(!KeyRange::all().ends_before(&[0xff]));
        let range = KeyRange::of([5]);
        assert!(
            range.ends_before(&[6]) && !range.ends_before(&[5, 0xff]) && !range.ends_before(&[4])
        );
    }
}
