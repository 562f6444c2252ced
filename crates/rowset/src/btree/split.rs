//! Room for a record on a page that has none: the page is split, or a root set on top first.
//!
//! ```text
//! leaf without room, parent with room          SplitPage: P keeps rows 0 … cut-1, the rest goes to a new page behind it
//!                                                FORMAT_PAGE N, INSERT_ROWS N, DELETE_SPLIT P, MODIFY_HEADER P.next and
//!                                                of the next page its prev, INSERT_ROWS into the parent
//! parent without room                          the parent is split the same way first
//! root without room                            BTree Split/Shrink: FORMAT_PAGE of a root whose only record leads to the
//!                                                old one, ROOT_CHANGE; then the old root is a page like the others
//! a row behind all others                      nothing moves: the new page begins with the row that comes (100/0)
//! ```
//!
//! Each of these is a system transaction of its own that takes one page, in the order real logs have, and leaves a sound tree.
//! The caller looks for its place again afterwards; every step leaves fewer records beside that place, so that this ends.
//!
//! Invariants
//! - Pages above the leaves are never empty; a leaf may be while the row it was made for is on its way.
//! - A split that fails is taken back page by page. When not even that can be done, the pages no longer agree: the tree refuses
//!   all service from then on, and restart takes the open system transaction back.

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Level;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::page::{DeleteSplit, PagePart};
use extentdb_format::log::payload::row::{ModifyHeader, RowPart};
use extentdb_format::log::{Context, Op};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_space::{PageForm, change};
use extentdb_txn::{Link, Transaction};

use super::Tree;
use super::insert::LEAF_FLAG_BITS;
use super::page::{Node, SLOT_BYTES, is_ghost};
use super::seek::{Path, Step};
use crate::error::Error;

/// Offsets in a page header that MODIFY_HEADER names.
const LEVEL_AT: u16 = 3;
const PREVIOUS_AT: u16 = 8;
const NEXT_AT: u16 = 0x10;
/// Object ids of system base tables are small, and their units have their index id as it is; those of other tables count from 256.
const USER_INDEX_PART_MIN: u16 = 256;

/// Where a record is to lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In a new slot.
    New(u16),
    /// In the place of the record of a slot.
    Grown(u16),
}

/// A record that finds no room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need<'r> {
    pub(super) place: Place,
    pub(super) row: &'r [u8],
}

/// How a page is to be split.
struct Cut {
    /// The first slot that goes to the new page; all stay when it is the number of slots.
    at: u16,
    /// The separator of the new page, still without the page.
    separator: Vec<u8>,
}

/// More steps than any row needs in a sound tree, where each level is split a few times at most.
const STEPS_MAX: usize = 100;

impl Tree {
    /// Repeats what makes a step towards room when there is none, until it is done. In a tree whose keys are out of order the way
    /// may lead past the room that was made, again and again.
    pub(super) fn until_done(&self, mut step: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
        for _ in 0..STEPS_MAX {
            if step()? {
                return Ok(());
            }
        }
        Err(Error::Corrupt {
            page: self.unit.root(),
            what: "does not lead to the room that was made below it",
        })
    }

    /// Takes one step towards room for a record on the leaf of a path.
    pub(super) fn make_room(&self, tx: &Transaction, path: &Path, need: &Need<'_>) -> Result<(), Error> {
        self.make_room_on(tx, &path.steps, path.leaf, need)
    }

    fn make_room_on(
        &self,
        tx: &Transaction,
        steps: &[Step],
        page: PageId,
        need: &Need<'_>,
    ) -> Result<(), Error> {
        let Some((parent, above)) = steps.split_last() else { return self.grow_root(tx, page) };
        let cut = self.plan(page, need)?;
        let slot = parent.slot + 1;
        let has_room = {
            let guard = self.read(parent.page)?;
            self.node(parent.page, &guard)?.fits_new(cut.separator.len())?
        };
        if has_room {
            return self.split(tx, page, *parent, &cut);
        }
        let need = Need { place: Place::New(slot), row: &cut.separator };
        self.make_room_on(tx, above, parent.page, &need)
    }

    fn plan(&self, page: PageId, need: &Need<'_>) -> Result<Cut, Error> {
        let guard = self.read(page)?;
        let node = self.node(page, &guard)?;
        let at = cut_at(node, need)?;
        let separator = match node.level {
            Level::Leaf if at == node.slot_count() => {
                self.shape.separator(&self.shape.leaf(need.row), PageId::NONE)?
            }
            Level::Leaf => self.shape.separator(&node.record(at)?, PageId::NONE)?,
            Level::Interior => node.row(at)?.to_vec(),
        };
        Ok(Cut { at, separator })
    }

