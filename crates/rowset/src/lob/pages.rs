//! Records of text pages: placed, replaced, removed, and read.
//!
//! ```text
//! fragment of 8,040 bytes   a page of its own
//! shorter, roots            a page known to have room, else a new one
//! internal record           a page of its own, where it can grow
//! ```
//!
//! A record that is removed, or gets shorter, leaves its bytes and its slot reserved for its
//! transaction. One that is alone on a page of a uniform extent is not even removed: its page is
//! freed with it, and comes back as it was when the transaction is rolled back.

use extentdb_base::sync::lock;
use extentdb_base::{PageId, Rid};
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::payload::row::{DeleteRows, InsertRows, ModifyRow, RowPart};
use extentdb_format::log::{Op, Payload};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::lob::{
    INTERNAL_HEADER_BYTES, LEN_AT, LobContent, LobRecord, MAX_RECORD_BYTES, ROOT_BYTES,
};
use extentdb_txn::RecordOwner;

use super::error::damaged;
use super::run::{Lease, context_of};
use super::{LobChange, LobUnit, PendingSpace, is_empty};
use crate::Error;
use crate::heap::ReservedRoom;
use crate::heap::update::changed_bytes;

/// Pages tried before a new one is taken.
const PROBES_MAX: usize = 8;
const SLOT_BYTES: usize = 2;
/// Less room than a root takes is not kept in mind: every page of a long value has some bytes left.
const ROOM_MIN: u16 = (ROOT_BYTES + SLOT_BYTES) as u16;
/// Row flags of LOB rows in real logs.
const ROW_FLAGS: u16 = 0x41;
/// Pages that are collected before they are freed in the maps.
const FREED_PAGES_MAX: usize = 4096;

/// What a writer works with: the unit, the transaction, its run of pages, and pages to be freed.
#[derive(Debug)]
pub(super) struct Work<'u, 't> {
    pub(super) unit: &'u LobUnit,
    pub(super) change: LobChange<'t>,
    lease: Lease<'u>,
    alone: Vec<PageId>,
}

impl<'u, 't> Work<'u, 't> {
    pub(super) fn new(unit: &'u LobUnit, change: LobChange<'t>) -> Work<'u, 't> {
        let lease = unit.runs.lease();
        Work { unit, change, lease, alone: Vec::new() }
    }

    /// Places a record on a page of this type.
    pub(super) fn insert(&mut self, kind: PageType, record: &[u8]) -> Result<Rid, Error> {
        let unit = self.unit;
        let found = match kind {
            PageType::TextTree => unit.insert_in_empty_tree(&mut self.change, record)?,
            _ if record.len() < MAX_RECORD_BYTES => {
                unit.insert_where_room_is(&mut self.change, record)?
            }
            _ => None,
        };
        if let Some(rid) = found {
            return Ok(rid);
        }
        let mut new = unit.next_page(self.change.tx, &self.lease, kind)?;
        let placed = unit.insert_on(&mut self.change, &mut new.page, record);
        // Also when the log had no room. PFS calls the page full, which most of them are.
        let free_bytes = PageHeader::of(&new.page).free_bytes.get();
        unit.file_room(PageRef::new(&new.page), free_bytes);
        if Fullness::of_free_bytes(free_bytes) != Fullness::UpTo100 {
            unit.free.lock().touch(new.page.id());
        }
        let bytes = record.len();
        placed?.ok_or(Error::RowTooLong { bytes, most: MAX_RECORD_BYTES })
    }

    /// Puts a record in the place of an old one, or elsewhere when its page has no room.
    pub(super) fn put(
        &mut self,
        old: Option<Rid>,
        kind: PageType,
        record: &[u8],
    ) -> Result<Rid, Error> {
        if let Some(at) = old {
            if self.unit.replace(&mut self.change, at, record)? {
                return Ok(at);
            }
            self.remove(at)?;
        }
        self.insert(kind, record)
    }

    /// Removes a record; its page, when it is alone there.
    pub(super) fn remove(&mut self, at: Rid) -> Result<(), Error> {
        if self.unit.remove(&mut self.change, at)? == Removed::WithPage {
            self.alone.push(at.page);
            if self.alone.len() >= FREED_PAGES_MAX {
                self.free_pages()?;
            }
        }
        Ok(())
    }

