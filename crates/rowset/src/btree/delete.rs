//! A row goes: first it is marked, later it is taken away.
//!
//! ```text
//! delete          DELETE_ROWS MARK_AS_GHOST   the record keeps its slot and its bytes but the status
//!                 SET_FREE_SPACE              with the first ghost of its page: a hint in PFS, in no transaction
//! expunge_ghosts  EXPUNGE_ROWS                once the transaction that deleted it has ended
//! ```
//!
//! A leaf never loses its last record: a page with one ghost keeps its place in the tree.

use extentdb_base::{PageId, Rid};
use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::Cell;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{DeleteRows, RowPart, RowTouch};
use extentdb_format::log::{Context, Op};
use extentdb_format::page::PageHeader;
use extentdb_space::change;
use extentdb_txn::{Link, Manager, Transaction};

use super::page::Position;
use super::{Row, Tree};
use crate::error::Error;

impl Tree {
    /// Deletes the row whose key columns have these values, in the order of the key, and gives it back; `None` when there is
    /// none.
    ///
    /// # Errors
    /// The values are not those of a key, or a page of the tree cannot be read.
    pub fn delete(&self, tx: &mut Transaction, key: &[Cell<'_>]) -> Result<Option<Row>, Error> {
        let key = self.whole_key(key)?;
        let _exclusive = self.exclusive()?;
        let Some(path) = self.descend(&key)? else { return Ok(None) };
        let mut page = self.space.pool().write(path.leaf)?;
        let node = self.node(path.leaf, &page)?;
        let Position::Live(slot) = node.position(&key)? else { return Ok(None) };
        let bytes = node.row(slot)?.to_vec();
        let is_first = node.view.header().ghost_count.get() == 0;
        let link = Link::Change(tx);
        self.counted(-1, || self.log_delete(link, &mut page, slot, &bytes, Context::MARK_AS_GHOST))?;
        drop(page);
        if is_first {
            self.space.set_free_space(path.leaf, |state| state.with_ghosts(true))?;
        }
        Ok(Some(Row { bytes, at: Rid::new(path.leaf, slot) }))
    }

    /// DELETE_ROWS of one record.
    pub(super) fn log_delete(
        &self,
        link: Link<'_>,
        page: &mut PageWriteGuard,
        slot: u16,
        row: &[u8],
        context: Context,
    ) -> Result<(), Error> {
        let fixed = RowPart { offset_in_row: 1, ..self.row_part(slot) };
        let delete = DeleteRows { fixed, rows: vec![row], lock_info: &[] };
        change(link, page, Op::DELETE_ROWS, context, Payload::DeleteRows(delete))?;
        Ok(())
    }

    /// Takes the ghosts of a leaf away, all but the last record of the page, and says how many. It is the caller's business that
    /// no transaction is open that deleted one of them.
    ///
    /// # Errors
    /// The page is no leaf of this tree, or cannot be read.
    pub fn expunge_ghosts(&self, manager: &Manager, page: PageId) -> Result<usize, Error> {
        let _exclusive = self.exclusive()?;
        let mut guard = self.space.pool().write(page)?;
        let node = self.node(page, &guard)?;
        if !node.is_leaf() {
            return Err(Error::Corrupt { page, what: "is no leaf" });
        }
        let mut ghosts = Vec::new();
        for slot in (0..node.slot_count()).rev() {
            if node.is_ghost(slot)? {
                ghosts.push(slot);
            }
        }
        let most = usize::from(node.slot_count()).saturating_sub(1);
        ghosts.truncate(most);
        for slot in &ghosts {
            let touch = RowTouch { fixed: self.row_part(*slot), more: Vec::new() };
            let payload = Payload::RowTouch(touch);
            change(Link::Alone(manager), &mut guard, Op::EXPUNGE_ROWS, self.leaf_context(), payload)?;
        }
        let is_clean = PageHeader::of(&guard).ghost_count.get() == 0;
        drop(guard);
        if is_clean {
            self.space.set_free_space(page, |state| state.with_ghosts(false))?;
        }
        Ok(ghosts.len())
    }
}