    /// Sets a root on top of the one there is, whose only record leads to it.
    fn grow_root(&self, tx: &Transaction, old: PageId) -> Result<(), Error> {
        self.in_system(tx, "BTree Split/Shrink", |sys, page| {
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
            self.log_insert(Link::Change(sys), &mut root, 0, vec![&first], Context::INDEX_INTERIOR)?;
            drop(root);
            Ok(self.space.set_root(sys, &self.unit, page)?)
        })
    }

    /// The level of a root. Roots right above data pages may say 0 (`ondisk.md` 6.3); with a page above them that would be wrong.
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

    fn split(&self, tx: &Transaction, old: PageId, parent: Step, cut: &Cut) -> Result<(), Error> {
        self.in_system(tx, "SplitPage", |sys, new| {
            let next = self.move_rows(sys, old, new, cut.at)?;
            let mut guard = self.space.pool().write(old)?;
            self.log_header(sys, &mut guard, NEXT_AT, &next.to_bytes(), &new.to_bytes())?;
            drop(guard);
            if !next.is_none() {
                let mut guard = self.space.pool().write(next)?;
                self.log_header(sys, &mut guard, PREVIOUS_AT, &old.to_bytes(), &new.to_bytes())?;
            }
            let separator = with_child(&cut.separator, new, self.shape.pminlen(Level::Interior));
            let mut guard = self.space.pool().write(parent.page)?;
            let link = Link::Change(sys);
            self.log_insert(link, &mut guard, parent.slot + 1, vec![&separator], Context::INDEX_INTERIOR)
        })
    }

    /// Formats the new page and moves the rows from `at` on to it; returns the page behind the old one.
    fn move_rows(&self, sys: &mut Transaction, old: PageId, new: PageId, at: u16) -> Result<PageId, Error> {
        let mut source = self.space.pool().write(old)?;
        let node = self.node(old, &source)?;
        let (level, next) = (node.level, node.next());
        let rows: Result<Vec<Vec<u8>>, Error> =
            (at..node.slot_count()).map(|slot| Ok(node.row(slot)?.to_vec())).collect();
        let rows = rows?;
        let freed: usize = rows.iter().map(|row| node.room(row.len()) + SLOT_BYTES).sum();
        let form = PageForm {
            kind: self.kind_of(level),
            level: node.view.header().level,
            pminlen: node.view.header().fixed_len.get(),
            context: self.context_of(level),
            prev: old,
            next,
            type_flag_bits: if level == Level::Leaf { LEAF_FLAG_BITS } else { 0 },
            flag_bits: 0,
        };
        let mut target = self.space.format_page(sys, &self.unit, new, &form)?;
        if rows.is_empty() {
            return Ok(next);
        }
        let images = rows.iter().map(Vec::as_slice).collect();
        self.log_insert(Link::Change(sys), &mut target, 0, images, self.moving_context(level))?;
        if level == Level::Leaf && rows.iter().any(|row| is_ghost(row)) {
            self.haunt(new);
        }
        let page = PagePart { slot: at, ..PagePart::default() };
        let (rows_deleted, bytes_freed) = (rows.len() as u16, freed as u16);
        let payload =
            DeleteSplit { page, new_page: new, rows_deleted, bytes_freed, ..DeleteSplit::default() };
        let payload = Payload::DeleteSplit(payload);
        change(Link::Change(sys), &mut source, Op::DELETE_SPLIT, self.context_of(level), payload)?;
        Ok(next)
    }

    /// MODIFY_HEADER.
    fn log_header(
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
        change(Link::Change(sys), page, Op::MODIFY_HEADER, context, Payload::ModifyHeader(modify))?;
        Ok(())
    }

    /// Runs a change of several pages, one of them new, in a system transaction. When it fails, what was done is taken back.
    pub(super) fn in_system(
        &self,
        tx: &Transaction,
        name: &str,
        work: impl FnOnce(&mut Transaction, PageId) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let pointers = self.unit.pointers();
        let mut sys = tx.begin_system(name);
        let page = self.space.allocate_page(&mut sys, &self.unit).map_err(Error::from);
        let Err(error) = page.and_then(|page| work(&mut sys, page)) else {
            sys.commit().inspect_err(|_| self.cut_off())?;
            return Ok(());
        };
        let is_back = self.space.roll_back_system_of(sys, &self.unit, pointers).is_ok();
        // The maps have changed behind the back of what is known of them.
        self.unit.forget_chain();
        if !is_back {
            self.cut_off();
        }
        Err(error)
    }

    fn context_of(&self, level: Level) -> Context {
        if level == Level::Leaf { self.leaf_context() } else { Context::INDEX_INTERIOR }
    }

