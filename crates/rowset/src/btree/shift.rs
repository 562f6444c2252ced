//! Redistribution of rows between siblings: before a full leaf is split, rows move to a leaf beside
//! it that has room.
//!
//! Known algorithm: the B*-tree of Bayer, McCreight and Knuth. Where we differ: a sibling takes
//! rows only when [`SIBLING_FREE_MIN`] of it is free, and a page is split into two halves when no
//! sibling has so much, not two pages into three. After random inserts leaves are then 70 to 85 %
//! full instead of 50 to 100 % in turns, because pages that were split at the same time do not get
//! full at the same time.
//!
//! ```text
//!           parent [ … │ f→P │ m→S │ … ]               parent [ … │ f→P │ j→S │ … ]
//!           P f g h i j k l   S m n            ──▶     P f g h i   S j k l m n
//! to the right   INSERT_ROWS S of each row, DELETE_SPLIT P
//! to the left    INSERT_ROWS S and DELETE_ROWS P of each row, in the context of a split: undoing
//!                the latter inserts the row, and does not take the next one for its ghost
//! then           DELETE_ROWS and INSERT_ROWS of the separator between them
//! ```
//!
//! Each row has a record of its own on the sibling: the page has other rows, which an undo of the
//! system transaction must leave there. Latches as for a [split](super::split): parent, then the
//! two leaves from left to right.
//!
//! Invariants
//! - The two leaves have the same parent, so that only the separator between them changes.
//! - On both leaves all rows fit with what is reserved for their undo
//!   ([`undo_room`](super::undo_room)): each entry counts with the longest that an undo makes it.
//! - A leaf keeps a row, so that none gets empty.
//! - Rows of system tables stay: the undo of a pointer of a unit looks for the unit's row to the
//!   right of where it was (`extentdb_change::undo`).

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Level;
use extentdb_change::change;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::page::{DeleteSplit, PagePart};
use extentdb_format::log::{Context, Op};
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::insert_pattern::InsertPattern;
use super::page::{Node, SLOT_BYTES, is_ghost};
use super::seek::{PathStep, write_spinning};
use super::split::{PendingInsert, PendingRecord, RecordSlot, with_child};
use super::system::{ChangeOutcome, LatchedPages};
use crate::error::Error;

/// Free bytes from which on a sibling takes rows.
const SIBLING_FREE_MIN: usize = PAGE_BODY_BYTES * 3 / 8;
/// Bytes that stay free on a leaf whose rows move to the last leaf of the tree, which fills up
/// anyway: it takes them whenever they fit. So late rows of many clients in ascending order of the
/// key find room, and leave a full leaf.
const LATE_BYTES: usize = PAGE_BODY_BYTES / 16;

/// The pages of a redistribution, in latch order.
const PARENT: usize = 0;
const LEFT: usize = 1;
const RIGHT: usize = 2;

/// Where the rows move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Left,
    Right,
}

/// A sibling with room.
#[derive(Clone, Copy, Debug)]
struct Sibling {
    page: PageId,
    direction: Direction,
    free: usize,
}

impl Direction {
    /// The positions of the full leaf and its sibling among the latched pages.
    fn full_and_sibling(self) -> (usize, usize) {
        match self {
            Direction::Left => (RIGHT, LEFT),
            Direction::Right => (LEFT, RIGHT),
        }
    }
}

