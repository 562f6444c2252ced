//! Page splits: room for a record on a full page. The page is split, or a new root is added first.
//!
//! ```text
//! leaf full, parent with room       SplitPage: P keeps rows 0 … cut-1, the others move to a new
//!                                   page N after it
//!                                     FORMAT_PAGE N, INSERT_ROWS N, DELETE_SPLIT P, P.next,
//!                                     the right neighbour's prev, INSERT_ROWS into the parent
//! parent full                       the parent is split the same way first
//! root full                         BTree Split/Shrink: FORMAT_PAGE of a root whose only record
//!                                   points to the
//!                                     old one, ROOT_CHANGE; then the old root is split
//! insert after the last key         nothing moves: the new page begins with the new row (100/0)
//! run of keys, or near the tree end the old page stays full: insert_pattern.rs
//! ```
//!
//! **Latch order**: `structure` (the mutex of the tree) → a new page from space, no latch held → EX
//! on the parent → EX on the page that is split → EX on its right neighbour → the new page. All are
//! held until the commit of the system transaction is in the log.
//!
//! Each of these is a system transaction of its own that allocates one page, with records in the
//! order of real logs, and leaves a sound tree. The caller descends again afterwards; every step
//! leaves fewer records on the leaf of its key, so that this terminates. The split point is
//! computed when the page is latched: until then its rows change.
//!
//! Invariants
//! - Pages above the leaves are never empty; a leaf may be, until the row that it was split for is
//!   inserted.
//! - A split that fails is rolled back page by page. When the rollback fails, too, the pages
//!   contradict each other: the tree is unusable, and restart undoes the open system transaction.

use std::borrow::Cow;

use extentdb_base::sync::lock;
use extentdb_base::{PageId, XactId};
use extentdb_buffer::{PageReadGuard, PageWriteGuard};
use extentdb_catalog::layout::Level;
use extentdb_change::change;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::page::{DeleteSplit, PagePart};
use extentdb_format::log::payload::row::{ModifyHeader, RowPart};
use extentdb_format::log::{Context, Op};
use extentdb_format::page::header::{LEVEL_AT, NEXT_AT, PREV_AT};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_space::PageForm;
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::cut::cut_at;
use super::insert::LEAF_FLAG_BITS;
use super::insert_pattern::InsertPattern;
use super::page::{Node, Position, SLOT_BYTES, is_ghost};
use super::seek::{PathStep, Towards, write_spinning};
use super::system::{ChangeOutcome, LatchedPages};
use crate::error::Error;

/// The pages of a split, in latch order: from the top down, then from left to right. The new page,
/// which no other thread can reach, is the last.
const PARENT: usize = 0;
pub(super) const OLD: usize = 1;
const RIGHT: usize = 2;

/// The slot of a record that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordSlot {
    /// In a new slot.
    New(u16),
    /// Instead of the record of a slot.
    Grown(u16),
}

/// A record that does not fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRecord<'r> {
    pub(super) slot: RecordSlot,
    pub(super) row: &'r [u8],
}

/// How a page is to be split.
struct Cut {
    /// The first slot that moves to the new page; none does when it is the number of slots.
    at: u16,
    /// The separator of the new page, still without the page.
    separator: Vec<u8>,
}

/// What does not fit on a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum PendingInsert<'r> {
    /// A row of a transaction on a leaf, in the slot of its key.
    Row { key: &'r [u8], row: &'r [u8], by: XactId },
    /// A separator on a page above, in this slot. `spare` bytes stay free in addition when the page
    /// has three records already.
    Separator { slot: u16, record: &'r [u8], spare: usize },
}

/// Outcome of an attempt to change a row.
pub(super) enum Attempt<'r> {
    Done,
    /// This record does not fit on the leaf of its key.
    NoRoomFor(Cow<'r, [u8]>),
}

/// More steps than any row needs in a sound tree, where each level is split a few times at most.
const STEPS_MAX: usize = 100;

