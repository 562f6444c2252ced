//! Inserting a row.
//!
//! ```text
//! no record has the key    INSERT_ROWS into its slot
//! a ghost has it           MODIFY_ROW turns the ghost into the row, its status byte first of all
//! a row has it             refused: duplicate key
//! ```
//!
//! With row versions the new record gets a tag: it leads to the ghost, which is kept, or nowhere.

use std::borrow::Cow;

use extentdb_base::sync::lock;
use extentdb_base::{PageId, Rid};
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::{Cell, Level};
use extentdb_change::change;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::page::PagePart;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::{Context, Op};
use extentdb_format::page::PageType;
use extentdb_space::PageForm;
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::page::Position;
use super::split::Attempt;
use super::system::ChangeOutcome;
use super::undo_room::RoomChange;
use crate::error::Error;
use crate::version::Versioning;

/// Type flag bits of leaf pages, as real logs format them.
pub(super) const LEAF_FLAG_BITS: u8 = 4;

impl Tree {
    /// Inserts a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// There is a row with this key, or the values are not those of the columns.
    pub fn insert(&self, tx: &mut Transaction, cells: &[Cell<'_>]) -> Result<(), Error> {
        self.insert_at(tx, &self.shape.key_of_cells(cells)?, cells)
    }

    /// The same for a caller that has computed the row's sort key
    /// ([`RowShape::key_of_cells`](crate::RowShape::key_of_cells)) already.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_at(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        cells: &[Cell<'_>],
    ) -> Result<(), Error> {
        self.insert_versioned(tx, key, cells, None)
    }

    /// The same in a database with row versions.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert); the ghost with this key is one that the snapshot of the
    /// transaction does not see; the version store fails.
    pub fn insert_versioned(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        cells: &[Cell<'_>],
        versions: Option<Versioning<'_>>,
    ) -> Result<(), Error> {
        let row = self.shape.leaf_record(cells)?;
        let row = match versions {
            // A ghost's tag takes the place of this one.
            Some(versions) => versions.tag_of_new().replaced_in(&row),
            None => row,
        };
        self.ensure_root(tx)?;
        self.until_done(tx, key, |tx| self.try_insert(tx, key, &row, versions))
    }

    /// Inserts the row into its leaf, or returns the record that does not fit.
    fn try_insert<'r>(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        row: &'r [u8],
        versions: Option<Versioning<'_>>,
    ) -> Result<Attempt<'r>, Error> {
        let mut page = self.leaf_to_change(key)?;
        let node = self.node(page.id(), &page)?;
        let reserved = self.reserved_for_others(node, tx.id());
        match node.position(key)? {
            Position::Live(slot) => {
                return Err(Error::Duplicate {
                    unit: self.unit.id(),
                    at: Rid::new(page.id(), slot),
                });
            }
            Position::Ghost(slot) if node.fits_instead(slot, row.len(), reserved)? => {
                let row = match versions {
                    Some(versions) => {
                        let tag = versions.tag_over(self.unit.id(), node.row(slot)?)?;
                        Cow::Owned(tag.replaced_in(row))
                    }
                    None => Cow::Borrowed(row),
                };
                self.counted(1, || self.modify(RecordOwner::Change(tx), &mut page, slot, &row))?;
            }
            Position::Free(slot) if node.fits_new(row.len(), reserved)? => {
                let xact = tx.id();
                let context = self.leaf_context();
                let change = RoomChange { before: 0, after: node.room(row.len()) };
                self.insert_patterns.note(node.insert_slot(slot));
                let link = RecordOwner::Change(tx);
                self.counted(1, || self.log_insert(link, &mut page, slot, vec![row], context))?;
                self.note_room(&mut page, key, xact, change);
            }
            Position::Ghost(_) | Position::Free(_) => return Ok(Attempt::NoRoomFor(row.into())),
        }
        Ok(Attempt::Done)
    }

    /// INSERT_ROWS of neighbouring rows from a slot on.
    pub(super) fn log_insert(
        &self,
        link: RecordOwner<'_>,
        page: &mut PageWriteGuard,
        slot: u16,
        rows: Vec<&[u8]>,
        context: Context,
    ) -> Result<(), Error> {
        let insert = InsertRows { fixed: self.row_part(slot), rows, ..InsertRows::default() };
        change(link, page, Op::INSERT_ROWS, context, Payload::InsertRows(insert))?;
        Ok(())
    }

    /// The fixed part of a row operation; `change` fills in the page.
    pub(super) fn row_part(&self, slot: u16) -> RowPart {
        let page = PagePart { slot, ..PagePart::default() };
        RowPart { page, partition_id: self.unit.hobt(), ..RowPart::default() }
    }

    /// Gives a tree without pages its first one, a leaf, in a system transaction.
    pub(super) fn ensure_root(&self, tx: &Transaction) -> Result<(), Error> {
        if !self.unit.root().is_none() {
            return Ok(());
        }
        let _structure = lock(&self.structure);
        self.verify_whole()?;
        // Another one may have been faster.
        if !self.unit.root().is_none() {
            return Ok(());
        }
        let root = self.in_system(tx, "FirstPage Alloc", |sys, page, _| {
            let form = PageForm {
                kind: self.leaf_kind(),
                level: 0,
                pminlen: self.shape.pminlen(Level::Leaf),
                context: self.leaf_context(),
                prev: PageId::NONE,
                next: PageId::NONE,
                type_flag_bits: LEAF_FLAG_BITS,
                flag_bits: 0,
            };
            drop(self.space.format_page(sys, &self.unit, page, &form)?);
            self.space.set_first(sys, &self.unit, page)?;
            self.space.log_root(sys, &self.unit, page)?;
            Ok(ChangeOutcome::Done)
        })?;
        self.publish_root(root);
        Ok(())
    }

    /// The page type of a level.
    pub(super) fn kind_of(&self, level: Level) -> PageType {
        if level == Level::Leaf { self.leaf_kind() } else { PageType::Index }
    }
}
