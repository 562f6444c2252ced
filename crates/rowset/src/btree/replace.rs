//! A row changes and keeps its key.
//!
//! ```text
//! before   30 00 │ 08 00 01 00 00 00 │ 03 00 00 ...
//! after    30 00 │ 08 00 02 00 00 00 │ 03 00 00 ...
//!                        └┘ MODIFY_ROW: offset, bytes before, bytes after, key of the row
//! ```
//!
//! Both runs have at least one byte, so that a change has an inverse. When bytes are only inserted
//! or removed, an adjacent byte counts as changed.

use std::borrow::Cow;

use extentdb_buffer::PageWriteGuard;
use extentdb_catalog::layout::{Cell, Level};
use extentdb_change::change;
use extentdb_format::log::Op;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{ModifyRow, RowPart};
use extentdb_txn::{RecordOwner, Transaction};

use super::Tree;
use super::page::Position;
use super::split::Attempt;
use super::undo_room::{self, RoomChange};
use crate::error::Error;
use crate::version::Versioning;

impl Tree {
    /// Replaces the values of the row with the same key.
    ///
    /// # Errors
    /// There is no row with this key, or the values are not those of the columns.
    pub fn replace(&self, tx: &mut Transaction, cells: &[Cell<'_>]) -> Result<(), Error> {
        self.replace_versioned(tx, cells, None)
    }

    /// The same in a database with row versions. Equal values are a change, too: what they point to
    /// may have changed.
    ///
    /// # Errors
    /// As for [`replace`](Self::replace); the snapshot of the transaction does not see the row as
    /// it is; the version store fails.
    pub fn replace_versioned(
        &self,
        tx: &mut Transaction,
        cells: &[Cell<'_>],
        versions: Option<Versioning<'_>>,
    ) -> Result<(), Error> {
        let row = self.shape.leaf_record(cells)?;
        let key = self.shape.key_of_cells(cells)?;
        let row = match versions {
            // The tag of the row takes the place of this one.
            Some(versions) => versions.tag_of_new().replaced_in(&row),
            None => row,
        };
        self.until_done(tx, &key, |tx| self.try_replace(tx, &key, &row, versions))
    }

    /// Replaces the row where there is room for it; with row versions, the old one is kept.
    fn try_replace<'r>(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        row: &'r [u8],
        versions: Option<Versioning<'_>>,
    ) -> Result<Attempt<'r>, Error> {
        let mut page = self.leaf_to_change(key)?;
        let node = self.node(page.id(), &page)?;
        let Position::Live(slot) = node.position(key)? else {
            return Err(Error::NotFound { unit: self.unit.id() });
        };
        let reserved = self.reserved_for_others(node, tx.id());
        if !node.fits_instead(slot, row.len(), reserved)? {
            return Ok(Attempt::NoRoomFor(row.into()));
        }
        let row = match versions {
            Some(versions) => {
                let tag = versions.tag_over(self.unit.id(), node.row(slot)?)?;
                Cow::Owned(tag.replaced_in(row))
            }
            None => Cow::Borrowed(row),
        };
        self.modify(RecordOwner::Change(tx), &mut page, slot, &row)?;
        Ok(Attempt::Done)
    }

    /// MODIFY_ROW: replaces a record by one that fits. Nothing is logged when nothing changes. The
    /// bytes that it frees are reserved for its transaction.
    pub(super) fn modify(
        &self,
        link: RecordOwner<'_>,
        page: &mut PageWriteGuard,
        slot: u16,
        row: &[u8],
    ) -> Result<(), Error> {
        let node = self.node(page.id(), page)?;
        let old = node.row(slot)?.to_vec();
        let room = RoomChange { before: node.room(old.len()), after: node.room(row.len()) };
        let sort_key = undo_room::is_concerned(page, room)
            .then(|| self.shape.key(&self.shape.leaf(row), Level::Leaf))
            .transpose()?;
        let key = self.shape.key_image(&self.shape.leaf(row))?;
        let xact = link.xact();
        let Some(run) = changed_bytes(&old, row) else { return Ok(()) };
        let fixed = RowPart {
            offset_in_row: run.offset as u16,
            modify_size: run.before.len() as u16,
            ..self.row_part(slot)
        };
        let before = run.before;
        let after = run.after;
        let modify = ModifyRow {
            fixed,
            before,
            after,
            key: Some(&key),
            lock_info: Some(&[]),
            ..ModifyRow::default()
        };
        change(link, page, Op::MODIFY_ROW, self.leaf_context(), Payload::ModifyRow(modify))?;
        if let Some(key) = sort_key {
            self.note_room(page, &key, xact, room);
        }
        Ok(())
    }
}

/// The bytes of a record that become others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChangedBytes<'r> {
    pub(super) offset: usize,
    pub(super) before: &'r [u8],
    pub(super) after: &'r [u8],
}

/// The shortest run that turns one record into the other and is empty on neither side; `None` when
/// they are equal.
pub(super) fn changed_bytes<'r>(old: &'r [u8], new: &'r [u8]) -> Option<ChangedBytes<'r>> {
    if old == new {
        return None;
    }
    let shorter = old.len().min(new.len());
    let mut start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tails = old.iter().rev().zip(new.iter().rev());
    let mut tail = tails.take(shorter - start).take_while(|(a, b)| a == b).count();
    if start + tail == shorter {
        // One of the two would be empty.
        if start > 0 { start -= 1 } else { tail = tail.checked_sub(1)? }
    }
    Some(ChangedBytes {
        offset: start,
        before: old.get(start..old.len() - tail)?,
        after: new.get(start..new.len() - tail)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_short_and_empty_on_neither_side() {
        let run = |old, new| changed_bytes(old, new).map(|run| (run.offset, run.before, run.after));
        assert_eq!(run(b"abcd", b"abcd"), None);
        assert_eq!(run(b"abcd", b"aXYd"), Some((1, &b"bc"[..], &b"XY"[..])));
        assert_eq!(run(b"abcd", b"abd"), Some((1, &b"bc"[..], &b"b"[..])), "a byte that goes");
        assert_eq!(
            run(b"bcd", b"abcd"),
            Some((0, &b"b"[..], &b"ab"[..])),
            "one that comes in front"
        );
        assert_eq!(
            run(b"aab", b"aaab"),
            Some((1, &b"a"[..], &b"aa"[..])),
            "one of a row of equals"
        );
        assert_eq!(run(b"ab", b"abc"), Some((1, &b"b"[..], &b"bc"[..])), "one that comes behind");
    }
}
