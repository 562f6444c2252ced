//! One page of a tree: what it says about itself, its keys, and what fits on it.

use std::cmp::Ordering;
use std::ops::Range;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_buffer::PageReadGuard;
use extentdb_catalog::layout::Level;
use extentdb_format::PageBytes;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::{Record, RecordKind};

use super::Tree;
use super::insert_pattern::InsertSlot;
use crate::error::Error;
use crate::layout::RowShape;

/// The shortest room a record of a data page takes: that of a forwarding stub.
const DATA_ROOM_MIN: usize = 9;
/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = 2;

/// A page of a tree that is read.
#[derive(Clone, Copy)]
pub(super) struct Node<'p> {
    pub(super) view: PageRef<'p>,
    pub(super) level: Level,
    shape: &'p RowShape,
}

/// The slot of a key, or where it would be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// A row has it.
    Live(u16),
    /// Only a ghost has it.
    Ghost(u16),
    /// Nothing has it; a row with it would take this slot.
    Free(u16),
}

impl Tree {
    /// Reads a page of the tree.
    pub(super) fn read(&self, page: PageId) -> Result<PageReadGuard, Error> {
        Ok(self.space.pool().read(page)?)
    }

    /// A page as one of this tree.
    pub(super) fn node<'p>(&'p self, id: PageId, bytes: &'p PageBytes) -> Result<Node<'p>, Error> {
        let view = PageRef::new(bytes);
        let header = view.header();
        let corrupt = |what| Err(Error::Corrupt { page: id, what });
        if header.page_id() != id || !header.belongs_to(self.unit.id()) {
            return corrupt("is not a page of the tree");
        }
        let level = match (header.kind(), self.shape.is_base()) {
            (PageType::Data, true) => Level::Leaf,
            (PageType::Index, false) if header.level == 0 => Level::Leaf,
            // Roots of clustered trees that were made by SQL Server have level 0 right above data
            // pages.
            (PageType::Index, _) => Level::Interior,
            _ => return corrupt("is of a type that the tree does not have"),
        };
        if header.kind() == PageType::Index && header.fixed_len.get() != self.shape.pminlen(level) {
            return corrupt("has records of another length than the catalog says");
        }
        if header.slot_count.get() != view.slot_count() {
            return corrupt("has more slots than a page can have");
        }
        Ok(Node { view, level, shape: &self.shape })
    }
}

impl<'p> Node<'p> {
    pub(super) fn id(self) -> PageId {
        self.view.header().page_id()
    }

    pub(super) fn is_leaf(self) -> bool {
        self.level == Level::Leaf
    }

    pub(super) fn slot_count(self) -> u16 {
        self.view.slot_count()
    }

    pub(super) fn next(self) -> PageId {
        self.view.header().next()
    }

    pub(super) fn previous(self) -> PageId {
        self.view.header().prev()
    }

    /// Are the pages below it leaves? Roots of level 0 stand above data pages.
    pub(super) fn is_right_above_leaves(self) -> bool {
        self.view.header().level <= 1
    }