    /// Frees the pages whose only record was removed.
    pub(super) fn free_pages(&mut self) -> Result<(), Error> {
        if !self.alone.is_empty() {
            let LobChange { tx, pending } = &mut self.change;
            let pages = std::mem::take(&mut self.alone);
            pending.freed.extend(self.unit.space.free_pages(tx, &self.unit.unit, &pages)?);
        }
        Ok(())
    }
}

/// What became of the page of a record that was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Removed {
    /// The page stays: it has other records.
    Record,
    /// It is to be freed; the record is still there.
    WithPage,
}

impl LobUnit {
    /// Tries pages that should have room.
    fn insert_where_room_is(
        &self,
        change: &mut LobChange<'_>,
        record: &[u8],
    ) -> Result<Option<Rid>, Error> {
        self.load_free_space()?;
        let room = (record.len() + SLOT_BYTES) as u16;
        let mut busy = Vec::new();
        let mut placed = None;
        for _ in 0..PROBES_MAX {
            let Some(id) = self.take(room) else { break };
            match self.try_insert(change, id, record)? {
                Tried::Placed(rid) => {
                    placed = Some(rid);
                    break;
                }
                Tried::Busy => busy.push(id),
                Tried::NoRoom => {}
            }
        }
        // They stay in hand until they are found again: a page that is freed meanwhile is not.
        for id in busy {
            self.free.lock().file(id, room);
            self.lay_down(id);
        }
        Ok(placed)
    }

    /// Takes a page out of the free space, into the hand of the caller.
    fn take(&self, room: u16) -> Option<PageId> {
        if !self.free.may_have(room) {
            return None;
        }
        let mut state = lock(&self.state);
        let id = self.free.lock().take(room)?;
        state.hold(id);
        Some(id)
    }

    /// The page is latched, or was given up.
    pub(super) fn lay_down(&self, id: PageId) {
        lock(&self.state).lay_down(id);
    }

    fn try_insert(
        &self,
        change: &mut LobChange<'_>,
        id: PageId,
        record: &[u8],
    ) -> Result<Tried, Error> {
        let page = self.space.pool().try_write(id);
        if let Ok(None) = page {
            return Ok(Tried::Busy);
        }
        self.lay_down(id);
        let Some(mut page) = page? else { return Ok(Tried::NoRoom) };
        let header = PageHeader::of(&page);
        if header.kind() != PageType::TextMix || header.alloc_unit() != self.unit.id() {
            return Ok(Tried::NoRoom);
        }
        let placed = self.insert_on(change, &mut page, record)?;
        self.note_room(PageRef::new(&page), PageHeader::of(&page).free_bytes.get());
        Ok(placed.map_or(Tried::NoRoom, Tried::Placed))
    }

    /// Uses a text tree page that lost its record and could not be freed.
    fn insert_in_empty_tree(
        &self,
        change: &mut LobChange<'_>,
        record: &[u8],
    ) -> Result<Option<Rid>, Error> {
        let id = {
            let mut state = lock(&self.state);
            let Some(id) = state.empty_trees.pop_first() else { return Ok(None) };
            state.hold(id);
            id
        };
        let page = self.space.pool().write(id);
        self.lay_down(id);
        let mut page = page?;
        let header = PageHeader::of(&page);
        let is_usable = header.kind() == PageType::TextTree
            && header.alloc_unit() == self.unit.id()
            && is_empty(PageRef::new(&page))
            && self.free.reserved(id) == 0;
        if is_usable { self.insert_on(change, &mut page, record) } else { Ok(None) }
    }

    /// Puts a record on this page, when it has room.
    fn insert_on(
        &self,
        change: &mut LobChange<'_>,
        page: &mut PageWriteGuard,
        record: &[u8],
    ) -> Result<Option<Rid>, Error> {
        let Some(slot) = self.slot_for(page, record.len()) else { return Ok(None) };
        let mut fixed = self.row_part(slot);
        fixed.offset_in_row = 0;
        let insert = InsertRows { fixed, rows: vec![record], ..InsertRows::default() };
        self.log(change, page, Op::INSERT_ROWS, Payload::InsertRows(insert))?;
        Ok(Some(Rid::new(page.id(), slot)))
    }

