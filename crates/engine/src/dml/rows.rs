//! Inserts, updates and deletes rows: in the heap or the clustered index, and in all nonclustered
//! indexes with it.
//!
//! ```text
//! heap        address: RID. The row gets one, which is locked X before others can see the row
//! clustered   address: key. It is locked X, then the row is inserted into the tree. A non-unique
//!             key gets the next uniquifier after all that exist, ghosts included: a rollback may
//!             restore a deleted row
//! ```

use std::borrow::Cow;

use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, PageId};
use extentdb_catalog::layout::Cell;
use extentdb_rowset::btree::{Ghosts, KeyRange};
use extentdb_rowset::heap::{Heap, PageRows};
use extentdb_txn::lock::LockMode;
use extentdb_types::Datum;

use crate::catalog::system_table::owned;
use crate::catalog::{Address, Base, Index, Storage, Table, TableRef};
use crate::dml::entries::{EntryChange, duplicate};
use crate::error::Error;
use crate::session::{Session, StatementContext};

/// Who takes addresses and records.
type EachRecord<'e> = &'e mut dyn FnMut(Address, &[u8]) -> Result<(), Error>;

/// A row as a statement has found it.
pub(crate) struct FoundRow {
    pub(crate) at: Address,
    pub(crate) record: Vec<u8>,
}