impl Tree {
    /// Repeats an attempt to change the leaf of a key, with one step towards room after each
    /// failure, until it succeeds. In a tree whose keys are out of order the descent may miss the
    /// room that was made: the number of steps is limited.
    pub(super) fn until_done<'r>(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        mut attempt: impl FnMut(&mut Transaction) -> Result<Attempt<'r>, Error>,
    ) -> Result<(), Error> {
        for _ in 0..STEPS_MAX {
            let version = self.version();
            let Attempt::NoRoomFor(mut row) = attempt(tx)? else { return Ok(()) };
            let _structure = lock(&self.structure);
            if self.version() != version {
                // Other threads have made room, here or elsewhere.
                let Attempt::NoRoomFor(still) = attempt(tx)? else { return Ok(()) };
                row = still;
            }
            self.make_room(tx, key, &row)?;
        }
        Err(Error::Corrupt {
            page: self.unit.root(),
            what: "does not point to the page that was split below it",
        })
    }

    /// Takes one step towards room for a row: one split. The caller holds `structure`, and no
    /// latch.
    fn make_room(&self, tx: &Transaction, key: &[u8], row: &[u8]) -> Result<(), Error> {
        let way = self.descend::<PageReadGuard, Vec<PathStep>>(Towards::Key(key))?;
        let (leaf, steps) = way.ok_or(Error::NotFound { unit: self.unit.id() })?;
        let page = leaf.id();
        drop(leaf);
        self.make_room_on(tx, &steps, page, &PendingInsert::Row { key, row, by: tx.id() })
    }

    pub(super) fn make_room_on(
        &self,
        tx: &Transaction,
        steps: &[PathStep],
        page: PageId,
        want: &PendingInsert<'_>,
    ) -> Result<(), Error> {
        let guard = self.read(page)?;
        let node = self.node(page, &guard)?;
        let Some(need) = self.need_of(node, want)? else { return Ok(()) };
        let Some((parent, above)) = steps.split_last() else {
            drop(guard);
            return self.grow_root(tx, page);
        };
        let cut = self.cut(node, &need)?;
        let next = node.next();
        let may_move = self.may_move_to_sibling(node, &need);
        drop(guard);
        if may_move && self.move_to_sibling(tx, page, *parent, want)? {
            return Ok(());
        }
        let spare = want.spare();
        let separator =
            PendingInsert::Separator { slot: parent.slot + 1, record: &cut.separator, spare };
        if self.has_room_on(parent.page, &separator)? {
            self.read_neighbour(page, next, parent.page)?;
            return self.split(tx, page, *parent, want);
        }
        self.make_room_on(tx, above, parent.page, &separator)
    }

    /// Does `want` fit on the page?
    pub(super) fn has_room_on(
        &self,
        page: PageId,
        want: &PendingInsert<'_>,
    ) -> Result<bool, Error> {
        let guard = self.read(page)?;
        Ok(self.need_of(self.node(page, &guard)?, want)?.is_none())
    }

    fn cut(&self, node: Node<'_>, need: &PendingRecord<'_>) -> Result<Cut, Error> {
        let at =
            cut_at(node, need, &self.reserved_of_slots(node)?, self.insert_pattern(node, need))?;
        let separator = match node.level {
            Level::Leaf if at == node.slot_count() => {
                self.shape.separator(&self.shape.leaf(need.row), PageId::NONE)?
            }
            Level::Leaf => self.shape.separator(&node.record(at)?, PageId::NONE)?,
            Level::Interior => node.row(at)?.to_vec(),
        };
        Ok(Cut { at, separator })
    }

    /// What to expect of a leaf that is to be split.
    fn insert_pattern(&self, node: Node<'_>, need: &PendingRecord<'_>) -> InsertPattern {
        match need.slot {
            RecordSlot::New(slot) => self.insert_patterns.of(node.insert_slot(slot)),
            RecordSlot::Grown(_) => InsertPattern::Scattered,
        }
    }

    /// Adds a root above the current one, to which its only record points. No other thread can
    /// reach the new page before it is the root, and the old one does not change: no latch is held.
    pub(super) fn grow_root(&self, tx: &Transaction, old: PageId) -> Result<(), Error> {
        let root = self.in_system(tx, "BTree Split/Shrink", |sys, page, _| {
            let level = self.true_level(sys, old)?;
            let form = PageForm {
                kind: PageType::Index,
                level: level + 1,
                pminlen: self.shape.pminlen(Level::Interior),
                context: Context::INDEX_INTERIOR,
                prev: PageId::NONE,
                next: PageId::NONE,
                type_flag_bits: 0,
                flag_bits: 0,
            };
            let mut root = self.space.format_page(sys, &self.unit, page, &form)?;
            let first = self.shape.first_separator(old);
            self.log_insert(
                RecordOwner::Change(sys),
                &mut root,
                0,
                vec![&first],
                Context::INDEX_INTERIOR,
            )?;
            drop(root);
            self.space.log_root(sys, &self.unit, page)?;
            Ok(ChangeOutcome::Done)
        })?;
        self.publish_root(root);
        Ok(())
    }

    /// The level of a root. A root right above data pages may have level 0 in its header
    /// (`docs/format/page.md`); with a page above it that would be wrong.
    fn true_level(&self, sys: &mut Transaction, root: PageId) -> Result<u8, Error> {
        let mut guard = self.space.pool().write(root)?;
        let node = self.node(root, &guard)?;
        let level = node.view.header().level;
        if node.is_leaf() || level > 0 {
            return Ok(level);
        }
        self.log_header(sys, &mut guard, LEVEL_AT, &[0], &[1])?;
        Ok(1)
    }

    /// Splits a page below a parent that has room. Other threads may have changed the rows of a
    /// leaf until it is latched: then there may be nothing to do.
    fn split(
        &self,
        tx: &Transaction,
        old: PageId,
        parent: PathStep,
        want: &PendingInsert<'_>,
    ) -> Result<(), Error> {
        let done = self.in_system(tx, "SplitPage", |sys, new, held| {
            let Some(cut) = self.latch_to_split(held, old, parent.page, want)? else {
                return Ok(ChangeOutcome::NotNeeded);
            };
            self.move_rows(sys, held, new, cut.at)?;
            self.link(sys, held, new, parent.slot + 1, &cut.separator)?;
            self.move_room_within(held)?;
            Ok(ChangeOutcome::Done)
        });
        done.map(drop)
    }

    /// Links the new page after the one that is split, and inserts its separator into the parent.
    pub(super) fn link(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        new: PageId,
        slot: u16,
        separator: &[u8],
    ) -> Result<(), Error> {
        let old = held[OLD].id();
        let next = PageHeader::of(&held[OLD]).next();
        self.log_header(sys, &mut held[OLD], NEXT_AT, &next.to_bytes(), &new.to_bytes())?;
        if !next.is_none() {
            self.log_header(sys, &mut held[RIGHT], PREV_AT, &old.to_bytes(), &new.to_bytes())?;
        }
        let separator = with_child(separator, new, self.shape.pminlen(Level::Interior));
        let link = RecordOwner::Change(sys);
        self.log_insert(link, &mut held[PARENT], slot, vec![&separator], Context::INDEX_INTERIOR)
    }

    /// Latches what a split changes, top down and left to right, and says where to cut; `None` when
    /// that is no longer needed, or the separator has become too long for the parent.
    fn latch_to_split(
        &self,
        held: &mut LatchedPages,
        old: PageId,
        parent: PageId,
        want: &PendingInsert<'_>,
    ) -> Result<Option<Cut>, Error> {
        let pool = self.space.pool();
        held.push(write_spinning(pool, parent)?);
        held.push(write_spinning(pool, old)?);
        let node = self.node(old, &held[OLD])?;
        let Some(need) = self.need_of(node, want)? else { return Ok(None) };
        let cut = self.cut(node, &need)?;
        let next = node.next();
        if !self.node(parent, &held[PARENT])?.fits_new(cut.separator.len(), 0)? {
            return Ok(None);
        }
        if !next.is_none() {
            held.push(write_spinning(pool, next)?);
        }
        Ok(Some(cut))
    }

    /// The right neighbour of the page that is split: it may have to be read, which is done before
    /// anything is latched.
    fn read_neighbour(&self, page: PageId, next: PageId, parent: PageId) -> Result<(), Error> {
        if next == page || next == parent {
            return Err(Error::Corrupt { page, what: "occurs twice in its chain" });
        }
        if !next.is_none() {
            let guard = self.read(next)?;
            self.node(next, &guard)?;
        }
        Ok(())
    }

    /// Formats the new page, which is latched then, and moves the rows from `at` on to it.
    fn move_rows(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        new: PageId,
        at: u16,
    ) -> Result<(), Error> {
        refuse_held(held, new)?;
        let old = held[OLD].id();
        let node = self.node(old, &held[OLD])?;
        let level = node.level;
        let rows = Tree::rows_from(node, at)?;
        let freed: usize = rows.iter().map(|row| node.room(row.len()) + SLOT_BYTES).sum();
        let form = self.form_of_neighbour(node);
        let mut target = self.space.format_page(sys, &self.unit, new, &form)?;
        if rows.is_empty() {
            held.push(target);
            return Ok(());
        }
        let images = rows.iter().map(Vec::as_slice).collect();
        let inserted = self.log_insert(
            RecordOwner::Change(sys),
            &mut target,
            0,
            images,
            self.moving_context(level),
        );
        held.push(target);
        inserted?;
        if level == Level::Leaf && rows.iter().any(|row| is_ghost(row)) {
            self.note_ghosts(new);
        }
        let moved = DeleteSplit {
            page: PagePart { slot: at, ..PagePart::default() },
            new_page: new,
            rows_deleted: rows.len() as u16,
            bytes_freed: freed as u16,
            ..DeleteSplit::default()
        };
        let context = self.context_of(level);
        let payload = Payload::DeleteSplit(moved);
        change(RecordOwner::Change(sys), &mut held[OLD], Op::DELETE_SPLIT, context, payload)?;
        Ok(())
    }

    /// Copies the rows of `old` from `at` on.
    pub(super) fn rows_from(old: Node<'_>, at: u16) -> Result<Vec<Vec<u8>>, Error> {
        (at..old.slot_count()).map(|slot| Ok(old.row(slot)?.to_vec())).collect()
    }

    /// The form of a page to the right of `old`, on the same level.
    fn form_of_neighbour(&self, old: Node<'_>) -> PageForm {
        let header = old.view.header();
        PageForm {
            kind: self.kind_of(old.level),
            level: header.level,
            pminlen: header.fixed_len.get(),
            context: self.context_of(old.level),
            prev: old.id(),
            next: old.next(),
            type_flag_bits: if old.is_leaf() { LEAF_FLAG_BITS } else { 0 },
            flag_bits: 0,
        }
    }

    /// Undo room reserved for rows that have moved follows them. Only the commit of the split can
    /// fail after this, and then the tree is unusable.
    fn move_room_within(&self, held: &mut LatchedPages) -> Result<(), Error> {
        let Some((new, others)) = held.split_last_mut() else { return Ok(()) };
        self.move_room(&mut others[OLD], new)
    }

    /// The slot of what does not fit; `None` when there is room for it.
    pub(super) fn need_of<'r>(
        &self,
        node: Node<'_>,
        want: &PendingInsert<'r>,
    ) -> Result<Option<PendingRecord<'r>>, Error> {
        let (slot, row, reserved) = match *want {
            PendingInsert::Separator { slot, record, .. } => (RecordSlot::New(slot), record, 0),
            PendingInsert::Row { key, row, by } => {
                let slot = match node.position(key)? {
                    Position::Free(slot) => RecordSlot::New(slot),
                    Position::Live(slot) | Position::Ghost(slot) => RecordSlot::Grown(slot),
                };
                (slot, row, self.reserved_for_others(node, by))
            }
        };
        let has_room = match slot {
            // A page with three records gives one away when it is split, and keeps two.
            RecordSlot::New(_) if node.slot_count() > 2 => {
                node.fits_new(row.len() + want.spare(), reserved)?
            }
            RecordSlot::New(_) => node.fits_new(row.len(), reserved)?,
            RecordSlot::Grown(slot) => node.fits_instead(slot, row.len(), reserved)?,
        };
        Ok((!has_room).then_some(PendingRecord { slot, row }))
    }

    /// Logs and applies a change of the page header.
    pub(super) fn log_header(
        &self,
        sys: &mut Transaction,
        page: &mut PageWriteGuard,
        offset: u16,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), Error> {
        let at = usize::from(offset);
        if page.get(at..at + before.len()) != Some(before) {
            return Err(Error::Corrupt {
                page: page.id(),
                what: "is linked to another page than to its neighbour",
            });
        }
        // Real logs have 0 for the length here.
        let fixed = RowPart { offset_in_row: offset, ..self.row_part(0) };
        let modify = ModifyHeader { fixed, before, after, more: Vec::new() };
        let context = match PageHeader::of(page) {
            // As real logs have it, though the page is one of a clustered index.
            header if header.kind() == PageType::Data => Context::HEAP,
            header if header.level == 0 && !self.shape.is_base() => Context::INDEX_LEAF,
            _ => Context::INDEX_INTERIOR,
        };
        change(
            RecordOwner::Change(sys),
            page,
            Op::MODIFY_HEADER,
            context,
            Payload::ModifyHeader(modify),
        )?;
        Ok(())
    }

    fn context_of(&self, level: Level) -> Context {
        if level == Level::Leaf { self.leaf_context() } else { Context::INDEX_INTERIOR }
    }

    /// The context of rows that a split moves: its own, but for system base tables.
    fn moving_context(&self, level: Level) -> Context {
        if self.unit.id().is_system() { self.context_of(level) } else { Context::NONSYS_SPLIT }
    }
}

impl PendingInsert<'_> {
    fn spare(&self) -> usize {
        match self {
            PendingInsert::Row { .. } => 0,
            PendingInsert::Separator { spare, .. } => *spare,
        }
    }
}

/// Maps that contradict the tree may offer a page that it uses already.
pub(super) fn refuse_held(held: &LatchedPages, new: PageId) -> Result<(), Error> {
    if held.iter().any(|page| page.id() == new) {
        Err(Error::Corrupt { page: new, what: "is a page of the tree and free" })
    } else {
        Ok(())
    }
}

/// The same separator with another child page.
pub(super) fn with_child(separator: &[u8], child: PageId, pminlen: u16) -> Vec<u8> {
    let mut out = separator.to_vec();
    let end = usize::from(pminlen);
    if let Some(target) = end.checked_sub(PageId::BYTES).and_then(|start| out.get_mut(start..end)) {
        target.copy_from_slice(&child.to_bytes());
    }
    out
}
