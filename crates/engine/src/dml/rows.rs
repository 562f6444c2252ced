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
use extentdb_rowset::heap::{Heap, HeapWriter, PageRows};
use extentdb_txn::lock::LockMode;
use extentdb_types::{Datum, SqlType};

use crate::catalog::system_table::owned;
use crate::catalog::{Address, Base, Index, Storage, Table, TableRef};
use crate::dml::entries::{EntryChange, duplicate};
use crate::dml::off_row::pointers_of;
use crate::dml::placing::{OldRow, Placing};
use crate::error::Error;
use crate::session::{RowWriter, Session, StatementContext};

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
        self.statement("INSERT", |context| context.insert_data(table, values))
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
            let mut row = context.cells_of(&storage, values)?;
            let old = context.old_record(&storage, at)?;
            let old = context.old_row(&storage, &old)?;
            context.update_at(table.with(&storage), at, old, &mut row)
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
    pub(crate) fn insert_data(
        &mut self,
        table: &Table,
        values: &[Datum<'_>],
    ) -> Result<Address, Error> {
        self.lock_table(table, LockMode::Ix)?;
        self.begin_change(table)?;
        let storage = table.storage();
        self.verify_writable(table, &storage)?;
        let mut row = self.cells_of(&storage, values)?;
        self.insert_at(table.with(&storage), &mut row)
    }

    /// Inserts a row, under all constraints.
    pub(crate) fn insert_at(
        &mut self,
        of: TableRef<'_>,
        row: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        self.verify_checks(of, row)?;
        let at = self.insert_row(of, row)?;
        self.verify_references(of, None, row)?;
        Ok(at)
    }

    /// The cells of a row from values in column order; a rowversion column gets its next value.
    pub(crate) fn cells_of(
        &mut self,
        storage: &Storage,
        values: &[Datum<'_>],
    ) -> Result<Vec<Cell<'static>>, Error> {
        let mut row = storage.uncomputed_cells(values)?;
        self.complete_cells(storage, &mut row)?;
        Ok(row)
    }

    /// Fills in what the engine makes of a row: the rowversion, and what is computed.
    pub(super) fn complete_cells(
        &self,
        storage: &Storage,
        row: &mut Vec<Cell<'_>>,
    ) -> Result<(), Error> {
        self.stamp(storage, row)?;
        storage.compute(row)
    }

    /// Gives the rowversion column of a row its next value.
    pub(crate) fn stamp(&self, storage: &Storage, row: &mut [Cell<'_>]) -> Result<(), Error> {
        if let Some(column) = storage.columns.iter().find(|own| own.ty == SqlType::RowVersion) {
            row[column.at] = column.cell(&Datum::RowVersion(self.db().next_timestamp()?))?;
        }
        Ok(())
    }

    /// Refuses a new row that a CHECK or a rule is false for.
    pub(crate) fn verify_checks(&self, of: TableRef<'_>, row: &[Cell<'_>]) -> Result<(), Error> {
        self.verify_changed(of, &[], row)
    }

    /// Refuses a row that a CHECK is false for, or a rule of a value that is another than before.
    fn verify_changed(
        &self,
        of: TableRef<'_>,
        old: &[Cell<'_>],
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        let constraints = &of.storage.constraints;
        if constraints.checks.is_empty() && constraints.rules.is_empty() {
            return Ok(());
        }
        let values = self.session_values();
        constraints.verify(of.table.name(), &of.storage.columns, (old, row), &values)
    }

    /// Updates a locked row, under all constraints.
    pub(crate) fn update_at(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        old: OldRow<'_>,
        row: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        self.verify_changed(of, &old.cells, row)?;
        let at = self.update_row(of, at, &old, row)?;
        of.table.statistics().note_update(&of.storage.columns, &old.cells, row);
        if of.storage.constraints.needs_old_rows() {
            self.verify_references(of, Some(&old.cells), row)?;
            self.verify_unreferenced_row(of, &old.cells, Some(row))?;
        }
        Ok(at)
    }

    /// Deletes a locked row, under all constraints.
    pub(crate) fn delete_at(&mut self, of: TableRef<'_>, at: &Address) -> Result<(), Error> {
        let before = self.old_record(of.storage, at)?;
        let old = self.old_row(of.storage, &before)?;
        self.delete_row(of, at)?;
        if of.storage.constraints.needs_old_rows() {
            self.verify_unreferenced_row(of, &old.cells, None)?;
        }
        Ok(())
    }

    /// Locks a row X; returns the storage of its table.
    pub(crate) fn lock_row(&mut self, table: &Table, at: &Address) -> Result<Arc<Storage>, Error> {
        self.lock_table(table, LockMode::Ix)?;
        self.begin_change(table)?;
        let storage = table.storage();
        self.verify_writable(table, &storage)?;
        self.lock(at.resource(storage.base.hobt()), LockMode::X, Some(table))?;
        self.verify_unchanged(table, &storage, at)?;
        Ok(storage)
    }

    /// Inserts a row into a table, which is locked IX, and all its indexes.
    pub(crate) fn insert_row(
        &mut self,
        of: TableRef<'_>,
        cells: &mut [Cell<'_>],
    ) -> Result<Address, Error> {
        let at = match &of.storage.base {
            Base::Heap(heap) => {
                let id = self.session_id();
                let record = self.record_of(of.storage, cells)?;
                let mut locks = self.row_locks(of.table);
                Address::Rid(match self.row_writer(of.table)? {
                    None => heap.insert(self.tx()?, id, &record, &mut locks)?,
                    Some(writer) => {
                        let mut writer = HeapWriter {
                            session: id,
                            locks: &mut locks,
                            reserved: &mut Vec::new(),
                            versions: writer.versioning(),
                        };
                        heap.insert_versioned(self.tx()?, &record, &mut writer)?
                    }
                })
            }
            Base::Clustered(index) => self.insert_by_key(of, index, cells)?,
        };
        self.add_entries(of, &at, cells)?;
        of.table.statistics().note_rows(1);
        Ok(at)
    }

    /// The record of a new row, whose values off it are written.
    fn record_of(&mut self, storage: &Storage, cells: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        let stored = storage.stored(cells);
        if storage.off_row.is_empty() {
            return Ok(storage.shape.leaf_record(stored)?);
        }
        let placed = self.place(Placing::of(storage), stored, None)?;
        Ok(storage.shape.leaf_record(&placed)?)
    }

    /// Inserts a row into a clustered index.
    fn insert_by_key(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        cells: &mut [Cell<'_>],
    ) -> Result<Address, Error> {
        self.verify_index_writable(of.table, index)?;
        if of.storage.off_row.is_empty() {
            return self.insert_keyed(of, index, cells);
        }
        if let Some(at) = index.uniquifier() {
            // As long as one can be: it is known only when the values off the row are written.
            cells[at] = Cell::Bytes(Cow::Owned(vec![0; 4]));
        }
        let placed = self.place(Placing::of(of.storage), of.storage.stored(cells), None)?;
        let mut placed: Vec<Cell<'static>> = placed.into_iter().map(owned).collect();
        let address = self.insert_keyed(of, index, &mut placed)?;
        if let Some(at) = index.uniquifier() {
            cells[at] = placed.swap_remove(at);
        }
        Ok(address)
    }

    /// Inserts cells as they are into a clustered index.
    fn insert_keyed(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        cells: &mut [Cell<'_>],
    ) -> Result<Address, Error> {
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
            let writer = self.row_writer(of.table)?;
            let versions = writer.as_ref().map(RowWriter::versioning);
            let row = of.storage.stored(cells);
            match index.tree().insert_versioned(self.tx()?, key, row, versions) {
                Ok(()) => {
                    self.test_again(of.table, index, key, tested)?;
                    return Ok(at);
                }
                Err(extentdb_rowset::Error::Duplicate { .. }) => self.release_test(tested),
                Err(error) => {
                    self.release_test(tested);
                    return Err(self.write_error(of.table, error));
                }
            }
            // Another session drew the same uniquifier, and was faster.
            if index.is_unique() {
                return Err(duplicate(of.table, of.storage, index, cells));
            }
        }
    }

    /// Updates a row that is locked X, and was `old`; returns its new address.
    pub(crate) fn update_row(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        old: &OldRow<'_>,
        cells: &mut [Cell<'static>],
    ) -> Result<Address, Error> {
        match (&of.storage.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => {
                let placed = self.place_update(of.storage, old, cells)?;
                let record = of.storage.shape.leaf_record(placed.row(of.storage, cells))?;
                let mut locks = self.row_locks(of.table);
                let id = self.session_id();
                let mut kept = Vec::new();
                let done = match self.row_writer(of.table)? {
                    None => heap.update(self.tx()?, id, *rid, &record, &mut locks, &mut kept),
                    Some(writer) => {
                        let mut writer = HeapWriter {
                            session: id,
                            locks: &mut locks,
                            reserved: &mut kept,
                            versions: writer.versioning(),
                        };
                        heap.update_versioned(self.tx()?, *rid, &record, &mut writer)
                    }
                };
                self.reserve(heap, kept);
                done.map_err(|error| no_row(self.write_error(of.table, error), at))?;
                self.change_entries(of, at, &old.cells, cells)?;
                self.free_values(&of.storage.off_row, &placed.left)?;
                Ok(at.clone())
            }
            (Base::Clustered(index), Address::Key(_)) => {
                self.verify_index_writable(of.table, index)?;
                if let Some(place) = index.uniquifier() {
                    cells[place] = owned(old.cells[place].clone());
                }
                let mut placed = self.place_update(of.storage, old, cells)?;
                if of.storage.key_address(cells)? == *at {
                    let was = of.storage.stored(&old.cells);
                    let change = EntryChange { old: was, new: placed.row(of.storage, cells) };
                    self.replace_entry(of.table, index, change)?;
                    self.change_entries(of, at, &old.cells, cells)?;
                    self.free_values(&of.storage.off_row, &placed.left)?;
                    return Ok(at.clone());
                }
                // The row moves: its locator is its key.
                self.remove_row(of, at)?;
                let moved = match &mut placed.cells {
                    None => self.insert_keyed(of, index, cells)?,
                    Some(placed) => {
                        let moved = self.insert_keyed(of, index, placed)?;
                        if let Some(place) = index.uniquifier() {
                            cells[place] = placed[place].clone();
                        }
                        moved
                    }
                };
                self.add_entries(of, &moved, cells)?;
                self.free_values(&of.storage.off_row, &placed.left)?;
                Ok(moved)
            }
            _ => Err(Error::NoRow(at.clone())),
        }
    }

    /// Deletes a row that is locked X, and frees its values off it.
    pub(crate) fn delete_row(&mut self, of: TableRef<'_>, at: &Address) -> Result<(), Error> {
        let before = self.remove_row(of, at)?;
        of.table.statistics().note_rows(1);
        if of.storage.is_off_row(&before) {
            let row = of.storage.shape.decode(&before)?;
            let left = pointers_of(of.storage, &row, |_| true)?;
            self.free_values(&of.storage.off_row, &left)?;
        }
        Ok(())
    }

    /// Deletes a row with its entries; returns its record.
    fn remove_row(&mut self, of: TableRef<'_>, at: &Address) -> Result<Vec<u8>, Error> {
        let before = match (&of.storage.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => {
                let before = self.old_record(of.storage, at)?;
                let mut kept = Vec::new();
                let mut locks = self.row_locks(of.table);
                let done = match self.row_writer(of.table)? {
                    None => heap.delete(self.tx()?, *rid, &mut locks, &mut kept),
                    Some(writer) => {
                        let mut writer = HeapWriter {
                            session: self.session_id(),
                            locks: &mut locks,
                            reserved: &mut kept,
                            versions: writer.versioning(),
                        };
                        heap.delete_versioned(self.tx()?, *rid, &mut writer)
                    }
                };
                self.reserve(heap, kept);
                done.map_err(|error| no_row(self.write_error(of.table, error), at))?;
                before
            }
            (Base::Clustered(index), Address::Key(key)) => {
                self.verify_index_writable(of.table, index)?;
                let writer = self.row_writer(of.table)?;
                let versions = writer.as_ref().map(RowWriter::versioning);
                let gone = index.tree().delete_versioned(self.tx()?, key, versions);
                let gone = gone.map_err(|error| self.write_error(of.table, error))?;
                gone.ok_or_else(|| Error::NoRow(at.clone()))?.bytes
            }
            _ => return Err(Error::NoRow(at.clone())),
        };
        self.delete_entries(of, at, &before)?;
        Ok(before)
    }

    /// The record of a row before it changes; empty of a heap when no index, foreign key or value
    /// off the row needs it.
    pub(crate) fn old_record(&self, storage: &Storage, at: &Address) -> Result<Vec<u8>, Error> {
        let is_needed = storage.base.clustered().is_some()
            || !storage.indexes.is_empty()
            || !storage.off_row.is_empty()
            || storage.constraints.needs_old_rows();
        if is_needed {
            storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))
        } else {
            Ok(Vec::new())
        }
    }

    /// What a record that was read for a change says; nothing when it was not needed.
    pub(crate) fn old_row<'r>(
        &self,
        storage: &Storage,
        record: &'r [u8],
    ) -> Result<OldRow<'r>, Error> {
        if record.is_empty() { Ok(OldRow::default()) } else { OldRow::of(storage, record) }
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
fn no_row(error: Error, at: &Address) -> Error {
    match error {
        Error::Rowset(extentdb_rowset::Error::NoRow(_)) => Error::NoRow(at.clone()),
        other => other,
    }
}
