//! Reading rows: one by its address, all of a table, a range of an index. What is locked:
//! [`isolation`](crate::session::isolation).
//!
//! ```text
//! leaf of the clustered index, settled     its rows, as they were copied out of it
//! leaf of another index of a heap          a batch of its entries; rows that they lead to, page by
//!                                          page where those are settled
//! all else                                 row by row, each locked as the isolation asks for
//! ```
//!
//! A row that was read in a batch is returned when it has the values of the entry's key: it may
//! have changed between the two reads, and then it is read again alone, under its lock.

use std::ops::{Bound, ControlFlow};

use extentdb_base::{Lsn, PageId, Rid};
use extentdb_rowset::btree::{self, Ghosts, KeyRange, LeafRows, Leaves};
use extentdb_rowset::heap::{Heap, PageRows};
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::Datum;

use crate::catalog::address::key_resource;
use crate::catalog::{Address, Base, Index, Storage, Table};
use crate::dml::key_range::end_of_range;
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::session::{Isolation, Row, Session, StatementContext};

/// Pages that a scan asks for at once.
const READ_AHEAD_PAGES: usize = 64;
/// Rows of a heap that are read at once for the entries of an index: the first ones, and later.
const FIRST_BATCH_ROWS: usize = 8;
const BATCH_ROWS_MAX: usize = 128;

/// Receives the rows that are read.
pub(crate) type Each<'e> = &'e mut dyn FnMut(Address, Row) -> ControlFlow<()>;
/// Receives rows as records; values are decoded on demand.
pub(crate) type EachRow<'e> = &'e mut dyn FnMut(&RowRef<'_>) -> Result<ControlFlow<()>, Error>;

/// A range of an index, by values of its first key columns. Fewer values than columns stand for all
/// keys that begin with them.
#[derive(Clone, Debug)]
pub struct Range<'r> {
    /// Name of the index.
    pub index: &'r str,
    /// Where it begins in the order of the index.
    pub from: Bound<&'r [Datum<'r>]>,
    /// Where it ends in the order of the index.
    pub to: Bound<&'r [Datum<'r>]>,
    /// From its end to its beginning.
    pub backward: bool,
    /// What is read is to be changed: rows are locked U until the transaction ends.
    pub for_update: bool,
}