impl Tree {
    /// Moves rows of a full leaf to a sibling, if one has room. False when nothing was changed: the
    /// leaf is to be split. The caller holds `structure`, and no latch.
    pub(super) fn move_to_sibling(
        &self,
        tx: &Transaction,
        full: PageId,
        parent: PathStep,
        want: &PendingInsert<'_>,
    ) -> Result<bool, Error> {
        let Some(sibling) = self.sibling_with_room(full, parent)? else { return Ok(false) };
        let pages = match sibling.direction {
            Direction::Left => [sibling.page, full],
            Direction::Right => [full, sibling.page],
        };
        let separator_slot = match sibling.direction {
            Direction::Left => parent.slot,
            Direction::Right => parent.slot + 1,
        };
        self.in_system_on(tx, "SplitPage", |sys, held| {
            held.push(write_spinning(self.space.pool(), parent.page)?);
            for page in pages {
                held.push(write_spinning(self.space.pool(), page)?);
            }
            let Some(cut) = self.cut_for_sibling(held, sibling.direction, separator_slot, want)?
            else {
                return Ok(ChangeOutcome::NotNeeded);
            };
            let separator = self.separator_of(held, sibling.direction, cut)?;
            match sibling.direction {
                Direction::Left => self.move_left(sys, held, cut)?,
                Direction::Right => self.move_right(sys, held, cut)?,
            }
            self.replace_separator(sys, &mut held[PARENT], separator_slot, &separator)?;
            self.move_room_to_sibling(held, sibling.direction)?;
            Ok(ChangeOutcome::Done)
        })
    }

    /// May rows move at all? Where rows are inserted in order, the page that gets none stays full.
    pub(super) fn may_move_to_sibling(&self, node: Node<'_>, need: &PendingRecord<'_>) -> bool {
        match need.slot {
            RecordSlot::New(slot) if node.is_leaf() && !self.unit.id().is_system() => {
                self.insert_patterns.of(node.insert_slot(slot)) == InsertPattern::Scattered
            }
            _ => false,
        }
    }

    /// The sibling below the same parent that has the most room, if it is enough. Both are read, so
    /// that they are in memory when they are latched.
    fn sibling_with_room(&self, full: PageId, parent: PathStep) -> Result<Option<Sibling>, Error> {
        let guard = self.read(parent.page)?;
        let node = self.node(parent.page, &guard)?;
        let mut found = Vec::with_capacity(2);
        if parent.slot + 1 < node.slot_count() {
            found.push((node.child(parent.slot + 1)?, Direction::Right));
        }
        if parent.slot > 0 {
            found.push((node.child(parent.slot - 1)?, Direction::Left));
        }
        drop(guard);
        let mut best: Option<Sibling> = None;
        for (page, direction) in found {
            if page == full || page == parent.page {
                let what = "occurs twice in its chain";
                return Err(Error::Corrupt { page, what });
            }
            let guard = self.read(page)?;
            let node = self.node(page, &guard)?;
            let used = self.sizes_on(node)?.iter().sum::<usize>();
            let free = PAGE_BODY_BYTES.saturating_sub(used);
            let is_last = direction == Direction::Right && node.next().is_none();
            let least = if is_last { LATE_BYTES } else { SIBLING_FREE_MIN };
            if free >= least && best.is_none_or(|best| best.free < free) {
                best = Some(Sibling { page, direction, free });
            }
        }
        Ok(best)
    }

    /// What each record of a leaf takes at most, with its slot and the room reserved for its undo.
    fn sizes_on(&self, node: Node<'_>) -> Result<Vec<usize>, Error> {
        let reserved = self.reserved_of_slots(node)?;
        let reserved_of = |slot: u16| reserved.get(usize::from(slot)).copied().unwrap_or(0);
        (0..node.slot_count())
            .map(|slot| Ok(node.room_of(slot)? + SLOT_BYTES + reserved_of(slot)))
            .collect()
    }

    /// The first slot of the right part of the full leaf; `None` when nothing is to be moved any
    /// more, or cannot be.
    fn cut_for_sibling(
        &self,
        held: &LatchedPages,
        direction: Direction,
        separator_slot: u16,
        want: &PendingInsert<'_>,
    ) -> Result<Option<u16>, Error> {
        let (full, sibling) = direction.full_and_sibling();
        let full = self.node(held[full].id(), &held[full])?;
        let sibling = self.node(held[sibling].id(), &held[sibling])?;
        let linked = match direction {
            Direction::Left => full.previous() == sibling.id(),
            Direction::Right => full.next() == sibling.id(),
        };
        if !linked || !sibling.is_leaf() {
            let what = "is linked otherwise than its parent says";
            return Err(Error::Corrupt { page: sibling.id(), what });
        }
        let Some(need) = self.need_of(full, want)? else { return Ok(None) };
        let RecordSlot::New(new_slot) = need.slot else { return Ok(None) };
        let rows = FullLeaf {
            sizes: &self.sizes_on(full)?,
            new_slot: new_slot.into(),
            new_size: full.room(need.row.len()) + SLOT_BYTES,
        };
        let sibling_bytes = self.sizes_on(sibling)?.iter().sum();
        let goal = match direction {
            Direction::Right if sibling.next().is_none() => Goal::FullLeaf,
            _ => Goal::Balance,
        };
        let Some(cut) = cut_between(&rows, sibling_bytes, direction, goal) else {
            return Ok(None);
        };
        let separator = self.separator_of(held, direction, cut)?;
        let parent = self.node(held[PARENT].id(), &held[PARENT])?;
        let fits = parent.fits_instead(separator_slot, separator.len(), 0)?;
        Ok(fits.then_some(cut))
    }

