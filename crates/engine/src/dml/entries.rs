//! Index maintenance: entries are inserted, changed and deleted with their rows, in the same
//! statement.
//!
//! ```text
//! INSERT   an entry in every index whose filter the row satisfies
//! UPDATE   key changed: the old entry is deleted, a new one inserted; included columns only:
//!          replaced
//! DELETE   its entries become ghosts
//! ```
//!
//! Locks: a row is locked X by the transaction that changes it. That is enough for entries of
//! non-unique indexes, whose keys end with the address of the row. In a unique index the key itself
//! is locked X by every transaction that inserts or deletes an entry with it, to the end of the
//! transaction: no other one sees a ghost or an entry whose fate is open.

use std::borrow::Cow;
use std::ops::ControlFlow;

use extentdb_catalog::layout::Cell;
use extentdb_txn::lock::LockMode;

use crate::catalog::address::key_resource;
use crate::catalog::{Address, Constraint, Index, Storage, Table, TableRef};
use crate::dml::read::{EachRow, Reading};
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::session::{RowWriter, StatementContext};

impl StatementContext<'_> {
    /// Inserts the entries of a new row.
    pub(crate) fn add_entries(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        for index in &of.storage.indexes {
            self.verify_index_writable(of.table, index)?;
            if let Some(entry) = index.entry(row, &of.storage.columns, at)? {
                self.add_entry(of, index, &entry)?;
            }
        }
        Ok(())
    }

    /// Deletes the entries of a row.
    pub(crate) fn delete_entries(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        record: &[u8],
    ) -> Result<(), Error> {
        for index in &of.storage.indexes {
            self.verify_index_writable(of.table, index)?;
            if let Some(entry) = index.entry_of_record(of.storage, record, at)? {
                self.delete_entry(of, index, &entry, at)?;
            }
        }
        Ok(())
    }

    /// Changes the entries of a row whose address stays.
    pub(crate) fn change_entries(
        &mut self,
        of: TableRef<'_>,
        at: &Address,
        before: &[Cell<'_>],
        after: &[Cell<'_>],
    ) -> Result<(), Error> {
        for index in &of.storage.indexes {
            self.verify_index_writable(of.table, index)?;
            let old = index.entry(before, &of.storage.columns, at)?;
            let new = index.entry(after, &of.storage.columns, at)?;
            match (old, new) {
                (None, None) => {}
                (Some(old), Some(new)) => {
                    self.change_entry(of, index, EntryChange { old: &old, new: &new }, at)?
                }
                // By its filter the index has no entry for the row any more, or has one now.
                (Some(old), None) => self.delete_entry(of, index, &old, at)?,
                (None, Some(new)) => self.add_entry(of, index, &new)?,
            }
        }
        Ok(())
    }

    fn change_entry(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        change: EntryChange<'_>,
        at: &Address,
    ) -> Result<(), Error> {
        let EntryChange { old, new } = change;
        if old == new {
            return Ok(());
        }
        // Keys that differ in their bytes alone, as letters of another case do, are the same to the
        // index.
        let shape = index.tree().shape();
        if shape.key_of_cells(old)? == shape.key_of_cells(new)? {
            return self.replace_entry(of.table, index, change);
        }
        self.delete_entry(of, index, old, at)?;
        self.add_entry(of, index, new)
    }

    /// Gives an entry, or a row of a clustered index, other bytes under an equal key.
    pub(crate) fn replace_entry(
        &mut self,
        table: &Table,
        index: &Index,
        change: EntryChange<'_>,
    ) -> Result<(), Error> {
        let EntryChange { old, new } = change;
        if !index.key_cells(old).eq(index.key_cells(new)) {
            self.verify_new_key(table, index, new)?;
        }
        let writer = self.row_writer(table)?;
        let versions = writer.as_ref().map(RowWriter::versioning);
        let done = index.tree().replace_versioned(self.tx()?, new, versions);
        done.map_err(|error| self.write_error(table, error))
    }

    /// Refuses a key that an attached database does not take.
    pub(crate) fn verify_new_key(
        &self,
        table: &Table,
        index: &Index,
        entry: &[Cell<'_>],
    ) -> Result<(), Error> {
        let origin = self.db().catalog.origin;
        origin.verify_new_key(
            index.name_of(table.name()),
            index.tree().shape(),
            index.key_cells(entry),
        )
    }

    fn add_entry(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        entry: &[Cell<'_>],
    ) -> Result<(), Error> {
        self.verify_new_key(of.table, index, entry)?;
        let key = index.tree().shape().key_of_cells(entry)?;
        if index.is_unique() {
            self.lock_key(of.table, index, &key)?;
        }
        self.keep_own_range(of.table, index, &key)?;
        let tested = self.test_range(of.table, index, &key)?;
        let writer = self.row_writer(of.table)?;
        let versions = writer.as_ref().map(RowWriter::versioning);
        let done = index.tree().insert_versioned(self.tx()?, &key, entry, versions);
        match done.map_err(|error| self.write_error(of.table, error)) {
            Ok(()) => self.test_again(of.table, index, &key, tested),
            Err(error) => {
                self.release_test(tested);
                match error {
                    Error::Rowset(extentdb_rowset::Error::Duplicate { .. }) => {
                        Err(duplicate(of.table, of.storage, index, entry))
                    }
                    error => Err(error),
                }
            }
        }
    }

    fn delete_entry(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        entry: &[Cell<'_>],
        at: &Address,
    ) -> Result<(), Error> {
        let key = index.tree().shape().key_of_cells(entry)?;
        let is_locked = index.is_unique() || self.db().serializers.any();
        if is_locked {
            self.lock_key(of.table, index, &key)?;
        }
        let writer = self.row_writer(of.table)?;
        let versions = writer.as_ref().map(RowWriter::versioning);
        let taken = index.tree().delete_versioned(self.tx()?, &key, versions);
        let taken = taken.map_err(|error| self.write_error(of.table, error))?;
        // A range lock of another session may be held by this key: it must not vanish.
        if !is_locked && self.db().serializers.any() {
            self.lock_key(of.table, index, &key)?;
        }
        match taken {
            Some(taken) if index.address(&taken.bytes, &of.storage.shape)? == *at => Ok(()),
            _ => Err(missing(of.table, index, at)),
        }
    }

    fn lock_key(&self, table: &Table, index: &Index, key: &[u8]) -> Result<(), Error> {
        self.lock(key_resource(index.hobt(), key), LockMode::X, Some(table))
    }

    /// Reads the row of an entry, when it is committed and has that key. The entry may be a ghost
    /// that a rollback restores, or replace one: after the lock wait it is looked up again.
    pub(crate) fn read_entry(
        &self,
        of: Reading<'_>,
        index: &Index,
        entry: &[u8],
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let storage = of.storage;
        let shape = index.tree().shape();
        let key = index.key_of_record(entry)?;
        let mut entry = Cow::Borrowed(entry);
        loop {
            let at = index.address(&entry, &storage.shape)?;
            let found = self.read_row(of, &at)?;
            if of.versions.is_some() {
                // The snapshot sees entry and row of the same moment.
                return match found {
                    Some(found) => {
                        each(&RowRef::at(storage, &found.record, &at)?.seen_by(of.versions))
                    }
                    None => Ok(ControlFlow::Continue(())),
                };
            }
            if let Some(found) = found {
                let row = RowRef::at(storage, &found.record, &at)?;
                let is_here =
                    index.has_bytes_of(&shape.sound_leaf(&entry)?, row.record(), storage)?;
                if is_here || Self::has_entry(index, &key, &row, storage, &at)? {
                    return self.emit_unlocked(of, &row, each);
                }
            }
            match index.find_key(&key)? {
                Some(now) if index.address(&now.bytes, &storage.shape)? != at => {
                    entry = now.bytes.into()
                }
                _ => return Ok(ControlFlow::Continue(())),
            }
        }
    }

    /// Does a row have an entry with this key?
    fn has_entry(
        index: &Index,
        key: &[u8],
        row: &RowRef<'_>,
        storage: &Storage,
        at: &Address,
    ) -> Result<bool, Error> {
        let entry = index.entry(&row.cells()?, &storage.columns, at)?;
        let own = entry.map(|entry| index.tree().shape().key_of_cells(&entry)).transpose()?;
        Ok(own.is_some_and(|own| own == key))
    }
}

/// The columns of an entry, or of a row of a clustered index, before a change and after it.
#[derive(Clone, Copy)]
pub(crate) struct EntryChange<'e> {
    pub(crate) old: &'e [Cell<'e>],
    pub(crate) new: &'e [Cell<'e>],
}

pub(crate) fn duplicate(
    table: &Table,
    storage: &Storage,
    index: &Index,
    entry: &[Cell<'_>],
) -> Error {
    Error::DuplicateKey {
        table: table.name().to_owned(),
        index: index.name().to_owned(),
        key: index.describe(entry, &storage.columns),
        is_constraint: index.constraint() != Constraint::None,
    }
}

fn missing(table: &Table, index: &Index, at: &Address) -> Error {
    Error::EntryMissing {
        table: table.name().to_owned(),
        index: index.name().to_owned(),
        at: at.clone(),
    }
}
