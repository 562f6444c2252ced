//! The three pointers of a unit in the catalog: first IAM page, first page, root.

use extentdb_base::PageId;
use extentdb_change::change;
use extentdb_format::allocation::unit_row::UnitPointer;
use extentdb_format::log::payload::page::RootChange;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::PageRef;
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::space::Space;
use crate::unit::Unit;

impl Space {
    /// The unit has a new root. No page may be held by the caller.
    pub fn set_root(&self, tx: &mut Transaction, unit: &Unit, root: PageId) -> Result<(), Error> {
        unit.set_root(root);
        self.log_root(tx, unit, root)
    }

    /// The same in the catalog alone. The caller publishes it by [`Unit::set_root`] when the change
    /// has committed.
    pub fn log_root(&self, tx: &mut Transaction, unit: &Unit, root: PageId) -> Result<(), Error> {
        self.set_pointer(tx, unit, UnitPointer::Root, root)
    }

    /// The unit has a new leftmost leaf or first page. No page may be held by the caller.
    pub fn set_first(&self, tx: &mut Transaction, unit: &Unit, first: PageId) -> Result<(), Error> {
        unit.set_first(first);
        self.set_pointer(tx, unit, UnitPointer::First, first)
    }

    pub(crate) fn set_first_iam(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        first: PageId,
    ) -> Result<(), Error> {
        unit.set_first_iam(first);
        self.set_pointer(tx, unit, UnitPointer::FirstIam, first)
    }

    /// The unit has no pages any more.
    pub fn clear_pointers(&self, tx: &mut Transaction, unit: &Unit) -> Result<(), Error> {
        self.set_first_iam(tx, unit, PageId::NONE)?;
        self.set_first(tx, unit, PageId::NONE)?;
        self.set_root(tx, unit, PageId::NONE)?;
        unit.forget_chain();
        Ok(())
    }

    fn set_pointer(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        pointer: UnitPointer,
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
                RecordOwner::Change(tx),
                page,
                Op::ROOT_CHANGE,
                Context::CLUSTERED,
                Payload::RootChange(root),
            )?;
            Ok(())
        })
    }
}
