//! Undo of allocations in memory: extents, pages and units follow the undo of the records that
//! changed them.

use extentdb_base::PageId;
use extentdb_base::sync::Arc;
use extentdb_buffer::{PageWriteGuard, Pool};
use extentdb_change::{UndoContext, UndoneChange, roll_back_system_with};
use extentdb_format::log::map_change::{extent_run, pfs_changes};
use extentdb_format::log::payload::page::BitsPart;
use extentdb_format::log::{Context, Payload};
use extentdb_format::page::PageType;
use extentdb_txn::{Manager, Transaction};

use crate::error::Error;
use crate::page::is_counted;
use crate::space::Space;
use crate::unit::{Pointers, Unit};

impl UndoContext for Space {
    type Error = Error;

    fn pool(&self) -> &Pool {
        self.pool()
    }

    fn transactions(&self) -> &Arc<Manager> {
        self.transactions()
    }

    /// Pages that the change claimed are held, so that none is handed out before its undo is
    /// logged.
    fn before_undo(&self, change: &UndoneChange<'_>) -> Result<(), Error> {
        self.hold_all(&ChangedPages::of(change).claimed)
    }

    fn after_undo(&self, change: &UndoneChange<'_>) -> Result<(), Error> {
        let pages = ChangedPages::of(change);
        pages.claimed.iter().try_for_each(|page| self.release_single(*page))?;
        pages.freed.iter().try_for_each(|page| self.take_single(*page))?;
        if !pages.freed_uniform.is_empty() {
            let mut pending = self.pending_pages();
            pending.retain(|page, _| !pages.freed_uniform.contains(page));
        }
        match change.payload {
            Payload::SetBits(bits) if change.context == Context::GAM && bits.fixed.value == 0 => {
                self.release_extents(&bits.fixed)
            }
            _ => Ok(()),
        }
    }
}

/// Pages whose allocated bit a record of PFS changes.
#[derive(Default)]
struct ChangedPages {
    /// Pages of mixed extents, not allocated before the record.
    claimed: Vec<PageId>,
    /// Pages of mixed extents, not allocated after the record.
    freed: Vec<PageId>,
    /// The same, of uniform extents.
    freed_uniform: Vec<PageId>,
}

impl ChangedPages {
    fn of(change: &UndoneChange<'_>) -> ChangedPages {
        let mut pages = ChangedPages::default();
        for change in pfs_changes(change.context, change.payload) {
            if change.allocates_mixed() {
                pages.claimed.push(change.page);
            } else if change.frees_mixed() {
                pages.freed.push(change.page);
            } else if change.before.is_allocated() && !change.after.is_allocated() {
                pages.freed_uniform.push(change.page);
            }
        }
        pages
    }
}

impl Space {
    /// The extents whose GAM bits a record cleared are free again.
    fn release_extents(&self, bits: &BitsPart) -> Result<(), Error> {
        let file = self.file(bits.page.page.file)?;
        for extent in extent_run(bits) {
            // A restart may have read it as mixed: the undo of the record of SGAM after this one
            // has changed nothing in memory.
            file.mixed().forget(extent.index);
            file.release(extent.index);
        }
        Ok(())
    }

    /// Runs `work`, which changes what a unit owns, in a system transaction inside `tx`. Should it
    /// fail, the unit is in memory what it was, but for its chain, which the caller forgets.
    pub fn in_system_of<T>(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        name: &str,
        work: impl FnOnce(&mut Transaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let pointers = unit.pointers();
        let mut system = tx.begin_system(name);
        match work(&mut system) {
            Ok(done) => {
                system.commit_into(tx)?;
                Ok(done)
            }
            Err(error) => {
                self.roll_back_system_of(system, unit, pointers)?;
                Err(error)
            }
        }
    }

    /// Undoes all of a system transaction that changed what a unit owns, and ends it: the unit's
    /// counters and pointers in memory are what they were, too.
    pub fn roll_back_system_of(
        &self,
        tx: Transaction,
        unit: &Unit,
        pointers: Pointers,
    ) -> Result<(), Error> {
        self.roll_back_system_latched(tx, unit, pointers, &mut Vec::new())
    }

    /// The same for a caller that keeps pages of it latched until all of it is undone.
    pub fn roll_back_system_latched(
        &self,
        tx: Transaction,
        unit: &Unit,
        pointers: Pointers,
        latched: &mut Vec<PageWriteGuard>,
    ) -> Result<(), Error> {
        unit.restore_pointers(pointers);
        roll_back_system_with(self, tx, latched, |record| count_back(unit, &record.payload()))
    }
}

/// Undoes in the unit's counters what a record added to them.
fn count_back(unit: &Unit, payload: &Payload<'_>) {
    match payload {
        Payload::HobtDelta(delta) => {
            unit.count_pages(-delta.data_pages, -delta.used_pages, -delta.reserved_pages);
        }
        Payload::FormatPage(format) => {
            let kind = PageType::from_byte(format.page_type);
            let is_leaf = format.level == 0 && is_counted(kind);
            unit.count_data_pages(-i64::from(is_leaf));
        }
        _ => {}
    }
}