    /// The bytes of a record.
    pub(super) fn row(self, slot: u16) -> Result<&'p [u8], Error> {
        let corrupt = |_| Error::Corrupt { page: self.id(), what: "has a damaged record" };
        self.view.row(slot).map_err(corrupt)
    }

    pub(super) fn record(self, slot: u16) -> Result<Record<'p>, Error> {
        let bytes = self.row(slot)?;
        Ok(match self.view.header().kind() {
            PageType::Data => Record::parse_data(bytes),
            _ => Record::parse_index(bytes, self.view.header().fixed_len.get()),
        })
    }

    pub(super) fn is_ghost(self, slot: u16) -> Result<bool, Error> {
        Ok(is_ghost(self.row(slot)?))
    }

    /// The key of a slot; overwrites `out`.
    pub(super) fn key_into(self, slot: u16, out: &mut Vec<u8>) -> Result<(), Error> {
        let bytes = self.view.record_bytes(slot);
        if bytes.is_some_and(|bytes| self.shape.fixed_key_into(bytes, self.level, out)) {
            return Ok(());
        }
        self.shape.key_into(&self.record(slot)?, self.level, out)
    }

    /// How the key of a slot compares with another one. `own` is room to make it in.
    fn compare(self, slot: u16, key: &[u8], own: &mut Vec<u8>) -> Result<Ordering, Error> {
        let bytes = self.view.record_bytes(slot);
        if let Some(order) =
            bytes.and_then(|bytes| self.shape.compare_fixed(bytes, self.level, key))
        {
            return Ok(order);
        }
        self.key_into(slot, own)?;
        Ok(own.as_slice().cmp(key))
    }

    /// The first slot from `from` on whose key is not less than `key`: a lower bound.
    pub(super) fn lower_bound(self, from: u16, key: &[u8]) -> Result<u16, Error> {
        self.bound(from, key, Ordering::is_lt)
    }

    /// The first slot from `from` on whose key is greater than `key`: an upper bound.
    pub(super) fn upper_bound(self, from: u16, key: &[u8]) -> Result<u16, Error> {
        self.bound(from, key, Ordering::is_le)
    }

    /// [`lower_bound`](Self::lower_bound) where it is seldom far from `from`: looks there first,
    /// and twice as far each time.
    pub(super) fn lower_bound_near(self, from: u16, key: &[u8]) -> Result<u16, Error> {
        let end = self.slot_count();
        let mut own = Vec::new();
        let mut low = from;
        let mut step = 1;
        while low < end {
            let probe = (low + step - 1).min(end - 1);
            if self.compare(probe, key, &mut own)?.is_ge() {
                return self.bound_in(low..probe, key, Ordering::is_lt);
            }
            (low, step) = (probe + 1, 2 * step);
        }
        Ok(low)
    }

    fn bound(
        self,
        from: u16,
        key: &[u8],
        is_before: impl Fn(Ordering) -> bool,
    ) -> Result<u16, Error> {
        self.bound_in(from..self.slot_count(), key, is_before)
    }

    fn bound_in(
        self,
        slots: Range<u16>,
        key: &[u8],
        is_before: impl Fn(Ordering) -> bool,
    ) -> Result<u16, Error> {
        let mut own = Vec::new();
        let Range { start: mut low, end: mut high } = slots;
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.compare(middle, key, &mut own)?) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        Ok(low)
    }

    /// The slot of the child of a key: the last separator that is not greater. The first one counts
    /// as less than every key.
    pub(super) fn child_slot(self, key: &[u8]) -> Result<u16, Error> {
        if self.slot_count() == 0 {
            return Err(Error::Corrupt { page: self.id(), what: "points to no page" });
        }
        if self.slot_count() > 1 && self.is_past_all(key)? {
            Ok(self.slot_count() - 1)
        } else {
            Ok(self.upper_bound(1, key)? - 1)
        }
    }

    /// The slot of the child that has the keys less than a key, or of the last child.
    pub(super) fn slot_before(self, key: Option<&[u8]>) -> Result<u16, Error> {
        let end = match key {
            Some(key) => self.lower_bound(1, key)?,
            None => self.slot_count(),
        };
        end.checked_sub(1).ok_or(Error::Corrupt { page: self.id(), what: "points to no page" })
    }

    /// The child page of a slot.
    pub(super) fn child(self, slot: u16) -> Result<PageId, Error> {
        let child = self.record(slot)?.child().filter(|child| !child.is_none());
        child.ok_or(Error::Corrupt { page: self.id(), what: "has a record without a child page" })
    }

    /// The slot of a key on this leaf. A ghost may have the same key as a row.
    pub(super) fn position(self, key: &[u8]) -> Result<Position, Error> {
        if self.is_past_all(key)? {
            return Ok(Position::Free(self.slot_count()));
        }
        let first = self.lower_bound(0, key)?;
        let mut own = Vec::new();
        let mut position = Position::Free(first);
        for slot in first..self.slot_count() {
            if self.compare(slot, key, &mut own)?.is_ne() {
                break;
            }
            if !self.is_ghost(slot)? {
                return Ok(Position::Live(slot));
            }
            position = Position::Ghost(slot);
        }
        Ok(position)
    }

    /// Is a key greater than all of the last page of a level? Checked first, because
    /// ever-increasing keys go there.
    fn is_past_all(self, key: &[u8]) -> Result<bool, Error> {
        match self.slot_count().checked_sub(1) {
            Some(last) if self.next().is_none() => {
                Ok(self.compare(last, key, &mut Vec::new())?.is_lt())
            }
            _ => Ok(false),
        }
    }

    /// A slot of this leaf, as a position for an insert.
    pub(super) fn insert_slot(self, slot: u16) -> InsertSlot {
        InsertSlot {
            leaf: self.id(),
            slot,
            slots: self.slot_count(),
            is_last_leaf: self.next().is_none(),
        }
    }

    /// Footprint of a record of `len` bytes on this page, without its slot.
    pub(super) fn room(self, len: usize) -> usize {
        room_on(self.view.header().kind(), len)
    }

    /// What the record of a slot takes, without the slot.
    pub(super) fn room_of(self, slot: u16) -> Result<usize, Error> {
        Ok(self.room(self.row(slot)?.len()))
    }

    /// Does another record fit when `reserved` bytes stay free? Reckoned from the records, not from
    /// the header: once it is logged, it must.
    pub(super) fn fits_new(self, len: usize, reserved: usize) -> Result<bool, Error> {
        self.fits(self.room(len) + SLOT_BYTES + reserved, None)
    }

    /// Does a record fit in the slot of another one, at any offset of the page? A longer one only
    /// when `reserved` bytes stay free.
    pub(super) fn fits_instead(
        self,
        slot: u16,
        len: usize,
        reserved: usize,
    ) -> Result<bool, Error> {
        let room = self.room(len);
        if room <= self.room_of(slot)? {
            self.fits(0, None)
        } else {
            self.fits(room + reserved, Some(slot))
        }
    }

    fn fits(self, needed: usize, without: Option<u16>) -> Result<bool, Error> {
        let end = self.view.slot_array_start();
        let records_end = usize::from(self.view.header().free_offset.get());
        if !(PAGE_HEADER_BYTES..=end).contains(&records_end) {
            return Err(Error::Corrupt {
                page: self.id(),
                what: "has a header that contradicts itself",
            });
        }
        if records_end + needed <= end {
            return Ok(true);
        }
        let mut used = PAGE_HEADER_BYTES;
        for slot in (0..self.slot_count()).filter(|slot| Some(*slot) != without) {
            used += self.room_of(slot)?;
        }
        Ok(used + needed <= end)
    }
}

/// Footprint of a record of `len` bytes on a page of a type, without its slot.
pub(super) fn room_on(kind: PageType, len: usize) -> usize {
    if kind == PageType::Data { len.max(DATA_ROOM_MIN) } else { len }
}

/// Is this the record of a deleted row?
pub(super) fn is_ghost(row: &[u8]) -> bool {
    row.first().is_some_and(|status| RecordKind::of(*status).is_ghost())
}
