//! Undo: the records of a transaction are undone one by one, newest first, each where its row is
//! now.
//!
//! Online rollbacks and restarts share it; every undo logs a compensation record.

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, Lsn, PageId, XactId};
use extentdb_change::{in_system, record_bytes, restore_pointer, undo_next, undo_record};
use extentdb_format::allocation::unit_row::unit_of_row;
use extentdb_format::log::payload::page::RootChange;
use extentdb_format::log::{BlockFormat, Context, Op, Payload, RecordRef};
use extentdb_format::record::RecordKind;
use extentdb_rowset::Tree;
use extentdb_space::{Freed, Space};
use extentdb_txn::{Manager, Transaction};

use crate::database::Database;
use crate::error::{Cause, Error};
use crate::recovery::analysis::OpenTransaction;
use crate::recovery::redo::Recovery;

impl Recovery {
    /// Reserves what open transactions have freed: it is not allocated before they are undone.
    pub(crate) fn reserve_freed(&mut self, space: &Space) -> Result<(), Error> {
        self.analysis.freed.values().try_for_each(|freed| Ok(space.retake(freed)?))
    }

    /// Undoes system transactions that were interrupted, newest record first.
    pub(crate) fn undo_system(&mut self, space: &Space) -> Result<(), Error> {
        let system: Vec<(XactId, OpenTransaction)> = self
            .analysis
            .open
            .iter()
            .filter(|(_, open)| open.is_system)
            .map(|(id, open)| (*id, *open))
            .collect();
        self.analysis.open.retain(|_, open| !open.is_system);
        let mut open: Vec<Transaction> = system
            .iter()
            .map(|(id, open)| space.transactions().resume(*id, open.begin, open.last))
            .collect();
        self.facts.undone += open.len() as u64;
        while let Some(at) = newest(&open) {
            if open[at].undo_next() <= open[at].begin_lsn() {
                open.swap_remove(at).abort()?;
                continue;
            }
            match undo_next(space, &mut open[at]).map_err(Error::from) {
                Err(error) if error.cause() == Cause::BadPage => {
                    self.deferred.push((open.swap_remove(at), error));
                }
                undone => undone?,
            }
        }
        Ok(())
    }

    /// System transactions that could not be undone, and why.
    pub(crate) fn take_deferred(&mut self) -> Vec<(Transaction, Error)> {
        std::mem::take(&mut self.deferred)
    }

    /// The other open transactions but those in doubt, ready to be undone.
    pub(crate) fn losers(&mut self, transactions: &Arc<Manager>) -> Vec<Transaction> {
        let open = std::mem::take(&mut self.analysis.open);
        let (in_doubt, losers): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|(_, open)| open.waits_for.is_some());
        self.analysis.open = in_doubt.into_iter().collect();
        self.facts.undone += losers.len() as u64;
        let resume =
            |(id, open): (XactId, OpenTransaction)| transactions.resume(id, open.begin, open.last);
        losers.into_iter().map(resume).collect()
    }
}

/// The transaction whose next record to undo is the newest.
fn newest(open: &[Transaction]) -> Option<usize> {
    (0..open.len()).max_by_key(|at| open[*at].undo_next())
}

impl Database {
    /// Undoes every record of the transaction after `until`. What this frees is added to `freed`.
    pub(crate) fn undo_to(
        &self,
        tx: &mut Transaction,
        until: Lsn,
        freed: &mut Freed,
    ) -> Result<(), Error> {
        tx.begin_undo();
        while tx.undo_next() > until {
            self.undo_one(tx, freed)?;
        }
        tx.end_undo();
        Ok(())
    }

    /// Undoes the transactions that a restart found open.
    pub(crate) fn undo_losers(&mut self, mut losers: Vec<Transaction>) -> Result<(), Error> {
        let any = !losers.is_empty();
        losers.iter_mut().for_each(Transaction::begin_undo);
        let mut freed = Freed::default();
        let mut deferred = Vec::new();
        while let Some(at) = newest(&losers) {
            if losers[at].undo_next() <= losers[at].begin_lsn() {
                losers.swap_remove(at).abort()?;
                continue;
            }
            self.find_tree(losers[at].undo_next())?;
            match self.undo_one(&mut losers[at], &mut freed) {
                Err(error) if error.cause() == Cause::BadPage => {
                    deferred.push((losers.swap_remove(at), error));
                }
                undone => undone?,
            }
        }
        self.space.release(freed)?;
        if any {
            // The undo may have restored or removed tables.
            self.catalog.reload(&self.pool, &self.space, &self.options)?;
        }
        for (tx, error) in deferred {
            self.defer_transaction(tx, error)?;
        }
        Ok(())
    }

    /// The index whose entry a record is about may have been dropped after it; by now that is
    /// undone, and the catalog knows it again.
    fn find_tree(&mut self, lsn: Lsn) -> Result<(), Error> {
        let bytes = record_bytes(&self.transactions, lsn)?;
        let Some(record) = RecordRef::parse(BlockFormat::V4, &bytes) else { return Ok(()) };
        let unit = record.payload().page_part().map(|part| part.alloc_unit());
        let is_entry = [Context::INDEX_LEAF, Context::CLUSTERED, Context::MARK_AS_GHOST]
            .contains(&record.header().context);
        let is_unknown =
            |unit| self.catalog.tree_of(unit).is_none() && self.catalog.heap_of(unit).is_none();
        if is_entry && unit.is_some_and(is_unknown) {
            self.catalog.reload(&self.pool, &self.space, &self.options)?;
        }
        Ok(())
    }