impl<'r> Range<'r> {
    /// All of an index.
    pub fn all(index: &'r str) -> Range<'r> {
        let from = Bound::Unbounded;
        let to = Bound::Unbounded;
        Range { index, from, to, backward: false, for_update: false }
    }

    /// The keys that begin with these values.
    pub fn of(index: &'r str, values: &'r [Datum<'r>]) -> Range<'r> {
        Range {
            from: Bound::Included(values),
            to: Bound::Included(values),
            ..Range::all(index)
        }
    }

    /// The same from its end to its beginning.
    #[must_use]
    pub fn backward(self) -> Range<'r> {
        Range { backward: true, ..self }
    }

    /// The same, to be changed.
    #[must_use]
    pub fn for_update(self) -> Range<'r> {
        Range { for_update: true, ..self }
    }

    fn keys(&self, index: &Index, storage: &Storage) -> Result<KeyRange, Error> {
        let prefix = |values: &[Datum<'_>]| index.prefix(&index.sought(&storage.columns, values)?);
        if let (Bound::Included(from), Bound::Included(to)) = (self.from, self.to)
            && std::ptr::eq(from, to)
        {
            return Ok(KeyRange::of(prefix(from)?));
        }
        let bound = |bound: Bound<&[Datum<'_>]>| {
            Ok::<_, Error>(match bound {
                Bound::Included(values) => Bound::Included(prefix(values)?),
                Bound::Excluded(values) => Bound::Excluded(prefix(values)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let lower = bound(self.from)?;
        let upper = bound(self.to)?;
        let range = KeyRange::all().with_lower(lower.as_ref().map(Vec::as_slice));
        Ok(range.with_upper(upper.as_ref().map(Vec::as_slice)))
    }
}

/// What is read, and how.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'r> {
    pub(crate) table: &'r Table,
    pub(crate) storage: &'r Storage,
    pub(crate) for_update: bool,
}

impl Session {
    /// The row at an address; waits for a transaction that is changing it.
    pub fn get(&mut self, table: &Table, at: &Address) -> Result<Option<Row>, Error> {
        self.one_row(table, at, false)
    }

    /// The same of a row that is to be changed: it is locked U until the transaction ends.
    pub fn row_for_update(&mut self, table: &Table, at: &Address) -> Result<Option<Row>, Error> {
        self.one_row(table, at, true)
    }

    fn one_row(
        &mut self,
        table: &Table,
        at: &Address,
        for_update: bool,
    ) -> Result<Option<Row>, Error> {
        self.statement("SELECT", |context| {
            // One row, not the range around it.
            context.lock_table(table, context.table_lock(false, for_update))?;
            let storage = table.storage();
            let found = context.read_row(Reading { table, storage: &storage, for_update }, at)?;
            found.map(|found| storage.values(&found.record)).transpose()
        })
    }

    /// Calls `each` with every row. Rows that others are changing are waited for.
    pub fn scan(&mut self, table: &Table, each: Each<'_>) -> Result<(), Error> {
        self.statement("SELECT", |context| {
            context.lock_table(table, context.table_lock(false, false))?;
            let storage = table.storage();
            if storage.base.heap().is_some() {
                context.lock_table(table, context.table_lock(true, false))?;
            }
            let reading = Reading { table, storage: &storage, for_update: false };
            context.scan_rows(reading, &mut |row| Ok(each(row.address()?, row.values()?)))
        })
    }

    /// Calls `each` with every row whose first key columns have these values, in the order of the
    /// index.
    ///
    /// # Errors
    /// There is no such index, or a value is not one of its column.
    pub fn seek(
        &mut self,
        table: &Table,
        index: &str,
        values: &[Datum<'_>],
        each: Each<'_>,
    ) -> Result<(), Error> {
        self.range(table, &Range::of(index, values), each)
    }

    /// Calls `each` with every row of a range of an index, in its order or against it.
    ///
    /// # Errors
    /// There is no such index, or a value is not one of its column.
    pub fn range(&mut self, table: &Table, range: &Range<'_>, each: Each<'_>) -> Result<(), Error> {
        self.visit(table, range, &mut |row| Ok(each(row.address()?, row.values()?)))
    }

    /// The same without copies: values are decoded on demand.
    ///
    /// # Errors
    /// As for [`range`](Self::range), and those of `each`.
    pub fn visit(
        &mut self,
        table: &Table,
        range: &Range<'_>,
        each: &mut dyn FnMut(&RowRef<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        self.statement("SELECT", |context| {
            context.lock_table(table, context.table_lock(false, range.for_update))?;
            let storage = table.storage();
            let index = storage.index(range.index).ok_or_else(|| table.no_index(range.index))?;
            let keys = range.keys(index, &storage)?;
            let reading = Reading { table, storage: &storage, for_update: range.for_update };
            context.read_range(reading, index, keys, range.backward, each)
        })
    }
}

impl StatementContext<'_> {
    /// All rows of a table that is locked.
    pub(crate) fn scan_rows(&mut self, of: Reading<'_>, each: EachRow<'_>) -> Result<(), Error> {
        match &of.storage.base {
            Base::Heap(heap) => self.scan_heap(of, heap, each),
            Base::Clustered(index) => self.read_range(of, index, KeyRange::all(), false, each),
        }
    }

    fn scan_heap(&self, of: Reading<'_>, heap: &Heap, each: EachRow<'_>) -> Result<(), Error> {
        let pages = heap.formatted_pages()?;
        for (number, page) in pages.iter().enumerate() {
            self.verify_not_cancelled()?;
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
        next.chunk_by(are_neighbours)
            .for_each(|run| self.db().pool.read_ahead(run[0], run.len() as u32));
    }

    /// Where the oldest transaction began whose changes must be waited for: with those of locks
    /// that stay, everything is locked.
    fn oldest_open(&self, for_update: bool) -> Option<Lsn> {
        match self.row_lock(for_update) {
            None => None,
            Some((_, true)) => Some(Lsn::ZERO),
            Some((_, false)) => self.db().transactions.oldest_begin(),
        }
    }

    fn scan_page(
        &self,
        of: Reading<'_>,
        heap: &Heap,
        page: PageId,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let places: Vec<Rid> = match heap.page_rows(page, || self.oldest_open(of.for_update))? {
            PageRows::Committed(rows) => {
                for (at, record) in rows {
                    let row = RowRef::new(of.storage, &record, Some(at))?;
                    if self.emit_settled(of, &row, each)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                return Ok(ControlFlow::Continue(()));
            }
            PageRows::Unsure(places) => places,
        };
        for at in places {
            let at = Address::Rid(at);
            if let Some(found) = self.read_row(of, &at)?
                && each(&RowRef::at(of.storage, &found.record, &at)?)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Rows of a range of an index, in its order or against it.
    pub(crate) fn read_range(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        range: KeyRange,
        backward: bool,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        match index.disorder()? {
            None => self.read_keys(of, index, range, backward, each),
            Some(_) => self.read_disordered(of, index, &range, backward, each),
        }
    }

    /// The same of an index that is out of order: all of its entries are read, and those of the
    /// range sorted. Nobody changes its table, so that all rows are committed.
    fn read_disordered(
        &self,
        of: Reading<'_>,
        index: &Index,
        range: &KeyRange,
        backward: bool,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        let mut found = Vec::new();
        for leaf in index.tree().leaf_chain(Ghosts::Skipped) {
            self.verify_not_cancelled()?;
            for row in leaf?.iter() {
                let key = index.key_of_record(row.bytes)?;
                if range.contains(&key) {
                    found.push((key, row.bytes.to_vec()));
                }
            }
        }
        found.sort();
        if backward {
            found.reverse();
        }
        let is_base = of.storage.is_base(index);
        for (_, entry) in &found {
            let flow = if is_base {
                self.emit_settled(of, &RowRef::new(of.storage, entry, None)?, each)?
            } else {
                self.read_entry(of, index, entry, each)?
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_keys(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        range: KeyRange,
        backward: bool,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        let is_locked = self.isolation() == Isolation::Serializable;
        if is_locked {
            self.begin_serializable();
            // Against the order of the index the end comes first: a range is locked from the key
            // after it.
            self.lock_next_key(of, index, range.following())?;
        }
        let leaves = index.tree().leaves(range);
        let mut leaves = if backward { leaves.backward() } else { leaves };
        loop {
            self.verify_not_cancelled()?;
            let leaf = if is_locked {
                self.locked_leaf(of, index, &mut leaves, backward)?
            } else {
                leaves.next(&|| self.oldest_open(of.for_update))?
            };
            let Some(leaf) = leaf else { return Ok(()) };
            if self.emit_leaf(of, index, &leaf, each)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Rows of a leaf of an index.
    fn emit_leaf(
        &self,
        of: Reading<'_>,
        index: &Index,
        leaf: &LeafRows,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let is_base = of.storage.is_base(index);
        let keeps_locks = self.row_lock(of.for_update).is_some_and(|(_, stays)| stays);
        if let Some(heap) =
            of.storage.base.heap().filter(|_| !keeps_locks && index.filter().is_none())
        {
            return self.emit_heap_rows(of, index, heap, leaf, each);
        }
        for row in leaf.iter() {
            let flow = if is_base && leaf.is_settled() {
                self.emit_settled(of, &RowRef::new(of.storage, row.bytes, None)?, each)?
            } else {
                self.read_entry(of, index, row.bytes, each)?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Rows of a heap by the entries of a leaf, in batches that double: the first row waits for few
    /// others. A row that is not settled, or changed since the entry was read, is read alone.
    fn emit_heap_rows(
        &self,
        of: Reading<'_>,
        index: &Index,
        heap: &Heap,
        leaf: &LeafRows,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let shape = index.tree().shape();
        let mut entries = leaf.iter();
        let mut batch = FIRST_BATCH_ROWS;
        while entries.len() > 0 {
            let records =
                entries.by_ref().take(batch).map(|entry| Ok(shape.sound_leaf(entry.bytes)?));
            let records = records.collect::<Result<Vec<_>, Error>>()?;
            let places =
                records.iter().map(|entry| index.rid(entry)).collect::<Result<Vec<_>, Error>>()?;
            let fetched = heap.settled_rows(&places, &|| self.oldest_open(of.for_update))?;
            for (number, (entry, at)) in records.iter().zip(places).enumerate() {
                let row = fetched.record(number).map(|row| RowRef::new(of.storage, row, Some(at)));
                let flow = match row.transpose()? {
                    Some(row)
                        if !row.is_off_row()
                            && index.has_bytes_of(entry, row.record(), of.storage)? =>
                    {
                        each(&row)?
                    }
                    _ => self.read_entry(of, index, entry.bytes(), each)?,
                };
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            batch = (2 * batch).min(BATCH_ROWS_MAX);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The next leaf of a range with locks of all its keys and of the one after it: they are
    /// locked, then it is read again. Keys inserted meanwhile are locked, too.
    fn locked_leaf(
        &self,
        of: Reading<'_>,
        index: &Index,
        leaves: &mut Leaves<'_>,
        backward: bool,
    ) -> Result<Option<LeafRows>, Error> {
        let mode = if of.for_update { LockMode::RsU } else { LockMode::RsS };
        let mut found = Batch::of(leaves, index)?;
        loop {
            for key in &found.keys {
                self.lock(key_resource(index.hobt(), key), mode, Some(of.table))?;
            }
            if !backward {
                // What comes to the end of the leaf later lies before the first key after it.
                self.lock_next_key(of, index, Some(found.rest.onward()))?;
            }
            let now = Batch::of(leaves, index)?;
            if found.keys == now.keys {
                *leaves = now.rest;
                return Ok(now.leaf);
            }
            found = now;
        }
    }

    /// Locks the first key of what lies after a range, one that is not about to vanish, or the end
    /// of the index.
    fn lock_next_key(
        &self,
        of: Reading<'_>,
        index: &Index,
        after: Option<KeyRange>,
    ) -> Result<(), Error> {
        let mode = if of.for_update { LockMode::RsU } else { LockMode::RsS };
        let mut after = after;
        let mut first = first_of(index, after.as_ref())?;
        loop {
            let key = first.as_ref().map(|row| index.key_of_record(&row.bytes)).transpose()?;
            self.lock(end_of_range(index, key.as_deref()), mode, Some(of.table))?;
            if let Some(row) = &first {
                self.await_row(of, index, &row.bytes)?;
            }
            let now = first_of(index, after.as_ref())?;
            let now_key = now.as_ref().map(|row| index.key_of_record(&row.bytes)).transpose()?;
            match key {
                // Another key was inserted before it, or this one was removed.
                key if key != now_key => first = now,
                // A ghost may be removed: the next key must hold the range.
                Some(key) if now.is_some_and(|row| row.is_ghost()) => {
                    after = Some(KeyRange::all().with_lower(Bound::Excluded(&key)));
                    first = first_of(index, after.as_ref())?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Waits for the transaction that has inserted an entry and may roll it back: entries of
    /// indexes that are not unique are not locked themselves, but the rows that they lead to are.
    fn await_row(&self, of: Reading<'_>, index: &Index, entry: &[u8]) -> Result<(), Error> {
        let is_locked = index.is_unique() || of.storage.is_base(index);
        if !is_locked {
            let row = index.address(entry, &of.storage.shape)?.resource(of.storage.base.hobt());
            self.lock(row, LockMode::S, Some(of.table))?;
            self.unlock(row);
        }
        Ok(())
    }

    /// Calls `each` with a row that was read without a lock. One with values off it is read again
    /// under its lock, which protects them.
    fn emit_settled(
        &self,
        of: Reading<'_>,
        row: &RowRef<'_>,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        if !row.is_off_row() || self.row_lock(of.for_update).is_none() {
            return each(row);
        }
        let at = row.address()?;
        match self.read_row(of, &at)? {
            Some(found) => each(&RowRef::at(of.storage, &found.record, &at)?),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Reads a row under the lock that the isolation level requires.
    pub(crate) fn read_row(
        &self,
        of: Reading<'_>,
        at: &Address,
    ) -> Result<Option<ReadRow<'_>>, Error> {
        let unlocked = |record| ReadRow { record, lock: None };
        let Some((mode, stays)) = self.row_lock(of.for_update) else {
            return Ok(of.storage.row_at(at)?.map(unlocked));
        };
        if !stays {
            let settled = of.storage.settled_row_at(at, || self.oldest_open(false))?;
            if let Some(record) = settled.filter(|record| !of.storage.is_off_row(record)) {
                return Ok(Some(unlocked(record)));
            }
        }
        let resource = at.resource(of.storage.base.hobt());
        self.lock(resource, mode, Some(of.table))?;
        let lock = RowLock { context: self, resource };
        let found = of.storage.row_at(at);
        // Of a row that is not there nothing has been read, but that its key is free.
        let is_kept_free =
            self.isolation() == Isolation::Serializable && matches!(at, Address::Key(_));
        let lock = if stays && (is_kept_free || matches!(found, Ok(Some(_)))) {
            lock.keep();
            None
        } else {
            Some(lock)
        };
        // Values off the row are read under the lock.
        Ok(found?.map(|record| {
            let lock = lock.filter(|_| of.storage.is_off_row(&record));
            ReadRow { record, lock }
        }))
    }
}

/// A row that was read; while it has values off it, its lock is held.
pub(crate) struct ReadRow<'s> {
    pub(crate) record: Vec<u8>,
    #[expect(dead_code, reason = "released when the row is dropped")]
    lock: Option<RowLock<'s>>,
}

/// A lock that is held for one read.
struct RowLock<'s> {
    context: &'s StatementContext<'s>,
    resource: Resource,
}

impl RowLock<'_> {
    /// It is held to the end of the transaction.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for RowLock<'_> {
    fn drop(&mut self) {
        self.context.unlock(self.resource);
    }
}

/// A leaf of a range that is about to be locked.
struct Batch<'t> {
    leaf: Option<LeafRows>,
    /// Those of its rows.
    keys: Vec<Vec<u8>>,
    /// What is left of the range.
    rest: Leaves<'t>,
}

impl<'t> Batch<'t> {
    fn of(leaves: &Leaves<'t>, index: &Index) -> Result<Batch<'t>, Error> {
        // As if a transaction had been open for ever: ghosts count.
        let all = || Some(Lsn::ZERO);
        let mut rest = leaves.clone();
        let leaf = rest.next(&all)?;
        let rows = leaf.iter().flat_map(LeafRows::iter);
        let keys = rows.map(|row| index.key_of_record(row.bytes));
        Ok(Batch { keys: keys.collect::<Result<_, _>>()?, leaf, rest })
    }
}

/// The first entry of a range, be it a ghost.
fn first_of(index: &Index, range: Option<&KeyRange>) -> Result<Option<btree::Row>, Error> {
    let Some(range) = range else { return Ok(None) };
    let leaf = index.tree().leaves(range.clone()).next(&|| Some(Lsn::ZERO))?;
    Ok(leaf.and_then(|leaf| leaf.iter().next().map(btree::RowRef::to_row)))
}
