//! Logical undo: a change is undone on the leaf where its key is now.
//!
//! ```text
//! record undone             today     compensation
//! INSERT_ROWS               the row   DELETE_ROWS; its page's only record: MODIFY_ROW into a ghost
//! DELETE_ROWS (ghost)       the ghost INSERT_ROWS, which takes the mark away
//! MODIFY_ROW                the row   MODIFY_ROW with before and after exchanged
//! ```
//!
//! Each undo is one compensation record on one leaf. It allocates no page and splits none: a row
//! that gets longer has [room reserved](super::undo_room), and the ghost of an open transaction is
//! never expunged. Where that is not so, the undo is refused ([`Error::NoUndoRoom`],
//! [`Error::NotUndone`]) before anything is logged: the tree is damaged.

use extentdb_base::{Lsn, Rid};
use extentdb_catalog::layout::Level;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::ModifyRow;
use extentdb_format::log::{Context, Op, RecordHeader};
use extentdb_format::record::RecordKind;
use extentdb_format::record::status::KIND_BITS;
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::page::{Position, is_ghost};
use super::undo_room::RoomChange;
use crate::error::Error;

impl Tree {
    /// Takes a change of a leaf row back. `undo_next` is the previous record of the transaction,
    /// `header` and `payload` are the record to be undone. Records of system transactions are none
    /// of its business.
    ///
    /// # Errors
    /// The record is no change of a leaf row, or the tree does not have its result.
    pub fn undo(
        &self,
        tx: &mut Transaction,
        undo_next: Lsn,
        header: &RecordHeader,
        payload: &Payload<'_>,
    ) -> Result<(), Error> {
        let refused =
            Error::NotUndone { op: header.op, what: "it is no change of a row of a leaf" };
        let is_leaf = [self.leaf_context(), Context::MARK_AS_GHOST].contains(&header.context);
        match payload {
            _ if !is_leaf || header.flags.is_compensation() => Err(refused),
            Payload::InsertRows(insert) => match insert.rows.as_slice() {
                [row] => self.undo_insert(tx, undo_next, row),
                _ => Err(refused),
            },
            Payload::DeleteRows(delete) => match delete.rows.as_slice() {
                [row] => self.undo_delete(tx, undo_next, row),
                _ => Err(refused),
            },
            Payload::ModifyRow(modify) => self.undo_modify(tx, undo_next, modify),
            _ => Err(refused),
        }
    }

    fn undo_insert(&self, tx: &mut Transaction, undo_next: Lsn, row: &[u8]) -> Result<(), Error> {
        let lost = |what| Error::NotUndone { op: Op::INSERT_ROWS, what };
        let key = self.shape.key(&self.shape.leaf(row), Level::Leaf)?;
        let mut page = self.leaf_to_change(&key)?;
        let node = self.node(page.id(), &page)?;
        let Position::Live(slot) = node.position(&key)? else {
            return Err(lost("the row is not there"));
        };
        if node.row(slot)? != row {
            return Err(lost("the row has changed"));
        }
        let is_only = node.slot_count() == 1;
        let room = RoomChange { before: node.room(row.len()), after: 0 };
        let xact = tx.id();
        let link = RecordOwner::Compensation(tx, undo_next);
        if is_only {
            return self.counted(-1, || self.modify(link, &mut page, slot, &self.as_ghost(row)));
        }
        self.counted(-1, || self.log_delete(link, &mut page, slot, &[], self.leaf_context()))?;
        self.note_room(&mut page, &key, xact, room);
        Ok(())
    }

    fn undo_delete(&self, tx: &mut Transaction, undo_next: Lsn, row: &[u8]) -> Result<(), Error> {
        let lost = |what| Error::NotUndone { op: Op::DELETE_ROWS, what };
        let key = self.shape.key(&self.shape.leaf(row), Level::Leaf)?;
        let mut page = self.leaf_to_change(&key)?;
        let node = self.node(page.id(), &page)?;
        let slot = match node.position(&key)? {
            Position::Ghost(slot) => slot,
            Position::Live(slot) => {
                return Err(Error::Duplicate {
                    unit: self.unit.id(),
                    at: Rid::new(page.id(), slot),
                });
            }
            Position::Free(_) => return Err(lost("the ghost of the row has been expunged")),
        };
        if node.row(slot)?.get(1..) != row.get(1..) {
            return Err(lost("the ghost of the row has changed"));
        }
        let link = RecordOwner::Compensation(tx, undo_next);
        let context = self.leaf_context();
        self.counted(1, || self.log_insert(link, &mut page, slot, vec![row], context))
    }

    fn undo_modify(
        &self,
        tx: &mut Transaction,
        undo_next: Lsn,
        modify: &ModifyRow<'_>,
    ) -> Result<(), Error> {
        let what = "it does not name the key of its row";
        let image = modify.key.ok_or(Error::NotUndone { op: Op::MODIFY_ROW, what })?;
        let key = self.shape.key_of_image(image)?;
        let lost = |what| Error::NotUndone { op: Op::MODIFY_ROW, what };
        let mut page = self.leaf_to_change(&key)?;
        let node = self.node(page.id(), &page)?;
        let (Position::Live(slot) | Position::Ghost(slot)) = node.position(&key)? else {
            return Err(lost("the row is not there"));
        };
        let now = node.row(slot)?;
        let row = changed_back(now, modify).ok_or(lost("the row has changed"))?;
        // The room that other transactions have reserved is not needed for this.
        if !node.fits_instead(slot, row.len(), 0)? {
            return Err(Error::NoUndoRoom { page: page.id(), bytes: row.len() });
        }
        let delta = i64::from(is_ghost(now)) - i64::from(is_ghost(&row));
        let link = RecordOwner::Compensation(tx, undo_next);
        self.counted(delta, || self.modify(link, &mut page, slot, &row))
    }

    /// The record of a row as a deleted one.
    fn as_ghost(&self, row: &[u8]) -> Vec<u8> {
        let kind =
            if self.shape.is_base() { RecordKind::GhostData } else { RecordKind::GhostIndex };
        let mut ghost = row.to_vec();
        if let Some(status) = ghost.first_mut() {
            *status = *status & !KIND_BITS | kind.bits();
        }
        ghost
    }
}

/// The record as it was before the change; `None` when it is not as the change left it.
fn changed_back(now: &[u8], modify: &ModifyRow<'_>) -> Option<Vec<u8>> {
    let start = usize::from(modify.fixed.offset_in_row);
    let end = start.checked_add(modify.after.len())?;
    let mut row = now.get(..start)?.to_vec();
    row.extend_from_slice(modify.before);
    if now.get(start..end)? != modify.after {
        return None;
    }
    row.extend_from_slice(now.get(end..)?);
    Some(row)
}
