//! Rows change and go.

use extentdb_base::Rid;
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::log::payload::row::{DeleteRows, ModifyRow, RowPart};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::PageRef;
use extentdb_format::record::builder::forwarding_stub;
use extentdb_txn::{RecordOwner, Transaction};

use super::insert::footprint;
use super::row_locks::RowLocks;
use super::scan::StoredRow;
use super::{Heap, ReservedRoom, as_forwarded, too_long};
use crate::Error;

impl Heap {
    /// Replaces the record of the row at this address. The bytes that this frees on its page are
    /// reserved until the transaction ends: they are added to `reserved`, also when the update then
    /// fails and has to be undone.
    ///
    /// # Errors
    /// [`Error::NoRow`]: there is no row at this address.
    pub fn update(
        &self,
        tx: &mut Transaction,
        session: usize,
        at: Rid,
        record: &[u8],
        locks: &mut dyn RowLocks,
        reserved: &mut Vec<ReservedRoom>,
    ) -> Result<(), Error> {
        too_long(record.len())?;
        match self.stored_at(at)? {
            Some(StoredRow::Row(_)) => {
                if !self.replace(tx, at, record, reserved)? {
                    let moved = as_forwarded(record, self.shape, at);
                    let target = self.insert(tx, session, &moved, locks)?;
                    self.replace_or_fail(tx, at, &forwarding_stub(target), reserved)?;
                }
            }
            Some(StoredRow::Stub(target)) => {
                if self.forwarded(at, target)?.is_none() {
                    return Err(Error::NoRow(at));
                }
                let moved = as_forwarded(record, self.shape, at);
                if !self.replace(tx, target, &moved, reserved)? {
                    // An undo needs the slot that the record leaves: it stays locked until then.
                    locks.vacate(target)?;
                    let next = self.insert(tx, session, &moved, locks)?;
                    self.replace_or_fail(tx, at, &forwarding_stub(next), reserved)?;
                    self.remove(tx, target, reserved)?;
                }
            }
            Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => {
                return Err(Error::NoRow(at));
            }
        }
        Ok(())
    }

    /// Deletes the row at this address. The bytes reserved are added to `reserved`, as by an
    /// update.
    ///
    /// # Errors
    /// [`Error::NoRow`]: there is none.
    pub fn delete(
        &self,
        tx: &mut Transaction,
        at: Rid,
        locks: &mut dyn RowLocks,
        reserved: &mut Vec<ReservedRoom>,
    ) -> Result<(), Error> {
        let rids = match self.stored_at(at)? {
            Some(StoredRow::Row(_)) => vec![at],
            Some(StoredRow::Stub(target)) => {
                if self.forwarded(at, target)?.is_none() {
                    return Err(Error::NoRow(at));
                }
                locks.vacate(target)?;
                vec![target, at]
            }
            Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => {
                return Err(Error::NoRow(at));
            }
        };
        for rid in rids {
            // The home slot is the last one, and the one that is counted.
            let is_home = rid == at;
            self.unit.count_rows(-i64::from(is_home));
            let done = self.remove(tx, rid, reserved);
            if done.is_err() {
                self.unit.count_rows(i64::from(is_home));
            }
            done?;
        }
        Ok(())
    }

    /// Replaces a record. False when the page has no room for the new one.
    pub(super) fn replace(
        &self,
        tx: &mut Transaction,
        at: Rid,
        new: &[u8],
        reserved: &mut Vec<ReservedRoom>,
    ) -> Result<bool, Error> {
        let mut page = self.space.pool().write(at.page)?;
        let view = PageRef::new(&page);
        let old = view.row(at.slot.0).map_err(|_| Error::NoRow(at))?.to_vec();
        let before = footprint(old.len());
        let after = footprint(new.len());
        let free = usize::from(view.header().free_bytes.get());
        let mine = usize::from(self.room.free.reserved(at.page));
        if after > before && after - before > free.saturating_sub(mine) {
            return Ok(false);
        }
        self.modify(tx, &mut page, at, &old, new)?;
        self.reserve_room(at, before.saturating_sub(after), reserved);
        Ok(true)
    }