    fn undo_one(&self, tx: &mut Transaction, freed: &mut Freed) -> Result<(), Error> {
        let lsn = tx.undo_next();
        let bytes = record_bytes(&self.transactions, lsn)?;
        let damaged = || Error::catalog(format!("log record {lsn} cannot be read"));
        let record = RecordRef::parse(BlockFormat::V4, &bytes).ok_or_else(damaged)?;
        let header = *record.header();
        let changes_nothing = [Op::MARK_SAVEPOINT, Op::PREP_XACT].contains(&header.op);
        if header.flags.is_compensation() || changes_nothing {
            tx.skip_to(header.previous);
            return Ok(());
        }
        let payload = record.payload();
        let unit = payload.page_part().map(|part| part.alloc_unit());
        match (unit.and_then(|unit| self.catalog.tree_of(unit)), &payload) {
            (
                Some(tree),
                Payload::InsertRows(_) | Payload::DeleteRows(_) | Payload::ModifyRow(_),
            ) if header.context != Context::IAM => {
                self.undo_tree(tx, &tree, &record, freed)?;
            }
            (_, Payload::RootChange(root)) => self.undo_pointer(tx, header.previous, root)?,
            _ => match unit.and_then(|unit| self.catalog.lob_of(unit)) {
                Some(lob) => lob.undo(tx, &record)?,
                None => self.undo_at_slot(tx, &record, unit)?,
            },
        }
        tx.skip_to(header.previous);
        Ok(())
    }

    fn undo_tree(
        &self,
        tx: &mut Transaction,
        tree: &Arc<Tree>,
        record: &RecordRef<'_>,
        freed: &mut Freed,
    ) -> Result<(), Error> {
        let header = record.header();
        let payload = record.payload();
        if let Payload::InsertRows(insert) = &payload
            && tree.unit().id() == AllocUnitId::SYSALLOCUNITS
        {
            freed.extend(
                self.free_created_unit(tx, insert.rows.first().copied().unwrap_or_default())?,
            );
        }
        Ok(tree.undo(tx, header.previous, header, &payload)?)
    }

    /// A unit that the transaction made is freed with its row. What it owns was allocated by system
    /// transactions, which stay; it is freed by one that stays, too, and takes the pointers with
    /// it: doing this twice does it once.
    fn free_created_unit(&self, tx: &mut Transaction, row: &[u8]) -> Result<Freed, Error> {
        let Some(id) = unit_of_row(row) else { return Ok(Freed::default()) };
        let unit = match self.catalog.units.get(id) {
            Some(unit) => Some(unit),
            None => self.catalog.unit_of_row(id)?,
        };
        let Some(unit) = unit.filter(|unit| !unit.first_iam().is_none()) else {
            return Ok(Freed::default());
        };
        Ok(in_system(&*self.space, tx, "DeallocUnit", |system| {
            let freed = self.space.free_unit(system, &unit)?;
            self.space.clear_pointers(system, &unit)?;
            Ok(freed)
        })?)
    }

    /// Gives a pointer of a unit its old value, wherever the unit's row is.
    fn undo_pointer(
        &self,
        tx: &mut Transaction,
        undo_next: Lsn,
        root: &RootChange,
    ) -> Result<(), Error> {
        let unit = self.catalog.units.get(root.alloc_unit);
        let Some(unit) = unit else {
            return Err(Error::catalog(format!("there is no allocation unit {}", root.alloc_unit)));
        };
        self.catalog.finder().with_row(&unit, &mut |page, slot| {
            Ok(restore_pointer(tx, undo_next, root, page, slot)?)
        })?;
        unit.forget_chain();
        Ok(())
    }

    fn undo_at_slot(
        &self,
        tx: &mut Transaction,
        record: &RecordRef<'_>,
        unit: Option<AllocUnitId>,
    ) -> Result<(), Error> {
        let heap = unit.and_then(|unit| self.catalog.heap_of(unit));
        if let Some(heap) = &heap
            && let Some(delta) = undone_rows(record)
        {
            heap.unit().count_rows(delta);
        }
        undo_record(&*self.space, tx, record)?;
        if let (Some(heap), Some(page)) = (heap, page_of(record)) {
            heap.touched(page)?;
        }
        Ok(())
    }
}

/// By how much the row count changes when a record of a heap is undone.
fn undone_rows(record: &RecordRef<'_>) -> Option<i64> {
    let counts = |row: &&&[u8]| {
        row.first().is_some_and(|status| RecordKind::of(*status) != RecordKind::Forwarded)
    };
    let delta_of = |rows: &[&[u8]]| Some(rows.iter().filter(counts).count() as i64);
    match record.payload() {
        Payload::InsertRows(insert) if record.header().context == Context::HEAP => {
            delta_of(&insert.rows).map(|count| -count)
        }
        Payload::DeleteRows(delete) if record.header().context == Context::HEAP => {
            delta_of(&delete.rows)
        }
        // The row has become a ghost.
        Payload::ModifyRow(modify) if modify.fixed.offset_in_row == 0 => {
            let is_ghost =
                |run: &[u8]| run.first().is_some_and(|status| RecordKind::of(*status).is_ghost());
            (is_ghost(modify.after) && !is_ghost(modify.before)).then_some(1)
        }
        _ => None,
    }
}

fn page_of(record: &RecordRef<'_>) -> Option<PageId> {
    record.payload().page_part().map(|part| part.page)
}