    /// The context of rows that a split moves: its own, but for system base tables.
    fn moving_context(&self, level: Level) -> Context {
        match self.unit.id().header_index_id() {
            USER_INDEX_PART_MIN.. => Context::NONSYS_SPLIT,
            _ => self.context_of(level),
        }
    }
}

/// The first slot that is to leave a page so that there is room for a record.
///
/// The records as they are to lie are cut where the halves differ least among the places where both fit. A row behind all others
/// of the tree begins a page of its own.
fn cut_at(node: Node<'_>, need: &Need<'_>) -> Result<u16, Error> {
    let sizes: Result<Vec<usize>, Error> =
        (0..node.slot_count()).map(|slot| Ok(node.room_of(slot)? + SLOT_BYTES)).collect();
    let sizes = sizes?;
    let appends = need.place == Place::New(node.slot_count()) && node.next().is_none();
    let size = node.room(need.row.len()) + SLOT_BYTES;
    let corrupt = Error::Corrupt { page: node.id(), what: "has no room and nothing to give away" };
    let cut = match need.place {
        Place::New(slot) if node.is_leaf() => cut_for_new(&sizes, slot.into(), size, appends),
        // A page above the leaves gives one record away, so that neither page is empty.
        Place::New(_) if appends => sizes.len().checked_sub(1),
        Place::New(slot) => cut_for_new(&sizes, slot.into(), size, false),
        Place::Grown(slot) => cut_for_grown(&sizes, slot.into(), size),
    };
    let is_sound = |cut: &usize| node.is_leaf() || (1..sizes.len()).contains(cut);
    cut.filter(is_sound).map(|cut| cut as u16).ok_or(corrupt)
}

/// `sizes` are those of the records there are; the new one comes before record `slot`.
fn cut_for_new(sizes: &[usize], slot: usize, size: usize, appends: bool) -> Option<usize> {
    if appends {
        return Some(sizes.len());
    }
    let mut all = sizes.to_vec();
    all.insert(slot.min(sizes.len()), size);
    match balanced(&all) {
        // The new record is in the left half.
        Some(cut) if slot < cut => Some(cut - 1),
        Some(cut) => Some(cut),
        // It fits beside neither of its neighbours: the page is cut at its place, and once more there.
        None => Some(slot),
    }
}

fn cut_for_grown(sizes: &[usize], slot: usize, size: usize) -> Option<usize> {
    let mut all = sizes.to_vec();
    *all.get_mut(slot)? = size;
    balanced(&all).or(Some(slot.max(1))).filter(|cut| *cut < sizes.len())
}

/// Where to cut a run of records so that each part fits on a page and their sizes differ least.
fn balanced(sizes: &[usize]) -> Option<usize> {
    let total: usize = sizes.iter().sum();
    let mut left = 0;
    let cuts = sizes.iter().take(sizes.len().saturating_sub(1)).enumerate().filter_map(|(at, size)| {
        left += size;
        let right = total - left;
        (left <= PAGE_BODY_BYTES && right <= PAGE_BODY_BYTES).then_some((left.abs_diff(right), at + 1))
    });
    cuts.min().map(|(_, cut)| cut)
}

/// The same separator with another child page.
fn with_child(separator: &[u8], child: PageId, pminlen: u16) -> Vec<u8> {
    let mut out = separator.to_vec();
    let end = usize::from(pminlen);
    if let Some(place) = end.checked_sub(PageId::BYTES).and_then(|start| out.get_mut(start..end)) {
        place.copy_from_slice(&child.to_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_makes_room_for_the_new_record_on_both_sides() {
        let cut = |sizes: &[usize], slot, size| cut_for_new(sizes, slot, size, false);
        assert_eq!(cut(&[1000; 8], 0, 1000), Some(3), "left half: one less of the old ones");
        assert_eq!(cut(&[1000; 8], 8, 1000), Some(4));
        assert_eq!(cut(&[8000], 0, 8000), Some(0), "all of them go");
        assert_eq!(cut(&[8000], 1, 8000), Some(1), "none goes");
        assert_eq!(cut(&[4000, 4000], 1, 8000), Some(1), "and once more: it fits beside neither");
        assert_eq!(cut_for_new(&[1000; 8], 8, 1000, true), Some(8));
    }

    #[test]
    fn a_cut_makes_room_for_a_record_that_grows() {
        assert_eq!(cut_for_grown(&[2000; 4], 1, 3000), Some(2));
        assert_eq!(cut_for_grown(&[4000, 2000, 2000], 1, 8000), Some(1));
        assert_eq!(cut_for_grown(&[4000, 4000], 0, 8000), Some(1));
        assert_eq!(cut_for_grown(&[4000], 0, 8000), None, "a page of its own always has room");
    }
}
