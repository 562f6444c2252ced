//! The three pointers of a unit in the catalog: first IAM page, first page, root.

use extentdb_base::{Lsn, PageId};
use extentdb_buffer::PageWriteGuard;
use extentdb_format::PageBytes;
use extentdb_format::log::payload::page::RootChange;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_txn::{Link, Transaction};

use crate::change::change;
use crate::error::Error;
use crate::space::Space;
use crate::unit::Unit;

/// Finds the rows of allocation units in `sysallocunits`.
pub trait UnitRows: Send + Sync {
    /// Runs `f` with the page and slot of the unit's row. The caller holds no page.
    fn with_row(
        &self,
        unit: &Unit,
        f: &mut dyn FnMut(&mut PageWriteGuard, u16) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// Where the unit's id is in a row of `sysallocunits`.
const UNIT_ID_AT: usize = 4;

/// Which pointer: its number in the log record, and its offset in a row of `sysallocunits`.
#[derive(Clone, Copy)]
enum Pointer {
    Root,
    First,
    FirstIam,
}

impl Pointer {
    fn number(self) -> u8 {
        match self {
            Pointer::Root => 0,
            Pointer::First => 1,
            Pointer::FirstIam => 2,
        }
    }

    fn offset(self) -> u16 {
        match self {
            Pointer::Root => 0x21,
            Pointer::First => 0x1b,
            Pointer::FirstIam => 0x27,
        }
    }
}

impl Space {
    /// The unit has a new root. No page may be held by the caller.
    pub fn set_root(&self, tx: &mut Transaction, unit: &Unit, root: PageId) -> Result<(), Error> {
        unit.set_root(root);
        self.log_root(tx, unit, root)
    }

    /// The same in the catalog alone. The caller tells the unit by [`Unit::set_root`], when the
    /// change has ended and others may build on it.
    pub fn log_root(&self, tx: &mut Transaction, unit: &Unit, root: PageId) -> Result<(), Error> {
        self.set_pointer(tx, unit, Pointer::Root, root)
    }

    /// The unit has a new leftmost leaf or first page. No page may be held by the caller.
    pub fn set_first(&self, tx: &mut Transaction, unit: &Unit, first: PageId) -> Result<(), Error> {
        unit.set_first(first);
        self.set_pointer(tx, unit, Pointer::First, first)
    }

    pub(crate) fn set_first_iam(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        first: PageId,
    ) -> Result<(), Error> {
        unit.set_first_iam(first);
        self.set_pointer(tx, unit, Pointer::FirstIam, first)
    }

    /// The unit has no pages any more.
    pub fn clear_pointers(&self, tx: &mut Transaction, unit: &Unit) -> Result<(), Error> {
        self.set_first_iam(tx, unit, PageId::NONE)?;
        self.set_first(tx, unit, PageId::NONE)?;
        self.set_root(tx, unit, PageId::NONE)?;
        unit.forget_chain();
        Ok(())
    }

    /// Takes a change of a pointer back, wherever the unit's row is by now: whoever let go of its
    /// page has let others put rows in front of it, or split the page. Splits move rows to the
    /// right only.
    pub(crate) fn undo_pointer(
        &self,
        tx: &mut Transaction,
        undo_next: Lsn,
        root: &RootChange,
    ) -> Result<(), Error> {
        let mut id = root.page.page;
        while !id.is_none() {
            let mut page = self.pool().write(id)?;
            if let Some(slot) = slot_of(&page, root) {
                let mut back = root.clone();
                (back.new_page, back.old_page) = (root.old_page, root.new_page);
                (back.page.page, back.page.slot) = (id, slot);
                let link = Link::Compensation(tx, undo_next);
                change(
                    link,
                    &mut page,
                    Op::ROOT_CHANGE,
                    Context::CLUSTERED,
                    Payload::RootChange(back),
                )?;
                return Ok(());
            }
            id = PageHeader::of(&page).next();
        }
        let source = "its row is not where it was, nor to the right of that".into();
        Err(Error::Catalog { unit: root.alloc_unit, source })
    }

    fn set_pointer(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        pointer: Pointer,
        new_page: PageId,
    ) -> Result<(), Error> {
        let Some(rows) = self.unit_rows() else { return Ok(()) };
        rows.with_row(unit, &mut |page, slot| {
            let view = PageRef::new(page);
            let at = usize::from(pointer.offset());
            let old =
                view.record_bytes(slot).and_then(|row| row.get(at..)).and_then(|b| b.first_chunk());
            let mut root = RootChange {
                pointer: pointer.number(),
                alloc_unit: unit.id(),
                object_id: unit.id().header_object_id(),
                index_id: unit.id().header_index_id(),
                new_page,
                old_page: old.map_or(PageId::NONE, |bytes| PageId::from_bytes(*bytes)),
                row_offset: pointer.offset(),
                ..RootChange::default()
            };
            root.page.slot = slot;
            change(
                Link::Change(tx),
                page,
                Op::ROOT_CHANGE,
                Context::CLUSTERED,
                Payload::RootChange(root),
            )?;
            Ok(())
        })
    }
}

/// Where the row of the unit is on a page; mostly where it was.
fn slot_of(page: &PageBytes, root: &RootChange) -> Option<u16> {
    let view = PageRef::new(page);
    let names = |slot: &u16| {
        let bytes = view.record_bytes(*slot).and_then(|row| row.get(UNIT_ID_AT..)?.first_chunk());
        bytes.is_some_and(|bytes| i64::from_le_bytes(*bytes) == root.alloc_unit.0)
    };
    Some(root.page.slot).filter(names).or_else(|| (0..view.slot_count()).find(names))
}
