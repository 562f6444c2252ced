//! Reading rows: one by its address, all of a table, a range of an index.
//!
//! READ COMMITTED: a row that others may be changing is locked S for as long as it takes to read it. A page or leaf that no open
//! transaction can have changed is read as it is.

use std::ops::ControlFlow;

use extentdb_base::{PageId, Rid};
use extentdb_rowset::btree::{KeyRange, Leaves};
use extentdb_rowset::heap::{Heap, PageRows};
use extentdb_txn::lock::LockMode;

use crate::address::Address;
use crate::error::Error;
use crate::index::Index;
use crate::session::{Row, Session};
use crate::storage::{Base, Storage};
use crate::table::Table;

/// Pages that a scan asks for at once.
const READ_AHEAD_PAGES: usize = 64;

/// Who takes the rows that are read.
pub(crate) type Each<'e> = &'e mut dyn FnMut(Address, Row) -> ControlFlow<()>;

impl Session<'_> {
    /// The row at an address, as it was committed last; waits for whoever is changing it.
    pub fn get(&mut self, table: &Table, at: &Address) -> Result<Option<Row>, Error> {
        self.statement("SELECT", |session| {
            session.lock_table(table, LockMode::Is)?;
            let storage = table.storage();
            let found = session.read_committed((table, &storage), at)?;
            found.map(|record| storage.values(&record)).transpose()
        })
    }

    /// Calls `each` with every row that is committed. Rows that others are changing are waited for.
    pub fn scan(&mut self, table: &Table, each: Each<'_>) -> Result<(), Error> {
        self.statement("SELECT", |session| {
            session.lock_table(table, LockMode::Is)?;
            let storage = table.storage();
            match &storage.base {
                Base::Heap(heap) => session.scan_heap((table, &storage), heap, each),
                Base::Clustered(index) => {
                    index.verify_order(&storage.columns)?;
                    session.read_range((table, &storage), index, KeyRange::all(), each)
                }
            }
        })
    }

    fn scan_heap(&self, of: (&Table, &Storage), heap: &Heap, each: Each<'_>) -> Result<(), Error> {
        let pages = heap.formatted_pages()?;
        for (number, page) in pages.iter().enumerate() {
            if number % READ_AHEAD_PAGES == 0 {
                self.read_ahead(&pages[number..]);
            }
            if self.scan_page(of, heap, *page, each)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Brings the next pages of a scan into memory, neighbours with one read.
    fn read_ahead(&self, pages: &[PageId]) {
        let next = &pages[..pages.len().min(READ_AHEAD_PAGES)];
        let are_neighbours =
            |page: &PageId, next: &PageId| page.file == next.file && page.page + 1 == next.page;
        next.chunk_by(are_neighbours).for_each(|run| self.db.pool.read_ahead(run[0], run.len() as u32));
    }

    fn scan_page(
        &self,
        (table, storage): (&Table, &Storage),
        heap: &Heap,
        page: PageId,
        each: Each<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let places: Vec<Rid> = match heap.page_rows(page, || self.db.transactions.oldest_begin())? {
            PageRows::Committed(rows) => {
                for (at, record) in rows {
                    if each(at.into(), storage.values(&record)?).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                return Ok(ControlFlow::Continue(()));
            }
            PageRows::Unsure(places) => places,
        };
        for at in places {
            let at = Address::Rid(at);
            if let Some(record) = self.read_committed((table, storage), &at)?
                && each(at, storage.values(&record)?).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Rows of a range of an index, in its order.
    pub(crate) fn read_range(
        &self,
        of: (&Table, &Storage),
        index: &Index,
        range: KeyRange,
        each: Each<'_>,
    ) -> Result<(), Error> {
        self.read_leaves(of, index, index.tree().leaves(range), each)
    }

    /// Rows of an index leaf by leaf.
    pub(crate) fn read_leaves(
        &self,
        (table, storage): (&Table, &Storage),
        index: &Index,
        mut leaves: Leaves<'_>,
        each: Each<'_>,
    ) -> Result<(), Error> {
        let is_base = storage.base.clustered().is_some_and(|base| base.id() == index.id());
        while let Some(leaf) = leaves.next(&|| self.db.transactions.oldest_begin())? {
            for row in leaf.rows {
                let flow = match is_base && leaf.is_settled {
                    true => each(index.address(&row.bytes, &storage.shape)?, storage.values(&row.bytes)?),
                    false => self.read_entry((table, storage), index, row.bytes, each)?,
                };
                if flow.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads a row under a shared lock, which is let go of again.
    pub(crate) fn read_committed(
        &self,
        (table, storage): (&Table, &Storage),
        at: &Address,
    ) -> Result<Option<Vec<u8>>, Error> {
        let resource = at.resource(storage.base.hobt());
        self.lock(resource, LockMode::S, Some(table))?;
        let found = storage.row_at(at);
        self.unlock(resource);
        found
    }
}