    /// The separator of the right leaf when the full one is cut here.
    fn separator_of(
        &self,
        held: &LatchedPages,
        direction: Direction,
        cut: u16,
    ) -> Result<Vec<u8>, Error> {
        let (full, _) = direction.full_and_sibling();
        let node = self.node(held[full].id(), &held[full])?;
        self.shape.separator(&node.record(cut)?, held[RIGHT].id())
    }

    /// Moves the rows from `cut` on before those of the right sibling.
    fn move_right(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        cut: u16,
    ) -> Result<(), Error> {
        let node = self.node(held[LEFT].id(), &held[LEFT])?;
        let rows = Tree::rows_from(node, cut)?;
        let freed: usize = rows.iter().map(|row| node.room(row.len()) + SLOT_BYTES).sum();
        // Each is inserted before those that follow it and have moved already.
        for row in rows.iter().rev() {
            self.insert_moved(sys, &mut held[RIGHT], 0, row)?;
        }
        let moved = DeleteSplit {
            page: PagePart { slot: cut, ..PagePart::default() },
            new_page: held[RIGHT].id(),
            rows_deleted: rows.len() as u16,
            bytes_freed: freed as u16,
            ..DeleteSplit::default()
        };
        let payload = Payload::DeleteSplit(moved);
        let context = self.leaf_context();
        change(RecordOwner::Change(sys), &mut held[LEFT], Op::DELETE_SPLIT, context, payload)?;
        Ok(())
    }

    /// Moves the rows before `cut` after those of the left sibling.
    fn move_left(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        cut: u16,
    ) -> Result<(), Error> {
        for _ in 0..cut {
            let row = self.node(held[RIGHT].id(), &held[RIGHT])?.row(0)?.to_vec();
            let end = self.node(held[LEFT].id(), &held[LEFT])?.slot_count();
            self.insert_moved(sys, &mut held[LEFT], end, &row)?;
            let context = Context::NONSYS_SPLIT;
            self.log_delete(RecordOwner::Change(sys), &mut held[RIGHT], 0, &row, context)?;
        }
        Ok(())
    }

    fn insert_moved(
        &self,
        sys: &mut Transaction,
        page: &mut PageWriteGuard,
        slot: u16,
        row: &[u8],
    ) -> Result<(), Error> {
        if is_ghost(row) {
            self.note_ghosts(page.id());
        }
        let context = self.leaf_context();
        self.log_insert(RecordOwner::Change(sys), page, slot, vec![row], context)
    }

    /// Gives a page above the leaves another separator instead of one that it has.
    fn replace_separator(
        &self,
        sys: &mut Transaction,
        parent: &mut PageWriteGuard,
        slot: u16,
        separator: &[u8],
    ) -> Result<(), Error> {
        let node = self.node(parent.id(), parent)?;
        let old = node.row(slot)?.to_vec();
        let separator =
            with_child(separator, node.child(slot)?, self.shape.pminlen(Level::Interior));
        let context = Context::INDEX_INTERIOR;
        self.log_delete(RecordOwner::Change(sys), parent, slot, &old, context)?;
        self.log_insert(RecordOwner::Change(sys), parent, slot, vec![&separator], context)
    }