    /// A slot for a record of `len` bytes. The slots of removed records are used when nothing of
    /// the page is reserved: then no undo needs them.
    fn slot_for(&self, page: &PageWriteGuard, len: usize) -> Option<u16> {
        let view = PageRef::new(page);
        let reserved = usize::from(self.free.reserved(page.id()));
        let free = usize::from(view.header().free_bytes.get()).saturating_sub(reserved);
        if reserved == 0 && view.has_empty_slot() {
            let empty = (0u16..).zip(view.slot_offsets()).find(|(_, offset)| *offset == 0);
            return empty.map(|(slot, _)| slot).filter(|_| len <= free);
        }
        (len + SLOT_BYTES <= free).then(|| view.slot_count())
    }

    /// Replaces a record. False when the page has no room for the new one.
    pub(super) fn replace(
        &self,
        change: &mut LobChange<'_>,
        at: Rid,
        new: &[u8],
    ) -> Result<bool, Error> {
        let mut page = self.own_page(at)?;
        let view = PageRef::new(&page);
        let mut old = view.row(at.slot.0).map_err(|_| Error::BadRow(at))?.to_vec();
        let before = old.len();
        let free = usize::from(view.header().free_bytes.get());
        let reserved = usize::from(self.free.reserved(at.page));
        if new.len() > before && new.len() - before > free.saturating_sub(reserved) {
            return Ok(false);
        }
        // The length of a record follows from its change and is not logged.
        old[LEN_AT].copy_from_slice(&new[LEN_AT]);
        // The counters of an internal record, and its links: what lies between stays.
        let head = INTERNAL_HEADER_BYTES.min(before).min(new.len());
        if view.header().kind() == PageType::TextTree && old[..head] != new[..head] {
            let mut next = old.clone();
            next[..head].copy_from_slice(&new[..head]);
            self.modify(change, &mut page, at, &old, &next)?;
            old = next;
        }
        self.modify(change, &mut page, at, &old, new)?;
        self.reserve(change.pending, at, before.saturating_sub(new.len()));
        self.note_room(PageRef::new(&page), PageHeader::of(&page).free_bytes.get());
        Ok(true)
    }

    fn modify(
        &self,
        change: &mut LobChange<'_>,
        page: &mut PageWriteGuard,
        at: Rid,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), Error> {
        let Some(run) = changed_bytes(old, new) else { return Ok(()) };
        self.modify_bytes(change, page, at, run.start, run.before, run.after)
    }

    fn modify_bytes(
        &self,
        change: &mut LobChange<'_>,
        page: &mut PageWriteGuard,
        at: Rid,
        offset: usize,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), Error> {
        let fixed = RowPart {
            offset_in_row: offset as u16,
            modify_size: before.len() as u16,
            ..self.row_part(at.slot.0)
        };
        let modify = ModifyRow {
            fixed,
            before,
            after,
            key: Some(&[]),
            lock_info: Some(&[]),
            more: Vec::new(),
        };
        self.log(change, page, Op::MODIFY_ROW, Payload::ModifyRow(modify))
    }

    /// Replaces bytes of the data of a record by as many others, from `within` on.
    pub(super) fn overwrite(
        &self,
        change: &mut LobChange<'_>,
        at: Rid,
        within: usize,
        new: &[u8],
    ) -> Result<(), Error> {
        let mut page = self.own_page(at)?;
        let row = PageRef::new(&page).row(at.slot.0).map_err(|_| Error::BadRow(at))?;
        let record = LobRecord::parse(row);
        let LobContent::Data(data) = record.content() else {
            return Err(damaged(at, "a link of level 0 does not lead to data"));
        };
        let offset = row.len() - data.len() + within;
        let old = data.get(within..within + new.len());
        let old = old.ok_or_else(|| damaged(at, "a fragment is shorter than its link says"))?;
        if old != new {
            let old = old.to_vec();
            self.modify_bytes(change, &mut page, at, offset, &old, new)?;
        }
        Ok(())
    }

    /// Removes a record, or finds that its page can be freed instead.
    fn remove(&self, change: &mut LobChange<'_>, at: Rid) -> Result<Removed, Error> {
        self.load_free_space()?;
        let mut page = self.own_page(at)?;
        if is_alone(PageRef::new(&page), at)
            && let Some(taken) = self.take_for_release(&page)?
        {
            change.pending.stale.extend(taken.is_stale.then_some(at.page));
            return Ok(Removed::WithPage);
        }
        let old = PageRef::new(&page).row(at.slot.0).map_err(|_| Error::BadRow(at))?.to_vec();
        let mut fixed = self.row_part(at.slot.0);
        fixed.offset_in_row = DeleteRows::OFFSET_IN_ROW;
        let delete = DeleteRows { fixed, rows: vec![&old], lock_info: &[] };
        self.log(change, &mut page, Op::DELETE_ROWS, Payload::DeleteRows(delete))?;
        self.reserve(change.pending, at, old.len());
        if is_empty(PageRef::new(&page)) {
            lock(&self.state).emptied.insert(at.page);
        }
        Ok(Removed::Record)
    }

