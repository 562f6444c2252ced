//! A tree from rows in key order: leaf after leaf, each written once and never split.
//!
//! ```text
//! rows ──▶ one leaf of them ──full──▶ system transaction: FORMAT_PAGE, INSERT_ROWS of all of them, the link from the leaf before,
//!                                     INSERT_ROWS of its separator above; a full page is split
//!                                     on top, as for any other separator
//! ```
//!
//! The tree is sound after every leaf. The rows do not belong to the caller's transaction, so that
//! its rollback removes no row: the unit must be one that the transaction has created, which is
//! freed with its row in `sysallocunits`.
//!
//! Leaves are filled to a part of their room, with `pads` also the pages above, which take two
//! records at least.

use std::borrow::Cow;
use std::cmp::Ordering;

use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_base::sync::lock;
use extentdb_base::{PageId, Rid};
use extentdb_buffer::PageReadGuard;
use extentdb_catalog::layout::{Cell, Level};
use extentdb_format::page::PageHeader;
use extentdb_space::PageForm;
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::insert::LEAF_FLAG_BITS;
use super::page::{SLOT_BYTES, room_on};
use super::seek::{PathStep, Towards, write_spinning};
use super::sorted::SortedRows;
use super::split::{OLD, PendingInsert, refuse_held};
use super::system::{ChangeOutcome, LatchedPages};
use crate::error::Error;

/// Log bytes per page that freeing the unit may need.
const GIVING_BACK_LOG_BYTES: u64 = 512;
/// A root more for each level, and a split of each.
const STEPS_MAX: usize = 100;

/// How full the pages of a tree get that is built.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fill {
    /// FILLFACTOR: percent of the room of a leaf; 0 stands for 100.
    pub percent: u8,
    /// PAD_INDEX: the same for the pages above.
    pub pads: bool,
}

impl Fill {
    /// Bytes of a page to fill at a fill factor.
    fn free_bytes(self) -> usize {
        let percent = if self.percent == 0 { 100 } else { usize::from(self.percent.min(100)) };
        PAGE_BODY_BYTES * (100 - percent) / 100
    }
}

/// A tree that is being built.
struct Builder<'r, 't> {
    tree: &'t Tree,
    fill: Fill,
    /// The rows of the next leaf.
    rows: Vec<Cow<'r, [u8]>>,
    /// What they take, with their slots.
    bytes: usize,
    /// The leaf written last.
    leaf: PageId,
    /// Rows so far.
    count: u64,
}

impl Tree {
    /// Fills a tree that has no pages with rows in the order of their keys, each given by its
    /// values as for [`insert`](Self::insert), and says how many. The unit must have been made by
    /// the transaction: undoing it takes the unit away, not the rows.
    ///
    /// # Errors
    /// Those of the iterator; [`Error::NotEmpty`]; [`Error::Duplicate`] for two rows with one key,
    /// at no place, and [`Error::OutOfOrder`]. What has been written until then remains: a sound
    /// tree of the first rows.
    pub fn build<'c, E: From<Error>>(
        &self,
        tx: &mut Transaction,
        fill: Fill,
        rows: impl IntoIterator<Item = Result<Vec<Cell<'c>>, E>>,
    ) -> Result<u64, E> {
        let mut builder = self.builder(fill)?;
        let mut before = None;
        for cells in rows {
            let cells = cells?;
            let row = self.shape.leaf_record(&cells)?;
            let key = self.shape.key_of_cells(&cells)?;
            builder.verify_order(before.as_deref(), &key)?;
            builder.add(tx, row.into())?;
            before = Some(key);
        }
        Ok(builder.end(tx)?)
    }

    /// The same from rows that are sorted already.
    ///
    /// # Errors
    /// As for [`build`](Self::build); nothing is written when two rows have one key.
    pub fn build_sorted(
        &self,
        tx: &mut Transaction,
        fill: Fill,
        rows: &SortedRows,
    ) -> Result<u64, Error> {
        let mut builder = self.builder(fill)?;
        if rows.duplicate()?.is_some() {
            return Err(self.twice());
        }
        match rows.in_memory() {
            Some(records) => {
                for record in records {
                    builder.add(tx, record.into())?;
                }
            }
            None => rows.each(&mut |_, record| builder.add(tx, Cow::Owned(record.to_vec())))?,
        }
        builder.end(tx)
    }

    fn builder<'r>(&self, fill: Fill) -> Result<Builder<'r, '_>, Error> {
        self.verify_whole()?;
        if !self.unit.root().is_none() {
            return Err(Error::NotEmpty { unit: self.unit.id() });
        }
        Ok(Builder {
            tree: self,
            fill,
            rows: Vec::new(),
            bytes: 0,
            leaf: PageId::NONE,
            count: 0,
        })
    }

    /// Two rows of the input have the same key.
    fn twice(&self) -> Error {
        Error::Duplicate { unit: self.unit.id(), at: Rid::new(PageId::NONE, 0) }
    }
}

