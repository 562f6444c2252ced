//! Inserts many rows by one statement.
//!
//! ```text
//! the table is empty, and locked for this alone     new units, filled page by page: a heap in the
//! (TABLOCK, or created by the transaction)          order of the rows, a clustered index sorted;
//!                                                   then each index, sorted
//! a heap without indexes                            page by page after the rows that it has
//! otherwise                                         runs of rows in the order of the clustered
//!                                                   key, inserted one by one
//! ```
//!
//! One log record has all rows that come to a page together: see
//! [`extentdb_rowset::heap::fill`]. Foreign keys are checked at the end,
//! in sets.
//!
//! Where we differ from the product: it logs only allocations when such a load runs in the simple
//! or bulk-logged recovery model. Here the rows are always in the log, so that a load is recovered
//! like everything else, log backups need no data pages, and a commit waits for the log alone.

use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::Cell;
use extentdb_rowset::Heap;
use extentdb_rowset::heap::RowLocks;
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::Datum;

use crate::catalog::system_table::owned;
use crate::catalog::{Base, DeferredChange, Index, Storage, Table, TableRef};
use crate::dml::entries::duplicate;
use crate::dml::new_row::{NewRow, emptied};
use crate::error::Error;
use crate::session::{Session, StatementContext};

/// Rows that are sorted together before they are inserted one by one.
const RUN_ROWS: usize = 10_000;
/// Rows between two looks at a cancellation.
const ROWS_PER_POLL: u64 = 1_000;

/// Where the rows of a load come from.
pub trait RowSource {
    /// Adds the values of the next row, in column order; false after the last one.
    ///
    /// # Errors
    /// Any: the statement is undone, and returns it.
    fn next_row(&mut self, row: &mut NewRow<'_>) -> Result<bool, Error>;
}

/// Rows in memory.
impl<'v> RowSource for std::slice::Iter<'_, Vec<Datum<'v>>> {
    fn next_row(&mut self, row: &mut NewRow<'_>) -> Result<bool, Error> {
        let Some(values) = self.next() else { return Ok(false) };
        values.iter().try_for_each(|value| row.push(value))?;
        Ok(true)
    }
}

/// What a load locks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LoadLock {
    /// Each row, as inserts one by one do.
    #[default]
    Rows,
    /// The table, exclusively, to the end of the transaction: TABLOCK.
    Table,
}

impl Session {
    /// Inserts rows by one statement; says how many. Constraints hold as for single rows; those of
    /// foreign keys are checked at the end, so that rows may reference each other in any order.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert), and those of the source. Nothing is inserted then.
    pub fn insert_set(
        &mut self,
        table: &Arc<Table>,
        rows: &mut dyn RowSource,
        lock: LoadLock,
    ) -> Result<u64, Error> {
        self.statement("INSERT", |context| {
            context.with_checks_at_end(|context| context.load(table, rows, lock))
        })
    }
}