    /// Undo room reserved for rows that have moved follows them. Only the commit can fail after
    /// this, and then the tree is unusable.
    fn move_room_to_sibling(
        &self,
        held: &mut LatchedPages,
        direction: Direction,
    ) -> Result<(), Error> {
        let [_, left, right] = held.as_mut_slice() else { return Ok(()) };
        match direction {
            Direction::Left => self.move_room(right, left),
            Direction::Right => self.move_room(left, right),
        }
    }
}

/// The rows of a full leaf, and the one that is to be inserted.
struct FullLeaf<'s> {
    sizes: &'s [usize],
    /// The new row is inserted before this one.
    new_slot: usize,
    new_size: usize,
}

/// How rows are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// Both leaves get equally full.
    Balance,
    /// The full leaf stays full, but for [`LATE_BYTES`].
    FullLeaf,
}

/// Where to cut a full leaf so that the rows on one side of the cut fit on a sibling with
/// `sibling_bytes` bytes of rows, and the others stay; `None` when there is no such cut.
fn cut_between(
    full: &FullLeaf<'_>,
    sibling_bytes: usize,
    direction: Direction,
    goal: Goal,
) -> Option<u16> {
    let total: usize = full.sizes.iter().sum();
    let mut before = 0;
    let mut best: Option<(usize, usize)> = None;
    for (at, size) in full.sizes.iter().enumerate() {
        if at > 0 {
            // A new row right at the cut is less than the separator.
            let is_new_before = full.new_slot <= at;
            let left = before + if is_new_before { full.new_size } else { 0 };
            let right = total - before + if is_new_before { 0 } else { full.new_size };
            let (stay, moved) = match direction {
                Direction::Left => (right, left),
                Direction::Right => (left, right),
            };
            let there = sibling_bytes + moved;
            let fits = stay <= PAGE_BODY_BYTES && there <= PAGE_BODY_BYTES;
            let distance = match goal {
                Goal::Balance => stay.abs_diff(there),
                Goal::FullLeaf => stay.abs_diff(PAGE_BODY_BYTES - LATE_BYTES),
            };
            if fits && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, at));
            }
        }
        before += size;
    }
    best.map(|(_, at)| at as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(new_slot: usize) -> FullLeaf<'static> {
        FullLeaf { sizes: &[100; 80], new_slot, new_size: 100 }
    }

    #[test]
    fn siblings_get_equally_full() {
        let cut = |slot, bytes, direction| {
            cut_between(&full(slot), bytes, direction, Goal::Balance).unwrap()
        };
        // 8100 bytes and 4100: 61 rows each.
        assert_eq!(cut(0, 4100, Direction::Right), 60, "and the new one stays");
        assert_eq!(cut(80, 4100, Direction::Right), 61, "and the new one moves");
        assert_eq!(cut(0, 4100, Direction::Left), 19, "and the new one moves");
        assert_eq!(cut(80, 4100, Direction::Left), 20, "and the new one stays");
    }

    #[test]
    fn a_new_row_at_the_cut_lies_left_of_it() {
        let cut = cut_between(&full(60), 4100, Direction::Right, Goal::Balance);
        assert_eq!(cut, Some(60));
        let tight = FullLeaf { sizes: &[3900, 3900], new_slot: 1, new_size: 3900 };
        assert_eq!(cut_between(&tight, 100, Direction::Right, Goal::Balance), Some(1));
        assert_eq!(cut_between(&tight, 100, Direction::Left, Goal::Balance), Some(1));
        assert_eq!(cut_between(&tight, 1000, Direction::Left, Goal::Balance), None);
    }

    #[test]
    fn what_moves_to_the_last_leaf_leaves_a_full_one() {
        let cut = cut_between(&full(30), 500, Direction::Right, Goal::FullLeaf).unwrap();
        assert_eq!(cut, 75);
    }

    #[test]
    fn a_leaf_keeps_a_row() {
        let one = FullLeaf { sizes: &[8000], new_slot: 0, new_size: 90 };
        assert_eq!(cut_between(&one, 0, Direction::Right, Goal::Balance), None);
        assert_eq!(cut_between(&one, 0, Direction::Left, Goal::Balance), None);
    }
}
