//! Deleting a row: it is marked as a ghost, and expunged later.
//!
//! ```text
//! DELETE_ROWS MARK_AS_GHOST   the record keeps its slot and its bytes but the status
//! SET_FREE_SPACE              with the first ghost of its page: a hint in PFS, in no transaction
//!
//! with row versions, before them:
//! MODIFY_ROW                  the row gets a tag that leads to it as it was
//! ```

use extentdb_base::Rid;
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Cell;
use extentdb_change::change;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{DeleteRows, RowPart};
use extentdb_format::log::{Context, Op};
use extentdb_format::page::PageHeader;
use extentdb_txn::{RecordOwner, Transaction};

use super::page::Position;
use super::split::Attempt;
use super::{Row, Tree};
use crate::error::Error;
use crate::version::Versioning;

impl Tree {
    /// Deletes the row whose key columns have these values, in the order of the key, and returns
    /// it; `None` when there is none.
    ///
    /// # Errors
    /// The values are not those of a key, or a page of the tree cannot be read.
    pub fn delete(&self, tx: &mut Transaction, key: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        self.delete_key(tx, &self.whole_key(key)?)
    }

    /// Deletes the row with a sort key ([`RowShape::prefix`](crate::RowShape::prefix)).
    ///
    /// # Errors
    /// A page of the tree cannot be read.
    pub fn delete_key(&self, tx: &mut Transaction, key: &[u8]) -> Result<Option<Row>, Error> {
        let Some(mut page) = self.leaf::<PageWriteGuard>(key)? else { return Ok(None) };
        let id = page.id();
        let node = self.node(id, &page)?;
        let Position::Live(slot) = node.position(key)? else { return Ok(None) };
        let bytes = node.row(slot)?.to_vec();
        self.mark_ghost(tx, &mut page, slot, &bytes)?;
        Ok(Some(Row { bytes, at: Rid::new(id, slot) }))
    }

    /// The same in a database with row versions: the row is kept, and its ghost gets a tag, for
    /// which the leaf may be split.
    ///
    /// # Errors
    /// As for [`delete_key`](Self::delete_key); the snapshot of the transaction does not see the
    /// row as it is; the version store fails.
    pub fn delete_versioned(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        versions: Option<Versioning<'_>>,
    ) -> Result<Option<Row>, Error> {
        let Some(versions) = versions else { return self.delete_key(tx, key) };
        if self.unit.root().is_none() {
            return Ok(None);
        }
        let mut deleted = None;
        self.until_done(tx, key, |tx| self.try_delete(tx, key, versions, &mut deleted))?;
        Ok(deleted)
    }

    fn try_delete(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        versions: Versioning<'_>,
        deleted: &mut Option<Row>,
    ) -> Result<Attempt<'static>, Error> {
        let mut page = self.leaf_to_change(key)?;
        let id = page.id();
        let node = self.node(id, &page)?;
        let Position::Live(slot) = node.position(key)? else { return Ok(Attempt::Done) };
        let bytes = node.row(slot)?.to_vec();
        let tagged = versions.tag_of_new().replaced_in(&bytes);
        let reserved = self.reserved_for_others(node, tx.id());
        if !node.fits_instead(slot, tagged.len(), reserved)? {
            return Ok(Attempt::NoRoomFor(tagged.into()));
        }
        let tagged = versions.tag_over(self.unit.id(), &bytes)?.replaced_in(&bytes);
        self.modify(RecordOwner::Change(tx), &mut page, slot, &tagged)?;
        self.mark_ghost(tx, &mut page, slot, &tagged)?;
        *deleted = Some(Row { bytes, at: Rid::new(id, slot) });
        Ok(Attempt::Done)
    }

    /// Marks the row of a slot as a ghost.
    fn mark_ghost(
        &self,
        tx: &mut Transaction,
        page: &mut PageWriteGuard,
        slot: u16,
        row: &[u8],
    ) -> Result<(), Error> {
        let id = page.id();
        let is_first = PageHeader::of(page).ghost_count.get() == 0;
        let link = RecordOwner::Change(tx);
        self.counted(-1, || self.log_delete(link, page, slot, row, Context::MARK_AS_GHOST))?;
        self.note_ghosts(id);
        if is_first {
            // Under the latch, so that the hint is set and cleared in the same order as the ghosts.
            self.space.set_free_space(id, |state| state.with_ghosts(true))?;
        }
        Ok(())
    }

    /// DELETE_ROWS of one record.
    pub(super) fn log_delete(
        &self,
        link: RecordOwner<'_>,
        page: &mut PageWriteGuard,
        slot: u16,
        row: &[u8],
        context: Context,
    ) -> Result<(), Error> {
        let fixed = RowPart {
            offset_in_row: DeleteRows::OFFSET_IN_ROW,
            ..self.row_part(slot)
        };
        let delete = DeleteRows { fixed, rows: vec![row], lock_info: &[] };
        change(link, page, Op::DELETE_ROWS, context, Payload::DeleteRows(delete))?;
        Ok(())
    }
}