    /// Takes a latched page, whose records nobody needs any more, out of all lists, so that it can
    /// be freed. `None` for one that has to stay.
    pub(super) fn take_for_release(&self, page: &PageWriteGuard) -> Result<Option<Taken>, Error> {
        let id = page.id();
        if id == self.unit.first() || self.free.reserved(id) > 0 || self.space.is_mixed(id)? {
            return Ok(None);
        }
        let mut state = lock(&self.state);
        if state.in_hand.contains_key(&id) {
            return Ok(None);
        }
        state.emptied.remove(&id);
        state.empty_trees.remove(&id);
        Ok(Some(Taken { is_stale: self.free.lock().remove(id) }))
    }

    /// The page of a record, latched EX.
    fn own_page(&self, at: Rid) -> Result<PageWriteGuard, Error> {
        let page = self.space.pool().write(at.page)?;
        if PageHeader::of(&page).alloc_unit() != self.unit.id() {
            return Err(damaged(at, "a link leads to a page of another unit"));
        }
        Ok(page)
    }

    /// Reads a record.
    pub(super) fn with_record<T>(
        &self,
        at: Rid,
        read: impl FnOnce(LobRecord<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let page = self.space.pool().read(at.page)?;
        let view = PageRef::new(&page);
        if view.header().alloc_unit() != self.unit.id() {
            return Err(damaged(at, "a link leads to a page of another unit"));
        }
        let bytes = view.record_bytes(at.slot.0);
        let bytes = bytes.ok_or_else(|| damaged(at, "a link leads to an empty slot"))?;
        let record = LobRecord::parse(bytes);
        if record.fault().is_some() {
            return Err(damaged(at, "a record of a value does not add up"));
        }
        read(record)
    }

    fn row_part(&self, slot: u16) -> RowPart {
        let mut fixed = RowPart {
            partition_id: self.unit.hobt(),
            row_flags: ROW_FLAGS,
            ..RowPart::default()
        };
        fixed.page.slot = slot;
        fixed
    }

    fn log(
        &self,
        on: &mut LobChange<'_>,
        page: &mut PageWriteGuard,
        op: Op,
        payload: Payload<'_>,
    ) -> Result<(), Error> {
        let context = context_of(PageHeader::of(page).kind());
        change(RecordOwner::Change(on.tx), page, op, context, payload)?;
        Ok(())
    }

    /// Keeps bytes of a latched page for the undo.
    fn reserve(&self, pending: &mut PendingSpace, at: Rid, bytes: usize) {
        if bytes > 0 {
            let room = ReservedRoom { page: at.page, bytes: bytes as u16 };
            self.free.lock().keep(room);
            pending.reserved.push(room);
        }
    }

    /// The room of a latched text mix page may have changed.
    pub(super) fn note_room(&self, page: PageRef<'_>, free_bytes: u16) {
        self.file_room(page, free_bytes);
        self.free.lock().touch(page.header().page_id());
    }

    /// The same of one whose class in PFS is true.
    fn file_room(&self, page: PageRef<'_>, free_bytes: u16) {
        if page.header().kind() != PageType::TextMix {
            return;
        }
        let id = page.header().page_id();
        let mut free = self.free.lock();
        let room = free_bytes.saturating_sub(free.reserved(id));
        free.file(id, if room < ROOM_MIN { 0 } else { room });
    }
}

/// A page that nobody inserts into any more.
pub(super) struct Taken {
    /// Its class in PFS may not be true.
    is_stale: bool,
}

/// Has the page no other record?
fn is_alone(page: PageRef<'_>, at: Rid) -> bool {
    let mut used = (0u16..).zip(page.slot_offsets()).filter(|(_, offset)| *offset != 0);
    used.all(|(slot, _)| slot == at.slot.0)
}

/// What came of an attempt to place a record.
enum Tried {
    Placed(Rid),
    NoRoom,
    /// Another thread has the page latched.
    Busy,
}