    pub(super) fn replace_or_fail(
        &self,
        tx: &mut Transaction,
        at: Rid,
        new: &[u8],
        reserved: &mut Vec<ReservedRoom>,
    ) -> Result<(), Error> {
        // A stub is never longer than what any record counts.
        if self.replace(tx, at, new, reserved)? { Ok(()) } else { Err(Error::BadRow(at)) }
    }

    pub(super) fn modify(
        &self,
        tx: &mut Transaction,
        page: &mut PageWriteGuard,
        at: Rid,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), Error> {
        let Some(run) = changed_bytes(old, new) else { return Ok(()) };
        let mut fixed = RowPart {
            partition_id: self.unit.hobt(),
            offset_in_row: run.start as u16,
            modify_size: run.before.len() as u16,
            ..RowPart::default()
        };
        fixed.page.slot = at.slot.0;
        let before = run.before;
        let after = run.after;
        let key = Some(&[][..]);
        let modify = ModifyRow {
            fixed,
            before,
            after,
            key,
            lock_info: Some(&[]),
            more: Vec::new(),
        };
        change(
            RecordOwner::Change(tx),
            page,
            Op::MODIFY_ROW,
            Context::HEAP,
            Payload::ModifyRow(modify),
        )?;
        Ok(())
    }

    /// Takes a record off its page.
    pub(super) fn remove(
        &self,
        tx: &mut Transaction,
        at: Rid,
        reserved: &mut Vec<ReservedRoom>,
    ) -> Result<(), Error> {
        let mut page = self.space.pool().write(at.page)?;
        let old = PageRef::new(&page).row(at.slot.0).map_err(|_| Error::NoRow(at))?.to_vec();
        let mut fixed = RowPart {
            partition_id: self.unit.hobt(),
            offset_in_row: DeleteRows::OFFSET_IN_ROW,
            ..RowPart::default()
        };
        fixed.page.slot = at.slot.0;
        let delete = DeleteRows { fixed, rows: vec![&old], lock_info: &[] };
        change(
            RecordOwner::Change(tx),
            &mut page,
            Op::DELETE_ROWS,
            Context::HEAP,
            Payload::DeleteRows(delete),
        )?;
        self.reserve_room(at, footprint(old.len()), reserved);
        Ok(())
    }

    fn reserve_room(&self, at: Rid, bytes: usize, reserved: &mut Vec<ReservedRoom>) {
        let mut free = self.room.free.lock();
        free.touch(at.page);
        if bytes > 0 {
            let room = ReservedRoom { page: at.page, bytes: bytes as u16 };
            free.keep(room);
            reserved.push(room);
        }
    }
}

/// The bytes in which two records differ.
pub(crate) struct ChangedBytes<'a> {
    pub(crate) start: usize,
    pub(crate) before: &'a [u8],
    pub(crate) after: &'a [u8],
}

/// The shortest run of bytes that makes one record of the other; `None` when they are equal.
/// Neither side is ever empty, so that redo and undo both have bytes to replace.
pub(crate) fn changed_bytes<'a>(old: &'a [u8], new: &'a [u8]) -> Option<ChangedBytes<'a>> {
    if old == new {
        return None;
    }
    let shorter = old.len().min(new.len());
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let start = prefix.min(shorter.saturating_sub(1));
    let suffix = suffix.min(shorter - start - 1);
    Some(ChangedBytes {
        start,
        before: &old[start..old.len() - suffix],
        after: &new[start..new.len() - suffix],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_run_is_short_and_never_empty_on_either_side() {
        let run = |old: &'static [u8], new: &'static [u8]| {
            changed_bytes(old, new).map(|r| (r.start, r.before, r.after))
        };
        assert_eq!(run(b"abcdef", b"abXdef"), Some((2, &b"c"[..], &b"X"[..])));
        assert_eq!(run(b"abc", b"abc"), None);
        for (old, new) in [
            (&b"abc"[..], &b"abcd"[..]),
            (b"abcd", b"abc"),
            (b"aab", b"aaab"),
            (b"b", b"ab"),
            (b"aa", b"aaaa"),
        ] {
            let found = changed_bytes(old, new).unwrap();
            assert!(!found.before.is_empty() && !found.after.is_empty());
            let mut made = old[..found.start].to_vec();
            made.extend_from_slice(found.after);
            made.extend_from_slice(&old[found.start + found.before.len()..]);
            assert_eq!(made, new);
        }
    }
}
