//! Deleting a row: it is marked as a ghost, and expunged later.
//!
//! ```text
//! DELETE_ROWS MARK_AS_GHOST   the record keeps its slot and its bytes but the status
//! SET_FREE_SPACE              with the first ghost of its page: a hint in PFS, in no transaction
//! ```

use extentdb_base::Rid;
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Cell;
use extentdb_change::change;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{DeleteRows, RowPart};
use extentdb_format::log::{Context, Op};
use extentdb_txn::{RecordOwner, Transaction};

use super::page::Position;
use super::{Row, Tree};
use crate::error::Error;

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
        let is_first = node.view.header().ghost_count.get() == 0;
        let link = RecordOwner::Change(tx);
        self.counted(-1, || {
            self.log_delete(link, &mut page, slot, &bytes, Context::MARK_AS_GHOST)
        })?;
        self.note_ghosts(id);
        if is_first {
            // Under the latch, so that the hint is set and cleared in the same order as the ghosts.
            self.space.set_free_space(id, |state| state.with_ghosts(true))?;
        }
        Ok(Some(Row { bytes, at: Rid::new(id, slot) }))
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