impl StatementContext<'_> {
    fn load(
        &mut self,
        table: &Arc<Table>,
        rows: &mut dyn RowSource,
        lock: LoadLock,
    ) -> Result<u64, Error> {
        let is_own = self.has_created(table);
        let mode = if lock == LoadLock::Table || is_own { LockMode::X } else { LockMode::Ix };
        self.lock_table(table, mode)?;
        let storage = table.storage();
        self.verify_writable(table, &storage)?;
        if mode == LockMode::X && storage.is_empty() && storage.can_be_loaded() {
            // Readers without locks must not see units that are replaced.
            self.lock(Resource::Object(table.id()), LockMode::SchM, None)?;
            let storage =
                if is_own && storage.has_no_pages() { storage } else { self.replace_units(table)? };
            return self.fill_table(table.with(&storage), rows);
        }
        self.insert_runs(table.with(&storage), rows, mode)
    }

    /// Has the transaction created the table?
    fn has_created(&self, table: &Table) -> bool {
        let is_it = |change: &DeferredChange| {
            change.created().is_some_and(|created| created.id() == table.id())
        };
        self.changes().iter().any(is_it)
    }

    /// Fills a table over units that the transaction has created and nobody else uses.
    fn fill_table(&mut self, of: TableRef<'_>, rows: &mut dyn RowSource) -> Result<u64, Error> {
        let count = match &of.storage.base {
            Base::Heap(heap) => self.fill_heap(of, heap, rows, &mut ())?,
            Base::Clustered(index) => self.fill_clustered(of, index, rows)?,
        };
        for index in &of.storage.indexes {
            self.fill(of, index, index.fill())?;
        }
        of.table.statistics().note_rows(count);
        Ok(count)
    }

    /// Adds rows to a heap, page by page; none of its indexes gets an entry.
    fn fill_heap(
        &mut self,
        of: TableRef<'_>,
        heap: &Heap,
        rows: &mut dyn RowSource,
        locks: &mut dyn RowLocks,
    ) -> Result<u64, Error> {
        let mut filler = heap.filler(self.session_id(), &of.storage.shape)?;
        let count = self.each_new_row(of, rows, &mut |context, row| {
            Ok(filler.add(context.tx()?, of.storage.stored(row), locks)?)
        })?;
        filler.end(self.tx()?, locks)?;
        Ok(count)
    }

    /// Fills a clustered index without uniquifiers.
    fn fill_clustered(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        rows: &mut dyn RowSource,
    ) -> Result<u64, Error> {
        self.verify_index_writable(of.table, index)?;
        let mut sorter = self.sorter(index.tree().shape());
        let count = self.each_new_row(of, rows, &mut |context, row| {
            let stored = of.storage.stored(row);
            context.verify_new_key(of.table, index, stored)?;
            Ok(sorter.add(stored)?)
        })?;
        let sorted = sorter.sort()?;
        if let Some(row) = sorted.duplicate()? {
            return Err(duplicate(of.table, of.storage, index, &of.storage.cells(&row)?));
        }
        index.tree().build_sorted(self.tx()?, index.fill(), &sorted)?;
        Ok(count)
    }

    /// Inserts rows one by one: of a clustered index in runs that are sorted by the key.
    fn insert_runs(
        &mut self,
        of: TableRef<'_>,
        rows: &mut dyn RowSource,
        mode: LockMode,
    ) -> Result<u64, Error> {
        if let Some(heap) = of.storage.base.heap() {
            if of.storage.is_rows_alone() && self.row_writer(of.table)?.is_none() {
                let mut each = self.row_locks(of.table);
                // Who has the whole table locked need not lock its rows.
                let locks: &mut dyn RowLocks =
                    if mode == LockMode::X { &mut () } else { &mut each };
                let count = self.fill_heap(of, heap, rows, locks)?;
                of.table.statistics().note_rows(count);
                return Ok(count);
            }
            return self
                .each_new_row(of, rows, &mut |context, row| context.insert_row(of, row).map(drop));
        }
        let mut run: Vec<Vec<Cell<'static>>> = Vec::new();
        let count = self.each_new_row(of, rows, &mut |context, row| {
            run.push(row.drain(..).map(owned).collect());
            if run.len() < RUN_ROWS { Ok(()) } else { context.insert_run(of, &mut run) }
        })?;
        self.insert_run(of, &mut run)?;
        Ok(count)
    }

    fn insert_run(
        &mut self,
        of: TableRef<'_>,
        run: &mut Vec<Vec<Cell<'static>>>,
    ) -> Result<(), Error> {
        self.verify_not_cancelled()?;
        let mut keyed = Vec::with_capacity(run.len());
        for row in run.drain(..) {
            keyed.push((of.storage.shape.key_of_cells(of.storage.stored(&row))?, row));
        }
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, mut row) in keyed {
            self.insert_row(of, &mut row)?;
        }
        Ok(())
    }

    /// Calls `each` with the cells of every row, under the constraints that a row alone decides;
    /// what it references is noted.
    fn each_new_row(
        &mut self,
        of: TableRef<'_>,
        rows: &mut dyn RowSource,
        each: &mut impl FnMut(&mut Self, &mut Vec<Cell<'_>>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut count = 0;
        let mut values = NewRow::new(of.storage);
        let mut memory = Vec::new();
        while rows.next_row(&mut values)? {
            let mut row = values.cells(memory)?;
            self.complete_cells(of.storage, &mut row)?;
            self.verify_checks(of, &row)?;
            self.verify_references(of, None, &row)?;
            each(self, &mut row)?;
            memory = emptied(row);
            values.clear();
            count += 1;
            if count % ROWS_PER_POLL == 0 {
                self.verify_not_cancelled()?;
            }
        }
        Ok(count)
    }
}

impl Storage {
    /// Has it no rows? Its counters say so; the table is locked exclusively.
    fn is_empty(&self) -> bool {
        self.base.unit().counts().0.rows == 0
    }

    /// Has it neither pages nor a transaction that freed some?
    fn has_no_pages(&self) -> bool {
        self.units().all(|unit| unit.first_iam().is_none())
    }

    /// Is a row all that there is of it: no value off it, no entry of an index?
    fn is_rows_alone(&self) -> bool {
        self.off_row.is_empty() && self.indexes.is_empty()
    }

    /// Can its rows be written page by page? Not with values off rows or uniquifiers: these are
    /// made row by row.
    fn can_be_loaded(&self) -> bool {
        let has_uniquifier = |index: &Arc<Index>| index.uniquifier().is_some();
        self.off_row.is_empty()
            && !self.base.clustered().is_some_and(has_uniquifier)
            && self.disabled.is_empty()
    }
}

impl StatementContext<'_> {
    /// Gives a table that is locked for it new, empty units; the old ones are freed at commit.
    fn replace_units(&mut self, table: &Arc<Table>) -> Result<Arc<Storage>, Error> {
        let db = self.db();
        let _ddl = lock(&db.ddl);
        let old = table.storage();
        self.empty_table(table, &old)
    }
}