impl<'r> Builder<'r, '_> {
    /// The next row; its key is greater than that of the row before.
    fn add(&mut self, tx: &mut Transaction, row: Cow<'r, [u8]>) -> Result<(), Error> {
        let bytes = room_on(self.tree.leaf_kind(), row.len()) + SLOT_BYTES;
        let most = PAGE_BODY_BYTES - self.fill.free_bytes();
        if self.bytes + bytes > most {
            self.write(tx)?;
        }
        self.rows.push(row);
        self.bytes += bytes;
        self.count += 1;
        Ok(())
    }

    /// Writes what is left; says how many rows there are.
    fn end(mut self, tx: &mut Transaction) -> Result<u64, Error> {
        self.write(tx)?;
        Ok(self.count)
    }

    fn verify_order(&self, before: Option<&[u8]>, key: &[u8]) -> Result<(), Error> {
        match before.map(|before| before.cmp(key)) {
            None | Some(Ordering::Less) => Ok(()),
            Some(Ordering::Equal) => Err(self.tree.twice()),
            Some(Ordering::Greater) => {
                Err(Error::OutOfOrder { unit: self.tree.unit.id(), row: self.count })
            }
        }
    }

    /// Writes the leaf that is ready, if there is one.
    fn write(&mut self, tx: &mut Transaction) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        // One that has logged nothing has not made the unit either, and keeps nothing back.
        if !tx.begin_lsn().is_zero() {
            tx.reserve(GIVING_BACK_LOG_BYTES)?;
        }
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let _structure = lock(&self.tree.structure);
        let count = rows.len() as i64;
        self.leaf = self.tree.counted(count, || {
            if self.leaf.is_none() {
                self.tree.first_leaf(tx, &rows)
            } else {
                self.tree.next_leaf(tx, self.leaf, &rows, self.fill)
            }
        })?;
        Ok(())
    }
}

impl Tree {
    /// The first leaf, which is the root, too.
    fn first_leaf(&self, tx: &Transaction, rows: &[Cow<'_, [u8]>]) -> Result<PageId, Error> {
        // Somebody has begun to use the tree.
        if !self.unit.root().is_none() {
            return Err(Error::NotEmpty { unit: self.unit.id() });
        }
        let root = self.in_system(tx, "FirstPage Alloc", |sys, page, held| {
            self.format_leaf(sys, held, page, PageId::NONE, rows)?;
            // Nobody knows the page before it is the root.
            held.clear();
            self.space.set_first(sys, &self.unit, page)?;
            self.space.log_root(sys, &self.unit, page)?;
            Ok(ChangeOutcome::Done)
        })?;
        self.publish_root(root);
        Ok(root.unwrap_or(PageId::NONE))
    }

    /// A leaf after the last one.
    fn next_leaf(
        &self,
        tx: &Transaction,
        last: PageId,
        rows: &[Cow<'_, [u8]>],
        fill: Fill,
    ) -> Result<PageId, Error> {
        let first = rows.first().map(|row| &**row).unwrap_or_default();
        let separator = self.shape.separator(&self.shape.leaf(first), PageId::NONE)?;
        let parent = self.parent_with_room(tx, last, &separator, fill)?;
        let leaf = self.in_system(tx, "SplitPage", |sys, page, held| {
            held.push(write_spinning(self.space.pool(), parent.page)?);
            held.push(write_spinning(self.space.pool(), last)?);
            refuse_held(held, page)?;
            if !PageHeader::of(&held[OLD]).next().is_none() {
                return Err(Error::NotEmpty { unit: self.unit.id() });
            }
            self.format_leaf(sys, held, page, last, rows)?;
            self.link(sys, held, page, parent.slot + 1, &separator)?;
            Ok(ChangeOutcome::Done)
        })?;
        Ok(leaf.unwrap_or(PageId::NONE))
    }

    /// The last page above the leaves, with room for a separator; it is made where there is none.
    fn parent_with_room(
        &self,
        tx: &Transaction,
        last: PageId,
        separator: &[u8],
        fill: Fill,
    ) -> Result<PathStep, Error> {
        for _ in 0..STEPS_MAX {
            let steps = self.last_steps(last)?;
            let Some((parent, above)) = steps.split_last() else {
                self.grow_root(tx, last)?;
                continue;
            };
            let spare = if fill.pads { fill.free_bytes() } else { 0 };
            let want = PendingInsert::Separator { slot: parent.slot + 1, record: separator, spare };
            if self.has_room_on(parent.page, &want)? {
                return Ok(*parent);
            }
            self.make_room_on(tx, above, parent.page, &want)?;
        }
        Err(Error::Corrupt {
            page: self.unit.root(),
            what: "does not point to the page that was split below it",
        })
    }

    /// The pages above the last leaf.
    fn last_steps(&self, last: PageId) -> Result<Vec<PathStep>, Error> {
        let way = self.descend::<PageReadGuard, Vec<PathStep>>(Towards::Before(None))?;
        match way {
            Some((leaf, steps)) if leaf.id() == last => Ok(steps),
            // Another session has inserted rows after it.
            _ => Err(Error::NotEmpty { unit: self.unit.id() }),
        }
    }

    /// Formats a leaf after another one and inserts its rows; it stays latched.
    fn format_leaf(
        &self,
        sys: &mut Transaction,
        held: &mut LatchedPages,
        page: PageId,
        prev: PageId,
        rows: &[Cow<'_, [u8]>],
    ) -> Result<(), Error> {
        let form = PageForm {
            kind: self.leaf_kind(),
            level: 0,
            pminlen: self.shape.pminlen(Level::Leaf),
            context: self.leaf_context(),
            prev,
            next: PageId::NONE,
            type_flag_bits: LEAF_FLAG_BITS,
            flag_bits: 0,
        };
        let mut target = self.space.format_page(sys, &self.unit, page, &form)?;
        let images = rows.iter().map(|row| &**row).collect();
        let inserted =
            self.log_insert(RecordOwner::Change(sys), &mut target, 0, images, self.leaf_context());
        held.push(target);
        inserted
    }
}
