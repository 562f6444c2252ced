//! Entries of indexes: they come, change and go with the rows they lead to, in the same statement.
//!
//! ```text
//! row comes      its entry in every index
//! row changes    where the key differs: the old entry goes, another comes; where only included columns do: replaced
//! row goes       its entries become ghosts
//! ```
//!
//! Locks: the row is locked X by whoever changes it, which is enough for entries of indexes that are not unique: their key ends
//! with the address of the row. Of a unique index the key itself is locked, X, by all who add or take away an entry with it, until
//! their transaction ends. So nobody meets a ghost that may come back, or an entry that may go again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use extentdb_base::Rid;
use extentdb_catalog::layout::Cell;
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::Datum;

use crate::error::Error;
use crate::index::{Constraint, Index};
use crate::session::{Row, Session};
use crate::table::{Storage, Table};

impl Session<'_> {
    /// A row has come: so do its entries.
    pub(crate) fn add_entries(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: Rid,
        record: &[u8],
    ) -> Result<(), Error> {
        self.each_entry((table, storage), at, record, |session, index, entry| {
            session.add_entry(table, index, entry)
        })
    }

    /// A row has gone.
    pub(crate) fn take_entries(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: Rid,
        record: &[u8],
    ) -> Result<(), Error> {
        self.each_entry((table, storage), at, record, |session, index, entry| {
            session.take_entry(table, index, entry, at)
        })
    }

    fn each_entry(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: Rid,
        record: &[u8],
        mut work: impl FnMut(&mut Self, &Index, &[Cell<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if storage.indexes.is_empty() {
            return Ok(());
        }
        let row = table.cells(record)?;
        for index in &storage.indexes {
            index.verify_order(table.table_columns())?;
            work(self, index, &index.entry(&row, table.table_columns(), at))?;
        }
        Ok(())
    }

    /// A row has got another record.
    pub(crate) fn change_entries(
        &mut self,
        (table, storage): (&Table, &Storage),
        at: Rid,
        (before, after): (&[u8], &[u8]),
    ) -> Result<(), Error> {
        if storage.indexes.is_empty() {
            return Ok(());
        }
        let (old, new) = (table.cells(before)?, table.cells(after)?);
        for index in &storage.indexes {
            index.verify_order(table.table_columns())?;
            let (old, new) =
                (index.entry(&old, table.table_columns(), at), index.entry(&new, table.table_columns(), at));
            if old == new {
                continue;
            }
            // Keys that differ in their bytes alone, as letters of another case do, are the same to the index.
            let shape = index.tree().shape();
            if shape.key_of_cells(&old)? == shape.key_of_cells(&new)? {
                index.tree().replace(self.tx()?, &new)?;
            } else {
                self.take_entry(table, index, &old, at)?;
                self.add_entry(table, index, &new)?;
            }
        }
        Ok(())
    }

    fn add_entry(&mut self, table: &Table, index: &Index, entry: &[Cell<'_>]) -> Result<(), Error> {
        index.verify_place(entry, table.table_columns())?;
        self.lock_key(table, index, entry)?;
        match index.tree().insert(self.tx()?, entry) {
            Err(extentdb_rowset::Error::Duplicate { .. }) => Err(duplicate(table, index, entry)),
            done => Ok(done?),
        }
    }

    fn take_entry(&mut self, table: &Table, index: &Index, entry: &[Cell<'_>], at: Rid) -> Result<(), Error> {
        self.lock_key(table, index, entry)?;
        let taken = index.tree().delete(self.tx()?, &index.key_of(entry))?;
        match taken {
            Some(taken) if index.address(&taken.bytes)? == at => Ok(()),
            _ => Err(missing(table, index, at)),
        }
    }

    /// Locks the key of an entry of a unique index.
    fn lock_key(&self, table: &Table, index: &Index, entry: &[Cell<'_>]) -> Result<(), Error> {
        if !index.is_unique() {
            return Ok(());
        }
        let mut hasher = DefaultHasher::new();
        index.tree().shape().key_of_cells(entry)?.hash(&mut hasher);
        self.lock(Resource::Key(index.hobt(), hasher.finish()), LockMode::X, Some(table))
    }

    /// Calls `each` with every committed row whose first key columns have these values, in the order of the index. Rows that others
    /// are changing are waited for.
    ///
    /// # Errors
    /// There is no such index, or a value is not one of its column.
    pub fn seek(
        &mut self,
        table: &Table,
        index: &str,
        values: &[Datum<'_>],
        each: &mut dyn FnMut(Rid, Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.statement("SELECT", |session| {
            session.lock_table(table, LockMode::Is)?;
            let index = table.index(index)?;
            index.verify_order(table.table_columns())?;
            let expected = index.declared(table.table_columns()).count();
            if values.len() > expected {
                return Err(Error::Columns { expected, found: values.len() });
            }
            let cells = index.declared(table.table_columns()).zip(values);
            // No row has NULL in a column that takes none.
            let cells = cells.map(|(column, value)| match value {
                Datum::Null => Ok(Cell::Null),
                value => column.cell(value),
            });
            let cells = cells.collect::<Result<Vec<_>, Error>>()?;
            for entry in index.tree().scan_all(&cells)? {
                if session.read_entry(table, &index, entry?.bytes, each)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Reads the row that an entry leads to, when it is committed and has that key. The entry may be a ghost of somebody who rolls
    /// back, or take the place of such a one: whoever changed it is waited for, and then it is looked up again.
    fn read_entry(
        &self,
        table: &Table,
        index: &Index,
        mut entry: Vec<u8>,
        each: &mut dyn FnMut(Rid, Row) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let shape = index.tree().shape();
        let cells = shape.decode(&entry)?.into_iter().map(crate::system_table::owned);
        let key = index.key_of(&cells.collect::<Vec<_>>());
        let key_bytes = shape.prefix(&key)?;
        loop {
            let at = index.address(&entry)?;
            let found = self.read_committed(table, at, || Ok(table.heap().get(at)?))?;
            if let Some(record) = found {
                let own = index.entry(&table.cells(&record)?, table.table_columns(), at);
                if shape.key_of_cells(&own)? == key_bytes {
                    return Ok(each(at, table.values(&record)?));
                }
            }
            match index.tree().find(&key)? {
                Some(now) if index.address(&now.bytes)? != at => entry = now.bytes,
                _ => return Ok(ControlFlow::Continue(())),
            }
        }
    }
}

pub(crate) fn duplicate(table: &Table, index: &Index, entry: &[Cell<'_>]) -> Error {
    Error::DuplicateKey {
        table: table.name().to_owned(),
        index: index.name().to_owned(),
        key: index.describe(entry, table.table_columns()),
        is_constraint: index.constraint() != Constraint::None,
    }
}

fn missing(table: &Table, index: &Index, at: Rid) -> Error {
    Error::EntryMissing { table: table.name().to_owned(), index: index.name().to_owned(), at }
}
