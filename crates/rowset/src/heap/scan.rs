//! Reading a heap: every row once, at its own address.

use std::collections::HashSet;

use extentdb_base::sync::lock;
use extentdb_base::{Lsn, PageId, Rid};
use extentdb_format::page::PageRef;
use extentdb_format::record::{Record, RecordKind};

use super::{Heap, rid};
use crate::Error;

/// What is stored at an address.
pub(super) enum StoredRow<R> {
    /// The row itself.
    Row(R),
    /// A stub: the row is elsewhere.
    Stub(Rid),
    /// A forwarded row, whose address is that of its stub.
    Forwarded(R),
    /// A row that is deleted but still there: for readers of its versions, or left by other
    /// programs.
    Ghost(R),
}

/// What a page holds for a reader of committed rows.
#[derive(Debug)]
pub enum PageRows {
    /// No open transaction has changed the page: addresses and records of its rows.
    Committed(Vec<(Rid, Vec<u8>)>),
    /// One may have: addresses where rows are, or were until it deleted them. Each is to be locked
    /// before it is read.
    Unsure(Vec<Rid>),
}

impl Heap {
    /// The pages of the heap that have been formatted, in the order of the IAM chain.
    pub fn formatted_pages(&self) -> Result<Vec<PageId>, Error> {
        let pages = {
            let _coming = lock(&self.room.coming);
            self.space.pages_of(&self.unit)?
        };
        // A run that is taken in this moment is in the list before its appender knows: its slot is
        // held until then.
        let rest: HashSet<PageId> =
            self.room.appenders.iter().flat_map(|appender| lock(appender).rest.clone()).collect();
        Ok(pages.into_iter().filter(|page| !rest.contains(page)).collect())
    }

    /// The rows whose home is on this page. `oldest_open` returns the begin of the oldest open
    /// transaction; it is called while the page is latched. A page without a change since then has
    /// committed rows only: a transaction that changed it earlier cannot have rolled back
    /// meanwhile, because that would change the page, too.
    pub fn page_rows(
        &self,
        id: PageId,
        oldest_open: impl Fn() -> Option<Lsn>,
    ) -> Result<PageRows, Error> {
        let page = self.space.pool().read(id)?;
        let view = PageRef::new(&page);
        // A reader that was paused may come when the page has been freed and used again.
        if !view.header().belongs_to(self.unit.id()) {
            return Ok(PageRows::Committed(Vec::new()));
        }
        let slots = (0..view.slot_count()).zip(view.slot_offsets());
        // The slot of a row that an open transaction has deleted is empty, and its bytes are
        // reserved: the row may come back.
        let has_reserved = self.room.free.reserved(id) > 0;
        let is_row = |(_, offset): &(u16, u16)| *offset != 0 || has_reserved;
        let rids: Vec<Rid> = slots.filter(is_row).map(|(slot, _)| rid(id, slot)).collect();
        if oldest_open().is_some_and(|open| view.header().lsn() >= open) {
            return Ok(PageRows::Unsure(rids));
        }
        let mut rows = Vec::with_capacity(rids.len());
        for at in &rids {
            if view.slot_offset(at.slot.0) == Some(0) {
                continue;
            }
            match stored(view, *at)? {
                StoredRow::Row(row) => rows.push((*at, row.to_vec())),
                StoredRow::Forwarded(_) | StoredRow::Ghost(_) => {}
                // The row is on another page, which others may be changing.
                StoredRow::Stub(_) => return Ok(PageRows::Unsure(rids)),
            }
        }
        Ok(PageRows::Committed(rows))
    }

    /// The record of a row, forwarded or not; `None` when there is none at this address.
    pub fn get(&self, at: Rid) -> Result<Option<Vec<u8>>, Error> {
        match self.stored_at(at)? {
            Some(StoredRow::Row(row)) => Ok(Some(row)),
            Some(StoredRow::Stub(target)) => self.forwarded(at, target),
            Some(StoredRow::Forwarded(_) | StoredRow::Ghost(_)) | None => Ok(None),
        }
    }

    /// The same, unless an open transaction may have changed its page, or its row is forwarded:
    /// `None` then, or without a row.
    pub fn settled(
        &self,
        at: Rid,
        oldest_open: impl Fn() -> Option<Lsn>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let page = self.space.pool().read(at.page)?;
        let view = PageRef::new(&page);
        let is_open = oldest_open().is_some_and(|open| view.header().lsn() >= open);
        let is_used = view.slot_offset(at.slot.0).is_some_and(|offset| offset != 0);
        if is_open || !is_used || view.header().alloc_unit() != self.unit.id() {
            return Ok(None);
        }
        match stored(view, at)? {
            StoredRow::Row(row) => Ok(Some(row.to_vec())),
            StoredRow::Stub(_) | StoredRow::Forwarded(_) | StoredRow::Ghost(_) => Ok(None),
        }
    }

    pub(super) fn stored_at(&self, at: Rid) -> Result<Option<StoredRow<Vec<u8>>>, Error> {
        let page = self.space.pool().read(at.page)?;
        let view = PageRef::new(&page);
        let is_used = view.slot_offset(at.slot.0).is_some_and(|offset| offset != 0);
        if !is_used || view.header().alloc_unit() != self.unit.id() {
            return Ok(None);
        }
        Ok(Some(match stored(view, at)? {
            StoredRow::Row(row) => StoredRow::Row(row.to_vec()),
            StoredRow::Forwarded(row) => StoredRow::Forwarded(row.to_vec()),
            StoredRow::Stub(target) => StoredRow::Stub(target),
            StoredRow::Ghost(row) => StoredRow::Ghost(row.to_vec()),
        }))
    }

    /// The row that a stub points to; `None` of one that is deleted.
    pub(super) fn forwarded(&self, home: Rid, target: Rid) -> Result<Option<Vec<u8>>, Error> {
        let is_of_home = |row: &[u8]| Record::parse_data(row).back_pointer() == Some(home);
        match self.stored_at(target)? {
            Some(StoredRow::Forwarded(row)) if is_of_home(&row) => Ok(Some(row)),
            Some(StoredRow::Ghost(row)) if is_of_home(&row) => Ok(None),
            _ => Err(Error::BadRow(home)),
        }
    }
}

/// What is stored in a slot in use.
pub(super) fn stored(view: PageRef<'_>, at: Rid) -> Result<StoredRow<&[u8]>, Error> {
    let bytes = view.row(at.slot.0).map_err(|_| Error::BadRow(at))?;
    let record = Record::parse_data(bytes);
    match record.kind() {
        RecordKind::Primary => Ok(StoredRow::Row(bytes)),
        RecordKind::Forwarded => Ok(StoredRow::Forwarded(bytes)),
        RecordKind::ForwardingStub => {
            record.stub_target().map(StoredRow::Stub).ok_or(Error::BadRow(at))
        }
        RecordKind::GhostData | RecordKind::GhostVersion => Ok(StoredRow::Ghost(bytes)),
        _ => Err(Error::BadRow(at)),
    }
}

/// Is this ghost that of a forwarded row, whose address is that of its stub?
pub(super) fn is_ghost_forwarded(ghost: &[u8]) -> bool {
    Record::parse_data(ghost).is_ghost_forwarded()
}