impl Session {
    /// Inserts a row; returns its address.
    pub fn insert(&mut self, table: &Table, values: &[Datum<'_>]) -> Result<Address, Error> {
        self.statement("INSERT", |context| context.insert_values(table, values))
    }

    /// Gives a row other values; returns its address from then on, which is another one when its
    /// clustered key has changed.
    pub fn update(
        &mut self,
        table: &Table,
        at: &Address,
        values: &[Datum<'_>],
    ) -> Result<Address, Error> {
        self.statement("UPDATE", |context| {
            let storage = context.lock_row(table, at)?;
            let mut row = storage.cells_of(values)?;
            context.update_at(table.with(&storage), at, &mut row)
        })
    }

    /// Deletes a row.
    pub fn delete(&mut self, table: &Table, at: &Address) -> Result<(), Error> {
        self.statement("DELETE", |context| {
            let storage = context.lock_row(table, at)?;
            context.delete_at(table.with(&storage), at)
        })
    }
}

impl StatementContext<'_> {
    /// The same inside of a statement.
    pub(crate) fn insert_values(
        &mut self,
        table: &Table,
        values: &[Datum<'_>],
    ) -> Result<Address, Error> {
        self.lock_table(table, LockMode::Ix)?;
        let storage = table.storage();
        table.verify_writable(&storage)?;
        let mut row = storage.cells_of(values)?;
        storage.constraints.verify_checks(table.name(), &storage.columns, &row)?;
        let at = self.insert_row(table.with(&storage), &mut row)?;
        self.verify_references(table.with(&storage), None, &row)?;
        Ok(at)
    }

    /// Updates a locked row, under all constraints.
    pub(crate) fn update_at(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        row: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        of.storage.constraints.verify_checks(of.table.name(), &of.storage.columns, row)?;
        let (at, before) = self.update_row(of, at, row)?;
        if of.storage.constraints.needs_old_rows() {
            let before = of.storage.cells(&before)?;
            self.verify_references(of, Some(&before), row)?;
            self.verify_unreferenced_row(of, &before, Some(row))?;
        }
        Ok(at)
    }

    /// Deletes a locked row, under all constraints.
    pub(crate) fn delete_at(&mut self, of: TableRef<'_>, at: &Address) -> Result<(), Error> {
        let before = self.delete_row(of, at)?;
        if of.storage.constraints.needs_old_rows() {
            self.verify_unreferenced_row(of, &of.storage.cells(&before)?, None)?;
        }
        Ok(())
    }

    /// Locks a row X; returns the storage of its table.
    pub(crate) fn lock_row(&mut self, table: &Table, at: &Address) -> Result<Arc<Storage>, Error> {
        self.lock_table(table, LockMode::Ix)?;
        let storage = table.storage();
        table.verify_writable(&storage)?;
        self.lock(at.resource(storage.base.hobt()), LockMode::X, Some(table))?;
        Ok(storage)
    }

    /// Inserts a row into a table, which is locked IX, and all its indexes.
    pub(crate) fn insert_row(
        &mut self,
        of: TableRef<'_>,
        cells: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        let at = match &of.storage.base {
            Base::Heap(heap) => {
                let id = self.session_id();
                let record = of.storage.shape.leaf_record(of.storage.stored(cells))?;
                let mut locks = self.row_locks(of.table);
                Address::Rid(heap.insert(self.tx()?, id, &record, &mut locks)?)
            }
            Base::Clustered(index) => self.insert_by_key(of, index, cells)?,
        };
        self.add_entries(of, &at, cells)?;
        Ok(at)
    }

    /// Inserts a row into a clustered index.
    fn insert_by_key(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        cells: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        index.verify_writable(of.table.name())?;
        self.verify_new_key(of.table, index, of.storage.stored(cells))?;
        loop {
            if let Some(at) = index.uniquifier() {
                cells[at] = next_uniquifier(of.table, index, cells)?;
            }
            let at = of.storage.key_address(cells)?;
            let Address::Key(key) = &at else { return Err(Error::NoRow(at)) };
            self.lock(at.resource(index.hobt()), LockMode::X, Some(of.table))?;
            self.keep_own_range(of.table, index, key)?;
            let tested = self.test_range(of.table, index, key)?;
            match index.tree().insert_at(self.tx()?, key, of.storage.stored(cells)) {
                Ok(()) => {
                    self.test_again(of.table, index, key, tested)?;
                    return Ok(at);
                }
                Err(extentdb_rowset::Error::Duplicate { .. }) => self.release_test(tested),
                Err(error) => {
                    self.release_test(tested);
                    return Err(error.into());
                }
            }
            // Another session drew the same uniquifier, and was faster.
            if index.is_unique() {
                return Err(duplicate(of.table, of.storage, index, cells));
            }
        }
    }

    /// Updates a row that is locked X; returns its new address and its old record.
    pub(crate) fn update_row(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        cells: &mut [Cell<'static>],
    ) -> Result<(Address, Vec<u8>), Error> {
        match (&of.storage.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => {
                let before = self.row_before(of.storage, at)?;
                let record = of.storage.shape.leaf_record(of.storage.stored(cells))?;
                let mut locks = self.row_locks(of.table);
                let id = self.session_id();
                let mut kept = Vec::new();
                let done = heap.update(self.tx()?, id, *rid, &record, &mut locks, &mut kept);
                self.reserve(heap, kept);
                done.map_err(|error| no_row(error, at))?;
                self.change_entries(of, at, &before, cells)?;
                Ok((at.clone(), before))
            }
            (Base::Clustered(index), Address::Key(_)) => {
                index.verify_writable(of.table.name())?;
                let before = of.storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))?;
                let old = of.storage.cells(&before)?;
                if let Some(place) = index.uniquifier() {
                    cells[place] = owned(old[place].clone());
                }
                if of.storage.key_address(cells)? == *at {
                    let change =
                        EntryChange { old: of.storage.stored(&old), new: of.storage.stored(cells) };
                    self.replace_entry(of.table, index, change)?;
                    self.change_entries(of, at, &before, cells)?;
                    return Ok((at.clone(), before));
                }
                // The row moves: its locator is its key.
                self.delete_row(of, at)?;
                Ok((self.insert_row(of, cells)?, before))
            }
            _ => Err(Error::NoRow(at.clone())),
        }
    }

    /// Deletes a row that is locked X; returns its record.
    pub(crate) fn delete_row(&mut self, of: TableRef<'_>, at: &Address) -> Result<Vec<u8>, Error> {
        let before = match (&of.storage.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => {
                let before = self.row_before(of.storage, at)?;
                let mut kept = Vec::new();
                let mut locks = self.row_locks(of.table);
                let done = heap.delete(self.tx()?, *rid, &mut locks, &mut kept);
                self.reserve(heap, kept);
                done.map_err(|error| no_row(error, at))?;
                before
            }
            (Base::Clustered(index), Address::Key(key)) => {
                index.verify_writable(of.table.name())?;
                let gone = index.tree().delete_key(self.tx()?, key)?;
                gone.ok_or_else(|| Error::NoRow(at.clone()))?.bytes
            }
            _ => return Err(Error::NoRow(at.clone())),
        };
        self.delete_entries(of, at, &before)?;
        Ok(before)
    }

    /// The record of a row of a heap before it changes; empty when no index or foreign key needs
    /// it.
    fn row_before(&self, storage: &Storage, at: &Address) -> Result<Vec<u8>, Error> {
        if storage.indexes.is_empty() && !storage.constraints.needs_old_rows() {
            Ok(Vec::new())
        } else {
            storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))
        }
    }

    /// All rows of a table that no other session can be changing.
    pub(crate) fn rows_for_ddl(&self, storage: &Storage) -> Result<Vec<FoundRow>, Error> {
        let mut rows = Vec::new();
        self.each_row_for_ddl(storage, &mut |at, record| {
            rows.push(FoundRow { at, record: record.to_vec() });
            Ok(())
        })?;
        Ok(rows)
    }

    /// The same one by one.
    pub(crate) fn each_row_for_ddl(
        &self,
        storage: &Storage,
        each: EachRecord<'_>,
    ) -> Result<(), Error> {
        match &storage.base {
            Base::Heap(heap) => {
                for page in heap.formatted_pages()? {
                    self.verify_not_cancelled()?;
                    each_row_of_page(heap, page, each)?;
                }
            }
            Base::Clustered(index) if index.disorder()?.is_some() => {
                for leaf in index.tree().leaf_chain(Ghosts::Skipped) {
                    self.verify_not_cancelled()?;
                    for row in leaf?.iter() {
                        each(index.address(row.bytes, &storage.shape)?, row.bytes)?;
                    }
                }
            }
            Base::Clustered(index) => {
                let mut leaves = index.tree().leaves(KeyRange::all());
                // No other session changes the table: rows that this transaction has deleted are
                // ghosts.
                while let Some(leaf) = leaves.next(&|| None)? {
                    self.verify_not_cancelled()?;
                    for row in leaf.iter() {
                        each(index.address(row.bytes, &storage.shape)?, row.bytes)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Calls `each` with the rows of a page of a heap that no other session can be changing.
fn each_row_of_page(heap: &Heap, page: PageId, each: EachRecord<'_>) -> Result<(), Error> {
    match heap.page_rows(page, || None)? {
        PageRows::Committed(rows) => {
            rows.iter().try_for_each(|(rid, record)| each(Address::Rid(*rid), record))
        }
        PageRows::Unsure(rids) => rids.into_iter().try_for_each(|rid| {
            heap.get(rid)?.map_or(Ok(()), |record| each(Address::Rid(rid), &record))
        }),
    }
}

/// The uniquifier after all of a key: nothing for 0.
fn next_uniquifier(
    table: &Table,
    index: &Index,
    cells: &[Cell<'_>],
) -> Result<Cell<'static>, Error> {
    let shape = index.tree().shape();
    let mut key = index.key_of(cells);
    key.pop();
    let range = KeyRange::of(shape.prefix(&key)?);
    // As if a transaction had been open for ever: ghosts count.
    let last = index.tree().leaves(range).backward().next(&|| Some(Lsn::ZERO))?;
    let Some(last) = last.as_ref().and_then(|leaf| leaf.iter().next()) else {
        return Ok(Cell::Bytes(Cow::Borrowed(&[])));
    };
    let last = match index.key_of(&shape.decode(last.bytes)?).pop() {
        Some(Cell::Bytes(bytes)) if let Ok(bytes) = <[u8; 4]>::try_from(&*bytes) => {
            i32::from_le_bytes(bytes)
        }
        _ => 0,
    };
    let next =
        last.checked_add(1).ok_or_else(|| Error::Uniquifiers { table: table.name().to_owned() })?;
    Ok(Cell::Bytes(Cow::Owned(next.to_le_bytes().to_vec())))
}

/// An address without a row is the caller's mistake, not the heap's.
fn no_row(error: extentdb_rowset::Error, at: &Address) -> Error {
    match error {
        extentdb_rowset::Error::NoRow(_) => Error::NoRow(at.clone()),
        other => other.into(),
    }
}
